//! Hooks of resources: functions that run before and after steps, or decide whether a failed one is tried again.

use std::sync::{Arc, Mutex, PoisonError};

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
    /// Its id; empty when it was to be created.
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

/// A registered hook.
#[derive(Clone)]
pub(crate) enum Hook {
    /// Runs before or after a step.
    Resource {
        hook: Arc<dyn ResourceHook>,
        /// It runs in previews, too.
        on_dry_run: bool,
        /// Its failures are warnings.
        ignore_errors: bool,
    },
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
        let mut hooks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if hooks.contains_key(name) {
            let text = format!("resource hook already registered for name {name:?}");
            return Err(Error::invalid(text));
        }
        hooks.insert(name.to_owned(), hook);
        Ok(())
    }

    /// Returns the hook of a name.
    pub(crate) fn get(&self, name: &str) -> Option<Hook> {
        let hooks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        hooks.get(name).cloned()
    }
}
