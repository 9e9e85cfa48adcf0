//! A sine of growing frequency, sent every 10 ms and received: Chen et al. (2021), section 3.4.
//!
//! No coupled system: the error of the channel alone, NRMS over 20 s, for hold, polynomials, the
//! compensators that the paper prints (eqs 13 and 14) and compensators of the own synthesis. Sender
//! and receiver step by 1 ms. Limit: eqs 13 and 14 lack a gain as printed, which is chosen so that
//! a constant passes with the paper's 1 − γ (docs/h-infinity.md).

use std::f64::consts::PI;

use gyrator::h_infinity::{Complex, Specification, TransferFunction};

use crate::benchmark::{Benchmark, Case, MeasureError, Progress, nothing_more};
use crate::channel::{Channel, Steps};
use crate::figures;
use crate::metrics::rms;
use crate::role::RoleAssignment;
use crate::row::{BenchmarkRow, Metric};

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: "sweep-signal",
    summary: "a sine of growing frequency that is sent every 10 ms: the error of the received signal",
    source: "Chen et al. 2021, section 3.4, eqs 13 and 14",
    roles: &[],
    cases: &[
        Case::new("30Hz", "from 0.001 to 30 Hz in 20 s, as in figure 5"),
        Case::new("10Hz", "from 0.001 to 10 Hz in 20 s"),
        Case::new("3Hz", "from 0.001 to 3 Hz in 20 s"),
    ],
    measure,
    figures: figures::h_infinity::figures,
    conclude: nothing_more,
};

const ERROR: Metric = Metric::figure("NRMS", "");

/// Macro-step, and step of sender and receiver, s.
const STEPS: Steps = Steps {
    exchange: 0.01,
    sender: MICRO_STEP,
    receiver: MICRO_STEP,
};
const MICRO_STEP: f64 = 1e-3;
const PARTS: u32 = 10;
/// Duration, s.
const STOP: f64 = 20.0;

const CHANNELS: [&str; 6] = [
    "hold",
    "linear",
    "quadratic",
    "h-infinity, eq. 13",
    "h-infinity, eq. 14",
    "h-infinity, own synthesis",
];

/// The compensator of eq. 13, in seconds. As printed it lacks a gain; its real zeros and poles, which
/// nearly cancel each other, are left out, as in `reference/sweep_signal.py`.
fn equation_13() -> TransferFunction {
    printed(
        0.983,
        [[599.9, 1.2e5], [444.3, 9.87e4]],
        [[2240.0, 1.392e6], [774.8, 7.154e5]],
    )
}

/// The compensator of eq. 14, for a smoother of 30 Hz, likewise.
fn equation_14() -> TransferFunction {
    printed(
        0.9797,
        [[600.0, 1.2e5], [266.6, 3.553e4]],
        [[1870.0, 9.674e5], [617.6, 5.111e5]],
    )
}

/// From the factors s² + b·s + c of numerator and denominator, and the value at s = 0.
fn printed(static_gain: f64, zeros: [[f64; 2]; 2], poles: [[f64; 2]; 2]) -> TransferFunction {
    let pair = |[b, c]: [f64; 2]| {
        let root = Complex::new(0.25 * b * b - c, 0.0).sqrt();
        [root - 0.5 * b, -root - 0.5 * b]
    };
    let function = TransferFunction {
        gain: 1.0,
        zeros: zeros.into_iter().flat_map(pair).collect(),
        poles: poles.into_iter().flat_map(pair).collect(),
    };
    function.with_static_gain(static_gain)
}

fn channel(name: &str) -> Result<Option<Channel>, MeasureError> {
    Ok(match name {
        "hold" => Some(Channel::polynomial(0)),
        "linear" => Some(Channel::polynomial(1)),
        "quadratic" => Some(Channel::polynomial(2)),
        "h-infinity, eq. 13" => Channel::with(&equation_13(), 50.0, STEPS),
        "h-infinity, eq. 14" => Channel::with(&equation_14(), 30.0, STEPS),
        _ => {
            let paper = Specification {
                static_gain: 0.983,
                ..Specification::of_order(1)
            };
            Some(Channel::compensated(&paper.design()?, STEPS))
        }
    })
}

/// Sent, received and held values, step by step, each with its time, s.
pub(crate) struct Reception {
    pub(crate) times: Vec<f64>,
    pub(crate) sent: Vec<f64>,
    pub(crate) received: Vec<f64>,
}

/// Sends a sine whose frequency grows to `frequency`, Hz.
fn reception(mut channel: Channel, frequency: f64) -> Reception {
    const FIRST: f64 = 0.001;
    let signal = |time: f64| {
        let turns = FIRST * time + (frequency - FIRST) * time * time / (2.0 * STOP);
        (2.0 * PI * turns).sin()
    };
    let steps = (STOP / MICRO_STEP).round() as u32;
    let times: Vec<f64> = (0..steps)
        .map(|step| f64::from(step) * MICRO_STEP)
        .collect();
    let sent: Vec<f64> = times.iter().map(|time| signal(*time)).collect();
    let receive = |(step, sent): (u32, &f64)| {
        if step.is_multiple_of(PARTS) {
            channel.send(*sent);
        }
        let received = channel.value(f64::from(step % PARTS) / f64::from(PARTS));
        channel.advance_sender(*sent);
        channel.advance_receiver();
        received
    };
    let received = (0..).zip(&sent).map(receive).collect();
    Reception {
        times,
        sent,
        received,
    }
}

/// The sweep to 30 Hz as received over the channel of that name.
pub(crate) fn reception_of(name: &str) -> Result<Option<Reception>, MeasureError> {
    Ok(channel(name)?.map(|channel| reception(channel, 30.0)))
}

fn measure(
    _: &RoleAssignment,
    case: &'static Case,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    let frequency = match case.name {
        "30Hz" => 30.0,
        "10Hz" => 10.0,
        _ => 3.0,
    };
    for name in CHANNELS {
        let Some(channel) = channel(name)? else {
            continue;
        };
        let Reception { sent, received, .. } = reception(channel, frequency);
        let errors = sent
            .iter()
            .zip(&received)
            .map(|(sent, received)| received - sent);
        // The signal has a range of 2.
        progress.add(name, [BenchmarkRow::new(ERROR, 0.5 * rms(errors))]);
    }
    Ok(())
}
