//! Two units that integrate one flow, in steps that swing: Kyllingstad (2025, arXiv 2512.13845).
//!
//! Unit 1 is ẋ₁ = v, unit 2 v̇ = −(x₁ + v) + sin t and ẋ₂ = v, both exact for the inputs that they receive; x₁ = x₂ = 1, v = 0 at
//! first, 200 s. Steps are 10 ms, or h = 7.5 + 2.5·sin(t + π/2) ms. Row: the greatest distance of the two copies of the displacement,
//! without a remedy and with the correction `equal-displacement`; the paper's own term is in `reference/step_changes.py`. Case
//! `quarter-car`: ECCO (Sadjina & Pedersen 2019) changes the steps, and the chassis' side integrates the wheel's velocity.

use std::f64::consts::FRAC_PI_2;

use gyrator::registry::Entry;
use gyrator::step_control::{
    ControlledSystem, StepAudit, StepControl, StepControlFacts, StepDecision,
};
use gyrator::{RunOptions, System};

use crate::benchmark::{Benchmark, Case, MeasureError, Progress, nothing_more};
use crate::curve_unit::{CurveUnit, LinearSystem};
use crate::figures;
use crate::metrics::greatest;
use crate::quarter_car::{CHASSIS_SUSPENSION, WHEEL};
use crate::quarter_car_run::{Correction, Coupling, Ecco, LIN2, PLAIN};
use crate::recording::Recording;
use crate::role::RoleAssignment;
use crate::row::{BenchmarkRow, Metric};

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: "step-changes",
    summary: "two units that integrate one flow, in steps that swing: how far the displacements drift apart",
    source: "Kyllingstad 2025, arXiv 2512.13845",
    roles: &[CHASSIS_SUSPENSION, WHEEL],
    cases: &[
        Case::new("hold", "inputs held"),
        Case::new("mean-hold", "the mean of a line held"),
        Case::new("linear", "inputs on lines"),
        Case::new("quadratic", "inputs on parabolas"),
        Case::new(
            CAR,
            "the linear quarter car, cut below its suspension, held inputs, under ECCO",
        ),
    ],
    measure,
    figures: figures::none,
    conclude: nothing_more,
};

const DRIFT: Metric = Metric::greatest_error("drift", "m");
const STOP: f64 = 200.0;
const STEP: f64 = 1e-2;

const CAR: &str = "quarter-car";

/// Steps that swing; whether the flow is corrected.
const WAYS: [(&str, bool, bool); 3] = [
    ("steps of 10 ms", false, false),
    ("swinging steps", true, false),
    ("swinging steps, equal-displacement", true, true),
];

/// Steps of 7.5 + 2.5·sin(t + π/2) ms.
struct Swinging {
    time: f64,
}

impl Swinging {
    const ENTRY: Entry<dyn StepControl> = Entry {
        name: "swinging",
        summary: "steps of 7.5 + 2.5·sin(t + π/2) ms",
        source: "Kyllingstad 2025",
        parameters: &[],
        facts: |_, ()| StepControlFacts {
            may_repeat: false,
            ..StepControlFacts::default()
        },
        build: |_| Box::new(Self { time: 0.0 }),
    };

    fn size(&self) -> f64 {
        7.5e-3 + 2.5e-3 * (self.time + FRAC_PI_2).sin()
    }
}

impl StepControl for Swinging {
    fn first(&mut self, _system: &ControlledSystem<'_>) -> f64 {
        self.size()
    }

    fn next(&mut self, audit: &StepAudit<'_>) -> StepDecision {
        self.time = audit.step.time + audit.step.size;
        StepDecision::Continue(self.size())
    }
}

/// ẋ₁ = v.
const FIRST: LinearSystem<'static> = LinearSystem {
    a: &[0.0],
    b: &[1.0],
    c: &[1.0],
    d: &[],
    inputs: &["v"],
    outputs: &["x"],
    start: &[1.0],
};

/// v̇ = −v − x₁ + s, ẋ₂ = v; s = sin t.
#[rustfmt::skip]
const SECOND: LinearSystem<'static> = LinearSystem {
    a: &[
        -1.0, 0.0, 1.0, 0.0,
        1.0, 0.0, 0.0, 0.0,
        0.0, 0.0, 0.0, 1.0,
        0.0, 0.0, -1.0, 0.0,
    ],
    b: &[-1.0, 0.0, 0.0, 0.0],
    c: &[
        1.0, 0.0, 0.0, 0.0,
        0.0, 1.0, 0.0, 0.0,
    ],
    d: &[],
    inputs: &["x"],
    outputs: &["v", "x2"],
    start: &[0.0, 1.0, 0.0, 1.0],
};

/// The wheel's height less what the chassis' side has made of its velocity: the stretch of its spring and the chassis' height, which is the
/// trapezoidal sum of its velocity.
fn measure_car(roles: &RoleAssignment, progress: &Progress<'_>) -> Result<(), MeasureError> {
    for (name, correction) in [
        ("ecco", Correction::Off),
        ("ecco, equal-displacement", Correction::EqualDisplacement),
    ] {
        let coupling = Coupling {
            correction,
            ecco: Some(Ecco {
                tolerance: 1.4e-6,
                indicator: "signed",
                overshoot: true,
                reject_above: None,
            }),
            ..PLAIN
        };
        let (file, _) = LIN2.system(roles, &coupling)?;
        let mut run = roles.start(&System::from_file(file)?, &RunOptions::default())?;
        let (mut drift, mut height) = (0.0_f64, 0.0);
        let mut last = (run.time(), run.read_real("s1.v_c")?);
        while !run.has_ended() {
            run.step()?;
            let now = (run.time(), run.read_real("s1.v_c")?);
            height += 0.5 * (now.0 - last.0) * (last.1 + now.1);
            last = now;
            let wheel = run.read_real("s1.stretch")? + height;
            drift = drift.max((wheel - run.read_real("s2.z_w")?).abs());
        }
        progress.add(name, [BenchmarkRow::new(DRIFT, drift)]);
    }
    Ok(())
}

fn measure(
    roles: &RoleAssignment,
    case: &'static Case,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    if case.name == CAR {
        return measure_car(roles, progress);
    }
    for (name, swings, is_corrected) in WAYS {
        let mut system = System::new(STEP);
        system.stop_time(STOP);
        system.method("jacobi").extrapolation(case.name);
        system.add("first", CurveUnit::new(&FIRST, 3));
        system.add("second", CurveUnit::new(&SECOND, 3));
        let bond = system.bond("flow", ("first.x", "second.x"), ("second.v", "first.v"));
        if is_corrected {
            bond.correction("equal-displacement");
        }
        if swings {
            let added = system.registries().step_controls.add(Swinging::ENTRY);
            added.map_err(|error| MeasureError::NoEntry(error.to_string()))?;
            system.step_control("swinging");
        }
        let recording = Recording::of_run(system.start(&RunOptions::default())?)?;
        let rows = recording.rows(&["first.x".to_owned(), "second.x2".to_owned()])?;
        let drift = greatest(rows.iter().map(|row| row[0] - row[1]));
        progress.add(name, [BenchmarkRow::new(DRIFT, drift)]);
    }
    Ok(())
}
