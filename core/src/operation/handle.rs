//! The handle of a running operation.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::{
    event::{EventSink, EventStream},
    executor::Control,
    operation::{OperationResult, SessionLease},
};

/// A running operation. Dropping the handle does not end it; cloning shares it.
///
/// Its session (the monitor, the loaded providers) ends with it, unless the options hold it: then it ends when it is
/// released, or when the last handle is dropped.
#[derive(Clone)]
pub struct Operation {
    pub(crate) events: EventSink,
    pub(crate) first: Arc<Mutex<Option<EventStream>>>,
    pub(crate) control: Control,
    pub(crate) result: watch::Receiver<Option<Arc<OperationResult>>>,
    pub(crate) session: Arc<SessionLease>,
}

impl Operation {
    /// Returns the events: all of them for the first caller, the later ones for others, and for all callers when the
    /// options do not buffer events ([`crate::operation::OperationOptions::no_events`]).
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
    /// let operation = stack.destroy(OperationOptions::default());
    /// let mut events = operation.events();
    /// let mut count = 0;
    /// while let Some(event) = events.next().await {
    ///     assert_eq!(event.sequence, count);
    ///     count += 1;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn events(&self) -> EventStream {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        first.unwrap_or_else(|| self.events.subscribe())
    }

    /// Cancels the operation: running steps complete and are recorded. A second call abandons running provider calls.
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
    /// let operation = stack.destroy(OperationOptions::default());
    /// operation.cancel();
    /// operation.wait().await;
    /// # Ok(())
    /// # }
    /// ```
    pub fn cancel(&self) {
        self.control.cancel();
    }

    /// Waits for the end. Any number of callers may wait.
    ///
    /// # Cancel safety
    /// Cancel safe: a dropped future changes nothing, and the operation continues.
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
    /// let operation = stack.destroy(OperationOptions::default());
    /// let result = operation.wait().await;
    /// assert!(result.error.is_none());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn wait(&self) -> Arc<OperationResult> {
        let mut result = self.result.clone();
        loop {
            if let Some(result) = result.borrow_and_update().clone() {
                return result;
            }
            if result.changed().await.is_err() {
                // The operation's task always stores a result, even when it panics.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Ends the session and waits for its end: pending requests fail with the shutdown of the monitor, and the
    /// providers are released. Waits for the result first. Further calls have no effect.
    ///
    /// # Cancel safety
    /// The session ends also when the future is dropped; a further call waits for its end.
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
    /// let operation = stack.destroy(OperationOptions::default());
    /// operation.wait().await;
    /// operation.release().await;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn release(&self) {
        self.session.0.release().await;
    }

    /// Returns whether it has ended, without waiting.
    #[must_use]
    pub fn result(&self) -> Option<Arc<OperationResult>> {
        self.result.borrow().clone()
    }
}
