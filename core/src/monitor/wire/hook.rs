//! RegisterResourceHook and RegisterErrorHook.

use std::sync::Arc;

use stackwright_proto::pulumirpc::{Callback, RegisterErrorHookRequest, RegisterResourceHookRequest};

use crate::{
    callback::{HookOptions, RemoteFunction, RemoteHook},
    monitor::{Monitor, WireStatus},
};

type Result<T> = std::result::Result<T, WireStatus>;

/// Registers the hook of a RegisterResourceHook request.
pub(in crate::monitor) fn register_resource_hook(
    monitor: &Monitor,
    request: RegisterResourceHookRequest,
) -> Result<()> {
    let options = HookOptions {
        on_dry_run: request.on_dry_run,
        ignore_errors: request.ignore_errors,
    };
    let hook = remote(monitor, request.callback)?;
    monitor.register_resource_hook(&request.name, Arc::new(hook), options)
}

/// Registers the hook of a RegisterErrorHook request.
pub(in crate::monitor) fn register_error_hook(
    monitor: &Monitor,
    request: RegisterErrorHookRequest,
) -> Result<()> {
    let hook = remote(monitor, request.callback)?;
    monitor.register_error_hook(&request.name, Arc::new(hook))
}

fn remote(monitor: &Monitor, callback: Option<Callback>) -> Result<RemoteHook> {
    let function = RemoteFunction::new(callback.unwrap_or_default(), &monitor.0.callbacks);
    let function = function.map_err(|error| WireStatus::unknown(error.message()))?;
    Ok(RemoteHook::new(function))
}
