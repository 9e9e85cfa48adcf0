use gyrator::{Report, RunOptions, StopReason, System};
use gyrator_system::Severity;

use super::draft::{Assembly, Draft};
use super::systems::{SYSTEMS, TestSystem, spied_oscillator, star};
use crate::combination::Combination;
use crate::spy::Spied;
use crate::trace::Trace;

/// A run that has ended.
struct FinishedRun {
    trace: Trace,
    report: Report,
    time: f64,
}

fn run(
    draft: Draft,
    assembly: Assembly,
    threads: usize,
    combination: &Combination,
) -> Result<FinishedRun, String> {
    let system = draft.assemble(assembly, combination);
    let options = RunOptions {
        threads,
        ..RunOptions::default()
    };
    let mut run = system.start(&options).map_err(|error| error.to_string())?;
    let trace = Trace::of(&mut run).map_err(|error| error.to_string())?;
    let report = run.run().map_err(|error| error.to_string())?;
    Ok(FinishedRun {
        trace,
        report,
        time: run.time(),
    })
}

/// Whether the system is refused as it is combined. A refusal must name the two words it is about;
/// `others` are words beside those of the combination.
///
/// # Errors
/// The refusal, where it does not name them.
pub(super) fn is_refused(
    system: &System,
    combination: &Combination,
    others: &[&'static str],
) -> Result<bool, String> {
    let problems = system.check();
    let mut refusals = problems
        .iter()
        .filter(|p| p.severity == Severity::Error)
        .peekable();
    let is_refused = refusals.peek().is_some();
    for refusal in refusals {
        let is_named = |word: &&str| refusal.message.contains(&format!("`{word}`"));
        let is_of_combination = combination.words().into_iter().any(|word| is_named(&word));
        let words = Combination::all_words().chain(others.iter().copied());
        if !is_of_combination || words.filter(is_named).count() < 2 {
            let message = &refusal.message;
            return Err(format!("refused without naming the two words: {message}"));
        }
    }
    Ok(is_refused)
}

fn plainly(system: &TestSystem, combination: &Combination) -> Result<FinishedRun, String> {
    run(
        (system.draft)(combination),
        Assembly::default(),
        0,
        combination,
    )
}

fn on_all_systems(check: impl Fn(&TestSystem) -> Result<(), String>) -> Result<(), String> {
    SYSTEMS.iter().try_for_each(|system| {
        check(system).map_err(|message| format!("system “{}”: {message}", system.name))
    })
}

fn same(expected: &FinishedRun, other: &FinishedRun, what: &str) -> Result<(), String> {
    if expected.trace.bits() == other.trace.bits() {
        Ok(())
    } else {
        Err(format!("{what} gives other bits"))
    }
}

pub(super) fn ends_at_the_stop_time(combination: &Combination) -> Result<(), String> {
    on_all_systems(|system| {
        let stop_time = (system.draft)(combination).stop_time();
        let outcome = plainly(system, combination)?;
        let Report { stop_reason, .. } = &outcome.report;
        if *stop_reason != StopReason::StopTime || outcome.time != stop_time {
            let time = outcome.time;
            return Err(format!("{stop_reason:?} at {time} s, not {stop_time} s"));
        }
        match outcome.trace.times().last() {
            Some(last) if *last == stop_time => Ok(()),
            last => Err(format!("the observer's last time is {last:?}")),
        }
    })
}

/// Three units, several bonds on one of them, each bond with two axes: every combination runs to the
/// stop time with finite values, or is refused. Returns whether it runs.
pub(super) fn star_runs_or_is_refused(combination: &Combination) -> Result<bool, String> {
    let system = star(combination).assemble(Assembly::default(), combination);
    if is_refused(&system, combination, &[])? {
        return Ok(false);
    }
    let outcome = run(star(combination), Assembly::default(), 0, combination)?;
    match outcome.report.stop_reason {
        StopReason::StopTime => Ok(true),
        other => Err(format!("the star of three units: {other:?}")),
    }
}

pub(super) fn order_changes_nothing(combination: &Combination) -> Result<(), String> {
    on_all_systems(|system| {
        let reversed = Assembly {
            reversed: true,
            ..Assembly::default()
        };
        let other = run((system.draft)(combination), reversed, 0, combination)?;
        same(&plainly(system, combination)?, &other, "another order")
    })
}

pub(super) fn threads_change_nothing(combination: &Combination) -> Result<(), String> {
    on_all_systems(|system| {
        let expected = plainly(system, combination)?;
        for threads in [1, 2, 8] {
            let draft = (system.draft)(combination);
            let other = run(draft, Assembly::default(), threads, combination)?;
            same(&expected, &other, &format!("running on {threads} threads"))?;
            if expected.report != other.report {
                return Err(format!("{threads} threads give another report"));
            }
        }
        Ok(())
    })
}

pub(super) fn ledger_changes_nothing(combination: &Combination) -> Result<(), String> {
    // A step control that looks at the bonds sees nothing without them.
    if combination.correction != "off" || combination.step_control != "fixed" {
        return Ok(());
    }
    on_all_systems(|system| {
        let unbonded = Assembly {
            without_bonds: true,
            ..Assembly::default()
        };
        let other = run((system.draft)(combination), unbonded, 0, combination)?;
        same(
            &plainly(system, combination)?,
            &other,
            "leaving out the bonds",
        )
    })
}

pub(super) fn slow_units_publish_late(combination: &Combination) -> Result<(), String> {
    // Where the steps vary, so do the slow units' communication points.
    if combination.step_control != "fixed" {
        return Ok(());
    }
    on_all_systems(|system| {
        let slow = (system.draft)(combination).slow_units();
        let trace = plainly(system, combination)?.trace;
        for (name, step) in slow {
            for output in ["f", "v", "x", "y"] {
                let full_name = format!("{name}.{output}");
                if trace.has(&full_name) {
                    changes_at_multiples(&trace, &full_name, step)?;
                }
            }
        }
        Ok(())
    })
}

fn changes_at_multiples(trace: &Trace, name: &str, step: f64) -> Result<(), String> {
    let (times, values) = (trace.times(), trace.column(name));
    let mut changes = 0;
    for k in 1..times.len() {
        let steps = times[k] / step;
        let is_due = (steps - steps.round()).abs() < 1e-6;
        let has_changed = values[k].to_bits() != values[k - 1].to_bits();
        if has_changed && !is_due {
            return Err(format!("{name} changes at {} s", times[k]));
        }
        changes += u32::from(has_changed);
    }
    if changes == 0 {
        return Err(format!("{name} never changes"));
    }
    Ok(())
}

/// Rates of both sides, degree of input derivatives and fresh outputs of the force.
const SPIED: [(f64, f64, u32, bool); 6] = [
    (1.0, 1.0, 0, true),
    (1.0, 1.0, 2, true),
    (0.25, 1.0, 0, true),
    (1.0, 0.5, 1, false),
    (4.0, 1.0, 0, false),
    (1.0, 1.0, 0, false),
];

/// Runs the oscillator with spies; where its force may not be read again, `fresh` is not asked for.
fn with_spies(
    combination: &Combination,
    check: impl Fn(&FinishedRun, &[Spied; 2]) -> Result<(), String>,
) -> Result<(), String> {
    for (force, motion, derivatives, fresh) in SPIED {
        if combination.exchange == "fresh" && !fresh {
            continue;
        }
        let (draft, spied) = spied_oscillator(force, motion, derivatives, fresh, combination);
        let outcome = run(draft, Assembly::default(), 0, combination)?;
        check(&outcome, &spied)
            .map_err(|message| format!("steps of {force} and {motion}: {message}"))?;
    }
    Ok(())
}

pub(super) fn calls_come_in_order(combination: &Combination) -> Result<(), String> {
    with_spies(combination, |_, spied| {
        let violations: Vec<_> = spied.iter().flat_map(Spied::violations).collect();
        if violations.is_empty() {
            Ok(())
        } else {
            Err(violations.join(", "))
        }
    })
}

pub(super) fn calls_are_counted(combination: &Combination) -> Result<(), String> {
    with_spies(combination, |outcome, spied| {
        let sum = |count: fn(&Spied) -> u64| spied.iter().map(count).sum::<u64>();
        // The first read of the outputs ends the initialisation.
        let seen = (sum(Spied::steps), sum(Spied::sets), sum(Spied::gets) - 2);
        let counters = outcome.report.counters;
        let counted = (counters.unit_steps, counters.set_calls, counters.get_calls);
        if seen != counted {
            return Err(format!(
                "steps, sets and gets are {seen:?}, the report says {counted:?}"
            ));
        }
        let is_plain = combination.extrapolation == "hold" && combination.exchange == "stale";
        for spied in spied.iter().filter(|_| is_plain) {
            if spied.sets() > spied.steps() || spied.gets() > spied.steps() + 1 {
                return Err("more than one set and one get for a step".to_owned());
            }
        }
        Ok(())
    })
}
