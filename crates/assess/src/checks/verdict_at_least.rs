//! A verdict on the coupling that is good enough.

use std::sync::Arc;

use gyrator::Verdict;
use gyrator::report::Divergence;
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
        format!("has a coupling error that is {} at most", self.0.word())
    }

    fn judge(&self) -> Box<dyn Judge> {
        Box::new(*self)
    }
}

impl Judge for AtLeast {
    fn violation(&self, end: &End<'_>) -> Option<Violation> {
        let run = end.run;
        let (verdict, divergence) = match end.bond {
            Some(bond) => run
                .bonds
                .get(bond)
                .map_or((None, None), |bond| (bond.verdict, bond.divergence)),
            None => (run.verdict, run.divergence),
        };
        let is_suspected = divergence == Some(Divergence::Suspected);
        let is_enough = verdict.is_some_and(|verdict| verdict <= self.0);
        let is_enough = is_enough && (!is_suspected || self.0 == Verdict::Diverging);
        (!is_enough).then(|| Violation {
            text: match verdict {
                _ if is_suspected => "may diverge, which no second run has told".to_owned(),
                Some(Verdict::CannotTell) | None => {
                    "has a coupling error of which the run holds too little: unknown".to_owned()
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
    /// The verdict on bonds of the name or pattern `bond`, or on the run if `None`, is `verdict` or better.
    #[must_use]
    pub fn verdict_at_least(bond: Option<&str>, verdict: Verdict) -> Self {
        Self::new(KIND, bond, AtLeast(verdict))
    }
}
