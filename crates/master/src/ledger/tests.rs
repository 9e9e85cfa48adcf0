//! The ledger of a bond against sums that are written out by hand.

use super::*;
use crate::{ClosureUnit, Run, RunOptions, System, Word};

const H: f64 = 0.5;
/// Effort of end a and flow of end b at the macro-steps, whatever the inputs are.
const EFFORT: [f64; 4] = [2.0, 3.0, 4.0, 5.0];
const FLOW: [f64; 4] = [5.0, 2.0, -6.0, -4.0];

/// A unit whose output follows `values`, published at each macro-step.
fn source(
    input: &str,
    output: &str,
    values: [f64; 4],
) -> ClosureUnit<impl FnMut(crate::unit::Call<'_>) + Send + use<>> {
    let at = move |time: f64| values[((time / H).floor() as usize).min(3)];
    ClosureUnit::new(&[(input, 0.0)], &[(output, values[0])], move |call| {
        // The middle of a tick keeps the rounding of the time out.
        call.outputs[0] = at(call.time + call.step + 1e-9);
    })
}

/// The bond between two such units after three macro-steps. `flow_step` is the communication
/// step of end b.
fn ledger(flow_step: f64, of_bond: impl FnOnce(crate::system::BondSettings<'_>)) -> Run {
    let mut system = System::new(H);
    system.start_time(0.0).stop_time(4.0 * H);
    system.method("jacobi").extrapolation("hold");
    system.add("a", source("f", "e", EFFORT));
    system
        .add("b", source("e", "f", FLOW))
        .step_size(flow_step)
        .extrapolation("hold");
    of_bond(system.bond("bond", ("a.e", "b.e"), ("b.f", "a.f")));
    system.start(&RunOptions::default()).unwrap()
}

fn after(mut run: Run, steps: usize) -> BondEnergy {
    for _ in 0..steps {
        run.step().unwrap();
    }
    // As for a step control.
    let (mut bond, step) = (run.ledger().bonds[0].clone(), crate::step::Step::default());
    let mut room = crate::step_row::RowRoom::new(false);
    bond.find_coupling_error(&room.fill(&run.state, &step, true));
    bond.energy
}

/// Held inputs are the outputs at the start of the step: e(k+1)·f(k) is given and e(k)·f(k+1)
/// received (Rodríguez 2022 eqs 5–9), W: 15, 8, −30 and 4, −18, −16.
fn expected() -> BondEnergy {
    BondEnergy {
        given_power: -30.0,
        received_power: -16.0,
        residual_power: 14.0,
        applied_residual_power: 14.0,
        transferred_energy: H * (15.0 + 8.0 - 30.0),
        transferred_energy_abs: H * (15.0 + 8.0 + 30.0),
        residual_energy: H * (-11.0 - 26.0 + 14.0),
        applied_residual_energy: H * (-11.0 - 26.0 + 14.0),
        // New inputs equal the outputs, so each step begins without residual power.
        residual_energy_integrated: 0.5 * H * (-11.0 - 26.0 + 14.0),
        peak_residual_energy_integrated: 0.5 * H * (-11.0 - 26.0),
        peak_residual_energy_integrated_time: 2.0 * H,
        // Power of the outputs at the start, 10, 6 and −24 W, and that given at the end.
        transferred_energy_integrated: 0.5 * H * (25.0 + 14.0 - 54.0),
        residual_energy_abs: H * (11.0 + 26.0 + 14.0),
        max_residual_power: 26.0,
        max_residual_power_time: 2.0 * H,
        // |5 − 4|·|−4| + |−4 + 6|·|5| and 5·(−4).
        coupling_error_power: 14.0,
        predicted_residual_power: 14.0,
        output_power: -20.0,
        ..BondEnergy::default()
    }
}

#[test]
fn held_inputs_give_the_power_of_crossed_products() {
    let run = ledger(H, |_| ());
    assert_eq!(run.ledger().bonds().len(), 1);
    assert!(run.ledger().bond(1).is_none());
    assert_eq!(after(run, 3), expected());
}

/// Effort inputs 3 and 4 N, and changes of the flow by −3, −8 and 2 m/s; the effort moves in a line. The changes of the changes add
/// with their signs, and as independent ones at two standard deviations.
#[test]
fn the_integration_error_is_that_of_a_parabola_over_two_steps() {
    let mut run = ledger(H, |_| ());
    for _ in 0..3 {
        run.step().unwrap();
    }
    let bent: [f64; 2] = [3.0 * (-8.0 + 3.0), 4.0 * (2.0 + 8.0)];
    let wanted = (bent[0] + bent[1] + 2.0 * bent[0].hypot(bent[1])) * H / 12.0;
    let error = run.ledger().integration_error(0).unwrap();
    assert!((error - wanted).abs() < 1e-12, "{error}");
    assert_eq!(run.ledger().integration_error(1), None);
    // 7.5, 11.5 and −3.5 J have gone over the bond.
    assert_eq!(run.ledger().transferred_range(0), 15.0);
    assert_eq!(run.ledger().transferred_range(1), 0.0);
    let expected = expected();
    let peak = (
        expected.peak_residual_energy_integrated,
        expected.peak_residual_energy_integrated_time,
    );
    assert_eq!(run.ledger().peak_residual_energy_integrated(), peak);
}

#[test]
fn parts_of_the_integration_error_add_up() {
    let mut error = IntegrationError::default();
    for (curvature, change, unknown) in [(3.0, 0.5, 2.0), (-7.0, 0.25, -1.0)] {
        let work = Work {
            curvature,
            change,
            unknown,
            ..Work::default()
        };
        error.add(&work, 2.0);
    }
    let squares = 6.0_f64.powi(2) + 14.0_f64.powi(2);
    assert_eq!(error.total(), 8.0 + 2.0 * (squares.sqrt() + 1.5) + 2.0);
}

/// The peak of two bonds with these efforts and flows, after three macro-steps.
fn peak_of_two(effort: [f64; 4], flow: [f64; 4]) -> (f64, f64) {
    let mut system = System::new(H);
    system.stop_time(4.0 * H);
    system.method("jacobi").extrapolation("hold");
    for (a, b, bond) in [("a", "b", "one"), ("c", "d", "two")] {
        system.add(a, source("f", "e", effort));
        system.add(b, source("e", "f", flow));
        let (a_e, b_e) = (format!("{a}.e"), format!("{b}.e"));
        let (b_f, a_f) = (format!("{b}.f"), format!("{a}.f"));
        let _ = system.bond(bond, (&a_e, &b_e), (&b_f, &a_f));
    }
    let mut run = system.start(&RunOptions::default()).unwrap();
    for _ in 0..3 {
        run.step().unwrap();
    }
    run.ledger().peak_residual_energy_integrated()
}

#[test]
fn the_peak_of_two_bonds_is_that_of_their_sum() {
    let expected = expected();
    let peak = 2.0 * expected.peak_residual_energy_integrated;
    let time = expected.peak_residual_energy_integrated_time;
    assert_eq!(peak_of_two(EFFORT, FLOW), (peak, time));
    // At rest after the first macro-step, in which 15 W were given and 4 W received: the first of equal peaks.
    let found = peak_of_two([2.0, 3.0, 3.0, 3.0], [5.0, 2.0, 2.0, 2.0]);
    assert_eq!(found, (2.0 * 0.5 * H * -11.0, H));
}

#[test]
fn the_first_of_equal_peaks_is_kept() {
    let mut energy = BondEnergy {
        residual_power: -2.0,
        residual_energy_integrated: -3.0,
        ..BondEnergy::default()
    };
    energy.keep_peaks(|| 1.0);
    energy.keep_peaks(|| 2.0);
    assert_eq!(energy.max_residual_power_time, 1.0);
    assert_eq!(energy.peak_residual_energy_integrated_time, 1.0);
}

/// A damper, flow = D·effort, that is compensated: it gave D·e(k) under its own input, and publishes D·e(k+1).
#[test]
fn a_compensated_flow_counts_as_the_unit_had_it() {
    const D: f64 = 4.0;
    let mut system = System::new(H);
    system.stop_time(4.0 * H);
    system.method("jacobi").extrapolation("hold");
    system.add("a", source("f", "e", EFFORT));
    let damper = crate::LinearUnit::new(&[0.0], &["e"], &["f"], [&[0.0], &[0.0], &[0.0], &[D]]);
    system.add("b", damper).exchange("compensated");
    let _ = system.bond("bond", ("a.e", "b.e"), ("b.f", "a.f"));
    let found = after(system.start(&RunOptions::default()).unwrap(), 3);
    let pairs = EFFORT.windows(2);
    let own: f64 = pairs.map(|pair| D * pair[0] * (pair[0] - pair[1])).sum();
    assert!((found.residual_energy_integrated - 0.5 * H * own).abs() < 1e-6);
    assert!(found.residual_energy.abs() < 1e-6);
}

/// The same of an effort, effort = D·flow, which end a gives.
#[test]
fn a_compensated_effort_counts_as_the_unit_had_it() {
    const D: f64 = 4.0;
    let mut system = System::new(H);
    system.stop_time(4.0 * H);
    system.method("jacobi").extrapolation("hold");
    let damper = crate::LinearUnit::new(&[0.0], &["f"], &["e"], [&[0.0], &[0.0], &[0.0], &[D]]);
    system.add("a", damper).exchange("compensated");
    system.add("b", source("e", "f", FLOW));
    let _ = system.bond("bond", ("a.e", "b.e"), ("b.f", "a.f"));
    let found = after(system.start(&RunOptions::default()).unwrap(), 3);
    let pairs = FLOW.windows(2);
    let own: f64 = pairs.map(|pair| D * pair[0] * (pair[1] - pair[0])).sum();
    assert!((found.residual_energy_integrated - 0.5 * H * own).abs() < 1e-6);
    assert!(found.residual_energy.abs() < 1e-6);
}

#[test]
fn a_side_with_shorter_steps_gives_the_same_ledger() {
    let found = after(ledger(0.5 * H, |_| ()), 3);
    assert_eq!(found, expected());
}

#[test]
fn sense_and_gain_scale_power_and_energy() {
    for flow_step in [H, 0.5 * H] {
        let found = after(
            ledger(flow_step, |bond| {
                let _ = bond.sense(-1.0).gain(0.25);
            }),
            3,
        );
        let expected = expected();
        assert_eq!(found.given_power, -0.25 * expected.given_power);
        assert_eq!(found.received_power, -0.25 * expected.received_power);
        assert_eq!(
            found.transferred_energy,
            -0.25 * expected.transferred_energy
        );
        assert_eq!(found.residual_energy, -0.25 * expected.residual_energy);
        assert_eq!(found.residual_energy_abs, 0.25 * H * 51.0);
        assert_eq!(found.max_residual_power, 0.25 * 26.0);
        assert_eq!(found.coupling_error_power, 0.25 * 14.0);
        assert_eq!(found.output_power, 0.25 * 20.0);
    }
}

#[test]
fn a_side_with_longer_steps_is_balanced_at_its_own_points() {
    let run = ledger(2.0 * H, |_| ());
    assert_eq!(run.ledger().macro_steps().collect::<Vec<_>>(), [2]);
    // End b publishes −6 at 2·H, having used the effort 2 of the start; end a gives 4 there
    // and has used the flow 5 all along.
    let found = after(run, 3);
    let length = 2.0 * H;
    assert_eq!((found.given_power, found.received_power), (20.0, -12.0));
    assert_eq!(found.transferred_energy, 20.0 * length);
    assert_eq!(found.residual_energy, -32.0 * length);
    assert_eq!(found.residual_energy_abs, 32.0 * length);
    assert_eq!(found.residual_energy_integrated, -16.0 * length);
    assert_eq!(found.applied_residual_energy, -32.0 * length);
    assert_eq!(found.max_residual_power_time, length);
}

#[test]
fn the_energies_of_two_axes_add_up() {
    let mut system = System::new(H);
    system.stop_time(4.0 * H);
    system.method("jacobi").extrapolation("hold");
    let at = |values: [f64; 4], time: f64| values[((time + 1e-9) / H) as usize];
    let starts = [("e1", EFFORT[0]), ("e2", FLOW[0])];
    system.add(
        "a",
        ClosureUnit::new(&[("f1", 0.0), ("f2", 0.0)], &starts, move |call| {
            let end = call.time + call.step;
            call.outputs
                .copy_from_slice(&[at(EFFORT, end), at(FLOW, end)]);
        }),
    );
    let starts = [("f1", FLOW[0]), ("f2", EFFORT[0])];
    system.add(
        "b",
        ClosureUnit::new(&[("e1", 0.0), ("e2", 0.0)], &starts, move |call| {
            let end = call.time + call.step;
            call.outputs
                .copy_from_slice(&[at(FLOW, end), at(EFFORT, end)]);
        }),
    );
    let _ = system
        .bond("bond", ("a.e1", "b.e1"), ("b.f1", "a.f1"))
        .axis(("a.e2", "b.e2"), ("b.f2", "a.f2"));
    let found = after(system.start(&RunOptions::default()).unwrap(), 3);
    // With effort and flow exchanged, the second axis gives what the first one receives.
    assert_eq!(found.given_power, -30.0 - 16.0);
    assert_eq!(found.received_power, -30.0 - 16.0);
    assert_eq!(found.residual_energy, 0.0);
    assert_eq!(found.residual_energy_abs, 0.0);
    assert_eq!(
        found.transferred_energy,
        H * (15.0 + 8.0 - 30.0 + 4.0 - 18.0 - 16.0)
    );
}

/// A damper, effort = D·flow, that is exchanged stale, on the flows of the list: in the step from
/// k to k+1, the effort input is D·f(k−1), the flow input f(k); the effort published at k+1 is
/// D·f(k). Under the new input, the effort at the start of the step is D·f(k).
#[test]
fn stale_outputs_count_as_they_are_under_the_new_inputs() {
    const D: f64 = 4.0;
    let damper = |input, output| {
        crate::LinearUnit::new(&[0.0], &[input], &[output], [&[0.0], &[0.0], &[0.0], &[D]])
    };
    let (mut integrated, mut applied_energy) = (0.0, 0.0);
    let mut before_last = FLOW[0];
    for pair in FLOW.windows(2) {
        let at_start = D * (before_last - pair[0]) * pair[0];
        let at_end = D * (before_last * pair[1] - pair[0] * pair[0]);
        integrated += 0.5 * H * (at_start + at_end);
        applied_energy += H * at_end;
        before_last = pair[0];
    }
    let mut system = System::new(H);
    system.stop_time(4.0 * H);
    system.method("jacobi").extrapolation("hold");
    system.add("a", damper("f", "e")).exchange("stale");
    system.add("b", source("e", "f", FLOW));
    let _ = system.bond("bond", ("a.e", "b.e"), ("b.f", "a.f"));
    let found = after(system.start(&RunOptions::default()).unwrap(), 3);
    assert!((found.residual_energy_integrated - integrated).abs() < 1e-6);
    assert!((found.residual_energy - applied_energy).abs() < 1e-6);
    // The same if the damper is at end b: the power has the opposite sign.
    let mut system = System::new(H);
    system.stop_time(4.0 * H);
    system.method("jacobi").extrapolation("hold");
    system.add("a", source("f", "e", FLOW));
    system.add("b", damper("e", "f")).exchange("stale");
    let _ = system.bond("bond", ("a.e", "b.e"), ("b.f", "a.f"));
    let found = after(system.start(&RunOptions::default()).unwrap(), 3);
    assert!((found.residual_energy_integrated + integrated).abs() < 1e-6);
    assert!((found.residual_energy + applied_energy).abs() < 1e-6);
}

/// The additions of a correction are booked apart: the residual belongs to the inputs without them.
/// Held inputs of sources that ignore them: the residual power is as `expected`, and the force
/// −μ·δP/f(k) (Rodríguez 2022 eq. 19) works on f(k+1).
#[test]
fn corrections_are_booked_apart() {
    let residual = [-11.0, -26.0, 14.0];
    for (corrects, signal, sign) in [("effort", FLOW, 1.0), ("flow", EFFORT, -1.0)] {
        let mut system = System::new(H);
        system.stop_time(4.0 * H);
        system.method("jacobi").extrapolation("hold");
        system.add("a", source("f", "e", EFFORT));
        system.add("b", source("e", "f", FLOW));
        let _ = system
            .bond("bond", ("a.e", "b.e"), ("b.f", "a.f"))
            .correction(
                Word::new("residual-power")
                    .with("mu", 0.25)
                    .with("limit", f64::INFINITY)
                    .with("corrects", corrects),
            );
        let mut run = system.start(&RunOptions::default()).unwrap();
        let mut correction_energy = 0.0;
        for step in 0..3 {
            run.step().unwrap();
            // Nothing is known before the first step.
            let added = match step {
                0 => 0.0,
                _ => -sign * 0.25 * residual[step - 1] / signal[step],
            };
            let power = sign * added * signal[step + 1];
            correction_energy += H * power;
            let found = run.ledger().bond(0).unwrap();
            assert!((found.residual_power - residual[step]).abs() < 1e-9);
            assert!((found.correction_power - power).abs() < 1e-9, "{corrects}");
            assert!((found.applied_residual_power - residual[step] - power).abs() < 1e-9);
            assert!((found.correction_energy - correction_energy).abs() < 1e-9);
        }
        let found = run.ledger().bond(0).unwrap();
        let expected = expected();
        assert_eq!(found.residual_energy, expected.residual_energy);
        let applied = expected.residual_energy + correction_energy;
        assert!((found.applied_residual_energy - applied).abs() < 1e-9);
        assert_eq!(run.ledger().residual_energy(), expected.residual_energy);
    }
}
