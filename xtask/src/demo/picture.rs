//! The picture of the demo: the energy of both masses over time, in each of its variants.

use std::path::{Path, PathBuf};

use gyrator_pictures::chart::{Chart, Line};

/// Every so many rows one is drawn: 10 ms of a motion whose fast mode takes 0.19 s.
const STRIDE: usize = 10;

/// Writes the picture; returns its path.
///
/// `courses` has a name, times in s and energies in J for each variant.
pub(super) fn write(
    folder: &Path,
    start: f64,
    courses: &[(&'static str, Vec<(f64, f64)>)],
) -> Result<PathBuf, String> {
    let chart = Chart::new(
        "energy",
        "Two masses on springs, coupled three ways",
        "time, s",
        "energy of both masses, kJ",
    );
    let drawn = courses.iter().fold(chart, |chart, (name, course)| {
        let points = course.iter().step_by(STRIDE);
        let points = points.map(|(time, energy)| (*time, energy / 1e3));
        chart.line(Line::new(*name, points))
    });
    let times = courses.first().map_or(&[][..], |(_, course)| course);
    let ends = times.first().into_iter().chain(times.last());
    let exact = ends.map(|(time, _)| (*time, start / 1e3));
    let drawn = drawn.line(Line::reference("exact", exact));
    let path = folder.join("energy.svg");
    std::fs::write(&path, drawn.to_svg())
        .map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}
