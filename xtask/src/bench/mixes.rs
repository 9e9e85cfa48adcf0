//! `cargo xtask bench --mixes`: gyrator's own time of a step, with several words and beside strangers: components and observers
//! that have nothing to do with the others.
//!
//! Own time is CPU time less the time of a C loop that makes the same calls, for each step of a component, the
//! stranger's included.

use std::path::{Path, PathBuf};

use super::meter::{Call, Meter};
use super::oscillators;
use super::programs::{Floor, Gyrator, Master, check_summary, system_file};
use super::rows::{Coupling, Library, Mode, Recording, Row, UNITS};
use super::slope::{calibrate, median, slope};

/// Words of the extrapolation; the first with the method `jacobi`, the second if the file names neither.
const WORDS: [&str; 6] = [
    "hold",
    DEFAULT,
    "linear",
    "quadratic",
    "hermite",
    "mean-hold",
];
const DEFAULT: &str = "default";

/// Something that is added to a system or to its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stranger {
    None,
    /// A limit of the residual energy, which is looked at after each macro-step.
    Limit,
    Block,
    /// An FMU that steps every other macro-step.
    SlowFmu,
    /// A connection that changes its value.
    Gain,
    Profile,
    Report,
    RecordedInput,
}

const STRANGERS: [Stranger; 8] = [
    Stranger::None,
    Stranger::Limit,
    Stranger::Block,
    Stranger::SlowFmu,
    Stranger::Gain,
    Stranger::Profile,
    Stranger::Report,
    Stranger::RecordedInput,
];

impl Stranger {
    const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Limit => "limit",
            Self::Block => "block",
            Self::SlowFmu => "slow",
            Self::Gain => "gain",
            Self::Profile => "profile",
            Self::Report => "report",
            Self::RecordedInput => "input",
        }
    }

    /// Its steps in a macro-step: all, and the FMUs'.
    const fn steps(self) -> (f64, f64) {
        match self {
            Self::Block => (1.0, 0.0),
            Self::SlowFmu => (0.5, 0.5),
            _ => (0.0, 0.0),
        }
    }
}

/// A system and its stranger.
#[derive(Debug, Clone, Copy)]
struct Mix {
    units: usize,
    has_bonds: bool,
    word: &'static str,
    stranger: Stranger,
}

impl Mix {
    /// All, in the order of the table.
    fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for has_bonds in [false, true] {
            for word in WORDS {
                for units in UNITS {
                    let mixes = STRANGERS.map(|stranger| Self {
                        units,
                        has_bonds,
                        word,
                        stranger,
                    });
                    all.extend(mixes.into_iter().filter(Self::is_offered));
                }
            }
        }
        all
    }

    /// Strangers are beside the first two words; limits belong to bonds, and gains to connections.
    fn is_offered(&self) -> bool {
        match self.stranger {
            Stranger::None => return true,
            Stranger::Limit if !self.has_bonds => return false,
            Stranger::Gain if self.has_bonds => return false,
            _ => {}
        }
        WORDS[..2].contains(&self.word)
    }

    fn words(&self) -> [String; 4] {
        let coupling = if self.has_bonds {
            "bonds"
        } else {
            "connections"
        };
        [
            self.units.to_string(),
            coupling.to_owned(),
            self.word.to_owned(),
            self.stranger.word().to_owned(),
        ]
    }

    /// The row of the usual table with this system, but for its word and its stranger.
    fn row(&self) -> Row {
        let coupling = match (self.has_bonds, self.word == DEFAULT) {
            (false, false) => Coupling::Held,
            (false, true) => Coupling::Auto,
            (true, false) => Coupling::Bonds,
            (true, true) => Coupling::AutoBonds,
        };
        Row {
            units: self.units,
            mode: Mode::Plain(coupling),
            library: Library::Annotated,
            recording: Recording::Off,
        }
    }

    fn system(&self, fmu: &Path, steps: usize) -> String {
        let text = system_file(fmu, self.row(), steps);
        let text = text.replace("\"hold\"", &format!("{:?}", self.word));
        match self.stranger {
            Stranger::Limit => text.replace("\neffort", "\nmax_residual_energy = 1e300\neffort"),
            Stranger::Gain => text.replacen("to = \"fmu1.u0\"", "to = \"fmu1.u0\"\ngain = 0.5", 1),
            Stranger::Block => {
                text + "\n[components.stranger]\nblock = { name = \"constant\", value = 1.0 }\n"
            }
            Stranger::SlowFmu => {
                format!("{text}\n[components.stranger]\nfmu = {fmu:?}\nstep_size = 2e-3\n")
            }
            _ => text,
        }
    }

    /// Own time of a step, s, from the CPU times of a step of one of the `units` by gyrator, and of an FMU by the C loop.
    fn own_time(&self, [gyrator, floor]: [f64; 2]) -> f64 {
        let (units, (steps, fmu_steps)) = (self.units as f64, self.stranger.steps());
        (gyrator * units - floor * (units + fmu_steps)) / (units + steps)
    }
}

/// Whether one of the patterns has no word but the line's, or there are none.
pub(super) fn is_chosen(line: &[String], patterns: &[String]) -> bool {
    let fits = |pattern: &String| {
        let mut words = pattern.split_whitespace();
        words.all(|word| line.iter().any(|cell| cell == word))
    };
    patterns.is_empty() || patterns.iter().any(fits)
}

/// gyrator with one of the mixes.
struct Mixed<'a> {
    gyrator: &'a Gyrator<'a>,
    mix: Mix,
    fmu: &'a Path,
    work: &'a Path,
}

impl Mixed<'_> {
    fn call(&self, system: &Path, summary: &Path) -> Call {
        let call = self.gyrator.plain_call(system, summary);
        let file = |name: &str| self.work.join(name);
        match self.mix.stranger {
            Stranger::Profile => call.argument("--profile"),
            Stranger::Report => call.argument("--report").argument(file("mix.html")),
            Stranger::RecordedInput => call
                .argument("--output-file")
                .argument(file("mix.csv"))
                .arguments(["--output-variable", "fmu0.u0"]),
            _ => call,
        }
    }
}

impl Master for Mixed<'_> {
    fn run(&self, meter: &Meter, _: Row, steps: usize) -> Result<f64, String> {
        // A slow component makes whole steps.
        let steps = steps.next_multiple_of(2);
        let place = |name: &str| -> PathBuf { self.work.join(name) };
        let (system, summary) = (place("mix.toml"), place("mix.json"));
        std::fs::write(&system, self.mix.system(self.fmu, steps))
            .map_err(|error| format!("{}: {error}", system.display()))?;
        let done = meter.measure(&self.call(&system, &summary))?;
        check_summary(&summary, steps)?;
        Ok(done.cost)
    }
}

/// Measures the mixes and the oscillators that fit a pattern, or all, so many times each, and prints a table of both.
///
/// # Errors
/// A run that failed; a pattern that nothing fits.
pub(super) fn run(
    work: &Path,
    (floor, fmu): (&Floor<'_>, &Path),
    gyrator: &Gyrator<'_>,
    meter: &Meter,
    (patterns, repetitions): (&[String], usize),
) -> Result<(), String> {
    let mut mixes = Mix::all();
    mixes.retain(|mix| is_chosen(&mix.words(), patterns));
    let mut lines = oscillators::Line::all();
    lines.retain(|line| is_chosen(&line.words(), patterns));
    if mixes.is_empty() && lines.is_empty() {
        return Err(
            "no mix fits: a pattern has words of a line, as `100 bonds hold block`".to_owned(),
        );
    }
    if !mixes.is_empty() {
        table(&mixes, work, (floor, fmu), gyrator, (meter, repetitions))?;
    }
    if !lines.is_empty() {
        let programs = (work, &*floor.program);
        oscillators::table(&lines, programs, gyrator, meter, repetitions)?;
    }
    Ok(())
}

fn table(
    mixes: &[Mix],
    work: &Path,
    (floor, fmu): (&Floor<'_>, &Path),
    gyrator: &Gyrator<'_>,
    (meter, repetitions): (&Meter, usize),
) -> Result<(), String> {
    println!("| units | coupling | words | stranger | floor, ns | own, ns | to none |");
    println!("|--:|---|---|---|--:|--:|--:|");
    let mut alone = f64::NAN;
    for &mix in mixes {
        let row = mix.row();
        let mixed = Mixed {
            gyrator,
            mix,
            fmu,
            work,
        };
        // Result files are not longer than the usual table's.
        let limited = match mix.stranger {
            Stranger::RecordedInput | Stranger::Report => Row {
                recording: Recording::Csv,
                ..row
            },
            _ => row,
        };
        let name = mix.words().join(" ");
        let steps = [
            calibrate(&mixed, meter, limited),
            calibrate(floor, meter, row),
        ];
        let [own_steps, floor_steps] =
            steps.map(|steps| steps.map_err(|error| format!("{name}: {error}")));
        let (own_steps, floor_steps) = (own_steps?, floor_steps?);
        let (mut floors, mut owns) = (Vec::new(), Vec::new());
        for _ in 0..repetitions {
            let pair = [
                slope(&mixed, meter, row, own_steps)?,
                slope(floor, meter, row, floor_steps)?,
            ];
            floors.push(1e9 * pair[1]);
            owns.push(1e9 * mix.own_time(pair));
        }
        let own = median(&owns);
        if mix.stranger == Stranger::None {
            alone = own;
        }
        println!(
            "| {} | {:.1} | {own:.1} | {:.2} |",
            mix.words().join(" | "),
            median(&floors),
            own / alone
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_have_their_words_and_strangers() {
        for mix in Mix::all() {
            let text = mix.system(Path::new("Tiny.fmu"), 1000);
            let _: toml::Table = text.parse().unwrap();
            assert_eq!(
                text.contains("stranger"),
                mix.stranger.steps().0 > 0.0,
                "{mix:?}"
            );
            let is_named = text.contains(&format!("extrapolation = {:?}", mix.word));
            assert_eq!(is_named, mix.word != DEFAULT, "{mix:?}");
            assert_eq!(
                text.contains("max_residual_energy"),
                mix.stranger == Stranger::Limit
            );
            assert_eq!(text.contains("gain"), mix.stranger == Stranger::Gain);
        }
    }

    #[test]
    fn strangers_of_held_and_of_predicted_inputs_are_beside_each_number_of_fmus() {
        let all = Mix::all();
        for stranger in [Stranger::None, Stranger::Block, Stranger::Profile] {
            let words = all.iter().filter(|mix| mix.stranger == stranger);
            let own = words.filter(|mix| WORDS[..2].contains(&mix.word));
            assert_eq!(own.count(), 4 * UNITS.len(), "{stranger:?}");
        }
    }

    #[test]
    fn a_pattern_has_words_of_a_line() {
        let chosen = |patterns: &[&str]| {
            let patterns: Vec<String> = patterns.iter().map(|&one| one.to_owned()).collect();
            let mixes = Mix::all()
                .iter()
                .filter(|mix| is_chosen(&mix.words(), &patterns))
                .count();
            let lines = oscillators::Line::all().into_iter();
            (
                mixes,
                lines
                    .filter(|line| is_chosen(&line.words(), &patterns))
                    .count(),
            )
        };
        assert_eq!(
            chosen(&[]),
            (Mix::all().len(), oscillators::Line::all().len())
        );
        assert_eq!(chosen(&["100 bonds hold block"]), (1, 0));
        assert_eq!(chosen(&["100 oscillators"]), (0, 2));
        assert_eq!(chosen(&["2 linear none", "10 oscillators default"]), (2, 1));
        assert_eq!(chosen(&["oscillators block"]), (0, 0));
    }

    #[test]
    fn own_time_is_what_the_c_loop_does_not_take_for_each_step() {
        let mix = |stranger| Mix {
            units: 2,
            has_bonds: true,
            word: "hold",
            stranger,
        };
        let own = |stranger| mix(stranger).own_time([30.0, 10.0]);
        assert_eq!(own(Stranger::None), 20.0);
        assert_eq!(own(Stranger::Block), 40.0 / 3.0);
        assert_eq!(own(Stranger::SlowFmu), 35.0 / 2.5);
    }
}
