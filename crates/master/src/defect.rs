//! The defects of the connections: at the end of each step, the difference between the value that the
//! receiver used and the one that its source then gave.
//!
//! They are known in every run, without bonds and without saved states, and show how much an input misses
//! that is extrapolated, delayed or corrected. Sources: Glumac & Kovačić (2023), who call it the
//! connection defect; Kyllingstad et al. (2025), who control the step by it. Limits: an output that is
//! stale is compared as it was published, and an error that source and receiver share is not seen.

use crate::state::SystemState;
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
    accounts: Vec<Account>,
    /// The macro-steps that are over, for receivers that step with each of them, s.
    time: f64,
    /// Ranges and rough steps at the last powers of two of the number of steps, the older first.
    earlier: [Vec<(f64, u64)>; 2],
    /// Some connections are between components that do not step with each macro-step.
    has_slow: bool,
}

#[derive(Debug, Clone, Copy)]
struct Account {
    last: f64,
    /// Sum of the squares times the lengths of the steps.
    squares: f64,
    max: f64,
    least: f64,
    greatest: f64,
    /// Steps with a defect of more than a quarter of the range so far.
    rough_steps: u64,
}

impl Account {
    #[inline(always)]
    fn add(&mut self, used: f64, given: f64, length: f64) {
        let defect = used - given;
        self.last = defect;
        self.squares += defect * defect * length;
        self.max = self.max.max(defect.abs());
        self.least = self.least.min(given);
        self.greatest = self.greatest.max(given);
        self.rough_steps += u64::from(defect.abs() > ROUGH * (self.greatest - self.least));
    }
}

impl Defects {
    pub(crate) fn new(state: &SystemState) -> Self {
        let account = |input: &crate::state::InputCourse| {
            let given = input.fed(&state.signals.reals);
            Account {
                last: 0.0,
                squares: 0.0,
                max: 0.0,
                least: given,
                greatest: given,
                rough_steps: 0,
            }
        };
        Self {
            accounts: state.courses.inputs.iter().map(account).collect(),
            time: 0.0,
            earlier: [(); 2].map(|()| vec![(0.0, 0); state.courses.inputs.len()]),
            has_slow: state.units.members.iter().any(|member| member.every > 1),
        }
    }

    /// Adds the step that has just been made.
    #[inline]
    pub(crate) fn observe(&mut self, state: &SystemState, step: &Step) {
        let (courses, reals) = (&state.courses, &state.signals.reals[..]);
        self.time += step.size;
        if step.index.is_power_of_two() {
            self.keep();
        }
        if state.units.uniform {
            let sources = courses.values.iter().zip(&*courses.sources);
            for (account, (used, source)) in self.accounts.iter_mut().zip(sources) {
                account.add(*used, reals[*source as usize], step.size);
            }
            return;
        }
        let inputs = courses.inputs.iter().zip(&courses.values);
        for (account, (input, used)) in self.accounts.iter_mut().zip(inputs) {
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
            account.add(*used, input.fed(reals), length);
        }
    }

    #[cold]
    fn keep(&mut self) {
        self.earlier.swap(0, 1);
        for (kept, account) in self.earlier[1].iter_mut().zip(&self.accounts) {
            *kept = (account.greatest - account.least, account.rough_steps);
        }
    }

    /// Growth of a connection's range since less than half of the steps, and the rough steps since then.
    pub(crate) fn growth(&self, index: usize) -> Option<(f64, u64)> {
        let account = self.accounts.get(index)?;
        let (range, rough_steps) = *self.earlier[0].get(index)?;
        let growth = (account.greatest - account.least) / range;
        Some((growth, account.rough_steps - rough_steps))
    }

    /// The defect of the connection with this index of [`Graph::real_connections`](crate::Graph::real_connections).
    pub fn connection(&self, index: usize) -> Option<Defect> {
        self.accounts.get(index).map(|account| self.of(account))
    }

    /// The defects of all connections, in the order of [`Graph::real_connections`](crate::Graph::real_connections).
    pub fn connections(&self) -> impl ExactSizeIterator<Item = Defect> {
        self.accounts.iter().map(|account| self.of(account))
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
            range: account.greatest - account.least,
            magnitude: account.greatest.abs().max(account.least.abs()),
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
