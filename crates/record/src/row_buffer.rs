//! Bytes of rows that are collected before they are written.

/// Bytes that grow at the end and are removed at the front. Room is given out as a slice that was initialised before: a short
/// text is put there without a call for each.
#[derive(Debug, Default)]
pub(crate) struct RowBuffer {
    /// Bytes after `length` are left over.
    bytes: Vec<u8>,
    length: usize,
}

impl RowBuffer {
    /// Room for so many bytes.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self {
            bytes: vec![0; capacity],
            length: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.length
    }

    #[cfg(test)]
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// The bytes from a place on.
    #[cfg(feature = "parquet")]
    pub(crate) fn tail_mut(&mut self, begin: usize) -> &mut [u8] {
        &mut self.bytes[begin..self.length]
    }

    /// Appends doubles as the memory has them, little-endian.
    #[inline]
    pub(crate) fn push_doubles(&mut self, numbers: &[f64]) {
        let length = size_of_val(numbers);
        let (room, _) = self.room(length).as_chunks_mut();
        for (target, number) in room.iter_mut().zip(numbers) {
            *target = number.to_le_bytes();
        }
        self.advance(length);
    }

    /// At least so many bytes after the end, for [`advance`](Self::advance).
    #[inline]
    pub(crate) fn room(&mut self, count: usize) -> &mut [u8] {
        let needed = self.length + count;
        if needed > self.bytes.len() {
            self.grow(needed);
        }
        &mut self.bytes[self.length..]
    }

    #[cold]
    fn grow(&mut self, needed: usize) {
        self.bytes.resize(needed.max(2 * self.bytes.len()), 0);
    }

    /// Takes the first bytes of the room.
    #[inline]
    pub(crate) fn advance(&mut self, count: usize) {
        self.length = (self.length + count).min(self.bytes.len());
    }

    #[inline]
    pub(crate) fn push(&mut self, byte: u8) {
        self.room(1)[0] = byte;
        self.length += 1;
    }

    pub(crate) fn extend_from_slice(&mut self, bytes: &[u8]) {
        self.room(bytes.len())[..bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    pub(crate) fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    pub(crate) fn clear(&mut self) {
        self.length = 0;
    }

    /// Removes the first `count` bytes.
    pub(crate) fn remove_front(&mut self, count: usize) {
        let count = count.min(self.length);
        self.bytes.copy_within(count..self.length, 0);
        self.length -= count;
    }

    /// Overwrites the last byte, if there is one.
    pub(crate) fn replace_last(&mut self, byte: u8) {
        if let Some(last) = self.bytes[..self.length].last_mut() {
            *last = byte;
        }
    }
}

impl std::io::Write for RowBuffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_and_go() {
        let mut buffer = RowBuffer::with_capacity(2);
        buffer.extend_from_slice(b"abc");
        buffer.push(b'd');
        let room = buffer.room(5);
        assert!(room.len() >= 5);
        room[..5].copy_from_slice(b"efghi");
        buffer.advance(2);
        assert_eq!(buffer.as_slice(), b"abcdef");
        buffer.replace_last(b'!');
        buffer.remove_front(1);
        assert_eq!((buffer.as_slice(), buffer.len()), (&b"bcde!"[..], 5));
        buffer.truncate(9);
        buffer.truncate(2);
        assert_eq!(buffer.as_slice(), b"bc");
        buffer.clear();
        buffer.replace_last(b'!');
        buffer.remove_front(1);
        assert_eq!(buffer.as_slice(), b"");
    }
}
