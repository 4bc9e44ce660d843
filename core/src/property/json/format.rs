//! The text of JSON documents: numbers and escapes in the reference engine's format.

use std::io;

use serde::{Serialize, de::DeserializeOwned};
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};

use crate::error::{Error, Result};

/// Writes numbers in their shortest form without exponents where possible, and escapes the two line separators that are
/// no valid JavaScript; the inner formatter writes the rest.
#[derive(Clone, Debug, Default)]
pub(super) struct StateFormatter<F = CompactFormatter>(F);

impl<F> StateFormatter<F> {
    /// Creates a formatter with the layout of `inner`.
    pub(super) const fn new(inner: F) -> Self {
        Self(inner)
    }
}

macro_rules! leave_to_inner {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {$(
        fn $name<W: ?Sized + io::Write>(&mut self, writer: &mut W $(, $argument: $type)*) -> io::Result<()> {
            self.0.$name(writer $(, $argument)*)
        }
    )*};
}

impl<F: Formatter> Formatter for StateFormatter<F> {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        write_number(writer, value)
    }

    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        // Both separators begin with this byte in UTF-8; most texts do not contain it.
        if !fragment.as_bytes().contains(&0xE2) {
            return writer.write_all(fragment.as_bytes());
        }
        let mut rest = fragment;
        while let Some(position) = rest.find(['\u{2028}', '\u{2029}']) {
            writer.write_all(&rest.as_bytes()[..position])?;
            let separator = &rest[position..position + '\u{2028}'.len_utf8()];
            writer.write_all(if separator == "\u{2028}" {
                b"\\u2028"
            } else {
                b"\\u2029"
            })?;
            rest = &rest[position + separator.len()..];
        }
        writer.write_all(rest.as_bytes())
    }

    leave_to_inner! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        end_object_key();
        begin_object_value();
        end_object_value();
    }
}

fn write_number<W: ?Sized + io::Write>(writer: &mut W, value: f64) -> io::Result<()> {
    let magnitude = value.abs();
    if magnitude == 0.0 || (1e-6..1e21).contains(&magnitude) {
        return write!(writer, "{value}");
    }
    let text = format!("{value:e}");
    match text.split_once('e') {
        Some((digits, exponent)) if !exponent.starts_with('-') => write!(writer, "{digits}e+{exponent}"),
        _ => writer.write_all(text.as_bytes()),
    }
}

/// Writes a document without white space.
///
/// # Errors
/// [`crate::ErrorKind::State`] if the writer fails or a value in the document cannot be written.
pub(crate) fn to_writer(writer: impl io::Write, document: &impl Serialize) -> Result<()> {
    let mut serializer =
        serde_json::Serializer::with_formatter(writer, StateFormatter::new(CompactFormatter));
    document.serialize(&mut serializer).map_err(cannot_write)
}

/// Writes a document without white space.
///
/// # Errors
/// [`crate::ErrorKind::State`] if a value in the document cannot be written.
pub fn to_vec(document: &impl Serialize) -> Result<Vec<u8>> {
    let mut text = Vec::with_capacity(128);
    to_writer(&mut text, document)?;
    Ok(text)
}

/// Writes a document with line breaks; each level is indented by `indent`.
///
/// # Errors
/// [`crate::ErrorKind::State`] if a value in the document cannot be written.
pub fn to_vec_pretty(document: &impl Serialize, indent: &str) -> Result<Vec<u8>> {
    let mut text = Vec::with_capacity(128);
    let formatter = StateFormatter::new(PrettyFormatter::with_indent(indent.as_bytes()));
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, formatter);
    document.serialize(&mut serializer).map_err(cannot_write)?;
    Ok(text)
}

fn cannot_write(error: serde_json::Error) -> Error {
    Error::new(crate::ErrorKind::State, format!("cannot write JSON: {error}"))
}

/// Reads a document whose values may nest as deep as [`crate::property::MAX_DEPTH`].
///
/// # Errors
/// [`crate::ErrorKind::State`] with line and column.
pub fn from_slice<T: DeserializeOwned>(text: &[u8]) -> Result<T> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    // The readers of values limit the depth themselves; the rest of a document is flat.
    deserializer.disable_recursion_limit();
    let read = |error| Error::new(crate::ErrorKind::State, format!("cannot read JSON: {error}"));
    let document = T::deserialize(&mut deserializer).map_err(read)?;
    deserializer.end().map_err(read)?;
    Ok(document)
}
