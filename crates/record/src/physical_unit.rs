//! Physical units by their names: how numbers of one become numbers of another.
//!
//! Comparing two result files asks it: their headings have the names of units, and no definitions. It knows the SI units of mechanics,
//! electricity and heat with their prefixes, products and quotients of them, and a few others. It never guesses: a name that it does not
//! know has no conversion. (Systems have definitions of units in their model descriptions, which the engine uses.)

use std::f64::consts::PI;

/// Exponents of kg, m, s, A, K, mol, rad.
type Exponents = [i32; 7];

/// Units with their size in base units; those with prefixes are marked.
const UNITS: &[(&[&str], f64, Exponents, bool)] = &[
    (&["m"], 1.0, [0, 1, 0, 0, 0, 0, 0], true),
    (&["g"], 1e-3, [1, 0, 0, 0, 0, 0, 0], true),
    (&["s"], 1.0, [0, 0, 1, 0, 0, 0, 0], true),
    (&["A"], 1.0, [0, 0, 0, 1, 0, 0, 0], true),
    (&["K"], 1.0, [0, 0, 0, 0, 1, 0, 0], true),
    (&["mol"], 1.0, [0, 0, 0, 0, 0, 1, 0], true),
    (&["rad"], 1.0, [0, 0, 0, 0, 0, 0, 1], true),
    (&["Hz"], 1.0, [0, 0, -1, 0, 0, 0, 0], true),
    (&["N"], 1.0, [1, 1, -2, 0, 0, 0, 0], true),
    (&["Pa"], 1.0, [1, -1, -2, 0, 0, 0, 0], true),
    (&["J"], 1.0, [1, 2, -2, 0, 0, 0, 0], true),
    (&["W"], 1.0, [1, 2, -3, 0, 0, 0, 0], true),
    (&["V"], 1.0, [1, 2, -3, -1, 0, 0, 0], true),
    (
        &["Ohm", "ohm", "\u{3a9}", "\u{2126}"],
        1.0,
        [1, 2, -3, -2, 0, 0, 0],
        true,
    ),
    (&["bar"], 1e5, [1, -1, -2, 0, 0, 0, 0], true),
    (&["l", "L"], 1e-3, [0, 3, 0, 0, 0, 0, 0], true),
    (&["min"], 60.0, [0, 0, 1, 0, 0, 0, 0], false),
    (&["h"], 3600.0, [0, 0, 1, 0, 0, 0, 0], false),
    (&["deg", "\u{b0}"], PI / 180.0, [0, 0, 0, 0, 0, 0, 1], false),
    (
        &["rpm", "r/min", "rev/min", "1/min"],
        PI / 30.0,
        [0, 0, -1, 0, 0, 0, 1],
        false,
    ),
];

const PREFIXES: &[(&str, f64)] = &[
    ("G", 1e9),
    ("M", 1e6),
    ("k", 1e3),
    ("h", 1e2),
    ("d", 1e-1),
    ("c", 1e-2),
    ("m", 1e-3),
    ("u", 1e-6),
    ("\u{b5}", 1e-6),
    ("\u{3bc}", 1e-6),
    ("n", 1e-9),
];

/// Temperatures that do not begin at 0 K: size in K, and 0 of them in K.
const TEMPERATURES: &[(&[&str], f64, f64)] = &[
    (&["degC", "\u{b0}C", "\u{2103}"], 1.0, 273.15),
    (&["degF", "\u{b0}F"], 5.0 / 9.0, 459.67 * 5.0 / 9.0),
    (&["K"], 1.0, 0.0),
];

/// The factor and the offset that make numbers in `to` of numbers in `from`; `None` if a name is not known, or they measure other
/// quantities.
#[must_use]
pub fn conversion_between(from: &str, to: &str) -> Option<(f64, f64)> {
    let temperature = |name: &str| {
        let found = TEMPERATURES
            .iter()
            .find(|(names, ..)| names.contains(&name));
        found.map(|(_, size, zero)| (*size, *zero))
    };
    if let Some(((from, zero), (to, other))) = temperature(from).zip(temperature(to)) {
        return Some((from / to, (zero - other) / to));
    }
    let ((from, quantity), (to, other)) = (product(from)?, product(to)?);
    (quantity == other).then_some((from / to, 0.0))
}

/// The size and the exponents of `N.m`, `kg.m2/s2`, `m/s^2`; a product after `/` is below it as a whole only if it stands in brackets.
fn product(name: &str) -> Option<(f64, Exponents)> {
    if let Some(found) = unit(name) {
        return Some(found);
    }
    let (mut size, mut exponents) = (1.0, Exponents::default());
    for (place, part) in name.split('/').enumerate() {
        let sign = if place == 0 { 1 } else { -1 };
        let part = part.trim();
        let inner = part
            .strip_prefix('(')
            .and_then(|part| part.strip_suffix(')'));
        let factors: Vec<&str> = inner
            .unwrap_or(part)
            .split(['.', '*', '\u{b7}', ' '])
            .collect();
        if place > 0 && inner.is_none() && factors.len() > 1 {
            return None;
        }
        for factor in factors {
            if factor == "1" && place == 0 {
                continue;
            }
            let end = factor.find(|c: char| c.is_ascii_digit() || matches!(c, '^' | '-'));
            let (symbol, power) = factor.split_at(end.unwrap_or(factor.len()));
            let power = match power.trim_start_matches('^') {
                "" => 1,
                power => power.parse::<i32>().ok().filter(|power| power.abs() <= 9)?,
            };
            let (of_one, exponent) = unit(symbol)?;
            size *= of_one.powi(sign * power);
            for (all, one) in exponents.iter_mut().zip(exponent) {
                *all += sign * power * one;
            }
        }
    }
    Some((size, exponents))
}

fn unit(name: &str) -> Option<(f64, Exponents)> {
    let known = |name: &str| UNITS.iter().find(|(names, ..)| names.contains(&name));
    if let Some((_, size, exponents, _)) = known(name) {
        return Some((*size, *exponents));
    }
    PREFIXES.iter().find_map(|(prefix, factor)| {
        let (_, size, exponents, has_prefixes) = known(name.strip_prefix(prefix)?)?;
        has_prefixes.then_some((factor * size, *exponents))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The factors are those of the SI brochure, 9th edition, and of NIST SP 811 for °F.
    #[test]
    fn units_are_converted_by_their_names() {
        for (from, to, factor, offset) in [
            ("N", "kN", 1e-3, 0.0),
            ("kN", "N", 1e3, 0.0),
            ("mm", "m", 1e-3, 0.0),
            ("N.m", "kN*m", 1e-3, 0.0),
            ("km/h", "m/s", 1.0 / 3.6, 0.0),
            ("kg.m2/s2", "J", 1.0, 0.0),
            ("N/m^2", "MPa", 1e-6, 0.0),
            ("rpm", "rad/s", PI / 30.0, 0.0),
            ("deg", "rad", PI / 180.0, 0.0),
            ("bar", "Pa", 1e5, 0.0),
            ("J/(kg.K)", "kJ/(kg.K)", 1e-3, 0.0),
            ("degC", "K", 1.0, 273.15),
            ("degF", "degC", 5.0 / 9.0, -160.0 / 9.0),
            ("min", "s", 60.0, 0.0),
        ] {
            let (found, moved) = conversion_between(from, to).unwrap();
            assert!((found / factor - 1.0).abs() < 1e-14, "{from} {to}: {found}");
            assert!((moved - offset).abs() < 1e-12, "{from} {to}: {moved}");
        }
        for (from, to) in [
            ("N", "m"),
            ("N", "lbf"),
            ("Nm", "N.m"),
            ("W/m.K", "W/m"),
            ("rad/s", "Hz"),
            ("", "m"),
            ("m", "m."),
        ] {
            assert_eq!(conversion_between(from, to), None, "{from} {to}");
        }
    }
}
