//! A row of a benchmark's table: a measured figure and its reference.

use std::fmt;

/// A number, or a word such as the verdict of an audit.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum Figure {
    /// In the unit of the row.
    Number(f64),
    /// One of few words.
    Word(&'static str),
}

impl From<f64> for Figure {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<&'static str> for Figure {
    fn from(word: &'static str) -> Self {
        Self::Word(word)
    }
}

/// How near a figure has to be to its reference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bar {
    /// Within this part of the reference.
    Relative(f64),
    /// Within this distance of the reference, in the unit of the row.
    Absolute(f64),
    /// Within this factor of the reference, either way.
    Factor(f64),
    /// At most this magnitude, whatever the reference is; an infinite one is too much for any.
    AtMost(f64),
    /// At least this number, whatever the reference is.
    AtLeast(f64),
    /// The same word.
    Same,
}

impl Bar {
    /// Whether `measured` meets the bar. A value that is not a number meets none.
    fn is_met(self, measured: Figure, reference: Figure) -> bool {
        let (Figure::Number(measured), Figure::Number(reference)) = (measured, reference) else {
            return measured == reference;
        };
        match self {
            Self::Relative(part) => (measured - reference).abs() <= part * reference.abs(),
            Self::Absolute(distance) => (measured - reference).abs() <= distance,
            Self::Factor(factor) => {
                let ratio = measured / reference;
                1.0 / factor <= ratio && ratio <= factor
            }
            Self::AtMost(limit) => measured.is_finite() && measured.abs() <= limit,
            Self::AtLeast(limit) => measured >= limit,
            Self::Same => measured == reference,
        }
    }
}

impl fmt::Display for Bar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relative(part) if *part >= 1e-3 => write!(f, "± {} %", rounded(100.0 * part)),
            Self::Relative(part) => write!(f, "± {part:e} rel"),
            Self::Absolute(distance) => write!(f, "± {}", rounded(*distance)),
            Self::Factor(factor) => write!(f, "× or ÷ {factor}"),
            Self::AtMost(limit) => write!(f, "≤ {}", rounded(*limit)),
            Self::AtLeast(limit) => write!(f, "≥ {}", rounded(*limit)),
            Self::Same => f.write_str("same"),
        }
    }
}

/// Three digits are enough for a bar.
fn rounded(number: f64) -> String {
    let short = format!("{number:.2e}").parse().unwrap_or(number);
    if short != 0.0 && f64::abs(short) < 1e-3 {
        return format!("{short:e}");
    }
    short.to_string()
}

impl serde::Serialize for Bar {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Meaning of a metric, by which it is judged if no published figure holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// It shows no error of the run.
    Figure,
    /// An error that may be small by chance: at an instant, or a sum in which errors cancel.
    Error,
    /// The greatest error of the run: the smaller, the better.
    GreatestError,
    /// A mean magnitude of the error over the run, such as its root mean square: the smaller, the better.
    MeanError,
}

impl Meaning {
    /// Whether it measures the error of the whole run.
    pub(crate) fn is_size_of_error(self) -> bool {
        matches!(self, Self::GreatestError | Self::MeanError)
    }
}

/// A metric: its name, its unit of measure and its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Metric {
    /// Name.
    pub(crate) name: &'static str,
    /// Unit; empty for words and ratios.
    pub(crate) unit: &'static str,
    pub(crate) meaning: Meaning,
}

impl Metric {
    pub(crate) const fn figure(name: &'static str, unit: &'static str) -> Self {
        Self::new(name, unit, Meaning::Figure)
    }

    pub(crate) const fn error(name: &'static str, unit: &'static str) -> Self {
        Self::new(name, unit, Meaning::Error)
    }

    pub(crate) const fn greatest_error(name: &'static str, unit: &'static str) -> Self {
        Self::new(name, unit, Meaning::GreatestError)
    }

    pub(crate) const fn mean_error(name: &'static str, unit: &'static str) -> Self {
        Self::new(name, unit, Meaning::MeanError)
    }

    const fn new(name: &'static str, unit: &'static str, meaning: Meaning) -> Self {
        Self {
            name,
            unit,
            meaning,
        }
    }
}

/// One row of the table.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct BenchmarkRow {
    /// Name of the benchmark.
    pub benchmark: &'static str,
    /// Name of the case.
    pub case: &'static str,
    /// Name of the configuration.
    pub configuration: &'static str,
    /// The metric.
    pub metric: &'static str,
    /// Its unit; empty for words and ratios.
    pub unit: &'static str,
    /// The measured figure.
    pub measured: Figure,
    /// The published figure; `None` if there is none.
    pub reference: Option<Figure>,
    /// How near the two have to be; `None` if the row is shown and not judged.
    pub tolerance: Option<Bar>,
    /// Where the reference is from.
    pub source: Option<&'static str>,
    /// Whether the bar is met; `None` if there is none.
    pub ok: Option<bool>,
    /// A remark.
    pub note: Option<String>,
    #[serde(skip)]
    pub(crate) meaning: Meaning,
}

impl BenchmarkRow {
    pub(crate) fn new(metric: Metric, measured: impl Into<Figure>) -> Self {
        Self {
            benchmark: "",
            case: "",
            configuration: "",
            metric: metric.name,
            unit: metric.unit,
            measured: measured.into(),
            reference: None,
            tolerance: None,
            source: None,
            ok: None,
            note: None,
            meaning: metric.meaning,
        }
    }

    /// Shows a reference and judges against it.
    pub(crate) fn against(
        mut self,
        reference: impl Into<Figure>,
        bar: Bar,
        source: &'static str,
    ) -> Self {
        let reference = reference.into();
        self.reference = Some(reference);
        self.tolerance = Some(bar);
        self.source = Some(source);
        self.ok = Some(bar.is_met(self.measured, reference));
        self
    }

    /// Shows a reference that the row is not judged by.
    pub(crate) fn beside(mut self, reference: impl Into<Figure>, source: &'static str) -> Self {
        self.reference = Some(reference.into());
        self.source = Some(source);
        self
    }

    /// Judges without a reference.
    pub(crate) fn within(mut self, bar: Bar, source: &'static str) -> Self {
        self.tolerance = Some(bar);
        self.source = Some(source);
        self.ok = Some(bar.is_met(self.measured, Figure::Number(0.0)));
        self
    }

    /// Takes the judgement away; the reference stays.
    pub(crate) fn not_judged(mut self) -> Self {
        self.tolerance = None;
        self.ok = None;
        self
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORCE: Metric = Metric::error("force", "N");

    #[test]
    fn bars() {
        let ok = |measured: f64, bar| {
            BenchmarkRow::new(FORCE, measured)
                .against(-10.0, bar, "")
                .ok
        };
        assert_eq!(ok(-10.1, Bar::Relative(0.011)), Some(true));
        assert_eq!(ok(-10.2, Bar::Relative(0.011)), Some(false));
        assert_eq!(ok(-10.5, Bar::Absolute(0.5)), Some(true));
        assert_eq!(ok(-9.4, Bar::Absolute(0.5)), Some(false));
        assert_eq!(ok(-3.4, Bar::Factor(3.0)), Some(true));
        assert_eq!(ok(-3.3, Bar::Factor(3.0)), Some(false));
        assert_eq!(ok(30.0, Bar::Factor(3.0)), Some(false));
        assert_eq!(ok(-3.0, Bar::AtMost(3.0)), Some(true));
        assert_eq!(ok(-3.1, Bar::AtMost(3.0)), Some(false));
        assert_eq!(ok(f64::INFINITY, Bar::AtMost(f64::INFINITY)), Some(false));
        assert_eq!(ok(2.0, Bar::AtLeast(3.0)), Some(false));
        for bar in [
            Bar::Relative(1.0),
            Bar::Absolute(1.0),
            Bar::AtMost(1.0),
            Bar::AtLeast(1.0),
        ] {
            assert_eq!(ok(f64::NAN, bar), Some(false), "{bar}");
        }
        let word = |measured: &'static str| {
            BenchmarkRow::new(FORCE, measured).against("helped", Bar::Same, "")
        };
        assert_eq!(word("helped").ok, Some(true));
        assert_eq!(word("harmed").ok, Some(false));
    }

    #[test]
    fn bars_are_short() {
        let texts = [
            (Bar::Relative(1e-6), "± 1e-6 rel"),
            (Bar::Relative(0.1), "± 10 %"),
            (Bar::AtMost(20_677.128_671), "≤ 20700"),
            (Bar::AtMost(5e-7), "≤ 5e-7"),
        ];
        for (bar, text) in texts {
            assert_eq!(bar.to_string(), text);
        }
    }
}
