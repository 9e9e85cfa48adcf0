//! Every file is judged without a panic, whatever its contents.

use std::path::Path;

use gyrator_validate::{Severity, Subject, examine, examine_subject};
use proptest::prelude::*;

use crate::descriptions::GOOD;

fn judge(bytes: &[u8]) {
    let path = Path::new("modelDescription.xml");
    let report = examine_subject(&Subject::of_description(path, bytes));
    for finding in &report.findings {
        assert!(finding.line.is_none_or(|line| line > 0), "{finding:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn v07_changed_bytes_do_no_harm(changes in prop::collection::vec((any::<usize>(), any::<u8>()), 1..6)) {
        let mut bytes = GOOD.as_bytes().to_vec();
        for (place, byte) in changes {
            let place = place % bytes.len();
            bytes[place] = byte;
        }
        judge(&bytes);
    }

    #[test]
    fn v08_moved_pieces_do_no_harm(from in any::<usize>(), length in 0..400_usize, to in any::<usize>()) {
        let mut bytes = GOOD.as_bytes().to_vec();
        let from = from % bytes.len();
        let piece: Vec<u8> = bytes.drain(from..bytes.len().min(from + length)).collect();
        let to = to % (bytes.len() + 1);
        bytes.splice(to..to, piece);
        judge(&bytes);
    }

    #[test]
    fn v31_v34_v37_any_number_does_no_harm(number in any::<i64>(), place in 0..40_usize) {
        // The numbers of the description, one after the other.
        let mut text = String::new();
        let mut seen = 0;
        for part in GOOD.split_inclusive('"') {
            let digits = part.trim_end_matches('"');
            let is_number = !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit());
            if is_number && seen == place {
                text.push_str(&format!("{number}\""));
            } else {
                text.push_str(part);
            }
            seen += usize::from(is_number);
        }
        judge(text.as_bytes());
    }
}

#[test]
fn v07_every_beginning_of_a_description_is_judged() {
    for end in (0..GOOD.len()).step_by(7) {
        judge(&GOOD.as_bytes()[..end]);
    }
}

#[test]
fn v01_files_that_are_no_archives_are_judged() {
    let folder = tempfile::tempdir().unwrap();
    for bytes in [&b""[..], b"PK\x03\x04", b"PK\x05\x06", GOOD.as_bytes()] {
        let path = folder.path().join("a.fmu");
        std::fs::write(&path, bytes).unwrap();
        let report = examine(&path).unwrap();
        assert_eq!(report.worst(), Some(Severity::Fatal), "{bytes:?}");
        assert_eq!(report.findings[0].rule, 1);
    }
    assert!(examine(&folder.path().join("missing.fmu")).is_err());
    assert!(examine(folder.path()).is_err());
}
