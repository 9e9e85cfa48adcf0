//! The bytes of a state: written from a run, or read into one that was started from the same system.
//!
//! One function for each type names its values in their order, for both ways. Reading changes values in their
//! places. Indices, names and sizes come from the started run and are not in the bytes, so that damaged bytes
//! give a run wrong numbers at most. An index is checked where it is kept.
//!
//! Most fields of a running system are indices, names and sizes that follow from the description; an index that is
//! read from a file would have to be checked at every use. A field that is in neither list of `stored!` does not
//! compile. The file around the bytes has the system as text, so that the first difference can be named, and SHA-256
//! of the FMUs and of itself.
//!
//! A run writes and reads it for saved states; it never makes an object that the started run does not have.

/// Writes values to the bytes of a state, or reads them from there.
///
/// After the first value that does not fit, all others keep what they have, and the state is refused.
pub struct StateStream {
    bytes: Vec<u8>,
    /// The next byte to read; `None` if bytes are written.
    next: Option<usize>,
    trouble: Option<Misfit>,
}

/// Why a state can be neither written nor read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// An entry of a registry has no [`StateStream`] of its state.
    Unable,
    /// The bytes do not belong to such a run.
    Malformed,
}

impl StateStream {
    pub(crate) fn to_write() -> Self {
        Self {
            bytes: Vec::new(),
            next: None,
            trouble: None,
        }
    }

    pub(crate) fn to_read(bytes: &[u8]) -> Self {
        Self {
            bytes: bytes.to_vec(),
            next: Some(0),
            trouble: None,
        }
    }

    /// Whether values are read.
    pub fn is_reading(&self) -> bool {
        self.next.is_some()
    }

    /// Writes a value, or reads it.
    pub fn keep<T: Stored + ?Sized>(&mut self, value: &mut T) {
        value.transfer(self);
    }

    /// Refuses: the state cannot be written.
    pub fn unable(&mut self) {
        self.trouble.get_or_insert(Misfit::Unable);
    }

    /// Refuses bytes that do not belong to such a run.
    pub fn malformed(&mut self) {
        self.trouble.get_or_insert(Misfit::Malformed);
    }

    /// Keeps a number that is less than `limit`, an index for example.
    pub fn below(&mut self, value: &mut usize, limit: usize) {
        let mut number = *value as u64;
        self.keep(&mut number);
        match usize::try_from(number) {
            Ok(number) if number < limit => *value = number,
            _ => self.malformed(),
        }
    }

    /// Keeps a list whose length changes, of at most `most` values.
    pub fn list<T: Stored + Default>(&mut self, list: &mut Vec<T>, most: usize) {
        let mut length = list.len();
        self.below(&mut length, most.saturating_add(1));
        // A value takes a byte at least.
        if self.is_reading() && (self.trouble.is_some() || length > self.rest()) {
            return self.malformed();
        }
        list.resize_with(length, T::default);
        list.iter_mut().for_each(|value| self.keep(value));
    }

    /// Keeps bytes.
    pub(crate) fn raw(&mut self, bytes: &mut Vec<u8>) {
        let mut length = bytes.len();
        self.below(&mut length, usize::MAX);
        match &mut self.next {
            None => self.bytes.extend_from_slice(bytes),
            Some(next) => match self.bytes.get(*next..next.saturating_add(length)) {
                Some(found) if self.trouble.is_none() => {
                    *bytes = found.to_vec();
                    *next += length;
                }
                _ => self.malformed(),
            },
        }
    }

    fn rest(&self) -> usize {
        self.bytes.len() - self.next.unwrap_or(0)
    }

    fn fixed<const N: usize>(&mut self, value: [u8; N]) -> [u8; N] {
        let Some(next) = self.next else {
            self.bytes.extend_from_slice(&value);
            return value;
        };
        if self.trouble.is_some() {
            return value;
        }
        let Some(found) = self.bytes[next..].first_chunk() else {
            self.malformed();
            return value;
        };
        self.next = Some(next + N);
        *found
    }

    /// The reason of a refusal.
    pub(crate) fn trouble(&self) -> Option<Misfit> {
        self.trouble
    }

    /// The bytes that were written; `None` if bytes that were read are left.
    pub(crate) fn finish(self) -> Option<Vec<u8>> {
        (self.next.is_none() || self.rest() == 0).then_some(self.bytes)
    }
}

/// A value of a state.
pub trait Stored {
    /// Writes the value to the stream, or reads it from there.
    fn transfer(&mut self, stream: &mut StateStream);
}

/// Implements [`Stored`] for a type: the fields that are kept, and after a semicolon those that a run that is
/// started has already. A field that is in neither list does not compile.
macro_rules! stored {
    ($type:ty { $($kept:ident),* $(,)? $(; $($fixed:ident),* $(,)?)? }) => {
        impl $crate::state_stream::Stored for $type {
            fn transfer(&mut self, stream: &mut $crate::state_stream::StateStream) {
                let Self { $($kept,)* $($($fixed: _,)*)? } = self;
                $(stream.keep($kept);)*
            }
        }
    };
}

pub(crate) use stored;

/// The methods of a part of a run whose state is all that it [stores](Stored).
macro_rules! keeps_its_state {
    ($part:ty) => {
        fn duplicate(&self) -> Box<$part> {
            Box::new(self.clone())
        }

        fn transfer(&mut self, stream: &mut $crate::state_stream::StateStream) {
            stream.keep(self);
        }
    };
}

pub(crate) use keeps_its_state;

macro_rules! numbers {
    ($($type:ty)*) => {
        $(impl Stored for $type {
            fn transfer(&mut self, stream: &mut StateStream) {
                *self = Self::from_le_bytes(stream.fixed(self.to_le_bytes()));
            }
        })*
    };
}

numbers! { f64 i32 }

/// Counts and ticks are far from the greatest number, so that none overflows while a run counts on.
macro_rules! counts {
    ($($type:ty)*) => {
        $(impl Stored for $type {
            fn transfer(&mut self, stream: &mut StateStream) {
                let found = Self::from_le_bytes(stream.fixed(self.to_le_bytes()));
                if (0..=Self::MAX / 2).contains(&found) {
                    *self = found;
                } else {
                    stream.malformed();
                }
            }
        })*
    };
}

counts! { u64 i64 u32 }

impl Stored for bool {
    fn transfer(&mut self, stream: &mut StateStream) {
        match stream.fixed([u8::from(*self)]) {
            [0] => *self = false,
            [1] => *self = true,
            _ => stream.malformed(),
        }
    }
}

/// A name of the program: each run has it already.
impl Stored for &'static str {
    fn transfer(&mut self, _stream: &mut StateStream) {}
}

impl<T: Stored> Stored for [T] {
    fn transfer(&mut self, stream: &mut StateStream) {
        let mut length = self.len() as u64;
        stream.keep(&mut length);
        if length == self.len() as u64 {
            self.iter_mut().for_each(|value| stream.keep(value));
        } else {
            stream.malformed();
        }
    }
}

impl<T: Stored> Stored for Vec<T> {
    fn transfer(&mut self, stream: &mut StateStream) {
        stream.keep(self.as_mut_slice());
    }
}

impl<T: Stored, const N: usize> Stored for [T; N] {
    fn transfer(&mut self, stream: &mut StateStream) {
        self.iter_mut().for_each(|value| stream.keep(value));
    }
}

impl<A: Stored, B: Stored> Stored for (A, B) {
    fn transfer(&mut self, stream: &mut StateStream) {
        stream.keep(&mut self.0);
        stream.keep(&mut self.1);
    }
}

impl<T: Stored + Default> Stored for Option<T> {
    fn transfer(&mut self, stream: &mut StateStream) {
        let mut is_there = self.is_some();
        stream.keep(&mut is_there);
        if !is_there {
            *self = None;
        } else {
            stream.keep(self.get_or_insert_default());
        }
    }
}

impl Stored for String {
    fn transfer(&mut self, stream: &mut StateStream) {
        let mut bytes = self.as_bytes().to_vec();
        stream.raw(&mut bytes);
        match Self::from_utf8(bytes) {
            Ok(text) => *self = text,
            Err(_) => stream.malformed(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq, Default)]
    struct Sample {
        numbers: Vec<f64>,
        names: Vec<String>,
        index: usize,
        last: Option<(u64, bool)>,
        value: Option<i32>,
    }

    impl Stored for Sample {
        fn transfer(&mut self, stream: &mut StateStream) {
            stream.keep(&mut self.numbers);
            stream.list(&mut self.names, 4);
            stream.below(&mut self.index, 3);
            stream.keep(&mut self.last);
            stream.keep(&mut self.value);
        }
    }

    fn sample() -> Sample {
        Sample {
            numbers: vec![1.5, -0.0, f64::INFINITY],
            names: vec!["a".to_owned(), "ø".to_owned()],
            index: 2,
            last: Some((7, true)),
            value: None,
        }
    }

    fn written() -> Vec<u8> {
        let mut stream = StateStream::to_write();
        stream.keep(&mut sample());
        assert_eq!(stream.trouble(), None);
        stream.finish().unwrap()
    }

    /// The value that is read into one of three numbers, if the bytes fit.
    fn read(bytes: &[u8]) -> Option<Sample> {
        let mut value = Sample {
            numbers: vec![0.0; 3],
            value: Some(3),
            ..Sample::default()
        };
        let mut stream = StateStream::to_read(bytes);
        stream.keep(&mut value);
        let trouble = stream.trouble();
        (trouble.is_none() && stream.finish().is_some()).then_some(value)
    }

    #[test]
    fn values_come_back() {
        assert_eq!(read(&written()), Some(sample()));
    }

    #[test]
    fn bytes_that_are_cut_short_or_too_long_are_refused() {
        let bytes = written();
        for length in 0..bytes.len() {
            assert_eq!(read(&bytes[..length]), None, "{length}");
        }
        assert_eq!(read(&[&bytes[..], &[0]].concat()), None);
    }

    #[test]
    fn no_byte_makes_an_index_too_great_or_a_list_too_long() {
        let bytes = written();
        for place in 0..bytes.len() {
            for flip in 1..=255 {
                let mut damaged = bytes.clone();
                damaged[place] ^= flip;
                if let Some(value) = read(&damaged) {
                    assert!(value.index < 3 && value.names.len() <= 4 && value.numbers.len() == 3);
                }
            }
        }
    }

    #[test]
    fn a_refusal_stays() {
        let mut stream = StateStream::to_write();
        stream.unable();
        stream.malformed();
        assert_eq!(stream.trouble(), Some(Misfit::Unable));
    }
}
