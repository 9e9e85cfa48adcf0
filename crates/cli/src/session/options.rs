//! Options that the verbs with a session share.

use std::path::Path;

use clap::Args;

use crate::feature::Feature;
use crate::features::{Features, OF_ALL};
use crate::fmu_options::FmuOptions;
use crate::live::LiveOptions;
use crate::options::{ErrorBarOptions, ExecutionOptions, ResultOptions};
use crate::overwriting::Named;
use crate::progress::ShowOptions;
use crate::supervision::Plan;

// How a run is carried out, recorded and shown. What `features.rs` does not list is a field of one of these.
#[derive(Debug, Args)]
pub(crate) struct SessionOptions {
    #[command(flatten)]
    pub(super) error_bars: ErrorBarOptions,
    #[command(flatten)]
    pub(crate) results: ResultOptions,
    #[command(flatten)]
    pub(crate) fmus: FmuOptions,
    #[command(flatten)]
    pub(crate) features: Features<OF_ALL>,
    #[command(flatten)]
    pub(super) live: LiveOptions,
    #[command(flatten)]
    pub(super) execution: ExecutionOptions,
    #[command(flatten)]
    pub(super) show: ShowOptions,
}

impl SessionOptions {
    /// The same options for a run that leaves its rows to another one, and writes no files.
    pub(crate) fn for_companion(mut self) -> Self {
        self.results = self.results.without_files();
        self.features = Features::default();
        self
    }

    /// The files that are written, by their options.
    pub(crate) fn outputs(&self) -> Vec<Named<'_>> {
        let of_features = self.features.iter().flat_map(Feature::output);
        self.results
            .output()
            .into_iter()
            .chain(of_features)
            .collect()
    }

    /// The options that the parent of the run of a system needs.
    pub(crate) fn plan<'a>(&'a self, system: &'a Path, features: Vec<&'a dyn Feature>) -> Plan<'a> {
        Plan {
            live: Some(&self.live),
            output: self.results.output_file.as_deref(),
            features,
            ..Plan::without_files(system, &self.execution)
        }
    }
}
