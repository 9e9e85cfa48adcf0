//! A test bench: a model with a closure in the place of a physical part, an input that is driven in the
//! loop, and a fault.

use gyrator::{ClosureUnit, LinearUnit, RunOptions, System};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A mass on a spring, with the coupling's spring and damper: f = 100·(x − x2) + 0.1·(v − v2).
    #[rustfmt::skip]
    let left = LinearUnit::new(&[0.0, 100.0], &["x2", "v2"], &["f", "x"], [
        &[0.0, 1.0, -110.0, -0.1], &[0.0, 0.0, 100.0, 0.1],
        &[100.0, 0.1, 1.0, 0.0], &[-100.0, -0.1, 0.0, 0.0],
    ]);
    // The physical part, here another mass on a spring: a bench would talk to its actuators and sensors.
    let (mut x, mut v) = (0.0, -100.0);
    let right = ClosureUnit::new(
        &[("f", 0.0), ("push", 0.0)],
        &[("x", x), ("v", v)],
        move |call| {
            v += call.step * (call.inputs[0] + call.inputs[1] - 1000.0 * x);
            x += call.step * v;
            call.outputs.copy_from_slice(&[x, v]);
        },
    );
    let mut system = System::new(1e-3); // macro-step, s
    system.add("left", left).exchange("stale");
    system.add("right", right);
    system.connect("right.x", "left.x2");
    system
        .bond("coupling", ("left.f", "right.f"), ("right.v", "left.v2"))
        .correction(("residual-power", [("mu", 0.5)]));

    let mut run = system.start(&RunOptions::default())?;
    for step in 0..1000 {
        run.write_real("right.push", if step < 10 { 5.0 } else { 0.0 })?;
        match step {
            500 => run.override_value("left.v2", 0.0)?, // the sensor fails
            600 => run.release("left.v2")?,
            _ => {}
        }
        run.step()?;
    }
    let report = run.stop()?;
    for bond in &report.bonds {
        println!(
            "{}: residual energy {:.3} J",
            bond.name, bond.energy.residual_energy
        );
    }
    println!(
        "x = {:.6} m at t = {} s",
        run.read_real("right.x")?,
        run.time()
    );
    Ok(())
}
