//! Recovery: what a journal that was left behind means for the checkpoint beside it.

use std::sync::Arc;

use super::{
    codec::{self, JournalEnd, Torn},
    header::JournalHeader,
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
pub enum Recovery {
    /// Not one entry became durable: the journal can go, the checkpoint is the truth.
    Empty(Option<Torn>),
    /// The checkpoint holds everything already: the journal can go.
    AlreadyFolded,
    /// The journal extends the checkpoint: the snapshot to be written in its place.
    Extends(Box<Recovered>),
    /// Somebody else has written the checkpoint since: the journal must be kept aside and people be told.
    Orphan(Box<JournalHeader>),
}

/// A replayed journal.
#[derive(Debug)]
pub struct Recovered {
    /// What the journal says of itself.
    pub header: JournalHeader,
    /// The base with all durable entries applied; what was in flight is in its pending operations.
    pub ledger: Ledger,
    /// How many entries there were.
    pub entries: usize,
    /// What stands behind the last intact line; nothing of it was acknowledged.
    pub torn: Option<Torn>,
    /// Where the journal goes on.
    pub end: JournalEnd,
}

impl Recovered {
    /// Composes the recovered snapshot.
    ///
    /// # Errors
    /// As [`Ledger::compose`].
    pub fn snapshot(&self) -> Result<Snapshot> {
        self.ledger.compose()
    }
}

/// Decides what `journal` means for `checkpoint` (`None` when the stack has none) and replays it if it extends it.
///
/// # Errors
/// [`crate::ErrorKind::State`] when a line of the journal is damaged or does not fit the checkpoint;
/// [`crate::ErrorKind::Decrypt`] when a secret cannot be decrypted.
pub async fn recover(
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
    if decoded.header.checkpoint != hash {
        return Ok(Recovery::Orphan(Box::new(decoded.header)));
    }
    if decoded.entries.is_empty() {
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
    let mut ledger = Ledger::new(base);
    let mut entries = decoded.entries;
    let mut states = Vec::with_capacity(entries.len());
    entries
        .iter_mut()
        .for_each(|entry| entry.take_states(&mut states));
    states.iter().try_for_each(|state| check_record(state))?;
    decrypt(&mut states, secrets.as_deref()).await?;
    let mut states = states.into_iter();
    let count = entries.len();
    for entry in entries {
        let entry = entry.into_entry(&mut states, |id| ledger.get(id).cloned())?;
        ledger.apply(&entry)?;
    }
    let recovered = Recovered {
        header: decoded.header,
        ledger,
        entries: count,
        torn: decoded.torn,
        end: decoded.end,
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
