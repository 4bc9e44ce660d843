//! Error objects: status, message, URN, provider, phase, configuration key and hints.

use std::ffi::{CString, c_char};

use stackwright::Language;

use crate::{
    failure::Failure,
    status::{sw_status_name, sw_status_t},
};

/// An error. The caller owns it and frees it with `sw_error_free`. Its texts are UTF-8, NUL-terminated, and valid until
/// then.
pub struct sw_error_t {
    status: sw_status_t,
    page: Option<CString>,
    message: CString,
    reference_message: CString,
    urn: Option<CString>,
    provider: Option<CString>,
    phase: Option<CString>,
    config_key: Option<CString>,
    hints: Vec<CString>,
}

/// Converts a text to a C string; a NUL inside is replaced by U+FFFD.
fn text(value: &str) -> CString {
    CString::new(value)
        .or_else(|_| CString::new(value.replace('\0', "\u{fffd}")))
        .unwrap_or_default()
}

impl sw_error_t {
    pub(crate) fn new(failure: Failure) -> Self {
        let status = failure.status();
        match failure {
            Failure::Misuse(message) => Self {
                status,
                page: None,
                message: text(&message),
                reference_message: text(&message),
                urn: None,
                provider: None,
                phase: None,
                config_key: None,
                hints: Vec::new(),
            },
            Failure::Engine(error) => Self {
                status,
                page: Some(text(error.kind().page())),
                message: text(error.message()),
                reference_message: text(&error.reference_message()),
                urn: error.urn().map(|urn| text(urn.as_ref())),
                provider: error.provider().map(text),
                phase: error.phase().map(text),
                config_key: error.config_key().map(text),
                hints: error
                    .hints_in(Language::C)
                    .iter()
                    .map(|hint| text(hint))
                    .collect(),
            },
        }
    }

    pub(crate) fn status(&self) -> sw_status_t {
        self.status
    }

    pub(crate) fn boxed(failure: Failure) -> *mut Self {
        Box::into_raw(Box::new(Self::new(failure)))
    }
}

/// # Safety
/// `error` must be null or alive for as long as the pointer is used.
unsafe fn part(
    error: *const sw_error_t,
    select: impl FnOnce(&sw_error_t) -> Option<&CString>,
) -> *const c_char {
    // SAFETY: null or alive by this function's contract.
    unsafe { error.as_ref() }
        .and_then(select)
        .map_or(std::ptr::null(), |text| text.as_ptr())
}

/// Returns the kind of the error; `SW_STATUS_OK` for null.
///
/// # Safety
/// `error` must be null or a live object of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_error_kind(error: *const sw_error_t) -> sw_status_t {
    // SAFETY: null or alive by this function's contract.
    unsafe { error.as_ref() }.map_or(sw_status_t::SW_STATUS_OK, |error| error.status)
}

/// Returns the name of the kind, `invalid_input` for instance. The text is static.
///
/// # Safety
/// `error` must be null or a live object of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_error_kind_name(error: *const sw_error_t) -> *const c_char {
    // SAFETY: this function's contract is the same.
    sw_status_name(unsafe { sw_error_kind(error) } as i32)
}

/// Returns the name of the page about the kind in the documentation, `errors/conflict` for instance; null for null and for
/// a misuse of the interface.
///
/// # Safety
/// `error` must be null or a live object of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_error_page(error: *const sw_error_t) -> *const c_char {
    // SAFETY: this function's contract is the same.
    unsafe { part(error, |error| error.page.as_ref()) }
}

/// Returns the message; null for null.
///
/// # Safety
/// `error` must be null or a live object of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_error_message(error: *const sw_error_t) -> *const c_char {
    // SAFETY: this function's contract is the same.
    unsafe { part(error, |error| Some(&error.message)) }
}

/// Returns the message of the reference engine for such an error, for tools that match on it. It begins with `BAIL: `
/// when the diagnostics contain the reason. Null for null.
///
/// # Safety
/// `error` must be null or a live object of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_error_reference_message(error: *const sw_error_t) -> *const c_char {
    // SAFETY: this function's contract is the same.
    unsafe { part(error, |error| Some(&error.reference_message)) }
}

/// Returns the configuration key, as `namespace:name`, whose value caused the error; null when there is none.
///
/// # Safety
/// `error` must be null or a live object of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_error_config_key(error: *const sw_error_t) -> *const c_char {
    // SAFETY: this function's contract is the same.
    unsafe { part(error, |error| error.config_key.as_ref()) }
}

/// Returns the URN of the resource whose step failed; null when there is none.
///
/// # Safety
/// `error` must be null or a live object of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_error_urn(error: *const sw_error_t) -> *const c_char {
    // SAFETY: this function's contract is the same.
    unsafe { part(error, |error| error.urn.as_ref()) }
}

/// Returns the provider that reported the error; null when there is none.
///
/// # Safety
/// `error` must be null or a live object of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_error_provider(error: *const sw_error_t) -> *const c_char {
    // SAFETY: this function's contract is the same.
    unsafe { part(error, |error| error.provider.as_ref()) }
}

/// Returns the phase that failed, `create` for instance; null when it is unknown.
///
/// # Safety
/// `error` must be null or a live object of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_error_phase(error: *const sw_error_t) -> *const c_char {
    // SAFETY: this function's contract is the same.
    unsafe { part(error, |error| error.phase.as_ref()) }
}

/// Returns the number of hints; 0 for null.
///
/// # Safety
/// `error` must be null or a live object of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_error_hint_count(error: *const sw_error_t) -> usize {
    // SAFETY: null or alive by this function's contract.
    unsafe { error.as_ref() }.map_or(0, |error| error.hints.len())
}

/// Returns the hint at `index`; null when there is none.
///
/// # Safety
/// `error` must be null or a live object of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_error_hint(error: *const sw_error_t, index: usize) -> *const c_char {
    // SAFETY: this function's contract is the same.
    unsafe { part(error, |error| error.hints.get(index)) }
}

/// Frees an error; nothing happens for null.
///
/// # Safety
/// `error` must be null or a live object of this library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_error_free(error: *mut sw_error_t) {
    if !error.is_null() {
        // SAFETY: created by `boxed`, and not freed before by this function's contract.
        drop(unsafe { Box::from_raw(error) });
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use stackwright::{Error, ErrorKind};

    use super::*;

    #[test]
    fn an_error_object_has_all_fields_of_the_engines_error() {
        let inner = Error::new(ErrorKind::Provider, "no\0such bucket")
            .with_provider("aws")
            .with_phase("create")
            .with_config_key("aws:region")
            .with_hint("make one");
        let error = sw_error_t::boxed(inner.into());
        // SAFETY: created above and freed below, once; the texts are valid until then.
        unsafe {
            assert_eq!(sw_error_kind(error), sw_status_t::SW_STATUS_PROVIDER);
            assert_eq!(CStr::from_ptr(sw_error_kind_name(error)), c"provider");
            assert_eq!(
                CStr::from_ptr(sw_error_message(error)).to_str(),
                Ok("no\u{fffd}such bucket")
            );
            assert_eq!(CStr::from_ptr(sw_error_provider(error)), c"aws");
            assert_eq!(CStr::from_ptr(sw_error_phase(error)), c"create");
            assert!(sw_error_urn(error).is_null());
            assert_eq!(CStr::from_ptr(sw_error_config_key(error)), c"aws:region");
            assert_eq!(
                CStr::from_ptr(sw_error_reference_message(error)).to_str(),
                Ok("no\u{fffd}such bucket")
            );
            assert_eq!(sw_error_hint_count(error), 1);
            assert_eq!(CStr::from_ptr(sw_error_hint(error, 0)), c"make one");
            assert!(sw_error_hint(error, 1).is_null());
            sw_error_free(error);
        }
    }
}
