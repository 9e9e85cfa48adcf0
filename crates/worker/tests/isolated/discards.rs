//! A step that an FMU discards continues at the time that the FMU reports.

use std::sync::{Arc, Mutex};

use gyrator::error::LoadError;
use gyrator::unit::{
    Handle, InProcess, Period, SavedState, StepOutcome, UnitDescription, UnitMaker, UnitOrder,
    UnitResult,
};
use gyrator::{RunOptions, System, Unit, Value};
use gyrator_system::SystemFile;

use crate::bench::{isolated, isolation, system};

type Steps = Arc<Mutex<Vec<(f64, f64)>>>;

/// Records the steps that a unit is asked to make.
struct Recorder {
    unit: Box<dyn Unit>,
    steps: Steps,
}

impl Unit for Recorder {
    fn description(&self) -> &UnitDescription {
        self.unit.description()
    }

    fn setup_experiment(&mut self, period: &Period) -> UnitResult {
        self.unit.setup_experiment(period)
    }

    fn enter_initialization_mode(&mut self) -> UnitResult {
        self.unit.enter_initialization_mode()
    }

    fn exit_initialization_mode(&mut self) -> UnitResult {
        self.unit.exit_initialization_mode()
    }

    fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        self.unit.set_reals(handles, values)
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        self.unit.get_reals(handles, values)
    }

    fn set_value(&mut self, handle: Handle, value: &Value) -> UnitResult {
        self.unit.set_value(handle, value)
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        self.steps.lock().unwrap().push((time, step));
        self.unit.step(time, step)
    }

    fn save(&mut self, previous: Option<SavedState>) -> UnitResult<SavedState> {
        self.unit.save(previous)
    }

    fn restore(&mut self, state: &SavedState) -> UnitResult {
        self.unit.restore(state)
    }
}

/// Puts a recorder around the units of another maker.
struct Recording<M> {
    maker: M,
    steps: Steps,
}

impl<M: UnitMaker> UnitMaker for Recording<M> {
    fn plan(&mut self, orders: &[UnitOrder<'_>]) {
        self.maker.plan(orders);
    }

    fn make(&mut self, order: &UnitOrder<'_>) -> Result<Option<Box<dyn Unit>>, LoadError> {
        let unit = match self.maker.make(order)? {
            Some(unit) => unit,
            None => Box::new(order.instantiate()?),
        };
        Ok(Some(Box::new(Recorder {
            unit,
            steps: Arc::clone(&self.steps),
        })))
    }
}

fn steps_of(file: SystemFile, maker: impl UnitMaker) -> Vec<(f64, f64)> {
    let steps = Steps::default();
    let mut maker = Recording {
        maker,
        steps: Arc::clone(&steps),
    };
    let system = System::from_file(file).unwrap();
    let mut run = system
        .start_with(&RunOptions::default(), &mut maker)
        .unwrap();
    run.run().unwrap();
    let steps = steps.lock().unwrap();
    // The first step is tried before, to see whether the unit goes back.
    steps.iter().skip(2).copied().collect()
}

// The FMU makes inner steps of 1 ms and discards, once, the one that ends at 37 ms: it has come to 36 ms.
#[test]
fn c39_a_discarded_step_goes_on_where_the_fmu_came_to() {
    let file = system(
        "[experiment]\nstop_time = 0.05\nstep_size = 0.01\n\
         [components.bad]\nfmu = \"<Faulty>\"\nstep_halvings = 1\n\
         start_values = { fault = \"discard_once\", fault_time = 0.037, parts = 10 }\n",
    );
    let here = steps_of(file.clone(), InProcess);
    let expected = [
        (0.0, 0.01),
        (0.01, 0.01),
        (0.02, 0.01),
        (0.03, 0.01),
        (0.03, 0.006),
        (0.036, 0.004),
        (0.04, 0.01),
    ];
    assert_eq!(here.len(), expected.len(), "{here:?}");
    for (made, expected) in here.iter().zip(expected) {
        let difference = (made.0 - expected.0).abs() + (made.1 - expected.1).abs();
        assert!(difference < 1e-12, "{made:?} instead of {expected:?}");
    }
    assert_eq!(steps_of(isolated(file), isolation()), here);
}
