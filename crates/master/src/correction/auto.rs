//! Damping from the ledger where nothing better is known, dropped where it harms.
//!
//! Where outputs of the bond are stale and D is known, this is `residual-power` with `mu = "audit"`. Where D is not known, the
//! energy that the bond makes, ζ = μ·δE, is taken out by a damper, Δf = −c·q, q being the weighted flow and
//! c = max(0, Σζ/Σ‖q‖²·H) over a window, as a least squares fit of the force of Rodríguez 2022 eq. 19 gives it: it never
//! divides by a small flow, and never puts energy in. Where nothing is stale, nothing is added.
//!
//! Coupling variables alone do not show D, so the damper is tried: where the coupling error that the ledger measures,
//! Σ |weight|·|missed|·|conjugate output|, rises from window to window, as it does where a coupling feeds on itself, one with the
//! damper comes between others without. It stays while the error was not greater with it, and still rises without it; else it
//! is dropped, and each time waits twice as long. Limits: a drive may raise the error, too; where something brakes, an error
//! that falls may be one that late outputs keep from falling faster, and is left alone.

use super::residual_power::{ResidualPower, share_of_error};
use super::{
    BondFacts, BondPoint, Correction, CorrectionChoice, CorrectionFacts, Increments, Limit, Side,
    StaleFeedthrough,
};
use crate::curve::Curve;
use crate::registry::Entry;
use crate::state_stream::{StateStream, Stored, keeps_its_state, stored};

pub(super) const ENTRY: Entry<dyn Correction> = Entry {
    name: "auto",
    summary: "nothing where no output is stale, residual-power by the audit where D is known, else damping by a part of the residual energy, dropped where it harms",
    source: "Rodríguez 2022 eqs 9, 19–21; windows: own",
    parameters: &[],
    facts: |_, ()| CorrectionFacts {
        removes_stale_energy: true,
        ..CorrectionFacts::default()
    },
    build: |_| {
        Box::new(Auto {
            stale: StaleFeedthrough::None,
            audited: ResidualPower::by_audit(),
            damping: Damping::default(),
            history: History::default(),
        })
    },
};

/// The correction of one bond.
#[derive(Debug, Clone)]
struct Auto {
    stale: StaleFeedthrough,
    /// In use where D is known.
    audited: ResidualPower,
    /// In use where D is not known.
    damping: Damping,
    history: History,
}

/// Part of the share of eqs 20–21 that is taken for an error. The equations leave out how the velocities of both sides go
/// together; of the cases of Rodríguez 2022, table 1, case 8 has the least share, 0.185 in place of 0.5 (benchmark
/// `residual-share`). With less than twice the true share, less energy is left than without a correction.
const LEAST_SHARE: f64 = 0.185 / 0.5;
/// Reversals of the flow in a window: three periods, within one of which energies come and go. A choice.
const REVERSALS: u32 = 6;
/// Steps of a window, at least and at most. Choices: some steps to a reversal; a flow that never turns round is judged, too.
const STEPS: (u32, u32) = (48, 2048);
/// Windows between two comparisons of a damper that is kept. A choice: it is off in one of nine.
const KEPT: u32 = 16;
/// Windows of the first wait of a damper that was dropped. A choice; each further wait is twice as long.
const FIRST_WAIT: u32 = 8;
/// Longest wait, in windows: the count stays far from the greatest number.
const LONGEST_WAIT: u32 = 1 << 24;
/// The measured error may be this many times that without the damper: windows of a steady oscillation differ by some per cent. A choice.
const MARGIN: f64 = 1.05;

/// The damper and its trials.
#[derive(Debug, Clone, Default)]
struct Damping {
    /// The flow is corrected instead of the effort: the effort's receiver has no feed-through.
    corrects_flow: bool,
    /// μ.
    share: f64,
    /// c, by the last window.
    coefficient: f64,
    phase: Phase,
    /// Windows until the phase may end.
    left: u32,
    /// Length of the next wait, in windows.
    wait: u32,
    window: Window,
    errors: Errors,
    /// The error was not greater with the damper than without.
    is_better: bool,
    /// The flow at its last reversal, weighted.
    direction: Vec<f64>,
}

/// The use of the damper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Phase {
    /// It is off.
    #[default]
    Off,
    /// It is tried for a window.
    Tried,
    /// It is on.
    On,
    /// It is off for a window, to compare the error.
    Compared,
    /// It is off for another window, to see whether the error rises.
    Observed,
}

/// Measured errors of windows, W.
#[derive(Debug, Clone, Default)]
struct Errors {
    /// Without the damper, before it was tried; NaN where that is long ago.
    before: f64,
    /// With it, last.
    with: f64,
    /// Without it, last.
    without: f64,
}

/// Sums over the steps of a window.
#[derive(Debug, Clone, Default)]
struct Window {
    /// δE, J.
    residual: f64,
    /// Integral of ‖q‖².
    square: f64,
    /// Integral of the coupling error, J.
    error: f64,
    /// Length, s.
    time: f64,
    steps: u32,
    reversals: u32,
}

impl Errors {
    /// Whether the error was not greater with the damper than in the windows beside it. Between two of an error that grows
    /// by a factor, it would have been their geometric mean.
    fn is_better(&self) -> bool {
        let without = match self.before.is_nan() {
            true => self.without,
            false => (self.before * self.without).sqrt(),
        };
        self.with <= MARGIN * without
    }
}

impl Window {
    fn is_over(&self) -> bool {
        self.steps >= STEPS.1 || self.steps >= STEPS.0 && self.reversals >= REVERSALS
    }
}

/// A change of what is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Change {
    #[default]
    Tried,
    Kept,
    Harms,
    NotNeeded,
    AuditOff,
}

impl Change {
    const ALL: [Self; 5] = [
        Self::Tried,
        Self::Kept,
        Self::Harms,
        Self::NotNeeded,
        Self::AuditOff,
    ];

    /// The choice and the reason.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Tried => (
                "damping, on trial",
                "the coupling has made energy over a window, and the coupling error has risen",
            ),
            Self::Kept => (
                "damping",
                "the coupling error rises without it, and was not greater with it than in the windows before and after",
            ),
            Self::Harms => (
                "no correction",
                "the coupling error was greater with damping than without; the next trial is after a wait, each twice as long",
            ),
            Self::NotNeeded => (
                "no correction",
                "the coupling error does not rise without damping; the next trial is after a wait, each twice as long",
            ),
            Self::AuditOff => (
                "no correction",
                "the energy audit shows that the correction makes the energy error greater",
            ),
        }
    }
}

/// The last changes, oldest first, with their times.
#[derive(Debug, Clone, Default)]
struct History {
    changes: [(f64, Change); Self::KEPT],
    count: usize,
}

impl History {
    /// As many as a reader follows. The waits double, so that a run has few.
    const KEPT: usize = 8;

    fn add(&mut self, time: f64, change: Change) {
        if self.count == Self::KEPT {
            self.changes.rotate_left(1);
            self.count -= 1;
        }
        self.changes[self.count] = (time, change);
        self.count += 1;
    }
}

impl Correction for Auto {
    fn begin(&mut self, facts: &BondFacts) {
        self.stale = facts.stale;
        self.audited.begin(facts);
        self.damping = Damping::of(facts);
        self.history = History::default();
    }

    fn correct(&mut self, point: &BondPoint, increments: &mut Increments) {
        match self.stale {
            StaleFeedthrough::None => {}
            StaleFeedthrough::Known => {
                let was_off = self.audited.is_off();
                self.audited.correct(point, increments);
                if self.audited.is_off() && !was_off {
                    self.history.add(point.time, Change::AuditOff);
                }
            }
            StaleFeedthrough::Unknown => {
                if let Some(change) = self.damping.follow(point) {
                    self.history.add(point.time, change);
                }
                self.damping.add(point, increments);
            }
        }
    }

    fn limit(&self) -> Option<Limit> {
        self.audited.limit()
    }

    keeps_its_state!(dyn Correction);

    fn parameters_in_force(&self) -> Vec<(&'static str, f64)> {
        match self.stale {
            StaleFeedthrough::None => Vec::new(),
            StaleFeedthrough::Known => self.audited.parameters_in_force(),
            StaleFeedthrough::Unknown => vec![
                ("mu", self.damping.share),
                ("damping", self.damping.in_force()),
            ],
        }
    }

    fn choices(&self) -> Vec<CorrectionChoice> {
        let (what, why) = match self.stale {
            StaleFeedthrough::None => (
                "no correction",
                "no output of the bond is late behind an input that it follows directly",
            ),
            StaleFeedthrough::Known => (
                "correction residual-power by the energy audit",
                "outputs of the bond are stale, and their direct feed-through is known",
            ),
            StaleFeedthrough::Unknown => (
                "no correction at first",
                "outputs of the bond may be late, and their direct feed-through is not known",
            ),
        };
        let first = CorrectionChoice {
            from: None,
            what,
            why,
        };
        let changes = &self.history.changes[..self.history.count];
        let changes = changes.iter().map(|&(time, change)| {
            let (what, why) = change.words();
            CorrectionChoice {
                from: Some(time),
                what,
                why,
            }
        });
        std::iter::once(first).chain(changes).collect()
    }
}

/// The value in effect at the end of the step, without the correction; a prediction where means of it were given.
fn in_effect(side: &Side, axis: usize) -> f64 {
    side.fed[axis] - side.missed[axis] - side.correction[axis]
}

impl Damping {
    fn of(facts: &BondFacts) -> Self {
        let corrects_flow = facts.flow_feedthrough && !facts.effort_feedthrough;
        // Outputs may follow inputs beside those of the bond, the position as well as the velocity.
        let facts = BondFacts {
            effort_feedthrough: !corrects_flow,
            ..facts.clone()
        };
        Self {
            corrects_flow,
            share: LEAST_SHARE * share_of_error(&facts, corrects_flow),
            left: 2,
            wait: FIRST_WAIT,
            direction: vec![0.0; facts.axes],
            ..Self::default()
        }
    }

    /// The signal along which the damper acts: the one that is not corrected.
    fn flow<'a>(&self, point: &'a BondPoint) -> &'a [f64] {
        match self.corrects_flow {
            true => &point.effort.output,
            false => &point.flow.output,
        }
    }

    /// c as it acts.
    fn in_force(&self) -> f64 {
        match self.phase {
            Phase::Tried | Phase::On => self.coefficient,
            Phase::Off | Phase::Compared | Phase::Observed => 0.0,
        }
    }

    /// Adds the step that ended here to the window.
    fn follow(&mut self, point: &BondPoint) -> Option<Change> {
        if point.index == 0 {
            return None;
        }
        let (effort, flow) = (&point.effort, &point.flow);
        let (mut residual, mut square, mut error, mut along) = (0.0, 0.0, 0.0, 0.0);
        for (axis, weight) in point.weight.iter().enumerate() {
            let conjugate = weight * self.flow(point)[axis];
            residual += weight
                * (in_effect(effort, axis) * flow.output[axis]
                    - effort.output[axis] * in_effect(flow, axis));
            error += weight.abs()
                * ((effort.missed[axis] * flow.output[axis]).abs()
                    + (flow.missed[axis] * effort.output[axis]).abs());
            square += conjugate * conjugate;
            along += conjugate * self.direction[axis];
        }
        let window = &mut self.window;
        window.residual += residual * point.step;
        window.square += square * point.step;
        window.error += error * point.step;
        window.time += point.step;
        window.steps += 1;
        if along <= 0.0 {
            window.reversals += u32::from(along < 0.0);
            for (axis, weight) in point.weight.iter().enumerate() {
                self.direction[axis] = weight * self.flow(point)[axis];
            }
        }
        if !self.window.is_over() {
            return None;
        }
        let window = std::mem::take(&mut self.window);
        self.conclude(&window)
    }

    /// Goes on to the next window.
    fn conclude(&mut self, window: &Window) -> Option<Change> {
        let coefficient = self.share * window.residual / window.square;
        // Not finite where nothing moves, or a run explodes.
        self.coefficient = match coefficient.is_finite() {
            true => coefficient.max(0.0),
            false => 0.0,
        };
        self.left = self.left.saturating_sub(1);
        let error = window.error / window.time;
        let rises = error > self.errors.without;
        match self.phase {
            Phase::Off | Phase::Compared | Phase::Observed => self.errors.without = error,
            Phase::Tried | Phase::On => self.errors.with = error,
        }
        match self.phase {
            Phase::Off if self.left == 0 && self.coefficient > 0.0 && rises => {
                self.errors.before = error;
                self.enter(Phase::Tried, 0);
                Some(Change::Tried)
            }
            Phase::On if self.left == 0 => {
                self.errors.before = f64::NAN;
                self.enter(Phase::Compared, 0);
                None
            }
            Phase::Off | Phase::On => None,
            Phase::Tried => {
                self.enter(Phase::Compared, 0);
                None
            }
            Phase::Compared => {
                self.is_better = self.errors.is_better();
                self.enter(Phase::Observed, 0);
                None
            }
            Phase::Observed => self.judge(rises),
        }
    }

    /// Keeps the damper, or drops it.
    fn judge(&mut self, rises: bool) -> Option<Change> {
        if self.is_better && rises {
            self.enter(Phase::On, KEPT);
            return (!self.errors.before.is_nan()).then_some(Change::Kept);
        }
        self.enter(Phase::Off, self.wait);
        self.wait = (2 * self.wait).min(LONGEST_WAIT);
        Some(match self.is_better {
            true => Change::NotNeeded,
            false => Change::Harms,
        })
    }

    fn enter(&mut self, phase: Phase, windows: u32) {
        self.phase = phase;
        self.left = windows;
    }

    /// Adds the force of the damper.
    fn add(&self, point: &BondPoint, increments: &mut Increments) {
        let coefficient = self.in_force();
        if coefficient == 0.0 {
            return;
        }
        let target = match self.corrects_flow {
            true => &mut increments.flow,
            false => &mut increments.effort,
        };
        // End a gives the power weight·effort·flow and end b receives it.
        let sign = if self.corrects_flow { 1.0 } else { -1.0 };
        let flows = self.flow(point).iter().zip(&point.weight);
        for (curve, (flow, weight)) in target.iter_mut().zip(flows) {
            *curve = Curve::constant(sign * coefficient * weight * flow);
        }
    }
}

stored!(Auto { audited, damping, history; stale });
stored!(Damping {
    coefficient,
    phase,
    left,
    wait,
    window,
    errors,
    is_better,
    direction;
    corrects_flow,
    share
});
stored!(Errors {
    before,
    with,
    without
});
stored!(Window {
    residual,
    square,
    error,
    time,
    steps,
    reversals
});

/// Keeps one of several values by its place.
fn keep_one<T: Copy + PartialEq>(value: &mut T, all: &[T], stream: &mut StateStream) {
    let mut place = all.iter().position(|known| known == value).unwrap_or(0);
    stream.below(&mut place, all.len());
    *value = all[place];
}

impl Stored for Phase {
    fn transfer(&mut self, stream: &mut StateStream) {
        let all = [
            Self::Off,
            Self::Tried,
            Self::On,
            Self::Compared,
            Self::Observed,
        ];
        keep_one(self, &all, stream);
    }
}

impl Stored for Change {
    fn transfer(&mut self, stream: &mut StateStream) {
        keep_one(self, &Self::ALL, stream);
    }
}

impl Stored for History {
    fn transfer(&mut self, stream: &mut StateStream) {
        let Self { changes, count } = self;
        stream.keep(changes);
        stream.below(count, Self::KEPT + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{begun, corrected, facts as known, point};
    use super::*;

    fn unknown(axes: usize) -> BondFacts {
        BondFacts {
            stale: StaleFeedthrough::Unknown,
            ..known(axes)
        }
    }

    /// A flow that swings with 24 steps to the period, and grows. The effort inputs missed −a·v of the output, so that
    /// the bond makes the power a·v² and has a coupling error of as much.
    const A: f64 = 0.1;

    fn swinging(index: u64, facts: &BondFacts) -> BondPoint {
        let mut point = point(index, facts.axes);
        let angle = std::f64::consts::TAU * (index as f64 + 0.5) / 24.0;
        let swing = 1.001_f64.powf(index as f64) * angle.cos();
        let corrects_flow = facts.flow_feedthrough && !facts.effort_feedthrough;
        let (force, flow, sign) = match corrects_flow {
            true => (&mut point.flow, &mut point.effort, -1.0),
            false => (&mut point.effort, &mut point.flow, 1.0),
        };
        for axis in 0..facts.axes {
            flow.output[axis] = (axis + 1) as f64 * swing;
            flow.fed[axis] = flow.output[axis];
            force.missed[axis] = -sign * A * flow.output[axis];
        }
        point
    }

    /// Corrections at the points from the first to the last, of effort and flow.
    fn additions(facts: &BondFacts, last: u64) -> Vec<(Vec<f64>, Vec<f64>)> {
        let mut correction = begun("auto", &[], facts);
        let points = (0..=last).map(|index| swinging(index, facts));
        points
            .map(|point| corrected(correction.as_mut(), &point))
            .collect()
    }

    /// Reversals come at step 6 and every twelve steps from there on: six of them are over at 66, twelve at 138. μ is 0.185 at
    /// a single rate.
    #[test]
    fn the_damper_takes_a_part_of_the_energy_out_along_the_flow() {
        let flow_sided = BondFacts {
            effort_feedthrough: false,
            flow_feedthrough: true,
            ..unknown(1)
        };
        for facts in [unknown(1), unknown(2), flow_sided] {
            let additions = additions(&facts, 140);
            let none = vec![0.0; facts.axes];
            for found in &additions[..138] {
                assert_eq!(found, &(none.clone(), none.clone()));
            }
            for (index, (effort, flow)) in additions.iter().enumerate().skip(138) {
                let point = swinging(index as u64, &facts);
                let (found, other, along) = match facts.flow_feedthrough {
                    true => (flow, effort, &point.effort.output),
                    false => (effort, flow, &point.flow.output),
                };
                assert_eq!(other, &none);
                let sign = if facts.flow_feedthrough { 1.0 } else { -1.0 };
                for (found, along) in found.iter().zip(along) {
                    let expected = sign * 0.185 * A * along;
                    assert!((found - expected).abs() < 1e-12, "{found} {expected}");
                }
            }
        }
    }

    /// With a damper and a trial in progress, the state goes on as if it had not been saved.
    #[test]
    fn a_state_goes_on_from_its_bytes() {
        let facts = unknown(2);
        let all = additions(&facts, 400);
        for saved_at in [50, 150, 250] {
            let mut correction = begun("auto", &[], &facts);
            for index in 0..=saved_at {
                corrected(correction.as_mut(), &swinging(index, &facts));
            }
            let mut stream = StateStream::to_write();
            correction.transfer(&mut stream);
            let bytes = stream.finish().unwrap();
            let mut restored = begun("auto", &[], &facts);
            let mut stream = StateStream::to_read(&bytes);
            restored.transfer(&mut stream);
            assert_eq!(stream.trouble(), None);
            assert_eq!(restored.choices(), correction.choices());
            for index in saved_at + 1..=400 {
                let found = corrected(restored.as_mut(), &swinging(index, &facts));
                assert_eq!(found, all[index as usize], "{saved_at} {index}");
            }
        }
    }

    /// Also where the feed-through is from inputs that are not of the bond.
    #[test]
    fn the_side_without_feed_through_is_damped() {
        for (effort, flow) in [(false, false), (true, false), (false, true), (true, true)] {
            let damping = Damping::of(&BondFacts {
                effort_feedthrough: effort,
                flow_feedthrough: flow,
                ..unknown(1)
            });
            assert_eq!(damping.corrects_flow, flow && !effort);
            assert!((damping.share - 0.185).abs() < 1e-15);
        }
    }

    /// Of two steps of other lengths, on two axes of other weights; the flow has not turned round, and then has.
    #[test]
    fn a_window_sums_integrals_over_its_steps() {
        let mut damping = Damping::of(&unknown(2));
        let mut point = point(1, 2);
        let mut expected = Window::default();
        for (index, step, flow, effort) in [
            (1, 0.25, [3.0, 1.0], [2.0, -1.0]),
            (2, 0.5, [-2.0, 4.0], [5.0, 3.0]),
        ] {
            (point.index, point.step) = (index, step);
            point.weight = vec![2.0, -0.5];
            for axis in 0..2 {
                (point.flow.output[axis], point.flow.fed[axis]) = (flow[axis], flow[axis] + 0.5);
                (point.effort.output[axis], point.effort.fed[axis]) =
                    (effort[axis], effort[axis] - 0.25);
                (point.effort.missed[axis], point.flow.missed[axis]) = (-0.5, 0.75);
                (point.effort.correction[axis], point.flow.correction[axis]) = (0.125, 0.0);
            }
            damping.follow(&point);
            for axis in 0..2 {
                let weight = point.weight[axis];
                let used_effort = effort[axis] - 0.25 + 0.5 - 0.125;
                let used_flow = flow[axis] + 0.5 - 0.75;
                let residual = used_effort * flow[axis] - effort[axis] * used_flow;
                let error = (0.5 * flow[axis]).abs() + (0.75 * effort[axis]).abs();
                expected.residual += weight * residual * step;
                expected.error += weight.abs() * error * step;
                expected.square += (weight * flow[axis]).powi(2) * step;
            }
        }
        let window = &damping.window;
        assert!((window.residual - expected.residual).abs() < 1e-12);
        assert!((window.error - expected.error).abs() < 1e-12);
        assert!((window.square - expected.square).abs() < 1e-12);
        assert_eq!((window.time, window.steps), (0.75, 2));
        // (6, −0.5) and (−4, −2): the flow has turned round.
        assert_eq!(window.reversals, 1);
    }

    /// A window of a second with this coupling error, W, in which the bond has made energy.
    fn window(error: f64) -> Window {
        Window {
            residual: 1.0,
            square: 1.0,
            error,
            time: 1.0,
            ..Window::default()
        }
    }

    /// The changes, by the number of the window.
    fn changes(
        damping: &mut Damping,
        windows: impl IntoIterator<Item = Window>,
    ) -> Vec<(usize, Change)> {
        let windows = windows.into_iter().enumerate();
        windows
            .filter_map(|(index, window)| Some((index, damping.conclude(&window)?)))
            .collect()
    }

    #[test]
    fn an_error_that_rises_without_it_keeps_the_damper() {
        let mut damping = Damping::of(&unknown(1));
        // √(1.1·1.3)·1.05 = 1.256.
        let errors = [1.0, 1.1, 1.25, 1.3, 1.4].map(window);
        let found = changes(&mut damping, errors);
        assert_eq!(found, [(1, Change::Tried), (4, Change::Kept)]);
        assert!(damping.in_force() > 0.0);
        // Sixteen windows with it, and two without, in which the error no longer rises.
        let found = changes(&mut damping, [1.4; 17].map(window));
        assert_eq!(found, []);
        assert_eq!(damping.in_force(), 0.0);
        let found = changes(&mut damping, [window(1.39)]);
        assert_eq!(found, [(0, Change::NotNeeded)]);
    }

    #[test]
    fn a_damper_that_harms_waits_twice_as_long_each_time() {
        let mut damping = Damping::of(&unknown(1));
        let rising = (0..).map(|index| 1.0 + 0.01 * f64::from(index));
        let mut is_on = false;
        let found = rising.take(200).enumerate().filter_map(|(index, error)| {
            let harmed = window(if is_on { 1.2 * error } else { error });
            let change = damping.conclude(&harmed);
            is_on = damping.in_force() > 0.0;
            Some((index, change?))
        });
        let found: Vec<_> = found.collect();
        let tried = [1, 12, 31, 66, 133];
        let expected = tried
            .into_iter()
            .flat_map(|at| [(at, Change::Tried), (at + 3, Change::Harms)]);
        assert_eq!(found, expected.collect::<Vec<_>>());
    }

    #[test]
    fn no_trial_without_a_reason() {
        let falls = (1..50).map(|index| window(1.0 / f64::from(index)));
        let takes_energy = (1..50).map(|index| Window {
            residual: -1.0,
            ..window(f64::from(index))
        });
        let explodes = (1..50).map(|index| Window {
            residual: f64::NAN,
            ..window(f64::from(index))
        });
        let rests = (1..50).map(|index| Window {
            square: 0.0,
            ..window(f64::from(index))
        });
        assert_eq!(changes(&mut Damping::of(&unknown(1)), falls), []);
        assert_eq!(changes(&mut Damping::of(&unknown(1)), takes_energy), []);
        assert_eq!(changes(&mut Damping::of(&unknown(1)), explodes), []);
        assert_eq!(changes(&mut Damping::of(&unknown(1)), rests), []);
    }

    #[test]
    fn a_flow_that_never_turns_round_has_windows_too() {
        let mut damping = Damping::of(&unknown(1));
        let mut point = point(1, 1);
        (point.flow.output[0], point.flow.fed[0]) = (1.0, 1.0);
        let mut windows = 0;
        for _ in 0..4096 {
            damping.follow(&point);
            windows += u32::from(damping.window.steps == 0);
        }
        assert_eq!(windows, 2);
    }

    /// As the damper acts after each change.
    #[test]
    fn a_change_is_named_as_what_is_done() {
        for change in Change::ALL {
            let (what, why) = change.words();
            assert!(why.len() > 20, "{why}");
            let damps = matches!(change, Change::Tried | Change::Kept);
            assert_eq!(what.starts_with("damping"), damps, "{what}");
            assert_eq!(what == "no correction", !damps, "{what}");
        }
    }

    #[test]
    fn the_last_changes_are_kept() {
        let mut history = History::default();
        for index in 0..20 {
            history.add(f64::from(index), Change::Kept);
        }
        assert_eq!(history.count, 8);
        assert_eq!(history.changes.map(|(time, _)| time)[..2], [12.0, 13.0]);
    }

    #[test]
    fn the_audit_that_switches_off_is_a_choice() {
        let facts = known(1);
        let mut correction = begun("auto", &[], &facts);
        // Staleness puts nothing in, and the correction takes energy out: it harms.
        for index in 0..2100 {
            let mut point = swinging(index, &facts);
            point.effort.previous_output[0] = 1.0;
            point.effort.correction[0] = -0.1 * point.flow.output[0];
            corrected(correction.as_mut(), &point);
        }
        let choices = correction.choices();
        assert_eq!(choices.len(), 2, "{choices:?}");
        assert_eq!(choices[1].from, Some(2049.0));
        assert_eq!(correction.parameters_in_force()[0], ("mu", 0.0));
    }
}
