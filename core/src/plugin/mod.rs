//! Plugin processes: finding, starting, listening to and reaping them, and nothing else.

mod cgroup;
mod code;
mod disposition;
mod environment;
mod find;
mod guard;
mod inheritance;
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
pub use inheritance::Inheritance;
pub(crate) use inheritance::InheritanceDigest;
pub(crate) use output::{DiagnosticSink, OutputRoute};
pub use process::{PluginProcess, Start};

/// What a plugin does; the name is part of its file's name.
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
    /// What comes before the engine's address.
    pub arguments: Vec<OsString>,
    /// Environment variables beside those of the host.
    pub environment: Vec<(OsString, OsString)>,
}

/// Where plugins are looked for and how their processes are run. Nothing here is read from the environment.
#[derive(Clone, Debug)]
pub struct PluginSettings {
    /// Folders that hold plugins' executables; searched in this order, before the `PATH`.
    pub directories: Vec<PathBuf>,
    /// A list of folders in the form of the variable `PATH`, searched next.
    pub path: Option<OsString>,
    /// A folder of installed plugins, each in its own `<kind>-<name>-v<version>`; searched last.
    pub cache: Option<PathBuf>,
    /// How to start plugins that are part of a language's SDK, by name (`pulumi-python`, `pulumi-nodejs`), whatever
    /// executables of their names there are.
    pub commands: BTreeMap<String, PluginCommand>,
    /// Takes the newest version in the cache, whichever was asked for.
    pub ignore_versions: bool,
    /// Names of plugins whose calls may wait for later registrations, which the protocol has no way to declare. For these
    /// calls `parallel` is no strict limit.
    pub waits_for_registrations: BTreeSet<String>,
    /// The POSIX shell that guards each process against the death of the host; `None` starts them unguarded.
    pub guard_shell: Option<PathBuf>,
    /// How long things may take.
    pub timeouts: PluginTimeouts,
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
            timeouts: PluginTimeouts::default(),
        }
    }
}

/// How long a plugin may take for what is not its real work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PluginTimeouts {
    /// From the start of the process until it has written its port.
    pub port: Duration,
    /// From then until its server answers.
    pub ready: Duration,
    /// For the answer to Cancel when it is to end.
    pub cancel: Duration,
    /// From the interrupt until it is killed.
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
