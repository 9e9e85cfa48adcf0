//! A result of ten million rows and forty columns; eight of them are drawn.

use std::time::Instant;

use gyrator_record::{
    ALL_TIMES, CellValues, Cells, Column, ColumnType, Decimated, ParquetWriter, ResultFile,
};

const ROWS: usize = 10_000_000;
const COLUMNS: usize = 40;
/// Rows of a group, as a run writes them.
const GROUP: usize = (1 << 20) / (COLUMNS + 1);
/// Row and column of a peak.
const PEAK: (usize, usize) = (7_654_321, 5);

fn value(row: usize, column: usize) -> f64 {
    if (row, column) == PEAK {
        return 100.0;
    }
    (row as f64 * 1e-5 * (column + 1) as f64).sin()
}

/// Prints the seconds: `cargo test --release --package gyrator-record large -- --ignored --nocapture`.
#[test]
#[ignore = "study: writes 3 GB"]
fn eight_of_forty_columns_of_ten_million_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.parquet");
    let names = (0..COLUMNS).map(|column| Column::new(format!("c{column}"), ColumnType::Real));
    let columns: Vec<Column> = std::iter::once(Column::new("time", ColumnType::Real))
        .chain(names)
        .collect();
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = ParquetWriter::new(file, &columns).unwrap();
    for start in (0..ROWS).step_by(GROUP) {
        let rows = start..(start + GROUP).min(ROWS);
        let times = rows.clone().map(|row| row as f64 * 1e-3).collect();
        let mut cells = vec![Cells::from(CellValues::Real(times))];
        cells.extend((0..COLUMNS).map(|column| {
            let values = rows.clone().map(|row| value(row, column)).collect();
            CellValues::Real(values).into()
        }));
        writer.write(&cells).unwrap();
    }
    writer.finish().unwrap();
    println!("{} bytes", path.metadata().unwrap().len());
    for attempt in ["first", "second"] {
        let begin = Instant::now();
        let file = ResultFile::open(&path).unwrap();
        let decimated =
            Decimated::read(&file, &[0, 5, 10, 15, 20, 25, 30, 39], 2000, ALL_TIMES).unwrap();
        println!("{attempt}: {:.2} s", begin.elapsed().as_secs_f64());
        assert_eq!(decimated.rows, ROWS as u64);
        assert_eq!(decimated.range(1).map(|range| range.1), Some(100.0));
        let (time, peak) = decimated
            .points(1)
            .into_iter()
            .find(|point| point.1 > 1.0)
            .unwrap();
        assert_eq!((time, peak), (PEAK.0 as f64 * 1e-3, 100.0));
    }
    let peak = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = peak.lines().find(|line| line.starts_with("VmHWM"));
    println!("{}", peak.unwrap_or_default());
}
