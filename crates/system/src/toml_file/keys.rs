//! The keys of system and scenario files, as the reference of the documentation lists them. Tests hold them against the reader, which
//! names the keys that it knows where it finds another one.

use super::interface_models::OPTIONS;

/// A table of a file, with its keys.
#[derive(Debug, Clone, Copy)]
pub struct KeyTable {
    /// The table as it is written, such as `[experiment]`; empty for keys above all tables.
    pub table: &'static str,
    /// The purpose of the table.
    pub purpose: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

/// A key of a file.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The key.
    pub name: &'static str,
    /// The kind of its value.
    pub value: &'static str,
    /// Meaning, with unit; Markdown, with links from a folder of `docs/`.
    pub meaning: &'static str,
    /// The value where the key is left out; `required` where it may not be.
    pub default: &'static str,
}

impl Key {
    /// A key.
    pub const fn new(
        name: &'static str,
        value: &'static str,
        meaning: &'static str,
        default: &'static str,
    ) -> Self {
        Self {
            name,
            value,
            meaning,
            default,
        }
    }
}

/// The tables of a system file.
pub const SYSTEM_KEYS: &[KeyTable] = &[
    KeyTable {
        table: "",
        purpose: "Above the first table, and the tables themselves.",
        keys: &[
            Key::new(
                "include",
                "path, or list",
                "further files, whose tables are added ([several files](../system-files.md#several-files-and-defaults))",
                "`[]`",
            ),
            Key::new("experiment", "table", "when and how the system is run", ""),
            Key::new(
                "defaults",
                "table",
                "keys of all components that do not give their own",
                "",
            ),
            Key::new(
                "components",
                "table of tables",
                "the FMUs and blocks, by their names",
                "required",
            ),
            Key::new(
                "connections",
                "list",
                "tables, or pairs `[\"a.y\", \"b.u\"]`",
                "`[]`",
            ),
            Key::new("bonds", "list of tables", "power bonds", "`[]`"),
            Key::new(
                "interface_models",
                "list of tables",
                "reduced models that fast components exchange values with",
                "`[]`",
            ),
        ],
    },
    KeyTable {
        table: "[experiment]",
        purpose: "When and how the system is run. Options of `run` take the place of each of them.",
        keys: &[
            Key::new(
                "start_time",
                "number, s",
                "simulated time at the start",
                "0",
            ),
            Key::new(
                "stop_time",
                "number, s",
                "simulated time at the end",
                "`--stop-time`",
            ),
            Key::new(
                "duration",
                "number, s",
                "in place of `stop_time`, from the start",
                "",
            ),
            Key::new("step_size", "number, s", "macro-step", "`--step-size`"),
            Key::new(
                "tolerance",
                "number",
                "relative, for FMUs with a solver of their own",
                "none is passed",
            ),
            Key::new(
                "method",
                "word",
                "order of the units and their inputs ([words](words.md#methods))",
                "`\"jacobi\"`",
            ),
            Key::new(
                "exchange",
                "word",
                "value that is passed on after a step: `auto`, `stale`, `fresh`, `compensated` ([words](words.md#exchange-modes))",
                "`\"auto\"`",
            ),
            Key::new(
                "step_control",
                "word",
                "size of the macro-steps ([words](words.md#step-controls))",
                "`\"fixed\"`",
            ),
            Key::new(
                "extrapolation",
                "word",
                "course of all inputs within a step ([words](words.md#extrapolations))",
                "`\"hold\"`",
            ),
            Key::new(
                "scenario",
                "path",
                "file of actions on variables at given times ([scenarios](../scenarios.md))",
                "none",
            ),
        ],
    },
    KeyTable {
        table: "[components.NAME]",
        purpose: "An FMU or a block. `[defaults]` has the same keys, for all components that do not give their own; start values are added one by one.",
        keys: &[
            Key::new(
                "block",
                "word",
                "a source or a function in place of an FMU ([words](words.md#blocks))",
                "",
            ),
            Key::new(
                "fmu",
                "path",
                "the FMU; one of `fmu` and `block` is there",
                "required",
            ),
            Key::new(
                "step_size",
                "number, s",
                "communication step: divides the macro-step or is a multiple of it",
                "macro-step",
            ),
            Key::new(
                "extrapolation",
                "word",
                "of all inputs of this component",
                "as `[experiment]`",
            ),
            Key::new(
                "exchange",
                "word",
                "of all outputs of this component",
                "as `[experiment]`",
            ),
            Key::new(
                "start_values",
                "table",
                "`{ variable = value, … }`",
                "those of the FMU",
            ),
            Key::new(
                "preload",
                "list of texts",
                "shared libraries to load first, by name",
                "`[]`; libpython by itself where the FMU lacks it",
            ),
            Key::new(
                "library_path",
                "list of paths",
                "directories where shared libraries are looked for first",
                "`[]`",
            ),
            Key::new(
                "step_halvings",
                "whole number",
                "how often a step that the FMU discards is divided and tried again, where the FMU says that it came to or else in halves, at most 16; needs an FMU that saves its state",
                "0",
            ),
            Key::new(
                "isolate",
                "true or false",
                "`true` gives the FMU a process of its own, `false` never does ([reliability](../reliability.md))",
                "where two instances cannot share one",
            ),
            Key::new(
                "restart",
                "whole number, or table",
                "how often that process is started anew from a saved state when it is lost; isolates the FMU",
                "its loss ends the run",
            ),
            Key::new(
                "propagate_initial_inputs",
                "true or false",
                "`false` keeps the inputs' start values at the start",
                "`true`",
            ),
        ],
    },
    KeyTable {
        table: "`restart` of `[components.NAME]`",
        purpose: "`restart = 3` is `restart = { times = 3 }`.",
        keys: &[
            Key::new(
                "times",
                "whole number",
                "how often the process is started anew",
                "required",
            ),
            Key::new("every", "whole number", "steps between saved states", "100"),
        ],
    },
    KeyTable {
        table: "[[connections]]",
        purpose: "An output that feeds an input. The pairs of a bond take `from`, `to`, `gain` and `derivative`.",
        keys: &[
            Key::new(
                "from",
                "text",
                "`\"component.variable\"`, an output; or a [pattern](../system-files.md#many-connections-in-few-lines)",
                "required",
            ),
            Key::new("to", "text", "an input, likewise", "required"),
            Key::new(
                "gain",
                "number",
                "the input receives gain · output + offset, once units of measure are converted; in a bond a factor of the power, which leaves the signal alone",
                "1",
            ),
            Key::new(
                "offset",
                "number",
                "in the unit of the input; not in a bond",
                "0",
            ),
            Key::new(
                "convert",
                "word, or table",
                "for types between which values may be lost: `round`, `floor`, `ceiling`, `truncate`, `nonzero`, or `{ off = 0, on = 1 }` ([units and types](../system-files.md#units-and-types-of-connected-variables))",
                "none",
            ),
            Key::new(
                "unit_conversion",
                "true or false",
                "`false` ignores the units that the FMUs declare",
                "`true`",
            ),
            Key::new(
                "derivative",
                "text",
                "variable of the output's component that is the output's derivative, for `hermite`",
                "as the FMU declares",
            ),
        ],
    },
    KeyTable {
        table: "[[bonds]]",
        purpose: "Two connections, or as many pairs of them as there are axes, whose product is a power ([power bonds](../bonds.md)).",
        keys: &[
            Key::new(
                "name",
                "text",
                "its name, in reports and columns",
                "required",
            ),
            Key::new("effort", "pair, or list", "from end a to end b", "required"),
            Key::new(
                "flow",
                "pair, or list",
                "as many, from end b to end a",
                "required",
            ),
            Key::new(
                "sense",
                "1 or −1",
                "−1 where the FMUs count the effort the other way",
                "1",
            ),
            Key::new(
                "correction",
                "word",
                "what is done about residual energy ([words](words.md#corrections))",
                "`\"off\"`",
            ),
            Key::new(
                "max_residual_energy",
                "number, J",
                "the run ends with exit code 6 when the residual energy is larger",
                "none",
            ),
        ],
    },
    KeyTable {
        table: "[[interface_models]]",
        purpose: "Lets fast components exchange values with a reduced model of a slow one within the macro-step ([interface models](../coupling.md#interface-models)). \
                  Lists have one entry a velocity, in the order in which the bonds name the velocities first.",
        keys: &[
            Key::new("name", "text", "its name, in reports", "required"),
            Key::new(
                "component",
                "text",
                "the slow component; it gives the flows of the bonds",
                "required",
            ),
            Key::new(
                "bonds",
                "name, or list",
                "bonds whose efforts come from the fast components",
                "required",
            ),
            Key::new(
                "exchange_step",
                "number, s",
                "d; divides the macro-step; also the communication step of the fast components, unless theirs divides it",
                "required",
            ),
            Key::new(
                "order",
                "word",
                "the side that steps first ([words](words.md#interface-orders))",
                "`\"parallel\"`",
            ),
            Key::new(
                "positions",
                "name, or list",
                "outputs of the component, one a velocity; an input of a fast component that they feed follows the reduced model",
                "the variables whose derivatives the velocities are declared to be",
            ),
            Key::new(
                "inverse_mass",
                "name, or list",
                "outputs of the component: W, all elements row by row, the upper triangle, or the diagonal",
                "",
            ),
            Key::new(
                "free_acceleration",
                "name, or list",
                "outputs of the component: b",
                "",
            ),
            Key::new(
                "accelerations",
                "name, or list",
                "in place of these two: outputs a; W = ∂a/∂λ by directional derivatives, or two evaluations where that is declared safe; b = a − W·λ",
                "",
            ),
            Key::new(
                "forces",
                "name, or list",
                "outputs of the fast components: the whole forces λ",
                "Σ gain · effort over the bonds",
            ),
            Key::new(
                "stiffness",
                "name, or list",
                "outputs of the fast components for `force = \"predicted\"`: −∂λ̇/∂v",
                "",
            ),
            Key::new("force_rates", "name, or list", "likewise: λ̇", ""),
            Key::new(
                OPTIONS[0],
                "word",
                "the force that the slow component receives: `hold`, `predicted`, `mean` ([interface models](../coupling.md#interface-models))",
                "`\"hold\"`",
            ),
            Key::new(
                OPTIONS[1],
                "word",
                "`hold`: the fast components hold (sₖ₊₁, wₖ₊₁); `linear`: they follow the line from (sₖ, wₖ), where they take sub-steps or input derivatives",
                "`\"hold\"`",
            ),
            Key::new(
                OPTIONS[2],
                "number",
                "share γ of s − ∫v dt, where v is the velocity that was fed, that is added to v over the next macro-step",
                "0",
            ),
            Key::new(
                OPTIONS[3],
                "number",
                "f. An effective mass that is 30 % too large costs most of the stability, one that is half as large next to nothing: rather too small",
                "1",
            ),
            Key::new(
                OPTIONS[4],
                "whole number",
                "W and b are used so many macro-steps late",
                "0",
            ),
        ],
    },
];

/// The tables of a scenario file.
pub const SCENARIO_KEYS: &[KeyTable] = &[
    KeyTable {
        table: "",
        purpose: "The file has one list.",
        keys: &[Key::new(
            "actions",
            "list of tables",
            "the actions",
            "required",
        )],
    },
    KeyTable {
        table: "[[actions]]",
        purpose: "Something that is done to a variable ([scenarios](../scenarios.md)).",
        keys: &[
            Key::new("time", "number, s", "when it begins", "required"),
            Key::new("until", "number, s", "when it ends", "it does not end"),
            Key::new(
                "variable",
                "text",
                "`\"component.variable\"`: an input, a connected output, or a tunable parameter",
                "required",
            ),
            Key::new(
                "action",
                "word",
                "what is done ([words](words.md#actions))",
                "required",
            ),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::{KeyTable, SCENARIO_KEYS, SYSTEM_KEYS};
    use crate::Problems;
    use crate::toml_file::{parse, parse_scenario};

    /// The keys that a reader knows, by its advice on an unknown one.
    fn known(problems: Option<Problems>) -> Vec<String> {
        let list = problems.map_or(Vec::new(), |problems| problems.list);
        let unknown = list
            .iter()
            .find(|problem| problem.rule == "unknown-key")
            .unwrap();
        let keys = unknown
            .help
            .as_ref()
            .unwrap()
            .strip_prefix("known keys: ")
            .unwrap();
        keys.split(", ").map(str::to_owned).collect()
    }

    fn listed(table: &KeyTable) -> Vec<&str> {
        table.keys.iter().map(|key| key.name).collect()
    }

    fn assert_equal(table: &KeyTable, mut read: Vec<String>) {
        let mut listed = listed(table);
        listed.sort_unstable();
        read.sort_unstable();
        assert_eq!(read, listed, "{}", table.table);
    }

    /// The reference has every key that the reader takes, and no other one.
    #[test]
    fn the_reference_has_the_keys_of_the_reader() {
        let texts = [
            "'?' = 1\n",
            "[experiment]\n'?' = 1\n",
            "[components.a]\n'?' = 1\n",
            "[components.a]\nfmu = 'a'\nrestart = { '?' = 1 }\n",
            "[[connections]]\n'?' = 1\n",
            "[[bonds]]\n'?' = 1\n",
            "[[interface_models]]\n'?' = 1\n",
        ];
        assert_eq!(texts.len(), SYSTEM_KEYS.len());
        for (table, text) in SYSTEM_KEYS.iter().zip(texts) {
            assert_equal(table, known(parse(text, "system.toml").err()));
        }
        // `[defaults]` has the keys of a component; the reader of pairs knows those of connections, and a rule refuses some.
        for (table, text) in [
            (2, "[defaults]\n'?' = 1\n"),
            (4, "[[bonds]]\neffort = { '?' = 1 }\n"),
        ] {
            assert_equal(&SYSTEM_KEYS[table], known(parse(text, "system.toml").err()));
        }
        for (table, text) in SCENARIO_KEYS
            .iter()
            .zip(["'?' = 1\n", "[[actions]]\n'?' = 1\n"])
        {
            assert_equal(table, known(parse_scenario(text, "scenario.toml").err()));
        }
    }
}
