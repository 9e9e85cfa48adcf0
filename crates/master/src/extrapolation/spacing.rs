//! The distances of the newest values of a signal, and their backward differences, from which `auto` predicts if the
//! distances are equal. It keeps no values itself.

/// Spans between values that differ by less than this share are equal: times are rounded, t₀ + k·h.
const EQUAL_SPANS: f64 = 1e-9;

/// The distance of the newest values, and their differences.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Spacing {
    /// From the value before the newest one to that, s.
    pub(super) span: f64,
    /// Spans in a row that are equal, that one included; no more than three are counted.
    pub(super) equal: usize,
    /// The newest value and its backward differences of orders 1 to 3.
    pub(super) differences: [f64; 4],
}

impl Spacing {
    /// Takes the value that comes `span` s after the newest one.
    pub(super) fn push(&mut self, span: f64, value: f64) {
        let follows = self.is_equal(span);
        self.equal = if follows { (self.equal + 1).min(3) } else { 1 };
        self.span = span;
        let [newest, last, second, _] = self.differences;
        let change = value - newest;
        self.differences = [value, change, change - last, change - last - second];
    }

    /// The greatest magnitude of the last changes, three at most.
    pub(super) fn greatest_change(&self) -> f64 {
        let [_, change, second, third] = self.differences;
        let changes = [change, change - second, change - 2.0 * second + third];
        let known = changes.iter().take(self.equal);
        known.fold(0.0, |most, change| change.abs().max(most))
    }

    pub(super) fn is_equal(&self, span: f64) -> bool {
        (self.span - span).abs() <= EQUAL_SPANS * span
    }
}

#[cfg(test)]
mod tests {
    use super::Spacing;

    #[test]
    fn the_greatest_change_is_one_of_the_last_three() {
        let values = [1.0, 9.0, 7.0, 7.5, 4.0, 4.25, 4.5, 4.0, 10.0, 10.0];
        let mut spacing = Spacing::default();
        spacing.differences[0] = values[0];
        for newest in 1..values.len() {
            spacing.push(1.0, values[newest]);
            let changes = values[newest.saturating_sub(3)..=newest].windows(2);
            let greatest = changes.map(|pair| (pair[1] - pair[0]).abs());
            assert_eq!(spacing.greatest_change(), greatest.fold(0.0, f64::max));
        }
    }
}
