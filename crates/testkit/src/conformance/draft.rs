//! A system of the conformance suite before it is put together, so that this can be done in several ways and orders.

use std::path::PathBuf;

use gyrator::{System, Unit};
use gyrator_system::{Choice, Spanned};

use crate::combination::Combination;
use crate::fmu_fixture::fmu;

/// An output and the input that it feeds.
pub(super) type Wire = (&'static str, &'static str);

/// A system before it is put together, so that it can be put together in several ways.
pub(super) struct Draft {
    macro_step: f64,
    steps: u32,
    components: Vec<Component>,
    wires: Vec<Wire>,
    /// Names, and efforts and flows, axis by axis.
    bonds: Vec<(String, Vec<(Wire, Wire)>)>,
}

struct Component {
    name: &'static str,
    step: f64,
    add: Box<dyn FnOnce(&mut System)>,
}

/// What a component is made of.
enum Part {
    Unit(Box<dyn Unit>),
    Fmu(PathBuf),
}

/// How a [`Draft`] is put together.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Assembly {
    /// Components, connections and bonds in the opposite order.
    pub(super) reversed: bool,
    /// Bonds as plain connections.
    pub(super) without_bonds: bool,
}

pub(super) const STEPS: u32 = 24;

impl Draft {
    pub(super) fn new(macro_step: f64) -> Self {
        Self {
            macro_step,
            steps: STEPS,
            components: Vec::new(),
            wires: Vec::new(),
            bonds: Vec::new(),
        }
    }

    /// Makes so many macro-steps instead of [`STEPS`].
    pub(super) fn steps(mut self, steps: u32) -> Self {
        self.steps = steps;
        self
    }

    /// Adds a unit whose communication step is `ratio` macro-steps; a tenth of one if the extrapolation
    /// needs it, and at most one if the method iterates or the step control needs that.
    pub(super) fn unit(
        &mut self,
        name: &'static str,
        ratio: f64,
        unit: impl Unit + 'static,
        combination: &Combination,
    ) {
        self.part(name, ratio, Part::Unit(Box::new(unit)), combination);
    }

    /// As [`unit`](Self::unit), with an FMU of the kit.
    pub(super) fn fmu(
        &mut self,
        name: &'static str,
        ratio: f64,
        model: &'static str,
        combination: &Combination,
    ) {
        self.part(name, ratio, Part::Fmu(fmu(model)), combination);
    }

    fn part(&mut self, name: &'static str, ratio: f64, part: Part, combination: &Combination) {
        let Combination {
            extrapolation,
            exchange,
            ..
        } = *combination;
        let ratio = if combination.needs_substeps() {
            0.1
        } else if combination.iterates() || combination.repeats_steps() {
            ratio.min(1.0)
        } else {
            ratio
        };
        let step = ratio * self.macro_step;
        let add = move |system: &mut System| {
            let settings = match part {
                Part::Unit(unit) => system.add(name, unit),
                Part::Fmu(path) => system.add_fmu(name, path).expect("an FMU of the kit"),
            };
            let settings = settings.step_size(step);
            settings.extrapolation(extrapolation).exchange(exchange);
        };
        self.components.push(Component {
            name,
            step,
            add: Box::new(add),
        });
    }

    pub(super) fn connect(&mut self, from: &'static str, to: &'static str) {
        self.wires.push((from, to));
    }

    pub(super) fn bond(&mut self, axes: &[(Wire, Wire)]) {
        let name = format!("bond {}", self.bonds.len() + 1);
        self.bonds.push((name, axes.to_vec()));
    }

    pub(super) fn stop_time(&self) -> f64 {
        f64::from(self.steps) * self.macro_step
    }

    /// Names and communication steps, s, of the units that are slower than the macro-step.
    pub(super) fn slow_units(&self) -> Vec<(&'static str, f64)> {
        let slow = |component: &&Component| component.step > 1.5 * self.macro_step;
        let of = |component: &Component| (component.name, component.step);
        self.components.iter().filter(slow).map(of).collect()
    }

    pub(super) fn assemble(mut self, assembly: Assembly, combination: &Combination) -> System {
        if assembly.without_bonds {
            let axes = self.bonds.drain(..).flat_map(|(_, axes)| axes);
            self.wires
                .extend(axes.flat_map(|(effort, flow)| [effort, flow]));
        }
        if assembly.reversed {
            self.components.reverse();
            self.wires.reverse();
            self.bonds.reverse();
        }
        let mut system = System::new(self.macro_step);
        system.stop_time(self.stop_time());
        system.method(choice(combination.method));
        system.step_control(choice(combination.step_control));
        for component in self.components {
            (component.add)(&mut system);
        }
        for (from, to) in self.wires {
            system.connect(from, to);
        }
        for (name, axes) in &self.bonds {
            let (effort, flow) = axes[0];
            let mut bond = system.bond(name, effort, flow);
            for &(effort, flow) in &axes[1..] {
                bond = bond.axis(effort, flow);
            }
            bond.correction(combination.correction);
        }
        system
    }
}

pub(super) fn choice(word: &str) -> Choice {
    Choice {
        name: Spanned::unplaced(word.to_owned()),
        parameters: Vec::new(),
    }
}
