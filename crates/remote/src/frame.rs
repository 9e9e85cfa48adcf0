//! Frames of the gRPC stream: a protobuf message of one field (`proto/host.proto`).

use bytes::{Buf, BufMut, Bytes};
use prost::encoding::{self, DecodeContext, WireType};
use prost::{DecodeError, Message};
use tonic::Status;
use tonic::codec::{BufferSettings, Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};

/// Bytes that a frame has room for at first; steps of most components take less.
const USUAL: usize = 1 << 10;

/// Longest part of a message, bytes.
pub(crate) const PART: usize = 1 << 20;
/// Longest frame, bytes: a part of a message, with its kind.
pub(crate) const LONGEST: usize = PART + 64;

/// A message, or a part of one.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Frame {
    pub(crate) content: Bytes,
}

impl Message for Frame {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        encoding::bytes::encode(1, &self.content, buf);
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        match tag {
            1 => encoding::bytes::merge(wire_type, &mut self.content, buf, ctx),
            _ => encoding::skip_field(wire_type, tag, buf, ctx),
        }
    }

    fn encoded_len(&self) -> usize {
        encoding::bytes::encoded_len(1, &self.content)
    }

    fn clear(&mut self) {
        self.content.clear();
    }
}

/// Writes and reads frames.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Frames;

impl Codec for Frames {
    type Encode = Frame;
    type Decode = Frame;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self
    }

    fn decoder(&mut self) -> Self {
        Self
    }
}

impl Encoder for Frames {
    type Item = Frame;
    type Error = Status;

    fn encode(&mut self, frame: Frame, buf: &mut EncodeBuf<'_>) -> Result<(), Status> {
        let encoded = frame.encode(buf);
        encoded.map_err(|error| Status::internal(error.to_string()))
    }

    fn buffer_settings(&self) -> BufferSettings {
        BufferSettings::new(USUAL, LONGEST)
    }
}

impl Decoder for Frames {
    type Item = Frame;
    type Error = Status;

    fn decode(&mut self, buf: &mut DecodeBuf<'_>) -> Result<Option<Frame>, Status> {
        let frame = Frame::decode(buf);
        let frame = frame.map_err(|_| Status::invalid_argument("a frame is malformed"))?;
        Ok(Some(frame))
    }

    fn buffer_settings(&self) -> BufferSettings {
        BufferSettings::new(USUAL, LONGEST)
    }
}
