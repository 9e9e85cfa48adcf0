//! Making an instance, and freeing it.

#![expect(unsafe_code, reason = "calls fmi2Instantiate and fmi2FreeInstance")]

use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fmi2_abi::{Boolean, CallbackFunctions, Component, Function, SlaveState};

use super::{Capabilities, Cold, Instance};
use crate::c_library::OwnState;
use crate::description::ModelDescription;
use crate::error::LoadError;
use crate::flight_recorder::{Activity, SlotGuard};
use crate::float_control::FloatControl;
use crate::library::{Library, LibraryUse};
use crate::logger::{self, LogSink};
use crate::surroundings::{KnownChange, Watch};
use crate::warning::Warning;

/// Makes a component with the root directory as the working directory, which the whole process
/// shares. Also a warning if the former directory cannot be restored.
fn made_in_root(make: impl FnOnce() -> Component) -> (Component, Option<Warning>) {
    let before = std::env::current_dir().ok();
    let before = before.filter(|_| std::env::set_current_dir("/").is_ok());
    let component = make();
    let way_back = before.map_or(Ok(()), std::env::set_current_dir);
    let warning = way_back.err().map(|error| {
        let text = format!("the working directory is / from now on: the former one cannot be entered again: {error}");
        Warning::new(text)
    });
    (component, warning)
}

/// How to make an instance.
#[derive(Debug, Clone)]
pub struct InstanceOptions {
    /// Whether the FMU may open windows.
    pub visible: bool,
    /// Whether the FMU logs more than it must.
    pub logging_on: bool,
    /// Categories of the FMU to log; empty means all.
    pub log_categories: Vec<String>,
    /// How long a step may run in the background before it is cancelled (C-43). A process that
    /// [watches](crate::flight_recorder::record_to) this one limits that itself.
    pub pending_timeout: Duration,
    /// Once it is true, a step in the background has 3 s before it is cancelled.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// Whether the instance has a library of its own.
    pub library: LibraryUse,
    /// Whether it is the only one of this process, from its start to its end. Then its changes of the process, such as the
    /// locale, are left as they are, and it has the C library's state to itself.
    pub is_alone: bool,
}

impl Default for InstanceOptions {
    /// No windows, no logging, a minute for steps in the background, a library of its own if it is needed.
    fn default() -> Self {
        Self {
            visible: false,
            logging_on: false,
            log_categories: Vec::new(),
            pending_timeout: Duration::from_secs(60),
            interrupt: None,
            library: LibraryUse::Auto,
            is_alone: false,
        }
    }
}

/// All that an instance is made of.
pub(crate) struct Making {
    pub(crate) library: Library,
    pub(crate) description: Arc<ModelDescription>,
    pub(crate) fatal: Arc<AtomicBool>,
    pub(crate) warnings: Vec<Warning>,
    /// The control words of the floating-point unit before the library was loaded.
    pub(crate) float_control: FloatControl,
    /// The instance has to be called by the thread that makes it.
    pub(crate) keeps_thread: bool,
    /// What instances of the FMU change of the process.
    pub(crate) known_change: Arc<KnownChange>,
}

impl Making {
    /// FMU4j, which makes FMUs that start a Java machine, takes `file:///` off the location of the
    /// resources on every system. A path relative to the root directory is left, so these FMUs are
    /// instantiated in that directory. Not after a refusal only: the machine keeps the directory that
    /// it was started in, and the FMU would discard its steps.
    pub(crate) fn instantiate(
        mut self,
        name: &str,
        resources: &str,
        options: &InstanceOptions,
        starts_java: bool,
    ) -> Result<Instance, LoadError> {
        let bad_name = || LoadError::InstanceName {
            name: name.to_owned(),
        };
        if name.trim().is_empty() {
            return Err(bad_name());
        }
        let c_name = CString::new(name).map_err(|_| bad_name())?;
        let sink = LogSink::register(name, Arc::clone(&self.description));
        // FMUs keep the pointer to this for as long as they live, and some have threads that log
        // after fmi2FreeInstance (C-10). Their libraries stay loaded, so this may stay as well.
        let callbacks = Box::leak(Box::new(CallbackFunctions {
            logger: Some(logger::gyrator_fmu_logger),
            allocate_memory: Some(libc::calloc),
            free_memory: Some(libc::free),
            step_finished: self.step_finished(),
            component_environment: sink.environment(),
        }));
        let guard = SlotGuard::new(name);
        let make = || {
            guard.slot().during(Activity::Instantiate, || {
                self.component(&c_name, resources, options, &sink, callbacks)
            })
        };
        let make = || match starts_java {
            true => made_in_root(make),
            false => (make(), None),
        };
        let mut watch = self.watch(options);
        let (component, warning) = match &mut watch {
            Some(watch) => watch.during("fmi2Instantiate", make),
            None => make(),
        };
        self.warnings.extend(warning);
        if component.is_null() {
            sink.unregister();
            return Err(self.refused(name, &sink));
        }
        let own_state = self.library.own_state.as_deref();
        sink.set_component(own_state.map_or(component, OwnState::component));
        for warning in &self.warnings {
            sink.warn(&warning.to_string());
        }
        let mut instance = self.finish((name, component), sink, guard, options, watch);
        instance.restore_float_control("fmi2Instantiate");
        if options.logging_on && !options.log_categories.is_empty() {
            instance.choose_log_categories(&options.log_categories);
        }
        Ok(instance)
    }

    /// The watch over what it changes of the process; FMUs that say that they share nothing are not watched.
    fn watch(&self, options: &InstanceOptions) -> Option<Watch> {
        let is_watched = !self.description.declares_shared_library();
        is_watched.then(|| Watch {
            puts_back: !options.is_alone,
            known: Arc::clone(&self.known_change),
            ..Watch::default()
        })
    }

    /// Returns the callback only for FMUs that step in the background (C-12).
    fn step_finished(&self) -> Option<fmi2_abi::StepFinished> {
        let claims = self.description.co_simulation.as_ref();
        let may_report = claims.is_some_and(|claims| claims.can_run_asynchronuously);
        may_report.then_some(logger::step_finished as fmi2_abi::StepFinished)
    }

    fn component(
        &self,
        name: &CString,
        resources: &str,
        options: &InstanceOptions,
        sink: &Arc<LogSink>,
        callbacks: &'static CallbackFunctions,
    ) -> Component {
        // Neither can hold a NUL: XML has none, and the URI is encoded.
        let guid = CString::new(self.description.guid.as_str()).unwrap_or_default();
        let resources = CString::new(resources).unwrap_or_default();
        let instantiate = self.library.functions.instantiate;
        let make = || {
            // SAFETY: the strings live during the call, the callbacks for ever; the signature is
            // as FMI 2.0 has it.
            unsafe {
                instantiate(
                    name.as_ptr(),
                    fmi2_abi::CO_SIMULATION,
                    guid.as_ptr(),
                    resources.as_ptr(),
                    callbacks,
                    Boolean::from(options.visible),
                    Boolean::from(options.logging_on),
                )
            }
        };
        sink.while_making(|| match &self.library.own_state {
            Some(own) => own.make(make),
            None => make(),
        })
    }

    fn refused(&self, name: &str, sink: &LogSink) -> LoadError {
        let lines = sink.lines();
        let explanation = if lines.is_empty() {
            format!(
                "the FMU gives no reason; usual ones are a GUID that is not that of the library \
                 (the description has {:?}), missing resources or a missing licence",
                self.description.guid
            )
        } else {
            format!("the FMU says: {}", lines.join("; "))
        };
        let model = self.description.model_name.clone();
        LoadError::Instantiate {
            instance: name.to_owned(),
            model,
            explanation,
        }
    }

    fn finish(
        self,
        (name, component): (&str, Component),
        sink: Arc<LogSink>,
        guard: SlotGuard,
        options: &InstanceOptions,
        watch: Option<Watch>,
    ) -> Instance {
        let functions = self.library.functions;
        Instance {
            component,
            state: SlaveState::Instantiated,
            step: 0,
            float_control: self.float_control,
            set_real: functions.set_real,
            get_real: functions.get_real,
            do_step: functions.do_step,
            slot: guard.slot(),
            cold: Box::new(Cold {
                functions,
                warnings_count: 0,
                is_set_up: false,
                pending_timeout: options.pending_timeout,
                interrupt: options.interrupt.clone(),
                has_changed_float_control: false,
                float_control_was_changed: false,
                capabilities: Capabilities::of(&self.description),
                integers: Vec::new(),
                strings: Vec::new(),
                name: name.to_owned(),
                description: self.description,
                sink,
                load_warnings: self.warnings,
                saved: super::saved_state::SavedStates::default(),
                fatal: self.fatal,
                watch,
                keeps_thread: self.keeps_thread,
                _library: self.library,
                _guard: guard,
            }),
        }
    }
}

impl Instance {
    /// Passes on the categories to log; a refusal does not stop the run.
    fn choose_log_categories(&mut self, categories: &[String]) {
        let names: Vec<&str> = categories.iter().map(String::as_str).collect();
        if let Err(error) = self.set_debug_logging(true, &names) {
            self.cold
                .load_warnings
                .push(Warning::new(error.to_string()));
        }
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if self.state == SlaveState::StepInProgress {
            self.cancel_step();
        }
        self.free_all_states();
        if Function::Terminate.legal_in().contains(self.state) {
            // Some FMUs abort if they are freed in the middle of a run. A refusal changes nothing.
            let _ = self.terminate();
        }
        let fatal = self.cold.fatal.load(Ordering::Acquire);
        if fatal || !Function::FreeInstance.legal_in().contains(self.state) {
            // C-26: after Fatal not even fmi2FreeInstance may be called.
            return;
        }
        let free = self.cold.functions.free_instance;
        // SAFETY: the component is alive, and the state allows to free it; it is not used after.
        let call = || unsafe { free(self.component) };
        self.slot.call(Function::FreeInstance, call);
        self.restore_float_control(Function::FreeInstance.name());
        self.cold.sink.unregister();
    }
}

// SAFETY: FMI 2.0 lets an instance be called from any thread as long as the calls do not overlap
// (section 2.1.1), and `&mut self` keeps them apart. Pointers in an instance are its own, and
// `strings` holds none between calls.
unsafe impl Send for Instance {}
