//! The documents of installed plugins: requests to list, install and remove them, and their progress.

use std::{path::PathBuf, sync::Arc};

use schemars::JsonSchema;
use semver::Version;
use serde::{Deserialize, Serialize};

use crate::{
    engine::Engine,
    error::{Error, Result},
    message::Language,
    plugin::{
        InstallProgress, InstalledPlugin, PluginArchive, PluginInstallation, PluginKind, PluginSelection,
        ProgressSink,
    },
    property::json::to_vec,
};

/// A request about the installed plugins of an engine: exactly one of the members.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "PluginRequest")]
pub struct PluginRequestDocument {
    /// Lists plugins.
    list: Option<SelectionDocument>,
    /// Installs a plugin.
    install: Option<InstallDocument>,
    /// Removes plugins. At least one member selects them.
    remove: Option<SelectionDocument>,
}

/// Which installed plugins are meant: those to which all members apply.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "PluginSelection")]
struct SelectionDocument {
    /// The kind.
    kind: Option<KindDocument>,
    /// The name.
    name: Option<String>,
    /// A range of versions: `>=1.2.0 <2.0.0`, or a version, which is that version alone.
    versions: Option<String>,
}

/// A plugin to install, from the archive of one of `file`, `url` and `server`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "PluginInstallation")]
struct InstallDocument {
    /// The kind; `resource` when left out.
    #[serde(default)]
    kind: KindDocument,
    /// The name.
    name: String,
    /// The version.
    version: String,
    /// The path of a local archive (`.tar.gz`).
    #[schemars(extend("x-takes" = "the path of a file"))]
    file: Option<PathBuf>,
    /// The address of an archive.
    url: Option<String>,
    /// A server in the reference engine's layout: the address of the archive is
    /// `<server>/pulumi-<kind>-<name>-v<version>-<os>-<arch>.tar.gz`. The engine's own server when all three are left out.
    server: Option<String>,
    /// The SHA-256 checksum of the archive in hexadecimal digits, which is verified; left out, nothing is.
    checksum: Option<String>,
    /// Replaces an installed plugin of this version, which otherwise stays.
    #[serde(default)]
    reinstall: bool,
}

/// A kind of plugins.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum KindDocument {
    #[default]
    Resource,
    Analyzer,
    Language,
    Converter,
    Tool,
}

impl From<KindDocument> for PluginKind {
    fn from(kind: KindDocument) -> Self {
        match kind {
            KindDocument::Resource => Self::Resource,
            KindDocument::Analyzer => Self::Analyzer,
            KindDocument::Language => Self::Language,
            KindDocument::Converter => Self::Converter,
            KindDocument::Tool => Self::Tool,
        }
    }
}

/// An installed plugin.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "InstalledPlugin")]
pub(super) struct InstalledPluginDocument<'a> {
    /// The kind: `resource`, `analyzer`, `language`, `converter` or `tool`.
    kind: &'a str,
    /// The name. A `/` in it is an `_`.
    name: &'a str,
    /// The version.
    version: String,
    /// The path of its folder.
    path: String,
    /// The size of its files in bytes.
    size: u64,
    /// When it was installed, in the form of RFC 3339; null where the file system does not say.
    installed: Option<String>,
    /// When its folder was last read, likewise.
    last_used: Option<String>,
}

impl<'a> From<&'a InstalledPlugin> for InstalledPluginDocument<'a> {
    fn from(plugin: &'a InstalledPlugin) -> Self {
        Self {
            kind: plugin.kind.name(),
            name: &plugin.name,
            version: plugin.version.to_string(),
            path: plugin.path.display().to_string(),
            size: plugin.size,
            installed: plugin.installed.map(|time| time.to_string()),
            last_used: plugin.last_used.map(|time| time.to_string()),
        }
    }
}

/// The progress of the installation of a plugin.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PluginProgress")]
pub(super) struct ProgressDocument {
    /// What happens: `downloading` and `unpacking` at the beginning, at each mebibyte and at the end; `retrying` before a failed
    /// download is tried again; `installed` at the end.
    stage: &'static str,
    /// How many bytes of the archive have been downloaded or unpacked.
    bytes: u64,
    /// The size of the archive in bytes; null where it is not known.
    total: Option<u64>,
    /// The number of the download that failed, from 1; null for other stages.
    attempt: Option<u32>,
    /// Why it failed; null for other stages.
    reason: Option<String>,
}

impl From<InstallProgress> for ProgressDocument {
    fn from(progress: InstallProgress) -> Self {
        let (stage, bytes, total) = match &progress {
            InstallProgress::Downloading { received, total } => ("downloading", *received, *total),
            InstallProgress::Retrying { .. } => ("retrying", 0, None),
            InstallProgress::Unpacking { unpacked, total } => ("unpacking", *unpacked, *total),
            InstallProgress::Installed => ("installed", 0, None),
        };
        let (attempt, reason) = match progress {
            InstallProgress::Retrying { attempt, reason, .. } => (Some(attempt), Some(reason)),
            _ => (None, None),
        };
        Self {
            stage,
            bytes,
            total,
            attempt,
            reason,
        }
    }
}

/// Receives the progress of an installation as JSON, on any thread.
pub type ProgressTextSink = Arc<dyn Fn(String) + Send + Sync>;

impl SelectionDocument {
    fn read(self) -> Result<PluginSelection> {
        let versions = self.versions.as_deref().map(PluginSelection::parse_versions);
        Ok(PluginSelection {
            kind: self.kind.map(PluginKind::from),
            name: self.name,
            versions: versions.transpose()?,
        })
    }
}

impl InstallDocument {
    fn read(self, engine: &Engine) -> Result<PluginInstallation> {
        let text = self.version.strip_prefix('v').unwrap_or(&self.version);
        let version = Version::parse(text).map_err(|error| {
            let name = &self.name;
            Error::invalid(format!(
                "the version {:?} of the plugin {name} is no semantic version: {error}",
                self.version
            ))
        })?;
        let server = match (&self.file, &self.url, &self.server) {
            (None, None, None) => engine.plugin_server().map(str::to_owned),
            _ => self.server,
        };
        let archive = match (self.file, self.url, server) {
            (Some(file), None, None) => PluginArchive::File(file),
            (None, Some(url), None) => PluginArchive::Url(url),
            (None, None, Some(server)) => PluginArchive::Server(server),
            _ => {
                return Err(Error::invalid(format!(
                    "the installation of the plugin {} takes one of file, url and server",
                    self.name
                )));
            }
        };
        Ok(PluginInstallation {
            kind: self.kind.into(),
            name: self.name,
            version,
            archive,
            checksum: self.checksum,
            reinstall: self.reinstall,
        })
    }
}

/// Reads a request about installed plugins from JSON, answers it, and returns the answer as JSON: an array of plugins, or the
/// installed one. `subject` names the call in errors; `progress` receives documents of the progress.
///
/// # Errors
/// As [`super::read`]; [`crate::ErrorKind::InvalidInput`] if the request has not exactly one member, or removes plugins without
/// a selection; those of the methods of [`crate::plugin::PluginCache`].
///
/// # Cancel safety
/// As for [`crate::plugin::PluginCache::install`] and [`crate::plugin::PluginCache::remove`].
pub async fn plugins(
    engine: &Engine,
    json: &[u8],
    language: Language,
    subject: &str,
    progress: Option<ProgressTextSink>,
) -> Result<Vec<u8>> {
    let document: PluginRequestDocument = super::read(json, language, subject)?;
    let listed = match (document.list, document.install, document.remove) {
        (Some(selection), None, None) => engine.plugins(selection.read()?).await?,
        (None, None, Some(selection)) => {
            let selection = selection.read()?;
            if selection == PluginSelection::default() {
                return Err(Error::invalid(
                    "a removal of plugins names their kind, name or versions",
                ));
            }
            engine.remove_plugins(selection).await?
        }
        (None, Some(install), None) => {
            let sink = progress.map(|sink| -> ProgressSink {
                Arc::new(move |progress| {
                    let text = serde_json::to_string(&ProgressDocument::from(progress));
                    sink(text.unwrap_or_default());
                })
            });
            let installed = engine.install_plugin(install.read(engine)?, sink).await?;
            return to_vec(&InstalledPluginDocument::from(&installed));
        }
        _ => {
            return Err(Error::invalid(
                "a request about plugins takes one of list, install and remove",
            ));
        }
    };
    to_vec(
        &listed
            .iter()
            .map(InstalledPluginDocument::from)
            .collect::<Vec<_>>(),
    )
}
