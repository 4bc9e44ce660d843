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
    match objects.get(KEY).await? {
        Some(object) if object.bytes == content => return Ok(()),
        Some(_) => objects.delete(KEY).await?,
        None => {}
    }
    // Only its presence is checked until both conditions are known to hold.
    let unchecked = Bytes::from_static(b"unchecked");
    match objects.put(KEY, unchecked.clone(), Condition::Absent).await {
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
