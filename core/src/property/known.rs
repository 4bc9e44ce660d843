//! Values without what is not known: only previews may speak of unknowns, no record may hold one.

use std::sync::Arc;

use crate::property::{Output, PropertyMap, PropertyValue};

impl PropertyMap {
    /// Leaves out every unknown, at every level, as the protocol's receivers do that keep none. Values without any stay
    /// the very same.
    #[must_use]
    pub fn without_unknowns(self) -> Self {
        if !self.contains_unknowns() {
            return self;
        }
        let known = self
            .iter()
            .filter_map(|(key, value)| Some((key.clone(), value.without_unknowns()?)));
        known.collect()
    }
}

impl PropertyValue {
    /// Returns the value without the unknowns in it; `None` when it is one itself.
    fn without_unknowns(&self) -> Option<Self> {
        Some(match self {
            Self::Unknown(_) => return None,
            Self::Array(values) => {
                let known = values.iter().filter_map(Self::without_unknowns);
                Self::Array(Arc::new(known.collect()))
            }
            Self::Object(map) => Self::Object(map.clone().without_unknowns()),
            Self::Secret(secret) => Self::secret(secret.element.without_unknowns()?),
            Self::Output(output) => Self::Output(Arc::new(Output {
                element: Some(output.element.as_ref()?.without_unknowns()?),
                ..Output::clone(output)
            })),
            other => other.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknowns_are_left_out_at_every_level_and_all_else_stays() {
        let inner = PropertyMap::from_iter([("c", PropertyValue::unknown()), ("d", 2.0.into())]);
        let map = PropertyMap::from_iter([
            ("a", PropertyValue::unknown()),
            (
                "b",
                PropertyValue::Array(Arc::new(vec![1.0.into(), PropertyValue::unknown(), inner.into()])),
            ),
            ("s", PropertyValue::secret(PropertyValue::unknown())),
            ("t", PropertyValue::secret("kept".into())),
        ]);
        let kept = PropertyMap::from_iter([("d", PropertyValue::from(2.0))]);
        let expected = PropertyMap::from_iter([
            ("b", PropertyValue::Array(Arc::new(vec![1.0.into(), kept.into()]))),
            ("t", PropertyValue::secret("kept".into())),
        ]);
        assert_eq!(map.without_unknowns(), expected);
        assert!(expected.clone().without_unknowns().same_content(&expected));
    }
}
