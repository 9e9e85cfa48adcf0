//! Power bonds that the connections of a system suggest: two connections, one there and one back, of
//! which the product is a power by their units or, if units are missing, by their names.

use std::collections::BTreeSet;

use gyrator_ssp::PowerPort;
use gyrator_system::{Bond, Connection, Port, Spanned};

use super::System;
use crate::unit::{PhysicalUnit, Quantity};
use crate::unit::{Variable, VariableType};

/// A bond that a system could have.
#[derive(Debug, Clone, PartialEq)]
pub struct SuggestedBond {
    /// The bond, without a correction; its sense is 1, which nothing here can tell.
    pub bond: Bond,
    /// The sign by which it is found.
    pub evidence: Evidence,
    /// The quantities, such as `force × velocity`.
    pub quantities: &'static str,
    /// Whether no other pair of connections would do for one of its axes.
    pub is_unique: bool,
}

/// The sign that the product of two connections is a power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// A port that the FMU of an end describes.
    Ports,
    /// The units of all four variables.
    Units,
    /// Names of variables, if a unit is missing.
    Names,
}

/// Effort and flow of a domain of physics.
struct Domain {
    quantities: &'static str,
    /// The type of port of OSP.
    port: &'static str,
    effort: Quantity,
    flow: Quantity,
    /// Names in use, as words of a variable's name; one letter is the first or the last of them.
    effort_words: &'static [&'static str],
    flow_words: &'static [&'static str],
}

/// The domains of which OSP has ports as well, by exponents of kg, m, s, A. The angle has no dimension
/// of its own.
const DOMAINS: [Domain; 4] = [
    Domain {
        quantities: "force × velocity",
        port: "LinearMechanicalPort",
        effort: [1, 1, -2, 0, 0, 0, 0],
        flow: [0, 1, -1, 0, 0, 0, 0],
        effort_words: &["force", "f"],
        flow_words: &["velocity", "speed", "vel", "v"],
    },
    Domain {
        quantities: "torque × angular velocity",
        port: "AngularMechanicalPort",
        effort: [1, 2, -2, 0, 0, 0, 0],
        flow: [0, 0, -1, 0, 0, 0, 0],
        effort_words: &["torque", "tau"],
        flow_words: &["speed", "velocity", "omega", "w", "rpm"],
    },
    Domain {
        quantities: "voltage × current",
        port: "ElectromagneticPort",
        effort: [1, 2, -3, -1, 0, 0, 0],
        flow: [0, 0, 0, 1, 0, 0, 0],
        effort_words: &["voltage", "u", "v"],
        flow_words: &["current", "i"],
    },
    Domain {
        quantities: "pressure × volume flow rate",
        port: "HydraulicPort",
        effort: [1, -1, -2, 0, 0, 0, 0],
        flow: [0, 3, -1, 0, 0, 0, 0],
        effort_words: &["pressure", "p"],
        flow_words: &["flow", "flowrate", "q"],
    },
];

/// A connection that could be half of a bond.
struct Half<'a> {
    connection: &'a Connection,
    output: &'a Variable,
    input: &'a Variable,
    name: Name,
}

/// The parts of a variable's name.
#[derive(PartialEq, Eq)]
pub(super) struct Name {
    words: Vec<String>,
    /// Index or direction, such as `2` or `x`.
    axis: Option<String>,
}

/// Two halves that fit, the better ones first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    evidence: Evidence,
    has_other_axis: bool,
    has_other_name: bool,
    effort: usize,
    flow: usize,
    domain: usize,
}

impl Candidate {
    fn rank(&self) -> (Evidence, bool, bool) {
        (self.evidence, self.has_other_axis, self.has_other_name)
    }

    fn shares_a_half(&self, other: &Self) -> bool {
        self.effort == other.effort || self.flow == other.flow
    }
}

/// Bonds that connections without one suggest, in the order of the file. Connections that change values are
/// none: in a bond both ends have the same.
///
/// `ports` are those that the FMUs describe ([`gyrator_ssp::power_ports`]).
pub fn suggested_bonds(system: &System, ports: &[PowerPort]) -> Vec<SuggestedBond> {
    let halves = halves(system);
    let mut candidates = Vec::new();
    for (effort, a) in halves.iter().enumerate() {
        for (flow, b) in halves.iter().enumerate() {
            candidates.extend(candidate((effort, a), (flow, b), ports));
        }
    }
    candidates.sort();
    let mut chosen: Vec<(Candidate, bool)> = Vec::new();
    for candidate in candidates {
        match chosen
            .iter_mut()
            .find(|(known, _)| is_taken(known, &candidate))
        {
            Some((known, is_unique)) => *is_unique &= known.rank() != candidate.rank(),
            None => chosen.push((candidate, true)),
        }
    }
    chosen.sort_by_key(|(candidate, _)| candidate.effort.min(candidate.flow));
    bonds_of(system, &chosen, &halves)
}

/// The plain connections of real variables that stand in no bond.
fn halves(system: &System) -> Vec<Half<'_>> {
    let bonded: BTreeSet<(&Port, &Port)> = system
        .file
        .bonds
        .iter()
        .flat_map(|bond| bond.effort.iter().chain(&bond.flow))
        .map(|connection| (&connection.from.value, &connection.to.value))
        .collect();
    let is_free = |connection: &&Connection| {
        let ends = (&connection.from.value, &connection.to.value);
        connection.is_plain() && ends.0.component != ends.1.component && !bonded.contains(&ends)
    };
    let free = system.file.connections.iter().filter(is_free);
    free.filter_map(|connection| {
        let output = variable(system, &connection.from.value)?;
        let input = variable(system, &connection.to.value)?;
        Some(Half {
            connection,
            output,
            input,
            name: Name::of(&output.name),
        })
    })
    .filter(Half::passes_values_as_they_are)
    .collect()
}

fn variable<'a>(system: &'a System, port: &Port) -> Option<&'a Variable> {
    let mut components = system.file.components.iter();
    let place = components.position(|component| component.name.value == port.component)?;
    let description = system.parts.get(place)?.description();
    let found = description
        .variables
        .get(description.index(&port.variable)?)?;
    (found.kind == VariableType::Real && !found.is_discrete).then_some(found)
}

fn bonds_of(
    system: &System,
    chosen: &[(Candidate, bool)],
    halves: &[Half<'_>],
) -> Vec<SuggestedBond> {
    let known = system.file.bonds.iter().map(|bond| bond.name.value.clone());
    let mut names: BTreeSet<String> = known.collect();
    let mut bonds: Vec<(SuggestedBond, [usize; 2])> = Vec::new();
    for (candidate, is_unique) in chosen {
        let [effort, flow] = [&halves[candidate.effort], &halves[candidate.flow]];
        let joined = bonds.iter_mut().find(|(bond, first)| {
            bond.quantities == DOMAINS[candidate.domain].quantities
                && effort.is_axis_beside(&halves[first[0]])
                && flow.is_axis_beside(&halves[first[1]])
        });
        let axis = axis_of(effort, flow);
        if let Some((bond, _)) = joined {
            bond.bond.axis(axis.0, axis.1);
            bond.is_unique &= is_unique;
            continue;
        }
        let [a, b] = [&effort.connection.from.value, &flow.connection.from.value];
        let mut bond = Bond::new(free_name(
            &format!("{}-{}", a.component, b.component),
            &mut names,
        ));
        bond.axis(axis.0, axis.1);
        let suggested = SuggestedBond {
            bond,
            evidence: candidate.evidence,
            quantities: DOMAINS[candidate.domain].quantities,
            is_unique: *is_unique,
        };
        bonds.push((suggested, [candidate.effort, candidate.flow]));
    }
    bonds.into_iter().map(|(bond, _)| bond).collect()
}

fn is_taken(known: &Candidate, candidate: &Candidate) -> bool {
    let reversed = known.effort == candidate.flow || known.flow == candidate.effort;
    known.shares_a_half(candidate) || reversed
}

/// A name that no other bond has.
fn free_name(wish: &str, names: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{wish}-{number}"));
    let mut all = std::iter::once(wish.to_owned()).chain(numbered);
    let name = all.find(|name| !names.contains(name)).unwrap_or_default();
    names.insert(name.clone());
    name
}

/// The pair of an axis; a gain makes its power one in W if the units are not SI units.
fn axis_of(effort: &Half<'_>, flow: &Half<'_>) -> (Connection, Connection) {
    let of = |half: &Half<'_>| {
        let Connection { from, to, .. } = half.connection;
        Connection::new(from.value.clone(), to.value.clone())
    };
    let (mut effort_half, flow_half) = (of(effort), of(flow));
    let factor = |half: &Half<'_>| half.unit().map_or(1.0, |unit| unit.factor);
    let gain = factor(effort) * factor(flow);
    if gain != 1.0 {
        effort_half.gain = Some(Spanned::unplaced(gain));
    }
    (effort_half, flow_half)
}

fn candidate(
    (effort, a): (usize, &Half<'_>),
    (flow, b): (usize, &Half<'_>),
    ports: &[PowerPort],
) -> Option<Candidate> {
    let ends = |half: &Half<'_>| {
        let Connection { from, to, .. } = half.connection;
        (from.value.component.clone(), to.value.component.clone())
    };
    let (there, back) = (ends(a), ends(b));
    if (there.0, there.1) != (back.1, back.0) {
        return None;
    }
    let (domain, evidence) = DOMAINS.iter().enumerate().find_map(|(index, domain)| {
        let is_port = ports.iter().any(|port| domain.is_port(port, a, b));
        let evidence = is_port.then_some(Evidence::Ports);
        Some((index, evidence.or_else(|| domain.evidence(a, b))?))
    })?;
    Some(Candidate {
        evidence,
        has_other_axis: a.name.axis != b.name.axis,
        has_other_name: a.name.rest(&DOMAINS[domain]) != b.name.rest(&DOMAINS[domain]),
        effort,
        flow,
        domain,
    })
}

impl Domain {
    /// Whether the two are an effort and a flow of a port of either end.
    fn is_port(&self, port: &PowerPort, effort: &Half<'_>, flow: &Half<'_>) -> bool {
        let at_port = |half: &Half<'_>| {
            let Connection { from, to, .. } = half.connection;
            let ends = [&from.value, &to.value].into_iter();
            let mut ends = ends.filter(|end| end.component == port.component);
            ends.next().map(|end| end.variable.clone())
        };
        let pair = at_port(effort).zip(at_port(flow));
        let mut pairs = port.efforts.iter().zip(&port.flows);
        port.kind == self.port && pair.is_some_and(|(e, f)| pairs.any(|known| known == (&e, &f)))
    }

    fn evidence(&self, effort: &Half<'_>, flow: &Half<'_>) -> Option<Evidence> {
        let is = |half: &Half<'_>, quantity| half.unit().map(|unit| unit.measures(quantity));
        let units = [is(effort, self.effort), is(flow, self.flow)];
        if units.contains(&Some(false)) {
            return None;
        }
        if units == [Some(true); 2] {
            return Some(Evidence::Units);
        }
        let has_names = effort.is_named(self.effort_words) && flow.is_named(self.flow_words);
        has_names.then_some(Evidence::Names)
    }
}

impl Half<'_> {
    /// The unit of the output, or else of the input, if its quantity is known.
    fn unit(&self) -> Option<&PhysicalUnit> {
        let units = [&self.output.unit, &self.input.unit].into_iter().flatten();
        units.into_iter().find(|unit| unit.exponents.is_some())
    }

    /// Whether the input has the value of the output, in the same unit.
    fn passes_values_as_they_are(&self) -> bool {
        let (Some(from), Some(to)) = (&self.output.unit, &self.input.unit) else {
            return true;
        };
        (from.factor, from.offset) == (to.factor, to.offset) && from.offset == 0.0
    }

    fn is_named(&self, words: &[&str]) -> bool {
        self.name.has_one_of(words) || Name::of(&self.input.name).has_one_of(words)
    }

    /// Whether both are axes of one vector.
    fn is_axis_beside(&self, other: &Self) -> bool {
        let ends = |half: &Self| {
            let Connection { from, to, .. } = half.connection;
            (from.value.component.clone(), to.value.component.clone())
        };
        self.name.axis.is_some()
            && other.name.axis.is_some()
            && self.name.words == other.name.words
            && ends(self) == ends(other)
    }
}

impl Name {
    /// `Joint.contactForce_x` is `joint`, `contact`, `force` of axis `x`.
    pub(super) fn of(variable: &str) -> Self {
        let (stem, index) = match variable
            .strip_suffix(']')
            .and_then(|rest| rest.rsplit_once('['))
        {
            Some((stem, index)) => (stem, Some(index.to_owned())),
            None => (variable, None),
        };
        let mut words: Vec<String> = Vec::new();
        let mut was_lower = false;
        for letter in stem.chars() {
            let begins = letter.is_uppercase() && was_lower || words.is_empty();
            if !letter.is_alphabetic() {
                words.push(String::new());
            } else {
                if begins {
                    words.push(String::new());
                }
                if let Some(word) = words.last_mut() {
                    word.extend(letter.to_lowercase());
                }
            }
            was_lower = letter.is_lowercase();
        }
        words.retain(|word| !word.is_empty());
        // A variable that is called `x` is a position.
        let may_have_direction = words.len() > 1;
        let is_direction =
            |word: &mut String| may_have_direction && ["x", "y", "z"].contains(&word.as_str());
        let axis = index.or_else(|| words.pop_if(is_direction));
        Self { words, axis }
    }

    /// Whether a word of one begins a word of the other, `vel` and `velocity`.
    pub(super) fn shares_a_word(&self, other: &Self) -> bool {
        /// Letters that say something; `in` and `out` say the causality.
        const LETTERS: usize = 3;
        let says = |word: &&String| word.chars().count() >= LETTERS && *word != "out";
        let mut words = self.words.iter().filter(says);
        self.axis == other.axis
            && words.any(|one| {
                let mut others = other.words.iter().filter(says);
                others.any(|two| one.starts_with(two.as_str()) || two.starts_with(one.as_str()))
            })
    }

    fn has_one_of(&self, wanted: &[&str]) -> bool {
        let last = self.words.len().wrapping_sub(1);
        self.words.iter().enumerate().any(|(place, word)| {
            let is_symbol = word.chars().count() == 1;
            (!is_symbol || place == 0 || place == last) && wanted.contains(&word.as_str())
        })
    }

    /// The words that do not tell the quantity.
    fn rest(&self, domain: &Domain) -> Vec<&str> {
        let words = self.words.iter().map(String::as_str);
        words
            .filter(|word| !domain.effort_words.contains(word) && !domain.flow_words.contains(word))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::UnitSource;
    use crate::unit::{Handle, StepOutcome, Unit, UnitDescription, UnitResult};
    use crate::{ClosureUnit, System};

    fn name(variable: &str) -> (Vec<String>, Option<String>) {
        let Name { words, axis } = Name::of(variable);
        (words, axis)
    }

    #[test]
    fn names_are_read_as_words_and_an_axis() {
        let words = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        let axis = |text: &str| Some(text.to_owned());
        assert_eq!(
            name("joint.contactForce_x"),
            (words(&["joint", "contact", "force"]), axis("x"))
        );
        assert_eq!(name("v[2]"), (words(&["v"]), axis("2")));
        assert_eq!(name("x"), (words(&["x"]), None));
        assert_eq!(name("F1"), (words(&["f"]), None));
        assert_eq!(name("[]"), (words(&[]), axis("")));
    }

    /// End `a` gives the efforts and `b` the flows, without units of measure.
    fn system(efforts: &[&str], flows: &[&str]) -> System {
        fn zero<'a>(names: &[&'a str]) -> Vec<(&'a str, f64)> {
            names.iter().map(|name| (*name, 0.0)).collect()
        }
        let (efforts, flows) = (zero(efforts), zero(flows));
        let mut system = System::new(0.1);
        system.add("a", ClosureUnit::new(&flows, &efforts, |_| {}));
        system.add("b", ClosureUnit::new(&efforts, &flows, |_| {}));
        for (name, _) in &efforts {
            system.connect(&format!("a.{name}"), &format!("b.{name}"));
        }
        for (name, _) in &flows {
            system.connect(&format!("b.{name}"), &format!("a.{name}"));
        }
        system
    }

    /// Quantities, axes, and whether it had no choice.
    fn in_words(suggested: SuggestedBond) -> (&'static str, String, bool) {
        let pairs = suggested.bond.effort.iter().zip(&suggested.bond.flow);
        let pairs =
            pairs.map(|(effort, flow)| format!("{}·{}", effort.from.value, flow.from.value));
        let pairs: Vec<String> = pairs.collect();
        (suggested.quantities, pairs.join(", "), suggested.is_unique)
    }

    /// The same, of all bonds that a system suggests.
    fn of(system: &System) -> Vec<(&'static str, String, bool)> {
        suggested_bonds(system, &[])
            .into_iter()
            .map(in_words)
            .collect()
    }

    #[test]
    fn names_tell_bonds_where_units_are_missing() {
        for (effort, flow, quantities) in [
            ("force", "velocity", "force × velocity"),
            ("f", "v", "force × velocity"),
            ("shaftTorque", "shaftSpeed", "torque × angular velocity"),
            ("voltage", "current", "voltage × current"),
            ("port.p", "port.q", "pressure × volume flow rate"),
        ] {
            let expected = [(quantities, format!("a.{effort}·b.{flow}"), true)];
            assert_eq!(of(&system(&[effort], &[flow])), expected);
            // The other way round the flow goes there and the effort comes back.
            let expected = [(quantities, format!("b.{effort}·a.{flow}"), true)];
            assert_eq!(of(&system(&[flow], &[effort])), expected);
        }
        assert_eq!(of(&system(&["force"], &["position"])), []);
        assert_eq!(of(&system(&["force", "v"], &[])), []);
    }

    /// Names that mean nothing, and others that would do: a port of one end has the last word.
    #[test]
    fn ports_are_believed_before_names() {
        let port = |component: &str, kind| PowerPort {
            component: component.to_owned(),
            kind,
            efforts: vec!["one".to_owned()],
            flows: vec!["two".to_owned()],
        };
        let system = system(&["one", "force"], &["two", "velocity"]);
        let expected = |quantities| {
            [
                (quantities, "a.one·b.two".to_owned(), true),
                ("force × velocity", "a.force·b.velocity".to_owned(), true),
            ]
        };
        for (kind, quantities) in [
            ("HydraulicPort", "pressure × volume flow rate"),
            ("LinearMechanicalPort", "force × velocity"),
        ] {
            for end in ["a", "b"] {
                let found = suggested_bonds(&system, &[port(end, kind)]);
                assert_eq!(found[0].evidence, Evidence::Ports);
                assert_eq!(found[1].evidence, Evidence::Names);
                let found: Vec<_> = found.into_iter().map(in_words).collect();
                assert_eq!(found, expected(quantities), "{kind} {end}");
            }
        }
        let found = suggested_bonds(&system, &[port("c", "HydraulicPort")]);
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn axes_of_a_vector_are_one_bond_and_ports_are_several() {
        let vector = system(&["f[1]", "f[2]"], &["v[1]", "v[2]"]);
        assert_eq!(
            of(&vector),
            [(
                "force × velocity",
                "a.f[1]·b.v[1], a.f[2]·b.v[2]".to_owned(),
                true
            )]
        );
        let ports = system(
            &["left.force", "right.force"],
            &["right.velocity", "left.velocity"],
        );
        let expected = [
            "a.left.force·b.left.velocity",
            "a.right.force·b.right.velocity",
        ];
        let expected = expected.map(|pair| ("force × velocity", pair.to_owned(), true));
        assert_eq!(of(&ports), expected);
        let names = suggested_bonds(&ports, &[])
            .into_iter()
            .map(|bond| bond.bond.name.value);
        assert_eq!(names.collect::<Vec<_>>(), ["a-b", "a-b-2"]);
        let unclear = of(&system(&["force"], &["velocity", "speed"]));
        assert_eq!(
            unclear,
            [("force × velocity", "a.force·b.velocity".to_owned(), false)]
        );
    }

    /// A unit with this description, which never runs.
    struct Described(UnitDescription);

    impl Unit for Described {
        fn description(&self) -> &UnitDescription {
            &self.0
        }

        fn set_reals(&mut self, _: &[Handle], _: &[f64]) -> UnitResult {
            Ok(())
        }

        fn get_reals(&mut self, _: &[Handle], _: &mut [f64]) -> UnitResult {
            Ok(())
        }

        fn step(&mut self, _: f64, _: f64) -> UnitResult<StepOutcome> {
            Ok(StepOutcome::Done)
        }
    }

    #[test]
    fn units_are_believed_before_names() {
        let unit = |name: &str, exponents: [i32; 8], factor: f64| PhysicalUnit {
            name: name.to_owned(),
            exponents: Some(exponents),
            factor,
            offset: 0.0,
            relative: false,
        };
        let kilonewton = unit("kN", [1, 1, -2, 0, 0, 0, 0, 0], 1000.0);
        let rate = unit("m/s", [0, 1, -1, 0, 0, 0, 0, 0], 1.0);
        let place = unit("m", [0, 1, 0, 0, 0, 0, 0, 0], 1.0);
        let with = |flow: &PhysicalUnit| {
            let mut system = system(&["one"], &["two"]);
            for part in &mut system.parts {
                let mut description = UnitDescription::clone(part.description());
                for variable in &mut description.variables {
                    let unit = if variable.name == "one" {
                        &kilonewton
                    } else {
                        flow
                    };
                    variable.unit = Some(unit.clone());
                }
                *part = UnitSource::of_unit(Box::new(Described(description)));
            }
            suggested_bonds(&system, &[])
        };
        let found = with(&rate);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].evidence, Evidence::Units);
        let gain = found[0].bond.effort[0].gain.as_ref();
        assert_eq!(gain.map(|gain| gain.value), Some(1000.0));
        assert_eq!(with(&place), []);
    }

    #[test]
    fn connections_of_bonds_and_those_that_change_values_suggest_none() {
        let mut bonded = system(&[], &[]);
        let unit = |inputs: &[(&str, f64)], outputs: &[(&str, f64)]| {
            ClosureUnit::new(inputs, outputs, |_| {})
        };
        bonded.add("c", unit(&[("v", 0.0)], &[("f", 0.0)]));
        bonded.add("d", unit(&[("f", 0.0)], &[("v", 0.0)]));
        bonded.connect("c.f", "d.f");
        bonded.connect("d.v", "c.v");
        assert_eq!(of(&bonded).len(), 1);
        let mut changed = bonded.file.clone();
        changed.connections[0].gain = Some(Spanned::unplaced(-1.0));
        std::mem::swap(&mut bonded.file, &mut changed);
        assert_eq!(of(&bonded), []);
        std::mem::swap(&mut bonded.file, &mut changed);
        let _ = bonded.bond("known", ("c.f", "d.f"), ("d.v", "c.v"));
        assert_eq!(of(&bonded), []);
    }
}
