//! Order of convergence, and the ledger against the energy stored.

use gyrator::extrapolation::EXTRAPOLATIONS;
use gyrator::method::METHODS;
use gyrator::registry::look_up;
use gyrator::{LinearUnit, Run, RunOptions};

use super::draft::{Assembly, Draft, choice};
use crate::combination::Combination;
use crate::element::Element;
use crate::trace::Trace;

/// Macro-steps in the second that is simulated.
const COARSE: u32 = 64;

/// How far the observed order may stay behind. An error C·Hᵖ·(1 + a·H) shows, between H and H/2, the
/// order p + log₂((1 + a·H)/(1 + a·H/2)): 0.22 less at a·H = −1/4. The next term of the error has to
/// be less than a quarter of the first at the coarse step.
const MARGIN: f64 = 0.25;

/// Order of the errors that the entries declare.
///
/// A polynomial of degree p through values of the past is off by O(Hᵖ⁺¹) within a step (the
/// remainder of interpolation), and so are the states after many steps. If units take turns, what is
/// passed on is a line or a mean over the step, whose impulse is off by O(H³), which leaves second
/// order. A correction declares no order, and what it adds may be O(H) whatever it is added to, as
/// the force of `residual-power` is: beside one, first order is asked for.
fn declared_order(combination: &Combination) -> Result<usize, String> {
    let text = |problems| format!("{problems:?}");
    let extrapolation = look_up(EXTRAPOLATIONS, &choice(combination.extrapolation));
    let degree = extrapolation.map_err(text)?.usual_facts().degree;
    let method = look_up(METHODS, &choice(combination.method)).map_err(text)?;
    let highest = match combination.correction {
        "off" if method.usual_facts().looks_ahead => 2,
        "off" => usize::MAX,
        _ => 1,
    };
    Ok(highest.min(degree + 1))
}

fn start(draft: Draft, stop_time: f64, combination: &Combination) -> Result<Run, String> {
    let mut system = draft.assemble(Assembly::default(), combination);
    system.stop_time(stop_time);
    let run = system.start(&RunOptions::default());
    run.map_err(|error| error.to_string())
}

/// Greatest error after 1 s of a mass of 1 kg and a spring of 1 N/m: v̇ = −F + a(t), Ḟ = v. With
/// a = 4·t³ + t⁵/5 the solution is v = t⁴, F = t⁵/5, and the past of the start is 0, as it is for
/// extrapolations.
fn error(steps: u32, combination: &Combination) -> Result<f64, String> {
    let mut draft = Draft::new(1.0 / f64::from(steps));
    let mass = Element::new(-1.0, |t| t.powi(4) + t.powi(6) / 30.0);
    draft.unit("mass", 1.0, mass, combination);
    draft.unit("spring", 1.0, Element::new(1.0, |_| 0.0), combination);
    draft.bond(&[(("spring.y", "mass.u"), ("mass.y", "spring.u"))]);
    let mut run = start(draft, 1.0, combination)?;
    run.run().map_err(|error| error.to_string())?;
    let mut error: f64 = 0.0;
    for (name, exact) in [("mass.y", 1.0), ("spring.y", 0.2)] {
        let value = run.read_real(name).map_err(|error| error.to_string())?;
        if value.is_nan() {
            return Err(format!("{name} is {value} after {steps} steps"));
        }
        error = error.max((value - exact).abs());
    }
    Ok(error)
}

pub(super) fn errors_fall(combination: &Combination) -> Result<(), String> {
    // A step control chooses its own steps.
    if combination.step_control != "fixed" {
        return Ok(());
    }
    let declared = declared_order(combination)?;
    let (coarse, fine) = (error(COARSE, combination)?, error(2 * COARSE, combination)?);
    let observed = (coarse / fine).log2();
    if observed.is_nan() || observed < declared as f64 - MARGIN {
        return Err(format!(
            "the error is {coarse:e} in {COARSE} steps and {fine:e} in twice as many: order \
             {observed:.2}, not {declared}"
        ));
    }
    Ok(())
}

/// A mass and a spring. The spring takes the power F·ũ_v from the bond and the mass gives v·ũ_F. What
/// both store at the end and did not store at the start is the residual energy with its sign changed,
/// corrections included.
///
/// While the inputs ũ are held, F and v are lines in time, and so is the residual power: the ledger's
/// trapezoidal rule is exact but for rounding.
pub(super) fn ledger_closes(combination: &Combination) -> Result<(), String> {
    const MASS: f64 = 2.0;
    const STIFFNESS: f64 = 50.0;
    let energy = |v: f64, f: f64| 0.5 * (MASS * v * v + f * f / STIFFNESS);
    let integrator = |gain: f64, start: f64| {
        LinearUnit::new(&[start], &["u"], &["y"], [&[0.0], &[gain], &[1.0], &[0.0]])
    };
    let (v, f) = (0.5, 3.0);
    let mut draft = Draft::new(1e-2);
    draft.unit("mass", 1.0, integrator(-1.0 / MASS, v), combination);
    draft.unit("spring", 1.0, integrator(STIFFNESS, f), combination);
    draft.bond(&[(("spring.y", "mass.u"), ("mass.y", "spring.u"))]);
    let stop_time = draft.stop_time();
    let mut run = start(draft, stop_time, combination)?;
    let trace = Trace::of(&mut run).map_err(|error| error.to_string())?;
    run.run().map_err(|error| error.to_string())?;
    let last = |name| trace.column(name).last().copied().unwrap_or(f64::NAN);
    let gained = energy(last("mass.y"), last("spring.y")) - energy(v, f);
    let bond = run.ledger().bond(0).ok_or("the bond has no account")?;
    let booked = -bond.residual_energy_integrated;
    // Some ten roundings a step, of numbers not greater than the energy at the start.
    let rounding = 10.0 * trace.times().len() as f64 * f64::EPSILON * energy(v, f);
    if gained.is_nan() || (gained - booked).abs() > rounding {
        return Err(format!(
            "the units gain {gained} J, and the ledger has {booked} J; rounding explains {rounding:e} J"
        ));
    }
    Ok(())
}
