//! Hooks of the program: functions that run before and after the steps of resources, or after their failures.

use std::sync::Arc;

use crate::{
    callback::{ErrorHook, Hook, HookOptions, ResourceHook},
    monitor::{Monitor, WireStatus},
    resource::{HookBindings, HookMoment},
};

impl Monitor {
    /// Registers a hook that runs before or after steps, for the rest of the run. Resources name it in their options, by
    /// the moment at which it runs, from then on; records that name it from an earlier run are deleted with it.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidInput`](crate::ErrorKind::InvalidInput) for an empty name, or one that a hook of either kind
    /// has; [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled) when the run has ended.
    pub fn register_resource_hook(
        &self,
        name: &str,
        hook: Arc<dyn ResourceHook>,
        options: HookOptions,
    ) -> crate::Result<()> {
        self.register_hook(name, Hook::Resource(hook, options))
    }

    /// Registers a hook that decides whether a failed step is tried again, for the rest of the run.
    ///
    /// # Errors
    /// As [`Self::register_resource_hook`].
    pub fn register_error_hook(&self, name: &str, hook: Arc<dyn ErrorHook>) -> crate::Result<()> {
        self.register_hook(name, Hook::Error(hook))
    }

    fn register_hook(&self, name: &str, hook: Hook) -> crate::Result<()> {
        if self.is_closed() {
            return Err(WireStatus::shut_down("registering a hook").into());
        }
        self.0.generator.executor().hooks().register(name, hook)
    }
}

/// Refuses bindings of hooks to a moment that does not exist.
pub(super) fn check_moments(resource: &str, bindings: &HookBindings) -> Result<(), WireStatus> {
    let is_moment = |name: &str| HookMoment::ALL.iter().any(|moment| moment.name() == name);
    let Some(unknown) = bindings.keys().find(|name| !is_moment(name)) else {
        return Ok(());
    };
    let moments = HookMoment::ALL.map(HookMoment::name).join(", ");
    Err(WireStatus::invalid(format!(
        "hooks of resource '{resource}': there is no moment {unknown:?} among {moments}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_of_a_moment_that_does_not_exist_are_refused_with_those_that_do() {
        let bindings = |moment: &str| HookBindings::from([(moment.to_owned(), vec!["drain".to_owned()])]);
        assert!(check_moments("a", &bindings("BeforeDelete")).is_ok());
        let refused = check_moments("a", &bindings("beforeDelete")).unwrap_err();
        assert_eq!(
            refused.message,
            "hooks of resource 'a': there is no moment \"beforeDelete\" among BeforeCreate, AfterCreate, BeforeUpdate, \
             AfterUpdate, BeforeDelete, AfterDelete, OnError"
        );
    }
}
