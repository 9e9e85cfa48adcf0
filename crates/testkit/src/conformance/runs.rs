//! The runs of a combination of words, and the rules that look at them.

use gyrator::{Report, RunOptions, StopReason, System};

use super::draft::{Assembly, Draft};
use super::systems::{MadeOf, SYSTEMS, TWINS, TestSystem, spied_oscillator, star};
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
        step_clock: crate::ticking(),
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
/// `others` are words beside the combination's.
///
/// # Errors
/// The refusal, if it does not name them.
pub(super) fn is_refused(
    system: &System,
    combination: &Combination,
    others: &[&'static str],
) -> Result<bool, String> {
    let problems = system.check();
    let mut refusals = problems.iter().filter(|p| p.is_error()).peekable();
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

/// The runs of a combination that several rules look at.
pub(super) struct TrialRuns {
    combination: Combination,
    /// One of each of [`SYSTEMS`].
    plain: Vec<FinishedRun>,
    spied: Vec<SpiedRun>,
}

/// A run of the oscillator with a spy on each side.
struct SpiedRun {
    name: String,
    run: FinishedRun,
    spied: [Spied; 2],
}

impl TrialRuns {
    /// # Errors
    /// If a run does not end well.
    pub(super) fn of(combination: Combination) -> Result<Self, String> {
        let plain = SYSTEMS.iter().map(|system| {
            let draft = (system.draft)(&combination);
            let run = run(draft, Assembly::default(), 0, &combination);
            run.map_err(|message| of_system(system, &message))
        });
        Ok(Self {
            plain: plain.collect::<Result<_, _>>()?,
            spied: spied_runs(&combination)?,
            combination,
        })
    }

    fn on_all_systems(
        &self,
        check: impl Fn(&TestSystem, &FinishedRun) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut runs = SYSTEMS.iter().zip(&self.plain);
        runs.try_for_each(|(system, plain)| {
            check(system, plain).map_err(|message| of_system(system, &message))
        })
    }

    /// Whether each system gives the same bits in another assembly.
    fn same_in(&self, assembly: Assembly, what: &str) -> Result<(), String> {
        let combination = &self.combination;
        self.on_all_systems(|system, plain| {
            let other = run((system.draft)(combination), assembly, 0, combination)?;
            same(plain, &other, what)
        })
    }

    fn with_spies(
        &self,
        check: impl Fn(&FinishedRun, &[Spied; 2]) -> Result<(), String>,
    ) -> Result<(), String> {
        self.spied
            .iter()
            .try_for_each(|SpiedRun { name, run, spied }| {
                check(run, spied).map_err(|message| format!("{name}: {message}"))
            })
    }
}

fn of_system(system: &TestSystem, message: &str) -> String {
    format!("system “{}”: {message}", system.name)
}

fn same(expected: &FinishedRun, other: &FinishedRun, what: &str) -> Result<(), String> {
    if expected.trace.bits() == other.trace.bits() {
        Ok(())
    } else {
        Err(format!("{what} gives other bits"))
    }
}

pub(super) fn ends_at_the_stop_time(runs: &TrialRuns) -> Result<(), String> {
    runs.on_all_systems(|system, outcome| {
        let stop_time = (system.draft)(&runs.combination).stop_time();
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

pub(super) fn order_changes_nothing(runs: &TrialRuns) -> Result<(), String> {
    let reversed = Assembly {
        reversed: true,
        ..Assembly::default()
    };
    runs.same_in(reversed, "another order")
}

pub(super) fn threads_change_nothing(runs: &TrialRuns) -> Result<(), String> {
    let combination = &runs.combination;
    runs.on_all_systems(|system, expected| {
        for threads in [1, 2, 8] {
            let draft = (system.draft)(combination);
            let other = run(draft, Assembly::default(), threads, combination)?;
            same(expected, &other, &format!("running on {threads} threads"))?;
            if expected.report != other.report {
                return Err(format!("{threads} threads give another report"));
            }
        }
        Ok(())
    })
}

/// FMUs give the results of their models in this process, also in another order and on several threads; and if nothing
/// looks at the points in between, so that macro-steps may be made in a row.
pub(super) fn fmus_are_as_their_models(combination: &Combination) -> Result<(), String> {
    let plain = Assembly::default();
    let reversed = Assembly {
        reversed: true,
        ..plain
    };
    for (name, draft) in TWINS {
        let of = |made_of, assembly, threads| {
            let run = run(draft(combination, made_of), assembly, threads, combination);
            run.map_err(|message| format!("{name}, {made_of:?}: {message}"))
        };
        let expected = of(MadeOf::Models, plain, 0)?;
        let same_report = |found: &Report, what: &str| match expected.report == *found {
            true => Ok(()),
            false => Err(format!(
                "{what} gives another report:\n{:?}\n{found:?}",
                expected.report
            )),
        };
        let variants = [(plain, 0), (plain, 2), (reversed, 0)];
        // The order and threads matter most if there are many.
        let variants = match expected.report.components.len() {
            2 => &variants[..1],
            _ => &variants,
        };
        for &(assembly, threads) in variants {
            let found = of(MadeOf::Fmus, assembly, threads)?;
            let what = format!("{name}, FMUs, {assembly:?}, {threads} threads:");
            same(&expected, &found, &what)?;
            same_report(&found.report, &what)?;
        }
        let system = draft(combination, MadeOf::Fmus).assemble(plain, combination);
        let run = system.start(&RunOptions::default());
        let run = run.map_err(|error| error.to_string())?.run();
        let report = run.map_err(|error| error.to_string())?;
        same_report(&report, &format!("{name}, FMUs by themselves"))?;
    }
    Ok(())
}

pub(super) fn ledger_changes_nothing(runs: &TrialRuns) -> Result<(), String> {
    // A step control that looks at the bonds sees nothing without them.
    let combination = &runs.combination;
    if combination.correction != "off" || combination.step_control != "fixed" {
        return Ok(());
    }
    let unbonded = Assembly {
        without_bonds: true,
        ..Assembly::default()
    };
    runs.same_in(unbonded, "leaving out the bonds")
}

pub(super) fn slow_units_publish_late(runs: &TrialRuns) -> Result<(), String> {
    // If the steps vary, so do the slow units' communication points.
    if runs.combination.step_control != "fixed" {
        return Ok(());
    }
    runs.on_all_systems(|system, FinishedRun { trace, .. }| {
        for (name, step) in (system.draft)(&runs.combination).slow_units() {
            for output in ["f", "v", "x", "y"] {
                let full_name = format!("{name}.{output}");
                if trace.has(&full_name) {
                    changes_at_multiples(trace, &full_name, step)?;
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

/// Runs the oscillator with spies; if its force may not be read again, `fresh` is not asked for.
fn spied_runs(combination: &Combination) -> Result<Vec<SpiedRun>, String> {
    let settings = SPIED.into_iter();
    let settings = settings.filter(|(.., fresh)| combination.exchange != "fresh" || *fresh);
    let runs = settings.map(|(force, motion, derivatives, fresh)| {
        let name = format!("steps of {force} and {motion}");
        let (draft, spied) = spied_oscillator(force, motion, derivatives, fresh, combination);
        match run(draft, Assembly::default(), 0, combination) {
            Ok(run) => Ok(SpiedRun { name, run, spied }),
            Err(message) => Err(format!("{name}: {message}")),
        }
    });
    runs.collect()
}

pub(super) fn calls_come_in_order(runs: &TrialRuns) -> Result<(), String> {
    runs.with_spies(|_, spied| {
        let violations: Vec<_> = spied.iter().flat_map(Spied::violations).collect();
        if violations.is_empty() {
            Ok(())
        } else {
            Err(violations.join(", "))
        }
    })
}

pub(super) fn calls_are_counted(runs: &TrialRuns) -> Result<(), String> {
    let combination = &runs.combination;
    runs.with_spies(|outcome, spied| {
        let sum = |count: fn(&Spied) -> u64| spied.iter().map(count).sum::<u64>();
        // The first read of the outputs ends the initialisation.
        // Whether a unit can go back is tried by two steps before the first one: for the step control, and for a method that
        // iterates.
        let mut notes = outcome.report.notes.iter();
        let goes_back = !notes.any(|note| note.starts_with("no step is made again"));
        let is_tried = [
            combination.may_repeat() && goes_back,
            combination.iterates(),
        ];
        let tried = 4 * is_tried.into_iter().filter(|is_tried| *is_tried).count() as u64;
        let seen = (
            sum(Spied::steps) - tried,
            sum(Spied::sets),
            sum(Spied::gets) - 2 - tried,
            sum(Spied::derivatives),
        );
        let counters = outcome.report.counters;
        let counted = (
            counters.unit_steps,
            counters.set_calls,
            counters.get_calls,
            counters.derivative_calls,
        );
        if seen != counted {
            return Err(format!(
                "steps, sets, gets and derivatives are {seen:?}, the report says {counted:?}"
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
