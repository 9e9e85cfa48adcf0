//! The variables that observers watch.

use super::handle::find;
use crate::fault::RunError;
use crate::graph::Graph;
use crate::observer::Watch;
use crate::watch::Watched;

/// The variables of these names, to be watched.
pub(super) fn watched(graph: &Graph, watches: &[Watch]) -> Result<Vec<Watched>, RunError> {
    let variable = |watch: &Watch| {
        let (component, variable) = find(graph, &watch.name)?;
        Ok(Watched::new(graph, component, variable, watch.once))
    };
    watches.iter().map(variable).collect()
}
