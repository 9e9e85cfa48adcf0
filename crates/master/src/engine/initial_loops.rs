//! Algebraic loops at the start, when FMI 2.0 §4.2.4 lets outputs be read after inputs were set.

use nalgebra::{DMatrix, DVector};

use super::initialization::{evaluate, kept_input, read_outputs};
use crate::exchange::{CentralDifference, InitialPass, factor, solve};
use crate::fault::RunError;
use crate::state::{SystemState, call};
use crate::step::Step;

// The limits of the iterations are choices.

/// Relative change below which the values of a loop count as converged: some thousand last digits,
/// which one step of Newton's method from 1e-6 reaches.
const CONVERGED: f64 = 1e-12;
/// Relative change that is accepted if rounding keeps a loop from converging further: half of the
/// digits of a double.
const ACCEPTED: f64 = 1e-8;
/// Rounding error of a sum of products, relative to the sum of their magnitudes.
const ROUNDING: f64 = 64.0 * f64::EPSILON;
/// A loop counts as without a solution if the first step of Newton's method goes so many times as far as all its values: the
/// derivative was measured to be singular but for rounding.
const FARTHEST: f64 = 1e6;
const FIXED_POINT_ITERATIONS: usize = 50;
const NEWTON_ITERATIONS: usize = 25;

/// Finds outputs that agree with the inputs that they feed: by Newton's method from the start values of the inputs, so that
/// these decide between several solutions; if it does not converge, by fixed-point iteration and Newton's method from its
/// end.
pub(super) fn solve_loop(
    state: &mut SystemState,
    passes: &[InitialPass],
    step: &Step,
) -> Result<(), RunError> {
    let unknowns: Vec<usize> = passes
        .iter()
        .flat_map(|pass| pass.outputs.iter().copied())
        .collect();
    let starts = start_values(state, passes, step)?;
    for pass in passes {
        // A first guess: the outputs as the start values of the inputs make them.
        read_outputs(state, pass.component, step)?;
    }
    let nominal: Vec<_> = unknowns
        .iter()
        .map(|output| state.graph.nominal_output(*output))
        .collect();
    let reals = |state: &SystemState| -> Vec<f64> {
        let values = unknowns.iter().map(|output| state.signals.reals[*output]);
        values.collect()
    };
    let set = |state: &mut SystemState, values: &[f64]| {
        for (output, value) in unknowns.iter().zip(values) {
            state.signals.reals[*output] = *value;
        }
    };
    let guess = reals(state);
    // As many rounds as the longest chain of outputs of a loop that is declared and not there.
    for _ in 0..=unknowns.len() {
        if round(state, passes, &unknowns, &nominal, step)? <= CONVERGED {
            return Ok(());
        }
    }
    if let Some(first) = first_newton_step(state, passes, &unknowns, &starts, step)? {
        set(state, &first);
        if newton(state, passes, &unknowns, &nominal, step)? <= ACCEPTED {
            return Ok(());
        }
    }
    set(state, &guess);
    for _ in 0..FIXED_POINT_ITERATIONS {
        if round(state, passes, &unknowns, &nominal, step)? <= CONVERGED {
            return Ok(());
        }
    }
    let change = newton(state, passes, &unknowns, &nominal, step)?;
    if change <= ACCEPTED {
        return Ok(());
    }
    let names: Vec<_> = unknowns
        .iter()
        .map(|output| state.graph.output_name(*output))
        .collect();
    Err(RunError::InitialLoop {
        members: names.join(", "),
        change,
    })
}

/// The start values of the inputs of each pass.
fn start_values(
    state: &mut SystemState,
    passes: &[InitialPass],
    step: &Step,
) -> Result<Vec<Vec<f64>>, RunError> {
    let mut values = Vec::with_capacity(passes.len());
    for pass in passes {
        let mut of_pass = Vec::with_capacity(pass.inputs.len());
        for &input in &pass.inputs {
            let variable = state.graph.inputs[input].variable;
            of_pass.push(kept_input(state, pass.component, variable, step)?);
        }
        values.push(of_pass);
    }
    Ok(values)
}

/// The outputs that one step of Newton's method finds from the start values of the inputs, which need not belong to one
/// value of the output that feeds them; `None` if there are none.
fn first_newton_step(
    state: &mut SystemState,
    passes: &[InitialPass],
    unknowns: &[usize],
    starts: &[Vec<f64>],
    step: &Step,
) -> Result<Option<Vec<f64>>, RunError> {
    let size = unknowns.len();
    let graph = std::sync::Arc::clone(&state.graph);
    let source = |input: usize| {
        let feeds = &graph.inputs[input].source;
        unknowns.iter().position(|output| output == feeds)
    };
    let mut matrix = vec![0.0; size * size];
    (0..size).for_each(|row| matrix[row * size + row] = 1.0);
    let mut terms = matrix.clone();
    let (mut change, mut outputs) = (vec![0.0; size], vec![0.0; size]);
    let mut slopes = Vec::new();
    for (row, (pass, starts)) in passes.iter().zip(starts).enumerate() {
        evaluate(state, pass, step)?;
        let node = &graph.components[pass.component];
        let is_inside = |input: usize| node.propagate_initial_inputs && source(input).is_some();
        let inner = pass
            .inputs
            .iter()
            .zip(starts)
            .filter(|(input, _)| is_inside(**input));
        let inner: Vec<_> = inner.map(|(input, start)| (*input, *start)).collect();
        let mut at_start = |input: usize, value: f64| {
            let handle = node.description.variables[graph.inputs[input].variable].handle;
            call(state, pass.component, step, |unit| {
                unit.set_reals(&[handle], &[value])
            })?;
            let handle = node.description.variables[graph.outputs[unknowns[row]].variable].handle;
            let mut found = [0.0];
            call(state, pass.component, step, |unit| {
                unit.get_reals(&[handle], &mut found)
            })?;
            Ok::<f64, RunError>(found[0])
        };
        for &(input, start) in &inner {
            outputs[row] = at_start(input, start)?;
        }
        for &(input, start) in &inner {
            let variable = &node.description.variables[graph.inputs[input].variable];
            let difference = CentralDifference::about(start, variable, 1.0);
            let [above, below] = difference.points(1.0);
            let moved = at_start(input, above)? - at_start(input, below)?;
            slopes.push((row, input, start, difference.derivative(moved, 1.0)));
            at_start(input, start)?;
        }
        if inner.is_empty() {
            outputs[row] = state.signals.reals[unknowns[row]];
        }
    }
    let mut farthest = 1.0_f64;
    for (row, input, start, slope) in slopes {
        let course = &state.courses.inputs[input];
        if let Some(column) = source(input) {
            matrix[row * size + column] -= slope * course.factor;
            terms[row * size + column] += (slope * course.factor).abs();
            change[row] += slope * (course.converted(outputs[column]) - start);
            farthest = farthest.max(start.abs()).max(outputs[column].abs());
        }
    }
    let mut order = vec![0; size];
    if !factor(&mut matrix, &mut terms, &mut order) {
        return Ok(None);
    }
    let mut solution = vec![0.0; size];
    solve(&matrix, &order, &change, &mut solution);
    for (solution, output) in solution.iter_mut().zip(outputs) {
        *solution += output;
    }
    let is_near = solution
        .iter()
        .all(|value| value.abs() <= FARTHEST * farthest);
    Ok(is_near.then_some(solution))
}

/// One round of the fixed-point iteration; returns the largest change, each relative to its own
/// signal.
fn round(
    state: &mut SystemState,
    passes: &[InitialPass],
    unknowns: &[usize],
    nominal: &[Option<f64>],
    step: &Step,
) -> Result<f64, RunError> {
    let before: Vec<f64> = unknowns
        .iter()
        .map(|output| state.signals.reals[*output])
        .collect();
    for pass in passes {
        evaluate(state, pass, step)?;
    }
    let after = unknowns.iter().map(|output| state.signals.reals[*output]);
    let change = |((before, after), nominal): ((&f64, f64), &Option<f64>)| {
        relative(after - before, before.abs().max(after.abs()), *nominal)
    };
    let changes = before.iter().zip(after).zip(nominal).map(change);
    Ok(changes.fold(0.0, f64::max))
}

/// The loop's outputs as functions of the loop's outputs: y → g(y), all set before any is read.
fn image(
    state: &mut SystemState,
    passes: &[InitialPass],
    unknowns: &[usize],
    at: &DVector<f64>,
    step: &Step,
) -> Result<DVector<f64>, RunError> {
    let mut image = DVector::zeros(unknowns.len());
    let mut position = 0;
    for pass in passes {
        for (output, value) in unknowns.iter().zip(at.iter()) {
            state.signals.reals[*output] = *value;
        }
        evaluate(state, pass, step)?;
        for &output in &pass.outputs {
            image[position] = state.signals.reals[output];
            position += 1;
        }
    }
    Ok(image)
}

/// Newton's method from the present outputs on; returns what is left as [`remaining_change`].
fn newton(
    state: &mut SystemState,
    passes: &[InitialPass],
    unknowns: &[usize],
    nominal: &[Option<f64>],
    step: &Step,
) -> Result<f64, RunError> {
    let size = unknowns.len();
    let finite = |value: f64| if value.is_finite() { value } else { 0.0 };
    let mut at = DVector::from_iterator(
        size,
        unknowns
            .iter()
            .map(|output| finite(state.signals.reals[*output])),
    );
    if at.amax() > 1e12 {
        at.fill(0.0);
    }
    let mut jacobian = DMatrix::zeros(size, size);
    for _ in 0..NEWTON_ITERATIONS {
        let residual = image(state, passes, unknowns, &at, step)? - &at;
        for column in 0..size {
            let shift = 1e-6 * at[column].abs().max(nominal[column].unwrap_or(1.0));
            let mut moved = at.clone();
            moved[column] += shift;
            let difference =
                (image(state, passes, unknowns, &moved, step)? - &moved - &residual) / shift;
            jacobian.set_column(column, &difference);
        }
        let Some(correction) = jacobian.clone().lu().solve(&residual) else {
            break;
        };
        at -= &correction;
        let change = correction.iter().zip(at.iter()).zip(nominal);
        let change = change.map(|((change, at), nominal)| relative(*change, at.abs(), *nominal));
        if change.fold(0.0, f64::max) <= CONVERGED {
            break;
        }
    }
    let solution = image(state, passes, unknowns, &at, step)?;
    for (output, value) in unknowns.iter().zip(solution.iter()) {
        state.signals.reals[*output] = *value;
    }
    Ok(remaining_change(jacobian, &(solution - &at), &at, nominal))
}

/// A change relative to the magnitude of its signal, which is at least the nominal value.
fn relative(change: f64, magnitude: f64, nominal: Option<f64>) -> f64 {
    if change == 0.0 {
        return 0.0;
    }
    let relative = change.abs() / magnitude.max(nominal.unwrap_or(0.0)).max(1e-300);
    if relative.is_nan() {
        f64::INFINITY
    } else {
        relative
    }
}

/// The largest change that another step of Newton's method would make, each relative to its own
/// signal; 0 if it is within the rounding error of the residual.
///
/// `residual` is g(y) − y at y = `at`, `jacobian` its derivative by y. If the latter is singular,
/// nothing but a residual that counts as converged is a solution.
fn remaining_change(
    jacobian: DMatrix<f64>,
    residual: &DVector<f64>,
    at: &DVector<f64>,
    nominal: &[Option<f64>],
) -> f64 {
    // Magnitudes of the terms of each residual: y, and all terms of g.
    let terms = (&jacobian + DMatrix::identity(at.len(), at.len())).abs() * at.abs() + at.abs();
    let Some(inverse) = jacobian.try_inverse() else {
        let mut pairs = residual.iter().zip(terms.iter());
        let is_solved = pairs.all(|(residual, terms)| residual.abs() <= CONVERGED * terms);
        return if is_solved { 0.0 } else { f64::INFINITY };
    };
    let rounding = inverse.abs() * terms * ROUNDING;
    let change = inverse * residual;
    let judge = |row: usize| {
        if rounding[row].is_finite() && change[row].abs() <= rounding[row] {
            0.0
        } else {
            relative(change[row], at[row].abs(), nominal[row])
        }
    };
    (0..at.len()).map(judge).fold(0.0, f64::max)
}
