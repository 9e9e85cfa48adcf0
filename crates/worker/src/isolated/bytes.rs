//! Numbers and texts as bytes, little-endian; reading trusts nothing.

use serde::{Deserialize, Serialize};

/// The received bytes violate the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the other process sent malformed data")]
pub struct Malformed;

/// Reads a message from front to back.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Bytes that are not read yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    #[inline]
    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(Malformed)?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(Malformed)?;
        self.rest = rest;
        Ok(*taken)
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, Malformed> {
        self.array().map(|[byte]| byte)
    }

    /// 0 or 1, and nothing else.
    pub(super) fn flag(&mut self) -> Result<bool, Malformed> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed),
        }
    }

    #[inline]
    pub(super) fn word(&mut self) -> Result<u32, Malformed> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn integer(&mut self) -> Result<i32, Malformed> {
        self.array().map(i32::from_le_bytes)
    }

    pub(super) fn long(&mut self) -> Result<u64, Malformed> {
        self.array().map(u64::from_le_bytes)
    }

    #[inline]
    pub(super) fn real(&mut self) -> Result<f64, Malformed> {
        self.array().map(f64::from_le_bytes)
    }

    /// `count` numbers of `N` bytes.
    #[inline]
    pub(super) fn numbers<const N: usize>(
        &mut self,
        count: usize,
    ) -> Result<Numbers<'a, N>, Malformed> {
        let length = count.checked_mul(N).ok_or(Malformed)?;
        self.take(length).map(|bytes| Numbers { bytes })
    }

    /// Bytes after their number.
    pub(super) fn block(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.word()? as usize;
        self.take(length)
    }

    pub(super) fn text(&mut self) -> Result<&'a str, Malformed> {
        std::str::from_utf8(self.block()?).map_err(|_| Malformed)
    }

    /// A message of postcard, from the front of the rest.
    pub(super) fn postcard<T: Deserialize<'a>>(&mut self) -> Result<T, Malformed> {
        let (message, rest) = postcard::take_from_bytes(self.rest).map_err(|_| Malformed)?;
        self.rest = rest;
        Ok(message)
    }
}

/// Numbers of `N` bytes each, still as bytes: they may stand at any address.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Numbers<'a, const N: usize> {
    bytes: &'a [u8],
}

impl<const N: usize> Numbers<'_, N> {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.bytes.len() / N
    }

    #[inline]
    fn each(&self) -> impl ExactSizeIterator<Item = [u8; N]> + '_ {
        self.bytes.as_chunks::<N>().0.iter().copied()
    }
}

impl Numbers<'_, 8> {
    /// Copies to `target`; false if that has another length.
    #[inline]
    #[must_use]
    pub(super) fn copy_to(&self, target: &mut [f64]) -> bool {
        for (target, bytes) in target.iter_mut().zip(self.each()) {
            *target = f64::from_le_bytes(bytes);
        }
        self.len() == target.len()
    }

    #[inline]
    pub(super) fn reals(&self, target: &mut Vec<f64>) {
        target.clear();
        target.extend(self.each().map(f64::from_le_bytes));
    }
}

impl Numbers<'_, 4> {
    #[inline]
    pub(super) fn words(&self, target: &mut Vec<u32>) {
        target.clear();
        target.extend(self.each().map(u32::from_le_bytes));
    }

    #[inline]
    pub(super) fn integers(&self, target: &mut Vec<i32>) {
        target.clear();
        target.extend(self.each().map(i32::from_le_bytes));
    }
}

/// Appends to a message.
pub(super) trait Put {
    fn word(&mut self, word: u32);
    fn long(&mut self, long: u64);
    fn real(&mut self, real: f64);
    fn reals(&mut self, reals: &[f64]);
    fn words(&mut self, words: &[u32]);
    fn integers(&mut self, integers: &[i32]);
    fn block(&mut self, bytes: &[u8]);
    fn postcard(&mut self, message: &impl Serialize);
}

impl Put for Vec<u8> {
    #[inline]
    fn word(&mut self, word: u32) {
        self.extend_from_slice(&word.to_le_bytes());
    }

    fn long(&mut self, long: u64) {
        self.extend_from_slice(&long.to_le_bytes());
    }

    #[inline]
    fn real(&mut self, real: f64) {
        self.extend_from_slice(&real.to_le_bytes());
    }

    #[inline]
    fn reals(&mut self, reals: &[f64]) {
        put_each(self, reals, f64::to_le_bytes);
    }

    #[inline]
    fn words(&mut self, words: &[u32]) {
        put_each(self, words, u32::to_le_bytes);
    }

    fn integers(&mut self, integers: &[i32]) {
        put_each(self, integers, i32::to_le_bytes);
    }

    fn block(&mut self, bytes: &[u8]) {
        self.word(length(bytes.len()));
        self.extend_from_slice(bytes);
    }

    fn postcard(&mut self, message: &impl Serialize) {
        // It fails for values of unknown length only, which no message has.
        if let Ok(bytes) = postcard::to_extend(message, std::mem::take(self)) {
            *self = bytes;
        }
    }
}

/// Makes room once and fills it: some times faster than adding one number after the other.
#[inline]
fn put_each<T: Copy, const N: usize>(
    bytes: &mut Vec<u8>,
    numbers: &[T],
    encode: impl Fn(T) -> [u8; N],
) {
    let start = bytes.len();
    bytes.resize(start + numbers.len() * N, 0);
    let (room, _) = bytes[start..].as_chunks_mut::<N>();
    for (room, number) in room.iter_mut().zip(numbers) {
        *room = encode(*number);
    }
}

/// A length as it is sent. Longer than 4 GiB is refused by the channel, which says so.
pub(super) fn length(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
