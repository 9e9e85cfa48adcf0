//! The defects of the connections: at the end of each step, the difference between the value that the
//! receiver used and the one that its source then gave.
//!
//! They are known in every run, without bonds and without saved states, and show how much an input misses
//! that is extrapolated, delayed or corrected. Sources: Glumac & Kovačić (2023), who call it the
//! connection defect; Kyllingstad et al. (2025), who control the step by it. Limits: an output that is
//! stale is compared as it was published, and an error that source and receiver share is not seen.

use crate::extremes::{greater, less};
use crate::state::{Courses, SystemState};
use crate::step::Step;

/// A defect of more than this part of its signal's range is no error that refines: the signal moves as far
/// between two points as it does at all. A choice.
const ROUGH: f64 = 0.25;

/// The defect of one connection so far, in the unit of its input.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Defect {
    /// At the end of the last step of the receiver: value used less value given.
    pub last: f64,
    /// Root mean square over the time of the run.
    pub rms: f64,
    /// Greatest magnitude.
    pub max: f64,
    /// Greatest less least value that the source gave.
    pub range: f64,
    /// Greatest magnitude of a value that the source gave.
    pub magnitude: f64,
}

impl Defect {
    /// The root mean square relative to the range of the signal; 0 where both are.
    pub fn relative(&self) -> f64 {
        if self.rms == 0.0 {
            return 0.0;
        }
        self.rms / self.range
    }

    /// The last defect relative to the magnitude of the signal so far; 0 where both are.
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
    /// The accounts of two connections side by side; the last one may be half used.
    pairs: Vec<Pair>,
    connections: usize,
    /// The macro-steps that are over, for receivers that step with each of them, s.
    time: f64,
    /// Ranges and rough steps at the last powers of two of the number of steps, the older first.
    earlier: [Vec<(f64, u64)>; 2],
    /// Some connections are between components that do not step with each macro-step.
    has_slow: bool,
}

/// Connections of which one instruction adds to all accounts: two numbers fill a register of every x86-64 and
/// AArch64 processor.
const LANES: usize = 2;

/// The accounts of some connections, sum by sum.
#[derive(Debug, Clone, Copy)]
struct Pair {
    last: [f64; LANES],
    /// Sums of the squares times the lengths of the steps.
    squares: [f64; LANES],
    max: [f64; LANES],
    /// Infinite and the wrong way round before the first number.
    least: [f64; LANES],
    greatest: [f64; LANES],
    /// Steps with a defect of more than a quarter of the range so far.
    rough_steps: [u64; LANES],
}

/// The account of one connection.
#[derive(Debug, Clone, Copy)]
struct Account {
    last: f64,
    squares: f64,
    max: f64,
    range: f64,
    magnitude: f64,
    rough_steps: u64,
}

impl Pair {
    const EMPTY: Self = Self {
        last: [0.0; LANES],
        squares: [0.0; LANES],
        max: [0.0; LANES],
        least: [f64::INFINITY; LANES],
        greatest: [f64::NEG_INFINITY; LANES],
        rough_steps: [0; LANES],
    };

    /// Adds a step of all its connections.
    #[inline(always)]
    fn add(&mut self, used: [f64; LANES], given: [f64; LANES], length: f64) {
        for lane in 0..LANES {
            self.add_one(lane, used[lane], given[lane], length);
        }
    }

    #[inline(always)]
    fn add_one(&mut self, lane: usize, used: f64, given: f64, length: f64) {
        let defect = used - given;
        self.last[lane] = defect;
        self.squares[lane] += defect * defect * length;
        self.max[lane] = greater(defect.abs(), self.max[lane]);
        self.see(lane, given);
        let range = self.greatest[lane] - self.least[lane];
        self.rough_steps[lane] += u64::from(defect.abs() > ROUGH * range);
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
            rough_steps: self.rough_steps[lane],
        }
    }
}

impl Defects {
    pub(crate) fn new(state: &SystemState) -> Self {
        let connections = state.courses.inputs.len();
        let mut pairs = vec![Pair::EMPTY; connections.div_ceil(LANES)];
        for (index, input) in state.courses.inputs.iter().enumerate() {
            pairs[index / LANES].see(index % LANES, input.fed(&state.signals.reals));
        }
        Self {
            pairs,
            connections,
            time: 0.0,
            earlier: [(); 2].map(|()| vec![(0.0, 0); connections]),
            has_slow: state.units.members.iter().any(|member| member.every > 1),
        }
    }

    /// Adds the step that has just been made.
    #[inline]
    pub(crate) fn observe(&mut self, state: &SystemState, step: &Step) {
        self.time += step.size;
        if step.index.is_power_of_two() {
            self.keep();
        }
        match state.units.uniform {
            true => self.observe_copies(&state.courses, &state.signals.reals, step.size),
            false => self.observe_courses(state, step),
        }
    }

    /// The same as [`observe_courses`](Self::observe_courses) where all inputs are copies of outputs and all
    /// components step with each macro-step.
    #[inline]
    fn observe_copies(&mut self, courses: &Courses, reals: &[f64], length: f64) {
        let (used, last_used) = courses.values.as_chunks::<LANES>();
        let (sources, last_sources) = courses.sources.as_chunks::<LANES>();
        let given = |source: u32| reals[source as usize];
        for (pair, (used, sources)) in self.pairs.iter_mut().zip(used.iter().zip(sources)) {
            pair.add(*used, sources.map(given), length);
        }
        if let Some(pair) = self.pairs.last_mut() {
            for (lane, (used, source)) in last_used.iter().zip(last_sources).enumerate() {
                pair.add_one(lane, *used, given(*source), length);
            }
        }
    }

    fn observe_courses(&mut self, state: &SystemState, step: &Step) {
        let (courses, reals) = (&state.courses, &state.signals.reals[..]);
        let inputs = courses.inputs.iter().zip(&courses.values);
        for (index, (input, used)) in inputs.enumerate() {
            let mut length = step.size;
            if self.has_slow {
                let members = &state.units.members;
                let (receiver, source) =
                    (&members[input.component], &members[input.source_component]);
                if !receiver.is_due(step.index + 1) || !source.is_due(step.index + 1) {
                    continue;
                }
                length *= receiver.every.max(source.every) as f64;
            }
            self.pairs[index / LANES].add_one(index % LANES, *used, input.fed(reals), length);
        }
    }

    #[cold]
    fn keep(&mut self) {
        self.earlier.swap(0, 1);
        for (index, kept) in self.earlier[1].iter_mut().enumerate() {
            let account = self.pairs[index / LANES].account(index % LANES);
            *kept = (account.range, account.rough_steps);
        }
    }

    fn account(&self, index: usize) -> Option<Account> {
        let is_known = index < self.connections;
        is_known.then(|| self.pairs[index / LANES].account(index % LANES))
    }

    /// Growth of a connection's range since less than half of the steps, and the rough steps since then.
    pub(crate) fn growth(&self, index: usize) -> Option<(f64, u64)> {
        let account = self.account(index)?;
        let (range, rough_steps) = *self.earlier[0].get(index)?;
        Some((account.range / range, account.rough_steps - rough_steps))
    }

    /// The defect of the connection with this index of [`Graph::real_connections`](crate::Graph::real_connections).
    pub fn connection(&self, index: usize) -> Option<Defect> {
        self.account(index).map(|account| self.of(&account))
    }

    /// The defects of all connections, in the order of [`Graph::real_connections`](crate::Graph::real_connections).
    pub fn connections(&self) -> impl ExactSizeIterator<Item = Defect> {
        let account = |index: usize| self.pairs[index / LANES].account(index % LANES);
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
        }
    }
}

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
        run.defects().connection(0).unwrap()
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
        }
    }

    #[test]
    fn a_slow_receiver_is_compared_at_its_own_points() {
        let found = after(run("hold", 1.0, 2.0 * H), 4);
        // 1 is used up to 2·H, where 2 is given, and 2 up to the end, where −3 is.
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
