//! Texts of the programs' SDKs: advice on the reference engine's command is replaced by advice for this library.

use super::Text;

/// The text of an SDK for an unsupported feature, before and after the feature's name.
const UNSUPPORTED: (&str, &str) = (
    "The Pulumi CLI does not support ",
    ". Please update the Pulumi CLI",
);
/// The text of an SDK for a missing configuration value, before and after the options and the key.
const UNSET: (&str, &str) = (
    "please set a value using the command `pulumi config set ",
    " <value>`",
);
/// The option with which the reference engine's command encrypts a value.
const SECRET_OPTION: &str = "--secret ";

/// Returns a text of a program; the library's text contains no advice on the reference engine's command.
pub(crate) fn text_of_program(text: &str) -> Text {
    let unsupported = |feature: &str| format!("Stackwright does not support {feature}");
    let unset = |key: &str| match key.trim_start().strip_prefix(SECRET_OPTION) {
        Some(key) => format!(
            "set a value for `{}` in the stack's configuration, as a secret",
            key.trim()
        ),
        None => format!("set a value for `{}` in the stack's configuration", key.trim()),
    };
    let library = replaced(text, UNSUPPORTED, unsupported);
    let library = replaced(library.as_deref().unwrap_or(text), UNSET, unset).or(library);
    match library {
        Some(library) => Text::pair(text, library),
        None => text.into(),
    }
}

/// Replaces each part of a line between two marks, including the marks; `None` when there is none.
fn replaced(text: &str, (before, after): (&str, &str), with: impl Fn(&str) -> String) -> Option<String> {
    let mut result = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(before) {
        let inner = &rest[start + before.len()..];
        let line = inner.lines().next().unwrap_or_default();
        let Some(length) = line.find(after) else { break };
        result.push_str(&rest[..start]);
        result.push_str(&with(&inner[..length]));
        rest = &inner[length + after.len()..];
    }
    (rest.len() != text.len()).then(|| result + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_to_update_or_to_use_a_command_becomes_what_this_library_can_do() {
        let text = text_of_program(
            "error: The Pulumi CLI does not support error hooks. Please update the Pulumi CLI.\nmore; The Pulumi CLI does \
             not support transforms. Please update the Pulumi CLI",
        );
        assert_eq!(
            text.library(),
            "error: Stackwright does not support error hooks.\nmore; Stackwright does not support transforms"
        );
        assert!(text.reference().contains("update the Pulumi CLI"));
    }

    #[test]
    fn missing_configuration_is_set_in_the_configuration_of_the_stack() {
        let missing = |options: &str| {
            text_of_program(&format!(
                "Missing required configuration variable 'shop:token'\n\tplease set a value using the command \
                 `pulumi config set {options}shop:token <value>`"
            ))
        };
        assert_eq!(
            missing("").library(),
            "Missing required configuration variable 'shop:token'\n\tset a value for `shop:token` in the stack's configuration"
        );
        assert!(
            missing(" --secret ")
                .library()
                .ends_with("in the stack's configuration, as a secret")
        );
    }

    #[test]
    fn other_texts_of_programs_stay_as_they_are() {
        for same in [
            "it is broken",
            "The Pulumi CLI does not support\nx. Please update the Pulumi CLI",
            "",
        ] {
            let text = text_of_program(same);
            assert_eq!((text.library(), text.reference()), (same, same));
        }
    }
}
