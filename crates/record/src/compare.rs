//! How far a result is from a reference.

use std::fmt;

use crate::table::{Place, Series, Side, Table, Values};

/// Tolerance of equality: |result − reference| ≤ `absolute` + `relative`·|reference|.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// Part of the reference's value.
    pub relative: f64,
    /// In the unit of the column; where a signal crosses zero, it alone counts.
    pub absolute: f64,
    /// Accepts a lone sample that is out of tolerance if the result has the value there that the
    /// reference has one sample earlier or later. Tools that sum their steps see an event one sample
    /// apart from tools that compute their times.
    pub sample_shift: bool,
}

/// How far a result is from a reference, column by column.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Columns of the reference that the result has, in the order of the reference.
    pub columns: Vec<ColumnComparison>,
    /// Names of the reference's columns that the result lacks.
    pub missing: Vec<String>,
    /// Names of the result's columns that the reference lacks.
    pub additional: Vec<String>,
    /// Number of the reference's rows outside of the result's time, which fail all columns.
    pub uncovered: usize,
    /// Number of the result's rows outside of the reference's time, which are not compared.
    pub additional_rows: usize,
    /// First and last time of the reference, s.
    pub period: Option<(f64, f64)>,
}

/// How far one column is from its reference.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnComparison {
    /// Name of the column.
    pub name: String,
    /// Largest |result − reference|; infinite if only one of the two is NaN, or texts differ.
    pub max_absolute: f64,
    /// Largest |result − reference| / |reference|, over samples with a reference other than 0.
    pub max_relative: f64,
    /// `max_absolute` over the range of the reference, of finite values; over its size if it is constant.
    pub of_range: f64,
    /// Root of the mean squared deviation.
    pub rms: f64,
    /// Time in s of the first sample out of tolerance.
    pub first_out_of_tolerance: Option<f64>,
    /// Number of samples out of tolerance.
    pub out_of_tolerance: usize,
    /// Number of samples that [`Tolerance::sample_shift`] accepted; they count in no other figure.
    pub shifted: usize,
    /// Number of samples compared.
    pub compared: usize,
    /// Number of the reference's samples outside of the result's time.
    pub uncovered: usize,
}

impl ColumnComparison {
    /// Whether every sample of the reference was met.
    pub fn holds(&self) -> bool {
        self.out_of_tolerance == 0 && self.uncovered == 0
    }
}

impl Comparison {
    /// Whether any sample was compared.
    pub fn has_samples(&self) -> bool {
        self.columns.iter().any(|column| column.compared > 0)
    }

    /// Whether every sample of every column of the reference was met. False if there is none.
    pub fn holds(&self) -> bool {
        self.has_samples()
            && self.missing.is_empty()
            && self.columns.iter().all(ColumnComparison::holds)
    }
}

/// What is not compared, and how many columns are within tolerance.
impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.columns.len() + self.missing.len();
        for name in &self.missing {
            writeln!(f, "`{name}` is missing in the result")?;
        }
        if self.uncovered > 0 && !self.columns.is_empty() {
            let rows = rows(self.uncovered);
            writeln!(f, "{rows} of the reference outside of the result's time")?;
        }
        if !self.additional.is_empty() {
            let (columns, names) = (self.additional.len(), listed(&self.additional));
            let of_all = self.columns.len() + columns;
            writeln!(
                f,
                "not compared: {columns} of the result's {of_all} columns, which the reference lacks: {names}"
            )?;
        }
        if let (Some((first, last)), true) = (self.period, self.additional_rows > 0) {
            let rows = rows(self.additional_rows);
            writeln!(
                f,
                "not compared: {rows} of the result outside of the reference's time, {first} to {last} s"
            )?;
        }
        if !self.has_samples() && self.missing.is_empty() {
            let absent = if self.columns.is_empty() {
                "columns besides the time"
            } else {
                "rows within the result's time"
            };
            return write!(f, "no sample is compared: the reference has no {absent}");
        }
        let held = self.columns.iter().filter(|column| column.holds()).count();
        write!(f, "{held} of {all} columns are within tolerance")
    }
}

fn rows(number: usize) -> String {
    match number {
        1 => "1 row".to_owned(),
        more => format!("{more} rows"),
    }
}

/// Some names, and the number of the others.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 5;
    match names.len().saturating_sub(SHOWN) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..SHOWN].join(", ")),
    }
}

impl fmt::Display for ColumnComparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            out_of_tolerance,
            compared,
            max_absolute,
            max_relative,
            rms,
            ..
        } = self;
        write!(
            f,
            "`{name}`: {out_of_tolerance} of {compared} samples out of tolerance"
        )?;
        if let Some(time) = self.first_out_of_tolerance {
            write!(f, ", first at t = {time} s")?;
        }
        if self.uncovered > 0 {
            write!(f, ", {} outside of the result's time", self.uncovered)?;
        }
        write!(
            f,
            "; max. deviation {max_absolute:.3e} (relative {max_relative:.3e}), RMS {rms:.3e}"
        )
    }
}

/// Compares a result with a reference at the reference's times; columns are found by name.
///
/// Between its rows the result is interpolated linearly. Of two rows with the same time, the first
/// is compared with the result before the event and the others with the result after it. Texts are
/// equal or not.
pub fn compare(result: &Table, reference: &Table, tolerance: &Tolerance) -> Comparison {
    let places = places(result, reference);
    let (found, wanted) = (result.by_name(), reference.by_name());
    let mut comparison = Comparison {
        columns: Vec::new(),
        missing: Vec::new(),
        additional: Vec::new(),
        uncovered: places.iter().filter(|place| place.is_none()).count(),
        additional_rows: rows_outside(result, reference),
        period: reference
            .time
            .first()
            .copied()
            .zip(reference.time.last().copied()),
    };
    for expected in &reference.series {
        match found.get(&*expected.name) {
            Some(found) => comparison.columns.push(compare_columns(
                found,
                expected,
                &places,
                &reference.time,
                tolerance,
            )),
            None => comparison.missing.push(expected.name.clone()),
        }
    }
    let additional = result
        .series
        .iter()
        .filter(|series| !wanted.contains_key(&*series.name));
    comparison.additional = additional.map(|series| series.name.clone()).collect();
    comparison
}

/// Rows of the result outside of the reference's time, but for rounding.
fn rows_outside(result: &Table, reference: &Table) -> usize {
    let covers = |time: &&f64| reference.place(**time, Side::After).is_some();
    match reference.time.is_empty() {
        true => 0,
        false => result.time.len() - result.time.iter().filter(covers).count(),
    }
}

/// The place in the result of each sample of the reference.
fn places(result: &Table, reference: &Table) -> Vec<Option<Place>> {
    if result.time == reference.time {
        return (0..result.time.len())
            .map(|row| Some(Place { row, fraction: 0.0 }))
            .collect();
    }
    let place = |(row, time): (usize, &f64)| {
        let is_before_event = reference.time.get(row + 1) == Some(time);
        result.place(
            *time,
            if is_before_event {
                Side::Before
            } else {
                Side::After
            },
        )
    };
    reference.time.iter().enumerate().map(place).collect()
}

/// Deviation of one sample from the reference.
#[derive(Debug, Clone, Copy)]
struct Deviation {
    absolute: f64,
    /// |reference|, or 0 for text.
    size: f64,
    within: bool,
}

fn compare_columns(
    found: &Series,
    expected: &Series,
    places: &[Option<Place>],
    times: &[f64],
    tolerance: &Tolerance,
) -> ColumnComparison {
    let allowed = |size: f64| tolerance.absolute + tolerance.relative * size;
    let deviation = |row: usize, place: Place| deviation(found, place, expected, row, allowed);
    let samples: Vec<_> = places
        .iter()
        .enumerate()
        .map(|(row, place)| place.map(|place| deviation(row, place)))
        .collect();
    let is_out = |row: usize| {
        samples
            .get(row)
            .copied()
            .flatten()
            .is_some_and(|one| !one.within)
    };
    let is_shifted = |row: usize, place: Place| {
        let alone = is_out(row) && !is_out(row + 1) && !(row > 0 && is_out(row - 1));
        let has_value_of = |other: usize| other < times.len() && deviation(other, place).within;
        let beside = has_value_of(row + 1) || row > 0 && has_value_of(row - 1);
        tolerance.sample_shift && alone && beside
    };
    let mut figures = Figures::default();
    let mut shifted = 0;
    for (row, (sample, place)) in samples.iter().zip(places).enumerate() {
        match sample.zip(*place) {
            Some((_, place)) if is_shifted(row, place) => shifted += 1,
            Some((sample, _)) => figures.add(sample, times[row]),
            None => {}
        }
    }
    ColumnComparison {
        name: expected.name.clone(),
        max_absolute: figures.max_absolute,
        max_relative: figures.max_relative,
        of_range: figures.max_absolute / range(&expected.values),
        rms: figures.rms(),
        first_out_of_tolerance: figures.first_out,
        out_of_tolerance: figures.out,
        shifted,
        compared: figures.count + shifted,
        uncovered: places.iter().filter(|place| place.is_none()).count(),
    }
}

/// The difference of the greatest and the least finite value; |value| if they are equal, and 1 if that is 0.
fn range(values: &Values) -> f64 {
    let Values::Numbers(numbers) = values else {
        return 1.0;
    };
    let finite = numbers.iter().copied().filter(|number| number.is_finite());
    let ends = finite.fold(None, |ends: Option<(f64, f64)>, number| {
        let (least, greatest) = ends.unwrap_or((number, number));
        Some((least.min(number), greatest.max(number)))
    });
    let (least, greatest) = ends.unwrap_or_default();
    let candidates = [greatest - least, greatest.abs()];
    candidates
        .into_iter()
        .find(|range| *range > 0.0)
        .unwrap_or(1.0)
}

/// Statistics over the samples of a column.
#[derive(Debug, Default)]
struct Figures {
    max_absolute: f64,
    max_relative: f64,
    sum_of_squares: f64,
    first_out: Option<f64>,
    out: usize,
    count: usize,
}

impl Figures {
    fn add(&mut self, sample: Deviation, time: f64) {
        self.count += 1;
        self.max_absolute = self.max_absolute.max(sample.absolute);
        if sample.size > 0.0 && sample.size.is_finite() {
            self.max_relative = self.max_relative.max(sample.absolute / sample.size);
        }
        self.sum_of_squares += sample.absolute * sample.absolute;
        if !sample.within {
            self.out += 1;
            self.first_out.get_or_insert(time);
        }
    }

    fn rms(&self) -> f64 {
        if self.count == 0 {
            0.0
        } else {
            (self.sum_of_squares / self.count as f64).sqrt()
        }
    }
}

fn deviation(
    found: &Series,
    place: Place,
    expected: &Series,
    row: usize,
    allowed: impl Fn(f64) -> f64,
) -> Deviation {
    match (&found.values, &expected.values) {
        (Values::Numbers(found), Values::Numbers(expected)) => {
            deviation_of_numbers(place.interpolate(found), expected[row], allowed)
        }
        (Values::Text(found), Values::Text(expected)) => {
            equal_or_not(found[place.row] == expected[row])
        }
        _ => equal_or_not(false),
    }
}

fn deviation_of_numbers(found: f64, expected: f64, allowed: impl Fn(f64) -> f64) -> Deviation {
    if found == expected || found.is_nan() && expected.is_nan() {
        return Deviation {
            size: expected.abs(),
            ..equal_or_not(true)
        };
    }
    let absolute = (found - expected).abs();
    if !absolute.is_finite() {
        return equal_or_not(false);
    }
    let size = expected.abs();
    let within = absolute <= allowed(size);
    Deviation {
        absolute,
        size,
        within,
    }
}

fn equal_or_not(equal: bool) -> Deviation {
    let absolute = if equal { 0.0 } else { f64::INFINITY };
    Deviation {
        absolute,
        size: 0.0,
        within: equal,
    }
}
