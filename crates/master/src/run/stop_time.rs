//! The stop time that units are given.
//!
//! An FMU that cannot handle a variable communication step may not get a shorter last one (FMI 2.0 §4.2.2), and one
//! that was given the stop time may not be stepped past it. So the stop time has to be a communication point, and the
//! message names the nearest ones. The timeline asks when a run starts; nothing here steps a unit.

use crate::graph::Graph;
use crate::step::{Step, StepParts};
use crate::step_control::StepControlFacts;
use crate::time::{Rate, Ticks};

/// The stop time, or the last bits more if the sum of the start and the length of a component's
/// last step is rounded to more. Units compare that sum with the stop time that they were given.
pub(super) fn end_as_stepped(graph: &Graph, stop: f64, control: StepControlFacts) -> f64 {
    let greatest = stop.abs().max(graph.clock.start().abs());
    let rounding = 4.0 * f64::EPSILON * greatest;
    if control.sums_time {
        // A sum of n terms is wrong by no more than n roundings (Higham 2002, section 4.2).
        let steps = (stop - graph.clock.start()) / graph.macro_step;
        return stop + rounding + steps * f64::EPSILON * greatest;
    }
    let rates = graph.components.iter().map(|component| component.rate);
    let has_parts = control.parts > 1 || rates.map(Rate::substeps).any(|parts| parts > 1);
    if !control.is_fixed && has_parts {
        // The start of the last step is not known yet.
        return stop + rounding;
    }
    (0..graph.components.len())
        .map(|component| end_of_last_step(graph, component, stop))
        .filter(|end| *end <= stop + rounding)
        .fold(stop, f64::max)
}

/// When the last communication step of a component ends under fixed macro-steps, as the component
/// computes it, s.
fn end_of_last_step(graph: &Graph, component: usize, stop: f64) -> f64 {
    let (clock, rate) = (graph.clock, graph.components[component].rate);
    let until = clock.ticks_until(stop);
    let rest = until % clock.ticks_per_step();
    let (length, size) = if rest == 0 {
        let every = rate.every();
        let length = clock.ticks_per_step() * Ticks::from(every);
        (length, graph.macro_step * f64::from(every))
    } else {
        (rest, stop - clock.seconds(until - rest))
    };
    let last = Step {
        index: 0,
        from: until - length,
        length,
        time: clock.seconds(until - length),
        size,
        is_summed: false,
    };
    // The fast side of an interface model divides the macro-step into exchanges first.
    let mut models = graph.interface_models.iter();
    let model = models.find(|model| model.fast.contains(&component));
    let exchanges = model.map_or(1, |model| model.exchanges);
    let parts = rate.substeps() / exchanges;
    let last = StepParts::of(&last, exchanges, &clock).part(exchanges - 1);
    let last = StepParts::of(&last, parts, &clock).part(parts - 1);
    last.time + last.size
}
