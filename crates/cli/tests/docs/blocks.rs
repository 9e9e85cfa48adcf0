//! Commands of the documentation are run, page by page. Each page has a folder that looks like the repository: FMUs
//! in `target/fmus`, the program in `target/release` and on the path, a copy of `examples/`.
//!
//! A block that is not run says why in its info string: ```` ```sh no-run="it takes an hour" ````. A line that ends with another
//! code than 0 says so in its comment: `# exit code 6: …`. Commands that a page needs and does not show stand in
//! comments `<!-- setup: … -->`.
//!
//! A block `text` shows lines that commands of its page print, besides lines about time. One that does not says why:
//! ```` ```text not-held="…" ````.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::page::{Block, Page, pages, root};

/// Commands of cargo that the continuous integration runs; here they are done already, or not needed.
const DONE_BY_CARGO: &str = "xtask fmus|xtask demo|build --release|test --workspace|install --locked --path crates/cli|\
                             doc --open --package gyrator";

/// Most blocks that are not run: a block that can run does.
const MOST_NOT_RUN: usize = 20;

#[test]
fn commands_run() {
    let _ = gyrator_testkit::fmu("OscillatorForce");
    let all = pages();
    let outcomes = std::thread::scope(|scope| {
        let pages = all.iter().filter(|page| page.blocks.iter().any(is_command));
        let runs: Vec<_> = pages.map(|page| scope.spawn(|| run(page))).collect();
        runs.into_iter()
            .map(|run| run.join().unwrap())
            .collect::<Vec<_>>()
    });
    let failures: Vec<String> = outcomes.into_iter().flatten().collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

#[test]
fn few_blocks_are_not_run() {
    let mut reasons = Vec::new();
    for page in pages() {
        for block in page
            .blocks
            .iter()
            .filter(|block| block.attribute("no-run").is_some())
        {
            let reason = block.attribute("no-run").unwrap_or_default();
            let place = format!("{}:{}", page.path, block.line);
            assert!(reason.len() > 10, "{place}: say why the block is not run");
            reasons.push(format!("{place}: {reason}"));
        }
    }
    assert!(
        reasons.len() <= MOST_NOT_RUN,
        "{}\n{}",
        reasons.len(),
        reasons.join("\n")
    );
}

/// Verbs and options of `gyrator` in blocks that are not run.
#[test]
fn commands_that_are_not_run_have_known_options() {
    let pages = pages();
    let blocks = pages
        .iter()
        .flat_map(|page| page.blocks.iter().map(move |block| (page, block)));
    let mut seen = 0;
    for (page, block) in blocks.filter(|(_, block)| block.language == "sh" && !is_command(block)) {
        for command in block
            .text
            .replace("\\\n", " ")
            .split(['\n', ';', '&', '|', '#'])
        {
            let mut words = command
                .split_whitespace()
                .skip_while(|word| *word == "time");
            let program = words.next().and_then(|word| word.rsplit('/').next());
            if program != Some("gyrator") {
                continue;
            }
            let verb = words.next().unwrap();
            let output = Command::new(env!("CARGO_BIN_EXE_gyrator"))
                .args([verb, "--help"])
                .output();
            let help = String::from_utf8(output.unwrap().stdout).unwrap();
            let known: Vec<&str> = help.split([' ', ',', '=', '[', '\n']).collect();
            let place = format!("{}:{}: gyrator {verb}", page.path, block.line);
            assert!(known.contains(&"--help"), "{place}: no such verb");
            for option in words.filter(|word| word.starts_with("--")) {
                let option = option.split('=').next().unwrap();
                assert!(known.contains(&option), "{place}: no option {option}");
                seen += 1;
            }
        }
    }
    assert!(seen > 10, "{seen} options");
}

/// Every block has a language that a test, or the note on it, is about.
#[test]
fn blocks_have_a_known_language() {
    const KNOWN: [&str; 11] = [
        "sh", "setup", "text", "toml", "rust", "python", "c", "xml", "yaml", "csv", "json",
    ];
    for page in pages() {
        for block in &page.blocks {
            let is_known = KNOWN.contains(&block.language.as_str());
            assert!(
                is_known,
                "{}:{}: language {:?}",
                page.path, block.line, block.language
            );
        }
    }
}

fn is_command(block: &Block) -> bool {
    block.language == "sh" && block.attribute("no-run").is_none()
}

/// Runs the commands of a page in one shell; what went wrong.
fn run(page: &Page) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    furnish(folder.path());
    let output = Command::new("bash")
        .args(["-c", &script(page, folder.path())])
        .current_dir(folder.path())
        .env("PATH", search_path(folder.path()))
        .env_remove("COLUMNS")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    if output.status.success() {
        return check_pictures(page, folder.path()).or_else(|| check_outputs(page, &output));
    }
    let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| tail(&bytes));
    Some(format!(
        "{}: {}\n{stdout}\n{stderr}",
        page.path, output.status
    ))
}

/// The pictures that stand beside a page of the gallery are those that its commands draw.
fn check_pictures(page: &Page, folder: &Path) -> Option<String> {
    let beside = Path::new(&page.path).parent().filter(|at| is_gallery(at))?;
    let names = page.links.iter().map(|(_, link)| link);
    let pictures = names.filter(|name| name.ends_with(".svg") && !name.contains('/'));
    let wrong = pictures.filter(|name| {
        let drawn = std::fs::read(folder.join(beside).join(name)).ok();
        let committed = root().join(beside).join(name);
        let is_same = drawn.is_some() && std::fs::read(&committed).ok() == drawn;
        if let Some(drawn) = drawn.filter(|_| !is_same && is_written_anew()) {
            std::fs::write(committed, drawn).unwrap();
            return false;
        }
        !is_same
    });
    let wrong: Vec<&str> = wrong.map(String::as_str).collect();
    (!wrong.is_empty()).then(|| {
        let (path, wrong) = (&page.path, wrong.join(", "));
        format!(
            "{path}: its commands do not draw {wrong} as it stands there; after a look at the new picture: \
             GYRATOR_WRITE_DOCS=1 cargo test --package gyrator-cli --test docs commands_run"
        )
    })
}

/// What a page shows and its commands do not print, line by line, whatever the spaces between words. A line that ends with
/// `…` is the beginning of one.
fn check_outputs(page: &Page, output: &Output) -> Option<String> {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let texts =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let lines = texts.iter().flat_map(|text| text.lines());
    let printed: BTreeSet<String> = lines.map(words).collect();
    let is_printed = |line: &str| match line.strip_suffix('…') {
        Some(start) => printed
            .iter()
            .any(|line| line.starts_with(start.trim_end())),
        None => printed.contains(line),
    };
    let is_shown =
        |block: &&Block| block.language == "text" && block.attribute("not-held").is_none();
    let shown = page.blocks.iter().filter(is_shown).flat_map(|block| {
        let lines = block.text.lines();
        lines.map(move |line| (block.line, words(line)))
    });
    // How long a run took is another number every time.
    let wrong = shown
        .filter(|(_, line)| !line.is_empty() && !line.starts_with("time: ") && !is_printed(line));
    let wrong: Vec<String> = wrong
        .map(|(start, line)| format!("{}:{start}: no command prints: {line}", page.path))
        .collect();
    (!wrong.is_empty()).then(|| wrong.join("\n"))
}

/// Whether stale pages and pictures are written again.
pub(crate) fn is_written_anew() -> bool {
    std::env::var_os("GYRATOR_WRITE_DOCS").is_some()
}

fn is_gallery(folder: &Path) -> bool {
    folder.starts_with("examples")
}

fn tail(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}

/// The parts of the repository that commands name.
fn furnish(folder: &Path) {
    let release = folder.join("target/release");
    std::fs::create_dir_all(&release).unwrap();
    let fmus = gyrator_testkit::fmu("OscillatorForce");
    std::os::unix::fs::symlink(fmus.parent().unwrap(), folder.join("target/fmus")).unwrap();
    for (name, program) in [
        ("gyrator", env!("CARGO_BIN_EXE_gyrator")),
        ("gyrator-benchmark", env!("CARGO_BIN_EXE_gyrator-benchmark")),
    ] {
        std::os::unix::fs::symlink(program, release.join(name)).unwrap();
    }
    copy(&root().join("examples"), &folder.join("examples"));
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let copied = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true if entry.file_name() == "target" => {}
            // The pictures are drawn by the commands.
            false if copied.extension().is_some_and(|ending| ending == "svg") => {}
            true => copy(&entry.path(), &copied),
            false => drop(std::fs::copy(entry.path(), copied).unwrap()),
        }
    }
}

fn search_path(folder: &Path) -> std::ffi::OsString {
    let programs = folder.join("target/release");
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths(std::iter::once(programs).chain(std::env::split_paths(&path))).unwrap()
}

/// The blocks of a page, one after the other, each in a shell of its own that begins in the page's folder.
fn script(page: &Page, folder: &Path) -> String {
    let mut script = format!(
        "set -euo pipefail\ncargo() {{ case \"$*\" in {cargo}) ;; *) echo \"cargo $*: the tests do not run this\" >&2; return 1;; esac; }}\n",
        cargo = DONE_BY_CARGO
            .split('|')
            .map(|words| format!("'{words}'"))
            .collect::<Vec<_>>()
            .join("|")
    );
    // The pages of the gallery are read in their folders.
    let start = Path::new(&page.path).parent().filter(|at| is_gallery(at));
    let start = start.map_or(folder.to_owned(), |at| folder.join(at));
    for block in &page.blocks {
        let text = match (block.language.as_str(), block.attribute("file")) {
            ("sh", _) if is_command(block) => lines(&block.text),
            ("setup", _) => block.text.clone(),
            ("toml" | "csv" | "json" | "python" | "text", Some(name)) => {
                format!(
                    "cat > '{name}' <<'END OF FILE'\n{}END OF FILE\n",
                    block.text
                )
            }
            _ => continue,
        };
        let (line, start) = (block.line, start.display());
        // A program that outlived a block that failed would keep the pipe of the output open, and the test waiting.
        let end = "trap 'kill $(jobs -p) 2> /dev/null || true' EXIT";
        let _ = write!(
            script,
            "echo '-- line {line}' >&2\n(\n{end}\ncd '{start}'\n{text})\n"
        );
    }
    script
}

/// Lines with the exit codes that their comments announce.
fn lines(text: &str) -> String {
    let joined = text.replace("\\\n", " ");
    let line = |line: &str| {
        let code = line.split_once("# exit code ").map(|(_, rest)| rest);
        let code: Option<String> =
            code.map(|rest| rest.chars().take_while(char::is_ascii_digit).collect());
        match code {
            Some(code) => format!("code=0\n{{ {line}\n}} || code=$?\n[ $code = {code} ]\n"),
            None => format!("{line}\n"),
        }
    };
    joined.lines().map(line).collect()
}
