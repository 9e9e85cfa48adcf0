//! The second run that verifies a suspicion: what is kept of the first one, and the comparison while the second one goes on.
//!
//! Whoever makes runs calls it: the command line and studies. It makes no run itself.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gyrator::observer::{ObserverError, StopRequest, View};
use gyrator::report::{Divergence, Report, Verdict};
use gyrator::{Observer, Run, RunError};
use serde::{Deserialize, Serialize};

use crate::divergence::{Decision, Difference, SHORT, decide, grows_after_a_third, has_grown_much};
use crate::size::{range, rms};

/// Most values that are kept, 8 bytes each, and rows in any case. Choices: 2048 to 4096 points show the course of any run that a plot
/// shows.
const MOST_VALUES: usize = 1 << 20;
const MOST_ROWS: usize = 1 << 12;
const FEWEST_ROWS: usize = 1 << 9;
/// The second run is looked at so many times on its way.
const LOOKS: usize = 32;
/// It ends early if it has shown, in so many looks in a row, an error of so many ranges, and [`decide`] would say so. Choices: far above
/// the least that it asks for, as an event that comes later in one of the runs makes a difference for a while.
const CLEAR_LOOKS: usize = 4;
const CLEAR_ERROR: f64 = 100.0;

/// The looped outputs of a run at its communication points: all of them, or every second, fourth … of a long run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Course {
    /// Places of the outputs in [`View::reals`].
    outputs: Vec<usize>,
    times: Vec<f64>,
    /// Row by row.
    values: Vec<f64>,
    /// Macro-steps between rows.
    stride: u64,
}

impl Course {
    /// Of a run that makes so many steps, as far as that is known.
    fn of(outputs: Vec<usize>, steps: u64) -> Self {
        let mut course = Self {
            outputs,
            stride: 1,
            ..Self::default()
        };
        let rows = course.most_rows() as u64;
        course.stride = steps.div_ceil(rows).max(1).next_power_of_two();
        course
    }

    fn most_rows(&self) -> usize {
        (MOST_VALUES / self.outputs.len().max(1)).clamp(FEWEST_ROWS, MOST_ROWS)
    }

    #[inline]
    fn push(&mut self, time: f64, steps: u64, reals: &[f64]) {
        // It is a power of two.
        if steps & (self.stride - 1) == 0 {
            self.keep(time, steps, reals);
        }
    }

    fn keep(&mut self, time: f64, steps: u64, reals: &[f64]) {
        // One row more, for the start.
        if self.times.len() > self.most_rows() {
            *self = self.every_second();
            return self.push(time, steps, reals);
        }
        self.times.push(time);
        match self.outputs[..] {
            // Often they are side by side, and copied at once.
            [first, .., last] if last - first + 1 == self.outputs.len() => {
                self.values.extend_from_slice(&reals[first..=last]);
            }
            _ => self
                .values
                .extend(self.outputs.iter().map(|output| reals[*output])),
        }
    }

    /// With the first, third … row.
    fn every_second(&self) -> Self {
        let rows = self.values.chunks(self.outputs.len().max(1)).step_by(2);
        Self {
            outputs: self.outputs.clone(),
            times: self.times.iter().copied().step_by(2).collect(),
            values: rows.flatten().copied().collect(),
            stride: 2 * self.stride,
        }
    }

    fn column(&self, signal: usize, rows: usize) -> Vec<f64> {
        let values = self.values.iter().skip(signal).step_by(self.outputs.len());
        values.take(rows).copied().collect()
    }

    /// As bytes, for another process.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let sizes = [
            self.outputs.len() as u64,
            self.times.len() as u64,
            self.stride,
        ];
        let outputs = self.outputs.iter().map(|output| *output as u64);
        let whole = sizes.into_iter().chain(outputs).map(u64::to_le_bytes);
        let reals = self
            .times
            .iter()
            .chain(&self.values)
            .map(|value| value.to_le_bytes());
        whole.chain(reals).flatten().collect()
    }

    /// From [`to_bytes`](Self::to_bytes); `None` if they are not of that form.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (words, []) = bytes.as_chunks::<8>() else {
            return None;
        };
        let ([width, rows, stride], words) = words.split_first_chunk()?;
        let [width, rows] = [width, rows].map(|size| usize::try_from(u64::from_le_bytes(*size)));
        let ((width, rows), stride) = (width.ok().zip(rows.ok())?, u64::from_le_bytes(*stride));
        let (outputs, words) = words.split_at_checked(width)?;
        let (times, values) = words.split_at_checked(rows)?;
        let output = |word: &[u8; 8]| usize::try_from(u64::from_le_bytes(*word)).ok();
        let reals =
            |words: &[[u8; 8]]| words.iter().map(|word| f64::from_le_bytes(*word)).collect();
        let is_whole = stride > 0 && Some(values.len()) == width.checked_mul(rows);
        is_whole.then_some(Self {
            outputs: outputs.iter().map(output).collect::<Option<_>>()?,
            times: reals(times),
            values: reals(values),
            stride,
        })
    }
}

/// Keeps the [course](Course) of a run that may become suspicious: an observer, which hands it over at the end of the run.
#[derive(Debug)]
pub struct Keeper {
    course: Course,
    kept: Kept,
}

/// Where a [`Keeper`] leaves the course.
#[derive(Debug, Clone, Default)]
pub struct Kept(Arc<Mutex<Course>>);

impl Kept {
    /// The course of a run that has ended.
    #[must_use]
    pub fn take(&self) -> Course {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Keeper {
    /// Adds one to a run; `None` if it has no loop, and can never be suspicious.
    ///
    /// # Errors
    /// If the run cannot take an observer.
    pub fn observe(run: &mut Run) -> Result<Option<Kept>, RunError> {
        let outputs = gyrator::run::looped_outputs(run);
        if outputs.is_empty() {
            return Ok(None);
        }
        let course = Course::of(outputs, gyrator::run::planned_steps(run));
        let kept = Kept::default();
        run.observe(Self {
            course,
            kept: kept.clone(),
        })?;
        Ok(Some(kept))
    }
}

impl Observer for Keeper {
    fn begin(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        self.step(view)
    }

    fn step(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        self.course.push(view.time, view.steps, view.reals);
        Ok(ControlFlow::Continue(()))
    }

    fn finish(&mut self, _: &Report) -> Result<(), ObserverError> {
        let mut kept = self.kept.0.lock().unwrap_or_else(PoisonError::into_inner);
        *kept = std::mem::take(&mut self.course);
        Ok(())
    }
}

/// What a second run has told.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    /// Of the first run.
    pub decision: Decision,
    /// The second run would not be suspicious itself.
    pub is_calm: bool,
    /// The first run has grown at least thirtyfold.
    pub has_grown_much: bool,
    /// The greatest error of a signal in the first run: root of the mean square, relative to the range. For errors of the first
    /// order, it is twice the difference from half the step.
    pub error: Option<f64>,
    /// All steps of the second run relative to the first one: ½, or 2 if an FMU takes no shorter step.
    pub factor: f64,
    /// Macro-steps of the second run.
    pub steps: u64,
}

impl Verification {
    /// Puts what it says into the report of the first run. `advice` is for a run that diverges.
    pub fn settle(&self, report: &mut Report, advice: impl FnOnce(Option<bool>) -> String) {
        let (steps, part) = (
            self.steps,
            if self.factor > 1.0 {
                "twice"
            } else {
                "half of"
            },
        );
        let growth = match self.has_grown_much {
            true => "have grown at least thirtyfold",
            false => "have grown",
        };
        match self.decision {
            Decision::Diverging => {
                report.settle(Divergence::Verified);
                report.advice = Some(advice(Some(self.is_calm)));
            }
            Decision::CannotTell => report.notes.push(format!(
                "signals of a loop {growth}, and a second run at {part} every step ({steps} macro-steps) does not tell \
                 whether the coupling is the reason"
            )),
            Decision::Ordinary => {
                self.replace_estimates(report);
                report.settle(Divergence::None);
                report.notes.push(format!(
                    "signals of a loop {growth}, by the system or an FMU's own solver and not by the coupling: a second run at {part} \
                     every step ({steps} macro-steps) has the same"
                ));
            }
        }
    }
}

impl Verification {
    /// The estimate of one run counts growth as the coupling's; this one does not.
    fn replace_estimates(&self, report: &mut Report) {
        let Some(error) = self.error else {
            return;
        };
        report.coupling_error_estimate = Some(error);
        report.estimated_verdict = Verdict::from_relative_error(error);
        for bond in &mut report.bonds {
            // A part cannot be worse than the whole, of which the second run shows all signals in loops.
            let estimate = bond
                .coupling_error_estimate
                .map_or(error, |own| own.min(error));
            bond.coupling_error_estimate = Some(estimate);
            bond.estimated_verdict = Verdict::from_relative_error(estimate);
        }
    }
}

/// Compares a second run with the first one while it goes on: an observer of the second run.
#[derive(Debug, Clone)]
pub struct Comparing(Arc<Mutex<Comparison>>);

#[derive(Debug)]
struct Comparison {
    first: Course,
    /// All steps of the second run relative to the first one.
    factor: f64,
    /// Signal by signal, at the times of the first run.
    values: Vec<Vec<f64>>,
    /// The last communication point.
    time: f64,
    reals: Vec<f64>,
    steps: u64,
    /// Looks in a row that have shown a clear error, and rows before the next look.
    clear_looks: usize,
    next_look: usize,
    /// The looks have ended the second run.
    has_ended: bool,
}

impl Comparing {
    /// With the course of the first run; all steps of the second one are `factor` times as long: half, or twice if an FMU
    /// takes no less.
    #[must_use]
    pub fn with(first: Course, factor: f64) -> Self {
        let first = match factor > 1.0 && first.stride == 1 {
            true => first.every_second(),
            false => first,
        };
        let comparison = Comparison {
            factor,
            values: vec![Vec::with_capacity(first.times.len()); first.outputs.len()],
            time: f64::NEG_INFINITY,
            reals: Vec::new(),
            steps: 0,
            clear_looks: 0,
            has_ended: false,
            next_look: first.times.len().div_ceil(LOOKS),
            first,
        };
        Self(Arc::new(Mutex::new(comparison)))
    }

    fn comparison(&self) -> MutexGuard<'_, Comparison> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the second run has told so far.
    #[must_use]
    pub fn verification(&self) -> Verification {
        self.comparison().verification()
    }
}

impl Comparison {
    /// Takes the rows of the first run up to this time, by straight lines between the points of the second one.
    fn take(&mut self, time: f64, steps: u64, reals: &[f64]) {
        self.steps = steps;
        let length = time - self.time;
        let end = time
            + if length.is_finite() {
                1e-6 * length
            } else {
                0.0
            };
        while let Some(wanted) = self
            .first
            .times
            .get(self.rows())
            .filter(|wanted| **wanted <= end)
        {
            let part = match length.is_finite() && length > 0.0 {
                true => ((wanted - self.time) / length).clamp(0.0, 1.0),
                false => 1.0,
            };
            for (place, (values, output)) in
                self.values.iter_mut().zip(&self.first.outputs).enumerate()
            {
                let now = reals.get(*output).copied().unwrap_or(f64::NAN);
                let before = self.reals.get(place).copied().unwrap_or(now);
                values.push(if part < 1.0 {
                    before + part * (now - before)
                } else {
                    now
                });
            }
        }
        self.time = time;
        self.reals.clear();
        let now = self
            .first
            .outputs
            .iter()
            .map(|output| reals.get(*output).copied().unwrap_or(f64::NAN));
        self.reals.extend(now);
    }

    fn rows(&self) -> usize {
        self.values.first().map_or(usize::MAX, Vec::len)
    }

    /// Whether the second run need not go on.
    fn is_clear(&mut self) -> bool {
        let rows = self.rows();
        if rows < self.next_look || self.factor > 1.0 {
            return false;
        }
        self.next_look = rows + self.first.times.len().div_ceil(LOOKS);
        let is_clear = |(place, values): (usize, &Vec<f64>)| {
            values.iter().all(|value| value.is_finite())
                && Difference::between(&self.first.column(place, rows), values).error >= CLEAR_ERROR
        };
        self.clear_looks = match self.values.iter().enumerate().any(is_clear) {
            true => self.clear_looks + 1,
            false => 0,
        };
        self.has_ended = self.clear_looks >= CLEAR_LOOKS
            && self.decision(&self.columns(rows)) == Decision::Diverging;
        self.has_ended
    }

    /// The first run, signal by signal, over so many rows.
    fn columns(&self, rows: usize) -> Vec<Vec<f64>> {
        let signals = 0..self.values.len();
        signals
            .map(|signal| self.first.column(signal, rows))
            .collect()
    }

    /// Of the first run over the rows of these columns of it.
    fn decision(&self, columns: &[Vec<f64>]) -> Decision {
        let pairs = columns.iter().zip(&self.values);
        if self.factor <= 1.0 {
            let pairs = pairs.map(|(first, second)| [&first[..], &second[..]]);
            return decide(&pairs.collect::<Vec<_>>());
        }
        // That the coarser run diverges says nothing of this one; that both agree does.
        let is_whole = columns.iter().all(|column| column.len() <= self.rows());
        let pairs = pairs.map(|(first, second)| [&second[..], &first[..]]);
        match is_whole && decide(&pairs.collect::<Vec<_>>()) == Decision::Ordinary {
            true => Decision::Ordinary,
            false => Decision::CannotTell,
        }
    }

    /// As [`Verification::error`].
    fn error(&self, columns: &[Vec<f64>]) -> f64 {
        // y(H) − y(H/2) is half the error of y(H), if that is of the first order, and y(2H) − y(H) all of it.
        let part = if self.factor > 1.0 { 1.0 } else { 2.0 };
        let of_signal = |(first, second): (&Vec<f64>, &Vec<f64>)| {
            let differences: Vec<f64> = first.iter().zip(second).map(|(x, y)| x - y).collect();
            let finer = if self.factor > 1.0 { first } else { second };
            match rms(&differences) {
                0.0 => 0.0,
                difference => part * difference / range(finer),
            }
        };
        columns
            .iter()
            .zip(&self.values)
            .map(of_signal)
            .fold(0.0, f64::max)
    }

    fn verification(&self) -> Verification {
        let rows = match self.has_ended {
            true => self.rows(),
            false => self.first.times.len(),
        };
        let columns = self.columns(rows);
        let is_whole = self.rows() == self.first.times.len();
        let is_calm = |values: &Vec<f64>| {
            values.iter().all(|value| value.is_finite()) && !grows_after_a_third(values)
        };
        Verification {
            decision: self.decision(&columns),
            // Of fewer points two runs may agree by chance.
            error: (is_whole && rows > SHORT).then(|| self.error(&columns)),
            is_calm: is_whole && self.values.iter().all(is_calm),
            has_grown_much: columns.iter().any(|values| has_grown_much(values)),
            factor: self.factor,
            steps: self.steps,
        }
    }
}

impl Observer for Comparing {
    fn begin(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        self.step(view)
    }

    fn step(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        let mut comparison = self.comparison();
        comparison.take(view.time, view.steps, view.reals);
        Ok(match comparison.is_clear() {
            true => ControlFlow::Break(StopRequest::Limit("it differs enough".to_owned())),
            false => ControlFlow::Continue(()),
        })
    }
}

#[cfg(test)]
mod tests {
    use gyrator::{LinearUnit, RunOptions, System};

    use super::*;
    use crate::companions::Assessment;

    /// The course of sin(t) over 1000 steps of 0.01 s, in a signal at this place of three.
    fn course(place: usize) -> Course {
        let mut course = Course {
            outputs: vec![place],
            stride: 1,
            ..Course::default()
        };
        (0..=1000).for_each(|step| {
            course.push(0.01 * step as f64, step, &row(0.01 * step as f64, place));
        });
        course
    }

    fn row(time: f64, place: usize) -> [f64; 3] {
        let mut row = [f64::NAN; 3];
        row[place] = time.sin();
        row
    }

    fn compare(first: Course, factor: f64, value: impl Fn(f64) -> f64) -> Verification {
        let comparing = Comparing::with(first, factor);
        let mut comparison = comparing.comparison();
        let steps = (1000.0 / factor) as u64;
        for step in 0..=steps {
            let time = 0.01 * factor * step as f64;
            comparison.take(time, step, &[0.0, value(time), 0.0]);
            if comparison.is_clear() {
                break;
            }
        }
        drop(comparison);
        comparing.verification()
    }

    #[test]
    fn equal_runs_are_ordinary_whatever_their_steps() {
        for factor in [0.5, 2.0] {
            let found = compare(course(1), factor, f64::sin);
            let steps = (1000.0 / factor) as u64;
            assert_eq!((found.decision, found.steps), (Decision::Ordinary, steps));
            assert!(found.error.unwrap() < 1e-12, "{found:?}");
            assert!(found.is_calm && !found.has_grown_much);
        }
    }

    #[test]
    fn the_error_is_twice_the_difference_from_half_the_step() {
        let found = compare(course(1), 0.5, |time| 1.01 * time.sin());
        // The root of the mean square of a sine is 0.7 of half its range.
        let expected = 2.0 * 0.01 * 0.5_f64.sqrt() / 2.02;
        assert!(
            (found.error.unwrap() / expected - 1.0).abs() < 0.05,
            "{found:?}"
        );
    }

    /// A mass on a spring, whose report says that one bond is suspected, and another one is worse than the second run shows of
    /// the whole.
    #[test]
    fn no_bond_is_worse_than_the_run_that_was_cleared() {
        let mut system = System::new(0.01);
        let mass: [&[f64]; 4] = [&[0.0], &[1.0], &[1.0], &[0.0]];
        system.add("mass", LinearUnit::new(&[1.0], &["f"], &["v"], mass));
        let spring: [&[f64]; 4] = [&[0.0], &[-1.0], &[1.0], &[0.0]];
        system.add("spring", LinearUnit::new(&[0.0], &["v"], &["f"], spring));
        system.bond("one", ("spring.f", "mass.f"), ("mass.v", "spring.v"));
        system.stop_time(1.0);
        let mut run = system.start(&RunOptions::default()).unwrap();
        run.run().unwrap();
        let mut report = run.report();
        report.divergence = Divergence::Suspected;
        let mut other = report.bonds[0].clone();
        other.estimated_verdict = Verdict::Dominating;
        other.verdict = Verdict::Dominating;
        other.coupling_error_estimate = Some(0.5);
        report.bonds[0].divergence = Divergence::Suspected;
        report.bonds[0].verdict = Verdict::CannotTell;
        report.bonds[0].coupling_error_estimate = Some(1e-3);
        report.bonds.push(other);
        let amended = |verdict: Verdict| {
            let mut report = report.clone();
            let assessment = Assessment {
                verdict: Some(verdict),
                ..Assessment::none(&[], "a test")
            };
            assessment.amend(&mut report, |_| String::new());
            let bonds = report.bonds.iter();
            (report.verdict, bonds.map(|bond| bond.verdict).max())
        };
        assert_eq!(
            amended(Verdict::Small),
            (Verdict::Small, Some(Verdict::Small))
        );
        let mut found = compare(course(1), 0.5, f64::sin);
        found.error = Some(0.02);
        found.settle(&mut report, |_| String::new());
        assert_eq!(report.verdict, Verdict::Visible);
        let bonds: Vec<_> = report.bonds.iter().map(|bond| bond.verdict).collect();
        assert_eq!(bonds, [Verdict::Small, Verdict::Visible]);
        assert_eq!(report.bonds[1].coupling_error_estimate, Some(0.02));
    }

    #[test]
    fn a_coarser_run_that_differs_tells_nothing() {
        let found = compare(course(1), 2.0, |time| (4.0 * time).exp());
        assert_eq!(found.decision, Decision::CannotTell);
    }

    #[test]
    fn a_clear_answer_ends_the_second_run() {
        let found = compare(course(1), 0.5, |time| 1e-4 * time.sin());
        assert_eq!(found.decision, Decision::Diverging);
        assert!(found.steps < 2000 / 4, "{found:?}");
        assert!(!found.is_calm && found.error.is_none());
    }

    /// Fewer points than the rule for long runs needs: `(-1.7)ⁿ` and, at half the step, `(-1.2)ⁿ`.
    #[test]
    fn an_early_end_does_not_hide_a_clear_answer() {
        let mut first = Course {
            outputs: vec![0],
            stride: 1,
            ..Course::default()
        };
        let grows = |factor: f64, step: u64| factor.powi(step as i32) - 1.0;
        (0..=50).for_each(|step| first.push(step as f64, step, &[grows(-1.7, step)]));
        let comparing = Comparing::with(first, 0.5);
        let mut comparison = comparing.comparison();
        for step in 0..=100 {
            comparison.take(0.5 * step as f64, step, &[grows(-1.2, step)]);
            if comparison.is_clear() {
                break;
            }
        }
        drop(comparison);
        let found = comparing.verification();
        assert_eq!(found.decision, Decision::Diverging, "{found:?}");
    }

    #[test]
    fn long_runs_are_thinned_and_compared_at_their_points() {
        let mut long = Course {
            outputs: vec![1],
            stride: 1,
            ..Course::default()
        };
        (0..=100_000_u64)
            .for_each(|step| long.push(1e-4 * step as f64, step, &row(1e-4 * step as f64, 1)));
        assert!(long.times.len() <= MOST_ROWS + 1 && long.times.len() > MOST_ROWS / 2);
        let planned = Course::of(vec![1], 100_000);
        assert_eq!((planned.stride, planned.times.len()), (long.stride, 0));
        assert_eq!(long.times[1], 1e-4 * long.stride as f64);
        let found = compare(long, 0.5, f64::sin);
        assert_eq!(found.decision, Decision::Ordinary);
    }

    #[test]
    fn a_course_goes_to_another_process_bit_by_bit() {
        let course = course(1);
        assert_eq!(Course::from_bytes(&course.to_bytes()), Some(course.clone()));
        let bytes = course.to_bytes();
        for end in [0, 7, 8, 24, bytes.len() - 8, bytes.len() - 1] {
            assert_eq!(Course::from_bytes(&bytes[..end]), None, "{end}");
        }
        let mut huge = bytes;
        huge[..8].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(Course::from_bytes(&huge), None);
    }
}
