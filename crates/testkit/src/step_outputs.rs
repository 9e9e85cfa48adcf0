//! A unit that computes its outputs in steps only.

use gyrator::unit::{
    Capabilities, Handle, SavedState, StepOutcome, UnitDescription, UnitResult, UnitWrapper,
};
use gyrator::{Unit, Value};

/// The unit inside with the outputs that it had at its start, and then at the end of each step. Inputs that are set
/// show in them one step later, also in Initialization Mode, as in FMUs whose code computes outputs in `fmi2DoStep`.
///
/// It gives no directional derivatives, and does not declare that outputs may be read again.
pub struct StepOutputs<U> {
    unit: U,
    description: UnitDescription,
    handles: Vec<Handle>,
    values: Vec<f64>,
}

impl<U: Unit> StepOutputs<U> {
    /// Around a unit whose real outputs do not depend on start values.
    pub fn new(unit: U) -> Self {
        let description = unit.description();
        let abilities = Capabilities {
            fresh_outputs: false,
            directional_derivatives: false,
            ..description.capabilities
        };
        let variables = description.variables.clone();
        let feedthrough = description.feedthrough.clone();
        let outputs = variables.iter().filter(|variable| {
            variable.causality == gyrator::unit::Causality::Output
                && variable.kind == gyrator::unit::VariableType::Real
        });
        let handles: Vec<Handle> = outputs.map(|variable| variable.handle).collect();
        Self {
            values: vec![0.0; handles.len()],
            handles,
            description: UnitDescription::new(variables, feedthrough, abilities),
            unit,
        }
    }

    /// It cannot go back.
    #[must_use]
    pub fn without_saved_states(mut self) -> Self {
        self.description.capabilities.save_and_restore = false;
        self
    }

    fn compute(&mut self) -> UnitResult {
        self.unit.get_reals(&self.handles, &mut self.values)
    }
}

/// The state inside, and the outputs.
type Saved = (SavedState, Vec<f64>);

impl<U: Unit> UnitWrapper for StepOutputs<U> {
    fn inner(&self) -> &dyn Unit {
        &self.unit
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut self.unit
    }

    fn description(&self) -> &UnitDescription {
        &self.description
    }

    fn enter_initialization_mode(&mut self) -> UnitResult {
        self.unit.enter_initialization_mode()?;
        self.compute()
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        for (handle, value) in handles.iter().zip(values) {
            match self.handles.iter().position(|known| known == handle) {
                Some(place) => *value = self.values[place],
                None => self
                    .unit
                    .get_reals(&[*handle], std::slice::from_mut(value))?,
            }
        }
        Ok(())
    }

    fn get_value(&mut self, handle: Handle, value: &mut Value) -> UnitResult {
        match self.handles.iter().position(|known| *known == handle) {
            Some(place) => *value = Value::Real(self.values[place]),
            None => self.unit.get_value(handle, value)?,
        }
        Ok(())
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        let outcome = self.unit.step(time, step)?;
        self.compute()?;
        Ok(outcome)
    }

    fn save(&mut self, _: Option<SavedState>) -> UnitResult<SavedState> {
        let saved: Saved = (self.unit.save(None)?, self.values.clone());
        Ok(Box::new(saved))
    }

    fn restore(&mut self, state: &SavedState) -> UnitResult {
        if let Some((state, values)) = state.downcast_ref::<Saved>() {
            self.unit.restore(state)?;
            self.values.clone_from(values);
        }
        Ok(())
    }
}
