//! Call rules, on a small model.
