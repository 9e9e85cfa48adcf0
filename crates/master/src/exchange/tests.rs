//! Exchange of outputs that depend directly on inputs, against closed forms.

mod algebraic_loops;
mod moving_gains;

use crate::exchange_mode::Exchange;
use crate::fault::{Cause, UnitFault};
use crate::graph::Graph;
use crate::unit::{
    Capabilities, Causality, Handle, SavedState, StepOutcome, Unit, UnitDescription, UnitResult,
    Variable,
};
use crate::{ClosureUnit, Report, Run, RunOptions, System};

const H: f64 = 0.5;
/// Source signal at the macro-steps.
const SIGNAL: [f64; 5] = [1.0, 3.0, 2.0, 5.0, -3.0];

/// A unit without states: its outputs are a function of its present inputs.
pub(super) struct Immediate {
    description: UnitDescription,
    inputs: Vec<f64>,
    function: fn(&[f64]) -> Vec<f64>,
    /// ∂output/∂input, row by row.
    jacobian: fn(&[f64]) -> Vec<f64>,
    /// Cause with which it refuses to be read in Initialization Mode.
    refuses: Option<Cause>,
    is_initialized: bool,
}

impl Immediate {
    /// Outputs depend on all inputs, as far as the description says.
    pub(super) fn new(inputs: &[&str], outputs: &[&str], function: fn(&[f64]) -> Vec<f64>) -> Self {
        let names = inputs.iter().map(|name| (*name, Causality::Input));
        let names = names.chain(outputs.iter().map(|name| (*name, Causality::Output)));
        let variables: Vec<_> = names
            .zip(0..)
            .map(|((name, causality), handle)| Variable::real(name, handle, causality))
            .collect();
        let all: Vec<usize> = (0..inputs.len()).collect();
        let feedthrough = (inputs.len()..variables.len()).map(|output| (output, all.clone()));
        let capabilities = Capabilities {
            input_derivatives: 0,
            output_derivatives: 0,
            fresh_outputs: false,
            directional_derivatives: false,
            variable_step: true,
            save_and_restore: false,
            serialize: false,
        };
        Self {
            description: UnitDescription::new(variables, feedthrough.collect(), capabilities),
            inputs: vec![0.0; inputs.len()],
            function,
            jacobian: |_| Vec::new(),
            refuses: None,
            is_initialized: false,
        }
    }

    /// It declares that its outputs may be read again between steps.
    fn fresh(mut self) -> Self {
        self.description.capabilities.fresh_outputs = true;
        self
    }

    /// It gives directional derivatives.
    fn with_jacobian(mut self, jacobian: fn(&[f64]) -> Vec<f64>) -> Self {
        self.description.capabilities.directional_derivatives = true;
        self.jacobian = jacobian;
        self
    }

    /// It saves and restores its state.
    fn saving(mut self) -> Self {
        self.description.capabilities.save_and_restore = true;
        self
    }

    fn refusing(mut self, cause: Cause) -> Self {
        self.refuses = Some(cause);
        self
    }
}

impl Unit for Immediate {
    fn description(&self) -> &UnitDescription {
        &self.description
    }

    fn exit_initialization_mode(&mut self) -> UnitResult {
        self.is_initialized = true;
        Ok(())
    }

    fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        for (&handle, &value) in handles.iter().zip(values) {
            // Probes of an input of 1 move it; the connection sets it to a whole number.
            if let (Some(cause), false) = (self.refuses, self.is_initialized)
                && value.fract() != 0.0
            {
                return Err(UnitFault::new("set_reals", cause, "not this value"));
            }
            self.inputs[handle as usize] = value;
        }
        Ok(())
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        let outputs = (self.function)(&self.inputs);
        for (&handle, value) in handles.iter().zip(values) {
            let handle = handle as usize;
            let output = handle.checked_sub(self.inputs.len());
            *value = output.map_or_else(|| self.inputs[handle], |output| outputs[output]);
        }
        Ok(())
    }

    fn step(&mut self, _time: f64, _step: f64) -> UnitResult<StepOutcome> {
        Ok(StepOutcome::Done)
    }

    fn save(&mut self, _previous: Option<SavedState>) -> UnitResult<SavedState> {
        Ok(Box::new(self.inputs.clone()))
    }

    fn restore(&mut self, saved: &SavedState) -> UnitResult {
        let saved = saved.downcast_ref::<Vec<f64>>().unwrap();
        self.inputs.clone_from(saved);
        Ok(())
    }

    fn directional_derivative(
        &mut self,
        unknowns: &[Handle],
        knowns: &[Handle],
        seed: &[f64],
        values: &mut [f64],
    ) -> UnitResult {
        let jacobian = (self.jacobian)(&self.inputs);
        let columns = self.inputs.len();
        for (&unknown, value) in unknowns.iter().zip(values) {
            let row = unknown as usize - columns;
            let gain = |known: &Handle| jacobian[row * columns + *known as usize];
            *value = knowns
                .iter()
                .zip(seed)
                .map(|(known, seed)| gain(known) * seed)
                .sum();
        }
        Ok(())
    }
}

/// Gives `values` one after the other, whatever its input is.
fn source(input: &str, output: &str, values: [f64; 5]) -> impl Unit + use<> {
    ClosureUnit::new(&[(input, 0.0)], &[(output, values[0])], move |call| {
        call.outputs[0] = values[((call.time + call.step + 1e-9) / H) as usize];
    })
}

fn empty() -> System {
    let mut system = System::new(H);
    system.stop_time(4.0 * H);
    system.method("jacobi").extrapolation("hold");
    system
}

/// `unit` gives the effort `y` for the flow `u` of the source.
fn bonded(unit: Immediate, exchange: &str) -> System {
    let mut system = empty();
    system.add("unit", unit).exchange(exchange);
    system.add("source", source("y", "u", SIGNAL));
    // An effort that grows with the flow is that of a passive unit where it is counted the other way.
    let _ = system
        .bond("bond", ("unit.y", "source.y"), ("source.u", "unit.u"))
        .sense(-1.0);
    system
}

fn started(system: System) -> Run {
    system.start(&RunOptions::default()).unwrap()
}

fn mode(report: &Report, component: &str) -> Exchange {
    let mut components = report.components.iter();
    components
        .find(|known| known.name == component)
        .unwrap()
        .exchange
}

/// Values of an output as published at the start and after each macro-step.
fn published(system: System, name: &str) -> Vec<f64> {
    let mut run = started(system);
    let mut outputs = run.graph().real_outputs().into_iter();
    let index = outputs.position(|output| output.name == name).unwrap();
    let mut values = vec![run.view().reals[index]];
    for _ in 1..SIGNAL.len() {
        run.step().unwrap();
        values.push(run.view().reals[index]);
    }
    values
}

fn are_close(found: &[f64], expected: &[f64]) -> bool {
    let mut pairs = found.iter().zip(expected);
    found.len() == expected.len() && pairs.all(|(a, b)| (a - b).abs() < 1e-6)
}

fn quadruple() -> Immediate {
    Immediate::new(&["u"], &["y"], |u| vec![4.0 * u[0]])
}

/// Has a kink between the points of the two probes of an input of 1.
fn kinked() -> Immediate {
    Immediate::new(&["u"], &["y"], |u| vec![(u[0] - 1.0 - 3e-6).max(0.0)])
}

#[test]
fn the_mode_follows_what_the_unit_declares_and_shows() {
    let constant = || Immediate::new(&["u"], &["y"], |_| vec![7.0]);
    let cases: [(Immediate, &str, Exchange, &str); 15] = [
        (quadruple().fresh(), "auto", Exchange::FRESH, ""),
        (quadruple().fresh(), "fresh", Exchange::FRESH, ""),
        (
            quadruple(),
            "fresh",
            Exchange::FRESH,
            "does not declare safe",
        ),
        (quadruple(), "auto", Exchange::COMPENSATED, ""),
        (quadruple(), "compensated", Exchange::COMPENSATED, ""),
        (quadruple(), "stale", Exchange::STALE, ""),
        (quadruple().fresh(), "stale", Exchange::STALE, ""),
        (
            constant(),
            "auto",
            Exchange::NO_FEEDTHROUGH,
            "shows none when it is probed",
        ),
        (constant(), "compensated", Exchange::COMPENSATED, ""),
        (
            kinked(),
            "auto",
            Exchange::STALE,
            "unit.u → unit.y is not smooth; it is exchanged stale",
        ),
        (
            kinked(),
            "compensated",
            Exchange::COMPENSATED,
            "its compensation is not exact",
        ),
        (
            kinked(),
            "stale",
            Exchange::STALE,
            "the energy it makes cannot be judged",
        ),
        (
            quadruple().refusing(Cause::Discard),
            "auto",
            Exchange::STALE,
            "could not be probed",
        ),
        (
            quadruple().refusing(Cause::Unsupported),
            "auto",
            Exchange::STALE,
            "could not be probed",
        ),
        (
            quadruple().refusing(Cause::Error),
            "fresh",
            Exchange::FRESH,
            "does not declare safe",
        ),
    ];
    for (unit, asked, expected, note) in cases {
        let report = started(bonded(unit, asked)).report();
        assert_eq!(mode(&report, "unit"), expected, "{asked} {note}");
        assert_eq!(mode(&report, "source"), Exchange::NO_FEEDTHROUGH);
        let notes = report.notes.join("\n");
        assert_eq!(report.notes.len(), usize::from(!note.is_empty()), "{notes}");
        assert!(notes.contains(note), "{notes}");
    }
}

#[test]
fn the_input_beside_a_kink_is_named() {
    let unit = Immediate::new(&["u", "w"], &["y", "z"], |u| {
        vec![u[0], u[0] + (u[1] - 1.0 - 3e-6).max(0.0)]
    });
    let mut system = bonded(unit, "auto");
    system.add("other", source("y", "w", SIGNAL));
    system.connect("other.w", "unit.w");
    system.connect("unit.z", "other.y");
    let notes = started(system).report().notes.join("\n");
    let text = "the direct feed-through unit.w → unit.z is not smooth";
    assert!(notes.contains(text), "{notes}");
}

/// Errors of outputs that stay stale are known where D is, and D is smooth; those of other outputs are none.
#[test]
fn errors_without_a_derivative_are_not_known() {
    for (unit, exchange, is_known) in [
        (quadruple(), "stale", true),
        (quadruple(), "compensated", true),
        (quadruple().fresh(), "fresh", true),
        (kinked(), "compensated", true),
        (kinked(), "stale", false),
        (kinked().fresh(), "stale", false),
        (quadruple().refusing(Cause::Discard), "stale", false),
    ] {
        let run = started(bonded(unit, exchange));
        let graph = run.graph();
        let component = graph.component_names().position(|name| name == "unit");
        let output = graph.components[component.unwrap()].outputs.start;
        let [of_unit, of_source] =
            [output, 1 - output].map(|output| run.state.signals.stale_errors[output]);
        assert_eq!(of_unit.is_nan(), !is_known, "{exchange} {of_unit}");
        assert_eq!(of_source, 0.0);
    }
}

#[test]
fn an_error_of_a_probe_ends_the_start() {
    let system = bonded(quadruple().refusing(Cause::Error), "auto");
    let error = system.start(&RunOptions::default()).map(drop).unwrap_err();
    assert!(error.to_string().contains("not this value"), "{error}");
}

/// Stale, an output follows the input of the step that has ended; otherwise the new one.
#[test]
fn outputs_follow_the_old_or_the_new_input() {
    let old = [1.0, 1.0, 3.0, 2.0, 5.0].map(|value| 4.0 * value);
    let new = SIGNAL.map(|value| 4.0 * value);
    let with_jacobian = || quadruple().with_jacobian(|_| vec![4.0]);
    for (unit, exchange, expected) in [
        (quadruple(), "stale", old),
        (with_jacobian(), "stale", old),
        (quadruple(), "fresh", new),
        (quadruple(), "compensated", new),
        (with_jacobian(), "compensated", new),
    ] {
        let found = published(bonded(unit, exchange), "unit.y");
        assert!(are_close(&found, &expected), "{exchange} {found:?}");
    }
}

/// Where D is not smooth, the outputs of a stale unit are read under the new inputs: by how much they are late, and D as the secant.
#[test]
fn a_trial_shows_by_how_much_a_stale_output_is_late() {
    fn output(u: f64) -> f64 {
        u * u + (u - 1.0 - 3e-6).max(0.0)
    }
    let unit = Immediate::new(&["u"], &["y"], |u| vec![output(u[0])]);
    let mut run = started(bonded(unit.fresh(), "stale"));
    for pair in SIGNAL.windows(2) {
        run.step().unwrap();
        let [pass] = &run.state.exchange.passes[..] else {
            panic!("one unit has direct feed-through");
        };
        let found = run.state.signals.start_changes[pass.outputs[0]];
        let change = output(pair[1]) - output(pair[0]);
        assert!((found - change).abs() < 1e-9, "{found} {change}");
        let secant = change / (pair[1] - pair[0]);
        assert!((pass.gains[0] - secant).abs() < 1e-9, "{secant}");
    }
}

/// D is that of Initialization Mode, where the unit gives no derivatives, else the present one:
/// u² + 2·u·(v − u) for a square.
#[test]
fn compensation_is_the_first_order_of_a_taylor_series() {
    let square = || Immediate::new(&["u"], &["y"], |u| vec![u[0] * u[0]]);
    let estimate = |gain: fn(f64) -> f64| {
        let mut values = vec![SIGNAL[0] * SIGNAL[0]];
        for pair in SIGNAL.windows(2) {
            values.push(pair[0] * pair[0] + gain(pair[0]) * (pair[1] - pair[0]));
        }
        values
    };
    let found = published(bonded(square(), "compensated"), "unit.y");
    assert!(are_close(&found, &estimate(|_| 2.0)), "{found:?}");
    let by_unit = square().with_jacobian(|u| vec![2.0 * u[0]]);
    let found = published(bonded(by_unit, "compensated"), "unit.y");
    assert!(are_close(&found, &estimate(|u| 2.0 * u)), "{found:?}");
}

/// y = M·u with two inputs and three outputs, of which the second depends on the first input alone.
fn mixed() -> Immediate {
    let function = |u: &[f64]| {
        vec![
            2.0 * u[0] + 3.0 * u[1],
            -4.0 * u[0],
            0.5 * u[0] - 6.0 * u[1],
        ]
    };
    Immediate::new(&["u", "w"], &["x", "y", "z"], function)
}

#[test]
fn each_output_follows_each_input_by_its_own_derivative() {
    let jacobian = |_: &[f64]| vec![2.0, 3.0, -4.0, 0.0, 0.5, -6.0];
    let second = [0.0, -1.0, 4.0, 2.0, 7.0];
    for (unit, exchange) in [
        (mixed(), "fresh"),
        (mixed(), "compensated"),
        (mixed().with_jacobian(jacobian), "compensated"),
    ] {
        let mut system = empty();
        system.add("unit", unit).exchange(exchange);
        system.add("first", source("x", "u", SIGNAL));
        system.add("second", source("z", "w", second));
        system.connect("first.u", "unit.u");
        system.connect("second.w", "unit.w");
        system.connect("unit.x", "first.x");
        system.connect("unit.z", "second.z");
        let mut run = started(system);
        let names = run.graph().real_outputs();
        for (k, (u, w)) in SIGNAL.into_iter().zip(second).enumerate() {
            if k > 0 {
                run.step().unwrap();
            }
            let reals = run.view().reals;
            for (output, value) in names.iter().zip(reals) {
                let expected = match output.name.as_str() {
                    "unit.x" => 2.0 * u + 3.0 * w,
                    "unit.y" => -4.0 * u,
                    "unit.z" => 0.5 * u - 6.0 * w,
                    _ => continue,
                };
                assert!(
                    (value - expected).abs() < 1e-6,
                    "{exchange} {}",
                    output.name
                );
            }
        }
    }
}

/// Units whose outputs follow each other at once, named against the order of the signals.
#[test]
fn a_chain_follows_from_its_beginning_to_its_end() {
    let triple = || Immediate::new(&["u"], &["y"], |u| vec![3.0 * u[0]]);
    for exchange in ["fresh", "compensated"] {
        let mut system = empty();
        system.add("c", quadruple()).exchange(exchange);
        system.add("b", triple()).exchange(exchange);
        system.add("a", quadruple()).exchange(exchange);
        system.add("source", source("y", "u", SIGNAL));
        system.connect("source.u", "c.u");
        system.connect("c.y", "b.u");
        system.connect("b.y", "a.u");
        system.connect("a.y", "source.y");
        let found = published(system, "a.y");
        let expected = SIGNAL.map(|value| 48.0 * value);
        assert!(are_close(&found, &expected), "{exchange} {found:?}");
    }
}

/// Two units that depend on each other at once, bonded; `feeds_back` is what the first one does with the
/// second one's output.
fn looped(function: fn(&[f64]) -> Vec<f64>, exchange: &str) -> System {
    let mut system = empty();
    let first = Immediate::new(&["u", "back"], &["y"], function);
    let second = Immediate::new(&["u"], &["y"], |u| vec![0.5 * u[0]]);
    system.add("first", first).exchange(exchange);
    system.add("second", second).exchange(exchange);
    system.add("source", source("y", "u", SIGNAL));
    system.connect("source.u", "first.u");
    system.connect("second.y", "source.y");
    let _ = system.bond("bond", ("first.y", "second.u"), ("second.y", "first.back"));
    system
}

#[test]
fn a_loop_that_is_declared_and_not_there_is_none() {
    let found = published(
        looped(|u| vec![4.0 * u[0] + 0.0 * u[1]], "compensated"),
        "second.y",
    );
    let expected = SIGNAL.map(|value| 2.0 * value);
    assert!(are_close(&found, &expected), "{found:?}");
}

/// The correction that wants ∂effort/∂flow gets it from the unit, from a trial or from the probe:
/// 4 in each case, so that an effort short of m counts with 4·n for a flow short of n.
#[test]
fn the_interface_jacobian_is_the_same_from_every_source() {
    let units = [
        (quadruple().with_jacobian(|_| vec![4.0]), [0, 0]),
        // Three more sets and two more gets at each of four points.
        (quadruple().fresh(), [12, 8]),
        (quadruple(), [0, 0]),
    ];
    let run = |unit: Immediate, correction: &str| {
        let mut system = bonded(unit, "stale");
        let bond = crate::system::BondSettings {
            system: &mut system,
        };
        let _ = bond.correction((correction, [("alpha", 1.0)]));
        let mut run = started(system);
        let mut efforts = Vec::new();
        for _ in 1..SIGNAL.len() {
            run.step().unwrap();
            efforts.push(run.read_real("source.y").unwrap());
        }
        (efforts, run.report().counters)
    };
    // Sadjina & Pedersen 2019, eqs 11–12, step by step. The first step has no correction.
    let mut expected = Vec::new();
    let (mut used_effort, mut used_flow) = (4.0 * SIGNAL[0], SIGNAL[0]);
    let (mut effort_error, mut flow_error) = (0.0, 0.0);
    for flow in &SIGNAL[1..] {
        expected.push(used_effort);
        let effort = 4.0 * used_flow;
        let last = (effort_error, flow_error);
        (effort_error, flow_error) = (effort - used_effort, flow - used_flow);
        let effort_mean = 0.5 * (effort_error + last.0);
        let flow_mean = 0.5 * (flow_error + last.1);
        used_effort = effort + effort_mean + 4.0 * flow_mean;
        used_flow = flow + flow_mean;
    }
    let (_, without) = run(quadruple(), "nepce");
    for (unit, more) in units {
        let (efforts, counters) = run(unit, "nepce-feedthrough");
        assert!(are_close(&efforts, &expected), "{efforts:?} {expected:?}");
        assert_eq!(counters.set_calls, without.set_calls + more[0]);
        assert_eq!(counters.get_calls, without.get_calls + more[1]);
    }
}

/// Of stale outputs alone, or of any; none between components, nor where none is declared.
#[test]
fn a_derivative_is_that_of_one_component() {
    use super::derivative::{of_any, of_stale};
    let unit = || quadruple().with_jacobian(|_| vec![4.0]);
    for (unit, exchange, stale) in [
        (unit(), "stale", 4.0),
        (unit(), "compensated", 0.0),
        (quadruple().fresh(), "stale", 4.0),
        (quadruple().fresh(), "fresh", 0.0),
        (quadruple(), "stale", 4.0),
        (quadruple(), "compensated", 0.0),
    ] {
        let mut run = started(bonded(unit, exchange));
        let graph = std::sync::Arc::clone(&run.state.graph);
        let component = graph.component_names().position(|name| name == "unit");
        let node = &graph.components[component.unwrap()];
        let (state, step) = (&mut run.state, crate::step::Step::default());
        let (y, u) = (node.outputs.start, node.inputs.start);
        let of_source = (1 - y, 1 - u);
        let near = |found: f64, expected: f64| (found - expected).abs() < 1e-6;
        let found = of_any(state, y, u, &step).unwrap();
        assert!(near(found, 4.0), "{exchange} {found}");
        assert!(near(of_stale(state, y, u, &step).unwrap(), stale));
        for (output, input) in [(y, of_source.1), (of_source.0, u), of_source] {
            assert_eq!(of_any(state, output, input, &step).unwrap(), 0.0);
        }
        // It has the input that it had.
        assert_eq!(run.read_real("unit.u").unwrap(), SIGNAL[0]);
    }
}

/// Two axes, efforts x and z of [`mixed`], flows u and w: each of three sources of the Jacobian gives
/// the same efforts.
#[test]
fn the_interface_jacobian_of_two_axes_is_the_same_from_every_source() {
    let jacobian = |_: &[f64]| vec![2.0, 3.0, -4.0, 0.0, 0.5, -6.0];
    let efforts = |unit: Immediate| {
        let mut system = empty();
        system.add("unit", unit).exchange("stale");
        let starts = [("u", 1.0), ("w", 0.0)];
        let motion = ClosureUnit::new(&[("x", 0.0), ("z", 0.0)], &starts, |call| {
            let end = call.time + call.step;
            call.outputs.copy_from_slice(&[1.0 + end, end * end]);
        });
        system.add("motion", motion);
        let _ = system
            .bond("bond", ("unit.x", "motion.x"), ("motion.u", "unit.u"))
            .axis(("unit.z", "motion.z"), ("motion.w", "unit.w"))
            .correction(("nepce-feedthrough", [("alpha", 1.0)]));
        let mut run = started(system);
        let mut efforts = Vec::new();
        for _ in 1..SIGNAL.len() {
            run.step().unwrap();
            efforts.push(run.read_real("motion.x").unwrap());
            efforts.push(run.read_real("motion.z").unwrap());
        }
        efforts
    };
    let expected = efforts(mixed().with_jacobian(jacobian));
    // Flows are short of 0.5 and 0.25 after the first step, in which the efforts, 2 and 0.5, did not
    // change: means of 0.25 and 0.125 and what M makes of them.
    let first = [2.0, 0.5, 2.0 + 0.875, 0.5 - 0.625];
    assert!(are_close(&expected[..4], &first), "{expected:?}");
    assert!(are_close(&efforts(mixed()), &expected));
    assert!(are_close(&efforts(mixed().fresh()), &expected));
}

/// y = 3·u and z, with a kink beside u = 1, plus twice the other input.
#[test]
fn a_probe_finds_derivatives_and_kinks_and_puts_the_inputs_back() {
    let function = |u: &[f64]| {
        let kink = (u[0] - 1.0 - 3e-6).max(0.0);
        vec![3.0 * u[0], kink + 2.0 * u[1], 1e12 + u[1]]
    };
    let mut unit = Immediate::new(&["u", "w"], &["y", "z", "huge"], function);
    let at = [1.0, -7.0];
    unit.set_reals(&[0, 1], &at).unwrap();
    let variables = unit.description.variables.clone();
    let inputs: Vec<_> = variables[..2].iter().collect();
    let gains = super::probe::probe(&mut unit, &[0, 1], &[2, 3, 4], &at, &inputs).unwrap();
    // The kink counts as the larger probe sees it, from 1 − 1e−5 to 1 + 1e−5. A change below the
    // rounding of the output is none.
    let expected = [3.0, 0.0, 0.35, 2.0, 0.0, 0.0];
    assert!(are_close(&gains.values, &expected), "{gains:?}");
    assert_eq!(gains.nonsmooth, [(1, 0)]);
    let mut after = [0.0; 2];
    unit.get_reals(&[0, 1], &mut after).unwrap();
    assert_eq!(after, at);
    assert!(!gains.are_zero());
    assert!(gains.is_inert(2, 1) && gains.is_inert(4, 0));
    assert!(!gains.is_inert(2, 0) && !gains.is_inert(3, 0) && !gains.is_inert(3, 1));
    assert!(!gains.is_inert(9, 1) && !gains.is_inert(2, 9), "unknown");
    let mut constant = Immediate::new(&["u"], &["y"], |_| vec![7.0]);
    let none = super::probe::probe(&mut constant, &[0], &[1], &[0.0], &inputs[..1]).unwrap();
    assert!(none.are_zero());
}

/// Each by its output and its input, in the order of the gains.
#[test]
fn derivatives_of_the_unit_take_the_place_of_measured_ones() {
    let mut unit = mixed().with_jacobian(|_| vec![2.0, 3.0, -4.0, 0.0, 0.5, -6.0]);
    let measured = super::probe::Gains {
        inputs: vec![1, 0],
        outputs: vec![4, 2, 3],
        values: vec![9.0; 6],
        nonsmooth: Vec::new(),
    };
    let gains = super::probe::read_derivatives(&mut unit, &measured).unwrap();
    assert_eq!(gains.values, [-6.0, 0.5, 3.0, 2.0, 0.0, -4.0]);
    assert_eq!(gains.smooth(3, 0), Some(-4.0));
}

fn graph_of(system: &System) -> Graph {
    crate::system::resolved_graph(system).unwrap()
}

/// Names of the outputs of each pass.
fn names(graph: &Graph, outputs: &[usize]) -> Vec<String> {
    outputs
        .iter()
        .map(|output| graph.output_name(*output))
        .collect()
}

#[test]
fn outputs_are_initialized_after_those_that_they_depend_on() {
    use super::Stage;
    let mut system = empty();
    system.add("a", mixed());
    system.add("b", quadruple());
    system.add("source", source("y", "u", SIGNAL));
    system.connect("source.u", "b.u");
    system.connect("source.u", "a.u");
    system.connect("b.y", "a.w");
    let graph = graph_of(&system);
    let stages: Vec<String> = super::initial_stages(&graph)
        .iter()
        .map(|stage| match stage {
            Stage::Pass(pass) => names(&graph, &pass.outputs).join(" "),
            Stage::Loop(_) => "loop".to_owned(),
        })
        .collect();
    let place = |name: &str| stages.iter().position(|known| known == name).unwrap();
    assert_eq!(stages.len(), 5);
    assert!(place("source.u") < place("b.y"));
    for output in ["a.x", "a.y", "a.z"] {
        assert!(place("b.y") < place(output));
    }
    let graph = graph_of(&looped(|u| vec![u[0] + u[1]], "auto"));
    let stages = super::initial_stages(&graph);
    let loops: Vec<usize> = stages
        .iter()
        .filter_map(|stage| match stage {
            Stage::Loop(passes) => Some(passes.len()),
            Stage::Pass(_) => None,
        })
        .collect();
    assert_eq!(loops, [2]);
}

#[test]
fn outputs_of_a_component_and_a_level_share_a_pass() {
    let mut system = empty();
    system.add("a", mixed());
    system.add("b", quadruple());
    system.add("source", source("y", "u", SIGNAL));
    system.connect("source.u", "b.u");
    system.connect("source.u", "a.u");
    system.connect("b.y", "a.w");
    let graph = graph_of(&system);
    let component = |name: &str| graph.component_names().position(|known| known == name);
    let (a, b) = (component("a").unwrap(), component("b").unwrap());
    let passes = |treated: &dyn Fn(usize) -> bool, audited: &dyn Fn(usize) -> bool| {
        let audited = |output: usize| audited(graph.outputs[output].component);
        let found = super::exchange_passes(&graph, treated, &audited, &|_, _| false);
        assert!(found.loops.is_empty() && found.unsolved.is_empty());
        let pass =
            |pass: super::InitialPass| (pass.component, pass.inputs.len(), pass.outputs.len());
        found.passes.into_iter().map(pass).collect::<Vec<_>>()
    };
    assert_eq!(passes(&|_| true, &|_| false), [(b, 1, 1), (a, 2, 3)]);
    assert_eq!(passes(&|c| c == a, &|c| c == b), [(a, 2, 3), (b, 1, 1)]);
    assert_eq!(passes(&|_| false, &|c| c == a), [(a, 2, 3)]);
    assert_eq!(passes(&|_| false, &|_| false), []);
}
