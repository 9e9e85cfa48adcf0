//! The keys of study files, as the reference of the documentation lists them. A test holds them against the reader.

use gyrator_system::toml_file::{Key, KeyTable};

/// The tables of a study file.
pub const STUDY_KEYS: &[KeyTable] = &[
    KeyTable {
        table: "",
        purpose: "Above the first table, and the tables themselves ([studies](../studies.md)).",
        keys: &[
            Key::new(
                "system",
                "path",
                "the system: TOML, SSP or OSP; relative to the study file",
                "required",
            ),
            Key::new(
                "resume",
                "path",
                "state of `run --save-state` from which all runs go on",
                "none",
            ),
            Key::new(
                "vary",
                "list of tables",
                "blocks of points, which are crossed; the last one varies fastest",
                "one case",
            ),
            Key::new(
                "require",
                "text, or list",
                "comparisons of products of numbers and varied keys; cases that do not meet all of them are left out",
                "`[]`",
            ),
            Key::new(
                "variants",
                "table of tables",
                "settings with each of which every case is run",
                "one without settings",
            ),
            Key::new(
                "reference",
                "name, or table",
                "the variant that errors are measured against, or `{ file = \"measured.csv\" }`",
                "none",
            ),
            Key::new("metrics", "list of tables", "what is measured", "energies"),
            Key::new(
                "wall_time",
                "true or false",
                "a column of the computer's time, s",
                "`false`",
            ),
            Key::new(
                "accept_divergence",
                "true or false",
                "runs that diverge are no failure of the study",
                "`false`",
            ),
        ],
    },
    KeyTable {
        table: "[[vary]]",
        purpose: "A block has one of `grid`, `zip`, `list`, `random` and `file`.",
        keys: &[
            Key::new(
                "grid",
                "table",
                "every combination of the values of its keys; the last key varies fastest",
                "",
            ),
            Key::new("zip", "table", "the values of its keys side by side", ""),
            Key::new("list", "list of tables", "the points one by one", ""),
            Key::new(
                "random",
                "table",
                "a distribution for each key: `uniform`, `log_uniform`, `normal`, `choice`",
                "",
            ),
            Key::new(
                "count",
                "whole number",
                "points of `random`",
                "required there",
            ),
            Key::new("seed", "whole number", "of the stream of `random`", "1"),
            Key::new("file", "path", "the rows of a CSV file", ""),
            Key::new(
                "columns",
                "table",
                "the keys that columns of `file` stand for",
                "the names of the columns",
            ),
        ],
    },
    KeyTable {
        table: "[[metrics]]",
        purpose: "Quantities of variables, which are names or lists of names: outputs, or values of bonds.",
        keys: &[
            Key::new(
                "name",
                "text",
                "put before the names of the columns",
                "none",
            ),
            Key::new(
                "window",
                "list of two numbers, s",
                "part of the run that is looked at; both ends belong to it",
                "the whole run",
            ),
            Key::new("final", "name, or list", "the last value", ""),
            Key::new("minimum", "name, or list", "the least value", ""),
            Key::new("maximum", "name, or list", "the greatest value", ""),
            Key::new("rms", "name, or list", "root of the mean square", ""),
            Key::new(
                "error_rms",
                "name, or list",
                "root of the mean squared difference to the reference",
                "",
            ),
            Key::new(
                "nrms",
                "name, or list",
                "that over the range of the reference",
                "",
            ),
            Key::new(
                "energies",
                "true, false, or list",
                "energies, audit and verdicts of all bonds, of none, or of these",
                "`true`",
            ),
            Key::new(
                "error_bars",
                "name, or list",
                "the estimated error of an output ([error bars](../error-bars.md)); not with `window` or `name`",
                "",
            ),
        ],
    },
    KeyTable {
        table: "`reference`",
        purpose: "In place of the name of a variant.",
        keys: &[Key::new(
            "file",
            "path",
            "a result, CSV or Parquet",
            "required",
        )],
    },
];

#[cfg(test)]
mod tests {
    use super::STUDY_KEYS;

    /// The reference has every key that the reader takes, and no other one.
    #[test]
    fn the_reference_has_the_keys_of_the_reader() {
        let texts = [
            "'?' = 1\n",
            "[[vary]]\n'?' = 1\n",
            "[[metrics]]\n'?' = 1\n",
            "reference = { '?' = 1 }\n",
        ];
        assert_eq!(texts.len(), STUDY_KEYS.len());
        for (table, text) in STUDY_KEYS.iter().zip(texts) {
            let problems = crate::parse(text, "study.toml").unwrap_err().list;
            let unknown = problems
                .iter()
                .find(|problem| problem.rule == "unknown-key");
            let help = unknown.and_then(|problem| problem.help.as_deref()).unwrap();
            let mut read: Vec<&str> = help
                .trim_start_matches("known keys: ")
                .split(", ")
                .collect();
            let mut listed: Vec<&str> = table.keys.iter().map(|key| key.name).collect();
            read.sort_unstable();
            listed.sort_unstable();
            assert_eq!(read, listed, "{}", table.table);
        }
    }
}
