//! The integral of the powers over a step, against closed forms.

use super::*;
use crate::unit::{
    Capabilities, Causality, Handle, StepOutcome, Unit, UnitDescription, UnitResult, Variable,
};
use crate::{ClosureUnit, RunOptions, System};

/// A signal whose values are polynomials of the part of the step that is over.
fn signal(
    input: impl Fn(f64) -> f64,
    output: impl Fn(f64) -> f64,
    [range, middle]: [f64; 2],
    is_curved: bool,
) -> SignalStep {
    SignalStep {
        input: [0.0, 0.5, 1.0].map(input),
        output: [0.0, 0.5, 1.0].map(output),
        range,
        doubt: Doubt { middle, is_curved },
    }
}

/// The efforts 2 − s² and 1 + 2·s, the flows 3 − s + s² and 1 + s: products of third degree, ∫₀¹ of which are given in closed form.
#[test]
fn powers_are_integrated_and_uncertainties_weighted() {
    const WEIGHT: f64 = -1.5;
    for (effort_curved, flow_curved) in [(false, false), (true, false), (false, true), (true, true)]
    {
        let axis = AxisStep {
            effort: signal(
                |s| 2.0 - s * s,
                |s| 1.0 + 2.0 * s,
                [0.25, 0.5],
                effort_curved,
            ),
            flow: signal(|s| 3.0 - s + s * s, |s| 1.0 + s, [0.75, -0.25], flow_curved),
        };
        let mut work = Work::default();
        // Axes add up.
        work.add(&axis, WEIGHT);
        work.add(&axis, 2.0 * WEIGHT);
        let given = 3.0 + 5.0 / 2.0 - 1.0 / 3.0 + 1.0 / 2.0;
        let received = 2.0 + 1.0 - 1.0 / 3.0 - 1.0 / 4.0;
        // A parabola that is off by m in the middle has an integral that is off by 2/3·m.
        let by_effort = -2.0 / 3.0 * 0.5 * (3.0 - 0.5 + 0.25);
        let by_flow = 2.0 / 3.0 * -0.25 * (2.0 - 0.25);
        let part = |value: f64, is_meant: bool| if is_meant { value } else { 0.0 };
        let curvature = part(by_effort, !effort_curved) + part(by_flow, !flow_curved);
        let change = part(by_effort.abs(), effort_curved) + part(by_flow.abs(), flow_curved);
        let unknown = 0.5 * (2.0 * 0.75 - 3.0 * 0.25);
        for (found, expected) in [
            (work.given, 3.0 * WEIGHT * given),
            (work.residual, 3.0 * WEIGHT * (received - given)),
            (work.curvature, 3.0 * WEIGHT * curvature),
            (work.change, 3.0 * WEIGHT.abs() * change),
            (work.unknown, 3.0 * WEIGHT * unknown),
        ] {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }
}

/// The parabola through 0, a and a + b at the times −1, 0 and r deviates from its chord over the last step.
#[test]
fn the_middle_deviation_is_that_of_the_parabola_through_three_values() {
    for (ratio, before, last) in [(1.0, 2.0, 3.0), (2.0, 1.0, -4.0), (0.25, -3.0, 1.0)] {
        let second = (last / ratio - before) / (1.0 + ratio);
        let at = |t: f64| before + last / ratio * t + second * t * (t - ratio);
        assert!((at(-1.0)).abs() < 1e-12);
        let below_chord = 0.5 * (at(0.0) + at(ratio)) - at(0.5 * ratio);
        let found = Pace::of(ratio, 1.0).deviation * (last - before * ratio);
        assert!((found - below_chord).abs() < 1e-12, "{found} {below_chord}");
    }
    assert!(Pace::of(2.0, 0.0).ratio.is_nan());
    assert_eq!(Pace::of(2.0, 4.0).ratio, 0.5);
}

/// A unit that follows the curve of its input e, and gives a function of it and of the time as its flow f.
struct Following {
    description: UnitDescription,
    input: f64,
    derivatives: [f64; 2],
    time: f64,
    flow: fn(f64, f64) -> f64,
    /// ∂f/∂e.
    gain: fn(f64) -> f64,
}

impl Following {
    fn new(flow: fn(f64, f64) -> f64, gain: fn(f64) -> f64) -> Self {
        let variables = vec![
            Variable::real("e", 0, Causality::Input),
            Variable::real("f", 1, Causality::Output),
        ];
        let abilities = Capabilities {
            input_derivatives: 2,
            directional_derivatives: true,
            ..Capabilities::default()
        };
        let feedthrough = [(1, vec![0])].into_iter().collect();
        Self {
            description: UnitDescription::new(variables, feedthrough, abilities),
            input: 0.0,
            derivatives: [0.0; 2],
            time: 0.0,
            flow,
            gain,
        }
    }
}

impl Unit for Following {
    fn description(&self) -> &UnitDescription {
        &self.description
    }

    fn set_reals(&mut self, _: &[Handle], values: &[f64]) -> UnitResult {
        self.input = values.last().copied().unwrap_or(self.input);
        Ok(())
    }

    fn set_input_derivatives(
        &mut self,
        _: &[Handle],
        orders: &[i32],
        values: &[f64],
    ) -> UnitResult {
        for (order, value) in orders.iter().zip(values) {
            self.derivatives[*order as usize - 1] = *value;
        }
        Ok(())
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        for (handle, value) in handles.iter().zip(values) {
            *value = match handle {
                0 => self.input,
                _ => (self.flow)(self.input, self.time),
            };
        }
        Ok(())
    }

    fn directional_derivative(
        &mut self,
        _: &[Handle],
        _: &[Handle],
        seed: &[f64],
        values: &mut [f64],
    ) -> UnitResult {
        values[0] = (self.gain)(self.input) * seed[0];
        Ok(())
    }

    fn step(&mut self, _: f64, step: f64) -> UnitResult<StepOutcome> {
        let [slope, curvature] = self.derivatives;
        self.input += step * slope + 0.5 * step * step * curvature;
        self.time += step;
        Ok(StepOutcome::Done)
    }
}

const H: f64 = 0.25;

/// What end b received in a late step, J, and what the step adds to the changes of curvatures, J: `unit` follows the `effort`
/// on a curve that is exact by then.
fn late_step(
    effort: fn(f64) -> f64,
    extrapolation: &str,
    exchange: &str,
    unit: Following,
) -> [f64; 2] {
    let source = ClosureUnit::new(&[("f", 0.0)], &[("e", effort(0.0))], move |call| {
        call.outputs[0] = effort(call.time + call.step);
    });
    let mut system = System::new(H);
    system.stop_time(9.0 * H).method("jacobi");
    system.add("a", source);
    let settings = system.add("b", unit);
    settings.exchange(exchange).extrapolation(extrapolation);
    let _ = system.bond("bond", ("a.e", "b.e"), ("b.f", "a.f"));
    let mut run = system.start(&RunOptions::default()).unwrap();
    let mut sums = |steps: usize| {
        for _ in 0..steps {
            run.step().unwrap();
        }
        let bond = &run.ledger().bonds[0];
        let energy = &bond.energy;
        let received = energy.residual_energy_integrated + energy.transferred_energy_integrated;
        [received, bond.error.change]
    };
    let (before, after) = (sums(7), sums(1));
    [0, 1].map(|sum| after[sum] - before[sum])
}

/// An output that follows a curve has its course, and the rest has the curvature of the last two changes: the effort 1 + t² on the
/// flow 3·e + t², by Simpson's rule from 7·H to 8·H.
#[test]
fn outputs_follow_the_curves_of_their_inputs() {
    let effort = |t: f64| 1.0 + t * t;
    let power = |t: f64| effort(t) * (3.0 * effort(t) + t * t);
    let simpson = H / 6.0 * (power(7.0 * H) + 4.0 * power(7.5 * H) + power(8.0 * H));
    for exchange in ["stale", "compensated"] {
        let unit = Following::new(|e, t| 3.0 * e + t * t, |_| 3.0);
        let [received, change] = late_step(effort, "quadratic", exchange, unit);
        assert!((received - simpson).abs() < 1e-9, "{received} {simpson}");
        assert!(change.abs() < 1e-9, "{change}");
    }
}

/// The flow e² on a line by E over a step is E²/4 below its chord in the middle.
#[test]
fn a_feed_through_that_changes_is_a_doubt_of_as_much_as_it_is_curved() {
    let effort = |t: f64| 1.0 + 2.0 * t;
    let unit = Following::new(|e, _| e * e, |e| 2.0 * e);
    let [_, change] = late_step(effort, "linear", "stale", unit);
    let bent = (2.0 * H).powi(2) / 4.0;
    let expected = 2.0 / 3.0 * effort(7.5 * H) * bent * H;
    assert!((change - expected).abs() < 1e-9, "{change} {expected}");
}
