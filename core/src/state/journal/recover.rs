//! Recovery: what a journal that was left behind means for the checkpoint beside it.

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
        Ledger, Snapshot,
        deployment::{SecretsAccess, check_record, content_hash, decrypt, read_checkpoint},
    },
};

/// What a journal that was left behind means.
#[derive(Debug)]
pub(crate) enum Recovery {
    /// No entry became durable that the checkpoint does not hold: the journal can go, the checkpoint is the truth.
    Empty(Option<Torn>),
    /// The checkpoint holds everything already: the journal can go.
    AlreadyFolded,
    /// The journal extends the checkpoint: the snapshot to be written in its place.
    Extends(Box<Recovered>),
    /// Another program has written the checkpoint since: the journal is kept aside, and what it did and the checkpoint does
    /// not show is pending.
    Orphan(Box<Orphan>),
}

/// A replayed journal.
#[derive(Debug)]
pub(crate) struct Recovered {
    /// What the journal says of itself.
    pub header: JournalHeader,
    /// The base with all durable entries applied; what was in flight is in its pending operations.
    pub ledger: Ledger,
    /// How many entries were applied.
    #[cfg(test)]
    pub entries: usize,
    /// What stands behind the last intact line; nothing of it was acknowledged.
    pub torn: Option<Torn>,
    /// Where the journal goes on.
    pub end: JournalEnd,
    /// Whether the checkpoint holds part of the entries already, as one that was written during the operation does.
    pub is_rebased: bool,
}

impl Recovered {
    /// Composes the recovered snapshot.
    ///
    /// # Errors
    /// As [`Ledger::compose`].
    pub(crate) fn snapshot(&self) -> Result<Snapshot> {
        self.ledger.compose()
    }
}

/// Decides what `journal` means for `checkpoint` (`None` when the stack has none) and replays it if it extends it.
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
        return Ok(Recovery::Empty((bytes > 0).then_some(Torn { line: 1, bytes })));
    };
    let hash = checkpoint.map(content_hash).unwrap_or_default();
    if decoded.folded.contains(&hash) {
        return Ok(Recovery::AlreadyFolded);
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
        return Ok(Recovery::Empty(decoded.torn));
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
    let mut ledger = match rebase {
        Some(rebase) => Ledger::resume(base, rebase)?,
        None => Ledger::new(base),
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
        let entry = entry.into_entry(&mut states, |old| ledger.get(old.id).cloned())?;
        ledger.apply(&entry)?;
    }
    let recovered = Recovered {
        header: decoded.header,
        ledger,
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
