//! The verdict of the energy audit on 300 random double oscillators, half of them damped.
//!
//! Masses from 0.3 to 10 kg and stiffnesses from 10 to 1600 N/m, evenly spread by their logarithms,
//! from a fixed seed. Each runs stale and corrected (μ = 0.5); a run is harmed if its error of the
//! energy grows. Rows: runs that were harmed, and the percentage of right verdicts. Source: the
//! correction of Rodríguez et al. (2022) §3; the audit and the bars are own.

use gyrator::report::CorrectionVerdict;
use rayon::prelude::*;

use crate::assembly::{Configuration, STALE};
use crate::benchmark::{Benchmark, Case, MeasureError, Progress, nothing_more};
use crate::figures;
use crate::metrics::energy_metrics;
use crate::oscillators::{FORCE, MOTION, Oscillators, mass};
use crate::reference::{Damper, Element, Spring, StarOscillator};
use crate::role::RoleAssignment;
use crate::row::{Bar, BenchmarkRow, Metric};

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: "random-oscillators",
    summary: "whether the audit sees in which of 300 random double oscillators the correction harms",
    source: "Rodríguez et al. 2022, section 3, with an audit that the paper does not have",
    roles: &[FORCE, MOTION],
    cases: &[
        Case::new(
            "3s",
            "masses 0.3 to 10 kg, stiffnesses 10 to 1600 N/m, half of them with dampers of 0.1 N.s/m",
        ),
        Case::new(
            "10s",
            "the same for longer: many would have swung out of all bounds without correction",
        ),
    ],
    measure,
    figures: figures::none,
    conclude: nothing_more,
};

const COUNT: usize = 300;
const CORRECTED: Configuration = Configuration::corrected("corrected", &[("mu", 0.5)]);

const FINITE: Metric = Metric::figure("finite runs", "");
const RIGHT: Metric = Metric::figure("right verdicts", "%");
const HARMED: Metric = Metric::figure("runs that the correction harmed", "");
const CALLED: Metric = Metric::figure("of these called harmed", "%");
const MISSED: Metric = Metric::figure("of these called helped", "");
const HELPED: Metric = Metric::figure("runs called helped", "");

const PROJECT: &str = "bar of this project";

/// Result of one oscillator.
struct Trial {
    is_finite: bool,
    is_harmed: bool,
    is_called_harmed: bool,
    is_called_helped: bool,
}

/// Numbers that are the same in each run: a linear congruential generator (Knuth's MMIX).
struct Numbers(u64);

impl Numbers {
    /// Evenly spread over 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Evenly spread by its logarithm.
    fn between(&mut self, least: f64, greatest: f64) -> f64 {
        least * (greatest / least).powf(self.next())
    }
}

fn oscillators(numbers: &mut Numbers, is_damped: bool, stop: f64) -> Oscillators {
    let element = |numbers: &mut Numbers| Element {
        k: numbers.between(10.0, 1600.0),
        c: if is_damped { 0.1 } else { 0.0 },
    };
    let [first, coupling, second] = [element(numbers), element(numbers), element(numbers)];
    let mut mass_on = |element: Element, v_start: f64| {
        mass(numbers.between(0.3, 10.0), element.k, element.c, v_start)
    };
    let star = StarOscillator {
        arms: vec![(mass_on(first, 100.0), coupling)],
        hub: mass_on(second, -100.0),
        spring: Spring::Linear,
        damper: Damper::Linear,
    };
    Oscillators {
        stop,
        ..Oscillators::single_rate(star, &MOTION, &["f"])
    }
}

fn measure(
    roles: &RoleAssignment,
    case: &'static Case,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    let is_short = case.name == "3s";
    let stop = if is_short { 3.0 } else { 10.0 };
    let mut numbers = Numbers(2022);
    let draw = |index| oscillators(&mut numbers, index % 2 == 1, stop);
    let all: Vec<Oscillators> = (0..COUNT).map(draw).collect();
    let trials: Result<Vec<Trial>, _> = all
        .par_iter()
        .map(|oscillators| judge(roles, oscillators))
        .collect();
    let trials = trials?;
    let count = |is_meant: &dyn Fn(&Trial) -> bool| {
        trials.iter().filter(|trial| is_meant(trial)).count() as f64
    };
    let right = count(&|trial| trial.is_harmed == trial.is_called_harmed);
    let harmed = count(&|trial| trial.is_harmed);
    let called = count(&|trial| trial.is_harmed && trial.is_called_harmed);
    let missed = count(&|trial| trial.is_harmed && trial.is_called_helped);
    let helped = count(&|trial| trial.is_called_helped);
    let all = COUNT as f64;
    let finite = BenchmarkRow::new(FINITE, count(&|trial| trial.is_finite));
    let right = BenchmarkRow::new(RIGHT, 100.0 * right / all);
    let called = BenchmarkRow::new(CALLED, 100.0 * called / harmed);
    let called = called.within(Bar::AtLeast(100.0), PROJECT);
    let right = if is_short {
        right.within(Bar::AtLeast(94.0), PROJECT)
    } else {
        let note = "the audit compares with W_stale of the corrected run; uncorrected, energy grows on itself";
        right.note(note)
    };
    let finite = finite.against(all, Bar::Absolute(0.0), PROJECT);
    progress.add(
        CORRECTED.name,
        [
            finite,
            right,
            BenchmarkRow::new(HARMED, harmed),
            called,
            BenchmarkRow::new(MISSED, missed).within(Bar::AtMost(0.0), PROJECT),
            BenchmarkRow::new(HELPED, helped),
        ],
    );
    Ok(())
}

/// Runs without and with the correction; the truth is the distance from the monolithic run's energy
/// over the last second.
fn judge(roles: &RoleAssignment, oscillators: &Oscillators) -> Result<Trial, MeasureError> {
    let whole = oscillators.monolithic();
    let error = |configuration: &Configuration| {
        let course = oscillators.run(roles, configuration)?;
        let errors = oscillators.energy_errors(&course.states, &whole);
        let [.., last] = energy_metrics(&oscillators.times(), &errors);
        Ok::<_, MeasureError>((last, course.recording.report.bonds[0].correction_verdict))
    };
    let (without, _) = error(&STALE)?;
    let (with, verdict) = error(&CORRECTED)?;
    Ok(Trial {
        is_finite: without.is_finite() && with.is_finite(),
        is_harmed: with.abs() >= without.abs(),
        is_called_harmed: verdict == Some(CorrectionVerdict::Harmed),
        is_called_helped: verdict == Some(CorrectionVerdict::Helped),
    })
}
