//! Arguments from C, checked as far as they can be.

#![expect(unsafe_code, reason = "reads what pointers of the caller point to")]

use std::ffi::{CStr, c_char};

use crate::error::Refusal;

/// A string in UTF-8 that ends with a zero, or NULL if that is allowed. It is copied if it is kept.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Text<'a>(Option<&'a c_char>);

impl<'a> Text<'a> {
    /// The text.
    pub(crate) fn read(self, name: &str) -> Result<&'a str, Refusal> {
        let optional = self.optional(name)?;
        optional.ok_or_else(|| Refusal::usage(format!("{name} is NULL")))
    }

    /// The text; `None` for NULL.
    pub(crate) fn optional(self, name: &str) -> Result<Option<&'a str>, Refusal> {
        let Some(first) = self.0 else {
            return Ok(None);
        };
        // SAFETY: the caller passes a string that ends with a zero and stays as it is during the call.
        let text = unsafe { CStr::from_ptr(std::ptr::from_ref(first)) };
        let text = text.to_str();
        text.map(Some)
            .map_err(|_| Refusal::usage(format!("{name} is not UTF-8")))
    }
}

/// The elements of an array of the caller; NULL is an empty one.
pub(crate) fn array<'a, T>(
    first: Option<&'a T>,
    count: usize,
    name: &str,
) -> Result<&'a [T], Refusal> {
    match first {
        None if count > 0 => Err(Refusal::usage(format!("{name} is NULL"))),
        None => Ok(&[]),
        // SAFETY: the caller passes an array with as many elements, which stay as they are during the call.
        Some(first) => Ok(unsafe { std::slice::from_raw_parts(first, count) }),
    }
}

/// The target of a pointer.
pub(crate) fn there<T>(pointer: Option<T>, name: &str) -> Result<T, Refusal> {
    pointer.ok_or_else(|| Refusal::usage(format!("{name} is NULL")))
}

/// The object that was given to the caller.
pub(crate) fn object<'a, T>(pointer: *mut T, name: &str) -> Result<&'a T, Refusal> {
    // SAFETY: the caller passes NULL, or a pointer that it got from this library and has not freed; objects are changed behind locks only.
    there(unsafe { pointer.as_ref() }, name)
}

/// Gives an object to the caller.
pub(crate) fn give<T>(place: Option<&mut *mut T>, object: T) -> Result<(), Refusal> {
    let place = there(place, "the place of the result")?;
    *place = Box::into_raw(Box::new(object));
    Ok(())
}

/// Takes back what [`give`] has given; nothing for NULL.
pub(crate) fn take_back<T>(pointer: *mut T) {
    if !pointer.is_null() {
        // SAFETY: the caller passes a pointer that it got from this library, and for the last time.
        drop(unsafe { Box::from_raw(pointer) });
    }
}
