//! Feed-forward: the additions c(t) to inputs that were [learned](crate::learning::Learning), and the system
//! they were learned on. In a run with it, an input follows ũ(t) = Φ(t) + c(t), with the values Φ of its
//! source, one macro-step late if learning was based on delayed outputs.
//!
//! Source: Thielemans et al. (2023) eqs 5–6, in single rate with one value a macro-step; one cubic
//! a macro-step: own. Limits: a system whose inputs, steps or exchange modes differ is refused, and
//! other parameters or other start values make c wrong without a word: learn again then.

mod file;

pub use file::FeedForwardError;

use gyrator_record::is_same_time;
use gyrator_system::{Choice, SystemFile};

use crate::curve::Curve;
use crate::decision::Decision;
use crate::exchange_mode::Exchange;
use crate::graph::Graph;
use crate::state::FeedForwardSignal;
use crate::unit::Period;

/// Feed-forward that was [learned](crate::learning::Learning): one curve per macro-step and input.
///
/// It belongs to the system on which it was learned: its inputs, macro-step, start time and
/// communication steps. [`System::feed_forward`](crate::System::feed_forward) applies it. As text
/// it is a CSV table, with all digits, below comment lines that describe the learned system.
#[derive(Debug, Clone, PartialEq)]
pub struct FeedForward {
    pub(crate) start_time: f64,
    pub(crate) macro_step: f64,
    pub(crate) steps: usize,
    pub(crate) channels: Vec<Channel>,
    /// How outputs with direct feed-through were exchanged, by component.
    pub(crate) exchange: Vec<(String, Exchange)>,
    /// The run from which it was learned, if that is known.
    pub(crate) origin: Option<Origin>,
}

/// The run from which feed-forward was learned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Origin {
    /// Its number: 0 is the run without feed-forward.
    pub(crate) number: u32,
    /// ‖e‖₂ and max |e| of that run.
    pub(crate) norm_2: f64,
    pub(crate) max: f64,
}

/// The feed-forward of one input.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Channel {
    /// `component.variable` of the input.
    pub(crate) input: String,
    /// `component.variable` of the output that feeds it.
    pub(crate) output: String,
    /// Communication step of the input's component, s.
    pub(crate) step: f64,
    /// The input is fed one macro-step late.
    pub(crate) is_delayed: bool,
    /// Highest degree of the curves.
    pub(crate) degree: usize,
    /// Additions over each macro-step.
    pub(crate) curves: Vec<Curve>,
}

/// Whether two times or durations, s, are the same but for rounding, which in text and sums makes
/// far less than 1e-9.
fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

/// The inputs of a graph with their `component.variable`.
pub(crate) fn named_inputs(graph: &Graph) -> impl Iterator<Item = (usize, usize, String)> {
    let of = |(component, node): (usize, &crate::graph::Component)| {
        node.inputs.clone().map(move |input| (component, input))
    };
    let inputs = graph.components.iter().enumerate().flat_map(of);
    inputs.map(|(component, input)| {
        let name = graph.variable_name(component, graph.inputs[input].variable);
        (component, input, name)
    })
}

/// Macro-steps until the stop time.
pub(crate) fn macro_steps(graph: &Graph, stop: f64) -> usize {
    let (ticks, step) = (graph.clock.ticks_until(stop), graph.clock.ticks_per_step());
    usize::try_from(ticks.saturating_add(step - 1) / step).unwrap_or(0)
}

impl FeedForward {
    /// `component.variable` of the inputs to which it adds.
    pub fn inputs(&self) -> impl ExactSizeIterator<Item = &str> {
        self.channels.iter().map(|channel| channel.input.as_str())
    }

    /// Number of macro-steps that it covers.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// Macro-step for which it was learned, s.
    pub fn macro_step(&self) -> f64 {
        self.macro_step
    }

    /// Start time for which it was learned, s.
    pub fn start_time(&self) -> f64 {
        self.start_time
    }

    /// Addition to an input over the macro-step of this index; `None` if it is not a channel.
    pub fn curve(&self, input: &str, step: usize) -> Option<Curve> {
        let channel = self.channels.iter().find(|known| known.input == input)?;
        Some(channel.curves.get(step).copied().unwrap_or_default())
    }

    /// Note for the report of a run with it.
    pub(crate) fn note(&self) -> String {
        let inputs: Vec<_> = self.inputs().collect();
        let mode =
            |(name, mode): &(String, Exchange)| format!(", {name} exchanged {}", mode.word());
        let modes: String = self.exchange.iter().map(mode).collect();
        format!(
            "learned feed-forward is added to {}{modes}",
            inputs.join(", ")
        )
    }

    /// Why it cannot be applied to the system, which is not the one on which it was learned.
    pub(crate) fn misfits(&self, graph: &Graph, period: &Period) -> Vec<String> {
        let mut found = Vec::new();
        if !same(self.macro_step, graph.macro_step) {
            found.push(format!(
                "it was learned with a macro-step of {} s and the system has {} s",
                self.macro_step, graph.macro_step
            ));
        }
        let start = graph.clock.start();
        if !is_same_time(self.start_time, start, self.macro_step) {
            found.push(format!(
                "it was learned from the start time {} s on and the system starts at {start} s",
                self.start_time
            ));
        }
        match period.stop {
            Some(stop) if macro_steps(graph, stop) <= self.steps => {}
            Some(stop) => found.push(format!(
                "it covers {} macro-steps and the system makes {} until {stop} s",
                self.steps,
                macro_steps(graph, stop)
            )),
            None => found.push(format!(
                "it covers {} macro-steps and the system has no stop time",
                self.steps
            )),
        }
        let channels = self.channels.iter();
        found.extend(channels.filter_map(|channel| channel.misfit(graph)));
        let modes = self.exchange.iter().map(|(component, _)| component);
        let unknown = modes.filter(|name| graph.component_names().all(|known| known != *name));
        found.extend(unknown.map(|name| format!("the system has no component `{name}`")));
        found
    }

    /// Has the graph exchange its outputs as when this was learned.
    pub(crate) fn set_exchange(&self, graph: &mut Graph) {
        let from = graph.clock.start();
        for (name, mode) in &self.exchange {
            let mut components = graph.components.iter_mut();
            let Some(component) = components.find(|component| component.name == *name) else {
                continue;
            };
            if component.exchange == Exchange::AUTO {
                graph.decisions.push(Decision {
                    r#where: name.clone(),
                    what: format!("exchange {}", mode.word()),
                    why: "the feed-forward was learned so".to_owned(),
                    from,
                });
            }
            component.exchange = *mode;
        }
    }

    /// Has inputs held if the file chooses no extrapolation: learned additions are to the same curves in each run.
    pub fn hold_inputs(&self, file: &mut SystemFile) {
        let chosen = &mut file.experiment.extrapolation;
        chosen.get_or_insert_with(|| Choice::new(Self::EXTRAPOLATION));
    }

    const EXTRAPOLATION: &'static str = "hold";

    /// Notes the inputs that are held because of it, as no extrapolation was `named` for all of them.
    pub(crate) fn note_held(&self, graph: &mut Graph, file: &SystemFile) {
        let from = graph.clock.start();
        let mut held = Vec::new();
        for (component, node) in graph.components.iter().enumerate() {
            let mut listed = file.components.iter();
            let has_own = listed
                .any(|listed| listed.name.value == node.name && listed.extrapolation.is_some());
            let inputs = graph.inputs[node.inputs.clone()].iter();
            let inputs = inputs.filter(|_| !has_own);
            held.extend(inputs.map(|input| Decision {
                r#where: graph.variable_name(component, input.variable),
                what: format!("extrapolation {}", Self::EXTRAPOLATION),
                why: "learned feed-forward is an addition to inputs that are held".to_owned(),
                from,
            }));
        }
        graph.decisions.extend(held);
    }

    /// Adds nothing to any step.
    pub(crate) fn clear(&mut self) {
        for channel in &mut self.channels {
            channel.curves = vec![Curve::default(); self.steps];
        }
    }

    /// Fills the channels of `other`, in which nothing was learned yet, so that learning goes on; or says why it cannot.
    pub(crate) fn continue_as(&self, other: &mut Self) -> Result<(), String> {
        if !same(self.macro_step, other.macro_step) {
            return Err(format!(
                "it was learned with a macro-step of {} s and the system has {} s",
                self.macro_step, other.macro_step
            ));
        }
        if !is_same_time(self.start_time, other.start_time, self.macro_step) {
            return Err(format!(
                "it was learned from the start time {} s on and the system starts at {} s",
                self.start_time, other.start_time
            ));
        }
        if self.steps < other.steps {
            return Err(format!(
                "it covers {} macro-steps and the system makes {}",
                self.steps, other.steps
            ));
        }
        let names = |of: &Self| of.inputs().collect::<Vec<_>>().join(", ");
        if names(self) != names(other) {
            return Err(format!(
                "it is for {}, and {} learn",
                names(self),
                names(other)
            ));
        }
        for (known, channel) in self.channels.iter().zip(&mut other.channels) {
            let input = &channel.input;
            if known.output != channel.output || !same(known.step, channel.step) {
                return Err(format!(
                    "`{input}` was fed by `{}` every {} s and is fed by `{}` every {} s",
                    known.output, known.step, channel.output, channel.step
                ));
            }
            if known.is_delayed != channel.is_delayed {
                return Err(format!("`{input}` was learned from another base"));
            }
            let curves = known.curves.iter().take(other.steps);
            channel.curves = curves
                .map(|curve| curve.truncated(channel.degree))
                .collect();
            channel.curves.resize(other.steps, Curve::default());
        }
        other.origin = self.origin;
        Ok(())
    }

    /// c ← c + gain·e (Thielemans 2023 eq. 6). The paper's index of c is one higher because there c
    /// goes through the delay; here it is added behind it.
    pub(crate) fn learn(&mut self, gain: f64, errors: &[Vec<(usize, Curve)>]) {
        for (channel, errors) in self.channels.iter_mut().zip(errors) {
            for &(step, error) in errors {
                channel.curves[step] = channel.curves[step]
                    .plus(&error.scaled(gain))
                    .truncated(channel.degree);
            }
        }
    }

    /// The signals for the inputs of a graph that it fits.
    pub(crate) fn signals(self, graph: &Graph) -> Vec<FeedForwardSignal> {
        let signal = |channel: Channel| {
            let (_, input, _) = named_inputs(graph).find(|(.., name)| *name == channel.input)?;
            Some(FeedForwardSignal {
                input,
                is_delayed: channel.is_delayed,
                degree: channel.degree,
                curves: channel.curves,
                previous: 0.0,
            })
        };
        self.channels.into_iter().filter_map(signal).collect()
    }
}

impl Channel {
    fn misfit(&self, graph: &Graph) -> Option<String> {
        let name = &self.input;
        let Some((component, input, _)) = named_inputs(graph).find(|(.., known)| known == name)
        else {
            return Some(format!("the system has no connected real input `{name}`"));
        };
        let output = graph.output_name(graph.inputs[input].source);
        if output != self.output {
            return Some(format!(
                "it was learned with `{name}` fed by `{}` and the system feeds it by `{output}`",
                self.output
            ));
        }
        let step = graph.macro_step * graph.components[component].rate.ratio();
        (!same(step, self.step)).then(|| {
            format!(
                "it was learned with a communication step of {} s at `{name}` and the system has {step} s",
                self.step
            )
        })
    }
}
