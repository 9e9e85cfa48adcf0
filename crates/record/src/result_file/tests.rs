//! Results of any size, read by blocks.

use std::fs;

use proptest::prelude::*;

use super::*;
use crate::csv_reader::parse_csv;
use crate::sink::ColumnType;
use crate::table::{Series, Table};

/// The whole file, by its blocks.
fn read_all(file: &ResultFile) -> Result<Table, ReadTableError> {
    let places: Vec<usize> = (0..file.columns().len()).collect();
    let mut blocks = file.blocks(&places)?;
    let mut table = Table::default();
    for column in file.columns() {
        let values = match column.kind {
            ColumnType::String => Values::Text(Vec::new()),
            _ => Values::Numbers(Vec::new()),
        };
        let (name, unit) = (column.name.clone(), column.unit.clone());
        table.series.push(Series { name, unit, values });
    }
    while let Some(block) = blocks.next_block()? {
        table.time.extend(&block.time);
        for (series, values) in table.series.iter_mut().zip(&block.columns) {
            match (&mut series.values, values) {
                (Values::Numbers(all), Values::Numbers(some)) => all.extend(some),
                (Values::Text(all), Values::Text(some)) => all.extend_from_slice(some),
                _ => panic!("`{}` has two kinds", series.name),
            }
        }
    }
    Ok(table)
}

fn file_of(text: impl AsRef<[u8]>) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.csv");
    fs::write(&path, text).unwrap();
    (folder, path)
}

#[test]
fn a_csv_file_of_many_pieces_is_what_the_reader_of_tables_says() {
    let mut text = "\u{feff}time,a.x,\"a, text\",on\r\n".to_owned();
    for row in 0..75_000 {
        let time = row / 2;
        text.push_str(&format!(
            "{time},{}.5,\"line \"\"{row}\"\"\nü\",true\r\n",
            row % 7
        ));
    }
    let (_folder, path) = file_of(&text);
    let file = ResultFile::open(&path).unwrap();
    let kinds: Vec<ColumnType> = file.columns().iter().map(|column| column.kind).collect();
    assert_eq!(
        kinds,
        [ColumnType::Real, ColumnType::String, ColumnType::Real]
    );
    assert!(text.len() > 2 << 20 && file.rows().is_none() && file.metadata("x").is_none());
    assert!(read_all(&file).unwrap() == parse_csv(text.as_bytes(), &path).unwrap());
    // Chosen columns come in the order in which they are asked for, also twice.
    let mut blocks = file.blocks(&[2, 0, 2]).unwrap();
    let block = blocks.next_block().unwrap().unwrap();
    let first = |place: usize| match &block.columns[place] {
        Values::Numbers(numbers) => numbers[1],
        Values::Text(_) => panic!("a text"),
    };
    assert_eq!([0, 1, 2].map(first), [1.0, 1.5, 1.0]);
}

#[test]
fn errors_name_the_line_of_the_file() {
    let mut text = "time,x\n".to_owned();
    for row in 0..150_000 {
        text.push_str(&format!("{row},1\n"));
    }
    assert!(text.len() > 1 << 20, "longer than the first piece");
    for (rest, expected) in [
        (
            "150000,abc\n",
            "150002: `abc` in column `x` is not a number",
        ),
        ("5,1\n", "150002: the time 5 comes after 149999"),
        ("150000\n1,2\n", "150002: 1 cells for 2 columns"),
        (
            "150000",
            "150002: 1 cells for 2 columns; was the file cut off?",
        ),
        ("150000,\"1", "150002: a double quote is not closed"),
        ("150000,1\n150001,\u{0}\n", "150003: "),
    ] {
        let (_folder, path) = file_of(text.clone() + rest);
        let file = ResultFile::open(&path).unwrap();
        let error = read_all(&file).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let bytes = [text.as_bytes(), b"150000,\xff\n"].concat();
    let (_folder, path) = file_of(bytes);
    let error = read_all(&ResultFile::open(&path).unwrap()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains(":150002: this is not UTF-8 text"),
        "{error}"
    );
}

/// Columns that are not asked for are not read, whatever is in them. If the times are also in quotes, quotes do not
/// tell texts from numbers.
#[test]
fn a_text_beyond_the_first_piece_is_a_gap() {
    let mut text = "time,x,y\n".to_owned();
    for row in 0..100_000 {
        text.push_str(&format!("{row},\"1\",1\n"));
    }
    assert!(text.len() > 1 << 20, "longer than the first piece");
    text.push_str("100000,\"off\",none\n");
    let (_folder, path) = file_of(&text);
    let file = ResultFile::open(&path).unwrap();
    let mut blocks = file.blocks(&[0]).unwrap();
    let mut last = String::new();
    while let Some(block) = blocks.next_block().unwrap() {
        if let Values::Text(texts) = &block.columns[0] {
            last.clone_from(texts.last().unwrap());
        }
    }
    assert_eq!(last, "off");
    assert!(read_all(&file).is_err());
    let quoted = |line: &str| match line.split_once(',') {
        Some((time, rest)) => format!("\"{time}\",{rest}\n"),
        None => line.to_owned(),
    };
    let text: String = text.lines().map(quoted).collect();
    let (_folder, path) = file_of(&text);
    let file = ResultFile::open(&path).unwrap();
    let mut blocks = file.blocks(&[0]).unwrap();
    let mut last = f64::INFINITY;
    while let Some(block) = blocks.next_block().unwrap() {
        if let Values::Numbers(numbers) = &block.columns[0] {
            last = *numbers.last().unwrap();
        }
    }
    assert!(last.is_nan());
    assert!(read_all(&file).is_err());
}

#[test]
fn what_is_no_file_or_changes_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let open = |name: &str| ResultFile::open(&folder.path().join(name)).unwrap_err();
    assert!(open("none.csv").to_string().contains("No such file"));
    assert!(
        ResultFile::open(folder.path())
            .unwrap_err()
            .to_string()
            .contains("not an ordinary file")
    );
    let (_folder, path) = file_of("");
    assert!(
        ResultFile::open(&path)
            .unwrap_err()
            .to_string()
            .contains("the file is empty")
    );
    let (_folder, path) = file_of("time,x\n0,1\n");
    let file = ResultFile::open(&path).unwrap();
    fs::write(&path, "time,y\n0,1\n").unwrap();
    let error = read_all(&file).unwrap_err().to_string();
    assert!(error.contains("have changed"), "{error}");
}

#[test]
fn results_of_ecos_have_our_names() {
    let (_folder, path) = file_of("iterations, time, a::x[REAL], b::s[STR]\n0, 0.0, 1.5, 7\n");
    let file = ResultFile::open(&path).unwrap();
    assert_eq!(
        read_all(&file).unwrap(),
        parse_csv(&fs::read(&path).unwrap(), &path).unwrap()
    );
    assert_eq!(file.column("a.x"), Some(0));
    assert_eq!(file.columns()[1].kind, ColumnType::String);
}

proptest! {
    /// Any bytes: no panic, and a file that both readers accept has the same numbers.
    #[test]
    fn any_bytes_are_read_or_refused(text in "(time|t),[ab\"]{1,2}(\r?\n(-?[0-9]|[0-9\"]{1,3}),(\"?[a1\n,]{0,3}\"?|inf|)){0,6}\n?") {
        let (_folder, path) = file_of(&text);
        let Ok(file) = ResultFile::open(&path) else { return Ok(()) };
        if let (Ok(found), Ok(expected)) = (read_all(&file), parse_csv(text.as_bytes(), &path)) {
            prop_assert_eq!(format!("{found:?}"), format!("{expected:?}"));
        }
    }
}

#[cfg(feature = "parquet")]
mod of_parquet {
    use super::*;
    use crate::columnar::{CellValues, Cells, TableHead};
    use crate::parquet_writer::ParquetWriter;
    use crate::sink::Cell;
    use crate::table_reader::read_table;

    fn columns() -> Vec<Column> {
        let metre = Some("m".to_owned());
        vec![
            Column {
                unit: metre,
                ..Column::new("a.x", ColumnType::Real)
            },
            Column::new("time", ColumnType::Real),
            Column::new("a.n", ColumnType::Integer),
            Column::new("a.on", ColumnType::Boolean),
            Column::new("a.text", ColumnType::String),
        ]
    }

    /// Two groups of rows, the second shorter, with missing values.
    fn write(rows: usize) -> Vec<u8> {
        let parameters = [("gyrator.parameters".into(), r#"{"a.m":1.5}"#.into())].into();
        let head = TableHead {
            columns: &columns(),
            metadata: &parameters,
            is_complete: false,
        };
        let mut writer = ParquetWriter::with_head(Vec::new(), head).unwrap();
        for rows in [0..rows, rows..rows + rows / 3] {
            let mut x = Cells::new(ColumnType::Real);
            let mut text = Cells::new(ColumnType::String);
            for row in rows.clone() {
                match row.is_multiple_of(5) {
                    true => x.push_missing(),
                    false => assert!(x.push(Cell::Real((row as f64).sin()))),
                }
                let word = format!("ü{row}");
                let is_missing = row.is_multiple_of(7);
                assert!(text.push_text(if is_missing { "" } else { &word }));
            }
            let time = rows.clone().map(|row| row as f64).collect();
            let n = rows.clone().map(|row| row as i64).collect();
            let on = rows.clone().map(|row| row % 2 == 1).collect();
            writer
                .write(&[
                    x,
                    CellValues::Real(time).into(),
                    CellValues::Integer(n).into(),
                    CellValues::Boolean(on).into(),
                    text,
                ])
                .unwrap();
        }
        writer.finish().unwrap()
    }

    fn file_of(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result.Parquet");
        fs::write(&path, bytes).unwrap();
        (folder, path)
    }

    #[test]
    fn blocks_are_what_the_reader_of_tables_says() {
        let (_folder, path) = file_of(&write(40_000));
        let file = ResultFile::open(&path).unwrap();
        let found = read_all(&file).unwrap();
        assert_eq!(
            format!("{found:?}"),
            format!("{:?}", read_table(&path).unwrap())
        );
        assert_eq!(file.rows(), Some(53_333));
        assert_eq!(file.metadata("gyrator.parameters"), Some(r#"{"a.m":1.5}"#));
        let expected = columns().into_iter().filter(|column| column.name != "time");
        assert_eq!(file.columns(), expected.collect::<Vec<_>>());
        assert_eq!(file.range(1), Some((0.0, 53_332.0)));
        assert_eq!((file.range(2), file.range(3)), (Some((0.0, 1.0)), None));
    }

    #[test]
    fn times_that_decrease_and_columns_without_time_are_errors() {
        let columns = [Column::new("time", ColumnType::Real)];
        let mut writer = ParquetWriter::new(Vec::new(), &columns).unwrap();
        writer
            .write(&[CellValues::Real(vec![1.0, 0.5]).into()])
            .unwrap();
        let (_folder, path) = file_of(&writer.finish().unwrap());
        let error = read_all(&ResultFile::open(&path).unwrap()).unwrap_err();
        assert!(error.to_string().contains("row 1: the times"), "{error}");
        let writer = ParquetWriter::new(Vec::new(), &[Column::new("x", ColumnType::Real)]).unwrap();
        let (_folder, path) = file_of(&writer.finish().unwrap());
        let error = ResultFile::open(&path).unwrap_err();
        assert!(error.to_string().contains("no column `time`"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        /// A file with wrong bytes, or that was cut, is read or refused.
        #[test]
        fn damaged_files_end(changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4), at_end in any::<bool>(), cut in any::<prop::sample::Index>(), is_cut in proptest::bool::weighted(0.1)) {
            let mut bytes = write(30);
            for (place, byte) in changes {
                let from = if at_end { bytes.len() / 2 } else { 0 };
                let place = from + place.index(bytes.len() - from);
                bytes[place] = byte;
            }
            if is_cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            let (_folder, path) = file_of(&bytes);
            if let Ok(file) = ResultFile::open(&path)
                && let Ok(table) = read_all(&file)
            {
                prop_assert!(table.time.is_sorted());
            }
        }
    }
}
