//! A description as it is written: systems in systems, their elements, connectors, connections.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

use gyrator_fmu::BaseUnit;
use gyrator_system::{Spanned, Value};

use crate::parameters::Binding;
use crate::transformation::Transformation;
use crate::unit::{Enumerations, Units};

/// A whole description.
pub(crate) struct Description {
    pub(crate) system: SystemNode,
    pub(crate) start_time: Option<Spanned<f64>>,
    pub(crate) stop_time: Option<Spanned<f64>>,
    pub(crate) macro_step: Option<Spanned<f64>>,
    /// Places of texts in TOML.
    pub(crate) supplements: Vec<Range<usize>>,
    pub(crate) units: Units,
    pub(crate) enumerations: Enumerations,
}

/// A system with what is in it.
pub(crate) struct SystemNode {
    pub(crate) name: Spanned<String>,
    pub(crate) connectors: BTreeMap<String, Connector>,
    pub(crate) bindings: Vec<Binding>,
    pub(crate) elements: Vec<ElementNode>,
    pub(crate) connections: Vec<ConnectionNode>,
    pub(crate) dictionaries: Vec<Dictionary>,
}

/// An element of a system.
pub(crate) enum ElementNode {
    Component(ComponentNode),
    System(SystemNode),
    Reference(ReferenceNode),
}

/// An FMU.
pub(crate) struct ComponentNode {
    pub(crate) name: Spanned<String>,
    pub(crate) fmu: Spanned<PathBuf>,
    /// Whether the FMU is to have a process of its own.
    pub(crate) is_proxy: bool,
    pub(crate) connectors: BTreeMap<String, Connector>,
    pub(crate) bindings: Vec<Binding>,
    /// Communication step, s.
    pub(crate) step_size: Option<Spanned<f64>>,
}

/// A connection point of a system for a signal dictionary.
pub(crate) struct ReferenceNode {
    pub(crate) name: Spanned<String>,
    pub(crate) dictionary: Spanned<String>,
    pub(crate) connectors: BTreeMap<String, Connector>,
}

/// A set of signals that systems share.
pub(crate) struct Dictionary {
    pub(crate) name: Spanned<String>,
    pub(crate) entries: Vec<(String, Option<Unit>)>,
}

/// A variable of an element, as it can be connected from outside.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    pub(crate) kind: ConnectorKind,
    pub(crate) unit: Option<Unit>,
    /// The value that an annotation gives it.
    pub(crate) default: Option<Spanned<Value>>,
    /// Place of its name.
    pub(crate) span: Range<usize>,
}

/// A unit with its definition, if there is one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Unit {
    pub(crate) name: String,
    pub(crate) base: Option<BaseUnit>,
}

impl Unit {
    /// The first of two units for one value that can be converted. If neither can, the first one.
    pub(crate) fn usable(first: Option<Self>, second: Option<Self>) -> Option<Self> {
        let has_base = |unit: &Self| unit.base.is_some();
        let usable = first.clone().filter(has_base);
        usable
            .or_else(|| second.clone().filter(has_base))
            .or(first)
            .or(second)
    }
}

/// The side from which the values of a connector come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectorKind {
    /// From outside: inputs and parameters.
    Inward,
    /// From inside: outputs, calculated parameters, constants, locals.
    Outward,
    /// From the side of the connection that brings them: `inout` and `unspecified`.
    Open,
}

/// A connection as it is written, in either direction.
pub(crate) struct ConnectionNode {
    pub(crate) start: End,
    pub(crate) end: End,
    pub(crate) transformation: Option<Spanned<Transformation>>,
    pub(crate) keeps_unit: bool,
    pub(crate) span: Range<usize>,
}

/// One end of a connection.
pub(crate) struct End {
    /// `None` for the system itself.
    pub(crate) element: Option<Spanned<String>>,
    pub(crate) connector: Spanned<String>,
}

impl ElementNode {
    pub(crate) fn name(&self) -> &Spanned<String> {
        match self {
            Self::Component(component) => &component.name,
            Self::System(system) => &system.name,
            Self::Reference(reference) => &reference.name,
        }
    }
}
