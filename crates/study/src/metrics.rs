//! Measurements of a run, while it runs.

use gyrator::View;
use gyrator::graph::Graph;
use gyrator_record::is_same_time;

use crate::cell::{Column, ColumnKind};
use crate::probe::Probe;
use crate::reference::{Cursor, ReferenceTrajectory};
use crate::samples::Samples;

/// Statistic of a variable. Means are taken over the communication points of the run, as
/// they are, the first one included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// The last value.
    Final,
    /// The least value.
    Minimum,
    /// The greatest value.
    Maximum,
    /// The root of the mean square.
    Rms,
    /// The root of the mean squared difference to the reference.
    ErrorRms,
    /// [`ErrorRms`](Self::ErrorRms) over the greatest less the least value of the reference in the window.
    Nrms,
    /// The value at a given time, on the straight line between two communication points.
    Value,
}

impl Quantity {
    /// The key of each in a study file, in the order of the columns.
    pub const ALL: &[(&'static str, Self)] = &[
        ("final", Self::Final),
        ("minimum", Self::Minimum),
        ("maximum", Self::Maximum),
        ("rms", Self::Rms),
        ("error_rms", Self::ErrorRms),
        ("nrms", Self::Nrms),
        ("value", Self::Value),
    ];

    /// Whether it needs a reference.
    #[must_use]
    pub fn is_error(self) -> bool {
        matches!(self, Self::ErrorRms | Self::Nrms)
    }

    fn key(self) -> &'static str {
        let found = Self::ALL.iter().find(|(_, quantity)| *quantity == self);
        found.map_or("", |(key, _)| key)
    }
}

/// The part of a run that is looked at, s; both ends belong to it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// From when on.
    pub from: f64,
    /// Until when.
    pub to: f64,
}

impl Window {
    /// Whether a time of a run with the macro-step `step` lies in it; a time that misses an end by rounding
    /// does.
    fn contains(self, time: f64, step: f64) -> bool {
        let is_end = |end: f64| is_same_time(time, end, step);
        self.from <= time && time <= self.to || is_end(self.from) || is_end(self.to)
    }
}

/// One number that is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Metric {
    /// The measured quantity.
    pub quantity: Quantity,
    /// The measured variable: an output `component.variable`, or `bond.<name>.<value>` with the values
    /// of a result file.
    pub variable: String,
    /// When; always if `None`.
    pub window: Option<Window>,
    /// The time of a [`Quantity::Value`], s.
    pub at: Option<f64>,
    /// Name of the group it belongs to.
    pub name: Option<String>,
}

impl Metric {
    /// Name of its column: `nrms.left.f`, or `late.nrms.left.f` in the group `late`; `value.left.f@0.5` of a time.
    #[must_use]
    pub fn column(&self) -> String {
        let at = self.at.map_or(String::new(), |time| format!("@{time}"));
        let name = self
            .name
            .as_ref()
            .map_or(String::new(), |name| format!("{name}."));
        format!("{name}{}.{}{at}", self.quantity.key(), self.variable)
    }

    pub(crate) fn table_column(&self, unit: Option<String>) -> Column {
        Column {
            name: self.column(),
            kind: ColumnKind::Real,
            unit: unit.filter(|_| self.quantity != Quantity::Nrms),
        }
    }
}

/// Measures a run.
pub(crate) struct Meter {
    gauges: Vec<Gauge>,
    samples: Samples,
    /// For each metric, its place among the gauges or among the samples.
    places: Vec<MeterPlace>,
}

#[derive(Clone, Copy)]
enum MeterPlace {
    Gauge(usize),
    Sample(usize),
}

struct Gauge {
    quantity: Quantity,
    probe: Probe,
    window: Option<Window>,
    macro_step: f64,
    /// Place of the variable on the reference's trajectory.
    track: usize,
    /// The last, least or greatest value, or the sum of squares.
    value: f64,
    points: u64,
    /// A point that the reference does not have.
    is_uncovered: bool,
}

impl Meter {
    /// Finds the variables to be measured in a system; the first one that it lacks is an error.
    pub(crate) fn new(metrics: &[Metric], graph: &Graph) -> Result<Self, String> {
        let tracks = tracks(metrics);
        let gauge = |metric: &Metric| {
            let (probe, _) = Probe::find(&metric.variable, graph)?;
            Ok::<_, String>(Gauge {
                quantity: metric.quantity,
                probe,
                window: metric.window,
                macro_step: graph.macro_step(),
                track: tracks
                    .iter()
                    .position(|name| *name == metric.variable)
                    .unwrap_or(0),
                value: match metric.quantity {
                    Quantity::Minimum => f64::INFINITY,
                    Quantity::Maximum => f64::NEG_INFINITY,
                    _ => 0.0,
                },
                points: 0,
                is_uncovered: false,
            })
        };
        let (mut gauges, mut samples) = (Vec::new(), Samples::new(graph.macro_step()));
        let mut places = Vec::new();
        for metric in metrics {
            places.push(match metric.at {
                Some(time) => MeterPlace::Sample(samples.add(&metric.variable, time, graph)?),
                None => {
                    gauges.push(gauge(metric)?);
                    MeterPlace::Gauge(gauges.len() - 1)
                }
            });
        }
        samples.sort();
        Ok(Self {
            gauges,
            samples,
            places,
        })
    }

    /// Takes a communication point.
    pub(crate) fn update(&mut self, view: &View<'_>, mut reference: Option<&mut Cursor<'_>>) {
        let sample = match reference.as_mut() {
            Some(cursor) => cursor.seek(view.time),
            None => None,
        };
        self.samples.update(view);
        for gauge in &mut self.gauges {
            if !gauge.is_due(view.time) {
                continue;
            }
            let value = gauge.probe.value(view);
            match gauge.quantity {
                Quantity::Final | Quantity::Value => gauge.value = value,
                // A NaN counts: the comparison of `f64::min` would pass over it.
                Quantity::Minimum if value < gauge.value || value.is_nan() => gauge.value = value,
                Quantity::Maximum if value > gauge.value || value.is_nan() => gauge.value = value,
                Quantity::Minimum | Quantity::Maximum => {}
                Quantity::Rms => gauge.value += value * value,
                Quantity::ErrorRms | Quantity::Nrms => match &sample {
                    Some(sample) => {
                        let error = value - sample.value(gauge.track);
                        gauge.value += error * error;
                    }
                    None => gauge.is_uncovered = true,
                },
            }
            gauge.points += 1;
        }
    }

    /// Measured values; `None` for a value without points, or if the reference ends too early.
    pub(crate) fn results(&self, reference: Option<&ReferenceTrajectory>) -> Vec<Option<f64>> {
        let result = |place: &MeterPlace| match place {
            MeterPlace::Gauge(place) => self.gauges[*place].result(reference),
            MeterPlace::Sample(place) => self.samples.value(*place),
        };
        self.places.iter().map(result).collect()
    }
}

impl Gauge {
    fn is_due(&self, time: f64) -> bool {
        let step = self.macro_step;
        self.window.is_none_or(|window| window.contains(time, step))
    }

    fn result(&self, reference: Option<&ReferenceTrajectory>) -> Option<f64> {
        if self.points == 0 || self.is_uncovered {
            return None;
        }
        let rms = || (self.value / self.points as f64).sqrt();
        match self.quantity {
            Quantity::Final | Quantity::Value | Quantity::Minimum | Quantity::Maximum => {
                Some(self.value)
            }
            Quantity::Rms | Quantity::ErrorRms => Some(rms()),
            Quantity::Nrms => {
                let span = reference?.span(self.track, &|time| self.is_due(time));
                (span > 0.0).then(|| rms() / span)
            }
        }
    }
}

/// The variables that need a reference, each once.
pub(crate) fn tracks(metrics: &[Metric]) -> Vec<&str> {
    let mut tracks = Vec::new();
    for metric in metrics.iter().filter(|metric| metric.quantity.is_error()) {
        if !tracks.contains(&metric.variable.as_str()) {
            tracks.push(metric.variable.as_str());
        }
    }
    tracks
}
