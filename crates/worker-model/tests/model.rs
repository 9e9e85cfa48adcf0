//! The scenarios, and that mistakes put in on purpose are found.

use gyrator_worker_model::{
    Orderings, a_message_in_parts, an_answer_and_the_end, check, log_lines, notes_on_rows,
    requests_and_replies, requests_and_replies_with_timeouts,
};

/// Checks a scenario with both ways to carry out the orderings.
fn holds(name: &str, scenario: fn()) {
    for orderings in [Orderings::FenceAfterStore, Orderings::FenceBeforeLoad] {
        let count = check(orderings, scenario);
        println!("{name}, {orderings:?}: {count} orders");
        assert!(count > 1, "there are no two orders");
    }
}

/// Found a sender that took back the note of a sleep after it had seen it: `sleeps.store(0)` before
/// `wake` in `Mailbox::post` is a deadlock here.
#[test]
fn r80_requests_and_replies_arrive_whole() {
    holds("requests and replies", requests_and_replies);
}

#[test]
fn r80_timeouts_lose_no_message() {
    holds("timeouts", requests_and_replies_with_timeouts);
}

#[test]
fn r80_messages_in_parts_arrive_whole() {
    holds("parts", a_message_in_parts);
}

#[test]
fn r80_an_answer_before_the_end_arrives() {
    holds("end", an_answer_and_the_end);
}

#[test]
fn r80_log_lines_arrive_whole() {
    holds("log lines", log_lines);
}

#[test]
fn r80_notes_on_rows_are_whole() {
    holds("notes on rows", notes_on_rows);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_store_that_is_only_released_loses_a_wake_up() {
    check(Orderings::NoFences, requests_and_replies);
}

#[test]
#[should_panic(expected = "torn")]
fn relaxed_accesses_tear_a_message() {
    check(Orderings::AllRelaxed, requests_and_replies);
}

#[test]
#[should_panic(expected = "torn")]
fn relaxed_accesses_tear_a_log_line() {
    check(Orderings::AllRelaxed, log_lines);
}

#[test]
#[should_panic(expected = "beyond what was written")]
fn relaxed_accesses_read_beyond_the_rows() {
    check(Orderings::AllRelaxed, notes_on_rows);
}
