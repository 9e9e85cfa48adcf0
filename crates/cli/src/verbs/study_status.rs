//! `gyrator study status`: how far the parts of a study have come.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use gyrator_study::{PartState, PartStatus, Shard, Status, StudyStatus};
use serde::Serialize;

use crate::aligned::{Align, Aligned};
use crate::exit::Exit;
use crate::failure::{Failure, Message};
use crate::numbers::{count, duration};
use crate::screen;
use crate::study_journals;
use crate::study_summary::outcomes;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The folder of the parts, or single parts
    #[arg(value_name = "FOLDER", required = true)]
    parts: Vec<PathBuf>,
    /// Write the figures as JSON to the standard output
    #[arg(long)]
    json: bool,
}

/// The figures, for programs.
#[derive(Serialize)]
struct Figures<'a> {
    studies: Vec<OfStudy<'a>>,
    problems: Vec<String>,
}

#[derive(Serialize)]
struct OfStudy<'a> {
    study: Option<&'a str>,
    rows: usize,
    finished: usize,
    failed: usize,
    /// s
    time_left: Option<f64>,
    parts: Vec<OfPart<'a>>,
    not_begun: Vec<String>,
}

#[derive(Serialize)]
struct OfPart<'a> {
    part: String,
    state: PartState,
    rows: usize,
    finished: usize,
    failed: usize,
    /// s
    time_left: Option<f64>,
    since_last_row: Option<f64>,
    host: Option<&'a str>,
    process: Option<u32>,
    journal: &'a Path,
}

/// Prints how far the studies of the parts have come.
pub(super) fn run(options: &Options) -> Result<Exit, Failure> {
    let journals = study_journals::of_parts(&options.parts)?;
    let status = Status::of_journals(&journals);
    let text = match options.json {
        true => screen::json(&figures(&status))?,
        false => {
            let texts: Vec<String> = status.studies.iter().map(for_people).collect();
            texts.join("\n")
        }
    };
    screen::print(&text)?;
    match status.problems.as_slice() {
        [] => Ok(Exit::Success),
        problems => {
            let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
            let failure = Failure::new(Exit::InvalidInput, Message::error(texts.join("\n")));
            Err(failure
                .help("a part without its journal is made again by the command that made it"))
        }
    }
}

fn figures(status: &Status) -> Figures<'_> {
    Figures {
        studies: status.studies.iter().map(of_study).collect(),
        problems: status.problems.iter().map(ToString::to_string).collect(),
    }
}

fn of_study(study: &StudyStatus) -> OfStudy<'_> {
    OfStudy {
        study: study.name(),
        rows: study.total,
        finished: study.done,
        failed: study.tally.failed(),
        time_left: study.time_left(),
        parts: study.parts.iter().map(of_part).collect(),
        not_begun: study.not_begun.iter().map(Shard::to_string).collect(),
    }
}

fn of_part(part: &PartStatus) -> OfPart<'_> {
    let writer = part.writer.as_ref();
    OfPart {
        part: part.part.to_string(),
        state: part.state,
        rows: part.total,
        finished: part.done,
        failed: part.failed,
        time_left: part.time_left(),
        since_last_row: part.since_last_row,
        host: writer.map(|writer| writer.host.as_str()),
        process: writer.map(|writer| writer.process),
        journal: &part.journal,
    }
}

fn for_people(study: &StudyStatus) -> String {
    let mut text = format!(
        "{}: {} of {}",
        study.name().unwrap_or("study"),
        study.done,
        count(study.total as u64, "row")
    );
    let failed = study.tally.failed();
    if failed > 0 {
        let _ = write!(text, ", {failed} failed");
    }
    if let Some(left) = study.time_left().filter(|left| *left > 0.0) {
        let _ = write!(text, ", about {} left", duration(left));
    }
    text.push('\n');
    let mut table = Aligned::new(&[
        ("part", Align::Left),
        ("state", Align::Left),
        ("rows", Align::Right),
        ("failed", Align::Right),
        ("left", Align::Right),
        ("last row", Align::Right),
        ("process", Align::Right),
        ("host", Align::Left),
        ("journal", Align::Left),
    ]);
    for part in &study.parts {
        let writer = part.writer.as_ref();
        let is_open = part.state != PartState::Finished;
        let left = part.time_left().filter(|_| is_open).map(duration);
        let last = part.since_last_row.filter(|_| is_open);
        let failed = Some(part.failed).filter(|failed| *failed > 0);
        table.row([
            part.part.to_string(),
            part.state.word().to_owned(),
            format!("{}/{}", part.done, part.total),
            failed.map_or_else(String::new, |failed| failed.to_string()),
            left.unwrap_or_default(),
            last.map_or_else(String::new, |last| format!("{} ago", duration(last))),
            writer.map_or_else(String::new, |writer| writer.process.to_string()),
            writer.map_or_else(String::new, |writer| writer.host.clone()),
            part.journal.display().to_string(),
        ]);
    }
    text.push_str(&table.render());
    if !study.not_begun.is_empty() {
        let parts: Vec<String> = study.not_begun.iter().map(Shard::to_string).collect();
        let _ = writeln!(text, "not begun: {}", parts.join(", "));
    }
    text + &outcomes(&study.tally)
}
