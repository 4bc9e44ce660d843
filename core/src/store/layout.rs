//! The layout of stores: the keys of a stack's objects, as in the reference engine's file backend.

use std::fmt;

use smol_str::SmolStr;

use crate::{
    error::{Error, Result},
    urn::is_plain_name,
};

/// The only organization of file stores.
pub(crate) const ORGANIZATION: &str = "organization";

/// The key of the object that states the layout of a store.
pub(super) const META: &str = ".pulumi/meta.yaml";

/// The prefix of checkpoints.
pub(super) const STACKS: &str = ".pulumi/stacks/";

/// The prefix of the records of finished operations.
pub(super) const HISTORY: &str = ".pulumi/history/";

/// The prefix of lock files.
pub(super) const LOCKS: &str = ".pulumi/locks/";

/// The prefix of journals and of the notes about interrupted work, which only this engine reads, and the ending of a journal.
pub(super) const JOURNALS: &str = ".pulumi/journals/";
pub(super) const JOURNAL_ENDING: &str = ".journal";

/// The prefix of the marks that cancel runs, which only this engine reads.
pub(super) const RUNS: &str = ".pulumi/runs/";

/// The endings of checkpoints. The first one is written.
pub(super) const CHECKPOINT_ENDINGS: [&str; 3] = [".json", ".json.gz", ".json.zst"];

/// The ending of the key under which the previous content of an object is kept.
pub(super) const BACKUP_ENDING: &str = ".bak";
/// The ending of the note of a move of resources.
pub(super) const MOVING_ENDING: &str = ".moving";

/// The name of a stack in a store: its project and its own name.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StackName {
    project: SmolStr,
    stack: SmolStr,
}

impl StackName {
    /// Creates a name from its parts.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] when one of them has characters that names cannot have, or more than 100.
    pub fn new(project: &str, stack: &str) -> Result<Self> {
        crate::urn::check_project_name(project)?;
        if stack.len() > 100 {
            return Err(Error::invalid("a stack name must be 100 characters or less"));
        }
        if !is_plain_name(stack) {
            return Err(Error::invalid(format!(
                "the stack name {stack:?} may only contain alphanumeric, hyphens, underscores, or periods"
            )));
        }
        Ok(Self {
            project: project.into(),
            stack: stack.into(),
        })
    }

    /// Parses `project/stack` or `organization/project/stack`; the organization must be `organization`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] when the text has another form.
    pub fn parse(text: &str) -> Result<Self> {
        let mut parts = text.split('/');
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(project), Some(stack), None, None) => Self::new(project, stack),
            (Some(ORGANIZATION), Some(project), Some(stack), None) => Self::new(project, stack),
            (Some(_), Some(_), Some(_), None) => Err(Error::invalid(format!(
                "the stack {text:?} must be in the organization '{ORGANIZATION}'"
            ))),
            _ => Err(Error::invalid(format!(
                "the stack {text:?} must have the form project/stack"
            ))),
        }
    }

    /// Returns the project's name.
    #[must_use]
    pub fn project(&self) -> &str {
        &self.project
    }

    /// Returns the stack's own name.
    #[must_use]
    pub fn stack(&self) -> &str {
        &self.stack
    }

    /// Returns `organization/project/stack`, as checkpoints name it.
    #[must_use]
    pub fn qualified(&self) -> String {
        format!("{ORGANIZATION}/{self}")
    }

    pub(super) fn checkpoint(&self, ending: &str) -> String {
        format!("{STACKS}{self}{ending}")
    }

    /// Returns the prefix of the keys of the stack's checkpoints.
    pub(super) fn checkpoint_prefix(&self) -> String {
        format!("{STACKS}{self}.json")
    }

    pub(super) fn tags(&self) -> String {
        format!("{STACKS}{self}.pulumi-tags")
    }

    /// Returns the key of the journal. The reference engine does not use the folder.
    #[must_use]
    pub fn journal(&self) -> String {
        format!("{JOURNALS}{self}{JOURNAL_ENDING}")
    }

    /// Returns the prefix of the journals of the project.
    pub(super) fn journals(&self) -> String {
        format!("{JOURNALS}{}/", self.project)
    }

    /// Returns the key of the note about a renaming that has begun.
    pub(super) fn renaming(&self) -> String {
        format!("{JOURNALS}{self}.renaming")
    }

    /// Returns the key of the note about a change of the secrets manager that has begun.
    pub(super) fn rekeying(&self) -> String {
        format!("{JOURNALS}{self}.rekeying")
    }

    /// Returns the key of the note about a move of resources that has begun.
    pub(super) fn moving(&self) -> String {
        format!("{JOURNALS}{self}{MOVING_ENDING}")
    }

    /// Returns the prefix of the keys of journals that were set aside.
    pub(super) fn orphans(&self) -> String {
        format!("{}.orphan-", self.journal())
    }

    /// Returns the prefix of the keys of the stack's history.
    pub(super) fn history_stem(&self) -> String {
        format!("{}{}-", self.history(), self.stack)
    }

    pub(super) fn orphan(&self, number: usize) -> String {
        format!("{}{number}", self.orphans())
    }

    pub(super) fn history(&self) -> String {
        format!("{HISTORY}{self}/")
    }

    pub(super) fn locks(&self) -> String {
        format!("{LOCKS}{ORGANIZATION}/{self}/")
    }

    /// Reads a name back from the key of a checkpoint; `None` for other keys.
    pub(super) fn of_checkpoint(key: &str) -> Option<Self> {
        let name = key.strip_prefix(STACKS)?;
        let name = CHECKPOINT_ENDINGS
            .iter()
            .find_map(|ending| name.strip_suffix(ending))?;
        let (project, stack) = name.split_once('/')?;
        Self::new(project, stack).ok()
    }
}

impl fmt::Display for StackName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.project, self.stack)
    }
}

impl fmt::Debug for StackName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_named_with_or_without_the_organization() {
        let name = StackName::parse("shop/dev").unwrap();
        assert_eq!(StackName::parse("organization/shop/dev").unwrap(), name);
        assert_eq!(name.qualified(), "organization/shop/dev");
        for text in [
            "dev",
            "me/shop/dev",
            "a/b/c/d",
            "shop/",
            "/dev",
            "shop/..",
            "a b/dev",
        ] {
            assert!(StackName::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_checkpoints_are_listed_as_stacks() {
        let name = |key: &str| StackName::of_checkpoint(key).map(|name| name.to_string());
        assert_eq!(name(".pulumi/stacks/shop/dev.json").as_deref(), Some("shop/dev"));
        assert_eq!(
            name(".pulumi/stacks/shop/a.b.json.gz").as_deref(),
            Some("shop/a.b")
        );
        for key in [
            ".pulumi/stacks/shop/dev.json.bak",
            ".pulumi/stacks/shop/dev.pulumi-tags",
            ".pulumi/stacks/dev.json",
            ".pulumi/stacks/a/b/dev.json",
        ] {
            assert_eq!(name(key), None, "{key}");
        }
    }
}
