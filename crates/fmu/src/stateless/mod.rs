//! Proof that a library keeps nothing outside of its instances, so that one load serves all of them.
//!
//! A copy of a library differs from the library in one thing: it has own writable bytes. Where no code can
//! write into them, a copy is nothing but a waste of cache. In the writable segments of an ELF file there may be
//! - what the dynamic loader alone writes: the dynamic section, the tables of addresses, the lists of functions for
//!   start and end, constants with addresses in them;
//! - what the start files of the compiler use: `__dso_handle`, which is an address of its own, and `completed`,
//!   which says that the library was unloaded;
//! - room between sections.
//!
//! Everything else is state, or may be. A stripped library does not say whose the eight bytes are in which
//! `completed` lies, so that its code and its tables are searched for whatever else could lead there.
//! Any doubt counts as state: a copy is slower and never wrong. Not found is one case: a stripped library whose only
//! variables are arrays of a few bytes, all of which it reaches by indices with a constant part beyond some hundred bytes.
//!
//! Not looked at is what copies share as well, because a process has it once: the C library with its memory,
//! files, environment and random numbers, and all other libraries that the library needs. The system loads
//! those once, by their names, whichever copy asks for them. An FMU that brings libraries along is no case for this
//! proof, and neither is a library that loads others or looks for its own file (`FORBIDDEN`).

mod code;
mod few_variables;
mod image;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub(crate) use few_variables::{MOST_EXCHANGED, Variables};
use image::{Image, Relocation, Symbol};

/// Functions by which a library could make its code writable, or load and find files of its own copy.
const FORBIDDEN: &[&str] = &[
    "mprotect",
    "pkey_mprotect",
    "dlopen",
    "dlmopen",
    "dladdr",
    "dladdr1",
    "dlinfo",
];

/// Beginnings of the names of variables of the start files, and of the addresses that the unwinder of exceptions reads.
const START_FILES: &[&str] = &["__dso_handle", "__TMC_", "completed", "DW.ref."];

/// Most bytes in sections for variables that hold no address from the dynamic loader; `completed` and the room behind
/// it have 8 or 16.
const MOST: u64 = 32;

/// Bytes of an address.
const ADDRESS: u64 = 8;

/// Why a library may keep something outside of its instances, if it may.
pub(crate) fn doubt(bytes: &[u8]) -> Option<String> {
    examine(bytes).err()
}

fn examine(bytes: &[u8]) -> Result<(), String> {
    let image = Image::read(bytes)?;
    let loose = image.loose();
    check_symbols(&image.symbols()?, &loose)?;
    let relocations = image.relocations()?;
    let addresses = relocations
        .iter()
        .filter(|entry| contains(&loose, entry.place));
    let addresses = ADDRESS * addresses.count() as u64;
    let variables = image.variables().saturating_sub(addresses);
    if variables > MOST {
        return Err(format!("{variables} bytes of variables"));
    }
    let own_handle = check_relocations(&relocations, &loose)?;
    code::check(&image, &relocations, &loose, own_handle)
}

fn check_symbols(symbols: &[Symbol<'_>], loose: &[Range<u64>]) -> Result<(), String> {
    for symbol in symbols {
        let name = symbol.name;
        if symbol.is_special {
            return Err(format!("{name} is thread-local or chosen at run time"));
        }
        match symbol.address {
            None if FORBIDDEN.contains(&name) => return Err(format!("it uses {name}")),
            Some(address)
                if symbol.is_data
                    && contains(loose, address)
                    && !START_FILES.iter().any(|own| name.starts_with(own)) =>
            {
                return Err(format!("the variable {name}"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// The address of `__dso_handle`, unless the dynamic loader writes other addresses of loose bytes.
fn check_relocations(
    relocations: &[Relocation],
    loose: &[Range<u64>],
) -> Result<Option<u64>, String> {
    let mut own_handle = None;
    for relocation in relocations {
        let place = relocation.place;
        if !relocation.target.is_some_and(|to| contains(loose, to)) {
            continue;
        }
        if relocation.target != Some(place) || own_handle.is_some() {
            return Err(format!("the address of a variable at {place:#x}"));
        }
        own_handle = Some(place);
    }
    Ok(own_handle)
}

fn contains(ranges: &[Range<u64>], address: u64) -> bool {
    ranges.iter().any(|range| range.contains(&address))
}
