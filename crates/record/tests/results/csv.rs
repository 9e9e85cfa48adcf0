//! Written tables read back bit for bit, and tables that cannot be read are explained.

use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use gyrator_record::{
    Cell, Column, ColumnType, CsvSink, MemorySink, Output, RecordError, ResultFile, RowSink,
    Series, Table, Values, create_sink, parse_csv, place_of_cell, read_csv, read_table_with,
};
use proptest::collection::vec;
use proptest::prelude::*;

/// A disk of limited size that others can look at.
#[derive(Clone, Default)]
struct Disk {
    bytes: Arc<Mutex<Vec<u8>>>,
    size: usize,
}

impl Disk {
    fn of_size(size: usize) -> Self {
        Self {
            size,
            ..Self::default()
        }
    }

    fn content(&self) -> Vec<u8> {
        self.bytes.lock().expect("no test panicked").clone()
    }
}

impl Write for Disk {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let mut bytes = self.bytes.lock().expect("no test panicked");
        let room = self.size - bytes.len();
        if room == 0 && !data.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let count = room.min(data.len());
        bytes.extend_from_slice(&data[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output for Disk {
    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let length = usize::try_from(length).map_err(io::Error::other)?;
        self.bytes
            .lock()
            .expect("no test panicked")
            .truncate(length);
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn columns(kinds: &[(&str, ColumnType)]) -> Vec<Column> {
    kinds
        .iter()
        .map(|(name, kind)| Column::new(*name, *kind))
        .collect()
}

fn all_kinds() -> Vec<Column> {
    columns(&[
        ("m.x", ColumnType::Real),
        ("m.n", ColumnType::Integer),
        ("m.on", ColumnType::Boolean),
        ("m.a[1,2] \"q\"", ColumnType::String),
        ("m.mode", ColumnType::Enumeration),
    ])
}

fn push(sink: &mut dyn RowSink, time: f64, cells: &[Cell<'_>]) -> Result<(), RecordError> {
    sink.row(time, &mut cells.iter().copied())
}

fn parse(text: &str) -> Result<Table, String> {
    parse_csv(text.as_bytes(), Path::new("result.csv")).map_err(|error| error.to_string())
}

#[test]
fn every_type_is_written_as_agreed() {
    let disk = Disk::of_size(10_000);
    let mut sink = CsvSink::new(disk.clone(), "disk");
    sink.begin(&all_kinds()).unwrap();
    let rest = [
        Cell::Integer(-7),
        Cell::Boolean(true),
        Cell::String("a \"b\",\n"),
        Cell::Integer(2),
    ];
    for (step, number) in [
        0.1,
        1e300,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        -0.0,
        5e-324,
    ]
    .into_iter()
    .enumerate()
    {
        let cells = [&[Cell::Real(number)], rest.as_slice()].concat();
        push(&mut sink, step as f64 * 0.1, &cells).unwrap();
    }
    assert_eq!(sink.rows(), 7);
    sink.finish().unwrap();
    insta::assert_snapshot!(String::from_utf8(disk.content()).unwrap());
}

#[test]
fn rows_reach_the_output_on_demand_and_when_the_sink_is_dropped() {
    let disk = Disk::of_size(10_000);
    let mut sink = CsvSink::new(disk.clone(), "disk");
    sink.begin(&columns(&[("x", ColumnType::Real)])).unwrap();
    assert_eq!(disk.content(), b"time,x\n");
    sink.real_row(0.0, &[1.0]).unwrap();
    assert_eq!(disk.content(), b"time,x\n");
    sink.flush().unwrap();
    assert_eq!(disk.content(), b"time,x\n0.0,1.0\n");
    sink.real_row(0.5, &[2.0]).unwrap();
    drop(sink);
    assert_eq!(disk.content(), b"time,x\n0.0,1.0\n0.5,2.0\n");
}

#[test]
fn a_row_that_does_not_fit_is_left_out() {
    let disk = Disk::of_size(10_000);
    let mut csv = CsvSink::new(disk.clone(), "disk");
    let mut memory = MemorySink::new();
    let sinks: [&mut dyn RowSink; 2] = [&mut csv, &mut memory];
    for sink in sinks {
        sink.begin(&columns(&[
            ("x", ColumnType::Real),
            ("y", ColumnType::Real),
        ]))
        .unwrap();
        for wrong in [&[1.0][..], &[1.0, 2.0, 3.0]] {
            let error = sink.real_row(0.0, wrong).unwrap_err();
            assert!(
                matches!(error, RecordError::WrongRow { expected: 2, .. }),
                "{error}"
            );
        }
        sink.real_row(1.0, &[3.0, 4.0]).unwrap();
        assert_eq!(sink.rows(), 1);
        sink.finish().unwrap();
    }
    assert_eq!(
        parse_csv(&disk.content(), Path::new("disk")).unwrap(),
        memory.into_table()
    );
}

#[test]
fn a_full_disk_keeps_the_rows_that_fit() {
    // Every size, so that the cut falls on every byte of a row.
    for size in 0..80 {
        let disk = Disk::of_size(size);
        let mut sink = CsvSink::new(disk.clone(), "disk.csv");
        let text = [Cell::String("two\nlines, \"quoted\"")];
        let mut result = sink.begin(&columns(&[("s", ColumnType::String)]));
        for step in 0..5 {
            result = result.and_then(|()| push(&mut sink, f64::from(step), &text));
        }
        let error = result.and_then(|()| sink.finish()).unwrap_err();
        let RecordError::Write { rows, source, .. } = &error else {
            panic!("{error}")
        };
        assert_eq!(source.kind(), io::ErrorKind::StorageFull);
        assert_eq!(*rows, sink.rows());
        assert!(push(&mut sink, 9.0, &text).is_err());
        drop(sink);
        let header = "time,s\n".len();
        if size < header {
            assert_eq!(disk.content(), b"");
            continue;
        }
        let table = parse_csv(&disk.content(), Path::new("disk.csv")).unwrap();
        let row = "0.0,\"two\nlines, \"\"quoted\"\"\"\n".len();
        assert_eq!(table.time.len() as u64, *rows);
        assert_eq!(table.time.len(), (size - header) / row);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_device_without_space_is_an_error() {
    let mut sink = CsvSink::create(Path::new("/dev/full")).unwrap();
    let error = sink.begin(&all_kinds()).unwrap_err().to_string();
    assert!(
        error.contains("/dev/full") && error.contains("0 rows are kept"),
        "{error}"
    );
}

#[test]
fn files_that_cannot_be_created_are_explained() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("no/such.csv");
    let error = create_sink(&path).err().unwrap().to_string();
    assert!(
        error.contains("such.csv") && error.contains("does not exist"),
        "{error}"
    );
    let error = create_sink(folder.path()).err().unwrap().to_string();
    assert!(error.contains("must end in .csv"), "{error}");
    for (name, readers) in [("x.mat", "OpenModelica"), ("x.H5", "pandas")] {
        let error = create_sink(Path::new(name)).err().unwrap().to_string();
        assert!(error.contains(readers), "{error}");
    }
    let error = CsvSink::create(folder.path()).unwrap_err();
    assert!(matches!(error, RecordError::Create { .. }), "{error}");
}

#[test]
fn a_file_is_written_and_read_by_its_ending() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("Result.CSV");
    let mut sink = create_sink(&path).unwrap();
    sink.begin(&columns(&[("x", ColumnType::Real)])).unwrap();
    for step in 0..100_000 {
        sink.real_row(f64::from(step) * 1e-3, &[f64::from(step).sqrt()])
            .unwrap();
    }
    sink.finish().unwrap();
    let table = read_csv(&path).unwrap();
    assert_eq!(table.time.len(), 100_000);
    assert_eq!(
        table.column("x").unwrap().numbers().unwrap()[99_999],
        99_999_f64.sqrt()
    );
    assert!(
        read_csv(&folder.path().join("absent.csv"))
            .unwrap_err()
            .to_string()
            .contains("absent")
    );
}

#[test]
fn files_of_other_tools_are_read() {
    let table =
        parse("\u{feff}\"time\", \"x\" ,y, z\r\n0,1.5E+1,TRUE,\"3\"\r\n 1 ,-.5, false ,4\r\n\r\n");
    let table = table.unwrap();
    assert_eq!(table.time, [0.0, 1.0]);
    let names: Vec<_> = table
        .series
        .iter()
        .map(|series| series.name.as_str())
        .collect();
    assert_eq!(names, ["x", "y", "z"]);
    assert_eq!(table.series[0].numbers().unwrap(), [15.0, -0.5]);
    assert_eq!(table.series[1].numbers().unwrap(), [1.0, 0.0]);
    assert_eq!(table.series[2].numbers().unwrap(), [3.0, 4.0]);
}

#[test]
fn text_needs_no_quotes_where_a_column_begins_with_it() {
    let table = parse("\"time\",\"a[1,2]\", b\n0,true,Set me!\n\n0,2,1\n").unwrap();
    assert_eq!(table.time, [0.0, 0.0]);
    assert_eq!(table.series[0].name, "a[1,2]");
    assert_eq!(table.series[0].numbers().unwrap(), [1.0, 2.0]);
    let text = ["Set me!", "1"].map(str::to_owned).to_vec();
    assert_eq!(table.column("b").unwrap().values, Values::Text(text));
    // Names may hold what separates columns elsewhere.
    let table = parse("t;s,a\tb,t\n3,1,0\n").unwrap();
    let names = [&*table.series[0].name, &table.series[1].name];
    assert_eq!((table.time, names), (vec![0.0], ["t;s", "a\tb"]));
    // The time may stand elsewhere, as in a Parquet file.
    let table = parse("x,time\n5,0\n4,1\n").unwrap();
    assert_eq!(table.time, [0.0, 1.0]);
    assert_eq!(table.series[0].numbers().unwrap(), [5.0, 4.0]);
}

/// The same rows as spreadsheets, measuring devices and people write them.
#[test]
fn any_usual_way_to_write_a_table_is_read() {
    for text in [
        "time,x,mode\n0,0.5,low\n1.5,-2,high\n",
        "x,Time,mode\n0.5,0,low\n-2,1.5,high\n",
        "t [s],x [V],mode [-]\n0,0.5,low\n1.5,-2,high\n",
        "T[ms], x[V], mode\n0, 0.5, low\n1500, -2, high\n",
        "\"Time (s)\", \"x\" , \"mode\"\n \"0\", \"0.5\", \"low\"\n\"1.5\" ,\"-2\",\"high\" \n",
        "time,x,mode,\n0,0.5,low,\n1.5,-2,high,\n",
        "time,x,mode,,\n0,0.5,low\n1.5,-2,high,,,\n",
        "time,x,mode\n0,0.5,low,\n1.5,-2,high,\n  \n\t\n",
        "time;x;mode\n0;0,5;low\n1,5;-2,0;high\n",
        "time [min];x;mode;\r\n0;5e-1;low;\r\n0.025;-2;high;\r\n",
        "\"mode\";\"x\";\"TIME\"\n\"low\";\"0,5\";0\n\"high\";\"-2\";1,5\n",
        "time\tx\tmode\n0\t0,5\tlow\n1,5\t-2\thigh\n",
    ] {
        let table = parse(text).expect(text);
        assert_eq!(table.time, [0.0, 1.5], "{text}");
        let numbers = |name: &str| table.column(name).unwrap().numbers().unwrap().to_vec();
        assert_eq!(numbers("x"), [0.5, -2.0], "{text}");
        let modes = Values::Text(["low", "high"].map(str::to_owned).to_vec());
        assert_eq!(table.column("mode").unwrap().values, modes, "{text}");
        assert_eq!(table.series.len(), 2, "{text}");
        // The reader of blocks reads the same.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.csv");
        std::fs::write(&path, text).unwrap();
        assert_eq!(ResultFile::open(&path).unwrap().table().unwrap(), table);
    }
    let unit = |text: &str| parse(text).unwrap().series[0].unit.clone();
    assert_eq!(unit("time,x [m/s]\n").as_deref(), Some("m/s"));
    assert_eq!(unit("time,a[1]\n"), None);
}

#[test]
fn the_column_of_the_times_may_be_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.csv");
    std::fs::write(&path, "clock [ms];time;x\n0;7;1\n500;8;1,5\n").unwrap();
    let by_clock = read_table_with(&path, Some("clock")).unwrap();
    assert_eq!(by_clock.time, [0.0, 0.5]);
    assert_eq!(
        by_clock.column("time").unwrap().numbers(),
        Some(&[7.0, 8.0][..])
    );
    let file = ResultFile::open_with(&path, Some("clock [ms]")).unwrap();
    assert_eq!(file.table().unwrap(), by_clock);
    let error = read_table_with(&path, Some("x")).unwrap();
    assert_eq!(error.time, [1.0, 1.5]);
    let error = read_table_with(&path, Some("hour"))
        .unwrap_err()
        .to_string();
    assert!(
        error.ends_with("there is no column `hour`; the columns are `clock [ms]`, `time`, `x`"),
        "{error}"
    );
    assert_eq!(place_of_cell(&path, Some("clock"), "x", 1), Some((3, 7)));
}

#[test]
fn results_of_ecos_have_the_names_of_our_systems() {
    // Written by ecospy 0.7.2 from FMUs of this repository; columns left out.
    let table = parse(
        "iterations, time, chassis::v_c[REAL], chassis::F[REAL], chassis::micro_steps[INT], \
         all::boolean_parameter[BOOL], all::string_parameter[STR], all::prefix[STR]\n\
         0, 0, 0.000000, 0.000000, 256, 1, smørrebrød & <\"ω\">, \n\
         1, 0.001, 0.000000, 372.895113, 256, 1, smørrebrød & <\"ω\">, \n\
         2, 0.002, 0.000932, 740.623814, 256, 1, smørrebrød & <\"ω\">, \n",
    )
    .unwrap();
    assert_eq!(table.time, [0.0, 0.001, 0.002]);
    assert_eq!(table.series.len(), 6);
    let force = table.column("chassis.F").unwrap();
    assert_eq!(force.numbers().unwrap(), [0.0, 372.895113, 740.623814]);
    let text = |name: &str| table.column(name).unwrap().values.clone();
    let same = |text: &str| Values::Text(vec![text.to_owned(); 3]);
    assert_eq!(text("all.string_parameter"), same("smørrebrød & <\"ω\">"));
    assert_eq!(text("all.prefix"), same(""));
}

#[test]
fn broken_files_are_explained() {
    let texts = [
        "",
        "Motor.V,Motor.enable\n0,1\n",
        "\n\nV;T [K]\n0;1\n",
        "Time,TIME\n0,0\n",
        "time;x\n0;1.5\n1;1,234\n",
        "time;x\n0;1\n1;1.234,5\n",
        "time,x,\n0,1,2\n",
        "time,x,x\n",
        "time,x\n0,1\n1\n",
        "time,x\n0,1\n1,2,3\n2,3\n",
        "time,x\n0,1\n\n2,y\n",
        "time,x\n0,\"a\n\nb\"\n1,2\n",
        "time,x\n0,1\n1,1.2.3\n",
        "time,x\n0,1\n1,\"abc\"\n",
        "time,x\n0,1\n1,\n",
        "time,x\n0,1\n0,2\n1,3\n0.5,4\n",
        "time,x\nnan,1\n",
        "time,x\n0,\"1\n",
        "time,x\n0,\"1\" 2\n",
    ];
    let errors: Vec<_> = texts
        .iter()
        .map(|text| format!("{text:?}\n    {}", parse(text).expect_err(text)))
        .collect();
    insta::assert_snapshot!(errors.join("\n"));
    let error = parse_csv(b"time,x\n0,\xff\n", Path::new("result.csv"))
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("result.csv:2: this is not UTF-8 text; `iconv "),
        "{error}"
    );
}

#[test]
fn values_between_rows_lie_on_a_line() {
    let table = parse("time,x,s\n0,0,\"a\"\n1,2,\"b\"\n1,10,\"c\"\n3,14,\"d\"\n").unwrap();
    let x = |time| table.interpolate("x", time);
    assert_eq!(x(0.0), Some(0.0));
    assert_eq!(x(0.5), Some(1.0));
    assert_eq!(x(1.0), Some(10.0));
    assert_eq!(x(2.0), Some(12.0));
    assert_eq!(x(3.0), Some(14.0));
    for outside in [-0.1, 3.1, f64::NAN] {
        assert_eq!(x(outside), None, "{outside}");
    }
    assert_eq!(table.interpolate("s", 1.0), None);
    assert_eq!(table.interpolate("absent", 1.0), None);
}

/// Bits of a double; all NaN are one.
fn bits(number: f64) -> u64 {
    if number.is_nan() {
        f64::NAN.to_bits()
    } else {
        number.to_bits()
    }
}

fn any_double() -> impl Strategy<Value = f64> {
    any::<u64>().prop_map(f64::from_bits)
}

proptest! {
    #[test]
    fn what_is_written_is_read_bit_for_bit(
        names in vec("\\PC{0,6}|[\",\n\r a]{0,4}", 3),
        rows in vec((0.0..1e3_f64, any_double(), any::<i32>(), any::<bool>(), "(?s).{0,6}"), 0..20),
    ) {
        let name = |index: usize| format!("{}{index}", names[index % 3]);
        let kinds = [ColumnType::Real, ColumnType::Integer, ColumnType::Boolean, ColumnType::String];
        let columns: Vec<_> =
            kinds.iter().enumerate().map(|(index, kind)| Column::new(name(index), *kind)).collect();
        let disk = Disk::of_size(1_000_000);
        let mut csv = CsvSink::new(disk.clone(), "disk");
        let mut memory = MemorySink::new();
        let sinks: [&mut dyn RowSink; 2] = [&mut csv, &mut memory];
        for sink in sinks {
            sink.begin(&columns).unwrap();
            let mut time = -500.0;
            for (step, real, integer, boolean, text) in &rows {
                time += step;
                // Text that reads as a number throughout cannot be distinguished from numbers.
                let text = format!("{text}!");
                let cells = [Cell::Real(*real), Cell::Integer((*integer).into()),
                    Cell::Boolean(*boolean), Cell::String(&text)];
                push(sink, time, &cells).unwrap();
            }
            sink.finish().unwrap();
        }
        let read = parse_csv(&disk.content(), Path::new("disk")).unwrap();
        let kept = memory.into_table();
        prop_assert_eq!(&read.time, &kept.time);
        for (read, kept) in read.series.iter().zip(&kept.series) {
            prop_assert_eq!(&read.name, &kept.name);
            match (&read.values, &kept.values) {
                (Values::Numbers(read), Values::Numbers(kept)) => {
                    let pairs = read.iter().zip(kept);
                    prop_assert!(pairs.clone().all(|(a, b)| bits(*a) == bits(*b)));
                    prop_assert_eq!(read.len(), kept.len());
                }
                (Values::Text(read), Values::Text(kept)) => prop_assert_eq!(read, kept),
                // A column without rows has no type.
                _ => prop_assert!(rows.is_empty()),
            }
        }
        prop_assert_eq!(read.series.len(), kept.series.len());
    }

    #[test]
    fn arbitrary_text_is_read_or_refused(bytes in vec(any::<u8>(), 0..100)) {
        let _ = parse_csv(&bytes, Path::new("x.csv"));
    }

    #[test]
    fn text_like_a_table_is_read_or_refused(text in "[\",\n\r\t1e.n a]{0,60}") {
        if let Ok(table) = parse(&text) {
            for series in &table.series {
                let length = match &series.values {
                    Values::Numbers(numbers) => numbers.len(),
                    Values::Text(texts) => texts.len(),
                };
                prop_assert_eq!(length, table.time.len());
            }
        }
    }
}

#[test]
fn columns_are_added_to_rows_that_stay_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.csv");
    let mut sink = create_sink(&path).unwrap();
    let given = columns(&[("x", ColumnType::Real), ("s", ColumnType::String)]);
    sink.begin(&given).unwrap();
    push(
        &mut *sink,
        0.0,
        &[Cell::Real(0.1), Cell::String("two\n\"lines\"")],
    )
    .unwrap();
    push(&mut *sink, 0.5, &[Cell::Real(-0.0), Cell::String("")]).unwrap();
    let added = columns(&[("error.x", ColumnType::Real)]);
    let too_few = sink.add_columns(&added, &[&[1.0]]);
    assert!(matches!(
        too_few,
        Err(RecordError::WrongRow {
            expected: 2,
            found: 1
        })
    ));
    assert!(sink.add_columns(&added, &[&[1.0, 1.0 / 3.0]]).unwrap());
    sink.finish().unwrap();
    assert_eq!(sink.rows(), 2);
    assert_eq!(
        std::fs::read_to_string(&path).unwrap(),
        "time,x,s,error.x\n0.0,0.1,\"two\n\"\"lines\"\"\",1.0\n0.5,-0.0,\"\",0.3333333333333333\n"
    );
}

#[test]
fn a_stream_takes_no_more_columns() {
    let mut sink = CsvSink::new(Vec::new(), "-");
    sink.begin(&columns(&[("x", ColumnType::Real)])).unwrap();
    push(&mut sink, 0.0, &[Cell::Real(0.1)]).unwrap();
    let added = columns(&[("error.x", ColumnType::Real)]);
    assert!(!sink.add_columns(&added, &[&[1.0]]).unwrap());
}

/// A file on a disk that is full after `room` bytes.
struct FullDisk {
    file: std::fs::File,
    room: u64,
}

impl Write for FullDisk {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let taken = self.room - self.file.metadata()?.len();
        if taken == 0 && !data.is_empty() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.file.write(&data[..data.len().min(taken as usize)])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output for FullDisk {
    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_leaves_whole_rows_of_doubles() {
    let folder = tempfile::tempdir().unwrap();
    let names = "\0time,x\n".len() as u64;
    // Rooms within the names, at a row's end, and within a row.
    for (room, rows) in [(3, 0), (names + 32, 2), (names + 47, 2)] {
        let path = folder.path().join("out.rows");
        let sink = CsvSink::create_with(&path, |file| FullDisk { file, room }).unwrap();
        let mut sink = sink.as_doubles();
        let begun = sink.begin(&columns(&[("x", ColumnType::Real)]));
        assert_eq!(begun.is_err(), rows == 0);
        if begun.is_ok() {
            for row in 0..4 {
                push(&mut sink, f64::from(row), &[Cell::Real(0.25)]).unwrap();
            }
            let error = sink.flush().unwrap_err();
            assert!(
                matches!(error, RecordError::Write { rows: 2, .. }),
                "{error}"
            );
        }
        sink.finish().unwrap_err();
        let length = std::fs::metadata(&path).unwrap().len();
        assert_eq!(length, rows * 16 + names * u64::from(rows > 0));
    }
}

#[test]
fn rows_survive_columns_that_find_no_room() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.csv");
    let text = "time,x\n0.0,0.25\n0.5,0.25\n";
    let room = text.len() as u64 + 12;
    let mut sink = CsvSink::create_with(&path, |file| FullDisk { file, room }).unwrap();
    sink.begin(&columns(&[("x", ColumnType::Real)])).unwrap();
    push(&mut sink, 0.0, &[Cell::Real(0.25)]).unwrap();
    push(&mut sink, 0.5, &[Cell::Real(0.25)]).unwrap();
    let added = columns(&[("error.x", ColumnType::Real)]);
    let error = sink.add_columns(&added, &[&[1.0, 2.0]]).unwrap_err();
    assert!(matches!(error, RecordError::Write { .. }), "{error}");
    sink.finish().unwrap();
    assert_eq!(sink.rows(), 2);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

/// In quotes a cell is text if the times need none; if a program quotes all cells, quotes say nothing.
#[test]
fn cells_in_quotes_are_texts() {
    let kinds = |text: &str| -> Vec<bool> {
        let series = parse(text).unwrap().series;
        let is_text = |series: &Series| matches!(series.values, Values::Text(_));
        series.iter().map(is_text).collect()
    };
    assert_eq!(kinds("time,x,y\n0,\"007\",1\n1,\"7\",2\n"), [true, false]);
    assert_eq!(kinds("time;x\n0,5;\"1,5\"\n1;\"2\"\n"), [true]);
    assert_eq!(kinds("\"time\",\"x\"\n0,\"007\"\n1,\"7\"\n"), [false]);
    assert_eq!(kinds("time,x\n0,\"true\"\n"), [true]);
    assert_eq!(kinds("time,x\n\"0\",\"007\"\n\"1\",\"7\"\n"), [false]);
    assert_eq!(kinds("time,x\n0,\"1\"\n1,2\n"), [false]);
    assert_eq!(kinds("time,x\n0,1\n1,\"2\"\n"), [false]);
    assert_eq!(kinds("time,x\n"), [false]);
}

/// A name that ends in brackets is the same when a result is read again; headings of others have units.
#[test]
fn names_in_brackets_stay() {
    let folder = tempfile::tempdir().unwrap();
    let names = [
        "a.x [m]",
        "a.y[rad]",
        "a.z[1]",
        "a.z[1,2]",
        "a.\"w\" [m]",
        "[s]",
        "time [s]",
    ];
    let kinds: Vec<Column> = (names.iter())
        .map(|name| Column::new(*name, ColumnType::Real))
        .collect();
    let path = folder.path().join("out.csv");
    let mut sink = CsvSink::create(&path).unwrap();
    sink.begin(&kinds).unwrap();
    sink.real_row(0.0, &[0.0; 7]).unwrap();
    sink.finish().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(
        text.starts_with("time,\"a.x [m]\",\"a.y[rad]\",a.z[1],\"a.z[1,2]\","),
        "{text}"
    );
    let read = gyrator_record::read_table(&path).unwrap();
    let found: Vec<(&str, Option<&str>)> = (read.series.iter())
        .map(|series| (series.name.as_str(), series.unit.as_deref()))
        .collect();
    let mut expected: Vec<(&str, Option<&str>)> = names.iter().map(|name| (*name, None)).collect();
    // Its quotes are needed.
    expected[4] = ("a.\"w\"", Some("m"));
    assert_eq!(found, expected);
    for text in [
        "time,x [m]\n0,1\n",
        "\"time\",\"x [m]\"\n0,1\n",
        "time,\"x,y [m]\"\n0,1\n",
    ] {
        assert_eq!(
            parse(text).unwrap().series[0].unit.as_deref(),
            Some("m"),
            "{text}"
        );
    }
}
