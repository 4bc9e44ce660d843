//! Hooks of resources: functions that run before and after steps, or decide whether a failed one is tried again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use rustc_hash::FxHashMap;

use crate::{
    error::{Error, Result},
    property::PropertyMap,
    resource::ResourceState,
    token::ResourceId,
    urn::Urn,
};

/// The arguments of a hook that runs before or after a step.
///
/// The records hold inputs, outputs and options. A creation has no old record, a deletion no new one; the new outputs
/// are known after the step only.
#[derive(Clone, Debug)]
pub struct HookCall {
    /// The resource.
    pub urn: Urn,
    /// Its id; empty before it is created.
    pub id: ResourceId,
    /// The record with the new inputs and options; `None` for a deletion.
    pub new: Option<Arc<ResourceState>>,
    /// The record with the old inputs, outputs and options; `None` for a creation.
    pub old: Option<Arc<ResourceState>>,
    /// The outputs of the step; `None` before it.
    pub new_outputs: Option<PropertyMap>,
}

/// A hook that runs before or after a step. An error of a hook that runs before fails the step; one of a hook that runs
/// after is reported, and fails the operation.
#[async_trait]
pub trait ResourceHook: Send + Sync + 'static {
    /// Runs the hook.
    ///
    /// # Errors
    /// The failure of the hook.
    async fn run(&self, call: HookCall) -> Result<()>;
}

/// The arguments of a hook that runs after a failed step.
#[derive(Clone, Debug)]
pub struct ErrorHookCall {
    /// The resource.
    pub urn: Urn,
    /// Its id; empty when it was to be created and does not exist.
    pub id: ResourceId,
    /// The record with the new inputs and options; `None` for a deletion.
    pub new: Option<Arc<ResourceState>>,
    /// The record with the old inputs, outputs and options; `None` for a creation.
    pub old: Option<Arc<ResourceState>>,
    /// `create`, `update` or `delete`.
    pub failed_operation: &'static str,
    /// The errors of all attempts, the latest first.
    pub errors: Vec<String>,
}

/// A hook that decides whether a failed step is tried again. It may wait before it returns.
#[async_trait]
pub trait ErrorHook: Send + Sync + 'static {
    /// Returns whether the step is tried again.
    ///
    /// # Errors
    /// The failure of the hook, which fails the step.
    async fn should_retry(&self, call: ErrorHookCall) -> Result<bool>;
}

/// The options of a hook that runs before or after steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HookOptions {
    /// It runs in previews, too.
    pub on_dry_run: bool,
    /// Its failures are warnings, and change nothing else.
    pub ignore_errors: bool,
}

/// A registered hook.
#[derive(Clone)]
pub(crate) enum Hook {
    /// Runs before or after a step.
    Resource(Arc<dyn ResourceHook>, HookOptions),
    /// Runs after a failed step.
    Error(Arc<dyn ErrorHook>),
}

/// The hooks of a run by name; both kinds share the names.
#[derive(Default)]
pub(crate) struct Hooks(Mutex<FxHashMap<String, Hook>>);

impl Hooks {
    /// Adds a hook.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] without a name, or when there is one of that name.
    pub(crate) fn register(&self, name: &str, hook: Hook) -> Result<()> {
        if name.is_empty() {
            return Err(Error::invalid("resource hook name cannot be empty"));
        }
        let mut hooks = self.hooks();
        if hooks.contains_key(name) {
            let text = format!("resource hook already registered for name {name:?}");
            return Err(Error::invalid(text));
        }
        hooks.insert(name.to_owned(), hook);
        Ok(())
    }

    /// Returns the hook of a name that runs before or after steps.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] when there is none.
    pub(crate) fn of_resource(&self, name: &str) -> Result<(Arc<dyn ResourceHook>, HookOptions)> {
        match self.hooks().get(name) {
            Some(Hook::Resource(hook, options)) => Ok((Arc::clone(hook), *options)),
            _ => Err(unregistered(name)),
        }
    }

    /// Returns the hook of a name that runs after failed steps.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] when there is none.
    pub(crate) fn of_error(&self, name: &str) -> Result<Arc<dyn ErrorHook>> {
        match self.hooks().get(name) {
            Some(Hook::Error(hook)) => Ok(Arc::clone(hook)),
            _ => Err(unregistered(name)),
        }
    }

    /// Requires that hooks that run before or after steps are registered.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] with the first name that is not.
    pub(crate) fn require<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<()> {
        let mut names = names.into_iter();
        names.try_for_each(|name| self.of_resource(name).map(drop))
    }

    /// Drops all hooks: none runs any more.
    pub(crate) fn clear(&self) {
        let hooks = std::mem::take(&mut *self.hooks());
        drop(hooks);
    }

    fn hooks(&self) -> MutexGuard<'_, FxHashMap<String, Hook>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The message text matches the reference engine; tools match on it.
fn unregistered(name: &str) -> Error {
    Error::invalid(format!("hook {name:?} was not registered"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Idle;

    #[async_trait]
    impl ResourceHook for Idle {
        async fn run(&self, _call: HookCall) -> Result<()> {
            Ok(())
        }
    }

    #[async_trait]
    impl ErrorHook for Idle {
        async fn should_retry(&self, _call: ErrorHookCall) -> Result<bool> {
            Ok(false)
        }
    }

    #[test]
    fn both_kinds_of_hooks_share_their_names() {
        let hooks = Hooks::default();
        let resource = || Hook::Resource(Arc::new(Idle), HookOptions::default());
        hooks.register("drain", resource()).unwrap();
        let refused = |name: &str, hook: Hook| hooks.register(name, hook).unwrap_err().message().to_owned();
        assert_eq!(refused("", resource()), "resource hook name cannot be empty");
        assert_eq!(
            refused("drain", Hook::Error(Arc::new(Idle))),
            "resource hook already registered for name \"drain\""
        );
    }

    #[test]
    fn a_hook_is_found_as_the_kind_that_it_was_registered_as() {
        let hooks = Hooks::default();
        let resource = Hook::Resource(Arc::new(Idle), HookOptions::default());
        hooks.register("drain", resource).unwrap();
        hooks.register("again", Hook::Error(Arc::new(Idle))).unwrap();
        assert!(hooks.of_resource("drain").is_ok() && hooks.of_error("again").is_ok());
        assert!(hooks.of_resource("again").is_err() && hooks.of_error("drain").is_err());
        assert!(hooks.require(["drain"]).is_ok());
        let missing = hooks.require(["drain", "note"]).unwrap_err();
        assert_eq!(missing.message(), "hook \"note\" was not registered");
    }

    #[test]
    fn hooks_are_dropped_when_they_are_cleared() {
        let hooks = Hooks::default();
        let hook = Arc::new(Idle);
        let shared = Arc::downgrade(&hook);
        hooks
            .register("drain", Hook::Resource(hook, HookOptions::default()))
            .unwrap();
        assert!(shared.upgrade().is_some());
        hooks.clear();
        assert!(shared.upgrade().is_none() && hooks.of_resource("drain").is_err());
    }
}
