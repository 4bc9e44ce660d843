//! Functions of a program that the engine calls: hooks of resources, and the transport to functions behind the protocol.

mod channel;
mod function;
mod hook;
mod hook_json;
mod remote_hook;

pub use channel::CallbackChannel;
pub(crate) use channel::CallbackTargets;
pub(crate) use function::{PANICKED, RemoteFunction, overdue, unless_panicked, within_deadline};
pub use hook::{ErrorHook, ErrorHookCall, HookCall, HookOptions, ResourceHook};
pub(crate) use hook::{Hook, Hooks};
pub(crate) use remote_hook::RemoteHook;
