//! `gyrator new-fmu`: the crate of an FMU in Rust, to begin with.

use std::path::{Path, PathBuf};

use clap::Args;
use gyrator_system::Value;
use gyrator_system::toml_file::literal;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// Name of the folder and the crate, such as hydraulic-pump; the model is then called HydraulicPump
    #[arg(value_name = "NAME")]
    name: PathBuf,
    /// Folder of the crate fmu-kit [default: fmus/kit of the repository from which this program was built]
    #[arg(long, value_name = "DIRECTORY")]
    fmu_kit: Option<PathBuf>,
}

/// Names that Cargo or the compiler takes for something else.
const RESERVED: &str = "abstract alloc as async await become box break build const continue core crate deps do dyn \
    else enum examples extern false final fmu-kit fn for gen if impl in incremental let loop \
    macro match mod move mut override priv proc-macro pub ref return self serde static std \
    struct super test trait true try type typeof unsafe unsized use virtual where while yield";

/// Writes the crate.
pub(super) fn run(options: &Options) -> Result<Exit, Failure> {
    let folder = &options.name;
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let is_legal = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    let begins = name.starts_with(|first: char| first.is_ascii_alphabetic());
    if !begins || !name.chars().all(is_legal) || RESERVED.split(' ').any(|word| word == name) {
        let text = format!("{name:?} cannot be the name of a crate");
        return Err(Failure::usage(text).help("use letters, digits and -, such as hydraulic-pump"));
    }
    let kit = kit(options.fmu_kit.as_deref())?;
    let kit = literal(&Value::String(kit.to_string_lossy().into_owned()));
    let filled = |template: &str| {
        let template = template.replace("{TYPE}", &type_name(&name));
        let template = template.replace("{CRATE}", &name.replace('-', "_"));
        template.replace("{NAME}", &name).replace("{KIT}", &kit)
    };
    if let Some(parent) = folder
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty() && !parent.exists())
    {
        let parent = parent.display();
        let text = format!("the folder {parent} does not exist");
        return Err(Failure::usage(text).help(format!("make it first: `mkdir -p {parent}`")));
    }
    let failed = |error| Failure::not_created(folder, &error);
    std::fs::create_dir(folder).map_err(failed)?;
    std::fs::create_dir(folder.join("src")).map_err(failed)?;
    for (file, template) in [
        ("Cargo.toml", include_str!("new_fmu/Cargo.toml.in")),
        ("src/lib.rs", include_str!("new_fmu/lib.rs.in")),
        ("src/main.rs", include_str!("new_fmu/main.rs.in")),
    ] {
        std::fs::write(folder.join(file), filled(template)).map_err(failed)?;
    }
    let (folder, model) = (folder.display(), type_name(&name));
    screen::print(&format!(
        "{folder}/src/lib.rs: the model {model}\ncd {folder} && cargo test && cargo run --release    # writes {model}.fmu\n"
    ))?;
    Ok(Exit::Success)
}

/// `hydraulic-pump` as `HydraulicPump`.
fn type_name(name: &str) -> String {
    let words = name.split(['-', '_']).filter(|word| !word.is_empty());
    let words = words.map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_ascii_uppercase() + rest
    });
    words.collect()
}

/// The folder of the crate `fmu-kit`, as an absolute path.
fn kit(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let has_kit = |folder: &Path| {
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml"));
        manifest.is_ok_and(|text| text.contains("name = \"fmu-kit\""))
    };
    let program = std::env::current_exe().unwrap_or_default();
    let found = match given {
        Some(folder) => has_kit(folder).then(|| folder.to_owned()),
        None => {
            let mut folders = program.ancestors().map(|folder| folder.join("fmus/kit"));
            folders.find(|folder| has_kit(folder))
        }
    };
    let found = found.and_then(|folder| folder.canonicalize().ok());
    found.ok_or_else(|| match given {
        Some(folder) => Failure::usage(format!(
            "--fmu-kit {}: the crate fmu-kit is not there",
            folder.display()
        )),
        None => Failure::usage(
            "the crate fmu-kit is not beside this program, and in no registry yet".to_owned(),
        )
        .help("name its folder with --fmu-kit: fmus/kit in the repository of gyrator"),
    })
}

#[cfg(test)]
mod tests {
    use super::type_name;

    #[test]
    fn names_of_crates_become_names_of_types() {
        for (name, expected) in [
            ("lag", "Lag"),
            ("hydraulic-pump", "HydraulicPump"),
            ("a_2", "A2"),
        ] {
            assert_eq!(type_name(name), expected);
        }
    }
}
