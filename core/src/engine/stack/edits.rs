//! Edits of the recorded state.

use std::sync::Arc;

use super::Stack;
use crate::{
    error::{Error, Result},
    operation::{change_secrets, edit as apply, move_resources, rename_stack, restore},
    runtime::Runtime,
    secrets::{PassphraseProvider, SecretsProvider},
    state::edit::{EditReport, Move, MoveReport, StateEdit},
    store::HistoryPoint,
};

impl Stack {
    /// Changes the records of the state, as one change, and returns what it did. With `dry_run` it returns what it would do,
    /// and writes nothing. No provider is called, and pending operations stay.
    ///
    /// # Errors
    /// [`crate::ErrorKind::NotFound`] for a URN that the state does not have, with the nearest ones as hints;
    /// [`crate::ErrorKind::InvalidInput`] for an edit that the resource cannot have; [`crate::ErrorKind::Conflict`] for one
    /// that protection, dependents or an existing resource refuse, and while an operation runs;
    /// [`crate::ErrorKind::State`] for a state that is invalid, or cannot be repaired. The state is unchanged then.
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
    /// # stack.import_deployment(br#"{"version": 3, "deployment": {"resources": [
    /// #     {"urn": "urn:pulumi:dev::shop::my:index:Site::old", "custom": false, "type": "my:index:Site"}]}}"#).await?;
    /// use stackwright::{state::edit::{Rename, StateEdit}, urn::Urn};
    ///
    /// let urn = Urn::parse("urn:pulumi:dev::shop::my:index:Site::old")?;
    /// let rename = StateEdit::Rename(Rename::to_name(urn.clone(), "new"));
    /// let report = stack.edit(&rename, false).await?;
    /// assert_eq!(report.records[0].former_urn, Some(urn));
    /// assert_eq!(stack.snapshot().await?.resources[0].urn.name(), "new");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn edit(&self, edit: &StateEdit, dry_run: bool) -> Result<EditReport> {
        let edited = apply(&self.context, edit, dry_run).await;
        self.explained(edited).await
    }

    /// Moves resources, and all below them, to another stack of this or another engine, and returns what it does to both, or with
    /// `dry_run` what it would do. No provider is called.
    ///
    /// The providers of the resources are copied, unless the destination has them already. A resource whose parent stays is below
    /// the destination itself. References between resources that move and others are removed, which the report names. Secrets are
    /// encrypted with the destination's manager. Pending operations of the resources move, too. One URN that the state does not have,
    /// or one resource that cannot move, refuses the whole move.
    ///
    /// # Errors
    /// [`crate::ErrorKind::NotFound`] for a URN that the state does not have, with the nearest ones as hints;
    /// [`crate::ErrorKind::InvalidInput`] for a provider, and for a stack that is its own destination;
    /// [`crate::ErrorKind::Conflict`] for a resource or a provider that the destination has already, for a view without its owner,
    /// and while an operation runs on one of both stacks; [`crate::ErrorKind::State`] for a state that is invalid. Both states are
    /// unchanged then.
    ///
    /// # Cancel safety
    /// A dropped future, or the death of the process, leaves a move that the next opening of either stack finishes or forgets: then
    /// each resource is in one of both. Where another program has changed one of the states since, the opening fails with a
    /// conflict that names the resources in both.
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
    /// # stack.import_deployment(br#"{"version": 3, "deployment": {"resources": [
    /// #     {"urn": "urn:pulumi:dev::shop::my:index:Site::main", "custom": false, "type": "my:index:Site"}]}}"#).await?;
    /// use stackwright::{state::edit::Move, urn::Urn};
    ///
    /// let other = engine.create_stack("shop/live", StackSettings::default()).await?;
    /// let urn = Urn::parse("urn:pulumi:dev::shop::my:index:Site::main")?;
    /// stack.move_resources(&other, &Move::of([urn]), false).await?;
    /// assert!(stack.snapshot().await?.resources.is_empty());
    /// let moved = other.snapshot().await?.resources[1].urn.to_string();
    /// assert_eq!(moved, "urn:pulumi:live::shop::my:index:Site::main");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn move_resources(&self, destination: &Self, edit: &Move, dry_run: bool) -> Result<MoveReport> {
        let moved = move_resources(&self.context, &destination.context, edit, dry_run).await;
        self.explained(moved).await
    }

    /// Replaces the state by one of the history, and returns what it did, or with `dry_run` what it would do. A state of before a
    /// renaming of the stack gets its present name, and the secrets are encrypted with the stack's present key.
    ///
    /// # Errors
    /// [`crate::ErrorKind::NotFound`] when the history has no such state; [`crate::ErrorKind::InvalidInput`] for a stack whose
    /// state the host supplies; [`crate::ErrorKind::Conflict`] while an operation runs.
    ///
    /// # Cancel safety
    /// That of [`Self::edit`].
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
    /// use stackwright::store::HistoryPoint;
    ///
    /// stack.destroy(OperationOptions::default()).wait().await;
    /// let report = stack.restore(&HistoryPoint::Version(1), false).await?;
    /// assert!(report.is_empty(), "the state is that of the only operation");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn restore(&self, point: &HistoryPoint, dry_run: bool) -> Result<EditReport> {
        let restored = restore(&self.context, point, None, dry_run).await;
        self.explained(restored).await
    }

    /// Replaces the state by one of the history from before a change of the secrets manager: `former` opens its secrets.
    ///
    /// # Errors
    /// Those of [`Self::restore`]; [`crate::ErrorKind::Decrypt`] when `former` is not the key of that state.
    ///
    /// # Cancel safety
    /// That of [`Self::edit`].
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, StackSettings, operation::OperationOptions, runtime::Runtime};
    /// # use stackwright::{secrets::PassphraseProvider, store::{HistoryPoint, MemoryStore}};
    /// # use tokio::runtime::Handle;
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let runtime = Runtime::system(Handle::current());
    /// # let secrets = Arc::new(PassphraseProvider::new("correct horse", runtime.clone()));
    /// # let store = Arc::new(MemoryStore::new(runtime.clone()));
    /// # let engine = Engine::builder(Handle::current()).store(store).secrets(secrets).build()?;
    /// # let stack = engine.create_stack("shop/dev", StackSettings::default()).await?;
    /// stack.destroy(OperationOptions::default()).wait().await;
    /// let former = PassphraseProvider::new("correct horse", runtime);
    /// let report = stack.restore_with_key(&HistoryPoint::Version(1), &former, true).await?;
    /// assert!(report.dry_run);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn restore_with_key(
        &self,
        point: &HistoryPoint,
        former: &dyn SecretsProvider,
        dry_run: bool,
    ) -> Result<EditReport> {
        let restored = restore(&self.context, point, Some(former), dry_run).await;
        self.explained(restored).await
    }

    /// Gives the stack another name, `stack` or `project/stack`, and returns what happens to its records. History and tags
    /// move with it, and what [`crate::StackSettings::config_source`] keeps. This handle keeps the former name: the engine opens the stack by the new one.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] for a name that no stack can have, and for a stack whose state the host supplies;
    /// [`crate::ErrorKind::Conflict`] when a stack of that name, or its configuration, exists, and while an operation runs.
    ///
    /// # Cancel safety
    /// A dropped future leaves a renaming that the next opening of either name undoes or finishes.
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
    /// stack.rename_stack("live", false).await?;
    /// assert_eq!(engine.stacks(None, false).await?[0].name.to_string(), "shop/live");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn rename_stack(&self, name: &str, dry_run: bool) -> Result<EditReport> {
        let renamed = rename_stack(&self.context, name, dry_run).await;
        self.explained(renamed).await
    }

    /// Encrypts the secrets of the state, and those that the source of its configuration keeps, with a new manager of `secrets`,
    /// and returns the records that have secrets. This handle keeps the former key: the engine opens the stack with the new one.
    ///
    /// The history, the copy of the previous state and journals that were set aside keep the former key, with which
    /// [`Self::restore_with_key`] reads such a state. Stacks that refer to this one need the new key for it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Decrypt`] when the key with which the stack was opened is not that of its state or its configuration;
    /// [`crate::ErrorKind::Secrets`] when the new manager fails; [`crate::ErrorKind::Conflict`] while an operation runs. The stack
    /// then has the former key, except after an error of the configuration's source, whose hints say so.
    ///
    /// # Cancel safety
    /// A dropped future, or the death of the process, leaves a state with the former key or the new one. The next opening of the
    /// stack with that key finishes the change of the configuration.
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use stackwright::{Engine, Result, StackSettings, runtime::Runtime, secrets::PassphraseProvider, store::MemoryStore};
    /// # use tokio::runtime::Handle;
    /// # #[tokio::main]
    /// # async fn main() -> Result<()> {
    /// # let runtime = Runtime::system(Handle::current());
    /// # let secrets = Arc::new(PassphraseProvider::new("correct horse", runtime.clone()));
    /// # let engine = Engine::builder(Handle::current()).store(Arc::new(MemoryStore::new(runtime))).secrets(secrets).build()?;
    /// # let stack = engine.create_stack("shop/dev", StackSettings::default()).await?;
    /// let secrets = engine.passphrase("battery staple")?;
    /// stack.change_secrets(Arc::clone(&secrets), false).await?;
    /// let error = engine.stack("shop/dev", StackSettings::default()).await.err().unwrap();
    /// assert_eq!(error.message(), "stack 'shop/dev': incorrect passphrase");
    /// let settings = StackSettings { secrets: Some(secrets), ..StackSettings::default() };
    /// engine.stack("shop/dev", settings).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn change_secrets(
        &self,
        secrets: Arc<dyn SecretsProvider>,
        dry_run: bool,
    ) -> Result<EditReport> {
        let changed = change_secrets(&self.context, &*secrets, dry_run).await;
        self.explained(changed).await
    }

    /// Encrypts the secrets of the state with a new passphrase, and returns what it did, or with `dry_run` what it would do.
    ///
    /// # Errors
    /// Those of [`Self::change_secrets`]; [`crate::ErrorKind::InvalidInput`] for an empty passphrase.
    ///
    /// # Cancel safety
    /// That of [`Self::change_secrets`].
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
    /// let report = stack.change_passphrase("battery staple", true).await?;
    /// assert!(report.dry_run);
    /// stack.change_passphrase("battery staple", false).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn change_passphrase(&self, passphrase: &str, dry_run: bool) -> Result<EditReport> {
        if passphrase.is_empty() {
            return Err(Error::invalid("the new passphrase of a stack is empty"));
        }
        let secrets = self.passphrase(passphrase);
        self.change_secrets(Arc::new(secrets), dry_run).await
    }

    /// Returns the secrets provider of a passphrase.
    pub(crate) fn passphrase(&self, passphrase: &str) -> PassphraseProvider {
        PassphraseProvider::new(passphrase, self.context.engine.runtime.clone())
    }

    /// Returns the engine's runtime.
    pub(crate) fn runtime(&self) -> Runtime {
        self.context.engine.runtime.clone()
    }

    /// Returns the secrets provider with which the stack was opened.
    pub(crate) fn secrets(&self) -> Arc<dyn SecretsProvider> {
        Arc::clone(&self.context.secrets)
    }
}
