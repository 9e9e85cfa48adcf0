//! Rows of a run and of its companions at equal times.

use gyrator_record::is_same_time;

use crate::error_bars::{Levels, Results};

/// Fewest common points that show an order: a choice.
const FEWEST_POINTS: usize = 8;

/// Rows of the three runs at equal times.
pub(crate) struct Grid {
    /// Rows of the run, and rows of the first companion at the same times.
    pub(crate) near: Vec<[usize; 2]>,
    /// Places in `near`, and rows of the second companion at the same times.
    pub(crate) far: Vec<[usize; 2]>,
}

impl Grid {
    pub(crate) fn common(results: &Results<'_>) -> Result<Self, String> {
        let [first, second] = results.companions.map(|table| &table.time[..]);
        let step = results.step_size;
        let times = &results.run.time;
        let near = common_rows(times, first, step);
        let is_whole = near.len() == times.len();
        if results.levels.has_half() && !is_whole {
            let end = first.last().copied().unwrap_or(f64::NAN);
            return Err(format!(
                "the run at half the macro-step ended at t = {end} s"
            ));
        }
        let near_times: Vec<f64> = near.iter().map(|[row, _]| times[*row]).collect();
        let far = common_rows(&near_times, second, step);
        let last = far.last().map_or(f64::NAN, |[place, _]| near_times[*place]);
        // A coarser run may lack the last rows of a run that was ended between its points.
        let longest = 2.0 * results.levels.factors()[1] * step;
        if times
            .last()
            .is_some_and(|end| end - last > longest.max(spacing(times, &far)))
        {
            let end = second.last().copied().unwrap_or(f64::NAN);
            let which = match results.levels {
                Levels::HalfAndQuarter => "a quarter of the macro-step",
                _ => "the largest macro-step",
            };
            return Err(format!("the run at {which} ended at t = {end} s"));
        }
        if far.len() < FEWEST_POINTS {
            return Err(format!("the runs have {} times in common", far.len()));
        }
        Ok(Self { near, far })
    }
}

/// Twice the mean distance of the common points.
fn spacing(times: &[f64], far: &[[usize; 2]]) -> f64 {
    let length = times.last().zip(times.first()).map_or(0.0, |(b, a)| b - a);
    2.0 * length / far.len().max(1) as f64
}

/// Pairs of rows with the same time, in order. Rows at events, which share a time, are paired in order.
pub(crate) fn common_rows(left: &[f64], right: &[f64], step: f64) -> Vec<[usize; 2]> {
    let (mut pairs, mut row) = (Vec::new(), 0);
    for (index, time) in left.iter().enumerate() {
        let is_before = |other: f64| other < *time && !is_same_time(other, *time, step);
        while right.get(row).is_some_and(|other| is_before(*other)) {
            row += 1;
        }
        if right
            .get(row)
            .is_some_and(|other| is_same_time(*other, *time, step))
        {
            pairs.push([index, row]);
            row += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_paired_by_their_times() {
        assert_eq!(
            common_rows(
                &[0.0, 1.0, 1.0, 2.0],
                &[0.0, 0.5, 1.0, 1.0, 2.0 + 1e-12],
                1.0
            ),
            [[0, 0], [1, 2], [2, 3], [3, 4]]
        );
        assert!(common_rows(&[], &[1.0], 1.0).is_empty());
    }
}
