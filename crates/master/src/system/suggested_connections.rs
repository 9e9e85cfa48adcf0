//! Connections that a system of unconnected FMUs suggests, by names, types and units of variables.

use gyrator_system::{Connection, Port};

use super::System;
use super::suggested_bonds::Name;
use crate::unit::{Causality, Conversion, Variable};

/// A connection that a system could have.
#[derive(Debug, Clone, PartialEq)]
pub struct SuggestedConnection {
    /// An output and an input of different components.
    pub connection: Connection,
    /// The sign by which it is found.
    pub likeness: Likeness,
    /// Unit of the input.
    pub unit: Option<String>,
    /// Unit of the output, if its values are converted.
    pub converted_from: Option<String>,
}

impl SuggestedConnection {
    /// The sign by which it is found, and the units, in words.
    pub fn words(&self) -> String {
        let sign = match (self.likeness, &self.converted_from) {
            (Likeness::NameAndUnit, Some(_)) => Likeness::Name.words(),
            (Likeness::SimilarNameAndUnit, Some(_)) => Likeness::SimilarName.words(),
            (likeness, _) => likeness.words(),
        };
        match (&self.converted_from, &self.unit) {
            (Some(from), Some(to)) => format!("{sign}, {from} converted to {to}"),
            (_, Some(unit)) => format!("{sign}, {unit}"),
            _ => sign.to_owned(),
        }
    }
}

/// An input for which no single output stands out.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenInput {
    /// The input.
    pub input: Port,
    /// Its unit.
    pub unit: Option<String>,
    /// Outputs that would do equally well; none if no output has its type and unit.
    pub candidates: Vec<Port>,
}

/// The sign that an output belongs to an input, the stronger ones first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    /// The same name, in units that convert.
    NameAndUnit,
    /// The same name, if a unit is missing.
    Name,
    /// Names that differ in numbers and capitals, in units that convert.
    SimilarNameAndUnit,
    /// Such names, if a unit is missing.
    SimilarName,
    /// The only output of another component that measures the same quantity.
    Unit,
    /// The only output of another component with a word of its name, or its beginning, if a unit is missing.
    Word,
}

impl Likeness {
    /// The sign in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::NameAndUnit => "same name and unit",
            Self::Name => "same name",
            Self::SimilarNameAndUnit => "similar name, same unit",
            Self::SimilarName => "similar name",
            Self::Unit => "by the unit alone",
            Self::Word => "by a word of the name",
        }
    }
}

/// A connection to each input of which one output stands out, and the inputs that stay open. Connections that the
/// system has already are left alone.
pub fn suggested_connections(system: &System) -> (Vec<SuggestedConnection>, Vec<OpenInput>) {
    let (mut found, mut open) = (Vec::new(), Vec::new());
    let wires = &system.file.connections;
    for (input, variable) in variables(system, Causality::Input) {
        if wires.iter().any(|known| known.to.value == input) {
            continue;
        }
        let unit = variable.unit.as_ref().map(|unit| unit.name.clone());
        let (likeness, candidates) = best(system, &input, variable);
        match (likeness, &candidates[..]) {
            (Some(likeness), [(output, other)]) => found.push(SuggestedConnection {
                connection: Connection::new(output.clone(), input),
                likeness,
                unit,
                converted_from: converted_from(other, variable),
            }),
            _ => open.push(OpenInput {
                input,
                unit,
                candidates: candidates.into_iter().map(|(output, _)| output).collect(),
            }),
        }
    }
    (found, open)
}

/// The outputs that are most like an input, and how much.
fn best<'a>(
    system: &'a System,
    input: &Port,
    variable: &Variable,
) -> (Option<Likeness>, Vec<(Port, &'a Variable)>) {
    let outputs = variables(system, Causality::Output);
    let others = outputs.filter(|(output, _)| output.component != input.component);
    let alike: Vec<_> = others
        .filter_map(|(output, other)| Some((likeness(other, variable)?, (output, other))))
        .filter(|(likeness, (output, _))| {
            *likeness < Likeness::Unit || !is_twin(system, &output.component, &input.component)
        })
        .collect();
    let most = alike.iter().map(|(likeness, _)| *likeness).min();
    let equal = alike
        .into_iter()
        .filter(|(likeness, _)| Some(*likeness) == most);
    (most, equal.map(|(_, output)| output).collect())
}

/// The unit of an output whose values an input gets in another unit.
fn converted_from(output: &Variable, input: &Variable) -> Option<String> {
    let (from, to) = output.unit.as_ref().zip(input.unit.as_ref())?;
    let conversion = from.conversion_to(to).ok()?;
    (conversion != Conversion::IDENTITY).then(|| from.name.clone())
}

/// Whether two components are instances of one FMU: variables that they share do not show that they belong together.
fn is_twin(system: &System, one: &str, other: &str) -> bool {
    let fmu = |name: &str| {
        let mut components = system.file.components.iter();
        let found = components.find(|component| component.name.value == name);
        let path = found.map(|component| &component.fmu.value);
        path.filter(|path| !path.as_os_str().is_empty())
    };
    fmu(one).is_some_and(|path| fmu(other) == Some(path))
}

fn likeness(output: &Variable, input: &Variable) -> Option<Likeness> {
    if output.kind != input.kind || output.is_discrete && !input.is_discrete {
        return None;
    }
    let same_unit = match (&output.unit, &input.unit) {
        (Some(from), Some(to)) => {
            from.conversion_to(to).ok()?;
            let is_dimension = |exponents: [i32; 8]| exponents != [0; 8];
            Some(from.exponents.is_some_and(is_dimension))
        }
        _ => None,
    };
    let is_same = output.name.eq_ignore_ascii_case(&input.name);
    let (from, to) = (Name::of(&output.name), Name::of(&input.name));
    match (is_same, from == to, same_unit) {
        (true, _, Some(_)) => Some(Likeness::NameAndUnit),
        (true, _, None) => Some(Likeness::Name),
        (_, true, Some(_)) => Some(Likeness::SimilarNameAndUnit),
        (_, true, None) => Some(Likeness::SimilarName),
        (_, _, Some(true)) => Some(Likeness::Unit),
        (_, _, None) if from.shares_a_word(&to) => Some(Likeness::Word),
        _ => None,
    }
}

/// The variables of a causality, in the order of the file and of the FMUs.
fn variables(system: &System, causality: Causality) -> impl Iterator<Item = (Port, &Variable)> {
    let components = system.file.components.iter().zip(&system.parts);
    components.flat_map(move |(component, part)| {
        let variables = part.description().variables.iter();
        let wanted = variables.filter(move |variable| variable.causality == causality);
        let name = &component.name.value;
        wanted.map(move |variable| (Port::new(name, &variable.name), variable))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::{ClosureUnit, VariableType};

    fn starts<'a>(names: &[&'a str]) -> Vec<(&'a str, f64)> {
        names.iter().map(|name| (*name, 0.0)).collect()
    }

    fn system(units: &[(&str, &[&str], &[&str])]) -> System {
        let mut system = System::new(0.1);
        for (name, inputs, outputs) in units {
            let unit = ClosureUnit::new(&starts(inputs), &starts(outputs), |_| {});
            system.add(name, unit);
        }
        system
    }

    fn texts(system: &System) -> (Vec<String>, Vec<String>) {
        let (found, open) = suggested_connections(system);
        let found = found.iter().map(|suggested| {
            let Connection { from, to, .. } = &suggested.connection;
            format!(
                "{} → {}: {}",
                from.value,
                to.value,
                suggested.likeness.words()
            )
        });
        let open = open
            .iter()
            .map(|open| format!("{}: {}", open.input, open.candidates.len()));
        (found.collect(), open.collect())
    }

    #[test]
    fn equal_names_come_before_similar_ones() {
        let system = system(&[
            ("left", &["x2", "mode"], &["f"]),
            ("right", &["F"], &["x", "v"]),
        ]);
        let (found, open) = texts(&system);
        assert_eq!(
            found,
            [
                "right.x → left.x2: similar name",
                "left.f → right.F: same name"
            ]
        );
        assert_eq!(open, ["left.mode: 0"]);
    }

    /// The FMUs of a quarter truck, which have no units.
    #[test]
    fn a_word_of_the_name_is_the_last_sign() {
        let outputs = [
            "acceleration",
            "out_spring_damper_f",
            "position",
            "velocity",
        ];
        let system = system(&[
            ("chassis", &["force_in"], &outputs[..]),
            ("wheel", &["in_vel"], &outputs[..]),
            ("road", &["tyre"], &["out_x"]),
        ]);
        let (found, open) = texts(&system);
        assert_eq!(
            found,
            ["chassis.velocity → wheel.in_vel: by a word of the name"]
        );
        assert_eq!(open, ["chassis.force_in: 0", "road.tyre: 0"]);
    }

    #[test]
    fn equals_stay_open_and_what_is_connected_is_left_alone() {
        let mut system = system(&[
            ("a", &["u", "y"], &[]),
            ("b", &[], &["u"]),
            ("c", &[], &["u", "y"]),
        ]);
        assert_eq!(texts(&system).1, ["a.u: 2"]);
        system.connect("c.u", "a.u");
        assert_eq!(
            texts(&system),
            (vec!["c.y → a.y: same name".to_owned()], Vec::new())
        );
    }

    #[test]
    fn units_that_differ_are_named() {
        let found = |likeness, converted_from: Option<&str>| SuggestedConnection {
            connection: Connection::new(Port::new("a", "F"), Port::new("b", "F")),
            likeness,
            unit: Some("N".to_owned()),
            converted_from: converted_from.map(str::to_owned),
        };
        for (likeness, from, words) in [
            (Likeness::NameAndUnit, None, "same name and unit, N"),
            (
                Likeness::NameAndUnit,
                Some("kN"),
                "same name, kN converted to N",
            ),
            (
                Likeness::SimilarNameAndUnit,
                Some("kN"),
                "similar name, kN converted to N",
            ),
            (
                Likeness::Unit,
                Some("kN"),
                "by the unit alone, kN converted to N",
            ),
        ] {
            assert_eq!(found(likeness, from).words(), words);
        }
        let force = |name: &str, factor| {
            let mut variable = Variable::real("F", 0, Causality::Output);
            variable.unit = Some(crate::unit::PhysicalUnit {
                name: name.to_owned(),
                exponents: Some([1, 1, -2, 0, 0, 0, 0, 0]),
                factor,
                offset: 0.0,
                relative: false,
            });
            variable
        };
        let kilonewton = force("kN", 1e3);
        assert_eq!(
            converted_from(&kilonewton, &force("N", 1.0)).as_deref(),
            Some("kN")
        );
        assert_eq!(converted_from(&kilonewton, &force("10^3 N", 1e3)), None);
    }

    #[test]
    fn types_and_quantities_have_to_agree() {
        let unit = |name: &str, exponents| {
            Some(crate::unit::PhysicalUnit {
                name: name.to_owned(),
                exponents: Some(exponents),
                factor: 1.0,
                offset: 0.0,
                relative: false,
            })
        };
        let variable = |name: &str, unit| {
            let mut variable = Variable::real(name, 0, Causality::Input);
            variable.unit = unit;
            variable
        };
        let newton = [1, 1, -2, 0, 0, 0, 0, 0];
        let force = variable("push", unit("N", newton));
        assert_eq!(
            likeness(&variable("pull", unit("N", newton)), &force),
            Some(Likeness::Unit)
        );
        assert_eq!(
            likeness(
                &variable("push", unit("m", [0, 1, 0, 0, 0, 0, 0, 0])),
                &force
            ),
            None
        );
        assert_eq!(likeness(&variable("pull", None), &force), None);
        let ratio = variable("ratio", unit("1", [0; 8]));
        assert_eq!(
            likeness(&variable("share", unit("1", [0; 8])), &ratio),
            None
        );
        let mut whole = variable("push", None);
        whole.kind = VariableType::Integer;
        assert_eq!(likeness(&whole, &force), None);
    }
}
