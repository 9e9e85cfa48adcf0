//! The FMUs of this repository as test fixtures.

use std::path::PathBuf;
use std::sync::OnceLock;

/// Path of the FMU of the model called `name`, such as `OscillatorForce`.
///
/// The first call in a process builds all FMUs that are out of date; processes wait for each other.
///
/// # Panics
/// When the FMUs cannot be built, or no model has that name.
#[must_use]
pub fn fmu(name: &str) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| match xtask::fmus::build_all() {
        Ok(folder) => folder,
        Err(error) => panic!("building the FMUs: {error}"),
    });
    let path = folder.join(format!("{name}.fmu"));
    assert!(
        path.is_file(),
        "{} is missing: is there such a model?",
        path.display()
    );
    path
}

#[cfg(test)]
mod tests {
    use super::fmu;

    #[test]
    fn fmus_are_archives_and_stay_as_they_are() {
        let path = fmu("OscillatorForce");
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.starts_with(b"PK"));
        xtask::fmus::build_all().unwrap();
        assert_eq!(bytes, std::fs::read(&path).unwrap());
    }

    #[test]
    #[should_panic(expected = "is there such a model?")]
    fn unknown_model() {
        let _ = fmu("NoSuchModel");
    }
}
