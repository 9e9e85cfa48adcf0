//! Panels of curves over one shared axis.

use std::fmt::Write as _;

use crate::chart::axis::Axis;
use crate::chart::paint::{Picture, fill, stroke};
use crate::chart::{legend_rows, thinned_to};

/// Sizes, in pixels.
const WIDTH: f64 = 960.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 22.0;
const FOOT: f64 = 52.0;
const GAP: f64 = 14.0;
const LEGEND_LINE: f64 = 19.0;
/// Most characters of a label in a legend.
const LONGEST_LABEL: usize = 60;

/// Panels one below the other, over one axis.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figure {
    /// The first line.
    pub title: String,
    /// The shared axis, with its unit.
    pub x: String,
    /// From top to bottom.
    pub panels: Vec<Panel>,
    /// Whether the shared axis has powers of ten.
    pub has_decades: bool,
    /// Lines below the panels.
    pub notes: Vec<String>,
}

/// Curves with one axis.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Panel {
    /// The axis, usually a unit; may be empty.
    pub y: String,
    /// The curves.
    pub curves: Vec<Curve>,
    /// Places without a value on the shared axis, marked at the foot, and their name in the legend.
    pub missing: (Vec<f64>, String),
    /// Whether the axis has powers of ten; values that are not positive are left out.
    pub has_decades: bool,
}

/// A curve.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Curve {
    /// Its name in the legend.
    pub label: String,
    /// Points in their order; a value that is not finite is a gap.
    pub points: Vec<(f64, f64)>,
    /// A tube around it: x, least, greatest; NaN is a gap.
    pub band: Vec<(f64, f64, f64)>,
    /// Values hold until the next point.
    pub is_stepped: bool,
    /// A mark at each point.
    pub is_marked: bool,
    /// Marks alone, for points that do not follow one another.
    pub is_scattered: bool,
}

/// Where a panel lies.
struct Place {
    /// Baseline of the first line of the legend.
    legend: f64,
    top: f64,
    bottom: f64,
}

impl Figure {
    /// The figure as an SVG document. It is light or dark as its reader asks for, light in print, and curves also
    /// differ in their dashes.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let height = match self.panels.len() {
            0 | 1 => 380.0,
            2 => 240.0,
            3 => 185.0,
            _ => 150.0,
        };
        let mut y = if self.title.is_empty() { 8.0 } else { 40.0 };
        let mut places = Vec::new();
        for panel in &self.panels {
            let rows = panel.legend().len() as f64;
            let top = y + LEGEND_LINE * rows + 7.0;
            places.push(Place {
                legend: y + 13.0,
                top,
                bottom: top + height,
            });
            y = top + height + GAP;
        }
        let notes = self.notes.len() as f64 * 17.0;
        let mut picture = Picture::new((WIDTH, y - GAP + FOOT + notes), &self.title);
        picture.text(
            (12.0, 27.0),
            17,
            "font-weight=\"bold\"",
            &cut(&self.title, 100),
        );
        let x = self.x_axis();
        for (index, (panel, place)) in self.panels.iter().zip(&places).enumerate() {
            panel.draw(&mut picture, &x, place, index);
        }
        let bottom = places.last().map_or(y, |place| place.bottom);
        self.draw_foot(&mut picture, &x, bottom);
        picture.finish()
    }

    fn x_axis(&self) -> Axis {
        let curves = self.panels.iter().flat_map(|panel| &panel.curves);
        let points = curves.flat_map(|curve| curve.points.iter().map(|(x, _)| *x));
        let missing = self.panels.iter().flat_map(|panel| &panel.missing.0);
        let values = points.chain(missing.copied());
        let pixels = (LEFT, WIDTH - RIGHT);
        match self.has_decades {
            true => Axis::between_decades(values, pixels),
            false => {
                let mut curves = self.panels.iter().flat_map(|panel| &panel.curves);
                let has_marks = curves.any(|curve| curve.is_marked || curve.is_scattered);
                Axis::linear(values, pixels, 10, has_marks)
            }
        }
    }

    fn draw_foot(&self, picture: &mut Picture, x: &Axis, bottom: f64) {
        for (value, label) in &x.ticks {
            let at = (x.pixel(*value), bottom + 19.0);
            picture.text(at, 13, "text-anchor=\"middle\"", label);
        }
        let middle = ((LEFT + WIDTH - RIGHT) / 2.0, bottom + 40.0);
        picture.text(middle, 14, "text-anchor=\"middle\"", &self.x);
        let end = (WIDTH - RIGHT, bottom + 40.0);
        picture.text(end, 12, "text-anchor=\"end\"", &x.note);
        for (index, note) in self.notes.iter().enumerate() {
            let y = bottom + FOOT + 8.0 + 17.0 * index as f64;
            picture.text((12.0, y), 12, "", &cut(note, 140));
        }
    }
}

impl Panel {
    /// Indices of curves with the x of their entries, row by row; the index after the last stands for what is missing.
    fn legend(&self) -> Vec<Vec<(usize, f64)>> {
        let labels = self.curves.iter().map(|curve| &curve.label);
        let missing = (!self.missing.0.is_empty()).then_some(&self.missing.1);
        let letters = labels.chain(missing).map(|label| label.chars().count());
        // No font is wider than this on average.
        let widths = letters.map(|letters| 56.0 + 7.4 * letters.min(LONGEST_LABEL) as f64);
        legend_rows(widths, (LEFT, WIDTH - RIGHT))
    }

    fn draw_legend(&self, picture: &mut Picture, baseline: f64) {
        for (row, entries) in self.legend().iter().enumerate() {
            let y = baseline + LEGEND_LINE * row as f64;
            for (index, x) in entries {
                let middle = y - 4.5;
                let Some(curve) = self.curves.get(*index) else {
                    cross(picture, (x + 15.0, middle));
                    picture.text((x + 38.0, y), 13, "", &cut(&self.missing.1, LONGEST_LABEL));
                    continue;
                };
                if !curve.band.is_empty() {
                    let area = format!("M{x:.1},{:.1}h30v10h-30z", middle - 5.0);
                    picture.path(&fill(*index), "fill-opacity=\"0.22\"", &area);
                }
                let (class, dashes) = stroke(*index);
                let line = format!("M{x:.1},{middle:.1}h30");
                if !curve.is_scattered {
                    picture.path(&class, &format!("stroke-width=\"2.4\"{dashes}"), &line);
                }
                if curve.is_marked || curve.is_scattered {
                    mark(picture, *index, (x + 15.0, middle));
                }
                picture.text((x + 38.0, y), 13, "", &cut(&curve.label, LONGEST_LABEL));
            }
        }
    }

    fn draw(&self, picture: &mut Picture, x: &Axis, place: &Place, index: usize) {
        let (top, bottom) = (place.top, place.bottom);
        let values = self.curves.iter().flat_map(|curve| {
            let band = curve
                .band
                .iter()
                .flat_map(|(_, least, greatest)| [*least, *greatest]);
            curve.points.iter().map(|(_, y)| *y).chain(band)
        });
        let count = ((bottom - top) / 30.0) as usize;
        let y = match self.has_decades {
            true => Axis::between_decades(values, (bottom - 8.0, top + 8.0)),
            false => Axis::linear(values, (bottom, top), count, true),
        };
        self.draw_legend(picture, place.legend);
        let mut grid = String::new();
        for (value, label) in &y.ticks {
            let at = y.pixel(*value);
            let _ = write!(grid, "M{LEFT},{at:.1}H{}", WIDTH - RIGHT);
            picture.text((LEFT - 8.0, at + 4.5), 13, "text-anchor=\"end\"", label);
        }
        for (value, _) in &x.ticks {
            let _ = write!(grid, "M{:.1},{top:.1}V{bottom:.1}", x.pixel(*value));
        }
        picture.path("grid", "", &grid);
        let axes = format!("M{LEFT},{top:.1}V{bottom:.1}H{}", WIDTH - RIGHT);
        picture.path("axis", "", &axes);
        picture.text((6.0, place.legend), 12, "", &y.note);
        let middle = (top + bottom) / 2.0;
        let turned = format!("text-anchor=\"middle\" transform=\"rotate(-90 17 {middle:.1})\"");
        picture.text((17.0, middle), 14, &turned, &cut(&self.y, 28));
        picture.raw(&format!(
            "<clipPath id=\"gyrator-field-{index}\"><rect x=\"{LEFT}\" y=\"{top:.1}\" width=\"{}\" height=\"{:.1}\"/></clipPath>\n\
             <g clip-path=\"url(#gyrator-field-{index})\" stroke-linejoin=\"round\">\n",
            WIDTH - LEFT - RIGHT,
            bottom - top
        ));
        for (index, curve) in self.curves.iter().enumerate() {
            curve.draw_band(picture, index, x, &y);
        }
        for (index, curve) in self.curves.iter().enumerate() {
            curve.draw(picture, index, x, &y);
        }
        for place in &self.missing.0 {
            cross(picture, (x.pixel(*place), bottom - 9.0));
        }
        picture.raw("</g>\n");
    }
}

impl Curve {
    /// Pieces without gaps, in pixels.
    fn pieces(&self, x: &Axis, y: &Axis) -> Vec<Vec<(f64, f64)>> {
        let is_there = |(at, value): &(f64, f64)| x.shows(*at) && y.shows(*value);
        let pieces = self.points.split(|point| !is_there(point));
        let pieces = pieces.filter(|piece| !piece.is_empty());
        let pixels = pieces.map(|piece| {
            let mut pixels: Vec<(f64, f64)> = Vec::with_capacity(piece.len());
            for (at, value) in piece {
                let pixel = (x.pixel(*at), y.pixel(*value));
                match pixels.last() {
                    Some((_, before)) if self.is_stepped => pixels.push((pixel.0, *before)),
                    _ => {}
                }
                pixels.push(pixel);
            }
            pixels
        });
        pixels.collect()
    }

    fn draw(&self, picture: &mut Picture, index: usize, x: &Axis, y: &Axis) {
        let pieces = self.pieces(x, y);
        let mut path = String::new();
        for piece in &pieces {
            let mut letter = 'M';
            for (x, y) in thinned_to(piece, 1.0) {
                let _ = write!(path, "{letter}{x:.1},{y:.1}");
                letter = 'L';
            }
            if piece.len() == 1 {
                // A round cap makes a dot of it.
                path.push_str("h0.01");
            }
        }
        let (class, dashes) = stroke(index);
        let attributes = format!("stroke-width=\"1.8\" stroke-linecap=\"round\"{dashes}");
        if !self.is_scattered {
            picture.path(&class, &attributes, &path);
        }
        let is_marked = self.is_marked || self.is_scattered;
        for pixel in pieces.iter().flatten().filter(|_| is_marked) {
            mark(picture, index, *pixel);
        }
    }

    fn draw_band(&self, picture: &mut Picture, index: usize, x: &Axis, y: &Axis) {
        let is_gap = |(at, least, greatest): &(f64, f64, f64)| {
            !(at.is_finite() && least.is_finite() && greatest.is_finite())
        };
        let (mut area, mut edges) = (String::new(), String::new());
        for piece in self.band.split(is_gap).filter(|piece| !piece.is_empty()) {
            let upper = piece
                .iter()
                .map(|(at, _, greatest)| (x.pixel(*at), y.pixel(*greatest)));
            let lower = piece
                .iter()
                .map(|(at, least, _)| (x.pixel(*at), y.pixel(*least)));
            // Pixels grow downwards.
            let (upper, lower) = (edge(upper, f64::min), edge(lower, f64::max));
            let mut letter = 'M';
            for (x, y) in upper.iter().chain(lower.iter().rev()) {
                let _ = write!(area, "{letter}{x:.1},{y:.1}");
                letter = 'L';
            }
            area.push('z');
            for edge in [upper, lower] {
                let mut letter = 'M';
                for (x, y) in edge {
                    let _ = write!(edges, "{letter}{x:.1},{y:.1}");
                    letter = 'L';
                }
            }
        }
        picture.path(&fill(index), "fill-opacity=\"0.22\"", &area);
        let (class, _) = stroke(index);
        let attributes = "stroke-width=\"0.7\" stroke-opacity=\"0.7\"";
        picture.path(&class, attributes, &edges);
    }
}

/// The outermost point of every pixel.
fn edge(pixels: impl Iterator<Item = (f64, f64)>, outer: fn(f64, f64) -> f64) -> Vec<(f64, f64)> {
    let mut edge: Vec<(f64, f64)> = Vec::new();
    for (x, y) in pixels {
        match edge.last_mut() {
            Some(last) if last.0.floor() == x.floor() => last.1 = outer(last.1, y),
            _ => edge.push((x, y)),
        }
    }
    edge
}

/// Marks also differ by their shape.
fn mark(picture: &mut Picture, index: usize, (x, y): (f64, f64)) {
    let shape = match index % 4 {
        0 => format!("M{x:.1},{y:.1}m-4.5,0a4.5,4.5 0 1 0 9,0a4.5,4.5 0 1 0 -9,0z"),
        1 => format!("M{x:.1},{y:.1}m-4,-4h8v8h-8z"),
        2 => format!("M{x:.1},{y:.1}m0,-5.5l5,9h-10z"),
        _ => format!("M{x:.1},{y:.1}m0,-5.5l5.5,5.5l-5.5,5.5l-5.5,-5.5z"),
    };
    picture.path(&fill(index), "", &shape);
}

/// A mark of what is missing.
pub(crate) fn cross(picture: &mut Picture, (x, y): (f64, f64)) {
    let shape = format!("M{x:.1},{y:.1}m-4.5,-4.5l9,9m0,-9l-9,9");
    picture.path("line", "stroke-width=\"2\"", &shape);
}

/// A text of at most so many characters.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    // The ends of names differ more often than their middles.
    let head: String = text.chars().take(most / 2).collect();
    let tail: String = text.chars().skip(length - (most - most / 2 - 1)).collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(label: &str, points: &[(f64, f64)]) -> Curve {
        Curve {
            label: label.to_owned(),
            points: points.to_vec(),
            ..Curve::default()
        }
    }

    fn figure(curves: Vec<Curve>) -> Figure {
        Figure {
            title: "a < b & c".to_owned(),
            x: "time, s".to_owned(),
            panels: vec![Panel {
                y: "m".to_owned(),
                curves,
                ..Panel::default()
            }],
            ..Figure::default()
        }
    }

    fn path_of(svg: &str, class: &str) -> String {
        let start = format!("<path class=\"{class}\" stroke-width=\"1.8\"");
        let line = svg.lines().find(|line| line.starts_with(&start));
        line.and_then(|line| line.split(" d=\"").nth(1))
            .unwrap_or_default()
            .to_owned()
    }

    #[test]
    fn gaps_break_a_curve_and_single_points_are_dots() {
        let points = [
            (0.0, 1.0),
            (1.0, 2.0),
            (2.0, f64::NAN),
            (3.0, 1.0),
            (4.0, f64::INFINITY),
            (5.0, 2.0),
            (6.0, 1.0),
        ];
        let svg = figure(vec![curve("x", &points)]).to_svg();
        let path = path_of(&svg, "s0");
        assert_eq!(
            (path.matches('M').count(), path.matches("h0.01").count()),
            (3, 1)
        );
        assert!(svg.contains("a &lt; b &amp; c") && svg.ends_with("</svg>\n"));
    }

    #[test]
    fn curves_differ_without_colour() {
        let curves: Vec<Curve> = (0..6)
            .map(|k| curve("x", &[(0.0, f64::from(k)), (1.0, 2.0)]))
            .collect();
        let svg = figure(curves).to_svg();
        let mut dashes: Vec<String> = (0..6).map(|index| stroke(index).1).collect();
        assert!(dashes.iter().all(|dashes| svg.contains(dashes.as_str())));
        dashes.sort();
        dashes.dedup();
        assert_eq!(dashes.len(), 6);
    }

    #[test]
    fn steps_hold_and_equal_times_jump() {
        let mut held = curve("n", &[(0.0, 0.0), (1.0, 1.0), (1.0, 3.0)]);
        held.is_stepped = true;
        let svg = figure(vec![held]).to_svg();
        // Two ends, one corner, and the jump; equal pixels are drawn once or twice.
        assert!(path_of(&svg, "s0").matches('L').count() >= 2);
    }

    #[test]
    fn nothing_to_show_is_no_panic() {
        for curves in [
            vec![],
            vec![curve("", &[])],
            vec![curve("x", &[(0.0, f64::NAN)])],
            vec![curve("x", &[(f64::NAN, 0.0), (f64::INFINITY, 1.0)])],
            vec![curve("x", &[(0.0, f64::MAX), (1.0, f64::MIN)])],
            vec![Curve {
                band: vec![(0.0, f64::NAN, 1.0), (0.5, 0.0, 1.0)],
                ..curve("x", &[(0.0, 1.0)])
            }],
        ] {
            let svg = figure(curves).to_svg();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
        assert!(Figure::default().to_svg().ends_with("</svg>\n"));
    }

    #[test]
    fn long_labels_keep_their_ends() {
        assert_eq!(cut("component.variable", 9), "comp…able");
        assert_eq!(cut("é", 1), "é");
    }
}
