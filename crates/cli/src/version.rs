//! What `--version` prints: the version, the commit and the features of this program.

/// The features of this package, each with whether the program has it.
const FEATURES: [(&str, bool); 4] = [
    ("benchmark", cfg!(feature = "benchmark")),
    ("packed-fmu", cfg!(feature = "packed-fmu")),
    ("parquet", cfg!(feature = "parquet")),
    ("remote", cfg!(feature = "remote")),
];

/// The text of `--version`; `-V` prints the version alone.
///
/// `cargo xtask dist` sets `GYRATOR_COMMIT`. Reading it from git would link the program again after each commit.
#[must_use]
pub fn long() -> String {
    let commit = option_env!("GYRATOR_COMMIT").unwrap_or("unknown");
    let built: Vec<&str> = FEATURES
        .into_iter()
        .filter_map(|(name, is_built)| is_built.then_some(name))
        .collect();
    let features = if built.is_empty() {
        "none".to_owned()
    } else {
        built.join(", ")
    };
    let version = env!("CARGO_PKG_VERSION");
    format!("{version}\ncommit: {commit}\nfeatures: {features}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The features in Cargo.toml, of which none is left out here.
    #[test]
    fn every_feature_is_named() {
        let manifest: toml::Table = include_str!("../Cargo.toml").parse().unwrap();
        let declared = manifest["features"].as_table().unwrap().keys();
        let declared: Vec<&str> = declared
            .map(String::as_str)
            .filter(|name| *name != "default")
            .collect();
        assert_eq!(FEATURES.map(|(name, _)| name).to_vec(), declared);
    }
}
