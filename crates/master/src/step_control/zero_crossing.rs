//! Steps that end near the zeros of signals. The past of a signal f predicts the steps n until it is 0, by a line or a
//! parabola through its last values; the next step is H′ = n·H for n ≤ 1, and a multiple of H by bins of n before that. A step
//! that has passed a zero by more than the tolerance is made again, with the size at which the line between its ends is 0.
//!
//! Source: the constraint `zerocrossing` of Maestro (Thule et al. 2019), its bins and its predictor. Use it if units switch
//! at levels of outputs that they share. Limits: without saved states the prediction alone; a signal that touches 0 within a
//! step, or crosses it twice, is not seen. Own: the zero is located, while Maestro takes a quarter of the step; the tolerance
//! is relative to nominal values.

use super::signals::{ALL, ControlledSignal};
use super::sizes::{self, Sizes, keeps_its_state};
use super::{ControlledSystem, StepAudit, StepControl, StepControlFacts, StepDecision};
use crate::registry::{Arguments, Entry, POSITIVE, ParameterInfo, ParameterKind};
use crate::state_stream::stored;

/// The controller: its parameters, and the pasts of its signals.
#[derive(Debug, Clone)]
struct ZeroCrossing {
    names: String,
    tolerance: f64,
    is_line: bool,
    margin: f64,
    sizes: Sizes,
    watched: Vec<ControlledSignal>,
    /// The last values of each.
    pasts: Vec<Past>,
    /// Length since the size could change last, s.
    length: f64,
    signals: [(&'static str, f64); 1],
}

/// The last values of a signal.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Past {
    /// The last one first.
    values: [f64; 3],
    /// Lengths between them, s.
    lengths: [f64; 2],
    known: u64,
    /// Error of the extrapolation over a step, relative to the value.
    error: f64,
}

stored!(Past {
    values,
    lengths,
    known,
    error
});
// `tolerance`, `margin` and the parabola are the defaults of Maestro.
pub(super) const ENTRY: Entry<dyn StepControl> = Entry {
    name: "zero-crossing",
    summary: "steps that end near the zeros of signals; a zero that was passed is located where units save their states",
    source: "Thule 2019, Maestro",
    parameters: &[
        ParameterInfo {
            name: "signals",
            summary: "all real outputs, or names of some, and of differences as `a.x - b.y`",
            kind: ParameterKind::Signals(&[ALL]),
        },
        ParameterInfo {
            name: "tolerance",
            summary: "value that stands for 0, relative to the nominal value of the signal",
            kind: ParameterKind::Number {
                default: 1e-3,
                range: POSITIVE,
            },
        },
        ParameterInfo {
            name: "prediction",
            summary: "parabola through the last three values, or line through the last two",
            kind: ParameterKind::Word(&["parabola", "line"]),
        },
        ParameterInfo::number(
            "margin",
            "margin s of the prediction: n/(1 + s) steps in place of n",
            0.0,
            (0.0, 10.0),
        ),
        sizes::FIRST,
        sizes::MINIMUM,
        sizes::MAXIMUM,
    ],
    facts: |arguments, ()| StepControlFacts {
        may_repeat: true,
        contradiction: sizes::contradiction(arguments),
        ..StepControlFacts::default()
    },
    build: |arguments| Box::new(ZeroCrossing::new(arguments)),
};

/// Limits of the part of a step at whose end a zero is sought: the line between its ends is not more exact.
const LOCATED: (f64, f64) = (0.1, 0.9);

impl ZeroCrossing {
    fn new(arguments: &Arguments) -> Self {
        Self {
            names: arguments.text("signals").to_owned(),
            tolerance: arguments.number("tolerance"),
            is_line: arguments.word("prediction") == "line",
            margin: arguments.number("margin"),
            sizes: Sizes::new(arguments),
            watched: Vec::new(),
            pasts: Vec::new(),
            length: 0.0,
            signals: [("step_size", 0.0)],
        }
    }

    /// The part of the step after which the first signal that has passed 0 by more than the tolerance is 0.
    fn passed(&self, outputs: &[f64]) -> Option<f64> {
        let watched = self.watched.iter().zip(&self.pasts);
        let parts = watched.filter_map(|(signal, past)| {
            let (before, after) = (past.values[0], signal.value(outputs));
            let least = before.abs().min(after.abs());
            let has_passed = before * after < 0.0 && least > self.tolerance * signal.nominal;
            has_passed.then(|| before.abs() / (before.abs() + after.abs()))
        });
        let first = parts.reduce(f64::min)?;
        Some(first.clamp(LOCATED.0, LOCATED.1))
    }
}

impl Past {
    /// The past after a step of this length, s, to a value.
    fn and_then(&self, value: f64, length: f64, is_line: bool) -> Self {
        let [last, before, _] = self.values;
        let (slope, curvature) = self.derivatives(is_line);
        let expected = last + length * (slope + 0.5 * length * curvature);
        let error = match self.known > 1 && value != 0.0 {
            true => ((value - expected) / value).abs(),
            false => 0.0,
        };
        Self {
            values: [value, last, before],
            lengths: [length, self.lengths[0]],
            known: self.known + 1,
            error: match error >= self.error {
                true => error,
                false => 0.7 * self.error + 0.3 * error,
            },
        }
    }

    /// First and second derivative at the last value, as far as they are known.
    fn derivatives(&self, is_line: bool) -> (f64, f64) {
        let ([now, last, before], [length, earlier]) = (self.values, self.lengths);
        if self.known < 2 {
            return (0.0, 0.0);
        }
        let slope = (now - last) / length;
        if self.known < 3 || is_line {
            return (slope, 0.0);
        }
        let half = (slope + (before - last) / earlier) / (length + earlier);
        (slope + half * length, 2.0 * half)
    }

    /// Steps of the last length until the signal is 0; infinite if it moves away from 0.
    fn steps_to_zero(&self, is_line: bool) -> f64 {
        let (slope, curvature) = self.derivatives(is_line);
        let value = self.values[0];
        let time = if curvature == 0.0 {
            -value / slope
        } else {
            // The smaller positive root, without the difference of numbers that are nearly equal.
            let root = (slope * slope - 2.0 * curvature * value).sqrt();
            let sum = -slope - root.copysign(slope);
            let times = [sum / curvature, 2.0 * value / sum].into_iter();
            times
                .filter(|time| *time > 0.0)
                .fold(f64::INFINITY, f64::min)
        };
        match time > 0.0 {
            true => time / self.lengths[0],
            false => f64::INFINITY,
        }
    }

    /// The ratio of the next step to the last one; 0 if the smallest step is due.
    fn ratio(&self, tolerance: f64, is_line: bool, margin: f64) -> f64 {
        let [now, last, before] = self.values;
        let bin = |near: f64, within: f64, outside: f64| {
            if now.abs() < 0.5 * tolerance {
                near
            } else if now.abs() < tolerance {
                within
            } else {
                outside
            }
        };
        if now * last <= 0.0 {
            let is_other = now * last < 0.0 && now * before >= 0.0 && self.known > 2;
            let oscillates = is_other && before.abs() < last.abs() && last.abs() < now.abs();
            return match oscillates {
                true => bin(1.0, 0.5, 0.0),
                false => bin(1.2, 1.0, 0.5),
            };
        }
        if now.abs() >= last.abs() {
            return 3.0;
        }
        let steps = self.steps_to_zero(is_line) / (1.0 + self.error + margin);
        let outside = match steps {
            ..=1.0 => steps,
            ..=1.8 => 0.5,
            ..=3.0 => 1.0,
            ..=30.0 => 1.2,
            _ => 3.0,
        };
        bin(1.2, 1.0, outside)
    }
}

impl StepControl for ZeroCrossing {
    fn first(&mut self, system: &ControlledSystem<'_>) -> f64 {
        self.watched = system.signals(&self.names);
        let pasts = self.watched.iter().map(|signal| Past {
            values: [signal.value(system.values), 0.0, 0.0],
            known: 1,
            ..Past::default()
        });
        self.pasts = pasts.collect();
        self.sizes.begin(system.macro_step, system.macro_step)
    }

    fn next(&mut self, audit: &StepAudit<'_>) -> StepDecision {
        let size = audit.step.size;
        self.length += size;
        if !audit.may_change {
            return StepDecision::Continue(size);
        }
        if let Some(part) = self.passed(audit.outputs) {
            let shorter = self.sizes.limited(part * size);
            if audit.can_shrink_to(shorter) {
                self.length = 0.0;
                return StepDecision::Redo {
                    size: shorter,
                    parts: 1,
                };
            }
        }
        self.signals[0].1 = size;
        let length = std::mem::take(&mut self.length);
        let (is_line, margin) = (self.is_line, self.margin);
        let mut least = f64::INFINITY;
        for (signal, past) in self.watched.iter().zip(&mut self.pasts) {
            *past = past.and_then(signal.value(audit.outputs), length, is_line);
            let ratio = past.ratio(self.tolerance * signal.nominal, is_line, margin);
            least = least.min(ratio);
        }
        StepDecision::Continue(self.sizes.limited(size * least))
    }

    fn refused(&mut self, size: f64) -> Option<f64> {
        self.length = 0.0;
        self.sizes.halved(size)
    }

    keeps_its_state!();
}

stored!(ZeroCrossing {
    pasts, length, signals;
    watched, names, tolerance, is_line, margin, sizes
});

#[cfg(test)]
mod tests {
    use super::Past;

    fn past(values: &[f64], is_line: bool) -> Past {
        let start = Past {
            values: [values[0], 0.0, 0.0],
            known: 1,
            ..Past::default()
        };
        let steps = values[1..].iter();
        steps.fold(start, |past, value| past.and_then(*value, 0.5, is_line))
    }

    /// f = 4 − t² is 0 at t = 2, and f = 2 − t too.
    #[test]
    fn parabolas_and_lines_are_predicted_exactly() {
        let parabola = past(&[4.0, 3.75, 3.0], false);
        assert!((parabola.steps_to_zero(false) - 2.0).abs() < 1e-14);
        let line = past(&[2.0, 1.5, 1.0], true);
        assert!((line.steps_to_zero(true) - 2.0).abs() < 1e-14);
        assert_eq!(line.error, 0.0);
        // f = t² + 1 has no zero, and f = t² − 1 has left its own.
        assert_eq!(
            past(&[1.25, 1.0, 1.25], false).steps_to_zero(false),
            f64::INFINITY
        );
        assert_eq!(
            past(&[1.25, 3.0, 5.25], false).steps_to_zero(false),
            f64::INFINITY
        );
        assert_eq!(past(&[1.0, 1.0], true).ratio(1e-3, true, 0.0), 3.0);
    }

    #[test]
    fn ratios_follow_the_bins() {
        for (values, ratio) in [
            // Away from 0; half a step, one and a half, two, four, forty-nine steps before it.
            (&[1.0, 2.0][..], 3.0),
            (&[3.0, 1.0], 0.5),
            (&[5.0, 3.0], 0.5),
            (&[3.0, 2.0], 1.0),
            (&[5.0, 4.0], 1.2),
            (&[50.0, 49.0], 3.0),
            // Just passed; within the tolerance, well within, and on 0.
            (&[2.0, -1.0], 0.5),
            (&[2.0, -0.075], 1.0),
            (&[2.0, -0.025], 1.2),
            (&[2.0, 0.0], 1.2),
            // Oscillations that build up.
            (&[1.0, -2.0, 3.0], 0.0),
        ] {
            let found = past(values, true).ratio(0.1, true, 0.0);
            assert!((found - ratio).abs() < 1e-14, "{values:?}: {found}");
        }
        // A margin of 1 halves the steps until the zero.
        assert_eq!(past(&[3.0, 1.0], true).ratio(0.1, true, 1.0), 0.25);
    }
}
