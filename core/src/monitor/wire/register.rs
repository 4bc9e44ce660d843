//! RegisterResource and RegisterResourceOutputs.

use std::{collections::BTreeMap, future::Future};

use stackwright_proto::pulumirpc::{
    RegisterResourceOutputsRequest, RegisterResourceRequest, RegisterResourceResponse, Result as WireResult,
    register_resource_request::CustomTimeouts as WireTimeouts,
    register_resource_response::PropertyDependencies as ResponseDependencies,
};

use super::{
    options,
    transform::{as_outputs, transform},
};
use crate::{
    monitor::{Monitor, Registered, Registration, WireStatus, register::register},
    property::{
        PropertyMap, PropertyValue,
        wire::{DecodeOptions, from_value},
    },
    provider::ProviderStatus,
    resource::{CustomTimeouts, PropertyDependencies, ResourceOptions, wire},
    urn::Urn,
};

/// A result without a name in the published protocol definitions.
const SKIPPED: i32 = 2;

type Result<T> = std::result::Result<T, WireStatus>;

/// Registers the resource of a RegisterResource request; its URN is claimed when this is called.
pub(in crate::monitor) fn register_resource(
    monitor: &Monitor,
    request: RegisterResourceRequest,
    from_node: bool,
) -> impl Future<Output = Result<RegisterResourceResponse>> + Send + use<> {
    let accepts = Accepts {
        secrets: request.accept_secrets,
        resources: request.accept_resources,
        bytes: request.accepts_byte_string,
        partial_values: request.supports_partial_values,
        results: request.supports_result_reporting,
    };
    let registration = registration_of(monitor, request, from_node);
    let registering = registration.map(|registration| register(monitor, registration));
    async move { accepts.response(registering?.await?) }
}

fn registration_of(
    monitor: &Monitor,
    request: RegisterResourceRequest,
    from_node: bool,
) -> Result<Registration> {
    refuse_unsupported(&request)?;
    let shared = &monitor.shared;
    let root = shared.run.root_directory.as_deref();
    let decoded = options::values(
        request.object,
        &DecodeOptions {
            upgrade_to_outputs: false,
            ..DecodeOptions::all("inputs")
        },
    )?;
    let dependencies = options::urns(&request.dependencies, "dependency")?;
    let property_dependencies =
        property_dependencies(&request.property_dependencies, &decoded, &dependencies)?;
    let transforms = request
        .transforms
        .into_iter()
        .map(|callback| transform(monitor, callback));
    let transforms = transforms.collect::<Result<Vec<_>>>()?;
    let inputs = if !transforms.is_empty() {
        as_outputs(decoded)
    } else if request.remote || monitor.shared.transforms.in_use() {
        // The provider of a remote component gets output values with their dependencies; transforms do, too.
        decoded
    } else {
        decoded.collapse_outputs()
    };
    let aliases = options::aliases(
        &request.alias_ur_ns,
        request.aliases,
        from_node && !request.alias_specs,
    )?;
    let replacement_trigger = match request.replacement_trigger {
        Some(value) => from_value(value, &DecodeOptions::all("replacementTrigger"))
            .map_err(|error| WireStatus::invalid(error.message().to_owned()))?,
        None => None,
    };
    let delete_before_replace = request.delete_before_replace_defined || request.delete_before_replace;
    Ok(Registration {
        resource_type: request.r#type.into(),
        name: request.name,
        custom: request.custom,
        remote: request.remote,
        inputs,
        parent: options::optional_urn(&request.parent, "parent")?,
        // Programs that use the protocol name their parents themselves.
        no_parent: request.parent.is_empty(),
        dependencies,
        property_dependencies,
        package: options::package(
            request.provider,
            request.version,
            request.plugin_download_url,
            request.plugin_checksums,
            request.package_ref,
        ),
        providers: request.providers,
        protect: request.protect,
        delete_before_replace: delete_before_replace.then_some(request.delete_before_replace),
        aliases,
        retain_on_delete: request.retain_on_delete,
        env_var_mappings: request.env_var_mappings,
        options: ResourceOptions {
            ignore_changes: request.ignore_changes,
            replace_on_changes: request.replace_on_changes,
            additional_secret_outputs: request.additional_secret_outputs,
            import_id: request.import_id.into(),
            custom_timeouts: timeouts(request.custom_timeouts)?,
            deleted_with: options::optional_urn(&request.deleted_with, "DeletedWith")?,
            replace_with: options::urns(&request.replace_with, "ReplaceWith")?,
            hide_diffs: request.hide_diffs,
            replacement_trigger,
            resource_hooks: request.hooks.map(wire::hook_bindings).unwrap_or_default(),
        }
        .into(),
        transforms,
        source_position: shared.positions.position(root, request.source_position),
        stack_trace: monitor.traced(
            &request.parent_stack_trace_handle,
            shared.positions.trace(root, request.stack_trace),
        ),
    })
}

/// Publishes the outputs of a RegisterResourceOutputs request.
pub(in crate::monitor) fn register_resource_outputs(
    monitor: &Monitor,
    request: RegisterResourceOutputsRequest,
) -> impl Future<Output = Result<()>> + Send + use<> {
    let urn = options::urn(&request.urn, "resource");
    let registering = urn.and_then(|urn| {
        let outputs = options::collapsed(request.outputs, "outputs")?;
        Ok(monitor.register_outputs(&urn, outputs))
    });
    async move { registering?.await }
}

/// Refuses requests for features that this monitor does not advertise.
fn refuse_unsupported(request: &RegisterResourceRequest) -> Result<()> {
    if !request.state_migrations.is_empty() {
        return Err(WireStatus::new(
            ProviderStatus::FailedPrecondition,
            "state migrations are not supported by this deployment",
        ));
    }
    if !request.snippet_id.is_empty() {
        let text = format!(
            "resource '{}' is of the snippet '{}', and snippets are not supported by this engine",
            request.name, request.snippet_id
        );
        return Err(WireStatus::new(ProviderStatus::Unimplemented, text));
    }
    Ok(())
}

/// Returns the dependencies of each input; `None` when the request has none. With those in output values alone, each
/// input depends on all dependencies of the resource, too.
fn property_dependencies(
    wire: &BTreeMap<String, stackwright_proto::pulumirpc::register_resource_request::PropertyDependencies>,
    inputs: &PropertyMap,
    dependencies: &[Urn],
) -> Result<Option<PropertyDependencies>> {
    let mut known = PropertyDependencies::new();
    for (key, dependencies) in wire {
        let urns = dependencies.urns.iter().map(|text| {
            Urn::parse(text).map_err(|error| {
                WireStatus::invalid(format!("invalid dependency on property {key} URN: {error}"))
            })
        });
        known.insert(key.as_str(), urns.collect::<Result<Vec<_>>>()?);
    }
    let embeds = |value: &PropertyValue| matches!(value, PropertyValue::Output(output) if !output.dependencies.is_empty());
    let embedded = inputs.values().any(|value| value.any(&mut |value| embeds(value)));
    if wire.is_empty() && embedded {
        for (key, _) in inputs.iter() {
            known.insert(key.clone(), dependencies.to_vec());
        }
    }
    for (key, value) in inputs.iter() {
        known.add_outputs(key, value);
    }
    Ok(if wire.is_empty() && !embedded {
        None
    } else {
        Some(known)
    })
}

pub(super) fn timeouts(wire: Option<WireTimeouts>) -> Result<CustomTimeouts> {
    let Some(wire) = wire else {
        return Ok(CustomTimeouts::default());
    };
    Ok(CustomTimeouts {
        create: options::seconds(&wire.create)?,
        update: options::seconds(&wire.update)?,
        delete: options::seconds(&wire.delete)?,
        read: options::seconds(&wire.read)?,
    })
}

/// The kinds of values that the program accepts in an answer.
struct Accepts {
    secrets: bool,
    resources: bool,
    bytes: bool,
    partial_values: bool,
    results: bool,
}

impl Accepts {
    fn response(&self, registered: Registered) -> Result<RegisterResourceResponse> {
        if registered.failed && !self.results {
            return Err(WireStatus::new(
                ProviderStatus::Internal,
                "resource registration failed",
            ));
        }
        let mut outputs = registered.outputs;
        if !self.partial_values {
            outputs = outputs
                .into_iter()
                .filter(|(_, value)| !value.contains_unknowns())
                .collect();
        }
        Ok(RegisterResourceResponse {
            urn: registered.urn.to_string(),
            id: registered.id.as_str().to_owned(),
            object: Some(options::answer(
                &outputs,
                self.secrets,
                self.resources,
                self.bytes,
            )?),
            result: if registered.skipped {
                SKIPPED
            } else if registered.failed {
                WireResult::Fail.into()
            } else {
                WireResult::Success.into()
            },
            unknown: registered.unknown,
            property_dependencies: registered
                .output_dependencies
                .iter()
                .map(|(name, list)| {
                    let urns = list.iter().map(Urn::to_string).collect();
                    (name.to_string(), ResponseDependencies { urns })
                })
                .collect(),
            ..RegisterResourceResponse::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::Output;

    #[test]
    fn what_is_not_supported_is_refused_by_name() {
        let refused = |request| refuse_unsupported(&request).unwrap_err().message;
        let snippet = RegisterResourceRequest {
            name: "a".to_owned(),
            snippet_id: "s-1".to_owned(),
            ..RegisterResourceRequest::default()
        };
        assert_eq!(
            refused(snippet),
            "resource 'a' is of the snippet 's-1', and snippets are not supported by this engine"
        );
        let migrated = RegisterResourceRequest {
            state_migrations: vec![Default::default()],
            ..RegisterResourceRequest::default()
        };
        assert_eq!(
            refused(migrated),
            "state migrations are not supported by this deployment"
        );
    }

    #[test]
    fn dependencies_in_output_values_add_to_those_of_the_resource() {
        let urn = |name: &str| Urn::new("dev", "shop", "", "files:index:File", name);
        let output = PropertyValue::Output(std::sync::Arc::new(Output {
            element: Some("x".into()),
            secret: false,
            dependencies: vec![urn("b")],
        }));
        let inputs: PropertyMap = [("output", output), ("plain", "y".into())].into_iter().collect();
        let known = property_dependencies(&BTreeMap::new(), &inputs, &[urn("a")])
            .unwrap()
            .unwrap();
        assert_eq!(known.get("output"), Some(&[urn("a"), urn("b")][..]));
        assert_eq!(known.get("plain"), Some(&[urn("a")][..]));
        let plain: PropertyMap = [("plain", "y".into())].into_iter().collect();
        let without = property_dependencies(&BTreeMap::new(), &plain, &[urn("a")]).unwrap();
        assert!(without.is_none(), "then each depends on all of them");
    }
}
