//! Prints the random systems of the benchmark `dual-mass` as CSV, a column for each start value.

use std::io::{self, Write as _};

use gyrator_benchmark::{DUAL_MASS_PARAMETERS, dual_mass_systems};

fn main() -> io::Result<()> {
    let mut text = DUAL_MASS_PARAMETERS.join(",") + "\n";
    for system in dual_mass_systems() {
        let values = system.map(|value| value.to_string());
        text += &(values.join(",") + "\n");
    }
    io::stdout().write_all(text.as_bytes())
}
