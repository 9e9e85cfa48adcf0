//! Properties of the readers of files from outside, whatever bytes they are given: they end,
//! and they do not panic; inputs that they accept can be used.
//!
//! The fuzzers in `fuzz/` call these functions with bytes of their own making; an ordinary test
//! calls them with the seeds, and with all bytes that once made one of them fail.
//!
//! No function here runs an FMU, or keeps a file.

use std::cell::RefCell;
use std::io::Write as _;
use std::path::Path;

use gyrator::run::deserialize;
use gyrator::system::StateFile;
use gyrator::unit::{Capabilities, Handle, StepOutcome, UnitDescription, UnitResult};
use gyrator::{LinearUnit, Run, RunOptions, System, Unit};
use gyrator_fmu::{Causality, Fmu, Limits, ModelDescription, OpenOptions};
use gyrator_record::{ALL_TIMES, Decimated, ResultFile, Values};
use gyrator_system::{Problem, SystemFile, toml_file};
use gyrator_worker::replay::{Agreement, CallLog, CallRecorder, Recording, compare, replay};
use tempfile::NamedTempFile;

/// One reader: its name, which its fuzzer and its folder of seeds share, and what tries it.
pub type Target = (&'static str, fn(&[u8]));

/// All readers.
pub const TARGETS: &[Target] = &[
    ("archive", archive),
    ("model_description", model_description),
    ("system_toml", system_toml),
    ("scenario_toml", scenario_toml),
    ("checks_toml", checks_toml),
    ("system_ssp", system_ssp),
    ("system_osp", system_osp),
    ("system_mastersim", system_mastersim),
    ("system_into_cps", system_into_cps),
    ("csv_input", csv_input),
    ("recorded_calls", recorded_calls),
    ("worker_protocol", worker_protocol),
    ("remote_messages", remote_messages),
    ("saved_state", saved_state),
    ("parquet_result", parquet_result),
    ("arrow_result", arrow_result),
    ("part_result", part_result),
    ("live_request", live_request),
];

thread_local! {
    /// The file that archives are read from, written again for each.
    static FILE: RefCell<Option<NamedTempFile>> = const { RefCell::new(None) };
}

/// An FMU as an archive, which is unpacked if it is accepted.
///
/// # Panics
/// If the reader does not hold what it has to.
pub fn archive(bytes: &[u8]) {
    let limits = Limits {
        entries: 100,
        total_size: 1 << 20,
        description_size: 1 << 20,
        free_space: 0,
        ..Limits::default()
    };
    let options = OpenOptions {
        limits,
        ..OpenOptions::default()
    };
    FILE.with_borrow_mut(|slot| {
        let Ok(file) = slot.take().map_or_else(NamedTempFile::new, Ok) else {
            return;
        };
        let mut file = file;
        let written = file
            .as_file()
            .set_len(0)
            .and_then(|()| std::io::Seek::rewind(&mut file))
            .and_then(|()| file.write_all(bytes))
            .and_then(|()| file.flush());
        if written.is_ok()
            && let Ok(fmu) = Fmu::open_with(file.path(), &options)
        {
            use_description(fmu.description());
        }
        *slot = Some(file);
    });
}

/// A `modelDescription.xml`.
///
/// # Panics
/// If the reader does not hold what it has to.
pub fn model_description(bytes: &[u8]) {
    match ModelDescription::parse(bytes) {
        Ok((description, warnings)) => {
            use_description(&description);
            for warning in warnings {
                assert!(!warning.to_string().is_empty());
            }
        }
        Err(error) => assert!(error.position.line > 0),
    }
}

/// Asks all that a run asks of a description.
fn use_description(description: &ModelDescription) {
    for (index, variable) in description.variables.iter().enumerate() {
        if variable.causality == Causality::Output {
            let _ = description.output_dependencies(index).contains(0);
            let _ = description.initial_dependencies(index).contains(0);
        }
        let found = description.variable_index(&variable.name);
        assert!(found.is_some_and(|found| description.variables[found].name == variable.name));
        let _ = description.enumeration_items(variable);
        if let Some(real) = variable.real()
            && let Some(unit) = &real.unit
        {
            let _ = description.unit(unit);
        }
    }
    let _ = description.declares_fresh_outputs();
    let _ = description.declares_shared_library();
    let _ = description.input_derivative_order();
}

/// A system file; one that is accepted can be written, and reads the same again.
///
/// # Panics
/// If the reader does not hold what it has to.
pub fn system_toml(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let path = Path::new("folder/system.toml");
    let Ok((system, _)) = toml_file::parse(text, path) else {
        return;
    };
    let _ = gyrator_system::check(&system);
    let written = toml_file::to_toml(&system);
    match toml_file::parse(&written, path) {
        Ok((again, _)) => assert_eq!(toml_file::to_toml(&again), written),
        Err(problems) => panic!("{written}\n{problems}"),
    }
}

/// A scenario file.
///
/// # Panics
/// If the reader does not hold what it has to.
pub fn scenario_toml(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match toml_file::parse_scenario(text, Path::new("scenario.toml")) {
        Ok(scenario) => {
            for action in scenario.actions {
                assert!(action.time.value.is_finite());
            }
        }
        Err(problems) => assert!(!problems.to_string().is_empty()),
    }
}

/// A unit that has no variables and refuses none.
struct Silent(UnitDescription);

impl Unit for Silent {
    fn description(&self) -> &UnitDescription {
        &self.0
    }

    fn set_reals(&mut self, _: &[Handle], _: &[f64]) -> UnitResult {
        Ok(())
    }

    fn get_reals(&mut self, _: &[Handle], _: &mut [f64]) -> UnitResult {
        Ok(())
    }

    fn step(&mut self, _: f64, _: f64) -> UnitResult<StepOutcome> {
        Ok(StepOutcome::Done)
    }
}

/// A recording of calls. It is equal to itself, and made again with another unit.
///
/// # Panics
/// If the reader does not hold what it has to.
pub fn recorded_calls(bytes: &[u8]) {
    let open = || Recording::new(std::io::Cursor::new(bytes));
    let (Ok(mut recording), Ok(mut again)) = (open(), open()) else {
        return;
    };
    if let Ok(comparison) = compare(&mut recording, &mut again) {
        let is_different = matches!(comparison.agreement, Agreement::Different(_));
        assert!(!is_different, "{comparison:?}");
    }
    let (Ok(mut recording), Ok(scratch)) = (open(), tempfile::tempfile()) else {
        return;
    };
    let Ok(log) = CallLog::new(scratch, recording.head()) else {
        return;
    };
    let nothing = UnitDescription::new(Vec::new(), Default::default(), Capabilities::default());
    if let Ok(Ok(unit)) = CallRecorder::start::<String>(log, || Ok(Box::new(Silent(nothing)))) {
        let _ = replay(&mut recording, unit);
    }
}

/// A file of checks. Each check that is accepted has a name.
///
/// # Panics
/// If the reader does not hold what it has to.
pub fn checks_toml(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    match gyrator_assess::checks::parse(text, Path::new("checks.toml")) {
        Ok(checks) => {
            let findings = checks.not_judged("the run did not begin");
            assert!(!findings.is_empty() && findings.len() == checks.list().len());
            assert!(findings.iter().all(|finding| !finding.holds()));
        }
        Err(problems) => assert!(!problems.to_string().is_empty()),
    }
}

/// The files of an SSP: a `SystemStructure.ssd`, then further files, each after a line
/// `=== NAME`. A system that is accepted can be written as a system file.
///
/// # Panics
/// If the reader does not hold what it has to.
pub fn system_ssp(bytes: &[u8]) {
    system_in_folder(bytes, "SystemStructure.ssd", |folder| {
        gyrator_ssp::read(folder, &gyrator_ssp::Options::default())
    });
}

/// A system of the Open Simulation Platform: its description, then further files, each after a line
/// `=== NAME`.
///
/// # Panics
/// If the reader does not hold what it has to.
pub fn system_osp(bytes: &[u8]) {
    system_in_folder(bytes, "OspSystemStructure.xml", |folder| {
        gyrator_ssp::read_osp(folder, Limits::default())
    });
}

/// A project of MasterSim.
///
/// # Panics
/// If the reader does not hold what it has to.
pub fn system_mastersim(bytes: &[u8]) {
    const NAME: &str = "project.msim";
    system_in_folder(bytes, NAME, |folder| {
        gyrator_ssp::read_mastersim(&folder.join(NAME), Limits::default())
    });
}

/// A multi-model of INTO-CPS, and its times and algorithm after a line `=== coe`.
///
/// # Panics
/// If the reader does not hold what it has to.
pub fn system_into_cps(bytes: &[u8]) {
    const NAME: &str = "mm.json";
    system_in_folder(bytes, NAME, |folder| {
        let coe = folder.join("coe.xml");
        let coe = coe.is_file().then_some(&*coe);
        gyrator_ssp::read_into_cps(&folder.join(NAME), coe, Limits::default())
    });
}

/// Writes the files of a system and reads it.
fn system_in_folder(
    bytes: &[u8],
    description: &str,
    read: impl FnOnce(&Path) -> Result<(SystemFile, Vec<Problem>), gyrator_ssp::ReadError>,
) {
    let Ok(folder) = tempfile::tempdir() else {
        return;
    };
    let text = String::from_utf8_lossy(bytes);
    let mut files = text.split("\n=== ");
    let mut written = std::fs::write(
        folder.path().join(description),
        files.next().unwrap_or_default(),
    )
    .is_ok();
    for file in files.take(4) {
        let (name, text) = file.split_once('\n').unwrap_or((file, ""));
        let is_plain = |letter: char| letter.is_ascii_alphanumeric();
        let name = name.strip_suffix(".xml").unwrap_or(name);
        if !name.is_empty() && name.len() < 64 && name.chars().all(is_plain) {
            written &= std::fs::write(folder.path().join(format!("{name}.xml")), text).is_ok();
        }
    }
    if !written {
        return;
    }
    match read(folder.path()) {
        Ok((system, warnings)) => {
            for problem in warnings {
                if let Some(span) = problem.span {
                    let (_, range) = system.source.file_at(span.start);
                    assert!(range.start <= span.start && span.end <= range.end);
                }
            }
            assert!(!toml_file::to_toml(&system).is_empty());
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// A message between a run and the process of an isolated component, as either side reads it.
///
/// # Panics
/// If the reader does not hold what it has to.
pub fn worker_protocol(bytes: &[u8]) {
    #[cfg(target_os = "linux")]
    {
        use gyrator_worker::isolated::{check_reply, check_request};
        // An operation takes a byte at least.
        for count in [check_request(bytes), check_reply(bytes)]
            .into_iter()
            .flatten()
        {
            assert!(count as usize <= bytes.len());
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = bytes;
}

/// A frame between a run and a host, as either side reads it.
///
/// # Panics
/// If the reader does not hold what it has to.
pub fn remote_messages(bytes: &[u8]) {
    #[cfg(target_os = "linux")]
    {
        use std::path::Component;
        if let Ok(Some(fmu)) = gyrator_remote::check_to_host(bytes) {
            let mut parts = fmu.components();
            assert!(parts.all(|part| matches!(part, Component::Normal(_))));
        }
        let _ = gyrator_remote::check_from_host(bytes);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = bytes;
}

/// A table of numbers over time, as a whole and block by block.
///
/// # Panics
/// If the reader does not hold what it has to.
pub fn csv_input(bytes: &[u8]) {
    let table = gyrator_record::parse_csv(bytes, Path::new("input.csv"));
    if let Ok(table) = &table {
        assert!(table.time.is_sorted());
    }
    if let Some((whole, blocks)) = in_blocks(bytes, ".csv") {
        // The reader of a whole table sees all that is wrong.
        assert!(blocks || !whole);
    }
}

/// A Parquet file, as a whole and block by block. The crates that read it panic on some that are damaged, which
/// `gyrator-record` catches: its fuzzer has no panic hook that ends the process.
///
/// # Panics
/// If the reader does not hold what it has to.
pub fn parquet_result(bytes: &[u8]) {
    in_blocks(bytes, ".parquet");
}

/// A file of Arrow's IPC format, as [`parquet_result`].
///
/// # Panics
/// If the reader does not hold what it has to.
pub fn arrow_result(bytes: &[u8]) {
    in_blocks(bytes, ".arrow");
}

/// Rows that a run has left: those that are read are whole, and no more than the file holds.
///
/// # Panics
/// If the reader does not hold what it has to.
pub fn part_result(bytes: &[u8]) {
    let (rows, end, is_whole) = gyrator_record::count_rows(bytes);
    assert!(end <= bytes.len() as u64);
    assert!(!is_whole || end == bytes.len() as u64);
    in_blocks(bytes, ".part");
    // The file as it is when it is cut after its whole rows.
    let end = usize::try_from(end).unwrap_or(bytes.len());
    assert_eq!(gyrator_record::count_rows(&bytes[..end]).0, rows);
}

/// Reads a result as a whole, and what a picture shows of it; whether each could be read. `None` without a file.
fn in_blocks(bytes: &[u8], ending: &str) -> Option<(bool, bool)> {
    let file = tempfile::Builder::new().suffix(ending).tempfile();
    let file = file.and_then(|mut file| file.write_all(bytes).map(|()| file));
    let file = file.ok()?;
    let table = gyrator_record::read_table(file.path());
    if let Ok(table) = &table {
        assert!(table.time.is_sorted());
        for series in &table.series {
            let length = match &series.values {
                Values::Numbers(values) => values.len(),
                Values::Text(texts) => texts.len(),
            };
            assert_eq!(length, table.time.len());
        }
    }
    let Ok(result) = ResultFile::open(file.path()) else {
        return Some((table.is_ok(), false));
    };
    let columns: Vec<usize> = (0..result.columns().len()).collect();
    let Ok(decimated) = Decimated::read(&result, &columns, 4, ALL_TIMES) else {
        return Some((table.is_ok(), false));
    };
    let (times, columns) = decimated.aligned();
    assert!(times.is_sorted());
    assert!(columns.iter().all(|column| column.len() == times.len()));
    Some((table.is_ok(), true))
}

/// A request to the server of the live page, which comes whole or in pieces, and the command in it.
///
/// # Panics
/// If the reader does not hold what it has to.
pub fn live_request(bytes: &[u8]) {
    #[cfg(unix)]
    {
        use gyrator_pictures::live::{Command, Limits, Refusal, read_request};
        /// As much at a time as the network likes.
        struct Pieces<'a>(&'a [u8]);
        impl std::io::Read for Pieces<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                let some = self.0.len().min(7).min(buffer.len());
                std::io::Read::read(&mut self.0, &mut buffer[..some])
            }
        }
        let limits = Limits::default();
        let whole = read_request(&mut &*bytes, &limits);
        let in_pieces = read_request(&mut Pieces(bytes), &limits);
        assert_eq!(whole.is_ok(), in_pieces.is_ok());
        match whole {
            Ok(request) => {
                assert!(request.body.len() <= limits.body);
                assert_eq!(in_pieces.as_ref(), Ok(&request));
                if let Ok(command) = Command::parse(&request.body) {
                    let written = serde_json::to_vec(&command).expect("commands are JSON");
                    assert_eq!(Command::parse(&written), Ok(command));
                }
            }
            Err(Refusal::Status(status)) => assert!((400..600).contains(&status)),
            Err(_) => {}
        }
    }
    #[cfg(not(unix))]
    let _ = bytes;
}

/// The state of a run: the file, and the bytes in it as a run takes them. A run can continue from a state that it
/// accepts.
///
/// # Panics
/// If the reader does not hold what it has to.
pub fn saved_state(bytes: &[u8]) {
    if let Ok(file) = StateFile::from_bytes(bytes) {
        assert!(file.time().is_finite());
    }
    let mut run = bench();
    match deserialize(&mut run, bytes) {
        Ok(()) => {
            assert!(run.time().is_finite());
            // Numbers may be anything: the steps may fail.
            for _ in 0..4 {
                if run.has_ended() || run.step().is_err() {
                    return;
                }
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

/// Blocks with memory.
const BLOCKS: &str = "
[experiment]
step_size = 0.01
stop_time = 1.0
step_control = \"ecco\"
extrapolation = \"auto\"
[components.delay]
block = { name = \"delay\", delay = 0.05 }
[components.slope]
block = { name = \"rate-limit\", rising = 2.0 }
";

/// A run of units and blocks in different steps, with a correction, step control and extrapolation.
///
/// # Panics
/// If it does not start, which depends on nothing.
#[must_use]
pub fn bench() -> Run {
    let mass = || {
        let matrices: [&[f64]; 4] = [
            &[0.0, 1.0, -10.0, -0.1],
            &[0.0, 1.0],
            &[1.0, 0.0, 0.0, 1.0],
            &[0.0, 0.0],
        ];
        LinearUnit::new(&[0.0, 1.0], &["f"], &["x", "v"], matrices)
    };
    let spring = || {
        let matrices: [&[f64]; 4] = [&[0.0], &[1.0], &[-5.0], &[-0.5]];
        LinearUnit::new(&[0.0], &["v"], &["f"], matrices)
    };
    let (file, _) = toml_file::parse(BLOCKS, "blocks.toml").expect("the blocks are described");
    let mut system = System::from_file(file).expect("blocks have no files");
    system.add_with("mass", mass);
    system.add_with("spring", spring).step_size(0.005);
    system.connect("mass.x", "delay.u");
    system.connect("mass.v", "slope.u");
    let bond = system.bond("coupling", ("spring.f", "mass.f"), ("mass.v", "spring.v"));
    bond.correction("nepce");
    system
        .start(&RunOptions::default())
        .expect("the bench starts")
}
