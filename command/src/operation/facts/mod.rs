//! Facts about the environment of an operation, which the history keeps: what runs it, its repository, and the service that builds it.

mod ci;
mod git;

use std::collections::BTreeMap;

use stackwright::COMPATIBLE_VERSION;
use stackwright_project::FoundProject;

use ci::Build;

use crate::{
    arguments::{GivenFlag, OperationArguments},
    invocation::Invocation,
    session::Session,
};

/// The variables of the environment that are booleans of the reference engine's command; of others, the values are not kept.
const BOOLEANS: [&str; 29] = [
    "PULUMI_AUTOMATION_API_SKIP_VERSION_CHECK",
    "PULUMI_CONTINUE_ON_ERROR",
    "PULUMI_COPILOT",
    "PULUMI_DEBUG_COMMANDS",
    "PULUMI_DEV",
    "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION",
    "PULUMI_DISABLE_OUTPUT_VALUES",
    "PULUMI_DISABLE_PROVIDER_PREVIEW",
    "PULUMI_DISABLE_RESOURCE_REFERENCES",
    "PULUMI_DISABLE_SECRET_CACHE",
    "PULUMI_DISABLE_VALIDATION",
    "PULUMI_DIY_BACKEND_DISABLE_CHECKPOINT_BACKUPS",
    "PULUMI_DIY_BACKEND_GZIP",
    "PULUMI_DIY_BACKEND_LEGACY_LAYOUT",
    "PULUMI_DIY_BACKEND_NO_LEGACY_WARNING",
    "PULUMI_DIY_BACKEND_RETAIN_CHECKPOINTS",
    "PULUMI_ENABLE_LEGACY_DIFF",
    "PULUMI_ENABLE_LEGACY_REFRESH_DIFF",
    "PULUMI_ERROR_ON_DEPENDENCY_CYCLES",
    "PULUMI_ERROR_OUTPUT_STRING",
    "PULUMI_EXPERIMENTAL",
    "PULUMI_FALLBACK_TO_STATE_SECRETS_MANAGER",
    "PULUMI_IGNORE_AMBIENT_PLUGINS",
    "PULUMI_PARALLEL_DIFF",
    "PULUMI_RUN_PROGRAM",
    "PULUMI_SKIP_CHECKPOINTS",
    "PULUMI_SKIP_CONFIRMATIONS",
    "PULUMI_SKIP_UPDATE_CHECK",
    "PULUMI_SUPPRESS_COPILOT_LINK",
];
/// The ways in which a command is run that the reference engine knows. The first one stands for all others.
const EXECUTION_KINDS: [&str; 3] = ["cli", "auto.inline", "auto.local"];
/// What the history has in place of a value that it does not keep.
const SET: &str = "set";

/// The facts about an operation.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// The facts by name.
    pub(super) environment: BTreeMap<String, String>,
    /// The first line of the message of the commit that is checked out, or is built; empty where it is not known.
    pub(super) title: String,
}

impl Facts {
    /// Adds a fact, unless it is empty.
    fn add(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.set(name, value.to_owned());
        }
    }

    /// Adds a fact, also an empty one.
    fn set(&mut self, name: &str, value: String) {
        self.environment.insert(name.to_owned(), value);
    }
}

/// Returns the facts about an update: that of the language of its program is among them.
pub(super) fn of_update(
    session: &Session<'_>,
    arguments: &OperationArguments,
    flags: &[GivenFlag],
    is_planned: bool,
) -> Facts {
    let mut facts = of_operation(session, arguments, flags, is_planned);
    let of_folder = session.found().map(|found| found.file.runtime.name.as_str());
    let client = arguments.client.as_ref().map(|_| "client");
    if let Some(name) = client.or(of_folder) {
        facts.add("runtime.name", name);
    }
    let runtime = session.invocation.program_runtime.as_ref();
    if let Some(runtime) = client.and(runtime) {
        facts.add("runtime.version", &runtime.version);
        facts.add("runtime.executable", &runtime.executable);
    }
    facts
}

/// Returns the facts about an operation.
pub(super) fn of_operation(
    session: &Session<'_>,
    arguments: &OperationArguments,
    flags: &[GivenFlag],
    is_planned: bool,
) -> Facts {
    let invocation = session.invocation;
    let mut facts = Facts {
        environment: of_command(invocation, arguments, flags, is_planned),
        ..Facts::default()
    };
    let found = session.found();
    let folder = found.map_or(&*invocation.directory, FoundProject::folder);
    let build = Build::of(invocation);
    git::add(&mut facts, invocation, folder, build.as_ref());
    for (name, value) in build.iter().flat_map(Build::facts) {
        facts.add(name, value);
    }
    facts
}

/// Returns the facts about the command itself, by name.
fn of_command(
    invocation: &Invocation,
    arguments: &OperationArguments,
    flags: &[GivenFlag],
    is_planned: bool,
) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    let mut add = |name: String, value: &str| facts.insert(name, value.to_owned());
    let kind = arguments.exec_kind.as_deref();
    let known = EXECUTION_KINDS.into_iter().find(|known| kind == Some(*known));
    add("exec.kind".to_owned(), known.unwrap_or(EXECUTION_KINDS[0]));
    if let Some(agent) = arguments.exec_agent.as_deref().filter(|agent| !agent.is_empty()) {
        add("exec.agent".to_owned(), agent);
    }
    add("pulumi.version".to_owned(), COMPATIBLE_VERSION);
    add("pulumi.os".to_owned(), std::env::consts::OS);
    add("pulumi.arch".to_owned(), architecture());
    add("stack.environments".to_owned(), "[]");
    add("updatePlan".to_owned(), boolean(is_planned));
    for flag in flags {
        add(
            format!("pulumi.flag.{}", flag.name),
            flag.boolean.map_or(SET, boolean),
        );
    }
    for (name, value) in invocation
        .environment
        .iter()
        .filter(|(name, _)| name.starts_with("PULUMI_"))
    {
        let value = match BOOLEANS.contains(&name.as_str()) {
            true => boolean(value == "1" || value.eq_ignore_ascii_case("true")),
            false => SET,
        };
        add(format!("pulumi.env.{name}"), value);
    }
    facts
}

const fn boolean(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

/// Returns the name that the reference engine has for the processor.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
