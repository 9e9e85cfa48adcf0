//! A mass of a random system as a unit.

use gyrator::Unit;
use gyrator::unit::{
    Capabilities, Causality, Feedthrough, Handle, SavedState, StepOutcome, UnitDescription,
    UnitResult, Variable, own_state,
};

use super::{Node, inner_steps, runge_kutta};

/// State, inputs and cached outputs.
type Saved = ([f64; 2], Vec<[f64; 4]>, Option<[f64; 3]>);

/// A mass as a unit. Inputs: position and velocity of the parent, then the forces of the children; they take
/// derivatives as far as the abilities of the node say.
pub(super) struct MassUnit {
    description: UnitDescription,
    node: Node,
    /// Longest inner step, s.
    inner_step: f64,
    state: [f64; 2],
    /// Values and derivatives.
    inputs: Vec<[f64; 4]>,
    /// The outputs of a unit that caches them, once it is initialised.
    cached: Option<[f64; 3]>,
}

impl MassUnit {
    pub(super) fn new(node: Node, children: Vec<usize>, inner_step: f64) -> Self {
        let mut inputs = Vec::new();
        if node.parent.is_some() {
            inputs.extend(["x_parent".to_owned(), "v_parent".to_owned()]);
        }
        inputs.extend(children.iter().map(|child| format!("f{child}")));
        let mut outputs = vec!["x", "v"];
        outputs.extend(node.parent.map(|_| "f"));
        let names = inputs.iter().map(|name| (name.as_str(), Causality::Input));
        let names = names.chain(outputs.iter().map(|name| (*name, Causality::Output)));
        let variables = names
            .zip(0..)
            .map(|((name, causality), handle)| Variable::real(name, handle, causality));
        let force = inputs.len() + 2;
        let feedthrough: Feedthrough = node
            .parent
            .map(|_| (force, vec![0, 1]))
            .into_iter()
            .collect();
        let capabilities = Capabilities {
            input_derivatives: node.abilities.input_derivatives,
            fresh_outputs: node.abilities.may_read_again && !node.abilities.caches_outputs,
            directional_derivatives: node.abilities.has_derivatives,
            save_and_restore: node.abilities.has_states,
            serialize: false,
            ..Capabilities::OF_VALUES
        };
        Self {
            description: UnitDescription::new(variables.collect(), feedthrough, capabilities),
            state: node.start,
            inputs: vec![[0.0; 4]; inputs.len()],
            cached: None,
            inner_step,
            node,
        }
    }

    /// Position, velocity and force.
    fn outputs(&self) -> [f64; 3] {
        let (parent, _) = self.inputs_after(0.0);
        let [x, v] = self.state;
        [x, v, self.node.coupling_force(self.state, parent)]
    }

    fn cache(&mut self) {
        if self.node.abilities.caches_outputs {
            self.cached = Some(self.outputs());
        }
    }

    /// Inputs of the parent and the sum of the forces of the children, some time after they were set.
    fn inputs_after(&self, time: f64) -> ([f64; 2], f64) {
        let value = |input: &[f64; 4]| value_after(*input, time);
        let (parent, children) = match self.node.parent {
            Some(_) => self.inputs.split_at(2),
            None => (&[][..], &self.inputs[..]),
        };
        let parent = match parent {
            [x, v] => [value(x), value(v)],
            _ => [0.0; 2],
        };
        (parent, children.iter().map(value).sum())
    }
}

impl Unit for MassUnit {
    fn description(&self) -> &UnitDescription {
        &self.description
    }

    fn exit_initialization_mode(&mut self) -> UnitResult {
        self.cache();
        Ok(())
    }

    fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        for (handle, value) in handles.iter().zip(values) {
            self.inputs[*handle as usize] = [*value, 0.0, 0.0, 0.0];
        }
        Ok(())
    }

    fn set_input_derivatives(
        &mut self,
        handles: &[Handle],
        orders: &[i32],
        values: &[f64],
    ) -> UnitResult {
        for ((handle, order), value) in handles.iter().zip(orders).zip(values) {
            self.inputs[*handle as usize][*order as usize] = *value;
        }
        Ok(())
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        let inputs = self.inputs.len();
        let outputs = self.cached.unwrap_or_else(|| self.outputs());
        for (handle, value) in handles.iter().zip(values) {
            let handle = *handle as usize;
            *value = match handle.checked_sub(inputs) {
                None => self.inputs[handle][0],
                Some(output) => outputs[output],
            };
        }
        Ok(())
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        let inner = inner_steps(step, self.inner_step);
        let inner_step = step / inner;
        for part in 0..inner as usize {
            let since = part as f64 * inner_step;
            let next = runge_kutta(since, inner_step, &[self.state], |since, state| {
                let (parent, children) = self.inputs_after(since);
                vec![self.node.slope(time + since, state[0], parent, children)]
            });
            self.state = next[0];
        }
        // The next inputs begin at the end of this step.
        for input in &mut self.inputs {
            *input = [value_after(*input, step), 0.0, 0.0, 0.0];
        }
        self.cache();
        Ok(StepOutcome::Done)
    }

    fn directional_derivative(
        &mut self,
        _: &[Handle],
        knowns: &[Handle],
        seed: &[f64],
        values: &mut [f64],
    ) -> UnitResult {
        let (parent, _) = self.inputs_after(0.0);
        let spring = self.node.coupling;
        let stretch = self.state[0] - parent[0];
        let rate = self.state[1] - parent[1];
        let elements = self.node.between.iter();
        let elements = elements.map(|element| element.derivatives(stretch, rate));
        let [by_stretch, by_rate] = elements.fold([0.0; 2], |[x, v], [dx, dv]| [x + dx, v + dv]);
        let by_position = -(spring.k + 3.0 * spring.k3 * stretch * stretch + by_stretch);
        let by_velocity = -(spring.c + by_rate);
        let of = |known: &Handle| {
            if *known == 0 {
                by_position
            } else {
                by_velocity
            }
        };
        values[0] = knowns
            .iter()
            .zip(seed)
            .map(|(known, seed)| of(known) * seed)
            .sum();
        Ok(())
    }

    fn save(&mut self, _: Option<SavedState>) -> UnitResult<SavedState> {
        Ok(Box::new((self.state, self.inputs.clone(), self.cached)))
    }

    fn restore(&mut self, state: &SavedState) -> UnitResult {
        let (state, inputs, cached): &Saved = own_state("restore", state)?;
        self.state = *state;
        self.inputs.clone_from(inputs);
        self.cached = *cached;
        Ok(())
    }
}

/// An input, some time after value and derivatives were set.
fn value_after([u0, u1, u2, u3]: [f64; 4], time: f64) -> f64 {
    u0 + time * (u1 + time * (u2 / 2.0 + time * u3 / 6.0))
}
