//! Summaries of a store's stacks: the last operation, the lock and the size of each, without their states.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use rustc_hash::FxHashMap;
use serde::{Deserialize, de::IgnoredAny};

use super::list::check_layout;
use crate::{
    error::{Error, ErrorKind, Result},
    runtime::{Runtime, Timestamp},
    store::{
        HostFacts, LockHolder, ObjectInfo, StackName, Store,
        compression::expand,
        history,
        layout::{HISTORY, LOCKS, ORGANIZATION, STACKS},
    },
};

/// How many files are read at a time.
const MAX_CONCURRENT_READS: usize = 64;

/// A stack of a store, as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackSummary {
    /// The name.
    pub name: StackName,
    /// The newest operation in the stack's history, of any kind; `None` when there is none.
    pub last_update: Option<LastUpdate>,
    /// When the checkpoint was last written, also by an operation that still runs.
    pub modified: Timestamp,
    /// The holder of the lock; `None` when there is no lock, or the next operation replaces it because its
    /// process has ended.
    pub lock: Option<LockHolder>,
    /// The number of records in the checkpoint, with the stack itself, providers and old copies; `None` when the count was
    /// not requested, or the checkpoint cannot be read. Of an operation that runs, it has what was recorded until the last
    /// write of the checkpoint.
    pub resource_count: Option<usize>,
    /// What cannot be read of the stack: each names the file and the reason.
    pub problems: Vec<String>,
}

/// The last operation on a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastUpdate {
    /// The kind: `update`, `refresh`, `destroy`, `import`, `resource-import`…
    pub kind: String,
    /// The result: `succeeded`, `failed` or `in-progress`.
    pub result: String,
    /// The note of the user.
    pub message: String,
    /// When it began, to the second.
    pub started: Timestamp,
    /// When it ended, to the second; of one that was interrupted (`in-progress`), when that was found.
    pub ended: Timestamp,
}

/// The part of a checkpoint that is counted, of any version.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Counted {
    checkpoint: Option<CountedCheckpoint>,
    latest: Option<CountedDeployment>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CountedCheckpoint {
    latest: Option<CountedDeployment>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CountedDeployment {
    resources: Option<Vec<IgnoredAny>>,
}

/// Returns the stacks of a project, or of all, in the order of their names. Checkpoints are only read when records are to
/// be counted.
///
/// # Errors
/// Those of listings of the store, and [`ErrorKind::State`] when the store has an unknown layout.
pub(crate) async fn summarize_stacks(
    store: &Arc<dyn Store>,
    facts: &HostFacts,
    runtime: &Runtime,
    project: Option<&str>,
    counts_resources: bool,
) -> Result<Vec<StackSummary>> {
    check_layout(store).await?;
    let below = |prefix: &str| match project {
        Some(project) => format!("{prefix}{project}/"),
        None => prefix.to_owned(),
    };
    let locks = format!("{LOCKS}{ORGANIZATION}/");
    let (checkpoints, records, locks) = (below(STACKS), below(HISTORY), below(&locks));
    let (checkpoints, records, locks) =
        futures::try_join!(store.list(&checkpoints), store.list(&records), store.list(&locks))?;
    let checkpoints = newest_checkpoints(checkpoints);
    let records = newest_records(records);
    let locks = holders(store, locks, facts).await?;
    let reads: Vec<_> = checkpoints
        .into_iter()
        .map(|(name, checkpoint)| {
            let record = records.get(&(name.project().to_owned(), name.stack().to_owned()));
            let lock = locks.get(&name).cloned();
            async move {
                let mut problems = Vec::new();
                let mut note = |error: Error| problems.push(error.message().to_owned());
                let last_update = match record {
                    Some((_, key)) => last_update(store, key).await.unwrap_or_else(|error| {
                        note(error);
                        None
                    }),
                    None => None,
                };
                let resource_count = match counts_resources {
                    true => count(store, runtime, &checkpoint.key)
                        .await
                        .unwrap_or_else(|error| {
                            note(error);
                            None
                        }),
                    false => None,
                };
                StackSummary {
                    name,
                    last_update,
                    modified: checkpoint.modified,
                    lock,
                    resource_count,
                    problems,
                }
            }
        })
        .collect();
    Ok(stream::iter(reads).buffered(MAX_CONCURRENT_READS).collect().await)
}

/// Returns the checkpoint of each stack: of several forms the one written last, and of equally old ones the first.
fn newest_checkpoints(objects: Vec<ObjectInfo>) -> BTreeMap<StackName, ObjectInfo> {
    let mut newest: BTreeMap<StackName, ObjectInfo> = BTreeMap::new();
    for object in objects {
        let Some(name) = StackName::of_checkpoint(&object.key) else {
            continue;
        };
        match newest.get(&name) {
            Some(known) if known.modified >= object.modified => {}
            _ => {
                newest.insert(name, object);
            }
        }
    }
    newest
}

/// Returns the time and the key of the newest history record, by project and stack.
fn newest_records(objects: Vec<ObjectInfo>) -> FxHashMap<(String, String), (i128, String)> {
    let mut newest: FxHashMap<(String, String), (i128, String)> = FxHashMap::default();
    for ObjectInfo { key, .. } in objects {
        let Some((project, stack, time)) = history::record_of(&key) else {
            continue;
        };
        let stack = (project.to_owned(), stack.to_owned());
        match newest.get(&stack) {
            Some((known, _)) if *known >= time => {}
            _ => {
                newest.insert(stack, (time, key));
            }
        }
    }
    newest
}

/// Returns the holder of each locked stack: of several the one that is known to run.
async fn holders(
    store: &Arc<dyn Store>,
    objects: Vec<ObjectInfo>,
    facts: &HostFacts,
) -> Result<BTreeMap<StackName, LockHolder>> {
    let mut holders: BTreeMap<StackName, LockHolder> = BTreeMap::new();
    for ObjectInfo { key, .. } in objects {
        let mut parts = key.rsplit('/');
        let (file, stack, project) = (parts.next(), parts.next(), parts.next());
        let (Some(stack), Some(project)) = (stack, project) else {
            continue;
        };
        let Ok(name) = StackName::new(project, stack) else {
            continue;
        };
        if !file.is_some_and(|file| file.ends_with(".json")) {
            continue;
        }
        // A missing one was just released.
        let Some(object) = store.get(&key).await? else {
            continue;
        };
        let Some(holder) = LockHolder::of_file(&object.bytes, facts) else {
            continue;
        };
        match holders.get(&name) {
            Some(known) if known.is_running || !holder.is_running => {}
            _ => {
                holders.insert(name, holder);
            }
        }
    }
    Ok(holders)
}

/// Reads the operation of a history record; `None` when the record was removed meanwhile.
async fn last_update(store: &Arc<dyn Store>, key: &str) -> Result<Option<LastUpdate>> {
    let Some(object) = store.get(key).await? else {
        return Ok(None);
    };
    let entry = history::parse(key, object.bytes)?;
    let time = |seconds: i64| {
        Timestamp::from_second(seconds).map_err(|error| {
            let text = format!("the history record {key} has a wrong time: {error}");
            Error::new(ErrorKind::State, text)
        })
    };
    Ok(Some(LastUpdate {
        started: time(entry.start_time)?,
        ended: time(entry.end_time)?,
        kind: entry.kind,
        result: entry.result,
        message: entry.message,
    }))
}

/// Counts the records of a checkpoint; `None` when it was removed meanwhile.
async fn count(store: &Arc<dyn Store>, runtime: &Runtime, key: &str) -> Result<Option<usize>> {
    let Some(object) = store.get(key).await? else {
        return Ok(None);
    };
    let name = key.to_owned();
    let counted = runtime
        .spawner
        .spawn_blocking(move || count_records(&name, object.bytes));
    counted.await?.map(Some)
}

fn count_records(key: &str, bytes: Bytes) -> Result<usize> {
    let counted: Counted = serde_json::from_slice(&expand(key, bytes)?).map_err(|error| {
        Error::new(
            ErrorKind::State,
            format!("the checkpoint {key} cannot be read: {error}"),
        )
    })?;
    let latest = counted.checkpoint.and_then(|checkpoint| checkpoint.latest);
    let latest = latest.or(counted.latest);
    let resources = latest.and_then(|deployment| deployment.resources);
    Ok(resources.map_or(0, |resources| resources.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(key: &str, second: i64) -> ObjectInfo {
        ObjectInfo {
            key: key.to_owned(),
            size: 0,
            modified: Timestamp::from_second(second).unwrap(),
        }
    }

    #[test]
    fn of_several_forms_of_a_checkpoint_the_newest_counts() {
        let newest = newest_checkpoints(vec![
            object(".pulumi/stacks/shop/a.json", 1),
            object(".pulumi/stacks/shop/a.json.bak", 9),
            object(".pulumi/stacks/shop/a.json.gz", 2),
            object(".pulumi/stacks/shop/b.json", 1),
            object(".pulumi/stacks/shop/b.json.zst", 1),
        ]);
        let keys: Vec<_> = newest.values().map(|object| object.key.as_str()).collect();
        assert_eq!(
            keys,
            [".pulumi/stacks/shop/a.json.gz", ".pulumi/stacks/shop/b.json"]
        );
    }

    #[test]
    fn the_newest_record_of_each_stack_is_known_by_its_name() {
        let newest = newest_records(vec![
            object(".pulumi/history/shop/a/a-9.history.json", 0),
            object(".pulumi/history/shop/a/a-10.history.json.gz", 0),
            object(".pulumi/history/shop/a/a-11.checkpoint.json", 0),
            object(".pulumi/history/shop/a-1/a-1-5.history.json", 0),
            object(".pulumi/history/other/a/b-12.history.json", 0),
        ]);
        let of = |stack: &str| {
            let found = newest.get(&("shop".to_owned(), stack.to_owned()));
            found.map(|(time, _)| *time)
        };
        assert_eq!((of("a"), of("a-1"), newest.len()), (Some(10), Some(5), 2));
    }

    #[test]
    fn records_of_every_version_are_counted() {
        for (text, expected) in [
            (
                r#"{"version": 3, "checkpoint": {"stack": "s", "latest": {"resources": [{}, {}]}}}"#,
                2,
            ),
            (r#"{"version": 3, "checkpoint": {"stack": "s"}}"#, 0),
            (r#"{"stack": "s", "latest": {"resources": [{}]}}"#, 1),
            (r#"{"checkpoint": {"latest": null}}"#, 0),
        ] {
            assert_eq!(count_records("a.json", text.into()).unwrap(), expected, "{text}");
        }
        let error = count_records("a.json", "{".into()).unwrap_err();
        assert!(
            error
                .message()
                .starts_with("the checkpoint a.json cannot be read")
        );
    }
}
