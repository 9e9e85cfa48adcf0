//! Elements beside springs, dampers and smooth friction, and the drawing of systems with them.

use super::{Abilities, Draw, Node, RandomSystem, Spring};
use gyrator::random::SplitMix64;

/// Width of the change of sign of sharp friction, m/s: less than an inner step crosses.
const SHARP: f64 = 1e-3;
/// Inner steps are at most this part of a radian of the fastest oscillation.
const INNER_ANGLE: f64 = 0.05;
/// Macro-steps are at most so many radians of the fastest oscillation: the limit of the semi-implicit Euler method.
const GREATEST_ANGLE: f64 = 2.0;
/// Energy that drives, noise and late forces bring at most, about, J.
const DRIVEN_ENERGY: f64 = 30.0;

/// Sets the stream of the elements apart from the stream of the abilities.
const ELEMENTS: u64 = 0x5eed;
/// Sets the stream of the abilities of vendors' units apart from both.
const VENDORS: u64 = 0xfee1;

/// What a system has beside linear springs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ElementKind {
    /// Nothing: linear springs and dampers, driven or not.
    Linear,
    /// Springs that become stiffer by the cube of the stretch.
    Cubic,
    /// Stops at one side, in the springs to the wall or between masses.
    Contact,
    /// Friction that changes its sign at once.
    SharpFriction,
    /// Friction that changes its sign within some tenths of m/s.
    SmoothFriction,
    /// Drag by the square of the velocity.
    Quadratic,
    /// A force of random values, each held for a while. A function of time: equal at each macro-step.
    Noise,
    /// A force that changes with the sign of the position.
    Switched,
    /// Van der Pol's damper: negative at small positions.
    SelfExciting,
    /// At rest until a force is switched on.
    LateExcited,
}

impl ElementKind {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::Linear,
        Self::Cubic,
        Self::Contact,
        Self::SharpFriction,
        Self::SmoothFriction,
        Self::Quadratic,
        Self::Noise,
        Self::Switched,
        Self::SelfExciting,
        Self::LateExcited,
    ];

    /// Whether it may stand between masses.
    fn may_couple(self) -> bool {
        matches!(
            self,
            Self::Contact | Self::SharpFriction | Self::SmoothFriction | Self::Quadratic
        )
    }
}

/// A force against the motion, N, beside the spring's.
#[derive(Debug, Clone, Copy)]
pub(super) enum Element {
    /// Stiffness, N/m, and damping, N s/m, below a negative stretch, m.
    Contact { k: f64, c: f64, gap: f64 },
    /// Greatest force, N, from this velocity on, m/s.
    Friction { force: f64, width: f64 },
    /// N s²/m².
    Quadratic(f64),
    /// Amplitude, N; duration of each value, s.
    Noise { force: f64, hold: f64, seed: u64 },
    /// N.
    Switched(f64),
    /// Damping at rest, N s/m, with the other sign, and the position without damping, m.
    VanDerPol { c: f64, size: f64 },
    /// N, from this time on, s.
    Late { force: f64, time: f64 },
}

impl Element {
    pub(super) fn force(&self, time: f64, x: f64, v: f64) -> f64 {
        match *self {
            Self::Contact { k, c, gap } if x < -gap => k * (x + gap) + c * v,
            Self::Contact { .. } => 0.0,
            Self::Friction { force, width } => force * (v / width).clamp(-1.0, 1.0),
            Self::Quadratic(c) => c * v * v.abs(),
            Self::Noise { force, hold, seed } => {
                let part = (time / hold).floor() as u64;
                let mut value = SplitMix64::new(seed ^ SplitMix64::new(part).next_bits());
                force * (2.0 * value.next_unit() - 1.0)
            }
            Self::Switched(force) => force * x.signum(),
            Self::VanDerPol { c, size } => c * v * ((x / size).powi(2) - 1.0),
            Self::Late { force, time: start } if time >= start => -force,
            Self::Late { .. } => 0.0,
        }
    }

    /// Derivatives of the force by stretch and velocity, of those that may stand between masses.
    pub(super) fn derivatives(&self, x: f64, v: f64) -> [f64; 2] {
        match *self {
            Self::Contact { k, c, gap } if x < -gap => [k, c],
            Self::Friction { force, width } if v.abs() < width => [0.0, force / width],
            Self::Quadratic(c) => [0.0, 2.0 * c * v.abs()],
            _ => [0.0; 2],
        }
    }

    fn stiffness(&self) -> f64 {
        match *self {
            Self::Contact { k, .. } => k,
            _ => 0.0,
        }
    }
}

impl Draw {
    fn kind_of_element(&mut self) -> ElementKind {
        ElementKind::ALL[self.below(ElementKind::ALL.len())]
    }

    /// An element of a kind, beside a spring of the stiffness `k`.
    fn element(&mut self, kind: ElementKind, k: f64) -> Option<Element> {
        Some(match kind {
            ElementKind::Contact => Element::Contact {
                k: k * self.between(3.0, 30.0),
                c: self.between(0.03, 3.0),
                gap: 0.2 * self.0.next_unit(),
            },
            ElementKind::SharpFriction => Element::Friction {
                force: self.between(0.1, 10.0),
                width: SHARP,
            },
            ElementKind::SmoothFriction => Element::Friction {
                force: self.between(0.1, 10.0),
                width: self.between(0.1, 1.0),
            },
            ElementKind::Quadratic => Element::Quadratic(self.between(0.01, 1.0)),
            ElementKind::Noise => Element::Noise {
                force: self.between(1.0, 100.0),
                hold: self.between(0.01, 0.3),
                seed: self.0.next_bits(),
            },
            ElementKind::Switched => Element::Switched(self.between(1.0, 30.0)),
            ElementKind::SelfExciting => Element::VanDerPol {
                c: self.between(0.1, 3.0),
                size: self.between(0.3, 1.0),
            },
            ElementKind::Linear | ElementKind::Cubic | ElementKind::LateExcited => return None,
        })
    }

    /// What units can do: all, values only, or outputs in steps only.
    fn abilities(&mut self) -> Abilities {
        let values_only = Abilities {
            caches_outputs: false,
            may_read_again: true,
            has_derivatives: false,
            has_states: false,
            input_derivatives: 0,
        };
        match self.below(3) {
            0 => Abilities {
                input_derivatives: [1, 1, 3][self.below(3)],
                ..Abilities::ALL
            },
            1 => values_only,
            _ => Abilities {
                caches_outputs: true,
                ..values_only
            },
        }
    }

    /// What units of vendors can do: none declares that its outputs may be read again.
    fn abilities_of_vendors(&mut self) -> Abilities {
        let mut abilities = self.abilities();
        if abilities.has_states {
            abilities.has_derivatives = self.flip();
            abilities.input_derivatives = [0, 1, 3][self.below(3)];
        }
        abilities.may_read_again = false;
        abilities
    }
}

/// How far a run goes with its macro-steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Macro-steps of any size up to beyond the limit, where the coupling explodes.
    BeyondTheLimit,
    /// Small macro-steps.
    Healthy,
    /// Small macro-steps, and rest until one force is switched on, at any time of the run.
    StepResponse,
    /// Macro-steps as they are in use: held inputs leave errors up to the range.
    Usual,
}

impl RandomSystem {
    /// The system of a seed with [elements](ElementKind) of one kind, or of several. Units can do all, or take and give
    /// values only, or compute outputs in steps only: one kind of unit a system. It also has other macro-steps, methods,
    /// exchanges and extrapolations.
    #[must_use]
    pub fn with_drawn_elements(seed: u64, reach: Reach) -> Self {
        let mut system = Self::of_seed(seed);
        // Another stream, so that masses and springs stay as the seed gives them.
        let first = SplitMix64::new(!seed ^ ELEMENTS).next_bits();
        let mut draw = Draw(SplitMix64::new(first));
        let mut kinds = vec![draw.kind_of_element()];
        while draw.below(3) == 0 {
            kinds.push(draw.kind_of_element());
        }
        if reach == Reach::StepResponse {
            // These move without the force.
            kinds.retain(|kind| ![ElementKind::Noise, ElementKind::Switched].contains(kind));
            kinds.push(ElementKind::LateExcited);
        }
        system.draw_elements(&mut draw, &kinds);
        let abilities = draw.abilities();
        let is_single_rate = draw.flip();
        for node in &mut system.nodes {
            node.abilities = abilities;
            node.rate = if is_single_rate { 1 } else { node.rate };
        }
        system.method = ["jacobi", "jacobi", "gauss-seidel"][draw.below(3)];
        system.exchange = ["stale", "compensated", "auto"][draw.below(3)];
        system.extrapolation = ["hold", "hold", "linear", "auto"][draw.below(4)];
        let is_late = kinds.contains(&ElementKind::LateExcited);
        if is_late {
            system.put_to_rest();
        }
        system.draw_steps(&mut draw, reach);
        if is_late {
            system.excite(&mut draw, reach);
        }
        system.kinds = kinds;
        system
    }

    /// The system of a seed with drawn elements, of units as vendors make them, with one communication step to a macro-step.
    #[must_use]
    pub fn of_vendors(seed: u64) -> Self {
        let mut system = Self::with_drawn_elements(seed, Reach::Usual);
        // Another stream, so that masses, springs and elements stay as the seed gives them.
        let first = SplitMix64::new(!seed ^ VENDORS).next_bits();
        let mut draw = Draw(SplitMix64::new(first));
        let abilities = draw.abilities_of_vendors();
        // Near rest friction sticks and stops are closed, from which D falls when they let go.
        let speed = if draw.flip() {
            1.0
        } else {
            draw.between(1e-3, 1.0)
        };
        for node in &mut system.nodes {
            node.abilities = abilities;
            node.rate = 1;
            node.start = [draw.0.next_unit() * 0.4 - 0.2, speed * node.start[1]];
            for element in &mut node.between {
                if let Element::Friction { force, .. } = element {
                    *force *= draw.between(1.0, 10.0);
                }
            }
        }
        system
    }

    /// The kinds of its elements, if they were drawn.
    #[must_use]
    pub fn kinds(&self) -> &[ElementKind] {
        &self.kinds
    }

    fn draw_elements(&mut self, draw: &mut Draw, kinds: &[ElementKind]) {
        let is_cubic = kinds.contains(&ElementKind::Cubic);
        // Other elements stand beside springs of either kind.
        let is_linear = !is_cubic && (kinds == [ElementKind::Linear] || draw.flip());
        let sure = draw.below(self.nodes.len());
        for (index, node) in self.nodes.iter_mut().enumerate() {
            node.friction = 0.0;
            for spring in [&mut node.wall, &mut node.coupling] {
                spring.k3 = if is_linear { 0.0 } else { spring.k };
            }
            for kind in kinds {
                if index != sure && draw.flip() {
                    continue;
                }
                let is_between = node.parent.is_some() && kind.may_couple() && draw.flip();
                let (spring, elements) = match is_between {
                    true => (&node.coupling, &mut node.between),
                    false => (&node.wall, &mut node.own),
                };
                elements.extend(draw.element(*kind, spring.k));
            }
        }
    }

    /// Macro-steps such that held inputs make oscillations grow from a part of a hundred to far beyond the range. In N
    /// steps of H the amplitude of the angular frequency ω grows by exp(s·(ωH)²·N/4) with a share s.
    fn draw_steps(&mut self, draw: &mut Draw, reach: Reach) {
        self.steps = draw.between(300.0, 6000.0) as usize;
        let growth = match reach {
            Reach::BeyondTheLimit => draw.between(0.03, 3000.0),
            Reach::Healthy | Reach::StepResponse => draw.between(1e-3, 0.3),
            Reach::Usual => draw.between(0.01, 3.0),
        };
        let energy = self.energy();
        let usual = self.fastest(energy / self.nodes.len() as f64, false);
        let greatest = self.fastest(energy, true);
        let angle = (8.0 * growth / self.steps as f64)
            .sqrt()
            .min(GREATEST_ANGLE);
        self.step_size = angle / usual;
        // The same inner steps at each of the macro-steps, down to a quarter, and rates.
        let most = self.nodes.iter().map(|node| node.rate).max();
        let parts = 4.0 * f64::from(most.unwrap_or(1));
        let inner = (self.step_size * greatest / (INNER_ANGLE * parts)).ceil();
        self.inner_step = self.step_size / (parts * inner);
    }

    /// The energy of the start, and some that drives bring, J.
    fn energy(&self) -> f64 {
        let kinetic = |node: &Node| 0.5 * node.mass * node.start[1] * node.start[1];
        self.nodes.iter().map(kinetic).sum::<f64>() + DRIVEN_ENERGY
    }

    /// The greatest angular frequency of a mass with its springs, rad/s, each of which has this energy, J.
    fn fastest(&self, energy: f64, with_stops: bool) -> f64 {
        let of = |spring: &Spring, elements: &[Element]| {
            let stops = elements.iter().map(Element::stiffness).sum::<f64>();
            // E = k·x²/2 + k₃·x⁴/4 with k₃ = k.
            let square = (1.0 + 4.0 * energy / spring.k).sqrt() - 1.0;
            spring.k + 3.0 * spring.k3 * square + if with_stops { stops } else { 0.0 }
        };
        let mass = |(index, node): (usize, &Node)| {
            let children = self.children(index).into_iter();
            let to_children = children.map(|child| {
                let child = &self.nodes[child];
                of(&child.coupling, &child.between)
            });
            let to_parent = node.parent.map(|_| of(&node.coupling, &node.between));
            let all = to_children.chain(to_parent).sum::<f64>();
            ((of(&node.wall, &node.own) + all) / node.mass).sqrt()
        };
        self.nodes.iter().enumerate().map(mass).fold(0.0, f64::max)
    }

    fn put_to_rest(&mut self) {
        for node in &mut self.nodes {
            node.start = [0.0; 2];
            node.drive = (0.0, 0.0);
            node.own
                .retain(|element| !matches!(element, Element::Noise { .. }));
        }
    }

    /// Switches a force on at one mass, at a communication point.
    fn excite(&mut self, draw: &mut Draw, reach: Reach) {
        let latest = match reach {
            Reach::StepResponse => 1.0,
            Reach::BeyondTheLimit | Reach::Healthy | Reach::Usual => 0.98,
        };
        let step = (latest * draw.0.next_unit() * self.steps as f64).floor();
        let mass = draw.below(self.nodes.len());
        self.nodes[mass].own.push(Element::Late {
            force: draw.between(1.0, 30.0),
            // Within an inner step, so that rounding of the time decides nothing.
            time: step * self.step_size + 0.3 * self.inner_step,
        });
    }
}
