//! Edits of a stack's state.

use stackwright::{Language, binding};

use super::sw_stack_t;
use crate::{
    bytes::{sw_bytes_t, sw_bytes_view_t},
    error::sw_error_t,
    guard::{Slot, guard, live},
    status::sw_status_t,
};

/// Changes the state without a provider, as one change, and gives a report (JSON) of what that did. An edit that changes nothing
/// writes nothing; after an error, the state is as it was.
///
/// `edit` is a JSON object with one kind of edit, and `dryRun`: `{"rename": {"urn": "urn:pulumi:…", "name": "new"}, "dryRun": true}`.
/// Its members:
///
/// @members StateEdit
///
/// Those of `rename`:
///
/// @members RenameEdit
///
/// Those of `delete`:
///
/// @members DeleteEdit
///
/// Those of `protect`, `unprotect`, `taint` and `untaint`:
///
/// @members RecordSelection
///
/// Those of `restore`:
///
/// @members RestoreEdit
///
/// Those of `importDeployment`:
///
/// @members ImportDeploymentEdit
///
/// Those of `renameStack`:
///
/// @members RenameStackEdit
///
/// Those of `changeSecrets`, whose `secrets` encrypts with `encrypt_for_stack` of the host's table, or has `wrap_key` wrap the data key:
///
/// @members ChangeSecretsEdit
///
/// Those of the report:
///
/// @members EditReport
///
/// Those of a record in it:
///
/// @members EditedRecord
///
/// An unknown URN is a `NOT_FOUND` error with the nearest ones as hints; what protection, dependents or an existing resource refuse
/// is `CONFLICT`. A handle of a renamed stack keeps the former name, and one whose encryption was changed the
/// former key: the engine opens the stack with the new one. The history keeps the former key, which `restore` takes.
///
/// # Safety
/// `stack` must be null or alive, `edit` readable, `report` null or writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_edit(
    stack: *const sw_stack_t,
    edit: sw_bytes_view_t,
    report: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or writable by this function's contract.
        let place = unsafe { Slot::optional(report) };
        // SAFETY: null or alive by this function's contract.
        let stack = unsafe { live(stack, "the stack") }?;
        // SAFETY: readable by this function's contract.
        let edit = unsafe { edit.bytes("the edit") }?;
        let name = stack.stack.name().to_string();
        let host = stack.parts.host.as_ref();
        let functions = host.map(|host| host.secrets_of_stack(&name)).unwrap_or_default();
        let editing =
            async { Ok(binding::edit(&stack.stack, edit, functions, Language::C, "an edit").await?) };
        let content = stack.parts.shared.block_on_to_the_end(editing)?;
        if let Some(place) = place {
            place.fill(sw_bytes_t::boxed(content));
        }
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Moves resources, and all below them, to another stack of this or another engine, and gives a report (JSON) of what that did to
/// both. No provider is called. After an error, both states are as they were.
///
/// `edit` is a JSON object: `{"move": {"urns": ["urn:pulumi:…"]}, "dryRun": true}`. Its members:
///
/// @members MoveResources
///
/// Those of `move`:
///
/// @members MoveEdit
///
/// Those of the report, each as `sw_stack_edit` gives it:
///
/// @members MoveReport
///
/// The providers of the resources are copied, unless the destination has them already. A resource whose parent stays is below the
/// destination itself. References between resources that move and others are removed, which the report names. Secrets are encrypted
/// with the key of the destination, and pending operations of the resources move, too.
///
/// An unknown URN is a `NOT_FOUND` error with the nearest ones as hints; a resource or a provider that the destination has already is
/// `CONFLICT`, and so is an operation that runs on one of both stacks. When the process ends during the move, the next opening of
/// either stack finishes or forgets it.
///
/// # Safety
/// `stack` and `destination` must be null or alive, `edit` readable, `report` null or writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_move_resources(
    stack: *const sw_stack_t,
    destination: *const sw_stack_t,
    edit: sw_bytes_view_t,
    report: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or writable by this function's contract.
        let place = unsafe { Slot::optional(report) };
        // SAFETY: null or alive by this function's contract.
        let stack = unsafe { live(stack, "the stack") }?;
        // SAFETY: null or alive by this function's contract.
        let destination = unsafe { live(destination, "the destination") }?;
        // SAFETY: readable by this function's contract.
        let edit = unsafe { edit.bytes("the edit") }?;
        let moving = async {
            let moved =
                binding::move_resources(&stack.stack, &destination.stack, edit, Language::C, "a move");
            Ok(moved.await?)
        };
        let content = stack.parts.shared.block_on_to_the_end(moving)?;
        if let Some(place) = place {
            place.fill(sw_bytes_t::boxed(content));
        }
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}
