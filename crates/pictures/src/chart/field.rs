//! A number over two others: coloured cells with contours.

use std::fmt::Write as _;

use crate::chart::axis::{Axis, LARGEST, short};
use crate::chart::figure::{cross, cut};
use crate::chart::paint::{Picture, escaped};
use crate::chart::preview::short_label;
use crate::chart::scale;

/// Sizes, in pixels.
const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 560.0;
const LEFT: f64 = 96.0;
const RIGHT: f64 = 150.0;
const TOP: f64 = 62.0;
const BOTTOM: f64 = 64.0;

/// Colours of increasing lightness (viridis of matplotlib, by Smith and van der Walt, 2015), so that greys say the same.
const COLOURS: [(f64, f64, f64); 9] = [
    (68.0, 1.0, 84.0),
    (71.0, 44.0, 122.0),
    (59.0, 81.0, 139.0),
    (44.0, 113.0, 142.0),
    (33.0, 144.0, 141.0),
    (39.0, 173.0, 129.0),
    (92.0, 200.0, 99.0),
    (170.0, 220.0, 50.0),
    (253.0, 231.0, 37.0),
];

/// A grid of values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Field {
    /// The first line.
    pub title: String,
    /// The axes, with their units.
    pub x: String,
    /// The axis to the left.
    pub y: String,
    /// The number that is shown.
    pub value: String,
    /// Places of the columns, increasing.
    pub xs: Vec<f64>,
    /// Places of the rows, increasing.
    pub ys: Vec<f64>,
    /// `cells[row][column]`; NaN if a cell has no value.
    pub cells: Vec<Vec<f64>>,
    /// Places with their values instead of a grid, if there is none: x, y, value.
    pub dots: Vec<(f64, f64, f64)>,
    /// Places that are marked with a cross, and the meaning of it.
    pub missing: (Vec<(f64, f64)>, String),
    /// Whether the axes have powers of ten.
    pub has_decades: (bool, bool),
    /// Whether colours and contours follow the logarithm of the value; values that are not positive are left out.
    pub is_logarithmic: bool,
}

impl Field {
    /// The field as an SVG document.
    #[must_use]
    pub fn to_svg(&self) -> String {
        let mut picture = Picture::new((WIDTH, HEIGHT), &self.title);
        picture.text(
            (12.0, 27.0),
            17,
            "font-weight=\"bold\"",
            &cut(&self.title, 90),
        );
        picture.text((LEFT, 50.0), 13, "", &cut(&self.value, 80));
        let x_borders = borders(&self.xs, self.has_decades.0);
        let y_borders = borders(&self.ys, self.has_decades.1);
        let beside = |place: fn((f64, f64)) -> f64| {
            let dots = self.dots.iter().map(|(x, y, _)| (*x, *y));
            let missing = self.missing.0.iter().filter(|_| !self.dots.is_empty());
            dots.chain(missing.copied()).map(place)
        };
        let xs = x_borders.iter().copied().chain(beside(|place| place.0));
        let ys = y_borders.iter().copied().chain(beside(|place| place.1));
        let has_room = !self.dots.is_empty();
        let x = axis(xs, (LEFT, WIDTH - RIGHT), self.has_decades.0, has_room);
        let y = axis(ys, (HEIGHT - BOTTOM, TOP), self.has_decades.1, has_room);
        let dots = self.dots.iter().map(|(_, _, value)| *value);
        let values = self.cells.iter().flatten().copied().chain(dots);
        let values = values.map(|value| self.scaled(value));
        let values = values.filter(|value| value.is_finite());
        let range = scale::range(values.map(|value| value.clamp(-LARGEST, LARGEST)));
        self.draw_cells(&mut picture, (&x, &y), (&x_borders, &y_borders), range);
        let levels = self.levels(range);
        for (level, label) in &levels {
            self.draw_contour(&mut picture, (&x, &y), *level, label);
        }
        for (at, value, shown) in &self.dots {
            let colour = colour(self.scaled(*shown), range);
            let (cx, cy) = (x.pixel(*at), y.pixel(*value));
            picture.raw(&format!(
                "<circle class=\"axis\" cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"6\" style=\"fill:{colour}\"><title>{}</title></circle>\n",
                escaped(&short(*shown))
            ));
        }
        for (at, value) in &self.missing.0 {
            cross(&mut picture, (x.pixel(*at), y.pixel(*value)));
        }
        self.draw_axes(&mut picture, &x, &y);
        self.draw_scale(&mut picture, range, &levels);
        if !self.missing.0.is_empty() {
            cross(&mut picture, (WIDTH - RIGHT - 150.0, 45.0));
            let place = (WIDTH - RIGHT - 138.0, 50.0);
            picture.text(place, 13, "", &cut(&self.missing.1, 30));
        }
        picture.finish()
    }

    /// The field in characters that get darker with the value; × is what is missing.
    #[must_use]
    pub fn to_text(&self, columns: usize) -> String {
        const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];
        let values = self.cells.iter().flatten().copied();
        let (from, to) = scale::range(values.filter(|value| value.is_finite()));
        let (least, greatest) = (self.scaled(from), self.scaled(to));
        let width = (columns.saturating_sub(12) / self.xs.len().max(1)).clamp(1, 8);
        let mut text = format!(
            "{}, {} to {}\n",
            self.value,
            short_label(from),
            short_label(to)
        );
        for (row, y) in self.cells.iter().zip(&self.ys).rev() {
            let _ = write!(text, "{:>10} ┤", short_label(*y));
            for value in row {
                let value = self.scaled(*value);
                let part = (value / 2.0 - least / 2.0) / (greatest / 2.0 - least / 2.0);
                let shade = match value.is_finite() {
                    true => SHADES[(part * 4.0).round().clamp(0.0, 4.0) as usize],
                    false => '×',
                };
                text.extend(std::iter::repeat_n(shade, width));
            }
            text.push('\n');
        }
        if let (Some(from), Some(to)) = (self.xs.first(), self.xs.last()) {
            let (from, to) = (short_label(*from), short_label(*to));
            let room = (width * self.xs.len()).saturating_sub(from.len());
            let _ = writeln!(text, "{:12}{from}{to:>room$}", "");
        }
        let _ = writeln!(text, "{:12}{} (up: {})", "", self.x, self.y);
        text
    }

    fn draw_cells(
        &self,
        picture: &mut Picture,
        (x, y): (&Axis, &Axis),
        (x_borders, y_borders): (&[f64], &[f64]),
        range: (f64, f64),
    ) {
        let mut cells = String::new();
        for (row, sides) in self.cells.iter().zip(y_borders.windows(2)) {
            for (value, between) in row.iter().zip(x_borders.windows(2)) {
                if !self.scaled(*value).is_finite() {
                    continue;
                }
                let (left, right) = (x.pixel(between[0]), x.pixel(between[1]));
                let (bottom, top) = (y.pixel(sides[0]), y.pixel(sides[1]));
                // A cell has no seams to its neighbours.
                let _ = writeln!(
                    cells,
                    "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\"><title>{}</title></rect>",
                    right - left + 0.5,
                    bottom - top + 0.5,
                    colour(self.scaled(*value), range),
                    escaped(&short(*value)),
                );
            }
        }
        picture.raw(&cells);
    }

    /// Marching squares between the places of the grid.
    fn draw_contour(&self, picture: &mut Picture, (x, y): (&Axis, &Axis), level: f64, label: &str) {
        let (mut path, mut places) = (String::new(), Vec::new());
        for (row, ys) in self.ys.windows(2).enumerate() {
            for (column, xs) in self.xs.windows(2).enumerate() {
                let value = |dy: usize, dx: usize| {
                    let value = self
                        .cells
                        .get(row + dy)
                        .and_then(|cells| cells.get(column + dx))
                        .copied()
                        .unwrap_or(f64::NAN);
                    self.scaled(value).clamp(-LARGEST, LARGEST)
                };
                let corners = [
                    (x.pixel(xs[0]), y.pixel(ys[0]), value(0, 0)),
                    (x.pixel(xs[1]), y.pixel(ys[0]), value(0, 1)),
                    (x.pixel(xs[1]), y.pixel(ys[1]), value(1, 1)),
                    (x.pixel(xs[0]), y.pixel(ys[1]), value(1, 0)),
                ];
                for [from, to] in crossings(&corners, level) {
                    places.push(((from.0 + to.0) / 2.0, (from.1 + to.1) / 2.0 + 4.0));
                    let _ = write!(path, "M{:.1},{:.1}L{:.1},{:.1}", from.0, from.1, to.0, to.1);
                }
            }
        }
        // White within black is seen on all colours.
        picture.path(
            "contour",
            "fill=\"none\" stroke=\"#000000\" stroke-width=\"2.6\" stroke-opacity=\"0.5\"",
            &path,
        );
        picture.path(
            "contour",
            "fill=\"none\" stroke=\"#FFFFFF\" stroke-width=\"1.2\"",
            &path,
        );
        if let Some(place) = places.get(places.len() / 2) {
            let style = "style=\"fill:#FFFFFF;stroke:#000000;stroke-opacity:0.6;stroke-width:3;paint-order:stroke\" text-anchor=\"middle\"";
            picture.text(*place, 12, style, label);
        }
    }

    /// As colours and contours see it.
    fn scaled(&self, value: f64) -> f64 {
        match self.is_logarithmic {
            true if value > 0.0 => value.log10(),
            true => f64::NAN,
            false => value,
        }
    }

    /// Round values between the least and the greatest, scaled, with their labels.
    fn levels(&self, (least, greatest): (f64, f64)) -> Vec<(f64, String)> {
        let pixels = (0.0, 1.0);
        let axis = match self.is_logarithmic {
            true => {
                let values = [10_f64.powf(least), 10_f64.powf(greatest)];
                Axis::between_decades(values.into_iter(), pixels)
            }
            false => Axis::linear([least, greatest].into_iter(), pixels, 6, false),
        };
        let ticks = axis.ticks.into_iter();
        let ticks = ticks.map(|(value, label)| (self.scaled(value), label));
        ticks
            .filter(|(value, _)| least < *value && *value < greatest)
            .collect()
    }

    /// The scale of colours with the levels of the contours.
    fn draw_scale(&self, picture: &mut Picture, range: (f64, f64), levels: &[(f64, String)]) {
        const STRIPES: usize = 64;
        let (left, top, bottom) = (WIDTH - RIGHT + 26.0, TOP, HEIGHT - BOTTOM);
        let height = (bottom - top) / STRIPES as f64;
        let mut stripes = String::new();
        for stripe in 0..STRIPES {
            let part = (stripe as f64 + 0.5) / STRIPES as f64;
            let value = range.0 * (1.0 - part) + range.1 * part;
            let y = bottom - (stripe + 1) as f64 * height;
            let _ = writeln!(
                stripes,
                "<rect x=\"{left}\" y=\"{y:.1}\" width=\"18\" height=\"{:.1}\" fill=\"{}\"/>",
                height + 0.5,
                colour(value, range)
            );
        }
        picture.raw(&stripes);
        let mut lines = String::new();
        for (level, label) in levels {
            let part = (level - range.0) / (range.1 - range.0);
            let y = bottom - part.clamp(0.0, 1.0) * (bottom - top);
            let _ = write!(lines, "M{left},{y:.1}h18");
            picture.text((left + 25.0, y + 4.5), 13, "", label);
        }
        let line = "fill=\"none\" stroke=\"#FFFFFF\" stroke-width=\"1.2\"";
        picture.path("contour", line, &lines);
        if range.0 == range.1 {
            picture.text(
                (left + 25.0, f64::midpoint(top, bottom)),
                13,
                "",
                &short(range.0),
            );
        }
        let linear = Axis::linear([range.0, range.1].into_iter(), (bottom, top), 6, false);
        if !self.is_logarithmic {
            picture.text((left, top - 10.0), 12, "", &linear.note);
        }
    }

    fn draw_axes(&self, picture: &mut Picture, x: &Axis, y: &Axis) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let mut ticks = format!("M{LEFT},{TOP}V{bottom}H{right}V{TOP}z");
        for (value, label) in &x.ticks {
            let at = x.pixel(*value);
            let _ = write!(ticks, "M{at:.1},{bottom}v5");
            picture.text((at, bottom + 20.0), 13, "text-anchor=\"middle\"", label);
        }
        for (value, label) in &y.ticks {
            let at = y.pixel(*value);
            let _ = write!(ticks, "M{LEFT},{at:.1}h-5");
            picture.text((LEFT - 9.0, at + 4.5), 13, "text-anchor=\"end\"", label);
        }
        picture.path("axis", "", &ticks);
        let middle = ((LEFT + right) / 2.0, bottom + 44.0);
        let label = format!("{} {}", self.x, x.note);
        picture.text(middle, 14, "text-anchor=\"middle\"", cut(&label, 90).trim());
        let middle = (TOP + bottom) / 2.0;
        let turned = format!("text-anchor=\"middle\" transform=\"rotate(-90 20 {middle:.1})\"");
        let label = format!("{} {}", self.y, y.note);
        picture.text((20.0, middle), 14, &turned, cut(&label, 60).trim());
    }
}

/// The borders of the cells around places: half-way to the next.
fn borders(places: &[f64], has_decades: bool) -> Vec<f64> {
    let to = |value: f64| if has_decades { value.ln() } else { value };
    let from = |value: f64| if has_decades { value.exp() } else { value };
    let places: Vec<f64> = places.iter().map(|place| to(*place)).collect();
    let (Some(first), Some(last)) = (places.first(), places.last()) else {
        return Vec::new();
    };
    let half = |pair: Option<&[f64]>| match pair {
        Some(pair) => (pair[1] - pair[0]) / 2.0,
        None => 0.5 * first.abs().max(1.0),
    };
    let mut borders = vec![first - half(places.windows(2).next())];
    borders.extend(places.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0));
    borders.push(last + half(places.windows(2).last()));
    borders.into_iter().map(from).collect()
}

fn axis(
    values: impl Iterator<Item = f64>,
    pixels: (f64, f64),
    has_decades: bool,
    has_room: bool,
) -> Axis {
    match has_decades {
        true => Axis::between_decades(values, pixels),
        false => Axis::linear(values, pixels, 7, has_room),
    }
}

/// Lines on which the value of a cell of the grid is the level; none if a corner has no value.
fn crossings(corners: &[(f64, f64, f64); 4], level: f64) -> Vec<[(f64, f64); 2]> {
    if corners.iter().any(|corner| !corner.2.is_finite()) {
        return Vec::new();
    }
    let edges = [(0, 1), (1, 2), (2, 3), (3, 0)];
    let crossing = |(a, b): (usize, usize)| {
        let (a, b) = (corners[a], corners[b]);
        ((a.2 < level) != (b.2 < level)).then(|| {
            let part = (level - a.2) / (b.2 - a.2);
            (a.0 + part * (b.0 - a.0), a.1 + part * (b.1 - a.1))
        })
    };
    let points: Vec<(f64, f64)> = edges.into_iter().filter_map(crossing).collect();
    match points.as_slice() {
        [a, b] => vec![[*a, *b]],
        // A saddle: the value in its middle says which corners belong together.
        [a, b, c, d] => {
            let middle = corners.iter().map(|corner| corner.2 / 4.0).sum::<f64>();
            match (corners[0].2 < level) == (middle < level) {
                true => vec![[*a, *b], [*c, *d]],
                false => vec![[*d, *a], [*b, *c]],
            }
        }
        _ => Vec::new(),
    }
}

fn colour(value: f64, range: (f64, f64)) -> String {
    let place = scale::part(value, range) * (COLOURS.len() - 1) as f64;
    let index = (place as usize).min(COLOURS.len() - 2);
    let (a, b) = (COLOURS[index], COLOURS[index + 1]);
    let mix = |a: f64, b: f64| (a + (place - index as f64) * (b - a)).round() as u8;
    format!(
        "#{:02x}{:02x}{:02x}",
        mix(a.0, b.0),
        mix(a.1, b.1),
        mix(a.2, b.2)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field() -> Field {
        Field {
            title: "a & b".to_owned(),
            xs: vec![1.0, 2.0, 4.0],
            ys: vec![10.0, 100.0],
            cells: vec![vec![0.0, 1.0, f64::NAN], vec![1.0, 2.0, 3.0]],
            missing: (vec![(4.0, 10.0)], "failed".to_owned()),
            has_decades: (false, true),
            ..Field::default()
        }
    }

    #[test]
    fn every_value_has_a_cell_and_what_is_missing_a_cross() {
        let svg = field().to_svg();
        assert_eq!(svg.matches("<title>").count(), 1 + 5);
        // One in the field, one in the legend.
        assert_eq!(svg.matches("l9,9m0,-9l-9,9").count(), 2);
        assert!(svg.contains("contour") && !svg.contains("NaN"));
    }

    #[test]
    fn nothing_to_show_is_no_panic() {
        assert!(Field::default().to_svg().ends_with("</svg>\n"));
        let one = Field {
            xs: vec![1.0],
            ys: vec![2.0],
            cells: vec![vec![3.0]],
            ..Field::default()
        };
        assert!(!one.to_svg().contains("NaN"));
        let huge = Field {
            xs: vec![0.0, 1.0],
            ys: vec![0.0, 1.0],
            cells: vec![vec![f64::MAX, f64::MIN]; 2],
            ..Field::default()
        };
        assert!(!huge.to_svg().contains("NaN"));
    }

    #[test]
    fn contours_cross_where_the_level_is() {
        let corners = [
            (0.0, 0.0, 0.0),
            (1.0, 0.0, 0.0),
            (1.0, 1.0, 4.0),
            (0.0, 1.0, 4.0),
        ];
        assert_eq!(crossings(&corners, 1.0), [[(1.0, 0.25), (0.0, 0.25)]]);
        let saddle = [
            (0.0, 0.0, 1.0),
            (1.0, 0.0, 0.0),
            (1.0, 1.0, 1.0),
            (0.0, 1.0, 0.0),
        ];
        assert_eq!(crossings(&saddle, 0.4).len(), 2);
        assert_eq!(crossings(&saddle, 2.0).len(), 0);
    }

    #[test]
    fn colours_get_lighter() {
        let lightness = |value: f64| {
            let colour = colour(value, (0.0, 8.0));
            let part = |from: usize| {
                u8::from_str_radix(&colour[from..from + 2], 16).map_or(0.0, f64::from)
            };
            0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
        };
        let all: Vec<f64> = (0..=32)
            .map(|step| lightness(f64::from(step) / 4.0))
            .collect();
        assert!(all.is_sorted(), "{all:?}");
    }
}
