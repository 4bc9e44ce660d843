//! The sanitizer of values from programs and providers: it registers their secrets with the redactor, and refuses
//! values that could not be read again.

use crate::{
    property::{PropertyMap, PropertyValue, Survey},
    provider::{
        CheckResponse, ConstructResponse, CreateResponse, InitFailure, InvokeResponse, MethodResponse,
        ProviderError, ProviderResult, ProviderStatus, ReadResponse, UpdateResponse,
    },
    secrets::Redactor,
};

/// Checks values before they are used or recorded.
#[derive(Clone)]
pub(crate) struct Sanitizer {
    redactor: Redactor,
    preview: bool,
}

impl Sanitizer {
    pub(super) fn new(redactor: Redactor, preview: bool) -> Self {
        Self { redactor, preview }
    }

    /// Registers the secrets in values; returns the special values among them.
    ///
    /// # Errors
    /// A text with the place of a plain object that has the key of special values.
    pub(crate) fn inspect(&self, label: &str, values: &PropertyMap) -> Result<Survey, String> {
        let survey = values.survey();
        if survey.secrets {
            self.learn(values);
        }
        match survey.forged.then(|| values.forgery(label)).flatten() {
            Some(fault) => Err(fault),
            None => Ok(survey),
        }
    }

    /// Registers the secrets in values that have been inspected already.
    pub(super) fn learn(&self, values: &PropertyMap) {
        values.values().for_each(|value| self.redactor.learn_value(value));
    }

    /// Registers the secrets in one value.
    ///
    /// # Errors
    /// Those of [`Self::inspect`].
    pub(crate) fn inspect_value(&self, label: &str, value: &PropertyValue) -> Result<(), String> {
        let holder: PropertyMap = [("", value.clone())].into_iter().collect();
        self.inspect(label, &holder).map(|_| ())
    }

    /// Inspects values that are to be recorded, and removes unknowns, which only a preview may record.
    ///
    /// # Errors
    /// Those of [`Self::inspect`].
    pub(super) fn sanitize(&self, label: &str, values: &mut PropertyMap) -> Result<(), String> {
        if self.inspect(label, values)?.unknowns && !self.preview {
            *values = std::mem::take(values).without_unknowns();
        }
        Ok(())
    }

    /// Inspects values that may hold unknowns in a preview only.
    ///
    /// # Errors
    /// Those of [`Self::inspect`], and a text with the place of an unknown value.
    pub(crate) fn inspect_known(&self, label: &str, values: &PropertyMap) -> Result<(), String> {
        let survey = self.inspect(label, values)?;
        let unknown = (survey.unknowns && !self.preview).then(|| values.unknown_place());
        match unknown.flatten() {
            Some(place) => Err(format!(
                "{label}.{place}: the value is unknown, which is not allowed here"
            )),
            None => Ok(()),
        }
    }

    /// Inspects checked inputs, unless they are those of the request.
    pub(crate) fn sanitize_check(
        &self,
        news: &PropertyMap,
        response: CheckResponse,
    ) -> ProviderResult<CheckResponse> {
        if !response.inputs.same_content(news) {
            self.inspect_known("inputs", &response.inputs)
                .map_err(malformed_response)?;
        }
        Ok(response)
    }

    /// Inspects the result of a function.
    pub(crate) fn sanitize_invoke(&self, response: InvokeResponse) -> ProviderResult<InvokeResponse> {
        self.inspect_known("result", &response.result)
            .map_err(malformed_response)?;
        Ok(response)
    }

    /// Inspects the outputs of a component. They may be unknown in an update, too: what they come from may not exist.
    pub(crate) fn sanitize_construct(
        &self,
        response: ConstructResponse,
    ) -> ProviderResult<ConstructResponse> {
        self.inspect("outputs", &response.outputs)
            .map_err(malformed_response)?;
        Ok(response)
    }

    /// Inspects the result of a method; it may be unknown as the outputs of a component may.
    pub(crate) fn sanitize_method(&self, response: MethodResponse) -> ProviderResult<MethodResponse> {
        self.inspect("result", &response.result)
            .map_err(malformed_response)?;
        Ok(response)
    }

    /// Sanitizes the response of Create. A resource whose outputs are refused is recorded with its id alone.
    pub(super) fn sanitize_create(
        &self,
        answer: ProviderResult<CreateResponse>,
    ) -> ProviderResult<CreateResponse> {
        let mut response =
            answer.map_err(|error| self.sanitize_partial_failure(error, &PropertyMap::new()))?;
        match self.sanitize("outputs", &mut response.outputs) {
            Ok(()) => Ok(response),
            Err(fault) if self.preview || response.id.is_empty() => Err(malformed_response(fault)),
            Err(fault) => Err(ProviderError::init_failed(InitFailure {
                id: response.id.as_str().to_owned(),
                reasons: vec![fault],
                refresh_before_update: response.refresh_before_update,
                ..InitFailure::default()
            })),
        }
    }

    /// Sanitizes the response of Update. A resource whose new outputs are refused keeps its old ones.
    pub(super) fn sanitize_update(
        &self,
        answer: ProviderResult<UpdateResponse>,
        old_outputs: &PropertyMap,
    ) -> ProviderResult<UpdateResponse> {
        let mut response = answer.map_err(|error| self.sanitize_partial_failure(error, old_outputs))?;
        match self.sanitize("outputs", &mut response.outputs) {
            Ok(()) => Ok(response),
            Err(fault) if self.preview => Err(malformed_response(fault)),
            Err(fault) => Err(ProviderError::init_failed(InitFailure {
                outputs: old_outputs.clone(),
                reasons: vec![fault],
                refresh_before_update: response.refresh_before_update,
                ..InitFailure::default()
            })),
        }
    }

    /// Sanitizes the response of Read. Assets that the provider returns by their hash alone get their contents from
    /// `recorded`.
    pub(super) fn sanitize_read<const N: usize>(
        &self,
        answer: ProviderResult<ReadResponse>,
        recorded: [&PropertyMap; N],
    ) -> ProviderResult<ReadResponse> {
        let mut response = answer.map_err(|mut error| {
            if error.outcome_unknown {
                // The record has more details.
                error.init_failure = None;
            }
            if let Some(failure) = &mut error.init_failure {
                let read = failure.inputs.iter_mut().chain([&mut failure.outputs]);
                read.for_each(|values| values.restore_contents(recorded));
            }
            self.sanitize_partial_failure(error, &PropertyMap::new())
        })?;
        for (label, values) in [
            ("inputs", &mut response.inputs),
            ("outputs", &mut response.outputs),
        ] {
            if let Some(values) = values {
                values.restore_contents(recorded);
                self.sanitize(label, values).map_err(malformed_response)?;
            }
        }
        Ok(response)
    }

    /// Sanitizes a partial failure. The reasons are recorded, and therefore redacted.
    fn sanitize_partial_failure(&self, mut error: ProviderError, old_outputs: &PropertyMap) -> ProviderError {
        if error.outcome_unknown && self.preview {
            // A preview creates nothing.
            error.init_failure = None;
        }
        if let Some(failure) = &mut error.init_failure {
            if error.outcome_unknown {
                failure.inputs = None;
                failure.outputs = old_outputs.clone();
            }
            let inputs = failure
                .inputs
                .as_mut()
                .map(|inputs| self.sanitize("inputs", inputs));
            let outputs = self.sanitize("outputs", &mut failure.outputs);
            if let Some(fault) = inputs.and_then(Result::err).or(outputs.err()) {
                failure.inputs = None;
                failure.outputs = old_outputs.clone();
                failure.reasons.push(fault);
            }
            for reason in &mut failure.reasons {
                let scrubbed = self.redactor.scrub(reason).into_owned();
                *reason = scrubbed;
            }
        }
        error
    }
}

fn malformed_response(fault: String) -> ProviderError {
    ProviderError::without_answer(
        ProviderStatus::Internal,
        format!("the provider answered with bad values: {fault}"),
    )
}
