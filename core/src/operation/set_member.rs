//! What an operation shares with those of the other stacks of its set.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use async_trait::async_trait;

use crate::{
    error::{Error, ErrorKind, Result},
    event::EventSink,
    executor::{Control, Executor, PluginLimits},
    operation::StackContext,
    property::PropertyMap,
    provider::builtin::StackReader,
    store::StackName,
};

/// The other stacks of a set.
#[async_trait]
pub(crate) trait Peers: Send + Sync + 'static {
    /// Waits until a stack has ended, where it is one of the set. Returns its outputs when the set is previewed: its recorded state does
    /// not have them. The events report that it waits.
    ///
    /// # Errors
    /// When the stack has failed or does not run, and when it waits for the one that asks.
    async fn wait_for(&self, stack: &StackName, events: &EventSink) -> Result<Option<PropertyMap>>;
}

/// What an operation shares with those of the other stacks of its set; nothing by default.
#[derive(Clone, Default)]
pub(crate) struct SetMember {
    pub(crate) peers: Option<Arc<dyn Peers>>,
    pub(crate) limits: Option<PluginLimits>,
    /// The stacks that are being changed elsewhere.
    unfinished: Option<Arc<Unfinished>>,
}

impl SetMember {
    /// Creates what the operation of a stack shares with the others of its set.
    pub(crate) fn new(peers: Option<Arc<dyn Peers>>, limits: Option<PluginLimits>) -> Self {
        Self {
            peers,
            limits,
            unfinished: None,
        }
    }

    /// Lets reads of these stacks fail, unless the operation waits for those of its set.
    pub(super) fn keep_unfinished(&mut self, stack: &StackContext, names: &[String]) {
        if self.peers.is_none() && !names.is_empty() {
            let names = names.iter().filter_map(|name| stack.referred_stack(name).ok());
            let unfinished = Arc::new(Unfinished {
                own: stack.storage.name().clone(),
                names: names.collect(),
                read: Mutex::default(),
            });
            self.peers = Some(Arc::clone(&unfinished) as _);
            self.unfinished = Some(unfinished);
        }
    }

    /// Returns the unfinished stacks that the program has tried to read.
    pub(super) fn unfinished_reads(&self) -> Vec<StackName> {
        let read = self.unfinished.as_ref().map(|unfinished| unfinished.read());
        read.into_iter().flat_map(|read| read.clone()).collect()
    }

    /// Returns the reader of other stacks that waits for those of the set; `reader` reads them then.
    pub(super) fn reader(
        &self,
        stack: &Arc<StackContext>,
        executor: &Executor,
        reader: Arc<dyn StackReader>,
    ) -> Arc<dyn StackReader> {
        match &self.peers {
            None => reader,
            Some(peers) => Arc::new(PatientReader {
                stack: Arc::clone(stack),
                control: executor.control().clone(),
                events: executor.events().clone(),
                peers: Arc::clone(peers),
                reader,
            }),
        }
    }
}

/// Stacks that are being changed elsewhere: reads of them fail.
struct Unfinished {
    own: StackName,
    names: BTreeSet<StackName>,
    /// Those that were to be read.
    read: Mutex<BTreeSet<StackName>>,
}

impl Unfinished {
    fn read(&self) -> MutexGuard<'_, BTreeSet<StackName>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Peers for Unfinished {
    async fn wait_for(&self, stack: &StackName, _: &EventSink) -> Result<Option<PropertyMap>> {
        if *stack == self.own || !self.names.contains(stack) {
            return Ok(None);
        }
        self.read().insert(stack.clone());
        let text = format!("the stack '{stack}' is being changed, and has not ended");
        Err(Error::new(ErrorKind::Conflict, text).with_hint("read it again when it has ended"))
    }
}

/// Reads other stacks once they have ended.
struct PatientReader {
    stack: Arc<StackContext>,
    control: Control,
    events: EventSink,
    peers: Arc<dyn Peers>,
    reader: Arc<dyn StackReader>,
}

impl PatientReader {
    async fn wait_for(&self, stack: &str) -> Result<Option<PropertyMap>> {
        // The reader of the host may know names of other forms.
        let Ok(name) = self.stack.referred_stack(stack) else {
            return Ok(None);
        };
        tokio::select! {
            biased;
            ended = self.peers.wait_for(&name, &self.events) => ended,
            () = self.control.cancelled() => {
                let text = format!("the operation was cancelled while it waited for the stack '{name}'");
                Err(Error::new(ErrorKind::Cancelled, text))
            }
        }
    }
}

#[async_trait]
impl StackReader for PatientReader {
    async fn stack_outputs(&self, stack: &str) -> Result<PropertyMap> {
        match self.wait_for(stack).await? {
            Some(outputs) => Ok(outputs),
            None => self.reader.stack_outputs(stack).await,
        }
    }

    async fn stack_resource_outputs(&self, stack: &str) -> Result<PropertyMap> {
        self.wait_for(stack).await?;
        self.reader.stack_resource_outputs(stack).await
    }
}
