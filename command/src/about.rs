//! `about`: what the engine works with.

use std::{collections::BTreeMap, fs};

use serde::Serialize;
use stackwright::{COMPATIBLE_VERSION, store::HostFacts};
use stackwright_project::FoundProject;

use crate::{
    arguments::AboutArguments,
    failure::{Failure, Result},
    project_plugins,
    records::{Deployment, Record},
    session::Session,
    text,
};

/// The file that describes the system.
const SYSTEM_FILE: &str = "/etc/os-release";
/// The error of a folder without a selected stack, or of a stack that does not exist.
const NO_STACK: &str = "Failed to get information about the current stack: No current stack";

/// The document.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    plugins: Option<Vec<Plugin>>,
    host: Host,
    backend: Backend,
    current_stack: Option<CurrentStack>,
    cli_about: Command,
    runtime: Option<BTreeMap<&'static str, String>>,
    dependencies: Vec<()>,
    errors: Vec<String>,
}

#[derive(Serialize)]
struct Plugin {
    name: String,
    version: String,
    kind: &'static str,
}

#[derive(Serialize)]
struct Host {
    os: String,
    version: String,
    arch: &'static str,
}

#[derive(Serialize)]
struct Backend {
    name: String,
    url: String,
    user: String,
    organizations: Option<Vec<String>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CurrentStack {
    name: String,
    fully_qualified_name: String,
    resources: Vec<Row>,
    pending_ops: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    #[serde(rename = "type")]
    resource_type: String,
    urn: String,
}

/// The command. It is not written in Go, so that it has no version and no compiler of that.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Command {
    version: &'static str,
    go_version: &'static str,
    go_compiler: &'static str,
}

/// Prints what the engine works with. What cannot be read is among the errors of the document.
pub(crate) async fn about(session: &Session<'_>, arguments: &AboutArguments) -> Result {
    if arguments.command.is_some() {
        return Err(Failure::new(
            "`about env` is not supported: docs/automation.md lists the variables that this engine reads",
        ));
    }
    let mut errors = Vec::new();
    let plugins = match plugins(session).await {
        Ok(plugins) => plugins,
        Err(failure) => {
            errors.push(format!(
                "Failed to get information about the project's plugins: {}",
                failure.message
            ));
            None
        }
    };
    let current_stack = match current_stack(session, arguments.stack.stack.as_deref()).await {
        Ok(Some(stack)) => Some(stack),
        Ok(None) => {
            errors.push(NO_STACK.to_owned());
            None
        }
        Err(failure) => {
            errors.push(match failure.is_no_stack() {
                true => NO_STACK.to_owned(),
                false => format!(
                    "Failed to get information about the current stack: {}",
                    failure.message
                ),
            });
            None
        }
    };
    let HostFacts {
        username, hostname, ..
    } = HostFacts::system();
    let language = |found: &FoundProject| found.file.runtime.name.clone();
    let document = Document {
        plugins,
        host: host(),
        backend: Backend {
            name: hostname,
            url: session.engine.store_url(),
            user: username,
            organizations: None,
        },
        current_stack,
        cli_about: Command {
            version: COMPATIBLE_VERSION.strip_prefix('v').unwrap_or(COMPATIBLE_VERSION),
            go_version: "",
            go_compiler: "",
        },
        runtime: session
            .found()
            .map(|found| BTreeMap::from([("language", language(found))])),
        dependencies: Vec::new(),
        errors,
    };
    if arguments.form.is_json() {
        session.invocation.print(text::document(&document)?);
    } else {
        session.invocation.write(&tables(&document));
        for error in &document.errors {
            session.invocation.warn(error);
        }
    }
    Ok(())
}

/// Returns the plugins that the project needs; `None` without a project.
async fn plugins(session: &Session<'_>) -> Result<Option<Vec<Plugin>>> {
    let Some(found) = session.found() else {
        return Ok(None);
    };
    let required = project_plugins::required(session.invocation, found).await?;
    let plugins = required.into_iter().map(|plugin| Plugin {
        name: plugin.name,
        version: plugin.version.to_string(),
        kind: "resource",
    });
    Ok(Some(plugins.collect::<Vec<_>>()).filter(|plugins| !plugins.is_empty()))
}

async fn current_stack(session: &Session<'_>, given: Option<&str>) -> Result<Option<CurrentStack>> {
    let named = match given {
        Some(given) => session.named(given)?,
        None => match session.selected()? {
            Some(selected) => selected,
            None => return Ok(None),
        },
    };
    let stack = session.stack(&named).await?;
    let deployment = Deployment::read(session, &stack, false).await?;
    let row = |resource_type: &str, record: &Record| Row {
        resource_type: resource_type.to_owned(),
        urn: record.urn.clone(),
    };
    let resources = deployment.resources.iter();
    let pending = deployment.pending_operations.iter();
    Ok(Some(CurrentStack {
        name: named.name.stack().to_owned(),
        fully_qualified_name: named.name.qualified(),
        resources: resources
            .map(|record| row(&record.resource_type, record))
            .collect(),
        pending_ops: pending
            .map(|pending| row(&pending.kind, &pending.resource))
            .collect(),
    }))
}

fn host() -> Host {
    let described = fs::read_to_string(SYSTEM_FILE).unwrap_or_default();
    let fact = |name: &str| {
        let mut lines = described.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        value.map(|value| value.trim_matches('"').to_owned())
    };
    Host {
        os: fact("ID").unwrap_or_else(|| std::env::consts::OS.to_owned()),
        version: fact("VERSION_ID").unwrap_or_default(),
        arch: std::env::consts::ARCH,
    }
}

/// Returns the document as tables.
fn tables(document: &Document) -> String {
    let mut text = String::new();
    let mut table = |title: &str, rows: &[(&str, &str)]| {
        let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        text.push_str(title);
        text.push('\n');
        for (name, value) in rows {
            text.push_str(format!("{name:width$}  {value}").trim_end());
            text.push('\n');
        }
        text.push('\n');
    };
    let Document { host, backend, .. } = document;
    table("CLI", &[("Version", document.cli_about.version)]);
    if let Some(plugins) = &document.plugins {
        let rows: Vec<_> = plugins
            .iter()
            .map(|plugin| (plugin.name.as_str(), plugin.version.as_str()))
            .collect();
        table("Plugins", &rows);
    }
    table(
        "Host",
        &[("OS", &host.os), ("Version", &host.version), ("Arch", host.arch)],
    );
    if let Some(stack) = &document.current_stack {
        let title = format!("Current Stack: {}", stack.fully_qualified_name);
        let rows: Vec<_> = stack
            .resources
            .iter()
            .map(|row| (row.resource_type.as_str(), row.urn.as_str()))
            .collect();
        table(&title, &rows);
        let rows: Vec<_> = stack
            .pending_ops
            .iter()
            .map(|row| (row.resource_type.as_str(), row.urn.as_str()))
            .collect();
        if !rows.is_empty() {
            table("Pending Operations", &rows);
        }
    }
    table(
        "Backend",
        &[
            ("Name", &backend.name),
            ("URL", &backend.url),
            ("User", &backend.user),
        ],
    );
    text
}
