//! The digests of checkpoints, in the ends of journals.

use bytes::Bytes;

use super::{MAX_BEGIN_ATTEMPTS, NumberedJournals, extent::First};
use crate::{
    error::{ErrorKind, Result},
    store::{
        Condition, Md5Digest, Store, Version, changed,
        ends::{self, End},
        file::digest,
    },
};

/// The end of a removed journal.
#[derive(Clone)]
pub(super) struct SeenEnd {
    version: Version,
    pub checkpoint: Option<Md5Digest>,
    /// Whether this process has written it: no other one has the version for a write that may still arrive.
    is_own: bool,
}

impl SeenEnd {
    /// Returns the version, under which a journal begins.
    pub(super) fn version(&self) -> Version {
        Version::clone(&self.version)
    }
}

/// What is under the key of a journal while its checkpoint is written.
enum Place {
    Nothing,
    /// An end without a digest, which only this process knows.
    End(Version),
    Journal,
}

impl<S: Store> NumberedJournals<S> {
    /// Notes an end that was read.
    pub(super) fn see(&self, key: &str, version: Version, checkpoint: Option<Md5Digest>) {
        let mut ends = self.ends();
        let known = ends.get(key);
        let is_own = known.is_some_and(|known| known.is_own && known.version == version);
        let seen = SeenEnd {
            version,
            checkpoint,
            is_own,
        };
        ends.insert(key.to_owned(), seen);
    }

    /// Notes an end that this process has written.
    pub(super) fn see_own(&self, key: &str, version: Version, checkpoint: Option<Md5Digest>) {
        let seen = SeenEnd {
            version,
            checkpoint,
            is_own: true,
        };
        self.ends().insert(key.to_owned(), seen);
    }

    /// Writes an object. Of a checkpoint the digest is noted: for the end of the journal that this process writes, or else in the end
    /// that is there, which has none while the write runs, or in a new one.
    pub(super) async fn write_noted(
        &self,
        key: &str,
        content: Bytes,
        write: impl Future<Output = Result<Version>>,
    ) -> Result<Version> {
        let Some(journal) = ends::journal_of(key) else {
            return write.await;
        };
        let is_written = self.written().get_mut(&journal).map(Option::take).is_some();
        let place = match is_written {
            true => Place::Journal,
            false => self.forget(&journal).await?,
        };
        if !is_written && matches!(place, Place::Journal) {
            return write.await;
        }
        let digest = self.runtime.spawner.spawn_blocking(move || digest(&content));
        let (version, digest) = futures::join!(write, digest);
        let version = version?;
        let Ok(digest) = digest else {
            return Ok(version);
        };
        if let Some(written) = self.written().get_mut(&journal) {
            *written = Some(digest);
        }
        let noted = match place {
            Place::Journal => Ok(()),
            Place::End(end) => self.replace_end(&journal, end, Some(digest)).await.map(drop),
            Place::Nothing => self.create_end(&journal, digest).await,
        };
        if let Err(error) = noted {
            tracing::debug!(%error, journal, "the digest of a checkpoint is not noted");
        }
        Ok(version)
    }

    /// Removes the digest of an object that is about to be replaced or removed, if it is a checkpoint.
    pub(super) async fn forget_checkpoint(&self, key: &str) -> Result<()> {
        let Some(journal) = ends::journal_of(key) else {
            return Ok(());
        };
        if self.written().get_mut(&journal).map(Option::take).is_some() {
            return Ok(());
        }
        self.forget(&journal).await.map(drop)
    }

    /// Removes the digest of an end, if there is one.
    async fn forget(&self, journal: &str) -> Result<Place> {
        let mut refused = changed(journal);
        for _ in 0..MAX_BEGIN_ATTEMPTS {
            let known = self.ends().get(journal).cloned();
            let Some(known) = known else {
                match self.first(journal).await? {
                    First::Ended => continue,
                    First::Missing => return Ok(Place::Nothing),
                    First::Begun(..) => return Ok(Place::Journal),
                }
            };
            if known.checkpoint.is_none() && known.is_own {
                return Ok(Place::End(known.version));
            }
            match self.replace_end(journal, known.version, None).await {
                Err(error) if error.kind() == ErrorKind::Conflict => {
                    self.ends().remove(journal);
                    refused = error;
                }
                replaced => return replaced.map(Place::End),
            }
        }
        Err(refused)
    }

    async fn replace_end(
        &self,
        journal: &str,
        end: Version,
        checkpoint: Option<Md5Digest>,
    ) -> Result<Version> {
        let content = End { checkpoint }.encode(&self.runtime);
        let version = self.inner.put(journal, content, Condition::Match(end)).await?;
        self.see_own(journal, Version::clone(&version), checkpoint);
        Ok(version)
    }

    /// Writes an end where there was none. One that was written meanwhile may be of an earlier checkpoint or of a later one: it loses its digest.
    async fn create_end(&self, journal: &str, checkpoint: Md5Digest) -> Result<()> {
        let noted = Some(checkpoint);
        let content = End { checkpoint: noted }.encode(&self.runtime);
        match self.inner.put(journal, content, Condition::Absent).await {
            Err(error) if error.kind() == ErrorKind::Conflict => {
                let First::Ended = self.first(journal).await? else {
                    return Ok(());
                };
                let seen = self.ends().get(journal).map(SeenEnd::version);
                match seen {
                    Some(end) => self.replace_end(journal, end, None).await.map(drop),
                    None => Ok(()),
                }
            }
            written => {
                self.see_own(journal, written?, noted);
                Ok(())
            }
        }
    }
}
