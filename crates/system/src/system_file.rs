//! Contents of a system file, by name; nothing is resolved and no library is loaded.

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;

use crate::problem::{Source, Spanned};

/// A coupled system as its file describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct SystemFile {
    /// The text that was read; problems point into it.
    pub source: Arc<Source>,
    /// When and how the system is run.
    pub experiment: Experiment,
    /// The simulation units, in the order of the file.
    pub components: Vec<Component>,
    /// Connections that belong to no bond.
    pub connections: Vec<Connection>,
    /// Power bonds; every pair named in one is also a connection.
    pub bonds: Vec<Bond>,
    /// Interface models on bonds.
    pub interface_models: Vec<InterfaceModel>,
    /// Machines that host components.
    pub hosts: Vec<RemoteHost>,
    /// Signals of the system itself: the connectors of the outermost system of an SSP.
    pub outer_signals: Vec<OuterSignal>,
    /// Files of the system that were unpacked from an archive.
    pub unpacked: Unpacked,
}

/// A signal of a system, by a name of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct OuterSignal {
    /// The name.
    pub name: Spanned<String>,
    /// Unit of its values.
    pub unit: Option<String>,
    /// Whether it feeds its ends; else its only end is the output that it shows.
    pub is_input: bool,
    /// Variables of components.
    pub ends: Vec<OuterEnd>,
}

/// A variable that an outer signal stands for. The receiver of the two has factor · value + offset.
#[derive(Debug, Clone, PartialEq)]
pub struct OuterEnd {
    /// The variable.
    pub port: Port,
    /// Factor of the value.
    pub factor: f64,
    /// Added after the factor, in the unit of the receiver.
    pub offset: f64,
}

impl OuterEnd {
    /// The value of the receiver, with every bit of a value that is not converted.
    #[must_use]
    pub fn convert(&self, value: f64) -> f64 {
        if (self.factor, self.offset) == (1.0, 0.0) {
            return value;
        }
        self.factor * value + self.offset
    }
}

/// Keeps files that were unpacked from the archive of a system, as long as a copy of the system is
/// in use, with the folder that they lie in.
#[derive(Clone, Default)]
pub struct Unpacked(pub(crate) Option<(PathBuf, Arc<dyn Any + Send + Sync>)>);

/// The tolerance of solvers within FMUs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Tolerance {
    /// All FMUs get this one, relative.
    Relative(f64),
    /// No FMU gets one, whatever its default experiment has: the word [`NONE`](Self::NONE).
    Off,
}

impl Tolerance {
    /// The word for [`Off`](Self::Off) in files and on the command line.
    pub const NONE: &'static str = "none";

    /// The number, if it is one.
    #[must_use]
    pub const fn relative(self) -> Option<f64> {
        match self {
            Self::Relative(number) => Some(number),
            Self::Off => None,
        }
    }
}

/// The table `[experiment]`. `None` means that the file does not say.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Experiment {
    /// Start time, s.
    pub start_time: Option<Spanned<f64>>,
    /// Stop time, s.
    pub stop_time: Option<Spanned<f64>>,
    /// Macro-step H, s.
    pub step_size: Option<Spanned<f64>>,
    /// Tolerance that the units are given; if the file does not say, each FMU gets the one of its default experiment.
    pub tolerance: Option<Spanned<Tolerance>>,
    /// Word of the method registry, with parameters.
    pub method: Option<Choice>,
    /// Exchange of outputs with direct feed-through: `auto`, `stale`, `fresh` or `compensated`.
    pub exchange: Option<Spanned<String>>,
    /// Word of the step-control registry, with parameters.
    pub step_control: Option<Choice>,
    /// Extrapolation of every input that does not say its own.
    pub extrapolation: Option<Choice>,
    /// Path of a scenario file, as it stands in the system file ([`SystemFile::scenario_path`]).
    pub scenario: Option<Spanned<PathBuf>>,
}

impl Experiment {
    /// The method if nothing names one.
    pub const METHOD: &'static str = "auto";
    /// The exchange mode if nothing names one.
    pub const EXCHANGE: &'static str = "auto";
    /// The step control if nothing names one.
    pub const STEP_CONTROL: &'static str = "fixed";
    /// The extrapolation if nothing names one.
    pub const EXTRAPOLATION: &'static str = "auto";

    /// Start time, s: 0 if the file does not say.
    #[must_use]
    pub fn start(&self) -> f64 {
        self.start_time.as_ref().map_or(0.0, |start| start.value)
    }
}

/// A word of a registry, with parameters: `"linear"`, or `{ name = "ecco", safety = 0.8 }`.
#[derive(Debug, Clone, PartialEq)]
pub struct Choice {
    /// The word.
    pub name: Spanned<String>,
    /// The other keys of the table, in the order of the file.
    pub parameters: Vec<(Spanned<String>, Spanned<Value>)>,
}

/// A value of one of FMI's types, as it stands in a file.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A number with a fraction or exponent.
    Real(f64),
    /// A number without.
    Integer(i64),
    /// `true` or `false`.
    Boolean(bool),
    /// Quoted text.
    String(String),
}

/// One simulation unit: a table under `[components]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Component {
    /// The name of the component, unique in the file.
    pub name: Spanned<String>,
    /// Path of the FMU, joined to the folder of the system file; empty for a block.
    pub fmu: Spanned<PathBuf>,
    /// Word of the block registry, with parameters: a source or a function instead of an FMU.
    pub block: Option<Choice>,
    /// Communication step, s; the macro-step if `None`. Divides the macro-step or is a multiple of it.
    pub step_size: Option<Spanned<f64>>,
    /// Extrapolation of all inputs of this component.
    pub extrapolation: Option<Choice>,
    /// Exchange mode of this component.
    pub exchange: Option<Spanned<String>>,
    /// Start values by variable name, in the order of the file. A whole number may mean a Real.
    pub start_values: Vec<(Spanned<String>, Spanned<Value>)>,
    /// Shared libraries to load globally before the FMU's own.
    pub preload: Vec<Spanned<String>>,
    /// Directories that are searched first for shared libraries that the FMU needs, joined to the
    /// folder of the system file.
    pub library_path: Vec<Spanned<PathBuf>>,
    /// How often a step that the FMU discards may be halved and tried again; `None` ends the run.
    pub step_halvings: Option<Spanned<u32>>,
    /// Whether the instances of the FMU share one load of its library; `None` leaves it to the program.
    pub library: Option<Spanned<LibraryUse>>,
    /// Whether the FMU gets a process of its own; `None` leaves it to the program.
    pub isolate: Option<Spanned<bool>>,
    /// The machine that hosts the component: the name of a table under `[hosts]`, or an address. `None` is this one.
    pub host: Option<Spanned<String>>,
    /// Restart policy when that process dies; `None` ends the run.
    pub restart: Option<Spanned<Restart>>,
    /// `false` keeps the component's own start values instead of propagating its inputs at the start.
    pub propagate_initial_inputs: bool,
}

/// A machine that hosts components: a table under `[hosts]`.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoteHost {
    /// The name by which components mean it.
    pub name: Spanned<String>,
    /// Its address, such as `https://lab.example:7443`.
    pub url: Spanned<String>,
    /// Folder with the certificates and the token that admit to it, joined to the folder of the system file.
    pub access: Option<Spanned<PathBuf>>,
    /// Interval of signs of life, s; `None` is one second.
    pub keep_alive: Option<Spanned<f64>>,
    /// Whether FMUs that it does not have are sent to it.
    pub upload: Option<Spanned<bool>>,
}

/// Whether the instances of an FMU share one load of its library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LibraryUse {
    /// If that is proved, or declared by the FMU.
    Auto,
    /// All instances of components that say so, on the user's word.
    Shared,
    /// Never.
    Copied,
}

impl LibraryUse {
    /// All, with their words in a system file.
    pub const WORDS: [(&'static str, Self); 3] = [
        ("auto", Self::Auto),
        ("shared", Self::Shared),
        ("copied", Self::Copied),
    ];
}

/// How the process of an isolated component is started again when it dies: `restart = 3`, or
/// `{ times = 3, every = 100 }`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restart {
    /// How often at most.
    pub times: u32,
    /// Communication steps of the component from one saved state to the next.
    pub every: u32,
}

impl Restart {
    /// Steps between saved states if none are given.
    pub const EVERY: u32 = 100;
}

/// `component.variable`; the component's name is the longest one known that ends at a dot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Port {
    /// Name of the component.
    pub component: String,
    /// Name of the variable, as in the model description.
    pub variable: String,
}

/// An output that feeds an input.
#[derive(Debug, Clone, PartialEq)]
pub struct Connection {
    /// The output.
    pub from: Spanned<Port>,
    /// The input.
    pub to: Spanned<Port>,
    /// The input receives gain · output + offset, after the conversion of units. In a bond it is a
    /// factor of the power instead, and signals are passed on as they are.
    pub gain: Option<Spanned<f64>>,
    /// Added after the gain, in the unit of the input.
    pub offset: Option<Spanned<f64>>,
    /// How values get the type of the input if that may lose something.
    pub convert: Option<Spanned<TypeConversion>>,
    /// `false` ignores the units of measure that the two ends declare.
    pub unit_conversion: bool,
    /// Variable of the output's component that is the output's derivative by time.
    pub derivative: Option<Spanned<String>>,
}

/// How values of an output become values of an input of another type: `convert = "round"`, or
/// `convert = { off = 0, on = 1 }`.
#[derive(Debug, Clone, PartialEq)]
pub enum TypeConversion {
    /// A number becomes a whole number or a truth value.
    Number(NumberConversion),
    /// Values of the output, as text, and the values of the input in their place.
    Table(Vec<(Spanned<String>, Spanned<Value>)>),
}

/// How a number becomes a whole number or a truth value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberConversion {
    /// The nearest whole number; of two, the even one.
    Round,
    /// The greatest whole number that is not greater.
    Floor,
    /// The least whole number that is not less.
    Ceiling,
    /// The whole number without the fraction.
    Truncate,
    /// Every number but 0 is true.
    Nonzero,
}

impl NumberConversion {
    /// All, with their words in a system file.
    pub const WORDS: [(&'static str, Self); 5] = [
        ("round", Self::Round),
        ("floor", Self::Floor),
        ("ceiling", Self::Ceiling),
        ("truncate", Self::Truncate),
        ("nonzero", Self::Nonzero),
    ];
}

/// A power bond: effort from end a to end b, flow from end b to end a, axis by axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Bond {
    /// The name of the bond, unique in the file.
    pub name: Spanned<String>,
    /// Connections of the efforts (force, torque, voltage, pressure).
    pub effort: Vec<Connection>,
    /// Connections of the flows (velocity, angular velocity, current, volume flow), in the same order.
    pub flow: Vec<Connection>,
    /// −1 if the units count the effort the other way, else 1.
    pub sense: Spanned<f64>,
    /// Word of the correction registry, with parameters; `None` means no correction.
    pub correction: Option<Choice>,
    /// Greatest magnitude of the residual energy, J; beyond it the run ends.
    pub max_residual_energy: Option<Spanned<f64>>,
    /// Relative tolerance r of its residual energy for the step control `ecco`; `None`: the step control's own.
    pub energy_tolerance: Option<Spanned<f64>>,
    /// Typical energy E₀ for the step control `ecco`, J; `None`: the step control's own.
    pub energy_scale: Option<Spanned<f64>>,
}

/// A reduced model of a multibody component at its bonds, with which the fast components at their
/// other ends exchange values within the macro-step.
///
/// Lists have one entry a coordinate: a velocity of the component that is a flow of the bonds, in
/// the order in which the bonds name them first.
#[derive(Debug, Clone, PartialEq)]
pub struct InterfaceModel {
    /// The name of the interface model, unique in the file.
    pub name: Spanned<String>,
    /// Name of the multibody component, which gives the flows.
    pub component: Spanned<String>,
    /// Names of the bonds between it and the fast components, which give the efforts.
    pub bonds: Vec<Spanned<String>>,
    /// Step d at which the fast components exchange values with the interface model, s; divides the macro-step.
    pub exchange_step: Spanned<f64>,
    /// Which side is stepped first: a word of the engine's registry.
    pub order: Option<Spanned<String>>,
    /// Outputs of the component that are the positions to the velocities; may be empty.
    pub positions: Vec<Spanned<String>>,
    /// Outputs of the component that are the inverse effective mass, 1/kg: all elements row by row,
    /// the upper triangle row by row, or the diagonal alone.
    pub inverse_mass: Vec<Spanned<String>>,
    /// Outputs of the component that are the accelerations without the forces of the bonds, m/s².
    pub free_acceleration: Vec<Spanned<String>>,
    /// Outputs of the component that are the accelerations, m/s², instead of the two lists above.
    pub accelerations: Vec<Spanned<String>>,
    /// Outputs of the fast components that are the whole forces, N; if empty, the efforts of the bonds are.
    pub forces: Vec<Spanned<Port>>,
    /// Outputs of the fast components with the stiffness of each force: −∂Ḟ/∂v, N/m.
    pub stiffness: Vec<Spanned<Port>>,
    /// Outputs of the fast components that are the forces' derivatives by time, N/s.
    pub force_rates: Vec<Spanned<Port>>,
    /// Further options by name, in the order of the file.
    pub options: Vec<(Spanned<String>, Spanned<Value>)>,
}
