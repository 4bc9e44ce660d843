//! Resources: the goal (desired), the state (recorded), and their parts.

mod alias;
pub(crate) mod duration;
mod extension;
mod goal;
mod options;
mod property_dependencies;
mod provider_reference;
mod state;
mod unknown_members;
pub(crate) mod wire;

pub use alias::Alias;
pub use extension::Extension;
pub(crate) use extension::ExtensionJson;
pub(crate) use goal::Goal;
pub use options::SharedOptions;
pub use options::{CustomTimeouts, ResourceOptions};
pub(crate) use options::{HookBindings, HookMoment, SourcePosition};
pub use property_dependencies::PropertyDependencies;
pub use provider_reference::ProviderReference;
pub(crate) use provider_reference::UNKNOWN_ID;
pub use state::PendingOperation;
pub use state::{PendingOperationKind, ResourceState};
pub use unknown_members::UnknownMembers;
