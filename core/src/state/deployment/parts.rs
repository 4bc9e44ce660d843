//! Parallel reading of a large checkpoint: its list of records is split between records, one part for each thread.

use std::{ops::Range, sync::Arc};

use bytes::Bytes;
use serde::Deserialize;

use super::{
    document::WholeCheckpoint,
    interner::Interner,
    record::{RecordFields, RecordsJson},
};
use crate::{resource::ResourceState, runtime::Spawner};

/// The smallest part, in bytes. Smaller ones are not worth a thread.
const MIN_PART_SIZE: usize = 8 << 20;

/// The number of bytes that are searched for the beginning of the list, and for the beginning of a record.
const SEARCH_WINDOW: usize = 1 << 20;

/// The beginning of the list as this engine writes it.
const LIST_START: &[u8] = br#""resources":[{"urn":""#;

/// The text between two records.
///
/// In valid JSON it is never part of a string, in which quotes are escaped. It may occur between nested values; the
/// part before it then ends inside of a record, and does not parse.
const RECORD_SEPARATOR: &[u8] = br#"},{"urn":""#;

/// Reads a checkpoint in as many parts as there are threads. Returns `None` when it is too small for that, or differs
/// from the form that this engine writes: the sequential reader then reports the error.
pub(super) async fn read(text: &Bytes, spawner: &Spawner) -> Option<WholeCheckpoint> {
    read_parts(text, spawner.threads().min(text.len() / MIN_PART_SIZE), spawner).await
}

async fn read_parts(text: &Bytes, count: usize, spawner: &Spawner) -> Option<WholeCheckpoint> {
    let parts = cut(text, count)?;
    let list = parts.first()?.start - 1;
    let works: Vec<_> = parts
        .into_iter()
        .map(|part| {
            let text = text.clone();
            spawner.spawn_blocking(move || records_of(&text, part))
        })
        .collect();
    let mut records = Vec::new();
    let mut end = list;
    for work in works {
        let (part, after) = work.await.ok()??;
        if records.is_empty() {
            records = part;
        } else {
            records.extend(part);
        }
        end = after;
    }
    (text.get(end) == Some(&b']')).then_some(())?;
    without_list(text, list..end + 1, RecordsJson(records))
}

/// Returns the ranges of the parts. Each begins with a record, and all but the last end with one.
fn cut(text: &[u8], count: usize) -> Option<Vec<Range<usize>>> {
    if count < 2 {
        return None;
    }
    let mut start = find(text, 0, LIST_START)? + LIST_START.len() - RECORD_SEPARATOR.len() + 2;
    let size = (text.len() - start) / count;
    let mut parts = Vec::with_capacity(count);
    for _ in 1..count {
        let end = find(text, start + size, RECORD_SEPARATOR)? + 1;
        parts.push(start..end);
        start = end + 1;
    }
    parts.push(start..text.len());
    Some(parts)
}

fn find(text: &[u8], from: usize, what: &[u8]) -> Option<usize> {
    let window = text.get(from..text.len().min(from + SEARCH_WINDOW))?;
    let found = window.windows(what.len()).position(|bytes| bytes == what)?;
    Some(from + found)
}

/// Reads the records of a part, and returns their end: the end of the part, or an earlier position in the last part.
fn records_of(text: &[u8], part: Range<usize>) -> Option<(Vec<Arc<ResourceState>>, usize)> {
    let is_last = part.end == text.len();
    let mut interner = Interner::default();
    let mut records = Vec::new();
    let mut at = part.start;
    loop {
        let mut deserializer = serde_json::Deserializer::from_slice(&text[at..part.end]);
        deserializer.disable_recursion_limit();
        let mut read = deserializer.into_iter::<RecordFields<'_>>();
        let fields = read.next()?.ok()?;
        at += read.byte_offset();
        records.push(Arc::new(
            fields.into_state::<serde_json::Error>(&mut interner).ok()?,
        ));
        if at == part.end || is_last && text[at] != b',' {
            return Some((records, at));
        }
        (text[at] == b',').then_some(())?;
        at += 1;
    }
}

/// The placeholder that is read instead of the list of records. It proves that the list is at its place.
#[derive(Default, Deserialize)]
#[serde(transparent)]
struct Mark<'a>(#[serde(borrow)] &'a str);

/// Reads the document without its list of records, which is replaced by a placeholder.
fn without_list(text: &[u8], list: Range<usize>, records: RecordsJson) -> Option<WholeCheckpoint> {
    let mut around = text[..list.start].to_vec();
    around.extend_from_slice(br#""the records""#);
    around.extend_from_slice(&text[list.end..]);
    let whole = WholeCheckpoint::<Mark<'_>>::read(&around)?;
    // It is the placeholder itself, not an equal text elsewhere.
    let mark = around[list.start + 1..].as_ptr();
    (whole.records()?.0.as_ptr() == mark).then(|| whole.with_records(records))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::{
        secrets::Base64Provider,
        state::deployment::{SecretsAccess, SecretsShown, read_checkpoint, write_checkpoint},
    };

    /// Writes a checkpoint of `count` records, each with these inputs.
    fn checkpoint(count: usize, inputs: &str) -> String {
        let mut records = String::new();
        for number in 0..count {
            write!(
                records,
                r#"{{"urn":"urn:pulumi:dev::shop::shop:index:Box::box-{number}","custom":false,"type":"shop:index:Box","inputs":{inputs}}},"#
            )
            .unwrap();
        }
        let records = records.trim_end_matches(',');
        format!(
            r#"{{"version":3,"checkpoint":{{"stack":"organization/shop/dev","latest":{{"manifest":{{"time":"2026-11-21T03:34:05.5Z","magic":"","version":""}},"resources":[{records}],"metadata":{{}}}}}}}}"#
        )
    }

    async fn in_parts(text: &str, count: usize) -> Option<Vec<u8>> {
        let spawner = Spawner::new(tokio::runtime::Handle::current());
        let whole = read_parts(&Bytes::from(text.to_owned()), count, &spawner).await?;
        let read = whole
            .complete(SecretsAccess::Open(&Base64Provider), true)
            .await
            .unwrap();
        let snapshot = read.snapshot.unwrap();
        Some(
            write_checkpoint(&read.stack, &snapshot, SecretsShown::Encrypted)
                .await
                .unwrap(),
        )
    }

    #[tokio::test]
    async fn parallel_and_sequential_reading_return_the_same_checkpoint() {
        let text = checkpoint(100, r#"{"list":[{"a":1},{"b":2}],"quoted":"},{\"urn\":\""}"#);
        let read = read_checkpoint(text.as_bytes(), SecretsAccess::Sealed, true)
            .await
            .unwrap();
        let whole = write_checkpoint(&read.stack, &read.snapshot.unwrap(), SecretsShown::Sealed).await;
        assert_eq!(whole.unwrap(), text.as_bytes());
        for count in 2..7 {
            assert_eq!(in_parts(&text, count).await.unwrap(), text.as_bytes(), "{count}");
        }
        assert!(in_parts(&text, 1).await.is_none());
    }

    #[tokio::test]
    async fn a_cut_inside_of_a_record_is_left_to_the_sequential_reader() {
        let text = checkpoint(
            1,
            r#"{"list":[{"urn":"a"},{"urn":"b"},{"urn":"c"},{"urn":"d"},{"urn":"e"}]}"#,
        );
        assert!(cut(text.as_bytes(), 2).is_some());
        assert!(in_parts(&text, 2).await.is_none());
    }

    #[tokio::test]
    async fn a_list_of_that_name_elsewhere_is_not_read_as_the_records() {
        let text = checkpoint(20, "{}").replace(r#""manifest""#, r#""other":{"resources":[]},"manifest""#);
        assert!(in_parts(&text, 2).await.is_some());
        let records = r#""resources":[{"urn":"a"},{"urn":"b"},{"urn":"c"}]"#;
        let other = format!(r#""other":{{{records}}},"manifest""#);
        assert!(
            in_parts(&text.replace(r#""manifest""#, &other), 2)
                .await
                .is_none()
        );
    }

    #[tokio::test]
    async fn damage_and_other_layouts_are_left_to_the_sequential_reader() {
        let text = checkpoint(20, "{}");
        for damaged in [
            text.replace("},{", "}, {"),
            text.replace("box-19\"", "box-19"),
            text.replace("}],\"metadata", "},\"metadata"),
            text.replace("\"urn\":\"urn:pulumi:dev::shop::shop:index:Box::box-3\",", ""),
            text.replace("box-17", "box-17\n"),
            format!("{text}}}"),
        ] {
            assert!(in_parts(&damaged, 2).await.is_none(), "{damaged}");
        }
    }
}
