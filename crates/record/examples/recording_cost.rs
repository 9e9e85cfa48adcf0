//! `recording_cost COLUMNS ROWS FILE...`: nanoseconds per cell of results in the forms of these names.
//!
//! Prints the cost of the rows and, apart, of the end of the file, the least of several attempts, the size of the file, and the
//! most memory that was used. No signal rests and no two are equal, which is the worst case for text.

use std::path::Path;
use std::time::Instant;

use gyrator_record::{Column, ColumnType, create_sink};

/// Each file is written as often: other programs disturb the times.
const ATTEMPTS: usize = 9;

/// Cells that are made before the clock runs; longer results have them again.
const KEPT: usize = 1 << 22;

/// Counters, times and two waves.
fn value(row: usize, column: usize) -> f64 {
    let row = (row + 7919 * column) as f64;
    match column % 4 {
        0 => row + 1.0,
        1 => (row + 1.0) * 1e-3,
        2 => (row * 1e-3).sin(),
        _ => (row * 3e-3).cos() * 1e4,
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [columns, rows, files @ ..] = &arguments[..] else {
        panic!("recording_cost COLUMNS ROWS FILE...");
    };
    let columns: usize = columns.parse().expect("COLUMNS is a number");
    let rows: usize = rows.parse().expect("ROWS is a number");
    let kept = rows.min(1 + KEPT / columns);
    let row = |row| (0..columns).map(|column| value(row, column)).collect();
    let values: Vec<Vec<f64>> = (0..kept).map(row).collect();
    let column = |index| Column::new(format!("unit{index}.y"), ColumnType::Real);
    let names: Vec<Column> = (0..columns).map(column).collect();
    let cells = (rows * (columns + 1)) as f64;
    let per_cell = |begin: Instant| begin.elapsed().as_nanos() as f64 / cells;
    for file in files {
        let path = Path::new(file);
        let (mut of_rows, mut of_end) = (f64::MAX, f64::MAX);
        for _ in 0..ATTEMPTS {
            let begin = Instant::now();
            let mut sink = create_sink(path).expect("the file can be made");
            sink.begin(&names).expect("there is room");
            for row in 0..rows {
                let written = sink.real_row(row as f64 * 1e-3, &values[row % kept]);
                written.expect("there is room");
            }
            of_rows = of_rows.min(per_cell(begin));
            let begin = Instant::now();
            sink.finish().expect("there is room");
            of_end = of_end.min(per_cell(begin));
        }
        let size = path.metadata().map_or(0, |file| file.len()) as f64 / cells;
        println!("{file}: rows {of_rows:.1} ns, end {of_end:.1} ns, {size:.2} bytes a cell");
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let most = status.lines().find(|line| line.starts_with("VmHWM"));
    println!("{}", most.unwrap_or_default());
}
