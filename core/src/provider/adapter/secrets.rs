//! Secrets for providers that decline them: the only place where a call's secrets are unwrapped, and where the
//! response's values are marked secret by what was sent.

use crate::{
    property::{PropertyMap, PropertyValue},
    provider::{Call, ProviderResult, Reply},
};

/// The secrets of a call's values.
#[derive(Default)]
pub(super) struct Marks {
    /// The original inputs, if they contain secrets.
    inputs: Option<PropertyMap>,
    /// The original outputs, if they contain secrets.
    outputs: Option<PropertyMap>,
    /// The plain inputs of a configuration: a provider that does not check them returns them unchanged.
    unchecked: Option<PropertyMap>,
    /// Whether the whole response is secret.
    all: bool,
}

impl Marks {
    /// Unwraps the secrets of a call.
    pub(super) fn take(call: &mut Call) -> Self {
        let mut marks = Self::default();
        match call {
            Call::CheckConfig(request) => {
                request.olds.as_mut().and_then(unmark);
                request.old_outputs.as_mut().and_then(unmark);
                marks.inputs = unmark(&mut request.news);
                marks.unchecked = Some(request.news.clone());
            }
            Call::Check(request) => {
                request.olds.as_mut().and_then(unmark);
                request.old_outputs.as_mut().and_then(unmark);
                marks.inputs = unmark(&mut request.news);
            }
            Call::DiffConfig(request) | Call::Diff(request) => {
                unmark(&mut request.old_inputs);
                unmark(&mut request.old_outputs);
                unmark(&mut request.news);
            }
            Call::Configure(request) => drop(unmark(&mut request.inputs)),
            Call::Create(request) => {
                marks.inputs = unmark(&mut request.inputs);
                marks.outputs.clone_from(&marks.inputs);
            }
            Call::Read(request) => {
                request.views = request.views.without_secrets();
                marks.inputs = request.inputs.as_mut().and_then(unmark);
                marks.outputs = request.properties.as_mut().and_then(unmark);
            }
            Call::Update(request) => {
                request.views = request.views.without_secrets();
                unmark(&mut request.old_inputs);
                unmark(&mut request.old_outputs);
                marks.inputs = unmark(&mut request.news);
                marks.outputs.clone_from(&marks.inputs);
            }
            Call::Delete(request) => {
                request.views = request.views.without_secrets();
                unmark(&mut request.inputs);
                unmark(&mut request.outputs);
            }
            // Any part of the result may depend on a secret argument.
            Call::Invoke(request) => marks.all = unmark(&mut request.arguments).is_some(),
            Call::Method(request) => marks.all = unmark(&mut request.arguments).is_some(),
            // Only providers that accept secrets construct components.
            Call::Construct(_)
            | Call::Handshake(_)
            | Call::PluginInfo
            | Call::Understands
            | Call::GetSchema(_)
            | Call::GetMapping(_)
            | Call::GetMappings(_)
            | Call::Cancel
            | Call::Close => {}
        }
        marks
    }

    /// Marks the secrets of the response, including the response of a failed initialization.
    pub(super) fn put_back(&self, answer: ProviderResult<Reply>) -> ProviderResult<Reply> {
        let mut reply = answer.map_err(|mut error| {
            if let Some(failure) = &mut error.init_failure {
                self.mark_outputs(&mut failure.outputs);
                failure
                    .inputs
                    .iter_mut()
                    .for_each(|inputs| self.mark_inputs(inputs));
            }
            error
        })?;
        match &mut reply {
            Reply::Check(response) => match (&self.inputs, &self.unchecked) {
                (Some(sent), Some(unchecked)) if response.inputs.is_shared_with(unchecked) => {
                    response.inputs = sent.clone();
                }
                _ => self.mark_inputs(&mut response.inputs),
            },
            Reply::Create(response) => self.mark_outputs(&mut response.outputs),
            Reply::Update(response) => self.mark_outputs(&mut response.outputs),
            Reply::Read(response) => {
                response
                    .inputs
                    .iter_mut()
                    .for_each(|inputs| self.mark_inputs(inputs));
                response
                    .outputs
                    .iter_mut()
                    .for_each(|outputs| self.mark_outputs(outputs));
            }
            Reply::Invoke(response) if self.all => {
                let values = std::mem::take(&mut response.result).into_iter();
                let secret = values.map(|(name, value)| (name, PropertyValue::secret(value)));
                response.result = secret.collect();
            }
            Reply::Method(response) if self.all => {
                let values = std::mem::take(&mut response.result).into_iter();
                let secret = values.map(|(name, value)| (name, PropertyValue::secret(value)));
                response.result = secret.collect();
            }
            _ => {}
        }
        Ok(reply)
    }

    fn mark_inputs(&self, inputs: &mut PropertyMap) {
        if let Some(sent) = &self.inputs {
            *inputs = inputs.annotated_from(sent);
        }
    }

    fn mark_outputs(&self, outputs: &mut PropertyMap) {
        if let Some(sent) = &self.outputs {
            *outputs = outputs.annotated_from(sent);
        }
    }
}

/// Unwraps the secrets of a map; returns the original map if it contained any.
fn unmark(map: &mut PropertyMap) -> Option<PropertyMap> {
    if !map.contains_secrets() {
        return None;
    }
    let plain = map.without_secrets();
    Some(std::mem::replace(map, plain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::{CreateRequest, CreateResponse, InvokeRequest, InvokeResponse, Views};

    fn map(name: &'static str, value: PropertyValue) -> PropertyMap {
        [(name, value)].into_iter().collect()
    }

    fn secret() -> PropertyValue {
        PropertyValue::secret("hunter2".into())
    }

    #[test]
    fn values_that_were_unwrapped_are_secret_in_the_response() {
        let mut call = Call::Create(CreateRequest {
            urn: crate::urn::Urn::root_stack("dev", "shop"),
            resource_type: "a:b:C".into(),
            name: "a".to_owned(),
            inputs: map("password", secret()),
            timeout: 0.0,
            preview: false,
            views: Views::default(),
        });
        let marks = Marks::take(&mut call);
        let Call::Create(request) = call else {
            unreachable!()
        };
        assert!(!request.inputs.contains_secrets());
        let answer = Ok(Reply::Create(CreateResponse {
            outputs: request.inputs,
            ..CreateResponse::default()
        }));
        let Ok(Reply::Create(marked)) = marks.put_back(answer) else {
            unreachable!()
        };
        assert_eq!(marked.outputs, map("password", secret()));
    }

    #[test]
    fn a_result_is_secret_when_an_argument_was() {
        let mut call = Call::Invoke(InvokeRequest {
            token: "a:b:c".to_owned(),
            arguments: map("password", secret()),
            preview: false,
        });
        let marks = Marks::take(&mut call);
        let answer = Ok(Reply::Invoke(InvokeResponse {
            result: map("length", 7.0.into()),
            failures: Vec::new(),
        }));
        let Ok(Reply::Invoke(marked)) = marks.put_back(answer) else {
            unreachable!()
        };
        assert!(marked.result.get("length").is_some_and(PropertyValue::is_secret));
    }
}
