//! The verdict on a run that has made its steps once, from the defects and the ledger.
//!
//! A defect comes back to its source through the components of a loop, and adds up. Take a sine of the angular frequency ω
//! that is held over H: an input is late by H/2. The amplitude of an undamped oscillator whose stiffness comes by a share s
//! over this input has grown by s·ωH/4·ωt at the time t. Its error is s·(ωH)²/19.6 a step, as root of the mean square
//! relative to the range. The [relative work](crate::report::Defect::relative_work) of the defect adds up (ωH)²/8 a step: the
//! error is 0.41·s times it. Of two directions the weaker one limits the share: their geometric mean counts, 0.3 of it is the
//! estimate. An output that is stale is late by H more, which makes two more halves of H in one of the two directions. A
//! component that makes one step of the semi-implicit Euler method in each communication step takes a held input without
//! delay.
//!
//! This is coarse: phases, the share and what damping takes out again are not known. On the 500 random systems of
//! `tests/system/random_verdicts.rs` it is within a factor 3 of the greatest error of a signal for four in five.

use std::collections::{BTreeMap, BTreeSet};

use super::Run;
use crate::exchange_mode::Exchange;
use crate::graph::Bond;
use crate::order::dependency_order;
use crate::state::{StepResponse, SystemState};
use crate::verdict::{Divergence, Unknown, Verdict};

/// The error of a loop over the geometric mean of the work of both directions, if inputs are held: 0.41·s, with s about 0.7
/// at the connection with the greatest work. With it most estimates are within a factor 3 on the seeds 0 to 499.
const SHARE: f64 = 0.3;
/// A delay by a step over one by half a step.
const STALE: f64 = 2.0;
/// Errors grow with a signal that grows by them, by at most exp(16·work): work of less than a tenth does not make a
/// system explode. A choice; between 8 and 24 no verdict on the 600 systems changes by much.
const GROWTH_BY_WORK: f64 = 16.0;
/// Parts of the steps between which growth is taken, and a power: if growth is exponential, the power takes the growth since
/// the later one to at least the growth since the earlier one. A system that starts to move late does not continue to grow.
const EARLY: f64 = 1.0 / 3.0;
const LATE: f64 = 7.0 / 8.0;
const GOES_ON: i32 = 6;
/// Steps before growth is one: of the first ones anything may be a multiple. A choice.
const FEWEST_STEPS: u64 = 64;
/// A looped signal whose range has grown so much since the [early](EARLY) part may grow by the coupling, if its work is enough for
/// [growth](GROWTH_BY_WORK) by as much. Of 500 random systems all that explode have at least 2.6 times that work.
const SUSPICIOUS: f64 = 2.0;
/// Growth that goes on to the end, and is suspicious whatever the work is: a loop without oscillation that multiplies a signal by
/// 1 + g in each step has a work of g/2. As in the decision by a second run.
const GROWN_MUCH: f64 = 30.0;
/// Growth that shows a signal of no loop to explode, unless it is one late jump, which adds a work of 1: choices.
const SIGNAL_GROWTH: f64 = 1e3;
const JUMPS: f64 = 1.5;
/// Fewest steps that show an error to dominate. A choice: those that the decision by a second run asks for.
const FEWEST_OF_ERROR: u64 = 16;
/// Fewest steps that show anything: an error has no course in fewer. A choice.
const FEWEST_OF_COURSE: u64 = 3;

/// A signal whose range is at most this part of its nominal value (FMI 2.0.5, section 2.2.7: 1 if none is given) is at rest:
/// the noise of rounding in its component. Solvers resolve 1e-2 of their tolerance, relative to it.
const AT_REST: f64 = 1e-14;

/// The coupling error of a run or a bond.
#[derive(Debug, Clone, Copy)]
pub(super) struct CouplingError {
    /// The greatest relative error of a signal, estimated, of those that are known; `None` if none is.
    pub(super) estimate: Option<f64>,
    /// The verdict by the estimate, whatever grows.
    pub(super) estimated_verdict: Verdict,
    /// A signal of a loop has grown in a way that the coupling may have made.
    pub(super) is_suspected: bool,
    /// Why the estimate gives no verdict.
    doubt: Option<Doubt>,
}

/// Why an estimate gives no verdict.
#[derive(Debug, Clone, Copy)]
enum Doubt {
    /// The run needs so many steps.
    FewSteps(u64),
    /// The verdict depends on direct feed-through that is not known.
    Feedthrough,
}

/// A connection of real variables, as far as its defect shows an error.
#[derive(Debug, Clone, Copy)]
struct Link {
    input: usize,
    from: usize,
    to: usize,
    /// The relative work of its defect.
    work: f64,
    growth: f64,
    /// The mean defect, relative to the range.
    direct: f64,
    /// Delay of the input over half a step, at least and at most; they differ if the direct feed-through of its source is
    /// unknown.
    lag: [f64; 2],
    is_finite: bool,
    /// Its error returns to its source.
    is_in_loop: bool,
    is_at_rest: bool,
    /// It is in a loop, and has grown [suspiciously](SUSPICIOUS).
    is_suspected: bool,
}

/// Errors of all connections.
pub(super) struct Judgement<'a> {
    run: &'a Run,
    links: Vec<Link>,
}

impl<'a> Judgement<'a> {
    pub(super) fn of(run: &'a Run) -> Self {
        let loops = loops(&run.state);
        let inputs = 0..run.state.courses.inputs.len();
        let links = inputs.filter_map(|input| link(run, input, &loops));
        Self {
            run,
            links: links.collect(),
        }
    }

    /// The error of the run.
    pub(super) fn of_run(&self) -> CouplingError {
        let mut pairs: BTreeMap<[usize; 2], Vec<Link>> = BTreeMap::new();
        for link in &self.links {
            let pair = [link.from.min(link.to), link.from.max(link.to)];
            pairs.entry(pair).or_default().push(*link);
        }
        let pairs = pairs.values().map(|links| self.of_links(links));
        pairs
            .reduce(CouplingError::or_worse)
            .unwrap_or(CouplingError::NONE)
    }

    /// The error at the bond with this index.
    pub(super) fn of_bond(&self, index: usize) -> CouplingError {
        let axes = &self.run.state.graph.bonds[index].axes;
        let is_at_bond = |link: &&Link| {
            let mut axes = axes.iter();
            axes.any(|axis| [axis.effort_input, axis.flow_input].contains(&link.input))
        };
        let links: Vec<Link> = self.links.iter().filter(is_at_bond).copied().collect();
        self.of_links(&links)
    }

    /// The error of the connections between two components; `cannot-tell` if it depends on direct feed-through that is
    /// not known, and of a run of few steps.
    fn of_links(&self, links: &[Link]) -> CouplingError {
        if links.is_empty() {
            return CouplingError::NONE;
        }
        let ends = [0, 1].map(|end| links.iter().map(|link| link.delayed(end)).collect());
        let [least, most] = ends.map(|links: Vec<Link>| self.estimate(&links));
        let verdict = |estimate: f64| Verdict::from_relative_error(estimate.min(f64::MAX));
        let steps = self.run.timeline.steps();
        let needed = match verdict(most) {
            Verdict::Small | Verdict::Visible => FEWEST_OF_COURSE,
            _ => FEWEST_OF_ERROR,
        };
        let doubt = match verdict(least) == verdict(most) {
            false => Some(Doubt::Feedthrough),
            true => Some(Doubt::FewSteps(needed)).filter(|_| steps < needed),
        };
        let is_clear = doubt.is_none();
        // Within the root of three of both.
        let estimate = match least == most {
            true => least,
            false => (least * most).sqrt(),
        };
        CouplingError {
            estimate: Some(estimate).filter(|estimate| is_clear && estimate.is_finite()),
            estimated_verdict: match is_clear {
                true => verdict(most),
                false => Verdict::CannotTell,
            },
            is_suspected: links.iter().any(|link| link.is_suspected),
            doubt,
        }
    }

    /// The relative error of connections with their delays, not a number if a value was none.
    fn estimate(&self, links: &[Link]) -> f64 {
        if links.iter().any(|link| !link.is_finite) {
            return f64::NAN;
        }
        self.by_energies(links).unwrap_or_else(|| {
            let direct = links.iter().map(|link| link.lag[0] * link.direct);
            let explode = links.iter().any(Link::explodes);
            let least = if explode { Verdict::VISIBLE } else { 0.0 };
            direct.fold(returning(links.iter()).max(least), f64::max)
        })
    }

    /// Why the run with this error cannot be judged, if that is so.
    pub(super) fn unknown(&self, error: &CouplingError) -> Option<Unknown> {
        let is_unknown = error.estimated_verdict == Verdict::CannotTell;
        Some(match error.doubt.filter(|_| is_unknown)? {
            Doubt::FewSteps(needed) => Unknown::FewSteps {
                steps: self.run.timeline.steps(),
                needed,
            },
            Doubt::Feedthrough => {
                let is_open = |link: &&Link| link.lag[0] != link.lag[1];
                let from = self.links.iter().filter(is_open).map(|link| link.from);
                let components = &self.run.state.graph.components;
                let names: BTreeSet<&String> = from.map(|from| &components[from].name).collect();
                Unknown::Feedthrough(names.into_iter().cloned().collect())
            }
        })
    }

    /// The error of components between which there are corrected bonds: half the residual energy, with the correction, over
    /// the range of the energy that went over, as energy goes with the square of an amplitude. A correction puts right
    /// over many steps an error that each of them has.
    fn by_energies(&self, links: &[Link]) -> Option<f64> {
        let state = &self.run.state;
        let is_corrected = |index: &usize| {
            let mut axes = state.graph.bonds[*index].axes.iter();
            let is_at = |input: usize| {
                links
                    .iter()
                    .any(|link| link.input == input && !link.is_at_rest)
            };
            state
                .bonds
                .correctors
                .iter()
                .any(|corrector| corrector.bond == *index)
                && axes.any(|axis| is_at(axis.effort_input) || is_at(axis.flow_input))
                && sees_course(state, &state.graph.bonds[*index])
        };
        let error = |index: usize| match self.residual_energy(index) {
            0.0 => 0.0,
            residual => 0.5 * residual.abs() / self.run.ledger.transferred_range(index),
        };
        let bonds = (0..state.graph.bonds.len()).filter(is_corrected);
        bonds.map(error).reduce(f64::max)
    }

    /// Integrated residual energy of the bond with this index, J.
    fn residual_energy(&self, index: usize) -> f64 {
        let energy = self.run.ledger.bond(index);
        energy.map_or(0.0, |energy| energy.residual_energy_integrated)
    }
}

impl Link {
    /// Whether the signal of no loop explodes, which its receiver sees late.
    fn explodes(&self) -> bool {
        self.growth > SIGNAL_GROWTH && self.work > JUMPS && !self.is_in_loop
    }

    /// With its least delay, or its greatest one.
    fn delayed(&self, end: usize) -> Self {
        Self {
            lag: [self.lag[end]; 2],
            ..*self
        }
    }
}

impl CouplingError {
    /// Of no connections.
    const NONE: Self = Self {
        estimate: Some(0.0),
        estimated_verdict: Verdict::Small,
        is_suspected: false,
        doubt: None,
    };

    pub(super) const fn divergence(&self) -> Divergence {
        match self.is_suspected {
            true => Divergence::Suspected,
            false => Divergence::None,
        }
    }

    fn or_worse(self, other: Self) -> Self {
        let estimates = [self.estimate, other.estimate];
        Self {
            estimate: estimates.into_iter().flatten().reduce(f64::max),
            estimated_verdict: self.estimated_verdict.max(other.estimated_verdict),
            is_suspected: self.is_suspected || other.is_suspected,
            doubt: self.doubt.or(other.doubt),
        }
    }
}

/// The error that comes back to its source by these connections between two components.
fn returning<'l>(links: impl Iterator<Item = &'l Link> + Clone) -> f64 {
    let links = links.filter(|link| link.is_in_loop);
    let works = links.clone().map(|link| link.lag[0] * link.work);
    let most = (GROWTH_BY_WORK * works.fold(0.0, f64::max)).exp();
    let direction = |is_upward: bool| {
        let links = links
            .clone()
            .filter(|link| (link.from < link.to) == is_upward);
        links.fold(None, |greatest: Option<Direction>, link| {
            let found = greatest.unwrap_or_default();
            let work = link.work * link.growth.min(most);
            Some(Direction {
                lag: found.lag.max(link.lag[0]),
                work: found.work.max(work),
            })
        })
    };
    match (direction(true), direction(false)) {
        (Some(up), Some(down)) => {
            let lag = 0.5 * (up.lag + down.lag);
            let work = (up.work * down.work).sqrt();
            SHARE * lag * work
        }
        // It comes back by another component.
        (Some(one), None) | (None, Some(one)) => SHARE * one.lag * one.work,
        (None, None) => 0.0,
    }
}

/// The greatest delay and work of the connections in one direction.
#[derive(Debug, Clone, Copy, Default)]
struct Direction {
    lag: f64,
    work: f64,
}

/// The connection with this index; `None` if values are held on purpose, at events, or if a mean cannot be
/// compared with a value.
fn link(run: &Run, input: usize, loops: &[Option<usize>]) -> Option<Link> {
    let course = &run.state.courses.inputs[input];
    let defect = run.defects.connection(input)?;
    if course.is_discrete() || course.takes_mean {
        return None;
    }
    let (from, to) = (course.source_component, course.component);
    let graph = &run.state.graph;
    let nominal = graph.nominal_output(graph.inputs[input].source);
    let is_at_rest = defect.range <= AT_REST * nominal.unwrap_or(1.0);
    let (work, growth, direct) = match is_at_rest {
        true => (0.0, 1.0, 0.0),
        false => (
            defect.relative_work(),
            growth(run, input, defect.range),
            0.5 * defect.relative(),
        ),
    };
    let is_finite = defect.rms.is_finite() && defect.work.is_finite() && defect.range.is_finite();
    let is_in_loop = loops[from].is_some() && loops[from] == loops[to];
    let early = range_after(run, input, EARLY);
    let may_grow = (GROWTH_BY_WORK * work).exp() >= SUSPICIOUS || growth >= GROWN_MUCH;
    let has_grown = may_grow && early.is_some_and(|early| defect.range >= SUSPICIOUS * early);
    Some(Link {
        input,
        from,
        to,
        work,
        growth,
        direct,
        lag: lag(run, input),
        is_finite,
        is_in_loop,
        is_at_rest,
        is_suspected: is_in_loop && (has_grown || !is_finite),
    })
}

/// The delay of an input over half a step, at least and at most. It is 1 for a held input, 0 if the receiver takes it as its
/// own states, and two more if the source passes on outputs that follow inputs of the step before.
fn lag(run: &Run, input: usize) -> [f64; 2] {
    let course = &run.state.courses.inputs[input];
    let held = match run.defects.makes_single_steps(course.component) {
        true => 0.0,
        false => 1.0,
    };
    stale_lag(run, input, course.source_component).map(|stale| held + stale)
}

/// The delay of the output behind an input, at least and at most.
fn stale_lag(run: &Run, input: usize, component: usize) -> [f64; 2] {
    let output = run.state.graph.inputs[input].source;
    if run.state.graph.feedthrough(output, false).is_empty() {
        return [0.0; 2];
    }
    let exchange = &run.state.exchange;
    let is_stale = match &exchange.step_responses[component] {
        StepResponse::Unknown => return [0.0, STALE],
        StepResponse::Tried(pairs) => pairs.iter().any(|pair| pair.0 == output),
        StepResponse::AsProbed => exchange.modes[component] == Exchange::STALE,
    };
    [if is_stale { STALE } else { 0.0 }; 2]
}

/// Growth of the range of a connection since a third of the steps, as far as it goes on to the end.
fn growth(run: &Run, input: usize, range: f64) -> f64 {
    if run.timeline.steps() < FEWEST_STEPS {
        return 1.0;
    }
    let since = |part: f64| range / range_after(run, input, part).unwrap_or(range);
    let growth = since(EARLY).min(since(LATE).powi(GOES_ON));
    if growth.is_nan() { 1.0 } else { growth }
}

/// The range of a connection after this part of the steps, as far as it was kept.
fn range_after(run: &Run, input: usize, part: f64) -> Option<f64> {
    let steps = part * run.timeline.steps() as f64;
    run.defects.range_after(steps as u64, input)
}

/// The loop that each component is in.
fn loops(state: &SystemState) -> Vec<Option<usize>> {
    let graph = &state.graph;
    let mut sources = vec![Vec::new(); graph.components.len()];
    for course in &state.courses.inputs {
        sources[course.component].push(course.source_component);
    }
    for wire in &graph.signal_wires {
        sources[wire.component].push(graph.source_component(wire));
    }
    let mut loops = vec![None; graph.components.len()];
    let groups = dependency_order(sources.len(), &sources);
    for (index, group) in groups.iter().enumerate().filter(|(_, group)| group.is_loop) {
        for member in &group.members {
            loops[*member] = Some(index);
        }
    }
    loops
}

/// The outputs that feed real inputs in a loop, ascending.
pub(super) fn looped_outputs(run: &Run) -> Vec<usize> {
    let graph = &run.state.graph;
    let loops = loops(&run.state);
    let courses = run.state.courses.inputs.iter().enumerate();
    let looped = courses.filter(|(_, course)| {
        let of = [course.source_component, course.component].map(|of| loops[of]);
        of[0].is_some() && of[0] == of[1] && !course.is_discrete() && !course.takes_mean
    });
    let outputs: BTreeSet<usize> = looped
        .map(|(input, _)| graph.inputs[input].source)
        .collect();
    outputs.into_iter().collect()
}

/// Whether the ledger sees the courses of the bond: not if inputs carry means, nor within an interface
/// model.
pub(super) fn sees_course(state: &SystemState, bond: &Bond) -> bool {
    let carries_mean = |input: usize| state.courses.inputs[input].takes_mean;
    let mut axes = bond.axes.iter();
    let means = axes.any(|axis| carries_mean(axis.effort_input) || carries_mean(axis.flow_input));
    let models = &state.graph.interface_models;
    let sides = [bond.effort_side, bond.flow_side];
    let is_reduced = models
        .iter()
        .any(|model| model.fast.iter().any(|c| sides.contains(c)));
    !means && !is_reduced
}

/// As [`super::divergence_advice`].
pub(super) fn advice(run: &Run) -> impl FnOnce(Option<bool>) -> String + use<> {
    let graph = &run.state.graph;
    let judgement = Judgement::of(run);
    let grows = |index: &usize| judgement.of_bond(*index).is_suspected;
    let place = match (0..graph.bonds.len()).find(grows) {
        Some(index) => format!("the coupling of bond {} diverges", graph.bonds[index].name),
        None => "the coupling diverges".to_owned(),
    };
    let step = graph.macro_step;
    move |half_is_calm| {
        let half = match half_is_calm {
            Some(true) => format!(
                "; at half of every step it does not (macro-step {} s)",
                0.5 * step
            ),
            Some(false) => "; at half of every step, too".to_owned(),
            None => String::new(),
        };
        format!(
            "{place} at the macro-step {step} s{half}: `gyrator doctor` finds the largest stable macro-step, and what helps"
        )
    }
}
