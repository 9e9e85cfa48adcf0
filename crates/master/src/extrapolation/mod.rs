//! From the past of a signal to its curve over the coming step.

mod auto;
mod h_infinity;
mod hermite;
mod history;
mod hold;
mod mean_hold;
mod means;
mod polynomial;
mod secant_linear;
mod spacing;

pub use crate::curve::Curve;
use crate::need::{Facts, Need, where_true};
use crate::registry::{Entry, EntryKind};
use crate::state_stream::{StateStream, stored};

/// A published value of the signal that feeds an input.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sample {
    /// Simulated time since the start, s.
    pub time: f64,
    /// The value, in the input's unit.
    pub value: f64,
    /// Its derivative by time as the source declares it, per second; asked for if the
    /// extrapolation [needs it](ExtrapolationFacts::needs_slope).
    pub slope: Option<f64>,
}

/// Steps of the source and of the receiver of a signal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignalSteps {
    /// From one exchange to the next, s.
    pub exchange: f64,
    /// Communication steps of the source from one exchange to the next.
    pub source_parts: u32,
    /// Communication steps of the receiver from one exchange to the next.
    pub receiver_parts: u32,
    /// Communication steps of the receiver in a step that one curve is for.
    pub curve_parts: u32,
    /// The receiver accepts derivatives of its inputs.
    pub takes_slopes: bool,
    /// Highest degree of curves that the receiver follows in one of its communication steps, or from one of several to the
    /// next; 0 if it takes one value a step.
    pub follows: usize,
    /// The signal depends directly on an input of its source.
    pub feeds_through: bool,
}

/// Facts about an extrapolation before it is made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExtrapolationFacts {
    /// Highest degree of the curves.
    pub degree: usize,
    /// Published values after the first until a polynomial of that degree is continued exactly.
    pub values_until_exact: usize,
    /// The curve is the newest value, which the engine copies without a past.
    pub is_plain_hold: bool,
    /// Samples should come with a slope if the source can provide it.
    pub needs_slope: bool,
    /// The value at each communication step of the source is to be observed, and not only those
    /// that are published. Macro-steps have to be equal then.
    pub needs_substeps: bool,
    /// Each communication step of the receiver has a curve of its own
    /// ([`next_piece`](Extrapolation::next_piece)), of which [`curve`](Extrapolation::curve) gives
    /// the ends only.
    pub comes_in_pieces: bool,
    /// The value of a curve is the mean of the prediction over the communication step of the receiver that starts there.
    pub gives_means: bool,
    /// Reason why the extrapolation cannot work in the steps of this signal, and the remedy.
    pub misfit: Option<String>,
}

impl ExtrapolationFacts {
    /// Of curves of this degree through as many values as that takes.
    pub fn polynomial(degree: usize) -> Self {
        Self {
            degree,
            values_until_exact: degree,
            ..Self::default()
        }
    }
}

impl Facts for ExtrapolationFacts {
    fn needs(&self) -> Vec<Need> {
        where_true([
            (Need::WithinStep, self.needs_substeps),
            (Need::EqualSteps, self.needs_substeps),
        ])
    }
}

impl EntryKind for dyn Extrapolation {
    const NAME: &'static str = "extrapolation";
    const ALIASES: &'static [(&'static str, &'static str)] = &[("zoh", "hold"), ("foh", "linear")];
    type Made = Box<dyn Extrapolation>;
    type Context = SignalSteps;
    type Facts = ExtrapolationFacts;
    const USUAL: SignalSteps = SignalSteps {
        exchange: 1.0,
        source_parts: 10,
        receiver_parts: 10,
        curve_parts: 10,
        takes_slopes: true,
        follows: usize::MAX,
        feeds_through: false,
    };
}

/// A change of the [order](Extrapolation::order) of a prediction.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct OrderChange {
    /// Simulated time since the start, s.
    pub time: f64,
    /// The order before.
    pub from: u32,
    /// The order since then.
    pub to: u32,
}

/// Extrapolates one input.
pub trait Extrapolation: Send {
    /// Receives, once and before the first value, the steps of the source and of the receiver.
    ///
    /// # Errors
    /// The [misfit](ExtrapolationFacts::misfit) of the entry's facts.
    fn prepare(&mut self, steps: &SignalSteps) -> Result<(), String> {
        let _ = steps;
        Ok(())
    }

    /// Takes a new published value. A second value for the same time replaces the first.
    fn observe(&mut self, sample: Sample);

    /// The course of the input from `now` (s since the start) on, for a step of length `step`, s.
    fn curve(&self, now: f64, step: f64) -> Curve;

    /// The value that is predicted for `time`, s since the start.
    fn at(&self, time: f64) -> f64 {
        self.curve(time, 0.0).at(0.0)
    }

    /// The course of the input over the next communication step of the receiver, of length `size`, s,
    /// from its start on; asked for in turn if the course [comes in
    /// pieces](ExtrapolationFacts::comes_in_pieces).
    fn next_piece(&mut self, size: f64) -> Curve {
        self.curve(0.0, size)
    }

    /// Forgets the past, all but the newest value: after a discontinuity.
    fn clear(&mut self);

    /// The newest value differs from the prediction as it only does at a discontinuity that no event has announced. Forgets
    /// the past by default.
    fn jumped(&mut self) {
        self.clear();
    }

    /// Whether the receiver gets means over its communication steps.
    fn gives_means(&self) -> bool {
        false
    }

    /// The newest value less the one that was predicted for its time, if the receiver [got the mean](Self::gives_means) of
    /// the prediction, which does not apply to the end of a step.
    fn error_of_prediction(&self) -> Option<f64> {
        None
    }

    /// The receiver shows to make so many inner steps in a macro-step, and to take its inputs as they are at the start of
    /// each (see the source of `auto`); asked for if the extrapolation [gives means](Self::gives_means).
    fn follow_inner_steps(&mut self, count: u32) {
        let _ = count;
    }

    /// The number of inner steps that is followed, and the time from which on, s since the start.
    fn inner_steps(&self) -> Option<(u32, f64)> {
        None
    }

    /// Order of the prediction that is in use now; a curve may keep less of it.
    fn order(&self) -> usize;

    /// The last changes of that order which the past of the signal has caused, oldest first.
    fn changes(&self) -> &[OrderChange] {
        &[]
    }

    /// Another one with the same past, to go back to.
    fn duplicate(&self) -> Box<dyn Extrapolation>;

    /// Writes the state to a stream, or reads it from there into one that was made and prepared alike: all that changes in a
    /// run. The default refuses: the state of a run with it is not kept in a file.
    fn transfer(&mut self, stream: &mut StateStream) {
        stream.unable();
    }
}

impl Clone for Box<dyn Extrapolation> {
    fn clone(&self) -> Self {
        self.duplicate()
    }
}

/// Every extrapolation, by its word in a system file.
pub const EXTRAPOLATIONS: &[Entry<dyn Extrapolation>] = &[
    hold::ENTRY,
    polynomial::LINEAR,
    polynomial::QUADRATIC,
    auto::ENTRY,
    hermite::ENTRY,
    secant_linear::ENTRY,
    mean_hold::ENTRY,
    h_infinity::ENTRY,
];

stored!(Sample { time, value, slope });
stored!(OrderChange { time, from, to });

#[cfg(test)]
mod tests {
    use gyrator_system::Choice;

    use super::*;
    use crate::registry::look_up;

    /// Each entry continues a polynomial of its degree exactly once as many values have come as its
    /// facts say. Each difference of the polynomial is much less than the one before, so that `auto`
    /// raises its degree with each value.
    #[test]
    fn polynomials_are_continued_once_enough_values_have_come() {
        for entry in EXTRAPOLATIONS {
            let chosen = look_up(EXTRAPOLATIONS, &Choice::new(entry.name)).unwrap();
            let facts = chosen.usual_facts();
            if facts.needs_substeps {
                continue;
            }
            let coefficients = [1000.0, 100.0, 10.0, 1.0];
            let degrees = 0..=facts.degree as i32;
            let terms = || degrees.clone().zip(coefficients);
            let value = |t: f64| terms().map(|(n, c)| c * t.powi(n)).sum::<f64>();
            let slope = |t: f64| {
                let terms = terms().skip(1);
                terms.map(|(n, c)| f64::from(n) * c * t.powi(n - 1)).sum()
            };
            let mut made = chosen.build();
            let mut now = 0.0;
            for k in 0..=facts.values_until_exact {
                now = k as f64;
                made.observe(Sample {
                    time: now,
                    value: value(now),
                    slope: facts.needs_slope.then(|| slope(now)),
                });
            }
            let curve = made.duplicate().curve(now, 0.5);
            for s in [0.0, 0.25, 0.5] {
                let error = curve.at(s) - value(now + s);
                assert!(error.abs() < 1e-9, "{}: {error}", entry.name);
            }
            if !facts.comes_in_pieces {
                assert_eq!(made.next_piece(0.5), made.curve(0.0, 0.5));
            }
            let error = made.at(now + 0.5) - value(now + 0.5);
            assert!(error.abs() < 1e-9, "{}: {error}", entry.name);
            // The usual receiver follows curves: it gets no means, and no inner steps of it are followed.
            assert!(!made.gives_means() && made.inner_steps().is_none());
            assert_eq!(facts.is_plain_hold, entry.name == "hold");
            assert_eq!(facts.needs_slope, entry.name == "hermite");
        }
    }

    /// The newest value, and how often the past was forgotten.
    #[derive(Clone, Default)]
    struct Least(f64, u32);

    impl Extrapolation for Least {
        fn observe(&mut self, sample: Sample) {
            self.0 = sample.value;
        }

        fn curve(&self, now: f64, step: f64) -> Curve {
            Curve::line(self.0 + now, step)
        }

        fn clear(&mut self) {
            self.1 += 1;
        }

        fn order(&self) -> usize {
            0
        }

        fn duplicate(&self) -> Box<dyn Extrapolation> {
            Box::new(self.clone())
        }
    }

    /// One of another program that says no more than it has to.
    #[test]
    fn an_extrapolation_has_no_means_and_forgets_jumps() {
        let mut least = Least(2.0, 0);
        least.jumped();
        assert_eq!(least.1, 1);
        assert_eq!(least.at(3.0), 5.0);
        assert_eq!(least.next_piece(0.5), Curve::line(2.0, 0.5));
        assert!(!least.gives_means());
        assert_eq!(least.error_of_prediction(), None);
        assert_eq!(least.inner_steps(), None);
        assert_eq!(least.changes(), []);
        // Its state is not kept in a file.
        let mut stream = StateStream::to_write();
        least.transfer(&mut stream);
        assert!(stream.trouble().is_some());
    }
}
