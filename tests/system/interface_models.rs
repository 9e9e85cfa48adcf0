//! Interface models against recursions written by hand, closed forms and limits of stability.

use std::collections::BTreeMap;

use gyrator::unit::{
    Capabilities, Causality, Handle, StepOutcome, UnitDescription, UnitResult, Variable,
};
use gyrator::{ClosureUnit, LinearUnit, Run, RunOptions, System, Unit, Value};
use gyrator_testkit::Trace;

/// Inverse mass, 1/kg, of two coordinates, and their free accelerations, m/s².
const W: [[f64; 2]; 2] = [[1.0 / 1700.0, -1.0 / 9000.0], [-1.0 / 9000.0, 1.0 / 400.0]];
const B: [f64; 2] = [0.3, -0.2];
/// Stiffnesses, N/m, and dampings, N·s/m, of the two fast components.
const K: [f64; 2] = [3e6, 8e5];
const C: [f64; 2] = [1e4, 3e3];
const START: [f64; 2] = [0.05, -0.02];

/// Two masses, coupled by their inertia, that move exactly under held forces.
fn masses() -> impl Unit + 'static {
    let inputs = [("f1", 0.0), ("f2", 0.0)];
    let outputs = [
        ("s1", 0.0),
        ("s2", 0.0),
        ("v1", START[0]),
        ("v2", START[1]),
        ("w11", W[0][0]),
        ("w12", W[0][1]),
        ("w22", W[1][1]),
        ("b1", B[0]),
        ("b2", B[1]),
    ];
    ClosureUnit::new(&inputs, &outputs, |call| {
        let h = call.step;
        for i in 0..2 {
            let a = B[i] + W[i][0] * call.inputs[0] + W[i][1] * call.inputs[1];
            call.outputs[i] += h * call.outputs[2 + i] + 0.5 * h * h * a;
            call.outputs[2 + i] += h * a;
        }
    })
}

/// ṗ = −k·v, f = p − c·v, with p exact for a held v.
fn spring(k: f64, c: f64) -> LinearUnit {
    let matrices: [&[f64]; 4] = [&[0.0], &[0.0, -k], &[1.0, 1.0], &[0.0, -c, 0.0, 0.0]];
    LinearUnit::new(&[0.0], &["s", "v"], &["f", "p"], matrices)
}

/// Both masses with a spring each, and an interface model that takes `options`.
fn system(step: f64, d: f64, exchange: &str, options: &[(&str, Value)]) -> System {
    let mut system = System::new(step);
    system.method("jacobi").extrapolation("hold");
    system.add("masses", masses());
    for (i, (k, c)) in K.into_iter().zip(C).enumerate() {
        let name = format!("spring{}", i + 1);
        system.add(&name, spring(k, c)).exchange(exchange);
        system.connect(&format!("masses.s{}", i + 1), &format!("{name}.s"));
    }
    for i in ["1", "2"] {
        let effort = (&*format!("spring{i}.f"), &*format!("masses.f{i}"));
        let flow = (&*format!("masses.v{i}"), &*format!("spring{i}.v"));
        system.bond(&format!("bond {i}"), effort, flow);
    }
    let mut model = system
        .interface_model("model", "masses", d)
        .bonds(&["bond 1", "bond 2"])
        .positions(&["s1", "s2"])
        .mass(&["w11", "w12", "w22"], &["b1", "b2"]);
    for (name, value) in options {
        model = match (*name, value) {
            ("order", Value::String(word)) => model.order(word),
            _ => model.option(name, value.clone()),
        };
    }
    system
}

fn word(word: &str) -> Value {
    Value::String(word.to_owned())
}

fn start(system: System) -> Run {
    system.start(&RunOptions::default()).unwrap()
}

/// The same system by hand: no engine, no units.
#[derive(Clone, Default)]
struct ByHand {
    s: [f64; 2],
    v: [f64; 2],
    /// The reduced model's own motion.
    model: ([f64; 2], [f64; 2]),
    p: [f64; 2],
    /// Velocity that the springs had last.
    fed: [f64; 2],
    displacement: [f64; 2],
    error_before: [f64; 2],
    factor: f64,
    gain: f64,
}

impl ByHand {
    fn new() -> Self {
        let (v, factor) = (START, 1.0);
        Self {
            v,
            model: ([0.0; 2], v),
            fed: v,
            factor,
            ..Self::default()
        }
    }

    fn forces(&self) -> [f64; 2] {
        [0, 1].map(|i| self.p[i] - C[i] * self.fed[i])
    }

    /// The springs and the reduced model over one macro-step; returns the mean forces.
    fn fast_side(&mut self, d: f64, n: u32, error: [f64; 2]) -> [f64; 2] {
        let added = error.map(|error| self.gain * error / (d * f64::from(n)));
        let mut sum = self.forces().map(|f| 0.5 * f);
        for k in 0..n {
            let mut f = self.forces();
            if k > 0 {
                // The reduced model does not feel the friction of what was added.
                f = [0, 1].map(|i| f[i] + C[i] * added[i]);
            }
            for i in 0..2 {
                let a = (B[i] + W[i][0] * f[0] + W[i][1] * f[1]) / self.factor;
                self.model.1[i] += d * a;
                self.model.0[i] += d * self.model.1[i];
            }
            for i in 0..2 {
                self.fed[i] = self.model.1[i] + added[i];
                self.displacement[i] += d * self.fed[i];
                self.p[i] -= K[i] * d * self.fed[i];
            }
            let weight = if k + 1 == n { 0.5 } else { 1.0 };
            let f = self.forces();
            sum = [0, 1].map(|i| sum[i] + weight * f[i]);
        }
        sum.map(|sum| sum / f64::from(n))
    }

    fn masses(&mut self, f: [f64; 2], h: f64) {
        for i in 0..2 {
            let a = B[i] + W[i][0] * f[0] + W[i][1] * f[1];
            self.s[i] += h * self.v[i] + 0.5 * h * h * a;
            self.v[i] += h * a;
        }
    }

    fn error(&self) -> [f64; 2] {
        [0, 1].map(|i| self.s[i] - self.displacement[i])
    }

    fn parallel(&mut self, d: f64, n: u32) {
        self.fed = self.v;
        let held = self.forces();
        self.model = (self.s, self.v);
        self.fast_side(d, n, self.error());
        self.masses(held, d * f64::from(n));
    }

    fn fast_first(&mut self, d: f64, n: u32) {
        self.fed = self.v;
        self.model = (self.s, self.v);
        let mean = self.fast_side(d, n, self.error());
        self.masses(mean, d * f64::from(n));
    }

    /// The springs run ahead while the masses make the step before; then the reduced model hears how
    /// far off it was at the start.
    fn pipelined(&mut self, d: f64, n: u32) {
        let before = self.model;
        let error = self.error_before;
        self.error_before = self.error();
        self.fed = before.1;
        let mean = self.fast_side(d, n, error);
        for i in 0..2 {
            self.model.0[i] += self.s[i] - before.0[i];
            self.model.1[i] += self.v[i] - before.1[i];
        }
        self.masses(mean, d * f64::from(n));
    }
}

fn assert_follows(mut run: Run, mut hand: ByHand, step: impl Fn(&mut ByHand), steps: u32) {
    for k in 0..steps {
        run.step().unwrap();
        step(&mut hand);
        for (name, expected) in [
            ("masses.s1", hand.s[0]),
            ("masses.s2", hand.s[1]),
            ("masses.v1", hand.v[0]),
            ("masses.v2", hand.v[1]),
            ("spring1.p", hand.p[0]),
            ("spring2.p", hand.p[1]),
        ] {
            let found = run.read_real(name).unwrap();
            let scale = if name.ends_with('p') { 1e4 } else { 0.1 };
            assert!(
                (found - expected).abs() < 1e-11 * scale,
                "{name} after step {k}: {found}, by hand {expected}"
            );
        }
    }
}

const H: f64 = 2e-3;
const D: f64 = 2.5e-4;
const N: u32 = 8;

// Recursions of Rahikainen 2020 §2.3.1 (force at the start of the step), and with the mean force; both
// written out by hand above; equal but for rounding.
#[test]
fn every_order_follows_its_recursion() {
    let fresh = |options: &[(&str, Value)]| start(system(H, D, "fresh", options));
    let hand = ByHand::new;
    let plain = fresh(&[]);
    assert_follows(plain, hand(), |h| h.parallel(D, N), 100);
    let mean = fresh(&[("force", word("mean"))]);
    assert_follows(mean, hand(), |h| h.fast_first(D, N), 100);
    let pipelined = fresh(&[("order", word("pipelined"))]);
    assert_follows(pipelined, hand(), |h| h.pipelined(D, N), 100);
}

#[test]
fn options_follow_their_recursions() {
    let correction = ("displacement_correction", Value::Real(0.5));
    let factor = ("mass_factor", Value::Real(0.8));
    let mut hand = ByHand::new();
    (hand.gain, hand.factor) = (0.5, 0.8);
    // The force is read before the velocity is corrected.
    let run = |order: &str| {
        let options = [("order", word(order)), correction.clone(), factor.clone()];
        start(system(H, D, "fresh", &options))
    };
    assert_follows(run("parallel"), hand.clone(), |h| h.parallel(D, N), 60);
    assert_follows(run("fast-first"), hand.clone(), |h| h.fast_first(D, N), 60);
    assert_follows(run("pipelined"), hand, |h| h.pipelined(D, N), 60);
}

/// The bits of a run in which the masses receive the springs' forces without their dampers, which are in `forces`, or
/// the whole forces.
fn bits(step: f64, order: &str, effort: &str, share: Option<f64>) -> Vec<u64> {
    let mut system = System::new(step);
    system.stop_time(20.0 * step);
    system.method("jacobi").extrapolation("hold");
    system.add("masses", masses());
    for (i, (k, c)) in ["1", "2"].iter().zip(K.into_iter().zip(C)) {
        let name = format!("spring{i}");
        system.add(&name, spring(k, c)).exchange("fresh");
        system.connect(&format!("masses.s{i}"), &format!("{name}.s"));
        let effort = (&*format!("{name}.{effort}"), &*format!("masses.f{i}"));
        let flow = (&*format!("masses.v{i}"), &*format!("{name}.v"));
        system.bond(&format!("bond {i}"), effort, flow);
    }
    let model = system
        .interface_model("model", "masses", 1e-3)
        .bonds(&["bond 1", "bond 2"])
        .positions(&["s1", "s2"])
        .mass(&["w11", "w12", "w22"], &["b1", "b2"])
        .forces(&["spring1.f", "spring2.f"])
        .order(order);
    let _ = match share {
        Some(share) => model.option("displacement_correction", share),
        None => model,
    };
    let mut run = start(system);
    let trace = Trace::of(&mut run).unwrap();
    run.run().unwrap();
    trace.bits()
}

/// W·C = [5.88, −0.333; −1.11, 7.5] 1/s: the greatest sum of a column of its inverse is the first one's.
#[test]
fn the_share_that_is_chosen_follows_the_friction() {
    let [[a, b], [c, d]] = [0, 1].map(|row| [0, 1].map(|column| W[row][column] * C[column]));
    let bound = (a * d - b * c) / (d.abs() + c.abs());
    assert!((bound - 5.08).abs() < 0.01, "{bound}");
    for order in ["fast-first", "pipelined"] {
        for (step, share) in [(4e-3, 2e-3 * bound), (0.25, 0.5)] {
            let chosen = bits(step, order, "p", None);
            let given = bits(step, order, "p", Some(share));
            let close = chosen.iter().zip(&given).all(|(chosen, given)| {
                let [chosen, given] = [chosen, given].map(|bits| f64::from_bits(*bits));
                (chosen - given).abs() <= 1e-9 * given.abs().max(1e-9)
            });
            assert!(close, "{order}, {step}");
            assert_ne!(chosen, bits(step, order, "p", Some(0.0)), "{order}, {step}");
        }
        // The damper's force would be late.
        let [chosen, none] = [None, Some(0.0)].map(|share| bits(4e-3, order, "f", share));
        assert_eq!(chosen, none, "{order}");
    }
    let [chosen, none] = [None, Some(0.0)].map(|share| bits(4e-3, "parallel", "p", share));
    assert_eq!(chosen, none);
}

/// Sums up the velocity that it is given to a displacement, with the derivative if it takes one; its
/// force is 0.
struct Odometer {
    description: UnitDescription,
    velocity: f64,
    acceleration: f64,
    displacement: f64,
}

impl Odometer {
    fn new(input_derivatives: u32) -> Self {
        let variables = vec![
            Variable::real("v", 0, Causality::Input),
            Variable::real("f", 1, Causality::Output),
            Variable::real("x", 2, Causality::Output),
        ];
        let capabilities = Capabilities {
            input_derivatives,
            ..ClosureUnit::new(&[], &[], |_| {})
                .description()
                .capabilities
        };
        Self {
            description: UnitDescription::new(variables, BTreeMap::new(), capabilities),
            velocity: 0.0,
            acceleration: 0.0,
            displacement: 0.0,
        }
    }
}

impl Unit for Odometer {
    fn description(&self) -> &UnitDescription {
        &self.description
    }
    fn set_reals(&mut self, _: &[Handle], values: &[f64]) -> UnitResult {
        self.velocity = values[0];
        Ok(())
    }
    fn set_input_derivatives(&mut self, _: &[Handle], _: &[i32], values: &[f64]) -> UnitResult {
        self.acceleration = values[0];
        Ok(())
    }
    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        for (handle, value) in handles.iter().zip(values) {
            *value = [self.velocity, 0.0, self.displacement][*handle as usize];
        }
        Ok(())
    }
    fn step(&mut self, _: f64, step: f64) -> UnitResult<StepOutcome> {
        self.displacement += step * (self.velocity + 0.5 * step * self.acceleration);
        Ok(StepOutcome::Done)
    }
}

// Closed form: under a constant acceleration b, what is fed over a macro-step is too far by the excess
// of its mean over the middle of each exchange's change, d·b a step; the next step makes it good.
#[test]
fn the_displacement_that_is_made_good_is_the_one_that_was_fed() {
    const STEP: f64 = 0.1;
    const EXCHANGE: f64 = 0.02;
    for (inputs, derivatives, parts, excess) in [
        ("hold", 0, 1, 0.5),
        ("linear", 0, 1, 0.5),
        ("linear", 0, 4, -0.125),
        ("linear", 1, 1, 0.0),
        ("linear", 1, 4, 0.0),
    ] {
        let mut system = System::new(STEP);
        let outputs = [("s", 0.0), ("v", 1.0), ("w", 0.0), ("b", 2.0)];
        let falling = ClosureUnit::new(&[("f", 0.0)], &outputs, |call| {
            call.outputs[0] += call.step * (call.outputs[1] + call.step);
            call.outputs[1] += call.step * 2.0;
        });
        system.add("mass", falling);
        let odometer = system.add("odometer", Odometer::new(derivatives));
        odometer.step_size(EXCHANGE / f64::from(parts));
        let (effort, flow) = (("odometer.f", "mass.f"), ("mass.v", "odometer.v"));
        system.bond("bond", effort, flow);
        system
            .interface_model("model", "mass", EXCHANGE)
            .bonds(&["bond"])
            .positions(&["s"])
            .mass(&["w"], &["b"])
            .option("inputs", word(inputs))
            .option("displacement_correction", 1.0);
        let mut run = start(system);
        for _ in 0..50 {
            run.step().unwrap();
            let [fed, moved] = ["odometer.x", "mass.s"].map(|name| run.read_real(name).unwrap());
            let expected = excess * EXCHANGE * 2.0 * STEP;
            assert!(
                (fed - moved - expected).abs() < 1e-12,
                "{inputs}, {derivatives} derivatives, {parts} parts: {fed} instead of {moved} + {expected}"
            );
        }
    }
}
