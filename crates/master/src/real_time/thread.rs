//! Settings of the thread that steps.

use std::io;

/// Settings that make a thread wait less for the rest of the machine. Without any it stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct StepThread {
    /// The core that it runs on, and no other. Linux only.
    pub cpu: Option<usize>,
    /// Its priority under `SCHED_FIFO`, 1 to 99: it gives its core to no thread below.
    pub fifo_priority: Option<u8>,
    /// All memory of the process stays in RAM (mlockall(2)). Linux only.
    pub locks_memory: bool,
}

/// Why the thread has not the settings that were asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ThreadError {
    /// The core is none that the process may use.
    #[error("the thread cannot run on CPU {cpu}: {source}; this process may use {usable}")]
    Cpu {
        /// The core.
        cpu: usize,
        /// Cores that there are, in words.
        usable: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The system does not permit the priority.
    #[error(
        "the priority {priority} under SCHED_FIFO is refused: {source}; allow it with the limit `rtprio` \
         (`ulimit -r {priority}`, /etc/security/limits.conf) or the capability CAP_SYS_NICE"
    )]
    Priority {
        /// The priority.
        priority: u8,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The memory cannot be locked.
    #[error(
        "the memory cannot be locked: {source}; allow it with the limit `memlock` (`ulimit -l unlimited`, \
         /etc/security/limits.conf) or the capability CAP_IPC_LOCK"
    )]
    Memory {
        /// The error of the operating system.
        source: io::Error,
    },
}

impl StepThread {
    /// Gives the settings to the calling thread.
    pub(super) fn apply(self) -> Result<(), ThreadError> {
        if let Some(cpu) = self.cpu {
            pin(cpu)?;
        }
        if self.locks_memory {
            lock_memory()?;
        }
        if let Some(priority) = self.fifo_priority {
            set_priority(priority)?;
        }
        Ok(())
    }
}

#[cfg(unix)]
fn set_priority(priority: u8) -> Result<(), ThreadError> {
    use thread_priority::{
        Error, RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue,
        ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id,
    };
    let refused = |source| ThreadError::Priority { priority, source };
    let value = ThreadPriorityValue::try_from(priority)
        .map_err(|error| refused(io::Error::other(error)))?;
    let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
    let set = set_thread_priority_and_policy(
        thread_native_id(),
        ThreadPriority::Crossplatform(value),
        policy,
    );
    set.map_err(|error| {
        refused(match error {
            Error::OS(code) => io::Error::from_raw_os_error(code),
            other => io::Error::other(other.to_string()),
        })
    })
}

#[cfg(not(unix))]
fn set_priority(priority: u8) -> Result<(), ThreadError> {
    Err(ThreadError::Priority {
        priority,
        source: io::ErrorKind::Unsupported.into(),
    })
}

#[cfg(target_os = "linux")]
fn pin(cpu: usize) -> Result<(), ThreadError> {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let refused = |source: io::Error| {
        let usable = sched_getaffinity(None).map_or_else(
            |_| "unknown ones".to_owned(),
            |set| {
                let cores = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu));
                let cores: Vec<String> = cores.map(|cpu| cpu.to_string()).collect();
                cores.join(", ")
            },
        );
        ThreadError::Cpu {
            cpu,
            usable,
            source,
        }
    };
    if cpu >= CpuSet::MAX_CPU {
        return Err(refused(io::ErrorKind::InvalidInput.into()));
    }
    let mut only = CpuSet::new();
    only.set(cpu);
    sched_setaffinity(None, &only).map_err(|error| refused(error.into()))
}

#[cfg(target_os = "linux")]
fn lock_memory() -> Result<(), ThreadError> {
    use rustix::mm::{MlockAllFlags, mlockall};
    let flags = MlockAllFlags::CURRENT | MlockAllFlags::FUTURE;
    mlockall(flags).map_err(|error| ThreadError::Memory {
        source: error.into(),
    })
}

#[cfg(not(target_os = "linux"))]
fn pin(cpu: usize) -> Result<(), ThreadError> {
    Err(ThreadError::Cpu {
        cpu,
        usable: "any".to_owned(),
        source: io::ErrorKind::Unsupported.into(),
    })
}

#[cfg(not(target_os = "linux"))]
fn lock_memory() -> Result<(), ThreadError> {
    Err(ThreadError::Memory {
        source: io::ErrorKind::Unsupported.into(),
    })
}
