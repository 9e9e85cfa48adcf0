//! Figures that others have found, and how well they have to be met.

use crate::row::{Bar, Meaning, Metric, Row};

/// How far a figure moves by rounding alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Certainty {
    /// By nothing worth mentioning: no correction, smooth laws.
    Exact,
    /// The correction divides by a velocity that passes zero, or a law has a kink: 1e-12 on an
    /// initial value moves the figure by up to 6e-6.
    Rounded,
    /// 1e-12 on an initial value moves the displacement by up to 40 %.
    Sensitive,
    /// Accelerations are iterated to 1e-10, and some 1e-6 J depend on where that ends.
    Iterated,
    /// Known to few digits.
    Printed,
    /// Found with another method: to be shown, not to be met.
    Other,
}

/// Figures of a case in a configuration.
pub(crate) type Published<const N: usize> = (&'static str, &'static str, [f64; N], Certainty);

/// The rows of `metrics`, beside what is published for them.
pub(crate) fn rows<const N: usize>(
    metrics: [Metric; N],
    measured: [f64; N],
    published: Option<&Published<N>>,
    source: &'static str,
) -> Vec<Row> {
    let row = |index: usize| {
        let row = Row::new(metrics[index], measured[index]);
        let Some((_, _, references, certainty)) = published else {
            return row;
        };
        let reference = references[index];
        match bar(*certainty, metrics[index]) {
            Some(bar) => row.against(reference, bar, source),
            None => row.beside(reference, source),
        }
    };
    (0..N).map(row).collect()
}

fn bar(certainty: Certainty, metric: Metric) -> Option<Bar> {
    match certainty {
        Certainty::Exact => Some(Bar::Relative(1e-6)),
        Certainty::Rounded => Some(Bar::Relative(1e-4)),
        Certainty::Iterated if metric.unit == "J" => Some(Bar::Absolute(1e-5)),
        Certainty::Iterated => Some(Bar::Relative(1e-4)),
        Certainty::Printed => Some(Bar::Relative(0.01)),
        Certainty::Sensitive => match metric.meaning {
            Meaning::GreatestError => Some(Bar::Relative(0.1)),
            Meaning::MeanError => Some(Bar::Relative(0.5)),
            Meaning::Error | Meaning::Figure => None,
        },
        Certainty::Other => None,
    }
}

/// What is published for a case in a configuration.
pub(crate) fn find<'a, const N: usize>(
    published: &'a [Published<N>],
    case: &str,
    configuration: &str,
) -> Option<&'a Published<N>> {
    published
        .iter()
        .find(|(of, with, _, _)| (*of, *with) == (case, configuration))
}
