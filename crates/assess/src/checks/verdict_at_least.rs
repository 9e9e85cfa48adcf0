//! A verdict on the coupling that is good enough.

use std::sync::Arc;

use gyrator::Verdict;
use gyrator_system::{Problem, closest};

use super::{Check, End, Judge, Kind, Quantity, Requirement, Violation};

pub(super) const KIND: Kind = Kind {
    word: "verdict_at_least",
    summary: "the worst verdict on the coupling that is good enough: small, visible, cannot-tell, dominating or \
              diverging",
    quantity: Quantity::Report,
    read: |value, reader| {
        let word = reader.text(KIND.word, value)?;
        let verdict = Verdict::from_word(&word.value);
        if verdict.is_none() {
            let known = Verdict::ALL.map(Verdict::word);
            let help = match closest(&word.value, known) {
                Some(near) => format!("did you mean `{near}`? known: {}", known.join(", ")),
                None => format!("known: {}", known.join(", ")),
            };
            let message = format!("there is no verdict `{}`", word.value);
            let problem = Problem::error("unknown-word", message).at(&word.span);
            reader.problems.push(problem.help(help));
        }
        Some(Arc::new(AtLeast(verdict?)))
    },
};

#[derive(Debug, Clone, Copy)]
struct AtLeast(Verdict);

impl Requirement for AtLeast {
    fn text(&self) -> String {
        format!("has a coupling error that is {} at most", self.0)
    }

    fn judge(&self) -> Box<dyn Judge> {
        Box::new(*self)
    }
}

impl Judge for AtLeast {
    fn violation(&self, end: &End<'_>) -> Option<Violation> {
        let run = end.run;
        let verdict = match end.bond {
            Some(bond) => run.bonds.get(bond).and_then(|bond| bond.verdict),
            None => run.verdict,
        };
        let is_enough = verdict.is_some_and(|verdict| verdict <= self.0);
        (!is_enough).then(|| Violation {
            text: match verdict {
                Some(Verdict::CannotTell) | None => {
                    "has a coupling error of which the run holds too little: cannot-tell".to_owned()
                }
                Some(verdict) => format!("has a coupling error that is {verdict}"),
            },
            value: None,
            time: None,
            excess: None,
            is_definite: false,
        })
    }
}

impl Check {
    /// The verdict on bonds of the name or pattern `bond`, or on the run where `None`, is `verdict` or better.
    #[must_use]
    pub fn verdict_at_least(bond: Option<&str>, verdict: Verdict) -> Self {
        Self::new(KIND, bond, AtLeast(verdict))
    }
}
