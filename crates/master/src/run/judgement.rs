//! The verdict on a run that has made its steps once, from the defects and the ledger.
//!
//! A defect comes back to its source through the components of a loop, and adds up. With a sine of the angular frequency
//! ω that is held over H an input is late by H/2, the amplitude of an undamped oscillator whose stiffness comes by a
//! share s over this input has grown by s·ωH/4·ωt at the time t, and its error is s·(ωH)²/19.6 a step, as root of the mean square
//! relative to the range. The [relative work](crate::report::Defect::relative_work) of the defect adds up (ωH)²/8 a step: the
//! error is 0.41·s times it. Of two directions the weaker one limits the share: their geometric mean counts, 0.3 of it
//! is the estimate. An output that is stale is late by H more, which makes two more halves of H in one of the two directions. A
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
use crate::verdict::Verdict;

/// The error of a loop over the geometric mean of the work of both directions, where inputs are held: 0.41·s, s being about
/// 0.7 at the connection with the greatest work. With it most estimates are within a factor 3 on the seeds 0 to 499.
const SHARE: f64 = 0.3;
/// A delay by a step over one by half a step.
const STALE: f64 = 2.0;
/// Errors grow with a signal that grows by them, by at most exp(16·work): work of less than a tenth does not make a
/// system explode. A choice; between 8 and 24 no verdict on the 600 systems changes by much.
const GROWTH_BY_WORK: f64 = 16.0;
/// Parts of the steps between which growth is taken, and the power that takes the growth since the later one to at least that
/// since the earlier one where it is exponential: a system that starts to move late does not go on growing.
const EARLY: f64 = 1.0 / 3.0;
const LATE: f64 = 7.0 / 8.0;
const GOES_ON: i32 = 6;
/// An estimate of so much of the signals diverges where they have grown so much: choices between a system that is doubled
/// and one that explodes. On the 600 systems no run whose error grows beyond the signals was below, and no other above; so
/// it is with estimates from 0.4 to 0.6 and growth from 2.5 to 4.
const EXPLODED: f64 = 0.5;
const GROWN: f64 = 3.0;
/// Growth that shows a signal of no loop to explode, unless it is one late jump, which adds a work of 1: choices.
const SIGNAL_GROWTH: f64 = 1e3;
const JUMPS: f64 = 1.5;
/// An error of so many times the signals is the coupling's, whatever the ledger says: of few steps, between which energies grow by
/// powers of ten, its sums say nothing. A choice; it changes no verdict on the seeds 0 to 499 and 30000 to 30499.
const BEYOND: f64 = 10.0;
/// Steps before growth is one: of the first ones anything may be a multiple. Growth within fewer counts where it is that of a
/// signal that explodes, and each half of the later two thirds of the steps has its part, of which no power of the time below the fifth is capable.
/// Choices.
const FEWEST_STEPS: u64 = 64;
const FEWEST_OF_EXPLOSION: u64 = 4;
const MIDDLE: f64 = 2.0 / 3.0;
const EACH_HALF: f64 = 10.0;
/// Part of the range of the energy over a bond that the coupling makes, at least, where it makes the bond diverge: the
/// growth of a system comes from there. A choice; on the 600 systems it is more than .4.
const MAIN_PART: f64 = 0.3;
/// A run whose coupling makes more energy than goes over a bond diverges by a smaller estimate, that of a dominating error, where
/// its signals have grown so much: choices. On the seeds 0 to 499 no run that does not diverge has grown fivefold.
const ALL: f64 = 1.0;
const GROWN_MUCH: f64 = 7.0;

/// A signal whose range is at most this part of its nominal value (FMI 2.0.5, section 2.2.7: 1 where none is given) is at rest: the noise of
/// rounding in its component. Solvers resolve 1e-2 of their tolerance, relative to it.
const AT_REST: f64 = 1e-14;

/// The coupling error of a run or a bond.
#[derive(Debug, Clone, Copy)]
pub(super) struct CouplingError {
    /// The greatest relative error of a signal, estimated; `None` where it is not known.
    pub(super) estimate: Option<f64>,
    pub(super) verdict: Verdict,
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
    /// Delay of the input over half a step, at least and at most; unlike where the direct feed-through of its source is not
    /// known.
    lag: [f64; 2],
    is_finite: bool,
    /// Its error returns to its source.
    is_in_loop: bool,
    is_at_rest: bool,
    /// Its range is that of the first third of the steps.
    has_grown_early: bool,
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
        let none = CouplingError {
            estimate: Some(0.0),
            verdict: Verdict::Small,
        };
        pairs.fold(none, CouplingError::or_worse)
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

    /// The error of the connections between two components; `cannot-tell` where it depends on direct feed-through that is
    /// not known.
    fn of_links(&self, links: &[Link]) -> CouplingError {
        let [least, most] =
            [0, 1].map(|end| self.of_delayed(links.iter().map(|link| link.delayed(end)).collect()));
        if least.verdict != most.verdict {
            return CouplingError {
                estimate: None,
                verdict: Verdict::CannotTell,
            };
        }
        let estimates = least.estimate.zip(most.estimate);
        CouplingError {
            // Within the root of three of both.
            estimate: estimates.map(|(least, most)| match least == most {
                true => least,
                false => (least * most).sqrt(),
            }),
            verdict: least.verdict,
        }
    }

    /// The error of connections with their delays.
    fn of_delayed(&self, links: Vec<Link>) -> CouplingError {
        let links = &links[..];
        if let Some(link) = links.iter().find(|link| !link.is_finite) {
            return CouplingError {
                estimate: None,
                verdict: match link.is_in_loop {
                    true => Verdict::Diverging,
                    false => Verdict::Dominating,
                },
            };
        }
        let direct = links
            .iter()
            .map(|link| link.lag[0] * link.direct)
            .fold(0.0, f64::max);
        let (returned, growth) = returning(links.iter());
        let explodes =
            |link: &Link| link.growth > SIGNAL_GROWTH && link.work > JUMPS && !link.is_in_loop;
        let direct = match links.iter().any(explodes) {
            true => direct.max(Verdict::VISIBLE),
            false => direct,
        };
        let by_energies = self.by_energies(links);
        let estimate = by_energies.unwrap_or(direct.max(returned));
        // The work of a jump at the start is none of signals that explode, even where others grow.
        let growing = links.iter().filter(|link| !link.has_grown_early);
        let late = by_energies.unwrap_or_else(|| direct.max(returning(growing).0).min(estimate));
        let may_diverge =
            late >= EXPLODED && growth >= GROWN || late >= Verdict::VISIBLE && growth >= GROWN_MUCH;
        let part = if late >= EXPLODED { MAIN_PART } else { ALL };
        let is_by_coupling = || match late >= BEYOND {
            true => true,
            false => {
                let by_energy = self.grow_by_coupling(links, part);
                by_energy.unwrap_or(late >= EXPLODED)
            }
        };
        let diverges = may_diverge && is_by_coupling();
        let verdict = match diverges {
            true => Verdict::Diverging,
            false => Verdict::from_relative_error(estimate.min(f64::MAX)),
        };
        CouplingError {
            estimate: Some(estimate).filter(|estimate| estimate.is_finite()),
            verdict,
        }
    }

    /// Why the run cannot be judged, where that depends on direct feed-through that is not known.
    pub(super) fn unknown_feedthrough(&self) -> Option<String> {
        let is_unknown = |link: &&Link| link.lag[0] != link.lag[1];
        let names = self.links.iter().filter(is_unknown).map(|link| link.from);
        let names: BTreeSet<&str> = names
            .map(|component| &*self.run.state.graph.components[component].name)
            .collect();
        if names.is_empty() || self.of_run().verdict != Verdict::CannotTell {
            return None;
        }
        let names: Vec<&str> = names.into_iter().collect();
        Some(format!(
            "{}: direct feed-through is declared and shows none when it is probed, and no steps were tried; without the \
             error bars of `--error-bars` the verdict depends on whether it shows in steps",
            names.join(", ")
        ))
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

    /// Whether the coupling makes these signals grow, by the ledger: the energy that it made at the bonds between them is at
    /// least this part of what went over. `None` where there are no bonds that show it.
    fn grow_by_coupling(&self, links: &[Link], part: f64) -> Option<bool> {
        let graph = &self.run.state.graph;
        let is_between = |bond: &&Bond| {
            let inputs = bond.axes.iter().map(|axis| axis.effort_input);
            let mut inputs = inputs.filter(|input| links.iter().any(|link| link.input == *input));
            bond.is_power && inputs.next().is_some() && sees_course(&self.run.state, bond)
        };
        let bonds = graph.bonds.iter().enumerate();
        let mut bonds = bonds.filter(|(_, bond)| is_between(bond)).peekable();
        let makes_energy = |index: usize| {
            let error = self.run.ledger.integration_error(index).unwrap_or_default();
            let made = self.residual_energy(index).abs() + error;
            !made.is_finite() || made >= part * self.run.ledger.transferred_range(index)
        };
        bonds.peek()?;
        Some(bonds.any(|(index, _)| makes_energy(index)))
    }

    /// Integrated residual energy of the bond with this index, J.
    fn residual_energy(&self, index: usize) -> f64 {
        let energy = self.run.ledger.bond(index);
        energy.map_or(0.0, |energy| energy.residual_energy_integrated)
    }
}

impl Link {
    /// With its least delay, or its greatest one.
    fn delayed(&self, end: usize) -> Self {
        Self {
            lag: [self.lag[end]; 2],
            ..*self
        }
    }
}

impl CouplingError {
    fn or_worse(self, other: Self) -> Self {
        let estimates = self.estimate.zip(other.estimate);
        Self {
            estimate: estimates.map(|(one, other)| one.max(other)),
            verdict: self.verdict.max(other.verdict),
        }
    }
}

/// The error that comes back to its source by these connections between two components, and the growth of the signals.
fn returning<'l>(links: impl Iterator<Item = &'l Link> + Clone) -> (f64, f64) {
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
                growth: found.growth.max(link.growth),
            })
        })
    };
    match (direction(true), direction(false)) {
        (Some(up), Some(down)) => {
            let lag = 0.5 * (up.lag + down.lag);
            let work = (up.work * down.work).sqrt();
            (SHARE * lag * work, (up.growth * down.growth).sqrt())
        }
        // It comes back by another component.
        (Some(one), None) | (None, Some(one)) => (SHARE * one.lag * one.work, one.growth),
        (None, None) => (0.0, 1.0),
    }
}

/// The greatest delay, work and growth of the connections in one direction.
#[derive(Debug, Clone, Copy)]
struct Direction {
    lag: f64,
    work: f64,
    growth: f64,
}

impl Default for Direction {
    fn default() -> Self {
        Self {
            lag: 0.0,
            work: 0.0,
            growth: 1.0,
        }
    }
}

/// The connection with this index; `None` where values are held on purpose, at events, and where a mean is no value
/// to compare with.
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
    Some(Link {
        input,
        from,
        to,
        work,
        growth,
        direct,
        lag: lag(run, input),
        is_finite: defect.rms.is_finite() && defect.work.is_finite() && defect.range.is_finite(),
        is_in_loop: loops[from].is_some() && loops[from] == loops[to],
        is_at_rest,
        has_grown_early: range_after(run, input, EARLY).is_some_and(|early| early >= defect.range),
    })
}

/// The delay of an input over half a step, at least and at most: 1 for one that is held, none where the receiver takes it as its own
/// states, and two more where the source passes on outputs that follow inputs of the step before.
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
    let steps = run.timeline.steps();
    let since = |part: f64| range / range_after(run, input, part).unwrap_or(range);
    let growth = since(EARLY).min(since(LATE).powi(GOES_ON));
    if steps < FEWEST_STEPS {
        let (all, half) = (since(EARLY), since(MIDDLE));
        let explodes = half >= EACH_HALF && all >= EACH_HALF * half && all >= SIGNAL_GROWTH;
        if steps < FEWEST_OF_EXPLOSION || !all.is_finite() || !explodes {
            return 1.0;
        }
    }
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

/// Whether the ledger sees the courses of the bond: not where inputs carry means, nor within an interface
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

/// Advice where the coupling diverges.
pub(super) fn advice(run: &Run) -> String {
    let graph = &run.state.graph;
    let judgement = Judgement::of(run);
    let diverges = |index: &usize| judgement.of_bond(*index).verdict == Verdict::Diverging;
    let bond = (0..graph.bonds.len()).find(diverges);
    let place = match bond {
        Some(index) => format!("the coupling of bond {} diverges", graph.bonds[index].name),
        None => "the coupling diverges".to_owned(),
    };
    let stale = (0..graph.components.len())
        .find(|component| run.state.exchange.modes[*component] == Exchange::STALE);
    let exchange = match stale {
        Some(component) => format!(
            "`exchange = \"auto\"` or `\"compensated\"` of {}",
            graph.components[component].name
        ),
        None if run.method == "jacobi" => "method `gauss-seidel`".to_owned(),
        None => "the extrapolation `linear`".to_owned(),
    };
    let half = 0.5 * graph.macro_step;
    format!("{place}: try {exchange}, or steps of {half} s and less until the verdict changes")
}
