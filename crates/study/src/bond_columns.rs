//! The columns of a bond: its energies, its audit and the verdicts on it, at the end of a run.

use gyrator::Verdict;
use gyrator::report::{BondReport, CorrectionVerdict};

use crate::cell::{Cell, Column, ColumnKind};

/// The source of the cells of a column; `None` if the run does not show the value.
enum Source {
    /// An energy, J.
    Energy(fn(&BondReport) -> Option<f64>),
    Word(fn(&BondReport) -> Option<&'static str>),
}

/// The last parts of the columns' names, `bond.NAME.VALUE`.
const COLUMNS: &[(&str, Source)] = &[
    (
        "residual_energy",
        Source::Energy(|bond| Some(bond.energy.residual_energy)),
    ),
    (
        "transferred_energy",
        Source::Energy(|bond| Some(bond.energy.transferred_energy)),
    ),
    (
        "correction_energy",
        Source::Energy(|bond| Some(bond.energy.correction_energy)),
    ),
    (
        "residual_energy_integrated",
        Source::Energy(|bond| Some(bond.energy.residual_energy_integrated)),
    ),
    (
        "residual_energy_integrated_error",
        Source::Energy(|bond| Some(bond.residual_energy_integrated_error)),
    ),
    ("stale_energy", Source::Energy(|bond| bond.stale_energy)),
    (
        "net_energy_error",
        Source::Energy(|bond| bond.net_energy_error),
    ),
    ("verdict", Source::Word(|bond| Some(bond.verdict.word()))),
    (
        "correction_verdict",
        Source::Word(|bond| bond.correction_verdict.map(CorrectionVerdict::word)),
    ),
];

/// The columns of the bond of this name.
pub(crate) fn columns(bond: &str) -> impl Iterator<Item = Column> {
    COLUMNS.iter().map(move |(value, source)| {
        let name = format!("bond.{bond}.{value}");
        match source {
            Source::Energy(_) => Column {
                unit: Some("J".to_owned()),
                ..Column::new(name, ColumnKind::Real)
            },
            Source::Word(_) => Column::new(name, ColumnKind::Text),
        }
    })
}

/// The cells of a bond in the order of its columns; all empty without a report of it.
pub(crate) fn cells(bond: Option<&BondReport>) -> impl Iterator<Item = Cell> {
    COLUMNS.iter().map(move |(_, source)| match source {
        Source::Energy(energy) => bond.and_then(energy).into(),
        Source::Word(word) => text(bond.and_then(word)),
    })
}

/// The cell of a verdict.
pub(crate) fn verdict(verdict: Option<Verdict>) -> Cell {
    text(verdict.map(Verdict::word))
}

fn text(word: Option<&str>) -> Cell {
    word.map_or(Cell::Empty, |word| Cell::Text(word.to_owned()))
}
