use super::effect::Store;
use super::operation::{Operation, Selection};
use crate::state::SystemState;
use crate::step::Phase;

/// Puts one operation in place of those that stand together for units whose inputs have one value each over a macro-step, with which
/// they step: their phases run straight through the arrays, and ask nothing for a unit.
pub(super) fn fuse(operations: Vec<Operation>, state: &SystemState) -> Vec<Operation> {
    if !state.units.straight {
        return operations;
    }
    let count = state.units.members.len();
    let all = |phase| Selection {
        components: (0..count).collect(),
        phase,
    };
    let feed = [
        Operation::Prepare(all(Phase::Begin)),
        Operation::Give(all(Phase::Begin)),
    ];
    let step_and_read = [
        Operation::Step(all(Phase::Begin)),
        Operation::Read(all(Phase::End), Store::Shown),
    ];
    let Some(at) = place_of(&operations, &feed) else {
        return operations;
    };
    let mut fused: Vec<Operation> = operations[..at].to_vec();
    let rest = &operations[at + feed.len()..];
    match rest.strip_prefix(&step_and_read) {
        Some(rest) => {
            let checks = rest.first() == Some(&Operation::Check);
            fused.push(Operation::Lane { checks });
            fused.extend_from_slice(&rest[usize::from(checks)..]);
        }
        None => {
            fused.push(Operation::Feed);
            fused.extend_from_slice(rest);
        }
    }
    fused
}

fn place_of(operations: &[Operation], pattern: &[Operation]) -> Option<usize> {
    operations
        .windows(pattern.len())
        .position(|window| window == pattern)
}
