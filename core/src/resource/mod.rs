//! Resources: the goal (what a program asks for), the state (what is recorded), and what both are made of.

mod alias;
mod goal;
mod options;
mod property_dependencies;
mod provider_reference;
mod state;

pub use alias::Alias;
pub use goal::Goal;
pub use options::{CustomTimeouts, HookBindings, ResourceOptions, SharedOptions, SourcePosition};
pub use property_dependencies::PropertyDependencies;
pub use provider_reference::{ProviderReference, UNKNOWN_ID};
pub use state::{PendingOperation, PendingOperationKind, ResourceState};
