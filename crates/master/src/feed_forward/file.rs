//! Feed-forward as text: comment lines that describe the learned system, then a CSV table with a
//! row per macro-step.
//!
//! ```text
//! # gyrator feed-forward 1
//! # start_time 0.0
//! # macro_step 0.001
//! # exchange fresh force
//! # run 2 0.0125 0.0008
//! # channel motion.f
//! # from force.f
//! # step 0.001
//! # delayed yes
//! # degree 0
//! time,"motion.f"
//! 0.0,0.0
//! 0.001,19.988
//! ```
//!
//! The line `run` has the number of the run from which it was learned, and ‖e‖₂ and max |e| of that; only what was learned from a
//! recorded run has it. The lines `from`, `step` (communication step of the input's component, s), `delayed` and `degree`
//! belong to the `channel` above them. A channel of degree n has n + 1 columns: the coefficients of
//! 1, s, … sⁿ, s being the time since the start of the macro-step. Numbers have all digits that
//! are needed to read the same bits again.

use std::fmt;
use std::str::FromStr;

use gyrator_record::is_same_time;

use super::{Channel, FeedForward, Origin};
use crate::curve::Curve;
use crate::exchange::exchange_of;

const TITLE: &str = "# gyrator feed-forward 1";

/// Text that does not describe a feed-forward.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct FeedForwardError {
    /// Number of the line, from 1 on.
    pub line: usize,
    /// The error there.
    pub message: String,
}

impl fmt::Display for FeedForward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{TITLE}")?;
        writeln!(f, "# start_time {:?}", self.start_time)?;
        writeln!(f, "# macro_step {:?}", self.macro_step)?;
        for (component, mode) in &self.exchange {
            writeln!(f, "# exchange {} {component}", mode.word())?;
        }
        if let Some(origin) = &self.origin {
            let Origin {
                number,
                norm_2,
                max,
            } = origin;
            writeln!(f, "# run {number} {norm_2:?} {max:?}")?;
        }
        for channel in &self.channels {
            writeln!(f, "# channel {}", channel.input)?;
            writeln!(f, "# from {}", channel.output)?;
            writeln!(f, "# step {:?}", channel.step)?;
            let delayed = if channel.is_delayed { "yes" } else { "no" };
            writeln!(f, "# delayed {delayed}")?;
            writeln!(f, "# degree {}", channel.degree)?;
        }
        self.write_table(f)
    }
}

impl FeedForward {
    fn write_table(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("time")?;
        for channel in &self.channels {
            let name = channel.input.replace('"', "\"\"");
            write!(f, ",\"{name}\"")?;
            for order in 1..=channel.degree {
                write!(f, ",\"{name} [s^{order}]\"")?;
            }
        }
        writeln!(f)?;
        for step in 0..self.steps {
            write!(f, "{:?}", self.time(step))?;
            for channel in &self.channels {
                let curve = channel.curves.get(step).copied().unwrap_or_default();
                for coefficient in &curve.coefficients[..=channel.degree] {
                    write!(f, ",{coefficient:?}")?;
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }

    fn time(&self, step: usize) -> f64 {
        self.start_time + step as f64 * self.macro_step
    }
}

impl FromStr for FeedForward {
    type Err = FeedForwardError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut read = Self {
            start_time: f64::NAN,
            macro_step: f64::NAN,
            steps: 0,
            channels: Vec::new(),
            exchange: Vec::new(),
            origin: None,
        };
        let mut lines = text.lines().zip(1..);
        let is_title = |line: &str| line.trim_end() == TITLE;
        if !lines.next().is_some_and(|(first, _)| is_title(first)) {
            return Err(refuse(
                1,
                format!("no feed-forward: the first line is not `{TITLE}`"),
            ));
        }
        let mut headings = 0;
        for (line, number) in lines {
            let result = match line.strip_prefix("# ") {
                Some(entry) => read.read_entry(entry),
                None if headings == 0 => {
                    headings = number;
                    read.check_header()
                }
                None => read.read_row(line),
            };
            result.map_err(|message| refuse(number, message))?;
        }
        if headings == 0 {
            return Err(refuse(
                text.lines().count(),
                "the table is missing".to_owned(),
            ));
        }
        Ok(read)
    }
}

fn refuse(line: usize, message: String) -> FeedForwardError {
    FeedForwardError { line, message }
}

fn number(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok();
    number
        .filter(|number: &f64| number.is_finite())
        .ok_or_else(|| format!("`{text}` is not a finite number"))
}

/// Greatest number of a run: numbers that follow it do not overflow.
const MOST_RUNS: u32 = 1_000_000_000;

fn origin(text: &str) -> Result<Origin, String> {
    let parts: Vec<&str> = text.split(' ').collect();
    let [run, norm_2, max] = parts[..] else {
        return Err(format!(
            "`{text}` is not the number of a run and its two errors"
        ));
    };
    let run = run.parse().ok().filter(|run| *run <= MOST_RUNS);
    Ok(Origin {
        number: run.ok_or_else(|| format!("`{text}` begins with no number of a run"))?,
        norm_2: number(norm_2)?,
        max: number(max)?,
    })
}

impl FeedForward {
    fn read_entry(&mut self, entry: &str) -> Result<(), String> {
        let (key, value) = entry.split_once(' ').unwrap_or((entry, ""));
        let value = value.trim_end_matches('\r');
        match key {
            "start_time" => self.start_time = number(value)?,
            "macro_step" => self.macro_step = number(value)?,
            "exchange" => {
                let (word, component) = value.split_once(' ').unwrap_or((value, ""));
                let mode =
                    exchange_of(word).ok_or_else(|| format!("`{word}` is not an exchange mode"))?;
                self.exchange.push((component.to_owned(), mode));
            }
            "run" => self.origin = Some(origin(value)?),
            "channel" => self.channels.push(Channel {
                input: value.to_owned(),
                output: String::new(),
                step: f64::NAN,
                is_delayed: false,
                degree: 0,
                curves: Vec::new(),
            }),
            _ => self.read_channel_entry(key, value)?,
        }
        Ok(())
    }

    fn read_channel_entry(&mut self, key: &str, value: &str) -> Result<(), String> {
        let unknown = || format!("`{key}` is unknown, or stands before the first channel");
        let channel = self.channels.last_mut().ok_or_else(unknown)?;
        match key {
            "from" => value.clone_into(&mut channel.output),
            "step" => channel.step = number(value)?,
            "delayed" => {
                channel.is_delayed = match value {
                    "yes" => true,
                    "no" => false,
                    _ => return Err(format!("`{value}` is neither yes nor no")),
                }
            }
            "degree" => {
                let degree = value.parse().ok().filter(|degree| *degree <= 3);
                channel.degree =
                    degree.ok_or_else(|| format!("`{value}` is not a degree from 0 to 3"))?;
            }
            _ => return Err(unknown()),
        }
        Ok(())
    }

    /// The columns follow from the lines above the table.
    fn check_header(&self) -> Result<(), String> {
        let missing = |what: &str| Err(format!("`# {what} …` is missing above the table"));
        if self.start_time.is_nan() {
            return missing("start_time");
        }
        if self.macro_step.is_nan() {
            return missing("macro_step");
        }
        match self.channels.iter().find(|channel| channel.step.is_nan()) {
            Some(_) => missing("step"),
            None => Ok(()),
        }
    }

    fn read_row(&mut self, line: &str) -> Result<(), String> {
        let expected = self.time(self.steps);
        let mut cells = line.split(',');
        let time = number(cells.next().unwrap_or_default())?;
        if !is_same_time(time, expected, self.macro_step) {
            return Err(format!(
                "the time is {time} s; this row is that of {expected} s"
            ));
        }
        for channel in &mut self.channels {
            let mut curve = Curve::default();
            for coefficient in &mut curve.coefficients[..=channel.degree] {
                *coefficient = number(cells.next().ok_or("the row has too few numbers")?)?;
            }
            channel.curves.push(curve);
        }
        if cells.next().is_some() {
            return Err("the row has too many numbers".to_owned());
        }
        self.steps += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange_mode::Exchange;

    fn sample() -> FeedForward {
        let channel = |input: &str, degree: usize, curves: [Curve; 2]| Channel {
            input: input.to_owned(),
            output: "left.out \"put\", 1".to_owned(),
            step: 1e-4,
            is_delayed: degree == 0,
            degree,
            curves: curves.to_vec(),
        };
        let cubic = Curve {
            coefficients: [0.1 + 0.2, -1e-300, 5e-324, f64::MAX],
        };
        FeedForward {
            start_time: -0.1,
            macro_step: 1e-3 / 3.0,
            steps: 2,
            channels: vec![
                channel(
                    "right.a b",
                    0,
                    [Curve::constant(-0.0), Curve::constant(1.0 / 3.0)],
                ),
                channel("right.c,d", 3, [Curve::default(), cubic]),
            ],
            exchange: vec![("left side".to_owned(), Exchange::COMPENSATED)],
            origin: Some(Origin {
                number: 3,
                norm_2: 1.0 / 7.0,
                max: 5e-324,
            }),
        }
    }

    #[test]
    fn text_keeps_every_bit() {
        let text = sample().to_string();
        let read: FeedForward = text.parse().unwrap();
        assert_eq!(read, sample());
        assert_eq!(read.to_string(), text);
        assert_eq!(
            text.replace('\n', "\r\n")
                .parse::<FeedForward>()
                .unwrap()
                .steps,
            2
        );
    }

    #[track_caller]
    fn expect(text: &str, line: usize, message: &str) {
        let error = text.parse::<FeedForward>().unwrap_err();
        assert_eq!(error.line, line, "{error}");
        assert!(error.message.contains(message), "{error}");
    }

    #[test]
    fn other_text_is_refused_with_its_line() {
        let text = sample().to_string();
        expect("", 1, "first line");
        expect("time,f\n0,1\n", 1, "first line");
        expect(
            &text.replace("# macro_step", "# macro"),
            3,
            "`macro` is unknown",
        );
        expect(
            &text.replace("compensated", "guess"),
            4,
            "`guess` is not an exchange mode",
        );
        expect(
            &text.replace("# degree 3", "# degree 4"),
            15,
            "`4` is not a degree",
        );
        expect(
            &text.replace("# delayed no", "# delayed"),
            14,
            "neither yes nor no",
        );
        expect(&text.replace("# step 0.0001\n", ""), 14, "step");
        expect(&text.replace("0.0,0.0\n", "0.0\n"), 17, "too few");
        expect(&text.replace("0.0,0.0\n", "0.0,0.0,1\n"), 17, "too many");
        expect(&text.replace("0.3000", "x.3000"), 18, "not a finite number");
        expect(&text.replace("-0.1,", "7,"), 17, "the time is 7 s");
        expect(
            &text.replace("# run 3 ", "# run -3 "),
            5,
            "no number of a run",
        );
        expect(&text.replace("# run 3 ", "# run "), 5, "its two errors");
        let table = text.find("time,").unwrap();
        expect(&text[..table], 15, "the table is missing");
    }
}
