//! The saved state that the runs of a study go on from.

use std::path::Path;

use gyrator::error::StateFileError;
use gyrator::system::StateFile;

use crate::study_file::StudyFile;

/// Reads the state; errors begin with its path.
pub(crate) fn read(path: &Path, study: &StudyFile) -> Result<StateFile, StateFileError> {
    let place = path.display();
    let others = [
        ("error_bars", !study.error_bars.is_empty()),
        ("verification", study.verification),
    ];
    if let Some((key, _)) = others.into_iter().find(|(_, is_wanted)| *is_wanted) {
        return Err(StateFileError::new(
            format!(
                "{place}: `{key}` needs runs at other macro-steps, and none goes on from a state there"
            ),
            format!("leave out `{key}`, or `resume`"),
        ));
    }
    let bytes = std::fs::read(path).map_err(|error| {
        let message = format!("cannot read the saved state {place}: {error}");
        StateFileError::new(message, "`gyrator run --save-state` writes one")
    })?;
    StateFile::from_bytes(&bytes).map_err(|error| {
        let StateFileError { message, help, .. } = error;
        StateFileError::new(format!("{place}: {message}"), help)
    })
}
