//! The library of every packed FMU: the C functions of FMI 2.0 for co-simulation, of a system that is read from the FMU's resources.
//!
//! Importers of a packed FMU call it. It has no code of its own.
//!
//! The program `gyrator` contains this library as bytes, because `cargo install` installs programs only, and a copy
//! of the program should be whole. It adds 5.0 MB to the 11.2 MB of the program; the feature `packed-fmu` leaves it
//! out.
//!
//! The package is a `cdylib` and nothing else, and the program depends on it without naming it: Cargo builds such a
//! dependency before it compiles a program, which reads it by `include_bytes!` (`crates/cli/build.rs` says from
//! where; the file is empty after `cargo check`, which makes no libraries). Other ways were worse:
//!
//! - A package that is a `lib` as well would not be optimised as a whole (5.8 MB), and Cargo would make machine code
//!   of each of its dependencies beside the bitcode of the program.
//! - As a `cdylib` of the program's package it would be linked again with each change of a verb, and want `parquet`
//!   and `clap` among its dependencies.
//! - A build script that compiles it would compile the engine twice.
//! - Dependencies on artifacts, which would name the file, are not stable.
//! - The program itself is no library: glibc refuses to load executables.

#![forbid(unsafe_code)]

fmu_kit::export!(simulation gyrator_packed_fmu::PackedSystem);
