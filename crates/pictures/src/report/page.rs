//! The page around the sections and plots.
//!
//! Tables are text made here, not drawn by the script: they have to be there without JavaScript, in print and for
//! programs, and text that was escaped once cannot become an element. The script draws the plots alone, from numbers
//! and from names that it only ever sets as text. The content security policy names style and script by their hashes:
//! even an element that slipped through would neither run nor load anything.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::report::drawing::Drawing;
use crate::report::facts::text;
use crate::report::html::{escape, paragraph, script_json};
use crate::report::sections::{elements, sections};

const TEMPLATE: &str = include_str!("assets/page.html");
const STYLE: &str = concat!(
    include_str!("assets/uPlot.min.css"),
    include_str!("assets/page.css")
);
/// The plotting library, with its licence, before the page's own script.
const SCRIPT: &str = concat!(
    "/*\n",
    include_str!("assets/uPlot.LICENSE"),
    "\n*/\n",
    include_str!("assets/uPlot.iife.min.js"),
    "\n",
    include_str!("assets/page.js")
);

/// A report of a run.
#[derive(Debug, Clone, Copy)]
pub struct Page<'a> {
    /// The summary of the run, as `gyrator run --summary` writes it; null if there is none.
    pub summary: &'a Value,
    /// The signals that are drawn.
    pub drawing: &'a Drawing,
    /// The graph of the system, as SVG.
    pub graph: Option<&'a str>,
    /// Remarks on the page itself, such as signals that are not drawn.
    pub remarks: &'a [String],
    /// The script of a page that follows a run; it may ask the host that serves the page, and no other one.
    pub live: Option<&'a str>,
}

impl Page<'_> {
    /// The page.
    #[must_use]
    pub fn html(&self) -> String {
        let [before, after] = sections(self.summary);
        let live = self.live.map(script_element).unwrap_or_default();
        let remarks: String = self.remarks.iter().map(|text| paragraph(text)).collect();
        let contents = |name: &str| match name {
            "policy" => self.policy(),
            "style" => STYLE.to_owned(),
            "title" => escape(&self.title()),
            "before" => elements(&before),
            "graph" => elements(&[("graph", self.graph.map(graph).unwrap_or_default())]),
            "remarks" => remarks.clone(),
            "after" => elements(&after),
            "data" => script_json(&self.drawing.json(self.summary)),
            "script" => SCRIPT.to_owned(),
            "live" => live.clone(),
            _ => String::new(),
        };
        filled(TEMPLATE, contents)
    }

    fn title(&self) -> String {
        let system = text(self.summary, "system");
        let name = system.rsplit(['/', '\\']).next().unwrap_or_default();
        match name {
            "" => "Report of a run".to_owned(),
            name => name.to_owned(),
        }
    }

    /// Nothing but the style and the scripts that stand in the page, by their hashes.
    fn policy(&self) -> String {
        let mut scripts = hash(SCRIPT);
        let mut others = String::new();
        if let Some(live) = self.live {
            scripts.push(' ');
            scripts.push_str(&hash(live));
            others.push_str("; connect-src 'self'");
        }
        let style = hash(STYLE);
        format!(
            "default-src 'none'; script-src {scripts}; style-src {style}; img-src data:; base-uri 'none'; \
             form-action 'none'{others}"
        )
    }
}

/// The parts that a page that follows a run replaces: the sections by the names of their elements, and the
/// drawing; `replace` of `assets/page.js` takes it.
#[must_use]
pub fn update(summary: &Value, drawing: &Drawing) -> Value {
    let sections: serde_json::Map<String, Value> = sections(summary)
        .into_iter()
        .flatten()
        .map(|(id, html)| (id.to_owned(), Value::String(html)))
        .collect();
    json!({ "sections": sections, "drawing": drawing.json(summary) })
}

/// The graph as an image of its own: its style and names stay in it.
fn graph(svg: &str) -> String {
    let image = BASE64_STANDARD.encode(svg);
    format!(
        "<h2>The system</h2>\n<img alt=\"components, connections and bonds of the system\" \
         src=\"data:image/svg+xml;base64,{image}\">\n"
    )
}

fn script_element(script: &str) -> String {
    format!("<script>{script}</script>\n")
}

/// A source of a content security policy.
fn hash(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    format!("'sha256-{}'", BASE64_STANDARD.encode(hash))
}

/// A template with contents instead of `{{NAME}}`. Contents are not looked at again.
fn filled(template: &str, contents: impl Fn(&str) -> String) -> String {
    let mut parts = template.split("{{");
    let mut page = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once("}}").unwrap_or(("", part));
        page.push_str(&contents(name));
        page.push_str(rest);
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_of_a_template_are_not_looked_at_again() {
        assert_eq!(
            filled("a{{x}}b{{y}}", |name| format!("<{name}{{{{x}}}}>")),
            "a<x{{x}}>b<y{{x}}>"
        );
    }

    /// Each name of the template has contents, and scripts do not end early.
    #[test]
    fn the_assets_fit_into_the_page() {
        let filled = filled(TEMPLATE, |name| format!("[{name}]"));
        for name in [
            "policy", "style", "title", "before", "graph", "remarks", "after", "data", "script",
            "live",
        ] {
            assert!(filled.contains(&format!("[{name}]")), "{name}");
        }
        assert!(!SCRIPT.contains("</script") && !SCRIPT.contains("<!--"));
        assert!(
            !STYLE.contains("</style") && !STYLE.contains("url(") && !STYLE.contains("@import")
        );
    }
}
