use super::{Plant, Step};
use crate::fault::{Fault, UnitFault};
use crate::unit::{Handle, Kind};

/// Reads the derivative of an output for an input whose extrapolation wants it.
pub(super) struct SlopeReader {
    input: usize,
    component: usize,
    from: Source,
}

enum Source {
    /// A variable that is the output's derivative, as the file says or the unit declares (FMI 2.0
    /// §2.2.7).
    Variable(Handle),
    /// The unit gives derivatives of this output (FMI 2.0 §4.2.3).
    Unit(Handle),
}

impl Plant {
    /// Finds for each input that wants it how its source tells its derivative.
    pub(super) fn find_slopes(&mut self) {
        for (input, state) in self.states.iter().enumerate() {
            if !state.wants_slope() {
                continue;
            }
            let source = &self.graph.outputs[state.source];
            let description = &self.graph.components[source.component].description;
            let named = self.graph.inputs[input].derivative;
            let named = named.map(|variable| &description.variables[variable]);
            let mut variables = description.variables.iter();
            let declared = || {
                variables.find(|variable| {
                    variable.derivative_of == Some(source.variable) && variable.kind == Kind::Real
                })
            };
            let from = match named.or_else(declared) {
                Some(variable) => Source::Variable(variable.handle),
                None if description.capabilities.output_derivatives > 0 => {
                    Source::Unit(description.variables[source.variable].handle)
                }
                None => continue,
            };
            self.slope_readers.push(SlopeReader {
                input,
                component: source.component,
                from,
            });
        }
    }

    /// Reads the derivatives of what the due components among `components` have just published.
    pub(crate) fn read_slopes(
        &mut self,
        components: &[usize],
        step: &Step,
        next: u64,
    ) -> Result<(), Fault> {
        let readers = std::mem::take(&mut self.slope_readers);
        let mut result = Ok(());
        for reader in &readers {
            if components.contains(&reader.component)
                && self.members[reader.component].is_due(next)
                && let Err(fault) = self.read_slope(reader)
            {
                result = Err(self.fault(reader.component, step, fault));
                break;
            }
        }
        self.slope_readers = readers;
        result
    }

    fn read_slope(&mut self, reader: &SlopeReader) -> Result<(), Box<UnitFault>> {
        let slot = &mut self.members[reader.component].slot;
        let value = std::slice::from_mut(&mut self.slopes[reader.input]);
        match reader.from {
            Source::Variable(handle) => {
                self.counters.get_calls += 1;
                slot.get_reals(&[handle], value)
            }
            Source::Unit(handle) => slot.unit().output_derivatives(&[handle], &[1], value),
        }
    }
}
