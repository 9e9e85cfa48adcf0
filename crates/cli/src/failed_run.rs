//! Runs that have failed, with what is left of them.

use gyrator::RunError;
use gyrator_record::RecordError;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::summary::Summary;

/// The failure, with the places of its rows.
pub(crate) fn failed(
    error: RunError,
    summary: &Summary<'_>,
    trouble: Option<&str>,
    not_written: Option<Failure>,
) -> Failure {
    let mut failure = Failure::from(error);
    failure = match (summary.kept_rows(), trouble) {
        // It says itself where the rows are, if there are any.
        (_, Some(trouble)) if failure.text().contains(trouble) => failure,
        (_, Some(trouble)) => failure.detail(trouble),
        // As when the process of the whole run was lost.
        (Some((rows, file)), None) if failure.exit == Exit::Crashed => {
            failure.add(&format!("; {rows} kept in {file}"))
        }
        // It says itself how many there are.
        (Some(_), None) if failure.text().contains("rows are kept") => failure,
        (Some((rows, file)), None) => {
            failure.detail(format!("the rows until then are kept: {rows} in {file}"))
        }
        (None, None) => failure,
    };
    if let Some(text) = summary.suspected_coupling() {
        failure = failure.detail(text);
    }
    match not_written {
        Some(other) => failure.detail(other.text()),
        None => failure,
    }
}

/// Whether the reader of `-o -` has gone, as `head` does when it has seen enough.
pub(crate) fn is_broken_pipe(error: &RunError) -> bool {
    let RunError::Observer(error) = error else {
        return false;
    };
    matches!(
        error.downcast_ref::<RecordError>(),
        Some(RecordError::Write { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe
    )
}
