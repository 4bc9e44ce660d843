//! Writing a tree as YAML: block style, an indentation of two, lists indented below their names.

use std::fmt::Write as _;

use super::{Mapping, Node, Resolved, Scalar, Style};

pub(super) fn write(node: &Node) -> String {
    let mut out = String::new();
    match node {
        Node::Mapping(entries) if !entries.is_empty() => mapping(&mut out, entries, 0),
        Node::Sequence(items) if !items.is_empty() => sequence(&mut out, items, 0),
        other => {
            inline(&mut out, other, 0);
            out.push('\n');
        }
    }
    out
}

/// Writes the entries, one a line. When `indent` > 0, the first line is indented already.
fn mapping(out: &mut String, entries: &Mapping, indent: usize) {
    for (index, (name, value)) in entries.iter().enumerate() {
        if index > 0 {
            pad(out, indent);
        }
        // A name cannot be a block scalar.
        let name = Scalar::string(name.as_str());
        match name.style() {
            Style::Block => quoted(out, name.text()),
            _ => scalar(out, &name, indent),
        }
        out.push(':');
        below(out, value, indent);
    }
}

/// Writes one entry of a mapping at `indent`.
pub(super) fn entry(out: &mut String, name: &str, value: &Node, indent: usize) {
    pad(out, indent);
    mapping(
        out,
        &std::iter::once((name.to_owned(), value.clone())).collect(),
        indent,
    );
}

/// Writes one item of a list at `indent`.
pub(super) fn item(out: &mut String, item: &Node, indent: usize) {
    pad(out, indent);
    sequence(out, std::slice::from_ref(item), indent);
}

/// Returns the text of a value that stands after its name: a scalar or an empty collection. Lines of a text of several
/// lines are indented to `indent`.
pub(super) fn inline_text(node: &Node, indent: usize) -> String {
    let mut out = String::new();
    inline(&mut out, node, indent);
    out
}

/// Writes a value on one line, as JSON has it; values without a JSON form keep their own.
pub(super) fn flow(node: &Node) -> String {
    match node {
        Node::Mapping(entries) => {
            let entries: Vec<_> = entries
                .iter()
                .map(|(name, value)| flow_entry(name, value))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        Node::Sequence(items) => {
            let items: Vec<_> = items.iter().map(flow).collect();
            format!("[{}]", items.join(", "))
        }
        Node::Scalar(scalar) => match scalar.resolve() {
            Resolved::Null => "null".to_owned(),
            Resolved::String(text) => quoted_text(&text),
            _ => scalar.text().to_owned(),
        },
    }
}

/// Writes an entry between brackets.
pub(super) fn flow_entry(name: &str, value: &Node) -> String {
    format!("{}: {}", quoted_text(name), flow(value))
}

/// Writes a JSON document, with the indentation of four that the reference engine uses.
pub(super) fn json(node: &Node) -> String {
    let mut out = String::new();
    pretty(&mut out, node, 0);
    out.push('\n');
    out
}

fn pretty(out: &mut String, node: &Node, indent: usize) {
    let parts: Vec<(Option<&str>, &Node)> = match node {
        Node::Mapping(entries) => entries
            .iter()
            .map(|(name, value)| (Some(name.as_str()), value))
            .collect(),
        Node::Sequence(items) => items.iter().map(|item| (None, item)).collect(),
        Node::Scalar(_) => Vec::new(),
    };
    if parts.is_empty() {
        out.push_str(&flow(node));
        return;
    }
    let (open, close) = match node {
        Node::Mapping(_) => ('{', '}'),
        _ => ('[', ']'),
    };
    out.push(open);
    for (index, (name, value)) in parts.into_iter().enumerate() {
        out.push_str(if index > 0 { ",\n" } else { "\n" });
        pad(out, indent + 4);
        if let Some(name) = name {
            out.push_str(&quoted_text(name));
            out.push_str(": ");
        }
        pretty(out, value, indent + 4);
    }
    out.push('\n');
    pad(out, indent);
    out.push(close);
}

/// Returns a text in double quotes whose escapes are those of JSON and of YAML.
fn quoted_text(text: &str) -> String {
    let mut out = String::from("\"");
    for any in text.chars() {
        match any {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            any if any.is_control()
                || matches!(
                    any,
                    '\u{feff}' | '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}'
                ) =>
            {
                // Writing to a string cannot fail.
                write!(out, "\\u{:04x}", u32::from(any)).ok();
            }
            any => out.push(any),
        }
    }
    out.push('"');
    out
}

fn sequence(out: &mut String, items: &[Node], indent: usize) {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            pad(out, indent);
        }
        out.push_str("- ");
        match item {
            Node::Mapping(entries) if !entries.is_empty() => mapping(out, entries, indent + 2),
            Node::Sequence(items) if !items.is_empty() => sequence(out, items, indent + 2),
            other => {
                inline(out, other, indent + 2);
                out.push('\n');
            }
        }
    }
}

/// Writes a value after its name: a scalar or empty collection on the same line, others on the lines below.
fn below(out: &mut String, value: &Node, indent: usize) {
    match value {
        Node::Mapping(entries) if !entries.is_empty() => {
            out.push('\n');
            pad(out, indent + 2);
            mapping(out, entries, indent + 2);
        }
        Node::Sequence(items) if !items.is_empty() => {
            out.push('\n');
            pad(out, indent + 2);
            sequence(out, items, indent + 2);
        }
        Node::Scalar(plain) if plain.style() == Style::Plain && plain.text().is_empty() => out.push('\n'),
        other => {
            out.push(' ');
            inline(out, other, indent + 2);
            out.push('\n');
        }
    }
}

fn inline(out: &mut String, node: &Node, indent: usize) {
    match node {
        Node::Mapping(_) => out.push_str("{}"),
        Node::Sequence(_) => out.push_str("[]"),
        Node::Scalar(value) => scalar(out, value, indent),
    }
}

fn scalar(out: &mut String, scalar: &Scalar, indent: usize) {
    match scalar.style() {
        Style::Plain => out.push_str(scalar.text()),
        Style::Single if !scalar.text().contains('\n') => {
            out.push('\'');
            out.push_str(&scalar.text().replace('\'', "''"));
            out.push('\'');
        }
        Style::Single | Style::Double => quoted(out, scalar.text()),
        Style::Block => block(out, scalar.text(), indent),
    }
}

fn quoted(out: &mut String, text: &str) {
    out.push('"');
    for any in text.chars() {
        match any {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0' => out.push_str("\\0"),
            '\u{feff}' | '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}' => {
                // Writing to a string cannot fail.
                write!(out, "\\u{:04X}", u32::from(any)).ok();
            }
            any if any.is_control() => {
                write!(out, "\\x{:02X}", u32::from(any)).ok();
            }
            any => out.push(any),
        }
    }
    out.push('"');
}

/// Writes a block scalar, with the chomping indicator for the line ends at the end of the text.
fn block(out: &mut String, text: &str, indent: usize) {
    let body = text.trim_end_matches('\n');
    let ends = text.len() - body.len();
    out.push('|');
    match ends {
        0 => out.push('-'),
        1 => {}
        _ => out.push('+'),
    }
    for line in body.split('\n') {
        out.push('\n');
        if !line.is_empty() {
            pad(out, indent.max(2));
            out.push_str(line);
        }
    }
    // The caller ends the last line; `+` keeps the empty ones after it.
    out.extend(std::iter::repeat_n('\n', ends.saturating_sub(1)));
}

fn pad(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}
