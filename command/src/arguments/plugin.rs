//! The arguments of `plugin` and of `install`.

use clap::{Args, Subcommand};

use super::OutputForm;

/// The subcommands of `plugin`.
#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// Lists the plugins of the cache.
    Ls(OutputForm),
    /// Removes plugins from the cache.
    Rm(PluginRemove),
    /// Installs a plugin from an archive or a server.
    Install(PluginInstall),
}

/// The arguments of `plugin rm`.
#[derive(Args, Debug)]
pub(crate) struct PluginRemove {
    /// The kind: `resource`, `language`, `analyzer`…
    pub(crate) kind: Option<String>,
    /// The name.
    pub(crate) name: Option<String>,
    /// The range of versions.
    pub(crate) version: Option<String>,
    /// All plugins.
    #[arg(long, short)]
    pub(crate) all: bool,
    /// Asks nothing.
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) form: OutputForm,
}

/// The arguments of `plugin install`.
#[derive(Args, Debug)]
pub(crate) struct PluginInstall {
    /// The kind; without one, the plugins of the project are installed.
    pub(crate) kind: Option<String>,
    /// The name.
    pub(crate) name: Option<String>,
    /// The version.
    pub(crate) version: Option<String>,
    /// The archive.
    #[arg(long, short)]
    pub(crate) file: Option<String>,
    /// The address of archives.
    #[arg(long)]
    pub(crate) server: Option<String>,
    /// The SHA-256 checksum of the archive.
    #[arg(long)]
    pub(crate) checksum: Option<String>,
    /// Installs this version. Another one never counts as it.
    #[arg(long)]
    pub(crate) exact: bool,
    /// Installs again what is there.
    #[arg(long)]
    pub(crate) reinstall: bool,
    #[command(flatten)]
    pub(crate) form: OutputForm,
}

/// The arguments of `install`.
#[derive(Args, Debug)]
pub(crate) struct InstallArguments {
    /// Leaves out plugins.
    #[arg(long)]
    pub(crate) no_plugins: bool,
    /// Leaves out the packages of the program's language.
    #[arg(long)]
    pub(crate) no_dependencies: bool,
    /// Installs again what is there.
    #[arg(long)]
    pub(crate) reinstall: bool,
    /// Uses the tools of the language's version.
    #[arg(long)]
    pub(crate) use_language_version_tools: bool,
    /// How many plugins are installed at a time, at most. They are installed one after the other.
    #[arg(long)]
    pub(crate) parallel: Option<i32>,
    #[command(flatten)]
    pub(crate) form: OutputForm,
}
