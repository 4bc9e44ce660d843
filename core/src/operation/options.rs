//! Options of operations; names and meanings are those of the embedding contract.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    error::{Error, Result},
    plan::GivenPlan,
    policy::PolicyPackOption,
};

/// What a user can say about one operation. Unset options are the reference engine's defaults.
///
/// All names of the embedding contract are known. An option that would change what the operation does, and that this
/// engine has not learned yet, is refused when the operation starts: see [`Self::unsupported`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct OperationOptions {
    /// Only say what would be done: nothing is created, changed, deleted or written.
    pub dry_run: bool,
    /// How many calls of Create, Update, Delete and Read may run at a time, those of refreshes and imports too; 0 is the
    /// default of 16, `i32::MAX` no limit. Of Check and Diff, 16 times as many may.
    ///
    /// The limit is strict, except for providers whose calls may wait for later registrations:
    /// see [`Self::waits_for_registrations`]. Invokes do not count.
    pub parallel: i32,
    /// Calls of every provider may wait for what a later registration or step causes. Left out, that holds for providers
    /// that declare it ([`crate::provider::Capabilities::waits_for_registrations`],
    /// [`crate::plugin::PluginSettings::waits_for_registrations`]). When all that `parallel` allows stand still while
    /// others queue, some of these calls no longer count, so that more than `parallel` run.
    pub waits_for_registrations: bool,
    /// Diffs of different resources are asked for at the same time, which they always are.
    pub parallel_diff: bool,
    /// Read every resource before an update or a destroy.
    pub refresh: bool,
    /// A refresh runs the program: each resource is read when the program registers it, by a provider that is configured
    /// as the program says; the others are read at the end. Where an update, or a destroy with its program, is to
    /// [`Self::refresh`], it reads each resource when the program registers it, instead of all of them first.
    pub refresh_program: bool,
    /// A destroy runs the program, which says how providers are configured; then everything is deleted, also what the
    /// program registers.
    pub destroy_program: bool,
    /// URNs of the only resources to be worked on; in a glob, `*` stands for anything but a colon and `**` for anything.
    /// What is left out keeps its record (a component still publishes
    /// outputs), or is not created: its outputs are unknown then. Providers and
    /// the stack itself are always worked on. A target that names no resource fails the operation.
    pub targets: Vec<String>,
    /// What depends on targets is a target, too. It says nothing without targets.
    pub target_dependents: bool,
    /// URNs of resources to be left alone, globs as in `targets`. They say nothing where there are targets.
    pub excludes: Vec<String>,
    /// What depends on excluded resources is excluded, too. It says nothing without excludes.
    pub exclude_dependents: bool,
    /// A failed step stops only what depends on it.
    pub continue_on_error: bool,
    /// Whether an update may delete every resource because its program has registered none: all but the stack and default
    /// providers count. `Some(false)` refuses it before anything is deleted. `None` allows it, as the reference engine does;
    /// only `Some(true)` leaves the warning out with which a preview shows it.
    pub allow_empty: Option<bool>,
    /// Diagnostics of the severity `debug` are among the events.
    pub debug: bool,
    /// Delete and replace protected resources too.
    pub ignore_protect: bool,
    /// URNs of resources to be replaced whatever has changed, globs as in `targets`.
    pub replace_targets: Vec<String>,
    /// The plan that an update, a destroy, or a preview of one, is held to: steps, inputs and options that it did not
    /// foresee are refused before a provider is asked to do them, and fail the operation. Plans have no place for
    /// `retain_on_delete`, `deleted_with`, `replace_on_changes` and `hide_diffs`, nor for mere reads: these may differ.
    pub plan: Option<GivenPlan>,
    /// Write down what is found as a plan, and as its document. Left out, previews of updates keep a plan in memory, to
    /// which an update in the same process can be held; nothing else does.
    pub generate_plan: Option<bool>,
    /// Lets the reference engine do what it calls experimental; nothing here hides behind it.
    pub experimental: bool,
    /// Preview an update or a destroy first, where no plan is given, and hold it to what the preview found.
    pub strict: bool,
    /// Compare inputs before asking providers.
    pub use_legacy_diff: bool,
    /// A refresh reports what its outputs say, without asking providers for a diff.
    pub use_legacy_refresh_diff: bool,
    /// Programs are not told that the monitor understands resource references.
    pub disable_resource_references: bool,
    /// Programs are not told that the monitor understands output values.
    pub disable_output_values: bool,
    /// Previews show inputs as outputs, and never reach Create and Update of a package's provider.
    pub disable_provider_preview: bool,
    /// Have plugins installed no sooner than they are needed. Left out, an engine with an installer
    /// installs beforehand what the state's providers need, and what the program's language runtime says that it requires.
    pub skip_plugin_pre_install: bool,
    /// Keep secret values in the inputs and outputs of events: as secrets whose `ciphertext` is the base64 of their JSON
    /// text, as the `b64` secrets manager has them. Left out, that is `[secret]`.
    pub show_secrets: bool,
    /// Policy packs that an organization demands. Wherever a program runs, each resource is shown to them.
    pub required_policies: Vec<PolicyPackOption>,
    /// Policy packs of the user; they are asked like the required ones, after these.
    pub local_policy_packs: Vec<PolicyPackOption>,
    /// Pieces of program beside the program, written in PCL, which this engine does not run: the option is refused by
    /// name. Snippets that a state holds are kept as they are by whatever runs no program (imports, refreshes, destroys).
    /// What runs one is refused while there are any, because their resources would not be registered, and so deleted.
    pub snippets: Vec<Value>,
    /// The only snippets to be worked on; refused by name, as [`Self::snippets`] are.
    pub target_snippets: Vec<Value>,
    /// Forget interrupted creations when the operation has succeeded: the user knows what became of them. Without it they
    /// stay on record through every operation, because nothing tells whether they made something.
    pub clear_pending_creates: bool,
    /// Keep the session after the result: unanswered registrations stay unanswered and providers alive until
    /// [`crate::operation::Operation::release`], or until the last handle of the operation is dropped.
    pub hold_session: bool,
    /// Do not buffer events: only events that are emitted while a listener is attached are produced.
    pub no_events: bool,
    /// A note for the history.
    pub message: String,
}

/// How many steps run at a time by default.
const DEFAULT_PARALLEL: usize = 16;

impl OperationOptions {
    /// Reads options from their JSON form.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] that names an option that is not known or has a wrong type.
    pub fn from_json(text: &[u8]) -> Result<Self> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        serde_json::from_slice(text).map_err(|error| Self::fault(text, &error))
    }

    /// Says what is wrong with options that cannot be read: with which of them, if it is one of them.
    fn fault(text: &[u8], error: &serde_json::Error) -> Error {
        let options: serde_json::Map<String, Value> = serde_json::from_slice(text).unwrap_or_default();
        let alone = |(name, value): (String, Value)| {
            let option = serde_json::Map::from_iter([(name.clone(), value)]);
            let fault = serde_json::from_value::<Self>(Value::Object(option)).err()?;
            // An option that is not known is named by its error, with those that are.
            let message = fault.to_string();
            Some(if message.starts_with("unknown field") {
                format!("invalid options: {message}")
            } else {
                format!("invalid option {name}: {message}")
            })
        };
        let text = options.into_iter().find_map(alone);
        Error::invalid(text.unwrap_or_else(|| format!("invalid options: {error}")))
    }

    /// Returns the same options with the defaults of the language bindings where these differ from the reference engine's:
    /// an empty program is refused ([`Self::allow_empty`]).
    #[must_use]
    pub fn with_binding_defaults(mut self) -> Self {
        self.allow_empty.get_or_insert(false);
        self
    }

    /// Returns the same options for a preview.
    #[must_use]
    pub fn preview(mut self) -> Self {
        self.dry_run = true;
        self
    }

    pub(crate) fn parallelism(&self) -> usize {
        match usize::try_from(self.parallel) {
            Ok(0) | Err(_) => DEFAULT_PARALLEL,
            Ok(parallel) => parallel,
        }
    }

    /// Returns the names of the options that are set and would change what the operation does, but are not supported
    /// yet. An operation with such options is refused before anything happens.
    #[must_use]
    pub fn unsupported(&self) -> Vec<&'static str> {
        let set = [
            ("snippets", !self.snippets.is_empty()),
            ("targetSnippets", !self.target_snippets.is_empty()),
        ];
        set.iter()
            .filter(|(_, is_set)| *is_set)
            .map(|(name, _)| *name)
            .collect()
    }

    /// Refuses what is not supported.
    pub(crate) fn check(&self) -> Result<()> {
        let mut packs = self.required_policies.iter().chain(&self.local_policy_packs);
        packs.try_for_each(PolicyPackOption::check)?;
        let unsupported = self.unsupported();
        if unsupported.is_empty() {
            return Ok(());
        }
        let noun = if unsupported.len() == 1 {
            "option"
        } else {
            "options"
        };
        let names: Vec<String> = unsupported.iter().map(|name| told(name)).collect();
        let names = names.join(", ");
        Err(Error::invalid(format!("unsupported {noun}: {names}")))
    }
}

/// Returns an option's name for people: in the style of the contract and, where that differs, in that of Python and Rust.
pub(super) fn told(option: &str) -> String {
    let mut snake = String::with_capacity(option.len() + 4);
    for letter in option.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    if snake == option {
        snake
    } else {
        format!("{option} ({snake} in Python and Rust)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_told_in_every_style_in_which_it_is_written() {
        assert_eq!(told("targets"), "targets");
        assert_eq!(
            told("clearPendingCreates"),
            "clearPendingCreates (clear_pending_creates in Python and Rust)"
        );
    }

    #[test]
    fn an_unknown_option_is_named() {
        let error = OperationOptions::from_json(br#"{"paralel": 3}"#).unwrap_err();
        assert!(error.message().contains("paralel"), "{error}");
    }

    #[test]
    fn an_option_of_a_wrong_type_is_named() {
        let fault = |text: &[u8]| {
            OperationOptions::from_json(text)
                .unwrap_err()
                .message()
                .to_owned()
        };
        assert_eq!(
            fault(br#"{"refresh": true, "replaceTargets": "urn"}"#),
            "invalid option replaceTargets: invalid type: string \"urn\", expected a sequence"
        );
        let large = fault(br#"{"parallel": 5000000000}"#);
        assert!(
            large.starts_with("invalid option parallel: invalid value"),
            "{large}"
        );
        assert!(
            fault(b"[").starts_with("invalid options: EOF"),
            "no option is to blame"
        );
    }

    #[test]
    fn every_name_of_the_contract_is_known_and_what_is_not_supported_is_named() {
        let text = br#"{"parallel":4,"parallelDiff":true,"refresh":true,"refreshProgram":true,"destroyProgram":true,
            "targets":["a"],"targetDependents":true,"excludes":["b"],"excludeDependents":true,"replaceTargets":["c"],
            "continueOnError":true,"ignoreProtect":true,"allowEmpty":true,"debug":true,"plan":{},"generatePlan":true,"experimental":true,
            "strict":true,"useLegacyDiff":true,"useLegacyRefreshDiff":true,"disableResourceReferences":true,
            "disableOutputValues":true,"disableProviderPreview":true,"skipPluginPreInstall":true,
            "showSecrets":true,"requiredPolicies":[{"name":"e"}],"localPolicyPacks":[{"name":"f"}],"snippets":[{}],
            "targetSnippets":["d"],"holdSession":true,"clearPendingCreates":true,"dryRun":true,"message":"m"}"#;
        let options = OperationOptions::from_json(text).unwrap();
        assert_eq!(
            options.check().unwrap_err().message(),
            "unsupported options: snippets, targetSnippets (target_snippets in Python and Rust)"
        );
    }

    #[test]
    fn what_is_honoured_is_not_refused() {
        let text =
            br#"{"parallelDiff":true,"experimental":true,"skipPluginPreInstall":true,"targetDependents":true,
            "useLegacyRefreshDiff":true,"disableOutputValues":true,"disableProviderPreview":true,"plan":null,
            "targets":["a"],"excludes":["b"],"excludeDependents":true,"holdSession":true,"refreshProgram":true,
            "destroyProgram":true,"strict":true,"waitsForRegistrations":true}"#;
        let options = OperationOptions::from_json(text).unwrap();
        options.check().unwrap();
    }
}
