//! Bytes in the ABI: views that are borrowed for the duration of a call, and owned bytes that the caller frees.

use std::ffi::{CStr, c_char};

use crate::failure::Failure;

/// Borrowed bytes, valid for the duration of the call that they are passed to.
///
/// `data` is ignored when `length` is 0; it needs no terminator.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sw_bytes_view_t {
    /// The first byte.
    pub data: *const c_char,
    /// The number of bytes.
    pub length: usize,
}

impl sw_bytes_view_t {
    /// Returns a view of `bytes`, which must outlive it.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        Self {
            data: bytes.as_ptr().cast(),
            length: bytes.len(),
        }
    }

    /// Returns a view of no bytes, whose data is null.
    pub(crate) const fn empty() -> Self {
        Self {
            data: std::ptr::null(),
            length: 0,
        }
    }

    /// Returns the viewed bytes; `what` names them in the failure.
    ///
    /// # Safety
    /// `data` must be readable for `length` bytes for as long as the slice is used.
    pub(crate) unsafe fn bytes<'a>(self, what: &str) -> Result<&'a [u8], Failure> {
        if self.length == 0 {
            return Ok(&[]);
        }
        if self.data.is_null() {
            return Err(Failure::misuse(format!("the data of {what} is null")));
        }
        if self.length > isize::MAX as usize {
            return Err(Failure::misuse(format!("the length of {what} is too large")));
        }
        // SAFETY: not null, of a valid length, and readable for it by this function's contract.
        Ok(unsafe { std::slice::from_raw_parts(self.data.cast(), self.length) })
    }

    /// Returns the viewed UTF-8 text; `what` names it in the failure.
    ///
    /// # Safety
    /// As for [`Self::bytes`].
    pub(crate) unsafe fn text<'a>(self, what: &str) -> Result<&'a str, Failure> {
        // SAFETY: this function's contract is the same.
        let bytes = unsafe { self.bytes(what) }?;
        std::str::from_utf8(bytes)
            .map_err(|error| Failure::invalid(format!("{what} is not valid UTF-8: {error}")))
    }
}

/// Returns a view of a NUL-terminated text; an empty one for null. The text must outlive the view.
///
/// # Safety
/// `text` must be null or point to a NUL-terminated text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_text(text: *const c_char) -> sw_bytes_view_t {
    if text.is_null() {
        return sw_bytes_view_t::empty();
    }
    // SAFETY: not null, and terminated by this function's contract.
    let text = unsafe { CStr::from_ptr(text) };
    sw_bytes_view_t::new(text.to_bytes())
}

/// Bytes that the library returns. The caller owns them and frees them with `sw_bytes_free`.
///
/// A NUL follows the last byte and is not counted, so that JSON can be used as a C string.
pub struct sw_bytes_t(Vec<u8>);

impl sw_bytes_t {
    pub(crate) fn boxed(mut bytes: Vec<u8>) -> *mut Self {
        bytes.push(0);
        Box::into_raw(Box::new(Self(bytes)))
    }

    fn content(&self) -> &[u8] {
        self.0.split_last().map_or(&[], |(_, content)| content)
    }
}

/// Returns the first byte; a NUL follows the last one. Null for null. Valid until `sw_bytes_free`.
///
/// # Safety
/// `bytes` must be null or a live object of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_bytes_data(bytes: *const sw_bytes_t) -> *const c_char {
    // SAFETY: null or alive by this function's contract.
    unsafe { bytes.as_ref() }.map_or(std::ptr::null(), |bytes| bytes.0.as_ptr().cast())
}

/// Returns the number of bytes, without the NUL that follows; 0 for null.
///
/// # Safety
/// `bytes` must be null or a live object of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_bytes_length(bytes: *const sw_bytes_t) -> usize {
    // SAFETY: null or alive by this function's contract.
    unsafe { bytes.as_ref() }.map_or(0, |bytes| bytes.content().len())
}

/// Returns a view of owned bytes; an empty one for null. Valid until `sw_bytes_free`.
///
/// # Safety
/// `bytes` must be null or a live object of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_bytes_view(bytes: *const sw_bytes_t) -> sw_bytes_view_t {
    // SAFETY: null or alive by this function's contract.
    unsafe { bytes.as_ref() }.map_or(sw_bytes_view_t::empty(), |bytes| {
        sw_bytes_view_t::new(bytes.content())
    })
}

/// Frees bytes; nothing happens for null.
///
/// # Safety
/// `bytes` must be null or a live object of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_bytes_free(bytes: *mut sw_bytes_t) {
    if !bytes.is_null() {
        // SAFETY: created by `boxed`, and not freed before by this function's contract.
        drop(unsafe { Box::from_raw(bytes) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owned_bytes_end_with_a_nul_that_is_not_counted() {
        let bytes = sw_bytes_t::boxed(b"abc".to_vec());
        // SAFETY: created above and freed below, once.
        unsafe {
            assert_eq!(sw_bytes_length(bytes), 3);
            assert_eq!(CStr::from_ptr(sw_bytes_data(bytes)).to_bytes(), b"abc");
            assert_eq!(sw_bytes_view(bytes).bytes("bytes").ok(), Some(&b"abc"[..]));
            sw_bytes_free(bytes);
        }
    }

    #[test]
    fn null_is_treated_as_empty() {
        // SAFETY: null is allowed in each call.
        unsafe {
            assert_eq!(sw_bytes_length(std::ptr::null()), 0);
            assert!(sw_bytes_data(std::ptr::null()).is_null());
            assert_eq!(sw_text(std::ptr::null()).length, 0);
            sw_bytes_free(std::ptr::null_mut());
        }
    }

    #[test]
    fn a_null_pointer_with_a_length_and_bad_utf8_are_refused() {
        let nothing = sw_bytes_view_t {
            data: std::ptr::null(),
            length: 3,
        };
        // SAFETY: the first is refused before it is read, the second is readable.
        unsafe {
            assert!(matches!(nothing.bytes("it"), Err(Failure::Misuse(_))));
            assert!(matches!(
                sw_bytes_view_t::new(b"\xff").text("it"),
                Err(Failure::Engine(_))
            ));
        }
    }
}
