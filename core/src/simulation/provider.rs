//! The simulated provider: serves any package from the world, schemas and what the test supplies.

use std::sync::Arc;

use async_trait::async_trait;

use super::{
    Simulation, Thing,
    outputs::Subject,
    pattern::matches_type,
    recording::Player,
    schema::{FunctionCall, PackageSchema, ResourceSchema},
};
use crate::{
    message::nearest_names,
    monitor::Component,
    property::{PathElement, PropertyMap, PropertyPath, PropertyValue},
    provider::{
        Call, Capabilities, CheckFailure, CheckRequest, CheckResponse, ConstructRequest, ConstructResponse,
        CreateRequest, CreateResponse, DeleteRequest, DiffChanges, DiffRequest, DiffResponse, InvokeRequest,
        InvokeResponse, MethodRequest, MethodResponse, ProviderBackend, ProviderError, ProviderResult,
        ProviderStatus, ReadRequest, ReadResponse, Reply, UpdateRequest, UpdateResponse,
    },
    token::{ResourceId, TypeToken},
};

/// Serves one package.
pub(super) struct SimulatedProvider {
    pub(super) package: String,
    pub(super) simulation: Simulation,
}

impl SimulatedProvider {
    fn schema(&self) -> Option<&PackageSchema> {
        let schemas = &self.simulation.0.settings.schemas;
        schemas.iter().find(|schema| schema.name == self.package)
    }

    pub(super) fn resource_schema(&self, token: &TypeToken) -> Option<(&PackageSchema, &ResourceSchema)> {
        let schema = self.schema()?;
        Some((schema, schema.resource(token.as_str())?))
    }

    /// Refuses a type that the schema of the package lacks.
    fn refuse_unknown(&self, token: &TypeToken) -> ProviderResult<()> {
        let schema = self.schema().filter(|_| self.player().is_none());
        match schema.and_then(|schema| schema.unknown_type(token.as_str())) {
            Some(refusal) => Err(ProviderError::new(ProviderStatus::NotFound, refusal)),
            None => Ok(()),
        }
    }

    fn player(&self) -> Option<&Player> {
        self.simulation.0.player.as_ref()
    }

    fn check(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        if let Some(player) = self.player() {
            return player.check(request);
        }
        self.refuse_unknown(&request.resource_type)?;
        let mut inputs = request.news;
        let Some((schema, resource)) = self.resource_schema(&request.resource_type) else {
            return Ok(CheckResponse {
                inputs,
                failures: Vec::new(),
            });
        };
        resource.complete(&mut inputs);
        let failures = schema.check(resource, &inputs);
        Ok(CheckResponse { inputs, failures })
    }

    /// Leaves the comparison to the engine, unless a property replaces the resource.
    fn diff(&self, request: &DiffRequest) -> DiffResponse {
        if let Some(answer) = self.player().and_then(|player| player.diff(request)) {
            return answer;
        }
        let token = request.resource_type.as_str();
        let settings = &self.simulation.0.settings;
        let replacing: Vec<&PropertyPath> = settings
            .replace_on
            .iter()
            .filter(|(pattern, _)| matches_type(pattern, token))
            .flat_map(|(_, paths)| paths)
            .collect();
        let schema = self.resource_schema(&request.resource_type);
        let Some(difference) = request.old_inputs.diff(&request.news) else {
            return DiffResponse {
                changes: DiffChanges::None,
                ..DiffResponse::default()
            };
        };
        let replaces: Vec<String> = difference
            .paths()
            .into_iter()
            .map(|(path, _)| path)
            .filter(|path| {
                replacing
                    .iter()
                    .any(|replacing| replacing.contains(path) || path.contains(replacing))
                    || schema.is_some_and(|(schema, resource)| schema.replaces(resource, path))
            })
            .filter_map(|path| match path.elements().first() {
                Some(PathElement::Key(name)) => Some(name.to_string()),
                _ => None,
            })
            .collect();
        if replaces.is_empty() {
            return DiffResponse::default();
        }
        let deletes_first = settings.delete_before_replace.iter();
        DiffResponse {
            changes: DiffChanges::Some,
            replaces,
            diffs: difference.keys().iter().map(ToString::to_string).collect(),
            delete_before_replace: deletes_first
                .into_iter()
                .any(|pattern| matches_type(pattern, token)),
            ..DiffResponse::default()
        }
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        let played = self.player().map(|player| player.create(&request)).transpose()?;
        let id = match (&played, request.preview) {
            (_, true) => ResourceId::default(),
            (Some((id, _)), false) => id.clone(),
            (None, false) => self.simulation.world().next_id(&request.urn),
        };
        let outputs = match played {
            Some((_, outputs)) => outputs,
            None => {
                self.outputs(Subject {
                    urn: &request.urn,
                    resource_type: &request.resource_type,
                    name: &request.name,
                    id: &id,
                    inputs: &request.inputs,
                    previous: None,
                    is_preview: request.preview,
                })
                .await?
            }
        };
        if !request.preview {
            self.simulation.world().put(Thing {
                resource_type: request.resource_type,
                id: id.clone(),
                urn: Some(request.urn),
                name: request.name,
                inputs: request.inputs,
                outputs: outputs.clone(),
            });
        }
        Ok(CreateResponse {
            id,
            outputs,
            ..CreateResponse::default()
        })
    }

    fn read(&self, request: &ReadRequest) -> ProviderResult<ReadResponse> {
        self.refuse_unknown(&request.resource_type)?;
        let is_recorded = request
            .properties
            .as_ref()
            .is_some_and(|recorded| !recorded.is_empty());
        if let Some(thing) = self.simulation.world().get(&request.resource_type, &request.id) {
            let recorded = request.inputs.as_ref().filter(|inputs| !inputs.is_empty());
            let base = recorded.unwrap_or(&thing.inputs);
            let present = |(name, input): (&crate::property::Key, &PropertyValue)| {
                // What was changed by hand is an input from then on, as of a real provider.
                let output = thing
                    .outputs
                    .get(name)
                    .filter(|output| !output.is_equivalent(input));
                let is_gone = !thing.outputs.contains_key(name)
                    && thing.inputs.contains_key(name)
                    && !name.starts_with("__");
                (!is_gone || input.is_null()).then(|| (name.clone(), output.unwrap_or(input).clone()))
            };
            // What is imported has the inputs that it is found with; a recorded resource without inputs has none.
            let inputs: PropertyMap = match base.is_empty() && !is_recorded {
                true => thing.outputs.clone(),
                false => base.iter().filter_map(present).collect(),
            };
            return Ok(ReadResponse {
                id: request.id.clone(),
                inputs: Some(inputs),
                outputs: Some(thing.outputs.clone()),
                ..ReadResponse::default()
            });
        }
        if let Some(answer) = self.player().and_then(|player| player.read(request)) {
            return Ok(answer);
        }
        // A query whether a resource exists has the id in the place of a name.
        let is_query = request.name == request.id.as_str();
        let world = self.simulation.world();
        if is_recorded || is_query || world.is_gone(&request.resource_type, &request.id) {
            return Ok(ReadResponse::default());
        }
        Err(ProviderError::new(
            ProviderStatus::NotFound,
            format!(
                "the simulated world has no {} with the id {:?}; put it there with the option `existing`",
                request.resource_type,
                request.id.as_str()
            ),
        ))
    }

    async fn update(&self, request: UpdateRequest) -> ProviderResult<UpdateResponse> {
        let played = self.player().map(|player| player.update(&request)).transpose()?;
        let present = self.updated(&request, played.is_some())?;
        // In a preview and of a real update alike, what was changed by hand stays where the program sets nothing.
        let previous = present
            .as_ref()
            .map_or(&request.old_outputs, |thing| &thing.outputs);
        let outputs = match played {
            Some(outputs) => outputs,
            None => {
                self.outputs(Subject {
                    urn: &request.urn,
                    resource_type: &request.resource_type,
                    name: &request.name,
                    id: &request.id,
                    inputs: &request.news,
                    previous: Some((&request.old_inputs, previous)),
                    is_preview: request.preview,
                })
                .await?
            }
        };
        if !request.preview {
            let mut world = self.simulation.world();
            if let Some(former) = present {
                world.remove(&former.resource_type, &former.id);
            }
            world.put(Thing {
                resource_type: request.resource_type,
                id: request.id,
                urn: Some(request.urn),
                name: request.name,
                inputs: request.news,
                outputs: outputs.clone(),
            });
        }
        Ok(UpdateResponse {
            outputs,
            ..UpdateResponse::default()
        })
    }

    /// Returns the thing that an update changes; `None` for what the world has never had, as of a state that was imported.
    fn updated(&self, request: &UpdateRequest, is_played: bool) -> ProviderResult<Option<Thing>> {
        let (kind, id) = (&request.resource_type, &request.id);
        let world = self.simulation.world();
        let present = world.get(kind, id).or_else(|| world.retyped(kind, id)).cloned();
        if present.is_some() || is_played || request.preview || !world.is_gone(kind, id) {
            return Ok(present);
        }
        Err(ProviderError::new(
            ProviderStatus::NotFound,
            format!(
                "the simulated world has no {kind} with the id {:?} any more: it was removed; a refresh finds that",
                id.as_str()
            ),
        ))
    }

    fn delete(&self, request: &DeleteRequest) {
        self.simulation
            .world()
            .remove(&request.resource_type, &request.id);
    }

    async fn invoke(&self, mut request: InvokeRequest) -> ProviderResult<Reply> {
        if let Some(player) = self.player() {
            return player.invoke(&request);
        }
        let (token, is_preview) = (request.token.clone(), request.preview);
        let function = self.function(&token);
        let failures = check(function.as_ref(), &mut request.arguments);
        if !failures.is_empty() {
            let result = PropertyMap::new();
            return Ok(Reply::Invoke(InvokeResponse { result, failures }));
        }
        let arguments = request.arguments.clone();
        match (
            self.simulation.answer(&token, Call::Invoke(request)).await?,
            function,
        ) {
            (Some(Reply::Invoke(mut answer)), Ok(Some(function))) => {
                function.mark_secrets(&mut answer.result);
                Ok(Reply::Invoke(answer))
            }
            (Some(answer), _) => Ok(answer),
            (None, Ok(Some(function))) => Ok(Reply::Invoke(InvokeResponse {
                result: function.result(&arguments, is_preview),
                failures: Vec::new(),
            })),
            (None, Ok(None)) => Err(self.unanswered("function", &token)),
            (None, Err(refusal)) => Err(refusal),
        }
    }

    async fn method(&self, mut request: Box<MethodRequest>) -> ProviderResult<Reply> {
        if let Some(player) = self.player() {
            return player.method(&request);
        }
        let (token, is_preview) = (request.token.clone(), request.run.dry_run);
        let method = self.function(&token);
        let failures = check(method.as_ref(), &mut request.arguments);
        if !failures.is_empty() {
            return Ok(Reply::Method(MethodResponse {
                failures,
                ..MethodResponse::default()
            }));
        }
        let arguments = request.arguments.clone();
        match (
            self.simulation.answer(&token, Call::Method(request)).await?,
            method,
        ) {
            (Some(Reply::Method(mut answer)), Ok(Some(method))) => {
                method.mark_secrets(&mut answer.result);
                Ok(Reply::Method(answer))
            }
            (Some(answer), _) => Ok(answer),
            (None, Ok(Some(method))) => Ok(Reply::Method(MethodResponse {
                result: method.result(&arguments, is_preview),
                ..MethodResponse::default()
            })),
            (None, Ok(None)) => Err(self.unanswered("method", &token)),
            (None, Err(refusal)) => Err(refusal),
        }
    }

    /// Returns the call of a function or a method that the schema of the package has.
    fn function<'a>(&'a self, token: &'a str) -> ProviderResult<Option<FunctionCall<'a>>> {
        let Some(schema) = self.schema() else {
            return Ok(None);
        };
        FunctionCall::of(schema, token)
            .map_err(|refusal| ProviderError::new(ProviderStatus::NotFound, refusal))
    }

    /// Returns the error of a function or method that neither the test nor a schema answers. The form of an answer is that of all languages.
    fn unanswered(&self, kind: &str, token: &str) -> ProviderError {
        let answered = self.simulation.0.settings.answered_functions.iter().flatten();
        let near = match nearest_names(token, answered.map(String::as_str), 1).first() {
            Some(near) => format!("; did you mean {near:?}, which the option `functions` has?"),
            None => String::new(),
        };
        ProviderError::unimplemented(format!(
            "the simulation has no answer to the {kind} {token}{near}; supply one in the option `functions`: \
             {{\"{token}\": {{\"name\": \"value\"}}}}, with a function of the arguments in the place of the values where these depend \
             on them, or the schema of its package in the option `schemas`"
        ))
    }

    /// Registers a component without children, with the outputs of a resource: those that are recorded, where it has some.
    async fn construct(&self, request: ConstructRequest) -> ProviderResult<ConstructResponse> {
        let (kind, name) = (&request.resource_type, &request.name);
        self.refuse_unknown(kind)?;
        if self.player().is_some() {
            let text = format!(
                "the recording has no remote component {name} ({kind}): no recording has any; name the package in the option `real`: \
                 [{:?}], so that its provider constructs it",
                self.package
            );
            return Err(ProviderError::new(ProviderStatus::NotFound, text));
        }
        let component = Component::register(&request).await?;
        let recorded = {
            let world = self.simulation.world();
            let former = request.former_urns();
            let mut urns = std::iter::once(component.urn()).chain(&former);
            urns.find_map(|urn| world.components.get(urn)).cloned()
        };
        let outputs = self
            .outputs(Subject {
                urn: component.urn(),
                resource_type: &request.resource_type,
                name: &request.name,
                id: &ResourceId::from(component.urn().as_str()),
                inputs: &request.inputs,
                previous: recorded
                    .as_ref()
                    .map(|recorded| (&recorded.inputs, &recorded.outputs)),
                is_preview: request.run.dry_run,
            })
            .await?;
        component.finish(outputs).await
    }
}

/// Completes the arguments of a function that the schema has, and returns what is wrong with them.
fn check(
    function: Result<&Option<FunctionCall<'_>>, &ProviderError>,
    arguments: &mut PropertyMap,
) -> Vec<CheckFailure> {
    match function {
        Ok(Some(function)) => function.check(arguments),
        _ => Vec::new(),
    }
}

#[async_trait]
impl ProviderBackend for SimulatedProvider {
    async fn call(&self, call: Call) -> ProviderResult<Reply> {
        match call {
            Call::Handshake(_) => Ok(Reply::Capabilities(Capabilities {
                supports_autonaming: false,
                ..Capabilities::all()
            })),
            Call::Check(request) => self.check(request).map(Reply::Check),
            Call::Diff(request) => Ok(Reply::Diff(self.diff(&request))),
            Call::Create(request) => self.create(request).await.map(Reply::Create),
            Call::Read(request) => self.read(&request).map(Reply::Read),
            Call::Update(request) => self.update(request).await.map(Reply::Update),
            Call::Delete(request) => {
                self.delete(&request);
                Ok(Reply::Done)
            }
            Call::Invoke(request) => self.invoke(request).await,
            Call::Method(request) => self.method(request).await,
            Call::Construct(request) => self.construct(*request).await.map(Reply::Construct),
            Call::GetSchema(request) => match self.schema() {
                Some(schema) => Ok(Reply::Schema(schema.text.clone())),
                None => Call::GetSchema(request).without_method(),
            },
            other => other.without_method(),
        }
    }
}

impl Simulation {
    /// Asks the test for an answer; `None` where it has none.
    async fn answer(&self, token: &str, call: Call) -> ProviderResult<Option<Reply>> {
        let patterns = self.0.settings.answered_functions.as_ref();
        let is_answered = patterns.is_none_or(|all| all.iter().any(|pattern| matches_type(pattern, token)));
        let Some(answers) = self.answers().filter(|_| is_answered) else {
            return Ok(None);
        };
        match answers.call(call).await {
            Ok(reply) => Ok(Some(reply)),
            Err(error) if error.status == ProviderStatus::Unimplemented => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the provider of a package.
    pub(super) fn provider_of(&self, package: &str) -> Arc<dyn ProviderBackend> {
        Arc::new(SimulatedProvider {
            package: package.to_owned(),
            simulation: self.clone(),
        })
    }
}
