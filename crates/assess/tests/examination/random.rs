//! Limits, findings and proposals on random damped systems, against the truth: a study.

use gyrator::{Run, RunOptions, StartError, System, Word};
use gyrator_assess::doctor::{Coupling, Diagnosis, Finding, StartRuns, examine};
use gyrator_system::SystemFile;
use gyrator_testkit::RandomSystem;

use crate::options;

/// An error of so many ranges has diverged; one below this part of the range has not.
const DIVERGED: f64 = 2.0;
const HEALTHY: f64 = 0.7;
/// How near a limit has to be, as a factor.
const NEAR: f64 = 1.5;

/// A random system with the words of the file.
#[derive(Clone)]
struct Drawn(RandomSystem);

impl Drawn {
    /// The system of a seed, coupled as it was drawn.
    fn of_seed(seed: u64) -> (Self, SystemFile) {
        let mut system = RandomSystem::of_seed(seed);
        system.is_untuned = true;
        let words = (system.exchange, system.extrapolation);
        let drawn = Self(system);
        let mut described = drawn.0.system(1.0);
        described.method("jacobi").exchange(words.0);
        described.extrapolation(words.1);
        let file = described.description().clone();
        (drawn, file)
    }

    fn described(&self, file: &SystemFile) -> System {
        let experiment = &file.experiment;
        let step = experiment.step_size.as_ref().unwrap().value;
        let mut drawn = self.0.clone();
        let correction = file.bonds.first().and_then(|bond| bond.correction.as_ref());
        drawn.correction = correction.map(|word| Word::from(&*word.name.value));
        let mut system = drawn.system(step / drawn.step_size);
        if let Some(word) = &experiment.method {
            system.method(Word::from(&*word.name.value));
        }
        if let Some(word) = &experiment.extrapolation {
            system.extrapolation(Word::from(&*word.name.value));
        }
        if let Some(word) = &experiment.exchange {
            system.exchange(&word.value);
        }
        system
    }

    /// Of a whole run at so many times the macro-step: the greatest error of an output over its range, the greatest RMS
    /// error, and steps of units in a macro-step. Errors are infinite if the run is not finite.
    fn error(&mut self, file: &SystemFile, factor: f64) -> (f64, f64, f64) {
        let mut at = self.0.clone();
        at.step_size *= factor;
        at.steps = (at.steps as f64 / factor * (1.0 + 1e-9)) as usize;
        let truth = at.truth();
        let mut file = file.clone();
        file.experiment.step_size.as_mut().unwrap().value = at.step_size;
        let mut run = self.start(file).unwrap();
        let mut rows = vec![run.view().reals.to_vec()];
        for _ in 0..at.steps {
            if run.step().is_err() {
                return (f64::INFINITY, f64::INFINITY, unit_steps(&run, rows.len()));
            }
            rows.push(run.view().reals.to_vec());
        }
        let (mut greatest, mut mean) = (0.0_f64, 0.0_f64);
        for (signal, truth) in truth.iter().enumerate() {
            let errors = rows
                .iter()
                .zip(truth)
                .map(|(row, truth)| row[signal] - truth);
            let least = truth.iter().copied().fold(f64::INFINITY, f64::min);
            let most = truth.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let error = errors
                .clone()
                .fold(0.0, |most: f64, error| most.max(error.abs()));
            if most == least {
                continue;
            }
            greatest = greatest.max(error / (most - least));
            let squares: f64 = errors.map(|error| error * error).sum();
            let size: f64 = truth.iter().map(|value| value * value).sum();
            mean = mean.max((squares / size).sqrt());
        }
        (greatest, mean, unit_steps(&run, at.steps))
    }

    /// The largest macro-step, over the system's, whose whole run does not diverge, by bisection; `None` above 64.
    fn limit(&mut self, file: &SystemFile) -> Option<f64> {
        let mut diverges = |factor: f64| {
            let error = self.error(file, factor).0;
            error.is_nan() || error > DIVERGED
        };
        let (mut below, mut above) = (1.0, 1.0);
        if diverges(1.0) {
            while diverges(below) {
                (below, above) = (below / 2.0, below);
                if below < 1e-3 {
                    return Some(below);
                }
            }
        } else {
            while !diverges(above) {
                (below, above) = (above, above * 2.0);
                if below > 64.0 {
                    return None;
                }
            }
        }
        while above / below > 1.1 {
            let middle = (above * below).sqrt();
            match diverges(middle) {
                true => above = middle,
                false => below = middle,
            }
        }
        Some(below)
    }

    fn examined(&mut self, file: &SystemFile) -> Diagnosis {
        examine(self, file, &options(5000.0)).unwrap()
    }
}

impl StartRuns for Drawn {
    fn start(&mut self, file: SystemFile) -> Result<Run, StartError> {
        self.described(&file).start(&RunOptions::default())
    }
}

/// In a macro-step.
fn unit_steps(run: &Run, steps: usize) -> f64 {
    run.report().counters.unit_steps as f64 / steps as f64
}

/// What was found on one system.
struct Judged {
    is_near: bool,
    faults: Vec<String>,
    finding: Finding,
}

fn judge(seed: u64) -> Judged {
    let (mut drawn, file) = Drawn::of_seed(seed);
    let diagnosis = drawn.examined(&file);
    let (stability, step) = (&diagnosis.stability, drawn.0.step_size);
    let limit = drawn.limit(&file).map(|factor| factor * step);
    let mut faults = Vec::new();
    for level in &stability.levels {
        if level.finding == Finding::Unstable {
            let error = drawn.error(&file, level.step_size / step).0;
            if error < HEALTHY {
                faults.push(format!("UNSTABLE with an error of {error:.2}: {level:?}"));
            }
        }
    }
    let is_near = match (stability.largest_step, stability.unstable_step, limit) {
        // At least so much.
        (Some(found), None, limit) => limit.is_none_or(|limit| found <= NEAR * limit),
        (Some(below), Some(above), Some(limit)) => {
            ((below * above).sqrt() / limit).ln().abs() <= NEAR.ln()
        }
        _ => false,
    };
    let proposal = &diagnosis.proposal;
    let of_given = drawn.error(&file, 1.0);
    let proposed = proposal.coupling.applied(&file);
    let of_proposed = drawn.error(&proposed, proposal.factor);
    // At the same cost: a macro-step that divides the given one.
    let parts = (of_proposed.2 / of_given.2 * (1.0 - 1e-6)).ceil().max(1.0);
    if proposal.coupling != Coupling::default() {
        let given = drawn.error(&file, parts.recip()).1;
        let worse = of_proposed.1 > given * 1.001;
        if worse || of_proposed.1.is_nan() {
            faults.push(format!(
                "{:.3e} after {given:.3e}: {proposal:?}",
                of_proposed.1
            ));
        }
    } else if proposal.factor < 1.0 && of_proposed.0.is_nan() | (of_proposed.0 > HEALTHY) {
        faults.push(format!("an error of {:.2}: {proposal:?}", of_proposed.0));
    }
    println!(
        "{seed:6} {:9} {:?} limit {} found {:?} to {:?}, error {:.2}; {} {} steps{}",
        if drawn.0.is_linear() {
            "linear"
        } else {
            "nonlinear"
        },
        stability.finding,
        limit.map_or("-".to_owned(), |limit| format!("{limit:.5}")),
        stability.largest_step,
        stability.unstable_step,
        of_given.0,
        proposal.coupling,
        diagnosis.verification_steps,
        if is_near { "" } else { "  FAR" },
    );
    if !is_near || !faults.is_empty() {
        for level in &stability.levels {
            println!("         {level:?}");
        }
        println!("         {faults:#?}");
    }
    Judged {
        is_near,
        faults,
        finding: stability.finding,
    }
}

/// The first damped systems from a seed on, half of them linear.
fn seeds(first: u64, count: usize) -> Vec<u64> {
    let of_kind = |is_linear: bool| {
        let seeds = (first..).filter(move |seed| {
            let system = RandomSystem::of_seed(*seed);
            system.is_damped() && system.is_linear() == is_linear
        });
        seeds.take(count / 2)
    };
    of_kind(true).chain(of_kind(false)).collect()
}

fn all(first: u64, count: usize) {
    let seeds = seeds(first, count);
    let judged = std::thread::scope(|scope| {
        let parts = seeds.chunks(seeds.len().div_ceil(2));
        let parts: Vec<_> = parts
            .map(|part| scope.spawn(|| part.iter().map(|seed| judge(*seed)).collect::<Vec<_>>()))
            .collect();
        parts
            .into_iter()
            .flat_map(|part| part.join().unwrap())
            .collect::<Vec<_>>()
    });
    let near = judged.iter().filter(|judged| judged.is_near).count();
    let of = |finding| {
        judged
            .iter()
            .filter(|judged| judged.finding == finding)
            .count()
    };
    println!(
        "{near} of {count} limits within a factor of {NEAR}; at the given macro-step {} stable, {} unstable, {} grow by \
         themselves, {} not known",
        of(Finding::Stable),
        of(Finding::Unstable),
        of(Finding::GrowsByItself),
        of(Finding::NotKnown)
    );
    let faults: Vec<&String> = judged.iter().flat_map(|judged| &judged.faults).collect();
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(near * 6 >= count * 5, "{near} of {count}");
}

#[test]
fn random_systems_are_judged_rightly() {
    all(1, 2);
}

/// The thresholds were set on seeds below 200. Other seeds: `GYRATOR_DOCTOR_SEED`; another number: `GYRATOR_DOCTOR_SYSTEMS`.
#[test]
#[ignore = "study: sixty damped systems, their limits by bisection of whole runs and their solutions"]
fn sixty_random_damped_systems_are_judged_rightly() {
    let first = std::env::var("GYRATOR_DOCTOR_SEED").ok();
    let first = first.map_or(5000, |first| first.parse().unwrap());
    let count = std::env::var("GYRATOR_DOCTOR_SYSTEMS").ok();
    all(first, count.map_or(60, |count| count.parse().unwrap()));
}
