//! Writing and reading again gives the same system.

use gyrator_ssp::{Options, WriteError, read, write};
use gyrator_system::toml_file;

use super::files::{fmu, folder};

const SYSTEM: &str = r#"[experiment]
start_time = 0.5
stop_time = 2.0
step_size = 0.001
tolerance = 1e-6
method = "gauss-seidel"
step_control = { name = "ecco", safety = 0.5 }

[components."left.arm"]
fmu = "a/model.fmu"
step_size = 0.0005
exchange = "stale"
start_values = { k = 0.1, n = 7, on = true, label = "a < b & \"c\"\n", mode = "on", v_start = 3 }

[components.right]
fmu = "b/Model.fmu"
extrapolation = { name = "linear" }
preload = ["libx]]>y.so"]
propagate_initial_inputs = false

[components.plain]
fmu = "a/model.fmu"

[[connections]]
from = "plain.y"
to = "right.u"
gain = -2.5

[[connections]]
from = "right.y"
to = "plain.u"
derivative = "v"

[[bonds]]
name = "coupling"
effort = [{ from = "left.arm.y", to = "right.f" }]
flow = [{ from = "right.v", to = "left.arm.u", gain = 2.0 }]
sense = -1.0
correction = { name = "residual-power", mu = 0.5 }
max_residual_energy = 100.0
energy_tolerance = 1e-6
energy_scale = 10.0
"#;

const DEFINITIONS: &str = r#"<UnitDefinitions><Unit name="km/h"><BaseUnit m="1" s="-1" factor="0.2777777777777778"/></Unit></UnitDefinitions>
<TypeDefinitions><SimpleType name="Mode"><Enumeration><Item name="off" value="1"/><Item name="on" value="2"/></Enumeration></SimpleType></TypeDefinitions>"#;
const VARIABLES: &str = r#"<ScalarVariable name="u" valueReference="0" causality="input"><Real start="0" unit="km/h"/></ScalarVariable>
<ScalarVariable name="f" valueReference="1" causality="input"><Real start="0"/></ScalarVariable>
<ScalarVariable name="y" valueReference="2" causality="output"><Real unit="km/h"/></ScalarVariable>
<ScalarVariable name="v" valueReference="3" causality="output"><Real/></ScalarVariable>
<ScalarVariable name="k" valueReference="4" causality="parameter" variability="fixed"><Real start="1"/></ScalarVariable>
<ScalarVariable name="v_start" valueReference="5" causality="parameter" variability="fixed"><Real start="1"/></ScalarVariable>
<ScalarVariable name="n" valueReference="0" causality="parameter" variability="fixed"><Integer start="1"/></ScalarVariable>
<ScalarVariable name="mode" valueReference="1" causality="parameter" variability="fixed"><Enumeration declaredType="Mode" start="1"/></ScalarVariable>
<ScalarVariable name="on" valueReference="0" causality="parameter" variability="fixed"><Boolean start="false"/></ScalarVariable>
<ScalarVariable name="label" valueReference="0" causality="parameter" variability="fixed"><String start=""/></ScalarVariable>"#;

/// The contents of a system file, without the paths of its FMUs, lines in alphabetical order: a package
/// lists the connections of a bond with the others.
fn said(text: &str) -> Vec<String> {
    let mut lines: Vec<_> = text
        .lines()
        .filter(|line| !line.starts_with("fmu"))
        .map(|line| line.replace("v_start = 3 ", "v_start = 3.0 "))
        .collect();
    lines.sort();
    lines
}

#[test]
fn a_system_survives_a_package() {
    let folder = folder(&[("system.toml", SYSTEM)]);
    fmu(&folder.path().join("a/model.fmu"), DEFINITIONS, VARIABLES);
    fmu(&folder.path().join("b/Model.fmu"), DEFINITIONS, VARIABLES);
    let (system, _) = toml_file::read(&folder.path().join("system.toml")).unwrap();
    let path = folder.path().join("system.ssp");
    let limits = Options::default().limits;
    write(&system, &path, limits).unwrap();
    let (again, warnings) = read(&path, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    assert!(warnings.is_empty(), "{warnings:?}");
    assert_eq!(
        said(&toml_file::to_toml(&again)),
        said(&toml_file::to_toml(&system))
    );
    let names = again.components.iter();
    let names: Vec<_> = names
        .map(|component| component.fmu.value.file_name().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["model.fmu", "Model-2.fmu", "model.fmu"]);
    // A second time nothing changes, to the byte.
    let bytes = std::fs::read(&path).unwrap();
    write(&system, &path, limits).unwrap();
    assert!(std::fs::read(&path).unwrap() == bytes);
}

#[test]
fn the_files_of_a_package_are_removed_with_its_system() {
    let folder = folder(&[("system.toml", "[components.a]\nfmu = \"a.fmu\"\n")]);
    fmu(&folder.path().join("a.fmu"), "", VARIABLES);
    let (system, _) = toml_file::read(&folder.path().join("system.toml")).unwrap();
    let path = folder.path().join("system.ssp");
    write(&system, &path, Options::default().limits).unwrap();
    let (again, _) = read(&path, &Options::default()).unwrap();
    let copy = again.clone();
    let fmu = again.components[0].fmu.value.clone();
    drop(again);
    assert!(fmu.is_file());
    drop(copy);
    assert!(!fmu.exists());
}

#[test]
fn names_that_an_fmu_lacks_are_not_written() {
    let text = "[components.a]\nfmu = \"a.fmu\"\nstart_values = { kk = 1 }\n";
    let folder = folder(&[("system.toml", text)]);
    fmu(&folder.path().join("a.fmu"), "", VARIABLES);
    let (system, _) = toml_file::read(&folder.path().join("system.toml")).unwrap();
    let path = folder.path().join("system.ssp");
    let error = write(&system, &path, Options::default().limits).unwrap_err();
    assert!(matches!(error, WriteError::Problems(_)), "{error}");
    let message = error.to_string();
    assert!(
        message.contains("system.toml:3:18: error: `a` has no variable `kk`"),
        "{message}"
    );
    assert!(message.contains("did you mean `k`?"), "{message}");
    assert!(!path.exists());
}
