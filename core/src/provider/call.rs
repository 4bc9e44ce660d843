//! Requests and responses of provider calls, independent of any transport.

use crate::{
    event::DetailedDiff,
    property::PropertyMap,
    provider::Views,
    token::{ResourceId, TypeToken},
    urn::Urn,
};

/// The capabilities of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Requests contain wrapped secrets.
    pub accept_secrets: bool,
    /// Requests contain resource references.
    pub accept_resources: bool,
    /// Requests of Construct and Call contain output values.
    pub accept_outputs: bool,
    /// Requests of Invoke contain output values.
    pub accept_outputs_in_invoke: bool,
    /// Requests of Call contain output values, also without [`Self::accept_outputs`].
    pub accept_outputs_in_call: bool,
    /// Create and Update support previews.
    pub supports_preview: bool,
    /// The provider uses names that the engine proposes.
    pub supports_autonaming: bool,
    /// Requests contain raw bytes.
    pub accept_byte_strings: bool,
    /// Calls on resources may wait for the effect of a later registration or step. Such calls stop counting towards
    /// `parallel` while all counted calls are blocked, so `parallel` is no strict limit for them.
    pub waits_for_registrations: bool,
}

impl Capabilities {
    /// Returns the capabilities of code written against this library's own API: all, except that its functions get
    /// arguments without output values, and that its calls do not wait for later registrations.
    #[must_use]
    pub const fn all() -> Self {
        Self {
            accept_secrets: true,
            accept_resources: true,
            accept_outputs: true,
            accept_outputs_in_invoke: false,
            accept_outputs_in_call: true,
            supports_preview: true,
            supports_autonaming: true,
            accept_byte_strings: true,
            waits_for_registrations: false,
        }
    }
}

/// The request of Handshake.
#[derive(Clone, Debug, Default)]
pub struct HandshakeRequest {
    /// The address of the Engine service; `None` for code of the host.
    pub engine_address: Option<String>,
    /// The address that serves schemas of packages and mappings; `None` if they are not served.
    pub codegen_address: Option<String>,
}

/// Facts about the provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginInfo {
    /// The version, if known.
    pub version: Option<semver::Version>,
}

/// The request of Check and CheckConfig.
#[derive(Clone, Debug)]
pub struct CheckRequest {
    /// The resource.
    pub urn: Urn,
    /// Its type.
    pub resource_type: TypeToken,
    /// Its name.
    pub name: String,
    /// The recorded inputs; `None` for a new resource.
    pub olds: Option<PropertyMap>,
    /// The recorded outputs; `None` where there are no recorded inputs.
    pub old_outputs: Option<PropertyMap>,
    /// The inputs of the program.
    pub news: PropertyMap,
    /// 32 random bytes, identical for each check of the same registration; empty for configurations.
    pub random_seed: Vec<u8>,
    /// True in previews; the inputs may contain unknowns.
    pub preview: bool,
    /// The name to use for the physical resource; `None` leaves naming to the provider.
    pub autonaming: Option<Autonaming>,
}

/// How a physical resource is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Autonaming {
    /// The name; empty with [`AutonamingMode::Disable`].
    pub proposed_name: String,
    /// How much the provider may deviate from it.
    pub mode: AutonamingMode,
}

/// How much a provider may deviate from a proposed name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AutonamingMode {
    /// The provider may change the name to match its rules.
    Propose,
    /// The provider uses the name or fails.
    Enforce,
    /// The provider generates no name: the program has to set one.
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

/// One invalid input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckFailure {
    /// The path of the property; empty for the resource as a whole.
    pub property: String,
    /// The reason.
    pub reason: String,
}

/// The response of Check and CheckConfig.
#[derive(Clone, Debug, Default)]
pub struct CheckResponse {
    /// The inputs, completed with defaults.
    pub inputs: PropertyMap,
    /// The failures; empty if the inputs are valid.
    pub failures: Vec<CheckFailure>,
}

/// The request of Diff and DiffConfig.
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
    /// The new inputs, as returned by Check.
    pub news: PropertyMap,
    /// Paths whose changes are ignored.
    pub ignore_changes: Vec<String>,
    /// True in previews; the inputs may contain unknowns.
    pub preview: bool,
}

/// Whether a comparison found changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DiffChanges {
    /// Unknown; the engine compares the inputs itself.
    #[default]
    Unknown,
    /// There are no changes.
    None,
    /// There are changes.
    Some,
}

/// The response of Diff and DiffConfig.
#[derive(Clone, Debug, Default)]
pub struct DiffResponse {
    /// Whether there are changes.
    pub changes: DiffChanges,
    /// Properties whose change needs a replacement.
    pub replaces: Vec<String>,
    /// Properties that do not change.
    pub stables: Vec<String>,
    /// Properties that change.
    pub diffs: Vec<String>,
    /// The kind of each change; `None` if the provider reports none.
    pub detailed_diff: Option<DetailedDiff>,
    /// Whether a replacement deletes the old resource before it creates the new one.
    pub delete_before_replace: bool,
    /// Set if the provider's own configuration is unknown: the text of a warning.
    pub unavailable: Option<String>,
}

/// The request of Configure.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigureRequest {
    /// The provider resource.
    pub urn: Urn,
    /// Its name.
    pub name: String,
    /// Its id; the unknown sentinel in the preview of a new provider.
    pub id: ResourceId,
    /// The configuration, as returned by CheckConfig, without the engine's internal fields.
    pub inputs: PropertyMap,
}

/// The request of Create.
#[derive(Clone, Debug)]
pub struct CreateRequest {
    /// The resource.
    pub urn: Urn,
    /// Its type.
    pub resource_type: TypeToken,
    /// Its name.
    pub name: String,
    /// The inputs, as returned by Check.
    pub inputs: PropertyMap,
    /// The timeout in seconds; 0 leaves it to the provider.
    pub timeout: f64,
    /// True in previews: nothing is created.
    pub preview: bool,
    /// Publishes steps on its views.
    pub views: Views,
}

/// The response of Create.
#[derive(Clone, Debug, Default)]
pub struct CreateResponse {
    /// The id; may be empty only in previews.
    pub id: ResourceId,
    /// The outputs.
    pub outputs: PropertyMap,
    /// Whether the resource is read before each update.
    pub refresh_before_update: bool,
}

/// The request of Read.
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
    /// The recorded inputs; `None` for an import.
    pub inputs: Option<PropertyMap>,
    /// The recorded outputs; `None` for an import.
    pub properties: Option<PropertyMap>,
    /// The timeout in seconds; 0 leaves it to the provider.
    pub timeout: f64,
    /// True in previews.
    pub preview: bool,
    /// The recorded views; publishes steps on them.
    pub views: Views,
}

/// The response of Read.
#[derive(Clone, Debug, Default)]
pub struct ReadResponse {
    /// The id. If it is empty, a refresh treats the resource as deleted; a read and an import keep the id of the
    /// request.
    pub id: ResourceId,
    /// The inputs; `None` if the provider does not return them.
    pub inputs: Option<PropertyMap>,
    /// The outputs; `None` if the resource does not exist.
    pub outputs: Option<PropertyMap>,
    /// Whether the resource is read before each update.
    pub refresh_before_update: bool,
    /// Whether the provider has not read the resource, and the response is the recorded state. A refresh then keeps the
    /// record with the errors of its initialization.
    pub is_recorded: bool,
}

/// The request of Update.
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
    /// The new inputs, as returned by Check.
    pub news: PropertyMap,
    /// Paths whose changes are ignored.
    pub ignore_changes: Vec<String>,
    /// The timeout in seconds; 0 leaves it to the provider.
    pub timeout: f64,
    /// True in previews: nothing is changed.
    pub preview: bool,
    /// The recorded views; publishes steps on them.
    pub views: Views,
}

/// The response of Update.
#[derive(Clone, Debug, Default)]
pub struct UpdateResponse {
    /// The outputs.
    pub outputs: PropertyMap,
    /// Whether the resource is read before each update.
    pub refresh_before_update: bool,
}

/// The request of Delete.
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
    /// The timeout in seconds; 0 leaves it to the provider.
    pub timeout: f64,
    /// The recorded views; publishes steps on them.
    pub views: Views,
}

/// The request of Invoke.
#[derive(Clone, Debug)]
pub struct InvokeRequest {
    /// The function: `package:module:member`.
    pub token: String,
    /// The arguments.
    pub arguments: PropertyMap,
    /// True in previews.
    pub preview: bool,
}

/// The response of Invoke.
#[derive(Clone, Debug, Default)]
pub struct InvokeResponse {
    /// The result.
    pub result: PropertyMap,
    /// The failures; empty if the arguments are valid.
    pub failures: Vec<CheckFailure>,
}
