//! Iterative learning control (Thielemans et al. 2023) on the oscillators of Rodríguez et al. 2022.
//!
//! Numbers without another source are those of an independent reproduction of the paper in Python
//! (symplectic Euler, 20 s, H = 1 ms).

use gyrator::{
    Base, FeedForward, Interpolation, Learned, Learning, Outcome, RunOptions, StartError, System,
};
use gyrator_testkit::{Coupling, DoubleOscillator, ModelUnit, State, TABLE_1, Trace};

const H: f64 = 1e-3;

fn learn(learning: &Learning, describe: impl FnMut() -> Result<System, StartError>) -> Learned {
    let learned = learning.learn(&RunOptions::default(), describe, &mut ());
    let learned = learned.unwrap();
    for row in &learned.iterations {
        println!(
            "{:3} {:.3e} {:.3e} {:?}",
            row.number,
            row.norm_2,
            row.max,
            row.channels.iter().map(|c| c.max).collect::<Vec<_>>()
        );
    }
    println!("{:?}", learned.outcome);
    learned
}

fn replay(mut system: System, feed_forward: &FeedForward) -> Trace {
    system.feed_forward(feed_forward.clone());
    let mut run = system.start(&RunOptions::default()).unwrap();
    let trace = Trace::of(&mut run).unwrap();
    run.run().unwrap();
    trace
}

fn energy_errors(oscillator: &DoubleOscillator, states: &[State]) -> (f64, f64) {
    let monolithic = oscillator.monolithic(H, states.len() - 1);
    let errors: Vec<f64> = states
        .iter()
        .zip(&monolithic)
        .map(|(a, b)| oscillator.energy(*a) - oscillator.energy(*b))
        .collect();
    (
        errors[errors.len() - 1],
        errors.iter().fold(0.0, |m, e| m.max(e.abs())),
    )
}

#[test]
fn scratch() {
    for number in [2, 1] {
        let oscillator = TABLE_1[number - 1];
        let coupling = Coupling {
            stop_time: 20.0,
            ..Coupling::default()
        };
        let learning = Learning {
            iterations: 12,
            tolerance: 0.0,
            ..Learning::default()
        };
        let begin = std::time::Instant::now();
        let learned = learn(&learning, || Ok(oscillator.system(&coupling)));
        println!("{:?}", begin.elapsed());
        let states =
            DoubleOscillator::states(&replay(oscillator.system(&coupling), &learned.feed_forward));
        println!("{:?}", energy_errors(&oscillator, &states));
        let learning = Learning {
            base: Base::Stale,
            ..learning
        };
        let learned = learn(&learning, || Ok(oscillator.system(&coupling)));
        let states =
            DoubleOscillator::states(&replay(oscillator.system(&coupling), &learned.feed_forward));
        println!("{:?}", energy_errors(&oscillator, &states));
    }
    for (force_step, motion_step) in [(H, 0.1 * H), (0.1 * H, H)] {
        for interpolation in [Interpolation::Cubic, Interpolation::Linear] {
            let oscillator = TABLE_1[0];
            let coupling = Coupling {
                force_step,
                motion_step,
                ..Coupling::default()
            };
            let learning = Learning {
                iterations: 15,
                interpolation,
                ..Learning::default()
            };
            let learned = learn(&learning, || Ok(oscillator.system(&coupling)));
            let states = DoubleOscillator::states(&replay(
                oscillator.system(&coupling),
                &learned.feed_forward,
            ));
            println!("{:?}", oscillator.metrics(H, &states));
        }
    }
}
