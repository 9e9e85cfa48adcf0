//! An extrapolation of one's own, under a word of its own: the mean of the two newest values.

use gyrator::extrapolation::{Curve, Extrapolation, ExtrapolationFacts, Sample};
use gyrator::registry::Entry;
use gyrator::{ClosureUnit, LinearUnit, RunOptions, System};

#[derive(Clone)]
struct Mean {
    values: [f64; 2],
}

impl Extrapolation for Mean {
    fn observe(&mut self, sample: Sample) {
        let [_, newest] = self.values;
        let older = if newest.is_nan() {
            sample.value
        } else {
            newest
        };
        self.values = [older, sample.value];
    }

    fn curve(&self, _now: f64, _step: f64) -> Curve {
        Curve::constant(0.5 * (self.values[0] + self.values[1]))
    }

    fn clear(&mut self) {
        self.values = [f64::NAN; 2];
    }

    fn order(&self) -> usize {
        0
    }

    fn duplicate(&self) -> Box<dyn Extrapolation> {
        Box::new(self.clone())
    }
}

const MEAN: Entry<dyn Extrapolation> = Entry {
    name: "mean",
    summary: "the mean of the two newest values",
    source: "this example",
    parameters: &[],
    facts: |_, _| ExtrapolationFacts::polynomial(0),
    build: |_| {
        Box::new(Mean {
            values: [f64::NAN; 2],
        })
    },
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut system = System::new(0.5);
    system.registries().extrapolations.add(MEAN)?;
    system.extrapolation("mean");
    let ramp = ClosureUnit::new(&[], &[("y", 0.0)], |call| {
        call.outputs[0] = call.time + call.step;
    });
    let integrator = LinearUnit::new(&[0.0], &["u"], &["y"], [&[0.0], &[1.0], &[1.0], &[0.0]]);
    system.add("ramp", ramp);
    system.add("integrator", integrator);
    system.connect("ramp.y", "integrator.u");
    let mut run = system.start(&RunOptions::default())?;
    for _ in 0..4 {
        run.step()?;
        let (time, integral) = (run.time(), run.read_real("integrator.y")?);
        println!("t = {time} s: {integral}, exact {}", time * time / 2.0);
    }
    Ok(())
}
