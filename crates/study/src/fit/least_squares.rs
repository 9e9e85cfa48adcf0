//! The search: a trust region with the Hessian of Gauss and Newton.

use nalgebra::DMatrix;

use crate::fit::FitError;
use crate::fit::fit_file::FitFile;
use crate::fit::parameter::Parameter;
use crate::fit::residuals::Measured;
use crate::fit::trust_region::{TrustRegion, dot};

/// A step of a coordinate for a difference quotient: its error of the second derivative and its error of rounding are both far below
/// what a Gauss-Newton step needs.
const DIFFERENCE: f64 = 1e-4;
/// Steps in a row that make the sum of squares no smaller, after which there is nothing to be found: the radius is then below 1e-4 of a step.
const MOST_REJECTED: u32 = 8;

/// A round of runs: at a point, and at points beside it for each parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Round {
    /// Its number, from 1.
    pub number: usize,
    /// Runs made so far.
    pub runs: usize,
    /// Root of the mean squared weighted difference at the point.
    pub misfit: f64,
    /// The parameters at the point.
    pub values: Vec<f64>,
}

/// The result of a fit.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// The parameters, in the order of the file.
    pub parameters: Vec<FittedParameter>,
    /// Root of the mean squared weighted difference, at the start and at the end.
    pub misfit: (f64, f64),
    /// Runs made.
    pub runs: usize,
    /// Whether the search ended by itself, and not by the number of runs.
    pub has_converged: bool,
}

/// A parameter that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FittedParameter {
    /// Its key.
    pub key: String,
    /// The value at which the search began.
    pub start: f64,
    /// Its value.
    pub value: f64,
    /// Its standard deviation, from the differences that are left and the slopes of the results, as if the differences were independent and
    /// equally distributed.
    pub deviation: f64,
}

/// Makes the runs of a round. It gets the round's number and the values of the parameters of each run, and gives the values of the signals at the measured
/// times, signal by signal, or why a run failed.
pub type MakeRuns<'a> =
    dyn FnMut(usize, &[Vec<f64>]) -> Result<Vec<Result<Vec<f64>, String>>, FitError> + 'a;

/// Looks for the parameters. `report` is called after each round.
///
/// # Errors
///
/// [`FitError`].
pub fn fit(
    file: &FitFile,
    measured: &Measured,
    runs: &mut MakeRuns<'_>,
    report: &mut dyn FnMut(&Round),
) -> Result<Fitted, FitError> {
    let (values, parameters) = (measured.count(), file.parameters.len());
    if values <= parameters {
        return Err(FitError::TooFewValues { values, parameters });
    }
    let first: Vec<f64> = file.parameters.iter().map(Parameter::first).collect();
    let mut search = Search {
        file,
        measured,
        runs,
        report,
        made: Vec::new(),
        number: 0,
        runs_made: 0,
    };
    let has_converged = search.look_for(&first)?;
    search.fitted(&first, has_converged)
}

/// The runs at one point: residuals, and their slopes by each coordinate.
struct Linearised {
    point: Vec<f64>,
    residuals: Vec<f64>,
    slopes: Vec<Vec<f64>>,
}

impl Linearised {
    /// Half the sum of squares: its gradient is the product of slopes and residuals.
    fn cost(&self) -> f64 {
        0.5 * dot(&self.residuals, &self.residuals)
    }

    fn gradient(&self) -> Vec<f64> {
        let slopes = self.slopes.iter();
        slopes.map(|slope| dot(slope, &self.residuals)).collect()
    }

    fn hessian(&self) -> Vec<Vec<f64>> {
        let row = |a: &Vec<f64>| self.slopes.iter().map(|b| dot(a, b)).collect();
        self.slopes.iter().map(row).collect()
    }
}

struct Search<'a, 'b> {
    file: &'a FitFile,
    measured: &'a Measured,
    runs: &'a mut MakeRuns<'b>,
    report: &'a mut dyn FnMut(&Round),
    made: Vec<Linearised>,
    number: usize,
    runs_made: usize,
}

impl Search<'_, '_> {
    /// Goes from point to point until the sum of squares gets no smaller; false if the number of runs ends it.
    fn look_for(&mut self, first: &[f64]) -> Result<bool, FitError> {
        let most_rounds = (self.file.most_runs / (first.len() + 1)).max(1);
        let mut region = TrustRegion::default();
        let (mut rounds, mut rejected) = (1, 0);
        let mut at = self.visit(first)?;
        loop {
            let Some(here) = at.map(|place| &self.made[place]) else {
                return Err(FitError::NoRuns("no run was made".to_owned()));
            };
            let before = here.cost();
            if before == 0.0 {
                return Ok(true);
            }
            if rounds >= most_rounds {
                return Ok(false);
            }
            rounds += 1;
            let (gradient, hessian) = (here.gradient(), here.hessian());
            let step = region.step(&gradient, &hessian);
            let beside: Vec<f64> = step.iter().zip(&here.point).map(|(a, b)| a + b).collect();
            let next = self.visit(&beside)?;
            let now = next.map_or(f64::INFINITY, |place| self.made[place].cost());
            let is_better = region.judge(&step, &gradient, &hessian, (before, now));
            if is_better {
                at = next;
            }
            if is_better && now < before {
                rejected = 0;
                if before - now <= self.file.tolerance * before {
                    return Ok(true);
                }
            } else {
                rejected += 1;
                if rejected >= MOST_REJECTED {
                    return Ok(true);
                }
            }
        }
    }

    /// Makes the runs of a point, once; `None` if the run at the point itself fails.
    fn visit(&mut self, point: &[f64]) -> Result<Option<usize>, FitError> {
        if let Some(place) = self.made.iter().position(|made| made.point == point) {
            return Ok(Some(place));
        }
        let beside = |index: usize| {
            let mut beside = point.to_vec();
            beside[index] += DIFFERENCE;
            beside
        };
        let points = [point.to_vec()]
            .into_iter()
            .chain((0..point.len()).map(beside));
        let values: Vec<Vec<f64>> = points.map(|point| self.values(&point)).collect();
        self.number += 1;
        let number = self.number;
        let results = (self.runs)(number, &values)?;
        self.runs_made += values.len();
        let mut residuals = Vec::new();
        for (index, result) in results.into_iter().enumerate() {
            let found = result.and_then(|results| self.measured.residuals(&results));
            match found {
                Ok(found) => residuals.push(found),
                // A step too far; without slopes the next one cannot be found.
                Err(_) if index == 0 && number > 1 => return Ok(None),
                Err(message) => {
                    let values = self.words(&values[index]);
                    return Err(FitError::Failed(format!(
                        "the run with {values} failed: {message}"
                    )));
                }
            }
        }
        let base = residuals.remove(0);
        let slope = |beside: &Vec<f64>| {
            let pairs = beside.iter().zip(&base);
            pairs
                .map(|(beside, base)| (beside - base) / DIFFERENCE)
                .collect()
        };
        let slopes = residuals.iter().map(slope).collect();
        let round = Round {
            number,
            runs: self.runs_made,
            misfit: misfit(&base),
            values: values[0].clone(),
        };
        (self.report)(&round);
        self.made.push(Linearised {
            point: point.to_vec(),
            residuals: base,
            slopes,
        });
        Ok(Some(self.made.len() - 1))
    }

    fn values(&self, point: &[f64]) -> Vec<f64> {
        let pairs = self.file.parameters.iter().zip(point);
        pairs.map(|(parameter, z)| parameter.value(*z)).collect()
    }

    fn words(&self, values: &[f64]) -> String {
        let pairs = self.file.parameters.iter().zip(values);
        let words = pairs.map(|(parameter, value)| format!("{} = {value}", parameter.key));
        words.collect::<Vec<_>>().join(", ")
    }

    /// The best point, with the deviations of its parameters.
    fn fitted(self, first: &[f64], has_converged: bool) -> Result<Fitted, FitError> {
        let made = self.made.iter();
        let best = made.min_by(|a, b| a.cost().total_cmp(&b.cost()));
        let start = self.made.iter().find(|made| made.point == first);
        let (Some(best), Some(start)) = (best, start) else {
            return Err(FitError::NoRuns("no run was made".to_owned()));
        };
        let count = first.len();
        let hessian = best.hessian();
        // Scaled by its diagonal, so that units of measure do not count.
        let scale: Vec<f64> = (0..count).map(|i| libm::sqrt(hessian[i][i])).collect();
        if let Some(index) = scale.iter().position(|scale| *scale == 0.0) {
            let key = self.file.parameters[index].key.clone();
            return Err(FitError::NotDetermined(key));
        }
        let scaled = DMatrix::from_fn(count, count, |i, j| hessian[i][j] / (scale[i] * scale[j]));
        let inverse = scaled.cholesky().map(|factor| factor.inverse());
        let inverse = inverse.ok_or_else(|| {
            let keys = self.file.parameters.iter().map(|p| p.key.as_str());
            FitError::NotDetermined(keys.collect::<Vec<_>>().join("`, `"))
        })?;
        let freedom = best.residuals.len() - count;
        let variance = 2.0 * best.cost() / freedom as f64;
        let parameter = |index: usize| {
            let (parameter, z) = (&self.file.parameters[index], best.point[index]);
            let deviation = libm::sqrt(variance * inverse[(index, index)]) / scale[index];
            FittedParameter {
                key: parameter.key.clone(),
                start: parameter.start,
                value: parameter.value(z),
                deviation: parameter.slope(z).abs() * deviation,
            }
        };
        Ok(Fitted {
            parameters: (0..count).map(parameter).collect(),
            misfit: (misfit(&start.residuals), misfit(&best.residuals)),
            runs: self.runs_made,
            has_converged,
        })
    }
}

fn misfit(residuals: &[f64]) -> f64 {
    libm::sqrt(dot(residuals, residuals) / residuals.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A decaying oscillation, p₀·e^(−p₁·t)·cos(p₂·t), at 200 times.
    fn model(p: &[f64]) -> Vec<f64> {
        let at = |index: i32| {
            let t = 0.05 * f64::from(index);
            p[0] * libm::exp(-p[1] * t) * libm::cos(p[2] * t)
        };
        (0..200).map(at).collect()
    }

    fn file(most_runs: usize) -> FitFile {
        let text = format!(
            "system = \"s.toml\"\nmeasured = \"m.csv\"\nsignals = [\"a.y\"]\nmax_runs = {most_runs}\n\
             [parameters]\n\"a.p\" = {{ start = 1.0 }}\n\
             \"a.d\" = {{ start = 0.5, minimum = 0.0, maximum = 2.0 }}\n\"a.w\" = {{ start = 2.0, scale = \"log\" }}\n"
        );
        FitFile::parse(text, "fit.toml").unwrap()
    }

    fn table(values: &[f64]) -> gyrator_record::Table {
        let mut text = "time,a.y\n".to_owned();
        for (index, value) in values.iter().enumerate() {
            text += &format!("{},{value}\n", 0.05 * index as f64);
        }
        gyrator_record::parse_csv(text.as_bytes(), std::path::Path::new("m.csv")).unwrap()
    }

    const TRUE: [f64; 3] = [1.7, 0.3, 2.6];

    #[test]
    fn parameters_of_a_closed_form_are_found() {
        let file = file(300);
        let measured = Measured::of(&table(&model(&TRUE)), &file).unwrap();
        let mut rounds = Vec::new();
        let mut make = |number: usize, points: &[Vec<f64>]| {
            rounds.push((number, points.to_vec()));
            Ok(points.iter().map(|point| Ok(model(point))).collect())
        };
        let found = fit(&file, &measured, &mut make, &mut |_| {}).unwrap();
        assert!(found.has_converged && found.runs <= 100, "{found:?}");
        for (found, exact) in found.parameters.iter().zip(TRUE) {
            assert!((found.value / exact - 1.0).abs() < 1e-6, "{found:?}");
        }
        // Asked again, the same rounds come.
        let first = rounds.clone();
        rounds.clear();
        let mut make = |number: usize, points: &[Vec<f64>]| {
            rounds.push((number, points.to_vec()));
            Ok(points.iter().map(|point| Ok(model(point))).collect())
        };
        assert_eq!(
            fit(&file, &measured, &mut make, &mut |_| {}).unwrap(),
            found
        );
        assert_eq!(rounds, first);
    }

    /// Noise of one per cent: the parameters lie within four of the standard deviations that the fit gives.
    #[test]
    fn deviations_are_those_of_the_noise() {
        let file = file(300);
        let mut state = 1_u64;
        let noise = |value: &f64| {
            // Numerical Recipes' generator, as noise that needs no other package.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let unit = (state >> 11) as f64 / (1_u64 << 53) as f64;
            value + 0.02 * (unit - 0.5)
        };
        let values: Vec<f64> = model(&TRUE).iter().map(noise).collect();
        let measured = Measured::of(&table(&values), &file).unwrap();
        let mut make =
            |_: usize, points: &[Vec<f64>]| Ok(points.iter().map(|p| Ok(model(p))).collect());
        let found = fit(&file, &measured, &mut make, &mut |_| {}).unwrap();
        for (found, exact) in found.parameters.iter().zip(TRUE) {
            let error = (found.value - exact).abs();
            assert!(
                error < 4.0 * found.deviation && found.deviation < 0.01 * exact,
                "{found:?}"
            );
        }
    }

    #[test]
    fn failures_are_named() {
        let all = file(300);
        let measured = Measured::of(&table(&model(&TRUE)), &all).unwrap();
        let mut fails = |_: usize, points: &[Vec<f64>]| {
            Ok(points.iter().map(|_| Err("it broke".to_owned())).collect())
        };
        let error = fit(&all, &measured, &mut fails, &mut |_| {})
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "the run with a.p = 1, a.d = 0.5, a.w = 2 failed: it broke"
        );
        let mut constant =
            |_: usize, points: &[Vec<f64>]| Ok(points.iter().map(|_| Ok(vec![1.0; 200])).collect());
        let error = fit(&all, &measured, &mut constant, &mut |_| {}).unwrap_err();
        assert!(matches!(error, FitError::NotDetermined(_)), "{error}");
        let few = file(4);
        let mut make =
            |_: usize, points: &[Vec<f64>]| Ok(points.iter().map(|p| Ok(model(p))).collect());
        assert!(
            !fit(&few, &measured, &mut make, &mut |_| {})
                .unwrap()
                .has_converged
        );
    }
}
