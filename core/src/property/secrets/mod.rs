//! Secrets of whole maps: unwrapping for providers that do not accept them, restoring, and marking at any depth.

#[cfg(test)]
mod tests;

use std::{collections::BTreeMap, sync::Arc};

use crate::property::{Archive, ArchiveSource, Output, PropertyMap, PropertyValue};

impl PropertyMap {
    /// Returns the map without secrets; shares the content if there were none.
    #[must_use]
    pub fn without_secrets(&self) -> Self {
        self.rewritten(&|value| match value {
            PropertyValue::Secret(secret) => Some(secret.element.clone()),
            PropertyValue::Output(output) if output.secret => Some(PropertyValue::Output(Arc::new(Output {
                secret: false,
                ..Output::clone(output)
            }))),
            _ => None,
        })
    }

    /// Returns the map without wrappers: secrets and output values become their elements, an output value without
    /// element becomes an unknown. Shares the content if there were none.
    #[must_use]
    pub fn without_wrappers(&self) -> Self {
        self.rewritten(&unwrap_any)
    }

    /// Returns the map with output values collapsed to their value, to a secret or to an unknown. Shares the content if
    /// there were none.
    #[must_use]
    pub fn without_outputs(&self) -> Self {
        self.rewritten(&|value| match value {
            PropertyValue::Output(output) => {
                let element = output.element.clone().unwrap_or(PropertyValue::unknown());
                Some(if output.secret {
                    PropertyValue::secret(element)
                } else {
                    element
                })
            }
            _ => None,
        })
    }

    fn rewritten(&self, rewrite: &dyn Fn(&PropertyValue) -> Option<PropertyValue>) -> Self {
        if !self
            .values()
            .any(|value| value.any(&mut |value| rewrite(value).is_some()))
        {
            return self.clone();
        }
        Self::from_ascending(
            self.iter()
                .map(|(key, value)| (key.clone(), rewritten(value, rewrite)))
                .collect(),
        )
    }

    /// Restores secrets in the response of a provider that does not accept them, by comparison with `sent`: objects
    /// under equal names are compared inside; any other value is secret as a whole if the sent value of its name
    /// contained a secret.
    #[must_use]
    pub fn annotated_from(&self, sent: &Self) -> Self {
        if !sent.contains_secrets() {
            return self.clone();
        }
        let mut annotated = self.clone();
        for (key, value) in sent.iter() {
            let Some(own) = self.get(key) else {
                continue;
            };
            let marked = match (own, value) {
                (PropertyValue::Object(own), PropertyValue::Object(sent)) => {
                    PropertyValue::Object(own.annotated_from(sent))
                }
                (own, value) if !own.is_secret() && value.contains_secrets() => marked(own),
                _ => continue,
            };
            annotated.insert(key.clone(), marked);
        }
        annotated
    }

    /// Marks each value at or below the path of a secret in `source`: objects are compared by name, arrays by position.
    /// A value of another shape than a value in `source` that contains a secret is secret as a whole, unless it is null
    /// or unknown. Shares the content if nothing is to be marked.
    #[must_use]
    pub fn with_secrets_of(&self, source: &Self) -> Self {
        if !source.contains_secrets() {
            return self.clone();
        }
        let mut marked = self.clone();
        for (key, value) in source.iter() {
            if let Some(secret) = self.get(key).and_then(|own| own.with_secrets_of(value)) {
                marked.insert(key.clone(), secret);
            }
        }
        marked
    }

    /// Marks secret outputs after a step: those named in `additional`, and those whose input of the same name is itself
    /// a secret (not those whose input only contains one). `id` is ignored: ids are never secret.
    #[must_use]
    pub fn with_secret_outputs(&self, additional: &[String], inputs: &Self) -> Self {
        let from_inputs = inputs
            .iter()
            .filter(|(_, value)| value.is_secret())
            .map(|(key, _)| key.as_str());
        let named = additional.iter().map(String::as_str).filter(|key| *key != "id");
        let mut outputs = self.clone();
        for key in named.chain(from_inputs) {
            if let Some(value) = self.get(key).filter(|value| !value.is_secret()) {
                outputs.insert(key, PropertyValue::secret(value.clone()));
            }
        }
        outputs
    }
}

impl PropertyValue {
    /// Returns the value without any wrapper inside or around; see [`PropertyMap::without_wrappers`].
    #[must_use]
    pub fn without_wrappers(&self) -> Self {
        if self.any(&mut |value| unwrap_any(value).is_some()) {
            rewritten(self, &unwrap_any)
        } else {
            self.clone()
        }
    }

    /// Returns the value with the secrets of `source`; `None` when nothing is to be marked. See
    /// [`PropertyMap::with_secrets_of`].
    fn with_secrets_of(&self, source: &Self) -> Option<Self> {
        if self.is_secret() || !source.contains_secrets() {
            return None;
        }
        if source.is_secret() {
            return Some(Self::secret(self.clone()));
        }
        match (self, source) {
            (Self::Object(own), Self::Object(source)) => {
                let marked = own.with_secrets_of(source);
                (!marked.same_content(own)).then_some(Self::Object(marked))
            }
            (Self::Array(own), Self::Array(source)) => {
                let mut values = Vec::clone(own);
                let mut is_marked = false;
                for (value, source) in values.iter_mut().zip(source.iter()) {
                    if let Some(secret) = value.with_secrets_of(source) {
                        *value = secret;
                        is_marked = true;
                    }
                }
                is_marked.then(|| Self::array(values))
            }
            (Self::Null | Self::Unknown(_), _) => None,
            _ => Some(marked(self)),
        }
    }
}

fn unwrap_any(value: &PropertyValue) -> Option<PropertyValue> {
    match value {
        PropertyValue::Secret(secret) => Some(secret.element.clone()),
        PropertyValue::Output(output) => Some(output.element.clone().unwrap_or(PropertyValue::unknown())),
        _ => None,
    }
}

/// Wraps a value as one secret; secrets inside are unwrapped.
fn marked(value: &PropertyValue) -> PropertyValue {
    PropertyValue::secret(rewritten(value, &|value| match value {
        PropertyValue::Secret(secret) => Some(secret.element.clone()),
        _ => None,
    }))
}

fn rewritten(
    value: &PropertyValue,
    rewrite: &dyn Fn(&PropertyValue) -> Option<PropertyValue>,
) -> PropertyValue {
    // The replacement may contain another wrapper, an output value in a secret for instance.
    if let Some(replacement) = rewrite(value) {
        return rewritten(&replacement, rewrite);
    }
    match value {
        PropertyValue::Array(values) => {
            PropertyValue::array(values.iter().map(|value| rewritten(value, rewrite)).collect())
        }
        PropertyValue::Object(map) => PropertyValue::Object(map.rewritten(rewrite)),
        PropertyValue::Secret(secret) => {
            let element = rewritten(&secret.element, rewrite);
            if element == secret.element {
                return value.clone();
            }
            PropertyValue::secret(element)
        }
        PropertyValue::Output(output) => PropertyValue::Output(Arc::new(Output {
            element: output.element.as_ref().map(|value| rewritten(value, rewrite)),
            secret: output.secret,
            dependencies: output.dependencies.clone(),
        })),
        PropertyValue::Archive(archive) => match &archive.source {
            ArchiveSource::Assets(assets) => {
                let assets: BTreeMap<String, PropertyValue> = assets
                    .iter()
                    .map(|(name, value)| (name.clone(), rewritten(value, rewrite)))
                    .collect();
                PropertyValue::Archive(Arc::new(Archive {
                    hash: archive.hash.clone(),
                    source: ArchiveSource::Assets(assets),
                }))
            }
            _ => value.clone(),
        },
        _ => value.clone(),
    }
}
