//! Pieces of some units that threads take, longest first. Made when a step is first shared out; it steps nothing.

use std::ops::Range;

/// Pieces for each thread, if units are short: fewer end less evenly, more cost more.
const PIECES: u64 = 8;

/// The pieces: components that lie together, so that a thread borrows them as one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Deal {
    /// Ascending.
    pub(crate) pieces: Vec<Range<usize>>,
    /// Places of the pieces, longest first.
    pub(crate) order: Vec<usize>,
}

impl Deal {
    /// For components, ascending, with their times, ns.
    pub(crate) fn new(units: impl Iterator<Item = (usize, u64)> + Clone, threads: usize) -> Self {
        let sum: u64 = units.clone().map(|(_, time)| time).sum();
        let longest = sum / (threads as u64 * PIECES);
        let mut pieces: Vec<(Range<usize>, u64)> = Vec::new();
        for (component, time) in units {
            match pieces.last_mut() {
                Some((piece, so_far)) if piece.end == component && *so_far + time <= longest => {
                    piece.end += 1;
                    *so_far += time;
                }
                _ => pieces.push((component..component + 1, time)),
            }
        }
        let mut order: Vec<usize> = (0..pieces.len()).collect();
        order.sort_by_key(|place| std::cmp::Reverse(pieces[*place].1));
        Self {
            pieces: pieces.into_iter().map(|(piece, _)| piece).collect(),
            order,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deal(times: &[(usize, u64)], threads: usize) -> Deal {
        Deal::new(times.iter().copied(), threads)
    }

    #[test]
    fn long_units_come_first_and_alone() {
        let found = deal(&[(0, 10), (1, 500), (2, 20), (3, 400), (4, 5)], 2);
        assert_eq!(found.pieces, [0..1, 1..2, 2..3, 3..4, 4..5]);
        assert_eq!(found.order, [1, 3, 2, 0, 4]);
    }

    #[test]
    fn short_units_that_lie_together_are_one_piece() {
        let times: Vec<_> = (0..1000).map(|component| (component, 100)).collect();
        let found = deal(&times, 2);
        assert_eq!(found.pieces.len(), 17);
        assert_eq!(found.pieces[0], 0..62);
        // Every unit is in one piece.
        let ends = found
            .pieces
            .windows(2)
            .all(|pair| pair[0].end == pair[1].start);
        assert!(ends && found.pieces[16].end == 1000);
        // A unit between them belongs to another group.
        let found = deal(&[(0, 1), (2, 1), (3, 1), (4, 100)], 2);
        assert_eq!(found.pieces, [0..1, 2..4, 4..5]);
        assert_eq!(found.order, [2, 1, 0]);
        assert_eq!(deal(&[], 2), Deal::default());
    }
}
