//! Members of a record that this engine does not know: kept as text until the program replaces the record.

use std::{collections::BTreeMap, fmt, sync::Arc};

use smol_str::SmolStr;

/// The unknown members of a record in the deployment format, by name: each is compact JSON. Most records have none.
#[derive(Clone, Default, PartialEq)]
pub struct UnknownMembers(Option<Arc<BTreeMap<SmolStr, Box<str>>>>);

impl UnknownMembers {
    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the members, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let members = self.0.iter().flat_map(|members| members.iter());
        members.map(|(name, json)| (name.as_str(), &**json))
    }

    /// Adds a member, whose value is the JSON text `json`. Of two with the same name the last is kept.
    pub(crate) fn insert(&mut self, name: &str, json: &str) {
        let members = Arc::make_mut(self.0.get_or_insert_default());
        members.insert(name.into(), compact(json).into());
    }
}

/// Shows the names alone: a value may be confidential.
impl fmt::Debug for UnknownMembers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_set()
            .entries(self.iter().map(|(name, _)| name))
            .finish()
    }
}

/// Removes the space between the tokens of a valid JSON text; a journal entry is one line.
fn compact(json: &str) -> String {
    let mut compact = String::with_capacity(json.len());
    let (mut in_string, mut escaped) = (false, false);
    for character in json.chars() {
        if in_string {
            (in_string, escaped) = match character {
                _ if escaped => (true, false),
                '\\' => (true, true),
                '"' => (false, false),
                _ => (true, false),
            };
        } else if matches!(character, ' ' | '\n' | '\r' | '\t') {
            continue;
        } else {
            in_string = character == '"';
        }
        compact.push(character);
    }
    compact
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn space_is_removed_between_tokens_and_kept_in_texts() {
        for (json, expected) in [
            (
                "{ \"a b\" :\n [1 , 2.50,\t\"x \\\" y\\\\\" ] }",
                "{\"a b\":[1,2.50,\"x \\\" y\\\\\"]}",
            ),
            ("\"\\\\\" ", "\"\\\\\""),
            (" null", "null"),
            ("\" \u{2003}\u{e9}\"", "\" \u{2003}\u{e9}\""),
        ] {
            assert_eq!(compact(json), expected);
        }
    }

    #[test]
    fn a_dump_shows_names_only() {
        let mut members = UnknownMembers::default();
        assert!(members.is_empty());
        members.insert("later", "\"hidden\"");
        members.insert("earlier", "1");
        assert_eq!(format!("{members:?}"), r#"{"earlier", "later"}"#);
        assert_eq!(
            members.iter().collect::<Vec<_>>(),
            [("earlier", "1"), ("later", "\"hidden\"")]
        );
    }
}
