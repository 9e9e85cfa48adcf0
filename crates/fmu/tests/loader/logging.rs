//! Messages of FMUs, also messages that break every rule.

use gyrator_fmu::Instance;

use crate::building::{fixture, ready};

/// Text that remains of the message with this number in `fixture.c`.
fn logged(instance: &mut Instance, number: i32) -> Option<String> {
    instance.set_integer(&[1], &[number]).unwrap();
    instance.do_step(0.0, 0.1, true).unwrap();
    instance.last_log()
}

fn fresh(number: i32) -> String {
    logged(&mut ready(&fixture(), "log"), number).unwrap()
}

#[test]
fn c18_conversions_are_formatted() {
    assert_eq!(fresh(1), "x is 7 of  50.0% a  | bc 1099511627776");
}

#[test]
fn c19_percent_signs_that_are_no_conversions_stay() {
    assert_eq!(fresh(2), "100% sure, 5%");
}

#[test]
fn c19_a_conversion_that_writes_is_refused() {
    assert_eq!(fresh(3), "writes %n here");
}

#[test]
#[cfg(target_os = "linux")]
fn c19_r30_a_string_that_is_nowhere_does_not_kill_the_process() {
    assert_eq!(fresh(7), "reads (unreadable) there");
}

#[test]
fn c21_bytes_that_are_no_utf8_are_replaced() {
    assert_eq!(fresh(4), "caf\u{fffd}");
}

#[test]
fn c20_references_become_names() {
    assert_eq!(fresh(5), "v is not #i9# nor # nor #x");
}

#[test]
fn r60_a_negative_precision_is_none() {
    assert_eq!(fresh(10), "whole|   7|7   |7");
}

/// Formatting them would take seconds and gigabytes.
#[test]
fn r60_enormous_widths_are_not_formatted() {
    for (number, expected) in [(11, "%999999999d"), (12, "%*d"), (13, "%.999999999f")] {
        assert_eq!(fresh(number), expected);
    }
}

#[test]
fn r60_an_endless_name_is_cut() {
    assert_eq!(fresh(14), "short");
}

#[test]
fn c19_endless_message_is_cut() {
    let message = fresh(6);
    assert!(
        message.len() < 20_000 && message.len() > 1_000,
        "{}",
        message.len()
    );
}

#[test]
fn c18_c22_nothing_but_null_and_an_unknown_status() {
    let mut instance = ready(&fixture(), "nulls");
    assert_eq!(
        logged(&mut instance, 8),
        None,
        "the sender of the message is unknown"
    );
}

#[test]
fn c22_wrong_environment_pointer_still_finds_its_instance() {
    let fmu = fixture();
    let (mut wrong, mut right) = (ready(&fmu, "wrong"), ready(&fmu, "right"));
    wrong.set_boolean(&[1], &[true]).unwrap();
    assert_eq!(logged(&mut wrong, 4).as_deref(), Some("caf\u{fffd}"));
    assert_eq!(logged(&mut right, 0), None);
}

#[test]
fn last_line_is_part_of_an_error() {
    let mut instance = ready(&fixture(), "says");
    logged(&mut instance, 5);
    instance.set_integer(&[0], &[3]).unwrap();
    let error = instance.do_step(0.0, 0.1, true).unwrap_err().to_string();
    assert!(
        error.ends_with("; the FMU says: v is not #i9# nor # nor #x"),
        "{error}"
    );
}
