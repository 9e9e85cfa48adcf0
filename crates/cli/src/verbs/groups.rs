//! The verbs in groups, for `gyrator --help`. The command line asks for it once; it changes no verb.

use std::fmt::Write as _;

use clap::Command;
use clap::builder::StyledStr;

/// Headings and their verbs, as in docs/verbs.md. A verb that is in none comes under [`OTHER`].
const GROUPS: [(&str, &[&str]); 6] = [
    ("Run", &["run", "simulate", "new"]),
    ("Look", &["inspect", "plot", "report", "list"]),
    ("Judge", &["doctor", "compare", "validate", "benchmark"]),
    ("Vary", &["study", "fit", "learn", "design-hinfinity"]),
    ("Share", &["export", "pack", "convert", "replay", "serve"]),
    ("Make FMUs", &["new-fmu", "compile"]),
];

const OTHER: &str = "Other";

/// The program, whose help shows its verbs in groups.
pub(super) fn grouped(command: Command) -> Command {
    let list = list(&command);
    let mut template = StyledStr::from("{about-with-newline}\n{usage-heading} {usage}\n\n");
    template.push_str(&list.ansi().to_string());
    let header = command.get_styles().get_header();
    let options = format!("{header}Options:{header:#}\n{{options}}{{after-help}}");
    template.push_str(&options);
    command.help_template(template)
}

/// All verbs, group by group.
fn list(command: &Command) -> StyledStr {
    let mut text = String::new();
    let is_grouped = |name: &str| GROUPS.iter().any(|(_, verbs)| verbs.contains(&name));
    let names = command.get_subcommands().map(Command::get_name);
    let mut others: Vec<&str> = names.filter(|name| !is_grouped(name)).collect();
    others.push("help");
    let width = "design-hinfinity".len();
    let (header, literal) = (
        command.get_styles().get_header(),
        command.get_styles().get_literal(),
    );
    let groups = GROUPS.iter().copied();
    for (heading, verbs) in groups.chain([(OTHER, &others[..])]) {
        _ = writeln!(text, "{header}{heading}:{header:#}");
        for name in verbs {
            let verb = command.find_subcommand(name);
            let about = match verb.and_then(Command::get_about) {
                Some(about) => about.to_string(),
                None if *name == "help" => "Print this help, or that of a verb".to_owned(),
                // A verb that this build does not have.
                None => continue,
            };
            _ = writeln!(text, "  {literal}{name:width$}{literal:#}  {about}");
        }
        text.push('\n');
    }
    text.into()
}
