//! The tags of a stack that are kept with it, where the reference engine keeps them.

use std::collections::BTreeMap;

use super::Stack;
use crate::error::Result;

impl Stack {
    /// Returns the tags that are kept with the stack, by name. Those of [`crate::StackSettings::tags`] are not among them.
    ///
    /// # Errors
    /// [`crate::ErrorKind::NotFound`] when the stack does not exist; the errors of the store.
    ///
    /// # Cancel safety
    /// Cancel safe: it only reads.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, StackSettings, operation::OperationOptions, runtime::Runtime};
    /// # use stackwright::{secrets::Base64Provider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    /// # let builder = Engine::builder(Handle::current()).store(store);
    /// # let engine = builder.secrets(Arc::new(Base64Provider)).build()?;
    /// # let stack = engine.create_stack("shop/dev", StackSettings::default()).await?;
    /// stack.set_tag("owner", "payments").await?;
    /// assert_eq!(stack.list_tags().await?["owner"], "payments");
    /// assert!(stack.remove_tag("owner").await?);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn list_tags(&self) -> Result<BTreeMap<String, String>> {
        let tags = self.context.storage.tags().all().await;
        self.explained(tags).await
    }

    /// Sets a tag that is kept with the stack. As in the reference engine, any name and any value are taken.
    ///
    /// # Errors
    /// Those of [`Self::list_tags`].
    ///
    /// # Cancel safety
    /// A dropped future leaves the old tags or the new ones.
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, StackSettings, runtime::Runtime, secrets::Base64Provider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    /// # let engine = Engine::builder(Handle::current()).store(store).secrets(Arc::new(Base64Provider)).build()?;
    /// # let stack = engine.create_stack("shop/dev", StackSettings::default()).await?;
    /// stack.set_tag("owner", "payments").await?;
    /// assert_eq!(stack.list_tags().await?["owner"], "payments");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn set_tag(&self, name: &str, value: &str) -> Result<()> {
        let changed = self.context.storage.tags().change(name, Some(value)).await;
        self.explained(changed).await.map(drop)
    }

    /// Removes a tag; returns whether there was one.
    ///
    /// # Errors
    /// Those of [`Self::list_tags`].
    ///
    /// # Cancel safety
    /// That of [`Self::set_tag`].
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, StackSettings, runtime::Runtime, secrets::Base64Provider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    /// # let engine = Engine::builder(Handle::current()).store(store).secrets(Arc::new(Base64Provider)).build()?;
    /// # let stack = engine.create_stack("shop/dev", StackSettings::default()).await?;
    /// stack.set_tag("owner", "payments").await?;
    /// assert!(stack.remove_tag("owner").await?);
    /// assert!(!stack.remove_tag("owner").await?, "it is gone");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn remove_tag(&self, name: &str) -> Result<bool> {
        let changed = self.context.storage.tags().change(name, None).await;
        self.explained(changed).await
    }
}
