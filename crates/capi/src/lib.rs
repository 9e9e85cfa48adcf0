//! gyrator for C and C++. `include/gyrator.h` is made of this crate by cbindgen.
//!
//! C and C++ programs call it; no crate does. It couples nothing by itself: each function is a call of the engine.
//!
//! Functions return a [code](error::GyratorCode); a message is kept for the thread. A panic becomes a code. Objects that are in use, by
//! another thread or by a callback of one of their own units, are refused.

pub mod arguments;
pub mod callback_unit;
pub mod error;
pub mod interface_model;
pub mod run;
pub mod system;
