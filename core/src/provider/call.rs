//! The shapes of a provider's calls: requests and responses, independent of any transport.

use crate::{
    event::DetailedDiff,
    property::PropertyMap,
    provider::Views,
    token::{ResourceId, TypeToken},
    urn::Urn,
};

/// What a provider understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Secrets stay wrapped in what it is sent.
    pub accept_secrets: bool,
    /// Resource references stay references in what it is sent.
    pub accept_resources: bool,
    /// Output values stay so in what Construct and Call are sent.
    pub accept_outputs: bool,
    /// Create and Update know how to preview.
    pub supports_preview: bool,
    /// It takes names that the engine proposes.
    pub supports_autonaming: bool,
    /// Raw bytes stay bytes in what it is sent.
    pub accept_byte_strings: bool,
    /// Its calls on resources may wait for what only a later registration or step causes. Such calls give way when all that
    /// `parallel` allows stand still, so `parallel` is no strict limit for them.
    pub waits_for_registrations: bool,
}

impl Capabilities {
    /// What code written against this library's own API understands: everything. Its calls do not wait for later
    /// registrations.
    #[must_use]
    pub const fn all() -> Self {
        Self {
            accept_secrets: true,
            accept_resources: true,
            accept_outputs: true,
            supports_preview: true,
            supports_autonaming: true,
            accept_byte_strings: true,
            waits_for_registrations: false,
        }
    }
}

/// Greets a provider.
#[derive(Clone, Debug, Default)]
pub struct HandshakeRequest {
    /// Where the Engine service listens; `None` for code of the host, which needs none.
    pub engine_address: Option<String>,
    /// Where schemas of packages, and mappings to them, can be had; `None` where they are not served.
    pub codegen_address: Option<String>,
}

/// Facts of the provider itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginInfo {
    /// The version, when it has one.
    pub version: Option<semver::Version>,
}

/// Which resource a call is about.
#[derive(Clone, Debug)]
pub struct CheckRequest {
    /// The resource.
    pub urn: Urn,
    /// Its type.
    pub resource_type: TypeToken,
    /// Its name.
    pub name: String,
    /// The recorded inputs; `None` when there are none to reuse defaults from.
    pub olds: Option<PropertyMap>,
    /// The inputs that the program asks for.
    pub news: PropertyMap,
    /// 32 random bytes that are the same whenever this registration is checked again; empty for configurations.
    pub random_seed: Vec<u8>,
    /// True while previewing; unknowns may occur.
    pub preview: bool,
    /// How the real thing is to be named; `None` leaves that to the provider.
    pub autonaming: Option<Autonaming>,
}

/// Says how a real thing is to be named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Autonaming {
    /// The name; empty when there must be none.
    pub proposed_name: String,
    /// How much the provider may differ from it.
    pub mode: AutonamingMode,
}

/// How much a provider may differ from a proposed name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutonamingMode {
    /// It may change the name, for one that its rules allow.
    Propose,
    /// It must take the name, or fail.
    Enforce,
    /// It must not make up a name: the program has to give one.
    Disable,
}

impl AutonamingMode {
    /// All modes.
    pub const ALL: [Self; 3] = [Self::Propose, Self::Enforce, Self::Disable];

    /// Returns the mode's name: `propose`, `enforce` or `disable`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Propose => "propose",
            Self::Enforce => "enforce",
            Self::Disable => "disable",
        }
    }
}

/// One thing that is wrong with inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckFailure {
    /// The path of the property; empty for the whole resource.
    pub property: String,
    /// What is wrong.
    pub reason: String,
}

/// Checked inputs.
#[derive(Clone, Debug, Default)]
pub struct CheckResponse {
    /// The inputs to go on with.
    pub inputs: PropertyMap,
    /// What is wrong with them.
    pub failures: Vec<CheckFailure>,
}

/// Asks for a comparison.
#[derive(Clone, Debug)]
pub struct DiffRequest {
    /// The resource.
    pub urn: Urn,
    /// Its type.
    pub resource_type: TypeToken,
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: ResourceId,
    /// The recorded inputs.
    pub old_inputs: PropertyMap,
    /// The recorded outputs.
    pub old_outputs: PropertyMap,
    /// The new inputs, as Check left them.
    pub news: PropertyMap,
    /// Paths whose changes are ignored.
    pub ignore_changes: Vec<String>,
    /// True while previewing; unknowns may occur.
    pub preview: bool,
}

/// Whether a comparison found anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiffChanges {
    /// The provider cannot tell; the engine compares the inputs itself.
    #[default]
    Unknown,
    /// Nothing differs.
    None,
    /// Something differs.
    Some,
}

/// What a comparison found.
#[derive(Clone, Debug, Default)]
pub struct DiffResponse {
    /// Whether anything differs.
    pub changes: DiffChanges,
    /// Properties whose change needs a replacement.
    pub replaces: Vec<String>,
    /// Properties that will not change.
    pub stables: Vec<String>,
    /// Properties that differ.
    pub diffs: Vec<String>,
    /// How each differs; `None` when the provider does not say.
    pub detailed_diff: Option<DetailedDiff>,
    /// Whether a replacement must delete first.
    pub delete_before_replace: bool,
    /// Set when the provider's own configuration is not known yet: people are warned with this text.
    pub unavailable: Option<String>,
}

/// Configures a provider.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigureRequest {
    /// The provider resource.
    pub urn: Urn,
    /// Its name.
    pub name: String,
    /// Its id; the unknown sentinel during the preview of a new one.
    pub id: ResourceId,
    /// The configuration, as the provider's own Check left it, without the engine's internal fields.
    pub inputs: PropertyMap,
}

/// Asks for a creation.
#[derive(Clone, Debug)]
pub struct CreateRequest {
    /// The resource.
    pub urn: Urn,
    /// Its type.
    pub resource_type: TypeToken,
    /// Its name.
    pub name: String,
    /// The inputs, as Check left them.
    pub inputs: PropertyMap,
    /// How long it may take, in seconds; 0 leaves it to the provider.
    pub timeout: f64,
    /// True while previewing: nothing may be made.
    pub preview: bool,
    /// Where steps on its views are published.
    pub views: Views,
}

/// What was created.
#[derive(Clone, Debug, Default)]
pub struct CreateResponse {
    /// The id; may be empty only while previewing.
    pub id: ResourceId,
    /// The outputs.
    pub outputs: PropertyMap,
    /// Whether the resource wants to be read before each update.
    pub refresh_before_update: bool,
}

/// Asks for a resource as it is.
#[derive(Clone, Debug)]
pub struct ReadRequest {
    /// The resource.
    pub urn: Urn,
    /// Its type.
    pub resource_type: TypeToken,
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: ResourceId,
    /// The recorded inputs; `None` for an import, which has none.
    pub inputs: Option<PropertyMap>,
    /// The recorded outputs; `None` for an import, which has none.
    pub properties: Option<PropertyMap>,
    /// How long it may take, in seconds; 0 leaves it to the provider.
    pub timeout: f64,
    /// True while previewing.
    pub preview: bool,
    /// Its recorded views, and where steps on them are published.
    pub views: Views,
}

/// A resource as it is.
#[derive(Clone, Debug, Default)]
pub struct ReadResponse {
    /// The id. When it is empty, a refresh finds that the resource does not exist; a read and an import keep the id of
    /// the request.
    pub id: ResourceId,
    /// The inputs; `None` when the provider does not return them.
    pub inputs: Option<PropertyMap>,
    /// The outputs; `None` when the resource does not exist.
    pub outputs: Option<PropertyMap>,
    /// Whether the resource wants to be read before each update.
    pub refresh_before_update: bool,
}

/// Asks for a change in place.
#[derive(Clone, Debug)]
pub struct UpdateRequest {
    /// The resource.
    pub urn: Urn,
    /// Its type.
    pub resource_type: TypeToken,
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: ResourceId,
    /// The recorded inputs.
    pub old_inputs: PropertyMap,
    /// The recorded outputs.
    pub old_outputs: PropertyMap,
    /// The new inputs, as Check left them.
    pub news: PropertyMap,
    /// Paths whose changes are ignored.
    pub ignore_changes: Vec<String>,
    /// How long it may take, in seconds; 0 leaves it to the provider.
    pub timeout: f64,
    /// True while previewing: nothing may be changed.
    pub preview: bool,
    /// Its recorded views, and where steps on them are published.
    pub views: Views,
}

/// What was changed.
#[derive(Clone, Debug, Default)]
pub struct UpdateResponse {
    /// The outputs.
    pub outputs: PropertyMap,
    /// Whether the resource wants to be read before each update.
    pub refresh_before_update: bool,
}

/// Asks for a removal.
#[derive(Clone, Debug)]
pub struct DeleteRequest {
    /// The resource.
    pub urn: Urn,
    /// Its type.
    pub resource_type: TypeToken,
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: ResourceId,
    /// The recorded inputs.
    pub inputs: PropertyMap,
    /// The recorded outputs.
    pub outputs: PropertyMap,
    /// How long it may take, in seconds; 0 leaves it to the provider.
    pub timeout: f64,
    /// Its recorded views, and where steps on them are published.
    pub views: Views,
}

/// Calls a function of a package.
#[derive(Clone, Debug)]
pub struct InvokeRequest {
    /// The function: `package:module:member`.
    pub token: String,
    /// The arguments.
    pub arguments: PropertyMap,
    /// True while previewing.
    pub preview: bool,
}

/// What a function returned.
#[derive(Clone, Debug, Default)]
pub struct InvokeResponse {
    /// The result.
    pub result: PropertyMap,
    /// What is wrong with the arguments.
    pub failures: Vec<CheckFailure>,
}
