//! The JSON of functions of policies, for hosts without typed values.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    Policy, PolicyFinding, PolicyFunctions, PolicyPack, PolicyProvider, PolicyResource,
    PolicyResourceOptions, PolicyStack,
};
use crate::{
    error::{Error, ErrorKind, Result},
    event::{EnforcementLevel, PolicySeverity},
    property::{
        PropertyMap,
        json::{self, PlainMap},
    },
    resource::CustomTimeouts,
    urn::Urn,
};

/// Calls functions of policies with JSON.
///
/// Calls are CONCURRENT, from any thread. Dropping a call's future cancels the call.
#[async_trait]
pub trait PolicyHost: Send + Sync + 'static {
    /// Calls the function `check`, `remediate` or `checkStack` of the policy `policy`.
    ///
    /// The argument of `check` and `remediate` is [`PolicyResource::to_json`], that of `checkStack`
    /// [`PolicyStack::to_json`]. The result of the checks is a list of violations, each a text or an object with
    /// `message` and, in a check of a stack, `urn`; that of `remediate` the inputs in the plain form. A result of `null`, or
    /// of nothing, means no violation or no change.
    ///
    /// # Errors
    /// When the function fails.
    async fn call(&self, policy: &str, function: &str, argument: Vec<u8>) -> Result<Vec<u8>>;
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PackDocument {
    name: String,
    #[serde(default)]
    version: String,
    policies: Vec<PolicyDocument>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PolicyDocument {
    name: String,
    #[serde(default = "advisory")]
    level: EnforcementLevel,
    #[serde(default)]
    description: String,
    #[serde(default)]
    severity: Option<PolicySeverity>,
    #[serde(default)]
    of_stack: bool,
}

const fn advisory() -> EnforcementLevel {
    EnforcementLevel::Advisory
}

impl PolicyPack {
    /// Reads a pack: `{"name", "version"?, "policies": [{"name", "level"?, "description"?, "severity"?, "ofStack"?}]}`. Its
    /// functions are called at `host`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] with the fault of the document.
    pub fn from_json(text: &[u8], host: &Arc<dyn PolicyHost>) -> Result<Self> {
        let document: PackDocument = serde_json::from_slice(text)
            .map_err(|error| Error::invalid(format!("invalid policy pack: {error}")))?;
        let policies = document.policies.into_iter().map(|policy| {
            let functions = Arc::new(JsonFunctions {
                policy: policy.name.clone(),
                host: Arc::clone(host),
            });
            Policy {
                name: policy.name,
                level: policy.level,
                description: policy.description,
                severity: policy.severity,
                is_of_stack: policy.of_stack,
                functions,
            }
        });
        let pack = Self {
            name: document.name,
            version: document.version,
            policies: policies.collect(),
        };
        pack.check()?;
        Ok(pack)
    }
}

struct JsonFunctions {
    policy: String,
    host: Arc<dyn PolicyHost>,
}

impl JsonFunctions {
    async fn call<T: DeserializeOwned>(&self, function: &str, argument: Vec<u8>) -> Result<Option<T>> {
        let result = self.host.call(&self.policy, function, argument).await?;
        if result.is_empty() {
            return Ok(None);
        }
        // Not serde_json's parser: values can exceed its depth limit.
        json::from_slice(&result).map_err(|error| {
            let text = format!("{function} returned what cannot be used: {}", error.message());
            Error::new(ErrorKind::Program, text)
        })
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum FindingDocument {
    Text(String),
    Object(FindingObject),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FindingObject {
    message: String,
    #[serde(default)]
    urn: Option<String>,
}

impl From<FindingDocument> for PolicyFinding {
    fn from(document: FindingDocument) -> Self {
        match document {
            FindingDocument::Text(message) => message.into(),
            FindingDocument::Object(FindingObject { message, urn }) => Self {
                message,
                // A text that is no URN belongs to no resource.
                urn: urn.and_then(|urn| Urn::parse(&urn).ok()),
            },
        }
    }
}

fn findings(documents: Option<Vec<FindingDocument>>) -> Vec<PolicyFinding> {
    documents.into_iter().flatten().map(PolicyFinding::from).collect()
}

#[async_trait]
impl PolicyFunctions for JsonFunctions {
    async fn check(&self, resource: PolicyResource) -> Result<Vec<PolicyFinding>> {
        Ok(findings(self.call("check", resource.to_json()?).await?))
    }

    async fn remediate(&self, resource: PolicyResource) -> Result<Option<PropertyMap>> {
        let inputs: Option<PlainMap> = self.call("remediate", resource.to_json()?).await?;
        Ok(inputs.map(|inputs| inputs.0))
    }

    async fn check_stack(&self, stack: PolicyStack) -> Result<Vec<PolicyFinding>> {
        Ok(findings(self.call("checkStack", stack.to_json()?).await?))
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceDocument<'a> {
    #[serde(rename = "type")]
    resource_type: &'a str,
    name: &'a str,
    urn: &'a str,
    props: PlainMap,
    inputs: PlainMap,
    options: OptionsDocument<'a>,
    provider: Option<ProviderDocument<'a>>,
    parent: Option<&'a str>,
    dependencies: Vec<&'a str>,
    property_dependencies: BTreeMap<String, Vec<&'a str>>,
    config: PlainMap,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OptionsDocument<'a> {
    protect: bool,
    ignore_changes: &'a [String],
    delete_before_replace: Option<bool>,
    additional_secret_outputs: &'a [String],
    aliases: &'a [String],
    custom_timeouts: CustomTimeouts,
}

#[derive(Serialize)]
struct ProviderDocument<'a> {
    #[serde(rename = "type")]
    resource_type: &'a str,
    name: &'a str,
    urn: &'a str,
    props: PlainMap,
}

#[derive(Serialize)]
struct StackDocument<'a> {
    resources: Vec<ResourceDocument<'a>>,
    config: PlainMap,
}

impl<'a> From<&'a PolicyResourceOptions> for OptionsDocument<'a> {
    fn from(options: &'a PolicyResourceOptions) -> Self {
        Self {
            protect: options.protect,
            ignore_changes: &options.ignore_changes,
            delete_before_replace: options.delete_before_replace,
            additional_secret_outputs: &options.additional_secret_outputs,
            aliases: &options.aliases,
            custom_timeouts: options.custom_timeouts,
        }
    }
}

impl<'a> From<&'a PolicyProvider> for ProviderDocument<'a> {
    fn from(provider: &'a PolicyProvider) -> Self {
        Self {
            resource_type: provider.resource_type.as_str(),
            name: &provider.name,
            urn: provider.urn.as_str(),
            props: PlainMap(provider.props.clone()),
        }
    }
}

impl<'a> From<&'a PolicyResource> for ResourceDocument<'a> {
    fn from(resource: &'a PolicyResource) -> Self {
        let dependencies = resource.property_dependencies.iter().map(|(name, urns)| {
            let urns = urns.iter().map(Urn::as_str).collect();
            (name.to_string(), urns)
        });
        Self {
            resource_type: resource.resource_type.as_str(),
            name: &resource.name,
            urn: resource.urn.as_str(),
            props: PlainMap(resource.props.clone()),
            inputs: PlainMap(resource.inputs.clone()),
            options: (&resource.options).into(),
            provider: resource.provider.as_ref().map(ProviderDocument::from),
            parent: resource.parent.as_ref().map(Urn::as_str),
            dependencies: resource.dependencies.iter().map(Urn::as_str).collect(),
            property_dependencies: dependencies.collect(),
            config: PlainMap(resource.config.clone()),
        }
    }
}

impl PolicyResource {
    /// Writes `{"type", "name", "urn", "props", "inputs", "options", "provider", "parent", "dependencies",
    /// "propertyDependencies", "config"}`; values have the plain form, secrets are readable.
    ///
    /// # Errors
    /// [`ErrorKind::State`] when values nest too deep to be written.
    pub fn to_json(&self) -> Result<Vec<u8>> {
        json::to_vec(&ResourceDocument::from(self))
    }
}

impl PolicyStack {
    /// Writes `{"resources", "config"}`, each resource as [`PolicyResource::to_json`] does.
    ///
    /// # Errors
    /// Those of [`PolicyResource::to_json`].
    pub fn to_json(&self) -> Result<Vec<u8>> {
        json::to_vec(&StackDocument {
            resources: self.resources.iter().map(ResourceDocument::from).collect(),
            config: PlainMap(self.config.clone()),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::{policy::Subject, property::PropertyValue, resource::ResourceState, token::TypeToken};

    /// Answers each call with a text, and keeps the arguments.
    #[derive(Default)]
    struct Scripted {
        results: BTreeMap<&'static str, &'static str>,
        arguments: Mutex<Vec<serde_json::Value>>,
    }

    #[async_trait]
    impl PolicyHost for Scripted {
        async fn call(&self, policy: &str, function: &str, argument: Vec<u8>) -> Result<Vec<u8>> {
            assert_eq!(policy, "small");
            let argument = serde_json::from_slice(&argument).unwrap();
            self.arguments.lock().unwrap().push(argument);
            Ok(self.results.get(function).copied().unwrap_or_default().into())
        }
    }

    fn resource() -> PolicyResource {
        let urn = Urn::parse("urn:pulumi:dev::shop::t:m:T::a").unwrap();
        let mut state = ResourceState::new(urn, TypeToken::from("t:m:T"), true);
        state.inputs = [
            ("__defaults", "hidden".into()),
            ("key", PropertyValue::secret("x".into())),
        ]
        .into_iter()
        .collect();
        let subject = Subject {
            state: &state,
            delete_before_replace: Some(true),
            aliases: Vec::new(),
            provider: None,
        };
        PolicyResource::of_inputs(&subject, &state.inputs)
    }

    fn policy(host: Scripted) -> (Arc<Scripted>, Policy) {
        let host = Arc::new(host);
        let functions: Arc<dyn PolicyHost> = Arc::clone(&host) as _;
        let document = br#"{"name": "guard", "policies": [{"name": "small", "level": "remediate"}]}"#;
        let pack = PolicyPack::from_json(document, &functions).unwrap();
        (host, pack.policies[0].clone())
    }

    #[tokio::test]
    async fn a_resource_has_its_inputs_options_and_type_without_internal_properties() {
        let (host, policy) = policy(Scripted::default());
        assert!(policy.functions.check(resource()).await.unwrap().is_empty());
        let arguments = host.arguments.lock().unwrap();
        let sent = &arguments[0];
        assert_eq!(sent["type"], "t:m:T");
        assert_eq!(sent["name"], "a");
        assert_eq!(sent["options"]["deleteBeforeReplace"], true);
        assert_eq!(sent["props"]["key"]["value"], "x");
        assert!(sent["props"].get("__defaults").is_none());
    }

    #[tokio::test]
    async fn violations_are_texts_or_objects_and_rewritten_inputs_have_the_plain_form() {
        let (_, policy) = policy(Scripted {
            results: [
                ("check", r#"["too big", {"message": "too red"}]"#),
                ("remediate", r#"{"size": 2}"#),
            ]
            .into(),
            ..Scripted::default()
        });
        let found = policy.functions.check(resource()).await.unwrap();
        assert_eq!(found, ["too big", "too red"].map(PolicyFinding::from));
        let inputs = policy.functions.remediate(resource()).await.unwrap().unwrap();
        assert_eq!(inputs.get("size"), Some(&PropertyValue::Number(2.0)));
    }

    #[tokio::test]
    async fn a_result_of_another_form_is_an_error_that_names_the_function() {
        let (_, policy) = policy(Scripted {
            results: [("check", r#"[3]"#)].into(),
            ..Scripted::default()
        });
        let error = policy.functions.check(resource()).await.unwrap_err();
        assert!(
            error.message().starts_with("check returned what cannot be used"),
            "{error}"
        );
    }

    #[test]
    fn a_pack_with_an_unknown_level_or_two_policies_of_one_name_is_refused() {
        let host: Arc<dyn PolicyHost> = Arc::new(Scripted::default());
        for (document, named) in [
            (
                r#"{"name": "guard", "policies": [{"name": "a", "level": "harsh"}]}"#,
                "harsh",
            ),
            (
                r#"{"name": "guard", "policies": [{"name": "a"}, {"name": "a"}]}"#,
                "two policies \"a\"",
            ),
        ] {
            let error = PolicyPack::from_json(document.as_bytes(), &host).unwrap_err();
            assert!(error.message().contains(named), "{error}");
        }
    }
}
