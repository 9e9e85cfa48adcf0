//! Results in all forms, and from each to each.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gyrator_record::{
    Cell, Column, ColumnType, ConversionError, ResultFile, Series, Table, Values, convert,
    create_sink, read_table,
};
use proptest::prelude::*;

const ENDINGS: [&str; 5] = ["csv", "parquet", "arrow", "FEATHER", "rows"];

fn columns() -> Vec<Column> {
    let metre = Column {
        unit: Some("m".to_owned()),
        ..Column::new("a.x", ColumnType::Real)
    };
    vec![
        metre,
        Column::new("a.on", ColumnType::Boolean),
        Column::new("a.n", ColumnType::Integer),
        Column::new("a.text", ColumnType::String),
    ]
}

fn write(path: &Path, numbers: &[f64]) {
    let mut sink = create_sink(path).unwrap();
    sink.parameters(&[("a.m", Cell::Real(1.5))]);
    sink.begin(&columns()).unwrap();
    for (row, number) in numbers.iter().enumerate() {
        let text = format!("\"ü\n{row}");
        let cells = [
            Cell::Real(*number),
            Cell::Boolean(row % 3 == 1),
            Cell::Integer(i64::from(i32::MIN) + row as i64),
            Cell::String(&text),
        ];
        sink.row(row as f64 * 0.1, &mut cells.into_iter()).unwrap();
    }
    sink.metadata("gyrator.summary", "{\"gyrator\": \"ü\"}")
        .unwrap();
    sink.finish().unwrap();
}

fn bits(table: &Table) -> Vec<Vec<String>> {
    let text = |series: &Series| match &series.values {
        Values::Numbers(numbers) => numbers.iter().map(|n| n.to_bits().to_string()).collect(),
        Values::Text(texts) => texts.clone(),
    };
    let time = table.time.iter().map(|time| time.to_bits().to_string());
    std::iter::once(time.collect())
        .chain(table.series.iter().map(text))
        .collect()
}

fn kinds(path: &Path) -> Vec<ColumnType> {
    let result = ResultFile::open(path).unwrap();
    result.columns().iter().map(|column| column.kind).collect()
}

const NUMBERS: [f64; 5] = [0.1 + 0.2, f64::NEG_INFINITY, 5e-324, -0.0, f64::MAX];

#[test]
fn a_run_writes_arrow_files_with_units_and_metadata() {
    for ending in ["arrow", "feather"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("out.{ending}"));
        write(&path, &NUMBERS);
        let files = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(files, 1, "the rows and the unfinished file are gone");
        let result = ResultFile::open(&path).unwrap();
        assert_eq!(result.columns(), columns());
        assert_eq!(
            result.metadata("gyrator.summary"),
            Some("{\"gyrator\": \"ü\"}")
        );
        assert_eq!(result.metadata("gyrator.parameters"), Some("{\"a.m\":1.5}"));
        let table = read_table(&path).unwrap();
        let expected = NUMBERS.map(|number| number.to_bits().to_string());
        assert_eq!(bits(&table)[1], expected);
    }
}

#[test]
fn each_form_becomes_each_other_with_the_same_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for from in ENDINGS {
        let input = path(&format!("from.{from}"));
        write(&input, &NUMBERS);
        let result = ResultFile::open(&input).unwrap();
        let expected = bits(&read_table(&input).unwrap());
        for to in ENDINGS {
            let output = path(&format!("{from}-to.{to}"));
            let further = BTreeMap::from([("own".to_owned(), "text".to_owned())]);
            let rows = convert(&result, result.columns(), &further, &output).unwrap();
            assert_eq!(rows, NUMBERS.len() as u64);
            let converted = ResultFile::open(&output).unwrap();
            assert_eq!(bits(&read_table(&output).unwrap()), expected, "{from} {to}");
            if !["csv", "rows"].contains(&to) {
                assert_eq!(converted.columns(), result.columns(), "{from} {to}");
                assert_eq!(converted.metadata("own"), Some("text"));
                let summary = converted.metadata("gyrator.summary");
                assert_eq!(summary, result.metadata("gyrator.summary"));
            }
        }
    }
    let csv = ResultFile::open(&path("from.csv")).unwrap();
    let typed = path("typed.arrow");
    convert(&csv, &columns(), &BTreeMap::new(), &typed).unwrap();
    assert_eq!(
        kinds(&typed),
        columns()
            .iter()
            .map(|column| column.kind)
            .collect::<Vec<_>>()
    );
}

#[test]
fn what_would_change_is_refused_and_leaves_the_older_file() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (
        folder.path().join("in.csv"),
        folder.path().join("out.arrow"),
    );
    for cells in ["0,1.5\n", "0,1e300\n", "0,9007199254740993\n"] {
        std::fs::write(&input, format!("time,n\n{cells}")).unwrap();
        std::fs::write(&output, "older").unwrap();
        let result = ResultFile::open(&input).unwrap();
        let whole = [Column::new("n", ColumnType::Integer)];
        let error = convert(&result, &whole, &BTreeMap::new(), &output).unwrap_err();
        assert!(
            matches!(&error, ConversionError::Value { column, .. } if column == "n"),
            "{error}"
        );
        assert_eq!(std::fs::read(&output).unwrap(), b"older");
    }
    let unknown = convert(
        &ResultFile::open(&input).unwrap(),
        &[],
        &BTreeMap::new(),
        Path::new("x.mat"),
    );
    assert!(matches!(unknown, Err(ConversionError::Form(_))));
}

/// A file of three rows of numbers, with a name that needs quotes, and its bytes.
fn doubles_file(folder: &Path) -> (PathBuf, Vec<u8>) {
    let path = folder.join("out.rows");
    let mut sink = create_sink(&path).unwrap();
    let mut columns = columns();
    columns[0].name = "a\n\",x".to_owned();
    sink.begin(&columns[..3]).unwrap();
    for (row, number) in NUMBERS[..3].iter().enumerate() {
        let cells = [
            Cell::Real(*number),
            Cell::Boolean(row == 1),
            Cell::Integer(-3),
        ];
        sink.row(row as f64, &mut cells.into_iter()).unwrap();
    }
    sink.flush().unwrap();
    let error = [Column::new("error", ColumnType::Real)];
    assert!(sink.add_columns(&error, &[&[0.5, f64::NAN, -0.0]]).unwrap());
    sink.finish().unwrap();
    assert_eq!(sink.rows(), 3);
    let bytes = std::fs::read(&path).unwrap();
    (path, bytes)
}

#[test]
fn numbers_are_written_as_doubles() {
    let folder = tempfile::tempdir().unwrap();
    let (path, bytes) = doubles_file(folder.path());
    let mut expected = b"\0time,\"a\n\"\",x\",a.on,a.n,error\n".to_vec();
    for row in [
        [0.0, NUMBERS[0], 0.0, -3.0, 0.5],
        [1.0, NUMBERS[1], 1.0, -3.0, f64::NAN],
        [2.0, NUMBERS[2], 0.0, -3.0, -0.0],
    ] {
        expected.extend(row.iter().flat_map(|number| number.to_le_bytes()));
    }
    assert_eq!(bytes, expected);
    let result = ResultFile::open(&path).unwrap();
    assert_eq!(result.rows(), Some(3));
    let csv = folder.path().join("out.csv");
    convert(&result, result.columns(), &BTreeMap::new(), &csv).unwrap();
    assert_eq!(
        bits(&read_table(&csv).unwrap()),
        bits(&read_table(&path).unwrap())
    );
    let again = folder.path().join("again.rows");
    let csv = ResultFile::open(&csv).unwrap();
    convert(&csv, csv.columns(), &BTreeMap::new(), &again).unwrap();
    assert_eq!(std::fs::read(&again).unwrap(), expected);
    // The last row is not whole yet.
    std::fs::write(&path, &expected[..expected.len() - 1]).unwrap();
    assert_eq!(read_table(&path).unwrap().time, [0.0, 1.0]);
}

fn arrow_file(folder: &Path) -> (PathBuf, Vec<u8>) {
    let path = folder.join("out.arrow");
    write(&path, &NUMBERS);
    let bytes = std::fs::read(&path).unwrap();
    (path, bytes)
}

/// A file that pandas 2.3 has written with pyarrow 25: 40 rows, which begin at 0 and are 0.25 apart.
fn of_pandas(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/arrow_result");
    folder.join(name)
}

/// LZ4 is what pandas compresses with by default.
#[test]
fn feather_files_of_pandas_are_read() {
    let table = read_table(&of_pandas("plain.feather")).unwrap();
    let times: Vec<f64> = (0..40).map(|row| f64::from(row) * 0.25).collect();
    assert_eq!(table.time, times);
    let position = |row: usize| match row {
        7 => f64::NAN,
        0..20 => 1.0,
        _ => 0.5,
    };
    let numbers = |name: &str| -> Vec<f64> {
        let found = table.series.iter().find(|series| series.name == name);
        match &found.unwrap().values {
            Values::Numbers(numbers) => numbers.clone(),
            Values::Text(texts) => panic!("{texts:?}"),
        }
    };
    for (row, found) in numbers("body.x").into_iter().enumerate() {
        assert_eq!(found.total_cmp(&position(row)), std::cmp::Ordering::Equal);
    }
    let tens: Vec<f64> = (0..40).map(|row| f64::from(row / 10)).collect();
    assert_eq!(numbers("body.n"), tens);
    for name in ["lz4-of-pandas.feather", "batches.feather"] {
        let compressed = read_table(&of_pandas(name)).unwrap();
        assert_eq!(bits(&compressed), bits(&table), "{name}");
    }
    let other = read_table(&of_pandas("zstd.feather"));
    let message = other.unwrap_err().to_string();
    assert!(
        message.contains("write it with compression=\"lz4\""),
        "{message}"
    );
}

/// The error for an unknown compression names the known ones; times that are dates count from the first one.
#[test]
fn parquet_files_of_others_are_read_or_refused_with_a_remedy() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/parquet_result");
    let read = |name: &str| read_table(&seeds.join(name));
    let expected = bits(&read_table(&of_pandas("plain.feather")).unwrap());
    for name in ["snappy-of-pandas.parquet", "lz4.parquet", "groups.parquet"] {
        assert_eq!(bits(&read(name).unwrap()), expected, "{name}");
    }
    let message = read("zstd-of-polars.parquet").unwrap_err().to_string();
    let part = "write the file with compression=\"snappy\"";
    assert!(message.contains(part), "{message}");
    let dates = read("dates.parquet").unwrap();
    assert_eq!(dates.time, [0.0, 86400.0, 172_800.0]);
}

/// A length that a buffer does not have must not reserve memory.
#[test]
fn lengths_of_compressed_columns_are_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.feather");
    let whole = std::fs::read(of_pandas("lz4-of-pandas.feather")).unwrap();
    // The uncompressed length of 40 doubles, before a frame of LZ4.
    let (length, magic) = (320_i64.to_le_bytes(), 0x184D_2204_u32.to_le_bytes());
    let head = [&length[..], &magic].concat();
    let places: Vec<usize> = (0..whole.len() - head.len())
        .filter(|place| whole[*place..].starts_with(&head))
        .collect();
    assert!(!places.is_empty());
    for place in places {
        for wrong in [1 << 40, i64::MAX, -2, 321, 0] {
            let mut bytes = whole.clone();
            bytes[place..place + 8].copy_from_slice(&i64::to_le_bytes(wrong));
            std::fs::write(&path, bytes).unwrap();
            let read = read_table(&path);
            assert!(read.is_err() || wrong.abs() < 400, "{wrong}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// A file with any change is read or refused.
    #[test]
    fn damaged_files_end(places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), cut in any::<prop::sample::Index>(), is_cut in any::<bool>()) {
        let folder = tempfile::tempdir().unwrap();
        for (path, mut bytes) in [arrow_file(folder.path()), doubles_file(folder.path())] {
            for (place, byte) in &places {
                let place = place.index(bytes.len());
                bytes[place] = *byte;
            }
            if is_cut {
                let length = cut.index(bytes.len());
                bytes.truncate(length);
            }
            std::fs::write(&path, bytes).unwrap();
            let _ = read_table(&path);
        }
    }
}

/// Ten million rows of forty columns from a unit in this process. Run with `--release`: it needs 8 GB of disk for the rows
/// as CSV, which stand beside a Parquet file until it is made.
#[test]
#[ignore = "study: ten million rows"]
fn ten_million_rows_become_parquet_in_200_mib() {
    let rows = std::env::var("GYRATOR_ROWS").map_or(10_000_000, |rows| rows.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.parquet");
    let mut sink = create_sink(&path).unwrap();
    let columns: Vec<Column> = (0..40)
        .map(|place| Column::new(format!("unit.y{place}"), ColumnType::Real))
        .collect();
    sink.begin(&columns).unwrap();
    let mut values = [0.0; 40];
    let begin = std::time::Instant::now();
    for row in 0..rows {
        // An oscillator, read at 40 phases with four digits: short rows.
        for (place, value) in values.iter_mut().enumerate() {
            *value = f64::from((row * 7 + place as i32 * 131) % 10_007) * 1e-4;
        }
        sink.real_row(f64::from(row) * 1e-3, &values).unwrap();
    }
    let written = begin.elapsed();
    sink.finish().unwrap();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status
        .lines()
        .find(|line| line.starts_with("VmHWM"))
        .unwrap();
    let kib: u64 = peak.split_whitespace().nth(1).unwrap().parse().unwrap();
    println!(
        "{rows} rows: written in {written:?}, finished in {:?}, {} MB, {peak}",
        begin.elapsed(),
        path.metadata().unwrap().len() / 1_000_000
    );
    assert!(kib < 200 << 10, "{peak}");
    assert_eq!(ResultFile::open(&path).unwrap().rows(), Some(rows as u64));
}
