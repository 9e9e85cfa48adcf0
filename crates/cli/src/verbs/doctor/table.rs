//! The findings of an examination, for people.

use gyrator_assess::doctor::{Candidate, Diagnosis, Finding, HostTime, Level, LoopGain, Stability};

use crate::aligned::{Align, Aligned};
use crate::numbers::short;

/// Candidates that are shown, the best ones; JSON has all.
const SHOWN: usize = 12;

/// Greatest relative error that is shown: the size of a larger one, which grows without end, says nothing.
const MOST_SHOWN: f64 = 100.0;

/// All findings.
pub(super) fn of(diagnosis: &Diagnosis) -> String {
    let mut text = format!(
        "macro-step  {} s; {}\n",
        short(diagnosis.step_size),
        probe_runs(
            diagnosis.runs,
            diagnosis.steps.ceil(),
            diagnosis.verification_steps.ceil()
        ),
    );
    text.push_str(&format!(
        "stability   {}\n",
        stability(&diagnosis.stability)
    ));
    text.push_str(&format!("error       {}\n", error(diagnosis)));
    if let Some(gain) = &diagnosis.loop_gain {
        text.push_str(&format!("loop gain   {}\n", loop_gain(gain)));
    }
    for bond in &diagnosis.bonds {
        text.push_str(&format!(
            "bond        {}: residual power {} W, at half the macro-step {} W\n",
            bond.name,
            number(bond.residual_power),
            number(bond.at_half)
        ));
    }
    for host in &diagnosis.hosts {
        text.push_str(&format!("host        {}\n", host_time(host)));
    }
    text.push_str(&levels(&diagnosis.stability.levels));
    text.push_str(&candidates(diagnosis));
    text.push_str(&format!("proposal    {}\n", proposal(diagnosis)));
    for note in &diagnosis.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    text
}

fn probe_runs(runs: usize, steps: f64, verification_steps: f64) -> String {
    let ending = |plural: bool| if plural { "s" } else { "" };
    let runs = format!("{runs} run{}", ending(runs != 1));
    let steps = match steps {
        0.0 => format!("{runs} without a macro-step"),
        steps => format!(
            "{runs} of {} macro-step{}",
            short(steps),
            ending(steps != 1.0)
        ),
    };
    match verification_steps {
        0.0 => steps,
        more => format!("{steps}, and of {} in whole runs", short(more)),
    }
}

fn stability(found: &Stability) -> String {
    let reason = found.reason.as_deref();
    let finding = match found.finding {
        Finding::Stable => "stable".to_owned(),
        Finding::Unstable => "UNSTABLE at this macro-step".to_owned(),
        Finding::GrowsByItself => {
            "the system grows by itself: a disturbance grows at half the macro-step too".to_owned()
        }
        Finding::NotKnown => format!("not known: {}", reason.unwrap_or("no run was made")),
    };
    let limit = match (found.largest_step, found.unstable_step) {
        (Some(below), Some(above)) => format!(
            "; the largest stable macro-step lies between {} and {} s",
            number(below),
            number(above)
        ),
        (Some(below), None) => format!("; no macro-step up to {} s is unstable", number(below)),
        (None, Some(above)) => format!("; all that were tried are, from {} s on", number(above)),
        (None, None) => String::new(),
    };
    format!("{finding}{limit}")
}

fn error(diagnosis: &Diagnosis) -> String {
    let Some(accuracy) = &diagnosis.accuracy else {
        return "not known".to_owned();
    };
    let window = number(accuracy.window);
    let (Some(error), Some(worst)) = (accuracy.relative_error, &accuracy.worst) else {
        return format!("nothing moves in the first {window} s");
    };
    let order = accuracy
        .order
        .map_or_else(String::new, |order| format!(" of order {order:.1}"));
    let mut text = format!(
        "{} of the RMS of {worst}{order}, in the first {window} s",
        percent(error)
    );
    let wanted = diagnosis.error_of_steps();
    // No macro-step is named that whole runs have not shown to be stable.
    let largest = diagnosis.stability.largest_step;
    match accuracy.step_for(wanted, diagnosis.step_size) {
        Some(step) if largest.is_some_and(|largest| step > largest) => {}
        Some(step) => text.push_str(&format!(
            "; {} at about {} s",
            percent(wanted),
            number(step)
        )),
        None if error > wanted => text.push_str(&format!(
            "; {} at a macro-step that these runs do not show",
            percent(wanted)
        )),
        None => {}
    }
    text
}

fn loop_gain(found: &LoopGain) -> String {
    let at_least = if found.is_lasting { "at least " } else { "" };
    let meaning = match found.gain < 1.0 && !found.is_lasting {
        true => "stable whatever the phases are",
        false => "phases decide",
    };
    let mut text = format!(
        "{at_least}{} at {} Hz: {meaning}",
        number(found.gain),
        number(found.frequency)
    );
    for bond in &found.bonds {
        text.push_str(&format!(
            "; {}: {}, passivity of its ends {} and {}",
            bond.name,
            number(bond.gain),
            number(bond.passivity_a),
            number(bond.passivity_b)
        ));
    }
    text
}

fn host_time(host: &HostTime) -> String {
    let microseconds = |seconds: f64| number(1e6 * seconds);
    let mut text = format!(
        "{}: {} µs of a macro-step are the way, {} µs its FMU",
        host.component,
        microseconds(host.transfer),
        microseconds(host.compute)
    );
    for (index, advice) in host.advice.iter().enumerate() {
        let begin = if index == 0 { ". Cheaper: " } else { "; " };
        text.push_str(begin);
        text.push_str(advice);
    }
    text
}

fn levels(levels: &[Level]) -> String {
    if levels.is_empty() {
        return String::new();
    }
    let mut table = Aligned::new(&[
        ("macro-step, s", Align::Right),
        ("growth of a disturbance", Align::Right),
        ("at half of it", Align::Right),
        ("error, ranges", Align::Right),
        ("spectral radius", Align::Right),
        ("", Align::Left),
    ]);
    let cell = |value: Option<f64>| value.map(number).unwrap_or_default();
    for level in levels {
        let radius = level.spectral_radius;
        table.row([
            number(level.step_size),
            cell(level.growth),
            cell(level.growth_at_half),
            cell(level.error),
            radius
                .map(|radius| format!("{radius:.6}"))
                .unwrap_or_default(),
            match (level.finding, &level.reason) {
                (Finding::Stable, _) => "stable".to_owned(),
                (Finding::Unstable, _) => "unstable".to_owned(),
                (Finding::GrowsByItself, _) => "grows by itself".to_owned(),
                (Finding::NotKnown, Some(reason)) if level.growth.is_none() => {
                    format!("not known: {reason}")
                }
                (Finding::NotKnown, _) => "not known".to_owned(),
            },
        ]);
    }
    table.render()
}

fn candidates(diagnosis: &Diagnosis) -> String {
    let wanted = format!("H for {}, s", percent(diagnosis.error_of_steps()));
    let mut table = Aligned::new(&[
        ("coupling", Align::Left),
        ("error", Align::Right),
        ("steps of units", Align::Right),
        ("µs a macro-step", Align::Right),
        (&wanted, Align::Right),
    ]);
    let Some((given, others)) = diagnosis.candidates.split_first() else {
        return String::new();
    };
    let mut others: Vec<&Candidate> = others
        .iter()
        .filter(|other| other.relative_error.is_some() && other.same_as.is_none())
        .collect();
    let error = |candidate: &Candidate| candidate.relative_error.unwrap_or(f64::INFINITY);
    others.sort_by(|a, b| error(a).total_cmp(&error(b)));
    let more = others.len().saturating_sub(SHOWN);
    for candidate in std::iter::once(given).chain(others.into_iter().take(SHOWN)) {
        table.row([
            candidate.coupling.to_string(),
            candidate.relative_error.map(percent).unwrap_or_default(),
            candidate.unit_steps.map(number).unwrap_or_default(),
            candidate
                .seconds_per_step
                .map(|seconds| number(1e6 * seconds))
                .unwrap_or_default(),
            candidate.step_for.map(number).unwrap_or_default(),
        ]);
    }
    match more {
        0 => table.render(),
        more => format!("{}  and {more} more, which --json lists\n", table.render()),
    }
}

fn proposal(diagnosis: &Diagnosis) -> String {
    let proposal = &diagnosis.proposal;
    let step = match proposal.factor == 1.0 {
        true => String::new(),
        false => format!(", macro-step {} s", short(proposal.step_size)),
    };
    let verified = proposal
        .verification
        .as_ref()
        .map_or_else(String::new, |verification| {
            let given = verification
                .given
                .map_or_else(|| "no finite result".to_owned(), percent);
            let step = match verification.given_step == proposal.step_size {
                true => String::new(),
                false => format!(" at {} s, the same cost", number(verification.given_step)),
            };
            format!(
                "; whole runs of {} s: {} where the given system has {given}{step}",
                number(verification.window),
                percent(verification.proposed)
            )
        });
    format!("{}{step}: {}{verified}", proposal.coupling, proposal.reason)
}

fn percent(part: f64) -> String {
    match part > MOST_SHOWN {
        true => format!("over {} %", number(100.0 * MOST_SHOWN)),
        false => format!("{} %", number(100.0 * part)),
    }
}

/// Three digits: estimates.
fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return short(value);
    }
    let scale = 10_f64.powf(value.abs().log10().floor() - 2.0);
    short((value / scale).round() * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_probe_run_is_no_plural_and_may_make_no_macro_step() {
        assert_eq!(probe_runs(1, 0.0, 0.0), "1 run without a macro-step");
        assert_eq!(probe_runs(1, 1.0, 0.0), "1 run of 1 macro-step");
        assert_eq!(
            probe_runs(12, 40.0, 600.0),
            "12 runs of 40 macro-steps, and of 600 in whole runs"
        );
    }

    #[test]
    fn what_is_not_known_is_said_in_words() {
        let not_known = Stability {
            reason: Some("a run has 10 macro-steps, which is too few".to_owned()),
            ..Stability::default()
        };
        assert_eq!(
            stability(&not_known),
            "not known: a run has 10 macro-steps, which is too few"
        );
        let between = Stability {
            finding: Finding::Unstable,
            largest_step: Some(0.01),
            unstable_step: Some(0.0125),
            ..Stability::default()
        };
        assert_eq!(
            stability(&between),
            "UNSTABLE at this macro-step; the largest stable macro-step lies between 0.01 and 0.0125 s"
        );
    }
}
