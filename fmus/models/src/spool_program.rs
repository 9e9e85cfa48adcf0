//! The movements of the spools in the cranes' work cycle.

use fmu_kit::Enumeration;

/// Where a spool's reference comes from.
pub(crate) static SPOOL_PROGRAMS: Enumeration = Enumeration {
    name: "SpoolProgram",
    description: "Where the spool's reference comes from",
    items: &[
        ("input", "the input u_ref"),
        ("first", "30 s of the lower actuator of the crane"),
        ("second", "30 s of the upper actuator of the crane"),
    ],
};

/// The item `input`.
pub(crate) const INPUT: i32 = 1;
/// The item `first`.
pub(crate) const FIRST: i32 = 2;
/// The item `second`.
pub(crate) const SECOND: i32 = 3;

/// Corners of the reference: time in s, V. The paper's own signals are printed as pictures of their
/// results only; these move the lower actuator against both of its end dampers, as fig. 8 shows.
const FIRST_CORNERS: &[(f64, f64)] = &[
    (1.0, 0.0),
    (1.2, 10.0),
    (9.2, 10.0),
    (9.4, 0.0),
    (10.4, 0.0),
    (10.6, -10.0),
    (19.0, -10.0),
    (19.2, 0.0),
    (20.2, 0.0),
    (20.4, 6.0),
    (22.4, 6.0),
    (22.6, -4.0),
    (24.1, -4.0),
    (24.3, 8.0),
    (26.3, 8.0),
    (26.5, 0.0),
];

const SECOND_CORNERS: &[(f64, f64)] = &[
    (2.0, 0.0),
    (2.2, 6.0),
    (5.2, 6.0),
    (5.4, -5.0),
    (8.4, -5.0),
    (8.6, 0.0),
    (11.0, 0.0),
    (11.2, -6.0),
    (14.2, -6.0),
    (14.4, 7.0),
    (17.4, 7.0),
    (17.6, 0.0),
    (21.0, 0.0),
    (21.2, -8.0),
    (23.2, -8.0),
    (23.4, 5.0),
    (27.4, 5.0),
    (27.6, 0.0),
];

/// The reference of a built-in program at `time` in s, V; `None` where it is an input.
pub(crate) fn reference(program: i32, time: f64) -> Option<f64> {
    match program {
        FIRST => Some(interpolate(FIRST_CORNERS, time)),
        SECOND => Some(interpolate(SECOND_CORNERS, time)),
        _ => None,
    }
}

/// Linear between the corners, constant before and after them.
fn interpolate(corners: &[(f64, f64)], time: f64) -> f64 {
    let after = corners.partition_point(|(corner, _)| *corner <= time);
    match (after.checked_sub(1).map(|i| corners[i]), corners.get(after)) {
        (Some((t0, u0)), Some(&(t1, u1))) => u0 + (u1 - u0) * (time - t0) / (t1 - t0),
        (Some((_, constant)), None) | (None, Some(&(_, constant))) => constant,
        (None, None) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::{FIRST, INPUT, SECOND, reference};

    #[test]
    fn programs_are_linear_between_their_corners() {
        let close = |program, time, expected: f64| {
            let value = reference(program, time).unwrap();
            assert!((value - expected).abs() < 1e-12, "{value} at {time} s");
        };
        close(FIRST, 0.5, 0.0);
        close(FIRST, 1.1, 5.0);
        close(FIRST, 5.0, 10.0);
        close(FIRST, 22.5, 1.0);
        close(FIRST, 29.0, 0.0);
        close(SECOND, 21.15, -6.0);
        assert_eq!(reference(INPUT, 1.0), None);
    }
}
