//! The places of everything in a picture.

use std::collections::BTreeMap;

use crate::graph::boxes::{FONT, HEADING, MARGIN, PartBox, ROW, SMALL, Side, Wire};
use crate::graph::diagram::Diagram;
use crate::graph::layout::{Columns, Heights, LINE};
use crate::graph::text::{harmless, width};

/// Space around the whole picture.
const BORDER: f64 = 16.0;

/// Least and greatest space between columns, and the part of it for each line that crosses there.
const GAP: (f64, f64) = (80.0, 240.0);
const GAP_OF_LINE: f64 = 7.0;

/// The word that a text stands under in the style sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Heading,
    Name,
    Bond,
    Fact,
}

impl Style {
    pub(crate) fn size(self) -> f64 {
        match self {
            Self::Heading => HEADING,
            Self::Name | Self::Bond => FONT,
            Self::Fact => SMALL,
        }
    }
}

/// A rectangle, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rect {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// A text with the rectangle that it needs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Label {
    pub(crate) text: String,
    pub(crate) style: Style,
    pub(crate) rect: Rect,
}

/// A line from the left to the right.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub(crate) is_bond: bool,
    /// Whether its arrow is at its right end.
    pub(crate) is_forward: bool,
    /// Straight parts: left end, right end, height.
    pub(crate) parts: Vec<(f64, f64, f64)>,
    /// The whole connection.
    pub(crate) title: String,
}

/// A picture.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scene {
    pub(crate) title: String,
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) boxes: Vec<Rect>,
    pub(crate) labels: Vec<Label>,
    pub(crate) lines: Vec<Line>,
    /// Where the lines of the legend begin.
    pub(crate) legend: Vec<Line>,
}

impl Scene {
    /// Arranges a diagram.
    pub(crate) fn of(diagram: &Diagram) -> Self {
        let columns = Columns::of(diagram.parts.len(), &pairs(diagram));
        let (column, count) = (columns.column.clone(), columns.count);
        let mut boxes: Vec<PartBox> = (0..diagram.parts.len())
            .map(|place| PartBox::new(diagram, place, &column))
            .collect();
        let sizes: Vec<(f64, f64)> = boxes.iter().map(PartBox::size).collect();
        let heights: Vec<f64> = sizes.iter().map(|(_, height)| *height).collect();
        let heights = columns.heights(&heights);
        let mut scene = Self {
            title: harmless(diagram.title()),
            width: 0.0,
            height: 0.0,
            boxes: Vec::new(),
            labels: Vec::new(),
            lines: Vec::new(),
            legend: Vec::new(),
        };
        let top = scene.head(diagram);
        let spans = column_spans(&sizes, &column, count, &crossings(diagram, &column, count));
        let least = (heights.boxes.iter().zip(&sizes))
            .map(|(middle, (_, height))| middle - height / 2.0)
            .chain(heights.lines.values().flatten().map(|middle| middle - ROW))
            .fold(f64::INFINITY, f64::min);
        for (place, (width, height)) in sizes.iter().enumerate() {
            let (left, right) = spans[column[place]];
            scene.boxes.push(Rect {
                x: (left + right - width) / 2.0,
                y: top + heights.boxes[place] - height / 2.0 - least,
                width: *width,
                height: *height,
            });
        }
        sort_ports(&mut boxes, &scene.boxes, &heights, &column);
        let ends = scene.write_boxes(&boxes);
        scene.draw_lines(
            diagram,
            &ends,
            &heights,
            &Shifts {
                column: &column,
                spans: &spans,
                shift: top - least,
            },
        );
        scene.finish(diagram);
        scene
    }

    fn label(&mut self, text: String, style: Style, x: f64, middle: f64) -> f64 {
        let (width, height) = (width(&text, style.size()), 1.25 * style.size());
        let rect = Rect {
            x,
            y: middle - height / 2.0,
            width,
            height,
        };
        self.labels.push(Label { text, style, rect });
        x + width
    }

    /// Writes the heading; returns the height where boxes begin.
    fn head(&mut self, diagram: &Diagram) -> f64 {
        let name = diagram.title.rsplit(['/', '\\']).next().unwrap_or_default();
        let mut y = BORDER + ROW / 2.0;
        for (text, style) in [(name, Style::Heading), (&diagram.settings, Style::Fact)] {
            if !text.is_empty() {
                self.label(harmless(text), style, BORDER, y);
                y += ROW;
            }
        }
        y + ROW / 2.0
    }

    /// Writes the texts of the boxes; returns where lines end, by box and line.
    fn write_boxes(&mut self, boxes: &[PartBox]) -> BTreeMap<(usize, Wire), (Side, f64)> {
        let mut ends = BTreeMap::new();
        for (place, part) in boxes.iter().enumerate() {
            let rect = self.boxes[place];
            let centred =
                |text: &str, style: Style| rect.x + (rect.width - width(text, style.size())) / 2.0;
            let mut middle = rect.y + MARGIN / 2.0 + ROW / 2.0;
            self.label(
                part.name.clone(),
                Style::Heading,
                centred(&part.name, Style::Heading),
                middle,
            );
            for text in part.facts.iter().chain(&part.own) {
                middle += ROW;
                self.label(
                    text.clone(),
                    Style::Fact,
                    centred(text, Style::Fact),
                    middle,
                );
            }
            for side in [Side::Left, Side::Right] {
                let mut top = rect.y + part.head_height();
                for port in part.ports.iter().filter(|port| port.side == side) {
                    let style = if port.is_bond {
                        Style::Bond
                    } else {
                        Style::Name
                    };
                    let rows = [(&port.name, style), (&port.further, Style::Fact)];
                    for (row, (text, style)) in rows.into_iter().enumerate() {
                        let x = match side {
                            Side::Left => rect.x + MARGIN,
                            Side::Right => rect.x + rect.width - MARGIN - width(text, style.size()),
                        };
                        if !text.is_empty() {
                            self.label(text.clone(), style, x, top + ROW * (row as f64 + 0.5));
                        }
                    }
                    let middle = top + port.height() / 2.0;
                    ends.extend(
                        port.wires
                            .iter()
                            .map(|(wire, _)| ((place, *wire), (side, middle))),
                    );
                    top += port.height();
                }
            }
        }
        ends
    }

    fn draw_lines(
        &mut self,
        diagram: &Diagram,
        ends: &BTreeMap<(usize, Wire), (Side, f64)>,
        heights: &Heights,
        shifts: &Shifts<'_>,
    ) {
        let mut bundles: BTreeMap<(usize, usize), Vec<(Wire, f64)>> = BTreeMap::new();
        for (wire, from, to) in wires(diagram) {
            let pair = shifts.in_order(from, to);
            if let Some((_, height)) = ends.get(&(pair.0, wire)) {
                bundles.entry(pair).or_default().push((wire, *height));
            }
        }
        for (pair, mut wires) in bundles {
            wires.sort_by(|one, other| one.1.total_cmp(&other.1).then(one.0.cmp(&other.0)));
            let middle = (wires.len() as f64 - 1.0) / 2.0;
            for (nth, (wire, begin)) in wires.iter().enumerate() {
                let Some((_, end)) = ends.get(&(pair.1, *wire)) else {
                    continue;
                };
                let (left, right) = (self.boxes[pair.0], self.boxes[pair.1]);
                let first = (
                    left.x + left.width,
                    shifts.spans[shifts.column[pair.0]].1,
                    *begin,
                );
                let last = (shifts.spans[shifts.column[pair.1]].0, right.x, *end);
                let offset = (nth as f64 - middle) * LINE;
                let passed = heights.lines.get(&pair).into_iter().flatten().enumerate();
                let passed = passed.map(|(nth, middle)| {
                    let (from, to) = shifts.spans[shifts.column[pair.0] + 1 + nth];
                    (from, to, middle + shifts.shift + offset)
                });
                let parts = std::iter::once(first).chain(passed).chain([last]).collect();
                self.lines.push(Line {
                    parts,
                    ..line(diagram, *wire, pair.0)
                });
            }
        }
    }

    /// Adds the legend and the remarks, and measures the whole.
    fn finish(&mut self, diagram: &Diagram) {
        let lowest = |rect: &Rect| rect.y + rect.height;
        let of_lines = self
            .lines
            .iter()
            .flat_map(|line| &line.parts)
            .map(|part| part.2);
        let mut y = (self.boxes.iter().map(lowest))
            .chain(self.labels.iter().map(|label| lowest(&label.rect)))
            .chain(of_lines)
            .fold(0.0, f64::max);
        y += 1.5 * ROW;
        for remark in &diagram.remarks {
            self.label(harmless(remark), Style::Fact, BORDER, y);
            y += ROW;
        }
        let entries = [
            (false, diagram.signals.is_empty(), "connection"),
            (
                true,
                diagram.bonds.is_empty(),
                "power bond: half-arrow towards positive power, stroke where the effort is received",
            ),
        ];
        for (is_bond, is_absent, text) in entries {
            if is_absent {
                continue;
            }
            let parts = vec![(BORDER, BORDER + 40.0, y)];
            self.legend.push(Line {
                is_bond,
                is_forward: true,
                parts,
                title: String::new(),
            });
            self.label(text.to_owned(), Style::Fact, BORDER + 52.0, y);
            y += ROW;
        }
        let rects = self
            .boxes
            .iter()
            .chain(self.labels.iter().map(|label| &label.rect));
        self.width = rects.fold(0.0, |wide: f64, rect| wide.max(rect.x + rect.width)) + BORDER;
        self.height = y + BORDER / 2.0;
    }
}

/// The common part of the places of boxes.
struct Shifts<'a> {
    column: &'a [usize],
    /// Left and right edge of each column.
    spans: &'a [(f64, f64)],
    /// Added to all heights.
    shift: f64,
}

impl Shifts<'_> {
    /// Two boxes, the one further left first.
    fn in_order(&self, one: usize, other: usize) -> (usize, usize) {
        match self.column[one] < self.column[other] {
            true => (one, other),
            false => (other, one),
        }
    }
}

/// All lines, with the components at their beginnings and ends; none of a component with itself.
fn wires(diagram: &Diagram) -> impl Iterator<Item = (Wire, usize, usize)> {
    let bonds = diagram.bonds.iter().enumerate();
    let bonds = bonds.map(|(index, bond)| (Wire::Bond(index), bond.a, bond.b));
    let signals = diagram.signals.iter().enumerate();
    let signals =
        signals.map(|(index, signal)| (Wire::Signal(index), signal.from.part, signal.to.part));
    bonds.chain(signals).filter(|(_, from, to)| from != to)
}

/// Pairs of components with lines between them, in the order of the file, directed as most of their lines are.
fn pairs(diagram: &Diagram) -> Vec<((usize, usize), usize)> {
    let mut pairs: Vec<((usize, usize), usize)> = Vec::new();
    let mut known: BTreeMap<(usize, usize), (usize, i64)> = BTreeMap::new();
    for (_, from, to) in wires(diagram) {
        let pair = (from.min(to), from.max(to));
        let entry = known.entry(pair).or_insert_with(|| {
            pairs.push((pair, 0));
            (pairs.len() - 1, 0)
        });
        entry.1 += if from < to { 1 } else { -1 };
        pairs[entry.0].1 += 1;
    }
    for (place, direction) in known.into_values() {
        let pair = &mut pairs[place].0;
        if direction < 0 {
            *pair = (pair.1, pair.0);
        }
    }
    pairs
}

/// Number of lines between each column and the next one.
fn crossings(diagram: &Diagram, column: &[usize], count: usize) -> Vec<usize> {
    let mut crossings = vec![0; count];
    for (_, from, to) in wires(diagram) {
        let (from, to) = (column[from].min(column[to]), column[from].max(column[to]));
        crossings[from..to].iter_mut().for_each(|lines| *lines += 1);
    }
    crossings
}

/// Left and right edge of each column.
fn column_spans(
    sizes: &[(f64, f64)],
    column: &[usize],
    count: usize,
    crossings: &[usize],
) -> Vec<(f64, f64)> {
    let mut spans = Vec::new();
    let mut x = BORDER;
    for (index, lines) in crossings.iter().enumerate().take(count) {
        let of_column = sizes.iter().zip(column).filter(|(_, of)| **of == index);
        let wide = of_column.fold(0.0, |wide: f64, (size, _)| wide.max(size.0));
        spans.push((x, x + wide));
        x += wide + (GAP.0 + GAP_OF_LINE * *lines as f64).min(GAP.1);
    }
    spans
}

/// Sorts the ports of each side by the heights that their lines go to, so that few of them cross.
fn sort_ports(boxes: &mut [PartBox], rects: &[Rect], heights: &Heights, column: &[usize]) {
    let middle = |place: usize| rects[place].y + rects[place].height / 2.0;
    let shift = rects
        .first()
        .map_or(0.0, |rect| rect.y + rect.height / 2.0 - heights.boxes[0]);
    for (place, part) in boxes.iter_mut().enumerate() {
        let goal = |partner: usize| {
            let is_left = column[partner] < column[place];
            let pair = if is_left {
                (partner, place)
            } else {
                (place, partner)
            };
            let passed = heights.lines.get(&pair);
            let next = passed.and_then(|passed| {
                if is_left {
                    passed.last()
                } else {
                    passed.first()
                }
            });
            next.map_or_else(|| middle(partner), |next| next + shift)
        };
        part.ports.sort_by(|one, other| {
            let key = |wires: &[(Wire, usize)]| {
                wires.iter().map(|(_, partner)| goal(*partner)).sum::<f64>() / wires.len() as f64
            };
            let first = |wires: &[(Wire, usize)]| wires.first().map(|(wire, _)| *wire);
            let by_height = key(&one.wires).total_cmp(&key(&other.wires));
            by_height.then(first(&one.wires).cmp(&first(&other.wires)))
        });
    }
}

/// A line without its way; `left` is the box at its left end.
fn line(diagram: &Diagram, wire: Wire, left: usize) -> Line {
    let name = |place: usize| harmless(&diagram.parts[place].name);
    let (is_bond, begin, title) = match wire {
        Wire::Bond(index) => {
            let bond = &diagram.bonds[index];
            let title = format!(
                "bond {}: {} ⇀ {}",
                harmless(&bond.name),
                name(bond.a),
                name(bond.b)
            );
            (true, bond.a, title)
        }
        Wire::Signal(index) => {
            let signal = &diagram.signals[index];
            let end = |end: &crate::graph::diagram::End| {
                format!("{}.{}", name(end.part), harmless(&end.variable))
            };
            let title = format!(
                "{} → {} {}",
                end(&signal.from),
                end(&signal.to),
                signal.change
            );
            (false, signal.from.part, title.trim_end().to_owned())
        }
    };
    Line {
        is_bond,
        is_forward: begin == left,
        parts: Vec::new(),
        title,
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;

    fn scene(text: &str) -> Scene {
        let (system, _) = gyrator_system::toml_file::parse(text, "system.toml").unwrap();
        Scene::of(&Diagram::of(&system))
    }

    /// Of sums that are rounded, in pixels.
    const ROUNDING: f64 = 1e-6;

    fn is_apart(one: &Rect, other: &Rect) -> bool {
        let precedes = |end: f64, begin: f64| end <= begin + ROUNDING;
        precedes(one.x + one.width, other.x)
            || precedes(other.x + other.width, one.x)
            || precedes(one.y + one.height, other.y)
            || precedes(other.y + other.height, one.y)
    }

    fn is_inside(inner: &Rect, outer: &Rect) -> bool {
        inner.x >= outer.x - ROUNDING
            && inner.y >= outer.y - ROUNDING
            && inner.x + inner.width <= outer.x + outer.width + ROUNDING
            && inner.y + inner.height <= outer.y + outer.height + ROUNDING
    }

    /// No label is under another one, nor under the edge of a box or of the picture; no line passes a box.
    fn check(scene: &Scene) {
        let picture = Rect {
            x: 0.0,
            y: 0.0,
            width: scene.width,
            height: scene.height,
        };
        for (index, label) in scene.labels.iter().enumerate() {
            assert!(is_inside(&label.rect, &picture), "{label:?}");
            for other in &scene.labels[..index] {
                assert!(is_apart(&label.rect, &other.rect), "{label:?} {other:?}");
            }
            for rect in &scene.boxes {
                let is_clear = is_inside(&label.rect, rect) || is_apart(&label.rect, rect);
                assert!(is_clear, "{label:?} {rect:?}");
            }
        }
        for (index, rect) in scene.boxes.iter().enumerate() {
            assert!(is_inside(rect, &picture), "{rect:?}");
            assert!(
                scene.boxes[..index]
                    .iter()
                    .all(|other| is_apart(rect, other))
            );
        }
        for line in &scene.lines {
            for (left, right, y) in &line.parts {
                let passed = Rect {
                    x: *left,
                    y: *y,
                    width: right - left,
                    height: 0.0,
                };
                assert!(
                    *right >= left - ROUNDING
                        && scene.boxes.iter().all(|rect| is_apart(&passed, rect)),
                    "{line:?}"
                );
            }
            let gaps = line.parts.windows(2).map(|parts| (parts[0].1, parts[1].0));
            for (left, right) in gaps {
                let gap = Rect {
                    x: left,
                    y: 0.0,
                    width: right - left,
                    height: scene.height,
                };
                assert!(
                    right - left >= GAP.0 - ROUNDING
                        && scene.boxes.iter().all(|rect| is_apart(&gap, rect))
                );
            }
        }
    }

    /// A system of so many components, connections and bonds, by a rule.
    fn system(components: usize, connections: usize, bonds: usize, name: &str) -> String {
        let mut text = "[experiment]\nstop_time = 1.0\nstep_size = 1e-3\n".to_owned();
        for place in 0..components {
            let _ = writeln!(
                text,
                "[components.\"{name}{place}\"]\nfmu = \"Model{}.fmu\"",
                place % 7
            );
        }
        let port = |place: usize, variable: &str, nth: usize| {
            format!("\"{name}{}.{variable}_{nth}\"", place % components)
        };
        for nth in 0..connections {
            let from = nth * 7 / 3;
            let to = from + 1 + [0, 0, 1, 4, components - 2][nth % 5] % (components - 1);
            let (from, to) = (port(from, "output", nth / 3), port(to, "input", nth));
            let _ = writeln!(text, "[[connections]]\nfrom = {from}\nto = {to}");
        }
        for nth in 0..bonds {
            let (a, b) = (nth * 5, nth * 5 + 1);
            let pair = |from, to, variable| {
                format!(
                    "[{{ from = {}, to = {} }}]",
                    port(from, variable, nth),
                    port(to, variable, nth)
                )
            };
            let (effort, flow) = (pair(a, b, "f"), pair(b, a, "v"));
            let _ = writeln!(
                text,
                "[[bonds]]\nname = \"bond {nth}\"\neffort = {effort}\nflow = {flow}"
            );
        }
        text
    }

    #[test]
    fn no_label_overlaps() {
        for (components, connections, bonds) in [(2, 2, 1), (5, 7, 2), (12, 41, 3), (60, 110, 10)] {
            let scene = scene(&system(components, connections, bonds, "unit"));
            check(&scene);
            assert_eq!(scene.boxes.len(), components);
            assert_eq!(scene.lines.len(), connections + bonds);
        }
    }

    #[test]
    fn nothing_is_a_picture_too() {
        let empty = gyrator_system::SystemFile::new("empty.toml");
        check(&Scene::of(&Diagram::of(&empty)));
        check(&scene(&system(3, 0, 0, "alone")));
    }

    /// The effort goes from end a to end b: half-arrow and stroke are at b, wherever b is.
    #[test]
    fn bonds_end_where_the_effort_is_received() {
        let text = system(2, 0, 1, "unit");
        let there = scene(&text);
        let back = scene(
            &text
                .replace("unit0", "other")
                .replace("unit1", "unit0")
                .replace("other", "unit1"),
        );
        for scene in [there, back] {
            let [line] = &scene.lines[..] else {
                panic!("{:?}", scene.lines);
            };
            assert!(line.is_bond);
            let tip = if line.is_forward {
                line.parts.last().unwrap().1
            } else {
                line.parts[0].0
            };
            let end = scene
                .boxes
                .iter()
                .position(|rect| rect.x == tip || rect.x + rect.width == tip);
            let giver = if line.title.contains("unit0 ⇀") {
                0
            } else {
                1
            };
            let names: Vec<&str> = (scene.labels.iter())
                .filter(|label| label.style == Style::Heading && label.text.starts_with("unit"))
                .map(|label| label.text.as_str())
                .collect();
            assert_eq!(names[end.unwrap()], format!("unit{}", 1 - giver));
        }
    }

    #[test]
    fn a_component_may_feed_itself() {
        let text =
            system(2, 1, 0, "unit") + "[[connections]]\nfrom = \"unit0.y\"\nto = \"unit0.u\"\n";
        let scene = scene(&text);
        check(&scene);
        assert!(scene.labels.iter().any(|label| label.text == "y → u"));
        assert_eq!(scene.lines.len(), 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn any_names_have_room(
            name in "[a-z漢ü<>&'\u{202e}\u{301}]{1,60}",
            components in 2..9_usize,
            connections in 0..20_usize,
            bonds in 0..4_usize,
        ) {
            let scene = scene(&system(components, connections, bonds, &name));
            check(&scene);
            let picture = crate::graph::drawing::write(&scene);
            let begin = picture.find("</style>").unwrap();
            let turns = picture[begin..].contains('\u{202e}');
            prop_assert!(!turns);
            let opened = picture[begin..].matches('<').count();
            prop_assert_eq!(opened, picture[begin..].matches('>').count());
        }
    }
}
