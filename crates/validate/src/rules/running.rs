//! V-38 to V-49: the FMU as it runs.

use crate::rule::Rule;

pub(super) static RULES: &[Rule] = &[];
