//! A set of stacks as one operation: each runs after those that it needs, independent ones at the same time.

mod driver;
mod events;
mod order;
mod outcome;
mod peers;
mod references;
mod schedule;
#[cfg(test)]
mod schedule_tests;
mod set;
mod wording;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    engine::{Engine, Stack},
    operation::{OperationKind, OperationOptions},
    program::Program,
};

pub use events::{FleetEvent, FleetEvents};
pub use order::{FleetOrder, FleetTurn, OrderedStack};
pub use outcome::{FleetResult, StackEnd};
pub use references::referenced_stacks;
pub use set::FleetOperation;

pub use crate::executor::PluginLimits;

/// How many stacks are active at a time by default.
const DEFAULT_MAX_STACKS: u32 = 16;

/// A stack of a set, and its part of the operation.
#[derive(Clone)]
pub struct StackRun {
    /// The stack.
    pub stack: Stack,
    /// The program; left out, the stack's own.
    pub program: Option<Arc<dyn Program>>,
    /// The options of the stack's operation.
    pub options: OperationOptions,
    /// The stacks of the set that it needs, by their names (`project/stack`), beside those that its recorded stack references name.
    pub depends_on: Vec<String>,
}

impl StackRun {
    /// Creates the part of a stack that needs no other ones, with the default options.
    #[must_use]
    pub fn new(stack: Stack) -> Self {
        Self {
            stack,
            program: None,
            options: OperationOptions::default(),
            depends_on: Vec::new(),
        }
    }

    /// Adds a stack of the set that this one needs.
    #[must_use]
    pub fn depends_on(mut self, stack: impl Into<String>) -> Self {
        self.depends_on.push(stack.into());
        self
    }
}

/// The limits of a set of stacks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[schemars(extend("x-beside" = {"python": ["onEvent", "onOutput"], "node": ["onEvent", "onOutput", "signal"]}))]
pub struct FleetOptions {
    /// How many stacks are active at a time; 0 is 16. A stack whose program waits for another one is not active, but keeps its place:
    /// only stacks that a waiting one needs run beside it.
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub max_stacks: u32,
    /// How many steps, checks and diffs of each package's providers run at a time, in all stacks together; 0 has no limit beside that
    /// of each stack.
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub max_calls_per_plugin: u32,
}

impl Engine {
    /// Updates a set of stacks as one operation.
    ///
    /// A stack begins when those have succeeded that it needs: those of [`StackRun::depends_on`], and those that the stack references
    /// in its recorded state name. A program that reads another stack of the set waits for its end. When a stack fails, those that
    /// need it are skipped, and all others run. Stacks that need each other are an error, before anything runs where that is known.
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
    /// use stackwright::{fleet::{FleetOptions, StackRun}, program};
    /// let empty = || StackSettings {
    ///     program: Some(program::from_fn(|_context| async { Ok(()) })),
    ///     ..StackSettings::default()
    /// };
    /// let network = StackRun::new(engine.stack("network/prod", empty()).await?);
    /// let shop = StackRun::new(engine.stack("shop/prod", empty()).await?).depends_on("network/prod");
    /// let result = engine.up_all(vec![shop, network], FleetOptions::default()).wait().await;
    /// assert!(result.error.is_none());
    /// assert_eq!(result.changes["create"], 2, "the stacks themselves");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn up_all(&self, runs: Vec<StackRun>, options: FleetOptions) -> FleetOperation {
        FleetOperation::start(self, OperationKind::Update, runs, &options)
    }

    /// Previews the update of a set of stacks, in the order of [`Self::up_all`]. A program that reads another stack of the set gets the
    /// outputs that its preview has computed, which can be unknown.
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
    /// use stackwright::{fleet::{FleetOptions, StackRun}, program};
    /// let settings = StackSettings {
    ///     program: Some(program::from_fn(|_context| async { Ok(()) })),
    ///     ..StackSettings::default()
    /// };
    /// let run = StackRun::new(engine.stack("shop/prod", settings).await?);
    /// let result = engine.preview_all(vec![run], FleetOptions::default()).wait().await;
    /// assert_eq!(result.changes["create"], 1, "the stack itself");
    /// assert!(engine.stacks(None, false).await?[0].last_update.is_none(), "nothing was changed");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn preview_all(&self, mut runs: Vec<StackRun>, options: FleetOptions) -> FleetOperation {
        for run in &mut runs {
            run.options.dry_run = true;
        }
        FleetOperation::start(self, OperationKind::Update, runs, &options)
    }

    /// Reads every resource of a set of stacks and records its current state, in the order of [`Self::up_all`].
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
    /// use stackwright::fleet::{FleetOptions, StackRun};
    /// let result = engine.refresh_all(vec![StackRun::new(stack)], FleetOptions::default()).wait().await;
    /// assert!(result.error.is_none());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn refresh_all(&self, runs: Vec<StackRun>, options: FleetOptions) -> FleetOperation {
        FleetOperation::start(self, OperationKind::Refresh, runs, &options)
    }

    /// Deletes every resource of a set of stacks, in the reverse order of [`Self::up_all`]: a stack begins when all have succeeded that
    /// need it. A stack whose program reads another one with a function, and so has no recorded reference, needs
    /// [`StackRun::depends_on`]. No stack is destroyed when the recorded references of one cannot be read.
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
    /// use stackwright::fleet::{FleetOptions, StackRun};
    /// let result = engine.destroy_all(vec![StackRun::new(stack)], FleetOptions::default()).wait().await;
    /// assert!(result.error.is_none());
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn destroy_all(&self, runs: Vec<StackRun>, options: FleetOptions) -> FleetOperation {
        FleetOperation::start(self, OperationKind::Destroy, runs, &options)
    }
}
