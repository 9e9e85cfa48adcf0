//! `gyrator design-hinfinity`: the compensator of H∞ coupling.

use std::path::{Path, PathBuf};

use clap::Args;
use gyrator::h_infinity::{Complex, Design, Specification, TransferFunction, hold_error};
use gyrator_pictures::chart::error_chart;
use serde::Serialize;

use crate::aligned::{Align, Aligned};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::numbers::short;
use crate::options::positive;
use crate::screen;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// Macro-step for zeros and poles in 1/s
    #[arg(long, value_name = "SECONDS", value_parser = positive, default_value_t = 1.0)]
    #[arg(allow_negative_numbers = true)]
    macro_step: f64,
    /// No smoother, for one of the two signals: the variant to use first
    #[arg(long, conflicts_with = "smoother_cutoff")]
    one_sided: bool,
    /// Order of the error's weight: with a higher one, low frequencies count more
    #[arg(long, value_name = "1|2|3", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=3))]
    #[arg(allow_negative_numbers = true)]
    weight_order: u32,
    /// Cut-off of the error's weight, times the macro-step [default: 0.01, 0.03 or 0.06, depending on the order]
    #[arg(long, value_name = "NUMBER", value_parser = positive)]
    #[arg(allow_negative_numbers = true)]
    weight_cutoff: Option<f64>,
    /// Cut-off of the smoother at the receiver, times the macro-step; `none` for no smoother
    #[arg(long, value_name = "NUMBER|none", default_value = "0.5")]
    smoother_cutoff: Cutoff,
    /// Weight of the compensator's own output [default: 2e-4 at first order, 1e-3 at higher ones,
    /// 3e-3 one-sided]
    #[arg(long, value_name = "NUMBER", value_parser = positive)]
    #[arg(allow_negative_numbers = true)]
    control_weight: Option<f64>,
    /// Gain for constant signals
    #[arg(long, value_name = "NUMBER", value_parser = positive, default_value_t = 1.0)]
    #[arg(allow_negative_numbers = true)]
    static_gain: f64,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Draw the magnitude of the error over the frequency, as SVG
    #[arg(long, short = 'o', value_name = "FILE.svg")]
    figure: Option<PathBuf>,
}

/// A cut-off frequency, or none.
#[derive(Debug, Clone, Copy)]
struct Cutoff(Option<f64>);

impl std::str::FromStr for Cutoff {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self(None)),
            _ => positive(text).map(|number| Self(Some(number))),
        }
    }
}

/// Designs, prints, draws.
pub(super) fn run(options: &Options) -> Result<Exit, Failure> {
    let design = options
        .specification()
        .synthesize()
        .map_err(|error| Failure::usage(error.to_string()))?;
    let facts = Facts::new(&design, options.macro_step);
    screen::print(&if options.json {
        screen::json(&facts)?
    } else {
        facts.render()
    })?;
    if let Some(path) = &options.figure {
        draw(path, &design)?;
    }
    Ok(Exit::Success)
}

impl Options {
    fn specification(&self) -> Specification {
        let usual = if self.one_sided {
            Specification::one_sided(self.weight_order)
        } else {
            Specification {
                smoother_cutoff: self.smoother_cutoff.0,
                ..Specification::of_order(self.weight_order)
            }
        };
        Specification {
            weight_cutoff: self.weight_cutoff.unwrap_or(usual.weight_cutoff),
            control_weight: self.control_weight.unwrap_or(usual.control_weight),
            static_gain: self.static_gain,
            ..usual
        }
    }
}

fn draw(path: &Path, design: &Design) -> Result<(), Failure> {
    let label = format!("H∞, W{}", design.specification.weight_order);
    let chart = error_chart(
        hold_error,
        &[(&label, &|frequency| design.held_error(frequency))],
    );
    let written = screen::file(path, &chart.to_svg());
    written.map_err(|error| Failure::not_written(path.display(), &error))
}

/// Description of a design.
#[derive(Serialize)]
struct Facts {
    /// s.
    macro_step: f64,
    weight_order: u32,
    /// Hz.
    weight_cutoff: f64,
    /// Hz; none without smoother.
    smoother_cutoff: Option<f64>,
    control_weight: f64,
    static_gain: f64,
    /// Least γ with the compensator's own output weighted.
    gamma: f64,
    /// Greatest weighted error.
    peak: f64,
    /// K₁ at infinite frequency.
    gain: f64,
    /// 1/s, as pairs of real and imaginary parts.
    zeros: Vec<[f64; 2]>,
    /// 1/s, as pairs of real and imaginary parts.
    poles: Vec<[f64; 2]>,
    errors: Vec<Errors>,
}

/// Magnitudes of the relative error at a frequency.
#[derive(Serialize)]
struct Errors {
    /// Times the macro-step.
    normalized_frequency: f64,
    /// Hz.
    frequency: f64,
    hold: f64,
    linear: f64,
    quadratic: f64,
    h_infinity: f64,
}

/// Frequencies of the table, times the macro-step.
const FREQUENCIES: [f64; 9] = [0.001, 0.003, 0.01, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5];

impl Facts {
    fn new(design: &Design, macro_step: f64) -> Self {
        let TransferFunction { gain, zeros, poles } = design.in_seconds(macro_step);
        let pair = |root: &Complex| [root.re, root.im];
        let specification = &design.specification;
        let errors = |frequency: f64| Errors {
            normalized_frequency: frequency,
            frequency: frequency / macro_step,
            hold: hold_error(0, frequency),
            linear: hold_error(1, frequency),
            quadratic: hold_error(2, frequency),
            h_infinity: design.held_error(frequency),
        };
        Self {
            macro_step,
            weight_order: specification.weight_order,
            weight_cutoff: specification.weight_cutoff / macro_step,
            smoother_cutoff: specification
                .smoother_cutoff
                .map(|cutoff| cutoff / macro_step),
            control_weight: specification.control_weight,
            static_gain: specification.static_gain,
            gamma: design.gamma,
            peak: design.peak(),
            gain,
            zeros: zeros.iter().map(pair).collect(),
            poles: poles.iter().map(pair).collect(),
            errors: FREQUENCIES.map(errors).into(),
        }
    }

    fn render(&self) -> String {
        let weight = format!(
            "W{}, cut-off {} Hz",
            self.weight_order,
            short(self.weight_cutoff)
        );
        let smoother = self.smoother_cutoff.map_or("none".to_owned(), |cutoff| {
            format!("second order, cut-off {} Hz", short(cutoff))
        });
        let lines = [
            ("macro-step", format!("{} s", short(self.macro_step))),
            ("weight of the error", weight),
            ("smoother", smoother),
            ("control weight", short(self.control_weight)),
            ("gamma", short(self.gamma)),
            ("greatest weighted error", short(self.peak)),
            ("K1 at frequency 0", short(self.static_gain)),
            ("K1 at infinity", short(self.gain)),
        ];
        let mut text = String::new();
        for (name, value) in lines {
            text.push_str(&format!("{name:<24} {value}\n"));
        }
        text.push_str(&format!("\nK1(s) = {}", self.formula()));
        text.push_str("\n\n|error| of a signal by its frequency\n");
        text + &self.table()
    }

    fn formula(&self) -> String {
        format!(
            "{} {} / [{}]",
            short(self.gain),
            factors(&self.zeros),
            factors(&self.poles)
        )
    }

    fn table(&self) -> String {
        let columns = ["f*H", "f, Hz", "hold", "linear", "quadratic", "H-infinity"];
        let mut table = Aligned::new(&columns.map(|name| (name, Align::Right)));
        for errors in &self.errors {
            let row = [
                errors.normalized_frequency,
                errors.frequency,
                errors.hold,
                errors.linear,
                errors.quadratic,
                errors.h_infinity,
            ];
            table.row(row.map(short));
        }
        table.render()
    }
}

/// Real and quadratic factors: (s + a), (s^2 + b s + c).
fn factors(roots: &[[f64; 2]]) -> String {
    let factor = |[re, im]: &[f64; 2]| {
        if im.abs() < 1e-9 * re.abs() {
            Some(format!("(s + {})", short(-re)))
        } else {
            let (linear, constant) = (short(-2.0 * re), short(re * re + im * im));
            (*im > 0.0).then(|| format!("(s^2 + {linear} s + {constant})"))
        }
    };
    roots
        .iter()
        .filter_map(factor)
        .collect::<Vec<_>>()
        .join(" ")
}
