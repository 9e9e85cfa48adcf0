//! `sampling` of a `[[vary]]` block: places of the points in the space of its distributions.

mod bootstrap;
mod direction_numbers;
mod latin_hypercube;
mod morris;
mod random;
mod saltelli;
mod sobol;

use crate::literal::Literal;
use crate::random::Distribution;

/// A way to place points. A new one is a file here and a line of [`SAMPLINGS`].
#[derive(Debug)]
pub struct Sampling {
    /// Its word in a study file.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    /// The publication that describes it.
    pub source: &'static str,
    /// The points of a block: a value of each distribution.
    pub(crate) points: fn(&Request<'_>) -> Result<Vec<Vec<Literal>>, String>,
    /// The sensitivities that a metric at all points gives.
    pub(crate) analysis: Option<Analysis>,
}

impl PartialEq for Sampling {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// All ways, the default first.
pub const SAMPLINGS: &[&Sampling] = &[
    &random::ENTRY,
    &latin_hypercube::ENTRY,
    &sobol::ENTRY,
    &saltelli::ENTRY,
    &morris::ENTRY,
];

/// How sensitivities are computed from the values of a metric.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Analysis {
    /// Names of the figures of each parameter.
    pub(crate) figures: &'static [&'static str],
    /// Points that belong together, by the number of parameters: a group with a missing value is left out as a whole.
    pub(crate) group: fn(usize) -> usize,
    /// The figures of each parameter, from whole groups of values.
    pub(crate) figures_of: fn(&Groups<'_>) -> Vec<Vec<f64>>,
}

/// The values of a metric in whole groups, and the places of their points.
#[derive(Debug)]
pub(crate) struct Groups<'a> {
    /// Number of parameters.
    pub(crate) parameters: usize,
    /// Values, group after group.
    pub(crate) values: &'a [f64],
    /// The places of the same points in the unit cube.
    pub(crate) places: &'a [Vec<f64>],
    /// Seed of the resamples of confidence intervals.
    pub(crate) seed: u64,
}

/// The points that are asked for.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    /// Number of points, of base points (`saltelli`) or of trajectories (`morris`).
    pub(crate) count: usize,
    /// Seed of all that is random in them.
    pub(crate) seed: u64,
    /// One for each key.
    pub(crate) distributions: &'a [Distribution],
}

impl Request<'_> {
    /// The values at places in the unit cube, by the quantiles of the distributions.
    fn spread(&self, places: &[Vec<f64>]) -> Vec<Vec<Literal>> {
        let values = |place: &Vec<f64>| {
            let pairs = self.distributions.iter().zip(place);
            pairs
                .map(|(distribution, share)| distribution.quantile(*share))
                .collect()
        };
        places.iter().map(values).collect()
    }
}

/// The entry of a word.
pub(crate) fn find(name: &str) -> Option<&'static Sampling> {
    SAMPLINGS.iter().copied().find(|entry| entry.name == name)
}

/// The places in the unit cube of a sampling that has an analysis; empty for others.
pub(crate) fn places(
    sampling: &Sampling,
    count: usize,
    parameters: usize,
    seed: u64,
) -> Vec<Vec<f64>> {
    let unit = vec![Distribution::Uniform(0.0, 1.0); parameters];
    let request = Request {
        count,
        seed,
        distributions: &unit,
    };
    let points = (sampling.points)(&request).unwrap_or_default();
    let number = |literal: Literal| match literal.cell {
        crate::Cell::Real(number) => number,
        _ => f64::NAN,
    };
    points
        .into_iter()
        .map(|point| point.into_iter().map(number).collect())
        .collect()
}
