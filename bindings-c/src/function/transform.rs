//! Transforms: functions that change resources and calls of functions before the engine acts on them.

use std::sync::Arc;

use async_trait::async_trait;
use stackwright::monitor::{InvokeTransform, InvokeTransformArgs, ResourceTransform, TransformArgs};

use super::{CFunction, add_function, sw_function_t};
use crate::{
    bytes::sw_bytes_view_t,
    context::{CallKind, sw_context_t},
    error::sw_error_t,
    status::sw_status_t,
};

/// What errors name.
const TRANSFORM: &str = "transform";

struct CTransform(Arc<CFunction>);

#[async_trait]
impl ResourceTransform for CTransform {
    async fn transform(&self, args: TransformArgs) -> stackwright::Result<Option<TransformArgs>> {
        let changed = self.0.ask(TRANSFORM, args.to_json()?).await?;
        if changed.is_empty() {
            return Ok(None);
        }
        args.changed_by_json(&changed).map(Some)
    }
}

#[async_trait]
impl InvokeTransform for CTransform {
    async fn transform(&self, args: InvokeTransformArgs) -> stackwright::Result<Option<InvokeTransformArgs>> {
        let changed = self.0.ask(TRANSFORM, args.to_json()?).await?;
        if changed.is_empty() {
            return Ok(None);
        }
        args.changed_by_json(&changed).map(Some)
    }
}

/// Adds a transform of the stack: it is called for every resource that is registered from now on, after the transforms of the
/// resource itself and of those above it. An invalid one fails the run, since resources would be registered without it.
///
/// The function gets `{"type", "name", "custom", "parent", "inputs", "options"}`, the options by the names that
/// `sw_context_register` gives them and without those that are not set; `dependsOn` has the dependencies. It completes with
/// `{"inputs", "options"}`: `inputs` replaces all inputs, and `options` has the options that change, of which `null` removes one.
/// What is left out is unchanged, as is everything for an empty response. Its failure refuses the registration with an error that names the resource and the transform, and so
/// does a malformed response.
///
/// # Safety
/// `context` must be null or alive, `function` null or readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_add_transform(
    context: *const sw_context_t,
    function: *const sw_function_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let add = |context: &sw_context_t, function| {
        context
            .program
            .monitor
            .add_transform(Arc::new(CTransform(function)));
        Ok(())
    };
    // SAFETY: this function's contract is the same.
    unsafe { add_function(context, CallKind::Declaration, function, TRANSFORM, error, add) }
}

/// Adds a transform of calls of functions: it is called for each `sw_context_invoke` from now on, also of components, one call
/// after the other. An invalid one fails the run.
///
/// The function gets `{"token", "arguments", "options"}` with the options `provider`, `version`, `pluginDownloadURL` and
/// `pluginChecksums`, and completes with `{"arguments", "options"}`, as in `sw_context_add_transform`. A function that it calls
/// itself has `"inTransform": true`, and is not transformed: it would wait for itself.
///
/// # Safety
/// `context` must be null or alive, `function` null or readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_add_invoke_transform(
    context: *const sw_context_t,
    function: *const sw_function_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let add = |context: &sw_context_t, function| {
        let monitor = &context.program.monitor;
        monitor.add_invoke_transform(Arc::new(CTransform(function)));
        Ok(())
    };
    // SAFETY: this function's contract is the same.
    unsafe { add_function(context, CallKind::Declaration, function, TRANSFORM, error, add) }
}

/// Defines a transform that registrations with this context name in their member `transforms`: it is called for the resource,
/// in the order of the names, and for everything below it. The function is that of `sw_context_add_transform`.
///
/// Returns `SW_STATUS_INVALID_INPUT` for an empty name, and for one that is defined already.
///
/// # Safety
/// `context` must be null or alive, `name` readable, `function` null or readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_define_transform(
    context: *const sw_context_t,
    name: sw_bytes_view_t,
    function: *const sw_function_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let define = |context: &sw_context_t, function| {
        // SAFETY: readable by this function's contract.
        let name = unsafe { name.text("the name of the transform") }?;
        context.define_transform(name, Arc::new(CTransform(function)))
    };
    // SAFETY: this function's contract is the same.
    unsafe { add_function(context, CallKind::Other, function, TRANSFORM, error, define) }
}
