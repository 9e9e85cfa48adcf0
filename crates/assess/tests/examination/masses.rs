//! Masses on springs and dampers that are not linear: what is called unstable, and what is not.

use gyrator::unit::{
    Capabilities, Causality, Feedthrough, Handle, StepOutcome, UnitDescription, UnitResult,
    Variable,
};
use gyrator::{Run, RunOptions, StartError, System, Unit};
use gyrator_assess::doctor::{Diagnosis, Finding, StartRuns, examine};
use gyrator_system::SystemFile;

use crate::{options, take_words};

/// A mass m on a spring k·x + k₃·x³ and a damper c·v + c_q·v·|v| to the wall; with a spring and a damper to another mass.
#[derive(Debug, Clone, Copy, Default)]
struct Mass {
    m: f64,
    k: f64,
    k3: f64,
    c: f64,
    cq: f64,
    /// Stiffness and damping of the coupling, on whose side they are.
    coupling: Option<[f64; 2]>,
    start: [f64; 2],
}

/// Inputs of a mass with the coupling: position and velocity of the other one; of the other one: forces.
struct MassUnit {
    description: UnitDescription,
    mass: Mass,
    state: [f64; 2],
    inputs: Vec<f64>,
}

impl MassUnit {
    fn new(mass: Mass, forces: usize) -> Self {
        let inputs: Vec<String> = match mass.coupling {
            Some(_) => vec!["x2".to_owned(), "v2".to_owned()],
            None => (0..forces).map(|index| format!("f{index}")).collect(),
        };
        let names = inputs.iter().map(|name| (name.as_str(), Causality::Input));
        let outputs = ["x", "v", "f"].map(|name| (name, Causality::Output));
        let outputs = outputs
            .into_iter()
            .take(2 + usize::from(mass.coupling.is_some()));
        let variables = names.chain(outputs).zip(0..);
        let variables =
            variables.map(|((name, causality), handle)| Variable::real(name, handle, causality));
        let feedthrough: Feedthrough = mass.coupling.iter().map(|_| (4, vec![0, 1])).collect();
        let capabilities = Capabilities {
            fresh_outputs: true,
            ..Capabilities::OF_VALUES
        };
        Self {
            description: UnitDescription::new(variables.collect(), feedthrough, capabilities),
            mass,
            state: mass.start,
            inputs: vec![0.0; inputs.len()],
        }
    }

    /// Of the coupling, on the other mass.
    fn force(&self, [x, v]: [f64; 2]) -> f64 {
        let [k, c] = self.mass.coupling.unwrap_or_default();
        let [x2, v2] = [self.inputs[0], self.inputs.get(1).copied().unwrap_or(0.0)];
        k * (x - x2) + c * (v - v2)
    }

    fn slope(&self, state: [f64; 2]) -> [f64; 2] {
        let ([x, v], mass) = (state, self.mass);
        let coupling = match mass.coupling {
            Some(_) => -self.force(state),
            None => self.inputs.iter().sum(),
        };
        let own = mass.k * x + mass.k3 * x * x * x + mass.c * v + mass.cq * v * v.abs();
        [v, (coupling - own) / mass.m]
    }
}

impl Unit for MassUnit {
    fn description(&self) -> &UnitDescription {
        &self.description
    }

    fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        for (handle, value) in handles.iter().zip(values) {
            self.inputs[*handle as usize] = *value;
        }
        Ok(())
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        let [x, v] = self.state;
        for (handle, value) in handles.iter().zip(values) {
            let handle = *handle as usize;
            *value = match handle.checked_sub(self.inputs.len()) {
                None => self.inputs[handle],
                Some(0) => x,
                Some(1) => v,
                Some(_) => self.force(self.state),
            };
        }
        Ok(())
    }

    /// The classical Runge-Kutta method (Kutta 1901), in ten inner steps.
    fn step(&mut self, _: f64, step: f64) -> UnitResult<StepOutcome> {
        let h = step / 10.0;
        let after = |[x, v]: [f64; 2], [dx, dv]: [f64; 2], h: f64| [x + h * dx, v + h * dv];
        for _ in 0..10 {
            let y = self.state;
            let k1 = self.slope(y);
            let k2 = self.slope(after(y, k1, h / 2.0));
            let k3 = self.slope(after(y, k2, h / 2.0));
            let k4 = self.slope(after(y, k3, h));
            self.state = [0, 1].map(|i| y[i] + h / 6.0 * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i]));
        }
        Ok(StepOutcome::Done)
    }
}

/// Masses that hang on another one.
#[derive(Debug, Clone)]
struct Star {
    /// Macro-step and stop time, s.
    times: [f64; 2],
    exchange: &'static str,
    extrapolation: &'static str,
    arms: Vec<Mass>,
    hub: Mass,
}

impl Star {
    fn system(&self, step: f64) -> System {
        let mut system = System::new(step);
        system.stop_time(self.times[1]);
        system.method("jacobi").exchange(self.exchange);
        system.extrapolation(self.extrapolation);
        system.add("hub", MassUnit::new(self.hub, self.arms.len()));
        for (index, arm) in self.arms.iter().enumerate() {
            let name = format!("arm{index}");
            system.add(&name, MassUnit::new(*arm, 0));
            system.connect("hub.x", &format!("{name}.x2"));
            let effort = [format!("{name}.f"), format!("hub.f{index}")];
            let flow = ["hub.v".to_owned(), format!("{name}.v2")];
            let [effort, flow] = [&effort, &flow].map(|[from, to]| (&**from, &**to));
            system.bond(&format!("b{index}"), effort, flow);
        }
        system
    }

    fn examined(&self) -> Diagnosis {
        let system = self.system(self.times[0]);
        examine(&mut self.clone(), system.description(), &options(5000.0)).unwrap()
    }
}

impl StartRuns for Star {
    fn start(&mut self, file: SystemFile) -> Result<Run, StartError> {
        let experiment = &file.experiment;
        let mut system = self.system(experiment.step_size.as_ref().unwrap().value);
        take_words(&mut system, &file);
        system.start(&RunOptions::default())
    }
}

fn mass([m, k, c]: [f64; 3], start: [f64; 2]) -> Mass {
    Mass {
        m,
        k,
        c,
        start,
        ..Mass::default()
    }
}

fn arm(values: [f64; 3], coupling: [f64; 2], start: [f64; 2]) -> Mass {
    Mass {
        coupling: Some(coupling),
        ..mass(values, start)
    }
}

/// Two arms and a hub with a slow motion, of which a run of 1500 macro-steps shows less than a period.
fn slow_star() -> Star {
    Star {
        times: [0.7e-3, 1.05],
        exchange: "stale",
        extrapolation: "linear",
        arms: vec![
            arm([2.58, 29.9, 1.03], [24.1, 0.456], [-0.0213, -1.31]),
            arm([0.601, 14.6, 0.145], [40.3, 0.306], [-0.0583, -1.17]),
        ],
        hub: mass([2.79, 10.2, 0.189], [-0.0526, 1.82]),
    }
}

/// Its modes say little, but no macro-step up to 44 ms makes a whole run diverge.
#[test]
fn a_slow_damped_star_is_stable() {
    let found = slow_star().examined().stability;
    assert_eq!(found.finding, Finding::Stable, "{found:#?}");
    assert_eq!(found.unstable_step, None, "{found:#?}");
    assert!(
        found.is_open && found.largest_step.unwrap() > 0.02,
        "{found:#?}"
    );
}

/// Quadratic dampers: the loop is another one at each velocity.
#[test]
fn a_star_with_quadratic_dampers_is_stable() {
    let star = Star {
        times: [0.55e-3, 0.82],
        exchange: "compensated",
        extrapolation: "hold",
        arms: vec![Mass {
            cq: 0.213,
            ..arm([1.73, 82.0, 1.39], [89.3, 3.31], [-0.0989, 0.989])
        }],
        hub: Mass {
            cq: 3.75,
            ..mass([0.327, 20.9, 3.18], [0.16, -2.68])
        },
    };
    let found = star.examined().stability;
    assert_eq!(found.finding, Finding::Stable, "{found:#?}");
    assert!(found.largest_step.unwrap() > 0.55e-3, "{found:#?}");
}

/// A stiff damper, whose force excites if it is held too long.
fn stiff_damper(step: f64, k3: f64) -> Star {
    let hub = mass([0.5, 100.0, 0.5], [0.1, 0.0]);
    Star {
        times: [step, 400.0 * step],
        exchange: "stale",
        extrapolation: "hold",
        arms: vec![arm([1.0, 50.0, 0.5], [100.0, 60.0], [0.0, 1.0])],
        hub: Mass { k3, ..hub },
    }
}

#[test]
fn a_coupling_that_is_really_unstable_is_called_so() {
    for k3 in [0.0, 2000.0] {
        let diagnosis = stiff_damper(0.08, k3).examined();
        let found = &diagnosis.stability;
        assert_eq!(found.finding, Finding::Unstable, "{found:#?}");
        let (below, above) = (found.largest_step.unwrap(), found.unstable_step.unwrap());
        assert!(below < above && above <= 1.3 * below, "{found:#?}");
        // What is proposed was stable in whole runs.
        let calm = Star {
            times: [below, 32.0],
            ..stiff_damper(0.08, k3)
        };
        assert_ne!(calm.examined().stability.finding, Finding::Unstable);
        let proposal = &diagnosis.proposal;
        assert!(
            proposal.factor < 1.0 || proposal.verification.is_some(),
            "{proposal:?}"
        );
    }
}

/// A negative damper that a quadratic one bounds at 2 m/s; without it, an unstable plant. Both grow in the same way at half
/// the macro-step.
#[test]
fn a_system_that_excites_itself_grows_by_itself() {
    for (cq, time) in [(0.5, 6.0), (0.0, 8.0)] {
        let star = Star {
            times: [2e-3, time],
            exchange: "stale",
            extrapolation: "linear",
            arms: vec![Mass {
                cq,
                ..arm([1.0, 100.0, -4.0], [20.0, 0.1], [0.001, 0.0])
            }],
            hub: mass([1.0, 150.0, 0.2], [0.0, 0.0]),
        };
        let found = star.examined().stability;
        assert_eq!(found.finding, Finding::GrowsByItself, "{found:#?}");
        assert_eq!(found.is_stable, None);
    }
}

/// No time for whole runs, and runs that are too short: said in words, and never unstable.
#[test]
fn what_is_not_known_says_why() {
    let short = Star {
        times: [0.1, 1.0],
        ..slow_star()
    };
    let found = short.examined().stability;
    assert_eq!(found.finding, Finding::NotKnown);
    assert!(found.reason.unwrap().contains("10 macro-steps"));
}
