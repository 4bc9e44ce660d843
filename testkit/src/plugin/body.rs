//! The code of components and methods of a served provider: it registers resources at the engine over the protocol.

use serde_json::{Map, Value, json};
use stackwright::property::wire::{DecodeOptions, from_struct};
use stackwright_proto::{
    MESSAGE_LIMIT,
    pulumirpc::{
        self as rpc, register_resource_request as register, resource_monitor_client::ResourceMonitorClient,
    },
    values::Struct,
};
use tonic::{Status, transport::Channel};

use super::message::{failures, read, write};
use crate::{
    director::{Answers, GoalMaker, INPUTS, References},
    provider::plain,
    scenario::{BodyScript, Statement, StatementKind},
    value,
};

type Client = ResourceMonitorClient<Channel>;

/// Returns the request of Construct as scenarios see it.
pub(super) fn construct_facts(request: &rpc::ConstructRequest) -> Result<Value, Status> {
    let trigger = request.replacement_trigger.clone();
    let trigger = trigger.map(|trigger| Struct {
        fields: [("trigger".to_owned(), trigger)].into(),
    });
    let timeouts = request.custom_timeouts.as_ref();
    let timeouts = timeouts.map(|limits| {
        json!({ "create": limits.create, "update": limits.update, "delete": limits.delete, "read": limits.read })
    });
    let hooks = request.resource_hooks.as_ref();
    let hooks = hooks.map(|hooks| {
        json!({
            "beforeCreate": hooks.before_create, "afterCreate": hooks.after_create,
            "beforeUpdate": hooks.before_update, "afterUpdate": hooks.after_update,
            "beforeDelete": hooks.before_delete, "afterDelete": hooks.after_delete,
        })
    });
    Ok(json!({
        "type": request.r#type, "name": request.name, "inputs": values(request.inputs.clone())?,
        "parent": request.parent, "preview": request.dry_run, "protect": request.protect,
        "providers": request.providers, "dependencies": request.dependencies,
        "ignoreChanges": request.ignore_changes, "replaceOnChanges": request.replace_on_changes,
        "deletedWith": request.deleted_with, "replaceWith": request.replace_with,
        "additionalSecretOutputs": request.additional_secret_outputs, "aliases": request.alias_ur_ns,
        "retainOnDelete": request.retain_on_delete, "deleteBeforeReplace": request.delete_before_replace,
        "replacementTrigger": read(trigger)?["trigger"], "customTimeouts": timeouts, "hooks": hooks,
    }))
}

/// Runs the code of a component: registers it with the options of the request, and what is below it.
pub(super) async fn construct(
    request: rpc::ConstructRequest,
    body: BodyScript,
) -> Result<rpc::ConstructResponse, Status> {
    if !body.failures.is_empty() {
        return Err(Status::internal(
            "a served provider cannot refuse inputs of a component",
        ));
    }
    let program = named(&body, &request.name)?;
    let mut code = Code::new(&request.monitor_endpoint, request.dry_run, request.inputs.clone()).await?;
    let component = code.register(registration(request)).await?;
    let urn = component["urn"].as_str().unwrap_or_default().to_owned();
    code.play(&program, Some(&urn)).await?;
    let state = code.values(&body.outputs)?;
    let published = rpc::RegisterResourceOutputsRequest {
        urn: urn.clone(),
        outputs: state.clone(),
    };
    code.client.register_resource_outputs(published).await?;
    Ok(rpc::ConstructResponse {
        urn,
        state,
        ..rpc::ConstructResponse::default()
    })
}

/// Runs the code of a method. Its arguments have no `__self__`, which it does not use.
pub(super) async fn call(
    request: rpc::CallRequest,
    arguments: Struct,
    body: BodyScript,
) -> Result<rpc::CallResponse, Status> {
    let mut code = Code::new(&request.monitor_endpoint, request.dry_run, Some(arguments)).await?;
    code.play(&named(&body, &request.tok)?, None).await?;
    let failed = body.failures.iter();
    let failed = failed.map(|(property, reason)| json!({ "property": property, "reason": reason }));
    Ok(rpc::CallResponse {
        r#return: code.values(&body.outputs)?,
        failures: failures(&json!({ "failures": failed.collect::<Vec<_>>() })),
        ..rpc::CallResponse::default()
    })
}

fn named(body: &BodyScript, name: &str) -> Result<Vec<Statement>, Status> {
    let program = body.program_of(name);
    program.ok_or_else(|| Status::internal(format!("the code of {name} cannot be read")))
}

/// Returns values in plain JSON form; output values are what they contain.
pub(super) fn values(message: Option<Struct>) -> Result<Value, Status> {
    let properties = from_struct(message.unwrap_or_default(), &DecodeOptions::all("inputs"));
    let properties = properties.map_err(|error| Status::invalid_argument(error.message().to_owned()))?;
    Ok(plain(properties.collapse_outputs()))
}

/// A run of the code of a component or a method.
struct Code {
    client: Client,
    preview: bool,
    answers: Answers,
}

impl Code {
    async fn new(monitor: &str, preview: bool, inputs: Option<Struct>) -> Result<Self, Status> {
        let client = Client::connect(format!("http://{monitor}")).await;
        let client =
            client.map_err(|error| Status::unavailable(format!("no monitor at {monitor}: {error}")))?;
        let inputs = json!({ "outputs": values(inputs)? });
        Ok(Self {
            client: client.max_decoding_message_size(MESSAGE_LIMIT),
            preview,
            answers: Answers::from([(INPUTS.to_owned(), inputs)]),
        })
    }

    /// Registers the resources of statements, one after the other.
    async fn play(&mut self, program: &[Statement], parent: Option<&str>) -> Result<(), Status> {
        for statement in program {
            let StatementKind::Resource(token) = statement.kind().map_err(Status::internal)? else {
                return Err(Status::internal(
                    "the code of a served provider only registers resources",
                ));
            };
            let request = rpc::RegisterResourceRequest {
                r#type: token,
                name: statement.name.clone().unwrap_or_default(),
                parent: parent.unwrap_or_default().to_owned(),
                custom: true,
                object: self.values(&statement.inputs)?,
                accept_secrets: true,
                accept_resources: true,
                supports_partial_values: true,
                ..rpc::RegisterResourceRequest::default()
            };
            let answer = self.register(request).await?;
            self.answers.insert(statement.handle().to_owned(), answer);
        }
        Ok(())
    }

    /// Registers a resource; returns the answer in the form of those of actors.
    async fn register(&mut self, request: rpc::RegisterResourceRequest) -> Result<Value, Status> {
        let answer = self.client.register_resource(request).await?.into_inner();
        Ok(json!({ "urn": answer.urn, "id": answer.id, "outputs": values(answer.object)? }))
    }

    /// Returns values with their references replaced.
    fn values(&self, inputs: &Map<String, Value>) -> Result<Option<Struct>, Status> {
        let maker = GoalMaker {
            references: References::Resolved,
            preview: self.preview,
            answers: &self.answers,
        };
        write(&value::to_plain(&maker.value(&Value::Object(inputs.clone()))))
    }
}

/// Returns the registration of a component with the options of its request.
fn registration(request: rpc::ConstructRequest) -> rpc::RegisterResourceRequest {
    let dependencies = request.input_dependencies.into_iter();
    let dependencies = dependencies
        .map(|(name, list)| (name, register::PropertyDependencies { urns: list.urns }))
        .collect();
    let limits = request.custom_timeouts.map(|limits| register::CustomTimeouts {
        create: limits.create,
        update: limits.update,
        delete: limits.delete,
        read: limits.read,
    });
    let hooks = request
        .resource_hooks
        .map(|hooks| register::ResourceHooksBinding {
            before_create: hooks.before_create,
            after_create: hooks.after_create,
            before_update: hooks.before_update,
            after_update: hooks.after_update,
            before_delete: hooks.before_delete,
            after_delete: hooks.after_delete,
            on_error: hooks.on_error,
        });
    rpc::RegisterResourceRequest {
        r#type: request.r#type,
        name: request.name,
        parent: request.parent,
        object: request.inputs,
        property_dependencies: dependencies,
        dependencies: request.dependencies,
        providers: request.providers,
        protect: request.protect,
        retain_on_delete: request.retain_on_delete,
        delete_before_replace: request.delete_before_replace.unwrap_or_default(),
        delete_before_replace_defined: request.delete_before_replace.is_some(),
        ignore_changes: request.ignore_changes,
        replace_on_changes: request.replace_on_changes,
        replace_with: request.replace_with,
        replacement_trigger: request.replacement_trigger,
        additional_secret_outputs: request.additional_secret_outputs,
        deleted_with: request.deleted_with,
        aliases: request.aliases,
        alias_specs: true,
        custom_timeouts: limits,
        hooks,
        accept_secrets: true,
        accept_resources: true,
        supports_partial_values: true,
        ..rpc::RegisterResourceRequest::default()
    }
}
