//! The messages whose two texts differ, with their codes and arguments.

use serde_json::{Map, Value, json};

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
    /// An operation that was to change nothing has changed something, or would; `operation` is its name, `noun` the reference
    /// engine's.
    UnexpectedChanges {
        operation: &'a str,
        noun: &'a str,
        changes: &'a str,
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
            Self::UnexpectedChanges { .. } => "unexpected_changes",
        }
    }

    /// Returns the arguments by name.
    pub(super) fn arguments(&self) -> Map<String, Value> {
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
            Self::UnexpectedChanges {
                operation, changes, ..
            } => json!({ "operation": operation, "changes": changes }),
        };
        match value {
            Value::Object(arguments) => arguments,
            _ => Map::new(),
        }
    }
}
