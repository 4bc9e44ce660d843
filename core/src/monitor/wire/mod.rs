//! The protocol's messages of the resource monitor, in and out: functions that translate between them and the typed
//! API.

mod engine;
mod hook;
mod info;
mod invoke;
mod method;
mod options;
mod position;
mod read;
mod register;

pub(crate) use engine::{diagnostic_of, require_version};
pub(super) use engine::{log, root_resource, set_root_resource};
pub(super) use hook::{register_error_hook, register_resource_hook};
pub(super) use info::{deployment_info, register_package, supports_feature};
pub(super) use invoke::invoke;
pub(super) use method::call_method;
pub(super) use position::Positions;
pub(super) use read::read_resource;
pub(super) use register::{register_resource, register_resource_outputs};
