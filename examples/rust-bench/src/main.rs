#![forbid(unsafe_code)]

use gyrator::{ClosureUnit, LinearUnit, Recorder, RunOptions, System};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A mass on a spring, with the coupling's spring and damper: f = 100·(x − x2) + 0.1·(v − v2).
    let matrices: [&[f64]; 4] = [
        &[0.0, 1.0, -110.0, -0.1], // ẋ = A·(x, v) + B·(x2, v2)
        &[0.0, 0.0, 100.0, 0.1],
        &[100.0, 0.1, 1.0, 0.0], // (f, x) = C·(x, v) + D·(x2, v2)
        &[-100.0, -0.1, 0.0, 0.0],
    ];
    let left = LinearUnit::new(&[0.0, 100.0], &["x2", "v2"], &["f", "x"], matrices);
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
    system.add("left", left);
    system.add("right", right);
    system.connect("right.x", "left.x2");
    system.bond("coupling", ("left.f", "right.f"), ("right.v", "left.v2"));

    let file = std::env::args().nth(1).unwrap_or("bench.csv".into());
    let mut run = system.start(&RunOptions::default())?;
    let (recorder, rows) = Recorder::memory();
    run.observe(recorder)?;
    run.observe(Recorder::csv(file)?.variables(["*.x", "bond.*"]))?;
    let (push, position) = (run.input("right.push")?, run.output::<f64>("right.x")?);
    for step in 0..1000 {
        run.write(push, if step < 10 { 5.0 } else { 0.0 })?;
        run.step()?;
    }
    let x = run.read(position)?;
    println!("x = {x:.6} m at t = {} s", run.time());
    println!("coupling: {}", run.stop()?.verdict);
    let recorded = rows.take();
    let positions = recorded.reals("right.x").unwrap_or_default();
    let most = positions.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    println!("{} rows, at most {most:.6} m", recorded.time.len());
    Ok(())
}
