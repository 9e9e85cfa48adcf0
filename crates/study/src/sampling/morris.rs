//! `morris`: trajectories that change one parameter at a time, for elementary effects. With few runs they tell which parameters
//! matter.
//!
//! Each of `count` trajectories starts at a random point of a grid of four levels. It moves each parameter once, in random
//! order, up or down by two thirds of its range: `count`·(d + 1) runs. An elementary effect is the change of the metric over the change
//! of the parameter as a share of its range. `mu_star`, the mean magnitude, ranks the parameters; `sigma` shows interaction and
//! curvature.

use gyrator::random::SplitMix64;

use super::latin_hypercube::shuffle;
use super::{Analysis, Groups, Request, Sampling, bootstrap};
use crate::random::Distribution;

pub(super) const ENTRY: Sampling = Sampling {
    name: "morris",
    summary: "points for elementary effects: `count` trajectories of d + 1 points, d keys",
    source: "Morris 1991, Technometrics 33, 161; mu_star: Campolongo, Cariboni & Saltelli 2007",
    points: |request| Ok(request.spread(&places(request)?)),
    analysis: Some(Analysis {
        figures: &["mu", "mu_star", "mu_star_confidence", "sigma"],
        group: |parameters| parameters + 1,
        figures_of,
    }),
};

/// Levels of the grid, p of Morris 1991.
const LEVELS: usize = 4;
/// Levels of a move, so that all levels are equally probable: Δ = p/(2(p − 1)) (Morris 1991, section 3).
const MOVE: usize = LEVELS / 2;

fn places(request: &Request<'_>) -> Result<Vec<Vec<f64>>, String> {
    let width = request.distributions.len();
    let is_unbounded = |d: &Distribution| matches!(d, Distribution::Normal(..));
    if request.distributions.iter().any(is_unbounded) {
        return Err("`morris` goes to the ends of the ranges, and a normal distribution has none: write `uniform`".to_owned());
    }
    let mut stream = SplitMix64::new(request.seed);
    let mut places = Vec::with_capacity(request.count * (width + 1));
    let mut order: Vec<usize> = (0..width).collect();
    for _ in 0..request.count {
        let mut levels: Vec<usize> = (0..width)
            .map(|_| (stream.next_unit() * LEVELS as f64) as usize)
            .collect();
        let place = |levels: &[usize]| -> Vec<f64> {
            let share = |level: &usize| *level as f64 / (LEVELS - 1) as f64;
            levels.iter().map(share).collect()
        };
        places.push(place(&levels));
        shuffle(&mut order, &mut stream);
        for key in &order {
            // From each level one of the two moves stays on the grid.
            levels[*key] = (levels[*key] + MOVE) % LEVELS;
            places.push(place(&levels));
        }
    }
    Ok(places)
}

fn figures_of(groups: &Groups<'_>) -> Vec<Vec<f64>> {
    let size = groups.parameters + 1;
    let count = groups.values.len() / size;
    let mut effects = vec![Vec::with_capacity(count); groups.parameters];
    let trajectories = groups
        .values
        .chunks_exact(size)
        .zip(groups.places.chunks_exact(size));
    for (values, places) in trajectories {
        for (values, places) in values.windows(2).zip(places.windows(2)) {
            let pairs = places[0].iter().zip(&places[1]);
            let mut moves = pairs.map(|(before, after)| after - before).enumerate();
            // One parameter has moved.
            if let Some((key, change)) = moves.find(|(_, change)| *change != 0.0) {
                effects[key].push((values[1] - values[0]) / change);
            }
        }
    }
    let figures = |effects: &Vec<f64>| {
        let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / count as f64;
        let mu = mean(&mut effects.iter().copied());
        let mu_star = mean(&mut effects.iter().map(|effect| effect.abs()));
        let square = effects.iter().map(|effect| (effect - mu) * (effect - mu));
        let sigma = libm::sqrt(square.sum::<f64>() / (count - 1).max(1) as f64);
        let half = bootstrap::half_widths(count, groups.seed, |chosen| {
            vec![mean(&mut chosen.iter().map(|group| effects[*group].abs()))]
        });
        vec![mu, mu_star, half[0], sigma]
    };
    effects.iter().map(figures).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(count: usize, width: usize) -> Vec<Vec<f64>> {
        let distributions = vec![Distribution::Uniform(0.0, 1.0); width];
        places(&Request {
            count,
            seed: 9,
            distributions: &distributions,
        })
        .unwrap()
    }

    /// 2·x₁ + x₂² − x₁·x₃ on the four levels: the effect of x₂ is the sum of both ends, 2/3 or 4/3; the effect of x₁ is 2 − x₃.
    #[test]
    fn effects_of_a_polynomial() {
        let places = made(4000, 4);
        let at = |x: &Vec<f64>| 2.0 * x[0] + x[1] * x[1] - x[0] * x[2];
        let values: Vec<f64> = places.iter().map(at).collect();
        let figures = figures_of(&Groups {
            parameters: 4,
            values: &values,
            places: &places,
            seed: 1,
        });
        // Means and deviations over levels 0, 1/3, 2/3 and 1 that are equally probable; four standard errors are 0.03.
        let deviation = (5.0_f64 / 36.0).sqrt();
        let expected = [
            [1.5, 1.5, deviation],
            [1.0, 1.0, 1.0 / 3.0],
            [-0.5, 0.5, deviation],
            [0.0, 0.0, 0.0],
        ];
        for (figures, expected) in figures.iter().zip(expected) {
            let found = [figures[0], figures[1], figures[3]];
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 0.03, "{figures:?}");
            }
            assert!(figures[2] < 0.02, "{figures:?}");
        }
    }

    #[test]
    fn each_step_moves_one_parameter_by_two_thirds() {
        for trajectory in made(20, 5).chunks_exact(6) {
            let mut moved = Vec::new();
            for pair in trajectory.windows(2) {
                let keys: Vec<usize> = (0..5)
                    .filter(|key| pair[0][*key] != pair[1][*key])
                    .collect();
                assert_eq!(keys.len(), 1);
                let change = pair[1][keys[0]] - pair[0][keys[0]];
                assert!((change.abs() - 2.0 / 3.0).abs() < 1e-15);
                moved.extend(keys);
            }
            moved.sort_unstable();
            assert_eq!(moved, [0, 1, 2, 3, 4]);
        }
    }
}
