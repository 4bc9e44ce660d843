//! Parsing paths: dotted names and `[index]`, `["quoted"]`, `[*]`.

use std::str::FromStr;

use super::{PathElement, PropertyPath};
use crate::error::{Error, Result};

impl PropertyPath {
    /// Parses a path such as `a.b[2]["c.d"][*]`.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] if a name is missing, a bracket or quote is not closed, or an index is
    /// neither a number nor `*`.
    pub fn parse(text: &str) -> Result<Self> {
        read(text)
            .map(Self)
            .map_err(|problem| Error::invalid(format!("invalid property path {text:?}: {problem}")))
    }
}

impl FromStr for PropertyPath {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

fn read(text: &str) -> Result<Vec<PathElement>, &'static str> {
    let mut elements = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.bytes().next() {
        match first {
            b'.' if elements.is_empty() => return Err("it begins with a dot"),
            b'.' => {
                rest = &rest[1..];
                if rest.is_empty() || rest.starts_with('.') {
                    return Err("a name is missing after a dot");
                }
                if !rest.starts_with('[') {
                    rest = bare(rest, &mut elements);
                }
            }
            b'[' if rest.starts_with("[\"") => rest = quoted(&rest[2..], &mut elements)?,
            b'[' => rest = index(&rest[1..], &mut elements)?,
            _ => rest = bare(rest, &mut elements),
        }
    }
    Ok(elements)
}

fn bare<'a>(text: &'a str, elements: &mut Vec<PathElement>) -> &'a str {
    let (name, rest) = text.split_at(text.find(['.', '[']).unwrap_or(text.len()));
    elements.push(PathElement::from(name));
    rest
}

fn quoted<'a>(text: &'a str, elements: &mut Vec<PathElement>) -> Result<&'a str, &'static str> {
    let mut name = String::new();
    let mut rest = text;
    loop {
        let position = rest.find(['"', '\\']).ok_or("a quote is not closed")?;
        name.push_str(&rest[..position]);
        let found = &rest[position..];
        if let Some(after) = found.strip_prefix("\\\"") {
            // Only quotes are escaped; other backslashes are part of the name.
            name.push('"');
            rest = after;
        } else if let Some(after) = found.strip_prefix('\\') {
            name.push('\\');
            rest = after;
        } else {
            rest = found[1..].strip_prefix(']').ok_or("a bracket is not closed")?;
            elements.push(PathElement::Key(name.into()));
            return Ok(rest);
        }
    }
}

fn index<'a>(text: &'a str, elements: &mut Vec<PathElement>) -> Result<&'a str, &'static str> {
    let (inside, rest) = text.split_once(']').ok_or("a bracket is not closed")?;
    elements.push(if inside == "*" {
        PathElement::from("*")
    } else {
        PathElement::Index(inside.parse().map_err(|_| "an index is not a whole number")?)
    });
    Ok(rest)
}
