//! A model in process whose variables the tests find by name.

use fmu_kit::{InProcess, Model, Scalar, ValueReference};

/// A model whose variables are found by name.
pub(crate) struct Named<M: Model>(pub(crate) InProcess<M>);

impl<M: Model> Named<M> {
    pub(crate) fn new(values: &[(&str, f64)]) -> Self {
        let mut unit = Self(InProcess::new());
        for (name, value) in values {
            unit.set(name, *value);
        }
        unit
    }

    pub(crate) fn reference(&self, name: &str) -> ValueReference {
        self.0.reference(name).expect(name)
    }

    pub(crate) fn get(&mut self, name: &str) -> f64 {
        let reference = self.reference(name);
        *self.0.get(reference).expect(name)
    }

    pub(crate) fn set<T: Scalar>(&mut self, name: &str, value: T) {
        let reference = self.reference(name);
        self.0.set(reference, value).expect(name);
    }

    pub(crate) fn initialize(&mut self) {
        self.0.initialize().unwrap();
    }
}
