//! Contents of a study file.

use std::path::PathBuf;
use std::sync::Arc;

use gyrator_system::toml_file::Setting;
use gyrator_system::{Source, Spanned};

use crate::literal::Literal;
use crate::metrics::Metric;
use crate::requirement::Requirement;
use crate::sampling::Sampling;

/// A study: which system, what varies, what is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct StudyFile {
    /// The text that was read.
    pub source: Arc<Source>,
    /// The system file, joined to the folder of the study file.
    pub system: Spanned<PathBuf>,
    /// The saved state from which all runs continue, joined to the folder of the study file.
    pub resume: Option<PathBuf>,
    /// Settings of all runs, before the settings of the cases; a study file has none.
    pub settings: Vec<Setting>,
    /// Variations: blocks of points, which are crossed; the last one varies fastest.
    pub blocks: Vec<Vec<Point>>,
    /// The arrangement of the points of one of the blocks, if they are made for sensitivities; every other block then has one point.
    pub design: Option<Design>,
    /// Points that do not meet all of these are left out.
    pub requirements: Vec<Requirement>,
    /// Each case is run with each of these; empty means once, as it is.
    pub variants: Vec<Variant>,
    /// Reference against which errors are measured.
    pub reference: Option<Reference>,
    /// Metrics, a column each.
    pub metrics: Vec<Metric>,
    /// Variables whose errors are estimated by companion runs.
    pub error_bars: Vec<String>,
    /// Whether a second run verifies each run that is suspected to diverge.
    pub verification: bool,
    /// Bonds whose energies are measured; `None` means the bonds of the system file.
    pub bonds: Option<Vec<String>>,
    /// Whether the table has a column of the computer's time. Tables with one differ in each run.
    pub wall_time: bool,
    /// Whether runs that diverge are what the study looks for, and no failure of it.
    pub accepts_divergence: bool,
}

/// How the points of a block lie, whose sampling has an analysis.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    /// The sampling.
    pub sampling: &'static Sampling,
    /// Its `count`.
    pub count: usize,
    /// Seed of the sampling and of the confidence intervals.
    pub seed: u64,
    /// The parameters.
    pub keys: Vec<String>,
}

/// Values that keys of the system file have together.
pub type Point = Vec<(String, Literal)>;

/// A named set of settings, made after the settings of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// Its name.
    pub name: String,
    /// Its settings.
    pub settings: Vec<Setting>,
}

/// Reference against which the errors of a run are measured.
#[derive(Debug, Clone, PartialEq)]
pub enum Reference {
    /// The run of the same case with the variant of this index.
    Variant(usize),
    /// A result file, joined to the folder of the study file.
    File(PathBuf),
}
