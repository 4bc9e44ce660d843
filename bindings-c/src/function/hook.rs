//! Hooks: functions that run before and after the steps of resources, or after their failures.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use stackwright::callback::{ErrorHook, ErrorHookCall, HookCall, HookOptions, ResourceHook};

use super::{CFunction, add_function, response, sw_function_t};
use crate::{
    bytes::sw_bytes_view_t,
    context::{CallKind, sw_context_t},
    error::sw_error_t,
    failure::{Failure, Outcome},
    status::sw_status_t,
};

/// An option of `sw_context_register_hook`: the hook runs in previews, too.
pub const SW_HOOK_ON_DRY_RUN: u32 = 1;

/// An option of `sw_context_register_hook`: failures of the hook are warnings, and change nothing else.
pub const SW_HOOK_IGNORE_ERRORS: u32 = 2;

/// What errors name.
const HOOK: &str = "hook";

struct CHook(Arc<CFunction>);

/// The response of a hook.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Done {}

/// The response of an error hook.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Decision {
    retry: bool,
}

#[async_trait]
impl ResourceHook for CHook {
    async fn run(&self, call: HookCall) -> stackwright::Result<()> {
        let done = self.0.ask(HOOK, call.to_json()?).await?;
        response::<Done>(HOOK, &done).map(drop)
    }
}

#[async_trait]
impl ErrorHook for CHook {
    async fn should_retry(&self, call: ErrorHookCall) -> stackwright::Result<bool> {
        let decision = self.0.ask(HOOK, call.to_json()?).await?;
        Ok(response::<Decision>(HOOK, &decision)?.retry)
    }
}

/// Returns the options of a hook.
fn hook_options(flags: u32) -> Outcome<HookOptions> {
    if flags & !(SW_HOOK_ON_DRY_RUN | SW_HOOK_IGNORE_ERRORS) != 0 {
        return Err(Failure::misuse("the hook has unknown options"));
    }
    Ok(HookOptions {
        on_dry_run: flags & SW_HOOK_ON_DRY_RUN != 0,
        ignore_errors: flags & SW_HOOK_IGNORE_ERRORS != 0,
    })
}

/// Registers a hook for the rest of the run. Resources name it in their member `resourceHooks`, by the moment at which it
/// runs: `{"BeforeCreate": ["name"]}`, and so on with `AfterCreate`, `BeforeUpdate`, `AfterUpdate`, `BeforeDelete` and
/// `AfterDelete`. It is registered before them. The names are recorded: a later run, also a destroy, registers the hooks of
/// what it deletes, and deletions at the end of a run call hooks after the program has returned.
///
/// `options` is 0 or a sum of `SW_HOOK_ON_DRY_RUN` and `SW_HOOK_IGNORE_ERRORS`. The function gets `{"urn", "id", "name",
/// "type", "newInputs", "oldInputs", "newOutputs", "oldOutputs", "newOptions", "oldOptions"}`, what the step does not have
/// being null, and completes with an empty response. The failure of one that runs before a step fails the step; that of one
/// that runs after it is reported and fails the operation.
///
/// Returns `SW_STATUS_INVALID_INPUT` for an empty name, and for one that a hook of either kind has.
///
/// # Safety
/// `context` must be null or alive, `name` readable, `function` null or readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_register_hook(
    context: *const sw_context_t,
    name: sw_bytes_view_t,
    options: u32,
    function: *const sw_function_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let register = |context: &sw_context_t, function| {
        // SAFETY: readable by this function's contract.
        let name = unsafe { name.text("the name of the hook") }?;
        let (hook, options) = (Arc::new(CHook(function)), hook_options(options)?);
        let monitor = &context.program.monitor;
        let registered = monitor.register_resource_hook(name, hook, options);
        registered.map_err(Failure::from)
    };
    // SAFETY: this function's contract is the same.
    unsafe { add_function(context, CallKind::Other, function, HOOK, error, register) }
}

/// Registers a hook that decides whether a failed step is tried again, for the rest of the run. Resources name it in their
/// member `resourceHooks` as `{"OnError": ["name"]}`.
///
/// The function gets `{"urn", "id", "name", "type", "newInputs", "oldInputs", "oldOutputs", "newOptions", "oldOptions",
/// "failedOperation": "create"|"update"|"delete", "errors": ["latest", "first"]}`, and completes with `{"retry": true}` for
/// another attempt, also after a pause; an empty response is none. Its own failure fails the step.
///
/// Returns `SW_STATUS_INVALID_INPUT` for an empty name, and for one that a hook of either kind has.
///
/// # Safety
/// `context` must be null or alive, `name` readable, `function` null or readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_register_error_hook(
    context: *const sw_context_t,
    name: sw_bytes_view_t,
    function: *const sw_function_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let register = |context: &sw_context_t, function| {
        // SAFETY: readable by this function's contract.
        let name = unsafe { name.text("the name of the hook") }?;
        let hook = Arc::new(CHook(function));
        let registered = context.program.monitor.register_error_hook(name, hook);
        registered.map_err(Failure::from)
    };
    // SAFETY: this function's contract is the same.
    unsafe { add_function(context, CallKind::Other, function, HOOK, error, register) }
}
