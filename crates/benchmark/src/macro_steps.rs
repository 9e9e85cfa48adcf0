//! Macro-steps for a wanted error: a run whose file chooses nothing, hold with stale outputs, and each extrapolation chosen by hand.
//!
//! The halves make exact steps, so that all error comes from the coupling. They are units that take values only, and units that follow
//! curves. Systems, each over 2 s: the partitioned oscillator of `oscillator-order`; the damped double oscillator of Rodríguez et al.
//! (2022), table 1, case 2; the linear quarter car of Sadjina & Pedersen (2019), cut above and below its suspension. Wanted are NRMS of
//! 1e-2 of the oscillators' positions and 1e-3 of the car's force and velocity. Rows: the least number of equal steps that has it,
//! found by doubling and bisection to 0.5 %. Bars: at least ten times fewer steps than hold if units take values only, never more than
//! hold, and at most 1.1 times the steps of the best extrapolation with any exchange.

use std::f64::consts::PI;

use gyrator::{RunOptions, System};
use nalgebra::{DMatrix, DVector};

use crate::benchmark::{Benchmark, Case, MeasureError, Progress, nothing_more};
use crate::curve_unit::{CurveUnit, LinearSystem};
use crate::figures;
use crate::metrics::nrms;
use crate::recording::Recording;
use crate::role::RoleAssignment;
use crate::row::{Bar, BenchmarkRow, Metric};

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: "macro-steps",
    summary: "macro-steps for a wanted error: nothing chosen, hold, and each extrapolation by hand",
    source: "systems: preCICE tutorials; Rodríguez et al. 2022; Sadjina & Pedersen 2019; bars of this project",
    roles: &[],
    cases: &[
        Case::new(
            "partitioned",
            "two masses between three springs, no feed-through, NRMS 1e-2",
        ),
        Case::new(
            "double",
            "the damped double oscillator, force with feed-through, NRMS 1e-2",
        ),
        Case::new(
            "car-above",
            "the linear quarter car, the chassis apart, NRMS 1e-3",
        ),
        Case::new(
            "car-below",
            "the linear quarter car, the wheel apart, NRMS 1e-3",
        ),
    ],
    measure,
    figures: figures::none,
    conclude: nothing_more,
};

const PROJECT: &str = "bar of this project";
const STEPS: Metric = Metric::figure("macro-steps", "");
const FEWER: Metric = Metric::figure("steps of hold / auto", "");
const BEST: Metric = Metric::figure("steps of auto / best by hand", "");

const STOP: f64 = 2.0;
const FEWEST: u32 = 20;
const MOST: u32 = 1 << 20;

/// Two linear halves.
struct Halves {
    first: LinearSystem<'static>,
    second: LinearSystem<'static>,
    /// From output to input, both `component.variable`.
    connections: &'static [(&'static str, &'static str)],
    /// The compared signals.
    names: [&'static str; 2],
    wanted: f64,
}

/// Names of the units, by what they take.
const KINDS: [(&str, u32); 2] = [("values", 0), ("curves", 3)];

const EXTRAPOLATIONS: [&str; 6] = [
    "hold",
    "linear",
    "quadratic",
    "hermite",
    "secant-linear",
    "mean-hold",
];

const K: f64 = 4.0 * PI * PI;
const K_12: f64 = 16.0 * PI * PI;

const fn partitioned_half(start: &'static [f64]) -> LinearSystem<'static> {
    LinearSystem {
        a: &[0.0, 1.0, -(K + K_12), 0.0],
        b: &[0.0, 1.0],
        c: &[1.0, 0.0, K_12, 0.0],
        d: &[],
        inputs: &["f_other"],
        outputs: &["x", "f"],
        start,
    }
}

fn partitioned() -> Halves {
    Halves {
        first: partitioned_half(&[1.0, 0.0]),
        second: partitioned_half(&[0.0, 0.0]),
        connections: &[("first.f", "second.f_other"), ("second.f", "first.f_other")],
        names: ["first.x", "second.x"],
        wanted: 1e-2,
    }
}

fn double() -> Halves {
    Halves {
        first: LinearSystem {
            a: &[0.0, 1.0, -110.0, -0.2],
            b: &[0.0, 0.0, 100.0, 0.1],
            c: &[1.0, 0.0, 0.0, 1.0, 100.0, 0.1],
            d: &[0.0, 0.0, 0.0, 0.0, -100.0, -0.1],
            inputs: &["x2", "v2"],
            outputs: &["x", "v", "f"],
            start: &[0.0, 100.0],
        },
        second: LinearSystem {
            a: &[0.0, 1.0, -1000.0, -0.1],
            b: &[0.0, 1.0],
            c: &[1.0, 0.0, 0.0, 1.0],
            d: &[],
            inputs: &["f"],
            outputs: &["x", "v"],
            start: &[0.0, -100.0],
        },
        connections: &[
            ("first.f", "second.f"),
            ("second.x", "first.x2"),
            ("second.v", "first.v2"),
        ],
        names: ["first.x", "second.x"],
        wanted: 1e-2,
    }
}

/// kg, N/m, N·s/m, and the height of the road, m.
const M_C: f64 = 400.0;
const M_W: f64 = 40.0;
const K_C: f64 = 15e3;
const K_W: f64 = 150e3;
const D_C: f64 = 1000.0;
const ROAD: f64 = 0.1;

/// Heights of the wheel count from the road.
fn car_above() -> Halves {
    Halves {
        first: LinearSystem {
            a: &[0.0],
            b: &[1.0 / M_C],
            c: &[1.0],
            d: &[],
            inputs: &["F"],
            outputs: &["v"],
            start: &[0.0],
        },
        second: LinearSystem {
            a: &[
                0.0,
                1.0,
                0.0,
                -K_W / M_W,
                -D_C / M_W,
                -K_C / M_W,
                0.0,
                1.0,
                0.0,
            ],
            b: &[0.0, D_C / M_W, -1.0],
            c: &[0.0, D_C, K_C],
            d: &[-D_C],
            inputs: &["v"],
            outputs: &["F"],
            start: &[-ROAD, 0.0, 0.0],
        },
        connections: &[("second.F", "first.F"), ("first.v", "second.v")],
        names: ["second.F", "first.v"],
        wanted: 1e-3,
    }
}

fn car_below() -> Halves {
    Halves {
        first: LinearSystem {
            a: &[-D_C / M_C, K_C / M_C, -1.0, 0.0],
            b: &[D_C / M_C, 1.0],
            c: &[-D_C, K_C],
            d: &[D_C],
            inputs: &["v"],
            outputs: &["F"],
            start: &[0.0, 0.0],
        },
        second: LinearSystem {
            a: &[0.0, 1.0, -K_W / M_W, 0.0],
            b: &[0.0, -1.0 / M_W],
            c: &[0.0, 1.0],
            d: &[],
            inputs: &["F"],
            outputs: &["v"],
            start: &[-ROAD, 0.0],
        },
        connections: &[("first.F", "second.F"), ("second.v", "first.v")],
        names: ["first.F", "second.v"],
        wanted: 1e-3,
    }
}

/// How a run is coupled. If `None`, the run chooses.
#[derive(Clone, Copy)]
struct Way {
    method: Option<&'static str>,
    extrapolation: Option<&'static str>,
    exchange: Option<&'static str>,
}

const STALE_HOLD: Way = Way {
    method: Some("jacobi"),
    extrapolation: Some("hold"),
    exchange: Some("stale"),
};
const UNTUNED: Way = Way {
    method: None,
    extrapolation: None,
    exchange: None,
};

impl Halves {
    fn halves(&self) -> [(&'static str, &LinearSystem<'static>); 2] {
        [("first", &self.first), ("second", &self.second)]
    }

    /// Rates of all states by all states, outputs by all states: ẋ = (A + B·M)·x and y = (C + D·M)·x. Inputs are u = P·y,
    /// and M = (1 − P·D)⁻¹·P·C. Nothing if there is an algebraic loop without a solution.
    fn whole(&self) -> Option<[DMatrix<f64>; 2]> {
        let names = |of: fn(&LinearSystem<'static>) -> &'static [&'static str]| -> Vec<String> {
            let halves = self.halves().into_iter();
            halves
                .flat_map(|(half, system)| {
                    of(system).iter().map(move |name| format!("{half}.{name}"))
                })
                .collect()
        };
        let (inputs, outputs) = (
            names(|system| system.inputs),
            names(|system| system.outputs),
        );
        let passes = |input: usize, output: usize| {
            let is_it =
                |(from, to): &(&str, &str)| *from == outputs[output] && *to == inputs[input];
            f64::from(u8::from(self.connections.iter().any(is_it)))
        };
        let passed = DMatrix::from_fn(inputs.len(), outputs.len(), passes);
        let block = |of: fn(&LinearSystem<'static>) -> &'static [f64],
                     rows: [usize; 2],
                     columns: [usize; 2]| {
            let mut matrix = DMatrix::zeros(rows[0] + rows[1], columns[0] + columns[1]);
            let (mut row, mut column) = (0, 0);
            for (index, (_, system)) in self.halves().into_iter().enumerate() {
                let elements = of(system);
                if !elements.is_empty() {
                    let part = DMatrix::from_row_slice(rows[index], columns[index], elements);
                    let mut view = matrix.view_mut((row, column), (rows[index], columns[index]));
                    view.copy_from(&part);
                }
                row += rows[index];
                column += columns[index];
            }
            matrix
        };
        let counts = |of: fn(&LinearSystem<'static>) -> usize| [of(&self.first), of(&self.second)];
        let (x, u, y) = (
            counts(|system| system.start.len()),
            counts(|system| system.inputs.len()),
            counts(|system| system.outputs.len()),
        );
        let a = block(|system| system.a, x, x);
        let b = block(|system| system.b, x, u);
        let c = block(|system| system.c, y, x);
        let d = block(|system| system.d, y, u);
        let loop_of_inputs = DMatrix::identity(inputs.len(), inputs.len()) - &passed * &d;
        let m = loop_of_inputs.lu().solve(&(&passed * &c))?;
        Some([a + b * &m, c + d * m])
    }

    /// The compared signals at so many equal steps, exactly.
    fn exact(&self, steps: u32) -> Vec<[f64; 2]> {
        let Some([rates, outputs]) = self.whole() else {
            return Vec::new();
        };
        let start = [self.first.start, self.second.start].concat();
        let mut state = DVector::from_vec(start);
        let propagator = (rates * (STOP / f64::from(steps))).exp();
        let halves = self.halves().into_iter();
        let names: Vec<String> = halves
            .flat_map(|(half, system)| {
                system
                    .outputs
                    .iter()
                    .map(move |name| format!("{half}.{name}"))
            })
            .collect();
        let places = self
            .names
            .map(|name| names.iter().position(|known| known == name));
        let mut rows = Vec::new();
        for _ in 0..=steps {
            let values = &outputs * &state;
            rows.push(places.map(|place| place.map_or(f64::NAN, |place| values[place])));
            state = &propagator * state;
        }
        rows
    }

    /// The greater NRMS of the compared signals.
    fn error(&self, steps: u32, derivatives: u32, way: Way) -> Result<f64, MeasureError> {
        let mut system = System::new(STOP / f64::from(steps));
        system.stop_time(STOP);
        if let Some(word) = way.method {
            system.method(word);
        }
        if let Some(word) = way.extrapolation {
            system.extrapolation(word);
        }
        if let Some(word) = way.exchange {
            system.exchange(word);
        }
        for (name, half) in self.halves() {
            system.add(name, CurveUnit::new(half, derivatives));
        }
        for (from, to) in self.connections {
            system.connect(from, to);
        }
        let options = RunOptions {
            accept_not_finite: true,
            ..RunOptions::default()
        };
        let recording = Recording::of_run(system.start(&options)?)?;
        let rows = recording.rows(&self.names.map(str::to_owned))?;
        let rows: Vec<[f64; 2]> = rows.iter().map(|row| [row[0], row[1]]).collect();
        let exact = self.exact(steps);
        Ok(nrms(&rows, &exact, 0).max(nrms(&rows, &exact, 1)))
    }

    /// The least number of steps with the wanted error: doubled until it is met, then bisected.
    fn steps(&self, derivatives: u32, way: Way) -> Result<f64, MeasureError> {
        let meets =
            |steps| Ok::<_, MeasureError>(self.error(steps, derivatives, way)? <= self.wanted);
        let mut high = FEWEST;
        while !meets(high)? {
            if high >= MOST {
                return Ok(f64::INFINITY);
            }
            high *= 2;
        }
        let mut low = high / 2;
        while f64::from(high - low) > (0.005 * f64::from(high)).max(1.0) {
            let middle = low + (high - low) / 2;
            if meets(middle)? {
                high = middle;
            } else {
                low = middle;
            }
        }
        Ok(f64::from(high))
    }
}

fn measure(
    _: &RoleAssignment,
    case: &'static Case,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    let halves = match case.name {
        "partitioned" => partitioned(),
        "double" => double(),
        "car-above" => car_above(),
        _ => car_below(),
    };
    for (kind, derivatives) in KINDS {
        let mut best = f64::INFINITY;
        for (name, extrapolation) in kind_names(kind).into_iter().zip(EXTRAPOLATIONS) {
            let mut least = f64::INFINITY;
            for exchange in ["stale", "auto"] {
                let way = Way {
                    method: Some("jacobi"),
                    extrapolation: Some(extrapolation),
                    exchange: Some(exchange),
                };
                least = least.min(halves.steps(derivatives, way)?);
            }
            progress.add(name, [BenchmarkRow::new(STEPS, least)]);
            best = best.min(least);
        }
        let hold = halves.steps(derivatives, STALE_HOLD)?;
        let own = halves.steps(derivatives, UNTUNED)?;
        let [stale, auto] = if kind == "values" {
            ["values: hold, stale", "values: auto"]
        } else {
            ["curves: hold, stale", "curves: auto"]
        };
        progress.add(stale, [BenchmarkRow::new(STEPS, hold)]);
        let rows = [
            BenchmarkRow::new(STEPS, own),
            BenchmarkRow::new(FEWER, hold / own).within(Bar::AtLeast(10.0), PROJECT),
            BenchmarkRow::new(BEST, own / best).within(Bar::AtMost(1.1), PROJECT),
        ];
        progress.add(auto, rows);
    }
    Ok(())
}

/// Names of the extrapolations with units of a kind, in the order of [`EXTRAPOLATIONS`].
#[rustfmt::skip]
fn kind_names(kind: &str) -> [&'static str; EXTRAPOLATIONS.len()] {
    match kind {
        "values" => ["values: hold", "values: linear", "values: quadratic", "values: hermite", "values: secant-linear", "values: mean-hold"],
        _ => ["curves: hold", "curves: linear", "curves: quadratic", "curves: hermite", "curves: secant-linear", "curves: mean-hold"],
    }
}
