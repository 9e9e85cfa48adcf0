//! Findings as JUnit XML, in the form that Jenkins and its like read: a test case for each check.

use std::io::{self, Read as _};
use std::path::Path;

use gyrator_assess::{Finding, Outcome};
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

/// The case that stands for the run itself, if something is wrong with it.
const RUN: &str = "the run";

/// The report on the run of `system`. `trouble` says what is wrong with the run, whatever the checks found.
pub(crate) fn report(
    system: &str,
    findings: &[Finding],
    trouble: Option<&str>,
) -> io::Result<String> {
    let system = &*allowed(system);
    let count = |outcome| findings.iter().filter(|f| f.outcome == outcome).count();
    let tests = (findings.len() + usize::from(trouble.is_some())).to_string();
    let failures = count(Outcome::Failed).to_string();
    let errors = (count(Outcome::NotJudged) + usize::from(trouble.is_some())).to_string();
    let counts = [
        ("tests", &*tests),
        ("failures", &*failures),
        ("errors", &*errors),
    ];
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    let declaration = BytesDecl::new("1.0", Some("UTF-8"), None);
    writer.write_event(Event::Decl(declaration))?;
    let suites = writer.create_element("testsuites");
    let suites = suites.with_attribute(("name", "gyrator"));
    suites
        .with_attributes(counts)
        .write_inner_content(|writer| {
            let suite = writer.create_element("testsuite");
            let suite = suite.with_attribute(("name", system));
            suite
                .with_attributes(counts)
                .with_attribute(("skipped", "0"))
                .write_inner_content(|writer| cases(writer, system, findings, trouble))?;
            Ok(())
        })?;
    let mut text = String::from_utf8(writer.into_inner()).map_err(io::Error::other)?;
    text.push('\n');
    Ok(text)
}

fn cases(
    writer: &mut Writer<Vec<u8>>,
    system: &str,
    findings: &[Finding],
    trouble: Option<&str>,
) -> io::Result<()> {
    if let Some(trouble) = trouble {
        case(writer, system, RUN, Some(("error", "run", trouble)))?;
    }
    for finding in findings {
        let message = finding.message.as_deref().unwrap_or_default();
        let problem = match finding.outcome {
            Outcome::Passed => None,
            Outcome::Failed => Some(("failure", finding.check, message)),
            Outcome::NotJudged => Some(("error", "not-judged", message)),
        };
        case(writer, system, &finding.name, problem)?;
    }
    Ok(())
}

/// A test case; `problem` is the name of its element, a word for its kind, and what it is.
fn case(
    writer: &mut Writer<Vec<u8>>,
    class: &str,
    name: &str,
    problem: Option<(&str, &str, &str)>,
) -> io::Result<()> {
    let name = allowed(name);
    let element = writer.create_element("testcase");
    let element = element.with_attributes([("classname", class), ("name", &*name)]);
    let Some((tag, kind, message)) = problem else {
        element.write_empty()?;
        return Ok(());
    };
    let message = allowed(message);
    element.write_inner_content(|writer| {
        let problem = writer.create_element(tag);
        let problem = problem.with_attributes([("type", kind), ("message", &*message)]);
        problem.write_text_content(BytesText::new(&message))?;
        Ok(())
    })?;
    Ok(())
}

/// The text without characters that XML 1.0 has no way to hold (section 2.2).
fn allowed(text: &str) -> String {
    let is_allowed = |letter: &char| match letter {
        '\t' | '\n' | '\r' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        letter => *letter >= ' ',
    };
    text.chars().filter(is_allowed).collect()
}

/// Whether a file may be a report of an earlier run: any other file may be an input.
pub(crate) fn is_report(path: &Path) -> bool {
    let mut head = Vec::new();
    let file = std::fs::File::open(path).map(|file| file.take(256));
    let read = file.and_then(|mut file| file.read_to_end(&mut head));
    let head = String::from_utf8_lossy(&head);
    read.is_ok() && (head.trim().is_empty() || head.contains("<testsuite"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_checks_that_failed_is_an_error() {
        let text = report("a<b>.toml", &[], Some("left: \"no\" & \u{1}never")).unwrap();
        let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
            <testsuites name=\"gyrator\" tests=\"1\" failures=\"0\" errors=\"1\">\n  \
            <testsuite name=\"a&lt;b&gt;.toml\" tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\">\n    \
            <testcase classname=\"a&lt;b&gt;.toml\" name=\"the run\">\n      \
            <error type=\"run\" message=\"left: &quot;no&quot; &amp; never\">left: &quot;no&quot; &amp; never</error>\n    \
            </testcase>\n  </testsuite>\n</testsuites>\n";
        assert_eq!(text, expected);
    }
}
