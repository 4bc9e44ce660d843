//! Programs of folders whose language has a host of its own: a process of the executable `pulumi-language-<runtime>`.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use serde_json::Value;
use stackwright_proto::pulumirpc::ProgramInfo;

use super::language::{CURRENT_DIR, RuntimeCalls, options};
use crate::{
    error::{Error, ErrorKind, Result},
    monitor::{MonitorServer, RunInfo},
    moves::ProgramLanguage,
    plugin::{
        FoundPlugin, HostEnvironment, PluginKind, PluginProcess, PluginQuery, PluginSettings, Start, find,
    },
    program::{Program, ProgramContext},
};

/// How long to wait for the end of a process after one of its calls has failed.
const EXIT_GRACE: Duration = Duration::from_secs(1);

/// The program of a folder whose language has a host of its own.
#[derive(Clone, Debug)]
pub struct HostedProgram {
    /// The name of the language, as in `runtime` of a project: `yaml`, `go`.
    pub runtime: String,
    /// The folder of the project.
    pub root: PathBuf,
    /// The folder of the program, or its file.
    pub program: PathBuf,
    /// The environment of the language host and of the program, whose `PATH` is searched where the settings of plugins name none,
    /// unless `PULUMI_IGNORE_AMBIENT_PLUGINS` is true; `None` is that of plugins.
    pub environment: Option<HostEnvironment>,
}

/// Starts a language host for each run, which ends with it.
pub(crate) struct LanguageHostProgram {
    program: HostedProgram,
    plugins: PluginSettings,
    found: FoundPlugin,
}

impl LanguageHostProgram {
    /// Finds the executable of the host as plugins are found. Reads folders, so it blocks.
    ///
    /// # Errors
    /// [`ErrorKind::Plugin`] when it is not found; the message lists the places that were searched.
    pub(crate) fn find(program: HostedProgram, mut plugins: PluginSettings) -> Result<Self> {
        if let Some(environment) = &program.environment {
            plugins.path = plugins
                .path
                .or_else(|| environment.plugin_path().map(OsStr::to_owned));
        }
        let query = PluginQuery {
            kind: PluginKind::Language,
            name: program.runtime.clone(),
            version: None,
        };
        Ok(Self {
            found: find(&plugins, &query)?,
            program,
            plugins,
        })
    }

    fn start(&self, context: &ProgramContext, engine_address: String) -> Start {
        let mut command = self.found.command.clone();
        // In the form of the flags that each language host reads.
        for (name, value) in &context.info.runtime_options {
            let text = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            command.arguments.push(format!("-{name}={text}").into());
        }
        let root = self.program.root.display();
        command.arguments.push(format!("-root={root}").into());
        let monitor = context.monitor.clone();
        let environment = self.program.environment.clone();
        Start {
            label: format!("{} (language)", self.program.runtime),
            command,
            engine_address,
            operands: Vec::new(),
            directory: Some(self.directory().to_owned()),
            host_environment: environment.unwrap_or_else(|| self.plugins.host_environment()),
            environment: Vec::new(),
            visible: true,
            sink: Some(Arc::new(move |diagnostic| monitor.log_diagnostic(diagnostic))),
            guard_shell: self.plugins.guard_shell.clone(),
            timeouts: self.plugins.timeouts,
        }
    }

    /// Returns the working directory of the program.
    fn directory(&self) -> &Path {
        let program = &self.program.program;
        match program.is_file() {
            true => program.parent().unwrap_or(&self.program.root),
            false => program,
        }
    }

    fn place(&self, info: &RunInfo) -> Result<ProgramInfo> {
        let program = &self.program.program;
        let entry = program.file_name().filter(|_| program.is_file());
        Ok(ProgramInfo {
            root_directory: self.program.root.display().to_string(),
            program_directory: self.directory().display().to_string(),
            entry_point: entry.map_or_else(|| CURRENT_DIR.to_owned(), |name| name.display().to_string()),
            options: Some(options(&info.runtime_options)?),
        })
    }
}

#[async_trait]
impl Program for LanguageHostProgram {
    fn language(&self) -> ProgramLanguage {
        ProgramLanguage::Unknown
    }

    async fn run(&self, context: ProgramContext) -> Result<()> {
        // Held until the host has received a cancellation, or runs no program.
        let Some(cancellation_guard) = context.monitor.enter_cancellation() else {
            return Ok(());
        };
        let runtime = context.monitor.runtime();
        let place = self.place(&context.info)?;
        let server = MonitorServer::start(&context.monitor, runtime)?;
        let calls = RuntimeCalls {
            label: format!("the language host {}", self.found.command.program.display()),
            runs_only: false,
        };
        let starting = async {
            let process = PluginProcess::start(self.start(&context, server.address()), runtime).await?;
            let address = format!("127.0.0.1:{}", process.port());
            let client = calls.connect(&address, runtime).await?;
            Ok::<_, Error>((process, client))
        };
        let (process, client) = tokio::select! {
            biased;
            // The program does not start if the operation has ended already.
            () = context.monitor.cancelled() => return Ok(()),
            () = context.ended() => return Ok(()),
            started = starting => started?,
        };
        // The error of the program reports its end.
        process.expect_exit();
        let ended = |exit: String| {
            let text = format!("{} ended while it ran the program: {exit}", calls.label);
            Error::new(ErrorKind::Plugin, text)
        };
        let verdict = tokio::select! {
            biased;
            verdict = calls.run(client, &context, server, place, cancellation_guard) => verdict,
            exit = process.exited() => Err(ended(exit)),
        };
        let verdict = match verdict {
            // A call fails before it is known how the process has ended.
            Err(error) if error.kind() == ErrorKind::Plugin => tokio::select! {
                biased;
                exit = process.exited() => Err(ended(exit)),
                () = runtime.clock.wait(EXIT_GRACE) => Err(error),
            },
            verdict => verdict,
        };
        process.close().await;
        verdict
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    #[test]
    fn a_language_host_on_the_path_is_left_out_where_ambient_plugins_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        let host = folder.path().join("pulumi-language-made");
        fs::write(&host, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&host, fs::Permissions::from_mode(0o755)).unwrap();
        let found = |ignores: &str| {
            let path = folder.path().display().to_string();
            let environment = HostEnvironment::new(Default::default(), folder.path().to_owned());
            let environment = environment
                .with("PATH", &path)
                .with("PULUMI_IGNORE_AMBIENT_PLUGINS", ignores);
            let program = HostedProgram {
                runtime: "made".to_owned(),
                root: folder.path().to_owned(),
                program: folder.path().to_owned(),
                environment: Some(environment),
            };
            LanguageHostProgram::find(program, PluginSettings::default())
                .map(|found| found.found.command.program)
        };
        assert_eq!(found("false").unwrap(), host);
        let Err(error) = found("true") else {
            panic!("a language host of the path was found");
        };
        assert_eq!(error.kind(), ErrorKind::Plugin);
    }
}
