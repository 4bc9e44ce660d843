//! The guard of exported functions: converts failures to a status and an error object, and catches panics.

use std::{
    mem::MaybeUninit,
    panic::{AssertUnwindSafe, catch_unwind},
};

use crate::{
    error::sw_error_t,
    failure::{Failure, Outcome},
    status::sw_status_t,
};

/// Runs an exported function's body. A failure or panic becomes a status and, unless `error` is null, an error object.
///
/// # Safety
/// `error` must be null or writable.
pub(crate) unsafe fn guard(error: *mut *mut sw_error_t, body: impl FnOnce() -> Outcome<()>) -> sw_status_t {
    let failure = match caught(body) {
        Ok(()) => {
            // SAFETY: null or writable by this function's contract.
            unsafe { write_error(error, None) };
            return sw_status_t::SW_STATUS_OK;
        }
        Err(failure) => failure,
    };
    let status = failure.status();
    // SAFETY: null or writable by this function's contract.
    unsafe { write_error(error, Some(failure)) };
    status
}

/// Runs `body`; a panic becomes an internal error.
pub(crate) fn caught<T>(body: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "no message".to_owned());
        Err(stackwright::Error::internal(format!("the engine panicked: {text}")).into())
    })
}

/// # Safety
/// `error` must be null or writable.
unsafe fn write_error(error: *mut *mut sw_error_t, failure: Option<Failure>) {
    if !error.is_null() {
        let object = failure.map_or(std::ptr::null_mut(), sw_error_t::boxed);
        // SAFETY: not null, and writable by this function's contract.
        unsafe { error.write(object) };
    }
}

/// Returns a reference to the handle's target; `what` names it in the failure.
///
/// # Safety
/// `pointer` must be null or point to a live `T` for as long as the reference is used.
pub(crate) unsafe fn live<'a, T>(pointer: *const T, what: &str) -> Outcome<&'a T> {
    // SAFETY: null or alive by this function's contract.
    unsafe { pointer.as_ref() }.ok_or_else(|| Failure::misuse(format!("{what} is null")))
}

/// A structure that the caller fills. New fields are appended, so that hosts compiled with an earlier header still
/// work.
///
/// # Safety
/// Its first field must be a `usize` with the size of the caller's structure, and zero must be valid for each field.
pub(crate) unsafe trait VersionedStruct: Copy {
    /// The minimum `struct_size`: up to the end of the last required field.
    const MIN_STRUCT_SIZE: usize;
}

/// Copies a structure of the caller up to the size in its first field; later fields are zero. `None` for null; `what`
/// names it in the failure.
///
/// # Safety
/// `pointer` must be null or readable for the number of bytes in its first field, a `usize`.
pub(crate) unsafe fn sized<T: VersionedStruct>(pointer: *const T, what: &str) -> Outcome<Option<T>> {
    if pointer.is_null() {
        return Ok(None);
    }
    // SAFETY: not null, and the first field is readable by this function's contract.
    let size = unsafe { pointer.cast::<usize>().read() };
    let known = (T::MIN_STRUCT_SIZE..=size_of::<T>()).contains(&size) && size.is_multiple_of(align_of::<T>());
    if !known {
        return Err(Failure::misuse(format!(
            "{what} has a struct_size that this library does not know"
        )));
    }
    let mut copy = MaybeUninit::<T>::zeroed();
    // SAFETY: readable for its size by this function's contract, and not longer than the copy.
    unsafe { std::ptr::copy_nonoverlapping(pointer.cast::<u8>(), copy.as_mut_ptr().cast::<u8>(), size) };
    // SAFETY: the copied fields are the caller's; the rest is zero, which `T` allows.
    Ok(Some(unsafe { copy.assume_init() }))
}

/// A result pointer of the caller; set to null on creation.
pub(crate) struct Slot<T>(*mut *mut T);

impl<T> Slot<T> {
    /// Creates the slot of a required result; null is misuse, and `what` names it.
    ///
    /// # Safety
    /// `pointer` must be null or writable until the slot is dropped.
    pub(crate) unsafe fn required(pointer: *mut *mut T, what: &str) -> Outcome<Self> {
        if pointer.is_null() {
            return Err(Failure::misuse(format!("the pointer for the {what} is null")));
        }
        // SAFETY: not null, and writable by this function's contract.
        unsafe { pointer.write(std::ptr::null_mut()) };
        Ok(Self(pointer))
    }

    /// Creates the slot of an optional result; `None` for null.
    ///
    /// # Safety
    /// As for [`Self::required`].
    pub(crate) unsafe fn optional(pointer: *mut *mut T) -> Option<Self> {
        // SAFETY: this function's contract is the same.
        unsafe { Self::required(pointer, "result") }.ok()
    }

    /// Writes the result, which the caller then owns.
    pub(crate) fn fill(self, value: *mut T) {
        // SAFETY: writable by the contract of the constructors.
        unsafe { self.0.write(value) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_internal_error() {
        let outcome = caught::<()>(|| panic!("test panic"));
        let Err(Failure::Engine(error)) = outcome else {
            panic!("no error")
        };
        assert_eq!(error.kind(), stackwright::ErrorKind::Internal);
        assert!(error.message().contains("test panic"));
    }

    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Form {
        struct_size: usize,
        required: usize,
        later: Option<extern "C" fn()>,
        latest: u32,
    }

    // SAFETY: the size is the first field, and zeros are valid values.
    unsafe impl VersionedStruct for Form {
        const MIN_STRUCT_SIZE: usize = std::mem::offset_of!(Self, later);
    }

    #[test]
    fn a_structure_of_an_earlier_header_is_read_up_to_its_size() {
        extern "C" fn nothing() {}
        let read = |struct_size| {
            let form = Form {
                struct_size,
                required: 7,
                later: Some(nothing),
                latest: 9,
            };
            // SAFETY: a local variable.
            unsafe { sized(&raw const form, "the form") }
        };
        let parts = |size| {
            let form: Form = read(size).unwrap().unwrap();
            (form.struct_size, form.required, form.later.is_some(), form.latest)
        };
        let word = size_of::<usize>();
        assert_eq!(parts(4 * word), (4 * word, 7, true, 9));
        assert_eq!(parts(3 * word), (3 * word, 7, true, 0));
        assert_eq!(parts(2 * word), (2 * word, 7, false, 0));
        for wrong in [0, word, 2 * word + 1, 5 * word, usize::MAX] {
            assert!(matches!(read(wrong), Err(Failure::Misuse(_))), "{wrong}");
        }
    }

    #[test]
    fn success_clears_the_callers_error() {
        let mut error = std::ptr::NonNull::dangling().as_ptr();
        // SAFETY: `error` is a local variable.
        let status = unsafe { guard(&raw mut error, || Ok(())) };
        assert_eq!(status, sw_status_t::SW_STATUS_OK);
        assert!(error.is_null());
    }
}
