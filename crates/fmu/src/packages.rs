//! Where to get libraries that FMUs in use need and fresh systems lack.

/// Beginnings of names, and what brings such a library: packages of Debian and Ubuntu, or products.
const KNOWN: &[(&str, &str)] = &[
    (
        "libgfortran.so.3",
        "package libgfortran3, up to Debian 9 and Ubuntu 18.04",
    ),
    (
        "libgfortran.so.4",
        "package libgfortran4, up to Debian 10 and Ubuntu 22.04",
    ),
    ("libgfortran.so.5", "package libgfortran5"),
    ("libquadmath.so", "package libquadmath0"),
    ("libgomp.so", "package libgomp1"),
    ("libstdc++.so.6", "package libstdc++6"),
    ("libgcc_s.so", "package libgcc-s1"),
    ("libatomic.so", "package libatomic1"),
    ("liblapacke.so", "package liblapacke"),
    ("liblapack.so", "package liblapack3"),
    ("libblas.so", "package libblas3"),
    ("libopenblas.so", "package libopenblas0"),
    ("libcblas.so", "package libatlas3-base"),
    ("libmkl_", "Intel oneMKL"),
    ("libiomp5.so", "package libomp5, or Intel's OpenMP runtime"),
    (
        "libQtCore.so.4",
        "package libqtcore4, up to Debian 10 and Ubuntu 18.04",
    ),
    (
        "libQtGui.so.4",
        "package libqtgui4, up to Debian 10 and Ubuntu 18.04",
    ),
    (
        "libQtXml.so.4",
        "package libqt4-xml, up to Debian 10 and Ubuntu 18.04",
    ),
    (
        "libQtNetwork.so.4",
        "package libqt4-network, up to Debian 10 and Ubuntu 18.04",
    ),
    (
        "libQt5Core.so",
        "package libqt5core5a, later libqt5core5t64",
    ),
    (
        "libQt5Network.so",
        "package libqt5network5, later libqt5network5t64",
    ),
    ("libQt5Xml.so", "package libqt5xml5, later libqt5xml5t64"),
    ("libQt5Gui.so", "package libqt5gui5, later libqt5gui5t64"),
    ("libpython2.7.so", "package libpython2.7"),
    ("libpython3.", "package libpython3.X with the X of the name"),
    (
        "libSimulationRuntimeC.so",
        "the runtime of OpenModelica, package libomcsimulation",
    ),
    (
        "libOpenModelicaRuntimeC.so",
        "the runtime of OpenModelica, package libomcsimulation",
    ),
    (
        "libsundials_",
        "package libsundials-dev, in the version of the name",
    ),
    ("libumfpack.so", "package libumfpack5, later libumfpack6"),
    ("libboost_", "package libboost-… in the version of the name"),
    ("libhdf5", "package libhdf5-103, in the version of the name"),
    ("libxml2.so", "package libxml2"),
    ("libexpat.so", "package libexpat1"),
    ("libcurl.so.4", "package libcurl4"),
    (
        "libssl.so.1.1",
        "package libssl1.1, up to Debian 11 and Ubuntu 20.04",
    ),
    (
        "libcrypto.so.1.1",
        "package libssl1.1, up to Debian 11 and Ubuntu 20.04",
    ),
    ("libssl.so.3", "package libssl3"),
    ("libcrypto.so.3", "package libssl3"),
    ("libzmq.so", "package libzmq5"),
    ("libz.so.1", "package zlib1g"),
    ("libuuid.so.1", "package libuuid1"),
    ("libtinfo.so.5", "package libtinfo5"),
    ("libncurses.so.5", "package libncurses5"),
    ("libX11.so.6", "package libx11-6"),
    ("libGL.so.1", "package libgl1"),
    ("libjvm.so", "a Java runtime"),
    ("libmwm", "the MATLAB Runtime"),
    ("libmx.so", "the MATLAB Runtime"),
    ("libmex.so", "the MATLAB Runtime"),
];

/// Package that contains the library `name`, if it is known.
pub(crate) fn package_of(name: &str) -> Option<&'static str> {
    let known = KNOWN
        .iter()
        .find(|(beginning, _)| name.starts_with(beginning));
    known.map(|(_, package)| *package)
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
    }
}
