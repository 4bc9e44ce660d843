//! Secrets that a provider could not be told about: its answers are marked by what it was asked with.

use crate::property::{PropertyMap, PropertyValue};

/// Marks as secret what has a secret in its place, or anywhere below it, in `asked`.
///
/// Objects are compared property by property; anything else is marked as a whole.
pub(super) fn annotate(answer: &mut PropertyMap, asked: &PropertyMap) {
    for (key, asked) in asked.iter() {
        if !asked.contains_secrets() {
            continue;
        }
        let Some(value) = answer.get_mut(key) else {
            continue;
        };
        match (&mut *value, asked) {
            (PropertyValue::Object(value), PropertyValue::Object(asked)) => annotate(value, asked),
            _ => *value = PropertyValue::secret(std::mem::take(value)),
        }
    }
}

/// Marks everything as secret.
pub(super) fn mark_all(answer: &mut PropertyMap) {
    for (_, value) in answer.iter_mut() {
        *value = PropertyValue::secret(std::mem::take(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(text: &str) -> PropertyValue {
        PropertyValue::secret(text.into())
    }

    fn map(entries: impl IntoIterator<Item = (&'static str, PropertyValue)>) -> PropertyMap {
        entries.into_iter().collect()
    }

    #[test]
    fn a_secret_deep_in_objects_marks_only_its_own_place() {
        let asked = map([
            (
                "outer",
                map([("token", secret("t")), ("open", "o".into())]).into(),
            ),
            ("other", "x".into()),
        ]);
        let mut answer = map([
            ("outer", map([("token", "t".into()), ("open", "o".into())]).into()),
            ("other", "x".into()),
        ]);
        annotate(&mut answer, &asked);
        assert_eq!(answer, asked);
    }

    #[test]
    fn a_secret_in_a_list_marks_the_whole_list() {
        let asked = map([("list", vec!["a".into(), secret("b")].into())]);
        let mut answer = map([("list", vec!["a".into(), "b".into()].into()), ("new", "n".into())]);
        annotate(&mut answer, &asked);
        let list = PropertyValue::from(vec!["a".into(), "b".into()]);
        assert_eq!(
            answer,
            map([("list", PropertyValue::secret(list)), ("new", "n".into())])
        );
    }

    #[test]
    fn an_object_that_was_secret_as_a_whole_is_so_again() {
        let object = PropertyValue::from(map([("a", "b".into())]));
        let mut answer = map([("object", object.clone())]);
        annotate(
            &mut answer,
            &map([("object", PropertyValue::secret(object.clone()))]),
        );
        assert_eq!(answer, map([("object", PropertyValue::secret(object))]));
    }
}
