//! The compensator as the solution of an H∞ problem.

use std::f64::consts::{PI, SQRT_2};
use std::ops::RangeInclusive;
use std::sync::{Mutex, PoisonError};

use nalgebra::{DMatrix, DVector};

use crate::h_infinity::Complex;
use crate::h_infinity::compensator::Compensator;
use crate::h_infinity::response::hold_of_degree;
use crate::h_infinity::riccati;
use crate::h_infinity::transfer::TransferFunction;

/// The newest designs of this process.
static DESIGNS: Mutex<Vec<Design>> = Mutex::new(Vec::new());

/// How many designs are remembered.
const REMEMBERED: usize = 16;

/// Design parameters of a compensator. Frequencies are normalised: f·Δt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Specification {
    /// Order of the weight W_f, a Butterworth low pass: 1, 2 or 3.
    pub weight_order: u32,
    /// Its cut-off; errors above it count less.
    pub weight_cutoff: f64,
    /// Cut-off of the smoother K₂; `None`: the receiver has none.
    pub smoother_cutoff: Option<f64>,
    /// Weight ε of the compensator's own output. The problem as published is singular without.
    pub control_weight: f64,
    /// K₁(0): 1 has no static error; 1 − γ is what the problem asks for.
    pub static_gain: f64,
    /// Step of the solver that the poles are bounded for: |1 + step·pole| ≤ 0.97.
    pub solver_step: f64,
}

impl Specification {
    /// Values that the paper recommends for a weight of this order: cut-offs 0.01, 0.03 and 0.06 of
    /// the weight (§3.3), 0.5 of the smoother. ε is chosen so that eqs 13 and 14 are met (first
    /// order) or so that the compensator stays moderate (higher orders).
    #[must_use]
    pub fn of_order(weight_order: u32) -> Self {
        let (weight_cutoff, control_weight) = match weight_order {
            2 => (0.03, 1e-3),
            3 => (0.06, 1e-3),
            _ => (0.01, 2e-4),
        };
        Self {
            weight_order,
            weight_cutoff,
            smoother_cutoff: Some(0.5),
            control_weight,
            static_gain: 1.0,
            solver_step: 0.1,
        }
    }

    /// For one signal only, without smoother: a state more than the order of the weight, and a moderate answer to steps.
    #[must_use]
    pub fn one_sided(weight_order: u32) -> Self {
        Self {
            smoother_cutoff: None,
            control_weight: 3e-3,
            ..Self::of_order(weight_order)
        }
    }
}

/// No compensator exists for a [`Specification`].
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum SynthesisError {
    /// A number is out of its range.
    #[error("{what} is {value}; it must be from {least} to {greatest}")]
    OutOfRange {
        /// Which number.
        what: &'static str,
        /// Its value.
        value: f64,
        /// Least allowed value.
        least: f64,
        /// Greatest allowed value.
        greatest: f64,
    },
    /// The Riccati equation has no solution at any γ.
    #[error(
        "there is no compensator with these weights; use a larger control weight, or cut-offs nearer to those of the paper"
    )]
    NoSolution,
}

/// A compensator, and how it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    /// Specification that it was designed for.
    pub specification: Specification,
    /// Least γ of eq. 11, with the compensator's own output weighted by ε.
    pub gamma: f64,
    /// Poles before they were moved into the disc, the fast one left out.
    pub raw_poles: Vec<Complex>,
    /// K₁, with time in macro-steps.
    pub compensator: TransferFunction,
}

impl Specification {
    /// Solves the H∞ problem.
    ///
    /// Everything is feed-forward, so one Riccati equation of state feedback is enough (no filter
    /// equation). The fastest pole of its solution belongs to ε and is left out; the others are
    /// moved radially into the disc of [`solver_step`](Self::solver_step).
    ///
    /// # Errors
    /// A number out of its range, or weights that no compensator meets.
    pub fn synthesize(&self) -> Result<Design, SynthesisError> {
        self.check()?;
        let problem = Problem::new(self);
        let gamma = problem.least_gamma().ok_or(SynthesisError::NoSolution)?;
        let solution = problem.solve(MARGIN * gamma);
        let solution = solution.ok_or(SynthesisError::NoSolution)?;
        let feedback = -problem.control.transpose() * solution / self.control_weight.powi(2);
        let closed = &problem.dynamics + &problem.control * &feedback;
        let mut poles: Vec<Complex> = closed.complex_eigenvalues().iter().copied().collect();
        poles.sort_by(|a, b| a.norm().total_cmp(&b.norm()).then(b.im.total_cmp(&a.im)));
        poles.pop();
        let mut zeros = self.plant_poles();
        zeros.extend(weight_zeros(self, &feedback));
        let moved = poles.iter().map(|pole| into_disc(*pole, self.solver_step));
        let compensator = TransferFunction {
            gain: 1.0,
            zeros,
            poles: moved.collect(),
        };
        Ok(Design {
            specification: *self,
            gamma,
            compensator: compensator.with_static_gain(self.static_gain),
            raw_poles: poles,
        })
    }

    /// The same, remembered: a system has many signals and a study many runs, all with one design.
    ///
    /// # Errors
    /// As [`synthesize`](Self::synthesize).
    pub fn design(&self) -> Result<Design, SynthesisError> {
        let lock = || DESIGNS.lock().unwrap_or_else(PoisonError::into_inner);
        let known = lock()
            .iter()
            .find(|known| known.specification == *self)
            .cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let design = self.synthesize()?;
        let mut designs = lock();
        if designs.len() >= REMEMBERED {
            designs.remove(0);
        }
        designs.push(design.clone());
        Ok(design)
    }

    fn check(&self) -> Result<(), SynthesisError> {
        let within = |what, value: f64, range: RangeInclusive<f64>| {
            if range.contains(&value) {
                return Ok(());
            }
            let (least, greatest) = range.into_inner();
            Err(SynthesisError::OutOfRange {
                what,
                value,
                least,
                greatest,
            })
        };
        let smoother = self.smoother_cutoff.unwrap_or(1.0);
        within(
            "the order of the weight",
            self.weight_order.into(),
            1.0..=3.0,
        )?;
        within("the cut-off of the weight", self.weight_cutoff, 1e-4..=10.0)?;
        within("the cut-off of the smoother", smoother, 0.05..=100.0)?;
        within("the control weight", self.control_weight, 1e-5..=1.0)?;
        within("the static gain", self.static_gain, 0.1..=10.0)?;
        within("the solver's step", self.solver_step, 1e-4..=0.5)
    }

    /// Poles of the hold and of the smoother, which K₁ cancels.
    fn plant_poles(&self) -> Vec<Complex> {
        let pair = |re: f64, im: f64| [Complex::new(re, im), Complex::new(re, -im)];
        let smoother = self.smoother_cutoff.map(|cutoff| SQRT_2 * PI * cutoff);
        let smoother = smoother.into_iter().flat_map(|part| pair(-part, part));
        pair(-3.0, 3.0_f64.sqrt())
            .into_iter()
            .chain(smoother)
            .collect()
    }

    /// The weight W_f at the normalised frequency f·Δt.
    #[must_use]
    pub fn weight(&self, frequency: f64) -> Complex {
        let s = Complex::new(0.0, frequency / self.weight_cutoff);
        let one = Complex::new(1.0, 0.0);
        match self.weight_order {
            1 => one / (s + 1.0),
            2 => one / (s * s + SQRT_2 * s + 1.0),
            _ => one / ((s + 1.0) * (s * s + s + 1.0)),
        }
    }
}

impl Design {
    /// K₁ with time in seconds, for macro-steps of `macro_step` s.
    #[must_use]
    pub fn in_seconds(&self, macro_step: f64) -> TransferFunction {
        self.compensator.in_seconds(macro_step)
    }

    /// K₁ in steps of `step` s, for macro-steps of `macro_step` s.
    ///
    /// # Panics
    /// Never: synthesis gives as many zeros as poles, at most six.
    #[must_use]
    pub fn discretise(&self, macro_step: f64, step: f64) -> Compensator {
        Compensator::new(&self.in_seconds(macro_step), step)
            .expect("a biproper K₁ of order 2 to 6")
            .with_static_gain(self.specification.static_gain)
    }

    /// 1 − H*·K₂·K₁ at the normalised frequency, with the hold in Padé's approximation.
    #[must_use]
    pub fn error(&self, frequency: f64) -> Complex {
        let s = Complex::new(0.0, 2.0 * PI * frequency);
        let hold = Complex::new(12.0, 0.0) / (s * s + 6.0 * s + 12.0);
        -(hold * self.smoothed(frequency) - 1.0)
    }

    /// |H·K₂·K₁/Δt − 1| at the normalised frequency with the hold as it is: the low-frequency part
    /// of the coupling error (eq. 3, fig. 4).
    #[must_use]
    pub fn held_error(&self, frequency: f64) -> f64 {
        (hold_of_degree(0, frequency) * self.smoothed(frequency) - 1.0).norm()
    }

    /// K₂·K₁.
    fn smoothed(&self, frequency: f64) -> Complex {
        let compensated = self.compensator.at(Complex::new(0.0, 2.0 * PI * frequency));
        match self.specification.smoother_cutoff {
            None => compensated,
            Some(cutoff) => {
                let s = Complex::new(0.0, frequency / cutoff);
                compensated / (s * s + SQRT_2 * s + 1.0)
            }
        }
    }

    /// Greatest |W_f·(1 − H*·K₂·K₁)|: the γ that results when the poles are moved and without ε.
    #[must_use]
    pub fn peak(&self) -> f64 {
        let weighted = |decade: i32| {
            let frequency = 10.0_f64.powf(f64::from(decade) / 100.0);
            (self.specification.weight(frequency) * self.error(frequency)).norm()
        };
        (-500..=400).map(weighted).fold(0.0, f64::max)
    }
}

/// Ratio of the γ of the compensator to the least γ. A choice: at the least γ the Riccati equation has no
/// stabilising solution, and bisection finds it to one part in a thousand.
const MARGIN: f64 = 1.02;

/// Radius of the disc. The paper gives |1 + step·pole| < 1 (§3.4, with a step of Δt/10); the slow pair of
/// poles of its eq. 13 has 0.970.
const RADIUS: f64 = 0.97;

/// Moves a pole so that |1 + step·pole| is at most [`RADIUS`].
fn into_disc(pole: Complex, step: f64) -> Complex {
    let z = pole * step + 1.0;
    let size = z.norm();
    if size > RADIUS {
        (z * (RADIUS / size) - 1.0) / step
    } else {
        pole
    }
}

/// x' = A·x + B₁·w + B₂·u, z = (C₁·x, ε·u): the generalised plant of fig. 3 with the states of the
/// hold, the smoother and the weight. w is the signal, u what K₁ makes of it.
struct Problem {
    dynamics: DMatrix<f64>,
    control: DMatrix<f64>,
    signal: DMatrix<f64>,
    error: DMatrix<f64>,
    control_weight: f64,
}

/// A low pass ω²/(s² + 2ζω·s + ω²), or ω/(s + ω) without a damping ratio.
type LowPass = (f64, Option<f64>);

impl Problem {
    fn new(specification: &Specification) -> Self {
        let mut plant = vec![(12.0_f64.sqrt(), Some(3.0 / 12.0_f64.sqrt()))];
        if let Some(cutoff) = specification.smoother_cutoff {
            plant.push((2.0 * PI * cutoff, Some(0.5 * SQRT_2)));
        }
        let weight = weight_stages(specification);
        let (plant, plant_input) = cascade(&plant);
        let (weight, weight_input) = cascade(&weight);
        let (of_plant, of_weight) = (plant.nrows(), weight.nrows());
        let states = of_plant + of_weight;
        let mut dynamics = DMatrix::zeros(states, states);
        dynamics.view_mut((0, 0), plant.shape()).copy_from(&plant);
        dynamics
            .view_mut((of_plant, of_plant), weight.shape())
            .copy_from(&weight);
        let read = output_row(of_plant);
        dynamics
            .view_mut((of_plant, 0), (of_weight, of_plant))
            .copy_from(&-(&weight_input * read.transpose()));
        let mut control = DMatrix::zeros(states, 1);
        control.rows_mut(0, of_plant).copy_from(&plant_input);
        let mut signal = DMatrix::zeros(states, 1);
        signal
            .rows_mut(of_plant, of_weight)
            .copy_from(&weight_input);
        let mut error = DMatrix::zeros(1, states);
        error
            .columns_mut(of_plant, of_weight)
            .copy_from(&output_row(of_weight).transpose());
        Self {
            dynamics,
            control,
            signal,
            error,
            control_weight: specification.control_weight,
        }
    }

    fn solve(&self, gamma: f64) -> Option<DMatrix<f64>> {
        let of_signal = &self.signal * self.signal.transpose() / gamma.powi(2);
        let of_control = &self.control * self.control.transpose() / self.control_weight.powi(2);
        let weight = self.error.transpose() * &self.error;
        riccati::stabilising(&self.dynamics, &(of_signal - of_control), &weight)
    }

    /// By bisection, to one part in a thousand: a choice, as 2 % are added.
    fn least_gamma(&self) -> Option<f64> {
        let (mut below, mut above) = (1e-7_f64, 2.0_f64);
        self.solve(above)?;
        while above / below > 1.001 {
            let middle = (below * above).sqrt();
            match self.solve(middle) {
                Some(_) => above = middle,
                None => below = middle,
            }
        }
        Some(above)
    }
}

/// The Butterworth low pass W_f, stage by stage, the last one giving the output.
fn weight_stages(specification: &Specification) -> Vec<LowPass> {
    let omega = 2.0 * PI * specification.weight_cutoff;
    match specification.weight_order {
        1 => vec![(omega, None)],
        2 => vec![(omega, Some(0.5 * SQRT_2))],
        _ => vec![(omega, None), (omega, Some(0.5))],
    }
}

/// Dynamics and input of low passes in a row. The states of each are its output and, at second
/// order, the output's derivative over ω; the last stage comes first.
fn cascade(stages: &[LowPass]) -> (DMatrix<f64>, DVector<f64>) {
    let order = |(_, damping): &LowPass| 1 + usize::from(damping.is_some());
    let states = stages.iter().map(order).sum();
    let mut dynamics = DMatrix::zeros(states, states);
    let mut input = DVector::zeros(states);
    let mut place = 0;
    for (index, stage) in stages.iter().enumerate().rev() {
        let (omega, damping) = *stage;
        let last = place + order(stage) - 1;
        if let Some(damping) = damping {
            dynamics[(place, last)] = omega;
            dynamics[(last, place)] = -omega;
            dynamics[(last, last)] = -2.0 * damping * omega;
        } else {
            dynamics[(place, place)] = -omega;
        }
        place = last + 1;
        if index == 0 {
            input[last] = omega;
        } else {
            dynamics[(last, place)] = omega;
        }
    }
    (dynamics, input)
}

/// The output of a cascade is its first state.
fn output_row(states: usize) -> DVector<f64> {
    DVector::from_fn(states, |index, _| f64::from(u8::from(index == 0)))
}

/// The zeros of K₁ that are not poles of hold and smoother: the signal reaches the weight's states
/// only, so they are the zeros of what the feedback reads there.
fn weight_zeros(specification: &Specification, feedback: &DMatrix<f64>) -> Vec<Complex> {
    let omega = 2.0 * PI * specification.weight_cutoff;
    let order = specification.weight_order as usize;
    let of_weight = feedback.columns(feedback.ncols() - order, order);
    match order {
        // f₁ + f₂·s/ω
        2 => vec![Complex::new(-omega * of_weight[0] / of_weight[1], 0.0)],
        // f₁ + f₂·s/ω + f₃·(s² + ω·s + ω²)/ω²
        3 => {
            let [first, second, third] = [of_weight[0], of_weight[1], of_weight[2]];
            let half = 0.5 * omega * (1.0 + second / third);
            let product = omega * omega * (1.0 + first / third);
            let root = Complex::new(half * half - product, 0.0).sqrt();
            vec![-root - half, root - half]
        }
        _ => Vec::new(),
    }
}
