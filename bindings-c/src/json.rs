//! JSON functions for hosts without a JSON library: read the value at a pointer, and quote a text.

use serde_json::value::RawValue;

use crate::{
    bytes::{sw_bytes_t, sw_bytes_view_t},
    error::sw_error_t,
    failure::{Failure, Outcome},
    guard::{Slot, guard},
    status::sw_status_t,
};

/// Returns the JSON text of the value at `pointer` (RFC 6901: `/inputs/path`, `/failures/0`; empty for the whole
/// document), unchanged; null when there is no such value.
///
/// Returns `SW_STATUS_INVALID_INPUT` for a document that is not JSON and a pointer that does not begin with a slash.
///
/// # Safety
/// `document` and `pointer` must be readable, `value` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_json_get(
    document: sw_bytes_view_t,
    pointer: sw_bytes_view_t,
    value: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: writable by this function's contract.
        let place = unsafe { Slot::required(value, "value") }?;
        // SAFETY: readable by this function's contract.
        if let Some(found) = unsafe { find(document, pointer) }? {
            place.fill(sw_bytes_t::boxed(found.as_bytes().to_vec()));
        }
        Ok(())
    };
    // SAFETY: null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Returns the content of the string at `pointer`, which is that of `sw_json_get`; null when there is no such value,
/// and for a JSON null.
///
/// Returns `SW_STATUS_INVALID_INPUT` for a value of another type.
///
/// # Safety
/// `document` and `pointer` must be readable, `text` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_json_text(
    document: sw_bytes_view_t,
    pointer: sw_bytes_view_t,
    text: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: writable by this function's contract.
        let place = unsafe { Slot::required(text, "text") }?;
        // SAFETY: readable by this function's contract.
        let Some(found) = unsafe { find(document, pointer) }? else {
            return Ok(());
        };
        let found: Option<String> = serde_json::from_str(found)
            .map_err(|_| Failure::invalid("the value at the pointer is not a string"))?;
        if let Some(found) = found {
            place.fill(sw_bytes_t::boxed(found.into_bytes()));
        }
        Ok(())
    };
    // SAFETY: null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Quotes a UTF-8 text as a JSON string.
///
/// # Safety
/// `text` must be readable, `json` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_json_quote(
    text: sw_bytes_view_t,
    json: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: writable by this function's contract.
        let place = unsafe { Slot::required(json, "JSON") }?;
        // SAFETY: readable by this function's contract.
        let text = unsafe { text.text("the text") }?;
        let quoted = serde_json::to_vec(text).map_err(|error| Failure::invalid(error.to_string()))?;
        place.fill(sw_bytes_t::boxed(quoted));
        Ok(())
    };
    // SAFETY: null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// # Safety
/// Both views must be readable for as long as the text is used.
unsafe fn find<'a>(document: sw_bytes_view_t, pointer: sw_bytes_view_t) -> Outcome<Option<&'a str>> {
    // SAFETY: readable by this function's contract.
    let document = unsafe { document.text("the document") }?;
    // SAFETY: readable by this function's contract.
    let pointer = unsafe { pointer.text("the pointer") }?;
    value_at(document, pointer)
}

fn value_at<'a>(document: &'a str, pointer: &str) -> Outcome<Option<&'a str>> {
    let mut rest = pointer.split('/');
    if !rest.next().unwrap_or_default().is_empty() {
        return Err(Failure::invalid(format!(
            "the pointer {pointer:?} does not begin with a slash"
        )));
    }
    let mut value = parsed::<&RawValue>(document)?.get();
    for step in rest {
        let name = step.replace("~1", "/").replace("~0", "~");
        let next = match value.as_bytes().first() {
            Some(b'{') => parsed::<std::collections::HashMap<String, &RawValue>>(value)?
                .get(&name)
                .copied(),
            Some(b'[') => {
                let items = parsed::<Vec<&RawValue>>(value)?;
                name.parse::<usize>()
                    .ok()
                    .and_then(|index| items.get(index).copied())
            }
            _ => None,
        };
        let Some(next) = next else { return Ok(None) };
        value = next.get();
    }
    Ok(Some(value))
}

fn parsed<'a, T: serde::Deserialize<'a>>(text: &'a str) -> Outcome<T> {
    serde_json::from_str(text).map_err(|error| Failure::invalid(format!("the document is not JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_resolve_in_objects_and_lists() {
        let document = r#"{"a/b": [1, {"~": "x\ny"}], "n": null}"#;
        let at = |pointer| value_at(document, pointer).ok().flatten();
        assert_eq!(at(""), Some(document));
        assert_eq!(at("/a~1b/0"), Some("1"));
        assert_eq!(at("/a~1b/1/~0"), Some(r#""x\ny""#));
        assert_eq!(at("/n"), Some("null"));
        assert_eq!(at("/n/deeper"), None);
        assert_eq!(at("/a~1b/7"), None);
    }

    #[test]
    fn invalid_json_and_invalid_pointers_are_errors() {
        assert!(value_at("{", "/a").is_err());
        assert!(value_at("{}", "a").is_err());
    }
}
