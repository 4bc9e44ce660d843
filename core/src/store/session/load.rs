//! Loading: the checkpoint with the entries of an interrupted operation's journal.

use bytes::Bytes;

use super::interrupted::Interrupted;
use crate::{
    diagnostic::Diagnostic,
    error::{Error, ErrorKind, Result},
    resource::{PendingOperation, PendingOperationKind},
    secrets::SecretsProvider,
    state::{
        Snapshot,
        deployment::{SecretsAccess, has_magic, read_large_checkpoint},
        integrity,
        journal::{JournalEnd, JournalHeader, Recovery, Torn, recover},
    },
    store::{Holder, Md5Digest, StackStorage, StoredStack, file::digest as md5, layout::CHECKPOINT_ENDINGS},
};

/// A stack's state, with the entries of an interrupted operation's journal.
#[derive(Debug)]
pub(crate) struct LoadedStack {
    /// The verified state.
    pub snapshot: Snapshot,
    /// Warnings about the state, for the user.
    pub warnings: Vec<Diagnostic>,
    /// The holder of the stack's lock, which may be executing the pending operations, if the state was read without the
    /// lock.
    pub holder: Option<Holder>,
    pub(super) stored: StoredStack,
    pub(super) leftover: Leftover,
    /// The operation that has left its journal.
    pub(super) interrupted: Option<Interrupted>,
    /// The warning about the end of the journal.
    torn: Option<Diagnostic>,
}

impl LoadedStack {
    /// Returns whether the state may be that of an unfinished operation.
    fn is_unfinished(&self) -> bool {
        self.torn.is_some() || !self.snapshot.pending_operations.is_empty()
    }
}

/// The treatment of an interrupted operation's journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leftover {
    /// There is none, or the checkpoint contains all its entries.
    Discard,
    /// It is part of the loaded state, and must be merged into the checkpoint.
    Merge {
        end: JournalEnd,
        /// Whether the checkpoint was written during the interrupted operation.
        is_rebased: bool,
    },
    /// It belongs to another checkpoint.
    SetAside {
        /// Whether the loaded state has pending operations from it, which must be merged into the checkpoint.
        is_adopted: bool,
    },
}

impl StackStorage {
    /// Reads the state, including the entries of an interrupted operation's journal. Writes nothing.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when the stack does not exist, [`ErrorKind::State`] when its state is damaged,
    /// [`ErrorKind::Decrypt`] when a secret cannot be decrypted.
    pub(crate) async fn load(&self, secrets: &dyn SecretsProvider) -> Result<LoadedStack> {
        self.load_checked(secrets, true).await
    }

    /// Reads the state for a repair: a checkpoint without a journal may violate integrity rules. Writes nothing.
    ///
    /// # Errors
    /// Those of [`Self::load`].
    pub(crate) async fn load_unverified(&self, secrets: &dyn SecretsProvider) -> Result<LoadedStack> {
        self.load_checked(secrets, false).await
    }

    async fn load_checked(&self, secrets: &dyn SecretsProvider, verify: bool) -> Result<LoadedStack> {
        let error = match self.load_without_location(secrets, verify).await {
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::State | ErrorKind::Secrets | ErrorKind::Decrypt
                ) =>
            {
                error
            }
            loaded => return loaded,
        };
        let name = self.name();
        let key = self.checkpoint_key().await.ok().flatten();
        let checkpoint = key.unwrap_or_else(|| name.checkpoint(CHECKPOINT_ENDINGS[0]));
        Err(error.with_hint(format!(
            "the state of stack '{}' is {checkpoint} in {}",
            name.qualified(),
            self.store().url()
        )))
    }

    /// Reads the state for callers without the stack's lock: while an operation runs, the steps in flight are
    /// pending without being interrupted, and the last line of the journal may be incomplete. Writes nothing.
    ///
    /// # Errors
    /// Those of [`Self::load`].
    pub(crate) async fn load_unlocked(&self, secrets: &dyn SecretsProvider) -> Result<LoadedStack> {
        let mut loaded = self.load(secrets).await?;
        if !loaded.is_unfinished() {
            return Ok(loaded);
        }
        let mut holder = self.known_holder().await;
        if holder.is_none() {
            // An operation may have ended since the state was read.
            loaded = self.load(secrets).await?;
            holder = self.known_holder().await;
        }
        if holder.as_ref().is_some_and(|holder| holder.is_alive) {
            loaded
                .warnings
                .retain(|warning| Some(warning) != loaded.torn.as_ref());
        }
        loaded.holder = holder;
        Ok(loaded)
    }

    /// Returns the holder of the stack, if it can be determined. Only messages depend on it.
    async fn known_holder(&self) -> Option<Holder> {
        let holder = self.holder().await;
        holder.unwrap_or_else(|error| {
            tracing::warn!(%error, "the locks of a stack could not be read");
            None
        })
    }

    /// Reads the state. The errors do not name its location.
    async fn load_without_location(
        &self,
        secrets: &dyn SecretsProvider,
        verify: bool,
    ) -> Result<LoadedStack> {
        let stored = self.read().await?;
        let alteration = self.alteration(stored.base.key().to_owned(), stored.recorded.clone());
        let (alteration, loaded) = futures::join!(alteration, self.load_stored(stored, secrets, verify));
        match (alteration, loaded) {
            (Some(text), Ok(mut loaded)) => {
                loaded.warnings.insert(0, Diagnostic::warning(text));
                Ok(loaded)
            }
            (Some(text), Err(error)) => Err(error.with_hint(text)),
            (None, loaded) => loaded,
        }
    }

    /// Returns the warning about a checkpoint that was changed since the last recorded write.
    async fn alteration(&self, key: String, recorded: Option<(Bytes, Md5Digest)>) -> Option<String> {
        let recorded = recorded?;
        if self.is_recorded(recorded.clone()).await {
            return None;
        }
        // Another host may have written it while it was read.
        let (bytes, _) = recorded;
        let again = self.store().get_with_digest(&key).await.ok().flatten();
        let (found, digest) = again?;
        if found.bytes != bytes || self.is_recorded((bytes.clone(), digest?)).await {
            return None;
        }
        let url = self.store().url();
        let copy = match self.newest_copy().await {
            // Another program has written both, and no digest.
            Ok(Some(copy)) if !self.store().has_sidecars() && self.holds(&copy, &bytes).await => return None,
            Ok(Some(copy)) => format!("the newest copy in the history is {url}/{copy}"),
            _ => "the history has no copy of it".to_owned(),
        };
        Some(format!(
            "the checkpoint {url}/{key} has been changed since it was last written: its MD5 digest is not the one that was \
             recorded then; {copy}"
        ))
    }

    async fn is_recorded(&self, (bytes, digest): (Bytes, Md5Digest)) -> bool {
        let compare = move || md5(&bytes) == digest;
        let compared = self.runtime().spawner.spawn_blocking(compare);
        compared.await.unwrap_or(true)
    }

    async fn holds(&self, key: &str, bytes: &Bytes) -> bool {
        let found = self.store().get(key).await;
        found.is_ok_and(|object| object.is_some_and(|object| object.bytes == *bytes))
    }

    async fn load_stored(
        &self,
        stored: StoredStack,
        secrets: &dyn SecretsProvider,
        verify: bool,
    ) -> Result<LoadedStack> {
        let mut warnings = Vec::new();
        let mut torn_line = None;
        let recovery = match &stored.journal {
            Some(journal) => {
                let recovery = recover(Some(&stored.checkpoint), &journal.bytes, secrets).await;
                Some(recovery.map_err(|error| self.name_journal(error))?)
            }
            None => None,
        };
        let mut orphan = None;
        let mut interrupted = None;
        let (mut leftover, recovered) = match recovery {
            None => (Leftover::Discard, None),
            Some(Recovery::Checkpointed(header)) => {
                interrupted = Interrupted::of(&header);
                (Leftover::Discard, None)
            }
            Some(Recovery::Empty(header, torn)) => {
                interrupted = header.and_then(|header| Interrupted::of(&header));
                torn_line = torn.map(|torn| self.torn_warning(torn, None));
                (Leftover::Discard, None)
            }
            Some(Recovery::Extends(recovered)) => {
                let torn = recovered.torn;
                torn_line = torn.map(|torn| self.torn_warning(torn, Some(&recovered.header)));
                interrupted = Interrupted::of(&recovered.header);
                let snapshot = recovered.snapshot()?;
                // The merged state replaces the checkpoint, and must be valid before.
                integrity::verify(&snapshot).map_err(|error| self.unsound_journal(&error))?;
                let leftover = Leftover::Merge {
                    end: recovered.end,
                    is_rebased: recovered.is_rebased,
                };
                (leftover, Some(snapshot))
            }
            Some(Recovery::Orphan(found)) => {
                orphan = Some(found);
                (Leftover::SetAside { is_adopted: false }, None)
            }
        };
        warnings.extend(torn_line.clone());
        let mut snapshot = match recovered {
            Some(snapshot) => snapshot,
            None => {
                let (spawner, access) = (&self.runtime().spawner, SecretsAccess::Open(secrets));
                // A foreign magic is a sign of damage that no repair undoes.
                let verify = verify || !has_magic(&stored.checkpoint);
                read_large_checkpoint(&stored.checkpoint, access, verify, spawner)
                    .await?
                    .snapshot
                    .unwrap_or_default()
            }
        };
        if let Some(orphan) = orphan {
            let unseen = orphan.unseen(&snapshot);
            interrupted = Interrupted::of(&orphan.header);
            warnings.push(self.orphan_warning(&orphan.header, &unseen, &snapshot));
            leftover = Leftover::SetAside {
                is_adopted: !unseen.is_empty(),
            };
            if !unseen.is_empty() {
                snapshot.pending_operations.extend(unseen);
                orphan.add_extensions(&mut snapshot);
            }
        }
        Ok(LoadedStack {
            snapshot,
            warnings,
            holder: None,
            stored,
            leftover,
            interrupted,
            torn: torn_line,
        })
    }

    /// Returns the warning about a journal without its checkpoint.
    fn orphan_warning(
        &self,
        header: &JournalHeader,
        unseen: &[PendingOperation],
        snapshot: &Snapshot,
    ) -> Diagnostic {
        let mut text = format!(
            "the journal {} of an interrupted {} of stack '{}' (started {}) does not belong to its checkpoint, \
             which another program has changed or restored since; ",
            self.name().journal(),
            header.operation,
            self.name().stack(),
            header.started,
        );
        text.push_str(&match unseen.len() {
            0 => "the checkpoint contains all its known operations".to_owned(),
            count => format!("{count} of its operations are not part of the checkpoint and are pending now"),
        });
        for pending in unseen {
            let resource = &pending.resource;
            let kind = format!("{:?}", pending.kind).to_lowercase();
            text.push_str(&format!("\n  * {kind} {}", resource.urn));
            if !resource.id.is_empty() {
                text.push_str(&format!(" (id {})", resource.id));
            }
            let mut records = snapshot.resources.iter();
            let other = records
                .find(|record| record.urn == resource.urn && !record.delete && record.id != resource.id);
            if let Some(other) = other.filter(|_| pending.kind == PendingOperationKind::Creating) {
                text.push_str(&format!("; the state has this resource with the id {}", other.id));
            }
        }
        Diagnostic::warning(text)
    }

    /// Adds the location of the journal to an error about it.
    fn name_journal(&self, error: Error) -> Error {
        error.with_hint(format!(
            "the journal is {} in {}; importing a state sets it aside",
            self.name().journal(),
            self.store().url()
        ))
    }

    /// Returns the warning about an incomplete line at the end of a journal.
    fn torn_warning(&self, torn: Torn, header: Option<&JournalHeader>) -> Diagnostic {
        let operation = header.map_or_else(
            || "an interrupted operation".to_owned(),
            |header| format!("an interrupted {} (started {})", header.operation, header.started),
        );
        Diagnostic::warning(format!(
            "the journal {} of {operation} ends within line {}: its {} bytes were dropped; no step relied on them",
            self.name().journal(),
            torn.line,
            torn.bytes,
        ))
    }

    fn unsound_journal(&self, error: &Error) -> Error {
        let text = format!(
            "the journal {} of an interrupted operation leads to an invalid state: {error}",
            self.name().journal()
        );
        Error::new(ErrorKind::State, text)
            .with_hint("checkpoint and journal are as they were; importing a state replaces both".to_owned())
    }

    /// Returns an empty state instead of an unreadable one, with its journal to be set aside.
    pub(super) async fn unread(&self) -> Result<LoadedStack> {
        let stored = self.read().await?;
        Ok(LoadedStack {
            snapshot: Snapshot::default(),
            warnings: Vec::new(),
            holder: None,
            torn: None,
            interrupted: None,
            stored,
            leftover: Leftover::SetAside { is_adopted: false },
        })
    }
}
