//! The extension module `gyrator._gyrator`: the parts of the Python package that are written in Rust.
//!
//! The Python package calls it; runs of files are programs of their own and do not pass through it. It never loads an
//! FMU for those.

#![forbid(unsafe_code)]

mod arguments;
mod column;
mod column_types;
mod display;
mod error;
mod follower;
mod judge;
mod linear_unit;
mod python_unit;
mod real_time;
mod running;
mod stream;
mod study;
mod system;
mod table;
mod value;

use pyo3::prelude::*;

/// The parts of gyrator that are written in Rust.
#[pymodule]
mod _gyrator {
    /// Version of the package.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "a name of Python")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_export]
    use crate::column_types::column_types;
    #[pymodule_export]
    use crate::follower::Follower;
    #[pymodule_export]
    use crate::judge::judge;
    #[pymodule_export]
    use crate::linear_unit::LinearUnit;
    #[pymodule_export]
    use crate::python_unit::{Call, ClosureUnit};
    #[pymodule_export]
    use crate::running::{Input, Output, Run, Snapshot};
    #[pymodule_export]
    use crate::study::{read_cases, read_study};
    #[pymodule_export]
    use crate::system::System;
    #[pymodule_export]
    use crate::table::{Memory, Table, read_table};
}
