//! The analysis of a stack's recorded state by policy packs, without a program.

use std::{collections::BTreeMap, sync::Arc};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use rustc_hash::FxHashMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    StackContext,
    options::{callback_limit, check_time},
    policies::PackLoading,
};
use crate::{
    diagnostic::Diagnostic,
    error::{Error, ErrorKind, Result},
    event::{EnforcementLevel, EventSink, PolicyViolation},
    monitor::RunInfo,
    policy::{Policies, PolicyPackOption, Subject},
    provider::{PluginOperation, ProviderError},
    secrets::RedactingSecrets,
    state::Snapshot,
    urn::Urn,
};

/// How many resources are analyzed at a time.
const MAX_CONCURRENT_RESOURCES: usize = 16;

/// The options of an analysis of a stack's recorded state.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct AnalysisOptions {
    /// Policy packs that an organization requires, which run first.
    pub required_policies: Vec<PolicyPackOption>,
    /// Policy packs of the user.
    pub local_policy_packs: Vec<PolicyPackOption>,
    /// How long one call of a policy may take, in seconds; 300 by default. One that takes longer fails the analysis, whose error
    /// names the policy.
    #[schemars(range(min = 0, max = 1_000_000_000), extend("x-takes" = "a number of seconds above 0"))]
    pub callback_timeout: Option<f64>,
}

impl AnalysisOptions {
    /// Returns the options of an analysis by packs.
    pub fn new(packs: impl IntoIterator<Item = impl Into<PolicyPackOption>>) -> Self {
        Self {
            local_policy_packs: packs.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// Refuses what is wrong in itself.
    pub(crate) fn check(&self) -> Result<()> {
        let mut packs = self.required_policies.iter().chain(&self.local_policy_packs);
        packs.try_for_each(PolicyPackOption::check)?;
        check_time("callbackTimeout", self.callback_timeout)
    }
}

/// What policy packs found in the recorded state of a stack.
#[derive(Clone, Debug)]
pub struct PolicyAnalysis {
    /// The violations: those of each resource, in the order of the state, then those of all resources together. Secrets in
    /// messages are masked.
    pub violations: Vec<PolicyViolation>,
    /// The packs: by name, the version, or `(local)`.
    pub policy_packs: BTreeMap<String, String>,
    /// Warnings about the state and the settings of packs, and the output of packs.
    pub diagnostics: Vec<Diagnostic>,
    /// The number of analyzed resources.
    pub resources: usize,
}

impl PolicyAnalysis {
    /// Returns whether no mandatory policy is violated.
    #[must_use]
    pub fn passed(&self) -> bool {
        let is_mandatory = |violation: &PolicyViolation| violation.level == EnforcementLevel::Mandatory;
        !self.violations.iter().any(is_mandatory)
    }
}

/// Analyzes the recorded state. Neither the state nor a lock is written.
pub(crate) async fn analyze(stack: &StackContext, options: &AnalysisOptions) -> Result<PolicyAnalysis> {
    let events = EventSink::new(Arc::clone(&stack.engine.runtime.clock));
    let analyzed = analyze_with(stack, options, &events).await;
    analyzed.map_err(|error| error.scrubbed(|text| events.redactor().scrub(text)))
}

async fn analyze_with(
    stack: &StackContext,
    options: &AnalysisOptions,
    events: &EventSink,
) -> Result<PolicyAnalysis> {
    options.check()?;
    let configured = stack.configured(false).await?;
    let stack = configured.as_ref().map_or(stack, |(stack, _)| stack);
    let snapshot = load(stack, events).await?;
    let info = facts(stack, &snapshot, events).await?;
    let plugins = PluginOperation::new(&stack.project, &stack.stack, &stack.identity, events.clone());
    let loading = PackLoading {
        stack,
        info: &info,
        plugins: &plugins,
        events,
        call_timeout: callback_limit(options.callback_timeout),
    };
    let required = options.required_policies.iter().map(|option| (option, false));
    let local = options.local_policy_packs.iter().map(|option| (option, true));
    let policies = loading.load(required.chain(local)).await?;
    for warning in policies.warnings() {
        events.diagnostic(warning);
    }
    let subjects = subjects(&snapshot);
    let root = Urn::root_stack(&stack.stack, &stack.project);
    let found = find_violations(&policies, &subjects, &root).await;
    policies.close().await;
    let mut violations = found?;
    for violation in &mut violations {
        violation.message = events.redactor().scrub(&violation.message).into_owned();
    }
    Ok(PolicyAnalysis {
        violations,
        policy_packs: policies.summary(),
        diagnostics: events.diagnostics(),
        resources: subjects.len(),
    })
}

/// Loads the state. A stack that does not exist is an error: an analysis of nothing would pass.
async fn load(stack: &StackContext, events: &EventSink) -> Result<Snapshot> {
    let secrets = RedactingSecrets::new(Arc::clone(&stack.secrets), events.redactor().clone());
    let loaded = stack.storage.load_unlocked(&secrets).await?;
    for warning in loaded.warnings {
        events.diagnostic(warning);
    }
    Ok(loaded.snapshot)
}

/// Returns the facts about the stack that packs receive.
async fn facts(stack: &StackContext, snapshot: &Snapshot, events: &EventSink) -> Result<RunInfo> {
    let config = stack
        .decrypt_config(&*stack.secrets, snapshot.secrets.as_ref())
        .await?;
    config.each_secret(|secret| events.redactor().learn([secret]));
    Ok(RunInfo {
        project: stack.project.clone(),
        stack: stack.stack.clone(),
        organization: stack.organization.clone(),
        root_directory: stack.root_directory.clone(),
        config: config.texts(),
        config_secret_keys: config.secret_keys(),
        // Nothing is changed.
        dry_run: true,
        ..RunInfo::default()
    })
}

/// Returns the managed resources, in the order of the state.
fn subjects(snapshot: &Snapshot) -> Vec<Subject<'_>> {
    let live = || snapshot.resources.iter().filter(|state| !state.delete);
    let by_urn: FxHashMap<&Urn, _> = live().map(|state| (&state.urn, state)).collect();
    let managed = live().filter(|state| !state.external);
    let subjects = managed.map(|state| Subject {
        state,
        delete_before_replace: None,
        aliases: Vec::new(),
        provider: state
            .provider_urn()
            .and_then(|urn| by_urn.get(&urn).map(|provider| Arc::clone(provider))),
    });
    subjects.collect()
}

/// Returns the violations of each resource, then those of all together.
async fn find_violations(
    policies: &Policies,
    subjects: &[Subject<'_>],
    root: &Urn,
) -> Result<Vec<PolicyViolation>> {
    // The views of a resource are checked with the whole stack only, as in operations.
    let registered = subjects.iter().filter(|subject| subject.state.view_of.is_none());
    let analyses: Vec<_> = registered
        .map(|subject| analyze_resource(policies, subject))
        .collect();
    let analyses = stream::iter(analyses).buffered(MAX_CONCURRENT_RESOURCES);
    let mut violations: Vec<PolicyViolation> = analyses.try_concat().await?;
    for pack in policies.packs() {
        let analysis = pack.analyze_stack(subjects, root).await;
        let analysis = analysis.map_err(|error| failed(root, &error))?;
        violations.extend(analysis.violations);
    }
    Ok(violations)
}

async fn analyze_resource(policies: &Policies, subject: &Subject<'_>) -> Result<Vec<PolicyViolation>> {
    let mut violations = Vec::new();
    for pack in policies.packs() {
        let analysis = pack.analyze(subject).await;
        let analysis = analysis.map_err(|error| failed(&subject.state.urn, &error))?;
        violations.extend(analysis.violations);
    }
    Ok(violations)
}

fn failed(urn: &Urn, error: &ProviderError) -> Error {
    Error::new(ErrorKind::Failed, error.text()).with_urn(urn.clone())
}
