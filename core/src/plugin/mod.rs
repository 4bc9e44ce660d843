//! Plugins: installing and finding them; their processes: starting, reading output and reaping.

mod cache;
mod cgroup;
mod code;
mod disposition;
mod dynamic;
mod environment;
mod find;
mod guard;
mod guarded;
mod host_environment;
mod output_lines;
mod output;
mod port;
mod process;
mod required;
mod version_range;

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsString,
    path::PathBuf,
    time::Duration,
};

use semver::Version;

pub use cache::{
    InstallProgress, InstalledPlugin, PluginArchive, PluginCache, PluginInstallation, PluginSelection,
    ProgressSink, platform,
};
pub(crate) use code::PluginCode;
pub(crate) use dynamic::DynamicPlace;
pub(crate) use environment::PluginEnvironment;
pub(crate) use find::{FoundPlugin, PluginOrigin, PluginQuery, find};
pub use guarded::GuardedProcess;
pub use host_environment::HostEnvironment;
pub(crate) use host_environment::HostEnvironmentDigest;
pub(crate) use output::{DiagnosticSink, OutputRoute};
pub use output_lines::OutputLines;
pub use process::{PluginProcess, Start};
pub use required::RequiredPlugin;
pub use version_range::VersionRange;

/// The POSIX shell that guards processes, unless the settings name another one.
const GUARD_SHELL: &str = "/bin/sh";

/// The kind of a plugin; its name is part of the plugin's file name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PluginKind {
    /// Manages the resources of a package.
    Resource,
    /// Checks resources against policies.
    Analyzer,
    /// Runs programs of a language.
    Language,
    /// Converts programs and states of other tools. The engine starts none.
    Converter,
    /// A tool of the reference engine's command. The engine starts none.
    Tool,
}

impl PluginKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::Resource,
        Self::Analyzer,
        Self::Language,
        Self::Converter,
        Self::Tool,
    ];

    /// Returns the name that file names and messages use.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Resource => "resource",
            Self::Analyzer => "analyzer",
            Self::Language => "language",
            Self::Converter => "converter",
            Self::Tool => "tool",
        }
    }

    /// Returns the name of the executable of a plugin of this kind: `pulumi-resource-aws`. A `/` in the plugin's name becomes `_`.
    #[must_use]
    pub fn executable_name(self, plugin: &str) -> String {
        format!("pulumi-{}-{}", self.name(), file_part(plugin))
    }

    /// Returns the kind of a name; `None` for another name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Returns a plugin's name as a part of a file name.
fn file_part(name: &str) -> String {
    name.replace('/', "_")
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
    /// The only version that the command serves, beside requests without a version; `None` serves each.
    pub version: Option<Version>,
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
    /// Uses the newest version in the cache instead of the requested one, or one that is compatible with it.
    pub ignore_versions: bool,
    /// Downloads plugins that are not found into `cache`: from the address of their package, else from `server`. Only plugins whose
    /// version is known are downloaded.
    pub download: bool,
    /// Where plugins are downloaded from whose package has no address: a server in the layout of [`PluginArchive::Server`].
    pub server: Option<String>,
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
            download: false,
            server: None,
            waits_for_registrations: BTreeSet::new(),
            guard_shell: Some(PathBuf::from(GUARD_SHELL)),
            environment: None,
            timeouts: PluginTimeouts::default(),
            call_timeouts: BTreeMap::new(),
        }
    }
}

impl PluginSettings {
    /// Sets `path` and `cache`, where they are not set, to what an environment names: the variable `PATH`, unless
    /// `PULUMI_IGNORE_AMBIENT_PLUGINS` is true, and the reference engine's folder of installed plugins, in `PULUMI_HOME` or else in
    /// `.pulumi` of `HOME`.
    #[must_use]
    pub fn or_from(self, environment: &HostEnvironment) -> Self {
        let path = || environment.plugin_path().map(OsString::from);
        Self {
            path: self.path.or_else(path),
            cache: self.cache.or_else(|| environment.installed_plugins()),
            ..self
        }
    }

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
