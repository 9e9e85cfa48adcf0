//! Learning over runs: Thielemans et al. (2023), section 4, and beyond it at several rates, with
//! nonlinear systems, and in cases that diverge.
//!
//! The systems come from `double-oscillator`, `nonlinear-oscillator` and `crane-energy`. Rows:
//! norms of the error e = r − u by iteration, iterations to 1e-6, and the difference in energy from
//! the monolithic system. Limit: in single rate the error vanishes to rounding; at several rates
//! the course between points remains.

use gyrator::learning::{Base, Learned, Learning, LearningObserver, LearningOutcome};
use gyrator::unit::UnitMaker;
use gyrator::{Run, RunError, RunOptions, System};
use gyrator_system::SystemFile;

use crate::assembly::STALE;
use crate::benchmark::{Benchmark, Case, MeasureError, Progress, nothing_more};
use crate::crane;
use crate::double_oscillator::{multi_rate, table_1};
use crate::figures;
use crate::metrics::energy_metrics;
use crate::nonlinear_oscillator::table_3;
use crate::oscillators::{FORCE, MOTION, Oscillators};
use crate::recording::Recorder;
use crate::role::RoleAssignment;
use crate::row::{Bar, BenchmarkRow, Metric};

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: "learning",
    summary: "feed-forward that is learned over runs, until the coupling has no error",
    source: "Thielemans et al. 2023, section 4",
    roles: &[FORCE, MOTION, crane::LINKS, crane::CYLINDER],
    cases: &[
        Case::new("damped", "double oscillator, case 2, 20 s"),
        Case::new("undamped", "double oscillator, case 1, 20 s"),
        Case::new(
            "slow-force",
            "double oscillator, case 1, the force steps ten times slower",
        ),
        Case::new(
            "fast-force",
            "double oscillator, case 1, the force steps ten times faster",
        ),
        Case::new("square-root", "nonlinear oscillator, case 1"),
        Case::new("quadratic", "nonlinear oscillator, case 2"),
        Case::new("crane", "crane, 10 / 0.25 ms, where the law diverges"),
    ],
    measure,
    figures: figures::learning::figures,
    conclude: nothing_more,
};

/// Iterations that are learned for the tables.
pub(crate) const ITERATIONS: u32 = 12;

const NORM: Metric = Metric::figure("||e||_2", "N");
const MAX: Metric = Metric::figure("max |e|", "N");
const ENERGY: Metric = Metric::figure("max |E - E_monolithic|", "J");
const ENERGY_END: Metric = Metric::figure("E_end - E_monolithic", "J");
const NEEDED: Metric = Metric::figure("iterations to 1e-6", "");
const OUTCOME: Metric = Metric::figure("outcome", "");
const BEST: Metric = Metric::figure("best iteration", "");

const PAPER: &str = "Thielemans et al. 2023, section 4";
const PROJECT: &str = "bar of this project";

/// Names of the iterations in the table.
const NAMES: [&str; ITERATIONS as usize + 1] = [
    "iteration 0",
    "iteration 1",
    "iteration 2",
    "iteration 3",
    "iteration 4",
    "iteration 5",
    "iteration 6",
    "iteration 7",
    "iteration 8",
    "iteration 9",
    "iteration 10",
    "iteration 11",
    "iteration 12",
];

/// A run of a sequence.
pub(crate) struct LearningRun {
    /// Result of learning over all runs.
    pub(crate) learned: Learned,
    /// States x_1, x_2, v_1, v_2 of each run.
    pub(crate) states: Vec<Vec<Vec<f64>>>,
}

/// Keeps the courses of all runs.
struct Courses<'a>(&'a RoleAssignment, Vec<Recorder>);

impl LearningObserver for Courses<'_> {
    fn maker(&mut self) -> Box<dyn UnitMaker> {
        self.0.maker()
    }

    fn begin(&mut self, _: u32, run: &mut Run) -> Result<(), RunError> {
        self.1.push(Recorder::watch(run)?);
        Ok(())
    }
}

/// Learns for `oscillators`, and keeps the course of each run.
pub(crate) fn learn(
    roles: &RoleAssignment,
    oscillators: &Oscillators,
    learning: &Learning,
) -> Result<LearningRun, MeasureError> {
    let (file, names) = oscillators.system(roles, &STALE)?;
    let mut courses = Courses(roles, Vec::new());
    let learned = learn_file(file, learning, &mut courses)?;
    let states = courses.1.iter().map(|course| course.rows_of(&names));
    Ok(LearningRun {
        learned,
        states: states.collect::<Result<_, _>>()?,
    })
}

fn learn_file(
    mut file: SystemFile,
    learning: &Learning,
    watch: &mut dyn LearningObserver,
) -> Result<Learned, MeasureError> {
    // The mode of exchange is the learning's own choice.
    for component in &mut file.components {
        component.exchange = None;
    }
    let describe = || System::from_file(file.clone());
    Ok(learning.learn(&RunOptions::default(), describe, watch)?)
}

/// All iterations, whatever the error is.
pub(crate) fn all_iterations() -> Learning {
    Learning {
        iterations: ITERATIONS,
        tolerance: 0.0,
        ..Learning::default()
    }
}

/// The oscillator of a case of the paper, over 20 s.
pub(crate) fn oscillators(case: &str) -> Oscillators {
    let number = if case == "damped" { 2 } else { 1 };
    Oscillators {
        stop: 20.0,
        ..table_1(number)
    }
}

fn measure(
    roles: &RoleAssignment,
    case: &'static Case,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    match case.name {
        "damped" => measure_table(roles, case.name, 5e-7, progress),
        "undamped" => measure_table(roles, case.name, 5e-5, progress),
        "slow-force" => measure_needed(roles, &multi_rate(true, "hold"), progress),
        "fast-force" => measure_needed(roles, &multi_rate(false, "hold"), progress),
        "square-root" => measure_needed(roles, &table_3("1"), progress),
        "quadratic" => measure_needed(roles, &table_3("2"), progress),
        _ => measure_crane(roles, progress),
    }
}

fn measure_table(
    roles: &RoleAssignment,
    case: &str,
    bar: f64,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    let oscillators = oscillators(case);
    let LearningRun { learned, states } = learn(roles, &oscillators, &all_iterations())?;
    let whole = oscillators.monolithic();
    for (iteration, states) in learned.iterations.iter().zip(&states) {
        let errors = oscillators.energy_errors(states, &whole);
        let [end, max, _] = energy_metrics(&oscillators.times(), &errors);
        let rows = [
            (NORM, iteration.norm_2),
            (MAX, iteration.max),
            (ENERGY, max),
        ];
        let name = NAMES[iteration.number as usize];
        progress.add(
            name,
            rows.map(|(metric, measured)| BenchmarkRow::new(metric, measured)),
        );
        if iteration.number == ITERATIONS {
            progress.add(
                name,
                [BenchmarkRow::new(ENERGY_END, end).within(Bar::AtMost(bar), PROJECT)],
            );
            let row = BenchmarkRow::new(MAX, iteration.max).within(Bar::AtMost(1e-6), PAPER);
            progress.add(
                name,
                [row.note("the paper: zero with an accuracy of 1e-7 N")],
            );
        }
    }
    Ok(())
}

fn measure_needed(
    roles: &RoleAssignment,
    oscillators: &Oscillators,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    let LearningRun { learned, .. } = learn(roles, oscillators, &Learning::default())?;
    let last = learned.iterations.last();
    let needed = f64::from(last.map_or(0, |last| last.number));
    let rows = [
        BenchmarkRow::new(NEEDED, needed),
        BenchmarkRow::new(MAX, last.map_or(f64::NAN, |last| last.max))
            .within(Bar::AtMost(1e-6), PROJECT),
        BenchmarkRow::new(OUTCOME, word(&learned.outcome)),
    ];
    progress.add("learned", rows);
    Ok(())
}

/// With gain 1 it diverges, and the best run is kept; from the fresh force there is little to learn.
fn measure_crane(roles: &RoleAssignment, progress: &Progress<'_>) -> Result<(), MeasureError> {
    let (file, _) = crane::system(roles, crane::steps("10ms"), &STALE)?;
    // The law as published has one gain.
    let published = Learning {
        gain_halvings: 0,
        ..Learning::default()
    };
    let learned = learn_file(file.clone(), &published, &mut &*roles)?;
    let best = &learned.iterations[learned.best];
    progress.add(
        "gain 1",
        [
            BenchmarkRow::new(OUTCOME, word(&learned.outcome)),
            BenchmarkRow::new(BEST, f64::from(best.number)),
            BenchmarkRow::new(NORM, best.norm_2),
        ],
    );
    let fresh = Learning {
        base: Base::Fresh,
        ..Learning::default()
    };
    let learned = learn_file(file, &fresh, &mut &*roles)?;
    let last = learned.iterations.len() as f64 - 1.0;
    progress.add(
        "gain 1, from fresh",
        [
            BenchmarkRow::new(OUTCOME, word(&learned.outcome)),
            BenchmarkRow::new(NEEDED, last),
        ],
    );
    Ok(())
}

fn word(outcome: &LearningOutcome) -> &'static str {
    match outcome {
        LearningOutcome::Converged => "converged",
        LearningOutcome::Iterations => "all iterations made",
        LearningOutcome::Diverged(_) => "diverged",
        LearningOutcome::Interrupted => "interrupted",
    }
}
