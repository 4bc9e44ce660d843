//! The plugins that a program needs.

use std::fmt;

use semver::Version;

/// The plugin of a package that a program needs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequiredPlugin {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Version,
    /// The address from which it is downloaded; empty if unknown.
    pub server: String,
}

impl fmt::Display for RequiredPlugin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.name, self.version)
    }
}
