//! Simulators: FMUs, and files of values over time.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use gyrator_system::{Choice, Component, Problem, Spanned, Value};

use super::lines::Line;
use crate::tree::Reader;

/// Bytes of the first line of a table that are read to name its column of times.
const HEADING: u64 = 1 << 16;

/// Names in the order in which MasterSim's Gauss-Seidel steps them: by their cycles, then by their lines. Each
/// component of `held` comes after the table that it belongs to.
pub(super) fn in_order(components: &[Component], cycles: &[u32], held: &[Component]) -> String {
    let mut order: Vec<_> = cycles.iter().zip(components).collect();
    order.sort_by_key(|(cycle, _)| **cycle);
    let mut names = Vec::new();
    for (_, component) in order {
        names.push(&*component.name.value);
        let same = held
            .iter()
            .filter(|held| held.name.span == component.name.span);
        names.extend(same.map(|held| &*held.name.value));
    }
    names.join(", ")
}

/// `simulator <priority> <cycle> <name> <color> <path>`: the components, and the cycle of each.
pub(super) fn simulators<'l, 't: 'l>(
    lines: impl Iterator<Item = &'l Line<'t>>,
    reader: &mut Reader<'_>,
) -> (Vec<Component>, Vec<u32>) {
    let (mut components, mut cycles) = (Vec::new(), Vec::new());
    for line in lines {
        let words = line.words();
        let Ok([_, cycle, name, _, path]) = <[Spanned<&str>; 5]>::try_from(words) else {
            let message =
                "a simulator has a priority, a cycle, a name, a colour and a path".to_owned();
            let problem = Problem::error("wrong-line", message).at(&line.span());
            let help = "write it as `simulator 0 0 left #ff8c00 \"Left.fmu\"`";
            reader.problems.push(problem.help(help));
            continue;
        };
        let Ok(number) = cycle.value.parse() else {
            let message = format!("the cycle must be a whole number, not `{}`", cycle.value);
            reader.error("wrong-type", message, &cycle.span);
            continue;
        };
        if name.value.contains(['.', ',']) || name.value.trim().is_empty() {
            let message = format!("a simulator cannot be called `{}`", name.value);
            let problem = Problem::error("invalid-name", message).at(&name.span);
            let help = "choose a name without dots and commas";
            reader.problems.push(problem.help(help));
            continue;
        }
        if let Some(component) = component(&name, &path, reader) {
            components.push(component);
            cycles.push(number);
        }
    }
    (components, cycles)
}

fn component(
    name: &Spanned<&str>,
    path: &Spanned<&str>,
    reader: &mut Reader<'_>,
) -> Option<Component> {
    let file = Path::new(path.value);
    let is = |other: &str| {
        file.extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case(other))
    };
    let mut component = Component::new("", PathBuf::new());
    component.name = Spanned::new(name.value.to_owned(), name.span.clone());
    if is("fmu") {
        component.fmu = Spanned::new(reader.package.beside(file), path.span.clone());
    } else if is("csv") || is("tsv") {
        component.block = Some(table(path, reader));
    } else {
        let message = format!("`{}` is neither an FMU nor a table", path.value);
        let problem = Problem::error("invalid-path", message).at(&path.span);
        let help = "name a file that ends in `.fmu`, `.csv` or `.tsv`";
        reader.problems.push(problem.help(help));
        return None;
    }
    Some(component)
}

/// A block with the columns of a file. MasterSim takes the first column for the times, whatever its heading.
fn table(path: &Spanned<&str>, reader: &Reader<'_>) -> Choice {
    let mut choice = Choice::new("table");
    choice.name.span = path.span.clone();
    let mut set = |name: &str, text: String| {
        let value = Spanned::new(Value::String(text), path.span.clone());
        choice
            .parameters
            .push((Spanned::unplaced(name.to_owned()), value));
    };
    set("file", path.value.to_owned());
    let times = times(&reader.package.beside(Path::new(path.value)));
    let is_usual = |name: &String| {
        let bare = name.split('[').next().unwrap_or_default().trim();
        bare.eq_ignore_ascii_case("time") || bare.eq_ignore_ascii_case("t")
    };
    if let Some(heading) = times.filter(|heading| !is_usual(heading)) {
        set("time_column", heading);
    }
    choice
}

/// The heading of the first column; `None` if the file cannot be read, which its block reports.
fn times(file: &Path) -> Option<String> {
    // A pipe might never end.
    let file = file.is_file().then(|| std::fs::File::open(file).ok())??;
    let mut line = Vec::new();
    let mut head = BufReader::new(file.take(HEADING));
    head.read_until(b'\n', &mut line).ok()?;
    let line = String::from_utf8_lossy(&line);
    let line = line.trim_start_matches('\u{feff}').trim_end();
    let separator = if line.contains('\t') { '\t' } else { ',' };
    let heading = line.split(separator).next()?.trim();
    Some(heading.trim_matches('"').trim().to_owned())
}
