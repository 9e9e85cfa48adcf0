//! Interface models with every word of the other registries.

use gyrator::interface_model::PassedForce;
use gyrator::interface_order::INTERFACE_ORDERS;
use gyrator::registry::look_up;
use gyrator::{ClosureUnit, LinearUnit, RunOptions, System};

use super::Failure;
use super::draft::{Assembly, Draft, choice};
use super::runs::is_refused;
use crate::combination::Combination;

const MACRO_STEP: f64 = 2e-3;
const EXCHANGES: u32 = 10;
/// Masses, kg; stiffnesses, N/m, and dampings, N·s/m, of a spring to the wall at each; velocities at
/// the start, m/s.
const MASSES: [f64; 2] = [1700.0, 400.0];
const STIFFNESSES: [f64; 2] = [3e5, 8e4];
const DAMPINGS: [f64; 2] = [1e3, 3e2];
const START: [f64; 2] = [0.05, -0.02];

/// Name of the interface model, which refusals quote.
const MODEL: &str = "model";

/// Two masses under held forces, and their springs as fast components.
fn system(order: &str, combination: &Combination) -> System {
    let mut draft = Draft::new(MACRO_STEP);
    let outputs = [
        ("s1", 0.0),
        ("s2", 0.0),
        ("v1", START[0]),
        ("v2", START[1]),
        ("w11", 1.0 / MASSES[0]),
        ("w12", 0.0),
        ("w22", 1.0 / MASSES[1]),
        ("b1", 0.0),
        ("b2", 0.0),
    ];
    let masses = ClosureUnit::new(&[("f1", 0.0), ("f2", 0.0)], &outputs, |call| {
        let h = call.step;
        for (i, mass) in MASSES.iter().enumerate() {
            let a = call.inputs[i] / mass;
            call.outputs[i] += h * call.outputs[2 + i] + 0.5 * h * h * a;
            call.outputs[2 + i] += h * a;
        }
    });
    let masses = masses.memoryless();
    draft.unit("masses", 1.0, masses, combination);
    let names = ["spring1", "spring2"];
    for (i, name) in names.into_iter().enumerate() {
        // ṗ = −k·v, f = p − d·v.
        let (k, d) = (STIFFNESSES[i], DAMPINGS[i]);
        let matrices: [&[f64]; 4] = [&[0.0], &[-k], &[1.0], &[-d]];
        let spring = LinearUnit::new(&[0.0], &["v"], &["f"], matrices);
        draft.unit(name, 1.0 / f64::from(EXCHANGES), spring, combination);
    }
    draft.bond(&[(("spring1.f", "masses.f1"), ("masses.v1", "spring1.v"))]);
    draft.bond(&[(("spring2.f", "masses.f2"), ("masses.v2", "spring2.v"))]);
    let mut system = draft.assemble(Assembly::default(), combination);
    system
        .interface_model(MODEL, "masses", MACRO_STEP / f64::from(EXCHANGES))
        .bonds(&["bond 1", "bond 2"])
        .positions(&["s1", "s2"])
        .mass(&["w11", "w12", "w22"], &["b1", "b2"])
        .order(order);
    system
}

/// Closed form: the damped oscillation of one mass that starts at 0, after `t`, m.
fn position(i: usize, t: f64) -> f64 {
    let decay = DAMPINGS[i] / (2.0 * MASSES[i]);
    let frequency = (STIFFNESSES[i] / MASSES[i] - decay * decay).sqrt();
    START[i] / frequency * (-decay * t).exp() * (frequency * t).sin()
}

/// Bound of a position's error after a time T, m. In an oscillation x of angular frequency ω, a force
/// that is late by H puts the velocity off by ω²·x·H for each second, and the position by ωH·ωT of the
/// amplitude at most. A mean force, whose impulse is right, leaves errors of second order: (ωH)²·ωT.
fn bound(i: usize, t: f64, passes_impulse: bool) -> f64 {
    let frequency = (STIFFNESSES[i] / MASSES[i]).sqrt();
    let amplitude = START[i].abs() / frequency;
    let order = if passes_impulse { 2 } else { 1 };
    (frequency * MACRO_STEP).powi(order) * frequency * t * amplitude
}

/// Runs the system and compares its positions with the exact ones, or sees that it is refused with the
/// two words that do not go together. Returns whether it runs.
fn runs_or_is_refused(order: &str, combination: &Combination) -> Result<bool, String> {
    let system = system(order, combination);
    if is_refused(&system, combination, &[MODEL])? {
        return Ok(false);
    }
    let order =
        look_up(INTERFACE_ORDERS, &choice(order)).map_err(|problems| format!("{problems:?}"))?;
    let passes_impulse = order.build().force == PassedForce::Mean;
    let mut run = system
        .start(&RunOptions::default())
        .map_err(|error| error.to_string())?;
    run.run().map_err(|error| error.to_string())?;
    let t = run.time();
    for (i, name) in ["masses.s1", "masses.s2"].into_iter().enumerate() {
        let value = run.read_real(name).map_err(|error| error.to_string())?;
        let (exact, bound) = (position(i, t), bound(i, t, passes_impulse));
        if value.is_nan() || (value - exact).abs() > bound {
            return Err(format!("{name} is {value} m, not {exact} ± {bound} m"));
        }
    }
    Ok(true)
}

/// Tries every order with every pair of words of the other registries. Returns the number of checks.
pub(super) fn check_all(failures: &mut Vec<Failure>) -> usize {
    let mut made = 0;
    for entry in INTERFACE_ORDERS {
        let mut ran = false;
        for combination in Combination::pairs() {
            made += 1;
            match runs_or_is_refused(entry.name, &combination) {
                Ok(runs) => ran |= runs,
                Err(message) => failures.push(Failure {
                    subject: format!("{} + {combination}", entry.name),
                    message,
                }),
            }
        }
        if !ran {
            failures.push(Failure {
                subject: format!("interface order {}", entry.name),
                message: "is refused with every word".to_owned(),
            });
        }
    }
    made
}
