//! The protocol's messages of the resource monitor, in and out: functions that translate between them and the typed
//! API.

mod engine;
mod exists;
mod hook;
mod info;
mod invoke;
mod method;
mod options;
mod position;
mod read;
mod register;
mod transform;

pub(crate) use engine::{diagnostic_of, require_version};
pub(super) use engine::{log, root_resource, set_root_resource};
pub(super) use exists::exists_resource;
pub(super) use hook::{register_error_hook, register_resource_hook};
pub(super) use info::{deployment_info, register_package, supports_feature};
pub(super) use invoke::invoke;
pub(super) use method::call_method;
pub(super) use position::Positions;
pub(super) use read::read_resource;
pub(super) use register::{register_resource, register_resource_outputs};
pub(super) use transform::{
    invoke_transform_request, register_stack_invoke_transform, register_stack_transform, transform_request,
    transformed, transformed_invoke,
};
