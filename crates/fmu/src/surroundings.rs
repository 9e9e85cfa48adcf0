//! What a process has once and an FMU may change: locale, environment, working directory, file mode mask, and the
//! handlers of the signals that end a program.
//!
//! [`Watch`] compares them before and after the calls in which FMUs change them: instantiation, initialisation, the first
//! step, and all steps of an instance that has changed something in one. A change reaches all other components of the
//! process, so it is named, and put back if there are others.
//! Handlers of faults (SIGSEGV and its kin) and the signals that run-time systems use for themselves are not looked at:
//! the machines of Java and Go cannot run without them.

#[cfg_attr(unix, path = "surroundings/unix.rs")]
#[cfg_attr(not(unix), path = "surroundings/other.rs")]
mod system;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use system::{OfThread, Surroundings};

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
    /// How many changes were found, and the last of them in words.
    found: u64,
    last: String,
}

static IN_PROGRESS: Mutex<InProgress> = Mutex::new(InProgress {
    count: 0,
    before: None,
    found: 0,
    last: String::new(),
});

impl Watch {
    /// Makes a call, and notes what it has changed. Calls of several threads at once see what each other change: all
    /// of them are said to have done it.
    pub(crate) fn during<T>(&mut self, call: &'static str, act: impl FnOnce() -> T) -> T {
        let (before, found) = begin();
        let own = OfThread::now();
        let done = act();
        let mut in_progress = IN_PROGRESS.lock().unwrap_or_else(PoisonError::into_inner);
        in_progress.count -= 1;
        let own_after = OfThread::now();
        // A change of this call may have been put back by another thread.
        let is_disturbed = in_progress.found != found;
        if before.are_as_now() && own == own_after && !is_disturbed {
            return done;
        }
        let after = Surroundings::now();
        let mut what = before.changes(&after);
        what.extend(own.changes(&own_after));
        if what.is_empty() && is_disturbed {
            what.push(in_progress.last.clone());
        }
        if what.is_empty() {
            return done;
        }
        if self.puts_back {
            before.put_back();
            own.put_back();
        }
        let is_of_all = before.reaches_results(&after);
        if is_of_all {
            in_progress.found += 1;
            in_progress.last = what.join(", ");
        }
        let reaches_results = is_of_all || is_disturbed || own.reaches_results(&own_after);
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

    /// Whether steps change something. Each is then to be watched.
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

/// Begins a watched call: what there is before it, and how many changes were found so far.
fn begin() -> (Arc<Surroundings>, u64) {
    let mut in_progress = IN_PROGRESS.lock().unwrap_or_else(PoisonError::into_inner);
    let is_known = |before: &Arc<Surroundings>| in_progress.count > 0 || before.are_as_now();
    if !in_progress.before.as_ref().is_some_and(is_known) {
        in_progress.before = None;
    }
    in_progress.count += 1;
    let before = in_progress
        .before
        .get_or_insert_with(|| Arc::new(Surroundings::now()));
    (Arc::clone(before), in_progress.found)
}

#[cfg(all(test, unix))]
#[expect(unsafe_code, reason = "changes the environment")]
mod tests {
    use rustix::fs::Mode;

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
        assert_ne!(rustix::process::umask(Mode::RWXG | Mode::RWXO), Mode::RWXU);
    }
}
