//! A stack's pending operations: listed, adopted, read and forgotten.

use stackwright::{
    Language, Stack, binding,
    operation::{Adoption, OperationKind, OperationOptions},
};
use stackwright_command::display::Title;
use tokio_util::task::TaskTracker;

use super::{state::document, sw_stack_t};
use crate::{
    bytes::{sw_bytes_t, sw_bytes_view_t},
    error::sw_error_t,
    guard::{Slot, guard, live},
    operation::sw_operation_t,
    status::sw_status_t,
};

/// Returns the pending operations as a JSON array: what an interrupted run has begun, and whose outcome is not known. Secret
/// values are `[secret]` unless they are to be shown. The members of a pending operation:
///
/// @members PendingOperation
///
/// # Safety
/// `stack` must be null or alive, `pending` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_pending(
    stack: *const sw_stack_t,
    show_secrets: bool,
    pending: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        document(stack, pending, error, async |stack: &Stack| {
            let entries = stack.pending().await?;
            Ok(binding::pending_document(&entries, show_secrets)?)
        })
    }
}

/// Starts an operation that records the resource of a pending operation: its provider reads it, and the operation is no longer
/// pending.
///
/// `pending` is the id of the pending operation; `resource_id` is that of the resource, or empty for the one that the pending
/// operation has. With `replace`, a record of another resource with the same URN is replaced: that resource stays as it is, and is
/// not managed any more. Without it, such a record fails the operation with a `CONFLICT` error. `options` are those of
/// `sw_stack_start`.
///
/// # Safety
/// `stack` must be null or alive, `pending`, `resource_id` and `options` readable, `operation` writable, `error` null or
/// writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_adopt_pending(
    stack: *const sw_stack_t,
    pending: sw_bytes_view_t,
    resource_id: sw_bytes_view_t,
    replace: bool,
    options: sw_bytes_view_t,
    operation: *mut *mut sw_operation_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: writable by this function's contract.
        let place = unsafe { Slot::required(operation, "operation") }?;
        // SAFETY: null or alive by this function's contract.
        let stack = unsafe { live(stack, "the stack") }?;
        // SAFETY: readable by this function's contract.
        let pending = unsafe { pending.text("the id of the pending operation") }?;
        // SAFETY: readable by this function's contract.
        let resource_id = unsafe { resource_id.text("the id of the resource") }?;
        // SAFETY: readable by this function's contract.
        let options = unsafe { options.bytes("the options") }?;
        let shared = &stack.parts.shared;
        shared.ensure_open()?;
        let options =
            binding::read::<OperationOptions>(options, Language::C, "an adoption")?.with_binding_defaults();
        let adoption = Adoption {
            pending: pending.to_owned(),
            resource_id: (!resource_id.is_empty()).then(|| resource_id.to_owned()),
            replace,
        };
        let known = options.clone();
        let operation = {
            let _context = shared.handle.enter();
            stack.stack.adopt_pending(adoption, options)
        };
        let parts = std::sync::Arc::clone(&stack.parts);
        let title = Title::new(OperationKind::Adopt, known.dry_run, stack.stack.name());
        let operation = sw_operation_t::new(operation, parts, TaskTracker::new(), &known, title);
        place.fill(Box::into_raw(Box::new(operation)));
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Reads the resource of a pending operation without recording it, and returns it as a JSON object with the members that
/// `sw_stack_resources` lists, or as `null` when it does not exist. The ids are as for `sw_stack_adopt_pending`.
///
/// # Safety
/// `stack` must be null or alive, `pending` and `resource_id` readable, `resource` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_read_pending(
    stack: *const sw_stack_t,
    pending: sw_bytes_view_t,
    resource_id: sw_bytes_view_t,
    show_secrets: bool,
    resource: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        document(stack, resource, error, async |stack: &Stack| {
            let pending = pending.text("the id of the pending operation")?;
            let resource_id = resource_id.text("the id of the resource")?;
            let resource_id = (!resource_id.is_empty()).then_some(resource_id);
            let record = stack.read_pending(pending, resource_id).await?;
            Ok(binding::record_document(record.as_deref(), show_secrets)?)
        })
    }
}

/// Removes a pending operation from the state, and returns it as a JSON object with the members that `sw_stack_pending` lists.
/// With `dry_run`, it stays. A stack that is locked elsewhere is waited for `wait_for_lock` seconds; 0 is no wait.
///
/// # Safety
/// `stack` must be null or alive, `pending` readable, `forgotten` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_forget_pending(
    stack: *const sw_stack_t,
    pending: sw_bytes_view_t,
    dry_run: bool,
    wait_for_lock: f64,
    forgotten: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: writable by this function's contract.
        let place = unsafe { Slot::required(forgotten, "document") }?;
        // SAFETY: null or alive by this function's contract.
        let stack = unsafe { live(stack, "the stack") }?;
        // SAFETY: readable by this function's contract.
        let pending = unsafe { pending.text("the id of the pending operation") }?;
        let waiting = binding::waiting(&stack.stack, Some(wait_for_lock))?;
        let forgetting = async { Ok(waiting.forget_pending(pending, dry_run).await?) };
        let entry = stack.parts.shared.block_on_to_the_end(forgetting)?;
        place.fill(sw_bytes_t::boxed(binding::pending_entry_document(&entry, false)?));
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}
