//! Boxes of components: their headings, and ports on the sides where their partners are.

use crate::graph::diagram::{Bond, Diagram, Part, Signal};
use crate::graph::text::{short, width};

/// Sizes of fonts, in pixels.
pub(crate) const FONT: f64 = 12.0;
pub(crate) const SMALL: f64 = 11.0;
pub(crate) const HEADING: f64 = 14.0;

/// Height of a row of text.
pub(crate) const ROW: f64 = 18.0;

/// Space between the edge of a box and its texts.
pub(crate) const MARGIN: f64 = 12.0;

/// Space between the texts of the two sides.
const BETWEEN: f64 = 24.0;

/// A side of a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Left,
    Right,
}

/// The end of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Wire {
    /// A place in [`Diagram::signals`].
    Signal(usize),
    /// A place in [`Diagram::bonds`].
    Bond(usize),
}

/// Rows of text at the edge of a box, where lines end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PortRows {
    pub(crate) side: Side,
    /// Lines that end here, with the boxes at their other ends.
    pub(crate) wires: Vec<(Wire, usize)>,
    /// The name, shortened.
    pub(crate) name: String,
    /// A second row, or nothing.
    pub(crate) further: String,
    pub(crate) is_bond: bool,
}

impl PortRows {
    pub(crate) fn height(&self) -> f64 {
        if self.further.is_empty() {
            ROW
        } else {
            2.0 * ROW
        }
    }

    fn width(&self) -> f64 {
        width(&self.name, FONT).max(width(&self.further, SMALL))
    }
}

/// A box before it has a place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PartBox {
    pub(crate) name: String,
    pub(crate) facts: Vec<String>,
    /// Connections of the component with itself, as text.
    pub(crate) own: Vec<String>,
    pub(crate) ports: Vec<PortRows>,
}

impl PartBox {
    /// The box of the component at `place`, with its partners in these columns.
    pub(crate) fn new(diagram: &Diagram, place: usize, column: &[usize]) -> Self {
        let part = &diagram.parts[place];
        let mut made = Self {
            name: short(&part.name),
            facts: facts(part),
            own: Vec::new(),
            ports: Vec::new(),
        };
        let side = |partner: usize| match column[partner] < column[place] {
            true => Side::Left,
            false => Side::Right,
        };
        for (index, bond) in diagram.bonds.iter().enumerate() {
            made.add_bond(index, bond, place, &side);
        }
        for (index, signal) in diagram.signals.iter().enumerate() {
            made.add_signal(index, signal, place, &side);
        }
        made
    }

    fn add_bond(&mut self, index: usize, bond: &Bond, place: usize, side: &impl Fn(usize) -> Side) {
        if bond.a == bond.b {
            if bond.a == place {
                self.own.push(format!("bond {}", short(&bond.name)));
            }
            return;
        }
        for (end, partner, variables) in
            [(bond.a, bond.b, &bond.at_a), (bond.b, bond.a, &bond.at_b)]
        {
            if end == place {
                let name = match bond.facts.is_empty() {
                    true => short(&bond.name),
                    false => format!("{} ({})", short(&bond.name), short(&bond.facts)),
                };
                self.ports.push(PortRows {
                    side: side(partner),
                    wires: vec![(Wire::Bond(index), partner)],
                    name,
                    further: short(variables),
                    is_bond: true,
                });
            }
        }
    }

    /// An output has one port a side, however many inputs it feeds there.
    fn add_signal(
        &mut self,
        index: usize,
        signal: &Signal,
        place: usize,
        side: &impl Fn(usize) -> Side,
    ) {
        let (from, to) = (&signal.from, &signal.to);
        if from.part == to.part {
            if from.part == place {
                let text = format!("{} → {}", short(&from.variable), short(&to.variable));
                self.own.push(text);
            }
            return;
        }
        let (partner, name, is_output) = if from.part == place {
            (to.part, short(&from.variable), true)
        } else if to.part == place {
            let name = short(&to.variable);
            match signal.change.is_empty() {
                true => (from.part, name, false),
                false => (from.part, format!("{name} ({})", signal.change), false),
            }
        } else {
            return;
        };
        let (side, wire) = (side(partner), (Wire::Signal(index), partner));
        let is_same =
            |port: &&mut PortRows| port.side == side && !port.is_bond && port.name == name;
        match self
            .ports
            .iter_mut()
            .find(|port| is_output && is_same(port))
        {
            Some(port) => port.wires.push(wire),
            None => self.ports.push(PortRows {
                side,
                wires: vec![wire],
                name,
                further: String::new(),
                is_bond: false,
            }),
        }
    }

    /// Width and height, in pixels.
    pub(crate) fn size(&self) -> (f64, f64) {
        let of_side = |side: Side| {
            let ports = self.ports.iter().filter(move |port| port.side == side);
            ports.fold((0.0_f64, 0.0), |(wide, high), port| {
                (wide.max(port.width()), high + port.height())
            })
        };
        let ((left, rows_left), (right, rows_right)) = (of_side(Side::Left), of_side(Side::Right));
        let between = if left > 0.0 && right > 0.0 {
            BETWEEN
        } else {
            0.0
        };
        let texts = self.facts.iter().chain(&self.own);
        let texts = texts.map(|text| width(text, SMALL));
        let inner = texts.fold(width(&self.name, HEADING), f64::max);
        let wide = inner.max(left + between + right) + 2.0 * MARGIN;
        (
            wide,
            self.head_height() + rows_left.max(rows_right) + MARGIN / 2.0,
        )
    }

    /// Height of the rows above the ports.
    pub(crate) fn head_height(&self) -> f64 {
        MARGIN / 2.0 + ROW * (1 + self.facts.len() + self.own.len()) as f64 + MARGIN / 2.0
    }
}

fn facts(part: &Part) -> Vec<String> {
    let step = part.step_size.map(|step| format!("every {step} s"));
    let exchange = Some(part.exchange.as_str()).filter(|mode| !mode.is_empty() && *mode != "none");
    let exchange = exchange.map(|mode| format!("exchange {mode}"));
    let settings: Vec<String> = step.into_iter().chain(exchange).collect();
    let lines = [short(&part.model), short(&settings.join(" · "))];
    lines.into_iter().filter(|line| !line.is_empty()).collect()
}
