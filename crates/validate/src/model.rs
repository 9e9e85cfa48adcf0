//! A description as the rules read it: every element with its place, nothing filled in, and what
//! cannot be read left out. The rule on the schema reports that.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use gyrator_fmu::xml::{Document, Node};
use gyrator_fmu::{BaseType, Causality, Initial, Variability};

use crate::literal;

/// A description.
#[derive(Debug)]
pub struct Model<'d> {
    /// The tree.
    pub document: &'d Document<'d>,
    /// `ScalarVariable`s, in the order of the file.
    pub variables: Vec<Variable<'d>>,
    /// `SimpleType`s, in the order of the file.
    pub types: Vec<SimpleType<'d>>,
    /// `Unit`s, in the order of the file.
    pub units: Vec<Unit<'d>>,
    /// `ModelStructure/Outputs`.
    pub outputs: Vec<Unknown<'d>>,
    /// `ModelStructure/Derivatives`.
    pub derivatives: Vec<Unknown<'d>>,
    /// `ModelStructure/InitialUnknowns`.
    pub initial_unknowns: Vec<Unknown<'d>>,
    types_by_name: BTreeMap<&'d str, usize>,
    units_by_name: BTreeMap<&'d str, usize>,
    states: OnceCell<Vec<usize>>,
}

/// A variable.
#[derive(Debug)]
pub struct Variable<'d> {
    /// `ScalarVariable`.
    pub node: Node,
    /// Byte offset of `ScalarVariable`.
    pub offset: usize,
    /// Its name; empty if it has none.
    pub name: &'d str,
    /// `valueReference`, if it is a number of 32 bits.
    pub reference: Option<u32>,
    /// `causality`, the default filled in; `None` if the standard does not have the word.
    pub causality: Option<Causality>,
    /// `variability`, the default filled in.
    pub variability: Option<Variability>,
    /// `initial` as written.
    pub initial: Option<Initial>,
    /// `Real`, `Integer` and its like.
    pub value: Option<Node>,
    /// Its type, if [`Self::value`] is one of the five.
    pub kind: Option<TypeElement>,
    /// `start` as written.
    pub start: Option<&'d str>,
    /// `declaredType` as written.
    pub declared_type: Option<&'d str>,
}

/// The five types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is the element of that name")]
pub enum TypeElement {
    Real,
    Integer,
    Boolean,
    String,
    Enumeration,
}

/// A `SimpleType`.
#[derive(Debug)]
pub struct SimpleType<'d> {
    /// The element.
    pub node: Node,
    /// Its name; empty if it has none.
    pub name: &'d str,
    /// `Real`, `Integer` and its like in it.
    pub value: Option<Node>,
    /// Its type.
    pub kind: Option<TypeElement>,
}

/// A `Unit`.
#[derive(Debug)]
pub struct Unit<'d> {
    /// The element.
    pub node: Node,
    /// Its name; empty if it has none.
    pub name: &'d str,
}

/// An `Unknown` of `ModelStructure`.
#[derive(Debug)]
pub struct Unknown<'d> {
    /// The element.
    pub node: Node,
    /// `index` as written, from 1.
    pub index: Option<u32>,
    /// `dependencies`, from 1.
    pub dependencies: Option<Vec<u32>>,
    /// `dependenciesKind`.
    pub kinds: Option<Vec<&'d str>>,
}

impl TypeElement {
    /// The type whose element has this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "Real" => Self::Real,
            "Integer" => Self::Integer,
            "Boolean" => Self::Boolean,
            "String" => Self::String,
            "Enumeration" => Self::Enumeration,
            _ => return None,
        })
    }

    /// Name of the element.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Real => "Real",
            Self::Integer => "Integer",
            Self::Boolean => "Boolean",
            Self::String => "String",
            Self::Enumeration => "Enumeration",
        }
    }

    /// The functions that read and set it; value references are unique within one of them.
    #[must_use]
    pub const fn base(self) -> BaseType {
        match self {
            Self::Real => BaseType::Real,
            Self::Integer | Self::Enumeration => BaseType::Integer,
            Self::Boolean => BaseType::Boolean,
            Self::String => BaseType::String,
        }
    }
}

impl<'d> Model<'d> {
    /// Reads what can be read.
    #[must_use]
    pub fn new(document: &'d Document<'d>) -> Self {
        let root = document.root();
        let children = |container: &'static str, name: &'static str| {
            let container = document.child(root, container);
            container
                .into_iter()
                .flat_map(move |container| document.children_named(container, name))
        };
        let structure = document.child(root, "ModelStructure");
        let unknowns = |name: &'static str| {
            let list = structure.and_then(|structure| document.child(structure, name));
            list.into_iter()
                .flat_map(|list| document.children_named(list, "Unknown"))
                .map(|node| Unknown::new(document, node))
                .collect()
        };
        let types: Vec<SimpleType<'d>> = children("TypeDefinitions", "SimpleType")
            .map(|node| SimpleType::new(document, node))
            .collect();
        let units: Vec<Unit<'d>> = children("UnitDefinitions", "Unit")
            .map(|node| Unit {
                node,
                name: document.value(node, "name").unwrap_or_default(),
            })
            .collect();
        Self {
            document,
            variables: children("ModelVariables", "ScalarVariable")
                .map(|node| Variable::new(document, node))
                .collect(),
            types_by_name: first_places(types.iter().map(|simple| simple.name)),
            types,
            units_by_name: first_places(units.iter().map(|unit| unit.name)),
            units,
            outputs: unknowns("Outputs"),
            derivatives: unknowns("Derivatives"),
            initial_unknowns: unknowns("InitialUnknowns"),
            states: OnceCell::new(),
        }
    }

    /// `ModelExchange` and `CoSimulation`, as far as they are there.
    pub fn interfaces(&self) -> impl Iterator<Item = Node> + '_ {
        let document = self.document;
        document
            .children(document.root())
            .filter(|node| matches!(document.name(*node), "ModelExchange" | "CoSimulation"))
    }

    /// Whether there is an interface of this name.
    #[must_use]
    pub fn has_interface(&self, name: &str) -> bool {
        self.document.child(self.document.root(), name).is_some()
    }

    /// The variable with an index from 1.
    #[must_use]
    pub fn variable(&self, index: u32) -> Option<&Variable<'d>> {
        self.variables.get(place(index)?)
    }

    /// The type of this name.
    #[must_use]
    pub fn simple_type(&self, name: &str) -> Option<&SimpleType<'d>> {
        self.types_by_name
            .get(name)
            .map(|place| &self.types[*place])
    }

    /// The type that a variable declares.
    #[must_use]
    pub fn declared_type(&self, variable: &Variable<'_>) -> Option<&SimpleType<'d>> {
        self.simple_type(variable.declared_type?)
    }

    /// The unit of this name.
    #[must_use]
    pub fn unit(&self, name: &str) -> Option<&Unit<'d>> {
        self.units_by_name
            .get(name)
            .map(|place| &self.units[*place])
    }

    /// An attribute of the element in a variable, or else of the type that it declares.
    #[must_use]
    pub fn inherited(&self, variable: &Variable<'_>, name: &str) -> Option<&str> {
        let own = variable
            .value
            .and_then(|node| self.document.value(node, name));
        own.or_else(|| {
            let of_type = self.declared_type(variable)?.value?;
            self.document.value(of_type, name)
        })
    }

    /// An attribute of the element in a variable.
    #[must_use]
    pub fn own(&self, variable: &Variable<'_>, name: &str) -> Option<&str> {
        self.document.value(variable.value?, name)
    }

    /// Whether the variable at a place is a continuous state.
    #[must_use]
    pub fn is_state(&self, place: usize) -> bool {
        self.states().binary_search(&place).is_ok()
    }

    /// Places of the continuous states, ascending: the variables that listed derivatives are derivatives of.
    #[must_use]
    pub fn states(&self) -> &[usize] {
        self.states.get_or_init(|| {
            let derivatives = self.derivatives.iter().filter_map(|unknown| {
                let derivative = self.variable(unknown.index?)?;
                let state = literal::unsigned(self.own(derivative, "derivative")?)?;
                place(state).filter(|place| *place < self.variables.len())
            });
            let mut states: Vec<usize> = derivatives.collect();
            states.sort_unstable();
            states.dedup();
            states
        })
    }

    /// Settable and other variables that share one value, by base type and value reference; sets
    /// of one are left out.
    #[must_use]
    pub fn aliases(&self) -> Vec<Vec<&Variable<'d>>> {
        let mut sets: BTreeMap<(BaseType, u32), Vec<&Variable<'d>>> = BTreeMap::new();
        for variable in &self.variables {
            if let (Some(kind), Some(reference)) = (variable.kind, variable.reference) {
                sets.entry((kind.base(), reference))
                    .or_default()
                    .push(variable);
            }
        }
        sets.into_values().filter(|set| set.len() > 1).collect()
    }
}

/// Names with the place of the first of each.
fn first_places<'d>(names: impl Iterator<Item = &'d str>) -> BTreeMap<&'d str, usize> {
    let mut places = BTreeMap::new();
    for (place, name) in names.enumerate() {
        places.entry(name).or_insert(place);
    }
    places
}

/// An index from 1 as one from 0.
#[must_use]
pub(crate) fn place(index: u32) -> Option<usize> {
    usize::try_from(index).ok()?.checked_sub(1)
}

impl<'d> Variable<'d> {
    fn new(document: &'d Document<'d>, node: Node) -> Self {
        let value = document
            .children(node)
            .find(|child| TypeElement::from_name(document.name(*child)).is_some());
        let text = |name| document.value(node, name);
        let of_value = |name| value.and_then(|value| document.value(value, name));
        Self {
            node,
            offset: document.offset(node),
            name: text("name").unwrap_or_default(),
            reference: text("valueReference").and_then(literal::unsigned),
            causality: text("causality").map_or(Some(Causality::Local), causality),
            variability: text("variability").map_or(Some(Variability::Continuous), variability),
            initial: text("initial").and_then(initial),
            value,
            kind: value.and_then(|value| TypeElement::from_name(document.name(value))),
            start: of_value("start"),
            declared_type: of_value("declaredType"),
        }
    }

    /// `initial`, the default of the standard filled in; `None` if there is none.
    #[must_use]
    pub fn effective_initial(&self) -> Option<Initial> {
        let default = || {
            let allowed = legal_initial(self.causality?, self.variability?)?;
            allowed.first().copied()
        };
        self.initial.or_else(default)
    }

    /// Whether a master may set it at some time.
    #[must_use]
    pub fn is_settable(&self) -> bool {
        let is_started = matches!(
            self.effective_initial(),
            Some(Initial::Exact | Initial::Approx)
        );
        self.variability != Some(Variability::Constant)
            && (self.causality == Some(Causality::Input) || is_started)
    }
}

impl<'d> SimpleType<'d> {
    fn new(document: &'d Document<'d>, node: Node) -> Self {
        let value = document
            .children(node)
            .find(|child| TypeElement::from_name(document.name(*child)).is_some());
        Self {
            node,
            name: document.value(node, "name").unwrap_or_default(),
            value,
            kind: value.and_then(|value| TypeElement::from_name(document.name(value))),
        }
    }
}

impl<'d> Unknown<'d> {
    fn new(document: &'d Document<'d>, node: Node) -> Self {
        let list = |text: &str| {
            let numbers = text.split_ascii_whitespace().map(literal::unsigned);
            numbers.collect::<Option<Vec<u32>>>()
        };
        Self {
            node,
            index: document.value(node, "index").and_then(literal::unsigned),
            dependencies: document.value(node, "dependencies").and_then(list),
            kinds: document
                .value(node, "dependenciesKind")
                .map(|text| text.split_ascii_whitespace().collect()),
        }
    }
}

/// The values that `initial` may have, the default first (2.2.7, cases A to E); empty if it
/// must not be given, `None` if causality and variability do not go together.
#[must_use]
pub(crate) fn legal_initial(
    causality: Causality,
    variability: Variability,
) -> Option<&'static [Initial]> {
    gyrator_fmu::legal_initial(causality, variability)
}

fn causality(word: &str) -> Option<Causality> {
    Causality::ALL
        .into_iter()
        .find(|value| value.name() == word)
}

fn variability(word: &str) -> Option<Variability> {
    Variability::ALL
        .into_iter()
        .find(|value| value.name() == word)
}

fn initial(word: &str) -> Option<Initial> {
    Initial::ALL.into_iter().find(|value| value.name() == word)
}
