//! `sobol`: a sequence that fills the space evenly, with all of its projections onto one and two keys.
//!
//! Coordinates are sums over two elements of direction numbers. A random shift of each coordinate, also over two elements, keeps
//! the evenness and makes points of several seeds independent estimates. Powers of two of points are the most even.

use gyrator::random::SplitMix64;

use super::Sampling;
use super::direction_numbers::POLYNOMIALS;

pub(super) const ENTRY: Sampling = Sampling {
    name: "sobol",
    summary: "a low-discrepancy sequence, shifted at random; best with a power of two of points",
    source: "Sobol 1967; direction numbers of Joe & Kuo 2008",
    points: |request| {
        Ok(request.spread(&places(
            request.count,
            request.distributions.len(),
            request.seed,
        )?))
    },
    analysis: None,
};

/// Coordinates that there are direction numbers for.
const DIMENSIONS: usize = POLYNOMIALS.len() + 1;
/// Bits of a coordinate: with half a unit added, a double holds it exactly, and it is neither 0 nor 1.
const BITS: u32 = 52;

/// The first points of the shifted sequence.
pub(super) fn places(count: usize, dimensions: usize, seed: u64) -> Result<Vec<Vec<f64>>, String> {
    if dimensions > DIMENSIONS {
        return Err(format!(
            "a Sobol sequence has at most {DIMENSIONS} coordinates, and {dimensions} are needed"
        ));
    }
    let mut stream = SplitMix64::new(seed);
    let shifts: Vec<u64> = (0..dimensions)
        .map(|_| stream.next_bits() >> (64 - BITS))
        .collect();
    let share = |bits: u64| (bits as f64 + 0.5) / (1_u64 << BITS) as f64;
    let point = |bits: Vec<u64>| {
        bits.iter()
            .zip(&shifts)
            .map(|(b, s)| share(b ^ s))
            .collect()
    };
    Ok(sequence(count, dimensions).map(point).collect())
}

/// The first points of the sequence itself, in the order of the Gray code (Antonov & Saleev 1979).
fn sequence(count: usize, dimensions: usize) -> impl Iterator<Item = Vec<u64>> {
    let directions: Vec<[u64; BITS as usize]> = (0..dimensions).map(directions).collect();
    let mut point = vec![0; dimensions];
    (0..count).map(move |index| {
        let this = point.clone();
        let bit = (index + 1).trailing_zeros() as usize;
        for (coordinate, directions) in point.iter_mut().zip(&directions) {
            *coordinate ^= directions[bit];
        }
        this
    })
}

/// The direction numbers of a coordinate, as binary fractions (Joe & Kuo 2008, eq. 2).
fn directions(dimension: usize) -> [u64; BITS as usize] {
    let mut numbers = [0_u64; BITS as usize];
    let Some(polynomial) = dimension.checked_sub(1).map(|index| &POLYNOMIALS[index]) else {
        for (bit, number) in (1..).zip(&mut numbers) {
            *number = 1 << (BITS - bit);
        }
        return numbers;
    };
    let degree = polynomial.m.len();
    for (index, m) in polynomial.m.iter().enumerate() {
        numbers[index] = u64::from(*m) << (BITS as usize - 1 - index);
    }
    for index in degree..BITS as usize {
        let first = numbers[index - degree];
        let mut number = first ^ (first >> degree);
        for inner in 1..degree {
            if polynomial.a >> (degree - 1 - inner) & 1 == 1 {
                number ^= numbers[index - inner];
            }
        }
        numbers[index] = number;
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unshifted(count: usize, dimensions: usize) -> Vec<Vec<f64>> {
        let unit = (1_u64 << BITS) as f64;
        let point = |bits: Vec<u64>| bits.iter().map(|b| *b as f64 / unit).collect();
        sequence(count, dimensions).map(point).collect()
    }

    /// `scipy.stats.qmc.Sobol(d, scramble=False)` of SciPy 1.17.
    #[test]
    fn points_are_those_of_joe_and_kuo() {
        let expected = [
            [0.0, 0.0, 0.0],
            [0.5, 0.5, 0.5],
            [0.75, 0.25, 0.25],
            [0.25, 0.75, 0.75],
            [0.375, 0.375, 0.625],
            [0.875, 0.875, 0.125],
            [0.625, 0.125, 0.875],
            [0.125, 0.625, 0.375],
        ];
        assert_eq!(unshifted(8, 3), expected);
        let last = unshifted(1000, 64).pop().unwrap();
        let some = [0, 1, 9, 31, 39, 63].map(|coordinate: usize| last[coordinate]);
        assert_eq!(
            some,
            [
                0.157_226_562_5,
                0.909_179_687_5,
                0.631_835_937_5,
                0.083_007_812_5,
                0.791_992_187_5,
                0.633_789_062_5
            ]
        );
    }

    /// Each coordinate of 2ᵏ points has one in each of 2ᵏ equal parts, shifted or not: a law of the sequence for every dimension.
    #[test]
    fn every_coordinate_is_stratified() {
        let places = places(256, DIMENSIONS, 5).unwrap();
        for dimension in 0..DIMENSIONS {
            let mut parts: Vec<usize> = places
                .iter()
                .map(|place| (place[dimension] * 256.0) as usize)
                .collect();
            parts.sort_unstable();
            assert_eq!(
                parts,
                (0..256).collect::<Vec<_>>(),
                "coordinate {dimension}"
            );
        }
        assert!(super::places(1, DIMENSIONS + 1, 1).is_err());
    }
}
