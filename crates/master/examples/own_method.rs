//! A method of one's own, under a word of its own: one component leads, and the others receive its outputs of the middle of
//! the step.

use gyrator::error::Fault;
use gyrator::graph::Graph;
use gyrator::method::{Curve, Draft, Effect, Method, MethodFacts, Phase, Stage, StageView, Store};
use gyrator::registry::{Entry, ParameterInfo, ParameterKind};
use gyrator::{ClosureUnit, LinearUnit, RunOptions, System};

struct Leader {
    name: String,
}

impl Method for Leader {
    fn plan(&self, draft: &mut Draft<'_>) {
        let all = draft.components();
        let leads =
            |component: &usize| draft.graph().component_names().nth(*component) == Some(&self.name);
        let (first, others): (Vec<usize>, Vec<usize>) = all.iter().partition(|c| leads(c));
        let inputs = others.iter().flat_map(|component| draft.inputs(*component));
        let fed = inputs.map(|input| (input, draft.source(input)));
        let led = fed.filter(|(_, (_, sender))| first.contains(sender));
        let led: Vec<(usize, usize)> = led.map(|(input, (output, _))| (input, output)).collect();
        draft.head();
        draft.prepare(&all);
        draft.give_signals(&all);
        draft.give(&first, Phase::Begin);
        draft.step(&first, Phase::Begin);
        draft.read(&first, Store::Ahead, Phase::Begin);
        draft.own(Middle { led });
        draft.give(&others, Phase::Begin);
        draft.step(&others, Phase::Begin);
        draft.read(&others, Store::Ahead, Phase::Begin);
        draft.show();
        draft.tail();
    }
}

/// Inputs receive the value halfway to the end of the step.
struct Middle {
    /// Inputs, and the outputs of the leader that feed them.
    led: Vec<(usize, usize)>,
}

impl Stage for Middle {
    fn effects(&self, _: &Graph) -> Vec<Effect> {
        let replaced = self.led.iter().map(|(input, _)| Effect::Replaces {
            input: *input,
            phase: Phase::Begin,
            degree: 0,
            is_mean: false,
        });
        replaced.collect()
    }

    fn words(&self, _: &Graph) -> String {
        "the others receive the leader's outputs of the middle of the step".to_owned()
    }

    fn run(&mut self, view: &mut StageView<'_>) -> Result<(), Fault> {
        for &(input, output) in &self.led {
            let middle = 0.5 * (view.shown(output) + view.ahead(output));
            view.replace(input, Curve::constant(middle));
        }
        Ok(())
    }
}

const LEADER: Entry<dyn Method> = Entry {
    name: "leader",
    summary: "one component steps first; the others receive its outputs of the middle of the step",
    source: "this example",
    parameters: &[ParameterInfo {
        name: "first",
        summary: "the component that leads",
        kind: ParameterKind::Names(&["ramp"]),
    }],
    facts: |_, ()| MethodFacts {
        looks_ahead: true,
        ..MethodFacts::default()
    },
    build: |arguments| {
        let name = arguments.text("first").to_owned();
        Box::new(Leader { name })
    },
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut system = System::new(0.5);
    system.registries().methods.add(LEADER)?;
    system.method("leader");
    let ramp = ClosureUnit::new(&[], &[("y", 0.0)], |call| {
        call.outputs[0] = call.time + call.step;
    });
    let integrator = LinearUnit::new(&[0.0], &["u"], &["y"], [&[0.0], &[1.0], &[1.0], &[0.0]]);
    system.add("ramp", ramp);
    system.add("integrator", integrator);
    system.connect("ramp.y", "integrator.u");
    system.stop_time(2.0);
    let mut run = system.start(&RunOptions::default())?;
    print!("{}", gyrator::run::plan(&run));
    run.run()?;
    // ∫t dt is exact with the value of the middle: t²/2.
    let y = run.read_real("integrator.y")?;
    println!("integrator.y = {y} at t = {} s", run.time());
    assert!((y - 2.0).abs() < 1e-12);
    Ok(())
}
