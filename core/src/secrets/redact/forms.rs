//! The forms in which texts contain a secret: plain, escaped, encoded as a whole, and line by line.

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD},
};
use zeroize::Zeroizing;

/// Shorter secrets and lines, in characters, are not redacted: they occur in any text, and a placeholder would reveal
/// them.
pub(super) const MIN_LENGTH: usize = 4;
/// Longer secrets, in bytes, are redacted in plain and JSON form only.
const MAX_ENCODED: usize = 64 * 1024;
/// The maximum number of lines of one secret that are redacted separately.
const MAX_LINES: usize = 4096;

/// The characters that URL encoders do not escape, besides letters, digits and `-_.~`: none (forms and query values of
/// most libraries), those of paths in Python, of `encodeURIComponent`, of user names, passwords and path segments in
/// Go, of whole paths in Go, and of `encodeURI`.
const KEPT_IN_URLS: [&str; 7] = [
    "",
    "/",
    "!*'()",
    "$&+,;=",
    "$&+=:@",
    "$&+,/:;=@",
    ";,/?:@&=+$#!*'()",
];

/// Returns whether a secret is long enough to be redacted.
pub(super) fn is_long_enough(text: &str) -> bool {
    text.len() >= MIN_LENGTH && text.chars().take(MIN_LENGTH).count() == MIN_LENGTH
}

/// Adds all forms of a secret.
pub(super) fn expand(secret: &str, forms: &mut Vec<Zeroizing<String>>) {
    let mut add = |form: String| {
        let form = Zeroizing::new(form);
        if form.as_str() != secret {
            forms.push(form);
        }
    };
    add(json(secret, false));
    if secret.len() <= MAX_ENCODED {
        if !secret.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            add(json(secret, true));
            add(html_safe_json(secret));
            for quote in [None, Some('\''), Some('"')] {
                add(repr(secret, quote, false));
                add(repr(secret, quote, true));
            }
            for kept in KEPT_IN_URLS {
                for plus in [false, true] {
                    add(percent(secret, kept, plus, true));
                    add(percent(secret, kept, plus, false));
                }
            }
        }
        for engine in [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD] {
            add(engine.encode(secret));
        }
    }
    for line in secret.lines().take(MAX_LINES).map(str::trim) {
        if is_long_enough(line) {
            add(line.to_owned());
        }
    }
    forms.push(Zeroizing::new(secret.to_owned()));
}

/// Returns the content of a JSON string; with `ascii`, other characters are escaped.
fn json(secret: &str, ascii: bool) -> String {
    let mut text = String::with_capacity(secret.len());
    for character in secret.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            '\0'..='\u{1f}' => utf16(character, &mut text),
            _ if ascii && !character.is_ascii() => utf16(character, &mut text),
            _ => text.push(character),
        }
    }
    text
}

/// Like [`json`], with HTML characters escaped.
fn html_safe_json(secret: &str) -> String {
    let plain = Zeroizing::new(json(secret, false));
    let text = Zeroizing::new(plain.replace('<', "\\u003c"));
    let text = Zeroizing::new(text.replace('>', "\\u003e"));
    text.replace('&', "\\u0026")
}

fn utf16(character: char, text: &mut String) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        text.push_str("\\u");
        hex(u32::from(*unit), 4, text);
    }
}

/// Appends a number in hexadecimal digits.
fn hex(number: u32, digits: u32, text: &mut String) {
    for place in (0..digits).rev() {
        let digit = (number >> (place * 4)) & 0xf;
        text.extend(char::from_digit(digit, 16));
    }
}

/// Returns the content of a Python literal, similar in JavaScript; with `ascii`, other characters are escaped.
fn repr(secret: &str, quote: Option<char>, ascii: bool) -> String {
    let mut text = String::with_capacity(secret.len());
    for character in secret.chars() {
        let code = u32::from(character);
        match character {
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            _ if quote == Some(character) => {
                text.push('\\');
                text.push(character);
            }
            '\0'..='\u{1f}' | '\u{7f}'..='\u{a0}' | '\u{ad}' => {
                text.push_str("\\x");
                hex(code, 2, &mut text);
            }
            _ if !ascii || character.is_ascii() => text.push(character),
            _ if code <= 0xff => {
                text.push_str("\\x");
                hex(code, 2, &mut text);
            }
            _ if code <= 0xffff => {
                text.push_str("\\u");
                hex(code, 4, &mut text);
            }
            _ => {
                text.push_str("\\U");
                hex(code, 8, &mut text);
            }
        }
    }
    text
}

/// Returns the text percent-encoded except for letters, digits, `-_.~` and `kept`; with `plus`, spaces are plus signs,
/// and with `upper`, hexadecimal digits are upper case.
fn percent(secret: &str, kept: &str, plus: bool, upper: bool) -> String {
    let mut text = String::with_capacity(secret.len());
    for byte in secret.bytes() {
        let is_kept =
            byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || kept.as_bytes().contains(&byte);
        if is_kept {
            text.push(char::from(byte));
        } else if plus && byte == b' ' {
            text.push('+');
        } else {
            text.push('%');
            for digit in [byte >> 4, byte & 0xf] {
                let digit = char::from_digit(u32::from(digit), 16);
                text.extend(digit.map(|digit| if upper { digit.to_ascii_uppercase() } else { digit }));
            }
        }
    }
    text
}
