//! The recorded state of a stack: reading, exchange with documents, history, removal.

use super::Stack;
use crate::{
    error::Result,
    operation::{AnalysisOptions, PolicyAnalysis, analyze, replace_by_import},
    property::PropertyMap,
    state::{Snapshot, edit::EditReport},
    store::{LockOwner, remove_stack},
};

impl Stack {
    /// Returns the state after the last operation; the journal of a crashed one is applied.
    ///
    /// # Errors
    /// The errors of the store and of the secrets provider.
    ///
    /// # Cancel safety
    /// A dropped future leaves a journal that a crash left to the next call, or has made it the checkpoint.
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
    /// assert!(stack.snapshot().await?.resources.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn snapshot(&self) -> Result<Snapshot> {
        let loaded = self.context.storage.load(&*self.context.secrets).await;
        Ok(self.explained(loaded).await?.snapshot)
    }

    /// Adds hints to the error for a stack that does not exist.
    pub(super) async fn explained<T>(&self, result: Result<T>) -> Result<T> {
        match result {
            Err(error) => Err(self.context.explained(error).await),
            read => read,
        }
    }

    /// Analyzes the recorded state with policy packs, without a program: each resource by its inputs, then all resources
    /// by their outputs. Remediating policies rewrite nothing; what they would have to rewrite is found by their checks
    /// only. The state and its locks stay as they are, also while an operation runs.
    ///
    /// # Errors
    /// Those of [`Self::snapshot`]; [`crate::ErrorKind::Plugin`] for a pack that cannot be used, and
    /// [`crate::ErrorKind::Failed`] for one that fails. A violation is no error.
    ///
    /// # Cancel safety
    /// Cancel safe: it only reads. The processes of packs end with the future.
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
    /// use stackwright::{operation::AnalysisOptions, policy::{Policy, PolicyPack}};
    /// let few = Policy::from_stack_check("few", |stack| async move {
    ///     Ok(if stack.resources.len() > 100 { vec!["too many resources".into()] } else { vec![] })
    /// });
    /// let analysis = stack.analyze(&AnalysisOptions::new([PolicyPack::new("guard", [few])])).await?;
    /// assert!(analysis.violations.is_empty() && analysis.passed());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn analyze(&self, options: &AnalysisOptions) -> Result<PolicyAnalysis> {
        let analyzed = analyze(&self.context, options).await;
        self.explained(analyzed).await
    }

    /// Returns the stack's outputs.
    ///
    /// # Errors
    /// Those of [`Self::snapshot`].
    ///
    /// # Cancel safety
    /// That of [`Self::snapshot`].
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
    /// assert!(stack.outputs().await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn outputs(&self) -> Result<PropertyMap> {
        Ok(self.snapshot().await?.stack_outputs())
    }

    /// Returns the state as a deployment document; secrets stay encrypted unless `show_secrets` is set.
    ///
    /// # Errors
    /// Those of [`Self::snapshot`].
    ///
    /// # Cancel safety
    /// That of [`Self::snapshot`].
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
    /// let document = stack.export_deployment(false).await?;
    /// assert!(document.starts_with(b"{"));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn export_deployment(&self, show_secrets: bool) -> Result<Vec<u8>> {
        let secrets = &*self.context.secrets;
        let exported = self.context.storage.export(secrets, show_secrets).await;
        self.explained(exported).await
    }

    /// Replaces the state by a deployment document, and returns what it did. URNs that name another project are a warning. Pending
    /// operations of the document become those of the state, each with a warning.
    ///
    /// # Errors
    /// [`crate::ErrorKind::State`] for a malformed document, an invalid state or one of another stack,
    /// [`crate::ErrorKind::Conflict`] while an operation runs. The state is then unchanged.
    ///
    /// # Cancel safety
    /// A dropped future leaves the old state or the new one, never a part of it; the lock is released in the background.
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
    /// let document = stack.export_deployment(false).await?;
    /// stack.import_deployment(&document).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn import_deployment(&self, document: &[u8]) -> Result<EditReport> {
        self.import_deployment_with(document, false, false).await
    }

    /// Replaces the state by a deployment document, as [`Self::import_deployment`] does. With `force`, a state that is invalid or
    /// whose URNs name another stack is accepted, with warnings. With `dry_run`, nothing is written.
    ///
    /// # Errors
    /// Those of [`Self::import_deployment`].
    ///
    /// # Cancel safety
    /// That of [`Self::import_deployment`].
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
    /// let document = stack.export_deployment(false).await?;
    /// let other = engine.create_stack("shop/other", StackSettings::default()).await?;
    /// let report = other.import_deployment_with(&document, true, true).await?;
    /// assert!(report.dry_run);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn import_deployment_with(
        &self,
        document: &[u8],
        force: bool,
        dry_run: bool,
    ) -> Result<EditReport> {
        let imported = replace_by_import(&self.context, document, force, dry_run).await;
        self.explained(imported).await
    }

    /// Returns the history, newest entry first, as JSON documents. A stack with a host-supplied state has none. The `version` of an
    /// entry is the number by which [`Self::restore`] takes it, counted from 1, the oldest.
    ///
    /// # Errors
    /// The errors of the store.
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
    /// stack.destroy(OperationOptions::default()).wait().await;
    /// assert_eq!(stack.history().await?[0]["kind"], "destroy");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn history(&self) -> Result<Vec<serde_json::Value>> {
        self.history_page(None, 1).await
    }

    /// Removes the stack and its history. A stack with resources is only removed with `force`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Conflict`] when it has resources or an operation runs.
    ///
    /// # Cancel safety
    /// A dropped future may leave history entries of a removed stack, which a new stack of the same name then has.
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
    /// stack.remove(false).await?;
    /// assert!(engine.stacks(None, false).await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn remove(&self, force: bool) -> Result<()> {
        let removed = remove_stack(&self.context.storage, force).await;
        self.explained(removed).await
    }

    /// Removes every lock of the stack, for locks of crashed hosts, and returns their number. A running operation that
    /// held one continues without protection. In a bucket or a database the lease of an operation that has ended is freed as well, after it
    /// was not renewed for its length where nothing else shows that; that of an operation that runs stays.
    ///
    /// # Errors
    /// [`crate::ErrorKind::NotFound`] for a stack that was renamed or removed; the errors of the store.
    ///
    /// # Cancel safety
    /// A dropped future may leave some locks; a further call removes them.
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
    /// assert_eq!(stack.unlock().await?, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn unlock(&self) -> Result<usize> {
        self.removed_locks(self.context.storage.break_locks().await?)
            .await
    }

    /// Removes the locks of one owner, and returns how many there were: `user@host`, or `user@host:process`, as the error of a locked
    /// stack names it. In a bucket or a database the owner loses its lease as well, so that an operation which still runs writes no
    /// more. In a folder, an operation that still runs keeps its lock.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] when `owner` is neither; [`crate::ErrorKind::Conflict`], which names the
    /// holders, when only others hold the stack; [`crate::ErrorKind::NotFound`] for a stack that was renamed or
    /// removed; the errors of the store.
    ///
    /// # Cancel safety
    /// That of [`Self::unlock`].
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
    /// assert_eq!(stack.break_lock("ann@build-7").await?, 0);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn break_lock(&self, owner: &str) -> Result<usize> {
        let owner = LockOwner::parse(owner)?;
        self.removed_locks(self.context.storage.break_locks_of(&owner).await?)
            .await
    }

    /// Refuses a stack that does not exist, unless it had locks.
    async fn removed_locks(&self, count: usize) -> Result<usize> {
        if count == 0 {
            self.context.require_existing().await?;
        }
        Ok(count)
    }
}
