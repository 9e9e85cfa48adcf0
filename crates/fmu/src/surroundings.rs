//! What a process has once and an FMU may change: locale, environment, working directory, file mode mask, and the
//! handlers of the signals that end a program.
//!
//! [`Watch`] compares them before and after the calls in which FMUs change them: instantiation, initialisation, the first
//! step, and all steps of an instance that has changed something in one. A change reaches all other components of the
//! process, so it is named, and put back if there are others.
//! Handlers of faults (SIGSEGV and its kin) and the signals that run-time systems use for themselves are not looked at:
//! the machines of Java and Go cannot run without them.

#![expect(
    unsafe_code,
    reason = "asks and changes the C library's locale, environment and signal handlers"
)]

use std::ffi::{CStr, CString, OsString, c_int};
use std::path::PathBuf;
use std::ptr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustix::fs::Mode;

/// Signals by which users and systems end a program.
const SIGNALS: [(c_int, &str); 5] = [
    (libc::SIGINT, "SIGINT"),
    (libc::SIGTERM, "SIGTERM"),
    (libc::SIGHUP, "SIGHUP"),
    (libc::SIGQUIT, "SIGQUIT"),
    (libc::SIGPIPE, "SIGPIPE"),
];

/// The file mode mask can only be asked for by changing it.
static MASK: Mutex<()> = Mutex::new(());

/// What all threads of the process have.
struct Surroundings {
    locale: CString,
    environment: Vec<(OsString, OsString)>,
    handlers: [libc::sigaction; SIGNALS.len()],
}

// SAFETY: addresses of functions and masks, which any thread may read.
unsafe impl Send for Surroundings {}
// SAFETY: as above.
unsafe impl Sync for Surroundings {}

/// What threads may have for themselves (unshare(2)).
struct OfThread {
    directory: Option<PathBuf>,
    mask: Mode,
}

/// The changes that an instance has made.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// What it changed, in words, by call.
    pub(crate) changes: Vec<Change>,
    /// Whether they are put back.
    pub(crate) puts_back: bool,
    /// What instances of its FMU change, for all to know.
    pub(crate) known: Arc<KnownChange>,
}

/// A change by an instance of an FMU on which the FMU may depend, in words.
pub(crate) type KnownChange = OnceLock<String>;

/// What a call of an FMU has changed of the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The function of FMI.
    pub call: &'static str,
    /// In words, such as `the locale (C → de_DE.UTF-8)`.
    pub what: String,
    /// Whether results may depend on it: not on handlers of signals and the file mode mask.
    pub reaches_results: bool,
    /// Whether it was put back.
    pub is_put_back: bool,
}

/// The call in which steps are made.
const STEP: &str = "fmi2DoStep";

/// Watched calls that are being made, by all threads, and what was there before the first of them.
struct InProgress {
    count: usize,
    before: Option<Arc<Surroundings>>,
}

static IN_PROGRESS: Mutex<InProgress> = Mutex::new(InProgress {
    count: 0,
    before: None,
});

impl Watch {
    /// Makes a call, and notes what it has changed. Calls of several threads at once see what each other change: all
    /// of them are said to have done it.
    pub(crate) fn during<T>(&mut self, call: &'static str, act: impl FnOnce() -> T) -> T {
        let before = begin();
        let own = OfThread::now();
        let done = act();
        let mut in_progress = IN_PROGRESS.lock().unwrap_or_else(PoisonError::into_inner);
        in_progress.count -= 1;
        let (after, own_after) = (Surroundings::now(), OfThread::now());
        let mut what = before.changes(&after);
        what.extend(own.changes(&own_after));
        if what.is_empty() {
            return done;
        }
        if self.puts_back {
            before.put_back();
            own.put_back();
        }
        let reaches_results =
            before.reaches_results(&after) || own.directory != own_after.directory;
        let change = Change {
            call,
            what: what.join(", "),
            reaches_results,
            is_put_back: self.puts_back,
        };
        if change.is_own_affair() {
            self.known.get_or_init(|| change.to_string());
        }
        if self.changes.iter().all(|change| change.call != call) {
            self.changes.push(change);
        }
        done
    }

    /// Whether steps change something, each of which is then to be watched.
    pub(crate) fn has_changing_steps(&self) -> bool {
        self.puts_back && self.changes.iter().any(|change| change.call == STEP)
    }
}

impl Change {
    /// Whether the FMU may depend on it, although the others must not see it: not if it makes it again in every step.
    #[must_use]
    pub fn is_own_affair(&self) -> bool {
        self.reaches_results && self.is_put_back && self.call != STEP
    }
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} changes {}", self.call, self.what)
    }
}

/// Begins a watched call.
fn begin() -> Arc<Surroundings> {
    let mut in_progress = IN_PROGRESS.lock().unwrap_or_else(PoisonError::into_inner);
    if in_progress.count == 0 {
        in_progress.before = None;
    }
    in_progress.count += 1;
    let before = in_progress
        .before
        .get_or_insert_with(|| Arc::new(Surroundings::now()));
    Arc::clone(before)
}

impl Surroundings {
    fn now() -> Self {
        Self {
            locale: locale(),
            environment: std::env::vars_os().collect(),
            handlers: SIGNALS.map(|(signal, _)| handler(signal)),
        }
    }

    /// What is different afterwards, in words.
    fn changes(&self, after: &Self) -> Vec<String> {
        let mut changes = Vec::new();
        if self.locale != after.locale {
            let [from, to] = [self, after].map(|one| one.locale.to_string_lossy());
            changes.push(format!("the locale ({from} → {to})"));
        }
        if self.environment != after.environment {
            changes.push(format!(
                "environment variables ({})",
                self.variables(after).join(", ")
            ));
        }
        for (index, (_, name)) in SIGNALS.iter().enumerate() {
            if self.handlers[index].sa_sigaction != after.handlers[index].sa_sigaction {
                changes.push(format!("the handler of {name}"));
            }
        }
        changes
    }

    fn reaches_results(&self, after: &Self) -> bool {
        self.locale != after.locale || self.environment != after.environment
    }

    /// The names of variables that are different afterwards.
    fn variables(&self, after: &Self) -> Vec<String> {
        let all = self.environment.iter().chain(&after.environment);
        let mut names: Vec<String> = all
            .filter(|one| self.environment.contains(one) != after.environment.contains(one))
            .map(|(name, _)| name.to_string_lossy().into_owned())
            .collect();
        names.sort();
        names.dedup();
        names
    }

    fn put_back(&self) {
        // SAFETY: a name of the C library's own, which ends with a zero byte.
        unsafe { libc::setlocale(libc::LC_ALL, self.locale.as_ptr()) };
        for (name, value) in std::env::vars_os() {
            if !self.environment.contains(&(name.clone(), value)) {
                // SAFETY: the FMU has just changed the environment itself; no thread of gyrator reads it during a run.
                unsafe { std::env::remove_var(name) };
            }
        }
        for (name, value) in &self.environment {
            if std::env::var_os(name).as_ref() != Some(value) {
                // SAFETY: as above.
                unsafe { std::env::set_var(name, value) };
            }
        }
        for ((signal, _), handler) in SIGNALS.iter().zip(&self.handlers) {
            // SAFETY: a handler that was in force before.
            unsafe { libc::sigaction(*signal, handler, ptr::null_mut()) };
        }
    }
}

impl OfThread {
    fn now() -> Self {
        Self {
            directory: std::env::current_dir().ok(),
            mask: mask(),
        }
    }

    fn changes(&self, after: &Self) -> Vec<String> {
        let mut changes = Vec::new();
        if self.directory != after.directory {
            let to = after
                .directory
                .as_deref()
                .map_or("none".into(), |path| path.to_string_lossy());
            changes.push(format!("the working directory (now {to})"));
        }
        if self.mask != after.mask {
            let [from, to] = [self, after].map(|one| one.mask.bits());
            changes.push(format!("the file mode mask ({from:03o} → {to:03o})"));
        }
        changes
    }

    fn put_back(&self) {
        if let Some(directory) = &self.directory {
            let _ = std::env::set_current_dir(directory);
        }
        let _lock = MASK.lock().unwrap_or_else(PoisonError::into_inner);
        rustix::process::umask(self.mask);
    }
}

fn locale() -> CString {
    // SAFETY: NULL asks for the name.
    let name = unsafe { libc::setlocale(libc::LC_ALL, ptr::null()) };
    if name.is_null() {
        return CString::default();
    }
    // SAFETY: a text of the C library that stays until the next call, and is copied at once.
    unsafe { CStr::from_ptr(name) }.to_owned()
}

fn mask() -> Mode {
    let _lock = MASK.lock().unwrap_or_else(PoisonError::into_inner);
    // A file that another thread makes meanwhile is its owner's alone.
    let mask = rustix::process::umask(Mode::RWXG | Mode::RWXO);
    rustix::process::umask(mask);
    mask
}

fn handler(signal: c_int) -> libc::sigaction {
    let mut handler = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: there is room for the answer; nothing is set.
    unsafe { libc::sigaction(signal, ptr::null(), handler.as_mut_ptr()) };
    // SAFETY: zeros are a handler, and so is what the system has written.
    unsafe { handler.assume_init() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One test, because the process has one of all that it changes.
    #[test]
    fn changes_are_named_and_put_back() {
        let mut watch = Watch {
            puts_back: true,
            ..Watch::default()
        };
        let directory = std::env::current_dir().unwrap();
        watch.during("fmi2Instantiate", || {});
        assert_eq!(watch.changes, []);
        assert_eq!(watch.known.get(), None);
        watch.during("fmi2Instantiate", || {
            std::env::set_current_dir("/").unwrap();
            // SAFETY: no other test of this process uses the environment.
            unsafe { std::env::set_var("GYRATOR_SURROUNDINGS_TEST", "1") };
            rustix::process::umask(Mode::RWXU);
        });
        let [change] = &watch.changes[..] else {
            panic!("{:?}", watch.changes);
        };
        for part in ["GYRATOR_SURROUNDINGS_TEST", "now /", "→ 700"] {
            assert!(change.what.contains(part), "{}", change.what);
        }
        assert_eq!(std::env::current_dir().unwrap(), directory);
        assert_eq!(std::env::var_os("GYRATOR_SURROUNDINGS_TEST"), None);
        assert_ne!(mask(), Mode::RWXU);
    }
}
