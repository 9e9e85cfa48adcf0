//! H∞ coupling: a filter K₁ at the source leads as much as the hold lags, and in the variant
//! `smoothed` a low pass K₂ at the receiver takes the steps of the hold out. K₁ minimises the
//! greatest weighted error, ‖W_f·(1 − H*·K₂·K₁)‖∞, H* being Padé's approximation of the hold; no
//! model of a unit is needed.
//!
//! Source: Chen, Ran, Wu & Jacobson (2021), eq. 11; the variant `one-sided` (no K₂, for signals
//! without direct feed-through): own. Use it for wide-band signals with steps limited by stability.
//! Limits: K₁ needs 5 to 10 communication steps of the source a macro-step, equal macro-steps and
//! method `jacobi`; it amplifies what sampling aliases. docs/h-infinity.md has measurements.

mod weight_order;

use crate::h_infinity::{Design, Smoother, Specification};

use self::weight_order::WeightOrders;
use super::{Extrapolation, ExtrapolationFacts, OrderChange, Sample, SignalSteps};
use crate::curve::Curve;
use crate::registry::{Arguments, Entry, ParameterInfo, ParameterKind};
use crate::state_stream::{StateStream, Stored, keeps_its_state};

/// A compensator at each communication step of the source, held in between; perhaps a smoother at
/// each communication step of the receiver.
#[derive(Clone)]
struct HInfinity {
    /// Of the orders that may be used: one, or all three.
    specifications: Vec<Specification>,
    /// `None`: the signal is sent as it is.
    compensator: Option<WeightOrders>,
    smoother: Option<Smoothing>,
    newest: Option<Sample>,
    /// No sample after the first time has come.
    is_at_rest: bool,
}

#[derive(Clone)]
struct Smoothing {
    filter: Smoother,
    /// Communication steps of the receiver from one exchange to the next.
    parts: u32,
    /// The receiver accepts derivatives of its inputs; else values are constant over its steps.
    has_slopes: bool,
}

/// Least communication steps of the source from one exchange to the next, and of both sides if
/// the signal is smoothed. With 2, more random systems are unstable than with hold.
const ONE_SIDED_PARTS: u32 = 5;
const SMOOTHED_PARTS: u32 = 10;

pub(super) const ENTRY: Entry<dyn Extrapolation> = Entry {
    name: "hinfinity",
    summary: "a compensator that leads as much as hold lags, at each communication step of the source",
    source: "Chen et al. 2021; one-sided: own",
    parameters: &[
        ParameterInfo {
            name: "variant",
            summary: "one-sided: signals without direct feed-through only, no smoother, for fresh exchange; \
                      smoothed: all signals, with a low-pass filter at the receiver, as published",
            kind: ParameterKind::Word(&["one-sided", "smoothed"]),
        },
        ParameterInfo::whole_number_or_auto(
            "weight_order",
            "order of the error's weight, 1 to 3: with a higher one, low frequencies count more; auto: by the signal's past",
            1,
            (1, 3),
        ),
        ParameterInfo::number_or_auto(
            "weight_cutoff",
            "cut-off of the error's weight, times the macro-step; auto: 0.01, 0.03 or 0.06 by the order",
            (1e-3, 1.0),
        ),
        ParameterInfo::number_or_auto(
            "smoother_cutoff",
            "cut-off of the smoother, times the macro-step; auto: 0.5",
            (0.1, 10.0),
        ),
        ParameterInfo::number_or_auto(
            "control_weight",
            "weight of the compensator's own output; auto: 3e-3 one-sided, else 2e-4, from order 2 on 1e-3",
            (1e-4, 0.1),
        ),
        ParameterInfo::number("static_gain", "gain for constant signals", 1.0, (0.5, 2.0)),
    ],
    facts,
    build: |arguments| Box::new(HInfinity::new(specifications(arguments))),
};

/// Highest order of a weight.
const ORDERS: u32 = 3;

/// The compensators that may be used, the first one at first.
fn specifications(arguments: &Arguments) -> Vec<Specification> {
    let orders = match arguments.number_or_auto("weight_order") {
        Some(order) => order as u32..=order as u32,
        None => 1..=ORDERS,
    };
    orders
        .map(|order| specification(arguments, order))
        .collect()
}

fn specification(arguments: &Arguments, order: u32) -> Specification {
    let usual = Specification::of_order(order);
    let usual = match arguments.word("variant") {
        "smoothed" => Specification {
            smoother_cutoff: arguments
                .number_or_auto("smoother_cutoff")
                .or(usual.smoother_cutoff),
            ..usual
        },
        _ => Specification::one_sided(order),
    };
    let or = |name: &str, usual: f64| arguments.number_or_auto(name).unwrap_or(usual);
    Specification {
        weight_cutoff: or("weight_cutoff", usual.weight_cutoff),
        control_weight: or("control_weight", usual.control_weight),
        static_gain: arguments.number("static_gain"),
        ..usual
    }
}

impl HInfinity {
    fn new(specifications: Vec<Specification>) -> Self {
        Self {
            specifications,
            compensator: None,
            smoother: None,
            newest: None,
            is_at_rest: true,
        }
    }

    fn is_one_sided(&self) -> bool {
        self.specifications[0].smoother_cutoff.is_none()
    }

    /// Value that is sent now.
    fn sent(&self) -> f64 {
        let value = self.newest.map_or(0.0, |newest| newest.value);
        match &self.compensator {
            Some(compensator) => compensator.output(value),
            None => value,
        }
    }

    fn rest_at(&mut self, value: f64) {
        if let Some(compensator) = &mut self.compensator {
            compensator.rest_at(value);
        }
        let sent = self.sent();
        if let Some(smoother) = &mut self.smoother {
            smoother.filter.rest_at(sent);
        }
    }
}

impl Extrapolation for HInfinity {
    fn prepare(&mut self, steps: &SignalSteps) -> Result<(), String> {
        let designs = designs(&self.specifications, steps)?;
        if designs.is_empty() {
            return Ok(());
        }
        let step = |parts: u32| steps.exchange / f64::from(parts);
        let cutoff = self.specifications[0].smoother_cutoff;
        let filter =
            cutoff.map(|cutoff| Smoother::new(cutoff / steps.exchange, step(steps.receiver_parts)));
        let tracks = designs.iter().map(|design| {
            let source = step(steps.source_parts);
            (design.discretise(steps.exchange, source), filter)
        });
        let parts = [steps.source_parts, steps.receiver_parts];
        self.compensator = Some(WeightOrders::new(tracks, parts));
        self.smoother = filter.map(|filter| Smoothing {
            filter,
            parts: steps.receiver_parts,
            has_slopes: steps.takes_slopes,
        });
        Ok(())
    }

    fn observe(&mut self, sample: Sample) {
        let before = self.newest.replace(sample);
        match before {
            Some(before) if sample.time > before.time => {
                self.is_at_rest = false;
                if let Some(compensator) = &mut self.compensator {
                    compensator.advance(before);
                }
            }
            _ if self.is_at_rest => self.rest_at(sample.value),
            _ => {}
        }
    }

    fn curve(&self, _now: f64, step: f64) -> Curve {
        let Some(smoother) = &self.smoother else {
            return Curve::constant(self.sent());
        };
        let start = smoother.filter.output();
        if step == 0.0 {
            return Curve::constant(start);
        }
        let mut filter = smoother.filter;
        let sent = self.sent();
        (0..smoother.parts).for_each(|_| filter.advance(sent));
        Curve::line(start, (filter.output() - start) / step)
    }

    fn next_piece(&mut self, size: f64) -> Curve {
        let sent = self.sent();
        let Some(smoother) = &mut self.smoother else {
            return Curve::constant(sent);
        };
        let start = smoother.filter.output();
        smoother.filter.advance(sent);
        if smoother.has_slopes {
            Curve::line(start, (smoother.filter.output() - start) / size)
        } else {
            Curve::constant(start)
        }
    }

    fn clear(&mut self) {
        if let Some(newest) = self.newest {
            self.rest_at(newest.value);
            self.is_at_rest = true;
        }
    }

    fn order(&self) -> usize {
        usize::from(!self.is_one_sided())
    }

    fn changes(&self) -> &[OrderChange] {
        self.compensator.as_ref().map_or(&[], WeightOrders::changes)
    }

    keeps_its_state!(dyn Extrapolation);
}

fn facts(arguments: &Arguments, steps: &SignalSteps) -> ExtrapolationFacts {
    let specifications = specifications(arguments);
    let is_smoothed = specifications[0].smoother_cutoff.is_some();
    ExtrapolationFacts {
        needs_substeps: !is_held(&specifications[0], steps),
        comes_in_pieces: is_smoothed,
        misfit: designs(&specifications, steps).err(),
        ..ExtrapolationFacts::polynomial(usize::from(is_smoothed))
    }
}

/// Without a smoother, a signal that follows an input of its source at once is sent as it is.
fn is_held(specification: &Specification, steps: &SignalSteps) -> bool {
    specification.smoother_cutoff.is_none() && steps.feeds_through
}

/// The compensators for a signal; none if it is sent as it is.
fn designs(specifications: &[Specification], steps: &SignalSteps) -> Result<Vec<Design>, String> {
    if is_held(&specifications[0], steps) {
        return Ok(Vec::new());
    }
    check(specifications[0].smoother_cutoff.is_none(), steps)?;
    let designs = specifications.iter().map(Specification::design);
    let designs: Result<_, _> = designs.collect();
    designs.map_err(|error| error.to_string())
}

/// Whether both sides make small enough steps.
fn check(is_one_sided: bool, steps: &SignalSteps) -> Result<(), String> {
    let needed = if is_one_sided {
        ONE_SIDED_PARTS
    } else {
        SMOOTHED_PARTS
    };
    let largest = steps.exchange / f64::from(needed);
    let count = |parts: u32| match parts {
        1 => "a single step".to_owned(),
        _ => format!("{parts} steps"),
    };
    let too_coarse = |who: &str, parts: u32| {
        format!(
            "its {who} makes {} from one exchange to the next, every {} s, and {needed} are needed: \
             give the {who} a step_size of {largest} s or less, or use `hold`, which is better than a compensator \
             in coarse steps",
            count(parts),
            steps.exchange
        )
    };
    if steps.source_parts < needed {
        return Err(too_coarse("source", steps.source_parts));
    }
    if is_one_sided {
        return Ok(());
    }
    if steps.receiver_parts < needed {
        return Err(too_coarse("receiver", steps.receiver_parts));
    }
    if !steps.takes_slopes && steps.receiver_parts != steps.source_parts {
        return Err(format!(
            "its receiver takes values of inputs only, and makes {} from one exchange to the next where its source \
             makes {}: give both the same step_size, or the compensator would amplify the steps of its own signal",
            count(steps.receiver_parts),
            count(steps.source_parts)
        ));
    }
    Ok(())
}

impl Stored for HInfinity {
    fn transfer(&mut self, stream: &mut StateStream) {
        let Self {
            specifications: _,
            compensator,
            smoother,
            newest,
            is_at_rest,
        } = self;
        if let Some(compensator) = compensator {
            compensator.transfer(stream);
        }
        if let Some(Smoothing { filter, .. }) = smoother {
            filter.memory().for_each(|value| stream.keep(value));
        }
        stream.keep(newest);
        stream.keep(is_at_rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::look_up;
    use gyrator_system::Choice;

    const STEPS: SignalSteps = SignalSteps {
        exchange: 0.05,
        source_parts: 10,
        receiver_parts: 10,
        curve_parts: 10,
        takes_slopes: false,
        follows: usize::MAX,
        feeds_through: false,
    };

    fn made(variant: &str, steps: SignalSteps) -> Result<Box<dyn Extrapolation>, String> {
        let word = gyrator_system::Value::String(variant.to_owned());
        let choice = Choice::new("hinfinity").with("variant", word);
        let registry = super::super::EXTRAPOLATIONS;
        let mut made = look_up(registry, &choice).unwrap().build();
        made.prepare(&steps).map(|()| made)
    }

    fn sample(part: u32, value: f64) -> Sample {
        Sample {
            time: 0.005 * f64::from(part),
            value,
            slope: None,
        }
    }

    #[test]
    fn coarse_steps_are_refused_with_the_step_that_would_do() {
        let coarse = |source_parts, receiver_parts| SignalSteps {
            source_parts,
            receiver_parts,
            ..STEPS
        };
        let refusal = |variant, steps| made(variant, steps).err().unwrap_or_default();
        assert!(refusal("one-sided", coarse(1, 1)).contains("source makes a single step"));
        assert!(refusal("one-sided", coarse(4, 1)).contains("step_size of 0.01 s or less"));
        assert_eq!(refusal("one-sided", coarse(5, 1)), "");
        assert!(refusal("smoothed", coarse(5, 5)).contains("source makes 5 steps"));
        assert!(refusal("smoothed", coarse(10, 1)).contains("receiver makes a single step"));
        assert!(refusal("smoothed", coarse(50, 10)).contains("the same step_size"));
        let takes_slopes = SignalSteps {
            takes_slopes: true,
            ..coarse(50, 10)
        };
        assert_eq!(refusal("smoothed", takes_slopes), "");
    }

    /// A slow sine is smooth: higher orders are better, and the choice follows; after it a square wave is wide-band.
    #[test]
    fn the_order_follows_the_signal() {
        let auto = gyrator_system::Value::String("auto".to_owned());
        let choice = Choice::new("hinfinity").with("weight_order", auto);
        let found = look_up(super::super::EXTRAPOLATIONS, &choice).unwrap();
        let mut made = found.build();
        made.prepare(&STEPS).unwrap();
        // 40 exchanges a period.
        let smooth = |part: u32| (std::f64::consts::TAU * f64::from(part) / 400.0).sin();
        (0..2000).for_each(|part| made.observe(sample(part, smooth(part))));
        let [.., last] = made.changes() else {
            panic!("no change: a smooth signal has an order of 1");
        };
        assert!(last.to > 1, "{last:?}");
        let now = made.duplicate();
        // A sine of 2.5 exchanges a period, which only first order keeps from growing.
        let rough = |part: u32| 20.0 * (std::f64::consts::TAU * f64::from(part) / 25.0).sin();
        (2000..4000).for_each(|part| made.observe(sample(part, rough(part))));
        assert_eq!(made.changes().last().unwrap().to, 1, "{:?}", made.changes());
        assert_eq!(now.changes().last(), now.duplicate().changes().last());
    }

    #[test]
    fn signals_that_feed_through_are_held() {
        let steps = SignalSteps {
            feeds_through: true,
            source_parts: 1,
            ..STEPS
        };
        let mut held = made("one-sided", steps).unwrap();
        held.observe(sample(0, 1.0));
        held.observe(sample(10, 3.0));
        assert_eq!(held.curve(0.05, 0.05), Curve::constant(3.0));
    }

    #[test]
    fn a_ramp_is_sent_ahead_of_its_time() {
        let mut ahead = made("one-sided", STEPS).unwrap();
        (0..=200).for_each(|part| ahead.observe(sample(part, f64::from(part))));
        // Five samples, half a macro-step, would make up for the hold; a weight of first order
        // leaves 0.42 of its error (`crates/benchmark/reference/hinfinity.py`, after Chen et al. 2021).
        let sent = ahead.curve(1.0, 0.05).at(0.0);
        assert!((sent - 202.9).abs() < 0.1, "{sent}");
    }

    #[test]
    fn a_second_value_for_the_same_time_replaces_the_first() {
        let [mut once, mut twice] = [(); 2].map(|()| made("one-sided", STEPS).unwrap());
        for part in 0..20 {
            once.observe(sample(part, f64::from(part).sin()));
            twice.observe(sample(part, 7.0));
            twice.observe(sample(part, f64::from(part).sin()));
        }
        assert_eq!(once.curve(0.1, 0.05), twice.curve(0.1, 0.05));
        let mut again = once.duplicate();
        for extrapolation in [&mut once, &mut again] {
            extrapolation.observe(sample(20, 0.5));
        }
        assert_eq!(once.curve(0.1, 0.05), again.curve(0.1, 0.05));
        assert_ne!(once.curve(0.1, 0.05), twice.curve(0.1, 0.05));
    }

    #[test]
    fn a_state_goes_on_from_its_bytes() {
        let value = |part: u32| (0.1 * f64::from(part)).sin();
        for (variant, order) in [
            ("one-sided", "auto"),
            ("smoothed", "auto"),
            ("smoothed", "1"),
        ] {
            let word = |text: &str| gyrator_system::Value::String(text.to_owned());
            let order = match order {
                "1" => gyrator_system::Value::Real(1.0),
                order => word(order),
            };
            let choice = Choice::new("hinfinity").with("variant", word(variant));
            let choice = choice.with("weight_order", order);
            let found = look_up(super::super::EXTRAPOLATIONS, &choice).unwrap();
            let made = || {
                let mut made = found.build();
                made.prepare(&STEPS).unwrap();
                made
            };
            for saved_at in [0, 7, 433] {
                let mut kept = made();
                for part in 0..=saved_at {
                    kept.observe(sample(part, value(part)));
                    kept.next_piece(0.005);
                }
                let mut stream = StateStream::to_write();
                kept.transfer(&mut stream);
                let bytes = stream.finish().unwrap();
                let mut restored = made();
                let mut stream = StateStream::to_read(&bytes);
                restored.transfer(&mut stream);
                assert_eq!(stream.trouble(), None);
                for part in saved_at + 1..saved_at + 300 {
                    for one in [&mut kept, &mut restored] {
                        one.observe(sample(part, value(part)));
                    }
                    assert_eq!(restored.next_piece(0.005), kept.next_piece(0.005));
                    assert_eq!(restored.curve(0.0, 0.05), kept.curve(0.0, 0.05));
                }
                assert_eq!(restored.changes(), kept.changes());
            }
        }
    }

    #[test]
    fn pieces_follow_the_smoother_to_the_end_of_the_curve() {
        let mut smoothed = made("smoothed", STEPS).unwrap();
        smoothed.observe(sample(0, 1.0));
        assert_eq!(smoothed.next_piece(0.005), Curve::constant(1.0));
        smoothed.observe(sample(10, 2.0));
        let curve = smoothed.curve(0.05, 0.05);
        for _ in 0..10 {
            smoothed.next_piece(0.005);
        }
        let after = smoothed.next_piece(0.005).at(0.0);
        assert!((after - curve.at(0.05)).abs() < 1e-12 && after > 1.0);
        smoothed.clear();
        assert_eq!(smoothed.curve(0.05, 0.05), Curve::constant(2.0));
    }

    #[test]
    fn parameters_take_the_place_of_the_usual_values() {
        use gyrator_system::Value;
        let specified = |parameters: &[(&str, Value)]| {
            let choice = Choice::new("hinfinity");
            let choice = parameters.iter().fold(choice, |choice, (name, value)| {
                choice.with(*name, value.clone())
            });
            let found = look_up(super::super::EXTRAPOLATIONS, &choice);
            let found = specifications(&found.unwrap().arguments);
            (found[0], found.len())
        };
        let one = |specification| (specification, 1);
        assert_eq!(specified(&[]), one(Specification::one_sided(1)));
        let auto = ("weight_order", Value::String("auto".to_owned()));
        assert_eq!(specified(&[auto]), (Specification::one_sided(1), 3));
        let smoothed = ("variant", Value::String("smoothed".to_owned()));
        let order = ("weight_order", Value::Real(3.0));
        assert_eq!(
            specified(&[smoothed.clone(), order.clone()]),
            one(Specification::of_order(3))
        );
        let third = Specification::of_order(3);
        assert_eq!(
            specified(std::slice::from_ref(&order)),
            one(Specification {
                weight_order: 3,
                weight_cutoff: third.weight_cutoff,
                ..Specification::one_sided(1)
            })
        );
        let expected = Specification {
            weight_cutoff: 0.25,
            smoother_cutoff: Some(2.0),
            control_weight: 0.05,
            static_gain: 1.5,
            ..third
        };
        let all = [
            smoothed,
            order,
            ("weight_cutoff", Value::Real(0.25)),
            ("smoother_cutoff", Value::Real(2.0)),
            ("control_weight", Value::Real(0.05)),
            ("static_gain", Value::Real(1.5)),
        ];
        assert_eq!(specified(&all), one(expected));
    }

    /// Step response of K₂, 1 − e^(−at)·(cos at + sin at) with a = √2·π·f (Chen et al. 2021 eq. 12), for
    /// the cut-off f = 0.5 over the macro-step of 0.05 s, in steps of a tenth of it. The compensator's
    /// answer to the step is held meanwhile and drops out of the quotient.
    #[test]
    fn the_smoother_follows_its_step_response() {
        let response = |part: u32| {
            let angle =
                std::f64::consts::SQRT_2 * std::f64::consts::PI * 10.0 * 0.005 * f64::from(part);
            1.0 - (-angle).exp() * (angle.cos() + angle.sin())
        };
        for takes_slopes in [false, true] {
            let steps = SignalSteps {
                takes_slopes,
                ..STEPS
            };
            let mut smoothed = made("smoothed", steps).unwrap();
            assert_eq!(smoothed.order(), 1);
            smoothed.observe(sample(0, 1.0));
            smoothed.observe(sample(10, 2.0));
            let end = smoothed.curve(0.05, 0.05).at(0.05) - 1.0;
            for part in 0..10 {
                let piece = smoothed.next_piece(0.005);
                let start = piece.at(0.0) - 1.0;
                assert!((start * response(10) - end * response(part)).abs() < 1e-9);
                let slope = match takes_slopes {
                    true => (response(part + 1) - response(part)) / response(10) * end / 0.005,
                    false => 0.0,
                };
                assert!((piece.derivative(1) - slope).abs() < 1e-6 * (1.0 + slope.abs()));
            }
        }
        assert_eq!(made("one-sided", STEPS).unwrap().order(), 0);
    }

    #[test]
    fn facts_follow_the_variant_and_the_steps() {
        let facts = |variant: &str, feeds_through| {
            let word = gyrator_system::Value::String(variant.to_owned());
            let choice = Choice::new("hinfinity").with("variant", word);
            let chosen = look_up(super::super::EXTRAPOLATIONS, &choice).unwrap();
            for source_parts in [1, 10] {
                let steps = SignalSteps {
                    source_parts,
                    ..STEPS
                };
                let refusal = made(variant, steps).err();
                assert_eq!(chosen.facts(&steps).misfit, refusal);
                assert_eq!(refusal.is_some(), source_parts == 1);
            }
            let facts = chosen.facts(&SignalSteps {
                feeds_through,
                ..STEPS
            });
            (facts.degree, facts.needs_substeps, facts.comes_in_pieces)
        };
        assert_eq!(facts("one-sided", false), (0, true, false));
        assert_eq!(facts("one-sided", true), (0, false, false));
        assert_eq!(facts("smoothed", false), (1, true, true));
        assert_eq!(facts("smoothed", true), (1, true, true));
    }
}
