//! The power goes at any moment of a run: the calls that write its files are recorded, and after each
//! of them everything that the disk may have is looked at ([`Disk`]).

use std::collections::BTreeMap;

use super::disk::{Disk, Inode};
use super::strace::Call;
use super::{end, start, strace};
use crate::bench::Bench;
use crate::faults::FAULTY;

/// Calls that change files and names.
const CALLS: &str = "trace=open,openat,creat,write,pwrite64,writev,pwritev,copy_file_range,sendfile,ftruncate,\
                     truncate,fsync,fdatasync,sync_file_range,syncfs,link,linkat,rename,renameat,renameat2,\
                     unlink,unlinkat";

/// Earlier results and summaries that are in the folder.
const OLD: &[u8] = b"{\"of\": \"an earlier run\"}\n";

struct Case {
    options: &'static [&'static str],
    result: &'static str,
    /// Files that have all rows before the result does.
    rows: &'static [&'static str],
    code: i32,
}

const CASES: &[Case] = &[
    Case {
        options: &[],
        result: "out.csv",
        rows: &[],
        code: 0,
    },
    Case {
        options: &["--no-supervisor"],
        result: "out.csv",
        rows: &[],
        code: 0,
    },
    Case {
        options: &[],
        result: "out.parquet",
        rows: &["out.parquet.part"],
        code: 0,
    },
    // The parent writes the last rows.
    Case {
        options: &["--start-value", "bad.fault=segfault"],
        result: "out.csv",
        rows: &[],
        code: 5,
    },
    Case {
        options: &["--start-value", "bad.fault=segfault"],
        result: "out.parquet",
        rows: &["out.parquet.part"],
        code: 5,
    },
    Case {
        options: &["--start-value", "bad.fault=error"],
        result: "out.csv",
        rows: &[],
        code: 1,
    },
    // The file is written a second time.
    Case {
        options: &["--start-value", "bad.fault=delete_results"],
        result: "out.csv",
        rows: &[],
        code: 1,
    },
];

#[test]
#[ignore = "study: needs strace"]
fn no_result_is_cut_short_when_the_power_goes() {
    strace::require();
    let mut wrong = Vec::new();
    for case in CASES {
        let (prefixes, states, found) = check(case);
        let Case {
            options, result, ..
        } = case;
        println!("{result} {options:?}: {prefixes} calls, {states} states of the disk");
        let found = found.into_iter();
        wrong.extend(found.map(|text| format!("{result} {options:?}: {text}")));
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The number of calls, of the states of the disk after them, and what is wrong in those.
fn check(case: &Case) -> (usize, usize, Vec<String>) {
    let bench = Bench::new();
    bench.write("system.toml", FAULTY);
    for name in [case.result, "summary.json"] {
        std::fs::write(bench.path(name), OLD).unwrap();
    }
    let begin = ["run", "system.toml", "--summary", "summary.json", "-o"];
    let begin = begin.into_iter().chain([case.result]);
    let arguments: Vec<&str> = begin.chain(case.options.iter().copied()).collect();
    let options = ["-f", "-y", "-xx", "-s", "100000000", "-e", CALLS];
    let mut command = strace::under_strace(&options, &arguments);
    command.current_dir(bench.path(""));
    let child = start(&bench, command);
    let ended = end(&bench, child);
    assert_eq!(ended.code, Some(case.code), "{}", ended.stderr);

    let folder = bench.path("").canonicalize().unwrap();
    let mut recorder = Recorder::new(folder.display().to_string());
    for name in [case.result, "summary.json"] {
        recorder.disk.old_file(name, OLD);
    }
    let mut disks = vec![recorder.disk.clone()];
    for call in strace::read(&bench.path("trace")) {
        if recorder.replay(&call) {
            disks.push(recorder.disk.clone());
        }
    }
    let last = recorder.disk;
    // The record has all calls: it ends with the files that there are.
    let files: Vec<&str> = std::iter::once(case.result)
        .chain(case.rows.iter().copied())
        .chain(["summary.json"])
        .filter(|name| bench.path(name).exists())
        .collect();
    for name in &files {
        let inode = last
            .inode(name)
            .unwrap_or_else(|| panic!("{name} is not in the record"));
        assert!(
            last.bytes(inode) == std::fs::read(bench.path(name)).unwrap(),
            "{name}"
        );
    }

    let (mut states, mut wrong) = (0, Vec::new());
    for (place, disk) in disks.iter().enumerate() {
        let mut note =
            |text: String| wrong.push(format!("after call {place} of {}: {text}", disks.len()));
        states += disk.after_power_loss(|names, contents| {
            for name in &files {
                let Some(inode) = names.get(*name) else {
                    continue;
                };
                let whole = last.inode(name).map(|inode| last.bytes(inode));
                for bytes in contents(*inode) {
                    if Some(&*bytes) != whole && bytes != OLD {
                        note(format!("{name} has {} bytes that are not all", bytes.len()));
                    }
                }
            }
            let has_new = |name: &&str| names.get(*name) == last.inode(name).as_ref();
            let is_summarised = has_new(&"summary.json");
            let result = files.iter().find(|name| **name != "summary.json");
            if is_summarised && !result.is_some_and(has_new) {
                note("there is a summary of a result that is not there".to_owned());
            }
        });
    }
    if !case.rows.is_empty() && case.code == 0 {
        wrong.extend(lost_rows(case, &disks, &last));
    }
    if !last.is_safe() {
        wrong.push("the program ends while its files are not safe".to_owned());
    }
    (disks.len() - 1, states, wrong)
}

/// From the moment at which a file of rows is whole and safe, there is one or the result.
fn lost_rows(case: &Case, disks: &[Disk], last: &Disk) -> Vec<String> {
    let result = last.inode(case.result);
    let mut wrong = Vec::new();
    let mut rows: Option<Vec<u8>> = None;
    for (place, disk) in disks.iter().enumerate() {
        disk.after_power_loss(|names, contents| {
            let there = case.rows.iter().filter_map(|name| names.get(*name));
            let is_whole = |inode: &Inode| {
                let contents = contents(*inode);
                rows.as_ref().is_some_and(|rows| contents == [rows.clone()])
            };
            let has_rows = there.into_iter().any(is_whole);
            let has_result = names.get(case.result).copied() == result && result.is_some();
            if rows.is_some() && !has_rows && !has_result {
                wrong.push(format!(
                    "after call {place}: neither the rows nor the result"
                ));
            }
        });
        let named = disk.inode(case.rows[0]);
        if let Some(inode) = named.filter(|_| disk.is_safe()) {
            rows.get_or_insert_with(|| disk.bytes(inode).to_vec());
        }
    }
    if rows.is_none() {
        wrong.push("the file of rows is never safe".to_owned());
    }
    wrong
}

/// Makes the changes of recorded calls on a disk.
struct Recorder {
    /// The folder of the run, as it stands before the names of its files.
    folder: String,
    disk: Disk,
    /// Files by the name with which they were opened: descriptors keep leading to them.
    opened: BTreeMap<String, Inode>,
}

impl Recorder {
    fn new(folder: String) -> Self {
        Self {
            folder,
            disk: Disk::default(),
            opened: BTreeMap::new(),
        }
    }

    /// Makes what a call has done; false if that is nothing for the files of the folder.
    fn replay(&mut self, call: &Call) -> bool {
        if call.result.starts_with('-') || call.result.starts_with('?') {
            return false;
        }
        match call.name.as_str() {
            "open" | "openat" | "creat" => self.open(call),
            "link" | "linkat" | "rename" | "renameat" | "renameat2" => {
                let names: Vec<_> = texts(&call.arguments);
                let names = names.iter().map(|path| self.name(path));
                let names: Vec<Option<String>> = names.collect();
                let [Some(old), Some(new)] = &*names else {
                    return false;
                };
                match call.name.starts_with("link") {
                    true => self.disk.link(old, new),
                    false => self.disk.rename(old, new),
                }
                true
            }
            "unlink" | "unlinkat" => {
                let path = texts(&call.arguments).into_iter().next();
                let name = path.and_then(|path| self.name(&path));
                let name = name.filter(|name| self.disk.inode(name).is_some());
                name.inspect(|name| self.disk.remove(name)).is_some()
            }
            _ => self.change_open_file(call),
        }
    }

    fn open(&mut self, call: &Call) -> bool {
        let Some(path) = path_of(&call.result) else {
            return false;
        };
        let Some(name) = self.name(&path) else {
            return false;
        };
        let is_new = self.disk.inode(&name).is_none();
        if is_new && !call.arguments.contains("O_CREAT") {
            return false;
        }
        let found = self.disk.inode(&name);
        let inode = found.unwrap_or_else(|| self.disk.create(&name));
        if call.arguments.contains("O_TRUNC") {
            self.disk.set_length(inode, 0);
        }
        self.opened.insert(name, inode);
        true
    }

    fn change_open_file(&mut self, call: &Call) -> bool {
        let Some(path) = path_of(&call.arguments) else {
            return false;
        };
        let is_sync = matches!(&*call.name, "fsync" | "fdatasync" | "syncfs");
        if is_sync && path.trim_end_matches('/') == self.folder {
            self.disk.sync_folder();
            return true;
        }
        let files: Vec<Inode> = call
            .arguments
            .split(", ")
            .filter_map(|argument| self.inode_of(&path_of(argument)?))
            .collect();
        let inode = match (&*call.name, &*files) {
            (_, []) => return false,
            // A whole file, from its beginning.
            ("copy_file_range", [from, to]) => {
                let (begin, count): (_, usize) =
                    (self.disk.bytes(*to).len(), call.result.parse().unwrap());
                let bytes = self.disk.bytes(*from)[begin..begin + count].to_vec();
                self.disk.write(*to, &bytes);
                return true;
            }
            (_, [inode, ..]) => *inode,
        };
        match &*call.name {
            "fsync" | "fdatasync" => self.disk.sync(inode),
            "ftruncate" => {
                let length = call.arguments.rsplit(", ").next().unwrap();
                self.disk.set_length(inode, length.parse().unwrap());
            }
            "write" | "pwrite64" | "writev" => {
                let bytes: Vec<u8> = bytes_of(&call.arguments);
                let count: usize = call.result.parse().unwrap();
                self.disk.write(inode, &bytes[..count]);
            }
            other => panic!("{other} changes a file"),
        }
        true
    }

    /// The file that a descriptor leads to; it may have lost the name that it was opened with.
    fn inode_of(&self, path: &str) -> Option<Inode> {
        let name = self.name(path.trim_end_matches(" (deleted)"))?;
        let now = (!path.ends_with(" (deleted)")).then(|| self.disk.inode(&name));
        now.flatten().or_else(|| self.opened.get(&name).copied())
    }

    /// The name of a result or a summary, whole or not, in the folder.
    fn name(&self, path: &str) -> Option<String> {
        let name = match path.strip_prefix(&self.folder) {
            Some(rest) => rest.trim_start_matches('/'),
            None => path,
        };
        let is_ours =
            !name.contains('/') && (name.starts_with("out.") || name.starts_with("summary.json"));
        is_ours.then(|| name.to_owned())
    }
}

/// The path of the first descriptor: `3<\x2f…>`.
fn path_of(text: &str) -> Option<String> {
    let (descriptor, rest) = text.split_once('<')?;
    let is_descriptor = descriptor.bytes().all(|byte| byte.is_ascii_digit());
    let (path, after) = rest.split_once('>')?;
    let path = String::from_utf8(unescape(path)).ok()?;
    let ending = if after.starts_with("(deleted)") {
        " (deleted)"
    } else {
        ""
    };
    is_descriptor.then(|| path + ending)
}

/// All texts between quotes.
fn texts(arguments: &str) -> Vec<String> {
    let texts = arguments.split('"').skip(1).step_by(2);
    texts
        .map(|text| String::from_utf8_lossy(&unescape(text)).into_owned())
        .collect()
}

/// The bytes of all texts between quotes: the bytes of one write.
fn bytes_of(arguments: &str) -> Vec<u8> {
    arguments
        .split('"')
        .skip(1)
        .step_by(2)
        .flat_map(unescape)
        .collect()
}

/// Reads `\x61\x62`; anything else stands for itself.
fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let code = rest.strip_prefix("\\x").and_then(|code| code.get(..2));
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[4..];
            }
            None => {
                bytes.extend(first.to_string().bytes());
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    bytes
}

#[test]
fn recorded_calls_are_replayed() {
    let mut recorder = Recorder::new("/f".to_owned());
    let mut replay = |name: &str, arguments: &str, result: &str| {
        recorder.replay(&Call {
            process: String::new(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
            result: result.to_owned(),
        })
    };
    let open = "AT_FDCWD</f>, \"\\x2f\\x66\\x2fout.csv.part\", O_RDWR|O_CREAT|O_APPEND, 0666";
    assert!(replay("openat", open, "3</f/out.csv.part>"));
    assert!(replay(
        "write",
        "3</f/out.csv.part>, \"\\x61\\x62\", 2",
        "2"
    ));
    assert!(!replay("write", "2</f/stderr>, \"\\x61\", 1", "1"));
    assert!(replay(
        "linkat",
        "AT_FDCWD</f>, \"/f/out.csv.part\", AT_FDCWD</f>, \"/f/out.csv\", 0",
        "0"
    ));
    assert!(replay("unlink", "\"/f/out.csv.part\"", "0"));
    assert!(replay(
        "write",
        "3</f/out.csv.part>(deleted), \"c\", 1",
        "1"
    ));
    assert!(!replay(
        "unlink",
        "\"/f/out.csv\"",
        "-1 ENOENT (No such file)"
    ));
    assert!(replay("fdatasync", "3</f/out.csv.part>(deleted)", "0"));
    assert!(replay("fsync", "4</f>", "0"));
    let disk = recorder.disk;
    assert_eq!(disk.bytes(disk.inode("out.csv").unwrap()), b"abc");
    assert!(disk.is_safe());
}
