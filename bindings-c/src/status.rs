//! Status codes: the engine's error kinds with their stable integers, success, and misuse of the ABI itself.

use stackwright::{ErrorClass, ErrorKind};

/// The result of a call. Codes are stable; new ones are appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
#[must_use]
pub enum sw_status_t {
    /// The caller violated a rule of this ABI: a null pointer, a wrong `struct_size`, a blocking call inside a
    /// callback.
    SW_STATUS_MISUSE = -1,
    /// The call succeeded.
    SW_STATUS_OK = 0,
    /// An argument is invalid; the message names it. Nothing was changed.
    SW_STATUS_INVALID_INPUT = 1,
    /// The stack, resource or file does not exist.
    SW_STATUS_NOT_FOUND = 2,
    /// Another operation holds the stack's lock or has changed its state. A later call may succeed.
    SW_STATUS_CONFLICT = 3,
    /// A provider refused or failed a call; the message is the provider's own.
    SW_STATUS_PROVIDER = 4,
    /// A plugin could not be found, started or connected to.
    SW_STATUS_PLUGIN = 5,
    /// The recorded state is corrupt, of an unknown version, or would become invalid.
    SW_STATUS_STATE = 6,
    /// Secrets could not be encrypted, or the stack's secrets provider is unknown.
    SW_STATUS_SECRETS = 7,
    /// The operation was cancelled; its finished steps are recorded.
    SW_STATUS_CANCELLED = 8,
    /// A store or service is unavailable; a later call may succeed.
    SW_STATUS_UNAVAILABLE = 9,
    /// The program failed.
    SW_STATUS_PROGRAM = 10,
    /// The deployment failed; its diagnostics and events contain the reason. Successful steps are recorded.
    SW_STATUS_FAILED = 11,
    /// A bug in the engine.
    SW_STATUS_INTERNAL = 12,
    /// A secret could not be decrypted, for instance because of a wrong passphrase. For a configuration value, the
    /// message names its key.
    SW_STATUS_DECRYPT = 13,
}

impl sw_status_t {
    /// Every code, in order.
    pub(crate) const ALL: [Self; 15] = [
        Self::SW_STATUS_MISUSE,
        Self::SW_STATUS_OK,
        Self::SW_STATUS_INVALID_INPUT,
        Self::SW_STATUS_NOT_FOUND,
        Self::SW_STATUS_CONFLICT,
        Self::SW_STATUS_PROVIDER,
        Self::SW_STATUS_PLUGIN,
        Self::SW_STATUS_STATE,
        Self::SW_STATUS_SECRETS,
        Self::SW_STATUS_CANCELLED,
        Self::SW_STATUS_UNAVAILABLE,
        Self::SW_STATUS_PROGRAM,
        Self::SW_STATUS_FAILED,
        Self::SW_STATUS_INTERNAL,
        Self::SW_STATUS_DECRYPT,
    ];

    /// Returns the status of an engine's error; `SW_STATUS_INTERNAL` for a kind without a status.
    pub(crate) fn of(kind: ErrorKind) -> Self {
        Self::from_code(kind.code()).unwrap_or(Self::SW_STATUS_INTERNAL)
    }

    /// Returns the status with this code; `None` for an unknown code.
    pub(crate) fn from_code(code: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|status| *status as i32 == code)
    }

    /// Returns the engine's kind; `None` for success and misuse, which only this ABI has.
    pub(crate) fn kind(self) -> Option<ErrorKind> {
        ErrorKind::ALL
            .iter()
            .copied()
            .find(|kind| kind.code() == self as i32)
    }

    /// Returns the `snake_case` name, NUL-terminated.
    pub(crate) fn name(self) -> &'static std::ffi::CStr {
        match self {
            Self::SW_STATUS_MISUSE => c"misuse",
            Self::SW_STATUS_OK => c"ok",
            Self::SW_STATUS_INVALID_INPUT => c"invalid_input",
            Self::SW_STATUS_NOT_FOUND => c"not_found",
            Self::SW_STATUS_CONFLICT => c"conflict",
            Self::SW_STATUS_PROVIDER => c"provider",
            Self::SW_STATUS_PLUGIN => c"plugin",
            Self::SW_STATUS_STATE => c"state",
            Self::SW_STATUS_SECRETS => c"secrets",
            Self::SW_STATUS_CANCELLED => c"cancelled",
            Self::SW_STATUS_UNAVAILABLE => c"unavailable",
            Self::SW_STATUS_PROGRAM => c"program",
            Self::SW_STATUS_FAILED => c"failed",
            Self::SW_STATUS_INTERNAL => c"internal",
            Self::SW_STATUS_DECRYPT => c"decrypt",
        }
    }
}

/// Returns the reference engine's class of a status code: `bail` when the diagnostics contain the reason, `decrypt` or
/// `internal`; `none` for success.
///
/// The text is static.
#[unsafe(no_mangle)]
pub extern "C" fn sw_status_class_name(status: i32) -> *const std::ffi::c_char {
    let status = sw_status_t::from_code(status);
    let name = match status.map(|status| (status, status.kind().map(ErrorKind::class))) {
        Some((sw_status_t::SW_STATUS_OK, _)) => c"none",
        Some((_, Some(ErrorClass::Bail))) => c"bail",
        Some((_, Some(ErrorClass::Decrypt))) => c"decrypt",
        _ => c"internal",
    };
    name.as_ptr()
}

/// Returns the name of a status code, `invalid_input` for instance; `unknown` for an unknown code.
///
/// The text is static.
#[unsafe(no_mangle)]
pub extern "C" fn sw_status_name(status: i32) -> *const std::ffi::c_char {
    sw_status_t::from_code(status)
        .map_or(c"unknown", sw_status_t::name)
        .as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_error_has_its_code_and_name_here_and_in_the_header() {
        let header = include_str!("../../include/stackwright.h");
        for kind in ErrorKind::ALL {
            let status = sw_status_t::of(*kind);
            assert_eq!(status as i32, kind.code(), "{}", kind.name());
            assert_eq!(status.kind(), Some(*kind));
            assert_eq!(status.name().to_str(), Ok(kind.name()));
            // SAFETY: the text is NUL-terminated and static.
            let class = unsafe { std::ffi::CStr::from_ptr(sw_status_class_name(kind.code())) };
            assert_eq!(class.to_str(), Ok(kind.class().name()));
            let line = format!(" SW_STATUS_{} = {},", kind.name().to_uppercase(), kind.code());
            assert!(header.contains(&line), "the header lacks{line}");
        }
        assert!(header.contains(" SW_STATUS_OK = 0,") && header.contains(" SW_STATUS_MISUSE = -1,"));
        assert_eq!(
            sw_status_t::ALL.len(),
            ErrorKind::ALL.len() + 2,
            "a code without a kind"
        );
    }

    #[test]
    fn an_unknown_code_has_no_status() {
        assert_eq!(sw_status_t::from_code(4711), None);
        assert_eq!(sw_status_t::SW_STATUS_OK.kind(), None);
        assert_eq!(sw_status_t::SW_STATUS_MISUSE.kind(), None);
    }
}
