//! The built-in provider `pulumi`: references to other stacks, stashed values, functions that look up resources.

mod stack_reference;
mod stash;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use async_trait::async_trait;

use crate::{
    diagnostic::Diagnostic,
    error::Result,
    plugin::DiagnosticSink,
    property::{PropertyMap, PropertyValue},
    provider::{
        Capabilities, CheckRequest, CheckResponse, CreateRequest, CreateResponse, DeleteRequest, DiffRequest,
        DiffResponse, HandshakeRequest, InvokeRequest, InvokeResponse, Provider, ProviderError,
        ProviderResult, ProviderStatus, ReadRequest, ReadResponse, UpdateRequest, UpdateResponse,
    },
    runtime::Random,
    token::{ResourceId, STACK_REFERENCE},
    urn::Urn,
};

/// The package's name.
pub const PACKAGE: &str = "pulumi";

const STASH: &str = "pulumi:index:Stash";

const READ_STACK_OUTPUTS: &str = "pulumi:pulumi:readStackOutputs";
const READ_STACK_RESOURCE_OUTPUTS: &str = "pulumi:pulumi:readStackResourceOutputs";
const GET_RESOURCE: &str = "pulumi:pulumi:getResource";

/// Reads the outputs of other stacks.
#[async_trait]
pub trait StackReader: Send + Sync + 'static {
    /// Returns the outputs of a stack, secrets wrapped.
    ///
    /// # Errors
    /// If the stack does not exist or its state cannot be read.
    async fn stack_outputs(&self, stack: &str) -> Result<PropertyMap>;

    /// Returns a stack's resources by URN: `{"type": …, "outputs": {…}}` for each, secrets wrapped.
    ///
    /// # Errors
    /// If the stack does not exist or its state cannot be read.
    async fn stack_resource_outputs(&self, stack: &str) -> Result<PropertyMap>;
}

/// A resource of this run.
#[derive(Clone, Debug)]
pub struct FoundResource {
    /// Its id; empty in previews of resources that do not exist yet.
    pub id: ResourceId,
    /// The reference of its provider; empty for components.
    pub provider: String,
    /// Its outputs.
    pub outputs: PropertyMap,
}

/// Finds resources of this run: those that were registered, then those that were read.
pub trait ResourceLookup: Send + Sync + 'static {
    /// Returns a resource.
    fn resource(&self, urn: &Urn) -> Option<FoundResource>;
}

/// The provider `pulumi`.
pub struct BuiltinProvider {
    stacks: Option<Arc<dyn StackReader>>,
    resources: Arc<dyn ResourceLookup>,
    random: Arc<dyn Random>,
    sink: Option<DiagnosticSink>,
}

impl BuiltinProvider {
    /// Creates the provider of one run; without `stacks`, references to other stacks fail.
    #[must_use]
    pub fn new(
        stacks: Option<Arc<dyn StackReader>>,
        resources: Arc<dyn ResourceLookup>,
        random: Arc<dyn Random>,
        sink: Option<DiagnosticSink>,
    ) -> Self {
        Self {
            stacks,
            resources,
            random,
            sink,
        }
    }

    fn warn(&self, urn: &Urn, text: &str) {
        if let Some(sink) = &self.sink {
            sink(Diagnostic::warning(text).about(urn.clone()));
        }
    }

    fn new_id(&self, preview: bool) -> ResourceId {
        if preview {
            ResourceId::default()
        } else {
            self.random.uuid().into()
        }
    }

    fn get_resource(&self, arguments: &PropertyMap) -> ProviderResult<PropertyMap> {
        let text = string_argument(arguments, "urn")?;
        let found = Urn::parse(text)
            .ok()
            .and_then(|urn| self.resources.resource(&urn))
            .ok_or_else(|| failed(format!("unknown resource {text}")))?;
        Ok([
            ("urn", text.into()),
            ("id", found.id.as_str().into()),
            ("provider", found.provider.into()),
            ("state", found.outputs.into()),
        ]
        .into_iter()
        .collect())
    }
}

fn failed(message: impl Into<String>) -> ProviderError {
    ProviderError::new(ProviderStatus::Unknown, message)
}

fn unrecognized(resource_type: impl AsRef<str>) -> ProviderError {
    failed(format!("unrecognized resource type '{}'", resource_type.as_ref()))
}

fn string_argument<'a>(arguments: &'a PropertyMap, name: &str) -> ProviderResult<&'a str> {
    match arguments.get(name) {
        None => Err(failed(format!("missing required property \"{name}\""))),
        Some(value) => value
            .as_str()
            .ok_or_else(|| failed(format!("property \"{name}\" must be a string"))),
    }
}

fn object(entries: impl IntoIterator<Item = (&'static str, PropertyValue)>) -> PropertyMap {
    entries.into_iter().collect()
}

impl Provider for BuiltinProvider {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn check(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        match request.resource_type.as_str() {
            STACK_REFERENCE => Ok(self.check_stack_reference(request)),
            STASH => Ok(stash::check(request)),
            other => Err(unrecognized(other)),
        }
    }

    async fn diff(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        match request.resource_type.as_str() {
            STACK_REFERENCE => Ok(stack_reference::diff(&request)),
            STASH => Ok(stash::diff(&request)),
            other => Err(unrecognized(other)),
        }
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        let outputs = match request.resource_type.as_str() {
            STACK_REFERENCE => self.read_stack(&request.inputs).await?,
            STASH => stash::created(&request.inputs),
            other => return Err(unrecognized(other)),
        };
        Ok(CreateResponse {
            id: self.new_id(request.preview),
            outputs,
            refresh_before_update: false,
        })
    }

    async fn read(&self, request: ReadRequest) -> ProviderResult<ReadResponse> {
        match request.resource_type.as_str() {
            STACK_REFERENCE => self.read_stack_reference(request).await,
            STASH => stash::read(request),
            other => Err(unrecognized(other)),
        }
    }

    async fn update(&self, request: UpdateRequest) -> ProviderResult<UpdateResponse> {
        match request.resource_type.as_str() {
            STASH => Ok(stash::updated(&request)),
            other => Err(unrecognized(other)),
        }
    }

    async fn delete(&self, request: DeleteRequest) -> ProviderResult<()> {
        match request.resource_type.as_str() {
            STACK_REFERENCE | STASH => Ok(()),
            other => Err(unrecognized(other)),
        }
    }

    async fn invoke(&self, request: InvokeRequest) -> ProviderResult<InvokeResponse> {
        let result = match request.token.as_str() {
            READ_STACK_OUTPUTS => self.read_stack(&request.arguments).await?,
            READ_STACK_RESOURCE_OUTPUTS => self.read_stack_resources(&request.arguments).await?,
            GET_RESOURCE => self.get_resource(&request.arguments)?,
            other => return Err(failed(format!("unrecognized function name: '{other}'"))),
        };
        Ok(InvokeResponse {
            result,
            failures: Vec::new(),
        })
    }
}
