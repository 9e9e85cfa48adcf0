//! Calls in and out of turn, and every status an FMU may return.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use gyrator_fmu::{
    BaseType, CallError, Instance, InstanceOptions, Refusal, SlaveState, Status, StepOutcome,
    Warning,
};

use crate::building::{DESCRIPTION, fixture, fmu_with, library, ready, resources};

/// Lets the next step return a status.
fn step_with(instance: &mut Instance, status: i32) -> Result<StepOutcome, Box<CallError>> {
    instance.set_integer(&[0], &[status]).unwrap();
    instance.do_step(0.5, 0.25, true)
}

fn refusal(error: &CallError) -> Refusal {
    match error.status {
        Status::NotCalled(refusal) => refusal,
        other => panic!("the call was made: {other:?}"),
    }
}

#[test]
fn success_is_one_word() {
    assert_eq!(size_of::<gyrator_fmu::CallResult>(), size_of::<usize>());
}

#[test]
fn a_run_from_start_to_end() {
    let fmu = fixture();
    let mut instance = ready(&fmu, "run");
    let mut x = [f64::NAN];
    for step in 0..4 {
        instance.set_real(&[1], &[2.0]).unwrap();
        let outcome = instance
            .do_step(f64::from(step) * 0.25, 0.25, true)
            .unwrap();
        assert_eq!(outcome, StepOutcome::Done);
        instance.get_real(&[0], &mut x).unwrap();
    }
    instance.terminate().unwrap();
    instance.get_real(&[0], &mut x).unwrap();
    assert_eq!(x, [2.0]);
    instance.reset().unwrap();
    assert_eq!(instance.state(), SlaveState::Instantiated);
    assert_eq!(instance.name(), "run");
}

#[test]
fn c24_c25_calls_out_of_turn_never_reach_the_fmu() {
    let fmu = fixture();
    let mut instance = ready(&fmu, "trace turns");
    let trace = resources(&mut instance).join("trace.txt");
    let before = std::fs::read_to_string(&trace).unwrap();
    assert_eq!(before, "setup\nenter\nexit\n");
    let error = instance.setup_experiment(None, 0.0, None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "trace turns: fmi2SetupExperiment was not called: \
         FMI 2.0 forbids it in state \"step complete\""
    );
    instance.exit_initialization_mode().unwrap_err();
    instance.terminate().unwrap();
    instance.do_step(0.0, 0.1, true).unwrap_err();
    instance.set_real(&[1], &[1.0]).unwrap_err();
    instance.terminate().unwrap_err();
    instance.reset().unwrap();
    let error = instance.get_real(&[0], &mut [0.0]).unwrap_err();
    assert_eq!(refusal(&error), Refusal::SlaveState);
    let after = std::fs::read_to_string(&trace).unwrap();
    assert_eq!(after, "setup\nenter\nexit\nterminate\nreset\n");
}

#[test]
fn c31_setup_comes_before_initialization() {
    let mut instance = fixture().instantiate("setup", &Default::default()).unwrap();
    let error = instance.enter_initialization_mode().unwrap_err();
    assert!(
        error
            .to_string()
            .contains("fmi2SetupExperiment has to come first"),
        "{error}"
    );
}

#[test]
fn c35_steps_that_are_none() {
    let mut instance = ready(&fixture(), "steps");
    for step in [0.0, -0.1, f64::NAN, f64::INFINITY] {
        let error = instance.do_step(0.0, step, true).unwrap_err();
        assert_eq!(refusal(&error), Refusal::Arguments);
    }
    for time in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let error = instance.do_step(time, 0.1, true).unwrap_err();
        assert_eq!(refusal(&error), Refusal::Arguments);
    }
}

#[test]
fn c38_warning_is_success_and_counted() {
    let mut instance = ready(&fixture(), "warning");
    assert_eq!(step_with(&mut instance, 1).unwrap(), StepOutcome::Done);
    assert_eq!(instance.warnings_count(), 1);
}

#[test]
fn c39_discarded_step_says_how_far_it_got() {
    let mut instance = ready(&fixture(), "discard");
    let saved = instance.save_state().unwrap();
    instance.set_real(&[3], &[0.6]).unwrap();
    instance.set_boolean(&[0], &[true]).unwrap();
    let expected = StepOutcome::Discarded {
        last_successful_time: Some(0.6),
        terminated: true,
    };
    assert_eq!(step_with(&mut instance, 2).unwrap(), expected);
    let error = instance.do_step(0.5, 0.1, false).unwrap_err();
    assert_eq!(refusal(&error), Refusal::SlaveState);
    instance.restore_state(&saved).unwrap();
    assert_eq!(
        instance.do_step(0.5, 0.1, false).unwrap(),
        StepOutcome::Done
    );
}

#[test]
fn c40_rejected_value_is_named() {
    let mut instance = ready(&fixture(), "reject");
    let error = instance.set_real(&[1], &[-3.5]).unwrap_err();
    assert_eq!(error.status, Status::Discard);
    assert_eq!(
        error.to_string(),
        "reject: fmi2SetReal returned Discard: v = -3.5"
    );
    instance.set_real(&[1], &[3.5]).unwrap();
}

#[test]
fn c41_after_an_error_only_reading_restoring_and_reset_remain() {
    let mut instance = ready(&fixture(), "error");
    let saved = instance.save_state().unwrap();
    let error = step_with(&mut instance, 3).unwrap_err();
    assert_eq!(
        (error.function, error.status),
        ("fmi2DoStep", Status::Error)
    );
    assert_eq!(
        error.detail.as_deref(),
        Some("in the step from 0.5 by 0.25")
    );
    assert_eq!(
        refusal(&instance.terminate().unwrap_err()),
        Refusal::SlaveState
    );
    instance.get_real(&[0], &mut [0.0]).unwrap();
    instance.restore_state(&saved).unwrap();
    instance.do_step(0.5, 0.25, true).unwrap();
    step_with(&mut instance, 3).unwrap_err();
    instance.reset().unwrap();
}

#[test]
fn c26_c42_nothing_at_all_is_called_after_fatal() {
    let fmu = fixture();
    let mut instance = ready(&fmu, "trace fatal");
    let mut other = ready(&fmu, "trace other");
    let trace = resources(&mut instance).join("trace.txt");
    let _saved = instance.save_state().unwrap();
    let error = step_with(&mut instance, 4).unwrap_err();
    assert_eq!(error.status, Status::Fatal);
    let before = std::fs::read_to_string(&trace).unwrap();
    assert!(before.ends_with("save\nstep\n"), "{before}");
    instance.get_real(&[0], &mut [0.0]).unwrap_err();
    instance.reset().unwrap_err();
    other.terminate().unwrap_err();
    drop((instance, other));
    assert_eq!(std::fs::read_to_string(&trace).unwrap(), before);
    let error = fmu.instantiate("after", &Default::default()).unwrap_err();
    assert!(error.to_string().contains("fatal"), "{error}");
}

#[test]
fn c43_pending_step_that_was_not_declared_is_an_error_and_taken_back() {
    let fmu = fixture();
    let mut instance = ready(&fmu, "trace pending");
    let trace = resources(&mut instance).join("trace.txt");
    let error = step_with(&mut instance, 5).unwrap_err();
    assert_eq!(error.status, Status::Pending);
    let expected = "does not declare canRunAsynchronuously";
    assert!(error.to_string().contains(expected), "{error}");
    assert_eq!(
        refusal(&instance.get_real(&[0], &mut [0.0]).unwrap_err()),
        Refusal::SlaveState
    );
    drop(instance);
    let trace = std::fs::read_to_string(trace).unwrap();
    assert!(trace.ends_with("step\ncancel\nfree\n"), "{trace}");
}

/// An instance whose steps are pending, from a library compiled with these definitions.
fn asynchronous(definitions: &[&str], options: &InstanceOptions) -> Instance {
    let claim = "providesDirectionalDerivative=\"true\"";
    let both = format!("{claim} canRunAsynchronuously=\"true\"");
    let description = DESCRIPTION.replace(claim, &both);
    let fmu = fmu_with(&description, "fixture.so", &library(definitions));
    let mut instance = fmu.instantiate("pending", options).unwrap();
    instance.setup_experiment(None, 0.0, None).unwrap();
    instance.enter_initialization_mode().unwrap();
    instance.exit_initialization_mode().unwrap();
    instance
}

#[test]
fn c43_pending_step_is_waited_for() {
    let mut instance = asynchronous(&["IS_ASKED"], &InstanceOptions::default());
    for final_status in [0, 1] {
        instance.set_integer(&[2, 3], &[7, final_status]).unwrap();
        assert_eq!(step_with(&mut instance, 5).unwrap(), StepOutcome::Done);
        assert_eq!(instance.warnings_count(), u64::from(final_status == 1));
        instance.get_real(&[0], &mut [0.0]).unwrap();
    }
    instance.set_integer(&[2, 3], &[2, 2]).unwrap();
    let outcome = step_with(&mut instance, 5).unwrap();
    assert!(matches!(outcome, StepOutcome::Discarded { .. }));
    assert_eq!(instance.state(), SlaveState::StepFailed);
    for (status, expected) in [
        (3, Status::Error),
        (77, Status::Unknown(77)),
        (4, Status::Fatal),
    ] {
        let mut instance = asynchronous(&["IS_ASKED"], &InstanceOptions::default());
        instance.set_integer(&[2, 3], &[1, status]).unwrap();
        assert_eq!(step_with(&mut instance, 5).unwrap_err().status, expected);
    }
}

#[test]
fn c12_c43_step_finished_ends_a_pending_step_from_any_thread() {
    for how in [1, 2] {
        let mut instance = asynchronous(&["CALLS_BACK"], &InstanceOptions::default());
        instance.set_integer(&[3, 4], &[0, how]).unwrap();
        assert_eq!(step_with(&mut instance, 5).unwrap(), StepOutcome::Done);
        instance.set_integer(&[3, 4], &[3, how]).unwrap();
        let error = step_with(&mut instance, 5).unwrap_err();
        assert_eq!(error.status, Status::Error);
    }
}

#[test]
fn c43_pending_step_is_cancelled_in_the_end() {
    let options = InstanceOptions {
        pending_timeout: Duration::from_millis(20),
        ..InstanceOptions::default()
    };
    let mut instance = asynchronous(&["IS_ASKED"], &options);
    instance.set_integer(&[2], &[i32::MAX]).unwrap();
    let error = step_with(&mut instance, 5).unwrap_err();
    assert_eq!(instance.state(), SlaveState::StepCanceled);
    assert_eq!(
        error.to_string(),
        "pending: fmi2DoStep did not return within 0.02 s: the step in the background was cancelled; \
         the FMU says: still thinking"
    );
    assert_eq!(error.status, Status::TimedOut(Duration::from_millis(20)));
}

#[test]
fn r64_a_pending_step_ends_soon_after_an_interruption() {
    let interrupt = Arc::new(AtomicBool::new(true));
    let options = InstanceOptions {
        pending_timeout: Duration::MAX,
        interrupt: Some(Arc::clone(&interrupt)),
        ..InstanceOptions::default()
    };
    let mut instance = asynchronous(&["IS_ASKED"], &options);
    instance.set_integer(&[2], &[i32::MAX]).unwrap();
    let error = step_with(&mut instance, 5).unwrap_err();
    assert_eq!(error.status, Status::Interrupted);
    assert_eq!(instance.state(), SlaveState::StepCanceled);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn c77_r33_rounding_mode_is_put_back_and_reported_once() {
    let mut instance = ready(&fixture(), "rounding");
    let sum = || std::hint::black_box(0.1_f64) + std::hint::black_box(0.2);
    let usual = sum();
    instance.set_integer(&[5], &[1]).unwrap();
    for _ in 0..3 {
        assert_eq!(step_with(&mut instance, 0).unwrap(), StepOutcome::Done);
        assert_eq!(sum().to_bits(), usual.to_bits());
    }
    assert_eq!(instance.warnings_count(), 1);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn c77_r33_change_in_any_step_is_put_back_at_once() {
    for changed in [0, 1, 5, 16, 17] {
        let mut instance = ready(&fixture(), "middle");
        let sum = || std::hint::black_box(0.1_f64) + std::hint::black_box(0.2);
        let usual = sum();
        for step in 0..20 {
            let mode = i32::from(step == changed);
            instance.set_integer(&[5], &[mode]).unwrap();
            step_with(&mut instance, 0).unwrap();
            assert_eq!(sum().to_bits(), usual.to_bits(), "{changed} {step}");
            assert_eq!(instance.violations().changes_float_control, step >= changed);
        }
        assert_eq!(instance.warnings_count(), 1);
    }
}

/// Of the x87, and of the treatment of denormal numbers.
#[test]
#[cfg(target_arch = "x86_64")]
fn c77_r33_change_by_setting_a_value_is_put_back_at_once() {
    let smallest = || std::hint::black_box(f64::MIN_POSITIVE) / std::hint::black_box(4.0);
    for mode in [2, 3] {
        let mut instance = ready(&fixture(), "setting");
        for step in 0..5 {
            let mode = if step == 3 { mode } else { 0 };
            instance.set_integer(&[5], &[mode]).unwrap();
            instance.set_real(&[1], &[0.0]).unwrap();
            assert!(smallest() > 0.0);
            assert_eq!(instance.violations().changes_float_control, step >= 3);
            let time = 0.1 * f64::from(step);
            instance.do_step(time, 0.1, true).unwrap();
        }
        assert_eq!(instance.warnings_count(), 1);
    }
}

#[test]
#[cfg(target_arch = "x86_64")]
fn c77_r33_fast_math_library_does_not_reach_others() {
    let smallest = || std::hint::black_box(f64::MIN_POSITIVE) / std::hint::black_box(4.0);
    let fmu = fmu_with(DESCRIPTION, "fixture.so", &library(&["FAST_MATH"]));
    let instance = ready(&fmu, "fast");
    assert!(smallest() > 0.0);
    let warnings = instance.load_warnings();
    let expected = |warning: &Warning| warning.message.contains("denormal numbers");
    assert!(warnings.iter().any(expected), "{warnings:?}");
}

#[test]
fn c44_unknown_status_is_an_error_with_its_number() {
    for number in [42, -1] {
        let mut instance = ready(&fixture(), "unknown");
        let error = step_with(&mut instance, number).unwrap_err();
        assert_eq!(error.status, Status::Unknown(number));
        assert_eq!(instance.state(), SlaveState::Error);
    }
}

#[test]
fn c54_booleans() {
    let mut instance = ready(&fixture(), "booleans");
    instance.set_boolean(&[0, 1], &[true, false]).unwrap();
    let mut values = [false, true, false];
    instance.get_boolean(&[0, 1, 2], &mut values).unwrap();
    assert_eq!(values, [true, false, true]);
}

#[test]
fn c55_strings() {
    let mut instance = ready(&fixture(), "strings");
    instance.set_string(&[2], &["größer"]).unwrap();
    let mut values = ["old".to_owned(), String::new(), String::new()];
    instance.get_string(&[0, 2, 3], &mut values).unwrap();
    assert_eq!(values, ["", "größer", "\u{fffd}!"]);
    assert_eq!(instance.warnings_count(), 1, "NULL is worth a warning");
    let error = instance.set_string(&[2], &["a\0b"]).unwrap_err();
    assert!(error.to_string().contains("NUL"), "{error}");
}

#[test]
fn arrays_that_do_not_fit_never_reach_the_fmu() {
    let mut i = ready(&fixture(), "lengths");
    let errors = [
        i.set_real(&[0, 1], &[0.0]),
        i.get_real(&[0, 1], &mut [0.0]),
        i.set_integer(&[0], &[]),
        i.get_integer(&[0, 1], &mut [0]),
        i.set_boolean(&[0], &[true, true]),
        i.get_boolean(&[0, 1], &mut [true]),
        i.set_string(&[0], &[]),
        i.get_string(&[0, 1], &mut [String::new()]),
        i.directional_derivative(&[0], &[1], &[], &mut [0.0]),
        i.directional_derivative(&[0], &[1], &[1.0], &mut []),
        i.set_real_input_derivatives(&[1], &[1, 2], &[0.0]),
        i.get_real_output_derivatives(&[1], &[1], &mut []),
    ];
    for error in errors {
        assert_eq!(refusal(&error.unwrap_err()), Refusal::Arguments);
    }
}

#[test]
fn c69_c70_c71_abilities_that_are_not_there() {
    let mut i = ready(&fixture(), "abilities");
    let error = i
        .set_real_input_derivatives(&[1], &[1], &[0.0])
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("does not declare canInterpolateInputs"),
        "{error}"
    );
    let error = i
        .get_real_output_derivatives(&[0], &[1], &mut [0.0])
        .unwrap_err();
    assert!(
        error.to_string().contains("maxOutputDerivativeOrder"),
        "{error}"
    );
    let error = i
        .directional_derivative(&[0], &[1], &[1.0], &mut [0.0])
        .unwrap_err();
    assert!(error.to_string().contains("does not export it"), "{error}");
}

/// Such FMUs run well without these calls.
#[test]
fn abilities_that_the_fmu_denies_leave_its_state() {
    let claims = "providesDirectionalDerivative=\"true\" canInterpolateInputs=\"true\" maxOutputDerivativeOrder=\"1\"";
    let description = DESCRIPTION.replace("providesDirectionalDerivative=\"true\"", claims);
    for (status, expected) in [
        (2, Status::Discard),
        (3, Status::Error),
        (9, Status::Unknown(9)),
        (4, Status::Fatal),
    ] {
        let library = library(&[&format!("DENIES={status}")]);
        let mut i = ready(&fmu_with(&description, "fixture.so", &library), "denies");
        let answers = [
            i.directional_derivative(&[0], &[1], &[1.0], &mut [0.0]),
            i.set_real_input_derivatives(&[1], &[1], &[0.0]),
            i.get_real_output_derivatives(&[0], &[1], &mut [0.0]),
        ];
        let first = answers.into_iter().next().unwrap().unwrap_err();
        assert_eq!(first.status, expected);
        let goes_on = i.do_step(0.0, 0.1, true).is_ok();
        assert_eq!(goes_on, expected != Status::Fatal, "{status}");
    }
}

/// Nothing depends on the value.
#[test]
fn a_read_that_is_only_tried_leaves_the_state() {
    let mut instance = ready(&fixture(), "tried");
    let refused = |instance: &mut Instance| instance.get_integer(&[77], &mut [0]);
    let error = instance.try_read(refused).unwrap_err();
    assert_eq!(error.status, Status::Error);
    instance.do_step(0.0, 0.1, true).unwrap();
    refused(&mut instance).unwrap_err();
    instance.do_step(0.1, 0.1, true).unwrap_err();
    instance
        .try_read(|instance| instance.get_real(&[0], &mut [0.0]))
        .unwrap();
    assert_eq!(instance.state(), gyrator_fmu::SlaveState::Error);
}

/// Some FMUs give no state back once they are terminated, and some give none back at all.
#[test]
fn c72_states_are_given_back_before_the_end() {
    for definitions in [&[][..], &["KEEPS_STATES"]] {
        let fmu = fmu_with(DESCRIPTION, "fixture.so", &library(definitions));
        let mut instance = ready(&fmu, "trace states");
        let trace = resources(&mut instance).join("trace.txt");
        let saved = [
            instance.save_state().unwrap(),
            instance.save_state().unwrap(),
        ];
        instance.terminate().unwrap();
        let text = std::fs::read_to_string(&trace).unwrap();
        assert!(
            text.ends_with("save\nsave\nfree state\nfree state\nterminate\n"),
            "{text}"
        );
        let error = instance.restore_state(&saved[0]).unwrap_err().to_string();
        assert!(
            error.contains("given back when the instance was terminated"),
            "{error}"
        );
        // Their places are not used again.
        instance.reset().unwrap();
        let new = instance.save_state().unwrap();
        instance.restore_state(&saved[1]).unwrap_err();
        instance.restore_state(&new).unwrap();
        let [first, _] = saved;
        instance.free_state(first).unwrap_err();
        instance.restore_state(&new).unwrap();
        drop(instance);
        let text = std::fs::read_to_string(&trace).unwrap();
        assert_eq!(text.matches("free state").count(), 3, "{text}");
    }
}

#[test]
fn c72_states_are_saved_again_restored_and_freed_with_the_instance() {
    let fmu = fixture();
    let mut instance = ready(&fmu, "trace states");
    let trace = resources(&mut instance).join("trace.txt");
    let mut saved = instance.save_state().unwrap();
    instance.set_real(&[1], &[4.0]).unwrap();
    instance.do_step(0.0, 0.25, false).unwrap();
    instance.restore_state(&saved).unwrap();
    let mut x = [f64::NAN];
    instance.get_real(&[0], &mut x).unwrap();
    assert_eq!(x, [0.0]);
    instance.save_state_over(&mut saved).unwrap();
    let other = instance.save_state().unwrap();
    instance.free_state(other).unwrap();
    let mut stranger = ready(&fmu, "stranger");
    let error = stranger.restore_state(&saved).unwrap_err();
    assert!(error.to_string().contains("another instance"), "{error}");
    drop(instance);
    let trace = std::fs::read_to_string(trace).unwrap();
    assert!(
        trace.ends_with("get\nsave again\nsave\nfree state\nfree state\nterminate\nfree\n"),
        "{trace}"
    );
}

#[test]
fn c73_serialized_state_restores_the_values() {
    let mut instance = ready(&fixture(), "bytes");
    instance.set_real(&[0], &[7.0]).unwrap();
    let saved = instance.save_state().unwrap();
    let bytes = instance.serialize_state(&saved).unwrap();
    instance.set_real(&[0], &[8.0]).unwrap();
    let restored = instance.deserialize_state(&bytes).unwrap();
    instance.restore_state(&restored).unwrap();
    let mut x = [f64::NAN];
    instance.get_real(&[0], &mut x).unwrap();
    assert_eq!(x, [7.0]);
    let error = instance.deserialize_state(&bytes[1..]).unwrap_err();
    assert_eq!(error.status, Status::Discard);
}

#[test]
fn r48_a_state_that_is_none_is_refused() {
    let mut instance = ready(&fixture(), "no state");
    let error = instance.save_state().unwrap_err().to_string();
    assert!(error.contains("returned OK and NULL"), "{error}");
    let mut instance = ready(&fixture(), "bytes");
    let error = instance.deserialize_state(&[]).unwrap_err().to_string();
    assert!(error.contains("returned OK and NULL"), "{error}");
}

#[test]
fn r48_a_size_that_makes_no_sense_is_refused() {
    let mut instance = ready(&fixture(), "huge state");
    let saved = instance.save_state().unwrap();
    let error = instance.serialize_state(&saved).unwrap_err().to_string();
    let expected = "the FMU says that its state takes 9223372036854775808 bytes";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn c76_an_instance_can_move_to_another_thread() {
    let mut instance = ready(&fixture(), "thread");
    let step = std::thread::spawn(move || instance.do_step(0.0, 0.1, true).unwrap());
    assert_eq!(step.join().unwrap(), StepOutcome::Done);
}

#[test]
fn c11_memory_is_zeroed_and_null_may_be_freed() {
    // The fixture allocates itself by the callback, and frees NULL by the other.
    let mut instance = ready(&fixture(), "memory");
    let (mut integers, mut booleans) = ([-1; 6], [true; 2]);
    instance
        .get_integer(&[0, 1, 2, 3, 4, 5], &mut integers)
        .unwrap();
    instance.get_boolean(&[0, 1], &mut booleans).unwrap();
    assert_eq!((integers, booleans), ([0; 6], [false; 2]));
}

#[test]
fn c13_windows_and_logging_are_off_unless_asked_for() {
    let shown = |options: &InstanceOptions| {
        let mut instance = fixture().instantiate("windows", options).unwrap();
        instance.setup_experiment(None, 0.0, None).unwrap();
        instance.enter_initialization_mode().unwrap();
        let mut values = [-1; 2];
        instance.get_integer(&[6, 7], &mut values).unwrap();
        values
    };
    assert_eq!(shown(&InstanceOptions::default()), [0, 0]);
    let options = InstanceOptions {
        visible: true,
        logging_on: true,
        ..InstanceOptions::default()
    };
    assert_eq!(shown(&options), [1, 1]);
}

#[test]
fn c23_log_categories_are_those_of_the_description() {
    let fmu = fixture();
    let mut instance = ready(&fmu, "trace categories");
    let trace = resources(&mut instance).join("trace.txt");
    let error = instance.set_debug_logging(true, &["other"]).unwrap_err();
    assert!(error.to_string().contains("none of fixture"), "{error}");
    instance.set_debug_logging(true, &["fixture"]).unwrap();
    instance.set_debug_logging(false, &[]).unwrap();
    let trace = std::fs::read_to_string(trace).unwrap();
    assert!(
        trace.ends_with("exit\nlogging 1 1 fixture\nlogging 0 0 all\n"),
        "{trace}"
    );
}

#[test]
fn c29_terminated_instance_can_be_read_and_is_not_terminated_again() {
    let fmu = fixture();
    let mut instance = ready(&fmu, "trace end");
    let trace = resources(&mut instance).join("trace.txt");
    instance.terminate().unwrap();
    instance.terminate().unwrap_err();
    instance.get_real(&[0], &mut [0.0]).unwrap();
    drop(instance);
    let trace = std::fs::read_to_string(trace).unwrap();
    assert!(trace.ends_with("exit\nterminate\nget\nfree\n"), "{trace}");
}

#[test]
fn c30_reset_asks_for_everything_again() {
    let mut instance = ready(&fixture(), "again");
    instance.reset().unwrap();
    assert_eq!(instance.state(), SlaveState::Instantiated);
    let error = instance.enter_initialization_mode().unwrap_err();
    assert!(error.to_string().contains("fmi2SetupExperiment"), "{error}");
    instance.setup_experiment(None, 0.0, None).unwrap();
    instance.enter_initialization_mode().unwrap();
}

#[test]
fn c37_tolerance_is_sent_only_if_there_is_one() {
    let fmu = fixture();
    for (tolerance, expected) in [(None, "setup\n"), (Some(1e-4), "setup with tolerance\n")] {
        let mut instance = fmu.instantiate("trace setup", &Default::default()).unwrap();
        instance.setup_experiment(tolerance, 0.0, None).unwrap();
        instance.enter_initialization_mode().unwrap();
        let trace = resources(&mut instance).join("trace.txt");
        let text = std::fs::read_to_string(&trace).unwrap();
        assert_eq!(text, format!("{expected}enter\n"));
        drop(instance);
        std::fs::remove_file(trace).unwrap();
    }
}

#[test]
fn c52_references_are_distinguished_by_type() {
    let fmu = fixture();
    let name = |base_type| {
        let variable = fmu.description().variable_by_reference(base_type, 0);
        variable.map(|variable| variable.name.as_str())
    };
    assert_eq!(name(BaseType::Real), Some("x"));
    assert_eq!(name(BaseType::Integer), Some("status"));
    assert_eq!(name(BaseType::Boolean), None);
    let mut instance = ready(&fmu, "types");
    instance.set_integer(&[1], &[7]).unwrap();
    let mut real = [f64::NAN];
    instance.get_real(&[1], &mut real).unwrap();
    assert_eq!(real, [0.0]);
}
