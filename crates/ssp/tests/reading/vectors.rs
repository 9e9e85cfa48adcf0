//! Vector ports of OpenMCx and Model.CONNECT: in annotations of connectors and connections.

use super::files::{accepted, connections, description, fmu, folder, refused, start_values};

const PORT: &str = "com.avl.model.connect.ssp.port";

/// A connector with this port.
fn connector(name: &str, kind: &str, port: &str) -> String {
    format!(
        r#"<ssd:Connector name="{name}" kind="{kind}"><ssc:Real/><ssd:Annotations><ssc:Annotation type="{PORT}">{port}</ssc:Annotation></ssd:Annotations></ssd:Connector>"#
    )
}

/// Two FMUs with the inputs `v[1]` to `v[3]` and `k`, and the outputs `b[1]` to `b[3]`.
fn system(input: &str, connections: &str) -> tempfile::TempDir {
    let vector = r#"<p:Port><p:RealVector startIndex="1" endIndex="3"/></p:Port>"#;
    let component = |name: &str, input: &str| {
        format!(
            r#"<ssd:Component name="{name}" source="m.fmu"><ssd:Connectors>{input}{}{}</ssd:Connectors></ssd:Component>"#,
            connector(
                "k",
                "input",
                r#"<p:Port id="k"><p:Real default="2.5"/></p:Port>"#
            ),
            connector("b", "output", vector)
        )
    };
    let system = format!(
        "<ssd:Elements>{}{}</ssd:Elements><ssd:Connections>{connections}</ssd:Connections>",
        component("one", input),
        component("two", &connector("v", "input", vector))
    );
    let folder = folder(&[("SystemStructure.ssd", &description(&system, ""))]);
    let mut variables = String::new();
    for (number, name) in ["v[1]", "v[2]", "v[3]", "k"].iter().enumerate() {
        variables += &format!(
            "<ScalarVariable name='{name}' valueReference='{number}' causality='input'><Real start='0'/></ScalarVariable>"
        );
    }
    for number in 1..=3 {
        variables += &format!(
            "<ScalarVariable name='b[{number}]' valueReference='1{number}' causality='output'><Real/></ScalarVariable>"
        );
    }
    fmu(&folder.path().join("m.fmu"), "", &variables);
    folder
}

/// A connection of vectors, or of elements.
fn connection(from: &str, to: &str, indices: &str) -> String {
    let [start, end] = [from, to].map(|end| end.split_once('.').unwrap());
    format!(
        r#"<ssd:Connection startElement="{}" startConnector="{}" endElement="{}" endConnector="{}"><ssd:Annotations>
<ssc:Annotation type="com.avl.model.connect.ssp.connection"><c:Connection>{indices}</c:Connection></ssc:Annotation></ssd:Annotations></ssd:Connection>"#,
        start.0, start.1, end.0, end.1
    )
}

/// The value of an element counts if no parameter set gives another.
#[test]
fn vectors_are_the_variables_of_their_elements() {
    let input = connector(
        "v",
        "input",
        r#"<p:Port><p:RealVector startIndex="1" endIndex="3" default="1.0 2.0 3.0"/></p:Port>"#,
    );
    let whole = r#"<c:Start startIndex="1" endIndex="3"/><c:End startIndex="1" endIndex="3"/>"#;
    let folder = system(&input, &connection("one.b", "two.v", whole));
    let (system_file, warnings) = accepted(&folder);
    assert_eq!(warnings, Vec::<String>::new());
    let expected = [
        "one.b[1] -> two.v[1]",
        "one.b[2] -> two.v[2]",
        "one.b[3] -> two.v[3]",
    ];
    assert_eq!(connections(&system_file), expected);
    let mut values = start_values(&system_file);
    values.sort();
    let expected = [
        "one.k = 2.5",
        "one.v[1] = 1.0",
        "one.v[2] = 2.0",
        "one.v[3] = 3.0",
        "two.k = 2.5",
    ];
    assert_eq!(values, expected);
    let element = connection(
        "one.b",
        "two.k",
        r#"<c:Start startIndex="2" endIndex="2"/>"#,
    ) + &connection(
        "two.b",
        "one.v",
        r#"<c:Start startIndex="1" endIndex="2"/><c:End startIndex="2" endIndex="3"/>"#,
    );
    let (system_file, _) = accepted(&system(&input, &element));
    let expected = [
        "one.b[2] -> two.k",
        "two.b[1] -> one.v[2]",
        "two.b[2] -> one.v[3]",
    ];
    assert_eq!(connections(&system_file), expected);
}

#[test]
fn what_is_not_read_of_vectors_is_an_error() {
    let vector = |attributes: &str| {
        connector(
            "v",
            "input",
            &format!("<p:Port><p:RealVector {attributes}/></p:Port>"),
        )
    };
    let good = vector(r#"startIndex="1" endIndex="3""#);
    for (input, connections, expected) in [
        (vector(r#"startIndex="3" endIndex="1""#), String::new(), "a vector from element 3 to 1"),
        (vector(r#"startIndex="1""#), String::new(), "needs the attribute `endIndex`"),
        (vector(r#"startIndex="1" endIndex="3" default="1 2""#), String::new(), "must have 3 values of the type Real"),
        (vector(r#"startIndex="1" endIndex="99999999999""#), String::new(), "a vector from element 1 to"),
        (
            connector("v", "input", r#"<p:Port nameInModel="x"/>"#),
            String::new(),
            "other names are not supported",
        ),
        (good.clone(), connection("one.b", "two.v", ""), "`one` has no connector `b`"),
        (
            good.clone(),
            connection("one.b", "two.v", r#"<c:Start startIndex="1" endIndex="2"/><c:End startIndex="1" endIndex="3"/>"#),
            "from 2 elements to 3",
        ),
        (
            good.clone(),
            r#"<ssd:Connection startElement="one" startConnector="b" startIndices="1" endElement="two" endConnector="k"/>"#.to_owned(),
            "connections of elements of an array are not supported",
        ),
    ] {
        let message = refused(&system(&input, &connections));
        assert!(message.contains(expected), "{message}");
    }
    // Annotations of connectors and connections that are not understood are named once.
    let other = connector("v", "input", "").replace(PORT, "org.vendor");
    let folder = system(&other.replace("name=\"v\"", "name=\"v[1]\""), "");
    let (_, warnings) = accepted(&folder);
    let expected = "not supported and ignored: annotations of the type org.vendor";
    assert_eq!(warnings, [expected]);
    // A connector without a variable is also named.
    let folder = system(&other.replace(PORT, "org.vendor"), "");
    let (_, warnings) = accepted(&folder);
    let missing = "the FMU of `one` has no variables for these connectors, which are ignored: v";
    assert_eq!(warnings, [missing, expected]);
}
