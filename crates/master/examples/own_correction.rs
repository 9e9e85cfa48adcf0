//! A correction of one's own, under a word of its own. Half the last change of each effort and flow is added,
//! which moves what is held over a step from its start to its middle.

use gyrator::correction::{BondFacts, BondPoint, Correction, CorrectionFacts, Increments, Side};
use gyrator::extrapolation::Curve;
use gyrator::registry::{Entry, ParameterInfo};
use gyrator::{LinearUnit, RunOptions, System, Word};

#[derive(Clone)]
struct Centred {
    share: f64,
}

impl Correction for Centred {
    fn begin(&mut self, _bond: &BondFacts) {}

    fn correct(&mut self, point: &BondPoint, increments: &mut Increments) {
        if point.index == 0 {
            return; // There is no step before.
        }
        let add = |side: &Side, curves: &mut [Curve]| {
            for (axis, curve) in curves.iter_mut().enumerate() {
                let change = side.output[axis] - side.previous_output[axis];
                *curve = Curve::constant(self.share * change);
            }
        };
        add(&point.effort, &mut increments.effort);
        add(&point.flow, &mut increments.flow);
    }

    fn duplicate(&self) -> Box<dyn Correction> {
        Box::new(self.clone())
    }
}

const CENTRED: Entry<dyn Correction> = Entry {
    name: "centred",
    summary: "a share of the last change is added to efforts and flows",
    source: "this example",
    parameters: &[ParameterInfo::number(
        "share",
        "share of the change",
        0.5,
        (0.0, 1.0),
    )],
    facts: |_, ()| CorrectionFacts::default(),
    build: |arguments| {
        Box::new(Centred {
            share: arguments.number("share"),
        })
    },
};

/// Two masses on springs, 1 kg each, with a spring of 100 N/m between them.
fn system(correction: impl Into<Word>) -> Result<System, Box<dyn std::error::Error>> {
    let mut system = System::new(1e-3);
    system.registries().corrections.add(CENTRED)?;
    system.correction(correction).stop_time(10.0);
    #[rustfmt::skip]
    let left = LinearUnit::new(&[0.0, 100.0], &["x2", "v2"], &["f"], [
        &[0.0, 1.0, -110.0, 0.0], &[0.0, 0.0, 100.0, 0.0],
        &[100.0, 0.0], &[-100.0, 0.0],
    ]);
    #[rustfmt::skip]
    let right = LinearUnit::new(&[0.0, -100.0], &["f"], &["x", "v"], [
        &[0.0, 1.0, -1000.0, 0.0], &[0.0, 1.0],
        &[1.0, 0.0, 0.0, 1.0], &[0.0, 0.0],
    ]);
    system.add("left", left).exchange("stale");
    system.add("right", right);
    system.connect("right.x", "left.x2");
    system.bond("coupling", ("left.f", "right.f"), ("right.v", "left.v2"));
    Ok(system)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (text, word) in [
        ("off", Word::new("off")),
        ("centred", Word::new("centred")),
        (
            "centred, share = 1",
            Word::new("centred").with("share", 1.0),
        ),
    ] {
        let report = system(word)?.start(&RunOptions::default())?.run()?;
        let made = report.bonds[0].energy.residual_energy_integrated;
        println!("{text}: the coupling makes {made:.1} J");
    }
    Ok(())
}
