//! The check that a server honours the conditions of writes: without them two hosts could commit at once.

use bytes::Bytes;

use super::{Condition, Objects};
use crate::error::{Error, ErrorKind, Result};

/// The object whose presence shows that the server was checked. It contains the store's URL: a copy of the bucket elsewhere is checked again.
const KEY: &str = ".pulumi/leases/checked";

/// Checks the server, unless that was done before: creates an object twice, and replaces it by a wrong version.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] when the server ignores a condition, and those of the requests.
pub(super) async fn check(objects: &dyn Objects) -> Result<()> {
    let content = Bytes::copy_from_slice(objects.url().as_bytes());
    // Only its presence is checked until both conditions are known to hold. It is never absent from here on: a removal would let
    // the second creation of another host that checks at the same time succeed.
    let begin = match objects.get(KEY).await? {
        Some(object) if object.bytes == content => return Ok(()),
        Some(object) => Condition::Match(object.version),
        None => Condition::Absent,
    };
    let unchecked = Bytes::from_static(b"unchecked");
    match objects.put(KEY, unchecked.clone(), begin).await {
        Err(error) if error.kind() != ErrorKind::Conflict => return Err(error),
        // Another host checks at the same time.
        Ok(_) | Err(_) => {}
    }
    refused(objects, unchecked.clone(), Condition::Absent, "If-None-Match").await?;
    refused(
        objects,
        unchecked,
        Condition::Match(objects.wrong_version()),
        "If-Match",
    )
    .await?;
    objects.put(KEY, content, Condition::Any).await.map(drop)
}

async fn refused(objects: &dyn Objects, bytes: Bytes, condition: Condition, name: &str) -> Result<()> {
    match objects.put(KEY, bytes, condition).await {
        Err(error) if error.kind() == ErrorKind::Conflict => Ok(()),
        Err(error) => Err(error),
        Ok(_) => {
            objects.delete(KEY).await?;
            let text = format!(
                "the server of {} ignores the condition {name} of writes: two hosts could change a stack at once",
                objects.url()
            );
            Err(Error::invalid(text)
                .with_hint("use a server that honours it, or allow the store to be used without this protection (`allow_unfenced`)"))
        }
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;

    use super::*;
    use crate::{
        runtime::Runtime,
        store::{MemoryStore, Object, ObjectInfo, Store as _, Version},
    };

    /// A bucket, as a host sees it that waits for a number of turns before each request.
    struct Paced {
        store: MemoryStore,
        turns: usize,
    }

    impl Paced {
        async fn wait(&self) {
            for _ in 0..self.turns {
                tokio::task::yield_now().await;
            }
        }
    }

    #[async_trait]
    impl Objects for Paced {
        fn url(&self) -> String {
            "s3://state".to_owned()
        }

        async fn get(&self, key: &str) -> Result<Option<Object>> {
            self.wait().await;
            self.store.get(key).await
        }

        async fn put(&self, key: &str, bytes: Bytes, condition: Condition) -> Result<Version> {
            self.wait().await;
            self.store.put(key, bytes, condition).await
        }

        async fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>> {
            self.store.list(prefix).await
        }

        async fn delete(&self, key: &str) -> Result<()> {
            self.wait().await;
            self.store.delete(key).await
        }
    }

    #[tokio::test]
    async fn hosts_that_check_a_server_at_the_same_time_all_accept_it() {
        let runtime = Runtime::system(tokio::runtime::Handle::current());
        for before in [None, Some("unchecked"), Some("s3://elsewhere")] {
            for (first, second, third) in (0..64).map(|n| (n / 16, n / 4 % 4, n % 4)) {
                let store = MemoryStore::new(runtime.clone());
                if let Some(before) = before {
                    store.put(KEY, before.into(), Condition::Absent).await.unwrap();
                }
                let host = |turns| Paced {
                    store: store.clone(),
                    turns,
                };
                let hosts = [host(first), host(second), host(third)];
                let checked = futures::future::join_all(hosts.iter().map(|host| check(host))).await;
                for checked in checked {
                    checked.unwrap();
                }
                let mark = store.get(KEY).await.unwrap().unwrap();
                assert_eq!(mark.bytes, "s3://state");
            }
        }
    }
}
