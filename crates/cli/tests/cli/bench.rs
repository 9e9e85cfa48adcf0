//! A folder with system files and FMUs in which the program runs.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A temporary folder; `fmus` in it leads to the FMUs of this repository.
pub(crate) struct Bench {
    folder: tempfile::TempDir,
}

/// Exit code and output of the program.
pub(crate) struct ProgramOutcome {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let fmus = gyrator_testkit::fmu("OscillatorForce");
        let bench = Self { folder };
        std::fs::create_dir(bench.path("fmus")).unwrap();
        for entry in std::fs::read_dir(fmus.parent().unwrap()).unwrap() {
            let entry = entry.unwrap();
            if entry
                .path()
                .extension()
                .is_some_and(|ending| ending == "fmu")
            {
                let link = bench.path("fmus").join(entry.file_name());
                // The target folder and the temporary one may lie on different disks.
                std::fs::hard_link(entry.path(), &link)
                    .or_else(|_| std::fs::copy(entry.path(), &link).map(drop))
                    .unwrap();
            }
        }
        bench
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> &Self {
        std::fs::write(self.path(name), text).unwrap();
        self
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// The header and the rows of a result.
    pub(crate) fn rows(&self, name: &str) -> (Vec<String>, Vec<Vec<f64>>) {
        let text = self.read(name);
        let mut lines = text.lines();
        let header = lines
            .next()
            .unwrap()
            .split(',')
            .map(str::to_owned)
            .collect();
        let row = |line: &str| line.split(',').map(|cell| cell.parse().unwrap()).collect();
        (header, lines.map(row).collect())
    }

    pub(crate) fn json(&self, name: &str) -> serde_json::Value {
        serde_json::from_str(&self.read(name)).unwrap()
    }

    /// Runs the program to its end.
    pub(crate) fn run<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> ProgramOutcome {
        let output = self.command(arguments).output().unwrap();
        ProgramOutcome {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Starts the program.
    pub(crate) fn start<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Child {
        self.command(arguments)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    pub(crate) fn command<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gyrator"));
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command.env_remove("COLUMNS");
        command
    }

    /// Writes a copy of an FMU in which names of entries and the description are changed.
    pub(crate) fn alter_fmu(&self, model: &str, name: &str, change: impl Fn(&str) -> String) {
        use std::io::{Read as _, Write as _};
        let file = std::fs::File::open(gyrator_testkit::fmu(model)).unwrap();
        let mut archive = zip::ZipArchive::new(file).unwrap();
        let mut copy = zip::ZipWriter::new(std::fs::File::create(self.path(name)).unwrap());
        for index in 0..archive.len() {
            let mut entry = archive.by_index(index).unwrap();
            if entry.is_dir() {
                continue;
            }
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            let path = entry.name().unwrap().into_owned();
            if path == "modelDescription.xml" {
                bytes = change(&String::from_utf8(bytes).unwrap()).into_bytes();
            }
            let options = zip::write::SimpleFileOptions::default();
            copy.start_file(change(&path), options).unwrap();
            copy.write_all(&bytes).unwrap();
        }
        copy.finish().unwrap();
    }
}

/// The text without the times that differ from run to run.
pub(crate) fn without_times(text: &str) -> String {
    let line = |line: &str| {
        if line.starts_with("time: ") {
            "time: …\n".to_owned()
        } else {
            format!("{line}\n")
        }
    };
    text.lines().map(line).collect()
}

/// Waits until `condition` holds.
pub(crate) fn wait_until(what: &str, condition: impl Fn() -> bool) {
    const TIMEOUT: Duration = Duration::from_secs(300);
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < TIMEOUT, "waited too long until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Number of whole lines of a file that may not be there yet.
pub(crate) fn lines(path: &Path) -> usize {
    std::fs::read(path).map_or(0, |bytes| {
        bytes.iter().filter(|byte| **byte == b'\n').count()
    })
}

/// The double oscillator of Rodríguez 2022, table 1, case 1.
pub(crate) const OSCILLATORS: &str = r#"[experiment]
stop_time = 10.0
step_size = 1e-3
method = "jacobi"
exchange = "stale"
extrapolation = "hold"
[components.left]
fmu = "fmus/OscillatorForce.fmu"
start_values = { m = 1.0, k = 10.0, k_c = 100.0, v_start = 100.0 }

[components.right]
fmu = "fmus/OscillatorMotion.fmu"
start_values = { m = 1.0, k = 1000.0, v_start = -100.0 }

[[connections]]
from = "right.x"
to = "left.x2"

[[bonds]]
name = "coupling"
effort = { from = "left.f", to = "right.f" }
flow = { from = "right.v", to = "left.v2" }
"#;
