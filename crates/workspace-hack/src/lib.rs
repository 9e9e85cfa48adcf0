//! Nothing: its manifest is what this package is for.

#![forbid(unsafe_code)]
