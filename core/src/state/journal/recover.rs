//! Recovery: applies the journal of an interrupted operation to the checkpoint.

use std::sync::Arc;

use super::{
    codec::{self, JournalEnd, Torn},
    header::JournalHeader,
    orphan::Orphan,
};
use crate::{
    error::Result,
    secrets::{SecretsManager, SecretsProvider, open_or_lock},
    state::{
        JournalReplay, Snapshot,
        deployment::{SecretsAccess, check_record, content_hash, decrypt, read_checkpoint},
    },
};

/// The relation of an interrupted operation's journal to the checkpoint.
#[derive(Debug)]
pub(crate) enum Recovery {
    /// The checkpoint contains every durable entry: the journal can be removed, the checkpoint is current. Without a header no entry
    /// was durable.
    Empty(Option<Box<JournalHeader>>, Option<Torn>),
    /// The checkpoint is the one that the journal announced with all entries: the journal can be removed.
    Checkpointed(Box<JournalHeader>),
    /// The journal extends the checkpoint: the snapshot that replaces it.
    Extends(Box<Recovered>),
    /// Another program has written the checkpoint since: the journal is kept, and its steps that the checkpoint does
    /// not contain become pending operations.
    Orphan(Box<Orphan>),
}

/// A replayed journal.
#[derive(Debug)]
pub(crate) struct Recovered {
    /// The journal's header.
    pub header: JournalHeader,
    /// The base with all durable entries applied. Steps in flight are in its pending operations.
    pub replay: JournalReplay,
    /// The number of applied entries.
    #[cfg(test)]
    pub entries: usize,
    /// The incomplete line after the last intact one; it was never acknowledged.
    pub torn: Option<Torn>,
    /// The position at which the journal is continued.
    pub end: JournalEnd,
    /// Whether the checkpoint was written during the operation, and contains part of the entries.
    pub is_rebased: bool,
}

impl Recovered {
    /// Returns the recovered snapshot.
    ///
    /// # Errors
    /// Those of [`JournalReplay::to_snapshot`].
    pub(crate) fn snapshot(&self) -> Result<Snapshot> {
        self.replay.to_snapshot()
    }
}

/// Relates `journal` to `checkpoint` (`None` when the stack has none), and replays it when it extends the checkpoint.
///
/// # Errors
/// [`crate::ErrorKind::State`] when a line of the journal is damaged or does not fit the checkpoint;
/// [`crate::ErrorKind::Decrypt`] when a secret cannot be decrypted.
pub(crate) async fn recover(
    checkpoint: Option<&[u8]>,
    journal: &[u8],
    provider: &dyn SecretsProvider,
) -> Result<Recovery> {
    let Some(decoded) = codec::decode(journal)? else {
        let bytes = journal.len();
        return Ok(Recovery::Empty(
            None,
            (bytes > 0).then_some(Torn { line: 1, bytes }),
        ));
    };
    let hash = checkpoint.map(content_hash).unwrap_or_default();
    if decoded.final_checkpoints.contains(&hash) {
        return Ok(Recovery::Checkpointed(Box::new(decoded.header)));
    }
    let is_base = decoded.header.checkpoint == hash;
    let rebase = decoded
        .rebases
        .iter()
        .rfind(|rebase| !is_base && rebase.checkpoint == hash);
    if !is_base && rebase.is_none() {
        return Ok(Recovery::Orphan(Box::new(Orphan::read(decoded, provider).await)));
    }
    let mut entries = decoded.entries;
    if let Some(rebase) = rebase {
        entries.retain(|entry| entry.sequence >= rebase.sequence);
    }
    if entries.is_empty() {
        return Ok(Recovery::Empty(Some(Box::new(decoded.header)), decoded.torn));
    }
    let mut base = match checkpoint {
        Some(bytes) => read_checkpoint(bytes, SecretsAccess::Open(provider), true)
            .await?
            .snapshot
            .unwrap_or_default(),
        None => Snapshot::default(),
    };
    let secrets = open_secrets(&decoded.header, &base, provider).await;
    base.secrets.clone_from(&secrets);
    let mut replay = match rebase {
        Some(rebase) => JournalReplay::resume(base, rebase)?,
        None => JournalReplay::new(base),
    };
    let mut states = Vec::with_capacity(entries.len());
    entries
        .iter_mut()
        .for_each(|entry| entry.take_states(&mut states));
    states.iter().try_for_each(|state| check_record(state))?;
    decrypt(&mut states, secrets.as_deref()).await?;
    let mut states = states.into_iter();
    #[cfg(test)]
    let count = entries.len();
    for entry in entries {
        let entry = entry.into_entry(&mut states, |old| replay.get(old.id).cloned())?;
        replay.apply(&entry)?;
    }
    let recovered = Recovered {
        header: decoded.header,
        replay,
        #[cfg(test)]
        entries: count,
        torn: decoded.torn,
        end: decoded.end,
        is_rebased: rebase.is_some(),
    };
    Ok(Recovery::Extends(Box::new(recovered)))
}

async fn open_secrets(
    header: &JournalHeader,
    base: &Snapshot,
    provider: &dyn SecretsProvider,
) -> Option<Arc<dyn SecretsManager>> {
    let Some(named) = &header.secrets else {
        return base.secrets.clone();
    };
    // The checkpoint's manager is open already.
    let same = base
        .secrets
        .as_ref()
        .filter(|open| open.kind() == named.kind && open.state() == named.state);
    match same {
        Some(open) => Some(Arc::clone(open)),
        None => Some(open_or_lock(provider, &named.kind, named.state.as_ref()).await),
    }
}
