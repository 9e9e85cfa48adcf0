//! Finds the library of packed FMUs, which the program contains.

use std::error::Error;
use std::fs::File;
use std::io::ErrorKind;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_PACKED_FMU").is_none() {
        return Ok(());
    }
    // Cargo puts the library, a `cdylib` among the dependencies, into the folder `deps` of the profile before it compiles a program of this
    // package. The folder of this script's output is PROFILE/build/PACKAGE/out.
    let output = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let profile = output.ancestors().nth(3).ok_or("OUT_DIR is too short")?;
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let library = profile.join(format!("deps/{prefix}gyrator_packed_fmu_library{suffix}"));
    // `cargo check` makes no libraries, and wants a file anyway.
    if let Err(error) = File::create_new(&library)
        && error.kind() != ErrorKind::AlreadyExists
    {
        return Err(format!("{}: {error}", library.display()).into());
    }
    println!("cargo::rustc-env=GYRATOR_PACKED_FMU={}", library.display());
    Ok(())
}
