//! History: one record for each finished operation, with a copy of its checkpoint.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use serde_json::value::RawValue;

use super::{
    Condition, ObjectInfo, StackName, Store,
    compression::expand,
    layout::{CHECKPOINT_ENDINGS, HISTORY},
};
use crate::{
    error::{Error, ErrorKind, Result},
    runtime::Timestamp,
};

/// A record of an operation, in the form and order of the reference engine's files. Times are in seconds since 1970.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HistoryEntry {
    /// `update`, `refresh`, `destroy`, `import`, `resource-import`, `rename`.
    pub kind: String,
    /// The start time.
    #[serde(default)]
    pub start_time: i64,
    /// The user's message.
    #[serde(default)]
    pub message: String,
    /// Facts about the environment: those of the host, or what another writer has collected (the user's version control,
    /// for instance).
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The configuration in the form of stack files, secrets encrypted.
    #[serde(default = "no_config")]
    pub config: Box<RawValue>,
    /// Always 0 in files; the number for [`HistoryPoint::Version`] in records that were read.
    #[serde(default)]
    pub version: i64,
    /// `succeeded`, `failed` or `in-progress`.
    #[serde(default)]
    pub result: String,
    /// The end time.
    #[serde(default)]
    pub end_time: i64,
    /// The number of resources for each kind of step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_changes: Option<BTreeMap<String, u64>>,
}

fn no_config() -> Box<RawValue> {
    RawValue::NULL.to_owned()
}

/// The checkpoint of a record.
#[derive(Clone, Copy)]
pub(super) enum CheckpointCopy<'a> {
    /// There is none.
    None,
    /// That with this key.
    Of(&'a str),
    /// One with this content, which need not be stored yet.
    Content(&'a Bytes),
}

/// Writes a record, after the copy of its checkpoint.
pub(super) async fn write(
    store: &Arc<dyn Store>,
    name: &StackName,
    checkpoint: CheckpointCopy<'_>,
    entry: &HistoryEntry,
    now: Timestamp,
) -> Result<()> {
    let text =
        serde_json::to_vec(entry).map_err(|error| Error::internal(format!("writing history: {error}")))?;
    let text = Bytes::from(text);
    let mut moment = now.as_nanosecond();
    loop {
        let stem = format!("{}{}-{moment}", name.history(), name.stack());
        match checkpoint {
            CheckpointCopy::None => {}
            CheckpointCopy::Of(checkpoint) => {
                let ending = CHECKPOINT_ENDINGS
                    .iter()
                    .rev()
                    .find(|ending| checkpoint.ends_with(*ending))
                    .unwrap_or(&".json");
                store
                    .copy(checkpoint, &format!("{stem}.checkpoint{ending}"))
                    .await?;
            }
            CheckpointCopy::Content(checkpoint) => {
                let key = format!("{stem}.checkpoint.json");
                if !create(store, &key, checkpoint.clone()).await? {
                    moment += 1;
                    continue;
                }
            }
        }
        let key = format!("{stem}.history.json");
        // A record of the same nanosecond exists: the clock stands still, or another host wrote it.
        match create(store, &key, text.clone()).await? {
            true => return Ok(()),
            false => moment += 1,
        }
    }
}

/// Creates an object; returns false when there is one with this key.
///
/// # Errors
/// Those of the store: [`ErrorKind::Conflict`] for a host that has lost its lease.
async fn create(store: &Arc<dyn Store>, key: &str, content: Bytes) -> Result<bool> {
    match store.put(key, content, Condition::Absent).await {
        Err(error) if error.kind() == ErrorKind::Conflict => match store.get(key).await? {
            Some(_) => Ok(false),
            None => Err(error),
        },
        written => written.map(|_| true),
    }
}

/// A point of a stack's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryPoint {
    /// An operation by its number, counted from 1, the oldest.
    Version(usize),
    /// The last operation that had ended at this time. A time in whole seconds is one of the history, which has no parts of them: the
    /// operations that ended within that second had ended.
    Time(Timestamp),
}

/// A part of a history: records are counted from the newest one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HistoryPage {
    /// How many records are left out.
    pub skip: usize,
    /// How many records there are at most; `None` for all others.
    pub limit: Option<usize>,
}

/// Reads the records of a page, the newest first. The others are not read. A malformed record is an error that names it.
pub(super) async fn read(
    store: &Arc<dyn Store>,
    name: &StackName,
    page: HistoryPage,
) -> Result<Vec<HistoryEntry>> {
    let mut keys: Vec<(i128, String)> = store
        .list(&name.history())
        .await?
        .into_iter()
        .filter_map(|object| Some((moment(name, &object.key)?, object.key)))
        .collect();
    keys.sort_unstable_by(|left, right| right.cmp(left));
    let count = i64::try_from(keys.len()).unwrap_or(i64::MAX);
    let wanted = (1..=count)
        .rev()
        .zip(keys)
        .skip(page.skip)
        .take(page.limit.unwrap_or(usize::MAX));
    let mut entries = Vec::new();
    for (version, (_, key)) in wanted {
        let Some(object) = store.get(&key).await? else {
            continue;
        };
        entries.push(HistoryEntry {
            version,
            ..parse(&key, object.bytes)?
        });
    }
    Ok(entries)
}

/// Parses a record.
pub(super) fn parse(key: &str, bytes: Bytes) -> Result<HistoryEntry> {
    serde_json::from_slice(&expand(key, bytes)?).map_err(|error| {
        Error::new(
            ErrorKind::State,
            format!("the history record {key} cannot be read: {error}"),
        )
    })
}

/// Splits the key of a record of any stack into project, stack and time; `None` for other keys.
pub(super) fn record_of(key: &str) -> Option<(&str, &str, i128)> {
    let (project, rest) = key.strip_prefix(HISTORY)?.split_once('/')?;
    let (stack, file) = rest.split_once('/')?;
    let (time, ending) = file.strip_prefix(stack)?.strip_prefix('-')?.split_once('.')?;
    is_record(ending).then_some((project, stack, time.parse().ok()?))
}

/// Returns the key of the newest copy of a checkpoint.
pub(super) async fn newest_copy(store: &Arc<dyn Store>, name: &StackName) -> Result<Option<String>> {
    let objects = store.list(&name.history()).await?;
    let copies = objects.into_iter().filter_map(|object| {
        let (moment, ending) = parts(name, &object.key)?;
        let is_copy = ending
            .strip_prefix("checkpoint")
            .is_some_and(|form| CHECKPOINT_ENDINGS.contains(&form));
        is_copy.then_some((moment, object.key))
    });
    Ok(copies.max().map(|(_, key)| key))
}

/// Returns the key of the copy of the checkpoint that belongs to a point of the history.
pub(super) async fn copy_at(
    store: &Arc<dyn Store>,
    name: &StackName,
    point: &HistoryPoint,
) -> Result<String> {
    let objects = store.list(&name.history()).await?;
    let mut records: Vec<i128> = objects
        .iter()
        .filter_map(|object| moment(name, &object.key))
        .collect();
    records.sort_unstable();
    let missing = |text: String| {
        Error::new(ErrorKind::NotFound, text).with_hint("history() returns the operations of a stack")
    };
    let count = records.len();
    let found = match point {
        HistoryPoint::Version(version) => {
            let record = version.checked_sub(1).and_then(|index| records.get(index));
            record.ok_or_else(|| match count {
                0 => missing(format!("the history of stack '{name}' is empty")),
                _ => missing(format!(
                    "the history of stack '{name}' has the versions 1 to {count}, and no version {version}"
                )),
            })
        }
        HistoryPoint::Time(time) => {
            let ended = records.partition_point(|record| *record <= time.as_nanosecond());
            let ended = match time.subsec_nanosecond() {
                0 => ended + ended_within(store, &objects, name, *time, &records[ended..]).await?,
                _ => ended,
            };
            let before = ended.checked_sub(1).and_then(|index| records.get(index));
            before.ok_or_else(|| {
                missing(format!(
                    "the history of stack '{name}' has no operation until {time}"
                ))
            })
        }
    }?;
    let copy = objects.iter().find(|object| {
        parts(name, &object.key).is_some_and(|(moment, ending)| {
            let form = ending.strip_prefix("checkpoint");
            moment == *found && form.is_some_and(|form| CHECKPOINT_ENDINGS.contains(&form))
        })
    });
    let copy = copy.map(|object| object.key.clone());
    copy.ok_or_else(|| {
        missing(format!(
            "the history of stack '{name}' has no state for this operation"
        ))
    })
}

/// Returns how many of the operations whose records were written after a time had ended in that second.
async fn ended_within(
    store: &Arc<dyn Store>,
    objects: &[ObjectInfo],
    name: &StackName,
    time: Timestamp,
    later: &[i128],
) -> Result<usize> {
    let mut count = 0;
    for record in later {
        let mut keys = objects.iter().map(|object| object.key.as_str());
        let Some(key) = keys.find(|key| moment(name, key) == Some(*record)) else {
            break;
        };
        let Some(object) = store.get(key).await? else {
            break;
        };
        if parse(key, object.bytes)?.end_time > time.as_second() {
            break;
        }
        count += 1;
    }
    Ok(count)
}

/// Parses the time in `<stack>-<nanoseconds>.history.json`.
fn moment(name: &StackName, key: &str) -> Option<i128> {
    let (moment, ending) = parts(name, key)?;
    is_record(ending).then_some(moment)
}

fn is_record(ending: &str) -> bool {
    matches!(ending, "history.json" | "history.json.gz" | "history.json.zst")
}

/// Splits a key into its time and the rest.
fn parts<'a>(name: &StackName, key: &'a str) -> Option<(i128, &'a str)> {
    let (time, ending) = key
        .strip_prefix(&name.history())?
        .strip_prefix(name.stack())?
        .strip_prefix('-')?
        .split_once('.')?;
    Some((time.parse().ok()?, ending))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        runtime::Runtime,
        store::{
            Condition, Md5Digest, MemoryStore, Object, Version,
            layer::{Layer, Layered},
        },
    };

    /// A store whose stack another host has taken over: it refuses all that this one writes.
    struct TakenOver(MemoryStore);

    impl TakenOver {
        fn refuse<T>() -> Result<T> {
            Err(Error::new(
                ErrorKind::Conflict,
                "another host has taken the stack over",
            ))
        }
    }

    #[async_trait::async_trait]
    impl Layer for TakenOver {
        fn inner(&self) -> &dyn Store {
            &self.0
        }

        async fn get_with_digest(&self, key: &str) -> Result<Option<(Object, Option<Md5Digest>)>> {
            self.0.get_with_digest(key).await
        }

        async fn put(&self, _: &str, _: Bytes, _: Condition) -> Result<Version> {
            Self::refuse()
        }

        async fn put_keeping(&self, _: &str, _: Bytes, _: Condition, _: &str) -> Result<Version> {
            Self::refuse()
        }

        async fn append(&self, _: &str, _: Bytes, _: Condition) -> Result<Version> {
            Self::refuse()
        }

        async fn copy(&self, _: &str, _: &str) -> Result<()> {
            Self::refuse()
        }
    }

    fn entry() -> HistoryEntry {
        HistoryEntry {
            kind: "update".to_owned(),
            start_time: 0,
            message: String::new(),
            environment: BTreeMap::new(),
            config: no_config(),
            version: 0,
            result: "succeeded".to_owned(),
            end_time: 0,
            resource_changes: None,
        }
    }

    #[tokio::test]
    async fn a_host_that_has_lost_its_lease_tries_to_write_a_record_once() {
        let runtime = Runtime::system(tokio::runtime::Handle::current());
        let store: Arc<dyn Store> = Arc::new(Layered(TakenOver(MemoryStore::new(runtime))));
        let name = StackName::new("shop", "dev").unwrap();
        let content = Bytes::from_static(b"{}");
        for checkpoint in [CheckpointCopy::None, CheckpointCopy::Content(&content)] {
            let refused = write(&store, &name, checkpoint, &entry(), Timestamp::UNIX_EPOCH).await;
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::Conflict);
        }
    }

    #[tokio::test]
    async fn records_of_one_nanosecond_stand_beside_each_other() {
        let runtime = Runtime::system(tokio::runtime::Handle::current());
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(runtime));
        let name = StackName::new("shop", "dev").unwrap();
        for _ in 0..2 {
            let none = CheckpointCopy::None;
            write(&store, &name, none, &entry(), Timestamp::UNIX_EPOCH)
                .await
                .unwrap();
        }
        let page = HistoryPage::default();
        assert_eq!(read(&store, &name, page).await.unwrap().len(), 2);
    }

    #[tokio::test]
    async fn a_time_is_that_of_the_last_operation_that_had_ended() {
        let runtime = Runtime::system(tokio::runtime::Handle::current());
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(runtime));
        let name = StackName::new("shop", "dev").unwrap();
        for moment in [1000, 2000] {
            for ending in ["history.json", "checkpoint.json"] {
                let key = format!("{}dev-{moment}.{ending}", name.history());
                store.put(&key, "{}".into(), Condition::Absent).await.unwrap();
            }
        }
        let at = async |nanosecond| {
            let time = Timestamp::from_nanosecond(nanosecond).unwrap();
            let copy = copy_at(&store, &name, &HistoryPoint::Time(time)).await;
            copy.map(|key| key.rsplit('/').next().unwrap_or_default().to_owned())
        };
        assert_eq!(at(999).await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(at(1000).await.unwrap(), "dev-1000.checkpoint.json");
        assert_eq!(at(1999).await.unwrap(), "dev-1000.checkpoint.json");
        assert_eq!(at(2000).await.unwrap(), "dev-2000.checkpoint.json");
        assert_eq!(
            at(i128::from(i64::MAX)).await.unwrap(),
            "dev-2000.checkpoint.json"
        );
    }

    #[tokio::test]
    async fn the_time_that_a_record_has_finds_its_own_state() {
        const SECOND: i128 = 1_000_000_000;
        let runtime = Runtime::system(tokio::runtime::Handle::current());
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(runtime));
        let name = StackName::new("shop", "dev").unwrap();
        // The records have whole seconds; the third one was written in the second after its end.
        for (moment, end) in [
            (10 * SECOND + 1, 10),
            (12 * SECOND + 5, 12),
            (13 * SECOND + 7, 12),
            (13 * SECOND + 9, 13),
        ] {
            let stem = format!("{}dev-{moment}", name.history());
            let record = format!(r#"{{"kind": "update", "endTime": {end}}}"#);
            for (ending, text) in [("history.json", record), ("checkpoint.json", "{}".to_owned())] {
                let key = format!("{stem}.{ending}");
                store.put(&key, text.into(), Condition::Absent).await.unwrap();
            }
        }
        let at = async |nanosecond| {
            let time = Timestamp::from_nanosecond(nanosecond).unwrap();
            let copy = copy_at(&store, &name, &HistoryPoint::Time(time)).await;
            copy.map(|key| moment(&name, &key.replace(".checkpoint.", ".history.")).unwrap())
        };
        assert_eq!(at(9 * SECOND).await.unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(at(10 * SECOND).await.unwrap(), 10 * SECOND + 1);
        assert_eq!(at(12 * SECOND - 1).await.unwrap(), 10 * SECOND + 1);
        assert_eq!(at(12 * SECOND).await.unwrap(), 13 * SECOND + 7);
        assert_eq!(at(13 * SECOND).await.unwrap(), 13 * SECOND + 9);
    }
}
