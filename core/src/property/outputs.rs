//! Output values: values with dependencies, which exist between program and engine only.

use std::sync::Arc;

use crate::{
    property::{Output, PropertyMap, PropertyValue},
    urn::Urn,
};

impl PropertyMap {
    /// Returns whether a value contains output values.
    pub(crate) fn contains_outputs(&self) -> bool {
        let is_output = |value: &PropertyValue| matches!(value, PropertyValue::Output(_));
        self.values()
            .any(|value| value.any(&mut |value| is_output(value)))
    }

    /// Replaces secrets and unknowns outside of output values by output values without dependencies.
    pub(crate) fn upgrade_to_outputs(self) -> Self {
        let survey = self.survey();
        if !survey.secrets && !survey.unknowns {
            return self;
        }
        self.into_iter()
            .map(|(key, value)| (key, value.upgrade_to_outputs()))
            .collect()
    }

    /// Replaces output values by their elements: unknowns, secrets or plain values.
    #[must_use]
    pub fn collapse_outputs(self) -> Self {
        if !self.contains_outputs() {
            return self;
        }
        self.into_iter()
            .map(|(key, value)| (key, value.collapse_outputs()))
            .collect()
    }
}

impl PropertyValue {
    /// Replaces output values by their elements.
    pub(crate) fn collapse_outputs(self) -> Self {
        match self {
            Self::Output(output) => {
                let element = output
                    .element
                    .clone()
                    .map_or(Self::unknown(), Self::collapse_outputs);
                if output.secret {
                    Self::secret(element)
                } else {
                    element
                }
            }
            Self::Array(values) => Self::array(values.iter().cloned().map(Self::collapse_outputs).collect()),
            Self::Object(map) => Self::Object(map.collapse_outputs()),
            Self::Secret(secret) => Self::secret(secret.element.clone().collapse_outputs()),
            other => other,
        }
    }

    /// Replaces secrets and unknowns outside of output values by output values without dependencies.
    pub(crate) fn upgrade_to_outputs(self) -> Self {
        match self {
            Self::Secret(_) | Self::Unknown(_) => self.with_dependencies(&[]),
            Self::Array(values) => {
                Self::array(values.iter().cloned().map(Self::upgrade_to_outputs).collect())
            }
            Self::Object(map) => Self::Object(map.upgrade_to_outputs()),
            other => other,
        }
    }

    /// Returns the value with dependencies, as an output value. One that is an output value already gets those that it
    /// lacks; a secret or an unknown becomes part of the output value.
    #[must_use]
    pub fn with_dependencies(self, dependencies: &[Urn]) -> Self {
        let mut output = match self {
            Self::Output(output) => Output::clone(&output),
            Self::Secret(secret) => {
                let Self::Output(inner) = secret.element.clone().with_dependencies(&[]) else {
                    return Self::Secret(secret);
                };
                Output {
                    secret: true,
                    ..Output::clone(&inner)
                }
            }
            value => Output {
                element: (!matches!(value, Self::Unknown(_))).then_some(value),
                secret: false,
                dependencies: Vec::new(),
            },
        };
        for dependency in dependencies {
            if !output.dependencies.contains(dependency) {
                output.dependencies.push(dependency.clone());
            }
        }
        Self::Output(Arc::new(output))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_with_dependencies_collapses_to_itself() {
        let urn = Urn::root_stack("dev", "shop");
        for value in [
            PropertyValue::from("text"),
            PropertyValue::unknown(),
            PropertyValue::secret("hunter2".into()),
            PropertyValue::secret(PropertyValue::unknown()),
        ] {
            let output = value.clone().with_dependencies(std::slice::from_ref(&urn));
            let PropertyValue::Output(content) = &output else {
                panic!("{output:?}")
            };
            assert_eq!(content.dependencies, std::slice::from_ref(&urn));
            assert_eq!(output.collapse_outputs(), value);
        }
    }
}
