//! Packages and products with libraries that FMUs in use need and fresh systems lack.

/// Beginnings of names and, after a tab, what brings such a library: packages of Debian and Ubuntu, or products.
const KNOWN: &str = include_str!("packages.tsv");

/// Package that contains the library `name`, if it is known.
pub(crate) fn package_of(name: &str) -> Option<&'static str> {
    let mut known = KNOWN.lines().filter_map(|line| line.split_once('\t'));
    let found = known.find(|(beginning, _)| name.starts_with(beginning));
    found.map(|(_, package)| package)
}

/// The library that has `symbol`, guessed from its name.
pub(crate) fn library_with(symbol: &str) -> &'static str {
    if symbol.starts_with("Py") || symbol.starts_with("_Py") {
        "libpython, for instance preload = [\"libpython3.11.so.1.0\"],"
    } else if symbol.starts_with("JNI_") {
        "the libjvm.so of a Java runtime with preload"
    } else if symbol.starts_with("_gfortran_") {
        "libgfortran with preload"
    } else if symbol.starts_with("GOMP_") || symbol.starts_with("omp_") {
        "libgomp with preload"
    } else {
        "the library that has it with preload"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r19_libraries_of_old_fmus_have_a_package() {
        let package = package_of("libgfortran.so.3").unwrap();
        assert!(package.contains("libgfortran3"));
        for name in [
            "liblapack.so.3",
            "libQtCore.so.4",
            "libSimulationRuntimeC.so",
        ] {
            assert!(package_of(name).is_some(), "{name}");
        }
        assert_eq!(package_of("libown.so"), None);
        assert!(KNOWN.lines().all(|line| line.split('\t').count() == 2));
    }
}
