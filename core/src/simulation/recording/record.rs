//! Records the calls of real providers.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Answer, Difference, Exchange, Failure, Masks, Tape};
use crate::{
    error::Result,
    property::{PropertyMap, json::PlainMap},
    provider::{Call, CheckFailure, DiffChanges, ProviderResult, Reply},
    secrets::Redactor,
};

/// The calls so far.
#[derive(Clone, Default)]
pub(in crate::simulation) struct Recording(Arc<Mutex<Vec<Exchange>>>);

/// Records the calls of one provider.
#[derive(Clone)]
pub(in crate::simulation) struct Recorder {
    pub(in crate::simulation) recording: Recording,
    /// Learns the secrets in calls and answers.
    pub(in crate::simulation) redactor: Redactor,
}

impl Recorder {
    /// Returns what is recorded of a call; `None` for one that is not recorded: those of previews with unknowns, and
    /// deletions, which have no answer.
    pub(in crate::simulation) fn begin(&self, call: &Call) -> Option<Exchange> {
        let (token, name, id, olds, inputs) = match call {
            Call::Check(request) => (
                request.resource_type.as_str(),
                &*request.name,
                "",
                None,
                &request.news,
            ),
            Call::Diff(request) => {
                let (token, olds) = (request.resource_type.as_str(), Some(&request.old_inputs));
                (token, &*request.name, request.id.as_str(), olds, &request.news)
            }
            Call::Create(request) => (
                request.resource_type.as_str(),
                &*request.name,
                "",
                None,
                &request.inputs,
            ),
            Call::Read(request) => {
                static NONE: PropertyMap = PropertyMap::new();
                let inputs = request.inputs.as_ref().unwrap_or(&NONE);
                (
                    request.resource_type.as_str(),
                    &*request.name,
                    request.id.as_str(),
                    None,
                    inputs,
                )
            }
            Call::Update(request) => {
                let (token, olds) = (request.resource_type.as_str(), Some(&request.old_inputs));
                (token, &*request.name, request.id.as_str(), olds, &request.news)
            }
            Call::Invoke(request) => (&*request.token, "", "", None, &request.arguments),
            Call::Method(request) => (&*request.token, "", "", None, &request.arguments),
            _ => return None,
        };
        if inputs.contains_unknowns() {
            return None;
        }
        let preview = match call {
            Call::Create(request) => request.preview,
            Call::Update(request) => request.preview,
            _ => false,
        };
        self.learn(inputs);
        let olds = olds.cloned().unwrap_or_default();
        self.learn(&olds);
        Some(Exchange {
            call: call.name().to_owned(),
            preview,
            token: token.to_owned(),
            name: name.to_owned(),
            id: id.to_owned(),
            old_inputs: PlainMap(olds),
            inputs: PlainMap(inputs.clone().collapse_outputs()),
            answer: Answer::default(),
        })
    }

    /// Adds a call with its answer, once.
    pub(in crate::simulation) fn end(&self, mut exchange: Exchange, answer: &ProviderResult<Reply>) {
        exchange.answer = match answer {
            Ok(reply) => self.answer(reply),
            Err(error) => Answer {
                error: Some(Failure {
                    status: error.status as i32,
                    message: error.message.clone(),
                }),
                ..Answer::default()
            },
        };
        let mut calls = self.recording.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !calls.contains(&exchange) {
            calls.push(exchange);
        }
    }

    fn learn(&self, map: &PropertyMap) {
        map.values().for_each(|value| self.redactor.learn_value(value));
    }

    fn answer(&self, reply: &Reply) -> Answer {
        let failures = |failures: &[CheckFailure]| {
            let pair = |failure: &CheckFailure| (failure.property.clone(), failure.reason.clone());
            failures.iter().map(pair).collect()
        };
        let plain = |map: &PropertyMap| {
            self.learn(map);
            Some(PlainMap(map.clone().collapse_outputs()))
        };
        match reply {
            Reply::Check(answer) => Answer {
                inputs: plain(&answer.inputs),
                failures: failures(&answer.failures),
                ..Answer::default()
            },
            Reply::Diff(answer) => Answer {
                difference: Some(Difference {
                    changes: match answer.changes {
                        DiffChanges::Unknown => None,
                        DiffChanges::None => Some(false),
                        DiffChanges::Some => Some(true),
                    },
                    replaces: answer.replaces.clone(),
                    diffs: answer.diffs.clone(),
                    delete_before_replace: answer.delete_before_replace,
                }),
                ..Answer::default()
            },
            Reply::Create(answer) => Answer {
                id: answer.id.to_string(),
                outputs: plain(&answer.outputs),
                ..Answer::default()
            },
            Reply::Read(answer) => Answer {
                id: answer.id.to_string(),
                inputs: answer.inputs.as_ref().and_then(plain),
                outputs: answer.outputs.as_ref().and_then(plain),
                ..Answer::default()
            },
            Reply::Update(answer) => Answer {
                outputs: plain(&answer.outputs),
                ..Answer::default()
            },
            Reply::Invoke(answer) => Answer {
                outputs: plain(&answer.result),
                failures: failures(&answer.failures),
                ..Answer::default()
            },
            Reply::Method(answer) => Answer {
                outputs: plain(&answer.result),
                failures: failures(&answer.failures),
                ..Answer::default()
            },
            _ => Answer::default(),
        }
    }
}

impl Recording {
    /// Forgets the calls that failed.
    pub(in crate::simulation) fn forget_failures(&self) {
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.retain(|exchange| exchange.answer.error.is_none());
    }

    /// Returns the recording with all secrets masked.
    ///
    /// # Errors
    /// [`crate::ErrorKind::Internal`] if it cannot be written.
    pub(in crate::simulation) fn write(&self, masks: &Masks) -> Result<Vec<u8>> {
        let calls = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut masked: Vec<Exchange> = Vec::with_capacity(calls.len());
        for exchange in calls.iter().map(|exchange| masks.exchange(exchange)) {
            if !masked.contains(&exchange) {
                masked.push(exchange);
            }
        }
        Tape::write(masked)
    }
}
