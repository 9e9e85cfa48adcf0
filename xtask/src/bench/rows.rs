//! The rows of the tables: which systems are measured, and in what way.

use std::fmt;

/// How gyrator carries the run out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// In the process that was started, on one thread, coupled in one of several ways.
    Plain(Coupling),
    /// In a worker process, as it is shipped.
    Supervised,
    /// As plain, on two threads.
    Threads,
    /// As supervised, with a process for each FMU.
    Isolated,
}

/// How the FMUs are coupled. If the mode does not say it, by bonds, with held inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coupling {
    Bonds,
    /// Connections in the place of bonds.
    Held,
    /// As held, with a system file that names no method and no extrapolation.
    Auto,
    /// Bonds, with such a file.
    AutoBonds,
}

/// The properties of the library of the FMU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Library {
    /// No writable state, and gyrator's annotation that says so.
    Annotated,
    /// A variable of its own and no annotation: each instance has a copy.
    Copied,
    /// As annotated, with a step that takes about 1 µs.
    Busy,
}

/// The values that are written of each step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Recording {
    Off,
    /// The outputs, as text.
    Csv,
    /// All that a run records without being asked, as text: outputs and energies.
    CsvAll,
    /// The outputs.
    Parquet,
}

const MODES: [Mode; 7] = [
    Mode::PLAIN,
    Mode::Plain(Coupling::Held),
    Mode::Plain(Coupling::Auto),
    Mode::Plain(Coupling::AutoBonds),
    Mode::Supervised,
    Mode::Threads,
    Mode::Isolated,
];
const LIBRARIES: [Library; 3] = [Library::Annotated, Library::Copied, Library::Busy];
const RECORDINGS: [Recording; 4] = [
    Recording::Off,
    Recording::Csv,
    Recording::CsvAll,
    Recording::Parquet,
];

impl Mode {
    pub(super) const PLAIN: Self = Self::Plain(Coupling::Bonds);

    /// The word for the mode and the coupling.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Plain(Coupling::Bonds) => "plain",
            Self::Plain(Coupling::Held) => "held",
            Self::Plain(Coupling::Auto) => "auto",
            Self::Plain(Coupling::AutoBonds) => "auto-bonds",
            Self::Supervised => "supervised",
            Self::Threads => "threads",
            Self::Isolated => "isolated",
        }
    }

    const fn coupling(self) -> Coupling {
        match self {
            Self::Plain(coupling) => coupling,
            Self::Supervised | Self::Threads | Self::Isolated => Coupling::Bonds,
        }
    }

    pub(super) const fn has_bonds(self) -> bool {
        matches!(self.coupling(), Coupling::Bonds | Coupling::AutoBonds)
    }

    /// Whether gyrator chooses method and extrapolation.
    pub(super) const fn is_chosen(self) -> bool {
        matches!(self.coupling(), Coupling::Auto | Coupling::AutoBonds)
    }
}

impl Library {
    pub(super) const ALL: [Self; 3] = LIBRARIES;

    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Annotated => "annotated",
            Self::Copied => "copied",
            Self::Busy => "busy",
        }
    }
}

impl Recording {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Csv => "csv",
            Self::CsvAll => "csv-all",
            Self::Parquet => "parquet",
        }
    }
}

/// Numbers of FMUs.
pub(super) const UNITS: [usize; 4] = [2, 10, 100, 1000];

/// One row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) units: usize,
    pub(super) mode: Mode,
    pub(super) library: Library,
    pub(super) recording: Recording,
}

impl fmt::Display for Row {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [units, mode, library, recording] = self.words();
        write!(formatter, "{units} {mode} {library} {recording}")
    }
}

impl Row {
    /// Its first cells.
    pub(super) fn words(self) -> [String; 4] {
        [
            self.units.to_string(),
            self.mode.word().to_owned(),
            self.library.word().to_owned(),
            self.recording.word().to_owned(),
        ]
    }

    /// The same system with held inputs, of a row with `auto`.
    pub(super) fn held(self) -> Option<Self> {
        let coupling = match self.mode.coupling() {
            Coupling::Auto => Coupling::Held,
            Coupling::AutoBonds => Coupling::Bonds,
            Coupling::Bonds | Coupling::Held => return None,
        };
        let mode = Mode::Plain(coupling);
        Some(Self { mode, ..self })
    }

    /// Whether each word of `pattern` is one of its cells.
    pub(super) fn fits(self, pattern: &str) -> bool {
        let own = self.words();
        pattern
            .split_whitespace()
            .all(|word| own.iter().any(|cell| cell == word))
    }
}

/// The rows of the table, in its order.
pub(super) fn table() -> Vec<Row> {
    let [held, auto, auto_bonds] =
        [Coupling::Held, Coupling::Auto, Coupling::AutoBonds].map(Mode::Plain);
    let blocks: &[(Mode, &[Library], &[Recording])] = &[
        (Mode::PLAIN, &LIBRARIES[..2], &[Recording::Off]),
        (Mode::Supervised, &LIBRARIES[..2], &[Recording::Off]),
        (Mode::Threads, &LIBRARIES[..1], &[Recording::Off]),
        (Mode::Isolated, &LIBRARIES[..1], &[Recording::Off]),
        (Mode::Supervised, &LIBRARIES[..1], &RECORDINGS[1..]),
        (held, &LIBRARIES[..1], &[Recording::Off]),
        (auto, &LIBRARIES[..1], &[Recording::Off]),
        (auto_bonds, &LIBRARIES[..1], &[Recording::Off]),
        (held, &LIBRARIES[2..], &[Recording::Off]),
        (auto, &LIBRARIES[2..], &[Recording::Off]),
    ];
    let of_block = |(mode, libraries, recordings): &(Mode, &[Library], &[Recording])| {
        rows(&[*mode], libraries, recordings)
    };
    blocks
        .iter()
        .flat_map(of_block)
        .filter(is_offered)
        .collect()
}

/// The rows of other masters, which know neither the annotation nor the ways in which gyrator runs.
pub(super) fn peers() -> Vec<Row> {
    let mut rows = rows(&[Mode::PLAIN], &[Library::Annotated], &RECORDINGS[..2]);
    rows.retain(|row| row.units < 1000);
    rows
}

/// A thousand processes say more about the machine than about a step. The cost of `auto` beside held inputs is measured on a
/// small system, whose memory is near.
fn is_offered(row: &Row) -> bool {
    match row.mode {
        Mode::Isolated => row.units < 1000,
        Mode::PLAIN | Mode::Supervised | Mode::Threads => true,
        Mode::Plain(_) => row.units == 10,
    }
}

fn rows(modes: &[Mode], libraries: &[Library], recordings: &[Recording]) -> Vec<Row> {
    let mut rows = Vec::new();
    for &mode in modes {
        for &library in libraries {
            for &recording in recordings {
                rows.extend(UNITS.map(|units| Row {
                    units,
                    mode,
                    library,
                    recording,
                }));
            }
        }
    }
    rows
}

/// The rows of `table` that fit one of the patterns; all of them without a pattern. A pattern that none of them fits
/// selects among all combinations of the words.
///
/// # Errors
/// A pattern that no combination fits.
pub(super) fn select(table: &[Row], patterns: &[String]) -> Result<Vec<Row>, String> {
    if patterns.is_empty() {
        return Ok(table.to_vec());
    }
    let all = rows(&MODES, &LIBRARIES, &RECORDINGS);
    let mut selected = Vec::new();
    for pattern in patterns {
        let fits = |row: &&Row| row.fits(pattern);
        let mut found: Vec<Row> = table.iter().filter(fits).copied().collect();
        if found.is_empty() {
            found = all.iter().filter(fits).copied().collect();
        }
        if found.is_empty() {
            return Err(format!(
                "no row fits `{pattern}`: a pattern has words of a row, as `100 plain annotated off`; they are {}",
                words()
            ));
        }
        selected.extend(found);
    }
    let place = |row: &Row| {
        table
            .iter()
            .position(|other| other == row)
            .unwrap_or(table.len())
    };
    selected.sort_by_key(place);
    selected.dedup();
    Ok(selected)
}

/// The row of `units,mode,library,recording`.
pub(super) fn parse(words: &str) -> Option<Row> {
    let all = rows(&MODES, &LIBRARIES, &RECORDINGS);
    all.into_iter().find(|row| row.words().join(",") == words)
}

fn words() -> String {
    let units = UNITS.map(|units| units.to_string()).join(" ");
    let modes = MODES.map(Mode::word).join(" ");
    let libraries = LIBRARIES.map(Library::word).join(" ");
    let recordings = RECORDINGS.map(Recording::word).join(" ");
    format!("{units}, {modes}, {libraries}, {recordings}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(patterns: &[&str]) -> Vec<String> {
        let patterns: Vec<String> = patterns.iter().map(|&word| word.to_owned()).collect();
        let rows = select(&table(), &patterns).unwrap();
        rows.iter().map(Row::to_string).collect()
    }

    #[test]
    fn patterns_pick_rows_by_their_words_in_the_order_of_the_table() {
        let table = table();
        assert_eq!(selected(&[]).len(), table.len());
        let picked = selected(&["off 2 supervised", "plain copied 2"]);
        let expected = [
            "2 plain copied off",
            "2 supervised annotated off",
            "2 supervised copied off",
        ];
        assert_eq!(picked, expected);
        // Each row once.
        assert_eq!(selected(&["10 threads", "threads"]).len(), UNITS.len());
    }

    #[test]
    fn combinations_that_the_table_leaves_out_are_measured_when_they_are_named() {
        let picked = selected(&["10 plain annotated parquet"]);
        assert_eq!(picked, ["10 plain annotated parquet"]);
    }

    #[test]
    fn a_pattern_that_nothing_fits_is_an_error_with_the_words_that_there_are() {
        for pattern in ["plane", "plain supervised", "3"] {
            let error = select(&table(), &[pattern.to_owned()]).unwrap_err();
            assert!(
                error.contains(pattern) && error.contains("csv-all"),
                "{error}"
            );
        }
    }

    #[test]
    fn rows_with_auto_stand_beside_the_same_systems_with_held_inputs() {
        let table = table();
        let with_auto = table.iter().filter_map(|row| Some((row, row.held()?)));
        let with_auto: Vec<String> = with_auto
            .inspect(|(row, held)| assert!(table.contains(held), "{row}"))
            .map(|(row, _)| row.to_string())
            .collect();
        let expected = [
            "10 auto annotated off",
            "10 auto-bonds annotated off",
            "10 auto busy off",
        ];
        assert_eq!(with_auto, expected);
    }

    #[test]
    fn every_row_stands_once() {
        let table = table();
        for (index, row) in table.iter().enumerate() {
            assert!(!table[..index].contains(row), "{row}");
        }
    }
}
