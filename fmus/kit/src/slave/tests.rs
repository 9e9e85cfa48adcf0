//! Call rules on a small model, by the table of FMI 2.0.5, section 4.2.4.

use std::cell::RefCell;
use std::rc::Rc;

use fmi2_abi::{DISCARD, ERROR, FATAL, Function, OK, SlaveState, Status, WARNING};

use super::Slave;
use crate::describe;
use crate::in_process::InProcess;
use crate::simulation::{Experiment, Instantiation};
use crate::test_model::{CACHED_OUTPUTS, FORWARD_EULER, GAIN, Linear, Pendulum, RATE, U, X, Y};

type Model = Linear<FORWARD_EULER>;
type Messages = Rc<RefCell<Vec<(Status, String)>>>;

fn slave_with_log(logging_on: bool) -> (Slave<InProcess<Model>>, Messages) {
    let messages = Messages::default();
    let sink = {
        let messages = Rc::clone(&messages);
        Box::new(move |status, category: &'static str, text: &str| {
            messages
                .borrow_mut()
                .push((status, format!("[{category}] {text}")));
        })
    };
    let guid = describe::<Model>().guid;
    (
        Slave::instantiate(&order(&guid), logging_on, sink).unwrap(),
        messages,
    )
}

fn order(guid: &str) -> Instantiation<'_> {
    Instantiation {
        instance_name: "test",
        guid,
        resource_location: None,
    }
}

fn from(start: f64, stop: Option<f64>) -> Experiment {
    Experiment {
        start,
        stop,
        tolerance: None,
    }
}

/// A slave that was brought into `state` by legal calls.
fn slave_in(state: SlaveState) -> (Slave<InProcess<Model>>, Messages) {
    let (mut slave, messages) = slave_with_log(false);
    if state == SlaveState::Instantiated {
        return (slave, messages);
    }
    assert_eq!(slave.setup_experiment(&from(0.0, None)), OK);
    assert_eq!(slave.enter_initialization_mode(), OK);
    if state == SlaveState::Initialization {
        return (slave, messages);
    }
    assert_eq!(slave.exit_initialization_mode(), OK);
    match state {
        SlaveState::StepFailed => assert_eq!(step_with_input(&mut slave, 1001.0), DISCARD),
        SlaveState::Error => assert_eq!(step_with_input(&mut slave, 1003.0), ERROR),
        SlaveState::Fatal => assert_eq!(step_with_input(&mut slave, 1004.0), FATAL),
        SlaveState::Terminated => assert_eq!(slave.terminate(), OK),
        _ => {}
    }
    assert_eq!(slave.state, state);
    messages.borrow_mut().clear();
    (slave, messages)
}

fn set(slave: &mut Slave<InProcess<Model>>, reference: u32, value: f64) -> Status {
    slave.set(Function::SetReal, &[reference], |_| Ok(value))
}

fn get(slave: &mut Slave<InProcess<Model>>, reference: u32) -> Result<f64, Status> {
    let mut result = f64::NAN;
    match slave.get(Function::GetReal, &[reference], |_, value: &f64| {
        result = *value;
    }) {
        OK => Ok(result),
        status => Err(status),
    }
}

/// A step by 1 s from the slave's own time; inputs above 1000 make it fail, see `Linear`.
fn step_with_input(slave: &mut Slave<InProcess<Model>>, input: f64) -> Status {
    assert_eq!(set(slave, U, input), OK);
    slave.do_step(slave.unit.time(), 1.0, false)
}

/// Calls `function` with arguments that are fine if the call is legal.
fn call(slave: &mut Slave<InProcess<Model>>, function: Function) -> Status {
    match function {
        Function::SetDebugLogging => slave.set_debug_logging(false, &[]),
        Function::SetupExperiment => slave.setup_experiment(&from(0.0, None)),
        Function::EnterInitializationMode => slave.enter_initialization_mode(),
        Function::ExitInitializationMode => slave.exit_initialization_mode(),
        Function::Terminate => slave.terminate(),
        Function::Reset => slave.reset(),
        Function::GetReal => slave.get(function, &[Y], |_, _: &f64| {}),
        Function::SetReal => set(slave, GAIN, 1.0),
        Function::GetFmuState => slave.get_state(&mut None),
        Function::FreeFmuState => slave.free_state(&mut None),
        Function::GetDirectionalDerivative => {
            slave.get_directional_derivative(&[], &[], &[], &mut [])
        }
        Function::SetRealInputDerivatives => slave.set_input_derivatives(&[U], &[1], &[0.0]),
        Function::DoStep => slave.do_step(0.0, 1.0, false),
        Function::GetRealStatus => slave.get_real_status(fmi2_abi::LAST_SUCCESSFUL_TIME, &mut 0.0),
        Function::GetBooleanStatus => slave.get_boolean_status(fmi2_abi::TERMINATED, &mut false),
        other => panic!("{} has a test of its own", other.name()),
    }
}

const FUNCTIONS: [Function; 15] = [
    Function::SetDebugLogging,
    Function::SetupExperiment,
    Function::EnterInitializationMode,
    Function::ExitInitializationMode,
    Function::Terminate,
    Function::Reset,
    Function::GetReal,
    Function::SetReal,
    Function::GetFmuState,
    Function::FreeFmuState,
    Function::GetDirectionalDerivative,
    Function::SetRealInputDerivatives,
    Function::DoStep,
    Function::GetRealStatus,
    Function::GetBooleanStatus,
];

const REACHABLE: [SlaveState; 7] = [
    SlaveState::Instantiated,
    SlaveState::Initialization,
    SlaveState::StepComplete,
    SlaveState::StepFailed,
    SlaveState::Terminated,
    SlaveState::Error,
    SlaveState::Fatal,
];

#[test]
fn c24_illegal_calls_are_errors_with_a_message() {
    for state in REACHABLE {
        for function in FUNCTIONS {
            let (mut slave, messages) = slave_in(state);
            if function == Function::EnterInitializationMode && state == SlaveState::Instantiated {
                assert_eq!(slave.setup_experiment(&from(0.0, None)), OK);
            }
            let status = call(&mut slave, function);
            let place = format!("{} in {}", function.name(), state.name());
            if function.legal_in().contains(state) {
                assert_eq!(status, OK, "{place}");
                assert!(messages.borrow().is_empty(), "{place}");
            } else if state == SlaveState::Fatal {
                assert_eq!(status, FATAL, "{place}");
            } else {
                assert_eq!(status, ERROR, "{place}");
                let (_, message) = &messages.borrow()[0];
                assert!(message.contains(function.name()), "{message}");
                assert!(message.contains(state.name()), "{message}");
            }
        }
    }
}

#[test]
fn initialization_needs_an_experiment() {
    let (mut slave, messages) = slave_in(SlaveState::Instantiated);
    assert_eq!(slave.enter_initialization_mode(), ERROR);
    assert!(messages.borrow()[0].1.contains("fmi2SetupExperiment"));
}

#[test]
fn wrong_guid_is_refused() {
    let sink = Box::new(|status, _: &'static str, text: &str| {
        assert_eq!(status, ERROR);
        assert!(text.contains("not {wrong}"), "{text}");
    });
    assert!(Slave::<InProcess<Model>>::instantiate(&order("{wrong}"), false, sink).is_none());
}

/// Notes 1, 3 and 6 of the table: (state, input, fixed parameter, tunable parameter, output).
#[test]
fn which_variables_may_be_set() {
    let rows = [
        (SlaveState::Instantiated, [WARNING, OK, OK, ERROR]),
        (SlaveState::Initialization, [OK, OK, OK, ERROR]),
        (SlaveState::StepComplete, [OK, ERROR, OK, ERROR]),
    ];
    for (state, expected) in rows {
        for (reference, expected) in [U, RATE, GAIN, Y].into_iter().zip(expected) {
            let (mut slave, _) = slave_in(state);
            let status = set(&mut slave, reference, 1.0);
            assert_eq!(status, expected, "{reference} in {}", state.name());
        }
    }
}

/// More than note 2 asks for: in Initialization Mode, as between steps, all variables.
#[test]
fn which_variables_may_be_read() {
    for state in [SlaveState::Initialization, SlaveState::StepComplete] {
        for (reference, expected) in [(Y, 3.0), (RATE, 0.5), (GAIN, 2.0), (U, 0.0)] {
            assert_eq!(get(&mut slave_in(state).0, reference), Ok(expected));
        }
    }
    let (mut slave, _) = slave_in(SlaveState::Initialization);
    assert_eq!(set(&mut slave, U, 1.5), OK);
    assert_eq!(get(&mut slave, U), Ok(1.5));
    assert_eq!(get(&mut slave, Y), Ok(6.0));
}

#[test]
fn a_value_out_of_range_is_discarded_and_an_unknown_reference_is_an_error() {
    let (mut slave, messages) = slave_in(SlaveState::Initialization);
    assert_eq!(set(&mut slave, RATE, -1.0), DISCARD);
    assert_eq!(set(&mut slave, RATE, f64::NAN), DISCARD);
    assert!(messages.borrow()[0].1.contains("rate is out of range"));
    assert_eq!(set(&mut slave, 99, 1.0), ERROR);
    assert!(messages.borrow()[2].1.contains("reference 99"));
}

#[test]
fn a_discarded_step_says_how_far_it_came() {
    for (input, terminated) in [(1001.0, false), (1002.0, true)] {
        let (mut slave, _) = slave_in(SlaveState::StepComplete);
        assert_eq!(step_with_input(&mut slave, 0.0), OK);
        assert_eq!(step_with_input(&mut slave, input), DISCARD);
        let (mut time, mut wants_end) = (f64::NAN, false);
        assert_eq!(
            slave.get_real_status(fmi2_abi::LAST_SUCCESSFUL_TIME, &mut time),
            OK
        );
        assert_eq!(
            slave.get_boolean_status(fmi2_abi::TERMINATED, &mut wants_end),
            OK
        );
        assert_eq!((time, wants_end), (1.0, terminated));
    }
}

#[test]
fn steps_that_make_no_sense_are_errors() {
    for (time, step) in [
        (0.0, 0.0),
        (0.0, -1.0),
        (0.0, f64::NAN),
        (0.5, 1.0),
        (f64::NAN, 1.0),
    ] {
        let (mut slave, _) = slave_in(SlaveState::StepComplete);
        assert_eq!(slave.do_step(time, step, false), ERROR, "{time} {step}");
    }
}

#[test]
fn no_step_passes_the_stop_time() {
    let (mut slave, messages) = slave_with_log(false);
    assert_eq!(slave.setup_experiment(&from(10.0, Some(11.0))), OK);
    assert_eq!(slave.enter_initialization_mode(), OK);
    assert_eq!(slave.exit_initialization_mode(), OK);
    assert_eq!(slave.do_step(10.0, 1.0, false), OK);
    assert_eq!(slave.do_step(11.0, 1.0, false), ERROR);
    assert!(messages.borrow()[0].1.contains("stop time 11 s"));
}

#[test]
fn states_are_saved_restored_and_reused() {
    let (mut slave, _) = slave_in(SlaveState::StepComplete);
    assert_eq!(step_with_input(&mut slave, 1.0), OK);
    let mut saved = None;
    assert_eq!(slave.get_state(&mut saved), OK);
    assert_eq!(step_with_input(&mut slave, 5.0), OK);
    let after = get(&mut slave, X).unwrap();
    assert_eq!(step_with_input(&mut slave, 1001.0), DISCARD);

    assert_eq!(slave.set_state(saved), OK);
    assert_eq!(slave.state, SlaveState::StepComplete);
    assert_eq!(step_with_input(&mut slave, 5.0), OK);
    assert_eq!(get(&mut slave, X).unwrap().to_bits(), after.to_bits());

    let same = saved;
    assert_eq!(slave.get_state(&mut saved), OK);
    assert_eq!(saved, same);
    assert_eq!(slave.free_state(&mut saved), OK);
    assert_eq!(saved, None);
    assert_eq!(slave.set_state(same), ERROR);
}

#[test]
fn states_travel_as_bytes() {
    let (mut slave, _) = slave_in(SlaveState::StepComplete);
    assert_eq!(step_with_input(&mut slave, 1.0), OK);
    let mut saved = None;
    assert_eq!(slave.get_state(&mut saved), OK);
    let mut bytes = Vec::new();
    let status = slave.serialize_state(Function::SerializeFmuState, saved, |b| {
        bytes = b.to_vec();
        Ok(())
    });
    assert_eq!(status, OK);
    let expected = (get(&mut slave, X), get(&mut slave, Y));

    let (mut other, _) = slave_in(SlaveState::Instantiated);
    let mut read = None;
    assert_eq!(other.deserialize_state(&bytes, &mut read), OK);
    assert_eq!(other.set_state(read), OK);
    assert_eq!((get(&mut other, X), get(&mut other, Y)), expected);
    assert_eq!(other.do_step(1.0, 1.0, false), OK);

    for cut in 0..bytes.len() {
        let (mut other, _) = slave_in(SlaveState::Instantiated);
        assert_eq!(other.deserialize_state(&bytes[..cut], &mut None), ERROR);
    }
}

#[test]
fn outputs_follow_inputs_unless_they_are_cached() {
    for (cached, expected) in [(false, 4.0), (true, 0.0)] {
        let (mut slave, _) = slave_in(SlaveState::Instantiated);
        let reference = [CACHED_OUTPUTS];
        assert_eq!(
            slave.set(Function::SetBoolean, &reference, |_| Ok(cached)),
            OK
        );
        assert_eq!(slave.setup_experiment(&from(0.0, None)), OK);
        assert_eq!(slave.enter_initialization_mode(), OK);
        assert_eq!(set(&mut slave, U, 1.0), OK);
        // In Initialization Mode outputs are always fresh: y = x_start + 2·u.
        assert_eq!(get(&mut slave, Y), Ok(5.0));
        assert_eq!(slave.exit_initialization_mode(), OK);
        assert_eq!(step_with_input(&mut slave, 1.0), OK);
        let stale = get(&mut slave, Y).unwrap();
        assert_eq!(set(&mut slave, U, 3.0), OK);
        let change = get(&mut slave, Y).unwrap() - stale;
        assert_eq!(change, expected);
    }
}

#[test]
fn directional_derivatives_by_differences() {
    let (mut slave, _) = slave_in(SlaveState::StepComplete);
    assert_eq!(step_with_input(&mut slave, 1.0), OK);
    let mut result = [0.0; 2];
    let status = slave.get_directional_derivative(&[Y, X], &[U], &[3.0], &mut result);
    assert_eq!(status, OK);
    // dy = gain·du = 2·3; the state is fixed. Rounding of a central difference: 1e-10.
    assert!((result[0] - 6.0).abs() < 1e-9, "{result:?}");
    assert_eq!(result[1], 0.0);
    let status = slave.get_directional_derivative(&[Y], &[RATE], &[1.0], &mut result[..1]);
    assert_eq!(status, ERROR);
}

#[test]
fn input_derivatives_of_something_else_are_errors() {
    for (reference, order) in [(RATE, 1), (U, 0), (U, 4), (U, i32::MIN), (99, 1)] {
        let (mut slave, messages) = slave_in(SlaveState::StepComplete);
        assert_eq!(
            slave.set_input_derivatives(&[reference], &[order], &[1.0]),
            ERROR
        );
        assert_eq!(messages.borrow().len(), 1);
    }
}

#[test]
fn input_derivatives_are_refused_where_inputs_keep_their_values() {
    let description = describe::<Pendulum>();
    assert!(!description.xml.contains("canInterpolateInputs"));
    assert!(describe::<Model>().xml.contains("canInterpolateInputs"));
    let sink = Box::new(|_, _, _: &str| {});
    let mut slave =
        Slave::<InProcess<Pendulum>>::instantiate(&order(&description.guid), false, sink).unwrap();
    assert_eq!(slave.setup_experiment(&from(0.0, None)), OK);
    assert_eq!(slave.enter_initialization_mode(), OK);
    assert_eq!(slave.set_input_derivatives(&[], &[], &[]), ERROR);
}

#[test]
fn reset_goes_back_to_start_values() {
    let (mut slave, _) = slave_in(SlaveState::Error);
    assert_eq!(slave.reset(), OK);
    assert_eq!(slave.setup_experiment(&from(0.0, None)), OK);
    assert_eq!(slave.enter_initialization_mode(), OK);
    assert_eq!(get(&mut slave, Y), Ok(3.0));
}

#[test]
fn debug_messages_only_where_they_are_asked_for() {
    let (mut slave, messages) = slave_with_log(false);
    assert_eq!(slave.set_debug_logging(true, &["logState"]), OK);
    assert_eq!(slave.reset(), OK);
    assert_eq!(messages.borrow().len(), 1);
    assert_eq!(messages.borrow()[0].1, "[logState] state: instantiated");
    assert_eq!(slave.set_debug_logging(true, &["noSuchCategory"]), ERROR);
}
