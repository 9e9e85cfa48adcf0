//! Steps of FMUs in processes of their own, through an example of the crate that makes these.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use super::{cell, median};
use crate::programs;

/// FMUs in a ring, and steps of it: the second and the third have more processes than small
/// machines have cores, where spinning is off.
const RINGS: [(usize, usize); 3] = [(1, 200_000), (2, 50_000), (4, 20_000)];

/// Builds the example and measures; a Markdown table of medians.
pub(super) fn table(
    root: &Path,
    target: &Path,
    fmu: &Path,
    repetitions: usize,
) -> Result<String, String> {
    let program = programs::example(root, target, "gyrator-worker", "isolated_step")?;
    let mut text = String::from("| FMUs | in one process, ns | isolated, ns |\n|--:|--:|--:|\n");
    for (instances, steps) in RINGS {
        let (mut here, mut isolated) = (Vec::new(), Vec::new());
        for _ in 0..repetitions {
            let times = measure(&program, fmu, instances, steps)?;
            here.push(times.0);
            isolated.push(times.1);
        }
        let (here, isolated) = (median(&here), median(&isolated));
        // Writing into a String cannot fail.
        let _ = writeln!(
            text,
            "| {instances} | {} | {} |",
            cell(here, 1),
            cell(isolated, 0)
        );
    }
    Ok(text)
}

/// Nanoseconds per step of one FMU: in one process, and isolated.
fn measure(
    program: &Path,
    fmu: &Path,
    instances: usize,
    steps: usize,
) -> Result<(f64, f64), String> {
    let output = Command::new(program)
        .arg(fmu)
        .args([instances.to_string(), steps.to_string()])
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    if !output.status.success() {
        let messages = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{} failed:\n{messages}", program.display()));
    }
    parse(&String::from_utf8_lossy(&output.stdout))
        .ok_or_else(|| format!("{} does not say its times", program.display()))
}

fn parse(text: &str) -> Option<(f64, f64)> {
    let mut numbers = text.split_whitespace().map(str::parse);
    let (here, isolated) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    numbers.next().is_none().then_some((here, isolated))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_numbers_are_the_times() {
        assert_eq!(parse("25.4 239.9\n"), Some((25.4, 239.9)));
        assert_eq!(parse("25.4\n"), None);
        assert_eq!(parse("25.4 x"), None);
        assert_eq!(parse("1 2 3"), None);
    }
}
