//! Export and import: a stack's state as a deployment document.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::value::RawValue;

use crate::{
    diagnostic::Diagnostic,
    error::{Error, ErrorKind, Result},
    message::{Text, numbered_errors},
    secrets::{SecretsManager, SecretsProvider},
    state::{
        Snapshot,
        deployment::{
            Layout, NEWEST_VERSION, SecretsAccess, SecretsShown, has_magic, magic_mismatch, read_checkpoint,
            read_deployment, write_checkpoint, write_deployment,
        },
        integrity,
    },
    store::{StackName, StackSession, StackStorage},
    urn::Urn,
};

/// What replaces a state. It determines the manager of the secrets; one that cannot be opened is never chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replacement {
    /// A deployment document: with its manager; without one, with the stack's.
    Import,
    /// A state of the history: with the stack's manager; without one, with its own.
    Restore,
}

impl Replacement {
    /// Returns the name of the operation in locks and journals.
    const fn name(self) -> &'static str {
        match self {
            Self::Import => "import",
            Self::Restore => "restore",
        }
    }
}

/// A state that was replaced, or would be.
#[derive(Debug, Default)]
pub(crate) struct Replaced {
    /// Empty when it could not be read, or the stack did not exist.
    pub before: Snapshot,
    /// Warnings about it and its journal, for the user.
    pub warnings: Vec<Diagnostic>,
}

impl StackStorage {
    /// Returns the state as a deployment document. Without `show_secrets` no key is needed, unless an operation was
    /// interrupted.
    ///
    /// # Errors
    /// Those of [`Self::load`].
    pub(crate) async fn export(&self, secrets: &dyn SecretsProvider, show_secrets: bool) -> Result<Vec<u8>> {
        if !show_secrets {
            let stored = self.read().await?;
            if !stored.has_journal() {
                let checkpoint = read_checkpoint(&stored.checkpoint, SecretsAccess::Sealed, false).await?;
                let snapshot = checkpoint.snapshot.unwrap_or_default();
                return write_deployment(&snapshot, SecretsShown::Sealed, Layout::Pretty).await;
            }
        }
        let loaded = self.load(secrets).await?;
        let shown = if show_secrets {
            SecretsShown::Plaintext
        } else {
            SecretsShown::Encrypted
        };
        write_deployment(&loaded.snapshot, shown, Layout::Pretty).await
    }

    /// Reads a deployment document that replaces the state, and returns it with warnings. A document whose deployment is null
    /// empties the state. With `force`, a state that is invalid or another stack's is accepted.
    ///
    /// # Errors
    /// [`ErrorKind::State`] when the document is malformed, and without `force` when its state is invalid or another stack's.
    pub(crate) async fn read_imported(
        &self,
        secrets: &dyn SecretsProvider,
        document: &[u8],
        force: bool,
    ) -> Result<(Snapshot, Vec<String>)> {
        let access = SecretsAccess::Open(secrets);
        let imported = match read_deployment(document, access, false).await {
            Err(_) if has_null_deployment(document) => {
                let warning = "the document has no deployment: it empties the state";
                return Ok((Snapshot::default(), vec![warning.to_owned()]));
            }
            read => read?,
        };
        let mut violations: Vec<Error> = foreign_stacks(self.name(), &imported).collect();
        let foreign = violations.len();
        let broken = match has_magic(document) {
            true => integrity::verify(&imported).err(),
            false => Some(magic_mismatch()),
        };
        violations.extend(broken.iter().map(unsound));
        let mut warnings = foreign_projects(self.name(), &imported);
        match violations.first() {
            Some(first) if !force => Err(refused(first, &violations)),
            _ => {
                warnings.extend(violations[..foreign].iter().map(ToString::to_string));
                warnings.extend(broken.map(|error| {
                    format!("the imported state is invalid: {error}; repair() corrects what can be corrected")
                }));
                Ok((imported, warnings))
            }
        }
    }

    /// Replaces the state, and returns the one before. That need not be readable: it is `None` for `write` then. With `creates`, a
    /// missing stack is created. `write` makes the second state that of the stack. `replacement` determines the manager of its secrets;
    /// where neither state has one, `create` makes it.
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] while the stack is locked elsewhere, and those of `write`.
    pub(crate) async fn replace_state(
        &self,
        secrets: &dyn SecretsProvider,
        imported: &mut Snapshot,
        creates: bool,
        replacement: Replacement,
        create: impl AsyncFnOnce() -> Result<Arc<dyn SecretsManager>>,
        write: impl AsyncFnOnce(&StackSession, Option<&Snapshot>, &mut Snapshot) -> Result<()>,
    ) -> Result<Replaced> {
        let lock = self.lock_for(replacement.name()).await?;
        let result = async {
            let (loaded, is_read) = match self.load(secrets).await {
                Err(error) if creates && error.kind() == ErrorKind::NotFound => match self.create().await {
                    Err(error) if error.kind() != ErrorKind::Conflict => return Err(error),
                    _ => (self.load(secrets).await?, true),
                },
                Err(error) if is_unreadable(&error) => (self.unread().await?, false),
                loaded => (loaded?, true),
            };
            let before = loaded.snapshot.clone();
            let mut warnings = loaded.warnings.clone();
            let mut current = before.clone();
            let own = current.secrets.take().filter(|manager| manager.is_open());
            let given = imported.secrets.take().filter(|manager| manager.is_open());
            let (first, second) = match replacement {
                Replacement::Import => (given.clone(), own.clone()),
                Replacement::Restore => (own.clone(), given.clone()),
            };
            imported.secrets = match first.or(second) {
                Some(manager) => Some(manager),
                None => Some(create().await?),
            };
            current.secrets = own.or_else(|| given.is_none().then(|| imported.secrets.clone()).flatten());
            let session = StackSession::begin(self, loaded, &mut current, replacement.name()).await?;
            write(&session, is_read.then_some(&before), imported).await?;
            warnings.extend_from_slice(session.notes());
            Ok(Replaced { before, warnings })
        }
        .await;
        let released = lock.release().await;
        result.and_then(|replaced| released.map(|()| replaced))
    }

    /// Returns the present state for the comparison with one that replaces it: empty when it cannot be read, or is missing
    /// and would be created.
    ///
    /// # Errors
    /// Those of the store; [`ErrorKind::NotFound`] without `creates`.
    pub(crate) async fn load_replaced(
        &self,
        secrets: &dyn SecretsProvider,
        creates: bool,
    ) -> Result<Replaced> {
        match self.load_unlocked(secrets).await {
            Err(error) if is_unreadable(&error) => Ok(Replaced::default()),
            Err(error) if creates && error.kind() == ErrorKind::NotFound => Ok(Replaced::default()),
            loaded => loaded.map(|loaded| Replaced {
                before: loaded.snapshot,
                warnings: loaded.warnings,
            }),
        }
    }

    #[cfg(test)]
    pub(crate) async fn import(
        &self,
        secrets: &dyn SecretsProvider,
        document: &[u8],
        creates: bool,
    ) -> Result<()> {
        let (mut imported, _) = self.read_imported(secrets, document, false).await?;
        let write = async |session: &StackSession, _: Option<&Snapshot>, imported: &mut Snapshot| {
            session.commit_edit(imported).await
        };
        let create = || secrets.create();
        self.replace_state(
            secrets,
            &mut imported,
            creates,
            Replacement::Import,
            create,
            write,
        )
        .await
        .map(drop)
    }

    /// Reads the initial deployment document of a new stack. One without a deployment is an empty state.
    ///
    /// # Errors
    /// Those of [`Self::read_imported`].
    pub(crate) async fn parse_supplied(
        &self,
        secrets: &dyn SecretsProvider,
        document: &[u8],
    ) -> Result<Snapshot> {
        match read_deployment(document, SecretsAccess::Open(secrets), true).await {
            Err(error) if error.kind() == ErrorKind::State && is_without_deployment(document) => {
                Ok(Snapshot::default())
            }
            Err(error) => Err(error),
            Ok(snapshot) => {
                if snapshot.resources.is_empty() {
                    refuse_unknown_members(&snapshot)?;
                }
                refuse_foreign(self.name(), &snapshot).map(|()| snapshot)
            }
        }
    }

    /// Creates the stack with a state, which keeps its manifest.
    ///
    /// # Errors
    /// Those of [`Self::create`], and [`ErrorKind::Secrets`] when a secret cannot be encrypted.
    pub(crate) async fn create_with(&self, snapshot: &Snapshot) -> Result<()> {
        let checkpoint =
            write_checkpoint(&self.name().qualified(), snapshot, SecretsShown::Encrypted).await?;
        self.create_as(checkpoint.into()).await
    }
}

/// Refuses another stack's state: the next update would delete all its resources as no longer registered.
fn refuse_foreign(name: &StackName, imported: &Snapshot) -> Result<()> {
    let foreign = |urn: &&Urn| urn.stack() != name.stack() || urn.project() != name.project();
    match imported.resources.iter().map(|record| &record.urn).find(foreign) {
        None => Ok(()),
        Some(urn) => Err(foreign_stack(name, urn)),
    }
}

/// Returns an error for each record whose URN names another stack.
fn foreign_stacks(name: &StackName, imported: &Snapshot) -> impl Iterator<Item = Error> {
    let urns = imported.resources.iter().map(|record| &record.urn);
    let foreign = urns.filter(move |urn| urn.stack() != name.stack());
    foreign.map(move |urn| foreign_stack(name, urn))
}

/// Returns a warning for each other project that URNs name.
fn foreign_projects(name: &StackName, imported: &Snapshot) -> Vec<String> {
    let own = name.project();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let urns = imported.resources.iter().map(|record| record.urn.project());
    for project in urns.filter(|project| *project != own) {
        *counts.entry(project).or_default() += 1;
    }
    let warning = |(project, count)| {
        format!(
            "{count} of the resources belong to the project '{project}', not to '{own}': a program of '{own}' registers none of them"
        )
    };
    counts.into_iter().map(warning).collect()
}

fn foreign_stack(name: &StackName, urn: &Urn) -> Error {
    let library = format!(
        "resource {urn} belongs to stack '{}/{}', not to '{}/{}'",
        urn.project(),
        urn.stack(),
        name.project(),
        name.stack()
    );
    let reference = format!(
        "resource '{urn}' is from a different stack ({} != {})",
        urn.stack(),
        name.stack()
    );
    Error::new(ErrorKind::State, Text::pair(reference, library))
        .with_urn(urn.clone())
        .with_hint("a state can be moved to another stack once all its URNs name that stack")
}

/// Returns whether an error is that of a state that cannot be used.
fn is_unreadable(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::State | ErrorKind::Secrets | ErrorKind::Decrypt
    )
}

/// The error of a document whose state violates an integrity rule.
fn unsound(error: &Error) -> Error {
    let library = format!("snapshot integrity failure; refusing to use it: {error}");
    let text = Text::pair(format!("state file contains errors: {error}"), library);
    let unsound = Error::new(ErrorKind::State, text);
    error.urn().cloned().into_iter().fold(unsound, Error::with_urn)
}

/// Returns the first violation, with all of them in the reference engine's text.
fn refused(first: &Error, violations: &[Error]) -> Error {
    let last = "importing this file could be dangerous; rerun with --force to proceed anyway";
    let texts = violations
        .iter()
        .map(|violation| violation.reference_message().into_owned());
    let reference = numbered_errors(texts.chain([last.to_owned()]));
    let text = Text::pair(reference, first.message());
    first
        .clone()
        .with_text(text)
        .with_hint("'force' imports the state all the same")
}

/// Returns whether a document has a version and a deployment that is null, and nothing else.
fn has_null_deployment(document: &[u8]) -> bool {
    let has_member = |name: &str| {
        serde_json::from_slice::<BTreeMap<String, &RawValue>>(document)
            .is_ok_and(|members| members.contains_key(name))
    };
    is_without_deployment(document) && has_member("version") && has_member("deployment")
}

/// Returns whether a document has only a version and features: `{}` and `{"version": 3, "deployment": null}` for
/// instance. A document with any other member, a checkpoint for instance, is malformed.
fn is_without_deployment(document: &[u8]) -> bool {
    serde_json::from_slice::<BTreeMap<String, &RawValue>>(document).is_ok_and(|members| {
        members.iter().all(|(name, value)| match name.as_str() {
            "version" => (1..=NEWEST_VERSION).any(|version| value.get() == version.to_string()),
            "features" => true,
            "deployment" => value.get() == "null",
            _ => false,
        })
    })
}

/// Refuses a state without resources that has an unknown member: a misspelt name would result in an empty stack.
fn refuse_unknown_members(snapshot: &Snapshot) -> Result<()> {
    const KNOWN: [&str; 2] = ["snippets", "targetSnippets"];
    match snapshot.extra.keys().find(|name| !KNOWN.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(Error::new(
            ErrorKind::State,
            format!("the deployment has no resources, and an unknown member {name:?}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_documents_of_a_deployment_s_form_may_be_without_one() {
        for document in [
            "{}",
            r#"{"version": 3}"#,
            r#"{"version": 4, "features": [], "deployment": null}"#,
        ] {
            assert!(is_without_deployment(document.as_bytes()), "{document}");
        }
        for document in [
            "",
            "null",
            "[]",
            r#"{"resources": []}"#,
            r#"{"version": 3, "deployment": {}}"#,
            r#"{"version": 9}"#,
            r#"{"version": 0}"#,
            r#"{"version": 3, "checkpoint": {"stack": "organization/shop/dev"}}"#,
        ] {
            assert!(!is_without_deployment(document.as_bytes()), "{document}");
        }
    }
}
