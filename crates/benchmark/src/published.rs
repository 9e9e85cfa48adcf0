//! Published figures and how near a run has to come: the files of `data/`, one a benchmark.
//!
//! A line names case, configuration and metric of a row, its unit, the figure, the norm and the tolerance
//! of the comparison, and the source. Lines without a norm are shown beside the row and not judged.
//! The scripts in `reference/` compute the figures and are checked against the same files.

use std::sync::LazyLock;

use crate::row::{Bar, BenchmarkRow, Figure};

/// The data file of each benchmark.
static FILES: &[(&str, &str)] = &[
    (
        "double-oscillator",
        include_str!("../data/double-oscillator.csv"),
    ),
    (
        "multiple-oscillator",
        include_str!("../data/multiple-oscillator.csv"),
    ),
    (
        "nonlinear-oscillator",
        include_str!("../data/nonlinear-oscillator.csv"),
    ),
    (
        "oscillator-order",
        include_str!("../data/oscillator-order.csv"),
    ),
    ("residual-share", include_str!("../data/residual-share.csv")),
    ("pendula", include_str!("../data/pendula.csv")),
    ("crane-energy", include_str!("../data/crane-energy.csv")),
    ("crane", include_str!("../data/crane.csv")),
    ("quarter-car", include_str!("../data/quarter-car.csv")),
    ("learning", include_str!("../data/learning.csv")),
    ("dual-mass", include_str!("../data/dual-mass.csv")),
    ("sweep-signal", include_str!("../data/sweep-signal.csv")),
    ("step-changes", include_str!("../data/step-changes.csv")),
    ("epas-stand-in", include_str!("../data/epas-stand-in.csv")),
];

/// A line of a data file.
#[derive(Debug, serde::Deserialize)]
struct Line {
    case: String,
    configuration: String,
    metric: String,
    /// A number or a word; empty if the tolerance alone judges.
    value: String,
    unit: String,
    norm: Norm,
    tolerance: Option<f64>,
    source: String,
}

/// How a figure and a measurement are compared.
#[derive(Debug, Clone, Copy, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Norm {
    /// Not at all: the figure is shown.
    #[serde(rename = "")]
    None,
    /// The distance in terms of the figure.
    Relative,
    /// The distance in the unit of the row.
    Absolute,
    /// The ratio.
    Factor,
    /// The magnitude, whatever the figure is.
    #[serde(rename = "at most")]
    AtMost,
    /// The number, whatever the figure is.
    #[serde(rename = "at least")]
    AtLeast,
    /// Equality.
    Same,
}

/// A figure for a row of a benchmark.
struct Published {
    benchmark: &'static str,
    line: Line,
    figure: Option<f64>,
}

impl Published {
    fn new(benchmark: &'static str, line: Line) -> Self {
        let figure = line.value.parse().ok();
        Self {
            benchmark,
            line,
            figure,
        }
    }

    fn is_of(&self, row: &BenchmarkRow) -> bool {
        self.benchmark == row.benchmark
            && self.line.case == row.case
            && self.line.configuration == row.configuration
            && self.line.metric == row.metric
            && self.line.unit == row.unit
    }

    /// The figure, in the words of the file.
    fn figure(&'static self) -> Option<Figure> {
        match self.figure {
            Some(number) => Some(Figure::Number(number)),
            None if self.line.value.is_empty() => None,
            None => Some(Figure::Word(&self.line.value)),
        }
    }

    /// The bar; `None` if the row is not judged, and if the tolerance is missing, which a test excludes.
    fn bar(&self) -> Option<Bar> {
        let tolerance = self.line.tolerance;
        match self.line.norm {
            Norm::None => None,
            Norm::Relative => tolerance.map(Bar::Relative),
            Norm::Absolute => tolerance.map(Bar::Absolute),
            Norm::Factor => tolerance.map(Bar::Factor),
            Norm::AtMost => tolerance.map(Bar::AtMost),
            Norm::AtLeast => tolerance.map(Bar::AtLeast),
            Norm::Same => Some(Bar::Same),
        }
    }
}

/// All lines of all files, in their order.
static PUBLISHED: LazyLock<Vec<Published>> = LazyLock::new(|| {
    read().expect("the data files are part of the program, and a test reads them")
});

fn read() -> Result<Vec<Published>, csv::Error> {
    let mut all = Vec::new();
    for (benchmark, text) in FILES {
        let mut reader = csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .from_reader(text.as_bytes());
        for line in reader.deserialize() {
            all.push(Published::new(benchmark, line?));
        }
    }
    Ok(all)
}

/// Judges a row by what is published for it; a row that is judged already stays as it is.
pub(crate) fn judge(row: BenchmarkRow) -> BenchmarkRow {
    if row.tolerance.is_some() || row.reference.is_some() {
        return row;
    }
    let Some(published) = PUBLISHED.iter().find(|published| published.is_of(&row)) else {
        return row;
    };
    let source = published.line.source.as_str();
    match (published.figure(), published.bar()) {
        (Some(figure), Some(bar)) => row.against(figure, bar, source),
        (Some(figure), None) => row.beside(figure, source),
        (None, Some(bar)) => row.within(bar, source),
        (None, None) => row,
    }
}

/// Case, configuration and metric of the rows of a benchmark that published figures judge.
pub(crate) fn names(benchmark: &'static str) -> impl Iterator<Item = [&'static str; 3]> {
    PUBLISHED
        .iter()
        .filter(move |published| published.benchmark == benchmark && published.bar().is_some())
        .map(|published| {
            let line = &published.line;
            [&line.case, &line.configuration, &line.metric].map(String::as_str)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BENCHMARKS;

    #[test]
    fn every_line_names_a_case_and_can_be_judged() {
        let mut names = Vec::new();
        for published in read().unwrap() {
            let line = &published.line;
            let benchmark = BENCHMARKS
                .iter()
                .find(|benchmark| benchmark.name == published.benchmark);
            assert!(benchmark.unwrap().case(&line.case).is_some(), "{line:?}");
            assert!(!line.source.is_empty(), "{line:?}");
            let needs_figure = match line.norm {
                Norm::AtMost | Norm::AtLeast => false,
                Norm::None | Norm::Same => !line.value.is_empty(),
                Norm::Relative | Norm::Absolute | Norm::Factor => true,
            };
            let needs_tolerance = !matches!(line.norm, Norm::None | Norm::Same);
            assert!(
                published.figure.is_some() || !needs_figure || matches!(line.norm, Norm::Same),
                "{line:?}"
            );
            assert_eq!(line.tolerance.is_some(), needs_tolerance, "{line:?}");
            names.push((
                published.benchmark,
                line.case.clone(),
                line.configuration.clone(),
                line.metric.clone(),
            ));
        }
        let lines = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), lines);
    }
}
