//! Plays a recording in the place of the real providers.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use rustc_hash::FxHashSet;

use super::{Answer, Difference, Exchange, Masks, Tape};
use crate::{
    error::Result,
    property::{Key, PropertyMap, PropertyValue, json::PlainMap},
    provider::{
        CheckFailure, CheckRequest, CheckResponse, CreateRequest, DiffChanges, DiffRequest, DiffResponse,
        InvokeRequest, InvokeResponse, MethodRequest, MethodResponse, ProviderError, ProviderResult,
        ProviderStatus, ReadRequest, ReadResponse, Reply, UpdateRequest,
    },
    secrets::{Redactor, numbered},
    token::ResourceId,
};

/// A recording that is played.
pub(in crate::simulation) struct Player {
    calls: Vec<Exchange>,
    /// The positions of those that were played.
    played: Mutex<FxHashSet<usize>>,
    /// Knows the secrets of the calls so far.
    redactor: Redactor,
}

/// What a call is found by.
struct Sought<'a> {
    call: &'a str,
    /// Whether the answer to a preview of a change is sought.
    preview: bool,
    token: &'a str,
    name: &'a str,
    inputs: &'a PropertyMap,
}

impl Sought<'_> {
    /// Returns whether an exchange is about the same resource or function.
    fn is_about(&self, exchange: &Exchange, masks: &Masks) -> bool {
        exchange.call == self.call
            && exchange.preview == self.preview
            && exchange.token == self.token
            && masks.fits(self.name, &exchange.name)
    }

    /// Returns the inputs as a recording has them.
    fn masked_inputs(&self, masks: &Masks) -> PropertyMap {
        masks.map(&self.inputs.clone().collapse_outputs(), self.token, self.name)
    }
}

impl Player {
    /// Reads a recording.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] for what is none.
    pub(in crate::simulation) fn open(text: &[u8], file: Option<&str>) -> Result<Self> {
        Ok(Self {
            calls: Tape::read(text, file)?.calls,
            played: Mutex::default(),
            redactor: Redactor::new(),
        })
    }

    /// Returns the masks of what is secret in the calls so far.
    fn masks(&self) -> Masks {
        Masks::of(vec![self.redactor.clone()])
    }

    /// Returns the next answer to a call, or the last one again.
    fn find(&self, sought: &Sought<'_>, is_equal: impl Fn(&Exchange) -> bool) -> Option<&Answer> {
        let (place, answer) = self.next(sought, is_equal)?;
        let mut played = self.played.lock().unwrap_or_else(PoisonError::into_inner);
        played.insert(place);
        Some(answer)
    }

    /// Returns what [`Self::find`] returns, with its position; it stays the next answer.
    fn next(&self, sought: &Sought<'_>, is_equal: impl Fn(&Exchange) -> bool) -> Option<(usize, &Answer)> {
        sought
            .inputs
            .values()
            .for_each(|value| self.redactor.learn_value(value));
        let masks = self.masks();
        let inputs = sought.masked_inputs(&masks);
        let is_sought = |exchange: &Exchange| {
            sought.is_about(exchange, &masks) && agrees(&inputs, &exchange.inputs.0) && is_equal(exchange)
        };
        let found = self.calls.iter().enumerate();
        let found: Vec<_> = found.filter(|(_, exchange)| is_sought(exchange)).collect();
        // Another resource can have a name that a mask stands for.
        let is_named = |exchange: &Exchange| masks.is_text(sought.name, &exchange.name);
        let has_name = found.iter().any(|(_, exchange)| is_named(exchange));
        let mut found = found
            .into_iter()
            .filter(|(_, exchange)| !has_name || is_named(exchange));
        let played = self.played.lock().unwrap_or_else(PoisonError::into_inner);
        let (place, exchange) = found
            .clone()
            .find(|(place, _)| !played.contains(place))
            .or_else(|| found.next_back())?;
        Some((place, &exchange.answer))
    }

    fn answer(&self, sought: &Sought<'_>) -> ProviderResult<&Answer> {
        outcome(self.find(sought, |_| true).ok_or_else(|| self.missing(sought))?)
    }

    /// Returns the error of a call that was not recorded, with what differs from the one that is most alike.
    fn missing(&self, sought: &Sought<'_>) -> ProviderError {
        let of_resource = match sought.name {
            "" => sought.token.to_owned(),
            name => format!("{name} ({})", sought.token),
        };
        let masks = self.masks();
        let inputs = sought.masked_inputs(&masks);
        let same = self
            .calls
            .iter()
            .filter(|exchange| sought.is_about(exchange, &masks));
        let nearest = same
            .filter_map(|exchange| exchange.inputs.0.diff(&inputs))
            .map(|difference| {
                difference
                    .keys()
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
            })
            .min_by_key(Vec::len);
        let differs = match nearest {
            Some(names) => format!("; of the recorded one differs: {}", names.join(", ")),
            None => String::new(),
        };
        ProviderError::new(
            ProviderStatus::NotFound,
            format!(
                "the recording has no {} of {of_resource} with these inputs{differs}; remove the file to record it anew",
                sought.call
            ),
        )
    }

    /// Puts the values of the program in the place of masked ones: secrets, and values that have the same form without secrets.
    fn restored(&self, recorded: Option<&PlainMap>, inputs: &PropertyMap) -> PropertyMap {
        let masks = self.masks();
        let masked = masks.map(&inputs.clone().collapse_outputs(), "", "");
        // A mask keeps the number of members, and numbers those that have one name without secrets.
        let by_name: BTreeMap<String, &Key> = inputs.keys().fold(BTreeMap::new(), |mut names, key| {
            let name = numbered(masks.text(key), |name| names.contains_key(name));
            names.insert(name, key);
            names
        });
        let restored = map_of(recorded).into_iter().map(|(name, value)| {
            let input = by_name
                .get(name.as_str())
                .and_then(|key| Some((*key, inputs.get(key)?)));
            match input {
                Some((key, input)) if value.contains_secrets() || masked.get(&name) == Some(&value) => {
                    (key.clone(), input.clone())
                }
                _ => (name, value),
            }
        });
        restored.collect()
    }

    pub(in crate::simulation) fn check(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        let echo = CheckResponse {
            inputs: request.news.clone(),
            failures: Vec::new(),
        };
        if request.news.contains_unknowns() {
            return Ok(echo);
        }
        let answer = self.answer(&Sought {
            call: "check",
            preview: false,
            token: request.resource_type.as_str(),
            name: &request.name,
            inputs: &request.news,
        })?;
        Ok(CheckResponse {
            // Secrets of the program stay what they are: the recording has only their places.
            inputs: self.restored(answer.inputs.as_ref(), &request.news),
            failures: failures(answer),
        })
    }

    pub(in crate::simulation) fn diff(&self, request: &DiffRequest) -> Option<DiffResponse> {
        let sought = Sought {
            call: "diff",
            preview: false,
            token: request.resource_type.as_str(),
            name: &request.name,
            inputs: &request.news,
        };
        let learn = |value| self.redactor.learn_value(value);
        request
            .news
            .values()
            .chain(request.old_inputs.values())
            .for_each(learn);
        let olds = self.masks().map(&request.old_inputs, sought.token, sought.name);
        let answer = self.find(&sought, |exchange| agrees(&olds, &exchange.old_inputs.0))?;
        let Difference {
            changes,
            replaces,
            diffs,
            delete_before_replace,
        } = answer.difference.clone()?;
        Some(DiffResponse {
            changes: match changes {
                None => DiffChanges::Unknown,
                Some(false) => DiffChanges::None,
                Some(true) => DiffChanges::Some,
            },
            replaces,
            diffs,
            delete_before_replace,
            ..DiffResponse::default()
        })
    }

    /// Returns the id and the outputs of a creation.
    pub(in crate::simulation) fn create(
        &self,
        request: &CreateRequest,
    ) -> ProviderResult<(ResourceId, PropertyMap)> {
        let sought = Sought {
            call: "create",
            preview: request.preview,
            token: request.resource_type.as_str(),
            name: &request.name,
            inputs: &request.inputs,
        };
        if !request.preview {
            let answer = self.answer(&sought)?;
            let outputs = self.restored(answer.outputs.as_ref(), &request.inputs);
            return Ok((ResourceId::from(answer.id.as_str()), outputs));
        }
        Ok((ResourceId::default(), self.planned(&sought)?))
    }

    /// Returns the outputs of the preview of a creation.
    fn planned(&self, sought: &Sought<'_>) -> ProviderResult<PropertyMap> {
        let inputs = sought.inputs;
        if inputs.contains_unknowns() {
            return Ok(inputs.clone());
        }
        if let Some(previewed) = self.find(sought, |_| true) {
            return Ok(self.restored(outcome(previewed)?.outputs.as_ref(), inputs));
        }
        let created = Sought {
            preview: false,
            ..*sought
        };
        match self.next(&created, |_| true) {
            Some((_, created)) => {
                let outputs = self.restored(outcome(created)?.outputs.as_ref(), inputs);
                Ok(planned(&outputs, inputs))
            }
            // The provider was not asked: one without previews is not, and the engine takes the inputs.
            None => Ok(inputs.clone()),
        }
    }

    /// Returns the outputs of an update.
    pub(in crate::simulation) fn update(&self, request: &UpdateRequest) -> ProviderResult<PropertyMap> {
        let sought = Sought {
            call: "update",
            preview: request.preview,
            token: request.resource_type.as_str(),
            name: &request.name,
            inputs: &request.news,
        };
        if request.preview {
            return self.planned_update(&sought, &request.old_outputs);
        }
        let answer = self.answer(&sought)?;
        Ok(self.restored(answer.outputs.as_ref(), &request.news))
    }

    /// Returns the outputs of the preview of an update.
    fn planned_update(&self, sought: &Sought<'_>, olds: &PropertyMap) -> ProviderResult<PropertyMap> {
        let inputs = sought.inputs;
        if inputs.contains_unknowns() {
            return Ok(over(olds, inputs));
        }
        if let Some(previewed) = self.find(sought, |_| true) {
            return Ok(self.restored(outcome(previewed)?.outputs.as_ref(), inputs));
        }
        let updated = Sought {
            preview: false,
            ..*sought
        };
        let Some((_, updated)) = self.next(&updated, |_| true) else {
            return Ok(over(olds, inputs));
        };
        let outputs = self.restored(outcome(updated)?.outputs.as_ref(), inputs);
        let mut known = planned(&outputs, inputs);
        // What the update leaves as it was is known.
        for (name, value) in outputs
            .iter()
            .filter(|(name, value)| olds.get(name) == Some(*value))
        {
            known.insert(name.clone(), value.clone());
        }
        Ok(known)
    }

    /// Returns the recorded answer to a read; `None` where there is none.
    pub(in crate::simulation) fn read(&self, request: &ReadRequest) -> Option<ReadResponse> {
        let masks = self.masks();
        let is_sought = |exchange: &&Exchange| {
            exchange.call == "read"
                && exchange.token == request.resource_type.as_str()
                && masks.fits(request.id.as_str(), &exchange.id)
        };
        let answer = &self.calls.iter().rfind(is_sought)?.answer;
        Some(ReadResponse {
            id: ResourceId::from(answer.id.as_str()),
            inputs: answer.inputs.as_ref().map(|inputs| inputs.0.clone()),
            outputs: answer.outputs.as_ref().map(|outputs| outputs.0.clone()),
            ..ReadResponse::default()
        })
    }

    pub(in crate::simulation) fn invoke(&self, request: &InvokeRequest) -> ProviderResult<Reply> {
        let answer = self.answer(&Sought {
            call: "invoke",
            preview: false,
            token: &request.token,
            name: "",
            inputs: &request.arguments,
        })?;
        Ok(Reply::Invoke(InvokeResponse {
            result: map_of(answer.outputs.as_ref()),
            failures: failures(answer),
        }))
    }

    pub(in crate::simulation) fn method(&self, request: &MethodRequest) -> ProviderResult<Reply> {
        let answer = self.answer(&Sought {
            call: "call",
            preview: false,
            token: &request.token,
            name: "",
            inputs: &request.arguments,
        })?;
        Ok(Reply::Method(MethodResponse {
            result: map_of(answer.outputs.as_ref()),
            failures: failures(answer),
            ..MethodResponse::default()
        }))
    }
}

/// Returns an answer, or the recorded failure as an error.
fn outcome(answer: &Answer) -> ProviderResult<&Answer> {
    match &answer.error {
        None => Ok(answer),
        Some(failure) => {
            let status = ProviderStatus::from_code(failure.status);
            Err(ProviderError::new(status, failure.message.clone()))
        }
    }
}

fn map_of(map: Option<&PlainMap>) -> PropertyMap {
    map.map(|map| map.0.clone()).unwrap_or_default()
}

fn failures(answer: &Answer) -> Vec<CheckFailure> {
    let failure = |(property, reason): &(String, String)| CheckFailure {
        property: property.clone(),
        reason: reason.clone(),
    };
    answer.failures.iter().map(failure).collect()
}

/// Returns whether masked inputs are the recorded ones. A value that is secret in one of them agrees with any other there.
fn agrees(live: &PropertyMap, recorded: &PropertyMap) -> bool {
    live.len() == recorded.len()
        && live
            .iter()
            .all(|(name, value)| recorded.get(name).is_some_and(|other| agree(value, other)))
}

fn agree(live: &PropertyValue, recorded: &PropertyValue) -> bool {
    match (live, recorded) {
        (PropertyValue::Secret(_), _) | (_, PropertyValue::Secret(_)) => true,
        (PropertyValue::Object(live), PropertyValue::Object(recorded)) => agrees(live, recorded),
        (PropertyValue::Array(live), PropertyValue::Array(recorded)) => {
            live.len() == recorded.len()
                && live
                    .iter()
                    .zip(recorded.iter())
                    .all(|(live, other)| agree(live, other))
        }
        _ => live == recorded,
    }
}

/// Returns outputs as a preview knows them: those that are inputs.
fn planned(outputs: &PropertyMap, inputs: &PropertyMap) -> PropertyMap {
    let known = |name: &Key| inputs.get(name).cloned().unwrap_or_else(PropertyValue::unknown);
    outputs.keys().map(|name| (name.clone(), known(name))).collect()
}

fn over(olds: &PropertyMap, news: &PropertyMap) -> PropertyMap {
    let mut outputs = olds.clone();
    for (name, value) in news.iter() {
        outputs.insert(name.clone(), value.clone());
    }
    outputs
}
