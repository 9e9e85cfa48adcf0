//! Systems of the Open Simulation Platform.

use std::path::Path;

use gyrator_fmu::Limits;
use gyrator_ssp::{is_osp, read_osp};
use gyrator_system::{Problem, SystemFile, Value};
use tempfile::TempDir;

use super::files::{connections, fmu, folder, start_values};

const UNITS: &str = r#"<UnitDefinitions>
<Unit name="N"><BaseUnit kg="1" m="1" s="-2"/></Unit><Unit name="m/s"><BaseUnit m="1" s="-1"/></Unit>
</UnitDefinitions>"#;

fn variable(name: &str, number: u32, causality: &str, unit: &str) -> String {
    let start = if causality == "input" {
        r#" start="0""#
    } else {
        ""
    };
    format!(
        r#"<ScalarVariable name="{name}" valueReference="{number}" causality="{causality}"><Real unit="{unit}"{start}/></ScalarVariable>"#
    )
}

/// A folder with a system, and two FMUs: `mass` gives velocities for forces, `spring` the reverse.
fn system(body: &str) -> TempDir {
    let text = format!(
        r#"<OspSystemStructure xmlns="http://opensimulationplatform.com/MSMI/OSPSystemStructure" version="0.1">
<StartTime>0.5</StartTime><EndTime>2</EndTime><BaseStepSize>1e-2</BaseStepSize>{body}</OspSystemStructure>"#
    );
    let port = |force: &str, velocity: &str| {
        format!(
            r#"<OspModelDescription><VariableGroups><LinearMechanicalPort name="port">
<Force name="force"><Variable ref="{force}" unit="N"/></Force>
<LinearVelocity name="velocity"><Variable ref="{velocity}" unit="m/s"/></LinearVelocity>
</LinearMechanicalPort><Generic name="both"><Variable ref="{force}"/><Variable ref="{velocity}"/></Generic>
</VariableGroups></OspModelDescription>"#
        )
    };
    let folder = folder(&[
        ("OspSystemStructure.xml", &text),
        ("m_OspModelDescription.xml", &port("f", "v")),
    ]);
    let mass = variable("f", 0, "input", "N") + &variable("v", 1, "output", "m/s");
    let spring = variable("f", 0, "output", "N") + &variable("v", 1, "input", "m/s");
    fmu(&folder.path().join("mass.fmu"), UNITS, &mass);
    fmu(&folder.path().join("spring.fmu"), UNITS, &spring);
    folder
}

const PAIR: &str = r#"<Simulators><Simulator name="mass" source="mass.fmu"/><Simulator name="spring" source="spring.fmu"/></Simulators>"#;

fn read(path: &Path) -> Result<(SystemFile, Vec<Problem>), String> {
    read_osp(path, Limits::default()).map_err(|error| error.to_string())
}

fn accepted(folder: &TempDir) -> (SystemFile, Vec<String>) {
    let (system, warnings) = read(folder.path()).unwrap_or_else(|error| panic!("{error}"));
    let warnings = warnings.into_iter().map(|problem| problem.message);
    (system, warnings.collect())
}

fn refused(body: &str) -> String {
    read(system(body).path()).expect_err("it is refused")
}

#[test]
fn simulators_have_steps_and_start_values() {
    let folder = system(
        r#"<Algorithm>fixedStep</Algorithm><Simulators>
<Simulator name="mass" source="mass.fmu" stepSize="0.0203"><InitialValues>
<InitialValue variable="m"><Real value="2.5"/></InitialValue>
<InitialValue variable="n"><Integer value="-3"/></InitialValue>
<InitialValue variable="b"><Boolean value="1"/></InitialValue>
<InitialValue variable="s"><String value="Euler"/></InitialValue></InitialValues></Simulator>
<Simulator name="spring" source="spring.fmu" stepSize="0.001"/></Simulators>"#,
    );
    let (system, warnings) = accepted(&folder);
    assert_eq!(
        start_values(&system),
        [
            "mass.m = 2.5",
            "mass.n = -3",
            "mass.b = true",
            "mass.s = \"Euler\""
        ]
    );
    let steps = system
        .components
        .iter()
        .map(|c| c.step_size.as_ref().unwrap().value);
    assert_eq!(steps.collect::<Vec<_>>(), [0.02, 0.01]);
    assert_eq!(
        warnings,
        [
            "the step of `mass`, 0.0203 s, is not a multiple of `BaseStepSize`, 0.01 s; it steps by 0.02 s",
            "the step of `spring`, 0.001 s, is not a multiple of `BaseStepSize`, 0.01 s; it steps by 0.01 s"
        ]
    );
    let experiment = &system.experiment;
    let times = [
        &experiment.start_time,
        &experiment.stop_time,
        &experiment.step_size,
    ];
    assert_eq!(
        times.map(|time| time.as_ref().unwrap().value),
        [0.5, 2.0, 0.01]
    );
    assert_eq!(
        system.components[0].fmu.value,
        folder.path().join("mass.fmu")
    );
    assert!(is_osp(folder.path()) && is_osp(Path::new("any.xml")) && !is_osp(Path::new("a.toml")));
}

#[test]
fn connections_go_from_outputs_to_inputs_as_the_fmus_declare_them() {
    let body = format!(
        r#"{PAIR}<Connections>
<VariableConnection><Variable simulator="mass" name="f"/><Variable simulator="spring" name="f"/></VariableConnection>
<VariableConnection><Variable simulator="mass" name="v"/><Variable simulator="spring" name="v"/></VariableConnection>
</Connections>"#
    );
    let (system, warnings) = accepted(&system(&body));
    assert_eq!(
        connections(&system),
        ["spring.f -> mass.f", "mass.v -> spring.v"]
    );
    assert_eq!(warnings, [""; 0]);
}

#[test]
fn functions_become_blocks() {
    let body = format!(
        r#"{PAIR}<Functions><LinearTransformation name="scale" factor="-2" offset="0.5"/>
<Sum name="sum" inputCount="2"/></Functions><Connections>
<SignalConnection><Variable simulator="mass" name="v"/><Signal function="scale" name="in"/></SignalConnection>
<SignalConnection><Signal function="sum" name="in[0]"/><Variable simulator="mass" name="v"/></SignalConnection>
<SignalConnection><Variable simulator="spring" name="f"/><Signal function="sum" name="in[1]"/></SignalConnection>
<SignalConnection><Signal function="sum" name="out"/><Variable simulator="spring" name="v"/></SignalConnection>
<SignalConnection><Signal function="scale" name="out"/><Variable simulator="mass" name="f"/></SignalConnection>
</Connections>"#
    );
    let (system, _) = accepted(&system(&body));
    assert_eq!(
        connections(&system),
        [
            "mass.v -> scale.u",
            "mass.v -> sum.u[1]",
            "spring.f -> sum.u[2]",
            "sum.y -> spring.v",
            "scale.y -> mass.f"
        ]
    );
    let block = system.component("scale").unwrap().block.as_ref().unwrap();
    let parameters = block
        .parameters
        .iter()
        .map(|(name, value)| (&*name.value, &value.value));
    assert_eq!(block.name.value, "gain");
    assert_eq!(
        parameters.collect::<Vec<_>>(),
        [("gain", &Value::Real(-2.0)), ("offset", &Value::Real(0.5))]
    );
    assert_eq!(
        system
            .component("sum")
            .unwrap()
            .block
            .as_ref()
            .unwrap()
            .name
            .value,
        "sum"
    );
}

/// One sum for each dimension: the groups have two variables each.
#[test]
fn a_sum_of_vectors_becomes_sums() {
    let body = format!(
        r#"{PAIR}<Functions><VectorSum name="sum" inputCount="1" dimension="2"/></Functions><Connections>
<SignalGroupConnection><VariableGroup simulator="mass" name="both"/><SignalGroup function="sum" name="in[0]"/></SignalGroupConnection>
</Connections>"#
    );
    let text = read(system(&body).path()).unwrap_err();
    // The mass has an input in that group, which takes no part in an input of a sum.
    assert!(text.contains("both inputs"), "{text}");
    assert!(
        text.contains("mass.f") && text.contains("sum[0].u[1]"),
        "{text}"
    );
}

/// A group in a group has a name of its own, and a group of groups has all their variables.
#[test]
fn a_sum_of_vectors_takes_groups_in_groups() {
    const GROUPS: &str = r#"<OspModelDescription><VariableGroups>
<Generic name="forces"><Force name="x"><Variable ref="fx"/></Force><Generic name="rest"><Force name="y"><Variable ref="fy"/></Force></Generic></Generic>
<Generic name="inputs"><Generic name="pair"><Variable ref="ux"/><Variable ref="uy"/></Generic></Generic>
<Generic name="again"><Force name="x"><Variable ref="fx"/></Force></Generic>
</VariableGroups></OspModelDescription>"#;
    let connected = |input: &str, dimension: usize, output: &str| {
        let body = format!(
            r#"<Simulators><Simulator name="a" source="a.fmu"/><Simulator name="b" source="a.fmu"/></Simulators>
<Functions><VectorSum name="sum" inputCount="1" dimension="{dimension}"/></Functions><Connections>
<SignalGroupConnection><VariableGroup simulator="a" name="{input}"/><SignalGroup function="sum" name="in[0]"/></SignalGroupConnection>
<SignalGroupConnection><SignalGroup function="sum" name="out"/><VariableGroup simulator="b" name="{output}"/></SignalGroupConnection>
</Connections>"#
        );
        let folder = system(&body);
        std::fs::write(folder.path().join("m_OspModelDescription.xml"), GROUPS).unwrap();
        let variables = ["fx", "fy"]
            .map(|name| variable(name, 0, "output", "N"))
            .concat()
            + &["ux", "uy"]
                .map(|name| variable(name, 0, "input", "N"))
                .concat();
        fmu(&folder.path().join("a.fmu"), UNITS, &variables);
        read(folder.path()).map(|(system, _)| connections(&system))
    };
    let expected = [
        "a.fx -> sum[0].u[1]",
        "a.fy -> sum[1].u[1]",
        "sum[0].y -> b.ux",
        "sum[1].y -> b.uy",
    ];
    for output in ["inputs", "pair"] {
        assert_eq!(connected("forces", 2, output).unwrap(), expected);
    }
    let text = connected("y", 2, "pair").unwrap_err();
    assert!(text.contains("differ in size: 1 and 2 members"), "{text}");
    let text = connected("x", 2, "pair").unwrap_err();
    assert!(text.contains("`a` has 2 groups of variables `x`"), "{text}");
    let text = connected("forcess", 2, "pair").unwrap_err();
    assert!(text.contains("did you mean `forces`?"), "{text}");
}

#[test]
fn ports_of_a_power_and_named_pairs_become_bonds() {
    let ports = format!(
        r#"{PAIR}<Connections><VariableGroupConnection>
<VariableGroup simulator="mass" name="port"/><VariableGroup simulator="spring" name="port"/>
</VariableGroupConnection></Connections>"#
    );
    let pairs = format!(
        r#"{PAIR}<Connections>
<VariableConnection powerBond="mass.port"><Variable simulator="mass" name="v" causality="input"/><Variable simulator="spring" name="v" causality="output"/></VariableConnection>
<VariableConnection powerBond="mass.port"><Variable simulator="mass" name="f"/><Variable simulator="spring" name="f"/></VariableConnection>
</Connections>"#
    );
    for body in [ports, pairs] {
        let (system, _) = accepted(&system(&body));
        assert_eq!(connections(&system), [""; 0]);
        let [bond] = &system.bonds[..] else {
            panic!("{:?}", system.bonds)
        };
        let end = |c: &gyrator_system::Connection| format!("{} -> {}", c.from.value, c.to.value);
        assert_eq!(bond.name.value, "mass.port");
        assert_eq!(end(&bond.effort[0]), "spring.f -> mass.f");
        assert_eq!(end(&bond.flow[0]), "mass.v -> spring.v");
    }
}

/// libcosim's `OspSystemStructure_proxyfmu.xml`.
#[test]
fn proxies_on_this_computer_are_processes_of_their_own() {
    let proxy =
        |host: &str| PAIR.replace("\"mass.fmu", &format!("\"proxyfmu://{host}?file=mass.fmu"));
    for host in ["localhost", "127.0.0.1:9090"] {
        let folder = system(&proxy(host));
        let (system, _) = accepted(&folder);
        let mass = &system.components[0];
        assert_eq!(mass.fmu.value, folder.path().join("mass.fmu"));
        let isolate = |index: usize| system.components[index].is_isolated();
        assert_eq!([isolate(0), isolate(1)], [true, false]);
    }
    assert!(refused(&proxy("10.0.0.7")).contains("is to run on another computer"));
}

/// libcosim's `quarter_truck` has no units, and the velocity first.
#[test]
fn an_effort_that_no_unit_tells_is_a_warning() {
    let body = format!(
        r#"{PAIR}<Connections>
<VariableConnection powerBond="port"><Variable simulator="mass" name="v"/><Variable simulator="spring" name="v"/></VariableConnection>
<VariableConnection powerBond="port"><Variable simulator="mass" name="f"/><Variable simulator="spring" name="f"/></VariableConnection>
</Connections>"#
    );
    let folder = system(&body);
    let ends = ["output", "input"];
    for (name, [v, f]) in [("mass", ends), ("spring", [ends[1], ends[0]])] {
        let variables = variable("f", 0, f, "") + &variable("v", 1, v, "");
        let variables = variables.replace(r#" unit="""#, "");
        fmu(&folder.path().join(format!("{name}.fmu")), "", &variables);
    }
    let (system, warnings) = accepted(&folder);
    assert_eq!(
        system.bonds[0].effort[0].from.value.to_string(),
        "mass.v",
        "the first one"
    );
    let [warning] = &warnings[..] else {
        panic!("{warnings:?}")
    };
    assert!(
        warning.contains(
            "units of measure do not show the effort of the power bond `port`: `mass.v` is taken"
        ),
        "{warning}"
    );
}

/// libcosim's `quarter_truck`: the indicator of both is the same, with E₀ = absolute / relative, up
/// to the energy that is added to E₀.
#[test]
fn ecco_has_the_parameters_of_libcosim() {
    let body = format!(
        r#"<Algorithm>ecco</Algorithm>{PAIR}<EccoConfiguration><SafetyFactor>0.99</SafetyFactor>
<StepSize>1e-4</StepSize><MinimumStepSize>1e-5</MinimumStepSize><MaximumStepSize>0.01</MaximumStepSize>
<MinimumChangeRate>0.2</MinimumChangeRate><MaximumChangeRate>1.5</MaximumChangeRate>
<ProportionalGain>0.2</ProportionalGain><IntegralGain>0.15</IntegralGain>
<RelativeTolerance>1e-6</RelativeTolerance><AbsoluteTolerance>2e-6</AbsoluteTolerance></EccoConfiguration>"#
    );
    let (system, _) = accepted(&system(&body));
    let control = system.experiment.step_control.unwrap();
    let parameter = |name: &str| {
        let found = control
            .parameters
            .iter()
            .find(|(known, _)| known.value == name);
        found.map(|(_, value)| value.value.clone())
    };
    assert_eq!(control.name.value, "ecco");
    assert_eq!(parameter("safety"), Some(Value::Real(0.99)));
    assert_eq!(parameter("tolerance"), Some(Value::Real(1e-6)));
    assert_eq!(parameter("energy_scale"), Some(Value::Real(2.0)));
    assert_eq!(parameter("k_i"), Some(Value::Real(0.15)));
}

#[test]
fn mistakes_say_what_and_what_to_do() {
    let connection = |ends: &str| format!("{PAIR}<Connections>{ends}</Connections>");
    for (body, message) in [
        (
            connection(
                r#"<VariableConnection><Variable simulator="mas" name="f"/><Variable simulator="spring" name="f"/></VariableConnection>"#,
            ),
            "unknown simulator `mas`",
        ),
        (
            connection(
                r#"<VariableConnection><Variable simulator="mass" name="v"/><Variable simulator="spring" name="f"/></VariableConnection>"#,
            ),
            "`mass.v` and `spring.f` are both outputs",
        ),
        (
            connection(
                r#"<VariableConnection><Variable simulator="mass" name="v"/></VariableConnection>"#,
            ),
            "`VariableConnection` connects two `Variable`",
        ),
        (
            connection(
                r#"<VariableGroupConnection><VariableGroup simulator="mass" name="prt"/><VariableGroup simulator="spring" name="port"/></VariableGroupConnection>"#,
            ),
            "`mass` has no group of variables `prt`",
        ),
        (
            connection(
                r#"<VariableConnection powerBond="b"><Variable simulator="mass" name="v"/><Variable simulator="spring" name="v"/></VariableConnection>"#,
            ),
            "the power bond `b` has 1 connections, not two",
        ),
        (
            format!(r#"{PAIR}<Functions><Sum name="s" inputCount="1000000000"/></Functions>"#),
            "`inputCount` is 1000000000",
        ),
        (
            format!(
                r#"{PAIR}<Functions><VectorSum name="s" inputCount="1000" dimension="1000"/></Functions>"#
            ),
            "`dimension` is 1000",
        ),
        (
            PAIR.replace("\"mass.fmu\"", "\"mass.fmu\" stepSize=\"-1\""),
            "`stepSize` must be a positive number, not -1",
        ),
        (
            format!("<Algorithm>euler</Algorithm>{PAIR}"),
            "the algorithm `euler` is neither",
        ),
        (
            format!("<Algorithm>ecco</Algorithm>{PAIR}"),
            "needs an `EccoConfiguration`",
        ),
    ] {
        let text = refused(&body);
        assert!(text.contains(message), "{message}: {text}");
    }
    let ports = r#"<VariableGroupConnection><VariableGroup simulator="mass" name="port"/><VariableGroup simulator="spring" name="port"/></VariableGroupConnection>"#;
    let folder_of_old = system(&connection(ports));
    std::fs::write(folder_of_old.path().join("mass.fmu"), "no archive").unwrap();
    let text = read(folder_of_old.path()).unwrap_err();
    let reason = "`mass` has no groups of variables: ";
    assert!(
        text.contains(reason) && text.contains("not a readable ZIP archive"),
        "{text}"
    );
    let other = folder(&[("OspSystemStructure.xml", "<Project/>")]);
    let text = read(other.path()).unwrap_err();
    assert!(
        text.contains("`Project`, not `OspSystemStructure`"),
        "{text}"
    );
}
