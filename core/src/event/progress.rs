//! The progress of downloads and installations.

/// What makes progress; the names are those of the event log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressKind {
    /// The archive of a plugin is downloaded.
    PluginDownload,
    /// The archive of a plugin is unpacked.
    PluginInstall,
}

impl ProgressKind {
    /// Returns the name in the event log.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PluginDownload => "plugin-download",
            Self::PluginInstall => "plugin-install",
        }
    }
}

/// The progress of a download or an installation that an operation waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What makes progress.
    pub kind: ProgressKind,
    /// Its name, the same in all of its events.
    pub id: String,
    /// A text for users.
    pub message: String,
    /// The bytes so far.
    pub received: u64,
    /// All bytes; 0 where that is not known.
    pub total: u64,
    /// Whether it has ended.
    pub done: bool,
}
