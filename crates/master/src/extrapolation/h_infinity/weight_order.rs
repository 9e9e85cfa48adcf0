//! The order of the weight, chosen for a signal by its own past.
//!
//! The compensators of all orders see the signal. At each exchange, the mean of what each of them would have passed on since
//! the last one is compared with the mean of the signal: the impulse that its receiver would have missed. The squares are
//! averaged, and the order changes to the best one if that has been better by a part for several exchanges in a row.
//!
//! Source: own. A weight of first order is right for wide-band signals, of second or third order for smooth ones.

use crate::h_infinity::{Compensator, Smoother};

use super::super::{OrderChange, Sample};
use crate::state_stream::{StateStream, Stored};

// The numbers are choices.

/// Part of the average that an exchange keeps: it looks back on about ten of them.
const MEMORY: f64 = 0.9;
/// Squared error of a better order divided by the present order's, at most: 0.7 of its error.
const BETTER: f64 = 0.5;
/// Exchanges in a row at which one order has to be the best of all.
const FEWEST_EXCHANGES: u32 = 10;
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
    /// Sum of the signal's values since then; values at exchanges count half.
    sum: f64,
    /// The best order of the last exchanges, if it is another one, and how many they are.
    rival: usize,
    exchanges: u32,
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
            exchanges: 0,
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
        self.exchanges = 0;
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
            self.exchanges = 0;
            return;
        }
        let is_same = self.exchanges > 0 && best == self.rival;
        (self.rival, self.exchanges) = (best, if is_same { self.exchanges + 1 } else { 1 });
        if self.exchanges < FEWEST_EXCHANGES {
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
        self.exchanges = 0;
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
            exchanges,
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
            stream.keep(exchanges);
            stream.keep(changes);
            stream.below(changed, KEPT_CHANGES + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::h_infinity::Specification;

    /// Length of an exchange, s, and the parts that it has at the source and at the receiver.
    const EXCHANGE: f64 = 0.05;
    const PARTS: [u32; 2] = [10, 5];

    fn orders(is_smoothed: bool) -> WeightOrders {
        let [source, receiver] = PARTS.map(|parts| EXCHANGE / f64::from(parts));
        let smoother = is_smoothed.then(|| Smoother::new(0.5 / EXCHANGE, receiver));
        let tracks = (1..=3).map(|order| {
            let design = Specification::of_order(order).design().unwrap();
            (design.discretise(EXCHANGE, source), smoother)
        });
        WeightOrders::new(tracks, PARTS)
    }

    fn change(time: f64, from: u32, to: u32) -> OrderChange {
        OrderChange { time, from, to }
    }

    #[test]
    fn an_order_that_is_clearly_the_best_ten_times_in_a_row_is_chosen() {
        let mut orders = orders(false);
        let mut time = 0.0;
        let mut judged = |orders: &mut WeightOrders, errors: [f64; 3], times: u32| {
            for _ in 0..times {
                for (track, error) in orders.tracks.iter_mut().zip(errors) {
                    track.error = error;
                }
                time += 1.0;
                orders.choose(time);
            }
            orders.order()
        };
        let (second, third) = ([1.0, 0.49, 0.6], [1.0, 0.6, 0.49]);
        assert_eq!(judged(&mut orders, second, 9), 1);
        assert_eq!(judged(&mut orders, third, 9), 1, "another one");
        assert_eq!(judged(&mut orders, second, 9), 1, "another one");
        assert_eq!(judged(&mut orders, [1.0, 0.51, 0.6], 1), 1, "not clearly");
        assert_eq!(judged(&mut orders, second, 9), 1);
        assert_eq!(judged(&mut orders, second, 1), 2);
        assert_eq!(orders.changes(), [change(38.0, 1, 2)]);
        assert_eq!(judged(&mut orders, [0.6, 0.5, 0.7], 20), 2, "the best");
        // The last eight of eleven changes.
        for _ in 0..5 {
            assert_eq!(judged(&mut orders, [0.1, 1.0, 1.0], 10), 1);
            assert_eq!(judged(&mut orders, second, 10), 2);
        }
        let expected = (0..8).map(|index| match index % 2 {
            0 => change(88.0 + 10.0 * f64::from(index), 2, 1),
            _ => change(88.0 + 10.0 * f64::from(index), 1, 2),
        });
        assert_eq!(orders.changes(), expected.collect::<Vec<_>>());
    }

    /// The errors are averaged squares of the mean of the signal by the trapezoidal rule, less the mean of the receiver's
    /// input (the sent value, or the course of the filter).
    #[test]
    fn the_impulses_of_exchanges_are_compared() {
        for is_smoothed in [false, true] {
            let mut orders = orders(is_smoothed);
            orders.rest_at(1.0);
            let value = |part: u32| 1.0 + (0.3 * f64::from(part)).sin();
            let mut expected = [0.0; 3];
            let mut filters = orders.tracks.iter().map(|track| track.smoother);
            let mut filters = [(); 3].map(|()| filters.next().unwrap());
            let mut sent = [f64::NAN; 3];
            for part in 0..=40 {
                let tracks = orders.tracks.iter();
                let outputs = tracks.map(|track| track.compensator.output(value(part)));
                let outputs: Vec<f64> = outputs.collect();
                if part % 10 == 0 && part > 0 {
                    let within: f64 = (part - 9..part).map(value).sum();
                    let mean = (0.5 * value(part - 10) + within + 0.5 * value(part)) / 10.0;
                    for ((error, filter), sent) in expected.iter_mut().zip(&mut filters).zip(sent) {
                        let received = match filter {
                            None => sent,
                            Some(filter) => {
                                let mut course = vec![filter.output()];
                                for _ in 0..5 {
                                    filter.advance(sent);
                                    course.push(filter.output());
                                }
                                let pairs = course.windows(2);
                                pairs.map(|pair| 0.5 * (pair[0] + pair[1])).sum::<f64>() / 5.0
                            }
                        };
                        *error = 0.9 * *error + 0.1 * (mean - received).powi(2);
                    }
                }
                if part % 10 == 0 {
                    sent.copy_from_slice(&outputs);
                }
                orders.advance(Sample {
                    time: EXCHANGE / 10.0 * f64::from(part),
                    value: value(part),
                    slope: None,
                });
                for (track, expected) in orders.tracks.iter().zip(expected) {
                    assert!((track.error - expected).abs() < 1e-12, "{part}");
                }
            }
            assert!(expected.iter().all(|error| *error > 1e-6), "{expected:?}");
        }
    }
}
