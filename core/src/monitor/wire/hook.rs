//! RegisterResourceHook and RegisterErrorHook.

use std::sync::Arc;

use stackwright_proto::pulumirpc::{Callback, RegisterErrorHookRequest, RegisterResourceHookRequest};

use crate::{
    callback::{HookOptions, RemoteFunction, RemoteHook},
    error::{Error, ErrorKind},
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
    let registered = monitor.register_resource_hook(&request.name, Arc::new(hook), options);
    registered.map_err(status_of)
}

/// Registers the hook of a RegisterErrorHook request.
pub(in crate::monitor) fn register_error_hook(
    monitor: &Monitor,
    request: RegisterErrorHookRequest,
) -> Result<()> {
    let hook = remote(monitor, request.callback)?;
    let registered = monitor.register_error_hook(&request.name, Arc::new(hook));
    registered.map_err(status_of)
}

/// Returns the status of a refused hook.
fn status_of(error: Error) -> WireStatus {
    match error.kind() {
        ErrorKind::Cancelled => WireStatus::shut_down("registering a hook"),
        _ => WireStatus::unknown(error.message()),
    }
}

fn remote(monitor: &Monitor, callback: Option<Callback>) -> Result<RemoteHook> {
    let function = RemoteFunction::new(callback.unwrap_or_default(), &monitor.shared.callbacks);
    let function = function.map_err(|error| WireStatus::unknown(error.message()))?;
    Ok(RemoteHook::new(function))
}
