//! Couples the two oscillator FMUs through the importer of the `fmi` crate and compares every output
//! with a table that gyrator wrote for the same system (`tests/importers/oscillators.toml`), bit for bit.
//!
//! usage: importer-fmi-crate FMU_FOLDER TABLE.csv
#![forbid(unsafe_code)]

use std::error::Error;
use std::path::Path;

use fmi::fmi2::import::Fmi2Import;
use fmi::fmi2::instance::{CoSimulation, Common, InstanceCS};
use fmi::traits::FmiImport;

type ImportResult<T> = Result<T, Box<dyn Error>>;

/// Communication step of the system file, s.
const STEP_SIZE: f64 = 1e-3;

/// The start values of the system file.
const LEFT: &[(&str, f64)] = &[
    ("m", 1.0),
    ("k", 10.0),
    ("c", 0.5),
    ("k_c", 100.0),
    ("c_c", 2.0),
    ("x_start", 0.25),
    ("v_start", 100.0),
];
const RIGHT: &[(&str, f64)] = &[
    ("m", 1.0),
    ("k", 1000.0),
    ("c", 0.25),
    ("x_start", 0.0),
    ("v_start", 0.0),
];

fn main() -> ImportResult<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [fmus, table] = &arguments[..] else {
        return Err("usage: importer-fmi-crate FMU_FOLDER TABLE.csv".into());
    };
    let rows = compare(Path::new(fmus), &std::fs::read_to_string(table)?)?;
    println!("fmi crate: {rows} rows agree bit for bit");
    Ok(())
}

/// Runs as many steps as the table has rows and returns their number.
fn compare(fmus: &Path, table: &str) -> ImportResult<usize> {
    let mut lines = table.lines();
    let columns: Vec<&str> = lines
        .next()
        .ok_or("the table is empty")?
        .split(',')
        .collect();
    let mut pair = Pair::start(fmus)?;
    let mut rows = 0;
    for line in lines {
        if rows > 0 {
            pair.step(rows - 1)?;
        }
        let cells: Vec<&str> = line.split(',').collect();
        for (name, value) in pair.outputs()? {
            let column = columns.iter().position(|column| *column == name);
            let column = column.ok_or_else(|| format!("the table has no column {name}"))?;
            let expected: f64 = cells.get(column).ok_or("a row is too short")?.parse()?;
            if value.to_bits() != expected.to_bits() {
                let place = format!("row {rows}, {name}");
                return Err(format!("{place}: {value:?} here, {expected:?} in the table").into());
            }
        }
        rows += 1;
    }
    if rows < 100 {
        return Err(format!("the table has {rows} rows; that shows nothing").into());
    }
    Ok(rows)
}

/// Both oscillators, coupled with constant extrapolation: outputs as the last step left them.
struct Pair {
    left: Unit,
    right: Unit,
}

impl Pair {
    fn start(fmus: &Path) -> ImportResult<Self> {
        let mut left = Unit::load(&fmus.join("OscillatorForce.fmu"), "left", LEFT)?;
        let mut right = Unit::load(&fmus.join("OscillatorMotion.fmu"), "right", RIGHT)?;
        left.set(&[("x2", right.get("x")?), ("v2", right.get("v")?)])?;
        right.set(&[("f", left.get("f")?)])?;
        left.instance.exit_initialization_mode()?;
        right.instance.exit_initialization_mode()?;
        Ok(Self { left, right })
    }

    fn step(&mut self, index: usize) -> ImportResult<()> {
        let (f, x, v) = (
            self.left.get("f")?,
            self.right.get("x")?,
            self.right.get("v")?,
        );
        self.left.set(&[("x2", x), ("v2", v)])?;
        self.right.set(&[("f", f)])?;
        let time = index as f64 * STEP_SIZE;
        self.left.instance.do_step(time, STEP_SIZE, true)?;
        self.right.instance.do_step(time, STEP_SIZE, true)?;
        Ok(())
    }

    fn outputs(&mut self) -> ImportResult<[(&'static str, f64); 5]> {
        Ok([
            ("left.f", self.left.get("f")?),
            ("left.x", self.left.get("x")?),
            ("left.v", self.left.get("v")?),
            ("right.x", self.right.get("x")?),
            ("right.v", self.right.get("v")?),
        ])
    }
}

/// An instance in or after Initialization Mode, with its variables by name.
struct Unit {
    instance: InstanceCS,
    import: Fmi2Import,
}

impl Unit {
    fn load(fmu: &Path, name: &str, start_values: &[(&str, f64)]) -> ImportResult<Self> {
        let import: Fmi2Import = fmi::import::from_path(fmu)?;
        let instance = import.instantiate_cs(name, false, true)?;
        let mut unit = Self { instance, import };
        unit.instance.setup_experiment(None, 0.0, None)?;
        unit.set(start_values)?;
        unit.instance.enter_initialization_mode()?;
        Ok(unit)
    }

    fn reference(&self, name: &str) -> ImportResult<u32> {
        let variables = &self.import.model_description().model_variables.variables;
        let variable = variables.iter().find(|variable| variable.name == name);
        Ok(variable
            .ok_or_else(|| format!("no variable {name}"))?
            .value_reference)
    }

    fn set(&mut self, values: &[(&str, f64)]) -> ImportResult<()> {
        for (name, value) in values {
            let reference = self.reference(name)?;
            self.instance.set_real(&[reference], &[*value])?;
        }
        Ok(())
    }

    fn get(&mut self, name: &str) -> ImportResult<f64> {
        let reference = self.reference(name)?;
        let mut value = [f64::NAN];
        self.instance.get_real(&[reference], &mut value)?;
        Ok(value[0])
    }
}
