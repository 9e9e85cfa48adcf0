//! Compiles the C half of the log callback: stable Rust cannot define variadic functions.

fn main() {
    println!("cargo::rerun-if-changed=src/logger.c");
    cc::Build::new()
        .file("src/logger.c")
        .warnings(true)
        .compile("gyrator_fmu_logger");
}
