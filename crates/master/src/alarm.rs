//! Residual power as an alarm: spikes of δP mark when a coupling becomes unstable, long before a result
//! looks wrong. The run calls it after the ledger, whose powers it looks at; it changes nothing.

use crate::extremes::greater;
use crate::ledger::{BondEnergy, Ledger};
use crate::state_stream::{StateStream, Stored, stored};
use crate::step_row::StepRow;

// The constants of the detector are choices; the tests below hold their purpose: a burst is one
// interval, fast growth over many points is found, steady and slowly growing oscillations are not.

/// First points of a run, from which the running level is found.
const WARM_UP: u64 = 100;
/// A residual power this many times the running level raises the alarm.
const RAISE: f64 = 10.0;
/// and only if it is this share of the greatest power that has gone over the bond: a residual power that jumps from
/// next to nothing to little is none.
const SHARE: f64 = 0.05;
/// Below this many times the running level it counts as calm again.
const CALM: f64 = 3.0;
/// Calm points in a row that end the alarm.
const CALM_POINTS: u32 = 50;
/// The running level is the greatest residual power so far; it fades by this factor every so many
/// points, so that the detector follows a system that calms down.
const FADE: f64 = 0.95;
const FADE_EVERY: u64 = 50;
/// It grows by at most this factor a point, 2.7 in a hundred, so that a coupling that becomes
/// unstable over a hundred steps stays above it.
const GROWTH: f64 = 1.01;
/// Room for intervals, so that an alarm allocates nothing.
const ROOM: usize = 64;

/// An interval in which the residual power of a bond was above its running level.
#[derive(Debug, Clone, Copy, PartialEq, Default, serde::Serialize)]
pub struct Alarm {
    /// Simulated time of the first point, s.
    pub start: f64,
    /// Simulated time of the last point, s.
    pub end: f64,
    /// Greatest magnitude of the residual power in it, W.
    pub max_residual_power: f64,
    /// Time of it, s.
    pub max_time: f64,
}

/// The spike detectors of all bonds, in the order of the graph.
#[derive(Debug, Clone, Default)]
pub struct Alarms {
    points: u64,
    bonds: Vec<Detector>,
}

#[derive(Debug, Clone, PartialEq)]
struct Detector {
    usual: f64,
    /// Greatest transferred power so far, W.
    power: f64,
    is_raised: bool,
    calm_points: u32,
    intervals: Vec<Alarm>,
}

impl Alarms {
    /// For bonds of which `sees_courses` says whether the ledger sees how their signals go between its points:
    /// the others raise no alarm.
    pub(crate) fn new(sees_courses: impl Iterator<Item = bool>) -> Self {
        let detector = |sees_course: bool| Detector {
            usual: 0.0,
            power: if sees_course { 0.0 } else { f64::INFINITY },
            is_raised: false,
            calm_points: 0,
            intervals: Vec::with_capacity(ROOM),
        };
        Self {
            points: 0,
            bonds: sees_courses.map(detector).collect(),
        }
    }

    /// Looks at the residual powers after a step, which the ledger has added.
    #[inline]
    pub(crate) fn add(&mut self, row: &StepRow<'_>, ledger: &Ledger) {
        let powers = |energy: &BondEnergy| (energy.residual_power, energy.given_power);
        self.add_powers(ledger.bonds().map(powers), row.step.time + row.step.size);
    }

    /// Looks at the residual and the transferred power of each bond, W.
    #[inline]
    fn add_powers(&mut self, powers: impl Iterator<Item = (f64, f64)>, time: f64) {
        self.points += 1;
        let fades = self.points.is_multiple_of(FADE_EVERY);
        for (detector, (residual, transferred)) in self.bonds.iter_mut().zip(powers) {
            let may_raise = self.points > WARM_UP;
            detector.look(residual, transferred, || time, may_raise, fades);
        }
    }

    /// The alarms of the bond with this index of the graph.
    pub fn bond(&self, index: usize) -> &[Alarm] {
        self.bonds
            .get(index)
            .map_or(&[], |detector| &detector.intervals)
    }

    /// Whether the bond with this index is in an alarm at the present point.
    pub fn is_raised(&self, index: usize) -> bool {
        self.bonds
            .get(index)
            .is_some_and(|detector| detector.is_raised)
    }
}

impl Detector {
    #[inline(always)]
    fn look(
        &mut self,
        residual: f64,
        transferred: f64,
        time: impl Fn() -> f64,
        may_raise: bool,
        fades: bool,
    ) {
        let (residual, transferred) = (residual.abs(), transferred.abs());
        self.power = greater(transferred, self.power);
        // Nearly always there is nothing new: no more than the running level, and no alarm.
        if residual > self.usual || self.is_raised || fades {
            self.observe(residual, transferred, time(), may_raise, fades);
        }
    }

    #[cold]
    fn observe(
        &mut self,
        residual: f64,
        transferred: f64,
        time: f64,
        may_raise: bool,
        fades: bool,
    ) {
        // Rounding raises no alarm: 1e-9 of the power that goes over the bond is far above the
        // rounding of its products, and far below an error of the coupling.
        let usual = self.usual.max(1e-9 * transferred);
        if self.is_raised {
            self.follow(residual, usual, time);
        } else if may_raise
            && residual > RAISE * usual
            && residual > SHARE * self.power
            && usual > 0.0
        {
            self.raise(residual, time);
        } else {
            let faded = if fades { self.usual * FADE } else { self.usual };
            let is_known = may_raise && self.usual > 0.0;
            let fastest = if is_known {
                self.usual * GROWTH
            } else {
                f64::INFINITY
            };
            self.usual = residual.min(fastest).max(faded);
        }
    }

    fn raise(&mut self, residual: f64, time: f64) {
        self.is_raised = true;
        self.calm_points = 0;
        if self.intervals.len() < ROOM {
            self.intervals.push(Alarm {
                start: time,
                end: time,
                max_residual_power: residual,
                max_time: time,
            });
        }
    }

    fn follow(&mut self, residual: f64, usual: f64, time: f64) {
        if residual < CALM * usual {
            self.calm_points += 1;
            if self.calm_points >= CALM_POINTS {
                self.is_raised = false;
            }
            return;
        }
        self.calm_points = 0;
        if let Some(alarm) = self.intervals.last_mut() {
            alarm.end = time;
            if residual > alarm.max_residual_power {
                alarm.max_residual_power = residual;
                alarm.max_time = time;
            }
        }
    }
}

stored!(Alarms { points, bonds });

impl Stored for Detector {
    fn transfer(&mut self, stream: &mut StateStream) {
        let Self {
            usual,
            power,
            is_raised,
            calm_points,
            intervals,
        } = self;
        stream.keep(usual);
        stream.keep(power);
        stream.keep(is_raised);
        stream.keep(calm_points);
        stream.list(intervals, ROOM);
    }
}

stored!(Alarm {
    start,
    end,
    max_residual_power,
    max_time
});

#[cfg(test)]
mod tests {
    use super::*;

    /// The alarms of a residual power over 10 s, which must equal those by a detector that looks
    /// at every point.
    fn watch(signal: impl Fn(f64) -> f64) -> Vec<Alarm> {
        let mut alarms = Alarms::new([true].into_iter());
        let mut thorough = alarms.bonds[0].clone();
        for point in 1..=1000_u32 {
            let time = f64::from(point) * 1e-2;
            let residual = signal(time);
            alarms.add_powers([(residual, 1.0)].into_iter(), time);
            let fades = u64::from(point).is_multiple_of(FADE_EVERY);
            let may_raise = u64::from(point) > WARM_UP;
            thorough.power = 1.0;
            thorough.observe(residual.abs(), 1.0, time, may_raise, fades);
            assert_eq!(alarms.bonds[0], thorough, "at {time} s");
        }
        alarms.bond(0).to_vec()
    }

    #[test]
    fn a_burst_is_one_interval() {
        let burst = |t: f64| {
            if (3.0..5.0).contains(&t) {
                1e4 * (t - 3.0) * (5.0 - t)
            } else {
                0.0
            }
        };
        let alarms = watch(|t| (20.0 * t).sin() * (100.0 + burst(t)));
        assert_eq!(alarms.len(), 1, "{alarms:?}");
        assert!((3.0..3.3).contains(&alarms[0].start) && (4.7..5.0).contains(&alarms[0].end));
        assert!((alarms[0].max_time - 4.0).abs() < 0.1);
    }

    /// An oscillation that grows within a hundred points, as at the edge of stability.
    #[test]
    fn growth_within_many_points_is_seen() {
        let envelope = |t: f64| (3.0 * (t.min(8.0 - t) - 2.0).max(0.0)).exp();
        let alarms = watch(|t| 300.0 * envelope(t) * (12.0 * t).sin());
        assert_eq!(alarms.len(), 1, "{alarms:?}");
        assert!((2.5..4.0).contains(&alarms[0].start) && (5.0..6.5).contains(&alarms[0].end));
        assert!((alarms[0].max_time - 4.0).abs() < 0.2);
    }

    #[test]
    fn steady_and_slowly_growing_oscillations_are_usual() {
        assert_eq!(watch(|t| 5e3 * (12.0 * t).sin()), []);
        assert_eq!(watch(|t| (0.5 * t).exp() * (12.0 * t).sin()), []);
    }

    #[test]
    fn little_power_is_no_alarm() {
        assert_eq!(watch(|t| if t > 5.0 { 0.049 } else { 1e-4 }), []);
        assert_eq!(watch(|t| if t > 5.0 { 0.051 } else { 1e-4 }).len(), 1);
    }

    #[test]
    fn a_bond_whose_course_is_not_seen_raises_none() {
        let mut alarms = Alarms::new([false].into_iter());
        for point in 1..=1000_u32 {
            let residual = if point > 500 { 1e3 } else { 1.0 };
            alarms.add_powers([(residual, 1.0)].into_iter(), f64::from(point));
        }
        assert_eq!(alarms.bond(0), []);
    }

    #[test]
    fn rounding_is_no_alarm() {
        assert_eq!(watch(|t| if t > 5.0 { 1e-13 } else { 1e-16 }), []);
    }
}
