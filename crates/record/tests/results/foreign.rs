//! Arrow and Parquet files of other programs: their types are read exactly, or refused by name.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::{Float16Type, Int8Type};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, Decimal128Array, DictionaryArray,
    DurationMillisecondArray, Float64Array, Int64Array, NullArray, PrimitiveArray, StringViewArray,
    TimestampMicrosecondArray, UInt64Array,
};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema};
use gyrator_record::{ResultFile, Series, Table, Values, convert, read_columns, read_table};
use parquet::data_type::{ByteArray, FixedLenByteArray, Int32Type, Int64Type};
use parquet::data_type::{ByteArrayType, DoubleType, FixedLenByteArrayType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;

type Half = <Float16Type as ArrowPrimitiveType>::Native;

fn arrow(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    let fields = columns.iter();
    let fields = fields.map(|(name, array)| Field::new(*name, array.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let mut writer = FileWriter::try_new(File::create(path).unwrap(), &schema).unwrap();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    let batch = arrow_array::RecordBatch::try_new(schema, arrays).unwrap();
    writer.write(&batch).unwrap();
    writer.finish().unwrap();
}

fn times() -> ArrayRef {
    Arc::new(Float64Array::from(vec![0.0, 0.5, 1.0]))
}

fn numbers<'t>(table: &'t Table, name: &str) -> &'t [f64] {
    table.column(name).and_then(Series::numbers).unwrap()
}

fn texts<'t>(table: &'t Table, name: &str) -> &'t [String] {
    match &table.column(name).unwrap().values {
        Values::Text(texts) => texts,
        Values::Numbers(_) => panic!("{name}"),
    }
}

#[test]
fn types_of_arrow_are_read_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.arrow");
    let words = DictionaryArray::<Int8Type>::from_iter([Some("007"), None, Some("off")]);
    let values = Arc::new(Int64Array::from(vec![30, 10]));
    let keys = PrimitiveArray::<Int8Type>::from(vec![1, 0, 1]);
    let coded = DictionaryArray::<Int8Type>::try_new(keys, values).unwrap();
    let half = PrimitiveArray::<Float16Type>::from_iter([0.5, -65504.0, 6e-8].map(Half::from_f64));
    let decimal = Decimal128Array::from(vec![Some(1234), Some(-5), None]);
    let decimal = decimal.with_precision_and_scale(30, 2).unwrap();
    arrow(
        &path,
        vec![
            ("time", times()),
            ("word", Arc::new(words)),
            ("code", Arc::new(coded)),
            ("half", Arc::new(half)),
            ("price", Arc::new(decimal)),
            (
                "lag",
                Arc::new(DurationMillisecondArray::from(vec![1, 20, 300])),
            ),
            ("view", Arc::new(StringViewArray::from(vec!["a", "b", "c"]))),
            ("none", Arc::new(NullArray::new(3))),
        ],
    );
    let check = |path: &Path| {
        let table = read_table(path).unwrap();
        assert_eq!(texts(&table, "word"), ["007", "", "off"]);
        assert_eq!(numbers(&table, "code"), [10.0, 30.0, 10.0]);
        assert_eq!(
            numbers(&table, "half"),
            [0.5, -65504.0, 5.960_464_477_539_063e-8]
        );
        assert_eq!(numbers(&table, "price")[..2], [12.34, -0.05]);
        assert!(numbers(&table, "price")[2].is_nan());
        assert_eq!(numbers(&table, "lag"), [0.001, 0.02, 0.3]);
        assert_eq!(texts(&table, "view"), ["a", "b", "c"]);
        assert!(numbers(&table, "none")[1].is_nan());
    };
    check(&path);
    let lag = ResultFile::open(&path).unwrap();
    let lag = lag.columns()[lag.column("lag").unwrap()].unit.clone();
    assert_eq!(lag.as_deref(), Some("s"));
    assert_eq!(read_columns(&path).unwrap().len(), 8);
    for ending in ["parquet", "feather", "csv"] {
        let result = ResultFile::open(&path).unwrap();
        let copy = folder.path().join("copy").with_extension(ending);
        convert(&result, result.columns(), &Default::default(), &copy).unwrap();
        check(&copy);
    }
}

#[test]
fn times_may_be_durations_or_timestamps() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.arrow");
    let x = || Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0]));
    let durations = DurationMillisecondArray::from(vec![1500, 1750, 2000]);
    // The type counts, whatever the heading says.
    arrow(&path, vec![("time [us]", Arc::new(durations)), ("x", x())]);
    assert_eq!(read_table(&path).unwrap().time, [1.5, 1.75, 2.0]);
    let day = 1_700_000_000_000_000;
    let stamps = || TimestampMicrosecondArray::from(vec![day, day + 1, day + 2_000_000]);
    arrow(&path, vec![("Time", Arc::new(stamps())), ("x", x())]);
    assert_eq!(read_table(&path).unwrap().time, [0.0, 1e-6, 2.0]);
    // Beside the times they do not count as numbers.
    arrow(
        &path,
        vec![("time", times()), ("clock", Arc::new(stamps()))],
    );
    let error = read_table(&path).unwrap_err().to_string();
    assert!(error.contains("`clock` is of type timestamp"), "{error}");
}

#[test]
fn other_types_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.arrow");
    let of = |data_type: &DataType| arrow_array::new_null_array(data_type, 3);
    let item = Arc::new(Field::new("item", DataType::Float64, true));
    for data_type in [
        DataType::List(item),
        DataType::Date32,
        DataType::Binary,
        DataType::Time64(arrow_schema::TimeUnit::Nanosecond),
    ] {
        arrow(&path, vec![("time", times()), ("odd", of(&data_type))]);
        for error in [
            read_table(&path).unwrap_err(),
            read_columns(&path).unwrap_err(),
        ] {
            let error = error.to_string();
            let expected = format!("column `odd` is of type {data_type}, which cannot be read");
            assert!(error.contains(&expected), "{error}");
            assert!(error.contains("leave it out, or write it as"), "{error}");
        }
    }
    arrow(
        &path,
        vec![("time", times()), ("x", times()), ("x", times())],
    );
    let error = read_table(&path).unwrap_err().to_string();
    assert!(error.contains("two columns `x`"), "{error}");
    // The times of the new file would be called like another column.
    arrow(&path, vec![("t", times()), ("time", times())]);
    let result = ResultFile::open_with(&path, Some("t")).unwrap();
    let copy = folder.path().join("copy.csv");
    let error = convert(&result, result.columns(), &Default::default(), &copy).unwrap_err();
    assert!(error.to_string().contains("two columns `time`"), "{error}");
    assert!(!copy.exists());
    let large = UInt64Array::from(vec![1 << 60, 1, 2]);
    arrow(&path, vec![("time", times()), ("n", Arc::new(large))]);
    assert!(read_table(&path).is_ok());
}

/// The extension of a name says the form; a file of another one is told, whichever verb reads it.
#[test]
fn a_file_with_the_ending_of_another_form_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    arrow(&place("in.arrow"), vec![("time", times()), ("x", times())]);
    let result = ResultFile::open(&place("in.arrow")).unwrap();
    for name in ["in.parquet", "in.csv"] {
        convert(&result, result.columns(), &Default::default(), &place(name)).unwrap();
    }
    for (from, to, content) in [
        (
            "in.parquet",
            "a.csv",
            "Parquet: give the file the extension .parquet",
        ),
        (
            "in.parquet",
            "b.feather",
            "Parquet: give the file the extension .parquet",
        ),
        (
            "in.arrow",
            "c.txt",
            "Arrow IPC: give the file the extension .arrow",
        ),
        (
            "in.arrow",
            "d.parquet",
            "Arrow IPC: give the file the extension .arrow",
        ),
        (
            "in.csv",
            "e.parquet",
            "text: give the file the extension .csv",
        ),
        (
            "in.csv",
            "f.arrow",
            "text: give the file the extension .csv",
        ),
    ] {
        std::fs::copy(place(from), place(to)).unwrap();
        for error in [
            read_table(&place(to)).unwrap_err(),
            read_columns(&place(to)).unwrap_err(),
            ResultFile::open(&place(to)).unwrap_err(),
        ] {
            let error = error.to_string();
            assert!(
                error.contains(&format!("its content is {content}")),
                "{error}"
            );
        }
    }
    std::fs::copy(place("in.arrow"), place("in.feather")).unwrap();
    assert!(read_table(&place("in.feather")).is_ok());
    // A name that begins as files of another form do.
    std::fs::write(place("named.csv"), "PAR1,time\n0,1\n").unwrap();
    assert!(read_table(&place("named.csv")).is_ok());
    assert!(ResultFile::open(&place("named.csv")).is_ok());
}

/// Writes a Parquet file of one group of rows.
fn parquet(path: &Path, schema: &str, write: impl Fn(usize, &mut SerializedColumnWriter<'_>)) {
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = Arc::new(WriterProperties::default());
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, properties).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut place = 0;
    while let Some(mut column) = group.next_column().unwrap() {
        write(place, &mut column);
        column.close().unwrap();
        place += 1;
    }
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn types_of_parquet_are_read_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.parquet");
    let schema = "message schema {
        REQUIRED INT64 time (TIMESTAMP(MICROS,true));
        REQUIRED INT32 unsigned (INTEGER(32,false));
        REQUIRED INT32 small (DECIMAL(6,2));
        REQUIRED FIXED_LEN_BYTE_ARRAY (9) large (DECIMAL(20,3));
        REQUIRED BYTE_ARRAY bytes (DECIMAL(20,1));
        REQUIRED FIXED_LEN_BYTE_ARRAY (2) half (FLOAT16);
    }";
    let fixed = |bytes: &[u8]| FixedLenByteArray::from(bytes.to_vec());
    parquet(&path, schema, |place, column| {
        let whole = |column: &mut SerializedColumnWriter<'_>, values: [i32; 2]| {
            let typed = column.typed::<Int32Type>();
            typed.write_batch(&values, None, None).unwrap();
        };
        match place {
            0 => {
                let typed = column.typed::<Int64Type>();
                let times = [1_700_000_000_000_000, 1_700_000_000_500_001];
                typed.write_batch(&times, None, None).unwrap();
            }
            1 => whole(column, [-1, 7]),
            2 => whole(column, [1234, -5]),
            4 => {
                let typed = column.typed::<ByteArrayType>();
                let values = [&[0xff, 0x85][..], &[1]].map(|bytes| ByteArray::from(bytes.to_vec()));
                typed.write_batch(&values, None, None).unwrap();
            }
            _ => {
                let values = match place {
                    3 => [fixed(&[0, 0, 0, 0, 0, 0, 0, 1, 2]), fixed(&[0xff; 9])],
                    _ => [fixed(&[0x00, 0x3c]), fixed(&[0x00, 0xc0])],
                };
                let typed = column.typed::<FixedLenByteArrayType>();
                typed.write_batch(&values, None, None).unwrap();
            }
        }
    });
    let table = read_table(&path).unwrap();
    assert_eq!(table.time, [0.0, 0.500_001]);
    for (name, expected) in [
        ("unsigned", [4_294_967_295.0, 7.0]),
        ("small", [12.34, -0.05]),
        ("large", [0.258, -0.001]),
        ("bytes", [-12.3, 0.1]),
        ("half", [1.0, -2.0]),
    ] {
        assert_eq!(numbers(&table, name), expected, "{name}");
    }
}

#[test]
fn other_types_of_parquet_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.parquet");
    for (column, of_type) in [
        ("REQUIRED INT32 odd (DATE)", "Date"),
        ("REQUIRED INT64 odd (TIME(NANOS,true))", "Time"),
        ("REQUIRED INT96 odd", "INT96"),
        ("REPEATED INT64 odd", "list or map"),
        ("REQUIRED INT64 odd (TIMESTAMP(NANOS,true))", "timestamp"),
    ] {
        let schema = format!("message schema {{ REQUIRED DOUBLE time; {column}; }}");
        parquet(&path, &schema, |place, column| {
            if place == 0 {
                let typed = column.typed::<DoubleType>();
                typed.write_batch(&[], None, None).unwrap();
            }
        });
        let error = read_table(&path).unwrap_err().to_string();
        let expected = format!("column `odd` is of type {of_type}, which");
        assert!(error.contains(&expected), "{error}");
    }
}

/// Of Parquet files that Arrow has written, the type is in the metadata.
#[test]
fn durations_of_parquet_are_seconds() {
    let folder = tempfile::tempdir().unwrap();
    for (name, expected) in [
        ("ms", [1.5, 2.0]),
        ("us", [1.5e-3, 2e-3]),
        ("ns", [1.5e-6, 2e-6]),
    ] {
        let schema = "message schema { REQUIRED INT64 time; REQUIRED INT64 lag; }";
        let path = folder.path().join(format!("{name}.parquet"));
        let unit = match name {
            "ms" => arrow_schema::TimeUnit::Millisecond,
            "us" => arrow_schema::TimeUnit::Microsecond,
            _ => arrow_schema::TimeUnit::Nanosecond,
        };
        let field = |name| Field::new(name, DataType::Duration(unit), false);
        let arrow = Schema::new(vec![field("time"), field("lag")]);
        let options = arrow_ipc::writer::IpcWriteOptions::default();
        let mut tracker = arrow_ipc::writer::DictionaryTracker::new(true);
        let data = arrow_ipc::writer::IpcDataGenerator::default()
            .schema_to_bytes_with_dictionary_tracker(&arrow, &mut tracker, &options);
        let mut bytes = vec![0xff; 4];
        bytes.extend((data.ipc_message.len() as u32).to_le_bytes());
        bytes.extend(&data.ipc_message);
        let text = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, &bytes);
        let entry = parquet::file::metadata::KeyValue::new("ARROW:schema".to_owned(), text);
        let properties = WriterProperties::builder().set_key_value_metadata(Some(vec![entry]));
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let file = File::create(&path).unwrap();
        let mut writer =
            SerializedFileWriter::new(file, schema, Arc::new(properties.build())).unwrap();
        let mut group = writer.next_row_group().unwrap();
        while let Some(mut column) = group.next_column().unwrap() {
            let typed = column.typed::<Int64Type>();
            typed.write_batch(&[1500, 2000], None, None).unwrap();
            column.close().unwrap();
        }
        group.close().unwrap();
        writer.close().unwrap();
        let table = read_table(&path).unwrap();
        assert_eq!(
            (&table.time[..], numbers(&table, "lag")),
            (&expected[..], &expected[..])
        );
    }
}
