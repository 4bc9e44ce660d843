//! Transforms: RegisterStackTransform, RegisterStackInvokeTransform, and the messages of the calls of transforms.

use std::{collections::BTreeMap, sync::Arc};

use stackwright_proto::pulumirpc::{
    Callback, TransformInvokeOptions, TransformInvokeRequest, TransformInvokeResponse, TransformRequest,
    TransformResourceOptions, TransformResponse,
};

use super::{options, register};
use crate::{
    callback::RemoteFunction,
    error::{Error, Result},
    monitor::{
        InvokeTransformArgs, Monitor, PackageChoice, ResourceTransform, TransformArgs, TransformOptions,
        WireStatus,
        transforms::{RemoteInvokeTransform, RemoteTransform},
    },
    property::{
        PropertyMap,
        wire::{DecodeOptions, EncodeOptions, from_struct, from_value, to_struct, to_value},
    },
    resource::{ResourceOptions, wire as encode},
    urn::Urn,
};

/// Adds a transform of the stack.
pub(in crate::monitor) fn register_stack_transform(
    monitor: &Monitor,
    callback: Callback,
) -> Result<(), WireStatus> {
    monitor.add_transform(transform(monitor, callback)?);
    Ok(())
}

/// Adds a transform of the stack's calls of functions.
pub(in crate::monitor) fn register_stack_invoke_transform(
    monitor: &Monitor,
    callback: Callback,
) -> Result<(), WireStatus> {
    monitor.add_invoke_transform(Arc::new(RemoteInvokeTransform {
        function: function(monitor, callback)?,
    }));
    Ok(())
}

/// Returns the transform that a message names.
pub(super) fn transform(
    monitor: &Monitor,
    callback: Callback,
) -> Result<Arc<dyn ResourceTransform>, WireStatus> {
    Ok(Arc::new(RemoteTransform {
        function: function(monitor, callback)?,
    }))
}

fn function(monitor: &Monitor, callback: Callback) -> Result<RemoteFunction, WireStatus> {
    RemoteFunction::new(callback, &monitor.shared.callbacks)
        .map_err(|error| WireStatus::invalid(error.text().reference()))
}

/// Encodes a registration for a transform. Secrets and unknowns are output values there: the SDKs make outputs of these only.
pub(in crate::monitor) fn transform_request(args: &TransformArgs, bytes: bool) -> Result<TransformRequest> {
    let kept = kept("inputs", bytes);
    let inputs = args.inputs.clone().upgrade_to_outputs();
    let parent = args.parent.as_ref();
    Ok(TransformRequest {
        r#type: args.resource_type.as_str().to_owned(),
        name: args.name.clone(),
        custom: args.custom,
        parent: parent.map(Urn::to_string).unwrap_or_default(),
        properties: Some(to_struct(&inputs, &kept)?),
        options: Some(resource_options(&args.options, bytes)?),
    })
}

/// Applies the response of a transform; what it leaves out is unchanged.
pub(in crate::monitor) fn transformed(
    mut args: TransformArgs,
    response: TransformResponse,
) -> Result<Option<TransformArgs>> {
    if response.properties.is_none() && response.options.is_none() {
        return Ok(None);
    }
    if let Some(properties) = response.properties {
        args.inputs = from_struct(properties, &DecodeOptions::all("inputs"))?;
    }
    if let Some(options) = response.options {
        let depends_on = std::mem::take(&mut args.options.depends_on);
        args.options = transform_options(options)?;
        if args.keeps_dependencies {
            args.options.depends_on = depends_on;
        }
    }
    Ok(Some(args))
}

/// Encodes a call of a function for a transform.
pub(in crate::monitor) fn invoke_transform_request(
    args: &InvokeTransformArgs,
    bytes: bool,
) -> Result<TransformInvokeRequest> {
    Ok(TransformInvokeRequest {
        token: args.token.clone(),
        args: Some(to_struct(&args.arguments, &kept("args", bytes))?),
        options: Some(TransformInvokeOptions {
            provider: args.package.provider.clone(),
            plugin_download_url: args.package.download_url.clone(),
            version: args.package.version.clone(),
            plugin_checksums: checksums(&args.package)?,
        }),
    })
}

/// Applies the response of a transform of a call; what it leaves out is unchanged.
pub(in crate::monitor) fn transformed_invoke(
    mut args: InvokeTransformArgs,
    response: TransformInvokeResponse,
) -> Result<Option<InvokeTransformArgs>> {
    if response.args.is_none() && response.options.is_none() {
        return Ok(None);
    }
    if let Some(arguments) = response.args {
        args.arguments = options::collapsed(Some(arguments), "args")?;
    }
    if let Some(changed) = response.options {
        args.package = options::package(
            changed.provider,
            changed.version,
            changed.plugin_download_url,
            changed.plugin_checksums,
            String::new(),
        );
    }
    Ok(Some(args))
}

/// Returns how values are encoded for a transform: with all special values, byte strings where it accepts them.
const fn kept(label: &'static str, bytes: bool) -> EncodeOptions {
    EncodeOptions {
        keep_bytes: bytes,
        ..EncodeOptions::all(label)
    }
}

fn resource_options(options: &TransformOptions, bytes: bool) -> Result<TransformResourceOptions> {
    let texts = |urns: &[Urn]| urns.iter().map(Urn::to_string).collect();
    let others = &*options.others;
    let trigger = match &others.replacement_trigger {
        Some(value) => to_value(value, &kept("replacementTrigger", bytes))?,
        None => None,
    };
    Ok(TransformResourceOptions {
        depends_on: texts(&options.depends_on),
        protect: options.protect,
        ignore_changes: others.ignore_changes.clone(),
        replace_on_changes: others.replace_on_changes.clone(),
        version: options.package.version.clone(),
        aliases: encode::aliases(&options.aliases),
        provider: options.package.provider.clone(),
        custom_timeouts: encode::timeouts(&others.custom_timeouts),
        plugin_download_url: options.package.download_url.clone(),
        retain_on_delete: options.retain_on_delete,
        deleted_with: others
            .deleted_with
            .as_ref()
            .map(Urn::to_string)
            .unwrap_or_default(),
        delete_before_replace: options.delete_before_replace,
        additional_secret_outputs: others.additional_secret_outputs.clone(),
        providers: options.providers.clone(),
        plugin_checksums: checksums(&options.package)?,
        hooks: encode::hooks(&others.resource_hooks),
        import: others.import_id.as_str().to_owned(),
        hide_diff: others.hide_diffs.clone(),
        replace_with: texts(&others.replace_with),
        replacement_trigger: trigger,
    })
}

fn transform_options(message: TransformResourceOptions) -> Result<TransformOptions> {
    let replacement_trigger = match message.replacement_trigger {
        Some(value) => from_value(value, &DecodeOptions::all("replacementTrigger"))?,
        None => None,
    };
    Ok(TransformOptions {
        depends_on: options::urns(&message.depends_on, "dependency")?,
        package: options::package(
            message.provider,
            message.version,
            message.plugin_download_url,
            message.plugin_checksums,
            String::new(),
        ),
        providers: message.providers,
        protect: message.protect,
        delete_before_replace: message.delete_before_replace,
        aliases: options::aliases(&[], message.aliases, false)?,
        retain_on_delete: message.retain_on_delete,
        others: ResourceOptions {
            ignore_changes: message.ignore_changes,
            replace_on_changes: message.replace_on_changes,
            additional_secret_outputs: message.additional_secret_outputs,
            import_id: message.import.into(),
            custom_timeouts: register::timeouts(message.custom_timeouts)?,
            deleted_with: options::optional_urn(&message.deleted_with, "DeletedWith")?,
            replace_with: options::urns(&message.replace_with, "ReplaceWith")?,
            hide_diffs: message.hide_diff,
            replacement_trigger,
            resource_hooks: message
                .hooks
                .map(crate::resource::wire::hook_bindings)
                .unwrap_or_default(),
        }
        .into(),
    })
}

/// Returns the checksums of a package as bytes, by platform.
fn checksums(package: &PackageChoice) -> Result<BTreeMap<String, Vec<u8>>> {
    let encoded = package.checksums.iter().map(|(platform, text)| {
        let bytes = bytes_of_hex(text).ok_or_else(|| {
            Error::invalid(format!(
                "the checksum of the plugin for {platform} is not hexadecimal: {text:?}"
            ))
        })?;
        Ok((platform.clone(), bytes))
    });
    encoded.collect()
}

fn bytes_of_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len() % 2 == 0)?;
    let bytes = digits
        .chunks(2)
        .map(|pair| u8::try_from(pair[0] * 16 + pair[1]).ok());
    bytes.collect()
}

/// Makes each input of a request with transforms an output value.
pub(super) fn as_outputs(inputs: PropertyMap) -> PropertyMap {
    let wrapped = inputs
        .into_iter()
        .map(|(name, value)| (name, value.with_dependencies(&[])));
    wrapped.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        property::PropertyValue,
        resource::{Alias, CustomTimeouts},
    };

    fn urn(name: &str) -> Urn {
        Urn::new("dev", "shop", "", "pkg:index:Type", name)
    }

    fn args() -> TransformArgs {
        TransformArgs {
            resource_type: "pkg:index:Type".into(),
            name: "a".to_owned(),
            custom: true,
            parent: Some(Urn::root_stack("dev", "shop")),
            inputs: [("x", PropertyValue::from("1").with_dependencies(&[urn("b")]))]
                .into_iter()
                .collect(),
            options: TransformOptions {
                depends_on: vec![urn("b")],
                package: PackageChoice {
                    provider: "urn:pulumi:dev::shop::pulumi:providers:pkg::p::7".to_owned(),
                    version: "1.2.3".to_owned(),
                    download_url: "https://example.com".to_owned(),
                    checksums: [("linux-amd64".to_owned(), "00ff".to_owned())].into(),
                    ..PackageChoice::default()
                },
                providers: [("pkg".to_owned(), "p".to_owned())].into(),
                protect: Some(false),
                delete_before_replace: Some(true),
                aliases: vec![
                    Alias::Urn(urn("former")),
                    Alias::Spec {
                        name: Some("old".to_owned()),
                        resource_type: None,
                        stack: None,
                        project: None,
                        parent: None,
                        no_parent: true,
                    },
                ],
                retain_on_delete: Some(true),
                others: ResourceOptions {
                    ignore_changes: vec!["x".to_owned()],
                    replace_on_changes: vec!["y".to_owned()],
                    additional_secret_outputs: vec!["z".to_owned()],
                    import_id: "id".into(),
                    custom_timeouts: CustomTimeouts {
                        create: Some(90.0),
                        ..CustomTimeouts::default()
                    },
                    deleted_with: Some(urn("c")),
                    replace_with: vec![urn("d")],
                    hide_diffs: vec!["x".to_owned()],
                    replacement_trigger: Some("t".into()),
                    resource_hooks: [("BeforeCreate".to_owned(), vec!["h".to_owned()])].into(),
                }
                .into(),
            },
            keeps_dependencies: false,
        }
    }

    #[test]
    fn every_option_passes_there_and_back() {
        let args = args();
        let request = transform_request(&args, true).unwrap();
        let response = TransformResponse {
            properties: request.properties,
            options: request.options,
        };
        let changed = transformed(args.clone(), response).unwrap().unwrap();
        assert_eq!(format!("{changed:?}"), format!("{args:?}"));
    }

    #[test]
    fn secrets_and_unknowns_reach_a_transform_as_output_values() {
        let secret = || PropertyValue::secret("s".into());
        let mut args = args();
        args.inputs = [
            ("secret", secret()),
            ("unknown", PropertyValue::unknown()),
            ("nested", PropertyValue::array(vec![secret(), "plain".into()])),
        ]
        .into_iter()
        .collect();
        let request = transform_request(&args, true).unwrap();
        let sent = from_struct(request.properties.unwrap(), &DecodeOptions::all("inputs")).unwrap();
        let expected = [
            ("secret", secret().with_dependencies(&[])),
            ("unknown", PropertyValue::unknown().with_dependencies(&[])),
            (
                "nested",
                PropertyValue::array(vec![secret().with_dependencies(&[]), "plain".into()]),
            ),
        ];
        assert_eq!(sent, expected.into_iter().collect());
    }

    #[test]
    fn what_a_response_leaves_out_is_unchanged() {
        assert!(
            transformed(args(), TransformResponse::default())
                .unwrap()
                .is_none()
        );
        let options = TransformResponse {
            options: Some(TransformResourceOptions::default()),
            ..TransformResponse::default()
        };
        let changed = transformed(args(), options).unwrap().unwrap();
        assert_eq!(changed.inputs, args().inputs);
        assert_eq!(changed.options.protect, None);
        assert!(changed.options.depends_on.is_empty());
    }

    #[test]
    fn a_remote_transform_does_not_change_the_dependencies_of_a_request_without_transforms() {
        let options = TransformResponse {
            options: Some(TransformResourceOptions::default()),
            ..TransformResponse::default()
        };
        let kept = TransformArgs {
            keeps_dependencies: true,
            ..args()
        };
        let changed = transformed(kept, options).unwrap().unwrap();
        assert_eq!(changed.options.depends_on, [urn("b")]);
    }

    #[test]
    fn a_malformed_option_of_a_response_is_named() {
        let options = TransformResponse {
            options: Some(TransformResourceOptions {
                deleted_with: "nonsense".to_owned(),
                ..TransformResourceOptions::default()
            }),
            ..TransformResponse::default()
        };
        let error = transformed(args(), options).unwrap_err();
        assert!(error.message().starts_with("invalid DeletedWith URN"), "{error}");
    }

    #[test]
    fn every_option_of_a_call_passes_there_and_back() {
        let args = InvokeTransformArgs {
            token: "pkg:index:f".to_owned(),
            arguments: [("x", PropertyValue::secret("1".into()))].into_iter().collect(),
            package: args().options.package,
        };
        let request = invoke_transform_request(&args, true).unwrap();
        let response = TransformInvokeResponse {
            args: request.args,
            options: request.options,
        };
        let changed = transformed_invoke(args.clone(), response).unwrap().unwrap();
        assert_eq!(format!("{changed:?}"), format!("{args:?}"));
        let unchanged = transformed_invoke(args, TransformInvokeResponse::default()).unwrap();
        assert!(unchanged.is_none());
    }

    #[test]
    fn a_checksum_that_is_no_number_is_refused() {
        assert_eq!(bytes_of_hex("00ff"), Some(vec![0, 255]));
        assert_eq!(bytes_of_hex("0"), None);
        assert_eq!(bytes_of_hex("zz"), None);
    }
}
