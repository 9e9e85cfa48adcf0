//! Runs of the cranes, and how far they are from the reference in one piece.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use fmu_models::{Crane, CraneMotion};
use gyrator::error::Cause;
use gyrator::observer::{ObserverError, StopRequest};
use gyrator::system::FmuCache;
use gyrator::{Observer, RunError, RunOptions, View};

use super::setup::{CIRCUIT_STEP, Prediction, Setup};
use crate::benchmark::MeasureError;
use crate::role::RoleAssignment;

/// Rate of an actuator's length beyond which a run has failed, m/s.
const GREATEST_RATE: f64 = 5.0;
/// Pressure beyond which a run has failed, Pa.
const GREATEST_PRESSURE: f64 = 1e9;

/// The FMUs of all runs, opened once.
pub(crate) struct FmuPool<'a> {
    pub(crate) roles: &'a RoleAssignment,
    cache: FmuCache,
}

/// Result of a run. Errors are those at the communication points, of each actuator.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CraneOutcome {
    /// The run came to its end, and no limit was passed.
    pub(crate) is_finished: bool,
    /// Residual energy of all bonds, J: δP is what the circuits would give less what the mechanics
    /// takes (eqs 21 to 24), summed by the rectangular rule for held inputs, else by the
    /// trapezoidal rule.
    pub(crate) residual: f64,
    /// Sum of its magnitudes, step by step, J.
    pub(crate) residual_abs: f64,
    /// Root mean square of the lengths' errors, m.
    pub(crate) rms_s: [f64; 2],
    /// Root mean square of the rates' errors, m/s.
    pub(crate) rms_v: [f64; 2],
    /// Greatest rate of a length over the greatest true one.
    pub(crate) greatest_rate: f64,
    /// Root mean square of the forces' errors, N.
    pub(crate) rms_force: [f64; 2],
    /// Root mean square and greatest magnitude of the energy's error, J.
    pub(crate) energy: [f64; 2],
    /// Energy at the end less that at the start and the work of the forces that the mechanics was given, J.
    pub(crate) balance: f64,
    /// Greatest violation of the constraints.
    pub(crate) constraint: f64,
}

impl CraneOutcome {
    /// Result of a run that broke off: sums over its first part would look small.
    const FAILED: Self = Self {
        is_finished: false,
        residual: f64::INFINITY,
        residual_abs: f64::INFINITY,
        rms_s: [f64::INFINITY; 2],
        rms_v: [f64::INFINITY; 2],
        greatest_rate: f64::INFINITY,
        rms_force: [f64::INFINITY; 2],
        energy: [f64::INFINITY; 2],
        balance: f64::INFINITY,
        constraint: f64::INFINITY,
    };
}

/// The energy's error over time, s and J.
pub(crate) type EnergyCourse = Vec<(f64, f64)>;

/// The motion of each crane in one piece at each tenth of a millisecond.
pub(crate) fn reference(crane: Crane) -> Arc<Vec<CraneMotion>> {
    type Known = BTreeMap<Crane, Arc<OnceLock<Arc<Vec<CraneMotion>>>>>;
    static KNOWN: Mutex<Known> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let cell = Arc::clone(known.entry(crane).or_default());
    drop(known);
    let motion = cell.get_or_init(|| {
        let times: Vec<f64> = (0..=300_000).map(|k| CIRCUIT_STEP * f64::from(k)).collect();
        Arc::new(crane.motion(&times))
    });
    Arc::clone(motion)
}

impl<'a> FmuPool<'a> {
    pub(crate) fn new(roles: &'a RoleAssignment) -> Self {
        Self {
            roles,
            cache: FmuCache::default(),
        }
    }

    /// Runs the work cycle beside the reference. All figures of a run that breaks off are infinite.
    pub(crate) fn run(&self, setup: &Setup) -> Result<CraneOutcome, MeasureError> {
        self.run_beside(setup, reference(setup.crane))
    }

    fn run_beside(
        &self,
        setup: &Setup,
        reference: Arc<Vec<CraneMotion>>,
    ) -> Result<CraneOutcome, MeasureError> {
        let outcome = self.watch(setup, f64::INFINITY, Some(reference))?;
        Ok(if outcome.is_finished {
            outcome
        } else {
            CraneOutcome::FAILED
        })
    }

    /// Runs the work cycle until the sum of the residual energy's magnitudes exceeds `limit`, J, without errors.
    pub(crate) fn run_within(
        &self,
        setup: &Setup,
        limit: f64,
    ) -> Result<CraneOutcome, MeasureError> {
        self.watch(setup, limit, None)
    }

    /// Runs the work cycle and gives the course of the energy's error.
    pub(crate) fn energy(&self, setup: &Setup) -> Result<EnergyCourse, MeasureError> {
        let mut watch = CraneSums::new(setup, f64::INFINITY, Some(reference(setup.crane)));
        watch.course = Some(Vec::new());
        Ok(self.observe(setup, watch)?.1)
    }

    fn watch(
        &self,
        setup: &Setup,
        limit: f64,
        reference: Option<Arc<Vec<CraneMotion>>>,
    ) -> Result<CraneOutcome, MeasureError> {
        Ok(self
            .observe(setup, CraneSums::new(setup, limit, reference))?
            .0)
    }

    fn observe(
        &self,
        setup: &Setup,
        watch: CraneSums,
    ) -> Result<(CraneOutcome, EnergyCourse), MeasureError> {
        let file = setup.system(self.roles)?;
        let system = self.cache.system(file)?;
        let mut run = self.roles.start(&system, &RunOptions::default())?;
        let watch = Arc::new(Mutex::new(watch));
        run.observe(Shared(Arc::clone(&watch)))?;
        // A unit that cannot go on and an output that is not finite say that the run diverges.
        let is_divergence =
            |cause| matches!(cause, Cause::Error | Cause::Discard | Cause::NotFinite);
        let is_finished = match run.run() {
            Ok(_) => true,
            Err(RunError::Fault(fault)) if is_divergence(fault.unit.cause) => false,
            Err(error) => return Err(error.into()),
        };
        let mut watch = watch.lock().unwrap_or_else(PoisonError::into_inner);
        let course = watch.course.take().unwrap_or_default();
        Ok((watch.outcome(is_finished), course))
    }
}

struct Shared(Arc<Mutex<CraneSums>>);

/// Sums over a run.
struct CraneSums {
    actuators: usize,
    tenths: usize,
    step: f64,
    holds: bool,
    limit: f64,
    reference: Option<Arc<Vec<CraneMotion>>>,
    columns: Columns,
    is_beyond: bool,
    points: f64,
    power: f64,
    residual: f64,
    residual_abs: f64,
    squares: [[f64; 2]; 3],
    greatest_rate: f64,
    energy: [f64; 2],
    start_energy: f64,
    last: [(f64, f64); 2],
    work: f64,
    balance: f64,
    constraint: f64,
    course: Option<EnergyCourse>,
}

/// Where outputs stand in a row.
#[derive(Debug, Clone, Copy, Default)]
struct Columns {
    s: [usize; 2],
    v: [usize; 2],
    force: [usize; 2],
    pressure: [usize; 2],
    energy: usize,
    constraint: usize,
}

impl CraneSums {
    fn new(setup: &Setup, limit: f64, reference: Option<Arc<Vec<CraneMotion>>>) -> Self {
        Self {
            actuators: setup.crane.actuators,
            tenths: setup.tenths as usize,
            step: setup.step(),
            holds: setup.prediction == Prediction::Polynomial(0),
            limit,
            reference,
            columns: Columns::default(),
            is_beyond: false,
            points: 0.0,
            power: 0.0,
            residual: 0.0,
            residual_abs: 0.0,
            squares: [[0.0; 2]; 3],
            greatest_rate: 0.0,
            energy: [0.0; 2],
            start_energy: 0.0,
            last: [(0.0, 0.0); 2],
            work: 0.0,
            balance: 0.0,
            constraint: 0.0,
            course: None,
        }
    }

    fn find_columns(&mut self, view: &View<'_>) -> Result<(), ObserverError> {
        let outputs = view.graph.real_outputs();
        let find = |name: String| {
            let place = outputs.iter().position(|output| output.name == name);
            place.ok_or_else(|| format!("the run has no output {name}"))
        };
        let mut columns = Columns {
            energy: find("mechanics.energy".to_owned())?,
            constraint: find("mechanics.constraint".to_owned())?,
            ..Columns::default()
        };
        for i in 0..self.actuators {
            let number = i + 1;
            columns.s[i] = find(format!("mechanics.s{number}"))?;
            columns.v[i] = find(format!("mechanics.v{number}"))?;
            columns.force[i] = find(format!("circuit{number}.f"))?;
            columns.pressure[i] = find(format!("circuit{number}.p1"))?;
        }
        self.columns = columns;
        Ok(())
    }

    fn add_residual_energy(&mut self, view: &View<'_>) {
        // The ledger counts what the mechanics takes less what the circuits give.
        let bonds = view.ledger.bonds();
        let power: f64 = bonds.map(|bond| -bond.residual_power).sum();
        let energy = if self.holds {
            self.step * power
        } else {
            self.step / 2.0 * (self.power + power)
        };
        self.power = power;
        self.residual += energy;
        self.residual_abs += energy.abs();
    }

    fn add_work(&mut self, view: &View<'_>) {
        for i in 0..self.actuators {
            let (force, length) = (
                view.reals[self.columns.force[i]],
                view.reals[self.columns.s[i]],
            );
            let (given, from) = self.last[i];
            self.work += given * (length - from);
            self.last[i] = (force, length);
        }
    }

    fn compare(&mut self, view: &View<'_>) {
        self.points += 1.0;
        let energy = view.reals[self.columns.energy];
        self.balance = energy - self.start_energy - self.work;
        self.constraint = self.constraint.max(view.reals[self.columns.constraint]);
        let place = view.steps as usize * self.tenths;
        let Some(exact) = self
            .reference
            .as_ref()
            .and_then(|motions| motions.get(place))
        else {
            return;
        };
        for i in 0..self.actuators {
            self.greatest_rate = self.greatest_rate.max(view.reals[self.columns.v[i]].abs());
            let errors = [
                view.reals[self.columns.s[i]] - exact.s[i],
                view.reals[self.columns.v[i]] - exact.v[i],
                view.reals[self.columns.force[i]] - exact.force[i],
            ];
            for (sum, error) in self.squares.iter_mut().zip(errors) {
                sum[i] += error * error;
            }
        }
        let error = energy - exact.energy;
        if let Some(course) = &mut self.course {
            course.push((view.time, error));
        }
        self.energy[0] += error * error;
        self.energy[1] = self.energy[1].max(error.abs());
    }

    fn is_calm(&self, view: &View<'_>) -> bool {
        let calm = |i: usize| {
            view.reals[self.columns.v[i]].abs() < GREATEST_RATE
                && view.reals[self.columns.pressure[i]].abs() < GREATEST_PRESSURE
        };
        self.residual_abs <= self.limit && (0..self.actuators).all(calm)
    }

    fn outcome(&self, is_finished: bool) -> CraneOutcome {
        let root = |squares: [f64; 2]| squares.map(|sum| (sum / self.points).sqrt());
        let [rms_s, rms_v, rms_force] = self.squares.map(root);
        let motions = self.reference.iter().flat_map(|motions| motions.iter());
        let rates = motions.flat_map(|motion| motion.v);
        let greatest = rates.fold(0.0, |greatest: f64, rate| greatest.max(rate.abs()));
        CraneOutcome {
            is_finished: is_finished && !self.is_beyond,
            residual: self.residual,
            residual_abs: self.residual_abs,
            rms_s,
            rms_v,
            greatest_rate: self.greatest_rate / greatest,
            rms_force,
            energy: [(self.energy[0] / self.points).sqrt(), self.energy[1]],
            balance: self.balance,
            constraint: self.constraint,
        }
    }
}

impl Observer for Shared {
    fn begin(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        let mut watch = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        watch.find_columns(view)?;
        watch.start_energy = view.reals[watch.columns.energy];
        watch.last = std::array::from_fn(|i| {
            (
                view.reals[watch.columns.force[i]],
                view.reals[watch.columns.s[i]],
            )
        });
        watch.compare(view);
        Ok(ControlFlow::Continue(()))
    }

    fn step(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        let mut watch = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        watch.add_residual_energy(view);
        watch.add_work(view);
        watch.compare(view);
        if watch.is_calm(view) {
            return Ok(ControlFlow::Continue(()));
        }
        watch.is_beyond = true;
        let limit = "the crane has left its limits".to_owned();
        Ok(ControlFlow::Break(StopRequest::Limit(limit)))
    }
}

#[cfg(test)]
mod tests {
    use fmu_models::Throttle;
    use gyrator_testkit::fmu;

    use super::*;
    use crate::cranes::setup::{Coupling, Formulation, Solver};
    use crate::row::{Bar, BenchmarkRow, Metric};

    /// Twenty times the largest macro-step of this configuration.
    #[test]
    fn a_run_that_breaks_off_meets_no_limit() {
        let setup = Setup {
            crane: Crane {
                actuators: 1,
                throttle: Throttle::Narrow,
            },
            formulation: Formulation::IndexThree,
            coupling: Coupling::Force,
            prediction: Prediction::Polynomial(0),
            solver: Solver::Euler,
            tenths: 200,
        };
        let path = fmu("CraneMechanics");
        let roles = RoleAssignment::new(path.parent().unwrap());
        let pool = FmuPool::new(&roles);
        let part = pool.run_within(&setup, f64::INFINITY).unwrap();
        assert!(!part.is_finished && part.constraint.is_finite());
        let outcome = pool.run_beside(&setup, Arc::default()).unwrap();
        let metric = Metric::figure("greatest violation of the constraints", "");
        for (measured, expected) in [(part.constraint, true), (outcome.constraint, false)] {
            let row = BenchmarkRow::new(metric, measured).within(Bar::AtMost(1e9), "");
            assert_eq!(row.ok, Some(expected));
        }
    }
}
