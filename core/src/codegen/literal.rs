//! Literals of texts and numbers in each language.

use std::fmt::Write as _;

use crate::message::Language;

/// Returns a text as a string literal of a language, in double quotes. Control characters are escaped, and so are the
/// characters that change the direction of text or end a line in some languages.
pub(crate) fn string_literal(language: Language, text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            // The next character must not become a part of the escape, nor of a trigraph.
            '?' if language == Language::C && characters.peek() == Some(&'?') => literal.push_str("\\?"),
            _ if character.is_control() || is_invisible(character) => {
                escape(&mut literal, language, character);
            }
            _ => literal.push(character),
        }
    }
    literal.push('"');
    literal
}

/// Appends the escape of a character.
fn escape(literal: &mut String, language: Language, character: char) {
    let code = u32::from(character);
    // Writing to a text never fails.
    let _ = match language {
        Language::Python if code > 0xffff => write!(literal, "\\U{code:08x}"),
        Language::Python => write!(literal, "\\u{code:04x}"),
        Language::Node | Language::Rust => write!(literal, "\\u{{{code:x}}}"),
        // Octal escapes have at most three digits, unlike hexadecimal ones.
        Language::C => {
            let mut bytes = [0; 4];
            let encoded = character.encode_utf8(&mut bytes);
            encoded
                .bytes()
                .try_for_each(|byte| write!(literal, "\\{byte:03o}"))
        }
    };
}

/// Returns whether a character is shown as something else, or as nothing.
fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{00ad}' | '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
    )
}

/// Returns a number as a literal; whole ones have no fraction, except in Rust.
pub(super) fn number_literal(language: Language, number: f64) -> String {
    if number.is_nan() || number.is_infinite() {
        return special_number(language, number);
    }
    let is_whole = number.fract() == 0.0 && number.abs() < 1e15;
    match language {
        Language::Rust => format!("{number:?}"),
        _ if is_whole && number.is_sign_negative() && number == 0.0 => "-0.0".to_owned(),
        _ if is_whole => format!("{number:.0}"),
        _ => format!("{number:?}"),
    }
}

fn special_number(language: Language, number: f64) -> String {
    let name = match (number.is_nan(), number.is_sign_negative()) {
        (true, _) => 0,
        (_, false) => 1,
        (_, true) => 2,
    };
    let names = match language {
        Language::Python => ["float(\"nan\")", "float(\"inf\")", "float(\"-inf\")"],
        Language::Node => ["NaN", "Infinity", "-Infinity"],
        Language::Rust => ["f64::NAN", "f64::INFINITY", "f64::NEG_INFINITY"],
        Language::C => ["null", "null", "null"],
    };
    names[name].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_escaped_for_each_language() {
        use Language::{C, Node, Python, Rust};
        let table = [
            ("plain", [r#""plain""#; 4]),
            ("a \"b\" \\ c", [r#""a \"b\" \\ c""#; 4]),
            ("1\n2\r\t", [r#""1\n2\r\t""#; 4]),
            ("é ${x} {y} %s", [r#""é ${x} {y} %s""#; 4]),
            (
                "\u{0}1",
                [r#""\u00001""#, r#""\u{0}1""#, r#""\u{0}1""#, r#""\0001""#],
            ),
            (
                "\u{202e}x",
                [
                    r#""\u202ex""#,
                    r#""\u{202e}x""#,
                    r#""\u{202e}x""#,
                    r#""\342\200\256x""#,
                ],
            ),
            ("??=", [r#""??=""#, r#""??=""#, r#""??=""#, r#""\??=""#]),
        ];
        for (text, expected) in table {
            let literals = [Python, Node, Rust, C].map(|language| string_literal(language, text));
            assert_eq!(literals, expected.map(str::to_owned), "{text:?}");
        }
    }

    #[test]
    fn numbers_keep_their_value() {
        let table = [
            (3.0, "3", "3.0"),
            (-1.5, "-1.5", "-1.5"),
            (1e21, "1e21", "1e21"),
            (0.1, "0.1", "0.1"),
            (1e-7, "1e-7", "1e-7"),
        ];
        for (number, plain, rust) in table {
            assert_eq!(number_literal(Language::Python, number), plain);
            assert_eq!(number_literal(Language::Node, number), plain);
            assert_eq!(number_literal(Language::Rust, number), rust);
        }
        assert_eq!(number_literal(Language::Python, f64::NAN), "float(\"nan\")");
        assert_eq!(
            number_literal(Language::Rust, f64::NEG_INFINITY),
            "f64::NEG_INFINITY"
        );
    }
}
