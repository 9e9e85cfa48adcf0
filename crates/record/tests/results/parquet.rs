//! Parquet files: written rows are read back, and a run that is killed leaves its rows.

use std::path::Path;

use gyrator_record::{
    Cell, Column, ColumnType, PartFile, QueuedSink, RecordError, ResultFile, RowSink, Series,
    Table, Values, create_sink, finish_rows, read_table, rows_path,
};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader as _, SerializedFileReader};

fn columns() -> Vec<Column> {
    let unit = |column: Column, unit: &str| Column {
        unit: Some(unit.to_owned()),
        ..column
    };
    vec![
        unit(Column::new("left.x", ColumnType::Real), "m"),
        Column::new("left.on", ColumnType::Boolean),
        Column::new("left.count", ColumnType::Integer),
        Column::new("left.text", ColumnType::String),
        unit(
            Column::new("bond.a.b.residual_power", ColumnType::Real),
            "W",
        ),
    ]
}

const NUMBERS: [f64; 4] = [0.1 + 0.2, f64::NAN, f64::NEG_INFINITY, 5e-324];
const TEXTS: [&str; 4] = ["", "a, \"b\"\nc", "ü", "1"];

fn write(sink: &mut dyn RowSink) {
    sink.begin(&columns()).unwrap();
    for row in 0..4 {
        let cells = [
            Cell::Real(NUMBERS[row]),
            Cell::Boolean(row == 2),
            Cell::Integer(i64::MIN + row as i64),
            Cell::String(TEXTS[row]),
            Cell::Real(row as f64),
        ];
        sink.row(row as f64 * 0.1, &mut cells.into_iter()).unwrap();
    }
}

fn bits(table: &Table, name: &str) -> Vec<u64> {
    let numbers = table.column(name).and_then(Series::numbers).unwrap();
    numbers.iter().map(|number| number.to_bits()).collect()
}

#[test]
fn what_is_written_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.parquet");
    let mut sink = create_sink(&path).unwrap();
    write(&mut *sink);
    sink.finish().unwrap();
    assert_eq!(sink.rows(), 4);
    let files = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(files, 1, "the rows and the unfinished file are gone");
    let table = read_table(&path).unwrap();
    assert_eq!(table.time, [0.0, 0.1, 0.2, 3.0 * 0.1]);
    assert_eq!(bits(&table, "left.x"), NUMBERS.map(f64::to_bits));
    let on = [0.0, 0.0, 1.0, 0.0].map(f64::to_bits);
    assert_eq!(bits(&table, "left.on"), on);
    let text = table.column("left.text").unwrap();
    assert_eq!(text.values, Values::Text(TEXTS.map(str::to_owned).to_vec()));
}

#[test]
fn units_and_bonds_are_in_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.parquet");
    let mut sink = create_sink(&path).unwrap();
    write(&mut *sink);
    sink.finish().unwrap();
    let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    let metadata = reader.metadata().file_metadata().key_value_metadata();
    let entries: Vec<(&str, &str)> = metadata
        .unwrap()
        .iter()
        .map(|entry| (entry.key.as_str(), entry.value.as_deref().unwrap()))
        .collect();
    let units = r#"{"bond.a.b.residual_power":"W","left.x":"m","time":"s"}"#;
    let expected = [("gyrator.units", units), ("gyrator.bonds", r#"["a.b"]"#)];
    assert_eq!(entries, expected);
}

#[test]
fn parameters_are_in_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.parquet");
    let mut sink = create_sink(&path).unwrap();
    sink.parameters(&[
        ("left.m", Cell::Real(1.5)),
        ("left.name", Cell::String("a")),
    ]);
    write(&mut *sink);
    sink.finish().unwrap();
    let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    let metadata = reader.metadata().file_metadata().key_value_metadata();
    let mut entries = metadata.unwrap().iter();
    let found = entries.find(|entry| entry.key == "gyrator.parameters");
    let value = found.and_then(|entry| entry.value.as_deref());
    assert_eq!(value, Some(r#"{"left.m":1.5,"left.name":"a"}"#));
}

/// A sink that is never finished is what a killed process leaves.
#[test]
fn an_unfinished_file_has_all_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.parquet");
    std::fs::write(&path, "the result of an earlier run").unwrap();
    let mut sink = create_sink(&path).unwrap();
    write(&mut *sink);
    sink.flush().unwrap();
    std::mem::forget(sink);
    assert!(!path.exists());
    let rows = folder.path().join("out.parquet.part");
    let table = read_table(&rows).unwrap();
    assert_eq!(table.time.len(), 4);
    assert_eq!(bits(&table, "left.x"), NUMBERS.map(f64::to_bits));
    // The other process is gone, and another one makes the result.
    let result = ResultFile::open(&rows).unwrap();
    assert_eq!(result.columns(), columns());
    let rows = std::fs::OpenOptions::new().read(true).open(&rows).unwrap();
    assert_eq!(finish_rows(&PartFile::adopt(&path, rows)).unwrap(), 4);
    let files = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(files, 1, "the rows and the unfinished file are gone");
    assert_eq!(
        bits(&read_table(&path).unwrap(), "left.x"),
        NUMBERS.map(f64::to_bits)
    );
}

/// A process was killed after the result had got its name, and before the rows were removed.
#[test]
fn a_result_that_has_its_name_already_is_not_made_again() {
    for name in ["out.parquet", "out.arrow"] {
        let folder = tempfile::tempdir().unwrap();
        let (path, rows) = (folder.path().join(name), folder.path().join("rows"));
        let part = rows_path(&path);
        let mut sink = create_sink(&path).unwrap();
        write(&mut *sink);
        sink.metadata("gyrator.summary", "{}").unwrap();
        sink.flush().unwrap();
        std::fs::copy(&part, &rows).unwrap();
        sink.finish().unwrap();
        drop(sink);
        let files = || std::fs::read_dir(folder.path()).unwrap().count();
        let finish = || {
            let open = std::fs::OpenOptions::new().read(true).open(&part);
            finish_rows(&PartFile::adopt(&path, open.unwrap()))
        };
        let result = std::fs::read(&path).unwrap();
        std::fs::copy(&rows, &part).unwrap();
        std::fs::hard_link(&path, folder.path().join(format!("{name}.new"))).unwrap();
        assert_eq!(finish().unwrap(), 4, "{name}");
        assert_eq!(std::fs::read(&path).unwrap(), result, "{name}");
        assert_eq!(files(), 2, "{name}: the result, and the copy of the rows");
        // The file of another program is not taken for it.
        std::fs::copy(&rows, &part).unwrap();
        std::fs::remove_file(&path).unwrap();
        let mut other = create_sink(&path).unwrap();
        other.begin(&columns()).unwrap();
        drop(other);
        std::fs::copy(&rows, &part).unwrap();
        let error = finish().unwrap_err();
        assert!(matches!(error, RecordError::NotNamed { .. }), "{error}");
        assert!(part.exists());
    }
}

#[test]
fn rows_are_kept_where_the_file_does_not_get_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.parquet");
    let mut sink = create_sink(&path).unwrap();
    write(&mut *sink);
    std::fs::create_dir(&path).unwrap();
    let error = sink.finish().unwrap_err();
    assert!(matches!(error, RecordError::NotNamed { .. }), "{error}");
    assert!(
        error.to_string().contains("all rows are kept in "),
        "{error}"
    );
    let rows = folder.path().join("out.parquet.part");
    assert_eq!(read_table(&rows).unwrap().time.len(), 4);
}

/// Somebody else cuts the file of rows from which the result has to be made in the end.
#[test]
fn rows_that_are_gone_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.arrow");
    let mut sink = create_sink(&path).unwrap();
    write(&mut *sink);
    sink.flush().unwrap();
    let rows = folder.path().join("out.arrow.part");
    let length = rows.metadata().unwrap().len();
    let file = std::fs::OpenOptions::new().write(true).open(&rows).unwrap();
    file.set_len(length - 1).unwrap();
    let error = sink.finish().unwrap_err();
    assert!(matches!(error, RecordError::NotConverted { .. }), "{error}");
    assert!(error.to_string().contains("3 of 4 can be read"), "{error}");
    assert!(!path.exists());
    assert_eq!(read_table(&rows).unwrap().time.len(), 3);
}

/// Numbers whose bits text would not keep.
#[test]
fn groups_have_all_rows_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.parquet");
    let columns: Vec<Column> = (0..3)
        .map(|place| Column::new(format!("c{place}"), ColumnType::Real))
        .collect();
    let value = |row: u64| f64::from_bits(row.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut sink = create_sink(&path).unwrap();
    sink.begin(&columns).unwrap();
    for row in 0..25_000 {
        let values = [value(row), value(row + 1), value(row + 2)];
        sink.real_row(row as f64, &values).unwrap();
    }
    sink.finish().unwrap();
    let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap()).unwrap();
    let groups = reader.metadata().row_groups().iter();
    let rows: Vec<i64> = groups.map(RowGroupMetaData::num_rows).collect();
    assert_eq!(rows, [10_000, 10_000, 5_000]);
    let table = read_table(&path).unwrap();
    for (place, column) in (0..).zip(&columns) {
        let expected: Vec<u64> = (0..25_000)
            .map(|row| value(row + place).to_bits())
            .collect();
        assert!(bits(&table, &column.name) == expected);
    }
}

#[test]
fn what_is_no_table_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.parquet");
    std::fs::write(&path, b"PAR1 and no more").unwrap();
    assert!(read_table(&path).is_err());
}

#[test]
fn added_columns_are_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.parquet");
    let mut sink = create_sink(&path).unwrap();
    write(&mut *sink);
    let added = [Column::new("error.left.x", ColumnType::Real)];
    assert!(sink.add_columns(&added, &[&NUMBERS]).unwrap());
    sink.finish().unwrap();
    let table = read_table(&path).unwrap();
    let expected: Vec<u64> = NUMBERS.iter().map(|number| number.to_bits()).collect();
    assert_eq!(bits(&table, "error.left.x"), expected);
    assert_eq!(bits(&table, "left.x"), expected);
}

#[test]
fn metadata_are_in_the_file_also_behind_a_queue() {
    for is_queued in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.parquet");
        let mut sink = create_sink(&path).unwrap();
        if is_queued {
            sink = Box::new(QueuedSink::new(sink));
        }
        assert!(sink.keeps_metadata());
        write(&mut *sink);
        sink.metadata("gyrator.summary", "an earlier one").unwrap();
        sink.metadata("gyrator.summary", "{\"a\": \"ü\"}\n")
            .unwrap();
        sink.finish().unwrap();
        let result = ResultFile::open(&path).unwrap();
        assert_eq!(result.metadata("gyrator.summary"), Some("{\"a\": \"ü\"}\n"));
        assert_eq!(result.rows(), Some(4));
    }
}

/// Rows that a script has written by the description of the form: `reals.part` of `fuzz/seeds`.
#[test]
fn rows_of_another_writer_are_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/part_result");
    let table = read_table(&folder.join("reals.part")).unwrap();
    assert_eq!(table.time, [0.0, 1.0, 2.0, 3.0, 4.0]);
    let squares = [0.0, 1.0, 4.0, 9.0, 16.0].map(f64::to_bits);
    assert_eq!(bits(&table, "y"), squares);
    let all = ResultFile::open(&folder.join("all-types.part")).unwrap();
    assert_eq!(all.metadata("gyrator.parameters"), Some(r#"{"a.m":1.5}"#));
    assert_eq!(all.table().unwrap().time.len(), 4);
    let torn = read_table(&folder.join("torn.part")).unwrap();
    assert_eq!(torn.time.len(), 3);
    let damaged = read_table(&folder.join("damaged.part")).unwrap_err();
    assert!(damaged.to_string().contains("row 1, at byte "), "{damaged}");
}
