//! The course of a run so far, in bounded memory.

use crate::live::bucket::Bucket;

/// Buckets of a whole run for a browser that comes late: if there are too many, neighbours are joined two by two, so
/// that extremes are never lost.
#[derive(Debug, Default)]
pub(crate) struct History {
    buckets: Vec<Bucket>,
    /// How many buckets of the run make one that is kept.
    stride: usize,
    /// How many the last one has.
    filled: usize,
}

/// Buckets that are kept at most: two for each of 2000 pixels.
pub(crate) const CAPACITY: usize = 4000;

impl History {
    pub(crate) fn push(&mut self, bucket: Bucket) {
        self.stride = self.stride.max(1);
        if let Some(last) = self.buckets.last_mut()
            && self.filled < self.stride
        {
            last.join(&bucket);
            self.filled += 1;
            return;
        }
        if self.buckets.len() == CAPACITY {
            self.halve();
        }
        self.buckets.push(bucket);
        self.filled = 1;
    }

    fn halve(&mut self) {
        let pairs = self.buckets.chunks(2).map(|pair| {
            let mut joined = pair[0].clone();
            pair.iter().skip(1).for_each(|next| joined.join(next));
            joined
        });
        self.buckets = pairs.collect();
        self.stride *= 2;
    }

    pub(crate) fn buckets(&self) -> &[Bucket] {
        &self.buckets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::bucket::Extremes;

    #[test]
    fn however_long_the_run_a_spike_stays() {
        let mut history = History::default();
        let count = 50 * CAPACITY;
        for index in 0..count {
            let value = if index == 1234 { 7.0 } else { 0.0 };
            let time = index as f64;
            history.push(Bucket {
                begin: time,
                end: time,
                extremes: vec![Extremes {
                    first: value,
                    second: value,
                }],
            });
        }
        let buckets = history.buckets();
        assert!((CAPACITY / 2..=CAPACITY).contains(&buckets.len()));
        assert_eq!(buckets[0].begin, 0.0);
        assert_eq!(buckets.last().unwrap().end, (count - 1) as f64);
        let in_order = buckets.windows(2).all(|pair| pair[0].end < pair[1].begin);
        assert!(in_order);
        let spikes = buckets.iter().filter(|bucket| {
            let Extremes { first, second } = bucket.extremes[0];
            first.max(second) == 7.0
        });
        assert_eq!(spikes.count(), 1);
    }
}
