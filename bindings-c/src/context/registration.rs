//! Registration of resources, and reads of existing ones.

use std::{
    ffi::c_void,
    future::Future,
    sync::{Arc, PoisonError},
};

use stackwright::{Error, Language, binding, monitor::ResourceTransform};
use tokio_util::either::Either;

use super::{
    call::{Answer, call_async, call_blocking},
    failed_calls::CallKind,
    sw_context_t,
};
use crate::{
    bytes::{sw_bytes_t, sw_bytes_view_t},
    callback::sw_callback_t,
    error::sw_error_t,
    failure::{Failure, Outcome},
    status::sw_status_t,
};

impl sw_context_t {
    /// Adds a transform that registrations can name.
    pub(crate) fn define_transform(&self, name: &str, transform: Arc<dyn ResourceTransform>) -> Outcome<()> {
        if name.is_empty() {
            return Err(Failure::invalid("the name of the transform is empty"));
        }
        let mut transforms = self.transforms.lock().unwrap_or_else(PoisonError::into_inner);
        if transforms.contains_key(name) {
            return Err(Failure::invalid(format!("there is a transform {name:?} already")));
        }
        transforms.insert(name.to_owned(), transform);
        Ok(())
    }

    fn transform(&self, name: &str) -> Option<Arc<dyn ResourceTransform>> {
        let transforms = self.transforms.lock().unwrap_or_else(PoisonError::into_inner);
        transforms.get(name).cloned()
    }
}

fn begin_registration(
    context: &sw_context_t,
    json: &[u8],
) -> Outcome<impl Future<Output = Answer> + Send + use<>> {
    let registration = binding::registration_with(json, Language::C, &|name| context.transform(name))?;
    let registering = match context.component() {
        Some(component) => Either::Left(component.register_child(registration)),
        None => Either::Right(context.program.monitor.register(registration)),
    };
    Ok(async move {
        let registered = registering.await.map_err(Error::from)?;
        Ok(Some(registered.to_json()?))
    })
}

fn begin_read(context: &sw_context_t, json: &[u8]) -> Outcome<impl Future<Output = Answer> + Send + use<>> {
    let read = binding::read_request(json, Language::C)?;
    let reading = match context.component() {
        Some(component) => Either::Left(component.read_child(read)),
        None => Either::Right(context.program.monitor.read(read)),
    };
    Ok(async move {
        let read = reading.await.map_err(Error::from)?;
        Ok(Some(read.to_json()?))
    })
}

/// Registers a resource and waits until its step has finished.
///
/// `registration` is JSON: an object with `type`, `name` and any of these members.
///
/// @members ResourceOptions
///
/// A provider's reference is `<urn>::<id>`. Members of an alias:
///
/// @members Alias
///
/// Members of `customTimeouts`:
///
/// @members CustomTimeouts
///
/// Members of `package`:
///
/// @members PackageSource
///
/// Members of a parameter of a package:
///
/// @members PackageParameter
///
/// The result is `{"urn", "id", "outputs", "unknown", "failed", "skipped"}`, and that of a remote component also has
/// `"outputDependencies": {"name": ["urn"]}`.
///
/// Returns `SW_STATUS_CANCELLED` when the run ends first; the program should then return.
///
/// # Safety
/// `context` must be null or alive, `registration` readable, `registered` null or writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_register(
    context: *const sw_context_t,
    registration: sw_bytes_view_t,
    registered: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        call_blocking(
            context,
            CallKind::Declaration,
            registered,
            error,
            || registration.bytes("the registration"),
            begin_registration,
        )
    }
}

/// Registers a resource as `sw_context_register` does, without waiting. Any number of registrations may be pending;
/// resources are claimed in the order of the calls.
///
/// # Safety
/// `context` must be null or alive, `registration` readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_register_async(
    context: *const sw_context_t,
    registration: sw_bytes_view_t,
    callback: sw_callback_t,
    user_data: *mut c_void,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        call_async(
            context,
            CallKind::Declaration,
            callback,
            user_data,
            error,
            || registration.bytes("the registration"),
            begin_registration,
        )
    }
}

/// Reads a resource that is not managed here and waits for the answer. `read` is JSON: an object with `type`, `name`, `id` and any of
/// these members.
///
/// @members ReadOptions
///
/// The result is that of `sw_context_register`. Of the type `pulumi:pulumi:StackReference`, with the input `name` (`project/stack`, or
/// `organization/project/stack`), it reads another stack: `/outputs/outputs` has the outputs of that one.
///
/// # Safety
/// `context` must be null or alive, `read` readable, `registered` null or writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_read(
    context: *const sw_context_t,
    read: sw_bytes_view_t,
    registered: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        call_blocking(
            context,
            CallKind::Other,
            registered,
            error,
            || read.bytes("the read"),
            begin_read,
        )
    }
}

/// Reads a resource as `sw_context_read` does, without waiting.
///
/// # Safety
/// `context` must be null or alive, `read` readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_context_read_async(
    context: *const sw_context_t,
    read: sw_bytes_view_t,
    callback: sw_callback_t,
    user_data: *mut c_void,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        call_async(
            context,
            CallKind::Other,
            callback,
            user_data,
            error,
            || read.bytes("the read"),
            begin_read,
        )
    }
}
