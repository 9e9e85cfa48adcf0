//! The kind of a file, found in its content and not in its name, and the verb that takes it.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use gyrator_fmu::decode_xml;
use zip::ZipArchive;

/// Bytes of a file that are read to tell its kind.
const HEAD: u64 = 1 << 16;

/// Description of an FMU in its archive (FMI 2.0.5 section 2.3).
const FMU: &str = "modelDescription.xml";
/// Description of a system in its package (SSP 2.0 section 3).
const SSP: &str = "SystemStructure.ssd";
/// Description of a system of the Open Simulation Platform in its folder.
const OSP: &str = "OspSystemStructure.xml";

/// The kind of a file or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An archive with a model description of this `fmiVersion`.
    Fmu(String),
    /// A model description of this `fmiVersion` without its FMU.
    ModelDescription(String),
    /// An FMU that was unpacked to a folder.
    FmuFolder,
    /// A system file in TOML.
    Toml,
    /// A system of the SSP standard: package, description or folder.
    Ssp,
    /// A system of the Open Simulation Platform: description or folder.
    Osp,
    /// A project of MasterSim.
    MasterSim,
    /// A multi-model of INTO-CPS.
    IntoCps,
    /// A folder with a system of either standard.
    TwoSystems,
    /// A study file.
    Study,
    /// A fit file.
    Fit,
    /// A scenario file.
    Scenario,
    /// A file of checks.
    Checks,
    /// Rows of a result: CSV, Parquet or Arrow IPC.
    Table,
    /// The table of a study, as CSV.
    StudyTable,
    /// JSON.
    Json,
    /// XML with another root element.
    Xml(String),
    /// A shared library or a program.
    Library,
    /// An archive of other files.
    Archive,
    /// A folder of other files.
    Folder,
}

/// The kinds of file that a verb takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A system, in any format.
    System,
    /// An FMU that can be run, or a system.
    Described,
    /// An FMU that can be run.
    Fmu,
    /// An FMU of any version, or its description alone.
    Subject,
    /// A study file.
    Study,
    /// A fit file.
    Fit,
    /// A scenario file.
    Scenario,
    /// A file of checks.
    Checks,
    /// Rows of a result.
    Table,
    /// A table that feeds inputs.
    Inputs,
    /// The table of a study; its reader refuses the rows of a result, which have the same forms.
    StudyTable,
}

/// Why a verb does not take a file.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// The kind of the file, and the kind that is wanted.
    pub(crate) text: String,
    /// The verb that takes it.
    pub(crate) help: Option<String>,
}

/// Finds the kind of a file that a verb is given, and refuses kinds that it does not take. `None` is
/// a file that is not there, or whose content fits no kind: its reader says why.
///
/// # Errors
/// One sentence with the kind of the file, and the verb that takes it.
pub(crate) fn expect(path: &Path, wanted: Wanted) -> Result<Option<Kind>, Refusal> {
    match Kind::of(path) {
        Some(kind) if !wanted.takes(&kind) => Err(kind.refusal(path, wanted)),
        kind => Ok(kind),
    }
}

impl Wanted {
    fn takes(self, kind: &Kind) -> bool {
        match self {
            Self::System => kind.is_system(),
            Self::Described => Self::System.takes(kind) || Self::Fmu.takes(kind),
            // The reader of archives lists what an archive holds instead.
            Self::Fmu => match kind {
                Kind::Fmu(version) => is_supported(version),
                other => *other == Kind::Archive,
            },
            Self::Subject => matches!(
                kind,
                Kind::Fmu(_) | Kind::ModelDescription(_) | Kind::Archive | Kind::Library
            ),
            Self::Study => *kind == Kind::Study,
            // A fit file without its own keys looks like a study: its reader names them.
            Self::Fit => matches!(kind, Kind::Fit | Kind::Study),
            Self::Scenario => *kind == Kind::Scenario,
            Self::Checks => *kind == Kind::Checks,
            Self::Table | Self::Inputs => *kind == Kind::Table,
            Self::StudyTable => matches!(kind, Kind::StudyTable | Kind::Table),
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::System => "a system",
            Self::Described => "an FMU or a system",
            Self::Fmu => "an FMU",
            Self::Subject => "an FMU or its modelDescription.xml",
            Self::Study => "a study file",
            Self::Fit => "a fit file",
            Self::Scenario => "a scenario file",
            Self::Checks => "a file of checks",
            Self::Table | Self::Inputs => "a table of values by time",
            Self::StudyTable => "the table of a study",
        })
    }
}

impl Kind {
    /// Whether it is a system, in any format.
    pub(crate) fn is_system(&self) -> bool {
        *self == Self::Toml || self.is_foreign_system()
    }

    /// Whether it is a system in a format of another tool or of a standard.
    pub(crate) fn is_foreign_system(&self) -> bool {
        let formats = [Self::Ssp, Self::Osp, Self::MasterSim, Self::IntoCps];
        formats.contains(self)
    }

    /// The kind of a plain file or a folder. Pipes and devices are not read.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let facts = path.metadata().ok()?;
        if facts.is_dir() {
            return Some(Self::of_folder(path));
        }
        if !facts.is_file() {
            return None;
        }
        let mut head = Vec::new();
        let file = File::open(path).ok()?;
        file.take(HEAD).read_to_end(&mut head).ok()?;
        match &*head {
            [b'P', b'K', 3, 4, ..] => Self::of_archive(path),
            [b'P', b'A', b'R', b'1', ..]
            | [b'A', b'R', b'R', b'O', b'W', b'1', ..]
            | [0, b't', b'i', b'm', b'e', ..] => Some(Self::Table),
            [0x7f, b'E', b'L', b'F', ..] | [b'M', b'Z', _, 0, ..] => Some(Self::Library),
            _ => Self::of_text(decode_xml("", &head, &mut Vec::new()).trim_start()),
        }
    }

    fn of_folder(path: &Path) -> Self {
        let holds = |name| path.join(name).is_file();
        match () {
            () if holds(SSP) && holds(OSP) => Self::TwoSystems,
            () if holds(SSP) => Self::Ssp,
            () if holds(OSP) => Self::Osp,
            () if holds(FMU) => Self::FmuFolder,
            () => Self::Folder,
        }
    }

    /// `None` if the archive is broken.
    fn of_archive(path: &Path) -> Option<Self> {
        let mut zip = ZipArchive::new(File::open(path).ok()?).ok()?;
        let index_of = |zip: &ZipArchive<File>, wanted| {
            let mut names = zip.file_names();
            names.position(|name| {
                name.is_ok_and(|name| name.trim_start_matches(['.', '/', '\\']) == wanted)
            })
        };
        if index_of(&zip, SSP).is_some() {
            return Some(Self::Ssp);
        }
        let Some(description) = index_of(&zip, FMU) else {
            return Some(Self::Archive);
        };
        let mut head = Vec::new();
        let description = zip.by_index(description).ok()?;
        description.take(HEAD).read_to_end(&mut head).ok()?;
        let text = decode_xml("", &head, &mut Vec::new());
        match Self::of_text(text.trim_start())? {
            Self::ModelDescription(version) => Some(Self::Fmu(version)),
            _ => None,
        }
    }

    fn of_text(text: &str) -> Option<Self> {
        let text = text.trim_start_matches('\u{feff}');
        let is_json = || serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        match text.as_bytes().first()? {
            b'<' => Self::of_xml(text),
            b'{' if is_multi_model(text) => Some(Self::IntoCps),
            b'{' => Some(Self::Json),
            b'[' if is_json() => Some(Self::Json),
            _ if is_header_of_table(text) => Some(Self::Table),
            _ if is_header_of_study(text) => Some(Self::StudyTable),
            _ if is_project(text) => Some(Self::MasterSim),
            _ => Self::of_toml(text),
        }
    }

    fn of_xml(text: &str) -> Option<Self> {
        let tag = first_tag(text)?;
        let name = tag.split([' ', '\t', '\r', '\n', '/']).next()?;
        let name = name.rsplit(':').next()?;
        Some(match name {
            "fmiModelDescription" => Self::ModelDescription(version(tag)?.to_owned()),
            "SystemStructureDescription" => Self::Ssp,
            "OspSystemStructure" => Self::Osp,
            other => Self::Xml(other.to_owned()),
        })
    }

    /// By the keys and tables at the beginning of lines. The keys that a study varies belong to
    /// systems.
    fn of_toml(text: &str) -> Option<Self> {
        let word = |line: &str| {
            let line = line.trim_start_matches(['[', ' ']);
            let end = line.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            line[..end.unwrap_or(line.len())].to_owned()
        };
        let before_tables = || {
            text.lines()
                .take_while(|line| !line.starts_with('['))
                .map(word)
        };
        if before_tables().any(|word| word == "system") {
            let is_of_fit = |word: &str| matches!(word, "measured" | "signals" | "parameters");
            let tables = text.lines().filter(|line| line.starts_with('[')).map(word);
            return Some(
                match before_tables().chain(tables).any(|word| is_of_fit(&word)) {
                    true => Self::Fit,
                    false => Self::Study,
                },
            );
        }
        const KEYS: [&str; 5] = [
            "experiment",
            "components",
            "connections",
            "bonds",
            "include",
        ];
        if text.lines().map(word).any(|word| word == "actions") {
            return Some(Self::Scenario);
        }
        if text.lines().map(word).any(|word| word == "checks") {
            return Some(Self::Checks);
        }
        let is_system = text.lines().map(word).any(|word| KEYS.contains(&&*word));
        is_system.then_some(Self::Toml)
    }

    /// The verb that takes such a file, as it is called.
    fn call(&self, path: &Path) -> Option<String> {
        let verb = match self {
            Self::Fmu(version) if is_supported(version) => "simulate",
            Self::ModelDescription(_) => "validate",
            kind if kind.is_system() => "run",
            Self::Study => "study",
            Self::Fit => "fit",
            Self::Scenario => return Some("gyrator run SYSTEM --scenario FILE".to_owned()),
            Self::Checks => return Some("gyrator run SYSTEM --check FILE".to_owned()),
            Self::Table => "plot",
            Self::StudyTable => "study plot",
            _ => return None,
        };
        Some(format!("gyrator {verb} {}", path.display()))
    }

    fn refusal(&self, path: &Path, wanted: Wanted) -> Refusal {
        let name = path.display();
        let text = match (self, wanted) {
            (Self::Fmu(version), _) if !is_supported(version) => {
                format!("{name} is {self}; gyrator takes FMUs of FMI 2.0 for co-simulation")
            }
            (Self::TwoSystems, Wanted::System | Wanted::Described) => {
                format!("{name} is {self}, {SSP} and {OSP}")
            }
            _ => format!("{name} is {self}, not {wanted}"),
        };
        Refusal {
            text,
            help: self.advice(path, wanted),
        }
    }

    fn advice(&self, path: &Path, wanted: Wanted) -> Option<String> {
        let name = path.display();
        match (self, wanted) {
            (Self::Fmu(version), _) if version.starts_with("3.") => Some(
                "export it as FMI 2.0, or put it into a container with fmucontainer (Python package fmu-manipulation-toolbox)".to_owned(),
            ),
            (Self::FmuFolder, _) => Some(format!(
                "pack it: `cd {name} && zip -r ../{}.fmu .`",
                path.file_name().unwrap_or_default().to_string_lossy()
            )),
            (Self::TwoSystems, _) => Some(format!(
                "name one of them: `{}` or `{}`",
                path.join(SSP).display(),
                path.join(OSP).display()
            )),
            (Self::Json, Wanted::Table) => Some(format!(
                "name the result; --summary {name} reads the summary of its run beside it"
            )),
            (Self::Xml(root), Wanted::Table) if matches!(&**root, "html" | "svg") => {
                Some("name the result that it was drawn from".to_owned())
            }
            (Self::Folder, Wanted::System | Wanted::Described) => Some(match only_system(path) {
                Some(found) => format!("did you mean `{}`?", path.join(found).display()),
                None => format!("a folder is a system if it holds a {SSP} or an {OSP}"),
            }),
            (Self::Archive, _) => misplaced(path),
            (Self::Json, Wanted::System | Wanted::Described) => Some(format!(
                "a multi-model of INTO-CPS has `fmus`; its times and algorithm come with `--coe {name}`"
            )),
            (kind, Wanted::Subject) if kind.is_system() => Some(format!(
                "`gyrator inspect {name}` shows the faults of a system"
            )),
            _ => self.call(path).map(|call| format!("`{call}` takes it")),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fmu(version) if is_supported(version) => "an FMU",
            Self::Fmu(version) => return write!(f, "an FMU of FMI {version}"),
            Self::ModelDescription(_) => "the model description of an FMU",
            Self::FmuFolder => "the folder of an unpacked FMU",
            Self::Toml => "a system file",
            Self::Ssp => "a system of the SSP standard",
            Self::Osp => "a system of the Open Simulation Platform",
            Self::MasterSim => "a project of MasterSim",
            Self::IntoCps => "a multi-model of INTO-CPS",
            Self::Study => "a study file",
            Self::Fit => "a fit file",
            Self::Scenario => "a scenario file",
            Self::Checks => "a file of checks",
            Self::Table => "a table of values by time",
            Self::StudyTable => "the table of a study",
            Self::Json => "JSON",
            Self::Xml(root) => return write!(f, "XML with the root element `{root}`"),
            Self::Library => "a shared library or a program",
            Self::Archive => return write!(f, "an archive without {FMU} or {SSP}"),
            Self::TwoSystems => "a folder with two systems",
            Self::Folder => "a folder",
        })
    }
}

/// FMI 2.0, or a minor version of it, which some exporters write.
fn is_supported(version: &str) -> bool {
    let version = version.trim();
    version == "2.0" || version.starts_with("2.0.")
}

/// The first start tag of XML, without `<`, after declarations and comments.
fn first_tag(mut text: &str) -> Option<&str> {
    loop {
        text = text.trim_start().strip_prefix('<')?;
        let end = if text.starts_with("!--") {
            "-->"
        } else if text.starts_with(['?', '!']) {
            ">"
        } else {
            return Some(&text[..text.find('>')?]);
        };
        text = &text[text.find(end)? + end.len()..];
    }
}

/// The attribute `fmiVersion` of a tag.
fn version(tag: &str) -> Option<&str> {
    let rest = &tag[tag.find("fmiVersion")? + "fmiVersion".len()..];
    let rest = rest.trim_start().strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    rest[1..].split(quote).next()
}

/// Whether the first line names columns, of which the first is the time.
fn is_header_of_table(text: &str) -> bool {
    let line = text.lines().next().unwrap_or_default();
    let Some((first, _)) = line.split_once([',', ';', '\t']) else {
        return false;
    };
    first.trim().trim_matches('"').eq_ignore_ascii_case("time")
}

/// Whether the first line names columns that the tables of all studies have.
fn is_header_of_study(text: &str) -> bool {
    let line = text.lines().next().unwrap_or_default();
    let has = |name| line.split(',').any(|column| column == name);
    ["case", "stop_reason", "message"].into_iter().all(has)
}

/// Whether JSON has the object `fmus`.
fn is_multi_model(text: &str) -> bool {
    let mut after = text.match_indices("\"fmus\"");
    after.any(|(at, key)| {
        let rest = text[at + key.len()..].trim_start().strip_prefix(':');
        rest.is_some_and(|rest| rest.trim_start().starts_with('{'))
    })
}

/// Whether a line has the keyword `simulator` of MasterSim, and not as a key of TOML.
fn is_project(text: &str) -> bool {
    let words = text.lines().map(|line| line.split_whitespace());
    let mut starts = words.map(|mut words| (words.next(), words.next()));
    starts
        .any(|(first, second)| first == Some("simulator") && second.is_some_and(|word| word != "="))
}

/// What to do about an archive with a folder around everything.
fn misplaced(archive: &Path) -> Option<String> {
    let zip = ZipArchive::new(File::open(archive).ok()?).ok()?;
    let mut names = zip.file_names().filter_map(Result::ok);
    let found = names.find(|name| {
        let file = name.rsplit_once('/').map(|(_, file)| file);
        file.is_some_and(|file| [FMU, SSP, OSP].contains(&file))
    })?;
    let (folder, _) = found.rsplit_once('/')?;
    Some(format!(
        "it has `{found}`: pack what is in the folder `{folder}`, and not the folder itself"
    ))
}

/// The system of a folder, a file or another folder, if there is one only.
fn only_system(folder: &Path) -> Option<String> {
    let names = std::fs::read_dir(folder).ok()?;
    let names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let endings = [".toml", ".ssp", ".ssd", ".xml", ".msim", ".json"];
    let is_named = |name: &String| {
        endings.iter().any(|ending| name.ends_with(ending)) || folder.join(name).is_dir()
    };
    let names = names.filter(is_named);
    let is_system =
        |name: &String| Kind::of(&folder.join(name)).is_some_and(|kind| kind.is_system());
    let mut systems = names.filter(is_system);
    systems.next().filter(|_| systems.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_texts() {
        let description = |version: &str| Kind::ModelDescription(version.to_owned());
        for (text, kind) in [
            ("{\"a\": 1}", Some(Kind::Json)),
            ("{\"a\": 1, \"fmus\" : { } }", Some(Kind::IntoCps)),
            ("{\"fmus\": [] }", Some(Kind::Json)),
            (
                "# Created: x\nsimulator 0 0 a #fff a.fmu\n",
                Some(Kind::MasterSim),
            ),
            ("system = \"a.toml\"\nsimulator = 1\n", Some(Kind::Study)),
            ("[1, 2]", Some(Kind::Json)),
            ("[experiment]\nstep_size = 1", Some(Kind::Toml)),
            ("[[connections]]\nfrom = 1", Some(Kind::Toml)),
            ("# system\nsystem = \"a.toml\"\n", Some(Kind::Study)),
            (
                "system = \"a.toml\"\nmeasured = \"b.csv\"\n[parameters]\n",
                Some(Kind::Fit),
            ),
            ("system = \"a.toml\"\n[signals]\n", Some(Kind::Fit)),
            (
                "system = \"a.toml\"\n[variants]\nmeasured = {}\n",
                Some(Kind::Study),
            ),
            ("[[actions]]\ntime = 1\n", Some(Kind::Scenario)),
            ("[[checks]]\nsignal = 1\n", Some(Kind::Checks)),
            ("time,a.x\n0,1\n", Some(Kind::Table)),
            ("\"time\";\"x\"\n", Some(Kind::Table)),
            (
                "case,a.k,stop_reason,message,steps\n",
                Some(Kind::StudyTable),
            ),
            (
                "<?xml version=\"1.0\"?><!-- <a> --><fmiModelDescription fmiVersion = '3.0'>",
                Some(description("3.0")),
            ),
            (
                "<ssd:SystemStructureDescription version=\"1.0\">",
                Some(Kind::Ssp),
            ),
            ("<OspSystemStructure>", Some(Kind::Osp)),
            (
                "<ssv:ParameterSet/>",
                Some(Kind::Xml("ParameterSet".into())),
            ),
            ("", None),
            ("words", None),
            ("<", None),
            ("<!--", None),
            ("<fmiModelDescription fmiVersion=", None),
        ] {
            assert_eq!(Kind::of_text(text), kind, "{text}");
        }
    }
}
