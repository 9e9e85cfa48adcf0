//! `fmi2GetFMUstate` and its relatives.

use fmi2_abi::{Function, SlaveState, Status};

use super::Slave;
use super::step::Clock;
use crate::model::Fault;
use crate::simulation::Simulation;

/// Names a saved state of one instance; counts from 1, so that it can travel as a pointer.
pub(crate) type Handle = std::num::NonZeroUsize;

/// The states that the importer holds, each in a box that serves again.
pub(super) struct SavedStates<S: Simulation>(Vec<Option<Box<Snapshot<S>>>>);

/// A saved state.
struct Snapshot<S: Simulation> {
    unit: S::Saved,
    state: SlaveState,
    clock: Clock,
}

/// A saved state as bytes: identity of the FMU, call state, clock, simulation.
#[derive(serde::Serialize, serde::Deserialize)]
struct Written {
    guid: String,
    state: u16,
    clock: Clock,
    unit: Vec<u8>,
}

impl<S: Simulation> Default for SavedStates<S> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<S: Simulation> SavedStates<S> {
    fn add(&mut self, snapshot: Snapshot<S>) -> Option<Handle> {
        let free = self.0.iter().position(Option::is_none);
        let index = free.unwrap_or_else(|| {
            self.0.push(None);
            self.0.len() - 1
        });
        self.0[index] = Some(Box::new(snapshot));
        Handle::new(index + 1)
    }

    fn slot(&mut self, handle: Option<Handle>) -> Option<&mut Option<Box<Snapshot<S>>>> {
        self.0.get_mut(handle?.get() - 1)
    }

    fn find(&mut self, handle: Option<Handle>) -> Result<&mut Snapshot<S>, Fault> {
        let snapshot = self.slot(handle).and_then(|slot| slot.as_deref_mut());
        snapshot
            .ok_or_else(|| Fault::Error("this is not a saved state of this instance".to_owned()))
    }
}

impl<S: Simulation> Slave<S> {
    /// `fmi2GetFMUstate`: saves over the state in `handle`, or makes a new one.
    pub(crate) fn get_state(&mut self, handle: &mut Option<Handle>) -> Status {
        self.call(Function::GetFmuState, |slave| {
            if handle.is_some() {
                let snapshot = slave.saved.find(*handle)?;
                slave.unit.save_over(&mut snapshot.unit)?;
                snapshot.state = slave.state;
                snapshot.clock = slave.clock;
            } else {
                *handle = slave.saved.add(Snapshot {
                    unit: slave.unit.save()?,
                    state: slave.state,
                    clock: slave.clock,
                });
            }
            Ok(())
        })
    }

    /// `fmi2SetFMUstate`.
    pub(crate) fn set_state(&mut self, handle: Option<Handle>) -> Status {
        self.call(Function::SetFmuState, |slave| {
            let snapshot = slave.saved.find(handle)?;
            let (time, earliest) = (S::time_of(&snapshot.unit), slave.earliest);
            // Other importers promise it always, and go back all the same.
            if S::IS_STRICT && time < earliest {
                let message = format!(
                    "a state of {time} s, after noSetFMUStatePriorToCurrentPoint at {earliest} s"
                );
                return Err(Fault::Error(message));
            }
            slave.unit.restore(&snapshot.unit)?;
            slave.clock = snapshot.clock;
            let state = snapshot.state;
            slave.go_to(state);
            Ok(())
        })
    }

    /// `fmi2FreeFMUstate`; no state is not an error.
    pub(crate) fn free_state(&mut self, handle: &mut Option<Handle>) -> Status {
        self.call(Function::FreeFmuState, |slave| {
            if handle.is_some() {
                slave.saved.find(*handle)?;
            }
            if let Some(slot) = slave.saved.slot(*handle) {
                *slot = None;
            }
            *handle = None;
            Ok(())
        })
    }

    /// `fmi2SerializedFMUstateSize` and `fmi2SerializeFMUstate`: hands the bytes to `receive`.
    pub(crate) fn serialize_state(
        &mut self,
        function: Function,
        handle: Option<Handle>,
        receive: impl FnOnce(&[u8]) -> Result<(), Fault>,
    ) -> Status {
        self.call(function, |slave| {
            let snapshot = slave.saved.find(handle)?;
            let written = Written {
                guid: slave.unit.guid().to_owned(),
                state: snapshot.state as u16,
                clock: snapshot.clock,
                unit: S::to_bytes(&snapshot.unit)?,
            };
            let bytes = postcard::to_stdvec(&written);
            receive(&bytes.map_err(|error| Fault::Error(error.to_string()))?)
        })
    }

    /// `fmi2DeSerializeFMUstate`.
    pub(crate) fn deserialize_state(
        &mut self,
        bytes: &[u8],
        handle: &mut Option<Handle>,
    ) -> Status {
        self.call(Function::DeSerializeFmuState, |slave| {
            let snapshot = slave.read(bytes)?;
            if handle.is_some() {
                *slave.saved.find(*handle)? = snapshot;
            } else {
                *handle = slave.saved.add(snapshot);
            }
            Ok(())
        })
    }

    fn read(&self, bytes: &[u8]) -> Result<Snapshot<S>, Fault> {
        let refused = || Fault::Error("the bytes are no serialized state of this FMU".to_owned());
        let written: Written = postcard::from_bytes(bytes).map_err(|_| refused())?;
        let state = SlaveState::ALL
            .into_iter()
            .find(|&s| s as u16 == written.state);
        let state = state.filter(|&s| Function::GetFmuState.legal_in().contains(s));
        if written.guid != self.unit.guid() {
            return Err(refused());
        }
        Ok(Snapshot {
            state: state.ok_or_else(refused)?,
            clock: written.clock,
            unit: S::from_bytes(&written.unit).ok_or_else(refused)?,
        })
    }
}
