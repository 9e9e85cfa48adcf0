//! The messages of a run to its page, which are lines of JSON between processes and events of the page.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::live::bucket::Bucket;

/// A message of a run, or of a study, to its page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Message {
    /// The run is at its first communication point.
    Begin(Begin),
    /// The course of the signals since the last such message.
    Points {
        /// The stretches of time.
        points: Vec<Bucket>,
    },
    /// How the run stands.
    State(State),
    /// The outcome of a command.
    Answer(Answer),
    /// The table of a study begins.
    Table(Table),
    /// Rows of the table as comma-separated values, each with its place in the table.
    Rows {
        /// The rows.
        rows: Vec<(usize, String)>,
        /// Rows that are finished, with those that are not shown any more.
        done: usize,
    },
    /// The run has ended. Nothing follows.
    End(End),
}

/// The description of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Begin {
    /// The system file or the FMU.
    pub system: String,
    /// Simulated time at the start, s.
    pub start_time: f64,
    /// Simulated time at the end, s; `None` if it has no end.
    pub stop_time: Option<f64>,
    /// Macro-step, s.
    pub step_size: f64,
    /// Simulated seconds a second that the run is held to.
    pub real_time: Option<f64>,
    /// The signals of the points.
    pub signals: Vec<Signal>,
    /// Signals that are not shown, because there are too many.
    pub left_out: usize,
    /// Variables that can be overridden.
    pub writable: Vec<Writable>,
    /// Warnings of reading and starting it.
    pub warnings: Vec<String>,
    /// The graph of the system, as SVG.
    pub graph: Option<String>,
}

/// A signal that is shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Signal {
    /// `component.variable`, or a value of a bond.
    pub name: String,
    /// Unit, if it is known.
    pub unit: Option<String>,
}

/// A variable that can be overridden.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Writable {
    /// `component.variable`.
    pub name: String,
    /// `real`, `integer`, `boolean` or `enumeration`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Unit, if it is known.
    pub unit: Option<String>,
    /// Whether it is a parameter.
    pub is_parameter: bool,
    /// Items of an enumeration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<String>,
}

/// How a run stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Simulated time, s.
    pub time: f64,
    /// Macro-steps made.
    pub steps: u64,
    /// Whether a page holds it.
    pub is_paused: bool,
    /// Time since the first step, s.
    pub elapsed: f64,
    /// The report so far, with the keys of the summary.
    pub report: Value,
}

/// The outcome of a command that is not seen otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// One sentence.
    pub text: String,
    /// The command was refused.
    pub is_error: bool,
}

/// The table of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// The study file.
    pub study: String,
    /// Names of the columns of the rows.
    pub columns: Vec<String>,
    /// Rows of the whole table, or of the part that is made.
    pub total: usize,
}

/// How a run has ended.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct End {
    /// One sentence.
    pub text: String,
    /// It has failed, or was judged to.
    pub is_failure: bool,
    /// The summary, if there is one.
    pub summary: Option<Value>,
    /// The signals of the whole run in the form that the drawing of the page reads; browsers get what it makes of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drawing: Option<Value>,
}
