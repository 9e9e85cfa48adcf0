//! The defects of the connections: at the end of each step, the difference between the value that the
//! receiver used and the one that its source then gave.
//!
//! They are known in every run, without bonds and without saved states, and show how much an input misses
//! that is extrapolated, delayed or corrected. Sources: Glumac & Kovačić (2023), who call it the
//! connection defect; Kyllingstad et al. (2025), who control the step by it. Limits: an output that is
//! stale is compared as it was published, and an error that source and receiver share is not seen. The run adds each step; nothing in
//! it changes a signal.

use crate::extremes::{greater, less};
use crate::inner_steps::InnerSteps;
use crate::single_steps::SingleSteps;
use crate::state::{InputCourse, SystemState};
use crate::state_stream::stored;
use crate::step::Step;
use crate::step_row::{InputRow, StepRow};

/// Points at which ranges are kept, the last ones of m·2ᵏ steps with m from 4 to 7: as many as go back to a quarter
/// of the steps.
const KEPT: usize = 9;
/// A range below this part of the magnitude may be rounding: a million steps add up 1e6 · 2⁻⁵³ at most.
const ROUNDING: f64 = 1e-9;

/// The defect of one connection so far, in the unit of its input.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Defect {
    /// At the end of the last step of the receiver: value used less value given. Under a step control, the prediction for that time
    /// in the place of a mean of it.
    pub last: f64,
    /// Root mean square over the time of the run.
    pub rms: f64,
    /// Greatest magnitude.
    pub max: f64,
    /// Greatest less least value that the source gave.
    pub range: f64,
    /// Greatest magnitude of a value that the source gave.
    pub magnitude: f64,
    /// Σ |2·e·Δy| over the steps, e being the mean defect within a step and Δy the change of the signal, in the
    /// square of its unit. Held inputs have e = −Δy/2.
    pub work: f64,
}

impl Defect {
    /// The root mean square relative to the range of the signal; 0 if both are.
    pub fn relative(&self) -> f64 {
        if self.rms == 0.0 {
            return 0.0;
        }
        self.rms / self.range
    }

    /// [`work`](Self::work) relative to the square of the range; 0 if the signal is constant. A sine of the angular
    /// frequency ω that is held over H gives (ωH)²/8 a step.
    pub fn relative_work(&self) -> f64 {
        if self.work == 0.0 || self.range <= ROUNDING * self.magnitude {
            return 0.0;
        }
        self.work / self.range / self.range
    }

    /// The last defect relative to the magnitude of the signal so far; 0 if both are.
    pub fn last_relative(&self) -> f64 {
        if self.last == 0.0 {
            return 0.0;
        }
        self.last.abs() / self.magnitude
    }
}

/// The defects of all connections of real variables, in the order of the graph.
#[derive(Debug, Clone, Default)]
pub struct Defects {
    /// The accounts of some connections side by side; the last ones may not be used.
    groups: Vec<Group>,
    connections: usize,
    /// The macro-steps that are over, for receivers that step with each of them, s.
    time: f64,
    /// Ranges at earlier numbers of steps, the older first.
    earlier: [(u64, Vec<f64>); KEPT],
    /// The next step after which more than the accounts is looked at.
    next: u64,
    single_steps: SingleSteps,
    inner_steps: InnerSteps,
    /// Macro-steps from one communication point of each connection's receiver to the next, and of its source.
    every: Vec<[u64; 2]>,
}

/// Connections of which one instruction, or two, add to all accounts: two numbers fill a register of every x86-64 and
/// AArch64 processor, four one of most.
const LANES: usize = 4;

/// The accounts of some connections, sum by sum.
#[derive(Debug, Clone, Copy)]
struct Group {
    last: [f64; LANES],
    /// Sums of the squares times the lengths of the steps.
    squares: [f64; LANES],
    max: [f64; LANES],
    /// Infinite and the wrong way round before the first number.
    least: [f64; LANES],
    greatest: [f64; LANES],
    /// The values given at the start of the step.
    given: [f64; LANES],
    work: [f64; LANES],
}

/// The account of one connection.
#[derive(Debug, Clone, Copy)]
struct Account {
    last: f64,
    squares: f64,
    max: f64,
    range: f64,
    magnitude: f64,
    work: f64,
}

impl Group {
    const EMPTY: Self = Self {
        last: [0.0; LANES],
        squares: [0.0; LANES],
        max: [0.0; LANES],
        least: [f64::INFINITY; LANES],
        greatest: [f64::NEG_INFINITY; LANES],
        given: [0.0; LANES],
        work: [0.0; LANES],
    };

    /// Adds a step of its connections, as far as one of both components ends with it.
    #[inline(always)]
    fn add(&mut self, inputs: &[InputRow], every: &[[u64; 2]], step: &Step) {
        match <&[InputRow; LANES]>::try_from(inputs) {
            // Without a question in the loop, one instruction adds several.
            Ok(inputs) if every == [[1, 1]; LANES] => {
                for (lane, input) in inputs.iter().enumerate() {
                    self.add_one(lane, input, step.size);
                }
            }
            _ => {
                for (lane, (input, every)) in inputs.iter().zip(every).enumerate() {
                    if ends_with(*every, step) {
                        let length = step.size * every[0].max(every[1]) as f64;
                        self.add_one(lane, input, length);
                    }
                }
            }
        }
    }

    /// Adds a step of one connection.
    #[inline(always)]
    fn add_one(&mut self, lane: usize, input: &InputRow, length: f64) {
        let InputRow {
            start, end, given, ..
        } = *input;
        let defect = end - given;
        let twice_mean = (start - self.given[lane]) + defect;
        self.work[lane] += (twice_mean * (given - self.given[lane])).abs();
        self.given[lane] = given;
        self.last[lane] = defect;
        self.squares[lane] += defect * defect * length;
        self.max[lane] = greater(defect.abs(), self.max[lane]);
        self.see(lane, given);
    }

    #[inline(always)]
    fn see(&mut self, lane: usize, given: f64) {
        self.least[lane] = less(given, self.least[lane]);
        self.greatest[lane] = greater(given, self.greatest[lane]);
    }

    fn account(&self, lane: usize) -> Account {
        let (least, greatest) = match (self.least[lane], self.greatest[lane]) {
            (least, greatest) if least > greatest => (f64::NAN, f64::NAN),
            ends => ends,
        };
        Account {
            last: self.last[lane],
            squares: self.squares[lane],
            max: self.max[lane],
            range: greatest - least,
            magnitude: greatest.abs().max(least.abs()),
            work: self.work[lane],
        }
    }
}

/// Whether a step of both components of a connection, which have so many macro-steps, ends with this one.
fn ends_with(every: [u64; 2], step: &Step) -> bool {
    every
        .iter()
        .all(|every| (step.index + 1).is_multiple_of(*every))
}

impl Defects {
    pub(crate) fn new(state: &SystemState) -> Self {
        let connections = state.courses.inputs.len();
        let mut groups = vec![Group::EMPTY; connections.div_ceil(LANES)];
        for (index, input) in state.courses.inputs.iter().enumerate() {
            let (group, lane) = (&mut groups[index / LANES], index % LANES);
            let given = input.fed(&state.signals.reals);
            group.see(lane, given);
            group.given[lane] = given;
        }
        let every = |input: &InputCourse| {
            [input.component, input.source_component]
                .map(|component| state.units.members[component].every)
        };
        let every: Vec<[u64; 2]> = state.courses.inputs.iter().map(every).collect();
        Self {
            groups,
            connections,
            time: 0.0,
            earlier: [(); KEPT].map(|()| (0, vec![0.0; connections])),
            next: 0,
            single_steps: SingleSteps::new(state),
            inner_steps: InnerSteps::new(state),
            every,
        }
    }

    /// Adds the step that has just been made. Returns whether [`inner_steps`](Self::inner_steps) may know more.
    #[inline]
    pub(crate) fn add(&mut self, row: &StepRow<'_>) -> bool {
        self.time += row.step.size;
        let knows_more = row.step.index >= self.next && self.look(row);
        let groups = self.groups.iter_mut().zip(row.inputs.chunks(LANES));
        for ((group, inputs), every) in groups.zip(self.every.chunks(LANES)) {
            group.add(inputs, every, row.step);
        }
        // A step control looks at these errors in the place of the last defects.
        for (connection, error) in row.errors.iter().enumerate() {
            if ends_with(self.every[connection], row.step) {
                self.groups[connection / LANES].last[connection % LANES] = -error;
            }
        }
        knows_more
    }

    /// Keeps ranges in the steps m·2ᵏ with m from 4 to 7, and looks at outputs in them and in those after them.
    #[cold]
    fn look(&mut self, row: &StepRow<'_>) -> bool {
        let step = row.step;
        let spacing = 1 << step.index.checked_ilog2().unwrap_or(0).saturating_sub(2);
        if step.index.is_multiple_of(spacing) {
            self.keep(step.index);
            self.next = step.index + 1;
        } else {
            self.next = (step.index / spacing + 1) * spacing;
        }
        self.single_steps.look(row);
        self.inner_steps.look(row)
    }

    /// The number of inner steps of the semi-implicit Euler method that a component shows to make in a macro-step.
    pub(crate) fn inner_steps(&self, component: usize) -> Option<u32> {
        self.inner_steps.of(component)
    }

    /// Whether a component shows to make one step of the semi-implicit Euler method in each communication step.
    pub(crate) fn makes_single_steps(&self, component: usize) -> bool {
        self.single_steps.has(component)
    }

    /// Keeps the ranges before the step with this index.
    fn keep(&mut self, step: u64) {
        self.earlier.rotate_left(1);
        let (steps, ranges) = &mut self.earlier[KEPT - 1];
        *steps = step;
        for (index, kept) in ranges.iter_mut().enumerate() {
            *kept = self.groups[index / LANES].account(index % LANES).range;
        }
    }

    fn account(&self, index: usize) -> Option<Account> {
        let is_known = index < self.connections;
        is_known.then(|| self.groups[index / LANES].account(index % LANES))
    }

    /// The range of the values that the source of a connection had given when at most so many `steps` were made, as
    /// late as it was kept.
    pub(crate) fn range_after(&self, steps: u64, index: usize) -> Option<f64> {
        let mut kept = self.earlier.iter().rev();
        let (_, ranges) = kept.find(|(at, _)| *at <= steps)?;
        ranges.get(index).copied()
    }

    /// The defect of the connection with this index of [`Graph::real_connections`](crate::graph::Graph::real_connections).
    pub fn connection(&self, index: usize) -> Option<Defect> {
        self.account(index).map(|account| self.of(&account))
    }

    /// The defects of all connections, in the order of [`Graph::real_connections`](crate::graph::Graph::real_connections).
    pub fn connections(&self) -> impl ExactSizeIterator<Item = Defect> {
        let account = |index: usize| self.groups[index / LANES].account(index % LANES);
        (0..self.connections).map(move |index| self.of(&account(index)))
    }

    fn of(&self, account: &Account) -> Defect {
        let rms = if self.time > 0.0 {
            (account.squares / self.time).sqrt()
        } else {
            0.0
        };
        Defect {
            last: account.last,
            rms,
            max: account.max,
            range: account.range,
            magnitude: account.magnitude,
            work: account.work,
        }
    }
}

stored!(Defects { groups, time, earlier, next, single_steps, inner_steps; connections, every });
stored!(Group {
    last,
    squares,
    max,
    least,
    greatest,
    given,
    work
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClosureUnit, Run, RunOptions, System};

    const H: f64 = 0.5;
    const GIVEN: [f64; 5] = [1.0, 3.0, 2.0, 5.0, -3.0];

    /// A source of the values at the macro-steps, to a sink.
    fn run(extrapolation: &str, factor: f64, sink_step: f64) -> Run {
        let mut system = System::new(H);
        system.stop_time(4.0 * H);
        let source = ClosureUnit::new(&[], &[("y", factor * GIVEN[0])], move |call| {
            call.outputs[0] = factor * GIVEN[((call.time + call.step + 1e-9) / H) as usize];
        });
        system.add("source", source);
        let sink = ClosureUnit::new(&[("u", 0.0)], &[("z", 0.0)], |_| ());
        system
            .add("sink", sink)
            .step_size(sink_step)
            .extrapolation(extrapolation);
        system.connect("source.y", "sink.u");
        system.start(&RunOptions::default()).unwrap()
    }

    fn after(mut run: Run, steps: usize) -> Defect {
        for _ in 0..steps {
            run.step().unwrap();
        }
        run.view().defects.connection(0).unwrap()
    }

    #[test]
    fn a_held_input_misses_the_change_of_its_source() {
        let defects = [1.0 - 3.0, 3.0 - 2.0, 2.0 - 5.0];
        for factor in [1.0, -2.0] {
            let found = after(run("hold", factor, H), 3);
            let mean = defects.iter().map(|d: &f64| d * d).sum::<f64>() / 3.0;
            assert!((found.rms - factor.abs() * mean.sqrt()).abs() < 1e-12);
            assert_eq!(found.last, factor * defects[2]);
            assert_eq!(found.max, factor.abs() * 3.0);
            assert_eq!(found.range, factor.abs() * 4.0);
            assert_eq!(found.magnitude, factor.abs() * 5.0);
            assert!((found.relative() - mean.sqrt() / 4.0).abs() < 1e-12);
            assert_eq!(found.last_relative(), 3.0 / 5.0);
            // Held, the defect is the change, and its mean within the step half of that.
            assert_eq!(found.work, factor * factor * (4.0 + 1.0 + 9.0));
            assert_eq!(found.relative_work(), 14.0 / 16.0);
        }
    }

    /// Lines from the last two values: 1, 5 and 1 against 3, 2 and 5; each begins at the last value. A receiver that
    /// takes no slopes holds them.
    #[test]
    fn the_mean_defect_is_that_of_both_ends() {
        let mut group = Group::EMPTY;
        group.given[0] = 1.0;
        for (start, used, given) in [(1.0, 1.0, 3.0), (3.0, 5.0, 2.0), (2.0, 1.0, 5.0)] {
            let input = InputRow {
                start,
                end: used,
                given,
                ..InputRow::default()
            };
            group.add_one(0, &input, H);
        }
        assert_eq!(
            group.work,
            [2.0 * 2.0 + 3.0 * 1.0 + 4.0 * 3.0, 0.0, 0.0, 0.0]
        );
    }

    #[test]
    fn ranges_are_kept_back_to_a_quarter_of_the_steps() {
        let mut system = System::new(H);
        system.stop_time(1000.0 * H).extrapolation("hold");
        let source = ClosureUnit::new(&[], &[("y", 0.0)], |call| {
            call.outputs[0] = call.time + call.step;
        });
        system.add("source", source);
        let sink = ClosureUnit::new(&[("u", 0.0)], &[("z", 0.0)], |_| ());
        system.add("sink", sink);
        system.connect("source.y", "sink.u");
        let mut run = system.start(&RunOptions::default()).unwrap();
        run.run().unwrap();
        let range = |steps| run.view().defects.range_after(steps, 0);
        // 7·2⁷, 3·2⁸, 5·2⁷, 2⁸ and 7·2⁵ steps of 0.5 s, with a slope of 1.
        for (asked, steps) in [
            (1000, 896.0),
            (875, 768.0),
            (700, 640.0),
            (260, 256.0),
            (255, 224.0),
        ] {
            assert_eq!(range(asked), Some(steps * H), "{asked}");
        }
        assert_eq!(range(200), None);
    }

    #[test]
    fn a_slow_receiver_is_compared_at_its_own_points() {
        let found = after(run("hold", 1.0, 2.0 * H), 4);
        // 1 is used up to 2·H, when 2 is given, and 2 up to the end, when −3 is given.
        assert_eq!((found.last, found.max), (5.0, 5.0));
        assert!((found.rms - (0.5 * (1.0 + 25.0_f64)).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn nothing_has_no_defect() {
        let none = Defect::default();
        assert_eq!((none.relative(), none.last_relative()), (0.0, 0.0));
        assert!(Defects::default().connection(0).is_none());
    }
}
