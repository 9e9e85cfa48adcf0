//! Charts as SVG: axes with units, a legend beside the curves' field and not on it,
//! and colours that the colour-blind can distinguish. A [`Chart`] is one picture for a talk; a [`Figure`] has panels
//! of curves over one axis; a [`Field`] shows a number over two others.
//!
//! Pictures of results, benchmarks and the demo call it. It takes numbers and names, and reads no file.

mod axis;
mod coupling_error;
mod field;
mod figure;
mod paint;
mod preview;
mod scale;

use std::fmt::Write as _;

use scale::Scale;

pub use coupling_error::{ErrorAt, error_chart};
pub use field::Field;
pub use figure::{Curve, Figure, Panel};

/// Size of a chart, in pixels.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 560.0;
const LEFT: f64 = 104.0;
const RIGHT: f64 = 32.0;
const BOTTOM: f64 = 76.0;
/// Baselines of the title and of the first line of the legend, and the distance of its lines.
const TITLE: f64 = 40.0;
const LEGEND: f64 = 76.0;
const LEGEND_LINE: f64 = 26.0;

/// The palette of Okabe and Ito (2008), the yellow left out, which is faint on white.
const COLOURS: [&str; 6] = [
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00",
];
const REFERENCE_COLOUR: &str = "#222222";

/// A curve of a chart.
#[derive(Debug, Clone)]
pub struct Line {
    label: String,
    points: Vec<(f64, f64)>,
    style: Style,
    /// Place in the palette; `None` takes the first that is free.
    colour: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// A line in a colour of the palette.
    Solid,
    /// Black dashes, above all others.
    Reference,
    /// A line with a mark at each point.
    Marked,
    /// Marks alone.
    Dots,
}

impl Style {
    fn has_marks(self) -> bool {
        matches!(self, Self::Marked | Self::Dots)
    }
}

impl Line {
    /// A curve through points (x, y).
    pub fn new(label: impl Into<String>, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self {
            label: label.into(),
            points: points.into_iter().collect(),
            style: Style::Solid,
            colour: None,
        }
    }

    /// A curve of what should be.
    pub fn reference(
        label: impl Into<String>,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        Self {
            style: Style::Reference,
            ..Self::new(label, points)
        }
    }

    /// In the colour of the third curve, which stands for compensated runs.
    pub fn compensated(label: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self {
            colour: Some(2),
            ..Self::new(label, points)
        }
    }

    /// In the colour of this place in the palette.
    #[must_use]
    pub fn coloured(self, place: usize) -> Self {
        Self {
            colour: Some(place),
            ..self
        }
    }

    /// A mark at each point, for few points.
    #[must_use]
    pub fn marked(self) -> Self {
        Self {
            style: Style::Marked,
            ..self
        }
    }

    /// A mark at each point and no line, for points that do not follow one another.
    #[must_use]
    pub fn dots(self) -> Self {
        Self {
            style: Style::Dots,
            ..self
        }
    }
}

/// A chart, and the name of its file.
#[derive(Debug, Clone)]
pub struct Chart {
    /// Name of the file, without ending.
    pub name: &'static str,
    title: &'static str,
    source: &'static str,
    x: &'static str,
    y: &'static str,
    is_logarithmic: bool,
    has_decades: bool,
    x_range: Option<(f64, f64)>,
    /// Names of x = 0, 1, 2, … instead of numbers.
    categories: Vec<String>,
    lines: Vec<Line>,
}

impl Chart {
    /// An empty chart; `x` and `y` name the axes with their units.
    pub fn new(name: &'static str, title: &'static str, x: &'static str, y: &'static str) -> Self {
        Self {
            name,
            title,
            source: "",
            x,
            y,
            is_logarithmic: false,
            has_decades: false,
            x_range: None,
            categories: Vec::new(),
            lines: Vec::new(),
        }
    }

    /// The figure that the chart is a counterpart of.
    #[must_use]
    pub fn source(mut self, source: &'static str) -> Self {
        self.source = source;
        self
    }

    /// Adds a curve.
    #[must_use]
    pub fn line(mut self, line: Line) -> Self {
        self.lines.push(line);
        self
    }

    /// Powers of ten on the y axis; values that are not positive are left out.
    #[must_use]
    pub fn logarithmic(mut self) -> Self {
        self.is_logarithmic = true;
        self
    }

    /// Powers of ten on the x axis; values that are not positive are left out.
    #[must_use]
    pub fn decades(mut self) -> Self {
        self.has_decades = true;
        self
    }

    /// Shows this part of the x axis only.
    #[must_use]
    pub fn between(mut self, from: f64, to: f64) -> Self {
        self.x_range = Some((from, to));
        self
    }

    /// Names 0, 1, 2, … on the x axis, each with as much room.
    #[must_use]
    pub fn categories(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.categories = names.into_iter().collect();
        self.x_range = Some((-0.5, self.categories.len() as f64 - 0.5));
        self
    }

    /// The chart as an SVG document.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let legend = self.legend();
        let top = LEGEND + LEGEND_LINE * legend.len() as f64 - 6.0;
        let x = self.x_scale();
        let y = self.y_scale(top);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
             height=\"{HEIGHT}\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        );
        text(
            &mut svg,
            (LEFT, TITLE),
            24,
            "font-weight=\"bold\"",
            self.title,
        );
        self.draw_legend(&mut svg, &legend);
        self.draw_axes(&mut svg, &x, &y, top);
        let (width, height) = (WIDTH - LEFT - RIGHT, HEIGHT - BOTTOM - top);
        let _ = writeln!(
            svg,
            "<clipPath id=\"field\"><rect x=\"{LEFT}\" y=\"{top}\" width=\"{width}\" height=\"{height}\"/></clipPath>\n\
             <g clip-path=\"url(#field)\" fill=\"none\" stroke-linejoin=\"round\">"
        );
        for is_reference in [false, true] {
            for (index, line) in self.lines.iter().enumerate() {
                if (line.style == Style::Reference) == is_reference {
                    draw_line(&mut svg, line, self.colour(index), &x, &y);
                }
            }
        }
        svg.push_str("</g>\n</svg>\n");
        svg
    }

    fn visible(&self) -> impl Iterator<Item = (f64, f64)> {
        let (from, to) = self.x_range.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        let points = self.lines.iter().flat_map(|line| &line.points).copied();
        points.filter(move |(x, y)| (from..=to).contains(x) && y.is_finite())
    }

    fn x_scale(&self) -> Scale {
        let range = self
            .x_range
            .unwrap_or_else(|| scale::range(self.visible().map(|(x, _)| x)));
        let pixels = (LEFT, WIDTH - RIGHT);
        if self.has_decades {
            Scale::logarithmic(range, pixels)
        } else {
            Scale::linear(range, pixels)
        }
    }

    fn y_scale(&self, top: f64) -> Scale {
        let pixels = (HEIGHT - BOTTOM, top);
        let values = self.visible().map(|(_, y)| y);
        if self.is_logarithmic {
            return Scale::logarithmic(scale::range(values.filter(|y| *y > 0.0)), pixels);
        }
        let range = scale::with_margin(scale::range(values));
        Scale::linear(range, pixels)
    }

    fn colour(&self, index: usize) -> &'static str {
        if self.lines[index].style == Style::Reference {
            return REFERENCE_COLOUR;
        }
        let before = self.lines[..index]
            .iter()
            .filter(|line| line.style != Style::Reference);
        let place = self.lines[index].colour.unwrap_or_else(|| before.count());
        COLOURS[place % COLOURS.len()]
    }

    /// Indices of lines with the x of their entries, row by row.
    fn legend(&self) -> Vec<Vec<(usize, f64)>> {
        let labels = self.lines.iter().map(|line| line.label.chars().count());
        // No font is wider than this on average.
        let widths = labels.map(|letters| 72.0 + 9.8 * letters as f64);
        legend_rows(widths, (LEFT, WIDTH - RIGHT))
    }

    fn draw_legend(&self, svg: &mut String, legend: &[Vec<(usize, f64)>]) {
        for (row, entries) in legend.iter().enumerate() {
            let y = LEGEND + LEGEND_LINE * row as f64;
            for (index, x) in entries {
                let line = &self.lines[*index];
                let middle = y - 5.5;
                if line.style != Style::Dots {
                    let _ = writeln!(
                        svg,
                        "<line x1=\"{x}\" y1=\"{middle}\" x2=\"{}\" y2=\"{middle}\" stroke=\"{}\" stroke-width=\"3.5\"{}/>",
                        x + 34.0,
                        self.colour(*index),
                        dashes(line.style)
                    );
                }
                if line.style.has_marks() {
                    draw_mark(svg, (x + 17.0, middle), self.colour(*index));
                }
                text(svg, (x + 42.0, y), 17, "", &line.label);
            }
        }
    }

    fn x_ticks(&self, x: &Scale) -> Vec<(f64, String)> {
        if self.categories.is_empty() {
            return x.ticks(10);
        }
        let places = (0..self.categories.len()).map(|place| place as f64);
        places.zip(self.categories.iter().cloned()).collect()
    }

    fn draw_axes(&self, svg: &mut String, x: &Scale, y: &Scale, top: f64) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for (value, label) in y.ticks(7) {
            let at = y.pixel(value);
            let _ = writeln!(
                svg,
                "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{right}\" y2=\"{at:.1}\" stroke=\"#DDDDDD\"/>"
            );
            text(
                svg,
                (LEFT - 10.0, at + 5.5),
                16,
                "text-anchor=\"end\"",
                &label,
            );
        }
        for (value, label) in self.x_ticks(x) {
            let at = x.pixel(value);
            let _ = writeln!(
                svg,
                "<line x1=\"{at:.1}\" y1=\"{bottom}\" x2=\"{at:.1}\" y2=\"{}\" stroke=\"#444444\"/>",
                bottom + 6.0
            );
            text(
                svg,
                (at, bottom + 24.0),
                16,
                "text-anchor=\"middle\"",
                &label,
            );
        }
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {top}V{bottom}H{right}\" fill=\"none\" stroke=\"#444444\"/>"
        );
        text(
            svg,
            ((LEFT + right) / 2.0, bottom + 50.0),
            18,
            "text-anchor=\"middle\"",
            self.x,
        );
        let middle = (top + bottom) / 2.0;
        let turned = format!("text-anchor=\"middle\" transform=\"rotate(-90 26 {middle})\"");
        text(svg, (26.0, middle), 18, &turned, self.y);
        text(
            svg,
            (right, HEIGHT - 8.0),
            12,
            "text-anchor=\"end\" fill=\"#666666\"",
            self.source,
        );
    }
}

/// The entries of a legend, by their indices, with their x in rows that go from the left to the right.
fn legend_rows(
    widths: impl Iterator<Item = f64>,
    (left, right): (f64, f64),
) -> Vec<Vec<(usize, f64)>> {
    let mut rows = vec![Vec::new()];
    let mut x = left;
    for (index, width) in widths.enumerate() {
        if x > left && x + width > right {
            rows.push(Vec::new());
            x = left;
        }
        if let Some(row) = rows.last_mut() {
            row.push((index, x));
        }
        x += width;
    }
    rows
}

fn text(svg: &mut String, (x, y): (f64, f64), size: u32, attributes: &str, text: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" {attributes}>{}</text>",
        paint::escaped(text)
    );
}

fn dashes(style: Style) -> &'static str {
    if style == Style::Reference {
        " stroke-dasharray=\"9 6\""
    } else {
        ""
    }
}

fn draw_line(svg: &mut String, line: &Line, colour: &str, x: &Scale, y: &Scale) {
    let pixels = line
        .points
        .iter()
        .filter(|(at, value)| x.shows(*at) && y.shows(*value));
    let pixels: Vec<(f64, f64)> = pixels
        .map(|(at, value)| (x.pixel(*at), y.pixel(*value)))
        .collect();
    if line.style != Style::Dots {
        draw_curve(svg, line.style, colour, &pixels);
    }
    if line.style.has_marks() {
        for pixel in pixels {
            draw_mark(svg, pixel, colour);
        }
    }
}

fn draw_curve(svg: &mut String, style: Style, colour: &str, pixels: &[(f64, f64)]) {
    let width = if style == Style::Reference { 2.0 } else { 2.4 };
    let _ = write!(
        svg,
        "<polyline stroke=\"{colour}\" stroke-width=\"{width}\"{} points=\"",
        dashes(style)
    );
    for (x, y) in thinned(pixels) {
        let _ = write!(svg, "{x:.1},{y:.1} ");
    }
    svg.push_str("\"/>\n");
}

fn draw_mark(svg: &mut String, (x, y): (f64, f64), colour: &str) {
    let _ = writeln!(
        svg,
        "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"{colour}\"/>"
    );
}

/// The first, lowest, highest and last point of every half pixel: a picture shows no more.
fn thinned(pixels: &[(f64, f64)]) -> Vec<(f64, f64)> {
    thinned_to(pixels, 0.5)
}

/// The first, lowest, highest and last point of stretches of this width.
fn thinned_to(pixels: &[(f64, f64)], width: f64) -> Vec<(f64, f64)> {
    let mut kept = Vec::new();
    for column in pixels.chunk_by(|a, b| (a.0 / width).floor() == (b.0 / width).floor()) {
        let extreme = |is_less: fn(f64, f64) -> bool| {
            let start = (0, column[0].1);
            let best = column
                .iter()
                .enumerate()
                .fold(start, |best, (index, (_, y))| {
                    if is_less(*y, best.1) {
                        (index, *y)
                    } else {
                        best
                    }
                });
            best.0
        };
        let mut indices = [
            0,
            extreme(|a, b| a < b),
            extreme(|a, b| a > b),
            column.len() - 1,
        ];
        indices.sort_unstable();
        let mut last = None;
        for index in indices {
            if last != Some(index) {
                kept.push(column[index]);
            }
            last = Some(index);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_spikes_and_ends() {
        let mut pixels: Vec<(f64, f64)> = (0..10_000).map(|k| (f64::from(k) * 1e-3, 0.0)).collect();
        pixels[5432].1 = 7.0;
        pixels[5433].1 = -7.0;
        let kept = thinned(&pixels);
        assert!(kept.len() < 100);
        assert!(kept.contains(&pixels[5432]) && kept.contains(&pixels[5433]));
        assert_eq!((kept[0], kept[kept.len() - 1]), (pixels[0], pixels[9999]));
    }

    #[test]
    fn legends_wrap_and_texts_are_escaped() {
        let chart = Chart::new("c", "a < b & c", "t, s", "E, J");
        let label = "a rather long label of a curve";
        let chart = (0..5).fold(chart, |chart, _| {
            chart.line(Line::new(label, [(0.0, 1.0), (1.0, 2.0)]))
        });
        assert!(chart.legend().len() > 1);
        assert!(
            chart
                .legend()
                .concat()
                .iter()
                .all(|(_, x)| *x < WIDTH / 2.0 + LEFT)
        );
        let svg = chart.to_svg();
        assert!(svg.contains("a &lt; b &amp; c") && svg.ends_with("</svg>\n"));
    }

    #[test]
    fn categories_name_the_axis_and_dots_have_no_line() {
        let chart = Chart::new("c", "", "", "").categories(["p0", "p1"].map(String::from));
        let svg = chart.line(Line::new("l", [(0.0, 1.0), (1.0, 2.0)]).dots());
        let svg = svg.to_svg();
        assert!(svg.contains(">p0</text>") && svg.contains(">p1</text>"));
        // Two points and the legend's.
        assert_eq!(svg.matches("<circle").count(), 3);
        assert!(!svg.contains("<polyline"));
    }

    #[test]
    fn nothing_to_show_is_no_panic() {
        for chart in [
            Chart::new("c", "", "", ""),
            Chart::new("c", "", "", "").logarithmic(),
        ] {
            assert!(chart.clone().to_svg().contains("</svg>"));
            assert!(
                chart
                    .line(Line::new("", [(0.0, f64::NAN)]))
                    .to_svg()
                    .contains("</svg>")
            );
        }
    }
}
