//! The signals of a run on their way from the thread that steps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use gyrator_record::{Cell, Column, ColumnType, RecordError, RowSink};
use rtrb::{Consumer, Producer, RingBuffer};

use crate::live::bucket::{Bucket, Extremes};

/// Signals that are shown at most: curves that a page can tell apart in groups, and a step copies.
pub(crate) const MOST_SIGNALS: usize = 40;

/// Stretches of a run with a stop time: one for each pixel of a wide screen.
const STRETCHES: f64 = 2000.0;

/// Buckets that the ring holds: a tenth of a second of the fastest run is far less than all of its stretches.
const RING: usize = 512;

/// Takes the rows of a run and puts them into [buckets](Bucket). A row neither waits, nor locks, nor allocates.
///
/// A bucket is handed over when it has lasted for a 2000th of the run, or when it is wanted. If the ring has no room, it
/// goes on, and its extremes cover a longer stretch.
pub struct SignalSink {
    start: Sender<Signals>,
    period: Option<(f64, f64)>,
    wanted: Arc<AtomicBool>,
    ring: Option<Producer<f64>>,
    /// Places of the shown signals in a row.
    places: Vec<usize>,
    /// The bucket as numbers: begin, end, then pairs of extremes.
    begin: f64,
    end: f64,
    extremes: Vec<Extremes>,
    is_empty: bool,
    /// When the bucket is full, s.
    due: f64,
    /// A row of cells as numbers; the bucket in the form of the ring.
    row: Vec<f64>,
    numbers: Vec<f64>,
    rows: u64,
}

/// The other end of a [`SignalSink`].
pub struct Signals {
    /// The signals of the buckets.
    pub columns: Vec<Column>,
    /// How many more the run has.
    pub left_out: usize,
    ring: Consumer<f64>,
}

impl SignalSink {
    /// A sink for a run over `period`, s, if that has an end. `start` gets the other end when the columns are known;
    /// true in `wanted` asks for the bucket that is being filled.
    pub fn new(
        start: Sender<Signals>,
        period: Option<(f64, f64)>,
        wanted: Arc<AtomicBool>,
    ) -> Self {
        Self {
            start,
            period,
            wanted,
            ring: None,
            places: Vec::new(),
            begin: 0.0,
            end: 0.0,
            extremes: Vec::new(),
            is_empty: true,
            due: f64::NEG_INFINITY,
            row: Vec::new(),
            numbers: Vec::new(),
            rows: 0,
        }
    }

    #[inline]
    fn take(&mut self, time: f64, values: &[f64]) {
        self.rows += 1;
        self.end = time;
        if self.is_empty {
            self.begin = time;
            self.is_empty = false;
        }
        for (extremes, place) in self.extremes.iter_mut().zip(&self.places) {
            if let Some(value) = values.get(*place) {
                extremes.take(*value);
            }
        }
        if time >= self.due || self.wanted.load(Ordering::Relaxed) {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let time = self.end;
        let Some(ring) = &mut self.ring else {
            return;
        };
        self.numbers.clear();
        self.numbers.extend([self.begin, time]);
        let extremes = self.extremes.iter();
        self.numbers
            .extend(extremes.flat_map(|extremes| [extremes.first, extremes.second]));
        if ring.push_entire_slice(&self.numbers).is_err() {
            return;
        }
        self.wanted.store(false, Ordering::Relaxed);
        self.extremes.fill(Extremes::NONE);
        self.is_empty = true;
        if let Some((start, stop)) = self.period {
            let length = (stop - start) / STRETCHES;
            self.due = start + (((time - start) / length).floor() + 1.0) * length;
        } else {
            self.due = f64::INFINITY;
        }
    }
}

/// The columns that are shown: the first ones, and of bonds the residual power only. Texts have no curve.
fn places(columns: &[Column]) -> (Vec<usize>, usize) {
    let is_power = |name: &str| name.starts_with("bond.") && name.ends_with(".residual_power");
    let is_curve = |column: &Column| column.kind != ColumnType::String;
    let (mut shown, mut more) = (Vec::new(), Vec::new());
    for (place, column) in columns.iter().enumerate() {
        match column.name.starts_with("bond.") {
            true if is_power(&column.name) => more.push(place),
            false if is_curve(column) => shown.push(place),
            _ => {}
        }
    }
    let found = shown.len() + more.len();
    // Bonds are few, and their powers are the point.
    more.truncate(MOST_SIGNALS / 2);
    shown.truncate(MOST_SIGNALS - more.len());
    shown.append(&mut more);
    let left_out = found - shown.len();
    (shown, left_out)
}

impl RowSink for SignalSink {
    fn begin(&mut self, columns: &[Column]) -> Result<(), RecordError> {
        let (places, left_out) = places(columns);
        let length = 2 + 2 * places.len();
        let (producer, consumer) = RingBuffer::new(RING * length);
        self.extremes = vec![Extremes::NONE; places.len()];
        self.row = Vec::with_capacity(columns.len());
        self.numbers = Vec::with_capacity(length);
        let signals = Signals {
            columns: places.iter().map(|place| columns[*place].clone()).collect(),
            left_out,
            ring: consumer,
        };
        self.places = places;
        self.ring = Some(producer);
        // Without another end no bucket is ever wanted.
        let _ = self.start.send(signals);
        Ok(())
    }

    fn row(
        &mut self,
        time: f64,
        cells: &mut dyn Iterator<Item = Cell<'_>>,
    ) -> Result<(), RecordError> {
        let mut row = std::mem::take(&mut self.row);
        row.clear();
        row.extend(cells.map(|cell| match cell {
            Cell::Real(value) => value,
            Cell::Integer(value) => value as f64,
            Cell::Boolean(value) => f64::from(u8::from(value)),
            Cell::String(_) => f64::NAN,
        }));
        self.take(time, &row);
        self.row = row;
        Ok(())
    }

    fn real_row(&mut self, time: f64, values: &[f64]) -> Result<(), RecordError> {
        self.take(time, values);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), RecordError> {
        Ok(())
    }

    fn flushes_itself(&self) -> bool {
        true
    }

    fn finish(&mut self) -> Result<(), RecordError> {
        if !self.is_empty {
            self.hand_over();
        }
        Ok(())
    }

    fn rows(&self) -> u64 {
        self.rows
    }
}

impl Signals {
    /// The buckets that have come.
    pub fn take(&mut self) -> Vec<Bucket> {
        let mut numbers = vec![0.0; 2 + 2 * self.columns.len()];
        let mut buckets = Vec::new();
        while self.ring.pop_entire_slice(&mut numbers).is_ok() {
            buckets.extend(Bucket::of(&numbers));
        }
        buckets
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn reals(count: usize) -> Vec<Column> {
        let name = |index: usize| Column::new(format!("a.y{index}"), ColumnType::Real);
        (0..count).map(name).collect()
    }

    fn sink(
        columns: &[Column],
        period: Option<(f64, f64)>,
    ) -> (SignalSink, Signals, Arc<AtomicBool>) {
        let (start, signals) = mpsc::channel();
        let wanted = Arc::new(AtomicBool::new(false));
        let mut sink = SignalSink::new(start, period, Arc::clone(&wanted));
        sink.begin(columns).unwrap();
        (sink, signals.try_recv().unwrap(), wanted)
    }

    #[test]
    fn a_fast_run_has_a_bucket_for_each_2000th_of_its_time() {
        let (mut sink, mut signals, _) = sink(&reals(1), Some((0.0, 1.0)));
        let mut buckets = Vec::new();
        for step in 0..=100_000 {
            let time = f64::from(step) / 1e5;
            sink.real_row(time, &[f64::from(step % 50)]).unwrap();
            buckets.extend(signals.take());
        }
        sink.finish().unwrap();
        buckets.extend(signals.take());
        assert!((2000..=2002).contains(&buckets.len()), "{}", buckets.len());
        assert_eq!(buckets.last().unwrap().end, 1.0);
        let middle = buckets[1000].extremes[0];
        assert_eq!(middle.first.min(middle.second), 0.0);
        assert_eq!(middle.first.max(middle.second), 49.0);
    }

    #[test]
    fn a_slow_run_hands_over_on_request() {
        let (mut sink, mut signals, wanted) = sink(&reals(2), None);
        sink.real_row(0.0, &[1.0, 2.0]).unwrap();
        assert_eq!(signals.take().len(), 1, "the first point shows at once");
        sink.real_row(1.0, &[3.0, 4.0]).unwrap();
        assert!(signals.take().is_empty());
        wanted.store(true, Ordering::Relaxed);
        sink.real_row(2.0, &[5.0, 6.0]).unwrap();
        let buckets = signals.take();
        assert_eq!(buckets.len(), 1);
        assert_eq!((buckets[0].begin, buckets[0].end), (1.0, 2.0));
        assert_eq!(
            (buckets[0].extremes[1].first, buckets[0].extremes[1].second),
            (4.0, 6.0)
        );
        assert!(!wanted.load(Ordering::Relaxed));
    }

    #[test]
    fn where_no_thread_takes_the_buckets_the_last_one_grows() {
        let (mut sink, mut signals, _) = sink(&reals(1), Some((0.0, 1.0)));
        for step in 0..=4000 {
            let spike = if step == 3000 { 9.0 } else { 0.0 };
            sink.real_row(f64::from(step) / 4000.0, &[spike]).unwrap();
        }
        let buckets = signals.take();
        assert_eq!(buckets.len(), RING);
        sink.finish().unwrap();
        let last = signals.take();
        assert_eq!(last.len(), 1);
        assert_eq!(
            (
                last[0].end,
                last[0].extremes[0].first.max(last[0].extremes[0].second)
            ),
            (1.0, 9.0)
        );
    }

    #[test]
    fn no_row_allocates() {
        let (mut sink, _signals, wanted) = sink(&reals(MOST_SIGNALS), Some((0.0, 1.0)));
        let row = [0.5; MOST_SIGNALS];
        let mixed = [Cell::Real(1.0), Cell::Boolean(true), Cell::Integer(3)];
        let counted = allocation_counter::measure(|| {
            for step in 0..5000 {
                wanted.store(step % 7 == 0, Ordering::Relaxed);
                let time = f64::from(step) / 5000.0;
                sink.real_row(time, &row).unwrap();
                sink.row(time, &mut mixed.iter().copied()).unwrap();
            }
        });
        assert_eq!(counted.count_total, 0);
    }

    #[test]
    fn of_many_columns_the_first_are_shown_and_of_bonds_the_power() {
        let mut columns = reals(60);
        columns.push(Column::new("a.text", ColumnType::String));
        for value in ["residual_power", "residual_energy"] {
            columns.push(Column::new(format!("bond.b.{value}"), ColumnType::Real));
        }
        let (_, signals, _) = sink(&columns, None);
        assert_eq!(signals.columns.len(), MOST_SIGNALS);
        assert_eq!(signals.columns[38].name, "a.y38");
        assert_eq!(signals.columns[39].name, "bond.b.residual_power");
        assert_eq!(signals.left_out, 21);
    }
}
