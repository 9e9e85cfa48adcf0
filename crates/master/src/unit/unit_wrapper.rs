//! A unit around another one: calls that it does not override go to the unit inside.
//!
//! A wrapper that repeated [`Unit`] would lose each method that has a default there: the compiler accepts it, and
//! states or directional derivatives are gone silently. `UnitWrapper` has the same methods, passed on by default, and
//! makes a [`Unit`] of every type that implements it. One list makes both, and the lint `missing_trait_methods`
//! refuses a method that is not on it.

use crate::unit::{
    Handle, Period, ProcessTies, SavedState, StepOutcome, Unit, UnitDescription, UnitResult, Value,
};

/// Passes on methods of [`Unit`]: those that read (`&self`), then those that call (`&mut self`).
macro_rules! pass_on {
    (
        $(#[$documentation:meta])*
        read { $($read:ident -> $read_result:ty;)* }
        call { $($call:ident($($argument:ident: $type:ty),*) -> $result:ty;)* }
    ) => {
        $(#[$documentation])*
        pub trait UnitWrapper: Send {
            /// The unit inside.
            fn inner(&self) -> &dyn Unit;

            /// The unit inside, to be called.
            fn inner_mut(&mut self) -> &mut dyn Unit;

            $(
                #[doc = concat!("As [`Unit::", stringify!($read), "`].")]
                fn $read(&self) -> $read_result {
                    self.inner().$read()
                }
            )*

            $(
                #[doc = concat!("As [`Unit::", stringify!($call), "`].")]
                ///
                /// # Errors
                /// As the unit inside.
                fn $call(&mut self, $($argument: $type),*) -> $result {
                    self.inner_mut().$call($($argument),*)
                }
            )*

            /// As [`Unit::begin_step`]: by default it makes a whole step as [`step`](Self::step) does, which a wrapper may
            /// override. A wrapper of steps that go on at the same time as others overrides both this and `finish_step`.
            ///
            /// # Errors
            /// As the unit inside.
            fn begin_step(&mut self, time: f64, step: f64) -> UnitResult<Option<StepOutcome>> {
                UnitWrapper::step(self, time, step).map(Some)
            }
        }

        #[deny(clippy::missing_trait_methods, reason = "a method that is not passed on is lost")]
        impl<W: UnitWrapper> Unit for W {
            $(fn $read(&self) -> $read_result { UnitWrapper::$read(self) })*
            $(fn $call(&mut self, $($argument: $type),*) -> $result {
                UnitWrapper::$call(self, $($argument),*)
            })*

            fn begin_step(&mut self, time: f64, step: f64) -> UnitResult<Option<StepOutcome>> {
                UnitWrapper::begin_step(self, time, step)
            }
        }

        #[deny(clippy::missing_trait_methods, reason = "a method that is not passed on is lost")]
        impl Unit for Box<dyn Unit> {
            $(fn $read(&self) -> $read_result { (**self).$read() })*
            $(fn $call(&mut self, $($argument: $type),*) -> $result {
                (**self).$call($($argument),*)
            })*

            fn begin_step(&mut self, time: f64, step: f64) -> UnitResult<Option<StepOutcome>> {
                (**self).begin_step(time, step)
            }
        }
    };
}

pass_on! {
    /// A unit around another one, which changes some calls and passes on all others: noise on a
    /// sensor, a log of calls, a limit on an input.
    ///
    /// An implementation names the unit [inside](Self::inner) and overrides the calls that it changes.
    /// It is then a [`Unit`] with all capabilities of the one inside; a capability that it cannot keep
    /// has to be taken from the [`description`](Self::description).
    ///
    /// Real variables also come by [`set_value`](Self::set_value) and [`get_value`](Self::get_value):
    /// start values, and what a test bench writes and reads. A wrapper with a state of its own on which
    /// results depend overrides [`save`](Self::save) and [`restore`](Self::restore).
    ///
    /// ```
    /// use gyrator::{LinearUnit, RunOptions, System, Unit};
    /// use gyrator::unit::{Handle, UnitResult, UnitWrapper};
    ///
    /// /// A sensor with an offset.
    /// struct Offset(LinearUnit, f64);
    ///
    /// impl UnitWrapper for Offset {
    ///     fn inner(&self) -> &dyn Unit {
    ///         &self.0
    ///     }
    ///
    ///     fn inner_mut(&mut self) -> &mut dyn Unit {
    ///         &mut self.0
    ///     }
    ///
    ///     fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
    ///         self.0.get_reals(handles, values)?;
    ///         values.iter_mut().for_each(|value| *value += self.1);
    ///         Ok(())
    ///     }
    /// }
    ///
    /// let decay = LinearUnit::new(&[1.0], &["u"], &["y"], [&[-1.0], &[1.0], &[1.0], &[0.0]]);
    /// let mut system = System::new(0.1);
    /// system.add("decay", Offset(decay, 0.25));
    /// let mut run = system.start(&RunOptions::default())?;
    /// run.step()?;
    /// assert!((run.read_real("decay.y")? - ((-0.1_f64).exp() + 0.25)).abs() < 1e-12);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    read {
        description -> &UnitDescription;
        warnings -> u64;
        process_ties -> ProcessTies;
    }
    call {
        setup_experiment(period: &Period) -> UnitResult;
        enter_initialization_mode() -> UnitResult;
        exit_initialization_mode() -> UnitResult;
        set_reals(handles: &[Handle], values: &[f64]) -> UnitResult;
        get_reals(handles: &[Handle], values: &mut [f64]) -> UnitResult;
        step(time: f64, step: f64) -> UnitResult<StepOutcome>;
        finish_step() -> UnitResult<StepOutcome>;
        set_value(handle: Handle, value: &Value) -> UnitResult;
        get_value(handle: Handle, value: &mut Value) -> UnitResult;
        set_input_derivatives(handles: &[Handle], orders: &[i32], values: &[f64]) -> UnitResult;
        output_derivatives(handles: &[Handle], orders: &[i32], values: &mut [f64]) -> UnitResult;
        directional_derivative(
            unknowns: &[Handle],
            knowns: &[Handle],
            seed: &[f64],
            values: &mut [f64]
        ) -> UnitResult;
        save(previous: Option<SavedState>) -> UnitResult<SavedState>;
        restore(state: &SavedState) -> UnitResult;
        serialize() -> UnitResult<Vec<u8>>;
        deserialize(bytes: &[u8]) -> UnitResult;
        terminate() -> UnitResult;
    }
}
