//! Verdicts after a second run at half of every step, against the truth: on random systems with every kind of element and
//! unit, jacobi and gauss-seidel, and every common exchange and extrapolation.
//!
//! `GYRATOR_VERDICT_SEED` is the first seed of the studies, `GYRATOR_VERDICT_RUNS` their number of runs.

use std::ops::Range;

use gyrator::Verdict;
use gyrator::report::{Divergence, Report};
use gyrator_assess::{Comparing, Decision, Keeper, assess};
use gyrator_record::Table;
use gyrator_testkit::{ElementKind, RandomSystem, Reach};
use rayon::prelude::*;

use super::error_bars::{result, rows};
use super::random_verdicts::Truth;

/// Greatest error of a healthy run, in ranges of the signal.
pub(super) const HEALTHY: f64 = 0.7;

/// What a run is, by its greatest error over the range of the signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// Below [`HEALTHY`].
    Healthy,
    Between,
    /// Above 2 and growing, or not finite.
    Diverging,
}

impl Class {
    const ALL: [Self; 3] = [Self::Healthy, Self::Between, Self::Diverging];

    fn of(run: &[&[f64]], truth: &[Vec<f64>]) -> Self {
        let signals = run.iter().zip(truth);
        let classes = signals.map(|(run, truth)| Self::of_signal(run, truth));
        classes.max().unwrap_or(Self::Healthy)
    }

    fn of_signal(run: &[f64], truth: &[f64]) -> Self {
        let errors = run
            .iter()
            .zip(truth)
            .map(|(run, truth)| (run - truth).abs());
        let errors: Vec<f64> = errors.collect();
        let greatest = |errors: &[f64]| errors.iter().copied().fold(0.0, f64::max);
        let least = truth.iter().copied().fold(f64::INFINITY, f64::min);
        let range = truth.iter().fold(0.0, |range: f64, x| range.max(x - least));
        let quarter = errors.len() / 4;
        let [early, late] = [&errors[quarter..2 * quarter], &errors[3 * quarter..]].map(greatest);
        match greatest(&errors) / range.max(f64::MIN_POSITIVE) {
            _ if run.iter().any(|value| !value.is_finite()) => Self::Diverging,
            error if error < HEALTHY => Self::Healthy,
            error if error > 2.0 && late >= 2.0 * early => Self::Diverging,
            _ => Self::Between,
        }
    }
}

/// A run, and what is said of it.
struct Judged {
    seed: u64,
    system: RandomSystem,
    class: Class,
    truth: Truth,
    /// Of the run alone.
    report: Report,
    /// Of the second run, if the run alone is suspected and finite.
    decision: Option<Decision>,
    /// With the second run. One that is not finite ends the program with an error, which is as loud as `diverging`.
    verdict: Verdict,
    by_bars: Verdict,
}

fn columns(table: &Table) -> Vec<&[f64]> {
    let series = table.series.iter();
    series.map(|series| series.numbers().unwrap()).collect()
}

fn judge(seed: u64, reach: Reach) -> Judged {
    let system = RandomSystem::with_drawn_elements(seed, reach);
    let names = system.outputs();
    let mut first = system.start(1.0);
    let kept = Keeper::observe(&mut first).unwrap().unwrap();
    let run = rows(&mut first, &names, 1);
    let report = first.report();
    let of_run = columns(&run);
    let is_finite = of_run.iter().all(|run| run.iter().all(|x| x.is_finite()));
    let mut verified = report.clone();
    let is_suspected = report.divergence == Divergence::Suspected;
    let decision = (is_suspected && is_finite).then(|| {
        let comparing = Comparing::with(kept.take(), 0.5);
        let mut second = system.start(0.5);
        second.observe(comparing.clone()).unwrap();
        second.run().unwrap();
        let verification = comparing.verification();
        verification.settle(&mut verified, |_| String::new());
        verification.decision
    });
    let assessment = assess(&run, system.step_size, &names, Verdict::SMALL, |factor| {
        Ok(result(&system, &names, factor))
    });
    let mut with_bars = report.clone();
    assessment.amend(&mut with_bars, |_| String::new());
    let truth = system.truth();
    Judged {
        seed,
        class: Class::of(&of_run, &truth),
        truth: Truth::of(&run, &truth),
        report,
        decision,
        verdict: match is_finite {
            true => verified.verdict,
            false => Verdict::Diverging,
        },
        by_bars: with_bars.verdict,
        system,
    }
}

fn judge_all(seeds: Range<u64>, reach: Reach) -> Vec<Judged> {
    let all = seeds.into_par_iter();
    all.map(|seed| judge(seed, reach)).collect()
}

/// The share of those that are meant, and of those that are counted.
fn share<'a>(
    all: impl Iterator<Item = &'a Judged> + Clone,
    is_meant: impl Fn(&Judged) -> bool,
) -> f64 {
    let meant = all.clone().filter(|judged| is_meant(judged)).count();
    meant as f64 / all.count().max(1) as f64
}

fn is_suspected(judged: &Judged) -> bool {
    judged.report.divergence == Divergence::Suspected
}

/// Whether the estimate of the run alone is within a factor 3 of the truth.
fn is_estimated(judged: &Judged) -> bool {
    let estimate = judged.report.coupling_error_estimate.unwrap_or(f64::NAN);
    (1.0 / 3.0..=3.0).contains(&(estimate / judged.truth.greatest()))
}

fn has_right_bars(judged: &Judged) -> bool {
    judged.truth.is_right(judged.by_bars, 1.5)
}

fn print(title: &str, all: &[Judged]) {
    println!("{title}");
    let words = Verdict::ALL.map(|verdict| format!("{:>12}", verdict.word()));
    println!(
        "{:9} {:>5} {:>9}{}",
        "",
        "runs",
        "suspected",
        words.concat()
    );
    for class in Class::ALL {
        let of_class = all.iter().filter(|judged| judged.class == class);
        let counts = |said: fn(&Judged) -> Verdict| {
            Verdict::ALL.map(|verdict| {
                let meant = of_class.clone().filter(|judged| said(judged) == verdict);
                format!("{:>12}", meant.count())
            })
        };
        let suspected = of_class.clone().filter(|judged| is_suspected(judged));
        println!(
            "{:9} {:>5} {:>9}{}",
            format!("{class:?}"),
            of_class.clone().count(),
            suspected.count(),
            counts(|judged| judged.verdict).concat()
        );
        let with_bars = counts(|judged| judged.by_bars).concat();
        println!("{:25}{with_bars}", "  with error bars");
    }
    let told = all
        .iter()
        .filter(|judged| judged.by_bars != Verdict::CannotTell);
    println!(
        "error bars right {:.3}, where they tell {:.3}",
        share(all.iter(), has_right_bars),
        share(told, has_right_bars)
    );
    for (name, is_meant) in ESTIMATED {
        let bounded = all.iter().filter(|judged| {
            is_meant(judged.system.kinds())
                && judged.class != Class::Diverging
                && judged.truth.greatest() > 0.0
        });
        let unsuspected = bounded.clone().filter(|judged| !is_suspected(judged));
        println!(
            "estimate of one run within a factor 3, {name}: {:.2} of {}; not suspected {:.2} of {}",
            share(bounded.clone(), is_estimated),
            bounded.count(),
            share(unsuspected.clone(), is_estimated),
            unsuspected.count()
        );
    }
    for judged in all.iter().filter(|judged| is_wrong(judged)) {
        println!(
            "seed {}: {:?} {:?}, {:?}, {}, {} with error bars",
            judged.seed,
            judged.class,
            judged.system.kinds(),
            judged.decision,
            judged.verdict,
            judged.by_bars
        );
    }
}

/// Kinds of systems by their elements.
type Kinds = (&'static str, fn(&[ElementKind]) -> bool);

const ESTIMATED: [Kinds; 3] = [
    ("linear", |kinds| kinds == [ElementKind::Linear]),
    ("cubic", |kinds| kinds == [ElementKind::Cubic]),
    ("others", |kinds| {
        !matches!(kinds, [ElementKind::Linear] | [ElementKind::Cubic])
    }),
];

/// Worth a look.
fn is_wrong(judged: &Judged) -> bool {
    match judged.class {
        Class::Healthy => {
            judged.verdict == Verdict::Diverging || judged.decision == Some(Decision::CannotTell)
        }
        Class::Between => false,
        Class::Diverging => [judged.verdict, judged.by_bars] != [Verdict::Diverging; 2],
    }
}

/// The bars of this project.
fn assert_bounds(all: &[Judged]) {
    let of = |class: Class| all.iter().filter(move |judged| judged.class == class);
    let (healthy, diverging) = (of(Class::Healthy), of(Class::Diverging));
    for judged in healthy.clone() {
        assert_ne!(judged.verdict, Verdict::Diverging, "seed {}", judged.seed);
    }
    let is_loud =
        |judged: &Judged| matches!(judged.verdict, Verdict::CannotTell | Verdict::Diverging);
    for judged in diverging.clone() {
        assert!(is_loud(judged), "seed {}: {}", judged.seed, judged.verdict);
    }
    let untold = share(healthy, |judged| {
        judged.decision == Some(Decision::CannotTell)
    });
    assert!(untold <= 0.01, "{untold}");
    // Two of fewer than forty may be one in twenty.
    let untold = diverging
        .clone()
        .filter(|judged| judged.verdict == Verdict::CannotTell);
    let most = (0.05 * diverging.count() as f64).max(1.0);
    assert!(untold.count() as f64 <= most, "{most}");
}

fn seeds(usual: u64) -> Range<u64> {
    let number = |name: &str, usual: u64| {
        let given = std::env::var(name);
        given.map_or(usual, |given| given.parse().expect("a number"))
    };
    let first = number("GYRATOR_VERDICT_SEED", 0);
    first..first + number("GYRATOR_VERDICT_RUNS", usual)
}

#[test]
fn runs_that_diverge_are_told_from_others() {
    assert_bounds(&judge_all(0..6, Reach::BeyondTheLimit));
    assert_bounds(&judge_all(0..3, Reach::StepResponse));
}

#[test]
#[ignore = "study: 500 random systems, four runs and the truth each"]
fn verified_verdicts_on_500_random_systems() {
    let all = judge_all(seeds(500), Reach::BeyondTheLimit);
    print("macro-steps up to beyond the limit", &all);
    assert_bounds(&all);
}

#[test]
#[ignore = "study: 600 healthy random systems, four runs and the truth each"]
fn verified_verdicts_on_healthy_random_systems() {
    for (title, reach, usual) in [
        ("small macro-steps", Reach::Healthy, 500),
        ("step responses from rest", Reach::StepResponse, 100),
    ] {
        let all = judge_all(seeds(usual), reach);
        print(title, &all);
        assert_bounds(&all);
    }
}
