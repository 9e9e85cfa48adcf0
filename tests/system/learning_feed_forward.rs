//! Feed-forward that was learned: saved, read again, applied.

use gyrator::learning::{FeedForward, Iteration, Learning, LearningObserver, LearningOutcome};
use gyrator::method::METHODS;
use gyrator::registry::look_up;
use gyrator::{Run, RunError, RunOptions, StartError, System};
use gyrator_system::Choice;
use gyrator_testkit::{Coupling, ModelUnit, TABLE_1, Trace, fmu};

use crate::learning::{H, exactly, expect_close, learn, replay};

/// Keeps what each run published.
#[derive(Default)]
struct Traces(Vec<Trace>);

impl LearningObserver for Traces {
    fn begin(&mut self, number: u32, run: &mut Run) -> Result<(), RunError> {
        assert_eq!(number as usize, self.0.len());
        self.0.push(Trace::of(run)?);
        Ok(())
    }

    fn end(&mut self, iteration: &Iteration) -> bool {
        iteration.number < 2
    }
}

/// Learns, ended after run 2 by the watcher; saves, reads again and repeats that run.
fn expect_reproduced(mut describe: impl FnMut() -> System) {
    let mut traces = Traces::default();
    let learned = Learning::default()
        .learn(
            &RunOptions::default(),
            || Ok::<_, StartError>(describe()),
            &mut traces,
        )
        .unwrap();
    assert_eq!(
        (learned.outcome, learned.best),
        (LearningOutcome::Interrupted, 2)
    );
    let text = learned.feed_forward.to_string();
    let read: FeedForward = text.parse().unwrap();
    assert_eq!(read, learned.feed_forward);
    let again = replay(describe(), &read);
    assert_eq!(again.bits(), traces.0[2].bits());
    assert_ne!(again.bits(), traces.0[1].bits());
}

#[test]
fn saved_feed_forward_reproduces_the_run_bit_for_bit() {
    for (force_step, motion_step) in [(H, H), (H, 0.1 * H), (0.1 * H, H), (4.0 * H, 0.1 * H)] {
        let coupling = Coupling {
            force_step,
            motion_step,
            extrapolation: "linear",
            stop_time: 0.4,
            ..Coupling::default()
        };
        let derivatives = [0, 1, 3];
        for order in derivatives {
            let unit = || ModelUnit::new().with_input_derivatives(order);
            expect_reproduced(|| {
                let motion = ModelUnit::new().with_input_derivatives(order);
                TABLE_1[1].system_of(&coupling, unit(), motion)
            });
        }
    }
}

#[test]
fn fmus_learn_the_same() {
    let coupling = Coupling {
        force_step: 0.1 * H,
        stop_time: 0.5,
        ..Coupling::default()
    };
    let models = || TABLE_1[1].system_of(&coupling, ModelUnit::new(), ModelUnit::new());
    let mut file = models().description().clone();
    for component in &mut file.components {
        let is_force = component.name.value == "force";
        let model = if is_force {
            "OscillatorForce"
        } else {
            "OscillatorMotion"
        };
        component.fmu.value = fmu(model);
    }
    let fmus = || System::from_file(file.clone()).unwrap();
    let learning = Learning::default();
    assert_eq!(learn(&learning, fmus), learn(&learning, models));
    expect_reproduced(fmus);
}

#[track_caller]
fn expect_misfit(mut system: System, feed_forward: &FeedForward, expected: &str) {
    system.feed_forward(feed_forward.clone());
    let problems = system.check();
    let said = problems
        .iter()
        .any(|problem| problem.message.contains(expected));
    assert!(said, "{problems:?}");
    assert!(matches!(
        system.start(&RunOptions::default()),
        Err(StartError::Invalid(_))
    ));
}

#[test]
fn feed_forward_of_another_system_is_refused() {
    let coupling = Coupling {
        stop_time: 0.1,
        ..Coupling::default()
    };
    let system = |coupling: &Coupling<'_>| TABLE_1[1].system(coupling);
    let learned = learn(&exactly(1), || system(&coupling));
    let expect = |coupling: Coupling<'_>, expected: &str| {
        expect_misfit(system(&coupling), &learned.feed_forward, expected);
    };
    let coarse = Coupling {
        macro_step: 2.0 * H,
        ..coupling
    };
    expect(coarse, "a macro-step of 0.001 s and the system has 0.002 s");
    let long = Coupling {
        stop_time: 0.2,
        ..coupling
    };
    expect(long, "covers 100 macro-steps and the system makes 200");
    let fast = Coupling {
        motion_step: 0.1 * H,
        ..coupling
    };
    expect(fast, "a communication step of 0.001 s at `motion.f`");
    let mut late = system(&coupling);
    late.start_time(0.05);
    expect_misfit(late, &learned.feed_forward, "the system starts at 0.05 s");
    let text = learned.feed_forward.to_string();
    for (from, to, expected) in [
        ("motion.f", "motion.g", "no connected real input `motion.g`"),
        ("force.f", "force.x", "fed by `force.x`"),
        ("fresh force", "fresh source", "no component `source`"),
    ] {
        let other = text.replace(from, to).parse().unwrap();
        expect_misfit(system(&coupling), &other, expected);
    }
    // A shorter run is a part of the one that was learned.
    let short = Coupling {
        stop_time: 0.05,
        ..coupling
    };
    let trace = replay(system(&short), &learned.feed_forward);
    assert_eq!(trace.times().len(), 51);
}

#[test]
fn feed_forward_goes_with_methods_that_do_not_look_ahead() {
    let coupling = Coupling {
        stop_time: 0.1,
        ..Coupling::default()
    };
    let learned = learn(&exactly(1), || TABLE_1[1].system(&coupling));
    for entry in METHODS {
        let choice = Choice::new(entry.name);
        let facts = look_up(METHODS, &choice).unwrap().usual_facts();
        let mut system = TABLE_1[1].system(&coupling);
        system.method(choice);
        if facts.looks_ahead {
            let expected = format!("feed-forward and method `{}` do not go", entry.name);
            expect_misfit(system, &learned.feed_forward, &expected);
        } else {
            system.feed_forward(learned.feed_forward.clone());
            assert_eq!(system.check(), [], "{}", entry.name);
        }
    }
}

#[test]
fn feed_forward_allocates_nothing_per_step() {
    let coupling = Coupling {
        motion_step: 0.1 * H,
        stop_time: 0.2,
        ..Coupling::default()
    };
    let learned = learn(&exactly(1), || TABLE_1[1].system(&coupling));
    let mut system = TABLE_1[1].system(&coupling);
    system.feed_forward(learned.feed_forward);
    let mut run = system.start(&RunOptions::default()).unwrap();
    let mut steps = |count: usize| (0..count).for_each(|_| assert!(run.step().unwrap()));
    steps(20);
    let counted = allocation_counter::measure(|| steps(100));
    assert_eq!(counted.count_total, 0, "{counted:?}");
}

/// The ledger counts all that learning changes as correction: the energy of the delay at first, and
/// nothing in the end, when the bond is as with the fresh exchange.
#[test]
fn the_ledger_shows_the_error_that_is_left_to_learn() {
    let system = || {
        TABLE_1[1].system(&Coupling {
            exchange: "fresh",
            stop_time: 2.0,
            ..Coupling::default()
        })
    };
    let bond = |feed_forward: Option<FeedForward>| {
        let mut system = system();
        if let Some(feed_forward) = feed_forward {
            system.feed_forward(feed_forward);
        }
        let mut run = system.start(&RunOptions::default()).unwrap();
        run.run().unwrap().bonds.remove(0)
    };
    let learned = |runs: u32| bond(Some(learn(&exactly(runs), system).feed_forward));
    let (fresh, delayed, learned) = (bond(None), learned(0), learned(12));
    assert_eq!((fresh.correction, learned.correction), ("off", "learned"));
    assert!(delayed.energy.correction_energy > 100.0);
    assert!(learned.energy.correction_energy.abs() < 1e-6);
    let residual = learned.energy.residual_energy;
    expect_close(residual, fresh.energy.residual_energy, 1e-9);
}

#[test]
fn the_report_names_feed_forward() {
    let coupling = Coupling {
        stop_time: 0.1,
        ..Coupling::default()
    };
    let mut system = TABLE_1[1].system(&coupling);
    let learned = learn(&exactly(1), || TABLE_1[1].system(&coupling));
    system.feed_forward(learned.feed_forward);
    let report = system.start(&RunOptions::default()).unwrap().report();
    let note = "learned feed-forward is added to motion.f, force exchanged fresh";
    assert!(
        report.notes.iter().any(|known| known == note),
        "{:?}",
        report.notes
    );
}
