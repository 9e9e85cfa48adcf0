use super::{BondFacts, BondPoint, Correction, CorrectionFacts, Increments, Limit, Side};
use crate::curve::Curve;
use crate::registry::{Entry, ParameterInfo, ParameterKind};

/// The energy correction of Rodríguez et al. 2022, §3.
///
/// The residual power δP of a step, times μ and H, estimates the energy ζ that the coupling
/// made; a force along the flow takes it out again in the next step, with an integral term ν·U
/// for what is still to be taken out.
#[derive(Debug, Clone)]
struct ResidualPower {
    mu: Share,
    mu_in_force: f64,
    nu: f64,
    limit: Limit,
    minimum_flow: f64,
    threshold: f64,
    /// The flow is corrected instead of the effort: the effort's receiver has no feed-through.
    corrects_flow: bool,
    corrects: &'static str,
    book: EnergyAccount,
}

/// Where μ comes from.
#[derive(Debug, Clone)]
enum Share {
    Given(f64),
    /// Eqs 20–21.
    Rule,
    /// The energy audit: the energy that stale feed-through really put in, step by step.
    Audit(RunningShare),
}

/// μ as the energy that staleness made over the residual energy, both summed with a memory of some
/// thousand steps. Sums, and not a fit of one to the other step by step: the two are out of phase.
#[derive(Debug, Clone, Default)]
struct RunningShare {
    start: f64,
    stale: f64,
    residual: f64,
    /// Greatest magnitude of a step's residual seen: the weight of the start value.
    greatest: f64,
    share: f64,
}

impl RunningShare {
    /// Share of the past that is kept at each step.
    const MEMORY: f64 = 1.0 - 1.0 / 4096.0;
    /// The start value counts like this many of the strongest steps.
    const START_WEIGHT: f64 = 50.0;

    fn starting_from(start: f64) -> Self {
        Self {
            start,
            share: start,
            ..Self::default()
        }
    }

    /// Adds a step: the energy made by staleness and the residual, both in the same unit.
    fn learn(&mut self, stale: f64, residual: f64) {
        if stale.is_nan() {
            return;
        }
        self.stale = self.stale * Self::MEMORY + stale;
        self.residual = self.residual * Self::MEMORY + residual;
        self.greatest = self.greatest.max(residual.abs());
        let weight = Self::START_WEIGHT * self.greatest;
        let share = (self.stale + self.start * weight) / (self.residual + weight);
        // Where the residual sum nearly cancels out, the last share is the better one.
        if self.residual > -0.5 * weight && share.is_finite() {
            self.share = share.clamp(0.0, 2.0);
        }
    }

    fn share(&self) -> f64 {
        self.share
    }
}

/// Energies of the bond, J.
#[derive(Debug, Clone, Default)]
struct EnergyAccount {
    /// ζ of the step that ended here.
    estimate: f64,
    /// U: energy estimated and not yet taken out.
    open: f64,
}

pub(super) const ENTRY: Entry<dyn Correction> = Entry {
    name: "residual-power",
    summary: "a force along the flow removes the energy that the residual power stands for",
    source: "Rodríguez 2022 eqs 8–19; μ from eqs 20–21",
    parameters: &[
        ParameterInfo {
            name: "mu",
            summary: "share μ of the residual energy that is taken for an error; auto: from eqs 20–21; audit: adapted to what the energy audit finds",
            kind: ParameterKind::NumberOrWord {
                words: &["auto", "audit"],
                range: (-10.0, 10.0),
            },
        },
        ParameterInfo {
            name: "nu",
            summary: "gain ν of the energy that is still to be removed",
            kind: ParameterKind::Number {
                default: 0.0,
                range: (0.0, 10.0),
            },
        },
        ParameterInfo {
            name: "limit",
            summary: "greatest correction, relative to the corrected signal",
            kind: ParameterKind::Number {
                default: 1.0,
                range: (0.0, f64::INFINITY),
            },
        },
        ParameterInfo {
            name: "limit_absolute",
            summary: "greatest correction, in the unit of the corrected signal",
            kind: ParameterKind::Number {
                default: f64::INFINITY,
                range: (0.0, f64::INFINITY),
            },
        },
        ParameterInfo {
            name: "minimum_flow",
            summary: "no correction while the flow (for `corrects = \"flow\"`, the effort) is smaller",
            kind: ParameterKind::Number {
                default: 0.0,
                range: (0.0, f64::INFINITY),
            },
        },
        ParameterInfo {
            name: "threshold",
            summary: "no correction while the residual power is smaller, W",
            kind: ParameterKind::Number {
                default: 0.0,
                range: (0.0, f64::INFINITY),
            },
        },
        ParameterInfo {
            name: "corrects",
            summary: "which input is corrected; auto: the one of the side without direct feed-through",
            kind: ParameterKind::Word(&["auto", "effort", "flow"]),
        },
    ],
    facts: |_, ()| CorrectionFacts {
        removes_stale_energy: true,
        ..CorrectionFacts::default()
    },
    build: |arguments| {
        Box::new(ResidualPower {
            mu: match arguments.number_or_auto("mu") {
                Some(mu) => Share::Given(mu),
                None if arguments.word("mu") == "audit" => Share::Audit(RunningShare::default()),
                None => Share::Rule,
            },
            mu_in_force: 0.5,
            nu: arguments.number("nu"),
            limit: Limit {
                relative: arguments.number("limit"),
                absolute: arguments.number("limit_absolute"),
            },
            minimum_flow: arguments.number("minimum_flow"),
            threshold: arguments.number("threshold"),
            corrects_flow: false,
            corrects: arguments.word("corrects"),
            book: EnergyAccount::default(),
        })
    },
};

impl Correction for ResidualPower {
    fn begin(&mut self, facts: &BondFacts) {
        self.book = EnergyAccount::default();
        self.corrects_flow = match self.corrects {
            "flow" => true,
            "effort" => false,
            _ => facts.flow_feedthrough && !facts.effort_feedthrough,
        };
        self.mu_in_force = match &mut self.mu {
            Share::Given(mu) => *mu,
            Share::Rule => share_of_error(facts, self.corrects_flow),
            Share::Audit(regression) => {
                *regression =
                    RunningShare::starting_from(share_of_error(facts, self.corrects_flow));
                regression.share()
            }
        };
    }

    fn correct(&mut self, point: &BondPoint, increments: &mut Increments) {
        // The corrected signal is "force", the other one "velocity", as in the paper.
        let (force, velocity) = if self.corrects_flow {
            (&point.flow, &point.effort)
        } else {
            (&point.effort, &point.flow)
        };
        let target = if self.corrects_flow {
            &mut increments.flow
        } else {
            &mut increments.effort
        };
        let Some(request) = self.request(point, force, velocity) else {
            return;
        };
        let sign = self.sign();
        for ((curve, velocity), weight) in
            target.iter_mut().zip(&velocity.output).zip(&point.weight)
        {
            *curve = Curve::constant(request * sign * weight * velocity);
        }
    }

    fn limit(&self) -> Option<Limit> {
        Some(self.limit)
    }

    fn duplicate(&self) -> Box<dyn Correction> {
        Box::new(self.clone())
    }

    fn parameters_in_force(&self) -> Vec<(&'static str, f64)> {
        vec![("mu", self.mu_in_force), ("nu", self.nu)]
    }
}

impl ResidualPower {
    /// End a gives the power weight·effort·flow and end b receives it; the corrected end's own
    /// balance has the opposite sign at end a.
    fn sign(&self) -> f64 {
        if self.corrects_flow { -1.0 } else { 1.0 }
    }

    /// The factor on the weighted velocity that gives the correcting force of eq. 19.
    fn request(&mut self, point: &BondPoint, force: &Side, velocity: &Side) -> Option<f64> {
        if point.index == 0 {
            return None;
        }
        let (mut residual_power, mut correction_power, mut square) = (0.0, 0.0, 0.0);
        let mut stale_power = 0.0;
        for axis in 0..point.weight.len() {
            let weight = self.sign() * point.weight[axis];
            residual_power += weight
                * (force.previous_output[axis] * velocity.output[axis]
                    - velocity.previous_output[axis] * force.output[axis]);
            correction_power += weight * force.correction[axis] * velocity.output[axis];
            stale_power += weight
                * (force.previous_error[axis] * velocity.output[axis]
                    - force.output[axis] * velocity.previous_error[axis]);
            square += (weight * velocity.output[axis]).powi(2);
        }
        if let Share::Audit(regression) = &mut self.mu {
            regression.learn(stale_power, residual_power);
            self.mu_in_force = regression.share();
        }
        // U of eq. 15 needs no predictor: the velocity that the correction met is known by now.
        self.book.open += self.book.estimate + correction_power * point.step;
        self.book.estimate = self.mu_in_force * point.step * residual_power;
        let too_slow = square.sqrt() <= self.minimum_flow;
        if too_slow || residual_power.abs() < self.threshold {
            return None;
        }
        Some(-(self.book.estimate + self.nu * self.book.open) / (square * point.step))
    }
}

/// μ from Rodríguez 2022, eqs 20–21: R is the communication step of the side with direct
/// feed-through over that of the other.
fn share_of_error(facts: &BondFacts, corrects_flow: bool) -> f64 {
    const SINGLE_RATE: f64 = 0.5;
    let (with, without, degree_with, degree_without) = if corrects_flow {
        (
            facts.flow_side_step,
            facts.effort_side_step,
            facts.effort_degree,
            facts.flow_degree,
        )
    } else {
        (
            facts.effort_side_step,
            facts.flow_side_step,
            facts.flow_degree,
            facts.effort_degree,
        )
    };
    let ratio = with / without;
    if ratio > 1.0 && degree_without == 0 {
        SINGLE_RATE * (1.5 - 0.5 / ratio)
    } else if ratio < 1.0 && degree_with > 0 {
        SINGLE_RATE * ratio
    } else {
        SINGLE_RATE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(effort_side_step: f64, flow_side_step: f64, degree: usize) -> BondFacts {
        BondFacts {
            axes: 1,
            effort_side_step,
            flow_side_step,
            effort_feedthrough: true,
            flow_feedthrough: false,
            effort_degree: degree,
            flow_degree: degree,
        }
    }

    // Rodríguez 2022, eqs 20–21.
    #[test]
    fn mu_follows_the_rates() {
        assert_eq!(share_of_error(&facts(1.0, 1.0, 0), false), 0.5);
        assert_eq!(share_of_error(&facts(1.0, 0.1, 0), false), 0.725);
        assert_eq!(share_of_error(&facts(1.0, 0.1, 1), false), 0.5);
        assert_eq!(share_of_error(&facts(0.1, 1.0, 0), false), 0.5);
        assert_eq!(share_of_error(&facts(0.1, 1.0, 2), false), 0.05);
    }
}
