//! Marks that cancel runs: a host that runs an operation with the id of a run reads the mark of its set.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{Condition, Store, compression::expand, layout::RUNS};
use crate::error::{Error, ErrorKind, Result};

/// How long each part of the id of a run is at most.
const MAX_RUN_ID: usize = 128;

/// How many requests make a difference.
const MAX_REQUESTS: u32 = 2;

/// How often a mark is written again that others write meanwhile.
const MAX_ATTEMPTS: usize = 8;

/// The content of a mark.
#[derive(Serialize, Deserialize)]
struct Mark {
    /// How often the run was cancelled.
    requests: u32,
}

/// Checks the id of a run: one part, or that of a set and that of one of its runs.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for any other text.
pub(crate) fn check_run(run: &str) -> Result<()> {
    let is_plain = |part: &str| {
        let is_path = part.chars().all(|character| character == '.');
        let mut characters = part.chars();
        let is_plain = characters.all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'));
        !is_path && is_plain && part.len() <= MAX_RUN_ID
    };
    match run.split('/').count() <= 2 && run.split('/').all(is_plain) {
        true => Ok(()),
        false => Err(Error::invalid(format!("{run:?} is no id of a run")).with_hint(
            "an id has up to 128 letters, digits, periods, hyphens and underscores; that of a run of a set has a / between both ids",
        )),
    }
}

/// Returns the key of the mark of a run's set.
fn mark_of(run: &str) -> String {
    let set = run.split('/').next().unwrap_or(run);
    format!("{RUNS}{set}.cancelled.json")
}

/// Requests the end of all operations of a set of runs. A second request abandons running calls of providers. `level` is how many
/// requests there are at least afterwards; `None` is one more than before. Requests at the same time count as one.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for a text that is no id, or is that of a run in a set, and a level other than 1 and 2; those of the store.
pub(crate) async fn request_cancellation(
    store: &Arc<dyn Store>,
    run: &str,
    level: Option<u32>,
) -> Result<()> {
    check_set(run)?;
    if let Some(level) = level.filter(|level| !(1..=MAX_REQUESTS).contains(level)) {
        return Err(Error::invalid(format!(
            "a run is cancelled by 1 or {MAX_REQUESTS} requests, not by {level}"
        )));
    }
    let key = mark_of(run);
    let mut level = level;
    for attempt in 1.. {
        let former = store.get(&key).await?;
        let condition = match &former {
            Some(object) => Condition::Match(Arc::clone(&object.version)),
            None => Condition::Absent,
        };
        let requests = former.map_or(0, |object| requests_of(&key, object.bytes));
        // A write that is repeated after a lost answer must not count twice.
        let level = *level.get_or_insert_with(|| requests.saturating_add(1));
        if requests >= level {
            return Ok(());
        }
        let mark = Mark { requests: level };
        let text = serde_json::to_vec(&mark).map_err(|error| Error::internal(error.to_string()))?;
        match store.put(&key, Bytes::from(text), condition).await {
            Err(error) if error.kind() == ErrorKind::Conflict && attempt < MAX_ATTEMPTS => {}
            // It may have been written.
            Err(error) if error.kind() == ErrorKind::Unavailable && attempt == 1 => {}
            written => return written.map(drop),
        }
    }
    Ok(())
}

/// Returns how often the end of a run was requested.
///
/// # Errors
/// Those of the store.
pub(crate) async fn requested_cancellation(store: &Arc<dyn Store>, run: &str) -> Result<u32> {
    let key = mark_of(run);
    let mark = store.get(&key).await?;
    Ok(mark.map_or(0, |object| requests_of(&key, object.bytes)))
}

/// Removes the mark of a set of runs, none of which runs any more.
///
/// # Errors
/// Those of [`request_cancellation`].
pub(crate) async fn forget_cancellation(store: &Arc<dyn Store>, run: &str) -> Result<()> {
    check_set(run)?;
    store.delete(&mark_of(run)).await
}

/// Returns the number in a mark. One that cannot be read is a single request.
fn requests_of(key: &str, content: Bytes) -> u32 {
    let content = expand(key, content).ok();
    let mark: Option<Mark> = content.and_then(|content| serde_json::from_slice(&content).ok());
    mark.map_or(1, |mark| mark.requests)
}

fn check_set(run: &str) -> Result<()> {
    check_run(run)?;
    match run.contains('/') {
        false => Ok(()),
        true => Err(Error::invalid(format!("{run:?} is one run of a set"))
            .with_hint("a set is cancelled as a whole, by the part before the /")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        runtime::Runtime,
        store::{
            MemoryStore,
            faulty::{Fault, FaultyStore},
        },
    };

    #[test]
    fn the_id_of_a_run_has_one_or_two_plain_parts() {
        for run in ["a", "0b7c-1.x_Y", "set/1", &"a".repeat(MAX_RUN_ID)] {
            check_run(run).unwrap();
        }
        for run in [
            "",
            "/",
            "a/",
            "/a",
            "a/b/c",
            "..",
            "a/.",
            "a b",
            "é",
            &"a".repeat(MAX_RUN_ID + 1),
        ] {
            assert_eq!(
                check_run(run).unwrap_err().kind(),
                ErrorKind::InvalidInput,
                "{run}"
            );
        }
    }

    #[tokio::test]
    async fn a_mark_cancels_every_run_of_its_set_and_no_other() {
        let runtime = Runtime::system(tokio::runtime::Handle::current());
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(runtime));
        request_cancellation(&store, "set", None).await.unwrap();
        request_cancellation(&store, "set", None).await.unwrap();
        for (run, requests) in [("set", 2), ("set/1", 2), ("set2", 0), ("set2/1", 0)] {
            assert_eq!(
                requested_cancellation(&store, run).await.unwrap(),
                requests,
                "{run}"
            );
        }
        assert!(request_cancellation(&store, "set/1", None).await.is_err());
        forget_cancellation(&store, "set").await.unwrap();
        assert_eq!(requested_cancellation(&store, "set/1").await.unwrap(), 0);
        assert!(store.list(RUNS).await.unwrap().is_empty(), "nothing is left");
    }

    #[tokio::test]
    async fn a_request_for_a_level_that_is_repeated_counts_once() {
        let runtime = Runtime::system(tokio::runtime::Handle::current());
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(runtime));
        for (level, requests) in [(1, 1), (1, 1), (2, 2), (1, 2)] {
            request_cancellation(&store, "set", Some(level)).await.unwrap();
            assert_eq!(requested_cancellation(&store, "set").await.unwrap(), requests);
        }
        for level in [0, 3] {
            let refused = request_cancellation(&store, "set", Some(level))
                .await
                .unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::InvalidInput);
        }
    }

    #[tokio::test]
    async fn a_request_whose_answer_is_lost_counts_once() {
        let runtime = Runtime::system(tokio::runtime::Handle::current());
        let memory: Arc<dyn Store> = Arc::new(MemoryStore::new(runtime));
        let store: Arc<dyn Store> = Arc::new(FaultyStore::new(memory, Fault::DoneOnce, 0));
        request_cancellation(&store, "set", None).await.unwrap();
        assert_eq!(requested_cancellation(&store, "set").await.unwrap(), 1);
    }
}
