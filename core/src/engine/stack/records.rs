//! The recorded resources of a stack, its pending operations and its history: reading without a program.

use std::sync::Arc;

use super::Stack;
use crate::{
    error::{Error, ErrorKind, Result},
    message::{Text, nearest_urns, unknown_record},
    operation::{Adoption, Operation, OperationKind, OperationOptions, PendingWork, Work, forget_pending},
    picture::Picture,
    resource::ResourceState,
    state::{PendingEntry, ResourceGraph, Snapshot},
    store::{HistoryPage, LoadedStack},
    urn::Urn,
};

/// How many URNs an error names that are similar to an unknown one.
const MAX_NEAREST: usize = 3;

impl Stack {
    /// Returns the records of all resources, each after those that it refers to.
    ///
    /// While an operation runs, that is the state as it was recorded when it was read: a step counts once it has ended.
    ///
    /// # Errors
    /// Those of [`Self::snapshot`].
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
    /// for resource in stack.resources().await? {
    ///     println!("{} has the id {}", resource.urn, resource.id);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn resources(&self) -> Result<Vec<Arc<ResourceState>>> {
        Ok(self.loaded().await?.snapshot.resources)
    }

    /// Returns the record of a URN: the one in use, or an old copy that waits for its deletion when there is no other.
    ///
    /// # Errors
    /// Those of [`Self::snapshot`]; [`ErrorKind::NotFound`] when there is none, with the most similar URNs as hints.
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
    /// let urn = "urn:pulumi:dev::shop::notes:index:Note::first";
    /// let error = stack.resource(urn).await.unwrap_err();
    /// assert_eq!(error.kind().name(), "not_found");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn resource(&self, urn: &str) -> Result<Arc<ResourceState>> {
        let records = self.resources().await?;
        let found = || records.iter().filter(|record| record.urn.as_str() == urn);
        let live = found().find(|record| !record.delete);
        if let Some(record) = live.or_else(|| found().next()) {
            return Ok(Arc::clone(record));
        }
        let known = records.iter().map(|record| record.urn.as_str());
        let near = nearest_urns(urn, known, MAX_NEAREST);
        let library = format!("the stack '{}' has no resource with the URN '{urn}'", self.name());
        let text = Text::pair(unknown_record(urn, &near), library);
        let named = Urn::parse(urn).ok();
        let error = Error::new(ErrorKind::NotFound, text);
        let error = named.into_iter().fold(error, Error::with_urn);
        Err(near.into_iter().fold(error, |error, near| {
            error.with_hint(format!("did you mean '{near}'?"))
        }))
    }

    /// Returns the records of all resources, with the references between them.
    ///
    /// # Errors
    /// Those of [`Self::snapshot`].
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
    /// let graph = stack.graph().await?;
    /// for edge in &graph.edges {
    ///     let (source, target) = (&graph.nodes[edge.source], &graph.nodes[edge.target]);
    ///     println!("{} -> {} ({:?})", source.urn, target.urn, edge.kind);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn graph(&self) -> Result<ResourceGraph> {
        Ok(ResourceGraph::new(self.resources().await?))
    }

    /// Returns the resources, to be drawn.
    ///
    /// # Errors
    /// Those of [`Self::snapshot`].
    ///
    /// # Cancel safety
    /// Cancel safe: it only reads.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, StackSettings, runtime::Runtime};
    /// # use stackwright::{secrets::Base64Provider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let store = Arc::new(MemoryStore::new(Runtime::system(Handle::current())));
    /// # let builder = Engine::builder(Handle::current()).store(store);
    /// # let engine = builder.secrets(Arc::new(Base64Provider)).build()?;
    /// # let stack = engine.create_stack("shop/dev", StackSettings::default()).await?;
    /// let page = stack.picture().await?.to_html();
    /// assert!(page.contains("<title>shop/dev</title>"));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn picture(&self) -> Result<Picture> {
        Ok(Picture::of_state(
            self.name().to_string(),
            &self.snapshot().await?,
        ))
    }

    /// Returns a page of the history, newest entry first, as JSON documents; other entries are not read. Pages have `limit`
    /// entries and are counted from 1; without a limit, the first page has all entries.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`] for a page or a limit of 0; [`ErrorKind::NotFound`] for a stack that was renamed or removed; the
    /// errors of the store.
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
    /// stack.refresh(OperationOptions::default()).wait().await;
    /// stack.destroy(OperationOptions::default()).wait().await;
    /// assert_eq!(stack.history_page(Some(1), 1).await?[0]["kind"], "destroy");
    /// assert_eq!(stack.history_page(Some(1), 2).await?[0]["kind"], "refresh");
    /// assert!(stack.history_page(Some(1), 3).await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn history_page(&self, limit: Option<usize>, page: usize) -> Result<Vec<serde_json::Value>> {
        for (name, number) in [("page", Some(page)), ("limit", limit)] {
            if number == Some(0) {
                return Err(Error::invalid(format!("{name} takes a number above 0, not 0")));
            }
        }
        let skip = (page - 1).saturating_mul(limit.unwrap_or(usize::MAX));
        let page = HistoryPage { skip, limit };
        let entries = self.context.storage.history_page(page).await?;
        if entries.is_empty() {
            self.context.require_existing().await?;
        }
        let written = entries.iter().map(serde_json::to_value);
        let written = written.collect::<std::result::Result<_, _>>();
        written.map_err(|error| Error::internal(format!("a history record is no JSON: {error}")))
    }

    /// Returns the pending operations: what an interrupted run has begun, and whose outcome is not known.
    ///
    /// While an operation runs, its steps in flight are among them, as [`PendingEntry::in_progress`].
    ///
    /// # Errors
    /// Those of [`Self::snapshot`].
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
    /// for entry in stack.pending().await? {
    ///     println!("{}: {} {}", entry.id, entry.kind(), entry.operation.resource.urn);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn pending(&self) -> Result<Vec<PendingEntry>> {
        let loaded = self.loaded().await?;
        let Snapshot {
            pending_operations,
            resources,
            ..
        } = &loaded.snapshot;
        Ok(PendingEntry::all(
            pending_operations,
            resources,
            loaded.holder.is_some(),
        ))
    }

    /// Records the resource of a pending operation: its provider reads it, and the operation is no longer pending.
    ///
    /// A resource that is recorded already with that id is not read again after an interrupted creation. Without
    /// [`Adoption::replace`], the record of another resource with the same URN fails the operation with
    /// [`ErrorKind::Conflict`]; an unknown pending operation, with [`ErrorKind::NotFound`].
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
    /// use stackwright::operation::Adoption;
    /// let adoption = Adoption {
    ///     pending: "0123456789abcdef".to_owned(),
    ///     resource_id: Some("note-1".to_owned()),
    ///     replace: false,
    /// };
    /// let result = stack.adopt_pending(adoption, OperationOptions::default()).wait().await;
    /// assert_eq!(result.error.as_ref().unwrap().kind().name(), "not_found");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn adopt_pending(&self, adoption: Adoption, options: OperationOptions) -> Operation {
        let pending = PendingWork::adopting(adoption, false);
        self.begin(OperationKind::Adopt, options, of_pending(pending))
    }

    /// Reads the resource of a pending operation without recording it; `None` when it does not exist. `resource_id` is its
    /// id, where the pending operation has none.
    ///
    /// # Errors
    /// Those of [`Self::snapshot`]; [`ErrorKind::NotFound`] without such an operation, [`ErrorKind::InvalidInput`] when the id of
    /// the resource is not known, and the errors of the provider.
    ///
    /// # Cancel safety
    /// A dropped future lets a read in progress end in the background.
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
    /// for entry in stack.pending().await? {
    ///     let resource = stack.read_pending(&entry.id, None).await?;
    ///     println!("{} exists: {}", entry.operation.resource.urn, resource.is_some());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn read_pending(
        &self,
        id: &str,
        resource_id: Option<&str>,
    ) -> Result<Option<Arc<ResourceState>>> {
        let adoption = Adoption {
            pending: id.to_owned(),
            resource_id: resource_id.map(str::to_owned),
            replace: false,
        };
        let pending = PendingWork::adopting(adoption, true);
        let options = OperationOptions {
            no_events: true,
            ..OperationOptions::default().preview()
        };
        let result = self
            .begin(OperationKind::Adopt, options, of_pending(pending))
            .wait()
            .await;
        match &result.error {
            Some(error) => Err(error.clone()),
            None => Ok(result.adopted.clone()),
        }
    }

    /// Removes a pending operation from the state, and returns it. With `dry_run`, it stays.
    ///
    /// # Errors
    /// Those of [`Self::snapshot`]; [`ErrorKind::NotFound`] without such an operation, [`ErrorKind::Conflict`] while an operation
    /// runs. The state is unchanged then.
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
    /// for entry in stack.pending().await? {
    ///     stack.forget_pending(&entry.id, false).await?;
    /// }
    /// assert!(stack.pending().await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn forget_pending(&self, id: &str, dry_run: bool) -> Result<PendingEntry> {
        let forgotten = forget_pending(&self.context, id, dry_run).await;
        self.explained(forgotten).await
    }

    /// Reads the state without a lock.
    async fn loaded(&self) -> Result<LoadedStack> {
        let loaded = self.context.storage.load_unlocked(&*self.context.secrets).await;
        self.explained(loaded).await
    }
}

/// Returns the work of an adoption.
fn of_pending(pending: PendingWork) -> Work {
    Work {
        pending,
        ..Work::default()
    }
}
