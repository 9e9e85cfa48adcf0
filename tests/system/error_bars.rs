//! The error bars of companion runs, against the true error on random systems.

use gyrator::{Run, Verdict};
use gyrator_assess::{ErrorBar, Levels, Results, error_bars};
use gyrator_record::{Series, Table, Values};
use gyrator_testkit::RandomSystem;
use rayon::prelude::*;

/// The result of a run at `factor` times the macro-step, with the rows at macro-steps of the run itself.
pub(super) fn result(system: &RandomSystem, names: &[String], factor: f64) -> Table {
    let every = (1.0 / factor).max(1.0) as u64;
    rows(&mut system.start(factor), names, every)
}

/// The rows of a run from here to its end, of all outputs and every so many macro-steps.
pub(super) fn rows(run: &mut Run, names: &[String], every: u64) -> Table {
    let mut time = Vec::new();
    let mut columns = vec![Vec::new(); names.len()];
    loop {
        let view = run.view();
        if view.steps.is_multiple_of(every) {
            time.push(view.time);
            for (column, value) in columns.iter_mut().zip(view.reals) {
                column.push(*value);
            }
        }
        if run.has_ended() {
            return table(time, names, columns);
        }
        run.step().unwrap();
    }
}

fn table(time: Vec<f64>, names: &[String], columns: Vec<Vec<f64>>) -> Table {
    let series = names.iter().zip(columns).map(|(name, column)| Series {
        name: name.clone(),
        unit: None,
        values: Values::Numbers(column),
    });
    Table {
        time,
        series: series.collect(),
    }
}

/// The result of a run, and the error bars of its signals from companions at `levels`.
fn with_bars(system: &RandomSystem, levels: Levels) -> (Table, Vec<ErrorBar>) {
    let names = system.outputs();
    let run = result(system, &names, 1.0);
    let companions = levels
        .factors()
        .map(|factor| result(system, &names, factor));
    let results = Results {
        step_size: system.step_size,
        run: &run,
        levels,
        companions: companions.each_ref(),
    };
    let bars = error_bars(&results, &names, Verdict::SMALL);
    (run, bars)
}

/// How one signal was judged.
struct Judged {
    bar: ErrorBar,
    /// Estimated over true error, RMS over the run.
    ratio: f64,
    /// The part of the rows in which the truth lies inside twice the bar.
    covered: f64,
}

fn judge(seed: u64, steps: usize, levels: Levels) -> Vec<Judged> {
    let mut system = RandomSystem::of_seed(seed);
    system.steps = steps;
    let (run, bars) = with_bars(&system, levels);
    let truth = system.truth();
    let columns = run.series.iter().map(|series| series.numbers().unwrap());
    let all = bars.into_iter().zip(columns).zip(&truth);
    all.map(|((bar, run), truth)| {
        let errors: Vec<f64> = run.iter().zip(truth).map(|(a, b)| (a - b).abs()).collect();
        let squares: f64 = errors.iter().map(|error| error * error).sum();
        let rms = (squares / errors.len() as f64).sqrt();
        // The truth is computed with an inner step of its own.
        let own = 1e-6
            * truth
                .iter()
                .fold(0.0, |max: f64, value| max.max(value.abs()));
        let inside = errors.iter().zip(&bar.bars);
        let inside = inside
            .filter(|(error, bar)| **error <= 2.0 * **bar + own)
            .count();
        Judged {
            ratio: bar.error.map_or(f64::NAN, |error| error / rms),
            covered: inside as f64 / errors.len() as f64,
            bar,
        }
    })
    .collect()
}

/// Shares of the signals.
#[derive(Debug)]
#[expect(dead_code, reason = "printed")]
struct Shares {
    signals: usize,
    within_one_and_a_half: f64,
    within_three: f64,
    covered: f64,
    cannot_tell: f64,
    diverging: f64,
}

fn shares(systems: u64, steps: usize, levels: Levels) -> Shares {
    let all = (0..systems).into_par_iter();
    let all = all.flat_map(|seed| judge(seed, steps, levels));
    let all: Vec<Judged> = all.collect();
    let share = |of: &[&Judged], is_meant: &dyn Fn(&Judged) -> bool| {
        of.iter().filter(|judged| is_meant(judged)).count() as f64 / of.len() as f64
    };
    let every: Vec<&Judged> = all.iter().collect();
    let told = all.iter().filter(|judged| judged.bar.error.is_some());
    let told: Vec<&Judged> = told.collect();
    let within = |factor: f64| {
        share(&told, &move |judged| {
            (1.0 / factor..=factor).contains(&judged.ratio)
        })
    };
    let covered: f64 = told.iter().map(|judged| judged.covered).sum();
    Shares {
        signals: all.len(),
        within_one_and_a_half: within(1.5),
        within_three: within(3.0),
        covered: covered / told.len() as f64,
        cannot_tell: share(&every, &|judged| judged.bar.verdict == Verdict::CannotTell),
        diverging: share(&every, &|judged| judged.bar.verdict == Verdict::Diverging),
    }
}

/// The bars of this project: a prototype on 200 oscillators was within 1.5 for 97 % and more.
fn assert_bars(shares: &Shares) {
    println!("{shares:?}");
    assert!(shares.within_one_and_a_half >= 0.9, "{shares:?}");
    assert!(shares.within_three >= 0.99, "{shares:?}");
    assert!(shares.covered >= 0.95, "{shares:?}");
    assert!(shares.cannot_tell <= 0.15, "{shares:?}");
}

#[test]
fn the_error_of_random_systems_is_estimated_well() {
    assert_bars(&shares(12, 500, Levels::HalfAndTwice));
}

#[test]
#[ignore = "study: 500 random systems, three runs and the truth each"]
fn the_error_of_500_random_systems_is_estimated_well() {
    assert_bars(&shares(500, 2000, Levels::HalfAndTwice));
}

#[test]
#[ignore = "study: 500 random systems, three runs and the truth each"]
fn coarser_companions_estimate_the_error_of_500_random_systems() {
    let shares = shares(500, 2000, Levels::TwiceAndFourTimes);
    println!("{shares:?}");
    // Fewer errors are known if no finer run shows them, but those that are known hold.
    assert!(shares.within_one_and_a_half >= 0.9, "{shares:?}");
    assert!(shares.within_three >= 0.99, "{shares:?}");
    assert!(shares.covered >= 0.95, "{shares:?}");
    assert!(shares.cannot_tell <= 0.45, "{shares:?}");
}
