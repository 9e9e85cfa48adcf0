//! Seeded random systems of coupled masses, with their solution without a coupling error.

mod elements;
mod mass_unit;

use gyrator::random::SplitMix64;
use gyrator::{Run, RunOptions, System, Word};

use elements::Element;
pub use elements::{ElementKind, Reach};
use mass_unit::MassUnit;

/// Longest inner step, s. The fastest oscillation that is drawn has some 200 rad/s, and a Runge-Kutta step of
/// this length misses it by less than 1e-7 of its amplitude.
const INNER_STEP: f64 = 2.5e-4;

/// Two to six masses that hang on each other as a tree, each with a spring to the wall. They are linear or
/// not, damped or not, driven or not, with one or several communication steps, with bonds or mere
/// connections.
///
/// A mass and the spring to its parent in the tree are a unit. The force of that spring feeds through from the
/// position and the velocity of the parent.
#[derive(Debug, Clone)]
pub struct RandomSystem {
    /// Macro-step, s.
    pub step_size: f64,
    /// Number of macro-steps.
    pub steps: usize,
    /// Exchange of the forces: `stale`, `compensated`, `fresh` or `auto`.
    pub exchange: &'static str,
    /// Extrapolation of the inputs: `hold`, `linear` or `auto`.
    pub extrapolation: &'static str,
    /// Whether force and velocity are a bond.
    pub has_bonds: bool,
    /// Sense of all bonds; 1 is right.
    pub sense: f64,
    /// Correction of the bonds.
    pub correction: Option<Word>,
    /// Whether the choice of method, exchange and extrapolation is left to the program.
    pub is_untuned: bool,
    /// Method of the coupling.
    pub method: &'static str,
    /// Longest inner step of units and truth, s.
    inner_step: f64,
    kinds: Vec<ElementKind>,
    nodes: Vec<Node>,
}

/// The capabilities of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// Outputs are computed at the end of a step only, and again read as they were.
    pub caches_outputs: bool,
    /// Declares that outputs may be read again between steps, unless it caches them.
    pub may_read_again: bool,
    /// Directional derivatives.
    pub has_derivatives: bool,
    /// States can be saved and restored.
    pub has_states: bool,
    /// Order up to which derivatives of inputs are taken, at most 3; with 0 inputs are held.
    pub input_derivatives: u32,
}

impl Abilities {
    const ALL: Self = Self {
        caches_outputs: false,
        may_read_again: true,
        has_derivatives: true,
        has_states: true,
        input_derivatives: 1,
    };
}

/// A mass with its springs, dampers, friction and drive.
#[derive(Debug, Clone)]
struct Node {
    abilities: Abilities,
    parent: Option<usize>,
    /// Communication steps to a macro-step.
    rate: u32,
    mass: f64,
    wall: Spring,
    coupling: Spring,
    /// Coulomb friction, N, smooth below 0.1 m/s.
    friction: f64,
    /// Amplitude, N, and angular frequency, rad/s.
    drive: (f64, f64),
    start: [f64; 2],
    /// Between the mass and the wall, and between the mass and its parent.
    own: Vec<Element>,
    between: Vec<Element>,
}

/// f = k·x + k₃·x³ + c·v.
#[derive(Debug, Clone, Copy)]
struct Spring {
    k: f64,
    k3: f64,
    c: f64,
}

impl Spring {
    fn force(self, x: f64, v: f64) -> f64 {
        self.k * x + self.k3 * x * x * x + self.c * v
    }
}

impl Node {
    fn coupling_force(&self, [x, v]: [f64; 2], [x_parent, v_parent]: [f64; 2]) -> f64 {
        match self.parent {
            Some(_) => {
                let (x, v) = (x - x_parent, v - v_parent);
                let elements = self.between.iter().map(|element| element.force(0.0, x, v));
                self.coupling.force(x, v) + elements.sum::<f64>()
            }
            None => 0.0,
        }
    }

    /// Derivatives of the state; `children` is the sum of the forces of the springs to the children.
    fn slope(&self, time: f64, state: [f64; 2], parent: [f64; 2], children: f64) -> [f64; 2] {
        let [x, v] = state;
        let drive = self.drive.0 * (self.drive.1 * time).sin();
        let friction = self.friction * (v / 0.1).tanh();
        let elements = self.own.iter().map(|element| element.force(time, x, v));
        let own =
            self.wall.force(x, v) + self.coupling_force(state, parent) + elements.sum::<f64>();
        [v, (drive - friction - own + children) / self.mass]
    }
}

/// Draws numbers of a system.
struct Draw(SplitMix64);

impl Draw {
    fn between(&mut self, least: f64, greatest: f64) -> f64 {
        least * (greatest / least).powf(self.0.next_unit())
    }

    fn flip(&mut self) -> bool {
        self.0.next_unit() < 0.5
    }

    fn below(&mut self, count: usize) -> usize {
        (self.0.next_unit() * count as f64) as usize
    }

    fn spring(&mut self, is_linear: bool, is_damped: bool) -> Spring {
        let k = self.between(10.0, 1600.0);
        Spring {
            k,
            // Doubles the force at 1 m.
            k3: if is_linear { 0.0 } else { k },
            c: if is_damped {
                self.between(0.03, 3.0)
            } else {
                0.0
            },
        }
    }
}

impl RandomSystem {
    /// The system of a seed.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        // Streams of neighbouring seeds overlap.
        let first = SplitMix64::new(seed).next_bits();
        let mut draw = Draw(SplitMix64::new(first));
        let [is_linear, is_damped, is_single_rate, has_bonds] = [(); 4].map(|()| draw.flip());
        let count = 2 + draw.below(5);
        let nodes = (0..count).map(|index| {
            let parent = index.checked_sub(1).map(|last| draw.below(last + 1));
            let rate = [1, 2, 5, 10][draw.below(4)];
            let is_driven = draw.below(4) == 0;
            let is_rough = !is_linear && is_damped && draw.flip();
            Node {
                abilities: Abilities::ALL,
                parent,
                rate: if is_single_rate { 1 } else { rate },
                mass: draw.between(0.3, 10.0),
                wall: draw.spring(is_linear, is_damped),
                coupling: draw.spring(is_linear, is_damped),
                friction: if is_rough {
                    draw.between(0.1, 3.0)
                } else {
                    0.0
                },
                drive: match is_driven {
                    true => (draw.between(1.0, 30.0), draw.between(1.0, 30.0)),
                    false => (0.0, 0.0),
                },
                start: [0.0, 20.0 * draw.0.next_unit() - 10.0],
                own: Vec::new(),
                between: Vec::new(),
            }
        });
        let nodes = nodes.collect();
        Self {
            step_size: draw.between(5e-4, 4e-3),
            steps: 2000,
            exchange: ["stale", "compensated", "fresh"][draw.below(3)],
            extrapolation: ["hold", "hold", "hold", "linear"][draw.below(4)],
            has_bonds,
            sense: 1.0,
            correction: None,
            is_untuned: false,
            method: "jacobi",
            inner_step: INNER_STEP,
            kinds: Vec::new(),
            nodes,
        }
    }

    /// The system of a seed, whose units lack some of the abilities, as vendors' FMUs do.
    #[must_use]
    pub fn with_drawn_abilities(seed: u64) -> Self {
        let mut system = Self::of_seed(seed);
        // Another stream, so that the system stays as the seed gives it.
        let first = SplitMix64::new(!seed).next_bits();
        let mut draw = Draw(SplitMix64::new(first));
        for node in &mut system.nodes {
            let [caches_outputs, has_derivatives, has_states] = [(); 3].map(|()| draw.flip());
            node.abilities = Abilities {
                caches_outputs,
                may_read_again: true,
                has_derivatives,
                has_states,
                input_derivatives: [0, 0, 1, 3][draw.below(4)],
            };
        }
        system
    }

    /// The abilities of the units.
    pub fn abilities(&self) -> impl Iterator<Item = Abilities> {
        self.nodes.iter().map(|node| node.abilities)
    }

    /// Whether all forces are linear in positions and velocities.
    #[must_use]
    pub fn is_linear(&self) -> bool {
        let springs = |node: &Node| node.wall.k3 == 0.0 && node.coupling.k3 == 0.0;
        self.nodes
            .iter()
            .all(|node| springs(node) && node.friction == 0.0)
    }

    /// Whether something takes energy out of the system.
    #[must_use]
    pub fn is_damped(&self) -> bool {
        self.nodes.iter().any(|node| node.wall.c > 0.0)
    }

    /// Whether units step at several rates.
    #[must_use]
    pub fn is_multi_rate(&self) -> bool {
        self.nodes.iter().any(|node| node.rate != 1)
    }

    /// The system with all communication steps `factor` times as long.
    #[must_use]
    pub fn system(&self, factor: f64) -> System {
        let step = factor * self.step_size;
        let mut system = System::new(step);
        system.stop_time(self.step_size * self.steps as f64);
        if !self.is_untuned {
            system.method(self.method);
        }
        for (index, node) in self.nodes.iter().enumerate() {
            let name = format!("n{index}");
            let unit = MassUnit::new(node.clone(), self.children(index), self.inner_step);
            let settings = system
                .add(&name, unit)
                .step_size(step / f64::from(node.rate));
            if !self.is_untuned {
                settings
                    .extrapolation(self.extrapolation)
                    .exchange(self.exchange);
            }
        }
        for (index, node) in self.nodes.iter().enumerate() {
            let Some(parent) = node.parent else { continue };
            let own = |variable: &str| format!("n{index}.{variable}");
            let of_parent = |variable: &str| format!("n{parent}.{variable}");
            let effort = [own("f"), of_parent(&format!("f{index}"))];
            let flow = [of_parent("v"), own("v_parent")];
            system.connect(&of_parent("x"), &own("x_parent"));
            if self.has_bonds {
                let [effort, flow] = [&effort, &flow].map(|[from, to]| (&**from, &**to));
                let bond = system.bond(&format!("b{index}"), effort, flow);
                let bond = bond.sense(self.sense);
                if let Some(correction) = &self.correction {
                    bond.correction(correction.clone());
                }
            } else {
                system.connect(&effort[0], &effort[1]);
                system.connect(&flow[0], &flow[1]);
            }
        }
        system
    }

    fn children(&self, index: usize) -> Vec<usize> {
        let is_child = |child: &usize| self.nodes[*child].parent == Some(index);
        (0..self.nodes.len()).filter(is_child).collect()
    }

    /// The run with all communication steps `factor` times as long.
    ///
    /// # Panics
    /// If the system is invalid: an error of this program.
    #[must_use]
    pub fn start(&self, factor: f64) -> Run {
        let options = RunOptions {
            accept_not_finite: true,
            ..RunOptions::default()
        };
        let run = self.system(factor).start(&options);
        run.expect("a drawn system is valid")
    }

    /// Names of the outputs, as the engine orders them.
    #[must_use]
    pub fn outputs(&self) -> Vec<String> {
        let outputs = self.start(1.0).graph().real_outputs();
        outputs.into_iter().map(|output| output.name).collect()
    }

    /// Every output at every macro-step without a coupling error: the whole system by one Runge-Kutta
    /// method of order four. By outputs, in the order of [`outputs`](Self::outputs).
    #[must_use]
    pub fn truth(&self) -> Vec<Vec<f64>> {
        let inner = inner_steps(self.step_size, self.inner_step);
        let inner_step = self.step_size / inner;
        let mut states: Vec<[f64; 2]> = self.nodes.iter().map(|node| node.start).collect();
        let names = self.outputs();
        let mut truth = vec![Vec::with_capacity(self.steps + 1); names.len()];
        for step in 0..=self.steps {
            for (name, values) in names.iter().zip(&mut truth) {
                values.push(self.output(&states, name));
            }
            for part in 0..inner as usize {
                let time = step as f64 * self.step_size + part as f64 * inner_step;
                states = runge_kutta(time, inner_step, &states, |time, states| {
                    self.slopes(time, states)
                });
            }
        }
        truth
    }

    fn parent_state(&self, states: &[[f64; 2]], index: usize) -> [f64; 2] {
        let parent = self.nodes[index].parent;
        parent.map_or([0.0; 2], |parent| states[parent])
    }

    fn force(&self, states: &[[f64; 2]], index: usize) -> f64 {
        let parent = self.parent_state(states, index);
        self.nodes[index].coupling_force(states[index], parent)
    }

    fn output(&self, states: &[[f64; 2]], name: &str) -> f64 {
        let (component, variable) = name.split_once('.').unwrap_or_default();
        let index: usize = component[1..].parse().unwrap_or_default();
        match variable {
            "x" => states[index][0],
            "v" => states[index][1],
            _ => self.force(states, index),
        }
    }

    fn slopes(&self, time: f64, states: &[[f64; 2]]) -> Vec<[f64; 2]> {
        let mut children = vec![0.0; self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate() {
            if let Some(parent) = node.parent {
                children[parent] += self.force(states, index);
            }
        }
        let slope = |(index, node): (usize, &Node)| {
            let parent = self.parent_state(states, index);
            node.slope(time, states[index], parent, children[index])
        };
        self.nodes.iter().enumerate().map(slope).collect()
    }
}

/// The number of inner steps in a step.
fn inner_steps(step: f64, longest: f64) -> f64 {
    // Rounding makes no further one.
    (step / longest - 1e-9).ceil()
}

/// A step of the classical Runge-Kutta method (Kutta 1901).
fn runge_kutta(
    time: f64,
    step: f64,
    states: &[[f64; 2]],
    slopes: impl Fn(f64, &[[f64; 2]]) -> Vec<[f64; 2]>,
) -> Vec<[f64; 2]> {
    let after = |part: f64, slopes: &[[f64; 2]]| -> Vec<[f64; 2]> {
        let pairs = states.iter().zip(slopes);
        pairs
            .map(|(state, slope)| [0, 1].map(|i| state[i] + part * slope[i]))
            .collect()
    };
    let half = 0.5 * step;
    let k1 = slopes(time, states);
    let k2 = slopes(time + half, &after(half, &k1));
    let k3 = slopes(time + half, &after(half, &k2));
    let k4 = slopes(time + step, &after(step, &k3));
    let mean = |index: usize| {
        [0, 1].map(|i| (k1[index][i] + 2.0 * (k2[index][i] + k3[index][i]) + k4[index][i]) / 6.0)
    };
    let means: Vec<[f64; 2]> = (0..states.len()).map(mean).collect();
    after(step, &means)
}
