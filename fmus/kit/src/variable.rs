//! One row of a model's variable table.
//!
//! A row says what `modelDescription.xml` says about a variable and where the value lives in the
//! model. The start value is not written here: it is the value in `Model::default()`.

use fmi2_abi::{Causality, Variability};

use crate::unit::Unit;

/// An enumeration, declared as a `SimpleType`; items count from 1.
#[derive(Debug, PartialEq, Eq)]
pub struct Enumeration {
    /// Name of the declared type.
    pub name: &'static str,
    /// Meaning of the type.
    pub description: &'static str,
    /// Names and descriptions of the items 1, 2, ….
    pub items: &'static [(&'static str, &'static str)],
}

impl Enumeration {
    /// Whether `value` is the number of an item.
    #[must_use]
    pub fn contains(&self, value: i32) -> bool {
        usize::try_from(value).is_ok_and(|value| (1..=self.items.len()).contains(&value))
    }
}

/// Where a value of type `T` lives in an `Owner`.
pub type Access<Owner, T> = fn(&mut Owner) -> &mut T;

/// The place of a value: in the model, or in the settings that the kit keeps beside it.
#[derive(Debug)]
pub(crate) enum Place<M, T> {
    Model(Access<M, T>),
    Settings(Access<Settings, T>),
}

impl<M, T> Clone for Place<M, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M, T> Copy for Place<M, T> {}

/// Settings of the kit that users choose; each is a parameter of the FMU.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Settings {
    /// Inner step, s; 0 means one inner step per communication step.
    pub step_size: f64,
    /// Outputs are computed at the end of `fmi2DoStep` only, as many vendors' FMUs do, and not
    /// again when an input is set between steps.
    pub cached_outputs: bool,
}

/// Type and place of a variable.
#[derive(Debug)]
pub(crate) enum TypedPlace<M> {
    Real(Place<M, f64>),
    Integer(Place<M, i32>),
    Boolean(Place<M, bool>),
    String(Place<M, String>),
    Enumeration(Place<M, i32>, &'static Enumeration),
}

/// One variable of a model `M`, built by chained calls: see [`variables!`](crate::variables).
#[derive(Debug)]
pub struct Variable<M> {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) causality: Causality,
    pub(crate) variability: Variability,
    pub(crate) kind: TypedPlace<M>,
    pub(crate) unit: Option<Unit>,
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
    pub(crate) depends_on: &'static [&'static str],
    pub(crate) starts_from: &'static [&'static str],
}

/// The table of variables of a model. Each row has the constructor of [`Variable`], the name in one
/// or several pieces, the field, perhaps the unit of [`unit`](crate::unit) and the enumeration, the
/// description, and further calls on the row.
///
/// ```
/// use fmu_kit::{Variable, variables};
///
/// struct Spring { stretch: f64, stiffness: f64, force: f64 }
///
/// let table: Vec<Variable<Spring>> = variables! { Spring:
///     input_real "e" = stretch in METRE, "stretch";
///     parameter_real "k" = stiffness, "stiffness", min(0.0);
///     output_real "f" = force, "force", depends_on(&["e"]), starts_from(&["k"]);
/// };
/// assert_eq!(table.len(), 3);
/// ```
#[macro_export]
macro_rules! variables {
    ($model:ty: $(
        $constructor:ident $($name:literal)+ = $($field:ident $([$index:expr])*).+
        $(in $unit:ident)? $(of $items:path)?, $description:expr
        $(, $method:ident($($argument:expr),*))*;
    )*) => {
        vec![$(
            $crate::Variable::<$model>::$constructor(
                concat!($($name),+),
                |m| &mut m.$($field $([$index])*).+,
                $(&$items,)?
                $description,
            )
            $(.unit($crate::unit::$unit))?
            $(.$method($($argument),*))*
        ),*]
    };
}

macro_rules! constructors {
    ($($parameter:ident $input:ident $output:ident: $variant:ident($value:ty $(, $items:ident)?), $variability:ident, $article:literal;)*) => {$(
        #[doc = concat!("A fixed parameter: ", $article, " that may be set until initialization ends.")]
        #[must_use]
        pub fn $parameter(
            name: &'static str,
            access: Access<M, $value>,
            $($items: &'static Enumeration,)?
            description: &'static str,
        ) -> Self {
            let kind = TypedPlace::$variant(Place::Model(access) $(, $items)?);
            Self::new(name, kind, Causality::Parameter, Variability::Fixed, description)
        }

        #[doc = concat!("An input: ", $article, " that the importer sets.")]
        #[must_use]
        pub fn $input(
            name: &'static str,
            access: Access<M, $value>,
            $($items: &'static Enumeration,)?
            description: &'static str,
        ) -> Self {
            let kind = TypedPlace::$variant(Place::Model(access) $(, $items)?);
            Self::new(name, kind, Causality::Input, Variability::$variability, description)
        }

        #[doc = concat!("An output: ", $article, " that the model computes.")]
        #[must_use]
        pub fn $output(
            name: &'static str,
            access: Access<M, $value>,
            $($items: &'static Enumeration,)?
            description: &'static str,
        ) -> Self {
            let kind = TypedPlace::$variant(Place::Model(access) $(, $items)?);
            Self::new(name, kind, Causality::Output, Variability::$variability, description)
        }
    )*};
}

impl<M> Variable<M> {
    constructors! {
        parameter_real input_real output_real: Real(f64), Continuous, "a Real";
        parameter_integer input_integer output_integer: Integer(i32), Discrete, "an Integer";
        parameter_boolean input_boolean output_boolean: Boolean(bool), Discrete, "a Boolean";
        parameter_string input_string output_string: String(String), Discrete, "a String";
        parameter_enumeration input_enumeration output_enumeration: Enumeration(i32, items), Discrete,
            "an item of `items`";
    }

    pub(crate) fn new(
        name: &'static str,
        kind: TypedPlace<M>,
        causality: Causality,
        variability: Variability,
        description: &'static str,
    ) -> Self {
        Self {
            name,
            description,
            causality,
            variability,
            kind,
            unit: None,
            min: None,
            max: None,
            depends_on: &[],
            starts_from: &[],
        }
    }

    /// The unit of a Real.
    #[must_use]
    pub fn unit(mut self, unit: Unit) -> Self {
        self.unit = Some(unit);
        self
    }

    /// The smallest value allowed, of a Real or an Integer; setting a smaller one is discarded.
    #[must_use]
    pub fn min(mut self, min: f64) -> Self {
        self.min = Some(min);
        self
    }

    /// The largest value allowed, of a Real or an Integer; setting a larger one is discarded.
    #[must_use]
    pub fn max(mut self, max: f64) -> Self {
        self.max = Some(max);
        self
    }

    /// A parameter that may also be set between steps.
    #[must_use]
    pub fn tunable(mut self) -> Self {
        self.variability = Variability::Tunable;
        self
    }

    /// A variable to look at, not meant for connections.
    #[must_use]
    pub fn local(mut self) -> Self {
        self.causality = Causality::Local;
        self
    }

    /// The inputs that an output follows without a step between (direct feed-through).
    #[must_use]
    pub fn depends_on(mut self, inputs: &'static [&'static str]) -> Self {
        self.depends_on = inputs;
        self
    }

    /// The parameters that an output depends on in Initialization Mode; inputs named by
    /// [`depends_on`](Self::depends_on) need not be repeated.
    #[must_use]
    pub fn starts_from(mut self, parameters: &'static [&'static str]) -> Self {
        self.starts_from = parameters;
        self
    }

    /// Whether the model computes the variable from the start.
    pub(crate) fn is_calculated(&self) -> bool {
        matches!(self.causality, Causality::Output | Causality::Local)
    }
}
