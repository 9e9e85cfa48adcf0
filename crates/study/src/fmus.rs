//! FMUs that only cases name.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use gyrator::system::FmuCache;
use gyrator_system::Source;
use gyrator_system::toml_file::{Setting, parse_with, segments};

use crate::cases::Cases;

/// Opens the FMUs of runs that set these, before the first run: later, code of others may have
/// changed the working directory and the rights that files get. The runs report
/// FMUs that fail to open.
pub(crate) fn open(
    system: &Source,
    cases: &Cases,
    runs: impl Iterator<Item = Vec<Setting>>,
    cache: &FmuCache,
    interrupt: &AtomicBool,
) {
    let keys: BTreeSet<&str> = cases.keys().filter(|key| is_about_opening(key)).collect();
    if keys.is_empty() {
        return;
    }
    let mut opened: BTreeSet<Vec<Setting>> = BTreeSet::new();
    for settings in runs {
        let of_fmus = settings.iter();
        let of_fmus = of_fmus.filter(|setting| keys.contains(setting.key.as_str()));
        let of_fmus: Vec<Setting> = of_fmus.cloned().collect();
        if opened.contains(&of_fmus) {
            continue;
        }
        if interrupt.load(Ordering::Relaxed) {
            return;
        }
        if let Ok((file, _)) = parse_with(system.own_text(), &system.path, &settings) {
            cache.open_all(&file);
            opened.insert(of_fmus);
        }
    }
}

/// Whether a key says which FMU is opened, or how.
fn is_about_opening(key: &str) -> bool {
    let segments = segments(key).unwrap_or_default();
    let path: Vec<&str> = segments.iter().map(String::as_str).collect();
    matches!(
        path[..],
        ["components", _, "fmu" | "preload" | "library_path", ..]
    )
}
