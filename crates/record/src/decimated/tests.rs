//! Decimated results keep the extremes of each part of the time.

use proptest::prelude::*;

use super::*;
use crate::sink::ColumnType;

fn described(count: usize) -> Vec<Column> {
    let column = |index| Column::new(format!("c{index}"), ColumnType::Real);
    (0..count).map(column).collect()
}

fn decimate(time: &[f64], column: &[f64], buckets: usize, at_a_time: usize) -> Decimated {
    let mut decimator = Decimator::new(1, buckets);
    for (time, column) in time.chunks(at_a_time).zip(column.chunks(at_a_time)) {
        decimator.push(time, &[column]);
    }
    decimator.decimated(&described(1))
}

/// Times that never decrease, with equal ones, and values with gaps.
fn rows() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    let step = prop_oneof![3 => Just(0.0), 6 => Just(0.1), 2 => 0.0..1e3, 1 => Just(1e-300), 1 => Just(1e300)];
    let value = prop_oneof![8 => -1.0..1.0, 1 => Just(f64::NAN), 1 => Just(f64::INFINITY), 1 => -1e300..1e300];
    let rows = proptest::collection::vec((step, value), 0..300);
    (-1e3..1e3, rows).prop_map(|(start, rows)| {
        let mut now: f64 = start;
        let times = rows.iter().map(|(step, _)| {
            now = (now + step).min(f64::MAX);
            now
        });
        (
            times.collect(),
            rows.iter().map(|(_, value)| *value).collect(),
        )
    })
}

proptest! {
    /// Every stretch keeps the least and the greatest finite number of the rows in it.
    #[test]
    fn extremes_of_every_stretch_are_kept((time, column) in rows(), buckets in 1_usize..20) {
        let found = decimate(&time, &column, buckets, 7);
        prop_assert_eq!(found.rows, time.len() as u64);
        if found.is_exact {
            prop_assert!(time.len() <= 2 * buckets);
            prop_assert_eq!(&found.times, &time);
        } else {
            let kept = &found.columns[0].kept;
            prop_assert!(kept.buckets.len() <= buckets);
            for (index, bucket) in kept.buckets.iter().enumerate() {
                let of_stretch = time.iter().zip(&column);
                let of_stretch = of_stretch.filter(|(time, _)| found.stretches.index(**time) == index);
                let all: Vec<f64> = of_stretch.map(|(_, value)| *value).collect();
                let finite = all.iter().copied().filter(|value| value.is_finite());
                let least = finite.clone().reduce(f64::min);
                let greatest = finite.reduce(f64::max);
                prop_assert_eq!(bucket.least.map(|extreme| extreme.value), least);
                prop_assert_eq!(bucket.greatest.map(|extreme| extreme.value), greatest);
                prop_assert_eq!(bucket.gap.is_some(), all.iter().any(|value| !value.is_finite()));
            }
        }
    }

    /// Every point is a row, in the order of the rows, with the first and the last one.
    #[test]
    fn nothing_is_invented((time, column) in rows(), buckets in 1_usize..20) {
        let points = decimate(&time, &column, buckets, 300).points(0);
        let mut row = 0;
        for (at, value) in &points {
            let is_it = |row: usize| {
                let found = column[row];
                time[row] == *at && (found == *value || value.is_nan() && !found.is_finite())
            };
            while row < time.len() && !is_it(row) {
                row += 1;
            }
            prop_assert!(row < time.len(), "{at} {value} is no row");
            row += 1;
        }
        prop_assert_eq!(points.first().map(|point| point.0), time.first().copied());
        prop_assert_eq!(points.last().map(|point| point.0), time.last().copied());
    }

    #[test]
    fn blocks_do_not_matter((time, column) in rows(), buckets in 1_usize..20, at_a_time in 1_usize..50) {
        let one = decimate(&time, &column, buckets, 300);
        let other = decimate(&time, &column, buckets, at_a_time);
        // NaN is not equal to itself.
        prop_assert_eq!(format!("{one:?}"), format!("{other:?}"));
    }

    /// The same number of values for each time, which never decrease, and all of them the column's.
    #[test]
    fn aligned_columns_hold_the_extremes((time, column) in rows(), buckets in 1_usize..20) {
        let found = decimate(&time, &column, buckets, 11);
        let (times, columns) = found.aligned();
        prop_assert!(times.is_sorted());
        prop_assert_eq!(times.len(), columns[0].len());
        let finite = |values: &[f64]| {
            let finite = values.iter().copied().filter(|value| value.is_finite());
            (finite.clone().reduce(f64::min), finite.reduce(f64::max))
        };
        prop_assert_eq!(finite(&columns[0]), finite(&column));
    }
}

#[test]
fn a_spike_among_many_rows_is_kept() {
    let time: Vec<f64> = (0..100_000).map(|row| f64::from(row) * 1e-3).collect();
    let mut column: Vec<f64> = time.iter().map(|time| time.sin()).collect();
    column[54_321] = 7.0;
    column[77_777] = f64::NAN;
    let found = decimate(&time, &column, 1000, 4096);
    let points = found.points(0);
    assert!(!found.is_exact && points.len() <= 3 * 1000 + 2);
    assert!(points.len() > 1000, "{}", points.len());
    assert!(points.contains(&(time[54_321], 7.0)));
    let gaps = points.iter().filter(|(_, value)| value.is_nan());
    assert_eq!(
        gaps.map(|(time, _)| *time).collect::<Vec<_>>(),
        [time[77_777]]
    );
    assert_eq!(found.range(0).map(|range| range.1), Some(7.0));
    assert_eq!(found.span, (0.0, time[99_999]));
}

#[test]
fn few_rows_and_none_are_exact() {
    let none = decimate(&[], &[], 5, 1);
    assert!(none.is_exact && none.points(0).is_empty() && none.range(0).is_none());
    let few = decimate(&[0.0, 1.0, 1.0], &[1.0, f64::INFINITY, 3.0], 5, 2);
    assert_eq!(few.points(0)[0], (0.0, 1.0));
    assert!(few.points(0)[1].1.is_nan());
    assert_eq!(few.range(0), Some((1.0, 3.0)));
}

/// The first rows are all at one time, the others far from it.
#[test]
fn rows_at_one_time_do_not_stop_it() {
    let mut time = vec![0.0; 100];
    time.extend([1e-300, 1.0, f64::MAX]);
    let column: Vec<f64> = (0..103).map(f64::from).collect();
    for at_a_time in [1, 103] {
        let found = decimate(&time, &column, 4, at_a_time);
        assert_eq!(found.range(0), Some((0.0, 102.0)));
    }
}
