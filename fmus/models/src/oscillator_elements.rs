//! Springs and dampers that both oscillators share.

use fmu_kit::Enumeration;

/// The parameter `spring`.
pub(crate) const SPRING: Enumeration = Enumeration {
    name: "Spring",
    description: "How the force e of a spring follows its stretch",
    items: &[("linear", "k·e"), ("sqrt", "k·sgn(e)·√|e|")],
};

/// The parameter `damper`.
pub(crate) const DAMPER: Enumeration = Enumeration {
    name: "Damper",
    description: "How the force of a damper follows its velocity v",
    items: &[("linear", "c·v"), ("quadratic", "c·v·|v|")],
};

/// First item of either enumeration.
pub(crate) const LINEAR: i32 = 1;

/// Force, N, of a spring of the given kind with stiffness `k`, stretched by `e` in m. The energy
/// in it is k·e²/2, or (2/3)·k·|e|^1.5 for the square root.
pub(crate) fn spring_force(kind: i32, k: f64, e: f64) -> f64 {
    if kind == LINEAR {
        k * e
    } else {
        k * e.signum() * e.abs().sqrt()
    }
}

/// Force, N, of a damper of the given kind with coefficient `c` at velocity `v` in m/s.
pub(crate) fn damper_force(kind: i32, c: f64, v: f64) -> f64 {
    if kind == LINEAR {
        c * v
    } else {
        c * v * v.abs()
    }
}
