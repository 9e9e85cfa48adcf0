//! Reading and writing between macro-steps, within the communication step of a slow component.

use fmu_models::AllTypes;
use gyrator::method::METHODS;
use gyrator::{Run, RunOptions, System, Value};
use gyrator_testkit::{ModelUnit, Spied, Spy};

const H: f64 = 0.125;
const EVERY: u64 = 4;
const STEPS: u64 = 4 * EVERY;

/// A fast echo that feeds a slow one; both report calls that FMI 2.0 §4.2.4 forbids. If components step
/// one after the other, the slow one comes last.
fn start(method: &str, exchange: &str) -> (Run, [Spied; 2]) {
    let echo = || Spy::on(ModelUnit::<AllTypes>::new().without_fresh());
    let ((fast, of_fast), (slow, of_slow)) = (echo(), echo());
    let mut system = System::new(H);
    system.method(method);
    system.add("fast", fast).exchange(exchange);
    let slow = system.add("slow", slow).exchange(exchange);
    slow.step_size(EVERY as f64 * H);
    for kind in ["real", "integer", "boolean", "string", "colour"] {
        system.connect(&format!("fast.{kind}_out"), &format!("slow.{kind}_in"));
    }
    let run = system.start(&RunOptions::default()).unwrap();
    (run, [of_fast, of_slow])
}

fn methods() -> impl Iterator<Item = &'static str> {
    METHODS.iter().map(|entry| entry.name)
}

#[test]
fn c28_variables_that_are_no_outputs_can_be_read_at_every_point() {
    for method in methods() {
        for exchange in ["stale", "compensated"] {
            let (mut run, spied) = start(method, exchange);
            for _ in 0..STEPS {
                run.step().unwrap();
                for name in ["slow.real_in", "slow.gain", "slow.string_in", "fast.gain"] {
                    run.read(name).unwrap();
                }
            }
            for spied in spied {
                assert_eq!(spied.violations(), [""; 0], "{method}, {exchange}");
            }
        }
    }
}

#[test]
fn c28_what_is_written_within_a_communication_step_waits_for_the_next_one() {
    for method in methods() {
        let (mut run, spied) = start(method, "stale");
        let mut seen = Vec::new();
        for index in 0..STEPS {
            run.write_real("slow.gain", 1.0 + index as f64).unwrap();
            run.step().unwrap();
            if (index + 1).is_multiple_of(EVERY) {
                seen.push(run.read_real("slow.gain").unwrap());
            }
        }
        // The last value that was written before each communication step began.
        assert_eq!(seen, [1.0, 5.0, 9.0, 13.0], "{method}");
        for spied in spied {
            assert_eq!(spied.violations(), [""; 0], "{method}");
        }
    }
}

#[test]
fn values_that_are_not_real_are_those_at_the_start_of_the_communication_step_or_at_its_end() {
    for method in methods() {
        let (mut run, _) = start(method, "stale");
        let mut seen = Vec::new();
        for index in 0..STEPS {
            run.write("fast.integer_in", &Value::Integer(index as i32))
                .unwrap();
            run.step().unwrap();
            let read = run.read("slow.integer_out").unwrap();
            if (index + 1).is_multiple_of(EVERY) {
                seen.push(read);
            } else {
                let published = seen.last().unwrap_or(&Value::Integer(0));
                assert_eq!(read, *published, "{method}: published early");
            }
        }
        let expected = match method {
            // `fast` has published the integer of the macro-step before.
            "jacobi" => [0, 3, 7, 11],
            // `fast` has made the macro-step with which the communication step ends.
            _ => [3, 7, 11, 15],
        };
        assert_eq!(seen, expected.map(Value::Integer), "{method}");
    }
}
