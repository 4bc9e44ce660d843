//! Messages with a code, arguments and two texts: the reference engine's for tools, the library's for users.

mod edits;
mod language;
mod nearest;
mod sdk;
mod similar;

use std::{borrow::Cow, fmt};

use serde_json::{Map, Value, json};

pub(crate) use edits::{needed_record, protected_record};
pub use language::Language;
pub(crate) use language::{is_snake_case_of, snake_case};

pub(crate) use nearest::nearest_names;
pub(crate) use sdk::text_of_program;
pub(crate) use similar::distance;

/// The text of a diagnostic or an error. Most texts are the same for tools and users; the text of a [`Message`] has two
/// forms.
#[derive(Clone, PartialEq, Eq)]
pub struct Text(Form);

#[derive(Clone, PartialEq, Eq)]
enum Form {
    Plain(String),
    Coded(Box<Coded>),
}

#[derive(Clone, PartialEq, Eq)]
struct Coded {
    code: &'static str,
    arguments: Map<String, Value>,
    reference: String,
    library: String,
}

impl Text {
    /// Creates a text with two forms and no code: `reference` for tools, `library` for users.
    #[must_use]
    pub fn pair(reference: impl Into<String>, library: impl Into<String>) -> Self {
        let (reference, library) = (reference.into(), library.into());
        if reference == library {
            return Self(Form::Plain(library));
        }
        Self(Form::Coded(Box::new(Coded {
            code: "",
            arguments: Map::new(),
            reference,
            library,
        })))
    }

    /// Returns the text of the reference engine, which tools match on: that of event JSON and of the protocol.
    #[must_use]
    pub fn reference(&self) -> &str {
        match &self.0 {
            Form::Plain(text) => text,
            Form::Coded(coded) => &coded.reference,
        }
    }

    /// Returns the library's text. It names no command, file, variable or path that this library does not use.
    #[must_use]
    pub fn library(&self) -> &str {
        match &self.0 {
            Form::Plain(text) => text,
            Form::Coded(coded) => &coded.library,
        }
    }

    /// Returns whether one of the two texts contains `part`.
    #[must_use]
    pub fn contains(&self, part: &str) -> bool {
        self.reference().contains(part) || self.library().contains(part)
    }

    /// Returns the code of the message; `None` for a text without one.
    #[must_use]
    pub fn code(&self) -> Option<&'static str> {
        match &self.0 {
            Form::Coded(coded) if !coded.code.is_empty() => Some(coded.code),
            _ => None,
        }
    }

    /// Returns the arguments of the message by name; `None` for a text without a code.
    #[must_use]
    pub fn arguments(&self) -> Option<&Map<String, Value>> {
        match &self.0 {
            Form::Coded(coded) if !coded.code.is_empty() => Some(&coded.arguments),
            _ => None,
        }
    }

    /// Changes each of the two texts; code and arguments stay.
    #[must_use]
    pub(crate) fn map(
        &self,
        reference: impl FnOnce(&str) -> String,
        library: impl FnOnce(&str) -> String,
    ) -> Self {
        let (changed, shown) = (reference(self.reference()), library(self.library()));
        match &self.0 {
            Form::Plain(_) => Self::pair(changed, shown),
            Form::Coded(coded) => Self(Form::Coded(Box::new(Coded {
                code: coded.code,
                arguments: coded.arguments.clone(),
                reference: changed,
                library: shown,
            }))),
        }
    }

    /// Applies `scrub` to every text; `None` when nothing changes.
    pub(crate) fn scrubbed<'a>(&'a self, scrub: impl Fn(&'a str) -> Cow<'a, str>) -> Option<Self> {
        let scrub = |text: &'a str| match scrub(text) {
            Cow::Owned(scrubbed) => Some(scrubbed),
            Cow::Borrowed(_) => None,
        };
        match &self.0 {
            Form::Plain(text) => scrub(text).map(|text| Self(Form::Plain(text))),
            Form::Coded(coded) => {
                let (reference, library) = (scrub(&coded.reference), scrub(&coded.library));
                let mut arguments = coded.arguments.clone();
                let mut changed = reference.is_some() || library.is_some();
                for (name, original) in &coded.arguments {
                    if let Some(value) = scrubbed_value(original, &scrub) {
                        arguments.insert(name.clone(), value);
                        changed = true;
                    }
                }
                changed.then(|| {
                    Self(Form::Coded(Box::new(Coded {
                        code: coded.code,
                        arguments,
                        reference: reference.unwrap_or_else(|| coded.reference.clone()),
                        library: library.unwrap_or_else(|| coded.library.clone()),
                    })))
                })
            }
        }
    }
}

fn scrubbed_value<'a>(value: &'a Value, scrub: &impl Fn(&'a str) -> Option<String>) -> Option<Value> {
    match value {
        Value::String(text) => scrub(text).map(Value::String),
        Value::Array(values) => {
            let scrubbed: Vec<_> = values.iter().map(|value| scrubbed_value(value, scrub)).collect();
            scrubbed.iter().any(Option::is_some).then(|| {
                let pairs = scrubbed.into_iter().zip(values);
                Value::Array(
                    pairs
                        .map(|(scrubbed, value)| scrubbed.unwrap_or_else(|| value.clone()))
                        .collect(),
                )
            })
        }
        Value::Object(members) => {
            let mut changed = None;
            for (name, value) in members {
                if let Some(value) = scrubbed_value(value, scrub) {
                    changed
                        .get_or_insert_with(|| members.clone())
                        .insert(name.clone(), value);
                }
            }
            changed.map(Value::Object)
        }
        _ => None,
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(Form::Plain(text))
    }
}

impl From<&String> for Text {
    fn from(text: &String) -> Self {
        Self(Form::Plain(text.clone()))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(Form::Plain(text.to_owned()))
    }
}

impl From<Message<'_>> for Text {
    fn from(message: Message<'_>) -> Self {
        Self(Form::Coded(Box::new(Coded {
            code: message.code(),
            arguments: message.arguments(),
            reference: message.reference(),
            library: message.library(),
        })))
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.library(), formatter)
    }
}

impl fmt::Display for Text {
    /// Writes the library's text.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.library())
    }
}

/// A message whose library text differs from that of the reference engine.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Message<'a> {
    /// A protected resource was to be deleted.
    ProtectedFromDeletion { urn: &'a str },
    /// A protected resource was to be replaced.
    ProtectedFromReplacement { urn: &'a str },
    /// A target names no resource.
    TargetNotFound { target: &'a str },
    /// A target depends on a resource that does not exist and is no target.
    DependencyNotTargeted { urn: &'a str, dependency: &'a str },
    /// A resource that is no target would have to be deleted.
    DeletionNotTargeted { urn: &'a str },
    /// The provider of a resource changed while only targets are worked on.
    ProviderChangedWithTargets { urn: &'a str, provider: &'a str },
    /// A destroy without its program found deletion hooks: the resources with the names of theirs.
    DeleteHooksWithoutProgram { resources: &'a [(String, Vec<String>)] },
    /// A provider's Check reported an invalid property.
    InvalidProperty {
        resource_type: &'a str,
        name: &'a str,
        property: &'a str,
        /// The value in the format of the reference engine, in braces.
        value: &'a str,
        /// Whether the property has a value.
        is_set: bool,
        reason: &'a str,
    },
    /// A provider lacks configuration: names and descriptions of its keys.
    MissingConfiguration { keys: &'a [(String, String)] },
    /// An id was to be secret.
    SecretId,
    /// A plugin was found in a folder of the `PATH`.
    PluginOnPath { executable: &'a str, place: &'a str },
    /// The program requires another version of the reference engine.
    VersionNotSatisfied { version: &'a str, range: &'a str },
    /// A plugin was not found. `places` are the searched places, each with the reason why it did not match.
    PluginNotFound {
        kind: &'a str,
        name: &'a str,
        executable: &'a str,
        version: Option<&'a str>,
        places: &'a [(String, String)],
    },
    /// A resource violates its plan. `what` is `inputs` or `outputs`; the texts list each difference.
    PlanViolated {
        urn: &'a str,
        what: &'a str,
        reference: &'a str,
        library: &'a str,
        /// Each difference as data.
        changes: &'a [Value],
    },
    /// An operation that the host cancelled has ended; `operation` is its name.
    Cancelled { operation: &'a str },
    /// An operation that its timeout cancelled has ended. `abandoned` describes the calls that were given up.
    TimedOut {
        operation: &'a str,
        seconds: f64,
        abandoned: &'a [String],
    },
}

impl Message<'_> {
    /// Returns the stable name of the message.
    pub(crate) const fn code(&self) -> &'static str {
        match self {
            Self::ProtectedFromDeletion { .. } => "protected_from_deletion",
            Self::ProtectedFromReplacement { .. } => "protected_from_replacement",
            Self::TargetNotFound { .. } => "target_not_found",
            Self::DependencyNotTargeted { .. } => "dependency_not_targeted",
            Self::DeletionNotTargeted { .. } => "deletion_not_targeted",
            Self::ProviderChangedWithTargets { .. } => "provider_changed_with_targets",
            Self::DeleteHooksWithoutProgram { .. } => "delete_hooks_without_program",
            Self::InvalidProperty { .. } => "invalid_property",
            Self::MissingConfiguration { .. } => "missing_configuration",
            Self::SecretId => "secret_id",
            Self::PluginOnPath { .. } => "plugin_on_path",
            Self::VersionNotSatisfied { .. } => "version_not_satisfied",
            Self::PluginNotFound { .. } => "plugin_not_found",
            Self::PlanViolated { .. } => "plan_violated",
            Self::Cancelled { .. } => "cancelled",
            Self::TimedOut { .. } => "timed_out",
        }
    }

    /// Returns the arguments by name.
    fn arguments(&self) -> Map<String, Value> {
        let value = match self {
            Self::ProtectedFromDeletion { urn }
            | Self::ProtectedFromReplacement { urn }
            | Self::DeletionNotTargeted { urn } => json!({ "urn": urn }),
            Self::TargetNotFound { target } => json!({ "target": target }),
            Self::DependencyNotTargeted { urn, dependency } => {
                json!({ "urn": urn, "dependency": dependency })
            }
            Self::ProviderChangedWithTargets { urn, provider } => json!({ "urn": urn, "provider": provider }),
            Self::DeleteHooksWithoutProgram { resources } => {
                let hooks: Map<String, Value> = (resources.iter())
                    .map(|(urn, hooks)| (urn.clone(), json!(hooks)))
                    .collect();
                json!({ "hooks": hooks })
            }
            Self::SecretId => json!({}),
            Self::InvalidProperty {
                resource_type,
                name,
                property,
                value: _,
                is_set: _,
                reason,
            } => json!({ "type": resource_type, "name": name, "property": property, "reason": reason }),
            Self::MissingConfiguration { keys } => {
                let keys = keys.iter();
                let keys: Vec<_> = keys
                    .map(|(name, description)| json!({ "name": name, "description": description }))
                    .collect();
                json!({ "keys": keys })
            }
            Self::PluginOnPath { executable, place } => json!({ "executable": executable, "place": place }),
            Self::VersionNotSatisfied { version, range } => json!({ "version": version, "range": range }),
            Self::PluginNotFound {
                kind,
                name,
                executable: _,
                version,
                places,
            } => {
                let places = places.iter();
                let places: Vec<_> = places
                    .map(|(place, reason)| json!({ "place": place, "reason": reason }))
                    .collect();
                json!({ "kind": kind, "name": name, "version": version, "places": places })
            }
            Self::PlanViolated {
                urn, what, changes, ..
            } => {
                json!({ "urn": urn, "what": what, "changes": changes })
            }
            Self::Cancelled { operation } => json!({ "operation": operation }),
            Self::TimedOut {
                operation,
                seconds,
                abandoned,
            } => json!({ "operation": operation, "seconds": seconds, "abandoned": abandoned }),
        };
        match value {
            Value::Object(arguments) => arguments,
            _ => Map::new(),
        }
    }

    /// Returns the reference engine's text.
    fn reference(&self) -> String {
        match self {
            Self::ProtectedFromDeletion { urn } => format!(
                "resource \"{urn}\" cannot be deleted\nbecause it is protected. To unprotect the resource, either remove \
                 the `protect` flag from the resource in your Pulumi program and run `pulumi up`, or use the command:\n\
                 `pulumi state unprotect '{urn}'`"
            ),
            Self::ProtectedFromReplacement { urn } => format!(
                "unable to replace resource \"{urn}\"\nas it is currently marked for protection. To unprotect the \
                 resource, remove the `protect` flag from the resource in your Pulumi program and run `pulumi up`"
            ),
            Self::TargetNotFound { target } => {
                // A URN without `$` may result from variable expansion of a shell.
                let advice = match target.contains('$') {
                    true => "",
                    false => " Did you forget to escape $ in your shell?",
                };
                format!("Target '{target}' could not be found in the stack.{advice}")
            }
            // The doubled word is in the reference engine's text.
            Self::DependencyNotTargeted { urn, dependency } => {
                format!(
                    "Resource '{urn}' depends on '{dependency}' which was was not specified in --target list."
                )
            }
            Self::DeletionNotTargeted { urn } => format!(
                "Resource '{urn}' will be destroyed but was not specified in --target list.\nEither include resource in \
                 --target list or pass --target-dependents to proceed."
            ),
            Self::ProviderChangedWithTargets { urn, provider } => format!(
                "provider {provider} for resource {urn} has not been registered yet, this is due to a change of \
                 providers mixed with --target. Change your program back to the original providers"
            ),
            Self::DeleteHooksWithoutProgram { .. } => {
                "You must run with the `--run-program` flag to use delete hooks during destroy.".to_owned()
            }
            Self::InvalidProperty {
                resource_type,
                name,
                property,
                value,
                is_set: _,
                reason,
            } => format!(
                "{resource_type} resource '{name}': property {property} value {value} has a problem: {reason}"
            ),
            Self::MissingConfiguration { keys } => missing_keys(keys, |name, description| {
                format!(
                    "missing required configuration key \"{name}\": {description}\n\
                     Set a value using the command `pulumi config set {name} <value>`."
                )
            }),
            Self::SecretId => {
                "The 'id' property cannot be made secret. See pulumi/pulumi#2717 for more details.".to_owned()
            }
            Self::PluginOnPath { executable, place } => format!("using {executable} from $PATH at {place}"),
            Self::VersionNotSatisfied { version, range } => {
                format!("Pulumi CLI version {version} does not satisfy the version range \"{range}\"")
            }
            Self::PluginNotFound {
                kind,
                executable,
                version,
                ..
            } => {
                let version = version.map(|version| format!("at version v{version} "));
                let version = version.unwrap_or_default();
                format!("no {kind} plugin '{executable}' found in the workspace {version}or on your $PATH")
            }
            Self::PlanViolated {
                urn, what, reference, ..
            } => format!("resource {urn} violates plan: {what} changed: {reference}"),
            Self::Cancelled { .. } | Self::TimedOut { .. } => "canceled".to_owned(),
        }
    }

    /// Returns the library's text.
    fn library(&self) -> String {
        match self {
            Self::ProtectedFromDeletion { urn } => format!(
                "the resource \"{urn}\" is protected and cannot be deleted: run an update in which its option `protect` is \
                 false first, or let the operation ignore protection"
            ),
            Self::ProtectedFromReplacement { urn } => format!(
                "the resource \"{urn}\" is protected and cannot be replaced: set its option `protect` to false, or let \
                 the operation ignore protection"
            ),
            Self::TargetNotFound { target } => {
                format!("the target '{target}' is not a resource of the stack")
            }
            Self::DependencyNotTargeted { urn, dependency } => format!(
                "the resource '{urn}' depends on '{dependency}', which does not exist yet and is not among the targets"
            ),
            Self::DeletionNotTargeted { urn } => format!(
                "the resource '{urn}' would have to be deleted and is not among the targets: add it to them, or make \
                 the dependents of targets targets, too"
            ),
            Self::ProviderChangedWithTargets { urn, provider } => format!(
                "the resource {urn} is not among the targets, and its new provider {provider} has not been registered: \
                 add the resource to the targets, or let it keep its provider"
            ),
            Self::DeleteHooksWithoutProgram { resources } => delete_hooks(resources),
            Self::InvalidProperty {
                resource_type,
                name,
                property,
                value,
                is_set,
                reason,
            } => {
                let value = match is_set {
                    true => format!(" with the value `{}`", without_braces(value)),
                    false => ", which is not set".to_owned(),
                };
                format!("{resource_type} resource '{name}': property `{property}`{value}: {reason}")
            }
            Self::MissingConfiguration { keys } => missing_keys(keys, |name, description| {
                format!("missing required configuration key `{name}` of the provider: {description}")
            }),
            Self::SecretId => "the id of a resource cannot be secret".to_owned(),
            Self::PluginOnPath { executable, place } => {
                format!("using {executable} at {place}, which was found on the search path")
            }
            Self::VersionNotSatisfied { version, range } => format!(
                "the program requires an engine of the version range \"{range}\"; this one is compatible with {version}"
            ),
            Self::PluginNotFound {
                kind,
                name,
                executable,
                version,
                places,
            } => {
                let version = version.map(|version| format!(" in version {version}"));
                let version = version.unwrap_or_default();
                let text =
                    format!("the {kind} plugin `{name}`{version} was not found (executable {executable}):");
                text + &listed(places)
            }
            Self::PlanViolated {
                urn, what, library, ..
            } => format!("the {what} of the resource {urn} are not as planned: {library}"),
            Self::Cancelled { operation } => format!("{operation} canceled"),
            Self::TimedOut {
                operation,
                seconds,
                abandoned,
            } => timed_out(operation, *seconds, abandoned),
        }
    }
}

fn delete_hooks(resources: &[(String, Vec<String>)]) -> String {
    let resources: Vec<String> = resources
        .iter()
        .map(|(urn, hooks)| format!("{urn} ({})", hooks.join(", ")))
        .collect();
    format!(
        "the state has resources with delete hooks, which only the program can run: {}; set destroyProgram \
         (destroy_program in Python and Rust), or drop the hooks in an update first",
        resources.join(", ")
    )
}

/// Returns the text of an object's members, and any other value's text as it is.
fn without_braces(value: &str) -> &str {
    let members = value.strip_prefix('{').and_then(|value| value.strip_suffix('}'));
    members.unwrap_or(value)
}

fn timed_out(operation: &str, seconds: f64, abandoned: &[String]) -> String {
    let calls = abandoned.join("; ");
    let separator = if calls.is_empty() { "" } else { ": " };
    format!("{operation} canceled, because it did not end within {seconds} s{separator}{calls}")
}

/// Lists places with the reasons why they did not match, one per line.
fn listed(places: &[(String, String)]) -> String {
    let lines = places.iter();
    lines
        .map(|(place, reason)| format!("\n  {place}: {reason}"))
        .collect()
}

fn missing_keys(keys: &[(String, String)], line: impl Fn(&str, &str) -> String) -> String {
    let lines: Vec<String> = keys
        .iter()
        .map(|(name, description)| line(name, description))
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests;
