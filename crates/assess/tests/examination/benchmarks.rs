//! The largest stable macro-step of the benchmarks' systems, beside the result of whole runs: a study.

use std::path::Path;

use gyrator::system::FmuCache;
use gyrator::{Run, RunOptions, StartError};
use gyrator_assess::at_other_step;
use gyrator_assess::doctor::{StartRuns, examine};
use gyrator_system::{Spanned, SystemFile, toml_file};
use gyrator_testkit::fmu;

use crate::options;

/// Starts runs in this process.
struct InProcess(FmuCache);

impl StartRuns for InProcess {
    fn start(&mut self, system: SystemFile) -> Result<Run, StartError> {
        self.0.system(system)?.start(&RunOptions::default())
    }
}

/// Masses, kg, stiffnesses k_1, k_c, k_2, N/m, and damping, N·s/m: Rodríguez et al. 2022, table 1.
const TABLE_1: [([f64; 2], [f64; 3], f64); 8] = [
    ([1.0, 1.0], [10.0, 100.0, 1000.0], 0.0),
    ([1.0, 1.0], [10.0, 100.0, 1000.0], 0.1),
    ([1.0, 1.0], [10.0, 1000.0, 100.0], 0.0),
    ([1.0, 1.0], [10.0, 1000.0, 100.0], 0.1),
    ([1.0, 1.0], [1000.0, 100.0, 10.0], 0.0),
    ([1.0, 1.0], [1000.0, 100.0, 10.0], 0.1),
    ([10.0, 1.0], [10.0, 100.0, 1000.0], 0.0),
    ([1.0, 10.0], [10.0, 100.0, 1000.0], 0.0),
];

/// Couplings of each system: exchange, extrapolation, method.
const COUPLINGS: [[&str; 3]; 5] = [
    ["stale", "hold", "jacobi"],
    ["auto", "hold", "jacobi"],
    ["stale", "linear", "jacobi"],
    ["auto", "linear", "jacobi"],
    ["stale", "hold", "gauss-seidel"],
];

fn experiment([exchange, extrapolation, method]: [&str; 3], step: f64, stop: f64) -> String {
    format!(
        "[experiment]\nstep_size = {step}\nstop_time = {stop}\nexchange = \"{exchange}\"\n\
         extrapolation = \"{extrapolation}\"\nmethod = \"{method}\"\n"
    )
}

fn path(model: &str) -> String {
    fmu(model).display().to_string()
}

/// Case `index` of table 1, with linear or square-root springs and linear or quadratic dampers.
fn oscillators(index: usize, coupling: [&str; 3], more: &str) -> String {
    let ([m1, m2], [k1, kc, k2], c) = TABLE_1[index];
    format!(
        "{}[components.left]\nfmu = \"{}\"\nstart_values = {{ m = {m1:?}, k = {k1:?}, k_c = {kc:?}, c = {c:?}, \
         c_c = {c:?}, v_start = 100.0{more} }}\n\
         [components.right]\nfmu = \"{}\"\nstart_values = {{ m = {m2:?}, k = {k2:?}, c = {c:?}, v_start = -100.0{more} }}\n\
         [[connections]]\nfrom = \"right.x\"\nto = \"left.x2\"\n[[bonds]]\nname = \"coupling\"\n\
         effort = [\"left.f\", \"right.f\"]\nflow = [\"right.v\", \"left.v2\"]\n",
        experiment(coupling, 1e-3, 10.0),
        path("OscillatorForce"),
        path("OscillatorMotion")
    )
}

fn quarter_car(coupling: [&str; 3], more: &str) -> String {
    format!(
        "{}[components.chassis]\nfmu = \"{}\"\n{more}\n[components.wheel]\nfmu = \"{}\"\n[[bonds]]\nname = \"suspension\"\n\
         effort = [\"chassis.F\", \"wheel.F\"]\nflow = [\"wheel.v_w\", \"chassis.v_w\"]\nsense = -1\n",
        experiment(coupling, 2e-3, 8.0),
        path("QuarterCarChassisSuspension"),
        path("QuarterCarWheel")
    )
}

fn dual_mass(coupling: [&str; 3]) -> String {
    format!(
        "{}[components.force]\nfmu = \"{}\"\n\
         start_values = {{ m = 9.9049, k = 586.9352, d = 50.9125, k_c = 741.3214, d_c = 40.3909, step_size = 1e-3 }}\n\
         [components.velocity]\nfmu = \"{}\"\n\
         start_values = {{ m = 0.3935, k = 956.6108, d = 20.1711, pulse_width = 0.2, step_size = 1e-3 }}\n\
         [[bonds]]\nname = \"coupling\"\neffort = [\"force.F\", \"velocity.F\"]\nflow = [\"velocity.v\", \"force.v2\"]\n",
        experiment(coupling, 5e-3, 5.0),
        path("DualMassForce"),
        path("DualMassVelocity")
    )
}

/// All rows: name and text of the system.
fn rows() -> Vec<(String, String)> {
    let mut rows = Vec::new();
    for coupling in COUPLINGS {
        let words = coupling.join(" ");
        for case in 0..TABLE_1.len() {
            rows.push((
                format!("double-oscillator {} {words}", case + 1),
                oscillators(case, coupling, ""),
            ));
        }
        rows.push((
            format!("quarter-car lin2 {words}"),
            quarter_car(coupling, ""),
        ));
        rows.push((format!("dual-mass {words}"), dual_mass(coupling)));
    }
    rows
}

/// Greatest magnitude of each output over a run at so many times the macro-step; `None` if it fails.
fn greatest(start: &mut InProcess, system: &SystemFile, factor: f64) -> Option<Vec<f64>> {
    let mut run = start.start(at_other_step(system, factor)).ok()?;
    let mut greatest = vec![0.0_f64; run.view().reals.len()];
    while !run.has_ended() {
        run.step().ok()?;
        for (greatest, value) in greatest.iter_mut().zip(run.view().reals) {
            *greatest = greatest.max(value.abs());
        }
    }
    greatest
        .iter()
        .all(|value| value.is_finite())
        .then_some(greatest)
}

/// The system with fresh values and lines, for runs at smaller macro-steps.
fn finely_exchanged(system: &SystemFile) -> SystemFile {
    let mut fine = system.clone();
    fine.experiment.method = Some("jacobi".into());
    fine.experiment.exchange = Some(Spanned::unplaced("auto".to_owned()));
    fine.experiment.extrapolation = Some("linear".into());
    fine
}

/// The largest macro-step whose whole run has no output tenfold its value at a quarter of the macro-step with fresh and linear values: bisected to a
/// twentieth.
fn measured(start: &mut InProcess, system: &SystemFile) -> f64 {
    let truth = greatest(start, &finely_exchanged(system), 0.25).expect("the fine run is stable");
    let mut is_stable = |factor: f64| {
        let found = greatest(start, system, factor);
        found.is_some_and(|found| found.iter().zip(&truth).all(|(a, b)| *a <= 10.0 * b))
    };
    let (mut below, mut above) = (1.0 / 64.0, 1.0);
    while is_stable(above) && above < 256.0 {
        (below, above) = (above, 2.0 * above);
    }
    while above / below > 1.05 {
        let middle = (above * below).sqrt();
        match is_stable(middle) {
            true => below = middle,
            false => above = middle,
        }
    }
    below
}

/// Outputs at every macro-step of the system over a whole run at so many times its macro-step, one over a whole number;
/// `None` if the run fails.
fn courses(start: &mut InProcess, system: &SystemFile, parts: usize) -> Option<Vec<Vec<f64>>> {
    let mut run = start
        .start(at_other_step(system, (parts as f64).recip()))
        .ok()?;
    let mut rows = vec![run.view().reals.to_vec()];
    for step in 1.. {
        if run.has_ended() {
            break;
        }
        run.step().ok()?;
        if step % parts == 0 {
            rows.push(run.view().reals.to_vec());
        }
    }
    let is_finite = rows.iter().flatten().all(|value| value.is_finite());
    is_finite.then_some(rows)
}

/// The greatest RMS error of a signal over its RMS value; infinite without a run.
fn error(rows: Option<&Vec<Vec<f64>>>, truth: &[Vec<f64>]) -> f64 {
    let Some(rows) = rows else {
        return f64::INFINITY;
    };
    let of_signal = |signal: usize| {
        let squares = rows.iter().zip(truth);
        let squares = squares.map(|(a, b)| (a[signal] - b[signal]).powi(2));
        let size: f64 = truth.iter().map(|row| row[signal].powi(2)).sum();
        (squares.sum::<f64>() / size.max(f64::MIN_POSITIVE)).sqrt()
    };
    (0..truth[0].len()).map(of_signal).fold(0.0, f64::max)
}

/// How often the units exchange values in a macro-step in the runs that proposals are judged by.
const INNER: usize = 32;
/// Part of an error by which a proposal may be worse: the judging runs also have errors.
const ROUNDING: f64 = 1e-3;
/// Part of the communication steps of units in a run of 10⁵ macro-steps that an examination may make.
const COST: f64 = 0.05;

#[test]
#[ignore = "study: the largest stable macro-steps of fifty systems, by bisection of whole runs, and the files that are proposed"]
fn the_largest_stable_steps_of_the_benchmarks_are_found() {
    let (mut near, mut all) = (0, 0);
    let mut faults = Vec::new();
    println!(
        "{:50} {:>10} {:>10} {:>6} {:>10} {:>10} {:>6}  proposal",
        "system", "measured", "doctor", "ratio", "error", "proposed", "cost"
    );
    let chosen = std::env::var("GYRATOR_DOCTOR_ROWS").unwrap_or_default();
    for (name, text) in rows() {
        if !name.contains(&chosen) {
            continue;
        }
        let (system, _) = toml_file::parse(text, Path::new("row.toml")).unwrap();
        let step = system.experiment.step_size.as_ref().unwrap().value;
        let mut start = InProcess(FmuCache::default());
        let limit = step * measured(&mut start, &system);
        let diagnosis = examine(&mut start, &system, &options(5000.0)).unwrap();
        assert!(diagnosis.steps <= 5000.0);
        let stability = &diagnosis.stability;
        let below = stability.largest_step.unwrap_or(f64::NAN);
        let found = (below * stability.unstable_step.unwrap_or(below)).sqrt();
        let ratio = found / limit;
        let open = if diagnosis.stability.is_open {
            " at least"
        } else {
            ""
        };
        let truth = courses(&mut start, &finely_exchanged(&system), INNER).unwrap();
        let of_given = error(courses(&mut start, &system, 1).as_ref(), &truth);
        let proposal = &diagnosis.proposal;
        let proposed = proposal.coupling.applied(&system);
        let parts = proposal.factor.recip().round() as usize;
        let of_proposed = error(courses(&mut start, &proposed, parts).as_ref(), &truth);
        let in_a_step = diagnosis.candidates[0].unit_steps.unwrap_or(2.0);
        let cost = diagnosis.unit_steps / (1e5 * in_a_step);
        println!(
            "{name:50} {limit:10.5} {found:10.5} {ratio:6.2} {of_given:10.3e} {of_proposed:10.3e} {:5.2}%  {}{open}",
            100.0 * cost,
            proposal.coupling
        );
        if !chosen.is_empty() {
            println!("{:#?}", diagnosis.stability);
            for candidate in &diagnosis.candidates {
                println!(
                    "    {} {:?} {:?} {:?}",
                    candidate.coupling,
                    candidate.relative_error,
                    candidate.growth,
                    candidate.unit_steps
                );
            }
            println!("{proposal:#?}");
        }
        if of_proposed > (1.0 + ROUNDING) * of_given {
            faults.push(format!("{name}: {of_proposed:.3e} after {of_given:.3e}"));
        }
        if cost > COST {
            faults.push(format!("{name}: {:.2} % of a run", 100.0 * cost));
        }
        all += 1;
        near += usize::from((1.0 / 1.5..=1.5).contains(&ratio));
    }
    println!("{near} of {all} within a factor of 1.5");
    assert!(faults.is_empty(), "{faults:#?}");
    assert!(near * 10 >= all * 8, "{near} of {all}");
}
