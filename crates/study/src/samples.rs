//! Values of variables at given times of a run.

use gyrator::View;
use gyrator::graph::Graph;
use gyrator_record::is_same_time;

use crate::probe::Probe;

/// Values at given times, taken during a run: on straight lines between communication points. If an instant has several
/// points, as at an event, the last one counts.
pub(crate) struct Samples {
    macro_step: f64,
    probes: Vec<(String, Probe)>,
    /// The values of the probes at the last communication point, and its time.
    last: Vec<f64>,
    last_time: f64,
    /// By rising time, from [`sort`](Self::sort) on.
    wanted: Vec<Wanted>,
    /// The first of them whose time has not come.
    next: usize,
    values: Vec<Option<f64>>,
}

struct Wanted {
    time: f64,
    probe: usize,
    /// Number of the sample.
    number: usize,
}

impl Samples {
    pub(crate) fn new(macro_step: f64) -> Self {
        Self {
            macro_step,
            probes: Vec::new(),
            last: Vec::new(),
            last_time: f64::NEG_INFINITY,
            wanted: Vec::new(),
            next: 0,
            values: Vec::new(),
        }
    }

    /// Adds the value of a variable at a time; returns its number.
    ///
    /// # Errors
    ///
    /// If the system has no such variable.
    pub(crate) fn add(
        &mut self,
        variable: &str,
        time: f64,
        graph: &Graph,
    ) -> Result<usize, String> {
        // Times of one variable follow each other.
        let known = self.probes.iter().rposition(|(name, _)| name == variable);
        let probe = match known {
            Some(place) => place,
            None => {
                let (probe, _) = Probe::find(variable, graph)?;
                self.probes.push((variable.to_owned(), probe));
                self.probes.len() - 1
            }
        };
        let number = self.values.len();
        self.values.push(None);
        self.wanted.push(Wanted {
            time,
            probe,
            number,
        });
        Ok(number)
    }

    /// Puts all times in order, before the first point.
    pub(crate) fn sort(&mut self) {
        self.wanted.sort_by(|a, b| a.time.total_cmp(&b.time));
    }

    /// Takes a communication point.
    pub(crate) fn update(&mut self, view: &View<'_>) {
        if self.wanted.is_empty() {
            return;
        }
        let time = view.time;
        let is_here = |wanted: &Wanted| is_same_time(wanted.time, time, self.macro_step);
        // Another point of an instant that has been taken.
        while self.next > 0 && is_here(&self.wanted[self.next - 1]) {
            self.next -= 1;
        }
        while let Some(wanted) = self.wanted.get(self.next) {
            if is_here(wanted) {
                self.values[wanted.number] = Some(self.probes[wanted.probe].1.value(view));
            } else if wanted.time < time {
                let before = self.last.get(wanted.probe);
                self.values[wanted.number] = before.map(|before| {
                    let share = (wanted.time - self.last_time) / (time - self.last_time);
                    before + share * (self.probes[wanted.probe].1.value(view) - before)
                });
            } else {
                break;
            }
            self.next += 1;
        }
        self.last.clear();
        let values = self.probes.iter().map(|(_, probe)| probe.value(view));
        self.last.extend(values);
        self.last_time = time;
    }

    /// The value of a sample; `None` if its time did not come, or was before the start.
    pub(crate) fn value(&self, number: usize) -> Option<f64> {
        self.values[number]
    }
}
