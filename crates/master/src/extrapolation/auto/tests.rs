//! The extrapolation `auto`: which degree it chooses, and the areas that it leaves.

use super::*;

fn after(values: impl IntoIterator<Item = f64>) -> Auto {
    let mut auto = Auto::default();
    for (time, value) in (0_i32..).zip(values) {
        auto.observe(Sample {
            time: f64::from(time),
            value,
            slope: None,
        });
    }
    auto
}

#[test]
fn smooth_signals_get_the_highest_degree() {
    assert_eq!(
        after((0..40).map(|k| (0.1 * f64::from(k)).sin())).order(),
        3
    );
}

#[test]
fn noise_gets_degree_0() {
    // A linear congruential generator: numbers without a pattern of low degree.
    let mut state = 1_u32;
    let noise = std::iter::repeat_with(move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state) / f64::from(u32::MAX)
    });
    assert_eq!(after(noise.take(200)).order(), 0);
}

#[test]
fn a_discontinuity_starts_anew() {
    let mut auto = after((0..40).map(|k| (0.1 * f64::from(k)).sin()));
    auto.clear();
    assert_eq!(auto.order(), 0);
    assert_eq!(
        auto.curve(39.0, 1.0),
        Curve::constant((0.1_f64 * 39.0).sin())
    );
}

/// After a jump by −1 the signal comes back by more than half of it, or goes on.
#[test]
fn a_change_that_turns_a_jump_back_is_no_line() {
    let after_change = |change: f64| {
        let mut auto = after([0.0; 6]);
        let mut observe = |time: f64, value: f64| {
            auto.observe(Sample {
                time,
                value,
                slope: None,
            });
            if time == 6.0 {
                auto.jumped();
            }
        };
        observe(6.0, -1.0);
        observe(7.0, -1.0 + change);
        auto.order()
    };
    assert_eq!([0.6, 2.0].map(after_change), [0, 0]);
    assert_eq!([0.4, -0.6, -2.0].map(after_change), [1, 1, 1]);
}

/// Once the signal rests again, the areas of the polynomials over all steps equal the trapezoidal areas of the values,
/// whenever it is held and when on a line.
#[test]
fn nothing_is_left_of_a_pulse_that_is_held_and_on_a_line_by_turns() {
    let values = [0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.0, -1.0, 0.0, 0.0, 0.0];
    let mut auto = Auto::default();
    let (mut area, mut orders) = (0.0, Vec::new());
    for (time, value) in (0_i32..).zip(values) {
        let (time, slope) = (f64::from(time), None);
        auto.observe(Sample { time, value, slope });
        area += auto.curve(time, 1.0).mean(1.0);
        orders.push(auto.order());
    }
    orders.dedup();
    assert_eq!(orders, [0, 1, 0, 1, 0]);
    assert!((area - values.iter().sum::<f64>()).abs() < 1e-12, "{area}");
}

/// Half of the ramp would be taken back, many times the change of a step.
#[test]
fn nothing_is_taken_back_of_a_long_ramp() {
    let mut auto = after((0..=20).map(f64::from));
    assert_eq!(auto.order(), 1);
    let (time, value, slope) = (21.0, 19.0, None);
    auto.observe(Sample { time, value, slope });
    assert_eq!(auto.order(), 0);
    assert_eq!(auto.curve(time, 1.0), Curve::constant(value));
}

/// A value that comes once more, or takes the place of another one, was predicted by the values before it alone.
#[test]
fn a_second_value_for_the_same_time_is_not_predicted() {
    let values = [1.0, 1.5, 1.25, 2.0, 3.0, 2.5];
    let [mut once, mut twice] = [(); 2].map(|()| Auto::default());
    for (time, value) in (0_i32..).zip(values) {
        let sample = Sample {
            time: f64::from(time),
            value,
            slope: None,
        };
        once.observe(sample);
        twice.observe(sample);
        twice.observe(sample);
        assert_eq!(twice.order(), once.order());
        for (again, error) in twice.errors.iter().zip(once.errors) {
            assert_eq!(again.to_bits(), error.to_bits());
        }
    }
    assert_eq!(twice.curve(5.0, 1.0), once.curve(5.0, 1.0));
}

/// Squares of the errors of prediction, averaged with a memory of 0.6, first one as it is: the
/// values 0, 1, 1, 3 are missed by 1, 0, 2 (held), 1 and 2 (line) and 3 (parabola).
#[test]
fn errors_of_each_degree_are_averaged() {
    let auto = after([0.0, 1.0, 1.0, 3.0]);
    let [held, line, parabola, cubic] = auto.errors;
    assert!((held - (0.6 * 0.6 + 0.4 * 4.0)).abs() < 1e-12);
    assert!((line - (0.6 * 1.0 + 0.4 * 4.0)).abs() < 1e-12);
    assert!((parabola - 9.0).abs() < 1e-12);
    assert!(cubic.is_nan());
}

#[test]
fn a_higher_degree_has_to_be_better_and_a_lower_one_as_good() {
    let chosen = |order: usize, errors: [f64; 4]| {
        let mut auto = Auto {
            order,
            errors,
            ..Auto::default()
        };
        auto.choose();
        auto.order
    };
    assert_eq!(chosen(0, [4.0, 3.5, 0.0, 0.0]), 1);
    assert_eq!(chosen(0, [4.0, 3.7, 0.0, 0.0]), 0);
    assert_eq!(chosen(0, [1.0, GAIN, 0.0, 0.0]), 0);
    assert_eq!(chosen(0, [0.25, 0.22, 0.0, 0.0]), 1);
    assert_eq!(chosen(0, [0.25, 0.23, 0.0, 0.0]), 0);
    assert_eq!(chosen(2, [5.0, 3.0, 3.0, 0.0]), 1);
    assert_eq!(chosen(2, [3.0, 5.0, 3.0, 0.0]), 0);
    assert_eq!(chosen(2, [5.0, 3.1, 3.0, 2.8]), 2);
    assert_eq!(chosen(3, [5.0, 4.0, 3.0, 2.0]), 3);
}

/// The degree rises with each value of a smooth signal, and not beyond the line if the line has missed
/// the third value by as much as hold.
#[test]
fn the_degree_rises_from_the_start() {
    let smooth = |count: i32| after((0..count).map(|k| (0.1 * f64::from(k)).exp())).order();
    assert_eq!([1, 2, 3, 4, 5].map(smooth), [0, 1, 2, 3, 3]);
    // A parabola with the mean and the end of a cubic would not begin at the newest value.
    let values: Vec<f64> = (0..6).map(|k| (0.1 * f64::from(k)).exp()).collect();
    let orders = [0, 1, 2, 3, usize::MAX].map(|follows| fed(follows, &values).order());
    assert_eq!(orders, [3, 3, 2, 3, 3]);
    assert_eq!(after([0.0, 1.0, 0.0]).order(), 0);
}

fn fed(follows: usize, values: &[f64]) -> Auto {
    let mut auto = Auto::default();
    let usual = <dyn Extrapolation as crate::registry::EntryKind>::USUAL;
    auto.prepare(&SignalSteps { follows, ..usual }).unwrap();
    for (time, value) in (0_i32..).zip(values) {
        auto.observe(Sample {
            time: f64::from(time),
            value: *value,
            slope: None,
        });
    }
    auto
}

/// Over equal steps the means are the formulas of Adams & Bashforth: (3y₀ − y₁)/2, and (55y₀ − 59y₁ + 37y₂ − 9y₃)/24.
#[test]
fn a_unit_that_takes_values_only_gets_the_mean() {
    let mean = |values: &[f64]| fed(0, values).curve(values.len() as f64 - 1.0, 1.0);
    assert_eq!(mean(&[1.0, 3.0]), Curve::constant(4.0));
    let [y3, y2, y1, y0] = [1.0, 1.1, 1.22, 1.361];
    let cubic = mean(&[y3, y2, y1, y0]);
    let bashforth = (55.0 * y0 - 59.0 * y1 + 37.0 * y2 - 9.0 * y3) / 24.0;
    assert!((cubic.at(0.0) - bashforth).abs() < 1e-12);
    assert_eq!(cubic.truncated(0), cubic);
}

/// Equal spans have formulas of their own, which agree with the formulas for any spans.
#[test]
fn equal_spans_are_no_exception() {
    let values: Vec<f64> = (0..9).map(|k| (0.3 * f64::from(k)).exp()).collect();
    let auto = fed(0, &values);
    assert_eq!(auto.order(), 3);
    let differences = auto.differences(9.0).unwrap();
    for (degree, sum) in (0..4).zip([1, 2, 3, 4].map(|n| differences[..n].iter().sum::<f64>())) {
        let polynomial = auto.history.polynomial(degree, 9.0).at(0.0);
        assert!((sum - polynomial).abs() < 1e-12 * polynomial.abs());
    }
    assert!(auto.differences(9.0 + 1e-6).is_none());
    let uneven = auto.curve(8.0, 1.0 + 1e-6).at(0.0);
    assert!((auto.curve(8.0, 1.0).at(0.0) - uneven).abs() < 1e-4);
    let mean = auto.history.polynomial(3, 8.0).mean(1.0);
    assert!((auto.curve(8.0, 1.0).at(0.0) - mean).abs() < 1e-12 * mean);
    assert!((auto.at(9.0) - auto.history.polynomial(3, 9.0).at(0.0)).abs() < 1e-11);
}

/// A cubic, the receiver makes four communication steps: the mean of each, by its integral.
#[test]
fn each_communication_step_of_a_unit_that_takes_values_has_its_mean() {
    let steps = SignalSteps {
        takes_slopes: false,
        curve_parts: 4,
        ..<dyn Extrapolation as crate::registry::EntryKind>::USUAL
    };
    let mut auto = Auto::default();
    auto.prepare(&steps).unwrap();
    let value = |t: f64| 1000.0 + 100.0 * t + 10.0 * t * t + t * t * t;
    let integral = |t: f64| 1000.0 * t + 50.0 * t * t + 10.0 / 3.0 * t.powi(3) + 0.25 * t.powi(4);
    for time in (0..6_i32).map(f64::from) {
        let value = value(time);
        auto.observe(Sample {
            time,
            value,
            slope: None,
        });
    }
    let curve = auto.curve(5.0, 1.0);
    for part in [0.0, 0.25, 0.5, 0.75] {
        let mean = 4.0 * (integral(5.25 + part) - integral(5.0 + part));
        assert!((curve.at(part) - mean).abs() < 1e-8, "{part}");
    }
    // Its error is the error of the prediction, which is exact here.
    assert!(auto.error_of_prediction().unwrap().abs() < 1e-8);
}

/// One inner step of the semi-implicit Euler method: held values, and in all as much as if they had been held from the start. Of
/// two, the mean of the values at their starts.
#[test]
fn inner_steps_get_the_values_at_their_starts() {
    let values: Vec<f64> = (0..7).map(|k| (0.2 * f64::from(k)).exp()).collect();
    let mut auto = fed(0, &[]);
    let mut given = 0.0;
    for (time, value) in (0..6_i32).map(f64::from).zip(&values) {
        let sample = |value| Sample {
            time,
            value,
            slope: None,
        };
        auto.observe(sample(*value));
        if time == 5.0 {
            auto.follow_inner_steps(1);
        }
        given += auto.curve(time, 1.0).at(0.0);
    }
    assert!((given - values[..6].iter().sum::<f64>()).abs() < 1e-12);
    assert_eq!(auto.inner_steps(), Some((1, 5.0)));
    let next = |auto: &mut Auto| {
        let value = values[6];
        auto.observe(Sample {
            time: 6.0,
            value,
            slope: None,
        });
        auto.curve(6.0, 1.0)
    };
    assert_eq!(next(&mut auto.clone()), Curve::constant(values[6]));
    auto.follow_inner_steps(2);
    let mean = next(&mut auto).at(0.0);
    let polynomial = auto.history.polynomial(auto.order(), 6.0);
    assert!((mean - 0.5 * (polynomial.at(0.0) + polynomial.at(0.5))).abs() < 1e-12);
}

/// A ramp over two communication steps in each step, which turn out to be inner steps. The receiver was to get the mean of
/// the values at their starts, 7 + k and 7 + k + 1/2, from the first step on.
#[test]
fn communication_steps_get_the_values_at_their_starts() {
    let mut auto = Auto::default();
    let steps = SignalSteps {
        takes_slopes: false,
        curve_parts: 2,
        ..<dyn Extrapolation as crate::registry::EntryKind>::USUAL
    };
    auto.prepare(&steps).unwrap();
    let mut given = 0.0;
    for time in (0..6_i32).map(f64::from) {
        auto.observe(Sample {
            time,
            value: 7.0 + time,
            slope: None,
        });
        if time == 5.0 {
            auto.follow_inner_steps(2);
        }
        let curve = auto.curve(time, 1.0);
        given += 0.5 * (curve.at(0.0) + curve.at(0.5));
    }
    let expected = (0..6_i32).map(|k| 7.25 + f64::from(k)).sum::<f64>();
    assert!((given - expected).abs() < 1e-12, "{given} {expected}");
}

/// At the start, on the way, with inner steps, and held again after a line.
#[test]
fn a_state_goes_on_from_its_bytes() {
    let values = [
        0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 0.0, -1.0, 0.2, 0.9, 1.7, 2.4, 2.9, 3.1, 3.0,
    ];
    for follows in [0, usize::MAX] {
        for saved_at in [0, 2, 5, 7, 8, 13] {
            let mut auto = fed(follows, &values[..=saved_at]);
            if saved_at == 13 {
                auto.follow_inner_steps(1);
            }
            let mut stream = StateStream::to_write();
            Extrapolation::transfer(&mut auto, &mut stream);
            let bytes = stream.finish().unwrap();
            let mut restored = fed(follows, &[]);
            let mut stream = StateStream::to_read(&bytes);
            Extrapolation::transfer(&mut restored, &mut stream);
            assert_eq!(stream.trouble(), None);
            for (time, value) in (0_i32..).zip(values).skip(saved_at) {
                let (time, slope) = (f64::from(time), None);
                if time > saved_at as f64 {
                    auto.observe(Sample { time, value, slope });
                    restored.observe(Sample { time, value, slope });
                }
                assert_eq!(restored.curve(time, 1.0), auto.curve(time, 1.0));
                assert_eq!(restored.order(), auto.order());
                assert_eq!(restored.changes(), auto.changes());
                assert_eq!(restored.inner_steps(), auto.inner_steps());
            }
        }
    }
}

#[test]
fn a_unit_that_takes_first_derivatives_gets_mean_and_end_value() {
    let values = [1.0, 1.1, 1.22, 1.361];
    let (whole, line) = (
        fed(3, &values).curve(3.0, 1.0),
        fed(1, &values).curve(3.0, 1.0),
    );
    assert!((line.mean(1.0) - whole.mean(1.0)).abs() < 1e-12);
    assert!((line.at(1.0) - whole.at(1.0)).abs() < 1e-12);
    assert_eq!(line.truncated(1), line);
}

/// y = t + t²/10 at 0, 1 and 3 s: its integral is 5.4; hold and line have given 0·1 + (1.1 + 1.1)·2.
#[test]
fn the_third_value_makes_up_for_the_impulse_that_the_first_steps_missed() {
    let mut auto = fed(0, &[]);
    for (time, value) in [(0.0, 0.0), (1.0, 1.1), (3.0, 3.9)] {
        auto.observe(Sample {
            time,
            value,
            slope: None,
        });
    }
    let passed = 4.5 + 0.9;
    let given = 0.0 + (1.1 + 1.1) * 2.0;
    assert!((auto.missed() - (passed - given) / 2.0).abs() < 1e-12);
    // An offset changes nothing.
    let mut higher = fed(0, &[]);
    for (time, value) in [(0.0, 7.0), (1.0, 8.1), (3.0, 10.9)] {
        higher.observe(Sample {
            time,
            value,
            slope: None,
        });
    }
    assert!((higher.missed() - auto.missed()).abs() < 1e-12);
    // The mean of y from 3 to 5 s, and what was missed.
    let mean = (8.0 + 98.0 / 30.0) / 2.0;
    assert!((auto.curve(3.0, 2.0).at(0.0) - mean - auto.missed()).abs() < 1e-12);
    auto.observe(Sample {
        time: 5.0,
        value: 7.5,
        slope: None,
    });
    assert_eq!(auto.missed(), 0.0);
    assert_eq!(fed(0, &[0.0, 1.0, 0.0]).missed(), 0.0);
}
