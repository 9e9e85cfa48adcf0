//! The audit against closed forms: the work of stale outputs, of corrections, and what both leave.

use super::*;
use crate::{ClosureUnit, LinearUnit, Run, RunOptions, System};

const H: f64 = 0.5;
/// Flow of end b at the macro-steps.
const FLOW: [f64; 5] = [1.0, 3.0, 2.0, 5.0, -3.0];
/// Direct feed-through of end a, ∂effort/∂flow.
const D: f64 = 4.0;

/// End a is a damper, effort = D·flow; end b gives the flows of the list. Stale, the effort
/// published at k is D·flow(k−1).
fn damped(exchange: &str, flow_step: f64) -> Run {
    let mut system = System::new(H);
    system.stop_time(4.0 * H);
    system.method("jacobi").extrapolation("hold");
    let damper = LinearUnit::new(&[0.0], &["f"], &["e"], [&[0.0], &[0.0], &[0.0], &[D]]);
    system.add("a", damper).exchange(exchange);
    let motion = ClosureUnit::new(&[("e", 0.0)], &[("f", FLOW[0])], |call| {
        call.outputs[0] = FLOW[((call.time + call.step + 1e-9) / H) as usize];
    });
    system.add("b", motion).step_size(flow_step);
    let _ = system.bond("bond", ("a.e", "b.e"), ("b.f", "a.f"));
    system.start(&RunOptions::default()).unwrap()
}

fn audit(mut run: Run, steps: usize) -> BondAudit {
    for _ in 0..steps {
        run.step().unwrap();
    }
    *run.view().audit.bond(0).unwrap()
}

/// The effort in use from k to k+1 is wrong by D·(flow(k−1) − flow(k)), and works on flow(k+1).
#[test]
fn the_work_of_a_stale_damper_is_known_in_closed_form() {
    for flow_step in [H, 0.5 * H] {
        let found = audit(damped("stale", flow_step), 3);
        let powers = [0.0, D * (1.0 - 3.0) * 2.0, D * (3.0 - 2.0) * 5.0];
        assert!((found.stale_power - powers[2]).abs() < 1e-9);
        assert!((found.stale_energy - H * powers.iter().sum::<f64>()).abs() < 1e-9);
    }
}

/// Corrected as by Rodríguez 2022 eq. 19, by the residual power of the step before.
#[test]
fn the_sums_are_those_of_what_is_left_of_the_errors() {
    const MU: f64 = 0.25;
    let mut system = System::new(H);
    system.stop_time(4.0 * H);
    system.method("jacobi").extrapolation("hold");
    let damper = LinearUnit::new(&[0.0], &["f"], &["e"], [&[0.0], &[0.0], &[0.0], &[D]]);
    system.add("a", damper).exchange("stale");
    let motion = ClosureUnit::new(&[("e", 0.0)], &[("f", FLOW[0])], |call| {
        call.outputs[0] = FLOW[((call.time + call.step + 1e-9) / H) as usize];
    });
    system.add("b", motion);
    let correction = crate::Word::new("residual-power")
        .with("mu", MU)
        .with("limit", f64::INFINITY);
    let _ = system
        .bond("bond", ("a.e", "b.e"), ("b.f", "a.f"))
        .correction(correction);
    let found = audit(system.start(&RunOptions::default()).unwrap(), 4).sums;
    let mut expected = Sums::default();
    let (mut added, mut before_last) = (0.0, FLOW[0]);
    for pair in FLOW.windows(2) {
        let [flow, next] = [pair[0], pair[1]];
        let error = D * (before_last - flow);
        let effort = D * flow;
        expected.stale += error * next * H;
        expected.net += (error + added) * next * H;
        expected.impulses[0] += ((error + added) * H).powi(2);
        expected.conjugates[0] += next * next * H;
        expected.conjugates[1] += effort * effort * H;
        expected.time += H;
        let residual = D * before_last * next - effort * flow;
        added = -MU * residual / next;
        before_last = flow;
    }
    let near = |found: f64, expected: f64| (found - expected).abs() < 1e-6;
    for (found, expected) in [
        (found.stale, expected.stale),
        (found.net, expected.net),
        (found.impulses[0], expected.impulses[0]),
        (found.impulses[1], 0.0),
        (found.conjugates[0], expected.conjugates[0]),
        (found.conjugates[1], expected.conjugates[1]),
        (found.time, expected.time),
    ] {
        assert!(near(found, expected), "{found} in place of {expected}");
    }
}

/// The flow is stale if the damper is at end b, and counts with the opposite sign.
#[test]
fn the_work_of_a_stale_flow_has_the_opposite_sign() {
    let mut system = System::new(H);
    system.stop_time(4.0 * H);
    system.method("jacobi").extrapolation("hold");
    let damper = LinearUnit::new(&[0.0], &["e"], &["f"], [&[0.0], &[0.0], &[0.0], &[D]]);
    system.add("b", damper).exchange("stale");
    let motion = ClosureUnit::new(&[("f", 0.0)], &[("e", FLOW[0])], |call| {
        call.outputs[0] = FLOW[((call.time + call.step + 1e-9) / H) as usize];
    });
    system.add("a", motion);
    let _ = system
        .bond("bond", ("a.e", "b.e"), ("b.f", "a.f"))
        .gain(0.5);
    let found = audit(system.start(&RunOptions::default()).unwrap(), 3);
    let energy = -0.5 * H * D * ((1.0 - 3.0) * 2.0 + (3.0 - 2.0) * 5.0);
    assert!((found.stale_energy - energy).abs() < 1e-9, "{found:?}");
}

/// a and b, b and c, d and g have a bond each.
#[test]
fn a_neighbour_is_another_corrected_bond_with_a_component_in_common() {
    let neighbours = |corrected: &[usize]| {
        let mut system = System::new(H);
        for name in ["a", "b", "c", "d", "g"] {
            let inputs = [("u", 0.0), ("w", 0.0)];
            system.add(
                name,
                ClosureUnit::new(&inputs, &[("y", 1.0), ("z", 1.0)], |_| ()),
            );
        }
        let ends = [
            (("a.y", "b.u"), ("b.y", "a.u")),
            (("b.z", "c.u"), ("c.y", "b.w")),
            (("d.y", "g.u"), ("g.y", "d.u")),
        ];
        for (index, (effort, flow)) in ends.into_iter().enumerate() {
            let bond = system.bond(&format!("bond{index}"), effort, flow);
            let is_corrected = corrected.contains(&index);
            let _ = bond.correction(if is_corrected {
                "residual-power"
            } else {
                "off"
            });
        }
        let run = system.start(&RunOptions::default()).unwrap();
        [0, 1, 2].map(|index| run.view().audit.bond(index).unwrap().has_neighbour)
    };
    assert_eq!(neighbours(&[0]), [false, true, false]);
    assert_eq!(neighbours(&[0, 1]), [true, true, false]);
    assert_eq!(neighbours(&[0, 2]), [false, true, false]);
    assert_eq!(neighbours(&[2]), [false, false, false]);
}

#[test]
fn a_slow_end_is_audited_at_its_own_points() {
    let run = damped("stale", 2.0 * H);
    assert_eq!(run.view().audit.bonds().len(), 1);
    // No flow has changed before the first of them, and flow(2) − flow(0) is missing after it.
    let found = audit(damped("stale", 2.0 * H), 2);
    assert_eq!((found.stale_power, found.stale_energy), (0.0, 0.0));
    let found = audit(run, 4);
    let power = D * (FLOW[0] - FLOW[2]) * FLOW[4];
    assert!((found.stale_power - power).abs() < 1e-9, "{found:?}");
    assert!((found.stale_energy - 2.0 * H * power).abs() < 1e-9);
}

#[test]
fn an_exchange_that_follows_its_inputs_leaves_nothing() {
    for exchange in ["fresh", "compensated"] {
        let found = audit(damped(exchange, H), 3);
        assert_eq!(found.known_stale_energy(), Some(0.0), "{exchange}");
    }
}

#[test]
fn outputs_that_follow_their_inputs_are_not_stale() {
    for (exchange, expected) in [("stale", true), ("fresh", false), ("compensated", false)] {
        let run = damped(exchange, H);
        let bond = &run.state.graph.bonds[0];
        assert_eq!(is_stale(&run.state, bond), expected, "{exchange}");
    }
}

/// Sums of steps of a second in all, with W_stale and the correction's energy, J, and irregular impulses that
/// stand for an energy.
fn sums(stale: f64, correction: f64, irregular: f64) -> Sums {
    Sums {
        stale,
        net: stale + correction,
        impulses: [irregular * irregular / 12.0, 0.0],
        conjugates: [4.0, 9.0],
        time: 1.0,
    }
}

fn of_sums(sums: Sums, earlier: Sums) -> BondAudit {
    BondAudit {
        stale_energy: sums.stale,
        sums,
        earlier: [earlier, Sums::default()],
        ..BondAudit::default()
    }
}

#[test]
fn the_verdict_compares_the_energy_error_with_and_without_the_correction() {
    let none = Sums::default();
    for sign in [1.0, -1.0] {
        let audit = of_sums(sums(sign * 4.0, 0.0, 0.0), none);
        assert_eq!(audit.known_stale_energy(), Some(sign * 4.0));
        assert_eq!(audit.net_energy_error(sign * -3.0), Some(sign));
        assert_eq!(audit.hindsight_share(sign * 10.0), Some(0.4));
        assert_eq!(audit.hindsight_share(0.0), None);
        for (correction, verdict) in [
            (-3.0, CorrectionVerdict::Helped),
            (-6.0, CorrectionVerdict::Helped),
            (-1.5, CorrectionVerdict::Uncertain),
            (-7.0, CorrectionVerdict::Uncertain),
            (0.0, CorrectionVerdict::Harmed),
            (-8.0, CorrectionVerdict::Harmed),
            (1.0, CorrectionVerdict::Harmed),
        ] {
            let audit = of_sums(sums(sign * 4.0, sign * correction, 0.0), none);
            assert_eq!(audit.verdict(1e9), verdict, "{correction}");
        }
        // The later part has W_stale 1 and a correction of 0.2 or −0.7.
        let verdict = |late_part: f64| {
            let earlier = sums(sign * 3.0, sign * (-3.0 - late_part), 0.0);
            of_sums(sums(sign * 4.0, sign * -3.0, 0.0), earlier).verdict(1e9)
        };
        assert_eq!(verdict(0.2), CorrectionVerdict::Harmed);
        assert_eq!(verdict(-0.7), CorrectionVerdict::Helped);
        // A later part with less than 4 mJ says nothing.
        for (late, expected) in [
            (3e-3, CorrectionVerdict::Helped),
            (5e-3, CorrectionVerdict::Harmed),
        ] {
            let earlier = sums(sign * (4.0 - late), sign * (-3.0 - late), 0.0);
            let audit = of_sums(sums(sign * 4.0, sign * -3.0, 0.0), earlier);
            assert_eq!(audit.verdict(1e9), expected);
        }
    }
    let unknown = of_sums(sums(f64::NAN, 1.0, 0.0), none);
    assert_eq!(unknown.known_stale_energy(), None);
    assert_eq!(unknown.net_energy_error(1.0), None);
    assert_eq!(unknown.verdict(1e9), CorrectionVerdict::CannotBeJudged);
    assert_eq!(unknown.hindsight_share(1.0), None);
}

#[test]
fn impulses_that_are_far_off_make_a_help_uncertain() {
    let verdict = |irregular| of_sums(sums(4.0, -3.0, irregular), Sums::default()).verdict(1e9);
    assert_eq!(verdict(2.3), CorrectionVerdict::Helped);
    assert_eq!(verdict(2.5), CorrectionVerdict::Uncertain);
    assert_eq!(verdict(1e9), CorrectionVerdict::Uncertain);
    // A part of nothing does not feed on itself.
    let audit = of_sums(sums(4.0, -3.0, 2.5), Sums::default());
    assert_eq!(audit.verdict(f64::INFINITY), CorrectionVerdict::Uncertain);
    // In the later part alone, of half a second and 2 J, and in the flow's.
    let late = |impulses| {
        let mut earlier = sums(2.0, -1.5, 0.0);
        earlier.conjugates = [2.0, 4.5];
        earlier.time = 0.5;
        let mut now = sums(4.0, -3.0, 0.0);
        now.impulses = impulses;
        of_sums(now, earlier).verdict(1e9)
    };
    // √(3·2·0.23) = 1.17 J, √(3·2·0.25) = 1.22 J, √(3·4.5·0.1) = 1.16 J, √(3·4.5·0.11) = 1.22 J.
    assert_eq!(late([0.23, 0.0]), CorrectionVerdict::Helped);
    assert_eq!(late([0.25, 0.0]), CorrectionVerdict::Uncertain);
    assert_eq!(late([0.0, 0.1]), CorrectionVerdict::Helped);
    assert_eq!(late([0.0, 0.11]), CorrectionVerdict::Uncertain);
    // Beside another bond √2·1.6 = 2.3 J and √2·1.8 = 2.5 J.
    let beside = |irregular| {
        let mut audit = of_sums(sums(4.0, -3.0, irregular), Sums::default());
        audit.has_neighbour = true;
        audit.verdict(1e9)
    };
    assert_eq!(beside(1.6), CorrectionVerdict::Helped);
    assert_eq!(beside(1.8), CorrectionVerdict::Uncertain);
    // Of an energy of 4 J over the bond, 4 J would have been e − 1 = 1.72 times as much: 2.4·1.72 = 4.1 J.
    let feeding = |irregular| of_sums(sums(4.0, -3.0, irregular), Sums::default()).verdict(4.0);
    assert_eq!(feeding(4.1), CorrectionVerdict::Helped);
    assert_eq!(feeding(4.2), CorrectionVerdict::Uncertain);
}

/// Forces at random beside a stale one, on a mass: the error of its velocity is what the energies say.
#[test]
fn irregular_impulses_stand_for_the_error_that_they_make() {
    let mut numbers = crate::random::SplitMix64::new(5);
    let (steps, h, omega, mass, amplitude, share) = (4000, 1e-3, 30.0, 2.0, 3.0, 0.01);
    let (mut ratio, runs) = (0.0, 200);
    for _ in 0..runs {
        let mut sums = Sums::default();
        // The part of the velocity that turns with the oscillation, as a cosine and a sine.
        let (mut stale, mut left) = ([0.0; 2], [0.0; 2]);
        let (mut stale_square, mut left_square) = (0.0, 0.0);
        for step in 0..steps {
            let (sine, cosine) = (omega * h * f64::from(step)).sin_cos();
            let velocity = amplitude * cosine;
            let force = share * velocity;
            let random = 2.0 * numbers.next_unit() - 1.0;
            sums.stale += force * velocity * h;
            sums.impulses[0] += (random * h).powi(2);
            sums.conjugates[0] += velocity * velocity * h;
            sums.time += h;
            for (part, turn) in [cosine, sine].into_iter().enumerate() {
                stale[part] += force * h / mass * turn;
                left[part] += random * h / mass * turn;
                stale_square += stale[part].powi(2);
                left_square += left[part].powi(2);
            }
        }
        ratio += left_square / stale_square / (sums.irregular(sums.time) / sums.stale).powi(2);
    }
    let mean = (ratio / f64::from(runs)).sqrt();
    assert!((0.9..1.1).contains(&mean), "{mean}");
}
