//! Calls of the C loop of `floor.c`: called by whatever compares gyrator with it. Nothing is measured here.

use std::path::{Path, PathBuf};

use super::meter::Call;
use super::tiny::Tiny;

/// An FMU as the C loop takes it.
#[derive(Debug, Clone)]
pub(super) struct LoopFmu {
    pub(super) library: PathBuf,
    pub(super) guid: String,
    /// Value references of inputs and outputs, with commas.
    pub(super) references: [&'static str; 2],
}

impl LoopFmu {
    pub(super) fn tiny(tiny: &Tiny) -> Self {
        Self {
            library: tiny.library.clone(),
            guid: Tiny::guid().to_owned(),
            references: ["0,1", "2,3"],
        }
    }
}

/// A run with so many instances and steps, of one FMU or of two in turn. The head of `floor.c` has the words of `pass`.
pub(super) fn call(
    program: &Path,
    (units, steps): (usize, usize),
    results: Option<&Path>,
    pass: &str,
    fmus: &[LoopFmu],
) -> Call {
    let call = Call::new(program).arguments([&units.to_string(), &steps.to_string()]);
    let call = call
        .argument(results.unwrap_or("-".as_ref()))
        .argument(pass);
    fmus.iter().fold(call, |call, fmu| {
        let call = call.argument(&fmu.library).argument(&fmu.guid);
        call.arguments(fmu.references)
    })
}
