//! `gyrator inspect`: the contents of an FMU or a system file.

mod fmu;
mod graph;
mod needs;
mod plan;
mod suggestions;
mod system;

use std::path::PathBuf;

use clap::Args;
use gyrator_fmu::{Fmu, OpenError};
use gyrator_ssp::power_ports;

use self::graph::GraphFile;
use self::needs::NeedsFacts;
use super::simulate::not_opened;
use crate::exit::Exit;
use crate::failure::{Failure, Message, is_named};
use crate::fmu_options::FmuOptions;
use crate::input_kind::{self, Kind, Wanted};
use crate::options::ExecutionOptions;
use crate::overwriting;
use crate::screen;
use crate::system_input::{self, SystemOptions};

// Options of the execution are about the process that `--start` makes.
#[derive(Debug, Args)]
#[command(mut_group("ExecutionOptions", |group| group.requires("start")))]
pub(super) struct Options {
    /// An FMU or a system file
    #[arg(value_name = "PATH")]
    path: PathBuf,
    /// List local variables as well
    #[arg(long)]
    all: bool,
    /// List the shared libraries that an FMU needs, with their paths, without loading them; exit code 4 if one is
    /// missing
    #[arg(long)]
    deps: bool,
    /// Print the power bonds that connections of a system suggest, as TOML for its file
    #[arg(long)]
    suggest_bonds: bool,
    /// Draw the graph of a system (components, ports, connections, power bonds) as SVG, HTML or Graphviz text, as the
    /// file extension says
    #[arg(long, value_name = "FILE.svg")]
    graph: Option<PathBuf>,
    /// Print the step plan of a system: the operations of a macro-step in their order, one line each
    #[arg(long)]
    plan: bool,
    /// Initialize the system, in its own process, so that the plan has the exchange modes of a run; the options under
    /// Execution apply to this
    #[arg(long, requires = "plan")]
    start: bool,
    /// Print JSON, with all variables
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    input: SystemOptions,
    #[command(flatten)]
    fmus: FmuOptions,
    #[command(flatten)]
    execution: ExecutionOptions,
}

/// Prints what the file holds.
pub(super) fn run(options: &Options) -> Result<Exit, Failure> {
    let kind = input_kind::expect(&options.path, Wanted::Described)?;
    let is_fmu = match &kind {
        Some(kind) => matches!(kind, Kind::Fmu(_) | Kind::Archive),
        None => is_named(&options.path, "fmu"),
    };
    if !is_fmu {
        return if options.start {
            plan::supervised(options, || inspect_system(options))
        } else {
            inspect_system(options)
        };
    }
    for (option, is_given) in [
        ("--suggest-bonds", options.suggest_bonds),
        ("--graph", options.graph.is_some()),
        ("--plan", options.plan),
    ] {
        if is_given {
            let text = format!("{option}: {} is an FMU", options.path.display());
            return Err(Failure::usage(text).help("name the file of a system"));
        }
    }
    let peek = Fmu::peek_with(&options.path, options.fmus.limits());
    let peek = peek.map_err(|error| not_opened(&error))?;
    // Unpacked for its libraries: if that fails, all but `--deps` is still shown.
    let open = || Fmu::open_with(&options.path, &options.fmus.open_options());
    let is_unpacked = options.deps || peek.own_platform().is_some();
    let fmu = is_unpacked.then(open);
    let needs = match &fmu {
        Some(fmu) if options.deps => Some(needs_of(fmu)?),
        _ => None,
    };
    let complaint = needs.as_ref().and_then(NeedsFacts::complaint);
    let opened = fmu.as_ref().and_then(|fmu| fmu.as_ref().ok());
    let sharing = opened.map(|fmu| fmu.sharing().clone());
    let facts = fmu::Facts::new(&options.path, &peek, needs, sharing);
    screen::print(&if options.json {
        screen::json(&facts)?
    } else {
        facts.render(options.all)
    })?;
    match complaint {
        Some(text) => Err(Failure::new(Exit::NotLoaded, Message::error(text))),
        None => Ok(Exit::Success),
    }
}

fn needs_of(fmu: &Result<Fmu, OpenError>) -> Result<NeedsFacts, Failure> {
    let needs = fmu.as_ref().map_err(not_opened)?.needs();
    let needs = needs.map_err(|error| Failure::of(Exit::NotLoaded, &error))?;
    Ok(NeedsFacts::new(&needs))
}

/// Prints the system, then what is wrong with it.
fn inspect_system(options: &Options) -> Result<Exit, Failure> {
    let graph = options.graph.as_deref();
    let graph = graph.map(GraphFile::new).transpose()?;
    let outputs: Vec<_> = graph.iter().map(GraphFile::named).collect();
    let mut inputs = vec![("the system file", &*options.path)];
    inputs.extend(options.input.input());
    overwriting::refuse(&outputs, &inputs)?;
    let (file, warnings) =
        system_input::read(&options.path, &options.input, options.fmus.limits())?;
    overwriting::refuse_files_of(&file, &outputs)?;
    if let Some(graph) = graph {
        graph.write(&file)?;
    }
    if options.plan {
        return plan::print(options, file, &warnings);
    }
    let ports = options.suggest_bonds.then(|| {
        let (ports, problems) = power_ports(&file, options.fmus.limits());
        for problem in problems {
            screen::message(&format!("warning: {problem}\n"));
        }
        ports
    });
    let (facts, problems) = system::Facts::new(file, warnings, ports.as_deref());
    screen::print(&match (options.json, &facts.suggested_bonds) {
        (true, _) => screen::json(&facts)?,
        (false, Some(bonds)) => suggestions::render(bonds),
        (false, None) => facts.render(),
    })?;
    match problems {
        Some(problems) => Err(problems),
        None => Ok(Exit::Success),
    }
}
