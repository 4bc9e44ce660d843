//! A stack's state: its deployment, outputs and history.

use std::future::Future;

use stackwright::{Error, Stack, binding};

use super::sw_stack_t;
use crate::{
    bytes::{sw_bytes_t, sw_bytes_view_t},
    error::sw_error_t,
    failure::{Failure, Outcome},
    guard::{Slot, guard, live},
    picture::written,
    status::sw_status_t,
};

/// Returns the state as a deployment document (JSON). Its secrets are encrypted, and in plain text with `show_secrets`.
///
/// # Safety
/// `stack` must be null or alive, `deployment` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_export_deployment(
    stack: *const sw_stack_t,
    show_secrets: bool,
    deployment: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        document(stack, deployment, error, async |stack: &Stack| {
            Ok(stack.export_deployment(show_secrets).await?)
        })
    }
}

/// Gives the stack's outputs as a JSON object by name. Secret values are `[secret]` unless they are to be shown. The members of
/// an output:
///
/// @members OutputValue
///
/// # Safety
/// `stack` must be null or alive, `outputs` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_outputs(
    stack: *const sw_stack_t,
    show_secrets: bool,
    outputs: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        document(stack, outputs, error, async |stack: &Stack| {
            Ok(binding::outputs_document(&stack.outputs().await?, show_secrets)?)
        })
    }
}

/// Returns the history as a JSON array of the reference engine's records, newest first. The `version` of a record is the number by
/// which `restore` of `sw_stack_edit` takes it, counted from 1, the oldest.
///
/// # Safety
/// `stack` must be null or alive, `history` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_history(
    stack: *const sw_stack_t,
    history: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe { sw_stack_history_page(stack, 0, 1, history, error) }
}

/// Returns a page of the history, as `sw_stack_history` does. Pages have `limit` records, and are counted from 1; with the
/// limit 0, the first page has all records. Records of other pages are not read.
///
/// # Safety
/// `stack` must be null or alive, `history` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_history_page(
    stack: *const sw_stack_t,
    limit: usize,
    page: usize,
    history: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let history_of = async |stack: &Stack| {
        let entries = stack.history_page((limit > 0).then_some(limit), page).await?;
        serde_json::to_vec(&entries).map_err(|error| Failure::from(Error::internal(error.to_string())))
    };
    // SAFETY: this function's contract is the same.
    unsafe { document(stack, history, error, history_of) }
}

/// Returns the recorded resources as a JSON array, each after those that it refers to. Secret values are `[secret]` unless they
/// are to be shown. While an operation runs, that is the state as it was recorded when it was read. The members of a resource:
///
/// @members ResourceRecord
///
/// Members of an input or output:
///
/// @members OutputValue
///
/// # Safety
/// `stack` must be null or alive, `resources` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_resources(
    stack: *const sw_stack_t,
    show_secrets: bool,
    resources: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        document(stack, resources, error, async |stack: &Stack| {
            let records = stack.resources().await?;
            let records = records.iter().map(|record| &**record);
            Ok(binding::records_document(records, show_secrets)?)
        })
    }
}

/// Returns the record of a URN as a JSON object with the members that `sw_stack_resources` lists. An unknown one is a
/// `NOT_FOUND` error, whose hints name the most similar URNs.
///
/// # Safety
/// `stack` must be null or alive, `urn` readable, `resource` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_resource(
    stack: *const sw_stack_t,
    urn: sw_bytes_view_t,
    show_secrets: bool,
    resource: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        document(stack, resource, error, async |stack: &Stack| {
            // SAFETY: readable by this function's contract.
            let urn = urn.text("the URN")?;
            let record = stack.resource(urn).await?;
            Ok(binding::record_document(Some(&record), show_secrets)?)
        })
    }
}

/// Returns the recorded resources and the references between them as a JSON object with these members:
///
/// @members ResourceGraph
///
/// Members of a node:
///
/// @members GraphNode
///
/// Members of an edge:
///
/// @members GraphEdge
///
/// # Safety
/// `stack` must be null or alive, `graph` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_graph(
    stack: *const sw_stack_t,
    graph: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        document(stack, graph, error, async |stack: &Stack| {
            let graph = stack.graph().await?;
            Ok(binding::graph_document(&graph).to_string().into_bytes())
        })
    }
}

/// Returns the recorded resources as a picture: a text in a form of `sw_picture_form_t`, in which secrets are masked.
///
/// # Safety
/// `stack` must be null or alive, `picture` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_picture(
    stack: *const sw_stack_t,
    form: i32,
    picture: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        document(stack, picture, error, async |stack: &Stack| {
            written(&stack.picture().await?, form)
        })
    }
}

/// Replaces the state by a deployment document. An invalid one is an error, and the state is unchanged.
///
/// # Safety
/// `stack` must be null or alive, `deployment` readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_import_deployment(
    stack: *const sw_stack_t,
    deployment: sw_bytes_view_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let stack = unsafe { live(stack, "the stack") }?;
        // SAFETY: readable by this function's contract.
        let deployment = unsafe { deployment.bytes("the deployment") }?;
        let importing = async {
            stack.stack.import_deployment(deployment).await?;
            Ok(())
        };
        stack.parts.shared.block_on_to_the_end(importing)
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Waits for a document of a stack, made by `read`, and writes it to `place`.
///
/// # Safety
/// `stack` must be null or alive, `place` writable, `error` null or writable.
pub(super) unsafe fn document<'a, F: Future<Output = Outcome<Vec<u8>>>>(
    stack: *const sw_stack_t,
    place: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
    read: impl FnOnce(&'a Stack) -> F,
) -> sw_status_t {
    let body = || {
        // SAFETY: writable by this function's contract.
        let place = unsafe { Slot::required(place, "document") }?;
        // SAFETY: null or alive by this function's contract.
        let stack: &'a sw_stack_t = unsafe { live(stack, "the stack") }?;
        let content = stack.parts.shared.block_on(read(&stack.stack))?;
        place.fill(sw_bytes_t::boxed(content));
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}
