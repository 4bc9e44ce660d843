//! The tags of a stack, in the file beside its checkpoint.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Map, Value};

use super::StackStorage;
use crate::{
    error::{Error, ErrorKind, Result},
    store::{Condition, Object},
};

/// The limit of attempts to change tags that other writers change as well.
const MAX_WRITE_ATTEMPTS: u32 = 64;
/// The pause before the second of these attempts; later ones are longer by as much.
const WRITE_PAUSE: Duration = Duration::from_millis(1);

/// The tags of a stack.
pub(crate) struct StackTags<'a>(pub(super) &'a StackStorage);

impl StackTags<'_> {
    /// Reads the tags by name.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] when the stack does not exist, [`ErrorKind::State`] when the file is malformed.
    pub(crate) async fn all(&self) -> Result<BTreeMap<String, String>> {
        Ok(self.read().await?.0)
    }

    /// Sets a tag, or removes it; returns whether there was one.
    ///
    /// # Errors
    /// Those of [`Self::all`]; [`ErrorKind::Conflict`] when other writers change them all the time.
    pub(crate) async fn change(&self, name: &str, value: Option<&str>) -> Result<bool> {
        let key = self.0.name.tags();
        for attempt in 1..=MAX_WRITE_ATTEMPTS {
            let (mut tags, object) = self.read().await?;
            let before = match value {
                Some(value) => tags.insert(name.to_owned(), value.to_owned()),
                None => tags.remove(name),
            };
            if before.as_deref() == value {
                return Ok(before.is_some());
            }
            let condition = object.map_or(Condition::Absent, |object| Condition::Match(object.version));
            let bytes = serde_json::to_vec(&tags)
                .map_err(|error| Error::internal(format!("tags are no JSON: {error}")))?;
            match self.0.store.put(&key, bytes.into(), condition).await {
                Err(error) if error.kind() == ErrorKind::Conflict => {
                    self.0.runtime.clock.wait(WRITE_PAUSE * attempt).await;
                }
                written => {
                    written?;
                    self.refuse_gone().await?;
                    return Ok(before.is_some());
                }
            }
        }
        Err(Error::new(
            ErrorKind::Conflict,
            format!(
                "the tags of stack '{}' are changed by others all the time",
                self.0.name
            ),
        ))
    }

    /// Takes tags back that were written after the stack was removed, or had another name.
    async fn refuse_gone(&self) -> Result<()> {
        if self.0.exists().await? {
            return Ok(());
        }
        self.0.store.delete(&self.0.name.tags()).await?;
        Err(self.not_found())
    }

    fn not_found(&self) -> Error {
        let message = format!("no stack named '{}' found", self.0.name);
        Error::new(ErrorKind::NotFound, message)
    }

    async fn read(&self) -> Result<(BTreeMap<String, String>, Option<Object>)> {
        if !self.0.exists().await? {
            return Err(self.not_found());
        }
        let object = self.0.store.get(&self.0.name.tags()).await?;
        let tags = match &object {
            Some(object) => parse(&object.bytes).ok_or_else(|| {
                Error::new(
                    ErrorKind::State,
                    format!("the tags of stack '{}' are malformed", self.0.name),
                )
            })?,
            None => BTreeMap::new(),
        };
        Ok((tags, object))
    }
}

/// Reads the texts by name; `None` for anything else.
fn parse(bytes: &[u8]) -> Option<BTreeMap<String, String>> {
    let members: Map<String, Value> = serde_json::from_slice(bytes).ok()?;
    let texts = members.into_iter().map(|(name, value)| match value {
        Value::String(text) => Some((name, text)),
        _ => None,
    });
    texts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_texts_by_name_are_tags() {
        assert_eq!(
            parse(br#"{"owner":"me"}"#).unwrap(),
            BTreeMap::from([("owner".to_owned(), "me".to_owned())])
        );
        for other in ["", "[]", r#"{"owner":1}"#, r#"{"owner":"m"#] {
            assert!(parse(other.as_bytes()).is_none(), "{other}");
        }
    }
}
