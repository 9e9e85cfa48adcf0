//! Outputs of a component at its own communication steps, between the points at which it
//! publishes.

use super::{Member, Slot};
use crate::state_stream::{StateStream, Stored};
use crate::unit::{Handle, UnitResult};

/// Outputs read within a macro-step, row by row.
pub(crate) struct Trace {
    /// Real outputs of the system, with their handles.
    outputs: Box<[usize]>,
    handles: Box<[Handle]>,
    values: Box<[f64]>,
    rows: usize,
}

impl Trace {
    /// For these outputs of a member, at all its communication steps but the last of a macro-step.
    pub(crate) fn new(member: &Member, outputs: Vec<usize>) -> Self {
        let handle = |output: &usize| member.output_handles[output - member.outputs.start];
        Self {
            handles: outputs.iter().map(handle).collect(),
            values: vec![0.0; outputs.len() * (member.substeps as usize - 1)].into(),
            outputs: outputs.into(),
            rows: 0,
        }
    }

    /// Begins a macro-step.
    pub(crate) fn begin(&mut self) {
        self.rows = 0;
    }

    /// Reads the outputs after a communication step; after the last one they are published.
    pub(crate) fn read(&mut self, slot: &mut Slot) -> UnitResult {
        let width = self.outputs.len();
        let row = self.values.chunks_exact_mut(width).nth(self.rows);
        if let Some(row) = row {
            slot.get_reals(&self.handles, row)?;
            self.rows += 1;
        }
        Ok(())
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The values of an output, in their order.
    pub(crate) fn values_of(&self, output: usize) -> impl Iterator<Item = f64> {
        let column = self.outputs.iter().position(|known| *known == output);
        let rows = self.values.chunks_exact(self.outputs.len()).take(self.rows);
        rows.filter_map(move |row| Some(row[column?]))
    }
}

impl Stored for Trace {
    fn transfer(&mut self, stream: &mut StateStream) {
        let Self {
            values,
            rows,
            outputs,
            handles: _,
        } = self;
        stream.keep(&mut **values);
        let most = values.len() / outputs.len().max(1);
        stream.below(rows, most + 1);
    }
}
