//! Facts about the environment of an operation, which the history keeps: what runs it, its repository, and the service that builds it.

mod ci;
mod git;

use std::collections::BTreeMap;

use stackwright::COMPATIBLE_VERSION;

use ci::Build;

use crate::{
    arguments::{GivenFlag, OperationArguments},
    invocation::Invocation,
    place::FoundProject,
    session::Session,
};

/// The variables of the environment that are booleans of the reference engine's command; of others, the values are not kept.
const BOOLEANS: [&str; 4] = [
    "PULUMI_DEBUG_COMMANDS",
    "PULUMI_EXPERIMENTAL",
    "PULUMI_SKIP_CONFIRMATIONS",
    "PULUMI_SKIP_UPDATE_CHECK",
];
/// What the history has in place of a value that it does not keep.
const SET: &str = "set";

/// The facts about an operation.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// The facts by name.
    pub(super) environment: BTreeMap<String, String>,
    /// The first line of the message of the commit that is checked out; empty where it is not known.
    pub(super) title: String,
}

impl Facts {
    /// Adds a fact, unless it is empty.
    fn add(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            self.environment.insert(name.to_owned(), value.to_owned());
        }
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
    let kind = arguments.exec_kind.as_deref().filter(|kind| !kind.is_empty());
    add("exec.kind".to_owned(), kind.unwrap_or("cli"));
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
    for name in invocation
        .environment
        .keys()
        .filter(|name| name.starts_with("PULUMI_"))
    {
        let value = match BOOLEANS.contains(&name.as_str()) {
            true => boolean(invocation.is_enabled(name)),
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
