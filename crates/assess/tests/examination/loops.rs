//! Loops whose stability is known in closed form.

use gyrator::{LinearUnit, Run, RunOptions, StartError, System};
use gyrator_assess::doctor::{Diagnosis, ExamineError, Options, StartRuns, examine};
use gyrator_system::SystemFile;

use crate::{options, take_words};

/// ẋ = −u, y = x, and u = y one way or another. Fresh values give x(n+1) = x(n) − h·x(n), stable below h = 2 s. Stale
/// ones give x(n+1) = x(n) − h·x(n−1), stable below h = 1 s; k times faster with ẋ = −k·u.
struct Loop {
    k: f64,
    /// It is coupled in one way only: stale.
    is_fixed: bool,
}

impl Loop {
    fn new(k: f64) -> Self {
        Self { k, is_fixed: false }
    }
}

impl StartRuns for Loop {
    fn start(&mut self, file: SystemFile) -> Result<Run, StartError> {
        let experiment = &file.experiment;
        let gains = file.connections.iter().filter_map(|one| one.gain.as_ref());
        let k = gains.fold(self.k, |k, gain| k * gain.value);
        let mut system = described(experiment.step_size.as_ref().unwrap().value, k);
        if !self.is_fixed {
            take_words(&mut system, &file);
        }
        system.start(&RunOptions::default())
    }
}

fn described(step: f64, k: f64) -> System {
    let mut system = System::new(step);
    system.method("jacobi").extrapolation("hold");
    system.exchange("stale");
    let state: [&[f64]; 4] = [&[0.0], &[-k], &[1.0], &[0.0]];
    system.add("integrator", LinearUnit::new(&[1.0], &["u"], &["y"], state));
    let gain: [&[f64]; 4] = [&[-1.0], &[0.0], &[0.0], &[1.0]];
    system.add("gain", LinearUnit::new(&[0.0], &["u"], &["y"], gain));
    system.connect("integrator.y", "gain.u");
    system.connect("gain.y", "integrator.u");
    system.stop_time(100.0);
    system
}

fn diagnose(step: f64, exchange: &str, wanted: Option<f64>) -> Result<Diagnosis, ExamineError> {
    examined((step, 1.0), exchange, wanted)
}

fn examined(
    (step, k): (f64, f64),
    exchange: &str,
    wanted: Option<f64>,
) -> Result<Diagnosis, ExamineError> {
    let mut system = described(step, k);
    system.exchange(exchange);
    let options = Options {
        wanted,
        ..options(5000.0)
    };
    examine(&mut Loop::new(k), system.description(), &options)
}

#[test]
fn the_largest_stable_step_is_that_of_the_closed_form() {
    for (exchange, limit) in [("stale", 1.0), ("fresh", 2.0)] {
        for step in [0.1, 0.5] {
            let stability = diagnose(step, exchange, None).unwrap().stability;
            assert_eq!(stability.is_stable, Some(true), "{stability:?}");
            let found = stability.largest_step.unwrap();
            assert!(
                (found / limit).ln().abs() < 1.25_f64.ln(),
                "{exchange} {step}: {stability:#?}"
            );
        }
    }
    let unstable = diagnose(1.5, "stale", None).unwrap();
    assert_eq!(unstable.stability.is_stable, Some(false));
    // |λ| = √h for the complex pair of λ² − λ + h = 0.
    let levels = &unstable.stability.levels;
    let level = levels.iter().find(|level| level.step_size == 1.5).unwrap();
    let radius = level.spectral_radius.unwrap();
    assert!((radius - 1.5_f64.sqrt()).abs() < 1e-3, "{level:?}");
}

/// Stable below 1 µs: what grows a hundredfold in a macro-step, and faster in smaller ones, is not the system's own growth.
#[test]
fn a_loop_that_explodes_at_all_macro_steps_is_called_unstable() {
    let stability = examined((0.01, 1e6), "stale", None).unwrap().stability;
    assert_eq!(stability.is_stable, Some(false), "{stability:#?}");
    assert_eq!(stability.largest_step, None, "{stability:#?}");
    assert!(!stability.is_open);
    assert!(stability.unstable_step.is_some(), "{stability:#?}");
}

/// With both connections multiplied by p, x(n+1) = x(n) − p²·h·x(n−1): stable below p²·h = 1 s.
#[test]
fn the_first_gain_that_makes_a_loop_stable_is_named_for_a_set_up() {
    for (step, gain) in [(1.5, "0.5"), (5.0, "0.25")] {
        let mut fixed = Loop {
            is_fixed: true,
            ..Loop::new(1.0)
        };
        let system = described(step, 1.0);
        let diagnosis = examine(&mut fixed, system.description(), &options(5000.0)).unwrap();
        assert_eq!(diagnosis.stability.is_stable, Some(false));
        assert!(diagnosis.proposal.coupling.is_unchanged());
        let note = format!(
            "for a first set-up: with all connections in loops multiplied by {gain} whole runs are stable at this \
             macro-step; their results are wrong"
        );
        assert!(
            diagnosis.notes.contains(&note),
            "{step}: {:?}",
            diagnosis.notes
        );
    }
    let stable = diagnose(0.5, "stale", None).unwrap();
    assert!(!stable.notes.iter().any(|note| note.contains("set-up")));
}

/// ẋ = −x by held values is 1 − h instead of e^−h.
#[test]
fn a_better_coupling_is_proposed_verified_and_the_same_each_time() {
    let diagnosis = diagnose(0.1, "stale", None).unwrap();
    let proposal = &diagnosis.proposal;
    assert!(!proposal.coupling.is_unchanged(), "{diagnosis:#?}");
    let verification = proposal.verification.as_ref().unwrap();
    assert!(
        verification.proposed < 0.5 * verification.given.unwrap(),
        "{proposal:?}"
    );
    assert!(diagnosis.steps <= 5000.0);
    assert_eq!(diagnose(0.1, "stale", None).unwrap().proposal, *proposal);
    let coarser = diagnose(0.1, "stale", Some(0.05)).unwrap().proposal;
    assert!(
        coarser
            .verification
            .as_ref()
            .is_some_and(|found| found.proposed <= 0.05),
        "{coarser:?}"
    );
}

#[test]
fn an_examination_without_steps_says_so() {
    let system = described(0.1, 1.0);
    let nothing = options(0.0);
    let diagnosis = examine(&mut Loop::new(1.0), system.description(), &nothing).unwrap();
    assert_eq!(diagnosis.stability.is_stable, None);
    assert!(diagnosis.proposal.coupling.is_unchanged() && diagnosis.accuracy.is_none());
}
