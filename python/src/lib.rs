//! The extension module `gyrator._gyrator`: the parts of the Python package that are written in Rust.

#![forbid(unsafe_code)]

mod column;
mod follower;
mod stream;
mod table;

use pyo3::prelude::*;

/// The parts of gyrator that are written in Rust.
#[pymodule]
mod _gyrator {
    #[pymodule_export]
    use crate::follower::Follower;
    #[pymodule_export]
    use crate::table::{Memory, Table, read_table};
}
