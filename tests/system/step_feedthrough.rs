//! Direct feed-through that shows in steps only: found by a trial of the first step, or the verdict depends on it.

use fmu_models::{OscillatorForce, OscillatorMotion};
use gyrator::exchange_mode::Exchange;
use gyrator::report::Unknown;
use gyrator::{Report, RunOptions, Unit, Verdict};
use gyrator_testkit::{Coupling, DoubleOscillator, ModelUnit, StepOutputs, TABLE_1, Trace};

fn force() -> ModelUnit<OscillatorForce> {
    ModelUnit::new().values_only()
}

fn run(
    case: &DoubleOscillator,
    coupling: &Coupling<'_>,
    force: impl Unit + 'static,
) -> (Report, Trace) {
    let motion = ModelUnit::<OscillatorMotion>::new().values_only();
    let mut run = case
        .system_of_units(coupling, force, motion)
        .start(&RunOptions::default())
        .unwrap();
    let trace = Trace::of(&mut run).unwrap();
    (run.run().unwrap(), trace)
}

fn with(exchange: &str, macro_step: f64) -> Coupling<'_> {
    Coupling {
        exchange,
        macro_step,
        force_step: macro_step,
        motion_step: macro_step,
        stop_time: 2.0,
        ..Coupling::default()
    }
}

fn pairs(report: &Report) -> Option<Vec<(&str, &str)>> {
    let found = report.components[0].feedthrough_in_steps.as_ref()?;
    Some(
        found
            .iter()
            .map(|pair| (&*pair.input, &*pair.output))
            .collect(),
    )
}

/// Verdict and estimate are as with the stale exchange, and the results as with a unit that is not tried, bit for bit.
/// Damped, the force follows the position and the velocity of the other mass, else the position.
#[test]
fn a_trial_of_the_last_steps_finds_it() {
    let position = ("force.x2", "force.f");
    let velocity = ("force.v2", "force.f");
    for (case, expected) in [(0, vec![position]), (1, vec![position, velocity])] {
        let case = &TABLE_1[case];
        for exchange in ["auto", "stale", "compensated"] {
            let coupling = with(exchange, 1e-3);
            let (report, trace) = run(case, &coupling, StepOutputs::new(force()));
            assert_eq!(pairs(&report).unwrap(), expected);
            let named = |note: &String| note.contains("force.x2 → force.f");
            assert!(report.notes.iter().any(named), "{:?}", report.notes);
            assert_eq!(report.bonds[0].stale_energy, None);
            let (stale, _) = run(case, &with("stale", 1e-3), force());
            assert_eq!(pairs(&stale).unwrap(), []);
            assert_eq!(report.verdict, stale.verdict);
            // The first force of the unit was computed before it had inputs.
            let estimates = [&report, &stale].map(|report| report.coupling_error_estimate.unwrap());
            assert!(
                (estimates[0] / estimates[1] - 1.0).abs() < 0.01,
                "{estimates:?}"
            );
            let untried = StepOutputs::new(force()).without_saved_states();
            let (_, untried) = run(case, &with(exchange, 1e-3), untried);
            for name in ["force.x", "force.f", "motion.x"] {
                assert_eq!(trace.column(name), untried.column(name), "{name}");
            }
        }
    }
}

/// Steps of two and of five macro-steps; the last one of five begins before the last but one macro-step.
#[test]
fn a_slow_component_is_tried_by_its_own_steps() {
    for every in [2.0, 5.0] {
        let coupling = Coupling {
            force_step: every * 1e-3,
            ..with("auto", 1e-3)
        };
        let (report, trace) = run(&TABLE_1[1], &coupling, StepOutputs::new(force()));
        let expected = [("force.x2", "force.f"), ("force.v2", "force.f")];
        assert_eq!(pairs(&report).unwrap(), expected, "{every}");
        let untried = StepOutputs::new(force()).without_saved_states();
        let (_, untried) = run(&TABLE_1[1], &coupling, untried);
        for name in ["force.x", "force.f", "motion.x"] {
            assert_eq!(trace.column(name), untried.column(name), "{name}");
        }
    }
}

/// Between small and visible, or visible and dominating, as the feed-through is: no verdict, and no energy of the audit.
#[test]
fn without_saved_states_the_verdict_depends_on_it() {
    let unknown = || StepOutputs::new(force()).without_saved_states();
    let mut words = Vec::new();
    for macro_step in [1e-4, 5e-4, 1e-3] {
        let coupling = Coupling {
            stop_time: 2000.0 * macro_step,
            ..with("auto", macro_step)
        };
        let (report, _) = run(&TABLE_1[0], &coupling, unknown());
        assert_eq!(pairs(&report), None);
        assert_eq!(report.components[0].exchange, Exchange::NO_FEEDTHROUGH);
        assert_eq!(report.bonds[0].stale_energy, None);
        let cannot_tell = report.estimated_verdict == Verdict::CannotTell;
        assert_eq!(report.coupling_error_estimate.is_none(), cannot_tell);
        let hidden = Unknown::Feedthrough(vec![report.components[0].name.clone()]);
        assert_eq!(report.unknown, cannot_tell.then_some(hidden));
        words.push(report.estimated_verdict);
        let (found, _) = run(&TABLE_1[0], &coupling, StepOutputs::new(force()));
        assert!(cannot_tell || found.estimated_verdict == report.estimated_verdict);
    }
    assert!(words.contains(&Verdict::CannotTell), "{words:?}");
    assert!(words.contains(&Verdict::Small), "{words:?}");
}
