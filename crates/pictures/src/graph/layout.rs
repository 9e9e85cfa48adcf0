//! Places of boxes: columns and heights of a layered graph (Sugiyama, Tagawa & Toda 1981), by the crate `layout-rs`.

use std::collections::BTreeMap;

use layout::adt::dag::NodeHandle;
use layout::core::base::Orientation;
use layout::core::geometry::{Point, Position};
use layout::core::style::StyleAttr;
use layout::std_shapes::shapes::{Arrow, Element, ShapeKind};
use layout::topo::layout::VisualGraph;
use layout::topo::placer::Placer;

/// Space around a box and around a line that passes, in pixels.
const HALO: f64 = 26.0;
const LINE_HALO: f64 = 8.0;

/// Height of a line in a bundle that passes boxes.
pub(crate) const LINE: f64 = 8.0;

/// More boxes are not arranged for few crossings, which takes a time of the third power of their number.
const MOST: usize = 150;

/// Two boxes with lines between them, the one further left first; and how many lines.
pub(crate) type Pairs = BTreeMap<(usize, usize), usize>;

/// Boxes in columns.
pub(crate) struct Columns {
    graph: VisualGraph,
    boxes: Vec<NodeHandle>,
    /// The column of each box.
    pub(crate) column: Vec<usize>,
    /// Number of columns.
    pub(crate) count: usize,
    pairs: Pairs,
}

/// Where boxes and lines are in the vertical, in pixels.
pub(crate) struct Heights {
    /// The middle of each box.
    pub(crate) boxes: Vec<f64>,
    /// The middles of the lines of a pair in the columns between its boxes, from left to right.
    pub(crate) lines: BTreeMap<(usize, usize), Vec<f64>>,
}

impl Columns {
    /// Columns of `count` boxes such that the lines of `pairs` go from left to right except for loops.
    pub(crate) fn of(count: usize, pairs: &[((usize, usize), usize)]) -> Self {
        let mut graph = VisualGraph::new(Orientation::LeftToRight);
        graph.dag.set_validate(false);
        let boxes: Vec<NodeHandle> = (0..count)
            .map(|_| graph.add_node(element(ShapeKind::None)))
            .collect();
        for ((from, to), _) in pairs {
            graph.add_edge(Arrow::simple(""), boxes[*from], boxes[*to]);
        }
        let column = Vec::new();
        let mut columns = Self {
            graph,
            boxes,
            column,
            count: 0,
            pairs: Pairs::new(),
        };
        if count > 0 {
            columns.graph.to_valid_dag();
            columns.graph.split_long_edges(count > MOST);
            columns.count = columns.graph.dag.num_levels();
        }
        let level = |handle: &NodeHandle| columns.graph.dag.level(*handle);
        columns.column = columns.boxes.iter().map(level).collect();
        for ((from, to), lines) in pairs {
            let is_forward = columns.column[*from] < columns.column[*to];
            let pair = if is_forward {
                (*from, *to)
            } else {
                (*to, *from)
            };
            *columns.pairs.entry(pair).or_default() += lines;
        }
        columns
    }

    /// Arranges boxes of these heights within their columns.
    pub(crate) fn heights(mut self, heights: &[f64]) -> Heights {
        let lines: BTreeMap<(usize, usize), Vec<NodeHandle>> = (self.pairs.keys())
            .map(|pair| (*pair, self.chain(*pair)))
            .collect();
        for (handle, height) in self.boxes.iter().zip(heights) {
            *self.graph.pos_mut(*handle) = sized(*height, HALO);
        }
        for (pair, chain) in &lines {
            for handle in chain {
                *self.graph.pos_mut(*handle) = sized(LINE * self.pairs[pair] as f64, LINE_HALO);
            }
        }
        if !self.boxes.is_empty() {
            Placer::new(&mut self.graph).layout(false);
        }
        let separated = self.separated();
        let middle = |handle: &NodeHandle| separated[handle.get_index()];
        Heights {
            boxes: self.boxes.iter().map(middle).collect(),
            lines: (lines.into_iter())
                .map(|(pair, chain)| (pair, chain.iter().map(middle).collect()))
                .collect(),
        }
    }

    /// The middle of everything, by its index. The crate leaves some overlaps of lines that pass with boxes: what overlaps in
    /// a column goes down.
    fn separated(&self) -> Vec<f64> {
        let mut middles = vec![0.0; self.graph.num_nodes()];
        for column in 0..self.count {
            let found = self.graph.dag.row(column).iter();
            let mut found: Vec<_> = found
                .map(|handle| (self.graph.pos(*handle), handle))
                .collect();
            found.sort_by(|one, other| one.0.middle().y.total_cmp(&other.0.middle().y));
            let mut free = f64::NEG_INFINITY;
            for (position, handle) in found {
                let half = position.size(false).y / 2.0;
                let middle = position.middle().y.max(free + half);
                free = middle + half + LINE_HALO;
                middles[handle.get_index()] = middle;
            }
        }
        middles
    }

    /// The places that the crate has made for the lines of a pair between its columns: nodes behind the boxes, of which
    /// each leads to one other.
    fn chain(&self, (from, to): (usize, usize)) -> Vec<NodeHandle> {
        let (boxes, last) = (self.boxes.len(), self.boxes[to]);
        let next = |handle: NodeHandle| self.graph.dag.single_succ(handle);
        let starts = self.graph.dag.successors(self.boxes[from]);
        for start in starts.iter().filter(|start| start.get_index() >= boxes) {
            let mut chain = vec![*start];
            while let Some(handle) = chain.last().and_then(|handle| next(*handle)) {
                if handle == last {
                    return chain;
                }
                if handle.get_index() < boxes {
                    break;
                }
                chain.push(handle);
            }
        }
        Vec::new()
    }
}

fn element(shape: ShapeKind) -> Element {
    let size = Point::new(1.0, 1.0);
    Element::create(shape, StyleAttr::simple(), Orientation::LeftToRight, size)
}

fn sized(height: f64, halo: f64) -> Position {
    let (size, halo) = (Point::new(1.0, height), Point::new(1.0, halo));
    Position::new(Point::zero(), size, Point::zero(), halo)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_chain_has_a_column_each_and_a_shortcut_passes() {
        let pairs = [((0, 1), 1), ((1, 2), 1), ((0, 2), 3)];
        let columns = Columns::of(3, &pairs);
        assert_eq!(columns.column, [0, 1, 2]);
        let heights = columns.heights(&[40.0; 3]);
        assert!(heights.lines[&(0, 1)].is_empty());
        let [line] = heights.lines[&(0, 2)][..] else {
            panic!("{:?}", heights.lines);
        };
        assert!(
            (line - heights.boxes[1]).abs() >= 20.0 + 1.5 * LINE,
            "beside the box"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Any pairs: boxes of one column do not overlap, and lines pass beside them.
        #[test]
        fn nothing_overlaps(
            count in 1..24_usize,
            ends in prop::collection::vec((0..24_usize, 0..24_usize, 1..6_usize), 0..40),
            heights in prop::collection::vec(20.0..300.0_f64, 24),
        ) {
            let mut pairs: Vec<((usize, usize), usize)> = Vec::new();
            for (from, to, lines) in ends {
                let pair = (from % count, to % count);
                let is_known = pairs.iter().any(|(known, _)| *known == pair || *known == (pair.1, pair.0));
                if pair.0 != pair.1 && !is_known {
                    pairs.push((pair, lines));
                }
            }
            let columns = Columns::of(count, &pairs);
            let column = columns.column.clone();
            let counts = columns.pairs.clone();
            let found = columns.heights(&heights[..count]);
            let mut spans: Vec<(usize, f64, f64)> = Vec::new();
            for place in 0..count {
                let (middle, half) = (found.boxes[place], heights[place] / 2.0);
                spans.push((column[place], middle - half, middle + half));
            }
            for (pair, lines) in &found.lines {
                prop_assert_eq!(lines.len(), column[pair.1] - column[pair.0] - 1);
                let half = LINE * counts[pair] as f64 / 2.0;
                for (nth, middle) in lines.iter().enumerate() {
                    spans.push((column[pair.0] + 1 + nth, middle - half, middle + half));
                }
            }
            for (index, one) in spans.iter().enumerate() {
                for other in &spans[..index] {
                    let is_apart = one.0 != other.0 || one.1 >= other.2 - 1e-6 || other.1 >= one.2 - 1e-6;
                    prop_assert!(is_apart, "{:?} {:?}", one, other);
                }
            }
        }
    }
}
