//! Tolerances and energies of single bonds for step control `ecco`: Sadjina & Pedersen (2019), eq. 14.

use gyrator::{LinearUnit, RunOptions, System};
use gyrator_system::{Choice, Value};
use gyrator_testkit::Trace;

/// ẏ = gain·u.
fn integrator(gain: f64, start: f64) -> LinearUnit {
    LinearUnit::new(&[start], &["u"], &["y"], [&[0.0], &[gain], &[1.0], &[0.0]])
}

/// Two masses on springs, one ten times as fast as the other. Limits of the step control, and of each bond.
fn times(limits: (f64, f64), of_bonds: [Option<(f64, f64)>; 2]) -> Vec<f64> {
    let mut system = System::new(1e-3);
    system.stop_time(2.0);
    let (tolerance, scale) = limits;
    let control = Choice::new("ecco")
        .with("tolerance", Value::Real(tolerance))
        .with("energy_scale", Value::Real(scale));
    system.step_control(control);
    for (name, stiffness, limits) in [("slow", 4.0, of_bonds[0]), ("fast", 400.0, of_bonds[1])] {
        let (mass, spring) = (format!("{name}_mass"), format!("{name}_spring"));
        system.add(&mass, integrator(-1.0, 1.0));
        system.add(&spring, integrator(stiffness, 0.0));
        let port = |component: &str, variable: &str| format!("{component}.{variable}");
        let effort = (port(&spring, "y"), port(&mass, "u"));
        let flow = (port(&mass, "y"), port(&spring, "u"));
        let (effort, flow) = ((&*effort.0, &*effort.1), (&*flow.0, &*flow.1));
        let bond = system.bond(name, effort, flow);
        if let Some((tolerance, scale)) = limits {
            bond.energy_limits(tolerance, scale);
        }
    }
    let mut run = system.start(&RunOptions::default()).unwrap();
    let trace = Trace::of(&mut run).unwrap();
    run.run().unwrap();
    trace.times()
}

#[test]
fn limits_of_bonds_take_the_place_of_those_of_the_step_control() {
    let limits = (1e-5, 0.5);
    let both = times(limits, [None, None]);
    assert_eq!(times((1.0, 1e3), [Some(limits), Some(limits)]), both);
    assert_eq!(times(limits, [Some(limits), None]), both);
    // A bond whose energy does not matter leaves the choice to the other.
    let loose = Some((1e6, 1e6));
    let (without_slow, without_fast) = (
        times(limits, [loose, None]).len(),
        times(limits, [None, loose]).len(),
    );
    assert!(
        without_fast < without_slow && without_slow <= both.len(),
        "{without_fast} {without_slow} {}",
        both.len()
    );
    // r·(E₀ + |P·H|): if the transferred energy is small against E₀, half of r is half of E₀.
    let large = (1e-8, 1e3);
    let halved = (0.5e-8, 1e3);
    let half_energy = (1e-8, 0.5e3);
    let [halved, half_energy] =
        [halved, half_energy].map(|of| times(large, [Some(of), Some(of)]).len());
    assert!(halved.abs_diff(half_energy) <= 2, "{halved} {half_energy}");
}

/// Number of steps and error of y = cos 20·t of a mass on a spring, whose halves are exact for held inputs.
fn of_oscillator(extrapolation: &str, indicator: &str) -> (usize, f64) {
    let mut system = System::new(1e-3);
    system.stop_time(2.0).extrapolation(extrapolation);
    let control = Choice::new("ecco")
        .with("tolerance", Value::Real(1e-4))
        .with("indicator", Value::String(indicator.to_owned()));
    system.step_control(control);
    system.add("mass", integrator(-1.0, 1.0));
    system.add("spring", integrator(400.0, 0.0));
    system.bond("bond", ("spring.y", "mass.u"), ("mass.y", "spring.u"));
    let mut run = system.start(&RunOptions::default()).unwrap();
    let (mut steps, mut error) = (0, 0.0_f64);
    while !run.has_ended() {
        run.step().unwrap();
        let view = run.view();
        error = error.max((view.reals[0] - (20.0 * view.time).cos()).abs());
        steps += 1;
    }
    (steps, error)
}

/// A mean is off at the end of a step and passes the right energy on: it does not call for short steps.
#[test]
fn means_of_predictions_take_fewer_steps_than_held_values_and_have_less_error() {
    for indicator in ["sum-abs", "signed", "defect"] {
        let (held, held_error) = of_oscillator("hold", indicator);
        let (chosen, error) = of_oscillator("auto", indicator);
        assert!(
            chosen < held && error < held_error,
            "{indicator}: {chosen} steps, {error}; held {held}, {held_error}"
        );
    }
}
