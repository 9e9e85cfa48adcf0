//! A scene as SVG.

use std::fmt::Write as _;

use crate::graph::scene::{Line, Scene, Style};
use crate::graph::text::escaped;

/// Colours for light, in the dark on screens, and on paper as for light.
const STYLE: &str = "\
.gyrator-graph{--ground:#fff;--ink:#1f2328;--faint:#57606a;--panel:#f6f8fa;--edge:#8c959f;--power:#b54708}
@media screen and (prefers-color-scheme:dark){.gyrator-graph{--ground:#0d1117;--ink:#e6edf3;--faint:#9da7b3;--panel:#161b22;--edge:#6e7681;--power:#f0883e}}
.gyrator-graph .ground{fill:var(--ground)}
.gyrator-graph .box{fill:var(--panel);stroke:var(--edge);stroke-width:1.2}
.gyrator-graph text{font-family:'DejaVu Sans Mono',Menlo,Consolas,'Liberation Mono',monospace;font-size:12px;fill:var(--ink);dominant-baseline:central;white-space:pre}
.gyrator-graph .heading{font-size:14px;font-weight:bold}
.gyrator-graph .fact{font-size:11px;fill:var(--faint)}
.gyrator-graph .power{font-weight:bold;fill:var(--power)}
.gyrator-graph path{fill:none;stroke:var(--faint);stroke-width:1.3}
.gyrator-graph .tip{fill:var(--faint);stroke:none}
.gyrator-graph .bond{stroke:var(--power);stroke-width:2.6}
";

/// Length of the tip of an arrow, and half its width, in pixels.
const TIP: (f64, f64) = (9.0, 3.6);

/// Length and height of a half-arrow, and half the length of the causal stroke.
const HALF_ARROW: (f64, f64) = (14.0, 8.0);
const STROKE: f64 = 9.0;

/// Space between the end of a bond and the box, for its stroke.
const CLEARANCE: f64 = 4.0;

/// Writes the picture.
pub(crate) fn write(scene: &Scene) -> String {
    let (width, height) = (scene.width.ceil(), scene.height.ceil());
    let title = escaped(&scene.title);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"gyrator-graph\" role=\"img\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n<rect class=\"ground\" width=\"{width}\" height=\"{height}\"/>\n"
    );
    for rect in &scene.boxes {
        let _ = writeln!(
            svg,
            "<rect class=\"box\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"4\"/>",
            rect.x, rect.y, rect.width, rect.height
        );
    }
    for line in scene.lines.iter().chain(&scene.legend) {
        draw(line, &mut svg);
    }
    for label in &scene.labels {
        let class = match label.style {
            Style::Heading => "heading",
            Style::Name => "name",
            Style::Bond => "power",
            Style::Fact => "fact",
        };
        let rect = label.rect;
        let _ = writeln!(
            svg,
            "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            rect.x,
            rect.y + rect.height / 2.0,
            escaped(&label.text)
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// Straight parts with curves between them, and what is at its end: a tip, or half-arrow and causal stroke.
///
/// The notation of bonds follows Thoma, *Introduction to Bond Graphs and their Applications*, Pergamon Press, 1975,
/// appendix. It has "effort on top, flow below", "half-arrow for positive direction of energy flux", and "effort acts
/// on the side of the stroke; flow acts backwards". The manual of 20-sim (Modeling Tutorial, Bond Graphs, Bonds) has
/// the same: the harpoon in the direction of positive power, the stroke in the direction of the effort. In a system
/// file the effort goes from a to b, and power is positive from a to b: both are at end b, and the half-arrow is below
/// the line.
fn draw(line: &Line, svg: &mut String) {
    let (Some(first), Some(last)) = (line.parts.first(), line.parts.last()) else {
        return;
    };
    // The line ends before it would be under what is drawn there.
    let short = if line.is_bond { CLEARANCE } else { TIP.0 - 1.0 };
    let (begin, end) = match line.is_forward {
        true => (first.0, last.1 - short),
        false => (first.0 + short, last.1),
    };
    let class = if line.is_bond { " class=\"bond\"" } else { "" };
    let _ = write!(
        svg,
        "<g><title>{}</title><path{class} d=\"M{begin:.1} {:.1}",
        escaped(&line.title),
        first.2
    );
    let mut from = (begin, first.2);
    for (index, (left, right, height)) in line.parts.iter().enumerate() {
        if index > 0 {
            let _ = write!(svg, "H{:.1}", from.0);
            let middle = (from.0 + left) / 2.0;
            let _ = write!(
                svg,
                "C{middle:.1} {:.1} {middle:.1} {height:.1} {left:.1} {height:.1}",
                from.1
            );
        }
        from = (*right, *height);
    }
    let _ = write!(svg, "H{end:.1}\"/>");
    // The tip, and the direction to its back.
    let (tip, height, back) = match line.is_forward {
        true => (last.1, last.2, -1.0),
        false => (first.0, first.2, 1.0),
    };
    if line.is_bond {
        let tip = tip + back * CLEARANCE;
        let _ = write!(
            svg,
            "<path class=\"bond\" d=\"M{tip:.1} {height:.1}L{:.1} {:.1}M{tip:.1} {:.1}V{:.1}\"/>",
            tip + back * HALF_ARROW.0,
            height + HALF_ARROW.1,
            height - STROKE,
            height + STROKE
        );
    } else {
        let back = tip + back * TIP.0;
        let _ = write!(
            svg,
            "<path class=\"tip\" d=\"M{tip:.1} {height:.1}L{back:.1} {:.1}V{:.1}Z\"/>",
            height - TIP.1,
            height + TIP.1
        );
    }
    svg.push_str("</g>\n");
}
