//! Plugin processes: finding, starting, reading output and reaping.

mod cgroup;
mod code;
mod disposition;
mod environment;
mod find;
mod guard;
mod host_environment;
mod output;
mod port;
mod process;

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    path::PathBuf,
    time::Duration,
};

pub(crate) use code::PluginCode;
pub(crate) use environment::PluginEnvironment;
pub(crate) use find::{FoundPlugin, PluginOrigin, PluginQuery, find};
pub use host_environment::HostEnvironment;
pub(crate) use host_environment::HostEnvironmentDigest;
pub(crate) use output::{DiagnosticSink, OutputRoute};
pub use process::{PluginProcess, Start};

/// The kind of a plugin; its name is part of the plugin's file name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PluginKind {
    /// Manages the resources of a package.
    Resource,
    /// Checks resources against policies.
    Analyzer,
    /// Runs programs of a language.
    Language,
}

impl PluginKind {
    /// Returns the name that file names and messages use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Resource => "resource",
            Self::Analyzer => "analyzer",
            Self::Language => "language",
        }
    }
}

/// A command line that starts a plugin; the engine's address is appended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PluginCommand {
    /// The executable.
    pub program: PathBuf,
    /// The arguments before the engine's address.
    pub arguments: Vec<OsString>,
    /// Environment variables in addition to those of the host.
    pub environment: Vec<(OsString, OsString)>,
}

/// Where plugins are searched and how their processes run. No setting is read from the environment.
#[derive(Clone, Debug)]
pub struct PluginSettings {
    /// Folders that contain executables of plugins; searched in this order, before the `PATH`.
    pub directories: Vec<PathBuf>,
    /// A list of folders in the form of the variable `PATH`, searched next.
    pub path: Option<OsString>,
    /// A folder of installed plugins, each in its own `<kind>-<name>-v<version>`; searched last.
    pub cache: Option<PathBuf>,
    /// Commands of plugins that are part of a language's SDK, by name (`pulumi-python`, `pulumi-nodejs`). They take
    /// precedence over executables of that name.
    pub commands: BTreeMap<String, PluginCommand>,
    /// Uses the newest version in the cache instead of the requested one.
    pub ignore_versions: bool,
    /// Names of plugins whose calls may wait for later registrations, which the protocol cannot declare. `parallel` is
    /// no strict limit for these calls.
    pub waits_for_registrations: BTreeSet<String>,
    /// The POSIX shell that guards each process against the end of the host; `None` starts plugins unguarded.
    pub guard_shell: Option<PathBuf>,
    /// The environment and the working directory of plugin processes; `None` is what the host has when each starts.
    pub environment: Option<HostEnvironment>,
    /// The timeouts of plugin processes.
    pub timeouts: PluginTimeouts,
    /// How long one call of a provider may take, by the name of its package or plugin; code of the host included. A call
    /// that takes longer fails, and its outcome is unknown. A longer timeout of the resource, with a margin of 30 s,
    /// takes precedence. For Construct and Call the time does not count in which the run works on other resources, for which
    /// they may wait.
    pub call_timeouts: BTreeMap<String, Duration>,
}

impl Default for PluginSettings {
    fn default() -> Self {
        Self {
            directories: Vec::new(),
            path: None,
            cache: None,
            commands: BTreeMap::new(),
            ignore_versions: false,
            waits_for_registrations: BTreeSet::new(),
            guard_shell: Some(PathBuf::from("/bin/sh")),
            environment: None,
            timeouts: PluginTimeouts::default(),
            call_timeouts: BTreeMap::new(),
        }
    }
}

impl PluginSettings {
    /// Returns the environment in which a process starts now.
    pub(crate) fn host_environment(&self) -> HostEnvironment {
        self.environment.clone().unwrap_or_else(HostEnvironment::now)
    }
}

/// Timeouts of plugin processes, without those of resource operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PluginTimeouts {
    /// From the start of the process until it writes its port.
    pub port: Duration,
    /// From the port until its server answers.
    pub ready: Duration,
    /// For the response to Cancel when the plugin is closed.
    pub cancel: Duration,
    /// From the interrupt until the process is killed.
    pub interrupt: Duration,
}

impl Default for PluginTimeouts {
    fn default() -> Self {
        Self {
            port: Duration::from_secs(30),
            ready: Duration::from_secs(10),
            cancel: Duration::from_secs(5),
            interrupt: Duration::from_secs(5),
        }
    }
}
