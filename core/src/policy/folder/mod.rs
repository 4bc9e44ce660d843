//! Policy packs in folders: started as processes of the engine, without a command of the reference engine.

mod command;
mod manifest;

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::json;

use super::{PolicySurroundings, analyzer::AnalyzerPlace};
use crate::{
    error::{Error, Result},
    plugin::{PluginEnvironment, PluginProcess, Start},
    provider::EngineEndpoint,
};

use command::PackCommand;

/// Starts the pack in a folder.
///
/// # Errors
/// [`crate::ErrorKind::Plugin`] that names the pack: for a folder without a pack, a missing interpreter or SDK, or a process
/// that writes no port.
pub(super) async fn start(
    pack: &str,
    folder: PathBuf,
    engine: Arc<EngineEndpoint>,
    surroundings: &PolicySurroundings,
) -> Result<AnalyzerPlace> {
    let runtime = &surroundings.runtime;
    let host_environment = surroundings.host_environment.clone();
    let looking = (pack.to_owned(), host_environment.clone());
    let finding = runtime.spawner.spawn_blocking(move || {
        let (pack, host_environment) = looking;
        let folder = pack_folder(&folder, host_environment.directory());
        command::find(&pack, &folder, &host_environment)
    });
    let PackCommand {
        command,
        program,
        folder,
    } = finding.await??;
    let start = Start {
        label: format!("{pack} (analyzer)"),
        command,
        engine_address: engine.address.clone(),
        operands: vec![program.into()],
        directory: Some(folder),
        host_environment,
        environment: environment(surroundings),
        // The user's own code runs in it.
        visible: true,
        sink: Some(Arc::clone(&surroundings.sink)),
        guard_shell: surroundings.guard_shell.clone(),
        timeouts: surroundings.timeouts,
    };
    let process = PluginProcess::start(start, runtime).await;
    let process = process.map_err(|error| named(pack, error))?;
    Ok(AnalyzerPlace {
        address: format!("127.0.0.1:{}", process.port()),
        process: Some(process),
        engine,
    })
}

/// Returns the absolute folder of a pack; the path may be that of its file.
fn pack_folder(path: &Path, directory: Option<&Path>) -> PathBuf {
    let path = directory.map_or_else(|| path.to_owned(), |directory| directory.join(path));
    match path.parent() {
        Some(folder) if path.is_file() => folder.to_owned(),
        _ => path,
    }
}

fn named(pack: &str, error: Error) -> Error {
    let text = |text: &str| format!("could not start policy pack {pack}: {text}");
    let words = error.text().clone().map(text, text);
    error.with_text(words).with_hint(
        "the interpreter of the pack needs the Pulumi SDK and its policy package: pulumi and pulumi_policy in Python, \
         @pulumi/pulumi and @pulumi/policy in Node",
    )
}

/// Returns the variables with which the SDKs learn of the stack and its configuration.
fn environment(surroundings: &PolicySurroundings) -> Vec<(OsString, OsString)> {
    let stack = &surroundings.stack;
    let dry_run = stack.dry_run.to_string();
    let facts = [
        ("PROJECT", &stack.project),
        ("STACK", &stack.stack),
        ("ORGANIZATION", &stack.organization),
        ("DRY_RUN", &dry_run),
    ];
    let mut mapped = BTreeMap::new();
    for (name, value) in facts {
        mapped.insert(format!("PULUMI_{name}"), value.clone());
        mapped.insert(format!("PULUMI_NODEJS_{name}"), value.clone());
    }
    if !stack.config_secret_keys.is_empty() {
        mapped.insert(
            "PULUMI_CONFIG_SECRET_KEYS".to_owned(),
            json!(stack.config_secret_keys).to_string(),
        );
    }
    let environment = PluginEnvironment {
        project: stack.project.clone(),
        runtime_options: BTreeMap::new(),
        config: stack.config.clone(),
    };
    let mut variables: BTreeMap<OsString, OsString> = environment.variables("policy").into_iter().collect();
    variables.extend(
        mapped
            .into_iter()
            .map(|(name, value)| (name.into(), value.into())),
    );
    variables.into_iter().collect()
}
