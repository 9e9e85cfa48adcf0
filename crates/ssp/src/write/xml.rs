//! Text in XML.

use std::fmt::Write as _;

/// An XML document in the making, indented by two spaces.
pub struct Xml {
    text: String,
    open: Vec<String>,
}

impl Default for Xml {
    fn default() -> Self {
        Self {
            text: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned(),
            open: Vec::new(),
        }
    }
}

impl Xml {
    /// A document without elements.
    pub fn new() -> Self {
        Self::default()
    }

    /// Begins an element.
    pub fn open(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.tag(name, attributes, ">\n");
        self.open.push(name.to_owned());
    }

    /// Ends the element that was begun last.
    pub fn close(&mut self) {
        if let Some(name) = self.open.pop() {
            let indent = "  ".repeat(self.open.len());
            // Writing to a string does not fail.
            let _ = writeln!(self.text, "{indent}</{name}>");
        }
    }

    /// An element without content.
    pub fn leaf(&mut self, name: &str, attributes: &[(&str, &str)]) {
        self.tag(name, attributes, "/>\n");
    }

    /// Text that is kept as it is. It must not contain `]]>`.
    pub fn verbatim(&mut self, text: &str) {
        let _ = writeln!(self.text, "<![CDATA[\n{text}]]>");
    }

    fn tag(&mut self, name: &str, attributes: &[(&str, &str)], end: &str) {
        let indent = "  ".repeat(self.open.len());
        let _ = write!(self.text, "{indent}<{name}");
        for (name, value) in attributes {
            let _ = write!(self.text, " {name}=\"{}\"", escaped(value));
        }
        self.text.push_str(end);
    }

    /// Its text; elements that are open end.
    pub fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        self.text
    }
}

/// The value of an attribute; line breaks and tabs would become spaces if they stood as they are.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => {
                let _ = write!(escaped, "&#{};", u32::from(letter));
            }
            other => escaped.push(other),
        }
    }
    escaped
}

/// Whether XML 1.0 can hold a text at all (section 2.2).
pub fn can_hold(text: &str) -> bool {
    let is_held = |letter: char| {
        matches!(letter, '\t' | '\n' | '\r')
            || letter >= ' ' && !('\u{fffe}'..='\u{ffff}').contains(&letter)
    };
    text.chars().all(is_held)
}

/// A number as XML Schema writes it: the fewest digits that read back as the same double.
pub fn number(number: f64) -> String {
    if number.is_nan() {
        "NaN".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { "INF" } else { "-INF" }.to_owned()
    } else {
        format!("{number:?}")
    }
}
