//! Runs systems of files with and without processes of their own, and keeps all they publish.

use std::io::{Read as _, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gyrator::observer::{ObserverError, StopRequest};
use gyrator::{Observer, Report, Run, RunError, RunOptions, StartError, System, Value, View};
use gyrator_system::{SystemFile, toml_file};
use gyrator_testkit::fmu;
use gyrator_worker::isolated::Isolation;

/// The system of a text in which `<Model>` stands for the path of that model's FMU.
pub(crate) fn system(text: &str) -> SystemFile {
    let mut parts = text.split('<');
    let mut whole = parts.next().unwrap().to_owned();
    for part in parts {
        let (model, rest) = part.split_once('>').unwrap();
        whole.push_str(fmu(model).to_str().unwrap());
        whole.push_str(rest);
    }
    let read = toml_file::parse(&whole, "system.toml");
    read.unwrap_or_else(|problems| panic!("{problems}")).0
}

/// The same system with every component in a process of its own.
pub(crate) fn isolated(mut file: SystemFile) -> SystemFile {
    for component in &mut file.components {
        component.isolate = Some(gyrator_system::Spanned::unplaced(true));
    }
    file
}

/// Sets a start value.
pub(crate) fn set(
    file: &mut SystemFile,
    component: &str,
    variable: &str,
    value: gyrator_system::Value,
) {
    let component = file.component_mut(component).unwrap();
    component.set_start_value(variable, value);
}

/// How workers are made of this test program.
pub(crate) fn isolation() -> Isolation {
    // With one thread a test runs in the first one of its process, as an FMU of a program does.
    let arguments = [
        "--exact",
        "become_a_worker",
        "--nocapture",
        "--quiet",
        "--test-threads=1",
    ];
    Isolation::new()
        .timeout(Some(Duration::from_secs(300)))
        .arguments(arguments.map(Into::into))
}

pub(crate) fn start_with(
    file: SystemFile,
    threads: usize,
    mut isolation: Isolation,
) -> Result<Run, StartError> {
    let options = RunOptions {
        threads,
        step_clock: gyrator_testkit::ticking(),
        ..RunOptions::default()
    };
    System::from_file(file)?.start_with(&options, &mut isolation)
}

pub(crate) fn start(file: SystemFile, threads: usize) -> Run {
    start_with(file, threads, isolation()).unwrap_or_else(|error| panic!("{error}"))
}

/// All that a run has published: times and reals as bits, and values of other types.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Rows {
    pub(crate) reals: Vec<Vec<u64>>,
    pub(crate) signals: Vec<Vec<Value>>,
}

/// Keeps what it sees.
#[derive(Clone, Default)]
pub(crate) struct Watcher(Arc<Mutex<Rows>>);

impl Watcher {
    pub(crate) fn rows(&self) -> Rows {
        self.0.lock().unwrap().clone()
    }
}

impl Observer for Watcher {
    fn begin(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        self.step(view)
    }

    fn step(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        let mut rows = self.0.lock().unwrap();
        let reals = std::iter::once(view.time).chain(view.reals.iter().copied());
        rows.reals.push(reals.map(f64::to_bits).collect());
        rows.signals.push(view.signals.to_vec());
        Ok(ControlFlow::Continue(()))
    }
}

/// Runs to the end.
pub(crate) fn finish(mut run: Run) -> (Rows, Result<Report, RunError>) {
    let watcher = Watcher::default();
    run.observe(watcher.clone()).unwrap();
    let result = run.run();
    drop(run);
    (watcher.rows(), result)
}

/// Runs to the end, which has to be reached.
pub(crate) fn run(file: SystemFile, threads: usize) -> (Rows, Report) {
    let (rows, report) = finish(start(file, threads));
    (rows, report.unwrap_or_else(|error| panic!("{error}")))
}

/// A copy of an FMU in `folder` with another description, and one entry more.
pub(crate) fn altered(
    fmu: &Path,
    folder: &Path,
    change: impl Fn(&str) -> String,
    more: Option<&str>,
) -> PathBuf {
    let mut archive = zip::ZipArchive::new(std::fs::File::open(fmu).unwrap()).unwrap();
    let path = folder.join("Altered.fmu");
    let mut copy = zip::ZipWriter::new(std::fs::File::create(&path).unwrap());
    let options = zip::write::SimpleFileOptions::default();
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).unwrap();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        let name = entry.name().unwrap().into_owned();
        if name == "modelDescription.xml" {
            bytes = change(std::str::from_utf8(&bytes).unwrap()).into_bytes();
        }
        copy.start_file(name, options).unwrap();
        copy.write_all(&bytes).unwrap();
    }
    if let Some(name) = more {
        copy.start_file(name, options).unwrap();
    }
    copy.finish().unwrap();
    path
}
