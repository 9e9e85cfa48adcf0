//! The error bars of a run: its companions are started before it, and compared with it after it.

use std::sync::atomic::AtomicBool;

use gyrator::record::Selection;
use gyrator::{Recorder, Report, Run};
use gyrator_assess::{ErrorBar, assess};
use gyrator_record::{Column, Decimated, Decimator, MemoryRows, Table};
use gyrator_system::{Problem, SystemFile};

use crate::aligned::{Align, Aligned};
use crate::companions::Companions;
use crate::failure::Failure;
use crate::numbers::{figure, short};
use crate::options::ExecutionOptions;
use crate::recorder::{ResultFile, recorder};

/// Signals that are shown to people; programs get all.
const SHOWN: usize = 20;

/// A run whose error is being estimated.
pub(crate) struct Assessment {
    companions: Companions,
    rows: MemoryRows,
    columns: Vec<Column>,
    step_size: f64,
    wanted: f64,
}

/// The findings.
#[derive(Debug, Default)]
pub(crate) struct Assessed {
    /// One error bar for each recorded signal, and the verdict of all.
    pub(crate) assessment: gyrator_assess::Assessment,
    /// The columns of the errors, `error.VARIABLE`.
    columns: Vec<Column>,
    /// Times of the rows, s.
    times: Vec<f64>,
    /// The relative error for which a macro-step is given.
    pub(crate) wanted: f64,
}

impl Assessment {
    /// Starts the companions of the run of `system`, whose rows are `interval` apart, s; every communication point
    /// if `None`. `wanted` is a relative error.
    ///
    /// # Errors
    /// If its macro-step is not fixed.
    pub(crate) fn start(
        system: &SystemFile,
        wanted: f64,
        interval: Option<f64>,
        execution: &ExecutionOptions,
    ) -> Result<Self, Failure> {
        let experiment = &system.experiment;
        if let Some(control) = &experiment.step_control
            && control.name.value != "fixed"
        {
            let text = "error bars compare runs with fixed macro-steps";
            let problem = Problem::error("variable-macro-step", text).at(&control.name.span);
            let help = "leave `step_control` out, or run without --error-bars";
            return Err(system.problems(vec![problem.help(help)]).into());
        }
        let step_size = experiment
            .step_size
            .as_ref()
            .map_or(f64::NAN, |step| step.value);
        let interval = interval.unwrap_or(step_size);
        Ok(Self {
            companions: Companions::start(execution, rows_apart(interval, step_size)),
            rows: MemoryRows::default(),
            columns: Vec::new(),
            step_size,
            wanted,
        })
    }

    /// A recorder of the run, which keeps the signals in memory.
    pub(crate) fn recorder(
        &mut self,
        selection: Selection,
        run: &Run,
    ) -> Result<Recorder, Failure> {
        let mut selection = selection;
        selection.reals_only = true;
        let rows = ResultFile::of(Box::new(self.rows.clone()));
        let recorder = recorder(selection, run, rows)?;
        self.columns = recorder.columns().to_vec();
        Ok(recorder)
    }

    /// Waits for the companions and estimates the errors.
    pub(crate) fn finish(self, interrupt: &AtomicBool) -> Assessed {
        let variables: Vec<String> = self
            .columns
            .iter()
            .map(|column| column.name.clone())
            .collect();
        let (rows, mut companions): (Table, _) = (self.rows.take().into(), self.companions);
        let companion = |factor| companions.rows(factor, interrupt);
        let assessment = assess(&rows, self.step_size, &variables, self.wanted, companion);
        let column = |column: &Column| Column {
            name: format!("error.{}", column.name),
            ..column.clone()
        };
        Assessed {
            assessment,
            columns: self.columns.iter().map(column).collect(),
            times: rows.time,
            wanted: self.wanted,
        }
    }
}

/// The interval of rows as the recorder makes it: a whole number of macro-steps.
fn rows_apart(interval: f64, step_size: f64) -> f64 {
    (interval / step_size).round().max(1.0) * step_size
}

impl Assessed {
    /// Whether the bars have given the verdict of a report.
    pub(crate) fn has_judged(&self, report: &Report) -> bool {
        self.assessment.verdict == Some(report.verdict)
    }

    /// The error bars of the signals that have some, as columns, decimated by the times of the rows.
    pub(crate) fn decimated(
        &self,
        is_wanted: impl Fn(&str) -> bool,
        stretches: usize,
    ) -> Decimated {
        let bars = self.assessment.bars.iter().zip(&self.columns);
        let known = bars.filter(|(bar, _)| is_wanted(&bar.variable) && !bar.bars.is_empty());
        let (values, columns): (Vec<&[f64]>, Vec<Column>) = known
            .map(|(bar, column)| (&*bar.bars, column.clone()))
            .unzip();
        let mut decimator = Decimator::new(values.len(), stretches);
        decimator.push(&self.times, &values);
        decimator.decimated(&columns)
    }

    /// Adds the columns of the errors to the results; NaN if the error is not known. False if the output takes no
    /// more columns.
    pub(crate) fn add_columns(
        &self,
        file: &ResultFile,
    ) -> Result<bool, gyrator_record::RecordError> {
        let rows = usize::try_from(file.size().0).unwrap_or(usize::MAX);
        let values = self
            .assessment
            .bars
            .iter()
            .map(|bar| match bar.bars.is_empty() {
                true => vec![f64::NAN; rows],
                false => bar.bars.clone(),
            });
        let values: Vec<Vec<f64>> = values.collect();
        let values: Vec<&[f64]> = values.iter().map(Vec::as_slice).collect();
        file.add_columns(&self.columns, &values)
    }

    /// A table for people, of the signals with the worst verdicts if there are many.
    pub(crate) fn table(&self) -> String {
        let wanted = format!("step for {} %, s", short(100.0 * self.wanted));
        let mut table = Aligned::new(&[
            ("error, estimated", Align::Left),
            ("RMS", Align::Right),
            ("greatest", Align::Right),
            ("order", Align::Right),
            (&wanted, Align::Right),
            ("verdict", Align::Left),
        ]);
        let mut order: Vec<&ErrorBar> = self.assessment.bars.iter().collect();
        if order.len() > SHOWN {
            order.sort_by_key(|bar| std::cmp::Reverse(bar.verdict));
        }
        let number = |value: Option<f64>| value.map(figure).unwrap_or_default();
        for bar in order.iter().take(SHOWN) {
            let verdict = match &bar.reason {
                Some(reason) => format!("{}: {reason}", bar.verdict),
                None => bar.verdict.to_string(),
            };
            table.row([
                bar.variable.clone(),
                number(bar.error),
                number(bar.max_error),
                bar.order
                    .map(|order| format!("{order:.1}"))
                    .unwrap_or_default(),
                match (bar.step_for.map(short), bar.is_largest_step) {
                    (Some(step), true) => format!("\u{2265} {step}"),
                    (step, _) => step.unwrap_or_default(),
                },
                verdict,
            ]);
        }
        let more = self.assessment.bars.len().saturating_sub(SHOWN);
        match more {
            0 => table.render(),
            more => format!("{}and {more} more, which --summary lists\n", table.render()),
        }
    }
}
