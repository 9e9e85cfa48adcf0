//! Plans that break each rule.

use gyrator_system::Choice;

use super::super::Draft;
use super::super::stage::{Stage, StageView};
use super::*;
use crate::fault::Fault;
use crate::method::METHODS;
use crate::plan::{Effect, Instant, Operation, Phase, Store};
use crate::system::resolved_graph;
use crate::{ClosureUnit, LinearUnit, RunOptions, System};

/// A force with feed-through and a mass at a corrected bond, and a slow observer of both.
fn system() -> System {
    let mut system = System::new(1e-3);
    system.stop_time(1.0);
    let force = LinearUnit::new(&[0.0], &["v"], &["f"], [&[-1.0], &[1.0], &[100.0], &[-0.1]]);
    system.add("force", force);
    system.add(
        "mass",
        LinearUnit::new(&[1.0], &["f"], &["v"], [&[0.0], &[1.0], &[1.0], &[0.0]]),
    );
    let slow = ClosureUnit::new(&[("f", 0.0), ("v", 0.0)], &[("p", 0.0)], |_| ());
    system.add("slow", slow).step_size(4e-3);
    system.connect("force.f", "slow.f");
    system.connect("mass.v", "slow.v");
    let _ = system.bond("bond", ("force.f", "mass.f"), ("mass.v", "force.v"));
    system.correction("residual-power");
    system
}

// In the order of their names.
const FORCE: usize = 0;
const MASS: usize = 1;
const SLOW: usize = 2;
const ALL: [usize; 3] = [FORCE, MASS, SLOW];

/// Rules that the plan of `write` breaks, as a draft.
fn broken_by(write: impl FnOnce(&mut Draft<'_>)) -> Vec<Rule> {
    let graph = resolved_graph(&system()).unwrap();
    let mut draft = Draft::new(&graph);
    write(&mut draft);
    let broken = verify(&draft.done(), &graph, None);
    let mut rules: Vec<Rule> = broken.iter().map(|found| found.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    rules
}

/// The plan of `jacobi`, with another part in place of its middle.
fn with_middle(middle: impl FnOnce(&mut Draft<'_>)) -> Vec<Rule> {
    broken_by(|draft| {
        draft.head();
        middle(draft);
        draft.tail();
    })
}

/// The middle of `jacobi`.
fn jacobi(draft: &mut Draft<'_>) {
    draft.prepare(&ALL);
    draft.give(&ALL, Phase::Begin);
    draft.give_signals(&ALL);
    draft.step(&ALL, Phase::Begin);
    draft.read(&ALL, Store::Shown, Phase::End);
}

/// A stage with declared effects.
struct Declared(Vec<Effect>);

impl Stage for Declared {
    fn effects(&self, _: &Graph) -> Vec<Effect> {
        self.0.clone()
    }

    fn words(&self, _: &Graph) -> String {
        "a stage of a test".to_owned()
    }

    fn run(&mut self, _: &mut StageView<'_>) -> Result<(), Fault> {
        Ok(())
    }
}

#[test]
fn plans_of_all_methods_keep_the_rules() {
    for method in METHODS {
        let chosen = method.chosen(&Choice::new(method.name)).unwrap();
        let rules = broken_by(|draft| chosen.build().plan(draft));
        assert_eq!(rules, [], "{}", method.name);
        let mut system = system();
        system.method(method.name);
        system.correction("off");
        let run = system.start(&RunOptions::default());
        assert!(run.is_ok(), "{}: {:?}", method.name, run.err());
    }
}

#[test]
fn p_01_inputs_are_prepared_once_and_given() {
    let unprepared = with_middle(|draft| {
        draft.prepare(&[FORCE, SLOW]);
        draft.give(&ALL, Phase::Begin);
        draft.step(&ALL, Phase::Begin);
        draft.read(&ALL, Store::Shown, Phase::End);
    });
    assert_eq!(unprepared, [Rule::P01]);
    let twice = with_middle(|draft| {
        draft.prepare(&[MASS]);
        jacobi(draft);
    });
    assert_eq!(twice, [Rule::P01]);
    let not_given = with_middle(|draft| {
        draft.prepare(&ALL);
        draft.give(&[FORCE, SLOW], Phase::Begin);
        draft.step(&ALL, Phase::Begin);
        draft.read(&ALL, Store::Shown, Phase::End);
    });
    assert_eq!(not_given, [Rule::P01]);
    // The new course of the mass's force is not the one that was given.
    let replaced_after_giving = with_middle(|draft| {
        draft.prepare(&ALL);
        draft.give(&ALL, Phase::Begin);
        draft.step(&[FORCE, SLOW], Phase::Begin);
        draft.read(&[FORCE], Store::Ahead, Phase::Begin);
        draft.own(Declared(vec![replaces_force(draft.graph())]));
        draft.step(&[MASS], Phase::Begin);
        draft.read(&[MASS, SLOW], Store::Ahead, Phase::End);
        draft.show();
    });
    assert_eq!(replaced_after_giving, [Rule::P01]);
}

fn replaces_force(graph: &Graph) -> Effect {
    Effect::Replaces {
        input: graph.components[MASS].inputs.start,
        phase: Phase::Begin,
        degree: 0,
        is_mean: false,
    }
}

#[test]
fn p_02_values_stand_for_the_instant_of_their_reader() {
    // The slow component would see the force of the end of the step.
    let later = with_middle(|draft| {
        draft.prepare(&[FORCE, MASS]);
        draft.give(&[FORCE, MASS], Phase::Begin);
        draft.step(&[FORCE, MASS], Phase::Begin);
        draft.read(&[FORCE, MASS], Store::Shown, Phase::End);
        draft.check();
        draft.prepare(&[SLOW]);
        draft.give(&[SLOW], Phase::Begin);
        draft.step(&[SLOW], Phase::Begin);
        draft.read(&[SLOW], Store::Shown, Phase::End);
    });
    assert_eq!(later, [Rule::P02]);
    let before_its_source = with_middle(|draft| {
        draft.prepare(&ALL);
        draft.own(Declared(vec![replaces_force(draft.graph())]));
        draft.give(&ALL, Phase::Begin);
        draft.step(&ALL, Phase::Begin);
        draft.read(&ALL, Store::Ahead, Phase::End);
        draft.show();
    });
    assert_eq!(before_its_source, [Rule::P02]);
    // The outputs of the slow component are those of the end of its step.
    let early = with_middle(|draft| {
        draft.prepare(&ALL);
        draft.give(&ALL, Phase::Begin);
        draft.step(&ALL, Phase::Begin);
        draft.read(&ALL, Store::Shown, Phase::Begin);
    });
    assert!(early.contains(&Rule::P02), "{early:?}");
}

#[test]
fn p_03_every_unit_steps_once() {
    let never = with_middle(|draft| {
        draft.prepare(&[FORCE, SLOW]);
        draft.give(&[FORCE, SLOW], Phase::Begin);
        draft.step(&[FORCE, SLOW], Phase::Begin);
        draft.read(&[FORCE, SLOW], Store::Shown, Phase::End);
    });
    assert!(never.contains(&Rule::P03), "{never:?}");
    let twice = with_middle(|draft| {
        jacobi(draft);
        draft.check();
        draft.prepare(&[MASS]);
        draft.give(&[MASS], Phase::Begin);
        draft.step(&[MASS], Phase::Begin);
        draft.read(&[MASS], Store::Shown, Phase::End);
    });
    assert!(twice.contains(&Rule::P03), "{twice:?}");
    let no_part = with_middle(|draft| {
        draft.repeat(0, |_| {});
        jacobi(draft);
    });
    assert_eq!(no_part, [Rule::P03]);
}

#[test]
fn p_04_no_output_is_read_after_inputs_were_set() {
    let set_after_the_step = with_middle(|draft| {
        draft.prepare(&ALL);
        draft.step(&ALL, Phase::Begin);
        draft.give(&ALL, Phase::Begin);
        draft.read(&ALL, Store::Shown, Phase::End);
    });
    assert!(
        set_after_the_step.contains(&Rule::P04),
        "{set_after_the_step:?}"
    );
}

#[test]
fn p_05_units_that_step_at_once_are_different() {
    let twice = with_middle(|draft| {
        draft.prepare(&ALL);
        draft.give(&ALL, Phase::Begin);
        draft.step(&[FORCE, FORCE, MASS, SLOW], Phase::Begin);
        draft.read(&ALL, Store::Shown, Phase::End);
    });
    assert!(twice.contains(&Rule::P05), "{twice:?}");
}

#[test]
fn p_06_and_p_07_iterations_keep_to_themselves() {
    let iterated = |saved: &'static [usize], body: fn(&mut Draft<'_>)| {
        with_middle(|draft| {
            draft.prepare(&[FORCE, MASS]);
            draft.iterate(saved, 3, body, Declared(Vec::new()));
            draft.prepare(&[SLOW]);
            draft.give(&[SLOW], Phase::Begin);
            draft.step(&[SLOW], Phase::Begin);
            draft.read(&[SLOW], Store::Ahead, Phase::End);
            draft.show();
        })
    };
    let steps = |draft: &mut Draft<'_>| {
        draft.give(&[FORCE, MASS], Phase::Begin);
        draft.step(&[FORCE, MASS], Phase::Begin);
        draft.read(&[FORCE, MASS], Store::Ahead, Phase::End);
    };
    assert_eq!(iterated(&[FORCE, MASS], steps), []);
    assert!(iterated(&[FORCE], steps).contains(&Rule::P06));
    let publishes = |draft: &mut Draft<'_>| {
        draft.give(&[FORCE, MASS], Phase::Begin);
        draft.step(&[FORCE, MASS], Phase::Begin);
        draft.read(&[FORCE, MASS], Store::Shown, Phase::End);
    };
    assert!(iterated(&[FORCE, MASS], publishes).contains(&Rule::P06));
    let shows = |draft: &mut Draft<'_>| {
        draft.give(&[FORCE, MASS], Phase::Begin);
        draft.step(&[FORCE, MASS], Phase::Begin);
        draft.read(&[FORCE, MASS], Store::Ahead, Phase::End);
        draft.show();
    };
    assert!(iterated(&[FORCE, MASS], shows).contains(&Rule::P07));
}

#[test]
fn p_08_lists_are_ascending() {
    let reversed = with_middle(|draft| {
        draft.prepare(&[SLOW, MASS, FORCE]);
        draft.give(&ALL, Phase::Begin);
        draft.step(&ALL, Phase::Begin);
        draft.read(&ALL, Store::Shown, Phase::End);
    });
    assert_eq!(reversed, [Rule::P08]);
}

#[test]
fn p_09_outputs_are_read_and_published_once() {
    let not_shown = with_middle(|draft| {
        draft.prepare(&ALL);
        draft.give(&ALL, Phase::Begin);
        draft.step(&ALL, Phase::Begin);
        draft.read(&ALL, Store::Ahead, Phase::Begin);
    });
    assert!(not_shown.contains(&Rule::P09), "{not_shown:?}");
    let read_twice = with_middle(|draft| {
        jacobi(draft);
        draft.read(&[MASS], Store::Ahead, Phase::End);
    });
    assert_eq!(read_twice, [Rule::P09]);
}

#[test]
fn p_10_pasts_receive_each_value_once() {
    let unobserved = broken_by(|draft| {
        draft.head();
        jacobi(draft);
        draft.check();
    });
    assert_eq!(unobserved, [Rule::P10]);
    let twice = broken_by(|draft| {
        draft.head();
        jacobi(draft);
        draft.tail();
        draft.tail();
    });
    assert_eq!(twice, [Rule::P10]);
}

/// The exchange of a draft has no passes yet: the final plan is taken apart.
#[test]
fn p_10_outputs_are_exchanged_before_they_are_observed() {
    let mut system = system();
    system.exchange("compensated").extrapolation("linear");
    let mut state = system.start(&RunOptions::default()).unwrap().state;
    let graph = std::sync::Arc::clone(&state.graph);
    let mut draft = Draft::new(&graph);
    draft.head();
    jacobi(&mut draft);
    draft.tail();
    let mut plan = draft.done();
    plan.operations = super::super::finish(&plan.operations, &mut state);
    assert_eq!(verify(&plan, &graph, Some(&state)), []);
    let exchange = |operation: &Operation| matches!(operation, Operation::Exchange(_));
    let at = plan.operations.iter().position(exchange).unwrap();
    let pass = plan.operations.remove(at);
    plan.operations.extend([pass, Operation::Check]);
    let broken = verify(&plan, &graph, Some(&state));
    assert_eq!(broken[0].rule, Rule::P10, "{broken:?}");
}

#[test]
fn p_11_bonds_are_corrected_once_and_first() {
    let late = broken_by(|draft| {
        draft.prepare(&ALL);
        draft.head();
        draft.give(&ALL, Phase::Begin);
        draft.step(&ALL, Phase::Begin);
        draft.read(&ALL, Store::Shown, Phase::End);
        draft.tail();
    });
    assert_eq!(late, [Rule::P11]);
    let twice = broken_by(|draft| {
        draft.head();
        draft.head();
        jacobi(draft);
        draft.tail();
    });
    assert_eq!(twice, [Rule::P11]);
}

#[test]
fn p_12_outputs_are_checked_before_they_are_read() {
    let unchecked = broken_by(|draft| {
        draft.head();
        jacobi(draft);
    });
    assert!(unchecked.contains(&Rule::P12), "{unchecked:?}");
}

#[test]
fn p_13_indices_are_in_range() {
    assert_eq!(
        with_middle(|draft| draft.step(&[7], Phase::Begin)),
        [Rule::P13]
    );
    let stage = |effect: Effect| {
        with_middle(|draft| {
            jacobi(draft);
            draft.own(Declared(vec![effect]));
        })
    };
    let reads = Effect::Reads {
        output: 99,
        store: Store::Shown,
        at: Instant::Start,
    };
    assert_eq!(stage(reads), [Rule::P13]);
    assert_eq!(stage(Effect::Drives { input: 99 }), [Rule::P13]);
    assert_eq!(stage(Effect::Sets { component: 99 }), [Rule::P13]);
    assert_eq!(stage(Effect::Corrects { bond: 99 }), [Rule::P13]);
}
