//! `saltelli`: points for Sobol indices, the shares of the variance of a metric that parameters and their interactions explain.
//!
//! Two independent sets of points A and B come from one Sobol sequence of twice the dimensions. For each base point the group has
//! the point of A, then that point with one parameter after the other from B, then the point of B: `count`·(d + 2) runs. First-order
//! indices follow Saltelli et al. 2010 (table 2, row b), total indices Jansen 1999 (row f).

use super::{Analysis, Groups, Request, Sampling, bootstrap, sobol};

pub(super) const ENTRY: Sampling = Sampling {
    name: "saltelli",
    summary: "points for Sobol indices: (d + 2) for each of `count` base points, d keys",
    source: "Saltelli et al. 2010, Comput. Phys. Commun. 181, 259",
    points: |request| Ok(request.spread(&places(request)?)),
    analysis: Some(Analysis {
        figures: &[
            "first_order",
            "first_order_confidence",
            "total",
            "total_confidence",
        ],
        group: |parameters| parameters + 2,
        figures_of,
    }),
};

fn places(request: &Request<'_>) -> Result<Vec<Vec<f64>>, String> {
    let (count, width) = (request.count, request.distributions.len());
    if !count.is_power_of_two() {
        let above = count.checked_next_power_of_two().unwrap_or(count);
        return Err(format!(
            "`count` of a `saltelli` sampling is a power of two, such as {above}: its points are even then alone"
        ));
    }
    let base = sobol::places(count, 2 * width, request.seed)?;
    let mut places = Vec::with_capacity(count * (width + 2));
    for point in base {
        let (a, b) = point.split_at(width);
        places.push(a.to_vec());
        for key in 0..width {
            let mut mixed = a.to_vec();
            mixed[key] = b[key];
            places.push(mixed);
        }
        places.push(b.to_vec());
    }
    Ok(places)
}

/// First-order and total index of each parameter, each with half of its 95 % interval.
fn figures_of(groups: &Groups<'_>) -> Vec<Vec<f64>> {
    let size = groups.parameters + 2;
    let count = groups.values.len() / size;
    // The indices do not depend on the mean, and without it their products keep more digits.
    let mean = groups.values.iter().sum::<f64>() / groups.values.len() as f64;
    let centred: Vec<f64> = groups.values.iter().map(|value| value - mean).collect();
    let all: Vec<usize> = (0..count).collect();
    let found = indices(&centred, size, &all);
    let confidence =
        bootstrap::half_widths(count, groups.seed, |chosen| indices(&centred, size, chosen));
    found
        .chunks_exact(2)
        .zip(confidence.chunks_exact(2))
        .map(|(found, half)| vec![found[0], half[0], found[1], half[1]])
        .collect()
}

/// The indices of some groups: first order and total, parameter by parameter.
fn indices(values: &[f64], size: usize, chosen: &[usize]) -> Vec<f64> {
    let parameters = size - 2;
    let count = chosen.len() as f64;
    let (mut sum, mut square) = (0.0, 0.0);
    let mut products = vec![0.0; 2 * parameters];
    for group in chosen {
        let group = &values[group * size..(group + 1) * size];
        let (a, b) = (group[0], group[size - 1]);
        sum += a + b;
        square += a * a + b * b;
        for (mixed, products) in group[1..].iter().zip(products.chunks_exact_mut(2)) {
            products[0] += b * (mixed - a);
            products[1] += (a - mixed) * (a - mixed);
        }
    }
    let variance = square / (2.0 * count) - (sum / (2.0 * count)) * (sum / (2.0 * count));
    for pair in products.chunks_exact_mut(2) {
        pair[0] /= count * variance;
        pair[1] /= 2.0 * count * variance;
    }
    products
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Distribution;

    /// The function of Ishigami and Homma 1990 with a = 7 and b = 0.1.
    fn ishigami(x: &[f64]) -> f64 {
        libm::sin(x[0]) + 7.0 * libm::sin(x[1]).powi(2) + 0.1 * x[2].powi(4) * libm::sin(x[0])
    }

    /// Its indices in closed form (Saltelli et al. 2000, p. 179): V₁ = (1 + bπ⁴/5)²/2, V₂ = a²/8, V₁₃ = 8b²π⁸/225.
    fn exact() -> [[f64; 2]; 3] {
        let (a, b, pi) = (7.0_f64, 0.1, std::f64::consts::PI);
        let first = (1.0 + b * pi.powi(4) / 5.0).powi(2) / 2.0;
        let second = a * a / 8.0;
        let both = 8.0 * b * b * pi.powi(8) / 225.0;
        let all = first + second + both;
        [
            [first / all, (first + both) / all],
            [second / all, second / all],
            [0.0, both / all],
        ]
    }

    #[test]
    fn indices_of_ishigami() {
        for seed in 1..=5 {
            let unit = vec![Distribution::Uniform(0.0, 1.0); 3];
            let request = Request {
                count: 4096,
                seed,
                distributions: &unit,
            };
            let places = places(&request).unwrap();
            assert_eq!(places.len(), 4096 * 5);
            let pi = std::f64::consts::PI;
            let at = |place: &Vec<f64>| {
                let x: Vec<f64> = place.iter().map(|u| pi * (2.0 * u - 1.0)).collect();
                ishigami(&x)
            };
            let values: Vec<f64> = places.iter().map(at).collect();
            let all: Vec<usize> = (0..4096).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let centred: Vec<f64> = values.iter().map(|value| value - mean).collect();
            let found = indices(&centred, 5, &all);
            for (found, exact) in found.iter().zip(exact().as_flattened()) {
                assert!(
                    (found - exact).abs() < 0.01,
                    "seed {seed}: {found} for {exact}"
                );
            }
        }
    }

    #[test]
    fn intervals_hold_the_exact_indices() {
        let unit = vec![Distribution::Uniform(0.0, 1.0); 3];
        let request = Request {
            count: 256,
            seed: 4,
            distributions: &unit,
        };
        let places = places(&request).unwrap();
        let pi = std::f64::consts::PI;
        let at = |place: &Vec<f64>| {
            let x: Vec<f64> = place.iter().map(|u| pi * (2.0 * u - 1.0)).collect();
            ishigami(&x)
        };
        let values: Vec<f64> = places.iter().map(at).collect();
        let figures = figures_of(&Groups {
            parameters: 3,
            values: &values,
            places: &places,
            seed: 4,
        });
        for (figures, exact) in figures.iter().zip(exact()) {
            assert!((figures[0] - exact[0]).abs() <= figures[1], "{figures:?}");
            assert!((figures[2] - exact[1]).abs() <= figures[3], "{figures:?}");
            // Of 256 base points an index is known to a tenth or two.
            assert!(figures[1] < 0.25 && figures[3] < 0.25, "{figures:?}");
        }
    }
}
