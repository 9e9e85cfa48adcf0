//! Corrections of the bonds: proposed at a communication point, limited together, added to the
//! courses of the inputs. The operation `correct`; it gives units nothing.

use crate::audit::is_stale;
use crate::curve::Curve;
use crate::exchange::derivative;
use crate::fault::Fault;
use crate::state::{Bonds, Corrector, Courses, SystemState};
use crate::step::Step;

/// Begins the corrections, once it is known how the outputs of their bonds are exchanged.
pub(super) fn begin(state: &mut SystemState) {
    let mut correctors = std::mem::take(&mut state.bonds.correctors);
    for corrector in &mut correctors {
        let bond = &state.graph.bonds[corrector.bond];
        corrector.begin(&state.graph, is_stale(state, bond));
    }
    state.bonds.correctors = correctors;
}

/// Marks the inputs that corrections may change.
pub(super) fn mark_inputs(bonds: &Bonds, courses: &mut Courses) {
    for corrector in &bonds.correctors {
        let degree = corrector.facts.degree;
        for axis in &corrector.axes {
            for input in [axis.effort_input, axis.flow_input] {
                let input = &mut courses.inputs[input];
                input.is_corrected = true;
                input.degree = input.degree.max(degree);
            }
        }
    }
}

/// Asks the corrections of the due bonds for their additions over the coming step.
pub(super) fn correct(state: &mut SystemState, step: &Step) -> Result<(), Fault> {
    measure_jacobians(state, step)?;
    let SystemState {
        courses,
        signals,
        bonds,
        counters,
        ..
    } = state;
    let is_due = |corrector: &&mut Corrector| step.index.is_multiple_of(corrector.every);
    // Before the corrections of the last step are taken back.
    for corrector in bonds.correctors.iter_mut().filter(is_due) {
        corrector.move_to(step);
        corrector.read_values(&signals.reals, &courses.values, &courses.inputs);
        corrector.read_errors(&signals.stale_errors);
    }
    for corrector in bonds.correctors.iter_mut().filter(is_due) {
        for axis in &corrector.axes {
            for input in [axis.effort_input, axis.flow_input] {
                courses.inputs[input].correction = Curve::default();
            }
        }
    }
    for corrector in bonds.correctors.iter_mut().filter(is_due) {
        corrector.propose();
    }
    limit_groups(&mut bonds.correctors);
    let mut is_corrected = false;
    for corrector in bonds.correctors.iter_mut().filter(is_due) {
        is_corrected |= corrector.apply(&mut courses.inputs);
    }
    counters.corrected_steps += u64::from(is_corrected);
    Ok(())
}

/// Scales the proposals of each group of bonds down to its limit (Rodríguez 2022 eq. 17, on the
/// sum of the forces that act on one receiver).
fn limit_groups(correctors: &mut [Corrector]) {
    for first in 0..correctors.len() {
        if correctors[first].group != first {
            continue;
        }
        let Some(limit) = correctors[first].correction.limit() else {
            continue;
        };
        let group = || correctors.iter().filter(|known| known.group == first);
        let mut scale = 1.0_f64;
        for flows in [false, true] {
            let (mut asked, mut signal) = (0.0, 0.0);
            for axis in 0..correctors[first].axes.len() {
                asked += group()
                    .map(|c| c.increment(axis, flows))
                    .sum::<f64>()
                    .powi(2);
                signal += group().map(|c| c.signal(axis, flows)).sum::<f64>().powi(2);
            }
            let (asked, signal) = (asked.sqrt(), signal.sqrt());
            let allowed = (limit.relative * signal).min(limit.absolute);
            // A limit of infinity times a signal of 0 is not a number, and not a limit.
            if asked > allowed {
                scale = scale.min(allowed / asked);
            }
        }
        let group = correctors.iter_mut().filter(|known| known.group == first);
        group.for_each(|corrector| corrector.scale = scale);
    }
}

/// Measures the interface Jacobians of the due bonds whose corrections need them. Only stale
/// feed-through counts: outputs that were exchanged fresh or compensated follow already.
fn measure_jacobians(state: &mut SystemState, step: &Step) -> Result<(), Fault> {
    let mut correctors = std::mem::take(&mut state.bonds.correctors);
    let is_due = |corrector: &&mut Corrector| {
        corrector.facts.needs_jacobian && step.index.is_multiple_of(corrector.every)
    };
    let mut due = correctors.iter_mut().filter(is_due);
    let result = due.try_for_each(|corrector| measure_jacobian(state, corrector, step));
    state.bonds.correctors = correctors;
    result
}

fn measure_jacobian(
    state: &mut SystemState,
    corrector: &mut Corrector,
    step: &Step,
) -> Result<(), Fault> {
    let Corrector { axes, point, .. } = corrector;
    for (row, to) in axes.iter().enumerate() {
        for (column, from) in axes.iter().enumerate() {
            let place = row * axes.len() + column;
            // The value that an effort input receives follows the flow input that its source has.
            let factor = state.courses.inputs[to.effort_input].factor;
            let gain = derivative::of_stale(state, to.effort_output, from.flow_input, step)?;
            point.effort_by_flow[place] = factor * gain;
            let factor = state.courses.inputs[to.flow_input].factor;
            let gain = derivative::of_stale(state, to.flow_output, from.effort_input, step)?;
            point.flow_by_effort[place] = factor * gain;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::{ClosureUnit, Run, RunOptions, System};

    const H: f64 = 0.5;

    /// Two components give the efforts e1 and e2, which both work on the flow of the third. Efforts
    /// grow by 3 and by −1 a macro-step from 4 and 20 on, and the flow by 2 from 1 on.
    fn two_bonds(limit: (&str, f64), is_shared: bool) -> Run {
        let mut system = System::new(H);
        system.stop_time(4.0 * H).extrapolation("hold");
        let ramp = |name: &'static str, start: f64, rise: f64| {
            ClosureUnit::new(&[("f", 0.0)], &[(name, start)], move |call| {
                call.outputs[0] = start + rise * (call.time + call.step) / H;
            })
        };
        system.add("one", ramp("e", 4.0, 3.0));
        system.add("two", ramp("e", 20.0, -1.0));
        let flows = [("f", 1.0), ("g", 1.0)];
        let motion = ClosureUnit::new(&[("e1", 0.0), ("e2", 0.0)], &flows, |call| {
            call.outputs.fill(1.0 + 2.0 * (call.time + call.step) / H);
        });
        system.add("motion", motion);
        let second = if is_shared { "motion.f" } else { "motion.g" };
        let parameters = [("mu", 0.5), limit];
        let _ = system
            .bond("first", ("one.e", "motion.e1"), ("motion.f", "one.f"))
            .correction(("residual-power", &parameters[..]));
        let _ = system
            .bond("second", ("two.e", "motion.e2"), (second, "two.f"))
            .correction(("residual-power", &parameters[..]));
        system.start(&RunOptions::default()).unwrap()
    }

    /// Sum of the corrections of the efforts in the second step.
    fn added(limit: (&str, f64), is_shared: bool) -> [f64; 2] {
        let mut run = two_bonds(limit, is_shared);
        run.step().unwrap();
        run.step().unwrap();
        let mut read = |input: &str| run.read_real(input).unwrap();
        [read("motion.e1") - 7.0, read("motion.e2") - 19.0]
    }

    /// −μ·δP/f with the residual powers 4·3 − 7·1 and 20·3 − 19·1 of the first step and the flow of 3.
    const WANTED: [f64; 2] = [-0.5 * 5.0 / 3.0, -0.5 * 41.0 / 3.0];

    fn are_close(found: [f64; 2], expected: [f64; 2]) -> bool {
        (found[0] - expected[0]).abs() < 1e-9 && (found[1] - expected[1]).abs() < 1e-9
    }

    /// Nothing is known before the first step.
    #[test]
    fn points_with_a_correction_are_counted() {
        let mut run = two_bonds(("limit", 100.0), false);
        for expected in [0, 1, 2] {
            run.step().unwrap();
            assert_eq!(run.report().counters.corrected_steps, expected);
        }
    }

    #[test]
    fn each_bond_has_a_limit_of_its_own() {
        let wanted = added(("limit", 100.0), false);
        assert!(are_close(wanted, WANTED), "{wanted:?}");
        // A hundredth of the efforts 7 and 19, or 0.5: less than is asked for.
        let relative = added(("limit", 0.01), false);
        assert!(are_close(relative, [-0.07, -0.19]), "{relative:?}");
        let absolute = added(("limit_absolute", 0.5), false);
        assert!(are_close(absolute, [-0.5, -0.5]), "{absolute:?}");
        // Enough for the first bond, too little for the second.
        let mixed = added(("limit_absolute", 1.0), false);
        assert!(are_close(mixed, [WANTED[0], -1.0]), "{mixed:?}");
    }

    /// Rodríguez 2022 eq. 17, on the sum of the forces that act on one receiver by one flow.
    #[test]
    fn bonds_with_the_same_flow_are_limited_together() {
        let wanted = added(("limit", 100.0), true);
        assert!(are_close(wanted, WANTED), "{wanted:?}");
        let sum = WANTED[0] + WANTED[1];
        for (limit, allowed) in [(("limit", 0.01), 0.26), (("limit_absolute", 0.5), 0.5)] {
            let found = added(limit, true);
            let scale = -allowed / sum;
            assert!(are_close(found, WANTED.map(|w| w * scale)), "{found:?}");
        }
    }

    /// The limit holds for the length of the vector of all axes.
    #[test]
    fn the_axes_of_a_bond_keep_their_direction() {
        let added = |limit: f64| {
            let mut system = System::new(H);
            system.stop_time(4.0 * H).extrapolation("hold");
            let end = |call: &crate::unit::Call<'_>| (call.time + call.step) / H;
            let efforts = [("e1", 4.0), ("e2", 20.0)];
            let one = ClosureUnit::new(&[("f1", 0.0), ("f2", 0.0)], &efforts, move |call| {
                let n = end(&call);
                call.outputs.copy_from_slice(&[4.0 + 3.0 * n, 20.0 - n]);
            });
            let flows = [("f1", 1.0), ("f2", -1.0)];
            let two = ClosureUnit::new(&[("e1", 0.0), ("e2", 0.0)], &flows, move |call| {
                let n = end(&call);
                call.outputs
                    .copy_from_slice(&[1.0 + 2.0 * n, -1.0 + 3.0 * n]);
            });
            system.add("one", one);
            system.add("two", two);
            let parameters = [("mu", 0.5), ("limit_absolute", limit), ("limit", 100.0)];
            let _ = system
                .bond("bond", ("one.e1", "two.e1"), ("two.f1", "one.f1"))
                .axis(("one.e2", "two.e2"), ("two.f2", "one.f2"))
                .correction(("residual-power", &parameters[..]));
            let mut run = system.start(&RunOptions::default()).unwrap();
            run.step().unwrap();
            run.step().unwrap();
            let mut read = |input: &str| run.read_real(input).unwrap();
            [read("two.e1") - 7.0, read("two.e2") - 19.0]
        };
        // δP = (4·3 − 7·1) + (20·2 + 19·1), along the flow (3, 2): −μ·δP·v/|v|².
        let wanted = [3.0, 2.0].map(|v| -0.5 * 64.0 * v / 13.0);
        let found = added(1e3);
        assert!(are_close(found, wanted), "{found:?}");
        let found = added(2.0);
        let length = wanted[0].hypot(wanted[1]);
        assert!(
            are_close(found, wanted.map(|w| 2.0 * w / length)),
            "{found:?}"
        );
    }
}
