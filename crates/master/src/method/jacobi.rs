use super::Method;
use crate::fault::Fault;
use crate::plant::{Plant, Step};
use crate::registry::{Entry, Maker};

/// All units step in parallel over the same interval, with what was published before it.
#[derive(Debug)]
struct Jacobi;

pub(super) const ENTRY: Entry<Maker<dyn Method>> = Entry {
    name: "jacobi",
    summary: "all units step in parallel, single- and multi-rate, explicit and non-iterative",
    source: "FMI 2.0 §4.2; Rodríguez 2022 §2",
    parameters: &[],
    build: |_| Box::new(Jacobi),
};

impl Method for Jacobi {
    fn step(&mut self, plant: &mut Plant, step: &Step) -> Result<(), Fault> {
        plant.correct(step)?;
        plant.step_all(step)
    }
}
