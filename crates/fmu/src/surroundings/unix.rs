//! The surroundings of a process on Unix.

#![expect(
    unsafe_code,
    reason = "asks and changes the C library's locale, environment and signal handlers"
)]

use std::ffi::{CStr, CString, OsString, c_int};
use std::path::PathBuf;
use std::ptr;
use std::sync::{Mutex, PoisonError};

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

/// Name and value of an environment variable.
type Variable = (OsString, OsString);

/// What all threads of the process have.
pub(super) struct Surroundings {
    locale: CString,
    environment: Vec<Variable>,
    handlers: [libc::sigaction; SIGNALS.len()],
}

// SAFETY: addresses of functions and masks, which any thread may read.
unsafe impl Send for Surroundings {}
// SAFETY: as above.
unsafe impl Sync for Surroundings {}

/// What threads may have for themselves (unshare(2)).
#[derive(PartialEq, Eq)]
pub(super) struct OfThread {
    directory: Option<PathBuf>,
    mask: Mode,
}

impl Surroundings {
    pub(super) fn now() -> Self {
        Self {
            locale: locale(),
            environment: std::env::vars_os().collect(),
            handlers: SIGNALS.map(|(signal, _)| handler(signal)),
        }
    }

    /// Whether the process is as it was, which is quicker to see than what it is.
    pub(super) fn are_as_now(&self) -> bool {
        let handlers = || SIGNALS.iter().zip(&self.handlers);
        with_locale(|locale| locale == &*self.locale)
            && std::env::vars_os().eq(self.environment.iter().cloned())
            && handlers()
                .all(|((signal, _), known)| handler(*signal).sa_sigaction == known.sa_sigaction)
    }

    /// What is different afterwards, in words.
    pub(super) fn changes(&self, after: &Self) -> Vec<String> {
        let mut changes = Vec::new();
        if self.locale != after.locale {
            let [from, to] = [self, after].map(|one| one.locale.to_string_lossy());
            changes.push(format!(
                "the locale ({from} → {})",
                other_categories(&from, &to)
            ));
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

    pub(super) fn reaches_results(&self, after: &Self) -> bool {
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

    pub(super) fn put_back(&self) {
        // SAFETY: a name of the C library's own, which ends with a zero byte.
        unsafe { libc::setlocale(libc::LC_ALL, self.locale.as_ptr()) };
        let now: Vec<Variable> = std::env::vars_os().collect();
        let is_new = |variable: &&Variable| !self.environment.contains(variable);
        for (name, _) in now.iter().filter(is_new) {
            // SAFETY: the FMU has just changed the environment itself; no thread of gyrator reads it during a run.
            unsafe { std::env::remove_var(name) };
        }
        let is_gone = |variable: &&Variable| !now.contains(variable);
        for (name, value) in self.environment.iter().filter(is_gone) {
            // SAFETY: as above.
            unsafe { std::env::set_var(name, value) };
        }
        for ((signal, _), handler) in SIGNALS.iter().zip(&self.handlers) {
            // SAFETY: a handler that was in force before.
            unsafe { libc::sigaction(*signal, handler, ptr::null_mut()) };
        }
    }
}

impl OfThread {
    pub(super) fn now() -> Self {
        Self {
            directory: std::env::current_dir().ok(),
            mask: mask(),
        }
    }

    /// Whether results may depend on what is different afterwards.
    pub(super) fn reaches_results(&self, after: &Self) -> bool {
        self.directory != after.directory
    }

    pub(super) fn changes(&self, after: &Self) -> Vec<String> {
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

    pub(super) fn put_back(&self) {
        if let Some(directory) = &self.directory {
            let _ = std::env::set_current_dir(directory);
        }
        let _lock = MASK.lock().unwrap_or_else(PoisonError::into_inner);
        rustix::process::umask(self.mask);
    }
}

fn locale() -> CString {
    with_locale(CStr::to_owned)
}

fn with_locale<T>(look: impl FnOnce(&CStr) -> T) -> T {
    // SAFETY: NULL asks for the name.
    let name = unsafe { libc::setlocale(libc::LC_ALL, ptr::null()) };
    if name.is_null() {
        return look(c"");
    }
    // SAFETY: a text of the C library that stays until the next call.
    look(unsafe { CStr::from_ptr(name) })
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

/// A locale by name, or its categories (`LC_CTYPE=C.UTF-8;LC_NUMERIC=C;…`) that another locale does not have.
fn other_categories(from: &str, to: &str) -> String {
    let is_other = |category: &&str| {
        let name = category.split_once('=').map(|(_, name)| name);
        let mut known = from.split(';');
        known.all(|known| known != *category && Some(known) != name)
    };
    let other: Vec<&str> = to.split(';').filter(is_other).collect();
    other.join(", ")
}

#[cfg(test)]
mod tests {
    use super::other_categories;

    #[test]
    fn only_categories_that_differ_are_shown() {
        let mixed = "LC_CTYPE=C.UTF-8;LC_NUMERIC=C";
        assert_eq!(other_categories("C", "de_DE.UTF-8"), "de_DE.UTF-8");
        assert_eq!(other_categories("C", mixed), "LC_CTYPE=C.UTF-8");
        let other = "LC_CTYPE=C.UTF-8;LC_NUMERIC=de";
        assert_eq!(other_categories(mixed, other), "LC_NUMERIC=de");
        assert_eq!(other_categories(mixed, "C"), "C");
    }
}
