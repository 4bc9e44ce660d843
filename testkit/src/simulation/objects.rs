//! The objects of the world's bucket. As in S3, the version of an object is a hash of its content: equal contents have equal versions.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use bytes::Bytes;
use stackwright::{
    Error, ErrorKind, Result,
    store::{Condition, MemoryStore, Object, Store as _, Version},
};

fn version_of(bytes: &Bytes) -> Version {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{:016x}", hasher.finish()).into()
}

/// Reads an object.
pub(super) async fn get(store: &MemoryStore, key: &str) -> Result<Option<Object>> {
    let found = store.get(key).await?;
    Ok(found.map(|object| Object {
        version: version_of(&object.bytes),
        ..object
    }))
}

/// Replaces an object. Nothing else runs between the comparison and the write.
pub(super) async fn put(
    store: &MemoryStore,
    key: &str,
    bytes: Bytes,
    condition: Condition,
) -> Result<Version> {
    let condition = match &condition {
        Condition::Match(expected) => match store.get(key).await? {
            Some(found) if version_of(&found.bytes) == *expected => Condition::Match(found.version),
            _ => {
                let text = format!("the object {key:?} was changed by another writer");
                return Err(Error::new(ErrorKind::Conflict, text));
            }
        },
        Condition::Any | Condition::Absent => condition,
    };
    let version = version_of(&bytes);
    store.put(key, bytes, condition).await?;
    Ok(version)
}
