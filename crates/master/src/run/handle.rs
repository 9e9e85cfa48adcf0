//! Variables between steps, by name and by handle.

use std::fmt;
use std::marker::PhantomData;

use super::Run;
use super::ending::fail;
use crate::engine::{read_variable, takes_free, write_variable};
use crate::fault::RunError;
use crate::graph::{Component, Graph, Signal, SignalWire};
use crate::unit::{Causality, Value, VariableType};

/// The type of a variable's values in Rust: `f64`, `i32` (also of enumerations), `bool`, `String`.
pub trait VariableValue: Into<Value> + sealed::Sealed {
    /// The type of variables that carries it.
    const CARRIER: VariableType;

    #[doc(hidden)]
    fn of(value: Value) -> Option<Self>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! variable_value {
    ($type:ty, $kind:ident) => {
        impl sealed::Sealed for $type {}

        impl VariableValue for $type {
            const CARRIER: VariableType = VariableType::$kind;

            #[inline]
            fn of(value: Value) -> Option<Self> {
                match value {
                    Value::$kind(value) => Some(value),
                    _ => None,
                }
            }
        }
    };
}

variable_value!(f64, Real);
variable_value!(i32, Integer);
variable_value!(bool, Boolean);
variable_value!(String, String);

/// A variable of one run that is written without a look-up: [`Run::input`].
pub struct Input<T> {
    place: Place,
    of: PhantomData<fn(T)>,
}

/// A variable of one run that is read without a look-up: [`Run::output`].
pub struct Output<T> {
    place: Place,
    source: Source,
    of: PhantomData<fn() -> T>,
}

/// A variable of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    run: u64,
    component: usize,
    variable: usize,
}

/// Where the value of a variable comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// A published real output.
    Real(usize),
    /// A published output of another type.
    Signal(usize),
    /// The unit.
    Unit,
}

impl<T> Copy for Input<T> {}

impl<T> Clone for Input<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> fmt::Debug for Input<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Input").field(&self.place).finish()
    }
}

impl<T> Copy for Output<T> {}

impl<T> Clone for Output<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> fmt::Debug for Output<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Output").field(&self.place).finish()
    }
}

/// A variable that [`Run::read`] reads: a name, whose value is a [`Value`], or a handle, whose value has its type.
pub trait Readable {
    /// Its value.
    type Value;

    #[doc(hidden)]
    fn read_from(self, run: &mut Run) -> Result<Self::Value, RunError>;
}

impl Readable for &str {
    type Value = Value;

    fn read_from(self, run: &mut Run) -> Result<Value, RunError> {
        let (component, variable) = find(&run.state.graph, self)?;
        let place = (component, variable);
        read(run, place, source(&run.state.graph, place))
    }
}

impl Readable for &String {
    type Value = Value;

    fn read_from(self, run: &mut Run) -> Result<Value, RunError> {
        self.as_str().read_from(run)
    }
}

impl<T: VariableValue> Readable for Output<T> {
    type Value = T;

    #[inline]
    fn read_from(self, run: &mut Run) -> Result<T, RunError> {
        let place = self.place.of(run)?;
        let value = read(run, place, self.source)?;
        T::of(value).ok_or_else(|| unlike(&run.state.graph, place, T::CARRIER))
    }
}

/// A variable that [`Run::write`] writes a `V` to: a name, with a value of the type of the variable, or a handle.
pub trait Writable<V> {
    #[doc(hidden)]
    fn write_to(self, run: &mut Run, value: V) -> Result<(), RunError>;
}

impl<V: Into<Value>> Writable<V> for &str {
    fn write_to(self, run: &mut Run, value: V) -> Result<(), RunError> {
        let place = find(&run.state.graph, self)?;
        let value = value.into();
        check_writable(&run.state.graph, place)?;
        let kind = match value {
            Value::Real(_) => VariableType::Real,
            Value::Integer(_) => VariableType::Integer,
            Value::Boolean(_) => VariableType::Boolean,
            Value::String(_) => VariableType::String,
        };
        if described_kind(&run.state.graph, place).carrier() != kind {
            let kind = described_kind(&run.state.graph, place);
            let message = format!("{self} is {kind:?} and cannot take {value:?}");
            return Err(RunError::Variable(message));
        }
        write(run, place, &value)
    }
}

impl<V: Into<Value>> Writable<V> for &String {
    fn write_to(self, run: &mut Run, value: V) -> Result<(), RunError> {
        self.as_str().write_to(run, value)
    }
}

impl<T: VariableValue> Writable<T> for Input<T> {
    #[inline]
    fn write_to(self, run: &mut Run, value: T) -> Result<(), RunError> {
        let place = self.place.of(run)?;
        write(run, place, &value.into())
    }
}

impl Place {
    /// Component and variable, if the handle is one of `run`.
    #[inline]
    fn of(self, run: &Run) -> Result<(usize, usize), RunError> {
        if self.run != run.number {
            let message = "a handle belongs to the run that has given it; take one from this run";
            return Err(RunError::Variable(message.to_owned()));
        }
        Ok((self.component, self.variable))
    }
}

impl Run {
    /// The value of a variable at the present communication point: of `component.variable`, or of a
    /// [handle](Self::output).
    ///
    /// An output has the value that was published last. Any other variable is read from its unit. If the
    /// unit's communication step is longer than the macro-step, it has the value at the end of the unit's
    /// last computed communication step. That is the step in progress, or the one before it if the method
    /// lets the unit step last.
    ///
    /// # Errors
    /// A name that the system does not have; a handle of another run; a unit that refuses; a variable other than
    /// an output after a [`write`](Self::write) and before the next step (FMI 2.0 §4.2.4, C-28).
    #[inline]
    pub fn read<R: Readable>(&mut self, variable: R) -> Result<R::Value, RunError> {
        variable.read_from(self)
    }

    /// The value of the real variable `component.variable`.
    ///
    /// # Errors
    /// As [`read`](Self::read), or a variable that is not real.
    pub fn read_real(&mut self, name: &str) -> Result<f64, RunError> {
        match self.read(name)? {
            Value::Real(value) => Ok(value),
            other => Err(RunError::Variable(format!(
                "{name} is not real but {other:?}"
            ))),
        }
    }

    /// Sets an input that no connection feeds, or a tunable parameter, from the next communication step of
    /// its component on: `component.variable`, or a [handle](Self::input). A component that is within a communication
    /// step gets the value when that has ended, and may refuse it then, so that all that is read from it stays legal
    /// (FMI 2.0 §4.2.4).
    ///
    /// # Errors
    /// A name that the system does not have; a handle of another run; a variable that cannot be set now; a value of
    /// another kind; a real value that is not finite; a unit that refuses.
    #[inline]
    pub fn write<V>(&mut self, variable: impl Writable<V>, value: V) -> Result<(), RunError> {
        variable.write_to(self, value)
    }

    /// Sets a real variable; see [`write`](Self::write).
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_real(&mut self, name: &str, value: f64) -> Result<(), RunError> {
        self.write(name, value)
    }

    /// A handle of `component.variable`, an input that no connection feeds or a tunable parameter.
    /// [`write`](Self::write) with it looks nothing up.
    ///
    /// # Errors
    /// A name that the system does not have, a variable that cannot be set now, or of another type than `T`.
    pub fn input<T: VariableValue>(&self, name: &str) -> Result<Input<T>, RunError> {
        let place = find(&self.state.graph, name)?;
        check_writable(&self.state.graph, place)?;
        Ok(Input {
            place: place_of(self, place, T::CARRIER)?,
            of: PhantomData,
        })
    }

    /// A handle of `component.variable`, an output, a local variable or a parameter. [`read`](Self::read) with it looks
    /// nothing up.
    ///
    /// # Errors
    /// A name that the system does not have, an input, a variable of another type than `T`.
    pub fn output<T: VariableValue>(&self, name: &str) -> Result<Output<T>, RunError> {
        let graph = &self.state.graph;
        let place = find(graph, name)?;
        if graph.components[place.0].description.variables[place.1].causality == Causality::Input {
            let message = format!("{name} is an input: `Run::input` gives a handle of it");
            return Err(RunError::Variable(message));
        }
        Ok(Output {
            place: place_of(self, place, T::CARRIER)?,
            source: source(graph, place),
            of: PhantomData,
        })
    }
}

fn place_of(
    run: &Run,
    (component, variable): (usize, usize),
    carrier: VariableType,
) -> Result<Place, RunError> {
    let graph = &run.state.graph;
    if described_kind(graph, (component, variable)).carrier() != carrier {
        return Err(unlike(graph, (component, variable), carrier));
    }
    Ok(Place {
        run: run.number,
        component,
        variable,
    })
}

fn described_kind(graph: &Graph, (component, variable): (usize, usize)) -> VariableType {
    graph.components[component].description.variables[variable].kind
}

fn unlike(graph: &Graph, place: (usize, usize), asked: VariableType) -> RunError {
    let kind = described_kind(graph, place);
    let rust = match kind {
        VariableType::Real => "f64",
        VariableType::Integer | VariableType::Enumeration => "i32",
        VariableType::Boolean => "bool",
        VariableType::String => "String",
    };
    let component = &graph.components[place.0];
    let name = &component.description.variables[place.1].name;
    RunError::Variable(format!(
        "{}.{name} is {kind:?} and no {asked:?}: its handle has the type {rust}",
        component.name
    ))
}

fn source(graph: &Graph, (component, variable): (usize, usize)) -> Source {
    let is_named = |signal: &Signal| (signal.component, signal.variable) == (component, variable);
    match graph.output_index(component, variable) {
        Some(output) => Source::Real(output),
        None => match graph.signals.iter().position(is_named) {
            Some(signal) => Source::Signal(signal),
            None => Source::Unit,
        },
    }
}

#[inline]
fn read(run: &mut Run, place: (usize, usize), source: Source) -> Result<Value, RunError> {
    match source {
        Source::Real(output) => Ok(Value::Real(run.state.signals.reals[output])),
        Source::Signal(signal) => Ok(run.state.signals.discrete[signal].clone()),
        Source::Unit => read_from_unit(run, place),
    }
}

fn read_from_unit(run: &mut Run, (component, variable): (usize, usize)) -> Result<Value, RunError> {
    if run.written {
        let component = &run.state.graph.components[component];
        let message = format!(
            "{}.{} cannot be read after a value was written; make a step first (C-28)",
            component.name, component.description.variables[variable].name
        );
        return Err(RunError::Variable(message));
    }
    let step = run.timeline.next_step();
    read_variable(&mut run.state, component, variable)
        .map_err(|cause| RunError::Fault(run.state.graph.fault(component, &step, cause)))
}

fn check_writable(graph: &Graph, (component, variable): (usize, usize)) -> Result<(), RunError> {
    let node = &graph.components[component];
    let described = &node.description.variables[variable];
    let refuse = |why: &str| {
        let message = format!("{}.{} {why}", node.name, described.name);
        Err(RunError::Variable(message))
    };
    let signal = |wire: &SignalWire| (wire.component, wire.variable) == (component, variable);
    let is_fed =
        graph.input_index(component, variable).is_some() || graph.signal_wires.iter().any(signal);
    if is_fed {
        return refuse(
            "is fed by a connection and cannot be written; `Run::override_value` takes its place",
        );
    }
    if !matches!(
        described.causality,
        Causality::Input | Causality::TunableParameter
    ) {
        return refuse("is neither an input nor a tunable parameter and cannot be written now");
    }
    Ok(())
}

fn write(
    run: &mut Run,
    (component, variable): (usize, usize),
    value: &Value,
) -> Result<(), RunError> {
    if let Value::Real(value) = *value
        && !value.is_finite()
    {
        return Err(not_finite(run, (component, variable), value));
    }
    if takes_free(&mut run.state, (component, variable), value) {
        return Ok(());
    }
    let step = run.timeline.next_step();
    match write_variable(&mut run.state, component, variable, value, &step) {
        Ok(is_set) => {
            run.written |= is_set;
            Ok(())
        }
        Err(fault) => {
            run.faulty = Some(fault.component.clone());
            Err(fail(run, RunError::Fault(fault)))
        }
    }
}

/// A value that no variable can have: a unit would fail on it later, and elsewhere.
#[cold]
fn not_finite(run: &Run, (component, variable): (usize, usize), value: f64) -> RunError {
    let component = &run.state.graph.components[component];
    let (name, time) = (&component.description.variables[variable].name, run.time());
    RunError::Variable(format!(
        "{}.{name} cannot be set to {value} at t = {time} s: write a finite value",
        component.name
    ))
}

/// Component and variable that `component.variable` names.
pub(super) fn find(graph: &Graph, name: &str) -> Result<(usize, usize), RunError> {
    let components = &graph.components;
    let of = |(index, component): (usize, &Component)| {
        let variable = name
            .strip_prefix(component.name.as_str())?
            .strip_prefix('.')?;
        Some((index, component.description.index(variable)?))
    };
    let found = components.iter().enumerate().filter_map(of).next_back();
    found.ok_or_else(|| {
        let names = graph.variables();
        let names: Vec<String> = names
            .map(|variable| format!("{}.{}", variable.component, variable.described.name))
            .collect();
        let near = gyrator_system::did_you_mean(name, names.iter().map(String::as_str));
        let advice = near.as_deref().unwrap_or("names are component.variable");
        RunError::Variable(format!("the system has no variable {name}; {advice}"))
    })
}

#[cfg(test)]
mod tests {
    use crate::{ClosureUnit, RunError, RunOptions, System};

    #[test]
    fn a_value_that_is_not_finite_is_refused_where_it_is_written() {
        let mut system = System::new(0.1);
        let echo = |call: crate::unit::Call<'_>| call.outputs[0] = call.inputs[0];
        system.add("echo", ClosureUnit::new(&[("u", 0.5)], &[("y", 0.0)], echo));
        let mut run = system.start(&RunOptions::default()).unwrap();
        run.step().unwrap();
        let handle = run.input::<f64>("echo.u").unwrap();
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let said =
                format!("echo.u cannot be set to {value} at t = 0.1 s: write a finite value");
            let by_handle = run.write(handle, value);
            for refused in [run.write("echo.u", value), by_handle] {
                assert!(matches!(&refused, Err(RunError::Variable(text)) if *text == said));
            }
            let replaced = run.override_value("echo.u", value).unwrap_err().to_string();
            assert!(replaced.contains("finite"), "{replaced}");
        }
        // The run goes on with the value that it had.
        assert!(run.step().unwrap());
        assert_eq!(run.read_real("echo.y").unwrap(), 0.5);
    }
}
