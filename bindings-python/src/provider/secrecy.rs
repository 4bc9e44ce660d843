//! Providers that do not want to know of secrets: what they are given is in the clear, and what they return is marked
//! again by what they were given, as the engine does for plugins of the same kind.

use stackwright::{
    property::PropertyMap,
    provider::{ProviderError, ProviderResult},
};

/// What a provider was given, before secretness was taken off.
pub(super) struct Secrecy {
    /// The inputs and the outputs that its answer is marked by; `None` when the provider knows secrets, or there
    /// were none.
    sent: Option<(PropertyMap, PropertyMap)>,
}

impl Secrecy {
    /// Takes secretness off `maps`, unless the provider accepts it; answers will be marked by `inputs` and `outputs`.
    pub(super) fn take_off<'a>(
        accepts: bool,
        inputs: &PropertyMap,
        outputs: &PropertyMap,
        maps: impl IntoIterator<Item = &'a mut PropertyMap>,
    ) -> Self {
        if accepts {
            return Self { sent: None };
        }
        let marks = inputs.contains_secrets() || outputs.contains_secrets();
        let sent = marks.then(|| (inputs.clone(), outputs.clone()));
        for map in maps {
            *map = map.without_secrets();
        }
        Self { sent }
    }

    /// Marks inputs that the provider returned.
    pub(super) fn mark_inputs(&self, map: &mut PropertyMap) {
        if let Some((inputs, _)) = &self.sent {
            *map = map.annotated_from(inputs);
        }
    }

    /// Marks outputs that the provider returned.
    pub(super) fn mark_outputs(&self, map: &mut PropertyMap) {
        if let Some((_, outputs)) = &self.sent {
            *map = map.annotated_from(outputs);
        }
    }

    /// Marks what a failed initialization tells of the resource.
    pub(super) fn mark_failure<T>(&self, answer: ProviderResult<T>) -> ProviderResult<T> {
        answer.map_err(|mut error: ProviderError| {
            if let Some(failure) = &mut error.init_failure {
                self.mark_outputs(&mut failure.outputs);
                if let Some(inputs) = &mut failure.inputs {
                    self.mark_inputs(inputs);
                }
            }
            error
        })
    }
}
