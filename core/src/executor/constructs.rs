//! The components whose Construct is in flight. Calls on resources below one do not count towards `parallel`: Construct may
//! wait for them, and they for later registrations of the component.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smol_str::SmolStr;

use crate::{token::TypeToken, urn::Urn};

/// The components by order of their beginning. Cloning is cheap; all clones share them.
#[derive(Clone, Default)]
pub(super) struct Constructs(Arc<Mutex<Vec<Construct>>>);

#[derive(PartialEq, Eq)]
struct Construct {
    component: Urn,
    /// The package of the plugin.
    package: SmolStr,
}

/// A Construct in flight; dropping it ends it.
pub(crate) struct ConstructGuard {
    constructs: Constructs,
    construct: Construct,
}

impl Constructs {
    pub(super) fn begin(&self, component: &Urn, package: &str) -> ConstructGuard {
        let construct = || Construct {
            component: component.clone(),
            package: package.into(),
        };
        self.lock().push(construct());
        ConstructGuard {
            constructs: self.clone(),
            construct: construct(),
        }
    }

    /// Returns whether a resource is below a component that the plugin of the resource is constructing. URNs have the
    /// types of the parents, not their names, so that components of one type below each other's parents are not
    /// distinguished.
    pub(super) fn contains(&self, urn: &Urn) -> bool {
        let constructs = self.lock();
        constructs.iter().any(|Construct { component, package }| {
            let below = urn.qualified_type().strip_prefix(component.qualified_type());
            below.is_some_and(|rest| rest.starts_with('$'))
                && TypeToken::from(urn.resource_type()).asked_package() == package.as_str()
        })
    }

    /// Returns whether no Construct is in flight.
    pub(super) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Construct>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConstructGuard {
    fn drop(&mut self) {
        let mut constructs = self.constructs.lock();
        if let Some(position) = constructs
            .iter()
            .position(|construct| *construct == self.construct)
        {
            constructs.remove(position);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_of_the_same_plugin_below_a_component_in_flight_are_contained() {
        let constructs = Constructs::default();
        let urn = |parent: &str, own: &str| Urn::new("dev", "shop", parent, own, "a");
        let guard = constructs.begin(&urn("", "box:index:Box"), "box");
        assert!(constructs.contains(&urn("box:index:Box", "box:index:State")));
        assert!(constructs.contains(&urn("box:index:Box$x:y:Z", "box:index:State")));
        assert!(
            !constructs.contains(&urn("box:index:Box", "other:index:State")),
            "another plugin"
        );
        assert!(
            !constructs.contains(&urn("box:index:Boxes", "box:index:State")),
            "another type"
        );
        assert!(
            !constructs.contains(&urn("", "box:index:Box")),
            "the component itself"
        );
        drop(guard);
        assert!(!constructs.contains(&urn("box:index:Box", "box:index:State")));
    }
}
