//! Languages of hosts: naming styles for engine functions in hints.

use std::borrow::Cow;

/// The language of a host, whose naming style hints use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Language {
    /// Rust, the style in which hints are written.
    Rust,
    /// C.
    C,
    /// Python.
    Python,
    /// Node.
    Node,
}

/// The functions that hints can begin with, as `name()`.
const FUNCTIONS: &[&str] = &["create_stack", "select_stack", "create_or_select_stack"];

impl Language {
    /// Returns a hint with its function's name in this language's style. Function names are at the beginning of hints.
    pub(crate) fn hint(self, hint: &str) -> Cow<'_, str> {
        let named = FUNCTIONS.iter().find_map(|function| {
            let rest = hint.strip_prefix(function)?.strip_prefix("()")?;
            Some(format!("{}(){rest}", self.function(function)))
        });
        named.map_or(Cow::Borrowed(hint), Cow::Owned)
    }

    /// Returns the name of a document's member, which is in `camelCase`, in this language's style.
    #[must_use]
    pub fn member(self, name: &str) -> Cow<'_, str> {
        match self {
            Self::Python => Cow::Owned(snake_case(name)),
            Self::Rust | Self::C | Self::Node => Cow::Borrowed(name),
        }
    }

    /// The name of the language in schemas.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::C => "c",
            Self::Python => "python",
            Self::Node => "node",
        }
    }

    fn function(self, name: &str) -> String {
        match self {
            Self::Rust | Self::Python => name.to_owned(),
            Self::C => format!("sw_engine_{name}"),
            Self::Node => {
                let mut words = name.split('_');
                let first = words.next().unwrap_or_default().to_owned();
                words.fold(first, |name, word| {
                    let (initial, rest) = word.split_at(word.len().min(1));
                    name + &initial.to_uppercase() + rest
                })
            }
        }
    }
}

/// Whether a name is [`snake_case`] of a `camelCase` one.
pub(crate) fn is_snake_case_of(name: &str, camel: &str) -> bool {
    let first = |name: &str| name.bytes().next();
    first(name) == first(camel) && snake_case(camel) == name
}

/// Returns a `camelCase` name in the style of Rust and Python; capitals beside each other are one word.
pub(crate) fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    let mut is_capital = true;
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !is_capital {
            snake.push('_');
        }
        is_capital = letter.is_ascii_uppercase();
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capitals_beside_each_other_are_one_word() {
        assert_eq!(snake_case("pluginDownloadURL"), "plugin_download_url");
        assert_eq!(snake_case("ignoreChanges"), "ignore_changes");
        assert!(is_snake_case_of("import_id", "importId") && !is_snake_case_of("importId", "importId"));
    }

    #[test]
    fn a_hint_names_a_function_in_the_style_of_each_language() {
        for (language, expected) in [
            (Language::Rust, "create_stack() creates a stack"),
            (Language::C, "sw_engine_create_stack() creates a stack"),
            (Language::Python, "create_stack() creates a stack"),
            (Language::Node, "createStack() creates a stack"),
        ] {
            assert_eq!(language.hint("create_stack() creates a stack"), expected);
            assert_eq!(
                language.hint("the store has shop/create_stack()"),
                "the store has shop/create_stack()"
            );
        }
    }
}
