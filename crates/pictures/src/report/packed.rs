//! Numbers as 32-bit floats, compressed, in base64.
//!
//! 20 columns of 2000 floats are 213 kB in base64, beside 54 kB of uPlot: the tables of a large system would not fit
//! into 300 kB any more. Deflate with equal bytes of all floats together takes a fifth off noise and half off smooth
//! signals, and browsers have had `DecompressionStream` since 2023.

use std::io::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde_json::{Value, json};

/// Numbers as `offset + scale · x`, x being 32-bit floats. The scale is a power of two, so that it rounds nothing; with
/// both no number is too large or too small for 32 bits. The lowest bytes of all come first, then the next ones, which
/// deflate (RFC 1951) makes shorter than numbers one after the other; that in base64.
pub(crate) fn packed(values: &[f64]) -> Value {
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let distance = |offset: f64| {
        finite()
            .map(|value| (value - offset).abs())
            .fold(0.0, f64::max)
    };
    let first = finite().next().unwrap_or(0.0);
    // Numbers near the ends of the range of doubles.
    let offset = if distance(first).is_finite() {
        first
    } else {
        0.0
    };
    let scale = power_of_two(distance(offset));
    let floats: Vec<[u8; 4]> = values
        .iter()
        .map(|value| (((value - offset) / scale) as f32).to_le_bytes())
        .collect();
    let bytes: Vec<u8> = (0..4)
        .flat_map(|byte| floats.iter().map(move |float| float[byte]))
        .collect();
    json!({ "offset": offset, "scale": scale, "values": BASE64_STANDARD.encode(deflated(&bytes)) })
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    // A list in memory takes any bytes.
    written.unwrap_or_default()
}

/// The power of two below a distance.
fn power_of_two(distance: f64) -> f64 {
    match distance > 0.0 && distance.is_finite() {
        true => distance.log2().floor().clamp(-1022.0, 1023.0).exp2(),
        false => 1.0,
    }
}

/// Times as their number, the first and the last one, with the others if they are not evenly spaced.
pub(crate) fn packed_times(times: &[f64]) -> Value {
    let (Some(from), Some(to)) = (times.first(), times.last()) else {
        return json!({ "from": 0.0, "to": 0.0, "count": 0 });
    };
    let step = (to - from) / (times.len() as f64 - 1.0).max(1.0);
    // The thousandth part of a step shows nowhere.
    let is_even =
        |(index, time): (usize, &f64)| (from + index as f64 * step - time).abs() <= 1e-3 * step;
    let mut json = json!({ "from": from, "to": to, "count": times.len() });
    if !times.iter().enumerate().all(is_even) {
        let offsets: Vec<f64> = times.iter().map(|time| time - from).collect();
        json["offsets"] = packed(&offsets);
    }
    json
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::DeflateDecoder;

    use super::*;

    fn unpacked(json: &Value) -> Vec<f64> {
        let text = json["values"].as_str().unwrap();
        let mut bytes = Vec::new();
        let deflated = BASE64_STANDARD.decode(text).unwrap();
        DeflateDecoder::new(&*deflated)
            .read_to_end(&mut bytes)
            .unwrap();
        let count = bytes.len() / 4;
        let (offset, scale) = (
            json["offset"].as_f64().unwrap(),
            json["scale"].as_f64().unwrap(),
        );
        let float = |k: usize| f32::from_le_bytes([0, 1, 2, 3].map(|byte| bytes[byte * count + k]));
        (0..count)
            .map(|k| offset + scale * f64::from(float(k)))
            .collect()
    }

    /// 24 bits of the greatest distance from the first number are kept, whatever its size.
    #[test]
    fn numbers_of_any_size_keep_seven_digits() {
        for values in [
            vec![0.0, 1.5, -2.0],
            vec![1e5, 1e5 + 1e-6, 1e5 - 3e-6],
            vec![0.0, 1e300, -1e290],
            vec![1.7e308, -1.7e308, 0.0],
            vec![0.0, 3e-310],
            vec![7.0, 7.0],
        ] {
            let read = unpacked(&packed(&values));
            let distances = values
                .iter()
                .map(|value| (value / 2.0 - values[0] / 2.0).abs());
            let distance = distances.fold(0.0, f64::max);
            let rounding = values[0].abs() * f64::EPSILON + 1e-315;
            for (value, read) in values.iter().zip(&read) {
                let error = (value / 2.0 - read / 2.0).abs();
                assert!(error <= distance / 8e6 + rounding, "{value} became {read}");
            }
        }
        assert!(unpacked(&packed(&[1.0, f64::NAN, f64::INFINITY]))[1].is_nan());
    }

    #[test]
    fn even_times_need_no_list() {
        let even: Vec<f64> = (0..10).map(|k| f64::from(k) * 0.1).collect();
        assert!(packed_times(&even)["offsets"].is_null());
        let uneven = packed_times(&[1.0, 1.5, 3.0]);
        assert_eq!(unpacked(&uneven["offsets"]), [0.0, 0.5, 2.0]);
        assert_eq!(packed_times(&[1.0])["count"], 1);
        assert_eq!(packed_times(&[])["count"], 0);
    }
}
