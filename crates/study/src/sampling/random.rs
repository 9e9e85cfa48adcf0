//! `random`: independent values from one stream.

use gyrator::random::SplitMix64;

use super::{Request, Sampling};
use crate::literal::Literal;

pub(super) const ENTRY: Sampling = Sampling {
    name: "random",
    summary: "independent values, one after the other from one stream",
    source: "SplitMix64 (Steele, Lea & Flood 2014)",
    points: |request| Ok(points(request)),
    analysis: None,
};

/// For each point, a value of each distribution in turn.
fn points(request: &Request<'_>) -> Vec<Vec<Literal>> {
    let mut stream = SplitMix64::new(request.seed);
    let point = |_| {
        let distributions = request.distributions.iter();
        distributions.map(|d| d.draw(&mut stream)).collect()
    };
    (0..request.count).map(point).collect()
}
