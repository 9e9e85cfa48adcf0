//! The parts of an SVG picture that follows light and dark, prints, and is readable without colour.

use std::fmt::Write as _;

/// The palette of Okabe and Ito (2008) without its yellow, the purple darker; on dark paper lighter.
const LIGHT: [&str; COLOURS] = [
    "#0072B2", "#D55E00", "#009E73", "#AA4499", "#56B4E9", "#E69F00", "#222222",
];
const DARK: [&str; COLOURS] = [
    "#56B4E9", "#FF8A4C", "#2FCB9A", "#E495C4", "#0A8FDD", "#F5C24C", "#E8E8E8",
];
/// Number of colours.
pub(crate) const COLOURS: usize = 7;
/// Dashes of curves, by which they differ without colour.
const DASHES: [&str; 6] = ["", "8 3", "2 3", "10 3 2 3", "14 3 2 3 2 3", "4 2"];

/// An SVG document that grows.
pub(crate) struct Picture {
    svg: String,
}

impl Picture {
    /// A sheet of paper.
    pub(crate) fn new((width, height): (f64, f64), title: &str) -> Self {
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"gyrator-figure\" viewBox=\"0 0 {width} {height}\" \
             width=\"{width}\" height=\"{height}\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" role=\"img\">\n\
             <title>{}</title>\n<style>\n{}\
             @media screen and (prefers-color-scheme: dark) {{\n{}}}\n</style>\n",
            escaped(title),
            style(["#FFFFFF", "#222222", "#555555", "#E2E2E2"], LIGHT),
            style(["#14171A", "#E8E8E8", "#A8A8A8", "#34393E"], DARK),
        );
        svg.push_str("<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
        Self { svg }
    }

    /// A line of text; `attributes` place and turn it.
    pub(crate) fn text(&mut self, (x, y): (f64, f64), size: u32, attributes: &str, text: &str) {
        let text = escaped(text);
        let _ = writeln!(
            self.svg,
            "<text class=\"ink\" x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" {attributes}>{text}</text>"
        );
    }

    /// A path of a class.
    pub(crate) fn path(&mut self, class: &str, attributes: &str, path: &str) {
        if !path.is_empty() {
            let _ = writeln!(
                self.svg,
                "<path class=\"{class}\" {attributes} d=\"{path}\"/>"
            );
        }
    }

    /// Anything else.
    pub(crate) fn raw(&mut self, svg: &str) {
        self.svg.push_str(svg);
    }

    pub(crate) fn finish(mut self) -> String {
        self.svg.push_str("</svg>\n");
        self.svg
    }
}

fn style([paper, ink, muted, grid]: [&str; 4], colours: [&str; COLOURS]) -> String {
    let mut css = format!(
        ".gyrator-figure .paper {{ fill: {paper}; }}\n\
         .gyrator-figure .ink {{ fill: {ink}; }}\n\
         .gyrator-figure .muted {{ fill: {muted}; }}\n\
         .gyrator-figure .grid {{ stroke: {grid}; fill: none; }}\n\
         .gyrator-figure .axis {{ stroke: {muted}; fill: none; }}\n\
         .gyrator-figure .line {{ stroke: {ink}; fill: none; }}\n"
    );
    for (index, colour) in colours.iter().enumerate() {
        let _ = writeln!(
            css,
            ".gyrator-figure .s{index} {{ stroke: {colour}; fill: none; }} .gyrator-figure .f{index} {{ fill: {colour}; }}"
        );
    }
    css
}

/// The class of the strokes of a curve, and its dashes.
pub(crate) fn stroke(index: usize) -> (String, String) {
    let dashes = match DASHES[index % DASHES.len()] {
        "" => String::new(),
        dashes => format!(" stroke-dasharray=\"{dashes}\""),
    };
    (format!("s{}", index % COLOURS), dashes)
}

/// The class of areas and marks of a curve.
pub(crate) fn fill(index: usize) -> String {
    format!("f{}", index % COLOURS)
}

pub(crate) fn escaped(text: &str) -> String {
    let allowed = |c: char| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}');
    let text: String = text.chars().filter(|c| allowed(*c)).collect();
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
