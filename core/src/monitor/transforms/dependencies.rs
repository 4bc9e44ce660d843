//! The dependencies of a registration with transforms: in output values before them, and out of output values after them.

use crate::{monitor::Registration, property::PropertyMap, resource::PropertyDependencies};

/// Returns the dependencies of each input, in explicit form.
pub(super) fn listed(registration: &mut Registration) -> PropertyDependencies {
    let names = registration.inputs.keys();
    match registration.property_dependencies.take() {
        Some(mut known) => {
            known.complete(names);
            known
        }
        None => PropertyDependencies::sharing(names.cloned(), registration.dependencies.clone()),
    }
}

/// Makes each input with dependencies an output value that has them.
pub(super) fn embed(inputs: PropertyMap, listed: &PropertyDependencies) -> PropertyMap {
    inputs
        .into_iter()
        .map(|(name, value)| match listed.get(&name) {
            Some(dependencies) if !dependencies.is_empty() => {
                let value = value.with_dependencies(dependencies);
                (name, value)
            }
            _ => (name, value),
        })
        .collect()
}

/// Sets the inputs of a registration and the dependencies of each.
///
/// With transforms of its own (`given`) the dependencies are those in output values alone, and the resource as a whole
/// depends on all of them, too. Otherwise those in output values add to `listed`.
pub(super) fn rebuild(
    registration: &mut Registration,
    inputs: PropertyMap,
    listed: PropertyDependencies,
    given: bool,
) {
    let mut known = if given {
        PropertyDependencies::new()
    } else {
        listed
    };
    for (name, value) in inputs.iter() {
        known.add_outputs(name, value);
    }
    known.complete(inputs.keys());
    if given {
        for urn in known.lists().flatten() {
            if !registration.dependencies.contains(urn) {
                registration.dependencies.push(urn.clone());
            }
        }
    }
    registration.inputs = inputs;
    registration.property_dependencies = Some(known);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{property::PropertyValue, urn::Urn};

    fn urn(name: &str) -> Urn {
        Urn::new("dev", "shop", "", "pkg:index:Type", name)
    }

    fn registration() -> Registration {
        Registration {
            inputs: [
                ("plain", "x".into()),
                ("derived", PropertyValue::secret("y".into())),
            ]
            .into_iter()
            .collect(),
            dependencies: vec![urn("whole")],
            property_dependencies: Some(PropertyDependencies::from([("derived".into(), vec![urn("a")])])),
            ..Registration::default()
        }
    }

    #[test]
    fn inputs_with_dependencies_become_output_values_and_come_back_as_they_were() {
        let mut it = registration();
        let before = it.inputs.clone();
        let listed = listed(&mut it);
        let embedded = embed(std::mem::take(&mut it.inputs), &listed);
        assert!(matches!(embedded.get("derived"), Some(PropertyValue::Output(_))));
        assert_eq!(embedded.get("plain"), Some(&"x".into()));
        rebuild(&mut it, embedded, listed, true);
        assert_eq!(it.dependencies, [urn("whole"), urn("a")]);
        let expected = [("derived".into(), vec![urn("a")]), ("plain".into(), Vec::new())];
        assert_eq!(
            it.property_dependencies,
            Some(PropertyDependencies::from(expected))
        );
        assert_eq!(it.inputs.collapse_outputs(), before);
    }

    #[test]
    fn without_a_list_each_input_comes_from_all_dependencies() {
        let mut it = Registration {
            property_dependencies: None,
            ..registration()
        };
        let listed = listed(&mut it);
        assert_eq!(listed.get("plain"), Some(&[urn("whole")][..]));
    }

    #[test]
    fn transforms_of_the_resource_itself_decide_the_dependencies_of_each_input() {
        let mut it = registration();
        let listed = listed(&mut it);
        let inputs = [
            ("derived", "no longer".into()),
            ("added", PropertyValue::from("z").with_dependencies(&[urn("b")])),
        ];
        rebuild(&mut it, inputs.into_iter().collect(), listed, true);
        let expected = [("added".into(), vec![urn("b")]), ("derived".into(), Vec::new())];
        assert_eq!(
            it.property_dependencies,
            Some(PropertyDependencies::from(expected))
        );
        assert_eq!(it.dependencies, [urn("whole"), urn("b")]);
    }

    #[test]
    fn other_transforms_add_to_the_dependencies_of_inputs_only() {
        let mut it = registration();
        let listed = listed(&mut it);
        let inputs = [
            ("derived", PropertyValue::from("y").with_dependencies(&[urn("b")])),
            ("added", "z".into()),
        ];
        rebuild(&mut it, inputs.into_iter().collect(), listed, false);
        let known = it.property_dependencies.unwrap();
        assert_eq!(known.get("derived"), Some(&[urn("a"), urn("b")][..]));
        assert_eq!(known.get("added"), Some(&[][..]));
        assert_eq!(it.dependencies, [urn("whole")]);
    }
}
