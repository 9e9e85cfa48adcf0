//! Roles, system and rows that the benchmarks of coupled oscillators share.

use gyrator::report::CorrectionVerdict;
use gyrator_system::{SystemFile, Value};

use crate::assembly::{Assembly, Configuration, Place, REFINED, REFINEMENT, STALE};
use crate::benchmark::{MeasureError, Progress};
use crate::metrics::{ENERGY_END, ENERGY_LAST, ENERGY_MAX, energy_metrics, rms};
use crate::recording::Recording;
use crate::reference::{Damper, Element, Mass, NotConverged, Reference, Spring, StarOscillator};
use crate::role::{Role, RoleAssignment, RoleError};
use crate::row::{BenchmarkRow, Figure, Metric};

pub(crate) const FORCE: Role = Role {
    name: "force",
    model: "OscillatorForce",
    summary: "a mass on a spring and damper to the wall, with the spring and damper to the other mass",
    ports: &["x2", "v2", "f", "x", "v"],
    parameters: &["m", "k", "c", "k_c", "c_c", "spring", "damper", "v_start"],
};

pub(crate) const MOTION: Role = Role {
    name: "motion",
    model: "OscillatorMotion",
    summary: "a mass on a spring and damper to the wall, moved by the force of the coupling",
    ports: &["f", "x", "v"],
    parameters: HUB_PARAMETERS,
};

pub(crate) const HUB_PARAMETERS: &[&str] = &["m", "k", "c", "spring", "damper", "v_start"];

/// Simulated time of all oscillator benchmarks, s.
pub(crate) const STOP: f64 = 10.0;

/// Macro-step H, s.
pub(crate) const H: f64 = 1e-3;

/// A mass of `m` kg that starts at 0 m with `v_start` m/s, on a spring of `k` N/m and a damper `c`.
pub(crate) const fn mass(m: f64, k: f64, c: f64, v_start: f64) -> Mass {
    Mass {
        m,
        wall: Element { k, c },
        v_start,
    }
}

/// Oscillators and how they are stepped.
#[derive(Debug, Clone)]
pub(crate) struct Oscillators {
    pub(crate) star: StarOscillator,
    /// Role of the hub.
    pub(crate) hub: &'static Role,
    /// Names of the hub's inputs, arm by arm.
    pub(crate) hub_inputs: &'static [&'static str],
    /// Communication step of the arms and of the hub, s; the macro-step is the greater one.
    pub(crate) steps: [f64; 2],
    pub(crate) extrapolation: &'static str,
    /// Stop time, s.
    pub(crate) stop: f64,
}

/// A run with its states x_1 … x_n, v_1 … v_n, and the exact ones at the same times.
pub(crate) struct Course {
    pub(crate) recording: Recording,
    pub(crate) states: Vec<Vec<f64>>,
}

impl Oscillators {
    /// Single rate, inputs held.
    pub(crate) fn single_rate(
        star: StarOscillator,
        hub: &'static Role,
        hub_inputs: &'static [&'static str],
    ) -> Self {
        Self {
            star,
            hub,
            hub_inputs,
            steps: [H; 2],
            extrapolation: "hold",
            stop: STOP,
        }
    }

    /// The same in steps of a tenth.
    fn refined(&self) -> Self {
        Self {
            steps: self.steps.map(|step| step / REFINEMENT),
            ..self.clone()
        }
    }

    pub(crate) fn macro_step(&self) -> f64 {
        self.steps[0].max(self.steps[1])
    }

    /// The coupled system, and the recorded names of x_1 … x_n, v_1 … v_n.
    pub(crate) fn system(
        &self,
        roles: &RoleAssignment,
        configuration: &Configuration,
    ) -> Result<(SystemFile, Vec<String>), RoleError> {
        let mut assembly = Assembly::new(roles, self.macro_step(), self.stop);
        let place = |name, role, step, exchange| Place {
            name,
            role,
            step,
            inner_step: step,
            extrapolation: self.extrapolation,
            exchange,
        };
        let [arm_step, hub_step] = self.steps;
        let arms: Vec<String> = (1..=self.star.arms.len())
            .map(|index| format!("arm{index}"))
            .collect();
        for (name, (mass, coupling)) in arms.iter().zip(&self.star.arms) {
            let mut parameters = self.parameters(mass);
            parameters.extend([
                ("k_c", Value::Real(coupling.k)),
                ("c_c", Value::Real(coupling.c)),
            ]);
            assembly.add(
                place(name, &FORCE, arm_step, configuration.exchange),
                &parameters,
            )?;
        }
        // The hub has no direct feed-through and nothing to exchange in another way.
        assembly.add(
            place("hub", self.hub, hub_step, STALE.exchange),
            &self.parameters(&self.star.hub),
        )?;
        for (arm, input) in arms.iter().zip(self.hub_inputs) {
            assembly.connect("hub.x", &format!("{arm}.x2"));
            let (force, felt) = (format!("{arm}.f"), format!("hub.{input}"));
            let velocity = format!("{arm}.v2");
            let axis = [
                (force.as_str(), felt.as_str()),
                ("hub.v", velocity.as_str()),
            ];
            assembly.bond(&format!("coupling of {arm}"), &[axis], configuration);
        }
        let masses = || arms.iter().map(String::as_str).chain(["hub"]);
        let names = ["x", "v"]
            .into_iter()
            .flat_map(|port| masses().map(move |mass| format!("{mass}.{port}")));
        let names = names.map(|name| assembly.variable(&name)).collect();
        Ok((assembly.into_file(), names))
    }

    fn parameters(&self, mass: &Mass) -> Vec<(&'static str, Value)> {
        let kind = |is_linear: bool| Value::Integer(if is_linear { 1 } else { 2 });
        vec![
            ("m", Value::Real(mass.m)),
            ("k", Value::Real(mass.wall.k)),
            ("c", Value::Real(mass.wall.c)),
            ("spring", kind(self.star.spring == Spring::Linear)),
            ("damper", kind(self.star.damper == Damper::Linear)),
            ("v_start", Value::Real(mass.v_start)),
        ]
    }

    pub(crate) fn run(
        &self,
        roles: &RoleAssignment,
        configuration: &Configuration,
    ) -> Result<Course, MeasureError> {
        let (file, names) = self.system(roles, configuration)?;
        let recording = Recording::of(roles, file)?;
        let states = recording.rows(&names)?;
        Ok(Course { recording, states })
    }

    /// Communication points, s.
    pub(crate) fn times(&self) -> Vec<f64> {
        let steps = (self.stop / self.macro_step()).round() as u32;
        (0..=steps)
            .map(|step| f64::from(step) * self.macro_step())
            .collect()
    }

    pub(crate) fn exact(&self) -> Result<Vec<Vec<f64>>, NotConverged> {
        self.star.states_at(&self.times())
    }

    /// Symplectic Euler on the whole system: the rest of the error if the coupling has none.
    pub(crate) fn monolithic(&self) -> Vec<Vec<f64>> {
        let step = self.macro_step();
        let mut state = self.star.start();
        let mut rates = vec![0.0; state.len()];
        let masses = state.len() / 2;
        let mut states = vec![state.clone()];
        for time in &self.times()[1..] {
            self.star.rates(*time, &state, &mut rates);
            for mass in 0..masses {
                state[masses + mass] += step * rates[masses + mass];
                state[mass] += step * state[masses + mass];
            }
            states.push(state.clone());
        }
        states
    }

    /// Error of the energy at each time, J.
    pub(crate) fn energy_errors(&self, states: &[Vec<f64>], exact: &[Vec<f64>]) -> Vec<f64> {
        let pairs = states.iter().zip(exact);
        pairs
            .map(|(state, exact)| self.star.energy(state) - self.star.energy(exact))
            .collect()
    }

    /// The energy's error at the end, greatest, over the last second, J; rms errors of the hub's
    /// position and of mass 1's, m.
    fn metrics(&self, states: &[Vec<f64>], exact: &[Vec<f64>]) -> [f64; 5] {
        let [end, max, last] = energy_metrics(&self.times(), &self.energy_errors(states, exact));
        let position = |mass: usize| {
            rms(states
                .iter()
                .zip(exact)
                .map(|(state, exact)| state[mass] - exact[mass]))
        };
        [end, max, last, position(self.star.arms.len()), position(0)]
    }
}

/// How a case is measured.
pub(crate) struct Plan<'a> {
    pub(crate) oscillators: Oscillators,
    pub(crate) configurations: &'a [Configuration],
    pub(crate) has_monolithic: bool,
    /// Names of the errors of the hub's position and of mass 1's.
    pub(crate) positions: [Metric; 2],
}

/// Makes further rows of a run and its energy's errors, J.
type Audit<'a> = dyn Fn(&Configuration, &Recording, &[f64]) -> Vec<BenchmarkRow> + 'a;

impl Plan<'_> {
    /// Runs all configurations; `audit` makes further rows of a run and its energy's errors.
    pub(crate) fn measure(
        &self,
        roles: &RoleAssignment,
        progress: &Progress<'_>,
        audit: &Audit<'_>,
    ) -> Result<(), MeasureError> {
        let oscillators = &self.oscillators;
        let exact = oscillators.exact()?;
        for configuration in self.configurations {
            let course = oscillators.run(roles, configuration)?;
            let measured = oscillators.metrics(&course.states, &exact);
            progress.add(configuration.name, self.rows(measured));
            let errors = oscillators.energy_errors(&course.states, &exact);
            progress.add(
                configuration.name,
                audit(configuration, &course.recording, &errors),
            );
        }
        if self.has_monolithic {
            let measured = oscillators.metrics(&oscillators.monolithic(), &exact);
            progress.add("monolithic", self.rows(measured));
        }
        if progress.is_foreign() {
            let refined = oscillators.refined();
            let course = refined.run(roles, &REFINED)?;
            let measured = refined.metrics(&course.states, &refined.exact()?);
            progress.add(REFINED.name, self.rows(measured));
        }
        Ok(())
    }

    fn rows(&self, measured: [f64; 5]) -> impl Iterator<Item = BenchmarkRow> {
        let [hub, first] = self.positions;
        let metrics = [ENERGY_END, ENERGY_MAX, ENERGY_LAST, hub, first];
        metrics
            .into_iter()
            .zip(measured)
            .map(|(metric, measured)| BenchmarkRow::new(metric, measured))
    }
}

pub(crate) const VERDICT: Metric = Metric::figure("verdict", "");

/// Verdict of the audit on the correction, in one word.
pub(crate) fn verdict(verdict: Option<CorrectionVerdict>) -> Figure {
    Figure::Word(match verdict {
        Some(CorrectionVerdict::Helped) => "helped",
        Some(CorrectionVerdict::Harmed) => "harmed",
        Some(CorrectionVerdict::Uncertain) => "uncertain",
        Some(CorrectionVerdict::CannotBeJudged) => "cannot be judged",
        None => "no correction",
    })
}
