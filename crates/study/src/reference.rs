//! Reference against which the errors of a run are measured.

use std::path::Path;

use gyrator::View;
use gyrator::graph::Graph;
use gyrator_record::{is_same_time, read_table};

use crate::probe::Probe;

/// Values of some variables over time.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ReferenceTrajectory {
    time: Vec<f64>,
    /// Row by row: a value of each variable.
    values: Vec<f64>,
    width: usize,
}

impl ReferenceTrajectory {
    pub(crate) fn new(width: usize) -> Self {
        Self {
            width,
            ..Self::default()
        }
    }

    /// The columns of a result file.
    pub(crate) fn read(path: &Path, variables: &[&str]) -> Result<Self, String> {
        let table = read_table(path).map_err(|error| error.to_string())?;
        let mut trajectory = Self::new(variables.len());
        let mut columns = Vec::new();
        for variable in variables {
            let column = table.column(variable).and_then(|column| column.numbers());
            columns.push(column.ok_or_else(|| {
                format!(
                    "{}: there is no column `{variable}` of numbers",
                    path.display()
                )
            })?);
        }
        for (row, time) in table.time.iter().enumerate() {
            trajectory.time.push(*time);
            trajectory
                .values
                .extend(columns.iter().map(|column| column[row]));
        }
        Ok(trajectory)
    }

    fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.width..(row + 1) * self.width]
    }

    /// The greatest less the least value of a variable, over the times for which `is_inside` holds.
    pub(crate) fn span(&self, track: usize, is_inside: &dyn Fn(f64) -> bool) -> f64 {
        let (mut least, mut greatest) = (f64::INFINITY, f64::NEG_INFINITY);
        for (row, time) in self.time.iter().enumerate() {
            if is_inside(*time) {
                let value = self.row(row)[track];
                least = least.min(value);
                greatest = greatest.max(value);
            }
        }
        greatest - least
    }

    pub(crate) fn cursor(&self) -> Cursor<'_> {
        Cursor {
            trajectory: self,
            row: 0,
        }
    }
}

/// Writes a trajectory during a run.
pub(crate) struct Recorder {
    probes: Vec<Probe>,
    trajectory: ReferenceTrajectory,
}

impl Recorder {
    pub(crate) fn new(variables: &[&str], graph: &Graph) -> Result<Self, String> {
        let find = |name: &&str| Probe::find(name, graph).map(|(probe, _)| probe);
        let probes: Vec<Probe> = variables.iter().map(find).collect::<Result<_, String>>()?;
        let trajectory = ReferenceTrajectory::new(probes.len());
        Ok(Self { probes, trajectory })
    }

    pub(crate) fn record(&mut self, view: &View<'_>) {
        self.trajectory.time.push(view.time);
        let values = self.probes.iter().map(|probe| probe.value(view));
        self.trajectory.values.extend(values);
    }

    pub(crate) fn finish(self) -> ReferenceTrajectory {
        self.trajectory
    }
}

/// A place on a trajectory that moves on with the time.
pub(crate) struct Cursor<'a> {
    trajectory: &'a ReferenceTrajectory,
    row: usize,
}

/// The values at a time: on the straight line between two rows.
pub(crate) struct Sample<'a> {
    here: &'a [f64],
    next: &'a [f64],
    fraction: f64,
}

impl Sample<'_> {
    pub(crate) fn value(&self, track: usize) -> f64 {
        let here = self.here[track];
        if self.fraction == 0.0 {
            return here;
        }
        here + self.fraction * (self.next[track] - here)
    }
}

impl<'a> Cursor<'a> {
    /// The values at a time that is not before the last one asked for. A time that misses a row by
    /// rounding is the row's. `None` outside of the trajectory.
    pub(crate) fn seek(&mut self, time: f64) -> Option<Sample<'a>> {
        let trajectory = self.trajectory;
        let last = trajectory.time.len().checked_sub(1)?;
        while self.row < last && trajectory.time[self.row + 1] <= time {
            self.row += 1;
        }
        let row = self.row;
        let at = |row: usize, fraction: f64| Sample {
            here: trajectory.row(row),
            next: trajectory.row((row + 1).min(last)),
            fraction,
        };
        let (a, b) = if row < last {
            (row, row + 1)
        } else {
            (last.saturating_sub(1), last)
        };
        let step = trajectory.time[b] - trajectory.time[a];
        let step = if step > 0.0 { step } else { 1.0 };
        if is_same_time(time, trajectory.time[row], step) {
            return Some(at(row, 0.0));
        }
        let fraction = (time - trajectory.time[row]) / step;
        if row == last || fraction < 0.0 {
            return None;
        }
        if is_same_time(time, trajectory.time[row + 1], step) {
            return Some(at(row + 1, 0.0));
        }
        Some(at(row, fraction))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trajectory() -> ReferenceTrajectory {
        ReferenceTrajectory {
            time: vec![0.0, 0.1, 0.2, 0.2, 0.4],
            values: vec![0.0, 1.0, 2.0, 5.0, 7.0],
            width: 1,
        }
    }

    #[test]
    fn values_lie_on_straight_lines() {
        let trajectory = trajectory();
        let mut cursor = trajectory.cursor();
        let mut at = |time: f64| cursor.seek(time).map(|sample| sample.value(0));
        assert_eq!(at(-0.01), None);
        assert_eq!(at(0.0), Some(0.0));
        assert_eq!(at(0.05), Some(0.5));
        assert_eq!(at(0.1 + 1e-12), Some(1.0));
        assert_eq!(at(0.2 - 1e-12), Some(2.0));
        assert_eq!(at(0.2), Some(5.0));
        assert_eq!(at(0.3), Some(6.0));
        assert_eq!(at(0.4 + 1e-12), Some(7.0));
        assert_eq!(at(0.41), None);
        assert!(ReferenceTrajectory::new(1).cursor().seek(0.0).is_none());
    }

    #[test]
    fn span_of_a_window() {
        assert_eq!(trajectory().span(0, &|_| true), 7.0);
        assert_eq!(trajectory().span(0, &|time| time < 0.15), 1.0);
    }
}
