//! Connections of many variables at once: `plant.q[*]` and `plant.q[1:3]`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use gyrator_system::{Connection, Port, Problem, Spanned, SystemFile};

use super::{FmuCache, StartError};
use crate::unit::{Causality, UnitDescription};

/// More than any vector of a system has elements, and fewer than a mistake makes.
const MOST_ELEMENTS: u64 = 100_000;

/// The system with a connection for each pair of variables that a pattern stands for, for formats
/// without patterns. FMUs are opened only if a connection looks like a pattern.
///
/// # Errors
/// FMUs that cannot be opened, and patterns that fit no variables.
pub fn expand_patterns(file: SystemFile, cache: &FmuCache) -> Result<SystemFile, StartError> {
    let looks_so = |port: &Spanned<Port>| port.value.variable.contains(['*', ':']);
    let is_pattern = |c: &Connection| looks_so(&c.from) || looks_so(&c.to);
    if !file.all_connections().any(is_pattern) {
        return Ok(file);
    }
    let system = cache.system(file)?;
    let mut problems = Vec::new();
    let descriptions = system.parts.iter().map(|part| &**part.description());
    let expanded = expand(
        &system.file,
        &descriptions.collect::<Vec<_>>(),
        &mut problems,
    );
    if problems.is_empty() {
        return Ok(expanded.into_owned());
    }
    Err(StartError::Invalid(system.file.problems(problems)))
}

/// The system with a connection for each pair of variables that a pattern stands for. Descriptions
/// come in the order of the components.
pub(super) fn expand<'a>(
    file: &'a SystemFile,
    descriptions: &[&UnitDescription],
    problems: &mut Vec<Problem>,
) -> Cow<'a, SystemFile> {
    let names = file
        .components
        .iter()
        .map(|component| component.name.value.as_str());
    let components: BTreeMap<&str, &UnitDescription> =
        names.zip(descriptions.iter().copied()).collect();
    let is_pattern = |connection: &Connection| {
        [&connection.from, &connection.to]
            .iter()
            .any(|end| Names::of(&end.value, &components) != Names::One)
    };
    if !file.all_connections().any(is_pattern) {
        return Cow::Borrowed(file);
    }
    let mut expanded = file.clone();
    let mut expand = |list: &mut Vec<Connection>| {
        let expand = |connection: Connection| match pairs(&connection, &components) {
            Ok(None) => vec![connection],
            Ok(Some(pairs)) => pairs
                .into_iter()
                .map(|(from, to)| Connection {
                    from: renamed(&connection.from, from),
                    to: renamed(&connection.to, to),
                    ..connection.clone()
                })
                .collect(),
            Err(problem) => {
                problems.push(problem);
                Vec::new()
            }
        };
        *list = std::mem::take(list).into_iter().flat_map(expand).collect();
    };
    expand(&mut expanded.connections);
    for bond in &mut expanded.bonds {
        expand(&mut bond.effort);
        expand(&mut bond.flow);
    }
    Cow::Owned(expanded)
}

fn renamed(port: &Spanned<Port>, variable: String) -> Spanned<Port> {
    let port_of = Port::new(port.value.component.clone(), variable);
    Spanned::new(port_of, port.span.clone())
}

/// The variables that one end of a connection stands for.
#[derive(Debug, Clone, PartialEq)]
enum Names {
    /// The variable of this name.
    One,
    /// All variables that fit; each `*` stands for any text.
    Stars(usize),
    /// Elements of a vector, by number.
    Range(Vec<String>),
}

impl Names {
    /// A variable whose name looks like a pattern is that variable.
    fn of(port: &Port, components: &BTreeMap<&str, &UnitDescription>) -> Self {
        let name = port.variable.as_str();
        if !name.contains(['*', ':']) {
            return Self::One;
        }
        let description = components.get(port.component.as_str());
        if description.is_some_and(|description| description.index(name).is_some()) {
            return Self::One;
        }
        match (name.matches('*').count(), range(name)) {
            (0, Some(names)) => Self::Range(names),
            (0, None) => Self::One,
            (stars, _) => Self::Stars(stars),
        }
    }
}

/// The elements of `q[1:3]` or `A[1:3,2]`: q[1], q[2], q[3].
fn range(name: &str) -> Option<Vec<String>> {
    let (before, after) = name.split_once(':')?;
    let start = before.rfind(['[', ','])? + 1;
    let end = after.find([']', ','])?;
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let (first, last) = (number(&before[start..])?, number(&after[..end])?);
    let count = last.checked_sub(first)?;
    (count < MOST_ELEMENTS).then(|| {
        let element = |index| format!("{}{index}{}", &before[..start], &after[end..]);
        (first..=last).map(element).collect()
    })
}

type Pairs = Vec<(String, String)>;

/// The pairs of variables that a connection stands for; `None` if it stands for itself.
fn pairs(
    connection: &Connection,
    components: &BTreeMap<&str, &UnitDescription>,
) -> Result<Option<Pairs>, Problem> {
    let (from, to) = (&connection.from.value, &connection.to.value);
    let refuse = |place: &Spanned<Port>, message: String, help: &str| {
        Err(Problem::error("pattern-mismatch", message)
            .at(&place.span)
            .help(help))
    };
    let matches = |port: &Port, causality: Causality| {
        let description = components.get(port.component.as_str());
        matching(description.copied(), &port.variable, causality)
    };
    let nothing = |place: &Spanned<Port>, what: &str| {
        let message = format!("no {what} fits `{}`", place.value);
        refuse(
            place,
            message,
            "`gyrator inspect` lists the variables of an FMU",
        )
    };
    let copies = |names: Vec<String>| {
        let name = from.variable.clone();
        Ok(Some(
            names.into_iter().map(|to| (name.clone(), to)).collect(),
        ))
    };
    match (Names::of(from, components), Names::of(to, components)) {
        (Names::One, Names::One) => Ok(None),
        // An unknown component is reported with the connection itself.
        _ if !components.contains_key(from.component.as_str())
            || !components.contains_key(to.component.as_str()) =>
        {
            Ok(None)
        }
        (Names::One, Names::Range(names)) => copies(names),
        (Names::One, Names::Stars(_)) => {
            let inputs = matches(to, Causality::Input);
            if inputs.is_empty() {
                return nothing(&connection.to, "input");
            }
            copies(inputs.into_iter().map(|(name, _)| name).collect())
        }
        (Names::Range(one), Names::Range(two)) if one.len() == two.len() => {
            Ok(Some(one.into_iter().zip(two).collect()))
        }
        (Names::Range(one), Names::Range(two)) => refuse(
            &connection.to,
            format!(
                "`{from}` has {} elements and `{to}` has {}",
                one.len(),
                two.len()
            ),
            "connect as many outputs as inputs",
        ),
        (Names::Stars(one), Names::Stars(two)) if one == two => {
            let outputs = matches(from, Causality::Output);
            if outputs.is_empty() {
                return nothing(&connection.from, "output");
            }
            let pair = |(name, texts): (String, Vec<String>)| {
                let input = with_texts(&to.variable, &texts);
                (name, input)
            };
            Ok(Some(outputs.into_iter().map(pair).collect()))
        }
        _ => refuse(
            &connection.to,
            format!("`{from}` and `{to}` do not stand for variables in pairs"),
            "write as many `*` at both ends, or a range such as [1:3] at both; one output may feed many inputs",
        ),
    }
}

/// The variables of one causality that a pattern with stars stands for, with the texts of the stars.
fn matching(
    description: Option<&UnitDescription>,
    pattern: &str,
    causality: Causality,
) -> Vec<(String, Vec<String>)> {
    let variables = description.into_iter().flat_map(|d| &d.variables);
    let variables = variables.filter(|variable| variable.causality == causality);
    let matched = variables.filter_map(|variable| {
        let texts = stars(pattern, &variable.name)?;
        Some((variable.name.clone(), texts))
    });
    matched.collect()
}

/// The pattern with texts in place of its stars.
fn with_texts(pattern: &str, texts: &[String]) -> String {
    let mut parts = pattern.split('*');
    let mut name = parts.next().unwrap_or_default().to_owned();
    for (text, part) in texts.iter().zip(parts) {
        name.push_str(text);
        name.push_str(part);
    }
    name
}

/// The texts that the stars of `pattern` stand for in `name`, each as short as it can be; `None`
/// if the name does not fit.
fn stars(pattern: &str, name: &str) -> Option<Vec<String>> {
    let Some((head, tail)) = pattern.split_once('*') else {
        return (pattern == name).then(Vec::new);
    };
    let rest = name.strip_prefix(head)?;
    // A last star takes what is left before the end of the pattern.
    if !tail.contains('*') {
        return Some(vec![rest.strip_suffix(tail)?.to_owned()]);
    }
    let ends = rest.char_indices().map(|(end, _)| end).chain([rest.len()]);
    ends.into_iter().find_map(|end| {
        let mut texts = vec![rest[..end].to_owned()];
        texts.extend(stars(tail, &rest[end..])?);
        Some(texts)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_texts() {
        let texts = |pattern, name| stars(pattern, name);
        assert_eq!(texts("q[*]", "q[1,2]"), Some(vec!["1,2".to_owned()]));
        assert_eq!(texts("q[*]", "qd[1]"), None);
        assert_eq!(texts("q[*]", "q["), None);
        assert_eq!(texts("*", "αβ"), Some(vec!["αβ".to_owned()]));
        let two = texts("leg*.joint*", "leg1.joint2.joint3").unwrap();
        assert_eq!(two, ["1", "2.joint3"]);
    }

    #[test]
    fn ranges_have_numbers() {
        assert_eq!(range("q[0:2]").unwrap(), ["q[0]", "q[1]", "q[2]"]);
        assert_eq!(range("A[2:3,1].x").unwrap(), ["A[2,1].x", "A[3,1].x"]);
        for none in ["q[3:1]", "a:b", "q[:2]", "q[1:n]", "q[0:99999999999]"] {
            assert_eq!(range(none), None, "{none}");
        }
    }
}
