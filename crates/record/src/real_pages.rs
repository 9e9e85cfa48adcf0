//! Columns of reals as chunks of a Parquet file: encoded, compressed and measured here, since the values of a run pass through it while
//! it makes its steps. The library takes more than twice as long.
//!
//! Values, ranges and sizes are the same as `parquet` writes. One encoder of Snappy serves all columns. Figures:
//! docs/dev/speed.md.

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, PageType};
use parquet::column::page::{CompressedPage, Page, PageWriter as _};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, PageEncodingStats};
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

/// Most values of a page, as the library has it.
const PAGE: usize = 20_000;

/// Values whose bytes are sorted at once: as many as a register of SSE2 or NEON has bytes.
const TILE: usize = 16;

/// Values that are compared side by side.
const LANES: usize = 16;

/// Makes chunks, one after the other.
pub(crate) struct RealPages {
    split: Vec<u8>,
    compressed: Vec<u8>,
    encoder: snap::raw::Encoder,
}

impl RealPages {
    pub(crate) fn new() -> Self {
        Self {
            split: Vec::new(),
            compressed: Vec::new(),
            encoder: snap::raw::Encoder::new(),
        }
    }

    /// The bytes of a chunk of a required column, and the facts about it.
    ///
    /// # Errors
    ///
    /// An error of the library.
    pub(crate) fn chunk(
        &mut self,
        column: ColumnDescPtr,
        values: &[f64],
    ) -> Result<(Bytes, ColumnCloseResult), ParquetError> {
        let mut chunk = TrackedWrite::new(Vec::with_capacity(size_of_val(values) / 2));
        let (mut uncompressed, mut pages) = (0, 0);
        for page in values.chunks(PAGE) {
            let spec = SerializedPageWriter::new(&mut chunk).write_page(self.page(page)?)?;
            uncompressed += spec.uncompressed_size;
            pages += 1;
        }
        let bytes = chunk.into_inner()?;
        let of_pages = PageEncodingStats {
            page_type: PageType::DATA_PAGE,
            encoding: Encoding::BYTE_STREAM_SPLIT,
            count: pages,
        };
        let metadata = ColumnChunkMetaData::builder(column)
            .set_compression(Compression::SNAPPY)
            // The library names the encoding of levels also if there are none.
            .set_encodings(vec![Encoding::RLE, Encoding::BYTE_STREAM_SPLIT])
            .set_page_encoding_stats(vec![of_pages])
            .set_total_compressed_size(bytes.len() as i64)
            .set_total_uncompressed_size(uncompressed as i64)
            .set_num_values(values.len() as i64)
            .set_data_page_offset(0)
            .set_statistics(statistics(values))
            .build()?;
        let result = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: values.len() as u64,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok((bytes.into(), result))
    }

    fn page(&mut self, values: &[f64]) -> Result<CompressedPage, ParquetError> {
        split_streams(values, &mut self.split);
        let most = snap::raw::max_compress_len(self.split.len());
        if self.compressed.len() < most {
            self.compressed.resize(most, 0);
        }
        let length = self.encoder.compress(&self.split, &mut self.compressed);
        let length = length.map_err(|error| ParquetError::External(Box::new(error)))?;
        let page = Page::DataPage {
            buf: Bytes::copy_from_slice(&self.compressed[..length]),
            num_values: values.len() as u32,
            encoding: Encoding::BYTE_STREAM_SPLIT,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        Ok(CompressedPage::new(page, self.split.len()))
    }
}

/// The first bytes of all values, then their second bytes and so on (Parquet's encoding `BYTE_STREAM_SPLIT`).
fn split_streams(values: &[f64], bytes: &mut Vec<u8>) {
    bytes.resize(size_of_val(values), 0);
    let bytes = bytes.as_mut_slice();
    let count = values.len();
    let (tiles, rest) = values.as_chunks();
    for (place, tile) in tiles.iter().enumerate() {
        for (stream, part) in streams(tile).as_chunks().0.iter().enumerate() {
            if let Some(target) = bytes[stream * count + TILE * place..].first_chunk_mut::<TILE>() {
                *target = *part;
            }
        }
    }
    for (place, value) in (TILE * tiles.len()..).zip(rest) {
        for (stream, byte) in value.to_le_bytes().iter().enumerate() {
            bytes[stream * count + place] = *byte;
        }
    }
}

/// The streams of a tile, one after the other. Byte `b` of value `v` has the place `8 v + b`, of seven binary digits, and gets the place
/// `16 b + v`: the same digits turned by four. Each interleaving turns them by one.
#[inline(always)]
fn streams(tile: &[f64; TILE]) -> [u8; 8 * TILE] {
    let mut bytes = [0; 8 * TILE];
    for (target, value) in bytes.as_chunks_mut().0.iter_mut().zip(tile) {
        *target = value.to_le_bytes();
    }
    interleaved(interleaved(interleaved(interleaved(bytes))))
}

/// The bytes of both halves in turn: the vectors of all processors have instructions of that kind.
#[inline(always)]
fn interleaved(bytes: [u8; 8 * TILE]) -> [u8; 8 * TILE] {
    let mut turned = [0; 8 * TILE];
    for place in 0..4 * TILE {
        turned[2 * place] = bytes[place];
        turned[2 * place + 1] = bytes[4 * TILE + place];
    }
    turned
}

/// The range without NaN, in the total order of IEEE 754, and the number of NaN.
fn statistics(values: &[f64]) -> Statistics {
    let mut least = [f64::INFINITY; LANES];
    let mut greatest = [f64::NEG_INFINITY; LANES];
    let mut missing = [0_u64; LANES];
    let (groups, rest) = values.as_chunks::<LANES>();
    // Comparisons with NaN are false.
    let lesser = |one: f64, other: f64| if one < other { one } else { other };
    let greater = |one: f64, other: f64| if one > other { one } else { other };
    for group in groups {
        for lane in 0..LANES {
            least[lane] = lesser(group[lane], least[lane]);
            greatest[lane] = greater(group[lane], greatest[lane]);
            missing[lane] += u64::from(group[lane].is_nan());
        }
    }
    let with_rest = |lanes: [f64; LANES]| lanes.into_iter().chain(rest.iter().copied());
    let least = with_rest(least).fold(f64::INFINITY, |least, value| lesser(value, least));
    let greatest = with_rest(greatest).fold(f64::NEG_INFINITY, |most, value| greater(value, most));
    let missing =
        missing.iter().sum::<u64>() + rest.iter().filter(|value| value.is_nan()).count() as u64;
    let has = |zero: f64| values.iter().any(|value| value.to_bits() == zero.to_bits());
    // Both zeros are equal, and -0 is the lesser of them.
    let least = if least == 0.0 && has(-0.0) {
        -0.0
    } else {
        least
    };
    let greatest = if greatest == 0.0 && has(0.0) {
        0.0
    } else {
        greatest
    };
    let is_there = missing < values.len() as u64;
    let (least, greatest) = (is_there.then_some(least), is_there.then_some(greatest));
    ValueStatistics::new(least, greatest, None, Some(0), false)
        .with_nan_count(Some(missing))
        .with_backwards_compatible_min_max(true)
        .into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use parquet::data_type::DoubleType;
    use parquet::file::reader::{FileReader as _, SerializedFileReader};

    use crate::columnar::{CellValues, Cells, TableHead};
    use crate::parquet_writer::ParquetWriter;
    use crate::sink::{Column, ColumnType};

    use super::*;

    fn file(values: &[f64], is_complete: bool) -> SerializedFileReader<Bytes> {
        let head = TableHead {
            columns: &[Column::new("x", ColumnType::Real)],
            metadata: &BTreeMap::new(),
            is_complete,
        };
        let mut writer = ParquetWriter::with_head(Vec::new(), head).unwrap();
        let cells = Cells::from(CellValues::Real(values.to_vec()));
        writer.write(&[cells]).unwrap();
        SerializedFileReader::new(writer.finish().unwrap().into()).unwrap()
    }

    fn values(reader: &SerializedFileReader<Bytes>) -> Vec<u64> {
        let group = reader.get_row_group(0).unwrap();
        let column = group.get_column_reader(0).unwrap();
        let mut column = parquet::column::reader::get_typed_column_reader::<DoubleType>(column);
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        let rows = usize::try_from(group.metadata().num_rows()).unwrap();
        let read = column.read_records(rows, Some(&mut levels), None, &mut values);
        assert_eq!(read.unwrap().0, rows);
        values.iter().map(|value| value.to_bits()).collect()
    }

    #[test]
    fn columns_are_those_that_the_library_writes() {
        let payload = f64::from_bits(0x7ff4_0000_0000_0001);
        let waves = |count: u32| (0..count).map(|row| (f64::from(row) * 0.01).sin());
        let tables: [Vec<f64>; 9] = [
            vec![],
            vec![payload],
            vec![0.0, -f64::NAN, 0.0, -0.0],
            vec![-0.0; 9],
            vec![0.0; 16],
            vec![f64::NEG_INFINITY, f64::INFINITY, 1e-310, payload, -5.5],
            vec![-f64::MAX; 23],
            waves(20_007).collect(),
            waves(41_003).chain([payload, 1e300]).collect(),
        ];
        for table in tables {
            let (own, other) = (file(&table, true), file(&table, false));
            let bits: Vec<u64> = table.iter().map(|value| value.to_bits()).collect();
            assert_eq!(values(&own), bits);
            assert_eq!(values(&other), bits);
            let facts = |reader: &SerializedFileReader<Bytes>| {
                let chunk = reader.metadata().row_group(0).column(0).clone();
                let statistics = chunk.statistics().unwrap().clone();
                let range = (statistics.min_bytes_opt(), statistics.max_bytes_opt());
                let has_range = statistics.nan_count_opt() < Some(table.len() as u64);
                let range =
                    has_range.then(|| (range.0.map(<[u8]>::to_vec), range.1.map(<[u8]>::to_vec)));
                let counts = (statistics.null_count_opt(), statistics.nan_count_opt());
                let (count, codec) = (chunk.num_values(), chunk.compression_codec());
                (range, counts, count, codec)
            };
            assert_eq!(facts(&own), facts(&other), "{} values", table.len());
        }
    }
}
