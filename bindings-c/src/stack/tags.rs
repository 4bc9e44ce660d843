//! The tags that are kept with a stack.

use stackwright::{Error, Stack};

use super::{state::document, sw_stack_t};
use crate::{
    bytes::{sw_bytes_t, sw_bytes_view_t},
    error::sw_error_t,
    failure::Failure,
    guard::{guard, live},
    status::sw_status_t,
};

/// Returns the tags that are kept with the stack as a JSON object by name. Those of the setting `tags` are not among them.
///
/// # Safety
/// `stack` must be null or alive, `tags` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_list_tags(
    stack: *const sw_stack_t,
    tags: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        document(stack, tags, error, async |stack: &Stack| {
            let tags = stack.list_tags().await?;
            serde_json::to_vec(&tags).map_err(|error| Failure::from(Error::internal(error.to_string())))
        })
    }
}

/// Sets a tag that is kept with the stack, where the reference engine keeps it.
///
/// # Safety
/// `stack` must be null or alive, `name` and `value` readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_set_tag(
    stack: *const sw_stack_t,
    name: sw_bytes_view_t,
    value: sw_bytes_view_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let stack = unsafe { live(stack, "the stack") }?;
        // SAFETY: readable by this function's contract.
        let name = unsafe { name.text("the name of the tag") }?;
        // SAFETY: readable by this function's contract.
        let value = unsafe { value.text("the value of the tag") }?;
        let setting = async { Ok(stack.stack.set_tag(name, value).await?) };
        stack.parts.shared.block_on_to_the_end(setting)
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Removes a tag, and sets `existed` (which may be null) to whether there was one.
///
/// # Safety
/// `stack` must be null or alive, `name` readable, `existed` null or writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_remove_tag(
    stack: *const sw_stack_t,
    name: sw_bytes_view_t,
    existed: *mut bool,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let stack = unsafe { live(stack, "the stack") }?;
        // SAFETY: readable by this function's contract.
        let name = unsafe { name.text("the name of the tag") }?;
        let removing = async { Ok(stack.stack.remove_tag(name).await?) };
        let found = stack.parts.shared.block_on_to_the_end(removing)?;
        // SAFETY: null or writable by this function's contract.
        if let Some(existed) = unsafe { existed.as_mut() } {
            *existed = found;
        }
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}
