//! How far results are apart; the expected figures are worked out by hand.

use gyrator_record::{Series, Table, Tolerance, Values, compare};
use proptest::prelude::*;

const EXACT: Tolerance = Tolerance {
    relative: 0.0,
    absolute: 0.0,
    sample_shift: false,
};

fn table(time: &[f64], series: &[(&str, &[f64])]) -> Table {
    let series = series.iter().map(|(name, values)| Series {
        unit: None,
        name: (*name).to_owned(),
        values: Values::Numbers(values.to_vec()),
    });
    Table {
        time: time.to_vec(),
        series: series.collect(),
    }
}

#[test]
fn equal_tables_hold_with_no_tolerance() {
    let one = table(
        &[0.0, 1.0],
        &[("x", &[1.0, f64::NAN]), ("y", &[f64::INFINITY, 0.0])],
    );
    let comparison = compare(&one, &one, &EXACT);
    assert!(comparison.holds(), "{comparison}");
    assert_eq!(comparison.columns[1].compared, 2);
}

#[test]
fn figures_of_a_column() {
    let reference = table(&[0.0, 1.0, 2.0, 3.0], &[("x", &[0.0, 2.0, 4.0, -8.0])]);
    let result = table(&[0.0, 1.0, 2.0, 3.0], &[("x", &[0.5, 2.0, 3.0, -9.0])]);
    let tolerance = Tolerance {
        relative: 0.125,
        absolute: 0.5,
        sample_shift: false,
    };
    let comparison = compare(&result, &reference, &tolerance);
    let column = &comparison.columns[0];
    assert_eq!(column.max_absolute, 1.0);
    assert_eq!(column.max_relative, 0.25);
    assert_eq!(column.rms, (2.25_f64 / 4.0).sqrt());
    assert!(column.holds());
    let tolerance = Tolerance {
        relative: 0.125,
        absolute: 0.25,
        sample_shift: false,
    };
    let comparison = compare(&result, &reference, &tolerance);
    let column = &comparison.columns[0];
    assert_eq!(column.first_out_of_tolerance, Some(0.0));
    assert_eq!(column.out_of_tolerance, 2);
    assert!(!comparison.holds());
}

#[test]
fn missing_columns_and_missing_time_fail() {
    let reference = table(&[0.0, 1.0, 2.0], &[("x", &[0.0; 3]), ("y", &[0.0; 3])]);
    let result = table(&[0.0, 1.0], &[("x", &[0.0; 2]), ("z", &[0.0; 2])]);
    let comparison = compare(&result, &reference, &EXACT);
    assert_eq!(comparison.missing, ["y"]);
    assert_eq!(comparison.additional, ["z"]);
    assert_eq!(comparison.columns[0].uncovered, 1);
    assert_eq!(comparison.columns[0].out_of_tolerance, 0);
    assert!(!comparison.holds());
    insta::assert_snapshot!(comparison, @r"
    `y` is missing in the result
    1 row of the reference outside of the result's time
    not compared: 1 of the result's 2 columns, which the reference lacks: z
    0 of 2 columns are within tolerance
    ");
}

#[test]
fn nothing_in_common_does_not_hold() {
    let empty = table(&[], &[("x", &[])]);
    assert!(!compare(&empty, &empty, &EXACT).holds());
    assert!(!compare(&table(&[], &[]), &table(&[0.0], &[]), &EXACT).holds());
}

#[test]
fn a_number_against_nan_or_text_is_infinitely_far() {
    let one = table(&[0.0], &[("x", &[1.0])]);
    let nan = table(&[0.0], &[("x", &[f64::NAN])]);
    let mut text = nan.clone();
    text.series[0].values = Values::Text(vec!["1".to_owned()]);
    let loose = Tolerance {
        relative: 1e9,
        absolute: 1e9,
        sample_shift: true,
    };
    for (result, reference) in [(&one, &nan), (&nan, &one), (&one, &text), (&text, &one)] {
        let comparison = compare(result, reference, &loose);
        assert_eq!(comparison.columns[0].max_absolute, f64::INFINITY);
        assert!(!comparison.holds());
    }
    assert!(compare(&text, &text, &EXACT).holds());
}

#[test]
fn another_grid_is_interpolated() {
    let result = table(&[0.0, 2.0], &[("x", &[0.0, 4.0])]);
    let reference = table(&[0.0, 0.5, 1.5, 2.0], &[("x", &[0.0, 1.0, 3.0, 4.0])]);
    assert!(compare(&result, &reference, &EXACT).holds());
}

#[test]
fn summed_times_are_those_of_the_rows() {
    // Ten sums of 0.1 give 0.9999999999999999.
    let mut sum = 0.0;
    let mut summed = vec![0.0];
    for _ in 0..10 {
        sum += 0.1;
        summed.push(sum);
    }
    let computed: Vec<_> = (0..=10).map(|step| f64::from(step) * 0.1).collect();
    assert_ne!(summed, computed);
    let jumps: Vec<_> = (0..=10).map(|step| f64::from(step % 2) * 1e6).collect();
    let result = table(&summed, &[("x", &jumps)]);
    let reference = table(&computed, &[("x", &jumps)]);
    assert!(compare(&result, &reference, &EXACT).holds());
    assert!(compare(&reference, &result, &EXACT).holds());
}

#[test]
fn both_sides_of_an_event_are_compared() {
    let reference = table(&[0.0, 1.0, 1.0, 2.0], &[("x", &[0.0, 1.0, 5.0, 6.0])]);
    // The same signal with one more row; the event's time misses by rounding.
    let event = 1.0 + 1e-15;
    let result = table(
        &[0.0, 0.5, event, event, 2.0],
        &[("x", &[0.0, 0.5, 1.0, 5.0, 6.0])],
    );
    let tolerance = Tolerance {
        absolute: 1e-12,
        ..EXACT
    };
    let comparison = compare(&result, &reference, &tolerance);
    assert!(comparison.holds(), "{comparison}");
}

#[test]
fn a_lone_sample_may_be_shifted_a_delayed_signal_may_not() {
    let time: Vec<_> = (0..8).map(f64::from).collect();
    let shifting = Tolerance {
        sample_shift: true,
        ..EXACT
    };
    let reference = table(&time, &[("x", &[0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0])]);
    let late = table(&time, &[("x", &[0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0])]);
    let early = table(&time, &[("x", &[0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])]);
    for result in [&late, &early] {
        assert!(!compare(result, &reference, &EXACT).holds());
        let comparison = compare(result, &reference, &shifting);
        assert!(comparison.holds(), "{comparison}");
        assert_eq!(comparison.columns[0].shifted, 1);
        assert_eq!(comparison.columns[0].max_absolute, 0.0);
    }
    let two_late = table(&time, &[("x", &[0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0])]);
    assert!(!compare(&two_late, &reference, &shifting).holds());
    let spike = table(&time, &[("x", &[0.0, 0.0, 0.0, 1.0, 1.0, 7.0, 1.0, 1.0])]);
    assert!(!compare(&spike, &reference, &shifting).holds());
    let ramp: Vec<_> = (0..8).map(f64::from).collect();
    let delayed: Vec<_> = (-1..7).map(f64::from).collect();
    let reference = table(&time, &[("x", &ramp)]);
    assert!(!compare(&table(&time, &[("x", &delayed)]), &reference, &shifting).holds());
}

proptest! {
    #[test]
    fn no_table_makes_the_comparison_panic(
        one in proptest::collection::vec((0.0..1.0_f64, any::<f64>()), 0..8),
        two in proptest::collection::vec((prop_oneof![Just(0.0), 0.0..1.0_f64], any::<f64>()), 0..8),
    ) {
        let build = |rows: &[(f64, f64)]| {
            let times = rows.iter().scan(0.0, |time, (step, _)| { *time += step; Some(*time) });
            let values: Vec<_> = rows.iter().map(|row| row.1).collect();
            table(&times.collect::<Vec<_>>(), &[("x", &values)])
        };
        let (one, two) = (build(&one), build(&two));
        for (result, reference) in [(&one, &two), (&two, &one), (&one, &one), (&two, &two)] {
            let shifting = Tolerance { sample_shift: true, ..EXACT };
            let column = &compare(result, reference, &shifting).columns[0];
            prop_assert_eq!(column.compared + column.uncovered, reference.time.len());
        }
    }
}
