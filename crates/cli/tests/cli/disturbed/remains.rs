//! The files that a run leaves, compared with the files of a run without any disturbance.

use std::fs::read;
use std::path::Path;

use serde_json::Value;

use super::Ended;
use crate::bench::{Bench, without_times};

/// Where the rows go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    Csv,
    Parquet,
}

impl Output {
    /// The result file.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Csv => "out.csv",
            Self::Parquet => "out.parquet",
        }
    }

    /// The file of rows while the run goes on.
    fn rows_name(self) -> &'static str {
        match self {
            Self::Csv => "out.csv.part",
            Self::Parquet => "out.parquet.part",
        }
    }
}

/// The files of a run that nothing disturbs.
pub(super) struct Reference {
    csv: Vec<u8>,
    result: Vec<u8>,
    stdout: String,
    summary: Value,
}

impl Reference {
    /// Reads them in the folder of a run that has succeeded, with its rows as CSV.
    pub(super) fn read(bench: &Bench, output: Output, ended: &Ended, csv: Vec<u8>) -> Self {
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        Self {
            csv,
            result: read(bench.path(output.name())).unwrap(),
            stdout: without_times(&ended.stdout),
            summary: without_clock(bench.json("summary.json")),
        }
    }

    /// Rows of the whole result.
    pub(super) fn rows(&self) -> u64 {
        lines(&self.csv) - 1
    }

    /// Counts the rows of a file; they are the first ones of the whole result.
    fn count(&self, bytes: &[u8], may_be_cut: bool) -> Result<u64, String> {
        if !self.csv.starts_with(bytes) {
            let same = self.csv.iter().zip(bytes).take_while(|(a, b)| a == b);
            let (place, length) = (same.count(), bytes.len());
            return Err(format!(
                "differs from the first rows at byte {place} of {length}"
            ));
        }
        if !may_be_cut && !bytes.is_empty() && !bytes.ends_with(b"\n") {
            return Err("the last row is cut short".to_owned());
        }
        Ok(lines(bytes).saturating_sub(1))
    }

    /// Counts the rows of a Parquet file, or of those that become one, in the same way.
    fn count_in_table(&self, path: &Path) -> Result<u64, String> {
        let table = gyrator_record::read_table(path).map_err(|error| error.to_string())?;
        let all = gyrator_record::parse_csv(&self.csv, path).map_err(|error| error.to_string())?;
        let rows = table.time.len();
        let is_begin = |part: &[f64], all: &[f64]| {
            let mut pairs = part.iter().zip(all);
            part.len() == rows && pairs.all(|(a, b)| a.to_bits() == b.to_bits())
        };
        let mut is_right = is_begin(&table.time, &all.time) && rows <= all.time.len();
        is_right &= table.series.len() == all.series.len();
        for (part, whole) in table.series.iter().zip(&all.series) {
            let (Some(part), Some(whole)) = (part.numbers(), whole.numbers()) else {
                return Err("text among numbers".to_owned());
            };
            is_right &= is_begin(part, whole);
        }
        is_right
            .then_some(rows as u64)
            .ok_or_else(|| "differs from the first rows".to_owned())
    }
}

/// Files and messages after a run.
#[derive(Debug, Default)]
pub(super) struct Remains {
    /// The file that has the rows, and how many they are.
    pub(super) rows: Option<(String, u64)>,
    pub(super) summary: Option<Value>,
    /// Files beside the result and the summary.
    pub(super) others: Vec<String>,
    /// Directories for temporary files.
    pub(super) directories: Vec<String>,
    /// Contents that are not in the whole result.
    pub(super) wrong: Vec<String>,
}

impl Remains {
    /// Reads what there is. The last row of a process that was killed may be cut short.
    pub(super) fn read(
        bench: &Bench,
        output: Output,
        reference: &Reference,
        is_killed: bool,
    ) -> Self {
        let mut remains = Self::default();
        let part = output.rows_name();
        for name in [part, output.name()] {
            let path = bench.path(name);
            let Ok(bytes) = read(&path) else {
                continue;
            };
            let may_be_cut = name == part && is_killed;
            let counted = match output {
                // Not even its header.
                Output::Parquet if may_be_cut && gyrator_record::count_rows(&*bytes).1 == 0 => {
                    Ok(0)
                }
                Output::Parquet => reference.count_in_table(&path),
                Output::Csv => reference.count(&bytes, may_be_cut),
            };
            match counted {
                Ok(rows) => remains.rows = Some((name.to_owned(), rows)),
                Err(error) => remains.wrong.push(format!("{name}: {error}")),
            }
        }
        if let Ok(bytes) = read(bench.path("summary.json")) {
            match serde_json::from_slice(&bytes) {
                Ok(summary) => remains.summary = Some(summary),
                Err(error) => remains.wrong.push(format!("summary.json: {error}")),
            }
        }
        let known = [
            "fmus",
            "tmp",
            "stdout",
            "stderr",
            "trace",
            "system.toml",
            "summary.json",
            "results",
            "second",
        ];
        remains.others = names(&bench.path(""));
        let result = output.name();
        // An empty file that was not begun does no harm: the next run replaces it.
        let is_begun = |name: &str| {
            let length = std::fs::metadata(bench.path(name)).map_or(0, |file| file.len());
            length > 0 || !name.ends_with(".part")
        };
        remains
            .others
            .retain(|name| !known.contains(&name.as_str()) && name != result && is_begun(name));
        remains.directories = names(&bench.path("tmp"));
        remains
    }

    /// Whether the run has left nothing at all.
    pub(super) fn is_empty(&self) -> bool {
        let Self { rows, summary, .. } = self;
        let has_files = rows.is_some() || summary.is_some();
        !has_files && self.others.is_empty() && self.directories.is_empty()
    }

    /// Contradictions within the remains, or to the promises that hold for every run.
    pub(super) fn contradictions(&self, ended: &Ended, is_killed: bool) -> Vec<String> {
        let mut found = self.wrong.clone();
        let mut note = |is_wrong: bool, text: String| {
            if is_wrong {
                found.push(text);
            }
        };
        note(ended.has_hung, "it does not end".to_owned());
        let has_panicked = ended.code == Some(101) || ended.stderr.contains("panicked at");
        note(has_panicked, "it has panicked".to_owned());
        let (processes, directories) = (&ended.processes, &self.directories);
        note(!processes.is_empty(), format!("left: {processes:?}"));
        if !is_killed {
            note(!directories.is_empty(), format!("left: {directories:?}"));
            // A result that has no other place is named.
            let unnamed = self.others.iter().filter(|name| {
                let is_empty = self.rows.as_ref() == Some(&((*name).clone(), 0));
                !ended.stderr.contains(name.as_str()) && !is_empty
            });
            let unnamed: Vec<_> = unnamed.collect();
            note(!unnamed.is_empty(), format!("left: {unnamed:?}"));
        }
        let there = self.rows.as_ref().map_or(0, |(_, rows)| *rows);
        if let Some((reported, name)) = reported_rows(&ended.stderr) {
            let is_other_reported = self.rows.as_ref().is_some_and(|(there, _)| {
                ended.stderr.contains(&format!("it is {there}"))
                    || ended.stderr.contains(&format!("kept in {there}"))
            });
            let is_there = self.rows.as_ref().is_some_and(|(there, _)| *there == name);
            note(
                reported != there || !is_there && reported > 0 && !is_other_reported,
                format!(
                    "{reported} rows in {name} are reported, there are {:?}",
                    self.rows
                ),
            );
        }
        if let Some(summary) = &self.summary {
            let reported = summary["output"]["rows"].as_u64().unwrap_or(there);
            note(
                reported != there,
                format!("the summary has {reported} rows, there are {:?}", self.rows),
            );
        }
        found
    }

    /// Differences from the files of a run without a disturbance.
    pub(super) fn differences(
        &self,
        bench: &Bench,
        output: Output,
        ended: &Ended,
        reference: &Reference,
    ) -> Vec<String> {
        let mut found = Vec::new();
        let is_whole = match output {
            Output::Csv => read(bench.path(output.name())).unwrap_or_default() == reference.result,
            // The summary in it has the times of the run; all rows were compared when they were counted.
            Output::Parquet => self.rows == Some((output.name().to_owned(), reference.rows())),
        };
        if !is_whole {
            found.push(format!("the result is not whole: {:?}", self.rows));
        }
        if without_times(&ended.stdout) != reference.stdout {
            found.push(format!("other text: {}", ended.stdout));
        }
        let mut summary = self.summary.clone().map_or(Value::Null, without_clock);
        // Warnings that the run has given are notes.
        if ended.stderr.contains("warning: ") && summary.is_object() {
            summary["notes"] = reference.summary["notes"].clone();
        }
        if summary != reference.summary {
            found.push(format!("other summary: {summary}"));
        }
        found
    }
}

fn without_clock(mut summary: Value) -> Value {
    if summary.is_object() {
        summary["wall_clock"] = Value::Null;
    }
    summary
}

fn lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| **byte == b'\n').count() as u64
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Number and place of the rows that a message says are kept.
fn reported_rows(stderr: &str) -> Option<(u64, String)> {
    let words: Vec<&str> = stderr.split_whitespace().collect();
    let row = |at: usize| matches!(*words.get(at)?, "row" | "rows").then_some(());
    (1..words.len()).find_map(|at| {
        row(at)?;
        let count = words[at - 1].parse().ok()?;
        let rest = match words.get(at + 1..)? {
            ["kept", "in", name, ..] | ["in", name, ..] => *name,
            _ => return None,
        };
        let name = rest.trim_end_matches([';', ',', '.', ':']);
        Some((count, name.to_owned()))
    })
}

#[test]
fn rows_that_are_told_are_read() {
    let text = "error: bad: abort; 5 rows kept in out.csv; the last ones are lost";
    assert_eq!(reported_rows(text), Some((5, "out.csv".to_owned())));
    let text = "  the rows until then are kept: 1 row in out.csv.part\n";
    assert_eq!(reported_rows(text), Some((1, "out.csv.part".to_owned())));
    assert_eq!(reported_rows("error: no rows in it"), None);
}

#[test]
fn wrong_rows_are_found() {
    let reference = Reference {
        csv: b"time,y\n0,1\n1,2\n".to_vec(),
        result: Vec::new(),
        stdout: String::new(),
        summary: Value::Null,
    };
    assert_eq!(reference.count(b"time,y\n0,1\n", false), Ok(1));
    assert_eq!(reference.count(b"", false), Ok(0));
    assert!(reference.count(b"time,y\n0,1\n1,", false).is_err());
    assert_eq!(reference.count(b"time,y\n0,1\n1,", true), Ok(1));
    assert!(reference.count(b"time,y\n0,1\n\0\0\0\0", true).is_err());
    assert!(reference.count(b"time,y\n0,3\n", false).is_err());
}
