//! Options of operations; names and meanings are those of the embedding contract.

use std::{collections::BTreeMap, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    error::{Error, Result},
    message::snake_case,
    moves::AcceptMoves,
    plan::GivenPlan,
    policy::PolicyPackOption,
    store::check_run,
    telemetry::TraceParent,
};

/// The options of one operation. An option that is left out has the reference engine's default.
///
/// All names of the embedding contract are known. An option that would change what the operation does, and that this
/// engine does not support, is refused before the operation begins.
///
/// # Rust
/// [`Self::unsupported`] returns the names of such options.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(extend("x-beside" = {"python": ["onEvent", "policies", "program"], "node": ["onEvent", "policies", "program", "signal"]}))]
pub struct OperationOptions {
    /// Computes the steps without running them: nothing is created, changed, deleted or written.
    pub dry_run: bool,
    /// How many calls of Create, Update, Delete and Read run at a time, those of refreshes and imports included; 0 is
    /// the default of 16, 2147483647 no limit. Of Check and Diff, 16 times as many run. The limit is strict, except for
    /// providers whose calls may wait for later registrations: see [`Self::waits_for_registrations`]. Invokes do not
    /// count.
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub parallel: i32,
    /// Calls of every provider may wait for the effect of a later registration or step. Left out, that holds for
    /// providers and plugins that declare it. When all calls that [`Self::parallel`] allows stand still while others
    /// queue, some of them no longer count, so that more than `parallel` run.
    pub waits_for_registrations: bool,
    /// Accepted without effect: Check and Diff of different resources always run at the same time.
    pub parallel_diff: bool,
    /// Reads every resource before an update or a destroy. Left out, the project file decides (`options.refresh`).
    pub refresh: Option<bool>,
    /// A refresh runs the program: each resource is read when the program registers it, by a provider with the
    /// program's configuration; the others are read at the end. With [`Self::refresh`], an update, or a destroy that
    /// runs its program, reads each resource when the program registers it, instead of all of them first.
    pub refresh_program: bool,
    /// A destroy runs the program, which determines how providers are configured. Then everything is deleted, the
    /// resources that the program registers included.
    pub destroy_program: bool,
    /// URNs of the only resources that the operation works on. In a glob, `*` matches any text without a colon and `**`
    /// any text. A resource that is not selected keeps its record (a component still publishes outputs), or is not
    /// created: its outputs are unknown then. Providers and the stack itself are always selected. A target that matches
    /// no resource fails the operation.
    #[schemars(extend("x-takes" = "a list of URNs or globs"))]
    pub targets: Vec<String>,
    /// Resources that depend on a target are targets, too. Without [`Self::targets`] it has no effect.
    pub target_dependents: bool,
    /// URNs of resources that the operation leaves as they are, globs as in [`Self::targets`]. Without effect beside
    /// targets.
    #[schemars(extend("x-takes" = "a list of URNs or globs"))]
    pub excludes: Vec<String>,
    /// Resources that depend on an excluded one are excluded, too. Without [`Self::excludes`] it has no effect.
    pub exclude_dependents: bool,
    /// A destroy leaves protected resources as they are, with all that their records refer to. Which these are is decided under
    /// the stack's lock. It cannot be combined with [`Self::targets`] or [`Self::excludes`]; other operations refuse it.
    pub exclude_protected: bool,
    /// Fails the operation when it has changed a resource, or a preview when it would change one: the error has the kind
    /// `failed`, and names the changes. An update has made and recorded them by then; a preview makes none.
    pub expect_no_changes: bool,
    /// A failed step stops only the steps that depend on it.
    pub continue_on_error: bool,
    /// Whether an update may delete every resource because its program registered none (the stack and default providers
    /// do not count). Without it such an update is refused before anything is deleted, and a preview warns: most often
    /// the program is a module that an earlier operation has imported already, so that it does not run again.
    ///
    /// # Rust
    /// `None` allows it, as the reference engine does; only `Some(true)` omits the warning.
    pub allow_empty: Option<bool>,
    /// Includes diagnostics of the severity `debug` in the events.
    pub debug: bool,
    /// Deletes and replaces protected resources, too.
    pub ignore_protect: bool,
    /// URNs of resources that are replaced, whether they differ or not; globs as in [`Self::targets`].
    #[schemars(extend("x-takes" = "a list of URNs or globs"))]
    pub replace_targets: Vec<String>,
    /// The plan that constrains an update, a destroy, or a preview of one: the result of a preview, or a plan's
    /// document. Steps, inputs and options that the plan does not foresee are refused before a provider is called, and
    /// fail the operation. Plans do not record the options
    /// [`retain_on_delete`](crate::resource::Goal::retain_on_delete),
    /// [`deleted_with`](crate::resource::ResourceOptions::deleted_with),
    /// [`replace_on_changes`](crate::resource::ResourceOptions::replace_on_changes) and
    /// [`hide_diffs`](crate::resource::ResourceOptions::hide_diffs) of resources, nor plain reads: these may differ.
    #[schemars(extend(
        "x-takes" = "the result of a preview or a plan's document",
        "x-python" = "Result | Mapping[str, Any] | str",
        "x-typescript" = "Result | Plan | string"
    ))]
    pub plan: Option<GivenPlan>,
    /// Records the steps as a plan, with its document. Left out, previews of updates keep a plan without a document,
    /// which can constrain an update of the same process; `false` keeps none.
    pub generate_plan: Option<bool>,
    /// Accepted without effect: no behaviour depends on it.
    pub experimental: bool,
    /// Moves that an update, or a preview of one, applies as aliases: `true` for all suggestions with a confidence of at least 0.7,
    /// or a list of moves, each with the recorded URN and the new one. A list can have suggestions that are less probable, and moves
    /// that nothing suggests: the update must delete the one and create the other. The update is previewed first to find the
    /// moves, so that the program runs twice; with `true` again, eight times at most, where further moves can show when others are applied. The
    /// result lists the suggestions that were not accepted, too. A move that does not fit (any more) is refused before
    /// anything changes.
    #[schemars(extend(
        "x-takes" = "a truth value, or a list of suggested moves",
        "x-python" = "bool | Sequence[SuggestedMove | Mapping[str, Any]]",
        "x-typescript" = "boolean | readonly Pick<SuggestedMove, \"oldUrn\" | \"newUrn\">[]"
    ))]
    pub accept_moves: Option<AcceptMoves>,
    /// Previews an update or a destroy first, where no plan is given, and constrains it by the result.
    pub strict: bool,
    /// Compares inputs before providers are called for a diff.
    pub use_legacy_diff: bool,
    /// A refresh reports the differences of outputs, without calling providers for a diff.
    pub use_legacy_refresh_diff: bool,
    /// Does not announce resource references to programs.
    pub disable_resource_references: bool,
    /// Does not announce output values to programs.
    pub disable_output_values: bool,
    /// Previews show inputs as outputs, and never call Create and Update of a package's provider.
    pub disable_provider_preview: bool,
    /// An update does not first read the resources whose providers require that. [`Self::refresh`] reads them all the
    /// same.
    pub disable_refresh_before_update: bool,
    /// Installs plugins only when they are needed. Left out, an engine with an installer installs in advance what the
    /// state's providers need, and what the program's language runtime requires.
    pub skip_plugin_pre_install: bool,
    /// Keeps secret values in the inputs and outputs of events: as secrets whose `ciphertext` is the base64 of their
    /// JSON text, as the `b64` secrets manager has them. Left out, they are `[secret]`.
    pub show_secrets: bool,
    /// Policy packs that an organization requires. Where a program runs, each resource is checked by them.
    pub required_policies: Vec<PolicyPackOption>,
    /// Policy packs of the user, which run after the required ones.
    pub local_policy_packs: Vec<PolicyPackOption>,
    /// Not supported: an operation with it is refused before it begins. Snippets are pieces of program in PCL beside
    /// the program. Snippets of a state are kept by operations that run no program; one that runs a program is refused
    /// while the state has any, because their resources would not be registered, and so deleted.
    #[schemars(with = "Vec<BTreeMap<String, Value>>")]
    pub snippets: Vec<Value>,
    /// Not supported: an operation with it is refused before it begins. The only snippets that the operation works on.
    pub target_snippets: Vec<Value>,
    /// Drops interrupted creations from the state when the operation has succeeded. Left out, they stay pending,
    /// because whether they created anything is not known.
    pub clear_pending_creates: bool,
    /// The ids of resources that interrupted creations have made, by URN. Each is read and recorded before the operation
    /// does anything else, and its creation is no longer pending. An id that its provider does not know fails the operation,
    /// as does one whose URN has another record; a URN without an interrupted creation is a warning.
    #[schemars(extend("x-takes" = "ids by URN"))]
    pub import_pending_creates: BTreeMap<String, String>,
    /// Keeps the monitor and the providers after the result, until the operation is released or its last handle is
    /// dropped. Registrations that failed or came too late stay unanswered until then.
    pub hold_session: bool,
    /// Emits events only while a listener is attached: a later listener does not receive earlier events.
    pub no_events: bool,
    /// A note for the history.
    pub message: String,
    /// The id of this run: up to 128 letters, digits, `.`, `_` and `-`, or two such texts with a `/` between them, the id of a set of runs
    /// and that of one of them. It is recorded in the lock and in the history. An operation whose id one of the eight newest records of
    /// the stack's history has is not run again: its recorded result is returned, without steps, and another kind of operation with that id
    /// is refused. One with the id of an operation that still runs waits for its end first. Where nothing shows whether that one still
    /// runs (the store has no leases, and only a lock file names its process, of another host or before a restart of this one), it waits
    /// for `wait_for_lock`, a minute when left out, and fails with `conflict` then: the error states what frees the stack. So an operation
    /// whose answer was lost can be requested again, from any host. Operations of a set, or with the id itself, end when that is cancelled
    /// in the store. A preview has no record, and runs each time.
    pub run_id: Option<String>,
    /// The names of stacks (`project/stack`) that are being changed: a program that reads the outputs of one fails at once, and the result
    /// names the stack. Those of a set that runs on several hosts, for instance, which runs such a program again when the stack has ended.
    #[schemars(extend("x-takes" = "a list of names of stacks"))]
    pub unfinished_stacks: Vec<String>,
    /// The span of the caller that the operation is within, where the engine exports spans: the header `traceparent` of W3C Trace Context.
    /// Left out, in Python and Node it is the current span of OpenTelemetry, and elsewhere there is none.
    pub traceparent: Option<String>,
    /// How long the operation waits for the stack while another one has locked it, in seconds. Left out, it fails at once. The error, of
    /// the kind `conflict`, names the host, the process, the user and the operation of the holder. A preview does not lock the stack.
    #[schemars(range(min = 0, max = 1_000_000_000), extend("x-takes" = "a number of seconds from 0"))]
    pub wait_for_lock: Option<f64>,
    /// How long the operation may take, in seconds. When it takes longer, it is cancelled: running steps complete, and no
    /// other begins. Calls of providers and policies that have not ended 30 seconds later are given up, so that their outcome
    /// is unknown; transforms and hooks are at once. The error, of the kind `cancelled`, states the timeout and names such
    /// calls. Left out, there is no limit.
    #[schemars(range(min = 0, max = 1_000_000_000), extend("x-takes" = "a number of seconds above 0"))]
    pub timeout: Option<f64>,
    /// How long one call of a transform, a hook or a policy may take, in seconds; 300 by default. One that takes longer has
    /// failed, and is cancelled. A transform may return outputs of other resources: the time in which the operation works on
    /// others does not count for it. Error hooks that wait before they ask for a retry need more than their longest delay.
    #[schemars(range(min = 0, max = 1_000_000_000), extend("x-takes" = "a number of seconds above 0"))]
    pub callback_timeout: Option<f64>,
}

/// How many steps run at a time by default.
const DEFAULT_PARALLEL: usize = 16;

/// How long one call of a transform, a hook or a policy may take by default.
const CALLBACK_TIMEOUT: Duration = Duration::from_secs(300);

/// Returns a number of seconds as a duration; `None` for one that is no duration above 0.
fn duration(seconds: f64) -> Option<Duration> {
    let duration = Duration::try_from_secs_f64(seconds).ok();
    duration.filter(|duration| !duration.is_zero())
}

/// Returns how long one call of a transform, a hook or a policy may take, which `callbackTimeout` states.
pub(super) fn callback_limit(seconds: Option<f64>) -> Duration {
    seconds.and_then(duration).unwrap_or(CALLBACK_TIMEOUT)
}

/// Refuses a limit that is no duration above 0.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] that names the option.
pub(super) fn check_time(name: &str, seconds: Option<f64>) -> Result<()> {
    match seconds.filter(|seconds| duration(*seconds).is_none()) {
        None => Ok(()),
        Some(seconds) => {
            let name = styled_name(name);
            Err(Error::invalid(format!(
                "{name} takes a number of seconds above 0, not {seconds}"
            )))
        }
    }
}

/// Returns how long a lock is waited for, which `waitForLock` of an operation or an edit states.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] for a number that is no duration.
pub(crate) fn lock_limit(seconds: Option<f64>) -> Result<Option<Duration>> {
    let Some(seconds) = seconds else {
        return Ok(None);
    };
    let limit = Duration::try_from_secs_f64(seconds).map_err(|_| {
        let name = styled_name("waitForLock");
        Error::invalid(format!("{name} takes a number of seconds from 0, not {seconds}"))
    });
    limit.map(Some)
}

impl OperationOptions {
    /// Returns the same options with the defaults of the language bindings where these differ from the reference
    /// engine's: an empty program is refused ([`Self::allow_empty`]).
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

    /// Refuses policy packs that are wrong in themselves.
    pub(crate) fn check_policy_packs(&self) -> Result<()> {
        let mut packs = self.required_policies.iter().chain(&self.local_policy_packs);
        packs.try_for_each(PolicyPackOption::check)
    }

    /// Returns how long the operation may take; `None` without a limit, and for one that is refused.
    pub(crate) fn time_limit(&self) -> Option<Duration> {
        duration(self.timeout?)
    }

    /// Returns how long the operation waits for the stack's lock; `None` where that is not given, and for one that is refused.
    pub(crate) fn lock_limit(&self) -> Option<Duration> {
        lock_limit(self.wait_for_lock).ok().flatten()
    }

    /// Returns the span of the caller; `None` where that is not given, and for one that is refused.
    pub(crate) fn caller(&self) -> Option<TraceParent> {
        TraceParent::parse(self.traceparent.as_ref()?).ok()
    }

    /// Returns how long one call of a transform, a hook or a policy may take.
    pub(crate) fn callback_time_limit(&self) -> Duration {
        callback_limit(self.callback_timeout)
    }

    /// Refuses what is wrong in itself, and what is not supported.
    pub(crate) fn check(&self) -> Result<()> {
        self.check_policy_packs()?;
        check_time("timeout", self.timeout)?;
        check_time("callbackTimeout", self.callback_timeout)?;
        lock_limit(self.wait_for_lock)?;
        if let Some(run) = &self.run_id {
            check_run(run)?;
        }
        if let Some(caller) = &self.traceparent {
            TraceParent::parse(caller)?;
        }
        for (other, is_given) in [
            ("targets", !self.targets.is_empty()),
            ("excludes", !self.excludes.is_empty()),
        ] {
            if self.exclude_protected && is_given {
                let name = styled_name("excludeProtected");
                return Err(Error::invalid(format!("{name} cannot be combined with {other}")));
            }
        }
        let unsupported = self.unsupported();
        if unsupported.is_empty() {
            return Ok(());
        }
        let noun = if unsupported.len() == 1 {
            "option"
        } else {
            "options"
        };
        let names: Vec<String> = unsupported.iter().map(|name| styled_name(name)).collect();
        let names = names.join(", ");
        Err(Error::invalid(format!("unsupported {noun}: {names}")))
    }
}

/// Returns an option's name for messages: in the style of the contract and, if different, in that of Python and Rust.
pub(super) fn styled_name(option: &str) -> String {
    let snake = snake_case(option);
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
    fn option_names_are_shown_in_every_style() {
        assert_eq!(styled_name("targets"), "targets");
        assert_eq!(
            styled_name("clearPendingCreates"),
            "clearPendingCreates (clear_pending_creates in Python and Rust)"
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
        let options = serde_json::from_slice::<OperationOptions>(text).unwrap();
        assert_eq!(
            options.check().unwrap_err().message(),
            "unsupported options: snippets, targetSnippets (target_snippets in Python and Rust)"
        );
    }

    #[test]
    fn the_time_to_wait_for_a_lock_is_not_negative() {
        for (wait_for_lock, limit) in [(None, None), (Some(0.0), Some(0)), (Some(0.5), Some(500))] {
            let options = OperationOptions {
                wait_for_lock,
                ..OperationOptions::default()
            };
            options.check().unwrap();
            assert_eq!(options.lock_limit(), limit.map(Duration::from_millis));
        }
        let options = OperationOptions {
            wait_for_lock: Some(-1.0),
            ..OperationOptions::default()
        };
        let error = options.check().unwrap_err();
        assert!(
            error
                .message()
                .contains("waitForLock (wait_for_lock in Python and Rust)"),
            "{error}"
        );
    }

    #[test]
    fn a_timeout_is_above_zero() {
        for (timeout, limit) in [(None, None), (Some(0.5), Some(Duration::from_millis(500)))] {
            let options = OperationOptions {
                timeout,
                ..OperationOptions::default()
            };
            options.check().unwrap();
            assert_eq!(options.time_limit(), limit);
        }
        for timeout in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let options = OperationOptions {
                timeout: Some(timeout),
                ..OperationOptions::default()
            };
            let error = options.check().unwrap_err();
            assert!(
                error
                    .message()
                    .starts_with("timeout takes a number of seconds above 0, not "),
                "{error}"
            );
            let options = OperationOptions {
                callback_timeout: Some(timeout),
                ..OperationOptions::default()
            };
            let error = options.check().unwrap_err();
            assert!(error.message().starts_with("callbackTimeout "), "{error}");
        }
    }

    #[test]
    fn what_is_honoured_is_not_refused() {
        let text =
            br#"{"parallelDiff":true,"experimental":true,"skipPluginPreInstall":true,"targetDependents":true,
            "useLegacyRefreshDiff":true,"disableOutputValues":true,"disableProviderPreview":true,"plan":null,
            "targets":["a"],"excludes":["b"],"excludeDependents":true,"holdSession":true,"refreshProgram":true,
            "destroyProgram":true,"strict":true,"waitsForRegistrations":true}"#;
        let options = serde_json::from_slice::<OperationOptions>(text).unwrap();
        options.check().unwrap();
    }
}
