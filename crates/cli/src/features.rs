//! The features of `run` and `simulate`: the slice that lists them, and their options.
//!
//! To add one, write a file that implements [`Feature`], and add a line to [`FEATURES`].

use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

use crate::feature::Feature;

/// All features: in this order they act, write their files and add to the closing lines. Features of systems come
/// last, though `run --help` shows their options first.
const FEATURES: &[Entry] = &[
    Entry::new::<crate::summary_file::SummaryOptions>(OF_ALL),
    Entry::new::<crate::drawing::PlotOptions>(OF_ALL),
    Entry::new::<crate::report_page::ReportOptions>(OF_ALL),
    Entry::new::<crate::markdown::MarkdownOptions>(OF_ALL),
    Entry::new::<crate::real_time::RealTimeOptions>(OF_ALL),
    Entry::new::<crate::call_recording::CallRecordingOptions>(OF_ALL),
    Entry::new::<crate::profile::ProfileOptions>(OF_ALL),
    Entry::new::<crate::checks::CheckOptions>(OF_SYSTEMS),
];

/// Of `run`.
pub(crate) const OF_SYSTEMS: bool = true;

/// Of `run` and `simulate`.
pub(crate) const OF_ALL: bool = false;

/// A feature by its functions.
struct Entry {
    is_of_systems: bool,
    add_options: fn(Command) -> Command,
    read_options: fn(&ArgMatches) -> Result<Box<dyn Feature>, Error>,
}

impl Entry {
    const fn new<F: Args + Feature + 'static>(is_of_systems: bool) -> Self {
        Self {
            is_of_systems,
            add_options: F::augment_args,
            read_options: |matches| Ok(Box::new(F::from_arg_matches(matches)?)),
        }
    }
}

/// The features of systems, or all others, with the options of a command line; none if it is the default.
#[derive(Default)]
pub(crate) struct Features<const IS_OF_SYSTEMS: bool>(Vec<Box<dyn Feature>>);

impl<const IS_OF_SYSTEMS: bool> Features<IS_OF_SYSTEMS> {
    fn entries() -> impl Iterator<Item = &'static Entry> {
        let entries = FEATURES.iter();
        entries.filter(|entry| entry.is_of_systems == IS_OF_SYSTEMS)
    }

    /// All of them.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &dyn Feature> {
        self.0.iter().map(|feature| &**feature)
    }
}

impl<const IS_OF_SYSTEMS: bool> Args for Features<IS_OF_SYSTEMS> {
    fn augment_args(command: Command) -> Command {
        Self::entries().fold(command, |command, entry| (entry.add_options)(command))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const IS_OF_SYSTEMS: bool> FromArgMatches for Features<IS_OF_SYSTEMS> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let read = |entry: &Entry| (entry.read_options)(matches);
        Self::entries()
            .map(read)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl<const IS_OF_SYSTEMS: bool> std::fmt::Debug for Features<IS_OF_SYSTEMS> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Features").finish_non_exhaustive()
    }
}
