//! The handle of a running set.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;

use super::{
    DEFAULT_MAX_STACKS, FleetEvents, FleetOptions, FleetResult, StackRun,
    driver::{Driver, Member},
    peers::{Members, Places},
    wording::twice,
};
use crate::{
    engine::Engine,
    error::{Error, Result},
    executor::PluginLimits,
    operation::{Operation, OperationKind, SetMember, Work},
    store::StackName,
};

/// A running operation on a set of stacks. Dropping the handle does not end it; cloning shares it.
#[derive(Clone)]
pub struct FleetOperation {
    stacks: Arc<[(Arc<StackName>, Operation)]>,
    cancelled: CancellationToken,
    result: watch::Receiver<Option<Arc<FleetResult>>>,
}

impl FleetOperation {
    pub(super) fn start(
        engine: &Engine,
        kind: OperationKind,
        runs: Vec<StackRun>,
        options: &FleetOptions,
    ) -> Self {
        let runtime = engine.runtime().clone();
        let accepted = check(engine, &runs);
        let places: Arc<Places> = Arc::new(places(&runs));
        let (messages, inbox) = mpsc::unbounded_channel();
        let limits = PluginLimits::unless_zero(options.max_calls_per_plugin, &runtime);
        let mut stacks = Vec::with_capacity(runs.len());
        let mut members = Vec::with_capacity(runs.len());
        for (stack, run) in runs.into_iter().enumerate() {
            let peers = Members {
                stack,
                places: Arc::clone(&places),
                driver: messages.clone(),
            };
            // A destroy reads stacks that are destroyed after it.
            let peers = (kind != OperationKind::Destroy).then(|| Arc::new(peers) as _);
            let set = SetMember::new(peers, limits.clone());
            let work = Work {
                program: run.program,
                set,
                ..Work::default()
            };
            let is_preview = run.options.dry_run;
            let (unstarted, operation) = run.stack.prepare(kind, run.options, work);
            let context = Arc::clone(run.stack.context());
            stacks.push((Arc::new(context.storage.name().clone()), operation.clone()));
            members.push(Member::new(
                context,
                run.depends_on,
                is_preview,
                unstarted,
                operation,
            ));
        }
        let cancelled = CancellationToken::new();
        let (sender, result) = watch::channel(None);
        let driver = Driver {
            kind,
            runtime: runtime.clone(),
            max_stacks: size(match options.max_stacks {
                0 => DEFAULT_MAX_STACKS,
                max_stacks => max_stacks,
            }),
            places,
            members,
            requests: Vec::new(),
            inbox,
            cancelled: cancelled.clone(),
        };
        let spawner = runtime.spawner.clone();
        drop(runtime.spawner.spawn(async move {
            let ended = match spawner.spawn(driver.run(accepted)).await {
                Ok(ended) => ended,
                Err(error) => FleetResult::new(Vec::new(), Some(error), false, Duration::ZERO),
            };
            sender.send_replace(Some(Arc::new(ended)));
        }));
        Self {
            stacks: stacks.into(),
            cancelled,
            result,
        }
    }

    /// Returns the operations of the stacks, in the order of the call. That of a stack that has not begun has no events yet, and the
    /// result of one that is skipped is an error.
    pub fn operations(&self) -> impl Iterator<Item = (&StackName, &Operation)> {
        self.stacks.iter().map(|(name, operation)| (&**name, operation))
    }

    /// Returns the events of all stacks: all of them for the first caller, the later ones for others (see [`Operation::events`]).
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
    /// # use stackwright::fleet::{FleetOptions, StackRun};
    /// let refresh = engine.refresh_all(vec![StackRun::new(stack)], FleetOptions::default());
    /// let mut events = refresh.events();
    /// while let Some(event) = events.next().await {
    ///     assert_eq!(event.stack.to_string(), "shop/dev");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn events(&self) -> FleetEvents {
        let streams = self.stacks.iter();
        FleetEvents::new(streams.map(|(name, operation)| (Arc::clone(name), operation.events())))
    }

    /// Cancels the set: no further stack begins, and the running steps of those that have begun complete and are recorded. A second
    /// call abandons running provider calls.
    pub fn cancel(&self) {
        self.cancelled.cancel();
        for (_, operation) in self.stacks.iter() {
            operation.cancel();
        }
    }

    /// Waits until every stack has ended. Any number of callers may wait.
    ///
    /// # Cancel safety
    /// Cancel safe: a dropped future changes nothing, and the operation continues.
    pub async fn wait(&self) -> Arc<FleetResult> {
        let mut result = self.result.clone();
        loop {
            if let Some(result) = result.borrow_and_update().clone() {
                return result;
            }
            if result.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Returns the result when it has ended, without waiting.
    #[must_use]
    pub fn result(&self) -> Option<Arc<FleetResult>> {
        self.result.borrow().clone()
    }
}

fn size(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Returns the places of the stacks by name.
fn places(runs: &[StackRun]) -> Places {
    let names = runs.iter().map(|run| run.stack.context().storage.name().clone());
    names.enumerate().map(|(place, name)| (name, place)).collect()
}

/// Refuses a set that contains a stack twice, or one of another engine.
fn check(engine: &Engine, runs: &[StackRun]) -> Result<()> {
    let mut names = BTreeSet::new();
    for run in runs {
        let context = run.stack.context();
        let name = context.storage.name();
        if !engine.is_that_of(context) {
            let text = format!("the stack '{name}' belongs to another engine than the set");
            return Err(Error::invalid(text).with_hint("open it with the engine that runs the set"));
        }
        if !names.insert(name) {
            return Err(twice(name));
        }
    }
    Ok(())
}
