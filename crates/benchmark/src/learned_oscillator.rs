//! Learning over runs: Thielemans et al. (2023), and beyond it at several rates, with nonlinear
//! systems, and where it diverges.

use gyrator::{Base, Learned, Learning, Outcome, Run, RunError, RunOptions, System, Watch};
use gyrator_system::SystemFile;

use crate::assembly::STALE;
use crate::benchmark::{Benchmark, Case, MeasureError, Progress};
use crate::crane;
use crate::double_oscillator::{multi_rate, table_1};
use crate::figures;
use crate::metrics::energy_metrics;
use crate::nonlinear_oscillator::table_3;
use crate::oscillators::{FORCE, MOTION, Oscillators};
use crate::recording::Recorder;
use crate::role::Cast;
use crate::row::{Bar, Figure, Metric, Row};

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: "learning",
    summary: "feed-forward that is learned over runs, until the coupling has no error",
    source: "Thielemans et al. 2023, section 4",
    roles: &[FORCE, MOTION, crane::LINKS, crane::CYLINDER],
    cases: &[
        Case {
            name: "damped",
            summary: "double oscillator, case 2, 20 s",
        },
        Case {
            name: "undamped",
            summary: "double oscillator, case 1, 20 s",
        },
        Case {
            name: "slow-force",
            summary: "double oscillator, case 1, the force steps ten times slower",
        },
        Case {
            name: "fast-force",
            summary: "double oscillator, case 1, the force steps ten times faster",
        },
        Case {
            name: "square-root",
            summary: "nonlinear oscillator, case 1",
        },
        Case {
            name: "quadratic",
            summary: "nonlinear oscillator, case 2",
        },
        Case {
            name: "crane",
            summary: "crane, 10 / 0.25 ms, where the law diverges",
        },
    ],
    measure,
    figures: figures::learning::figures,
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

const SOURCE: &str = "independent reproduction of Thielemans et al. 2023, H = 1 ms, T = 20 s";
const PAPER: &str = "Thielemans et al. 2023, section 4";
const EXTENSION: &str = "independent reproduction, extended to this system";
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

/// Iteration, ‖e‖₂ and max |e| in N, max |E − E_monolithic| in J.
type Published = (u32, f64, f64, f64);

const DAMPED: [Published; 9] = [
    (0, 8.627e2, 20.0, 1437.0),
    (1, 3.466e2, 4.46, 263.0),
    (2, 1.303e2, 2.36, 93.8),
    (3, 37.84, 0.855, 20.0),
    (4, 8.808, 0.233, 4.86),
    (6, 0.2805, 9.2e-3, 0.141),
    (8, 5.12e-3, 1.96e-4, 2.4e-3),
    (10, 6.02e-5, 2.6e-6, 2.6e-5),
    (12, 4.95e-7, 2.33e-8, 2.02e-7),
];

const UNDAMPED: [Published; 9] = [
    (0, 2.400e3, 41.2, 4.68e4),
    (1, 1.775e3, 38.6, 6102.0),
    (2, 8.051e2, 21.1, 7505.0),
    (3, 256.5, 7.65, 1590.0),
    (4, 63.04, 2.08, 390.0),
    (6, 2.131, 0.0824, 11.2),
    (8, 0.04006, 1.7e-3, 0.187),
    (10, 4.79e-4, 2.3e-5, 2.0e-3),
    (12, 3.97e-6, 2.06e-7, 1.51e-5),
];

/// A run of a sequence.
pub(crate) struct Learnt {
    /// What was learned over all runs.
    pub(crate) learned: Learned,
    /// States x_1, x_2, v_1, v_2 of each run.
    pub(crate) states: Vec<Vec<Vec<f64>>>,
}

/// Keeps the courses of all runs.
#[derive(Default)]
struct Courses(Vec<Recorder>);

impl Watch for Courses {
    fn begin(&mut self, _: u32, run: &mut Run) -> Result<(), RunError> {
        self.0.push(Recorder::watch(run)?);
        Ok(())
    }
}

/// Learns for `oscillators`, and keeps the course of each run.
pub(crate) fn learn(
    cast: &Cast,
    oscillators: &Oscillators,
    learning: &Learning,
) -> Result<Learnt, MeasureError> {
    let (file, names) = oscillators.system(cast, &STALE)?;
    let mut courses = Courses::default();
    let learned = learn_file(file, learning, &mut courses)?;
    let states = courses.0.iter().map(|course| course.rows_of(&names));
    Ok(Learnt {
        learned,
        states: states.collect::<Result<_, _>>()?,
    })
}

fn learn_file(
    mut file: SystemFile,
    learning: &Learning,
    watch: &mut dyn Watch,
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

fn measure(cast: &Cast, case: &'static Case, progress: &Progress<'_>) -> Result<(), MeasureError> {
    match case.name {
        "damped" => measure_table(cast, case.name, &DAMPED, 5e-7, progress),
        "undamped" => measure_table(cast, case.name, &UNDAMPED, 5e-5, progress),
        "slow-force" => measure_needed(cast, &multi_rate(true, "hold"), 11.0, progress),
        "fast-force" => measure_needed(cast, &multi_rate(false, "hold"), 9.0, progress),
        "square-root" => measure_needed(cast, &table_3("1"), 8.0, progress),
        "quadratic" => measure_needed(cast, &table_3("2"), 9.0, progress),
        _ => measure_crane(cast, progress),
    }
}

fn measure_table(
    cast: &Cast,
    case: &str,
    published: &[Published],
    bar: f64,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    let oscillators = oscillators(case);
    let Learnt { learned, states } = learn(cast, &oscillators, &all_iterations())?;
    let whole = oscillators.monolithic();
    for (iteration, states) in learned.iterations.iter().zip(&states) {
        let errors = oscillators.energy_errors(states, &whole);
        let [end, max, _] = energy_metrics(&oscillators.times(), &errors);
        let rows = [
            (NORM, iteration.norm_2),
            (MAX, iteration.max),
            (ENERGY, max),
        ];
        let known = published
            .iter()
            .find(|(number, ..)| *number == iteration.number);
        let references = known.map(|(_, norm, error, energy)| [*norm, *error, *energy]);
        let row = |(index, (metric, measured)): (usize, (Metric, f64))| match references {
            Some(references) => {
                Row::new(metric, measured).against(references[index], Bar::Factor(3.0), SOURCE)
            }
            None => Row::new(metric, measured),
        };
        let name = NAMES[iteration.number as usize];
        progress.add(name, rows.into_iter().enumerate().map(row));
        if iteration.number == ITERATIONS {
            progress.add(
                name,
                [Row::new(ENERGY_END, end).within(Bar::AtMost(bar), PROJECT)],
            );
            let row = Row::new(MAX, iteration.max).within(Bar::AtMost(1e-6), PAPER);
            progress.add(
                name,
                [row.note("the paper: zero with an accuracy of 1e-7 N")],
            );
        }
    }
    Ok(())
}

fn measure_needed(
    cast: &Cast,
    oscillators: &Oscillators,
    expected: f64,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    let Learnt { learned, .. } = learn(cast, oscillators, &Learning::default())?;
    let last = learned.iterations.last();
    let needed = Row::new(NEEDED, f64::from(last.map_or(0, |last| last.number)));
    let needed = needed.within(Bar::AtMost(13.0), PROJECT);
    let rows = [
        Row {
            reference: Some(Figure::Number(expected)),
            source: Some(EXTENSION),
            ..needed
        },
        Row::new(MAX, last.map_or(f64::NAN, |last| last.max)).within(Bar::AtMost(1e-6), PROJECT),
        Row::new(OUTCOME, word(&learned.outcome)).against("converged", Bar::Same, EXTENSION),
    ];
    progress.add("learned", rows);
    Ok(())
}

/// With gain 1 it diverges, and the best run is kept; from the fresh force there is little to learn.
fn measure_crane(cast: &Cast, progress: &Progress<'_>) -> Result<(), MeasureError> {
    let (file, _) = crane::system(cast, crane::steps("10ms"), &STALE)?;
    let learned = learn_file(file.clone(), &Learning::default(), &mut ())?;
    let best = &learned.iterations[learned.best];
    progress.add(
        "gain 1",
        [
            Row::new(OUTCOME, word(&learned.outcome)).against("diverged", Bar::Same, EXTENSION),
            Row::new(BEST, f64::from(best.number)).against(2.0, Bar::Absolute(0.0), EXTENSION),
            Row::new(NORM, best.norm_2),
        ],
    );
    let fresh = Learning {
        base: Base::Fresh,
        ..Learning::default()
    };
    let learned = learn_file(file, &fresh, &mut ())?;
    let last = learned.iterations.len() as f64 - 1.0;
    progress.add(
        "gain 1, from fresh",
        [
            Row::new(OUTCOME, word(&learned.outcome)).against("converged", Bar::Same, EXTENSION),
            Row::new(NEEDED, last).within(Bar::AtMost(3.0), EXTENSION),
        ],
    );
    Ok(())
}

fn word(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Converged => "converged",
        Outcome::Iterations => "all iterations made",
        Outcome::Diverged(_) => "diverged",
        Outcome::Interrupted => "interrupted",
    }
}
