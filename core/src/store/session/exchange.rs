//! Export and import: a stack's state as a deployment document.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use crate::{
    error::{Error, ErrorKind, Result},
    secrets::SecretsProvider,
    state::{
        Snapshot,
        deployment::{
            Layout, NEWEST_VERSION, SecretsAccess, SecretsShown, read_checkpoint, read_deployment,
            write_checkpoint, write_deployment,
        },
    },
    store::{StackSession, StackStorage},
    urn::Urn,
};

impl StackStorage {
    /// Returns the state as a deployment document. Without `show_secrets` no key is needed, unless an operation was
    /// interrupted.
    ///
    /// # Errors
    /// As [`Self::load`].
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

    /// Replaces the state by a deployment document. The present state need not be readable. With `creates`, a missing
    /// stack is created once the document has been read.
    ///
    /// # Errors
    /// [`ErrorKind::State`] when the document is malformed or its state is invalid or another stack's,
    /// [`ErrorKind::Conflict`] while the stack is locked elsewhere. The state is unchanged then.
    pub(crate) async fn import(
        &self,
        secrets: &dyn SecretsProvider,
        document: &[u8],
        creates: bool,
    ) -> Result<()> {
        let mut imported = read_deployment(document, SecretsAccess::Open(secrets), true).await?;
        self.refuse_foreign(&imported)?;
        let lock = self.lock_for("import").await?;
        let result = async {
            let loaded = match self.load(secrets).await {
                Err(error) if creates && error.kind() == ErrorKind::NotFound => match self.create().await {
                    Err(error) if error.kind() != ErrorKind::Conflict => return Err(error),
                    _ => self.load(secrets).await?,
                },
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::State | ErrorKind::Secrets | ErrorKind::Decrypt
                    ) =>
                {
                    self.unread().await?
                }
                loaded => loaded?,
            };
            let mut current = loaded.snapshot.clone();
            if imported.secrets.is_none() {
                imported.secrets = match current.secrets.take() {
                    Some(manager) => Some(manager),
                    None => Some(secrets.create().await?),
                };
                current.secrets.clone_from(&imported.secrets);
            }
            let session = StackSession::begin(self, loaded, &mut current, "import").await?;
            session.commit(&mut imported).await
        }
        .await;
        let released = lock.release().await;
        result.and(released)
    }

    /// Reads the initial deployment document of a new stack. One without a deployment is an empty state.
    ///
    /// # Errors
    /// As [`Self::import`].
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
                self.refuse_foreign(&snapshot).map(|()| snapshot)
            }
        }
    }

    /// Creates the stack with a state, which keeps its manifest.
    ///
    /// # Errors
    /// As [`Self::create`], and [`ErrorKind::Secrets`] when a secret cannot be encrypted.
    pub(crate) async fn create_with(&self, snapshot: &Snapshot) -> Result<()> {
        let checkpoint =
            write_checkpoint(&self.name().qualified(), snapshot, SecretsShown::Encrypted).await?;
        self.create_as(checkpoint.into()).await
    }

    /// Refuses another stack's state: the next update would delete all its resources as no longer registered.
    fn refuse_foreign(&self, imported: &Snapshot) -> Result<()> {
        let name = self.name();
        let foreign = |urn: &&Urn| urn.stack() != name.stack() || urn.project() != name.project();
        match imported.resources.iter().map(|record| &record.urn).find(foreign) {
            None => Ok(()),
            Some(urn) => Err(Error::new(
                ErrorKind::State,
                format!(
                    "resource {urn} belongs to stack '{}/{}', not to '{}/{}'",
                    urn.project(),
                    urn.stack(),
                    name.project(),
                    name.stack()
                ),
            )
            .with_urn(urn.clone())
            .with_hint("a state can be moved to another stack once all its URNs name that stack")),
        }
    }
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
