//! Derivatives of outputs that their units declare. The operation `read slopes`; it predicts nothing.

use crate::fault::Fault;
use crate::state::{SlopeReader, SlopeSource, SystemState};
use crate::step::Step;
use crate::unit::VariableType;

/// Finds for each input that needs it how its source gives its derivative.
pub(super) fn find_slopes(state: &mut SystemState) {
    let graph = &state.graph;
    for (input, course) in state.courses.inputs.iter().enumerate() {
        if !course.needs_slope {
            continue;
        }
        let source = &graph.outputs[course.source];
        let description = &graph.components[source.component].description;
        let named = graph.inputs[input].derivative;
        let named = named.map(|variable| &description.variables[variable]);
        let mut variables = description.variables.iter();
        let declared = || {
            variables.find(|variable| {
                variable.derivative_of == Some(source.variable)
                    && variable.kind == VariableType::Real
            })
        };
        let from = match named.or_else(declared) {
            Some(variable) => SlopeSource::Variable(variable.handle),
            None if description.capabilities.output_derivatives > 0 => {
                SlopeSource::Unit(description.variables[source.variable].handle)
            }
            None => continue,
        };
        state.courses.slope_readers.push(SlopeReader {
            input,
            component: source.component,
            from,
        });
    }
}

/// Reads the derivatives of the outputs that due components have just published.
pub(super) fn read_slopes(state: &mut SystemState, step: &Step, next: u64) -> Result<(), Fault> {
    let SystemState {
        graph,
        units,
        courses,
        counters,
        ..
    } = state;
    for reader in &courses.slope_readers {
        let member = &mut units.members[reader.component];
        let is_unit = matches!(reader.from, SlopeSource::Unit(_));
        if !member.is_due(next) || is_unit && member.denied.of_outputs {
            continue;
        }
        let value = std::slice::from_mut(&mut courses.slopes[reader.input]);
        let read = match reader.from {
            SlopeSource::Variable(handle) => {
                counters.get_calls += 1;
                member.slot.get_reals(&[handle], value)
            }
            SlopeSource::Unit(handle) => {
                let unit = member.slot.unit();
                unit.output_derivatives(&[handle], &[1], value)
            }
        };
        if let Err(cause) = read {
            if is_unit && member.denied.takes(|denied| &mut denied.of_outputs, &cause) {
                value[0] = f64::NAN;
                continue;
            }
            return Err(graph.fault(reader.component, step, cause));
        }
    }
    Ok(())
}
