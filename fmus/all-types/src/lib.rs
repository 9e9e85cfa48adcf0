//! all-types
