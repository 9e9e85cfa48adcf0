//! Receives the messages of FMUs and passes them to `tracing`.
//!
//! An FMU hands back the environment pointer that it was given, or, in one of seven FMUs in use,
//! some other pointer. So the pointer is a number that is looked up, never one that is followed.

#![expect(unsafe_code, reason = "called by FMUs with C strings")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fmi2_abi::{Component, ComponentEnvironment};

use crate::description::{BaseType, ModelDescription};
use crate::error::Status;

unsafe extern "C" {
    /// The C half, in `logger.c`.
    pub(crate) fn gyrator_fmu_logger(
        environment: ComponentEnvironment,
        instance_name: fmi2_abi::String,
        status: fmi2_abi::Status,
        category: fmi2_abi::String,
        message: fmi2_abi::String,
        ...
    );
}

/// Bytes of the name of an instance or a category that are shown.
const LONGEST_NAME: usize = 256;
/// Bytes of a message after its references were replaced by names, which may be long themselves: four
/// times what `logger.c` lets through.
const LONGEST_MESSAGE: usize = 65_536;

/// Lines kept while an instance is being made, to explain a failure.
const KEPT_LINES: usize = 20;

/// The receiver of the messages of one instance.
#[derive(Debug)]
pub(crate) struct LogSink {
    id: usize,
    instance: String,
    description: Arc<ModelDescription>,
    state: Mutex<SinkState>,
    /// A step in the background has ended.
    step_ended: Condvar,
}

#[derive(Debug, Default)]
struct SinkState {
    component: usize,
    lines: Vec<String>,
    last: Option<String>,
    /// Status that a step in the background has ended with.
    step_status: Option<fmi2_abi::Status>,
    /// Whether a message came with an environment that is not the instance's.
    has_foreign_environment: bool,
    /// A name that a message came with and that is not the instance's.
    foreign_name: Option<String>,
}

/// All instances there are, by the number that serves as environment pointer.
static SINKS: Mutex<BTreeMap<usize, Arc<LogSink>>> = Mutex::new(BTreeMap::new());
static NEXT_ID: AtomicUsize = AtomicUsize::new(1);

thread_local! {
    /// The instance that is being made by this thread: its component is not known yet.
    static MAKING: RefCell<Option<Arc<LogSink>>> = const { RefCell::new(None) };
}

impl LogSink {
    /// Registers an instance.
    pub(crate) fn register(instance: &str, description: Arc<ModelDescription>) -> Arc<Self> {
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let instance = instance.to_owned();
        let state = Mutex::default();
        let sink = Arc::new(Self {
            id,
            instance,
            description,
            state,
            step_ended: Condvar::new(),
        });
        lock(&SINKS).insert(id, Arc::clone(&sink));
        sink
    }

    /// Number of the instance, unique in this process.
    pub(crate) fn id(&self) -> usize {
        self.id
    }

    /// The pointer that stands for the instance; it points to nothing.
    pub(crate) fn environment(&self) -> ComponentEnvironment {
        std::ptr::without_provenance_mut(self.id)
    }

    /// Forgets the instance.
    pub(crate) fn unregister(&self) {
        lock(&SINKS).remove(&self.id);
    }

    /// Catches messages of this thread that cannot be attributed otherwise, while `make` runs.
    pub(crate) fn while_making<T>(self: &Arc<Self>, make: impl FnOnce() -> T) -> T {
        MAKING.set(Some(Arc::clone(self)));
        let made = make();
        MAKING.set(None);
        made
    }

    /// Records the component, by which some FMUs are recognised that mix up their pointers.
    pub(crate) fn set_component(&self, component: Component) {
        let mut state = lock(&self.state);
        state.component = component.addr();
        state.lines.clear();
    }

    /// Lines that were logged while the instance was being made.
    pub(crate) fn lines(&self) -> Vec<String> {
        lock(&self.state).lines.clone()
    }

    /// The last message.
    pub(crate) fn last(&self) -> Option<String> {
        lock(&self.state).last.clone()
    }

    /// Takes the status that the FMU has reported for the end of a step in the background.
    pub(crate) fn take_step_status(&self) -> Option<fmi2_abi::Status> {
        lock(&self.state).step_status.take()
    }

    /// Waits until the FMU says that a step has ended, `pause` at most.
    pub(crate) fn wait_for_step(&self, pause: Duration) {
        let state = lock(&self.state);
        let has_not = |state: &mut SinkState| state.step_status.is_none();
        drop(self.step_ended.wait_timeout_while(state, pause, has_not));
    }

    fn end_step(&self, status: fmi2_abi::Status) {
        lock(&self.state).step_status = Some(status);
        self.step_ended.notify_all();
    }

    /// Says something about the instance as if it had said so itself.
    pub(crate) fn warn(&self, message: &str) {
        emit(&self.instance, Status::Warning, "gyrator", message);
    }

    /// Whether messages came with another environment than the instance was given, and a name that
    /// is not its own, if one did.
    pub(crate) fn foreign(&self) -> (bool, Option<String>) {
        let state = lock(&self.state);
        (state.has_foreign_environment, state.foreign_name.clone())
    }

    /// Notes the sender that a message names.
    fn note_sender(&self, environment: usize, instance: &str) {
        let mut state = lock(&self.state);
        state.has_foreign_environment |= environment != self.id;
        if instance != self.instance && state.foreign_name.is_none() {
            state.foreign_name = Some(instance.to_owned());
        }
    }

    fn receive(&self, status: Status, category: &str, message: &str) {
        let message = expand_references(message.trim_end(), &self.description);
        let mut state = lock(&self.state);
        if state.component == 0 && state.lines.len() < KEPT_LINES {
            state.lines.push(message.clone());
        }
        state.last = Some(message.clone());
        drop(state);
        emit(&self.instance, status, category, &message);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Finds the origin of a message: by the environment pointer, by the component that some FMUs hand
/// over instead, by the instance that this thread is making, by name.
fn sink_of(environment: usize, instance: &str) -> Option<Arc<LogSink>> {
    let sinks = lock(&SINKS);
    if let Some(sink) = sinks.get(&environment) {
        return Some(Arc::clone(sink));
    }
    let of_component = || {
        let mut all = sinks.values();
        all.find(|sink| environment != 0 && lock(&sink.state).component == environment)
    };
    let making = || MAKING.with_borrow(Clone::clone);
    let of_name = || sinks.values().find(|sink| sink.instance == instance);
    of_component()
        .cloned()
        .or_else(making)
        .or_else(|| of_name().cloned())
}

/// `stepFinished`: an FMU reports the end of a step in the background. May come from any thread,
/// also before `fmi2DoStep` returns (C-43).
///
/// # Safety
/// None: the pointer is not followed.
pub(crate) unsafe extern "C" fn step_finished(
    environment: ComponentEnvironment,
    status: fmi2_abi::Status,
) {
    let _ = catch_unwind(|| {
        let sink = lock(&SINKS).get(&environment.addr()).cloned();
        if let Some(sink) = sink {
            sink.end_step(status);
        }
    });
}

/// Called by `logger.c` with the formatted message.
///
/// # Safety
/// `instance` and `category` are NULL or C strings; `message` points to `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn gyrator_fmu_receive_log(
    environment: *mut c_void,
    instance: *const c_char,
    status: fmi2_abi::Status,
    category: *const c_char,
    message: *const c_char,
    length: usize,
) {
    // A panic must not unwind into C. One that a subscriber raises loses its message only.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: NULL or a C string, by the contract of this function.
        let instance = shortened(unsafe { text(instance) }, LONGEST_NAME);
        // SAFETY: as above.
        let category = shortened(unsafe { text(category) }, LONGEST_NAME);
        // SAFETY: `message` points to `length` bytes that live during this call.
        let message = unsafe { std::slice::from_raw_parts(message.cast::<u8>(), length) };
        let message = String::from_utf8_lossy(message);
        let status = Status::from_raw(status);
        match sink_of(environment.addr(), &instance) {
            Some(sink) => {
                sink.note_sender(environment.addr(), &instance);
                sink.receive(status, &category, &message);
            }
            None => emit(&instance, status, &category, message.trim_end()),
        }
    }));
}

/// A text with an ellipsis instead of all beyond `most` bytes.
fn shortened(mut text: String, most: usize) -> String {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.push('…');
    }
    text
}

/// A copy of a C string, bytes that are not UTF-8 replaced; empty for NULL.
///
/// # Safety
/// `string` is NULL or points to a C string that lives during the call.
pub(crate) unsafe fn text(string: *const c_char) -> String {
    if string.is_null() {
        return String::new();
    }
    // SAFETY: not NULL, hence a C string by the contract of this function.
    unsafe { CStr::from_ptr(string) }
        .to_string_lossy()
        .into_owned()
}

fn emit(instance: &str, status: Status, category: &str, message: &str) {
    macro_rules! event {
        ($level:ident) => {
            tracing::$level!(target: "fmu", instance, category, status = ?status, "{message}")
        };
    }
    match status {
        Status::Ok | Status::Pending | Status::NotCalled(_) => event!(info),
        Status::Warning | Status::Discard => event!(warn),
        Status::Error
        | Status::Fatal
        | Status::Unknown(_)
        | Status::TimedOut(_)
        | Status::Interrupted => event!(error),
    }
}

/// Replaces `#r123#` and its like by names of variables and `##` by `#` (FMI 2.0.5 section
/// 2.1.5). All other text stays as it is.
fn expand_references(message: &str, description: &ModelDescription) -> String {
    let mut result = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(hash) = rest.find('#') {
        if result.len() > LONGEST_MESSAGE {
            return shortened(result, LONGEST_MESSAGE);
        }
        result.push_str(&rest[..hash]);
        let after = &rest[hash + 1..];
        if let Some(tail) = after.strip_prefix('#') {
            result.push('#');
            rest = tail;
        } else if let Some((name, length)) = reference(after, description) {
            result.push_str(name);
            rest = &after[length..];
        } else {
            result.push('#');
            rest = after;
        }
    }
    result.push_str(rest);
    shortened(result, LONGEST_MESSAGE)
}

/// The name for `r123#…` and the length of that reference.
fn reference<'d>(text: &str, description: &'d ModelDescription) -> Option<(&'d str, usize)> {
    let base_type = match text.as_bytes().first()? {
        b'r' => BaseType::Real,
        b'i' => BaseType::Integer,
        b'b' => BaseType::Boolean,
        b's' => BaseType::String,
        _ => return None,
    };
    let end = text.find('#')?;
    let value_reference = text[1..end].parse().ok()?;
    let variable = description.variable_by_reference(base_type, value_reference)?;
    Some((&variable.name, end + 1))
}
