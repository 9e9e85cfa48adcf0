//! Rows as tables for the terminal.

use gyrator_benchmark::{BenchmarkRow, Figure};

use gyrator_cli::aligned::{Align, Aligned};
use gyrator_cli::numbers::short;

/// A word for the judgement.
pub(crate) fn judgement(ok: Option<bool>) -> &'static str {
    match ok {
        Some(true) => "ok",
        Some(false) => "FAILED",
        None => "",
    }
}

/// The figure with six digits.
pub(crate) fn figure(figure: Figure) -> String {
    match figure {
        Figure::Number(number) => short(number),
        Figure::Word(word) => word.to_owned(),
    }
}

/// All rows, benchmark by benchmark, each followed by its errors side by side.
pub(crate) fn table(rows: &[BenchmarkRow]) -> String {
    const HEADINGS: [(&str, Align); 9] = [
        ("case", Align::Left),
        ("configuration", Align::Left),
        ("metric", Align::Left),
        ("measured", Align::Right),
        ("unit", Align::Left),
        ("reference", Align::Right),
        ("tolerance", Align::Left),
        ("", Align::Left),
        ("note", Align::Left),
    ];
    let mut text = String::new();
    for of_benchmark in rows.chunk_by(|a, b| a.benchmark == b.benchmark) {
        let mut table = Aligned::new(&HEADINGS);
        for row in of_benchmark {
            let cells: [&str; 9] = [
                row.case,
                row.configuration,
                row.metric,
                &figure(row.measured),
                row.unit,
                &row.reference.map(figure).unwrap_or_default(),
                &row.tolerance.map(|bar| bar.to_string()).unwrap_or_default(),
                judgement(row.ok),
                row.note.as_deref().unwrap_or_default(),
            ];
            table.row(cells);
        }
        text.push_str(&format!(
            "{}\n{}\n",
            of_benchmark[0].benchmark,
            table.render()
        ));
        text.push_str(&side_by_side(of_benchmark));
    }
    text
}

/// The configurations that stand side by side.
const SIDE_BY_SIDE: [&str; 5] = ["stale", "corrected", "compensated", "fresh", "monolithic"];

/// Errors of a benchmark, with a column for each configuration; nothing if there are none.
fn side_by_side(rows: &[BenchmarkRow]) -> String {
    let headings = ["case", "error", "unit"].map(|heading| (heading, Align::Left));
    let configurations = SIDE_BY_SIDE.map(|configuration| (configuration, Align::Right));
    let mut table = Aligned::new(&[&headings[..], &configurations].concat());
    let mut is_empty = true;
    let fresh = rows.iter().filter(|row| row.configuration == "fresh");
    for row in
        fresh.filter(|row| matches!(row.measured, Figure::Number(_)) && row.metric != "alarms")
    {
        let beside = |configuration: &str| {
            let is_beside = |other: &&BenchmarkRow| {
                (other.case, other.metric, other.configuration)
                    == (row.case, row.metric, configuration)
            };
            rows.iter()
                .find(is_beside)
                .map(|other| figure(other.measured))
        };
        let cells = SIDE_BY_SIDE.map(|configuration| beside(configuration).unwrap_or_default());
        let names = [row.case, row.metric, row.unit].map(str::to_owned);
        table.row(names.into_iter().chain(cells));
        is_empty = false;
    }
    if is_empty {
        String::new()
    } else {
        format!("side by side\n{}\n", table.render())
    }
}
