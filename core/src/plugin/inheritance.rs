//! What a plugin's process takes over from the host: variables and the working directory, as they are at one moment.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

/// The environment and the working directory of the host at one moment.
///
/// They often hold the credentials that a plugin works with, so a process that has others must never be taken for one
/// that has these. It is read once and handed to the process, lest it change between the comparison and the start.
#[derive(Clone, PartialEq, Eq)]
pub struct Inheritance {
    variables: BTreeMap<OsString, OsString>,
    directory: Option<PathBuf>,
}

impl Inheritance {
    /// Takes what the host has now.
    #[must_use]
    #[expect(
        clippy::disallowed_methods,
        reason = "plugins live in the host's environment, and this is the one place that looks at it"
    )]
    pub fn now() -> Self {
        Self {
            variables: std::env::vars_os().collect(),
            // One that was deleted is nobody's business but the process's.
            directory: std::env::current_dir().ok(),
        }
    }

    /// Returns the variables.
    pub(super) const fn variables(&self) -> &BTreeMap<OsString, OsString> {
        &self.variables
    }

    /// Returns a variable.
    pub(super) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// Returns the working directory.
    pub(crate) fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// Returns what tells this environment from any other without holding it.
    pub(crate) fn digest(&self) -> InheritanceDigest {
        let mut digest = Sha256::new();
        for part in self.variables.iter().flat_map(|(name, value)| [name, value]) {
            let bytes = part.as_encoded_bytes();
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        }
        InheritanceDigest(digest.finalize().into())
    }
}

impl fmt::Debug for Inheritance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Credentials are among the variables.
        formatter
            .debug_struct("Inheritance")
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

/// The SHA-256 of an environment's variables: comparable, and none of their values is kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct InheritanceDigest([u8; 32]);

#[cfg(test)]
impl Inheritance {
    /// Returns the same with one more variable.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Inheritance {
        let empty = Inheritance {
            variables: BTreeMap::new(),
            directory: None,
        };
        variables
            .iter()
            .fold(empty, |inheritance, (name, value)| inheritance.with(name, value))
    }

    #[test]
    fn environments_are_told_apart_by_every_name_and_value_and_not_by_their_order() {
        let digest = |variables: &[(&str, &str)]| of(variables).digest();
        let first = digest(&[("A", "1"), ("B", "2")]);
        assert!(first == digest(&[("B", "2"), ("A", "1")]));
        for other in [
            &[("A", "1")][..],
            &[("A", "1"), ("B", "3")],
            &[("A", "1"), ("C", "2")],
            &[("A", "1B"), ("", "2")],
            &[("A", "1"), ("B", "2"), ("C", "")],
        ] {
            assert!(first != digest(other));
        }
    }

    #[test]
    fn what_is_printed_of_an_environment_has_no_values() {
        let text = format!("{:?}", of(&[("TOKEN", "hush")]));
        assert!(!text.contains("hush") && !text.contains("TOKEN"));
    }
}
