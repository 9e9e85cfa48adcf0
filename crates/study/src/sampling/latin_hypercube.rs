//! `latin-hypercube`: each distribution is cut into as many parts of equal probability as there are points, and each part holds one point.
//!
//! The parts of the distributions are combined by random permutations, and a point lies anywhere in its part. Means over the points
//! have a smaller variance than means over independent points if the metric is nearly a sum of functions of one parameter each.

use gyrator::random::SplitMix64;

use super::{Request, Sampling};

pub(super) const ENTRY: Sampling = Sampling {
    name: "latin-hypercube",
    summary: "one point in each of `count` parts of equal probability, for every key",
    source: "McKay, Beckman & Conover 1979",
    points: |request| Ok(request.spread(&places(request))),
    analysis: None,
};

fn places(request: &Request<'_>) -> Vec<Vec<f64>> {
    let (count, width) = (request.count, request.distributions.len());
    let mut stream = SplitMix64::new(request.seed);
    let mut places = vec![vec![0.0; width]; count];
    let mut parts: Vec<usize> = (0..count).collect();
    for key in 0..width {
        shuffle(&mut parts, &mut stream);
        for (place, part) in places.iter_mut().zip(&parts) {
            place[key] = (*part as f64 + stream.next_unit()) / count as f64;
        }
    }
    places
}

/// A random permutation (Fisher & Yates).
pub(super) fn shuffle<T>(items: &mut [T], stream: &mut SplitMix64) {
    for last in (1..items.len()).rev() {
        let other = (stream.next_unit() * (last + 1) as f64) as usize;
        items.swap(last, other.min(last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Distribution;

    #[test]
    fn each_part_holds_one_point() {
        let distributions = vec![Distribution::Uniform(0.0, 1.0); 3];
        let request = Request {
            count: 50,
            seed: 3,
            distributions: &distributions,
        };
        let places = places(&request);
        for key in 0..3 {
            let mut parts: Vec<usize> = places.iter().map(|p| (p[key] * 50.0) as usize).collect();
            assert_ne!(parts, (0..50).collect::<Vec<_>>(), "permuted");
            parts.sort_unstable();
            assert_eq!(parts, (0..50).collect::<Vec<_>>());
        }
    }
}
