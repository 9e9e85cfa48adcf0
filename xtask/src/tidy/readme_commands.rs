//! Checks that the commands of the README and of `docs/` exist: verbs and long options, as the help
//! texts of the programs list them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Finding, TextFile};

/// A command line in a code fence, cut down to what can be checked.
#[derive(Debug, PartialEq, Eq)]
struct Invocation {
    line: usize,
    program: Program,
    /// The first word that is no option.
    verb: Option<String>,
    /// Long options, without values.
    options: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Program {
    Xtask,
    Gyrator,
}

impl Program {
    fn name(self) -> &'static str {
        match self {
            Program::Xtask => "cargo xtask",
            Program::Gyrator => "gyrator",
        }
    }
}

/// Where the help texts of the two programs come from.
pub(super) struct Tools {
    root: PathBuf,
    xtask: clap::Command,
    gyrator_help: BTreeMap<String, Result<String, String>>,
}

impl Tools {
    pub(super) fn new(root: &Path, xtask: clap::Command) -> Self {
        Self {
            root: root.to_owned(),
            xtask,
            gyrator_help: BTreeMap::new(),
        }
    }
}

/// Source of the long help text of a verb, or of the reason why there is none.
trait Help {
    fn of(&mut self, program: Program, verb: Option<&str>) -> Result<String, String>;
}

impl Help for Tools {
    fn of(&mut self, program: Program, verb: Option<&str>) -> Result<String, String> {
        match program {
            Program::Xtask => help_of(&mut self.xtask, verb),
            Program::Gyrator => {
                let key = verb.unwrap_or_default().to_owned();
                let root = &self.root;
                self.gyrator_help
                    .entry(key)
                    .or_insert_with(|| gyrator_help(root, verb))
                    .clone()
            }
        }
    }
}

fn help_of(command: &mut clap::Command, verb: Option<&str>) -> Result<String, String> {
    let Some(verb) = verb else {
        return Ok(command.render_long_help().to_string());
    };
    match command.find_subcommand_mut(verb) {
        Some(command) => Ok(command.render_long_help().to_string()),
        None => Err(format!("no verb `{verb}`")),
    }
}

/// Asks the program, built from this checkout; of a verb with verbs of its own, for their help, too.
fn gyrator_help(root: &Path, verb: Option<&str>) -> Result<String, String> {
    let program = crate::programs::gyrator_for_tests(root, &crate::target())?;
    let ask = |words: &[&str]| {
        let output = Command::new(&program)
            .args(words)
            .arg("--help")
            .current_dir(root)
            .output()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let reason = String::from_utf8_lossy(&output.stderr);
        Err(reason.lines().next().unwrap_or("--help fails").to_owned())
    };
    let Some(verb) = verb else {
        return ask(&[]);
    };
    let mut text = ask(&[verb])?;
    for own in verbs_of(&text.clone()) {
        text.push_str(&ask(&[verb, own])?);
    }
    Ok(text)
}

/// The verbs that a help text lists.
fn verbs_of(help: &str) -> Vec<&str> {
    let Some((_, list)) = help.split_once("Commands:\n") else {
        return Vec::new();
    };
    let lines = list.lines().take_while(|line| line.starts_with("  "));
    // Descriptions that go on are further to the right.
    let verbs = lines.filter(|line| !line.starts_with("   "));
    verbs
        .filter_map(|line| line.split_whitespace().next())
        .filter(|verb| *verb != "help")
        .collect()
}

pub(super) fn check(files: &[TextFile], tools: &mut Tools) -> Vec<Finding> {
    let is_manual = |file: &&TextFile| {
        file.path == "README.md" || file.path.starts_with("docs/") && file.path.ends_with(".md")
    };
    let manuals = files.iter().filter(is_manual);
    let mut findings: Vec<_> = manuals.flat_map(|text| check_manual(text, tools)).collect();
    if files.iter().all(|file| file.path != "README.md") {
        findings.push(Finding::new("README.md", 0, "missing"));
    }
    findings
}

fn check_manual(manual: &TextFile, help: &mut dyn Help) -> Vec<Finding> {
    let mut findings = Vec::new();
    for call in invocations(&manual.text) {
        let name = call.program.name();
        let text = match help.of(call.program, call.verb.as_deref()) {
            Ok(text) => text,
            Err(reason) => {
                findings.push(Finding::new(
                    &manual.path,
                    call.line,
                    format!("{name}: {reason}"),
                ));
                continue;
            }
        };
        for option in call
            .options
            .iter()
            .filter(|option| !mentions(&text, option))
        {
            let verb = call.verb.as_deref().unwrap_or_default();
            let message = format!("{name} {verb}: no option {option}");
            findings.push(Finding::new(&manual.path, call.line, message));
        }
    }
    findings
}

/// True if the help text holds the option, and not only a longer one that begins alike.
fn mentions(help: &str, option: &str) -> bool {
    help.match_indices(option).any(|(at, _)| {
        let next = help[at + option.len()..].chars().next();
        !next.is_some_and(|c| c.is_alphanumeric() || c == '-')
    })
}

/// The command lines in the code fences of a Markdown text.
fn invocations(markdown: &str) -> Vec<Invocation> {
    let mut found = Vec::new();
    let mut in_fence = false;
    let mut lines = markdown.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        if line.trim_start().starts_with("```") {
            in_fence = !in_fence;
            continue;
        }
        if !in_fence {
            continue;
        }
        let mut whole = line.to_owned();
        while let Some(head) = whole.strip_suffix('\\') {
            let rest = lines.next().map_or("", |(_, line)| line);
            whole = format!("{head} {}", rest.trim_start());
        }
        let commands = whole.split(['|', ';', '#', '>', '&']);
        found.extend(commands.filter_map(|command| invocation(index + 1, command)));
    }
    found
}

fn invocation(line: usize, command: &str) -> Option<Invocation> {
    let words = command
        .split_whitespace()
        .skip_while(|word| *word == "$" || word.contains('='));
    let words: Vec<&str> = words.collect();
    let (program, arguments) = match words.as_slice() {
        ["cargo", "xtask", arguments @ ..] => (Program::Xtask, arguments),
        ["cargo", "run", rest @ ..] if rest.iter().any(|word| word.contains("gyrator")) => {
            let start = rest
                .iter()
                .position(|word| *word == "--")
                .map_or(rest.len(), |at| at + 1);
            (Program::Gyrator, &rest[start..])
        }
        [program, arguments @ ..] if program.rsplit('/').next() == Some("gyrator") => {
            (Program::Gyrator, arguments)
        }
        _ => return None,
    };
    let verb = arguments.first().filter(|word| !word.starts_with('-'));
    let options = arguments
        .iter()
        .filter(|word| word.starts_with("--") && word.len() > 2);
    let options = options.map(|word| word.split('=').next().unwrap_or(word).to_owned());
    Some(Invocation {
        line,
        program,
        verb: verb.map(|word| (*word).to_owned()),
        options: options.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::file;

    struct OneVerb;

    impl Help for OneVerb {
        fn of(&mut self, _: Program, verb: Option<&str>) -> Result<String, String> {
            match verb {
                None | Some("run") => {
                    Ok("Usage: run\n  --summary <FILE>\n  --stop-time <T>\n".into())
                }
                Some(verb) => Err(format!("no verb `{verb}`")),
            }
        }
    }

    fn found(readme: &str) -> Vec<String> {
        let findings = check_manual(&file("README.md", readme), &mut OneVerb);
        findings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn verbs_of_verbs_are_found_in_help() {
        let help = "Runs\n\nCommands:\n  list   Prints\n         more\n  help   Print\n\nOptions:\n  -o, --out\n";
        assert_eq!(verbs_of(help), ["list"]);
        assert_eq!(verbs_of("Runs\n"), [""; 0]);
    }

    #[test]
    fn verbs_and_options_that_exist_are_fine() {
        let text = "```sh\ncargo xtask run\n$ ./target/release/gyrator run a.toml --summary=s.json > o\n```\n";
        assert!(found(text).is_empty());
    }

    #[test]
    fn an_unknown_verb_and_an_unknown_option_are_found() {
        let text = "```sh\ncargo xtask dmeo\ngyrator run \\\n    a.toml --stop\n```\ngyrator no\n";
        assert_eq!(
            found(text),
            [
                "README.md:2: cargo xtask: no verb `dmeo`",
                "README.md:3: gyrator run: no option --stop"
            ]
        );
    }

    #[test]
    fn cargo_run_is_seen_through() {
        let calls =
            invocations("```\nRUST_LOG=info cargo run --release -p gyrator-cli -- run x\n```");
        assert_eq!(calls[0].program, Program::Gyrator);
        assert_eq!(calls[0].verb.as_deref(), Some("run"));
        assert!(calls[0].options.is_empty());
    }

    #[test]
    fn other_commands_are_not_ours() {
        assert!(invocations("```\ncargo test --workspace\ngit clone x\n```").is_empty());
    }

    #[test]
    fn xtask_is_asked_by_its_definition() {
        let command = || clap::Command::new("xtask").subcommand(clap::Command::new("fmus"));
        assert!(help_of(&mut command(), Some("fmus")).is_ok());
        assert!(help_of(&mut command(), Some("fmu")).is_err());
    }
}
