//! Inputs over macro-steps in a row, side by side: the values that they have in each, and their pasts.
//!
//! Each macro-step of which nothing is unusual does to the pasts what [`InputCourse::observe`] does, to the last bit. An input
//! of which something is, a jump or a degree that changes, observes the value by itself.

use gyrator_thread_team::{Four, Loops, Places, with_wide_registers};

use super::InputCourse;
use super::jump::JumpDetectors;
use crate::extrapolation::{EvenSteps, LANES, Numbers, Past, Predictions, Sample, each};
use crate::rows::Rows;

/// All inputs, in the order of the graph.
#[derive(Default)]
pub(crate) struct InputsInARow {
    groups: Vec<Group>,
    /// The values that the inputs have in each macro-step, and what their sources give at its end, in the units of the inputs: both may have
    /// some columns more than there are inputs.
    used: Rows,
    fed: Rows,
    /// Times at the ends of the macro-steps, s since the start; first that at which they begin.
    times: Vec<f64>,
    /// From the point before the present one to that, s; `None` where all inputs are held.
    span: Option<f64>,
    /// An input that has not been ready before, which is asked first.
    last_unready: usize,
}

/// Macro-steps after which an input's state was taken, where it has it back.
const APART: usize = usize::MAX;

#[derive(Clone, Copy, Default)]
struct Group {
    sources: Places,
    factors: Numbers,
    offsets: Numbers,
    predictions: Predictions,
    jumps: JumpDetectors,
    /// Macro-steps after which the states of the inputs were taken.
    since: [usize; LANES],
    /// Not 0 where an input has to observe the last value by itself.
    are_unusual: Numbers,
}

impl InputsInARow {
    /// For so many inputs, beside rows of so many outputs.
    pub(crate) fn new(inputs: usize, outputs: usize) -> Self {
        let groups = inputs.div_ceil(LANES);
        let width = groups * LANES;
        let rows = || Rows::beside(width, width + outputs);
        let used = rows();
        Self {
            groups: vec![Group::default(); groups],
            times: vec![0.0; used.most_steps() + 1],
            used,
            fed: rows(),
            span: None,
            last_unready: 0,
        }
    }

    /// Most macro-steps for which there is room.
    pub(crate) fn most_steps(&self) -> usize {
        self.used.most_steps()
    }

    /// Takes the states of all inputs `now`, s since the start; `false` where one is not ready.
    pub(crate) fn begin(&mut self, inputs: &[InputCourse], outputs: &[f64], now: f64) -> bool {
        (self.times[0], self.span) = (now, None);
        let may_be_ready = |input: &InputCourse| input.even_steps(outputs, now).is_some();
        if !inputs.get(self.last_unready).is_none_or(may_be_ready) {
            return false;
        }
        for (index, input) in inputs.iter().enumerate() {
            let is_ready = input.even_steps(outputs, now).is_some_and(|state| {
                let is_held = input.detector().is_none();
                let follows = is_held || *self.span.get_or_insert(state.span) == state.span;
                follows && self.load(index, input, &state, 0)
            });
            if !is_ready {
                self.last_unready = index;
                return false;
            }
        }
        let (used, _) = self.used.after_mut(0).as_chunks_mut();
        for (group, used) in self.groups.iter().zip(used) {
            *used = group.predictions.given();
        }
        true
    }

    /// Takes the state of an input after so many macro-steps; `false` where nothing is known of its jumps.
    fn load(&mut self, index: usize, input: &InputCourse, state: &EvenSteps, steps: usize) -> bool {
        let (group, lane) = (&mut self.groups[index / LANES], index % LANES);
        group.predictions.load(lane, state);
        group.sources.set(lane, input.source);
        (group.factors[lane], group.offsets[lane]) = (input.factor, input.offset);
        group.since[lane] = steps;
        match input.detector() {
            None => group.jumps.load_none(lane),
            Some(detector) => return group.jumps.load(lane, detector),
        }
        true
    }

    /// Whether a macro-step after so many is as long as the one before it, but for rounding: of this `size`, s, to the time `end`, s
    /// since the start.
    #[inline(always)]
    pub(crate) fn follows(&self, steps: usize, size: f64, end: f64) -> bool {
        let now = self.times[steps];
        self.span.is_none_or(|span| {
            EvenSteps::are_equal(span, (now + size) - now) && EvenSteps::are_equal(span, end - now)
        })
    }

    /// The values of the inputs in each macro-step.
    pub(crate) fn used_rows(&self) -> &Rows {
        &self.used
    }

    /// The values of the inputs in the macro-step after so many.
    #[inline(always)]
    pub(crate) fn used(&self, steps: usize) -> &[f64] {
        self.used.after(steps)
    }

    /// The values of a group of inputs, which may be more than there are, in the macro-step after so many, and what their sources
    /// gave at its end.
    #[inline(always)]
    pub(crate) fn used_and_given(&self, steps: usize, group: usize) -> (Numbers, Numbers) {
        let of = |row: &[f64]| row.as_chunks().0[group];
        (of(self.used.after(steps)), of(self.fed.after(steps + 1)))
    }

    /// Takes the outputs after so many macro-steps, the last of which ends at the time `end`, s since the start. Returns whether there
    /// was a jump, and whether all inputs are ready for another one.
    #[inline(always)]
    pub(crate) fn observe(
        &mut self,
        inputs: &mut [InputCourse],
        outputs: &[f64],
        steps: usize,
        end: f64,
    ) -> (bool, bool) {
        let are_usual = with_wide_registers(Observation {
            groups: &mut self.groups,
            outputs,
            fed: self.fed.after_mut(steps),
            used: self.used.after_mut(steps),
        });
        self.times[steps] = end;
        let seen = match are_usual {
            true => (false, true),
            false => self.observe_unusual(inputs, outputs, steps),
        };
        if let Some(span) = &mut self.span {
            *span = end - self.times[steps - 1];
        }
        seen
    }

    #[cold]
    fn observe_unusual(
        &mut self,
        inputs: &mut [InputCourse],
        outputs: &[f64],
        steps: usize,
    ) -> (bool, bool) {
        let (mut is_jump, mut are_ready) = (false, true);
        let now = self.times[steps];
        for (index, input) in inputs.iter_mut().enumerate() {
            let (group, lane) = (index / LANES, index % LANES);
            if self.groups[group].are_unusual[lane] == 0.0 {
                continue;
            }
            self.give_back(index, input, steps - 1);
            is_jump |= input.observe(outputs, f64::NAN, now);
            let state = input.even_steps(outputs, now);
            if state.is_some_and(|state| self.load(index, input, &state, steps)) {
                let given = self.groups[group].predictions.given()[lane];
                self.used.after_mut(steps)[index] = given;
            } else {
                self.groups[group].since[lane] = APART;
                are_ready = false;
            }
        }
        (is_jump, are_ready)
    }

    /// Gives an input its state after so many macro-steps.
    fn give_back(&self, index: usize, input: &mut InputCourse, steps: usize) {
        let (group, lane) = (&self.groups[index / LANES], index % LANES);
        let since = group.since[lane];
        let Some(span) = self.span.filter(|_| since < steps) else {
            return;
        };
        let mut samples = [Sample::default(); 4];
        let last = (since + 1).max((steps + 1).saturating_sub(samples.len()))..=steps;
        let count = last.clone().count();
        for (sample, step) in samples.iter_mut().zip(last) {
            (sample.time, sample.value) = (self.times[step], self.fed.after(step)[index]);
        }
        let state = group.predictions.of_lane(lane, span);
        input.resume(&state, &samples[..count], |detector| {
            group
                .jumps
                .give_back(lane, (steps - since) as u32, detector);
        });
    }

    /// Gives all inputs their states after so many macro-steps.
    pub(crate) fn end(&mut self, inputs: &mut [InputCourse], steps: usize) {
        for (index, input) in inputs.iter_mut().enumerate() {
            self.give_back(index, input, steps);
        }
    }
}

/// Outputs after a macro-step, which the inputs observe.
struct Observation<'a> {
    groups: &'a mut [Group],
    outputs: &'a [f64],
    fed: &'a mut [f64],
    used: &'a mut [f64],
}

impl Loops for Observation<'_> {
    /// Whether nothing is unusual.
    type Output = bool;

    #[inline(always)]
    fn run<F: Four>(self) -> bool {
        let (fed, _) = self.fed.as_chunks_mut();
        let (used, _) = self.used.as_chunks_mut();
        let mut is_any = false;
        for (group, (fed, used)) in self.groups.iter_mut().zip(fed.iter_mut().zip(used)) {
            let values: Numbers = F::at(self.outputs, group.sources).into();
            let values = each(|lane| values[lane] * group.factors[lane] + group.offsets[lane]);
            *fed = values;
            let (jumps, are_jumps) = group.jumps.after(values, group.predictions.predicted());
            let past = group.predictions.after(values);
            let are_unusual = group.predictions.are_unusual(&past);
            group.are_unusual = each(|lane| are_unusual[lane] + are_jumps[lane]);
            let [a, b, c, d] = group.are_unusual;
            if (a + b) + (c + d) == 0.0 {
                group.predictions.go_on(&past);
                group.jumps = jumps;
            } else {
                group.go_on_where_usual(&past, &jumps);
                is_any = true;
            }
            *used = group.predictions.given();
        }
        !is_any
    }
}

impl Group {
    /// Takes the states after new values, but of inputs of which something is unusual.
    #[cold]
    #[inline(never)]
    fn go_on_where_usual(&mut self, past: &Past, jumps: &JumpDetectors) {
        for (lane, unusual) in self.are_unusual.into_iter().enumerate() {
            if unusual == 0.0 {
                self.predictions.go_on_in(lane, past);
                self.jumps.take(lane, jumps);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;
    use crate::{ClosureUnit, RunOptions, System};

    const INPUTS: usize = 6;
    const H: f64 = 0.01;

    /// The inputs of a unit that takes values only; one is converted, one is held.
    fn inputs() -> Vec<InputCourse> {
        let outputs = ["y0", "y1", "y2", "y3", "y4", "y5"];
        let inputs = ["u0", "u1", "u2", "u3", "u4", "u5"];
        let zeros = |names: [&'static str; INPUTS]| names.map(|name| (name, 0.0));
        let source = ClosureUnit::new(&[], &zeros(outputs), |_| ());
        let sink = ClosureUnit::new(&zeros(inputs), &[], |_| ());
        let mut system = System::new(H);
        system.add("source", source);
        system.add("sink", sink).extrapolation("auto");
        for (output, input) in outputs.iter().zip(&inputs) {
            system.connect(&format!("source.{output}"), &format!("sink.{input}"));
        }
        let run = system.start(&RunOptions::default()).unwrap();
        let mut courses = run.state.courses.inputs.clone();
        (courses[1].factor, courses[1].offset) = (-2.0, 0.3);
        courses[4].extrapolation = None;
        courses
    }

    /// Smooth, with noise, jumps, a ramp of rounded steps, and, much later, numbers whose squares are infinite.
    fn outputs(step: usize, random: &mut SplitMix64) -> [f64; INPUTS] {
        let t = step as f64 * H;
        let noise = 2.0 * random.next_unit() - 1.0;
        let far = if step > 700 { 1e160 } else { 1.0 };
        [
            (7.0 * t).sin() * far,
            (3.0 * t).cos() + 1e-3 * noise,
            t.floor() + (20.0 * t).sin(),
            t + 1e-15 * noise,
            noise,
            -0.0,
        ]
    }

    #[test]
    fn inputs_in_a_row_are_as_inputs_one_by_one() {
        let mut random = SplitMix64::new(7);
        let (mut alone, mut together) = (inputs(), inputs());
        let mut rows = InputsInARow::new(INPUTS, INPUTS);
        let time = |step: usize| step as f64 * H;
        let (mut in_a_row, mut jumps, mut changes) = (0, 0, 0);
        let mut made = None;
        let mut reals = outputs(0, &mut random);
        for input in alone.iter_mut().chain(&mut together) {
            input.observe(&reals, f64::NAN, 0.0);
        }
        for step in 0..900 {
            let (now, end) = (time(step), time(step + 1));
            if made == Some(rows.most_steps()) {
                rows.end(&mut together, rows.most_steps());
                made = None;
            }
            if made.is_none() && rows.begin(&together, &reals, now) {
                made = Some(0);
            }
            let used = Vec::from_iter(alone.iter_mut().map(|input| input.prepare(&reals, now, H)));
            let in_use = made.filter(|steps| rows.follows(*steps, H, end));
            if let (None, Some(steps)) = (in_use, made) {
                rows.end(&mut together, steps);
            }
            made = in_use;
            let others = match made {
                Some(steps) => rows.used(steps)[..INPUTS].to_vec(),
                None => Vec::from_iter(
                    together
                        .iter_mut()
                        .map(|input| input.prepare(&reals, now, H)),
                ),
            };
            let bits = |values: &[f64]| Vec::from_iter(values.iter().map(|value| value.to_bits()));
            assert_eq!(bits(&used), bits(&others), "{step}: {used:?} {others:?}");
            reals = outputs(step + 1, &mut random);
            let mut is_jump = false;
            for input in &mut alone {
                is_jump |= input.observe(&reals, f64::NAN, end);
            }
            let is_other = match &mut made {
                // All of them, whether one has had a jump or not.
                None => together.iter_mut().fold(false, |any, input| {
                    any | input.observe(&reals, f64::NAN, end)
                }),
                Some(steps) => {
                    *steps += 1;
                    in_a_row += 1;
                    let (is_jump, are_ready) = rows.observe(&mut together, &reals, *steps, end);
                    if !are_ready {
                        rows.end(&mut together, *steps);
                        made = None;
                    }
                    is_jump
                }
            };
            assert_eq!(is_jump, is_other, "{step}");
            jumps += u32::from(is_jump);
        }
        if let Some(steps) = made {
            rows.end(&mut together, steps);
        }
        for (one, other) in alone.iter().zip(&together) {
            let state = |input: &InputCourse| {
                let made = input.extrapolation.as_ref();
                made.map(|made| (made.changes().to_vec(), made.order(), made.even_steps(9.0)))
            };
            assert_eq!(state(one), state(other));
            changes += state(one).map_or(0, |(changes, ..)| changes.len());
        }
        assert!(
            in_a_row > 400 && jumps > 3 && changes > 8,
            "{in_a_row} {jumps} {changes}"
        );
    }
}
