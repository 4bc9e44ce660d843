//! The JSON of the typed API: registrations, reads and invokes of hosts without typed values.

use std::sync::Arc;

use serde::{Serialize, de::DeserializeOwned};

use super::{
    documents::{
        AliasDocument, AliasParts, ExistsDocument, InvokeDocument, MethodDocument, ReadDocument,
        RegistrationDocument,
    },
    members::{DownloadUrl, PackageVersion, ProviderName},
    served_by::ServedBy,
};
use crate::{
    error::{Error, Result},
    monitor::{
        Exists, Invoke, MethodCall, MethodResult, PackageChoice, Read, Registered, Registration,
        ResourceTransform,
    },
    property::json::{self, PlainMap},
    provider::CheckFailure,
    resource::{Alias, PropertyDependencies, ResourceOptions},
    token::ResourceId,
};

/// Returns the transform of a name.
pub(crate) type NamedTransform<'a> = dyn Fn(&str) -> Option<Arc<dyn ResourceTransform>> + 'a;

fn read<T: DeserializeOwned>(text: &[u8], what: &str) -> Result<T> {
    // Not serde_json's parser: values can exceed its depth limit.
    json::from_slice(text).map_err(|error| Error::invalid(format!("invalid {what}: {}", error.message())))
}

fn package(
    provider: ProviderName,
    version: PackageVersion,
    url: DownloadUrl,
    plugin: ServedBy,
) -> PackageChoice {
    PackageChoice {
        provider: provider.0,
        version: version.0,
        download_url: url.0,
        source: plugin.source(),
        ..PackageChoice::default()
    }
}

impl From<AliasDocument> for Alias {
    fn from(alias: AliasDocument) -> Self {
        let parts = match alias {
            AliasDocument::Text(urn) => return Self::Urn(urn),
            AliasDocument::Parts(AliasParts { urn: Some(urn), .. }) => return Self::Urn(urn),
            AliasDocument::Parts(parts) => parts,
        };
        Self::Spec {
            name: parts.name,
            resource_type: parts.resource_type,
            stack: parts.stack,
            project: parts.project,
            parent: parts.parent,
            no_parent: parts.no_parent,
        }
    }
}

impl Registration {
    /// Reads a registration: an object with `type`, `name` and any of the options in camel case; values have the
    /// plain form. A resource is custom unless `custom` is false.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] with the fault of the document and its place.
    pub fn from_json(text: &[u8]) -> Result<Self> {
        Self::from_json_with(text, &|_| None)
    }

    /// Reads a registration as [`Self::from_json`] does, with the transforms that its member `transforms` names.
    ///
    /// # Errors
    /// Those of [`Self::from_json`], and for a name without a transform.
    pub(crate) fn from_json_with(text: &[u8], transform: &NamedTransform<'_>) -> Result<Self> {
        let mut document: RegistrationDocument = read(text, "registration")?;
        let names = std::mem::take(&mut document.transforms);
        let mut registration = Self::from(document);
        for name in names {
            let named = transform(&name).ok_or_else(|| {
                let resource = &registration.name;
                Error::invalid(format!(
                    "there is no transform {name:?} for the resource {resource:?}"
                ))
            })?;
            registration.transforms.push(named);
        }
        Ok(registration)
    }
}

impl From<RegistrationDocument> for Registration {
    fn from(document: RegistrationDocument) -> Self {
        let mut resource_hooks = document.resource_hooks;
        resource_hooks.retain(|_, names| !names.is_empty());
        Self {
            resource_type: document.resource_type,
            name: document.name,
            custom: document.custom,
            remote: document.remote,
            inputs: document.inputs.0,
            parent: document.parent.0,
            no_parent: document.no_parent.0,
            dependencies: document.depends_on.behind(document.dependencies.0),
            property_dependencies: document.property_dependencies,
            package: package(
                document.provider,
                document.version,
                document.plugin_download_url,
                document.package,
            ),
            providers: document.providers,
            protect: document.protect,
            delete_before_replace: document.delete_before_replace,
            aliases: document.aliases.into_iter().map(Alias::from).collect(),
            retain_on_delete: document.retain_on_delete,
            env_var_mappings: document.env_var_mappings,
            options: ResourceOptions {
                ignore_changes: document.ignore_changes,
                replace_on_changes: document.replace_on_changes,
                additional_secret_outputs: document.additional_secret_outputs.0,
                import_id: document.import_id,
                custom_timeouts: document.custom_timeouts.into(),
                deleted_with: document.deleted_with,
                replace_with: document.replace_with.into(),
                hide_diffs: document.hide_diffs,
                replacement_trigger: document.replacement_trigger.map(|value| value.0),
                resource_hooks,
            }
            .into(),
            transforms: Vec::new(),
            source_position: None,
            stack_trace: Vec::new(),
        }
    }
}

impl Read {
    /// Reads the JSON of a read: `type`, `name`, `id`, and any of the options.
    ///
    /// # Errors
    /// Those of [`Registration::from_json`].
    pub fn from_json(text: &[u8]) -> Result<Self> {
        let document: ReadDocument = read(text, "read")?;
        Ok(Self {
            resource_type: document.resource_type,
            name: document.name,
            id: document.id,
            parent: document.parent.0,
            no_parent: document.no_parent.0,
            inputs: document.inputs.0,
            dependencies: document.depends_on.behind(document.dependencies.0),
            package: package(
                document.provider,
                document.version,
                document.plugin_download_url,
                document.package,
            ),
            additional_secret_outputs: document.additional_secret_outputs.0,
            source_position: None,
            stack_trace: Vec::new(),
        })
    }
}

impl Invoke {
    /// Reads the JSON of an invoke: `token`, `arguments`, and any of the options.
    ///
    /// # Errors
    /// Those of [`Registration::from_json`].
    pub fn from_json(text: &[u8]) -> Result<Self> {
        let document: InvokeDocument = read(text, "invoke")?;
        Ok(Self {
            token: document.token,
            arguments: document.arguments.0,
            package: package(
                document.provider,
                document.version,
                document.plugin_download_url,
                document.package,
            ),
            parent: document.parent.0,
            depends_on: document.depends_on.behind(Vec::new()),
            in_transform: document.in_transform,
        })
    }
}

impl Exists {
    /// Reads the JSON of a query whether a resource exists: `type`, `id`, `inputs`, and any of the options.
    ///
    /// # Errors
    /// Those of [`Registration::from_json`].
    pub fn from_json(text: &[u8]) -> Result<Self> {
        let document: ExistsDocument = read(text, "query for existence")?;
        Ok(Self {
            resource_type: document.resource_type,
            id: document.id,
            parent: document.parent.0,
            inputs: document.inputs.0,
            package: package(
                document.provider,
                document.version,
                document.plugin_download_url,
                document.package,
            ),
            depends_on: document.depends_on.behind(Vec::new()),
        })
    }
}

impl MethodCall {
    /// Reads the JSON of a method's call: `token`, `arguments`, and any of the options.
    ///
    /// # Errors
    /// Those of [`Registration::from_json`].
    pub fn from_json(text: &[u8]) -> Result<Self> {
        let document: MethodDocument = read(text, "call")?;
        Ok(Self {
            token: document.token,
            of: document.of,
            arguments: document.arguments.0,
            argument_dependencies: document.argument_dependencies.unwrap_or_default(),
            package: package(
                document.provider,
                document.version,
                document.plugin_download_url,
                document.package,
            ),
            source_position: None,
            stack_trace: Vec::new(),
        })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct MethodResultDocument<'a> {
    result: PlainMap,
    result_dependencies: &'a PropertyDependencies,
    failures: Vec<FailureDocument<'a>>,
}

#[derive(Serialize)]
struct FailureDocument<'a> {
    property: &'a str,
    reason: &'a str,
}

impl<'a> From<&'a CheckFailure> for FailureDocument<'a> {
    fn from(failure: &'a CheckFailure) -> Self {
        let CheckFailure { property, reason } = failure;
        Self { property, reason }
    }
}

impl MethodResult {
    /// Writes `{"result", "resultDependencies", "failures"}`; values have the plain form, secrets are readable.
    ///
    /// # Errors
    /// [`crate::ErrorKind::State`] when values nest too deep to be written.
    pub fn to_json(&self) -> Result<Vec<u8>> {
        json::to_vec(&MethodResultDocument {
            result: PlainMap(self.result.clone().collapse_outputs()),
            result_dependencies: &self.result_dependencies,
            failures: self.failures.iter().map(FailureDocument::from).collect(),
        })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RegisteredDocument<'a> {
    urn: String,
    id: &'a ResourceId,
    outputs: PlainMap,
    #[serde(skip_serializing_if = "PropertyDependencies::is_empty")]
    output_dependencies: &'a PropertyDependencies,
    unknown: bool,
    failed: bool,
    skipped: bool,
}

impl Registered {
    /// Writes `{"urn", "id", "outputs", "unknown", "failed", "skipped"}`, and `outputDependencies` of a remote component; values have the plain form, secrets are
    /// readable.
    ///
    /// # Errors
    /// [`crate::ErrorKind::State`] when values nest too deep to be written.
    pub fn to_json(&self) -> Result<Vec<u8>> {
        json::to_vec(&RegisteredDocument {
            urn: self.urn.to_string(),
            id: &self.id,
            outputs: PlainMap(self.outputs.clone()),
            output_dependencies: &self.output_dependencies,
            unknown: self.unknown,
            failed: self.failed,
            skipped: self.skipped,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{property::PropertyValue, urn::Urn};

    #[test]
    fn a_registration_of_two_members_is_a_custom_resource_without_inputs() {
        let it = Registration::from_json(br#"{"type": "files:index:File", "name": "a"}"#).unwrap();
        assert!(it.custom && it.inputs.is_empty() && it.property_dependencies.is_none());
        assert_eq!(
            (it.resource_type.as_str(), it.name.as_str()),
            ("files:index:File", "a")
        );
    }

    #[test]
    fn options_and_special_values_arrive() {
        let text = br#"{"type": "t:m:T", "name": "a", "custom": false, "protect": true,
            "inputs": {"p": {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "value": "x"}},
            "aliases": ["urn:pulumi:dev::shop::t:m:T::b", {"name": "c", "noParent": true}],
            "customTimeouts": {"create": 3}, "replacementTrigger": 7, "dependencies": ["urn:pulumi:dev::shop::t:m:T::b"],
            "dependsOn": ["urn:pulumi:dev::shop::t:m:T::b", "urn:pulumi:dev::shop::t:m:T::c"],
            "replaceWith": "urn:pulumi:dev::shop::t:m:T::b", "envVarMappings": {"HOST_TOKEN": "TOKEN"},
            "propertyDependencies": {"p": ["urn:pulumi:dev::shop::t:m:T::b"]}}"#;
        let it = Registration::from_json(text).unwrap();
        assert!(!it.custom && it.protect == Some(true));
        assert!(it.inputs.get("p").unwrap().is_secret());
        assert!(matches!(&it.aliases[0], Alias::Urn(urn) if urn.name() == "b"));
        assert!(
            matches!(&it.aliases[1], Alias::Spec { name: Some(name), no_parent: true, .. } if name == "c")
        );
        assert_eq!((it.dependencies.len(), it.options.replace_with.len()), (2, 1));
        assert_eq!(it.options.custom_timeouts.create, Some(3.0));
        assert_eq!(it.env_var_mappings["HOST_TOKEN"], "TOKEN");
        assert_eq!(it.options.replacement_trigger, Some(PropertyValue::Number(7.0)));
        assert_eq!(it.property_dependencies.unwrap().get("p").unwrap().len(), 1);
    }

    #[test]
    fn a_member_that_does_not_exist_is_named() {
        for result in [
            Registration::from_json(br#"{"type": "t:m:T", "name": "a", "protct": true}"#).map(|_| ()),
            Read::from_json(br#"{"type": "t:m:T", "name": "a", "id": "i", "protct": true}"#).map(|_| ()),
            Invoke::from_json(br#"{"token": "t:m:f", "protct": true}"#).map(|_| ()),
        ] {
            let error = result.unwrap_err();
            assert_eq!(error.kind(), crate::ErrorKind::InvalidInput);
            assert!(error.message().contains("protct"), "{error}");
        }
    }

    #[test]
    fn a_part_of_an_option_that_does_not_exist_is_named() {
        let fault = |option: &str| {
            let text = format!(r#"{{"type": "t:m:T", "name": "a", {option}}}"#);
            Registration::from_json(text.as_bytes())
                .unwrap_err()
                .message()
                .to_owned()
        };
        let timeouts = fault(r#""customTimeouts": {"creat": 1}"#);
        assert!(
            timeouts.contains("creat") && timeouts.contains("`delete`"),
            "{timeouts}"
        );
        let alias = fault(r#""aliases": [{"nam": "b"}]"#);
        assert!(alias.contains("an alias is a URN, or an object of"), "{alias}");
    }

    #[test]
    fn what_was_registered_is_written_with_readable_secrets() {
        let registered = Registered {
            urn: Urn::parse("urn:pulumi:dev::shop::t:m:T::b").unwrap(),
            id: "7".into(),
            outputs: [("p", PropertyValue::secret("x".into()))].into_iter().collect(),
            output_dependencies: PropertyDependencies::new(),
            unknown: false,
            failed: false,
            skipped: false,
        };
        let text = String::from_utf8(registered.to_json().unwrap()).unwrap();
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["id"], "7");
        assert_eq!(read["outputs"]["p"]["value"], "x");
    }
}
