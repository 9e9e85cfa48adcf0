//! Gauss-Seidel coupling: units step one after the other. An input whose source has stepped already
//! receives that source's new value: the line y(t) → y(t + H) if the unit takes sub-steps or input
//! derivatives, otherwise y(t + H), held. All other inputs are extrapolated, as with `jacobi`.
//!
//! Source: Rahikainen et al. (2020) §1 names the method; derivatives of inputs: FMI 2.0 §4.2.3. Use
//! it if one unit has direct feed-through and can step last, or is much stiffer than the others.
//! Limits: one unit at a time, so threads do not help; the order of the units changes the result;
//! inputs look ahead, which `hinfinity`, interface models and learned feed-forward refuse.

use super::serial::{self, FAST_FIRST, FEEDTHROUGH_LAST, Held, Lines, Order};
use super::{Method, MethodFacts};
use crate::plan::Draft;
use crate::registry::{Entry, ParameterInfo, ParameterKind};

/// Units step one after the other, each with the outputs that those before it have just computed.
struct GaussSeidel {
    order: Order,
}

pub(super) const ENTRY: Entry<dyn Method> = Entry {
    name: "gauss-seidel",
    summary: "units step one after the other; a later one receives the end values of those before it, on a line where \
              it can follow one",
    source: "Rahikainen 2020 §1 names it; line to the end value: FMI 2.0 §4.2.3",
    parameters: &[ParameterInfo {
        name: "order",
        summary: "order of the units: those with direct feed-through last, fast ones first, or names separated by commas",
        kind: ParameterKind::Names(&[FEEDTHROUGH_LAST, FAST_FIRST]),
    }],
    facts: |_, ()| MethodFacts {
        looks_ahead: true,
        ..MethodFacts::default()
    },
    build: |arguments| {
        let order = Order::new(arguments.text("order"));
        Box::new(GaussSeidel { order })
    },
};

impl Method for GaussSeidel {
    fn plan(&self, draft: &mut Draft<'_>) {
        serial::plan(draft, &self.order, |turn| Lines::new(turn, Held::End));
    }
}
