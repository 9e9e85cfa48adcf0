//! Costs of a step by slope: of a long run less the costs of a short one, over the steps between them. The cost of a run
//! before its first step and after its last drops out.

use super::meter::Meter;
use super::programs::Master;
use super::rows::{Recording, Row};

/// The short run has this fraction of the long run's steps.
const SHORT: usize = 10;

/// CPU time between the two runs, s, that makes the noise of a clock small.
const ENOUGH: f64 = 0.4;

/// The same as a part of the CPU time of the short run, whose start may take long.
const OF_START: f64 = 0.5;

/// Steps of FMUs that a run makes first, to find out how many it should make.
const FIRST: usize = 20_000;

/// Most steps of FMUs of a run: with results, which are files of a few hundred megabytes then, and without.
const MOST_RECORDED: usize = 4_000_000;
const MOST: usize = 200_000_000;

/// Macro-steps of the two runs of a slope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Steps {
    short: usize,
    long: usize,
}

impl Steps {
    /// Runs in which the FMUs make about `unit_steps` steps in all.
    pub(super) fn of(row: Row, unit_steps: usize) -> Self {
        let short = (unit_steps / row.units / SHORT).max(2);
        Self {
            short,
            long: short * SHORT,
        }
    }

    fn between(self, row: Row) -> f64 {
        ((self.long - self.short) * row.units) as f64
    }
}

/// Finds how many steps take [`ENOUGH`] CPU time.
pub(super) fn calibrate(master: &dyn Master, meter: &Meter, row: Row) -> Result<Steps, String> {
    let most = match row.recording {
        Recording::Off => MOST,
        _ => MOST_RECORDED,
    };
    let mut unit_steps = FIRST;
    loop {
        let steps = Steps::of(row, unit_steps);
        let short = master.run(meter, row, steps.short)?;
        let difference = master.run(meter, row, steps.long)? - short;
        let wanted = ENOUGH.max(OF_START * short);
        let lacking = wanted / difference.max(wanted / 100.0);
        if lacking < 1.5 || unit_steps >= most {
            return Ok(steps);
        }
        unit_steps = most.min((unit_steps as f64 * lacking) as usize);
    }
}

/// Cost of one step of one FMU.
pub(super) fn slope(
    master: &dyn Master,
    meter: &Meter,
    row: Row,
    steps: Steps,
) -> Result<f64, String> {
    let short = master.run(meter, row, steps.short)?;
    let long = master.run(meter, row, steps.long)?;
    Ok((long - short) / steps.between(row))
}

/// Costs of one step of one FMU by the C loop and by another master, measured in turn.
#[derive(Debug, Default, Clone)]
pub(super) struct Pairs {
    pub(super) floor: Vec<f64>,
    pub(super) other: Vec<f64>,
}

impl Pairs {
    /// Measures the CPU time of both, s, so many times.
    pub(super) fn measure(
        (floor, other): (&dyn Master, &dyn Master),
        meter: &Meter,
        row: Row,
        repetitions: usize,
    ) -> Result<Self, String> {
        let steps = [calibrate(floor, meter, row)?, calibrate(other, meter, row)?];
        let mut pairs = Self::default();
        for _ in 0..repetitions {
            pairs.floor.push(slope(floor, meter, row, steps[0])?);
            pairs.other.push(slope(other, meter, row, steps[1])?);
        }
        Ok(pairs)
    }

    /// The ratios of the pairs, ascending: what changes the speed of the machine changes both of a pair.
    pub(super) fn ratios(&self) -> Vec<f64> {
        let both = self.other.iter().zip(&self.floor);
        let mut ratios: Vec<f64> = both.map(|(other, floor)| other / floor).collect();
        ratios.sort_by(f64::total_cmp);
        ratios
    }
}

pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        odd if odd % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::super::rows::{Library, Mode};
    use super::*;

    /// Costs a fixed time for its start, and one for each step of an FMU.
    struct Even {
        start: f64,
        step: f64,
        runs: Cell<usize>,
    }

    impl Even {
        fn new(start: f64, step: f64) -> Self {
            let runs = Cell::new(0);
            Self { start, step, runs }
        }
    }

    impl Master for Even {
        fn run(&self, _: &Meter, row: Row, steps: usize) -> Result<f64, String> {
            self.runs.set(self.runs.get() + 1);
            Ok(self.start + self.step * (steps * row.units) as f64)
        }
    }

    const ROW: Row = Row {
        units: 10,
        mode: Mode::PLAIN,
        library: Library::Annotated,
        recording: Recording::Off,
    };

    fn no_meter() -> Meter {
        Meter::instructions("nowhere".as_ref())
    }

    #[test]
    fn the_start_drops_out_of_the_slope() {
        let master = Even::new(7.0, 25e-9);
        let steps = Steps::of(ROW, 1_000_000);
        let found = slope(&master, &no_meter(), ROW, steps).unwrap();
        assert!((found / 25e-9 - 1.0).abs() < 1e-6, "{found}");
    }

    #[test]
    fn runs_are_as_long_as_the_noise_of_a_clock_and_of_the_start_ask_for() {
        for (start, step) in [(0.01, 8e-9), (6.0, 270e-9), (0.02, 1e-5)] {
            let master = Even::new(start, step);
            let steps = calibrate(&master, &no_meter(), ROW).unwrap();
            let time = step * steps.between(ROW);
            let wanted = ENOUGH.max(OF_START * start);
            assert!(
                time > 0.6 * wanted && time < 2.0 * wanted,
                "{time} s for {step}"
            );
            assert!(master.runs.get() <= 10, "{} runs", master.runs.get());
        }
    }

    #[test]
    fn runs_have_an_end_also_where_steps_cost_nothing_and_where_files_would_grow() {
        let steps = calibrate(&Even::new(0.1, 0.0), &no_meter(), ROW).unwrap();
        assert_eq!(steps.long * ROW.units, MOST);
        let recorded = Row {
            recording: Recording::CsvAll,
            ..ROW
        };
        let steps = calibrate(&Even::new(0.1, 1e-9), &no_meter(), recorded).unwrap();
        assert_eq!(steps.long * ROW.units, MOST_RECORDED);
    }

    #[test]
    fn the_ratio_is_that_of_pairs_which_a_slower_machine_does_not_change() {
        let pairs = Pairs {
            floor: vec![8.0, 16.0, 8.0],
            other: vec![16.0, 32.0, 20.0],
        };
        assert_eq!(pairs.ratios(), [2.0, 2.0, 2.5]);
        assert_eq!(median(&pairs.ratios()), 2.0);
    }

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_the_two_middles() {
        assert!(median(&[]).is_nan());
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
