//! Blocks: sources and functions that need no FMU. A block is one file and one word in [`BLOCKS`].
//!
//! A source shows at time t its value for t. If units step together (Jacobi), its receivers hold
//! that value over the step that begins at t: they see the source at the start of their step.
//!
//! A block is a unit, not a part of a connection. It has a step, and takes part in the order of the units, in
//! initialisation and in the exchange of direct feed-through. It can be recorded, and a step control can repeat it.
//! The step loop knows nothing of it. Connections are affine functions of one signal each, with physical unit, gain,
//! offset and type.

mod chirp;
mod constant;
mod delay;
mod gain;
mod limit;
mod noise;
mod ramp;
mod rate_limit;
mod sine;
mod step;
mod sum;
mod table;
mod unit;
mod unit_delay;

use std::path::{Component as Part, Path, PathBuf};

use gyrator_system::{Component, Problem, SystemFile, Value};

use crate::need::{Facts, Need};
use crate::registry::{Entry, EntryKind, ParameterKind, look_up};
use crate::time::rounding;
use crate::unit::Unit;
use unit::BlockUnit;

/// Outputs as functions of time, inputs and memory.
pub trait Block: Send {
    /// Names of the inputs.
    fn inputs(&self) -> Vec<String> {
        Vec::new()
    }

    /// Names of the outputs.
    fn outputs(&self) -> Vec<String> {
        vec!["y".to_owned()]
    }

    /// Whether an output, by its place among them, is 0 or 1 at any time, so that it may feed a Boolean.
    fn is_switch(&self, output: usize) -> bool {
        let _ = output;
        false
    }

    /// Value of an output, by its place among them, at `time`, s.
    ///
    /// # Errors
    /// Why it has no value.
    fn output(&self, output: usize, time: f64, inputs: &[f64]) -> Result<f64, String>;

    /// Derivative of an output by an input on which it depends directly.
    fn gain(&self, output: usize, input: usize, inputs: &[f64]) -> f64 {
        let _ = (output, input, inputs);
        0.0
    }

    /// The simulation begins at `time`, s, with these inputs.
    fn begin(&mut self, time: f64, inputs: &[f64]) {
        let _ = (time, inputs);
    }

    /// A step from `time` by `step`, s, with the inputs of its start.
    fn step(&mut self, time: f64, step: f64, inputs: &[f64]) {
        let _ = (time, step, inputs);
    }

    /// Memory between steps.
    fn memory(&self) -> Vec<f64> {
        Vec::new()
    }

    /// Goes back to an earlier memory.
    fn set_memory(&mut self, memory: &[f64]) {
        let _ = memory;
    }
}

/// Facts about a block before it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockFacts {
    /// Outputs depend on the inputs at the same instant.
    pub feeds_through: bool,
    /// They do when the simulation starts.
    pub feeds_through_at_start: bool,
    /// Outputs jump, so that their past does not predict their future.
    pub is_discrete: bool,
}

impl BlockFacts {
    /// A smooth function of time.
    const SMOOTH: Self = Self {
        feeds_through: false,
        feeds_through_at_start: false,
        is_discrete: false,
    };
    /// A function of time that jumps.
    const JUMPS: Self = Self {
        is_discrete: true,
        ..Self::SMOOTH
    };
    /// A function of the inputs at the same instant.
    const FUNCTION: Self = Self {
        feeds_through: true,
        feeds_through_at_start: true,
        ..Self::SMOOTH
    };
}

impl Facts for BlockFacts {
    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }
}

impl EntryKind for dyn Block {
    const NAME: &'static str = "block";
    type Made = Result<Box<dyn Block>, String>;
    type Context = ();
    type Facts = BlockFacts;
    const USUAL: () = ();
}

/// Every block, by its word in a system file: sources, then functions.
pub const BLOCKS: &[Entry<dyn Block>] = &[
    constant::ENTRY,
    step::ENTRY,
    ramp::ENTRY,
    sine::ENTRY,
    chirp::ENTRY,
    noise::ENTRY,
    table::ENTRY,
    sum::ENTRY,
    gain::ENTRY,
    limit::ENTRY,
    rate_limit::ENTRY,
    delay::ENTRY,
    unit_delay::ENTRY,
];

/// Makes the unit of a component that is a block.
///
/// # Errors
/// All problems of its word and parameters.
pub(crate) fn make(
    component: &Component,
    system: &SystemFile,
) -> Result<Box<dyn Unit>, Vec<Problem>> {
    let Some(asked) = &component.block else {
        return Err(Vec::new());
    };
    let mut choice = asked.clone();
    for (place, path) in block_files(component, system) {
        let value = &asked.parameters[place].1;
        if let (Some(_), Value::String(text)) = (system.unpacked.folder(), &value.value)
            && leads_out(Path::new(text))
        {
            let message = format!("`{text}` leads out of the archive");
            return Err(vec![Problem::error("block", message).at(&value.span)]);
        }
        choice.parameters[place].1.value = Value::String(path.to_string_lossy().into_owned());
    }
    let chosen = look_up(BLOCKS, &choice)?;
    let block = chosen.build().map_err(|reason| {
        let name = &component.name.value;
        let message = format!("the block of `{name}`: {reason}");
        vec![Problem::error("block", message).at(&asked.name.span)]
    })?;
    Ok(Box::new(BlockUnit::new(block, chosen.usual_facts())))
}

/// Files that the block of a component reads, each with the place of its parameter. Paths are relative
/// to the folder of the file that names them, or to the root of the archive of the system.
#[must_use]
pub fn block_files(component: &Component, system: &SystemFile) -> Vec<(usize, PathBuf)> {
    let Some(choice) = &component.block else {
        return Vec::new();
    };
    let entry = BLOCKS.iter().find(|entry| entry.name == choice.name.value);
    let is_file = |name: &str| {
        let mut known = entry.iter().flat_map(|entry| entry.parameters);
        known.any(|known| known.name == name && matches!(known.kind, ParameterKind::File))
    };
    let mut files = Vec::new();
    for (place, (name, value)) in choice.parameters.iter().enumerate() {
        if let (true, Value::String(text)) = (is_file(&name.value), &value.value) {
            let named_in = || system.source.folder_at(value.span.start);
            let folder = system.unpacked.folder().unwrap_or_else(named_in);
            files.push((place, folder.join(text)));
        }
    }
    files
}

/// Whether a path in an archive names a place outside of it.
pub(crate) fn leads_out(path: &Path) -> bool {
    let is_inside = |part: Part<'_>| matches!(part, Part::Normal(_) | Part::CurDir);
    !path.components().all(is_inside)
}

/// Whether an instant has come; a time that misses it by rounding has reached it.
pub(crate) fn reached(time: f64, instant: f64) -> bool {
    // Sums and products of doubles are off by less, as part of the time up to 1000 s; later, steps may be so short.
    const ROUNDING: f64 = 1e-12;
    const EARLY: f64 = 1e3;
    let latest = instant.abs().max(time.abs());
    time >= instant - ROUNDING * latest.min(EARLY) - 2.0 * rounding(latest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_names_no_file_outside_of_it() {
        for (path, is_outside) in [
            ("resources/tables/1.csv", false),
            ("./1.csv", false),
            ("../1.csv", true),
            ("a/../../1.csv", true),
            ("/etc/passwd", true),
        ] {
            assert_eq!(leads_out(Path::new(path)), is_outside, "{path}");
        }
    }
}
