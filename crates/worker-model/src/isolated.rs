//! The mailbox and the ring of log lines.

#[expect(dead_code, unreachable_pub, reason = "log lines need a part of it")]
#[path = "../../worker/src/isolated/bytes.rs"]
mod bytes;
mod layout;
#[path = "../../worker/src/isolated/log_lines.rs"]
mod log_lines;
#[expect(dead_code, reason = "the scenarios look at no other memory")]
#[path = "../../worker/src/isolated/mailbox.rs"]
mod mailbox;
pub(crate) mod scenarios;
#[expect(dead_code, reason = "the scenarios do not spin")]
#[path = "../../worker/src/isolated/wait_policy.rs"]
mod wait_policy;
