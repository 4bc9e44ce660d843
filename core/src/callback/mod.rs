//! Functions of a program that the engine calls: hooks of resources, and the transport to functions behind the protocol.

mod channel;
mod function;
mod hook;

pub use channel::CallbackChannel;
pub(crate) use channel::CallbackTargets;
pub(crate) use function::{CALLBACK_TIMEOUT, RemoteFunction};
pub use hook::{ErrorHook, ErrorHookCall, HookCall, ResourceHook};
pub(crate) use hook::{Hook, Hooks};
