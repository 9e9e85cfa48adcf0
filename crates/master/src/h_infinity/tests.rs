//! Synthesis against `crates/benchmark/reference/hinfinity.py`, after Chen et al. (2021), and against the paper's
//! own compensators.

use super::{Complex, Design, Specification, TransferFunction};

/// Anchors by `crates/benchmark/reference/hinfinity.py` (the same Riccati equation), known to ± 0.1 %.
struct Anchor {
    weight_order: u32,
    smoother_cutoff: Option<f64>,
    control_weight: f64,
    gamma: f64,
    /// Poles of non-negative imaginary part, before they are moved into the disc.
    poles: &'static [(f64, f64)],
    /// Zeros that are not poles of hold and smoother, of non-negative imaginary part.
    zeros: &'static [(f64, f64)],
    /// K₁(∞) with static gain 1, and half a unit of its last digit.
    direct: (f64, f64),
}

#[rustfmt::skip]
const ANCHORS: &[Anchor] = &[
    Anchor { weight_order: 1, smoother_cutoff: Some(0.5), control_weight: 2e-4, gamma: 0.016092,
        poles: &[(-9.69479, 4.12484), (-3.56549, 8.73853)], zeros: &[], direct: (74.10, 5e-3) },
    Anchor { weight_order: 1, smoother_cutoff: Some(0.3), control_weight: 2e-4, gamma: 0.019778,
        poles: &[(-7.96901, 3.35220), (-2.94448, 7.07731)], zeros: &[], direct: (100.14, 5e-3) },
    Anchor { weight_order: 1, smoother_cutoff: Some(0.5), control_weight: 1e-3, gamma: 0.022358,
        poles: &[(-7.11732, 2.99939), (-2.69203, 6.25397)], zeros: &[], direct: (23.35, 5e-3) },
    Anchor { weight_order: 2, smoother_cutoff: Some(0.5), control_weight: 1e-3, gamma: 0.009809,
        poles: &[(-4.60139, 0.0), (-3.89043, 2.71796), (-1.61316, 3.73025)],
        zeros: &[(-1.43006, 0.0)], direct: (10.107, 5e-4) },
    Anchor { weight_order: 3, smoother_cutoff: Some(0.5), control_weight: 1e-3, gamma: 0.009743,
        poles: &[(-3.66075, 1.21045), (-2.96955, 2.61490), (-1.24751, 3.01066)],
        zeros: &[(-1.11535, 0.91388)], direct: (10.038, 5e-4) },
    Anchor { weight_order: 1, smoother_cutoff: None, control_weight: 3e-3, gamma: 0.013775,
        poles: &[(-6.03916, 4.53320)], zeros: &[], direct: (4.75, 5e-3) },
    Anchor { weight_order: 2, smoother_cutoff: None, control_weight: 1e-2, gamma: 0.016217,
        poles: &[(-1.78185, 0.0), (-2.85472, 1.79713)], zeros: &[(-1.00779, 0.0)], direct: (1.68, 5e-3) },
];

fn design(anchor: &Anchor) -> Design {
    let specification = Specification {
        smoother_cutoff: anchor.smoother_cutoff,
        control_weight: anchor.control_weight,
        ..Specification::of_order(anchor.weight_order)
    };
    specification.synthesize().unwrap()
}

/// Whether the roots with non-negative imaginary part are those expected, in any order.
fn meet(roots: &[Complex], expected: &[(f64, f64)], tolerance: f64) -> bool {
    let upper: Vec<_> = roots.iter().filter(|root| root.im > -1e-9).collect();
    let near = |(re, im): &(f64, f64)| {
        let expected = Complex::new(*re, *im);
        upper
            .iter()
            .any(|root| (**root - expected).norm() <= tolerance * expected.norm())
    };
    upper.len() == expected.len() && expected.iter().all(near)
}

#[test]
fn anchors_are_met_to_a_thousandth() {
    for anchor in ANCHORS {
        let design = design(anchor);
        let name = format!(
            "order {}, smoother {:?}, eps {}",
            anchor.weight_order, anchor.smoother_cutoff, anchor.control_weight
        );
        let gamma = design.gamma / anchor.gamma - 1.0;
        assert!(gamma.abs() < 1e-3, "{name}: gamma {}", design.gamma);
        assert!(
            meet(&design.raw_poles, anchor.poles, 1e-3),
            "{name}: {:?}",
            design.raw_poles
        );
        let own = &design.compensator.zeros[if anchor.smoother_cutoff.is_some() {
            4
        } else {
            2
        }..];
        assert!(meet(own, anchor.zeros, 1e-3), "{name}: {own:?}");
        let (direct, rounding) = anchor.direct;
        let difference = (design.compensator.gain - direct).abs();
        assert!(
            difference < 1e-3 * direct + rounding,
            "{name}: K1(inf) {}",
            design.compensator.gain
        );
    }
}

/// A published K₁ in rad/s, with the factor that its print lacks.
struct Printed {
    smoother_cutoff: f64,
    static_gain: f64,
    factor: f64,
    real: [[f64; 2]; 2],
    /// Coefficients of s and 1 of the quadratic factors: numerator, denominator.
    quadratic: [[[f64; 2]; 2]; 2],
    /// Greatest relative difference up to 0.5, 1 and 5/Δt.
    within: [f64; 3],
    peak: f64,
}

/// Eqs 13 and 14 for Δt = 10 ms. The factors, static gains and differences, rounded up, come from
/// `crates/benchmark/reference/hinfinity.py`.
#[rustfmt::skip]
const PRINTED: [Printed; 2] = [
    Printed { smoother_cutoff: 0.5, static_gain: 0.983, factor: 81.905,
        real: [[1942.9, 6.2789], [1924.0, 6.2837]],
        quadratic: [[[599.9, 1.2e5], [444.3, 9.87e4]], [[2240.0, 1.392e6], [774.8, 7.154e5]]],
        within: [0.045, 0.07, 0.11], peak: 0.0180 },
    Printed { smoother_cutoff: 0.3, static_gain: 0.9797, factor: 99.256,
        real: [[1682.9, 6.2825], [1470.1, 6.2833]],
        quadratic: [[[600.0, 1.2e5], [266.6, 3.553e4]], [[1870.0, 9.674e5], [617.6, 5.111e5]]],
        within: [0.02, 0.07, 0.09], peak: 0.0206 },
];

impl Printed {
    fn at(&self, s: Complex) -> Complex {
        let side = |side: usize| {
            let real = self.real[side].iter().map(|root| s + *root);
            let quadratic = self.quadratic[side]
                .iter()
                .map(|[b, c]| s * s + s * *b + *c);
            real.chain(quadratic).product::<Complex>()
        };
        side(0) / side(1) * self.factor
    }
}

#[test]
fn the_papers_compensators_are_met() {
    for printed in &PRINTED {
        let specification = Specification {
            smoother_cutoff: Some(printed.smoother_cutoff),
            static_gain: printed.static_gain,
            ..Specification::of_order(1)
        };
        let design = specification.synthesize().unwrap();
        let ours: TransferFunction = design.in_seconds(0.01);
        let mut greatest: f64 = 0.0;
        let mut limits = [0.5, 1.0, 5.0].into_iter().zip(printed.within).peekable();
        for step in 0..=5000 {
            let frequency = f64::from(step) * 1e-3;
            let s = Complex::new(0.0, 2.0 * std::f64::consts::PI * frequency / 0.01);
            let theirs = printed.at(s);
            greatest = greatest.max(((ours.at(s) - theirs) / theirs).norm());
            if let Some((limit, within)) = limits.next_if(|(limit, _)| frequency >= *limit - 1e-9) {
                println!("up to {limit}: {greatest}");
                assert!(greatest <= within, "up to {limit}/dt: {greatest}");
            }
        }
        assert!(limits.peek().is_none());
        println!("peak {}", design.peak());
        assert!(design.peak() <= printed.peak, "peak {}", design.peak());
        for pole in &design.compensator.poles {
            assert!((pole * 0.1 + 1.0).norm() <= 0.97 + 1e-12);
        }
    }
}

/// Hold, smoother and compensator in a row: the low-frequency error is the static gain's.
#[test]
fn errors_vanish_at_low_frequencies() {
    for order in 1..=3 {
        let design = Specification::of_order(order).synthesize().unwrap();
        assert!(design.held_error(1e-6) < 1e-4, "{order}");
        assert!(
            design.held_error(0.1) < super::hold_error(0, 0.1),
            "{order}"
        );
    }
}

#[test]
fn remembered_designs_are_the_same() {
    let specification = Specification::one_sided(1);
    let designs = [(); 2].map(|()| specification.design().unwrap());
    assert_eq!(designs[0], designs[1]);
    assert_eq!(designs[0], specification.synthesize().unwrap());
}

#[test]
fn nonsense_is_refused() {
    let good = Specification::of_order(1);
    for bad in [
        Specification {
            weight_order: 4,
            ..good
        },
        Specification {
            weight_cutoff: f64::NAN,
            ..good
        },
        Specification {
            smoother_cutoff: Some(0.0),
            ..good
        },
        Specification {
            control_weight: 0.0,
            ..good
        },
        Specification {
            static_gain: -1.0,
            ..good
        },
        Specification {
            solver_step: f64::INFINITY,
            ..good
        },
    ] {
        let refusal = bad.synthesize().unwrap_err().to_string();
        assert!(refusal.contains("it must be"), "{refusal}");
    }
}
