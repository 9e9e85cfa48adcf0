//! The keys of files of checks beside the [kinds](super::KINDS), as the reference of the documentation lists them. A test holds both
//! against the reader.

use gyrator_system::toml_file::{Key, KeyTable};

/// The tables of a file of checks; `[[checks]]` has the words of the kinds besides.
pub const CHECK_KEYS: &[KeyTable] = &[
    KeyTable {
        table: "",
        purpose: "The file has one list.",
        keys: &[Key::new(
            "checks",
            "list of tables",
            "the checks",
            "required",
        )],
    },
    KeyTable {
        table: "[[checks]]",
        purpose: "One subject, and one or several requirements on it ([checks](../checks.md)).",
        keys: &[
            Key::new(
                "name",
                "text",
                "its name in reports",
                "the check in a sentence",
            ),
            Key::new(
                "signal",
                "text",
                "variables it is about; `*` and `?` stand for any text and any character",
                "",
            ),
            Key::new(
                "bond",
                "text",
                "bonds it is about, in place of signals",
                "the whole system",
            ),
            Key::new(
                "component",
                "text",
                "components it is about, in place of signals",
                "",
            ),
            Key::new("from", "number, s", "from when on", "the start"),
            Key::new("until", "number, s", "until when", "the end"),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::CHECK_KEYS;
    use crate::checks::{KINDS, parse};

    /// The reference has every key that the reader takes, and no other one.
    #[test]
    fn the_reference_has_the_keys_of_the_reader() {
        for (table, text) in CHECK_KEYS
            .iter()
            .zip(["'?' = 1\n", "[[checks]]\n'?' = 1\n"])
        {
            let problems = parse(text, "checks.toml").unwrap_err().list;
            let unknown = problems
                .iter()
                .find(|problem| problem.rule == "unknown-key");
            let help = unknown.and_then(|problem| problem.help.as_deref()).unwrap();
            let mut read: Vec<&str> = help
                .trim_start_matches("known keys: ")
                .split(", ")
                .collect();
            let kinds = KINDS.iter().filter(|_| !table.table.is_empty());
            let own = table.keys.iter().map(|key| key.name);
            let mut listed: Vec<&str> = own.chain(kinds.map(|kind| kind.word)).collect();
            read.sort_unstable();
            listed.sort_unstable();
            assert_eq!(read, listed, "{}", table.table);
        }
    }
}
