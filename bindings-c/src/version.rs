//! The library's version, for programs that load it at run time.

use std::ffi::{CStr, c_char};

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(version) => version,
    Err(_) => c"",
};

/// Returns the version of the library, `0.1.0` for instance. The text is static.
#[unsafe(no_mangle)]
pub extern "C" fn sw_version() -> *const c_char {
    VERSION.as_ptr()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_version_is_that_of_the_package() {
        assert_eq!(super::VERSION.to_str(), Ok(env!("CARGO_PKG_VERSION")));
    }
}
