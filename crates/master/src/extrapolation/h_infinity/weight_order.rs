//! The order of the weight, chosen for a signal by its own past.
//!
//! The compensators of all orders see the signal. At each exchange, the mean of what each of them would have passed on since the last
//! one is compared with the mean of the signal: the impulse that its receiver would have missed. The squares are averaged, and the order
//! changes to the best one where that has been better by a part for several exchanges in a row.
//!
//! Source: own. A weight of first order is right for wide-band signals, of second or third order for smooth ones.

use gyrator_h_infinity::{Compensator, Smoother};

use super::super::{OrderChange, Sample};
use crate::state_stream::{StateStream, Stored};

/// Part of the average that an exchange keeps: it looks back on about ten of them.
const MEMORY: f64 = 0.9;
/// Squared error of a better order over that of the one in use, at most: 0.7 of its error.
const BETTER: f64 = 0.5;
/// Exchanges in a row at which one order has to be the best of all.
const PATIENCE: u32 = 10;
/// Changes that are kept for the report.
const KEPT_CHANGES: usize = 8;

/// The compensators of all orders that may be used, and the choice among them.
#[derive(Debug, Clone)]
pub(super) struct WeightOrders {
    /// By the order, the first one first.
    tracks: Vec<Track>,
    chosen: usize,
    /// Communication steps of the source, and of the receiver, from one exchange to the next.
    source_parts: u32,
    receiver_parts: u32,
    /// Communication steps of the source since the last exchange; `None` before the first.
    part: Option<u32>,
    /// Sum of the signal's values since then, those of exchanges half.
    sum: f64,
    /// The best order of the last exchanges, if it is another one, and how many they are.
    rival: usize,
    patience: u32,
    changes: [OrderChange; KEPT_CHANGES],
    changed: usize,
}

/// One order.
#[derive(Debug, Clone)]
pub(super) struct Track {
    pub(super) compensator: Compensator,
    /// A copy of the receiver's low-pass filter, as it would be if this order had always been used.
    pub(super) smoother: Option<Smoother>,
    /// Value that it sent at the last exchange.
    sent: f64,
    /// Averaged square of its error.
    error: f64,
}

impl WeightOrders {
    /// With the compensators of the orders that may be used, and the parts of source and receiver in an exchange.
    pub(super) fn new(
        tracks: impl Iterator<Item = (Compensator, Option<Smoother>)>,
        [source_parts, receiver_parts]: [u32; 2],
    ) -> Self {
        let tracks = tracks.map(|(compensator, smoother)| Track {
            compensator,
            smoother,
            sent: 0.0,
            error: 0.0,
        });
        Self {
            tracks: tracks.collect(),
            chosen: 0,
            source_parts,
            receiver_parts,
            part: None,
            sum: 0.0,
            rival: 0,
            patience: 0,
            changes: [OrderChange::default(); KEPT_CHANGES],
            changed: 0,
        }
    }

    /// The order in use.
    pub(super) fn order(&self) -> usize {
        self.chosen + 1
    }

    pub(super) fn changes(&self) -> &[OrderChange] {
        &self.changes[..self.changed]
    }

    /// Output for `value` in the current state.
    pub(super) fn output(&self, value: f64) -> f64 {
        self.tracks[self.chosen].compensator.output(value)
    }

    pub(super) fn rest_at(&mut self, value: f64) {
        self.part = None;
        self.patience = 0;
        for track in &mut self.tracks {
            track.compensator.rest_at(value);
            track.error = 0.0;
            let sent = track.compensator.output(value);
            if let Some(smoother) = &mut track.smoother {
                smoother.rest_at(sent);
            }
        }
    }

    /// One step of the source further, from `before`, which is final now.
    pub(super) fn advance(&mut self, before: Sample) {
        if self.tracks.len() > 1 {
            self.judge(before);
        }
        for track in &mut self.tracks {
            track.compensator.advance(before.value);
        }
    }

    fn judge(&mut self, sample: Sample) {
        let value = sample.value;
        let part = self.part.unwrap_or(self.source_parts);
        if part < self.source_parts {
            self.sum += value;
            self.part = Some(part + 1);
            return;
        }
        if self.part.is_some() {
            let mean = (self.sum + 0.5 * value) / f64::from(self.source_parts);
            for track in &mut self.tracks {
                let miss = mean - track.mean(self.receiver_parts);
                track.error = MEMORY * track.error + (1.0 - MEMORY) * miss * miss;
            }
            self.choose(sample.time);
        }
        for track in &mut self.tracks {
            track.sent = track.compensator.output(value);
        }
        self.sum = 0.5 * value;
        self.part = Some(1);
    }

    fn choose(&mut self, time: f64) {
        let errors = self.tracks.iter().map(|track| track.error);
        let best = errors
            .enumerate()
            .min_by(|(_, a), (_, b)| a.total_cmp(b))
            .map_or(self.chosen, |(best, _)| best);
        let is_better = self.tracks[best].error < BETTER * self.tracks[self.chosen].error;
        if best == self.chosen || !is_better {
            self.patience = 0;
            return;
        }
        let is_same = self.patience > 0 && best == self.rival;
        (self.rival, self.patience) = (best, if is_same { self.patience + 1 } else { 1 });
        if self.patience < PATIENCE {
            return;
        }
        if self.changed == KEPT_CHANGES {
            self.changes.rotate_left(1);
            self.changed -= 1;
        }
        self.changes[self.changed] = OrderChange {
            time,
            from: self.order() as u32,
            to: best as u32 + 1,
        };
        self.changed += 1;
        self.chosen = best;
        self.patience = 0;
    }
}

impl Track {
    /// Mean of the input since the last exchange, at the end of which the filter is then.
    fn mean(&mut self, receiver_parts: u32) -> f64 {
        let Some(smoother) = &mut self.smoother else {
            return self.sent;
        };
        let mut sum = 0.0;
        for _ in 0..receiver_parts {
            let before = smoother.output();
            smoother.advance(self.sent);
            sum += 0.5 * (before + smoother.output());
        }
        sum / f64::from(receiver_parts)
    }
}

impl Stored for WeightOrders {
    fn transfer(&mut self, stream: &mut StateStream) {
        let Self {
            tracks,
            chosen,
            source_parts: _,
            receiver_parts: _,
            part,
            sum,
            rival,
            patience,
            changes,
            changed,
        } = self;
        let orders = tracks.len();
        let is_choice = orders > 1;
        for track in tracks {
            let memory = track.compensator.memory();
            memory.for_each(|value| stream.keep(value));
            if is_choice {
                let memory = track.smoother.iter_mut().flat_map(Smoother::memory);
                memory.for_each(|value| stream.keep(value));
                stream.keep(&mut track.sent);
                stream.keep(&mut track.error);
            }
        }
        if is_choice {
            stream.below(chosen, orders);
            stream.keep(part);
            stream.keep(sum);
            stream.below(rival, orders);
            stream.keep(patience);
            stream.keep(changes);
            stream.below(changed, KEPT_CHANGES + 1);
        }
    }
}
