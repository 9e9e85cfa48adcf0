//! Model descriptions: what is read, what is a warning, what is an error.

use super::*;

/// A description with this content between the root's tags.
fn xml(content: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <fmiModelDescription fmiVersion=\"2.0\" modelName=\"m\" guid=\"g\">\n\
         {content}\n</fmiModelDescription>"
    )
}

fn parse(content: &str) -> (ModelDescription, Vec<String>) {
    let (description, warnings) = ModelDescription::parse(xml(content).as_bytes()).unwrap();
    (
        description,
        warnings.iter().map(ToString::to_string).collect(),
    )
}

/// As [`parse`], and nothing may be wrong.
fn clean(content: &str) -> ModelDescription {
    let (description, warnings) = parse(content);
    assert_eq!(warnings, Vec::<String>::new());
    description
}

fn error(text: &str) -> XmlError {
    ModelDescription::parse(text.as_bytes()).unwrap_err()
}

fn place(error: &XmlError) -> (u32, u32) {
    (error.position.line, error.position.column)
}

fn variables(content: &str) -> String {
    format!("<ModelVariables>\n{content}\n</ModelVariables>")
}

/// The only variable of a description that has one.
fn variable(attributes: &str, kind: &str) -> (ScalarVariable, Vec<String>) {
    let scalar =
        format!("<ScalarVariable name='x' valueReference='0' {attributes}>{kind}</ScalarVariable>");
    let (mut description, warnings) = parse(&variables(&scalar));
    let forgotten = |w: &String| !w.contains("not listed in ModelStructure");
    (
        description.variables.remove(0),
        warnings.into_iter().filter(forgotten).collect(),
    )
}

#[test]
fn every_attribute_of_the_root_and_of_co_simulation() {
    let text = r#"<fmiModelDescription fmiVersion="2.0" modelName="n" guid="{g}" description="d"
        author="a" version="v" copyright="c" license="l" generationTool="t"
        generationDateAndTime="2020-01-01T00:00:00Z" variableNamingConvention="structured"
        numberOfEventIndicators="3">
      <CoSimulation modelIdentifier="id" needsExecutionTool="true"
        canHandleVariableCommunicationStepSize="true" canInterpolateInputs="1"
        maxOutputDerivativeOrder="2" canRunAsynchronuously="true"
        canBeInstantiatedOnlyOncePerProcess="true" canNotUseMemoryManagementFunctions="true"
        canGetAndSetFMUstate="true" canSerializeFMUstate="true" providesDirectionalDerivative="true">
        <SourceFiles><File name="a.c"/><File name="b.c"/></SourceFiles></CoSimulation>
      <ModelExchange modelIdentifier="me" completedIntegratorStepNotNeeded="true"/>
      <LogCategories><Category name="c1" description="first"/></LogCategories>
      <DefaultExperiment startTime="1" stopTime="2.5" tolerance="1e-6" stepSize="1e-3"/>
    </fmiModelDescription>"#;
    let (d, warnings) = ModelDescription::parse(text.as_bytes()).unwrap();
    assert_eq!(warnings, []);
    assert_eq!((d.model_name.as_str(), d.guid.as_str()), ("n", "{g}"));
    assert_eq!(d.variable_naming_convention, NamingConvention::Structured);
    assert_eq!(d.number_of_event_indicators, Some(3));
    assert_eq!(
        d.generation_date_and_time.as_deref(),
        Some("2020-01-01T00:00:00Z")
    );
    assert_eq!(
        d.co_simulation,
        Some(CoSimulation {
            model_identifier: "id".into(),
            needs_execution_tool: true,
            can_handle_variable_communication_step_size: true,
            can_interpolate_inputs: true,
            max_output_derivative_order: 2,
            can_run_asynchronuously: true,
            can_be_instantiated_only_once_per_process: true,
            can_not_use_memory_management_functions: true,
            can_get_and_set_fmu_state: true,
            can_serialize_fmu_state: true,
            provides_directional_derivative: true,
            source_files: vec!["a.c".into(), "b.c".into()],
        })
    );
    assert!(
        d.model_exchange
            .unwrap()
            .completed_integrator_step_not_needed
    );
    assert_eq!(d.log_categories[0].name, "c1");
    let experiment = d.default_experiment;
    assert_eq!(
        (experiment.start_time, experiment.stop_time),
        (Some(1.0), Some(2.5))
    );
    assert_eq!(
        (experiment.tolerance, experiment.step_size),
        (Some(1e-6), Some(1e-3))
    );
}

#[test]
fn c03_versions() {
    let with = |version: &str| xml("").replace("fmiVersion=\"2.0\"", version);
    let (_, warnings) = ModelDescription::parse(with("fmiVersion='2.0.3'").as_bytes()).unwrap();
    assert!(warnings[0].message.contains("taken as 2.0"));
    assert!(
        error(&with("fmiVersion='3.0'"))
            .message
            .contains("this is FMI 3.0")
    );
    assert!(error(&with("")).message.contains("no attribute fmiVersion"));
}

#[test]
fn small_errors_of_exporters_are_tolerated() {
    let text = r#"<fmiModelDescription xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
        xsi:noNamespaceSchemaLocation="x.xsd" fmiVersion="2.0" modelName="n" guid="g">
      <ModelExchange modelIdentifier="m" completedlntegratorStepNotNeeded="true"/>
      <CoSimulation modelIdentifier="m" canRunAsynchronuosly="true" colour="red"
        providesDirectionalDerivatives="true"/>
      <Surprise><Deeper/></Surprise>
      <DefaultExperiment startTime="soon"/>
    </fmiModelDescription>"#;
    let (d, warnings) = ModelDescription::parse(text.as_bytes()).unwrap();
    let co_simulation = d.co_simulation.unwrap();
    assert!(co_simulation.can_run_asynchronuously && co_simulation.provides_directional_derivative);
    assert!(
        d.model_exchange
            .unwrap()
            .completed_integrator_step_not_needed
    );
    assert_eq!(d.default_experiment.start_time, None);
    let warnings: Vec<String> = warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "modelDescription.xml:3:7: completedlntegratorStepNotNeeded is taken as \
             completedIntegratorStepNotNeeded",
            "modelDescription.xml:4:7: canRunAsynchronuosly is taken as canRunAsynchronuously",
            "modelDescription.xml:4:7: providesDirectionalDerivatives is taken as \
             providesDirectionalDerivative",
            "modelDescription.xml:4:7: unknown attribute colour of CoSimulation; ignored",
            "modelDescription.xml:6:7: unknown element Surprise; ignored",
            "modelDescription.xml:7:7: startTime=\"soon\" of DefaultExperiment is not a number; \
             ignored",
        ]
    );
}

#[test]
fn c46_defaults_of_initial() {
    // FMI 2.0.5 section 2.2.7, table of causality and variability; real variables.
    let table = [
        ("parameter", "fixed", Some(Initial::Exact)),
        ("parameter", "tunable", Some(Initial::Exact)),
        ("calculatedParameter", "fixed", Some(Initial::Calculated)),
        ("calculatedParameter", "tunable", Some(Initial::Calculated)),
        ("input", "discrete", None),
        ("input", "continuous", None),
        ("output", "constant", Some(Initial::Exact)),
        ("output", "discrete", Some(Initial::Calculated)),
        ("output", "continuous", Some(Initial::Calculated)),
        ("local", "constant", Some(Initial::Exact)),
        ("local", "fixed", Some(Initial::Calculated)),
        ("local", "tunable", Some(Initial::Calculated)),
        ("local", "discrete", Some(Initial::Calculated)),
        ("local", "continuous", Some(Initial::Calculated)),
        ("independent", "continuous", None),
    ];
    for (causality, variability, initial) in table {
        let attributes = format!("causality='{causality}' variability='{variability}'");
        let (variable, warnings) = variable(&attributes, "<Real/>");
        assert_eq!(variable.initial, initial, "{attributes}");
        assert_eq!(warnings, Vec::<String>::new());
    }
}

#[test]
fn c48_c62_independent_variable_is_never_set() {
    let attributes = "causality='independent' variability='continuous'";
    let (time, warnings) = variable(attributes, "<Real unit='s'/>");
    assert_eq!(time.causality, Causality::Independent);
    assert!(!time.settable_before_initialization() && !time.settable_between_steps());
    assert_eq!(warnings, Vec::<String>::new());
}

#[test]
fn c46_defaults_of_causality_and_variability() {
    let (real, warnings) = variable("", "<Real/>");
    assert_eq!(
        (real.causality, real.variability),
        (Causality::Local, Variability::Continuous)
    );
    assert_eq!(warnings, Vec::<String>::new());
    let (integer, warnings) = variable("causality='output'", "<Integer/>");
    assert_eq!(integer.variability, Variability::Discrete);
    assert!(warnings[0].contains("Integer output x cannot be continuous; taken as discrete"));
    let (parameter, warnings) = variable("causality='parameter'", "<Real start='1'/>");
    assert_eq!(parameter.variability, Variability::Fixed);
    assert_eq!(
        (parameter.initial, warnings.len()),
        (Some(Initial::Exact), 1)
    );
}

#[test]
fn c47_illegal_combinations_are_warned_of() {
    let (variable_1, warnings) = variable("causality='input' initial='exact'", "<Real start='1'/>");
    assert_eq!(variable_1.initial, None);
    assert!(
        warnings[0].contains("initial exact is not allowed for input"),
        "{}",
        warnings[0]
    );
    let (constant, warnings) = variable("causality='input' variability='constant'", "<Real/>");
    assert_eq!(constant.initial, Some(Initial::Calculated));
    assert!(
        warnings[0].contains("causality input with variability constant"),
        "{}",
        warnings[0]
    );
}

#[test]
fn c48_c49_when_a_variable_may_be_set() {
    let (input, _) = variable("causality='input'", "<Real start='0'/>");
    assert!(!input.settable_before_initialization());
    assert!(input.settable_during_initialization() && input.settable_between_steps());
    let (fixed, _) = variable(
        "causality='parameter' variability='fixed'",
        "<Real start='0'/>",
    );
    assert!(fixed.settable_before_initialization() && !fixed.settable_between_steps());
    let (tunable, _) = variable(
        "causality='parameter' variability='tunable'",
        "<Real start='0'/>",
    );
    assert!(tunable.settable_between_steps());
    let (constant, _) = variable(
        "causality='output' variability='constant'",
        "<Real start='0'/>",
    );
    assert!(!constant.settable_before_initialization());
    assert!(!constant.settable_during_initialization());
}

#[test]
fn c59_declared_type_supplies_what_is_not_given() {
    let d = clean(
        "<UnitDefinitions><Unit name='degC'><BaseUnit K='1' offset='273.15'/>\
           <DisplayUnit name='degF' factor='1.8' offset='32'/></Unit></UnitDefinitions>\
         <TypeDefinitions>\
           <SimpleType name='T' description='temperature'><Real quantity='Temperature' unit='degC'\
             displayUnit='degF' min='-273.15' max='1000' nominal='20' relativeQuantity='false'/>\
           </SimpleType>\
           <SimpleType name='Gear'><Enumeration quantity='gear'><Item name='P' value='1'/>\
             <Item name='D' value='4' description='drive'/></Enumeration></SimpleType>\
         </TypeDefinitions>\
         <ModelVariables>\
           <ScalarVariable name='t' valueReference='0' causality='input'>\
             <Real declaredType='T' max='500' start='21.5'/></ScalarVariable>\
           <ScalarVariable name='gear' valueReference='0' causality='input'\
             variability='discrete'><Enumeration declaredType='Gear' start='4'/></ScalarVariable>\
         </ModelVariables>",
    );
    let t = d.variable("t").unwrap();
    let real = t.real().unwrap();
    assert_eq!(
        (real.unit.as_deref(), real.display_unit.as_deref()),
        (Some("degC"), Some("degF"))
    );
    assert_eq!((real.min, real.max), (Some(-273.15), Some(500.0)));
    assert_eq!((real.nominal, real.start), (Some(20.0), Some(21.5)));
    assert_eq!(
        (real.quantity.as_deref(), t.declared_type.as_deref()),
        (Some("Temperature"), Some("T"))
    );
    let unit = d.unit("degC").unwrap();
    assert_eq!(unit.base.unwrap().exponents, [0, 0, 0, 0, 1, 0, 0, 0]);
    assert_eq!(unit.display_units[0].factor, 1.8);
    let gear = d.variable("gear").unwrap();
    assert_eq!(gear.kind.base_type(), BaseType::Integer);
    let names: Vec<_> = d
        .enumeration_items(gear)
        .iter()
        .map(|i| (i.name.as_str(), i.value))
        .collect();
    assert_eq!(names, [("P", 1), ("D", 4)]);
}

/// Tools write empty attributes for what they do not know.
#[test]
fn c59_an_empty_unit_is_none() {
    let d = clean(
        "<TypeDefinitions><SimpleType name='T'><Real unit='degC'/></SimpleType></TypeDefinitions>\
         <ModelVariables>\
           <ScalarVariable name='a' valueReference='0' causality='input'><Real unit='' start='0'/></ScalarVariable>\
           <ScalarVariable name='b' valueReference='1' causality='input'><Real unit=' ' start='0'/></ScalarVariable>\
           <ScalarVariable name='c' valueReference='2' causality='input'><Real declaredType='T' unit='' start='0'/></ScalarVariable>\
         </ModelVariables>",
    );
    let unit = |name| d.variable(name).and_then(|v| v.real()?.unit.as_deref());
    assert_eq!(
        [unit("a"), unit("b"), unit("c")],
        [None, None, Some("degC")]
    );
}

const THREE: &str = "<ModelVariables>\
    <ScalarVariable name='a' valueReference='0' causality='input'><Real start='0'/></ScalarVariable>\
    <ScalarVariable name='b' valueReference='1' causality='output'><Real derivative='1'/>\
    </ScalarVariable>\
    <ScalarVariable name='c' valueReference='2' causality='output'><Real/></ScalarVariable>\
    </ModelVariables>";

fn structure(content: &str) -> (ModelDescription, Vec<String>) {
    parse(&format!(
        "{THREE}<ModelStructure>{content}</ModelStructure>"
    ))
}

#[test]
fn c64_c65_indices_count_from_one_and_absent_differs_from_empty() {
    let (d, warnings) = structure(
        "<Outputs><Unknown index='2' dependencies=''/>\
           <Unknown index='3'/></Outputs>\
         <Derivatives><Unknown index='2' dependencies='1 3' dependenciesKind='fixed dependent'/>\
           </Derivatives>",
    );
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(d.variables[1].real().unwrap().derivative, Some(0));
    assert_eq!(*d.output_dependencies(1), Dependencies::Listed(Vec::new()));
    assert_eq!(*d.output_dependencies(2), Dependencies::All);
    let kinds = vec![(0, DependencyKind::Fixed), (2, DependencyKind::Dependent)];
    assert_eq!(
        d.structure.derivatives[0].dependencies,
        Dependencies::Listed(kinds)
    );
    assert!(d.output_dependencies(2).contains(0) && !d.output_dependencies(1).contains(0));
}

#[test]
fn c66_dependencies_differ_during_initialization() {
    let (d, _) = structure(
        "<Outputs><Unknown index='2' dependencies=''/><Unknown index='3' dependencies='1'/></Outputs>\
         <InitialUnknowns><Unknown index='2' dependencies='1'/></InitialUnknowns>",
    );
    assert!(!d.output_dependencies(1).contains(0) && d.initial_dependencies(1).contains(0));
}

#[test]
fn c67_forgotten_outputs_depend_on_everything() {
    let (d, warnings) = structure("<Outputs><Unknown index='2'/></Outputs>");
    assert_eq!(*d.output_dependencies(2), Dependencies::All);
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].contains("c: is an output, but not listed"),
        "{}",
        warnings[0]
    );
}

#[test]
fn c68_kinds_that_do_not_fit_are_taken_as_dependent() {
    let (d, warnings) = structure(
        "<Outputs><Unknown index='2' dependencies='1' dependenciesKind='fixed fixed'/>\
                   <Unknown index='3' dependencies='7'/></Outputs>",
    );
    let expected = Dependencies::Listed(vec![(0, DependencyKind::Dependent)]);
    assert_eq!(*d.output_dependencies(1), expected);
    assert_eq!(*d.output_dependencies(2), Dependencies::All);
    assert_eq!(warnings.len(), 2);
}

#[test]
fn r15_numbers_out_of_range_are_errors_with_their_line() {
    for index in ["0", "4", "4000000000", "-1", "x", ""] {
        let content = format!(
            "{THREE}<ModelStructure><Outputs>\n<Unknown index='{index}'/>\
                               </Outputs></ModelStructure>"
        );
        let error = error(&xml(&content));
        assert_eq!(place(&error), (4, 1), "{error}");
        assert!(
            error.message.contains("not a number from 1 to 3"),
            "{error}"
        );
    }
    for reference in ["-2", "4294967296", "1.5"] {
        let content = variables(&format!(
            "  <ScalarVariable name='x' valueReference='{reference}'/>"
        ));
        let error = error(&xml(&content));
        assert_eq!(place(&error), (4, 3), "{error}");
    }
}

#[test]
fn r03_malformed_xml_has_line_and_column() {
    let cases = [
        (
            "<fmiModelDescription fmiVersion='2.0'>\n  <a>\n </b>",
            (3, 2),
        ),
        ("<fmiModelDescription fmiVersion='2.0'>\n  <a", (2, 3)),
        (
            "<fmiModelDescription fmiVersion='2.0'>\n<a b='&nope;'/>",
            (2, 4),
        ),
        (
            "<fmiModelDescription fmiVersion='2.0'>\n\n<a b='1' b='2'/>",
            (3, 10),
        ),
        (
            "<fmiModelDescription fmiVersion='2.0'>\n<CoSimulation modelIdentifier='m'/>",
            (2, 36),
        ),
    ];
    for (text, expected) in cases {
        let error = error(text);
        assert_eq!(place(&error), expected, "{error}");
    }
    assert!(error("").message.contains("no element"));
    assert!(
        error("<other/>")
            .message
            .contains("not fmiModelDescription")
    );
    assert!(
        error(&(xml("") + "<again/>"))
            .message
            .contains("second root")
    );
}

#[test]
fn r07_byte_order_marks_do_not_shift_anything() {
    for marks in ["\u{feff}", "\u{feff}\u{feff}"] {
        let text = format!("{marks}{}", xml("<CoSimulation modelIdentifier='ü'/>"));
        let (description, _) = ModelDescription::parse(text.as_bytes()).unwrap();
        assert_eq!(description.co_simulation.unwrap().model_identifier, "ü");
    }
}

#[test]
fn r04_r05_document_types_are_refused_at_once() {
    let mut text = String::from("<!DOCTYPE lolz [<!ENTITY lol0 'lol'>");
    for level in 1..20 {
        let inner = format!("&lol{};", level - 1).repeat(10);
        text += &format!("<!ENTITY lol{level} '{inner}'>");
    }
    text += "]><fmiModelDescription fmiVersion='2.0' modelName='&lol19;' guid='g'/>";
    assert!(error(&text).message.contains("DOCTYPE is not allowed"));
    let external = "<!DOCTYPE a SYSTEM 'file:///etc/passwd'><fmiModelDescription/>";
    assert!(error(external).message.contains("DOCTYPE is not allowed"));
}

#[test]
fn r06_deep_nesting_is_refused() {
    let deep = "<a>".repeat(200_000);
    assert!(error(&xml(&deep)).message.contains("levels deep"));
}

#[test]
fn thousands_of_attributes_are_refused() {
    let many: String = (0..5_000).map(|i| format!(" a{i}='1'")).collect();
    assert!(
        error(&xml(&format!("<CoSimulation{many}/>")))
            .message
            .contains("256 attributes")
    );
}

#[test]
fn r14_model_identifier_cannot_leave_its_folder() {
    for identifier in ["../../evil", "a/b", "a\\b", "", "..", "C:evil"] {
        let content = format!("<CoSimulation modelIdentifier='{identifier}'/>");
        let error = error(&xml(&content));
        assert!(
            error.message.contains("cannot be the name of a file"),
            "{error}"
        );
    }
    let (_, warnings) = parse("<CoSimulation modelIdentifier='my model-1'/>");
    assert!(
        warnings[0].contains("not a C identifier"),
        "{}",
        warnings[0]
    );
}

#[test]
fn names_are_found_whatever_they_hold() {
    let names = [
        "der(x,2)",
        "a[1].b",
        "größe",
        "with space",
        "a.'quoted'",
        "&lt;tag&gt;",
    ];
    let content: String = names
        .iter()
        .map(|name| {
            format!("<ScalarVariable name=\"{name}\" valueReference='0'><Real/></ScalarVariable>")
        })
        .collect();
    let d = clean(&variables(&content));
    for name in [
        "der(x,2)",
        "a[1].b",
        "größe",
        "with space",
        "a.'quoted'",
        "<tag>",
    ] {
        assert_eq!(d.variable(name).unwrap().name, name);
    }
    assert!(d.variable("x").is_none());
    assert_eq!(d.variable("der(x,2)").unwrap().line, 4);
}

#[test]
fn annotations_are_kept_as_written() {
    let d = clean(
        "<VendorAnnotations><Tool name='other'> <X a=\"1\"><!-- c --><Y/></X> </Tool>\
           <Tool name='empty'/>\
         </VendorAnnotations>\
         <ModelVariables><ScalarVariable name='x' valueReference='0'><Real/>\
           <Annotations><Tool name='t'><Z/></Tool></Annotations></ScalarVariable></ModelVariables>",
    );
    assert_eq!(d.vendor_annotations[0].tool, "other");
    assert_eq!(d.vendor_annotations[0].xml, "<X a=\"1\"><!-- c --><Y/></X>");
    assert_eq!(d.vendor_annotations[1].xml, "");
    assert_eq!(d.variables[0].annotations[0].xml, "<Z/>");
    assert!(!d.declares_fresh_outputs());
}

#[test]
fn our_annotation_names_the_parameter_against_fresh_outputs_and_whether_libraries_are_shared() {
    let d = clean(
        "<VendorAnnotations><Tool name='gyrator'>\
           <Declarations><Feedthrough fresh='true' unless='cached_outputs'/>\
           <Library shared='true'/></Declarations></Tool></VendorAnnotations>",
    );
    assert_eq!(d.fresh_outputs_unless().as_deref(), Some("cached_outputs"));
    assert!(d.declares_shared_library());
    let other = clean(
        "<VendorAnnotations><Tool name='x'><Library shared='true'/></Tool></VendorAnnotations>",
    );
    assert!(!other.declares_shared_library());
    assert_eq!(other.fresh_outputs_unless(), None);
}

#[test]
fn input_derivatives_have_the_declared_order_and_one_where_none_is_declared() {
    let order = |interpolates: &str, annotation: &str| {
        clean(&format!(
            "<CoSimulation modelIdentifier='m' canInterpolateInputs='{interpolates}'/>\
             <VendorAnnotations><Tool name='gyrator'>{annotation}</Tool></VendorAnnotations>"
        ))
        .input_derivative_order()
    };
    assert_eq!(order("false", "<InputDerivatives order='3'/>"), 0);
    assert_eq!(order("true", ""), 1);
    assert_eq!(order("true", "<InputDerivatives order='3'/>"), 3);
    assert_eq!(order("true", "<InputDerivatives order='x'/>"), 1);
}

#[test]
fn fresh_outputs_are_declared_by_our_annotation_only() {
    let with = |tool: &str, content: &str| {
        clean(&format!(
            "<VendorAnnotations><Tool name='{tool}'>{content}</Tool></VendorAnnotations>"
        ))
        .declares_fresh_outputs()
    };
    assert!(with("gyrator", "<Feedthrough fresh=\"true\"/>"));
    assert!(with("gyrator", "<Other/><Feedthrough fresh=\"1\"/>"));
    assert!(!with("gyrator", "<Feedthrough fresh=\"false\"/>"));
    assert!(!with("gyrator", "<Feedthrough/>"));
    assert!(!with("other", "<Feedthrough fresh=\"true\"/>"));
}

#[test]
fn a_flood_of_warnings_is_cut() {
    let content = "<Surprise/>".repeat(10_000);
    let (_, warnings) = parse(&content);
    assert_eq!(warnings.len(), 201);
    assert!(warnings[200].contains("9800 more warnings"));
}

#[test]
fn r46_enormous_descriptions_are_read() {
    const COUNT: usize = 20_000;
    let variables: String = (0..COUNT)
        .map(|i| {
            format!(
                "<ScalarVariable name='v{i}' valueReference='{i}' causality='output'><Real/>\
                 </ScalarVariable>\n"
            )
        })
        .collect();
    let unknowns: String = (1..=COUNT)
        .map(|i| format!("<Unknown index='{i}' dependencies=''/>\n"))
        .collect();
    let text = format!(
        "<fmiModelDescription fmiVersion='2.0' modelName='m' guid='g'>\
         <CoSimulation modelIdentifier='m'/><ModelVariables>{variables}</ModelVariables>\
         <ModelStructure><Outputs>{unknowns}</Outputs></ModelStructure></fmiModelDescription>"
    );
    let (model, warnings) = ModelDescription::parse(text.as_bytes()).unwrap();
    assert_eq!((model.variables.len(), warnings.len()), (COUNT, 0));
    for index in (0..COUNT).step_by(7) {
        assert_eq!(model.variable_index(&format!("v{index}")), Some(index));
        assert!(!model.output_dependencies(index).contains(0));
    }
}
