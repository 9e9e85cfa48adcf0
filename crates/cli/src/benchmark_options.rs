//! Options that `gyrator benchmark` and `gyrator validate --against` share.

use std::num::NonZeroUsize;
use std::process::Command;

use clap::Args;

pub use crate::options::{positive, threads};

// How the cases of benchmarks are run.
#[expect(
    missing_docs,
    reason = "clap takes the text of options for that of the program"
)]
#[expect(
    rustdoc::broken_intra_doc_links,
    reason = "help texts have words in brackets"
)]
#[derive(Debug, Clone, Default, Args)]
pub struct BenchmarkExecution {
    /// Run the FMUs in these roles, or all FMUs, in processes of their own; FMUs that use Python always are
    /// [repeatable] [Linux]
    #[arg(long, value_name = "ROLE,…", num_args = 0.., value_delimiter = ',', require_equals = true)]
    pub isolate: Option<Vec<String>>,
    /// Number of cases at the same time [default: one per core]
    #[arg(long, value_name = "NUMBER", value_parser = threads, allow_negative_numbers = true)]
    pub worker_threads: Option<NonZeroUsize>,
}

impl BenchmarkExecution {
    /// Gives the options to the program of the benchmarks.
    pub(crate) fn hand_on(&self, command: &mut Command) {
        match &self.isolate {
            None => {}
            Some(roles) if roles.is_empty() => {
                command.arg("--isolate");
            }
            Some(roles) => {
                command.arg(format!("--isolate={}", roles.join(",")));
            }
        }
        if let Some(number) = self.worker_threads {
            command.arg("--worker-threads").arg(number.to_string());
        }
    }
}
