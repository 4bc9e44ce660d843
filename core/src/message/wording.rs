//! The two texts of each message.

use super::catalog::Message;

impl Message<'_> {
    /// Returns the reference engine's text.
    pub(super) fn reference(&self) -> String {
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
            Self::UnexpectedChanges { noun, .. } => {
                format!("no changes were expected for {noun} but changes were proposed")
            }
        }
    }

    /// Returns the library's text.
    pub(super) fn library(&self) -> String {
        match self {
            Self::ProtectedFromDeletion { urn } => format!(
                "the resource \"{urn}\" is protected and cannot be deleted: remove the protection with unprotect() or by an \
                 update in which its option `protect` is false, or let the operation ignore protection with ignoreProtect \
                 (ignore_protect in Python and Rust)"
            ),
            Self::ProtectedFromReplacement { urn } => format!(
                "the resource \"{urn}\" is protected and cannot be replaced: set its option `protect` to false, remove \
                 the protection with unprotect(), or let the operation ignore it with ignoreProtect (ignore_protect in Python and \
                 Rust)"
            ),
            Self::TargetNotFound { target } => {
                let hint = match target.starts_with("urn:") || target.contains('*') {
                    true => "",
                    false => ": targets are URNs or globs of URNs",
                };
                format!("the target '{target}' is not a resource of the stack{hint}")
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
                text + &listed(places) + &remedy(kind, name)
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
            Self::UnexpectedChanges {
                operation, changes, ..
            } => format!("the {operation} was to change nothing, but has changes: {changes}"),
        }
    }
}

/// Returns the ways to get a plugin, as a line of its own.
fn remedy(kind: &str, name: &str) -> String {
    let object = match kind {
        "resource" => format!(", or pass the engine a provider object for `{name}`"),
        _ => String::new(),
    };
    format!(
        "\ninstall it with install_plugin() (installPlugin() in Node), or name its folder or the plugin cache in the engine's \
         settings of plugins{object}"
    )
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
