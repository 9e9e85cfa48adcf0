//! The cranes of Rodríguez et al. (2022) and Rahikainen et al. (2020), in process.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

mod crane;
mod cranes;

use gyrator::{RunOptions, System};
use gyrator_testkit::Trace;

fn run(mut system: System, stop_time: f64) -> Trace {
    system.stop_time(stop_time);
    let mut run = system.start(&RunOptions::default()).unwrap();
    let trace = Trace::of(&mut run).unwrap();
    run.run().unwrap();
    trace
}
