//! Masks of secrets: a recording has the marks of secret values, but never their contents.
//!
//! A value is secret when the program, the provider or the recorded state marks it. Its texts and the names of its members become
//! `[secret]`, its numbers 0, its truth values false. The same texts, of four characters at least, are masked wherever else they
//! occur: in other values, in names, in contents of assets, in paths and in ids.

use rustc_hash::FxHashMap;

use super::Exchange;
use crate::{
    property::{PropertyMap, PropertyValue, json::PlainMap},
    secrets::{PLACEHOLDER, Redactor, renamed, with_texts},
};

/// The secrets that are known, as texts and as places in resources.
#[derive(Clone, Default)]
pub(in crate::simulation) struct Masks {
    redactors: Vec<Redactor>,
    /// The recorded inputs and outputs by type and name.
    places: FxHashMap<(String, String), Vec<PropertyMap>>,
}

impl Masks {
    /// Creates masks of texts.
    pub(in crate::simulation) fn of(redactors: Vec<Redactor>) -> Self {
        Self {
            redactors,
            places: FxHashMap::default(),
        }
    }

    /// Adds the secret places in the properties of a resource.
    pub(in crate::simulation) fn add(&mut self, token: &str, name: &str, properties: &PropertyMap) {
        if properties.contains_secrets() {
            let place = (token.to_owned(), name.to_owned());
            self.places.entry(place).or_default().push(properties.clone());
        }
    }

    /// Masks a map: of a resource, also at the places that its record marks.
    pub(super) fn map(&self, map: &PropertyMap, token: &str, name: &str) -> PropertyMap {
        let mut marked = map.clone();
        let place = (token.to_owned(), name.to_owned());
        for secrets in self.places.get(&place).into_iter().flatten() {
            marked = marked.with_secrets_of(secrets);
        }
        self.members(&marked, false)
    }

    /// Masks the names and values of an object. Each member stays.
    fn members(&self, map: &PropertyMap, is_secret: bool) -> PropertyMap {
        let name = |key: &str| match is_secret {
            true => PLACEHOLDER.to_owned(),
            false => self.text(key),
        };
        renamed(
            map.iter()
                .map(|(key, value)| (name(key), self.value(value, is_secret))),
        )
    }

    fn value(&self, value: &PropertyValue, is_secret: bool) -> PropertyValue {
        match value {
            PropertyValue::Secret(secret) => PropertyValue::secret(self.value(&secret.element, true)),
            PropertyValue::String(_) if is_secret => PLACEHOLDER.into(),
            PropertyValue::Number(_) if is_secret => 0.0.into(),
            PropertyValue::Bool(_) if is_secret => false.into(),
            PropertyValue::Bytes(_) if is_secret => PropertyValue::Bytes(bytes::Bytes::new()),
            PropertyValue::Asset(_) | PropertyValue::Archive(_) if is_secret => PLACEHOLDER.into(),
            PropertyValue::Array(values) => {
                PropertyValue::array(values.iter().map(|value| self.value(value, is_secret)).collect())
            }
            PropertyValue::Object(map) => PropertyValue::Object(self.members(map, is_secret)),
            PropertyValue::ResourceReference(_) if is_secret => PLACEHOLDER.into(),
            PropertyValue::Output(output) => match &output.element {
                Some(element) if output.secret => PropertyValue::secret(self.value(element, true)),
                Some(element) => self.value(element, is_secret),
                None => value.clone(),
            },
            other => with_texts(other, &|text| self.text(text)),
        }
    }

    /// Returns whether a text of a call is a recorded one, which may be masked.
    pub(super) fn is_text(&self, live: &str, recorded: &str) -> bool {
        live == recorded || self.text(live) == recorded
    }

    /// Returns whether a text of a call can be a recorded one: a mask stands for any text, since a secret may not be known yet.
    pub(super) fn fits(&self, live: &str, recorded: &str) -> bool {
        if self.is_text(live, recorded) {
            return true;
        }
        let Some((first, rest)) = recorded.split_once(PLACEHOLDER) else {
            return false;
        };
        let (between, last) = match rest.rsplit_once(PLACEHOLDER) {
            Some((between, last)) => (Some(between), last),
            None => (None, rest),
        };
        let inside = live
            .strip_prefix(first)
            .and_then(|inside| inside.strip_suffix(last));
        let Some(mut inside) = inside else {
            return false;
        };
        for part in between.iter().flat_map(|between| between.split(PLACEHOLDER)) {
            match inside.split_once(part) {
                Some((_, after)) => inside = after,
                None => return false,
            }
        }
        true
    }

    /// Masks the secrets in a text.
    pub(super) fn text(&self, text: &str) -> String {
        let mut masked = text.to_owned();
        for redactor in &self.redactors {
            masked = redactor.scrub(&masked).into_owned();
        }
        masked
    }

    /// Masks a call and its answer.
    pub(super) fn exchange(&self, exchange: &Exchange) -> Exchange {
        let map = |map: &PlainMap| PlainMap(self.map(&map.0, &exchange.token, &exchange.name));
        let mut masked = exchange.clone();
        masked.name = self.text(&exchange.name);
        masked.id = self.text(&exchange.id);
        masked.old_inputs = map(&exchange.old_inputs);
        masked.inputs = map(&exchange.inputs);
        let answer = &mut masked.answer;
        answer.id = self.text(&answer.id);
        answer.inputs = exchange.answer.inputs.as_ref().map(map);
        answer.outputs = exchange.answer.outputs.as_ref().map(map);
        for (property, reason) in &mut answer.failures {
            (*property, *reason) = (self.text(property), self.text(reason));
        }
        if let Some(difference) = &mut answer.difference {
            for path in difference.diffs.iter_mut().chain(&mut difference.replaces) {
                *path = self.text(path);
            }
        }
        if let Some(failure) = &mut answer.error {
            failure.message = self.text(&failure.message);
        }
        masked
    }
}
