//! What a macro-step was: the row that the accounts add.
//!
//! The run fills one row after each macro-step, or part of one, and gives it to ledger, audit, defects and alarms, which read nothing
//! else of the system (alarms also read the powers of the ledger). What several of them need is computed here, once; the rest is
//! borrowed. It calls no unit and changes no signal.

use crate::curve::Curve;
use crate::graph::Axis;
use crate::state::{InputCourse, NO_COPY, Pass, Signals, SystemState};
use crate::step::Step;
use crate::time::Clock;

/// An input over the last step of its component, corrections included.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct InputRow {
    pub(crate) start: f64,
    /// `None`: halfway between the ends.
    pub(crate) middle: Option<f64>,
    pub(crate) end: f64,
    /// The value that its source gave at the end, in the input's unit.
    pub(crate) given: f64,
}

impl InputRow {
    /// Start, middle and end of a step that began with this value.
    #[inline]
    pub(crate) fn course(&self, start: f64) -> [f64; 3] {
        let halfway = || 0.5 * (start + self.end);
        [start, self.middle.unwrap_or_else(halfway), self.end]
    }
}

/// A macro-step that has been made once, or a part of one.
pub(crate) struct StepRow<'a> {
    pub(crate) step: &'a Step,
    /// It is the first part of its macro-step.
    pub(crate) begins: bool,
    pub(crate) inputs: &'a [InputRow],
    pub(crate) signals: &'a Signals,
    pub(crate) passes: &'a [Pass],
    /// What corrections and feed-forward have added to each input; empty if there are none.
    added: &'a [Curve],
    /// By how much each input was off at the end, with predictions instead of their means; empty if no step control
    /// sizes the steps.
    pub(crate) errors: &'a [f64],
    clock: &'a Clock,
}

impl StepRow<'_> {
    /// End of the step, s.
    pub(crate) fn end(&self) -> f64 {
        self.step.end(self.clock)
    }

    /// What the effort and the flow input of an axis had of corrections and feed-forward at the end of a step of `length`, s.
    #[inline]
    pub(crate) fn added(&self, axis: &Axis, length: f64) -> (f64, f64) {
        let at = |input: usize| self.added.get(input).map_or(0.0, |curve| curve.at(length));
        (at(axis.effort_input), at(axis.flow_input))
    }
}

/// Room for what a row has of its own, so that no step allocates.
#[derive(Debug, Default)]
pub(crate) struct RowRoom {
    inputs: Vec<InputRow>,
    added: Vec<Curve>,
    errors: Vec<f64>,
    has_fixed_steps: bool,
}

impl RowRoom {
    pub(crate) fn new(has_fixed_steps: bool) -> Self {
        Self {
            has_fixed_steps,
            ..Self::default()
        }
    }

    /// The row of the step that has just been made.
    #[inline]
    pub(crate) fn fill<'a>(
        &'a mut self,
        state: &'a SystemState,
        step: &'a Step,
        begins: bool,
    ) -> StepRow<'a> {
        let (courses, outputs) = (&state.courses, &state.signals.reals);
        let values = courses.values.iter().zip(&courses.copies);
        let inputs = courses.inputs.iter().zip(values);
        self.inputs.clear();
        (self.inputs).extend(inputs.map(|(course, (&end, copy))| match *copy {
            NO_COPY => InputRow {
                start: course.curve.coefficients[0],
                middle: match state.models.running.is_empty() {
                    true => state.units.members[course.component].middle_of(course),
                    false => None,
                },
                end,
                given: course.fed(outputs),
            },
            output => InputRow {
                start: end,
                middle: None,
                end,
                given: outputs[output as usize],
            },
        }));
        self.added.clear();
        if !state.bonds.correctors.is_empty() || !courses.feed_forward.is_empty() {
            (self.added).extend(courses.inputs.iter().map(InputCourse::added));
        }
        self.errors.clear();
        if !self.has_fixed_steps {
            let inputs = courses.inputs.iter().zip(&courses.values);
            (self.errors).extend(inputs.map(|(input, used)| input.error_at_end(outputs, *used)));
        }
        StepRow {
            step,
            begins,
            clock: &state.graph.clock,
            inputs: &self.inputs,
            signals: &state.signals,
            passes: &state.exchange.passes,
            added: &self.added,
            errors: &self.errors,
        }
    }
}
