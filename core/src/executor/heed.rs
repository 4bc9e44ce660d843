//! A look at each value that comes in: what is secret in it is kept out of texts, and what could not be read again is
//! refused.

use crate::{
    executor::Executor,
    property::{PropertyMap, PropertyValue, Survey},
    provider::{
        CheckResponse, CreateResponse, InitFailure, InvokeResponse, ProviderError, ProviderResult,
        ProviderStatus, ReadResponse, UpdateResponse,
    },
};

impl Executor {
    /// Looks at values; returns what is in them.
    ///
    /// # Errors
    /// A text that names the place of a plain object with the key of special values.
    pub(crate) fn heed(&self, label: &str, values: &PropertyMap) -> Result<Survey, String> {
        let survey = values.survey();
        if survey.secrets {
            values.values().for_each(|value| self.learn(value));
        }
        match survey.forged.then(|| values.forgery(label)).flatten() {
            Some(fault) => Err(fault),
            None => Ok(survey),
        }
    }

    /// As [`Self::heed`], for one value.
    pub(crate) fn heed_value(&self, label: &str, value: &PropertyValue) -> Result<(), String> {
        let holder: PropertyMap = [("", value.clone())].into_iter().collect();
        self.heed(label, &holder).map(|_| ())
    }

    /// As [`Self::heed`], for what is to be recorded: in a preview something may be unknown, in a record nothing.
    pub(super) fn take_in(&self, label: &str, values: &mut PropertyMap) -> Result<(), String> {
        if self.heed(label, values)?.unknowns && !self.is_preview() {
            *values = std::mem::take(values).without_unknowns();
        }
        Ok(())
    }

    fn learn(&self, value: &PropertyValue) {
        self.events.redactor().learn_value(value);
    }

    /// Looks at checked inputs. A provider that has nothing to say returns those that it was given.
    pub(crate) fn checked(
        &self,
        news: &PropertyMap,
        response: CheckResponse,
    ) -> ProviderResult<CheckResponse> {
        if !response.inputs.same_content(news) {
            self.heed("inputs", &response.inputs).map_err(refused)?;
        }
        Ok(response)
    }

    /// Looks at the result of a function.
    pub(crate) fn invoked(&self, response: InvokeResponse) -> ProviderResult<InvokeResponse> {
        self.heed("result", &response.result).map_err(refused)?;
        Ok(response)
    }

    /// Looks at what was made: it keeps its id, whatever its outputs are.
    pub(super) fn created(&self, answer: ProviderResult<CreateResponse>) -> ProviderResult<CreateResponse> {
        let mut response = answer.map_err(|error| self.half_done(error, &PropertyMap::new()))?;
        match self.take_in("outputs", &mut response.outputs) {
            Ok(()) => Ok(response),
            Err(fault) if self.is_preview() || response.id.is_empty() => Err(refused(fault)),
            Err(fault) => Err(ProviderError::init_failed(InitFailure {
                id: response.id.as_str().to_owned(),
                reasons: vec![fault],
                refresh_before_update: response.refresh_before_update,
                ..InitFailure::default()
            })),
        }
    }

    /// Looks at what was changed: it keeps the outputs that it had, when those that it has cannot be recorded.
    pub(super) fn updated(
        &self,
        answer: ProviderResult<UpdateResponse>,
        old_outputs: &PropertyMap,
    ) -> ProviderResult<UpdateResponse> {
        let mut response = answer.map_err(|error| self.half_done(error, old_outputs))?;
        match self.take_in("outputs", &mut response.outputs) {
            Ok(()) => Ok(response),
            Err(fault) if self.is_preview() => Err(refused(fault)),
            Err(fault) => Err(ProviderError::init_failed(InitFailure {
                outputs: old_outputs.clone(),
                reasons: vec![fault],
                refresh_before_update: response.refresh_before_update,
                ..InitFailure::default()
            })),
        }
    }

    /// Looks at what was read. Assets that the provider returns by their hash alone get the contents that they have in
    /// `recorded`.
    pub(super) fn was_read<const N: usize>(
        &self,
        answer: ProviderResult<ReadResponse>,
        recorded: [&PropertyMap; N],
    ) -> ProviderResult<ReadResponse> {
        let mut response = answer.map_err(|mut error| {
            if error.outcome_unknown {
                // What is recorded says more.
                error.init_failure = None;
            }
            if let Some(failure) = &mut error.init_failure {
                let read = failure.inputs.iter_mut().chain([&mut failure.outputs]);
                read.for_each(|values| values.restore_contents(recorded));
            }
            self.half_done(error, &PropertyMap::new())
        })?;
        for (label, values) in [
            ("inputs", &mut response.inputs),
            ("outputs", &mut response.outputs),
        ] {
            if let Some(values) = values {
                values.restore_contents(recorded);
                self.take_in(label, values).map_err(refused)?;
            }
        }
        Ok(response)
    }

    /// Looks at what exists although the call failed; the reasons are recorded, so that they may hold no secret.
    fn half_done(&self, mut error: ProviderError, old_outputs: &PropertyMap) -> ProviderError {
        if error.outcome_unknown && self.is_preview() {
            // Nothing was made.
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
                .map(|inputs| self.take_in("inputs", inputs));
            let outputs = self.take_in("outputs", &mut failure.outputs);
            if let Some(fault) = inputs.and_then(Result::err).or(outputs.err()) {
                failure.inputs = None;
                failure.outputs = old_outputs.clone();
                failure.reasons.push(fault);
            }
            for reason in &mut failure.reasons {
                let scrubbed = self.events.redactor().scrub(reason).into_owned();
                *reason = scrubbed;
            }
        }
        error
    }
}

fn refused(fault: String) -> ProviderError {
    ProviderError::without_answer(
        ProviderStatus::Internal,
        format!("the provider answered with bad values: {fault}"),
    )
}
