//! Methods in which units take turns, against recursions written by hand and closed forms.

use gyrator::{ClosureUnit, LinearUnit, Run, RunOptions, StartError, System, Unit};
use gyrator_system::{Choice, Value};

const MASS: f64 = 2.0;
const STIFFNESS: f64 = 800.0;
const DAMPING: f64 = 3.0;
const START: f64 = 0.4;
/// Macro-step, s, and communication steps of the spring in it.
const H: f64 = 0.01;
const SUBSTEPS: u32 = 8;

/// v̇ = f/m, exact for a held f; it keeps what it was pushed with.
fn mass() -> impl Unit + 'static {
    let outputs = [("v", START), ("used", 0.0)];
    ClosureUnit::new(&[("f", 0.0)], &outputs, |call| {
        call.outputs[0] += call.step * call.inputs[0] / MASS;
        call.outputs[1] = call.inputs[0];
    })
}

/// ṗ = −k·v, f = p − d·v, exact for a held v.
fn spring() -> LinearUnit {
    let matrices: [&[f64]; 4] = [&[0.0], &[-STIFFNESS], &[1.0], &[-DAMPING]];
    LinearUnit::new(&[0.0], &["v"], &["f"], matrices)
}

fn system(spring_step: f64, mass_step: f64, method: Choice) -> System {
    let mut system = System::new(H);
    system.extrapolation("hold");
    let spring = system.add("spring", spring()).step_size(spring_step);
    spring.exchange("stale");
    system.add("mass", mass()).step_size(mass_step);
    let (force, velocity) = (("spring.f", "mass.f"), ("mass.v", "spring.v"));
    system.bond("bond", force, velocity);
    system.method(method);
    system
}

fn method(word: &str, order: &str) -> Choice {
    Choice::new(word).with("order", Value::String(order.to_owned()))
}

fn start(system: System) -> Run {
    system.start(&RunOptions::default()).unwrap()
}

fn assert_close(found: f64, expected: f64, what: &str) {
    let scale = expected.abs().max(1.0);
    assert!(
        (found - expected).abs() < 1e-12 * scale,
        "{what}: {found} instead of {expected}"
    );
}

// The recursion by hand: the spring holds the velocity of the communication point, the mass gets the
// trapezoidal mean of the forces at the spring's communication steps.
#[test]
fn the_mean_force_is_the_impulse_that_the_sender_gave() {
    let mut run = start(system(
        H / f64::from(SUBSTEPS),
        H,
        Choice::new("mean-force"),
    ));
    let (mut p, mut v, mut f) = (0.0, START, -DAMPING * START);
    let mut impulse = 0.0;
    for _ in 0..200 {
        run.step().unwrap();
        let mut sum = 0.0;
        for _ in 0..SUBSTEPS {
            let before = f;
            p -= STIFFNESS * v * H / f64::from(SUBSTEPS);
            f = p - DAMPING * v;
            sum += 0.5 * (before + f) / f64::from(SUBSTEPS);
        }
        v += H * sum / MASS;
        impulse += H * sum;
        assert_close(run.read_real("mass.used").unwrap(), sum, "mean force");
        assert_close(run.read_real("mass.v").unwrap(), v, "velocity");
    }
    // Momentum: what the mass has gained is what the spring has given.
    let gained = MASS * (run.read_real("mass.v").unwrap() - START);
    assert!((gained - impulse).abs() < 1e-11);
}

#[test]
fn a_slow_unit_gets_the_mean_over_its_own_step() {
    // The mass steps by four macro-steps, the spring by two parts of one.
    let mut run = start(system(H / 2.0, 4.0 * H, Choice::new("mean-force")));
    let (mut p, mut v, mut f) = (0.0, START, -DAMPING * START);
    for _ in 0..40 {
        let mut sum = 0.0;
        for _ in 0..8 {
            let before = f;
            p -= STIFFNESS * v * H / 2.0;
            f = p - DAMPING * v;
            sum += 0.5 * (before + f) / 8.0;
        }
        v += 4.0 * H * sum / MASS;
        for _ in 0..4 {
            run.step().unwrap();
        }
        assert_close(run.read_real("mass.used").unwrap(), sum, "mean force");
        assert_close(run.read_real("mass.v").unwrap(), v, "velocity");
    }
}

// Closed forms of the two recursions. Spring first: v' = v + h/m·(p − k·h·v − d·v). Mass first (the
// spring has direct feed-through): v' = v + h/m·f, then the spring takes v'.
#[test]
fn gauss_seidel_passes_the_end_values_in_the_order_that_is_asked_for() {
    let mut spring_first = start(system(H, H, method("gauss-seidel", "spring, mass")));
    let mut mass_first = start(system(H, H, Choice::new("gauss-seidel")));
    let mut fast_first = start(system(H / 2.0, H, method("gauss-seidel", "fast-first")));
    let mut one = (0.0, START);
    let mut other = (0.0, START, -DAMPING * START);
    for _ in 0..100 {
        for run in [&mut spring_first, &mut mass_first, &mut fast_first] {
            run.step().unwrap();
        }
        one.0 -= STIFFNESS * H * one.1;
        one.1 += H / MASS * (one.0 - DAMPING * one.1);
        other.1 += H / MASS * other.2;
        other.0 -= STIFFNESS * H * other.1;
        other.2 = other.0 - DAMPING * other.1;
        assert_close(
            spring_first.read_real("mass.v").unwrap(),
            one.1,
            "spring first",
        );
        assert_close(fast_first.read_real("mass.v").unwrap(), one.1, "fast first");
        assert_close(
            mass_first.read_real("mass.v").unwrap(),
            other.1,
            "mass first",
        );
        assert_close(mass_first.read_real("spring.f").unwrap(), other.2, "force");
    }
}

// A unit that takes sub-steps gets the line between the end values: at the k-th of n sub-steps
// y0 + (y1 − y0)·k/n.
#[test]
fn gauss_seidel_interpolates_where_the_receiver_can_follow() {
    let mut system = System::new(1.0);
    system.add(
        "source",
        ClosureUnit::new(&[], &[("y", 1.0)], |call| {
            call.outputs[0] = 1.0 + (call.time + call.step).powi(2);
        }),
    );
    let sum = ClosureUnit::new(&[("u", 0.0)], &[("sum", 0.0)], |call| {
        call.outputs[0] += call.step * call.inputs[0];
    });
    system.add("sum", sum).step_size(0.25);
    system.connect("source.y", "sum.u");
    system.method("gauss-seidel");
    let mut run = start(system);
    let mut expected = 0.0;
    for step in 0..5 {
        run.step().unwrap();
        let (t0, t1) = (f64::from(step), f64::from(step) + 1.0);
        let (y0, y1) = (1.0 + t0 * t0, 1.0 + t1 * t1);
        expected += y0 + (y1 - y0) * (0.0 + 0.25 + 0.5 + 0.75) / 4.0;
        assert_close(run.read_real("sum.sum").unwrap(), expected, "sum");
    }
}

#[test]
fn what_does_not_go_together_is_refused_by_name() {
    let refusal = |system: System| match system.start(&RunOptions::default()) {
        Err(StartError::Invalid(problems)) => problems.to_string(),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("the system was started"),
    };
    let text = refusal(system(H, H, method("gauss-seidel", "spring, mas")));
    assert!(
        text.contains("no component `mas`; did you mean `mass`?"),
        "{text}"
    );
    let text = refusal(system(H, H, method("gauss-seidel", "mass, mass")));
    assert!(text.contains("names `mass` twice"), "{text}");
    let mut corrected = System::new(H);
    corrected.add("spring", spring());
    corrected.add("mass", mass());
    let (force, velocity) = (("spring.f", "mass.f"), ("mass.v", "spring.v"));
    let bond = corrected.bond("bond", force, velocity);
    bond.correction("nepce");
    corrected.method("mean-force");
    let text = refusal(corrected);
    assert!(
        text.contains("`mean-force` and correction `nepce` of bond `bond`"),
        "{text}"
    );
}
