//! The moments at which hooks of the program run.

use crate::{
    monitor::WireStatus,
    resource::{HookBindings, HookMoment},
};

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
