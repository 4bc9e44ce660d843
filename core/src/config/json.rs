//! The JSON text of structured values, byte for byte as the reference engine writes it.

use std::fmt::Write as _;

use super::{Config, ConfigValue};
use crate::{
    error::{Error, ErrorKind, Result},
    secrets::PLACEHOLDER,
};

/// How secrets are written in JSON.
#[derive(Clone, Copy)]
pub(super) enum Secrets {
    /// As plaintext.
    Reveal,
    /// As `[secret]`, each at its own place.
    Blind,
    /// As `{"secure": <ciphertext>}`, the form of stack files.
    Sealed,
}

impl Config {
    /// Returns the configuration as JSON in the form of stack files, sorted by key: the form of history records.
    ///
    /// # Errors
    /// [`ErrorKind::Secrets`] when a secret is not encrypted yet.
    pub fn to_json(&self) -> Result<String> {
        let entries: Vec<_> = self.iter().map(|(key, value)| (key.to_string(), value)).collect();
        let mut out = String::new();
        write_entries(&mut out, entries, Secrets::Sealed)?;
        Ok(out)
    }
}

/// Returns the JSON text of a value, with sorted names.
///
/// # Errors
/// [`ErrorKind::Secrets`] when a secret must be decrypted or encrypted first.
pub(super) fn to_json(value: &ConfigValue, secrets: Secrets) -> Result<String> {
    let mut out = String::new();
    write(&mut out, value, secrets)?;
    Ok(out)
}

fn write(out: &mut String, value: &ConfigValue, secrets: Secrets) -> Result<()> {
    match (value, secrets) {
        (ConfigValue::Null, _) => out.push_str("null"),
        (ConfigValue::Bool(value), _) => out.push_str(if *value { "true" } else { "false" }),
        (ConfigValue::Integer(value), _) => {
            // Writing to a string cannot fail.
            write!(out, "{value}").ok();
        }
        (ConfigValue::Float(value), _) => out.push_str(&float_as_json(*value)?),
        (ConfigValue::String(text), _) => string(out, text),
        (ConfigValue::Secret(plaintext), Secrets::Reveal) => string(out, plaintext.reveal()),
        (ConfigValue::Secure(_) | ConfigValue::Secret(_), Secrets::Blind) => string(out, PLACEHOLDER),
        (ConfigValue::Secure(ciphertext), Secrets::Sealed) => {
            out.push_str("{\"secure\":");
            string(out, ciphertext);
            out.push('}');
        }
        (ConfigValue::Secure(_), Secrets::Reveal) => {
            return Err(Error::new(ErrorKind::Secrets, "a secret is not decrypted"));
        }
        (ConfigValue::Secret(_), Secrets::Sealed) => {
            return Err(Error::new(ErrorKind::Secrets, "a secret is not encrypted"));
        }
        (ConfigValue::List(items), _) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(out, item, secrets)?;
            }
            out.push(']');
        }
        (ConfigValue::Object(entries), _) => {
            let entries = entries
                .iter()
                .map(|(name, value)| (name.as_str(), value))
                .collect();
            write_entries(out, entries, secrets)?;
        }
    }
    Ok(())
}

fn write_entries<N: AsRef<str> + Ord>(
    out: &mut String,
    mut entries: Vec<(N, &ConfigValue)>,
    secrets: Secrets,
) -> Result<()> {
    entries.sort_unstable_by(|left, right| left.0.cmp(&right.0));
    out.push('{');
    for (index, (name, value)) in entries.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        string(out, name.as_ref());
        out.push(':');
        write(out, value, secrets)?;
    }
    out.push('}');
    Ok(())
}

/// Writes a JSON string; the reference engine also escapes the special characters of HTML.
fn string(out: &mut String, text: &str) {
    out.push('"');
    for any in text.chars() {
        match any {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\0'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                write!(out, "\\u{:04x}", u32::from(any)).ok();
            }
            any => out.push(any),
        }
    }
    out.push('"');
}

/// Writes a number with the fewest digits; very large and very small ones in exponent notation.
fn float_as_json(value: f64) -> Result<String> {
    if !value.is_finite() {
        return Err(Error::invalid("a configuration value is not a finite number"));
    }
    let size = value.abs();
    if size == 0.0 || (1e-6..1e21).contains(&size) {
        return Ok(value.to_string());
    }
    let text = format!("{value:e}");
    Ok(match text.split_once('e') {
        Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
        _ => text,
    })
}

/// Returns the text of a number as programs receive it: `1.5`, `1e+06`, `+Inf`.
pub(crate) fn float_as_text(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return scientific;
    };
    let Ok(exponent) = exponent.parse::<i32>() else {
        return scientific;
    };
    // Go's `%g` uses exponent notation from 1e6 on and below 1e-4.
    if value == 0.0 || (-4..6).contains(&exponent) {
        return value.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}
