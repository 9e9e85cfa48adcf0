//! The start of a system: its names resolved, its units made and initialised.

use std::sync::Arc;

use gyrator_system::{Problem, SystemFile};

use super::apart::Apart;
use super::resolved::{Resolved, joined_scenario, resolved};
use super::ties::Ties;
use super::{System, UnitSource};
use crate::dispatch::Dispatch;
use crate::engine;
use crate::feed_forward::FeedForward;
use crate::halving_unit::HalvingUnit;
use crate::interface_order;
use crate::profile::ProfiledUnit;
use crate::run::{self, Parts, Run};
use crate::run_options::RunOptions;
use crate::start_error::{LoadError, StartError};
use crate::state::{Member, Slot, SystemState};
use crate::unit::{InProcess, Made, UnitMaker, UnitOrder};

impl System {
    /// Resolves the system, initialises the units and brings them to the start time. The system stays
    /// as it is. It can be changed and started again, also while a run of it goes on, if each of its
    /// units can be made again: FMUs, blocks, and units that [`add_with`](Self::add_with) has added.
    ///
    /// # Errors
    /// All problems of the description at once, or the first fault of a unit.
    pub fn start(&self, options: &RunOptions) -> Result<Run, StartError> {
        self.start_with(options, &mut InProcess)
    }

    /// As [`start`](Self::start), with units of FMUs as `maker` makes them. A component that changes what the whole process
    /// has, such as the locale, is made apart from the others if `maker` can do that: the system is then started once more.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with(
        &self,
        options: &RunOptions,
        maker: &mut dyn UnitMaker,
    ) -> Result<Run, StartError> {
        let mut apart = Apart::default();
        loop {
            apart.ask(maker);
            let Some(run) = start_once(self, options, maker, &mut apart)? else {
                continue;
            };
            if !(can_start_again(self) && apart.is_found(run.process_changes())) {
                return Ok(run);
            }
        }
    }

    /// Finds all problems that need no run to find, as [`start`](Self::start) would report them.
    pub fn check(&self) -> Vec<Problem> {
        let mut problems = self.warnings.clone();
        let _ = resolved(self, &mut problems);
        problems
    }
}

/// Whether all its units can be made once more, and do nothing but compute.
fn can_start_again(system: &System) -> bool {
    let mut parts = system.parts.iter().zip(&system.file.components);
    parts.all(|(part, component)| match part {
        UnitSource::Fmu(..) => true,
        UnitSource::InProcess(_) => component.block.is_some(),
    })
}

/// As [`System::start_with`]; `None` if components have to be made apart first.
fn start_once(
    system: &System,
    options: &RunOptions,
    maker: &mut dyn UnitMaker,
    apart: &mut Apart,
) -> Result<Option<Run>, StartError> {
    let mut problems = system.warnings.clone();
    let resolved = resolved(system, &mut problems);
    let failed = problems.iter().any(Problem::is_error);
    let Some(resolved) = resolved.filter(|_| !failed) else {
        return Err(StartError::Invalid(system.file.problems(problems)));
    };
    let joined = joined_scenario(system, &resolved.graph)?;
    let (members, mut ties) = members(&system.file, &system.parts, &resolved, options, maker)?;
    // Before the initialisation, which may depend on what instances have changed.
    let changed = run::process_changes(&members, &resolved.graph);
    if can_start_again(system) && apart.is_found(changed) {
        return Ok(None);
    }
    let dispatch = Dispatch::new(options.threads.min(members.len()), &options.step_clock);
    ties.extend(maker.notes());
    let mut state = SystemState::new(Arc::new(resolved.graph), members, dispatch);
    interface_order::set_up(&mut state);
    engine::set_up(&mut state, &resolved.plan);
    state.signals.accepts_non_finite = options.accept_not_finite;
    let noted = system.feed_forward.as_ref().map(FeedForward::note);
    if let Some(feed_forward) = &system.feed_forward {
        let signals = feed_forward.clone().signals(&state.graph);
        engine::add_feed_forward(&mut state, signals);
    }
    if let Some(scenario) = joined {
        engine::add_scenario(&mut state, scenario, resolved.period.start);
    }
    let control = resolved.control;
    let run = run::start(Parts {
        state,
        method: resolved.method.name(),
        plan: resolved.plan,
        control: (control.name(), control.build()),
        control_facts: control.facts(&()),
        period: resolved.period,
        interrupt: options.interrupt.clone(),
        waits_at_stop_time: options.waits_at_stop_time,
        open_end: options.open_end,
        notes: problems
            .into_iter()
            .map(|problem| problem.message)
            .chain(noted)
            .collect(),
        ties,
    })?;
    Ok(Some(run))
}

/// Makes the units, in the order of the graph; also notes about what those in this process share.
fn members(
    file: &SystemFile,
    parts: &[UnitSource],
    resolved: &Resolved,
    options: &RunOptions,
    maker: &mut dyn UnitMaker,
) -> Result<(Vec<Member>, Vec<String>), StartError> {
    let is_fmu = |place: &&usize| matches!(parts[**place], UnitSource::Fmu(..));
    let fmus = resolved.places.iter().filter(is_fmu).count();
    let order = |place: &usize| match &parts[*place] {
        UnitSource::Fmu(fmu, description) => Some(UnitOrder {
            component: &file.components[*place],
            fmu,
            description,
            options,
            is_alone: options.is_only_run && fmus == 1,
        }),
        UnitSource::InProcess(_) => None,
    };
    let orders: Vec<_> = resolved.places.iter().map(order).collect();
    maker.plan(&orders.iter().flatten().copied().collect::<Vec<_>>());
    let mut ties = Ties::new(options.threads);
    let make = |order: Option<UnitOrder<'_>>| order.map(|order| slot(maker, &order, &mut ties));
    let made: Vec<_> = orders.into_iter().map(make).collect();
    let (mut members, mut errors) = (Vec::new(), Vec::new());
    for (component, (place, made)) in resolved.places.iter().zip(made).enumerate() {
        let file_component = &file.components[*place];
        let slot = match (made, &parts[*place]) {
            (Some(made), _) => made,
            (None, UnitSource::InProcess(unit)) => {
                Ok(Slot::Other(unit.unit_for_run(file_component, file)?))
            }
            (None, UnitSource::Fmu(..)) => continue,
        };
        match slot {
            Ok(slot) => {
                let description = &resolved.graph.components[component].description;
                let slot = HalvingUnit::around(slot, file_component, description);
                members.push(Member::new(slot, component, &resolved.graph));
            }
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() {
        Ok((members, ties.notes()))
    } else {
        Err(StartError::Load(errors))
    }
}

fn slot(
    maker: &mut dyn UnitMaker,
    order: &UnitOrder<'_>,
    ties: &mut Ties,
) -> Result<Slot, LoadError> {
    ties.during(order, || match order.make(maker)? {
        Made::Here(unit) => Ok(Slot::Fmu(ProfiledUnit::plain(unit))),
        Made::Around(unit) => Ok(Slot::around(unit)),
        Made::Elsewhere(unit) => Ok(Slot::Other(unit)),
    })
}
