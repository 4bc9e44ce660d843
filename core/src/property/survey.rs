//! A single pass over values that reports the special kinds in them.

use zeroize::Zeroizing;

use crate::property::{
    ArchiveSource, AssetSource, PathElement, PropertyMap, PropertyValue, path::PropertyPath,
    signature::SIGNATURE,
};

/// The minimum length in bytes of a secret array's or object's JSON text; shorter texts occur by chance.
const MIN_JSON_LENGTH: usize = 8;

/// The special kinds of values in a map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Survey {
    /// An asset or an archive.
    pub(crate) assets: bool,
    /// A secret.
    pub(crate) secrets: bool,
    /// An unknown value.
    pub(crate) unknowns: bool,
    /// A plain object with the signature key of special values: it could be written, but not read again.
    pub(crate) forged: bool,
}

impl PropertyMap {
    /// Inspects all values in one pass.
    pub(crate) fn survey(&self) -> Survey {
        let mut survey = Survey::default();
        for value in self.values() {
            value.look_through(&mut survey);
        }
        survey
    }

    /// Returns whether the map contains an asset or an archive at any level.
    #[must_use]
    pub fn contains_assets(&self) -> bool {
        self.values().any(|value| {
            value.any(&mut |value| matches!(value, PropertyValue::Asset(_) | PropertyValue::Archive(_)))
        })
    }

    /// Returns the error for an object that cannot be distinguished from a special value; `None` without one.
    pub(crate) fn forgery(&self, label: &str) -> Option<String> {
        let place = self
            .iter()
            .find_map(|(key, value)| value.forged_below(PropertyPath::default(), key.as_str().into()));
        place.map(|place| {
            format!(
                "{label}.{place}: an object must not have the key '{SIGNATURE}', which marks special values"
            )
        })
    }

    /// Returns the path of the first unknown value; `None` without one.
    pub(crate) fn unknown_place(&self) -> Option<PropertyPath> {
        self.iter()
            .find_map(|(key, value)| value.unknown_below(PropertyPath::default(), key.as_str().into()))
    }

    /// Returns whether an object with this content would be read as a special value.
    pub(crate) fn is_forged(&self) -> bool {
        // Names are sorted, and nearly all begin with a letter.
        self.keys()
            .next()
            .is_some_and(|first| first.as_str() <= SIGNATURE)
            && self.contains_key(SIGNATURE)
    }
}

impl PropertyValue {
    /// Inspects this value and all values inside in one pass.
    pub(crate) fn survey(&self) -> Survey {
        let mut survey = Survey::default();
        self.look_through(&mut survey);
        survey
    }

    fn look_through(&self, survey: &mut Survey) {
        self.any(&mut |value| {
            match value {
                Self::Object(map) => survey.forged |= map.is_forged(),
                Self::Asset(_) => survey.assets = true,
                Self::Archive(archive) => {
                    survey.assets = true;
                    survey.forged |=
                        matches!(&archive.source, ArchiveSource::Assets(assets) if assets.contains_key(SIGNATURE));
                }
                Self::Unknown(_) => survey.unknowns = true,
                Self::Output(output) if output.element.is_none() => survey.unknowns = true,
                value => survey.secrets |= value.is_secret(),
            }
            false
        });
    }

    fn unknown_below(&self, mut path: PropertyPath, element: PathElement) -> Option<PropertyPath> {
        path.push(element);
        match self {
            Self::Object(map) => map
                .iter()
                .find_map(|(key, value)| value.unknown_below(path.clone(), key.as_str().into())),
            Self::Array(values) => values
                .iter()
                .enumerate()
                .find_map(|(index, value)| value.unknown_below(path.clone(), index.into())),
            // The paths in secret values stay hidden.
            value => value.contains_unknowns().then_some(path),
        }
    }

    fn forged_below(&self, mut path: PropertyPath, element: PathElement) -> Option<PropertyPath> {
        path.push(element);
        match self {
            Self::Object(map) if map.is_forged() => Some(path),
            Self::Archive(archive) if self.survey().forged => match &archive.source {
                ArchiveSource::Assets(assets) if !assets.contains_key(SIGNATURE) => assets
                    .iter()
                    .find_map(|(name, asset)| asset.forged_below(path.clone(), name.as_str().into())),
                _ => Some(path),
            },
            Self::Object(map) => map
                .iter()
                .find_map(|(key, value)| value.forged_below(path.clone(), key.as_str().into())),
            Self::Array(values) => values
                .iter()
                .enumerate()
                .find_map(|(index, value)| value.forged_below(path.clone(), index.into())),
            // Secret values are not descended into, so their paths stay hidden.
            Self::Secret(_) | Self::Output(_) => self.survey().forged.then_some(path),
            _ => None,
        }
    }

    /// Calls `learn` with every secret text, including the JSON of secret arrays and objects (sorted names); the second
    /// argument is true for the texts of numbers and booleans.
    pub(crate) fn each_secret_text(&self, learn: &mut dyn FnMut(&str, bool)) {
        self.any(&mut |value| {
            if value.is_secret() {
                for separators in [(",", ":"), (", ", ": ")] {
                    let mut text = Zeroizing::new(String::new());
                    if value.write_secret_json(separators, &mut text).is_some()
                        && text.len() >= MIN_JSON_LENGTH
                    {
                        learn(&text, false);
                    }
                }
                value.any(&mut |inner| {
                    match inner {
                        Self::String(text) => learn(text, false),
                        Self::Bool(true) => ["true", "True"].iter().for_each(|text| learn(text, true)),
                        Self::Bool(false) => ["false", "False"].iter().for_each(|text| learn(text, true)),
                        Self::Number(number) => {
                            learn(&number.to_string(), true);
                            learn(&format!("{number:?}"), true);
                        }
                        Self::Asset(asset) => {
                            if let AssetSource::Text(text) = &asset.source {
                                learn(text, false);
                            }
                        }
                        _ => {}
                    }
                    false
                });
            }
            false
        });
    }

    /// Writes the JSON text of a secret array or object, with separators of items and members; `None` for other values,
    /// and if a part is not plain data.
    fn write_secret_json(&self, separators: (&str, &str), text: &mut String) -> Option<()> {
        match self {
            Self::Secret(inner) => inner.element.write_secret_json(separators, text),
            Self::Output(output) => output.element.as_ref()?.write_secret_json(separators, text),
            Self::Array(_) | Self::Object(_) => self.write_plain_json(separators, text),
            _ => None,
        }
    }

    fn write_plain_json(&self, separators: (&str, &str), text: &mut String) -> Option<()> {
        let quoted = |part: &str| serde_json::to_string(part).ok().map(Zeroizing::new);
        let (item, member) = separators;
        match self {
            Self::Null => text.push_str("null"),
            Self::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
            Self::Number(number) => text.push_str(&number.to_string()),
            Self::String(value) => text.push_str(&quoted(value)?),
            Self::Secret(inner) => inner.element.write_plain_json(separators, text)?,
            Self::Array(items) => {
                text.push('[');
                for (place, value) in items.iter().enumerate() {
                    text.push_str(if place == 0 { "" } else { item });
                    value.write_plain_json(separators, text)?;
                }
                text.push(']');
            }
            Self::Object(members) => {
                text.push('{');
                for (place, (key, value)) in members.iter().enumerate() {
                    text.push_str(if place == 0 { "" } else { item });
                    text.push_str(&quoted(key.as_str())?);
                    text.push_str(member);
                    value.write_plain_json(separators, text)?;
                }
                text.push('}');
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::json::from_plain_json;

    fn forged() -> PropertyValue {
        PropertyValue::Object([(SIGNATURE, "zzz".into())].into_iter().collect())
    }

    #[test]
    fn a_survey_reports_exactly_the_kinds_in_a_map() {
        assert_eq!(PropertyMap::new().survey(), Survey::default());
        let map = from_plain_json(br#"{"a": [{"b": {"5": 1, "4": "x"}}], "c": "text"}"#).unwrap();
        assert_eq!(map.survey(), Survey::default());
        let secret = PropertyValue::array(vec![PropertyValue::secret("x".into())]);
        let map: PropertyMap = [("a", secret)].into_iter().collect();
        assert_eq!(
            map.survey(),
            Survey {
                secrets: true,
                ..Survey::default()
            }
        );
    }

    #[test]
    fn a_forged_object_is_reported_by_its_path_without_secret_parts() {
        let place = |value: PropertyValue| {
            let map: PropertyMap = [("a", "x".into()), ("b", value)].into_iter().collect();
            assert!(map.survey().forged);
            let text = map.forgery("inputs").unwrap();
            text.split(':').next().unwrap().to_owned()
        };
        assert_eq!(place(forged()), "inputs.b");
        assert_eq!(
            place(PropertyValue::array(vec![1.0.into(), forged()])),
            "inputs.b[1]"
        );
        let inner = PropertyMap::from_iter([("0", 1.0.into()), ("k", forged())]);
        assert_eq!(place(inner.clone().into()), "inputs.b.k");
        assert_eq!(place(PropertyValue::secret(inner.into())), "inputs.b");
        // The names of the map itself have no special meaning.
        let map: PropertyMap = [(SIGNATURE, "zzz".into())].into_iter().collect();
        assert!(!map.survey().forged && map.forgery("inputs").is_none());
    }

    #[test]
    fn only_texts_and_numbers_inside_secrets_are_secret() {
        let sealed = from_plain_json(br#"{"user": "bob", "list": ["one", 2]}"#).unwrap();
        let value = PropertyValue::array(vec!["open".into(), PropertyValue::secret(sealed.into())]);
        let mut texts = Vec::new();
        value.each_secret_text(&mut |text, _| texts.push(text.to_owned()));
        let json = [
            r#"{"list":["one",2],"user":"bob"}"#,
            r#"{"list": ["one", 2], "user": "bob"}"#,
        ];
        assert_eq!(texts, [json[0], json[1], "one", "2", "2.0", "bob"]);
    }
}
