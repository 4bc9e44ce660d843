//! The code of components and methods: requests with a run through which the code registers resources.

use std::sync::Arc;

use napi::Result;
use stackwright::{
    monitor::{Component, Monitor},
    property::PropertyMap,
    provider::{
        CheckFailure, ConstructRequest, MethodRequest, MethodResponse, ProviderError, ProviderResult,
        ProviderStatus, Reply,
    },
    resource::PropertyDependencies,
    urn::Urn,
};

use super::{Answered, JsProvider, Request, answer, method};
use crate::{
    bridge::{Facts, OpenRun, Payload as _, Run},
    convert::{Js, Reader, Writer},
};

/// A request to run the code of a component or a method.
pub(crate) struct Body {
    /// The number of the code's run.
    run: u32,
    asked: Asked,
}

enum Asked {
    /// A component, which is registered already.
    Construct {
        request: Box<ConstructRequest>,
        urn: Urn,
    },
    Method(Box<MethodRequest>),
}

impl Body {
    /// Returns the method's number.
    pub(super) const fn method(&self) -> u32 {
        match self.asked {
            Asked::Construct { .. } => method::CONSTRUCT,
            Asked::Method(_) => method::CALL,
        }
    }

    /// Makes the object of the request, with the run's number and facts.
    pub(super) fn write(&self, writer: &Writer) -> Result<Js> {
        let scope = writer.scope();
        let object = scope.object()?;
        let facts = match &self.asked {
            Asked::Construct { request, urn } => {
                construct(writer, object, request, urn)?;
                &request.run
            }
            Asked::Method(request) => {
                writer.set_text(object, "token", &request.token)?;
                writer.set_map(object, "arguments", &request.arguments)?;
                &request.run
            }
        };
        writer.set_bool(object, "preview", facts.dry_run)?;
        scope.set_named(object, "run", scope.number(f64::from(self.run))?)?;
        scope.set_named(object, "info", Facts(Arc::clone(facts)).write(writer)?)?;
        Ok(object)
    }
}

fn construct(writer: &Writer, object: Js, request: &ConstructRequest, urn: &Urn) -> Result<()> {
    writer.set_text(object, "urn", urn.as_str())?;
    writer.set_text(object, "type", request.resource_type.as_str())?;
    writer.set_text(object, "name", &request.name)?;
    if let Some(parent) = &request.parent {
        writer.set_text(object, "parent", parent.as_str())?;
    }
    writer.set_map(object, "inputs", &request.inputs)?;
    let options = options(writer, request)?;
    writer.scope().set_named(object, "options", options)
}

/// Makes the object of the options that the registration has; they hold for what is below the component without further steps.
fn options(writer: &Writer, request: &ConstructRequest) -> Result<Js> {
    let scope = writer.scope();
    let object = scope.object()?;
    let flags = [
        ("protect", request.protect),
        ("deleteBeforeReplace", request.delete_before_replace),
        ("retainOnDelete", request.retain_on_delete),
    ];
    for (name, flag) in flags {
        if let Some(flag) = flag {
            writer.set_bool(object, name, flag)?;
        }
    }
    let options = &request.options;
    let lists = [
        ("ignoreChanges", &options.ignore_changes),
        ("replaceOnChanges", &options.replace_on_changes),
        ("additionalSecretOutputs", &options.additional_secret_outputs),
    ];
    for (name, list) in lists {
        if !list.is_empty() {
            scope.set_named(object, name, writer.texts(list)?)?;
        }
    }
    if !request.dependencies.is_empty() {
        scope.set_named(object, "dependsOn", writer.texts(&request.dependencies)?)?;
    }
    let aliases = request.former_urns();
    for (name, urns) in [("replaceWith", &options.replace_with), ("aliases", &aliases)] {
        if !urns.is_empty() {
            scope.set_named(object, name, writer.texts(urns)?)?;
        }
    }
    if let Some(trigger) = &options.replacement_trigger {
        scope.set_named(object, "replacementTrigger", writer.value(trigger)?)?;
    }
    let limits = options.custom_timeouts;
    if !limits.is_empty() {
        let limits = [
            ("create", limits.create),
            ("update", limits.update),
            ("delete", limits.delete),
            ("read", limits.read),
        ];
        let timeouts = scope.object()?;
        for (name, seconds) in limits {
            if let Some(seconds) = seconds {
                scope.set_named(timeouts, name, scope.number(seconds)?)?;
            }
        }
        scope.set_named(object, "customTimeouts", timeouts)?;
    }
    if let Some(urn) = &options.deleted_with {
        writer.set_text(object, "deletedWith", urn.as_str())?;
    }
    if !request.providers.is_empty() {
        let providers = scope.object()?;
        for (package, provider) in &request.providers {
            writer.set_text(providers, package, provider)?;
        }
        scope.set_named(object, "providers", providers)?;
    }
    Ok(object)
}

/// What the code of a component or a method has returned.
pub(crate) struct Returned {
    /// Output values, with their dependencies, where they have some.
    values: PropertyMap,
    dependencies: PropertyDependencies,
    failures: Vec<CheckFailure>,
}

/// Reads the package's form of an answer: `{ values, dependencies, failures? }`, with the URNs that each value comes from.
pub(super) fn returned(reader: &Reader, value: Js) -> Result<Returned> {
    let dependencies = dependencies(reader, value)?;
    let values = reader.map_field(value, "values")?.unwrap_or_default();
    Ok(Returned {
        values: dependencies.attach(values),
        dependencies,
        failures: answer::failures(reader, value, "failures")?,
    })
}

/// Reads the member `dependencies` of an answer: by the name of each value the URNs that it comes from.
pub(super) fn dependencies(reader: &Reader, value: Js) -> Result<PropertyDependencies> {
    let mut dependencies = PropertyDependencies::new();
    if let Some(listed) = reader.field(value, "dependencies")? {
        reader.entries(listed, |name, urns| {
            let urns = reader.texts(urns, name)?;
            let urns: std::result::Result<Vec<_>, _> = urns.iter().map(|urn| Urn::parse(urn)).collect();
            let urns = urns.map_err(|error| napi::Error::from_reason(error.to_string()))?;
            dependencies.insert(name, urns);
            Ok(())
        })?;
    }
    Ok(dependencies)
}

impl JsProvider {
    /// Constructs a component.
    pub(super) async fn construct(&self, request: ConstructRequest) -> ProviderResult<Reply> {
        let component = Component::register(&request).await?;
        let asked = Asked::Construct {
            request: Box::new(request),
            urn: component.urn().clone(),
        };
        let constructed = self.run_body(component.monitor().clone(), asked).await?;
        component.finish(constructed.values).await.map(Reply::Construct)
    }

    /// Calls a method.
    pub(super) async fn call_method(&self, request: MethodRequest) -> ProviderResult<Reply> {
        let monitor = Monitor::of(&request.monitor).ok_or_else(|| {
            let text = "the request of Call has no monitor of this process";
            ProviderError::new(ProviderStatus::FailedPrecondition, text)
        })?;
        let result = self.run_body(monitor, Asked::Method(Box::new(request))).await?;
        Ok(Reply::Method(MethodResponse {
            result: result.values,
            result_dependencies: result.dependencies,
            failures: result.failures,
        }))
    }

    /// Runs code in a run of its own, which ends with its answer.
    async fn run_body(&self, monitor: Monitor, asked: Asked) -> ProviderResult<Returned> {
        let open = OpenRun::new(&self.shared, Arc::new(Run::of_body(monitor)));
        let run = open.number();
        let answered = self.ask(Request::Body(Body { run, asked })).await;
        drop(open);
        match answered? {
            Answered::Returned(returned) => Ok(returned),
            _ => {
                let text = "the provider's answer belongs to another method";
                Err(ProviderError::new(ProviderStatus::Internal, text))
            }
        }
    }
}
