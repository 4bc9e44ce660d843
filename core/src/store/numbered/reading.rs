//! Reading a journal as one object.

use bytes::{Bytes, BytesMut};
use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::{
    CONCURRENT_READS, HEAD, MAX_READ_ATTEMPTS, NumberedJournals, PARTS,
    extent::{Extent, First, incomplete, part},
};
use crate::{
    error::{Error, ErrorKind, Result},
    store::{Object, Store, changed, ends::End},
};

impl<S: Store> NumberedJournals<S> {
    /// Reads the first object of a journal.
    pub(super) async fn first(&self, key: &str) -> Result<First> {
        let found = self.inner.get(key).await?;
        let Some(Object { bytes, version }) = found else {
            self.ends().remove(key);
            self.written().remove(key);
            return Ok(First::Missing);
        };
        if let Some(End { checkpoint }) = End::parse(&bytes) {
            self.see(key, version, checkpoint);
            self.written().remove(key);
            return Ok(First::Ended);
        }
        // An end that was seen is no longer the last one.
        self.ends().remove(key);
        let line = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(0);
        let folder = bytes[..line]
            .strip_prefix(HEAD)
            .and_then(|name| std::str::from_utf8(name).ok());
        let Some(folder) = folder else {
            let text = format!("the journal {key} does not begin with the name of its folder");
            return Err(Error::new(ErrorKind::State, text));
        };
        if !self.is_own(folder) {
            self.written().remove(key);
        }
        let extent = Extent {
            head: version,
            folder: folder.to_owned(),
            last: 0,
        };
        Ok(First::Begun(extent, bytes.slice(line + 1..)))
    }

    /// Reads the first object; returns its content without the first line. One that does not begin with it was written by
    /// another program.
    pub(super) async fn head(&self, key: &str) -> Result<Option<(Extent, Bytes)>> {
        match self.first(key).await? {
            First::Missing | First::Ended => Ok(None),
            First::Begun(extent, content) => Ok(Some((extent, content))),
        }
    }

    /// Returns the number of a journal's last object; `None` when one before it is missing.
    async fn find_last(&self, key: &str, folder: &str) -> Result<Option<u64>> {
        let listed = self.inner.list(&format!("{key}{PARTS}{folder}/")).await?;
        let mut numbered = (1..).zip(&listed);
        let is_whole = numbered.all(|(number, info)| info.key == part(key, folder, number));
        Ok(is_whole.then_some(listed.len() as u64))
    }

    pub(super) async fn last(&self, key: &str, folder: &str) -> Result<u64> {
        self.find_last(key, folder).await?.ok_or_else(|| incomplete(key))
    }

    /// Reads a journal, again when it was removed or replaced meanwhile.
    pub(super) async fn read(&self, key: &str) -> Result<Option<Object>> {
        for _ in 0..MAX_READ_ATTEMPTS {
            let Some((mut extent, first)) = self.head(key).await? else {
                return Ok(None);
            };
            if let Some(last) = self.find_last(key, &extent.folder).await?
                && let Some(bytes) = self.read_batches(key, &extent.folder, first, last).await?
            {
                extent.last = last;
                return Ok(Some(Object {
                    bytes,
                    version: extent.version(),
                }));
            }
            let is_same = |(found, _): &(Extent, Bytes)| found.head == extent.head;
            if self.head(key).await?.is_some_and(|found| is_same(&found)) {
                return Err(incomplete(key));
            }
        }
        Err(changed(key))
    }

    /// Returns the batches as one; `None` when one was removed meanwhile.
    async fn read_batches(&self, key: &str, folder: &str, first: Bytes, last: u64) -> Result<Option<Bytes>> {
        if last == 0 {
            return Ok(Some(first));
        }
        let reads = (1..=last).map(|number| {
            let key = part(key, folder, number);
            async move { self.inner.get(&key).await }
        });
        let batches: Vec<Option<Object>> = stream::iter(reads)
            .buffered(CONCURRENT_READS)
            .try_collect()
            .await?;
        let mut bytes = BytesMut::from(&first[..]);
        for batch in batches {
            let Some(batch) = batch else {
                return Ok(None);
            };
            bytes.extend_from_slice(&batch.bytes);
        }
        Ok(Some(bytes.freeze()))
    }
}
