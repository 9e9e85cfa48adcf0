//! Differences between results and measured values.

use gyrator_record::{ReadTableError, Table, read_table};

use crate::fit::fit_file::FitFile;

/// Measured values of the signals of a fit.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Times, s.
    pub time: Vec<f64>,
    signals: Vec<MeasuredSignal>,
}

/// The measured values of a signal.
#[derive(Debug, Clone)]
struct MeasuredSignal {
    /// The output that they are compared with.
    variable: String,
    values: Vec<f64>,
    /// The weight of the file over the standard deviation of the values.
    weight: f64,
}

/// Why measured values cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MeasuredError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadTableError),
    /// A column is missing, is none of numbers, or has gaps.
    #[error("{0}")]
    Column(String),
}

impl Measured {
    /// Reads the measured values of a fit.
    ///
    /// # Errors
    ///
    /// [`MeasuredError`].
    pub fn read(file: &FitFile) -> Result<Self, MeasuredError> {
        Self::of(&read_table(&file.measured)?, file)
    }

    pub(crate) fn of(table: &Table, file: &FitFile) -> Result<Self, MeasuredError> {
        let place = file.measured.display();
        if let Some(row) = table.time.windows(2).position(|pair| pair[0] >= pair[1]) {
            let row = row + 2;
            return Err(MeasuredError::Column(format!(
                "{place}: the time does not rise in row {row}"
            )));
        }
        let mut signals = Vec::new();
        for signal in &file.signals {
            let column = table.column(&signal.column).and_then(|c| c.numbers());
            let column = column.ok_or_else(|| {
                let name = &signal.column;
                MeasuredError::Column(format!("{place}: there is no column `{name}` of numbers"))
            })?;
            if let Some(row) = column.iter().position(|value| !value.is_finite()) {
                let (name, time, row) = (&signal.column, table.time[row], row + 1);
                return Err(MeasuredError::Column(format!(
                    "{place}: `{name}` has no finite value at t = {time} s (row {row}): delete the row, or fill the gap"
                )));
            }
            let deviation = deviation(column);
            let scale = if deviation > 0.0 { deviation } else { 1.0 };
            signals.push(MeasuredSignal {
                variable: signal.variable.clone(),
                values: column.to_vec(),
                weight: signal.weight / scale,
            });
        }
        Ok(Self {
            time: table.time.clone(),
            signals,
        })
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> usize {
        self.time.len() * self.signals.len()
    }

    /// Weighted differences of the results, which come signal by signal.
    ///
    /// # Errors
    /// The first signal without a value at a measured time.
    pub(crate) fn residuals(&self, results: &[f64]) -> Result<Vec<f64>, String> {
        let mut results = results.iter().copied();
        let mut residuals = Vec::with_capacity(self.count());
        for signal in &self.signals {
            for (time, value) in self.time.iter().zip(&signal.values) {
                let result = results.next().filter(|result| result.is_finite());
                let result = result.ok_or_else(|| {
                    format!(
                        "`{}` has no value at the measured time {time} s",
                        signal.variable
                    )
                })?;
                residuals.push(signal.weight * (result - value));
            }
        }
        Ok(residuals)
    }
}

fn deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let square = values.iter().map(|value| (value - mean) * (value - mean));
    libm::sqrt(square.sum::<f64>() / values.len() as f64)
}
