//! The printer of expressions: on one line where they fit, else an entry a line.

use super::value::{Expression, FileKind};

/// The width of a line, its indentation included.
const LINE_WIDTH: usize = 100;

/// The syntax of a language.
pub(super) trait Syntax {
    /// The width of one level of indentation.
    const INDENT: usize = 4;

    fn null(&self) -> String;
    fn bool(&self, value: bool) -> String;
    fn number(&self, value: f64) -> String;
    fn text(&self, value: &str) -> String;
    fn bytes(&self, value: &[u8]) -> String;
    /// The brackets of a list.
    fn list(&self) -> (&'static str, &'static str);
    /// The brackets of an object.
    fn object(&self) -> (&'static str, &'static str);
    /// An entry of an object.
    fn entry(&self, key: &str, value: &str) -> String;
    /// A file whose source is a text, a path or a URI.
    fn file(&self, kind: FileKind, source: &str, text: &str) -> String;
    /// The brackets of an archive of assets by name, whose entries are those of an object.
    fn assets(&self) -> (&'static str, &'static str);
    /// A secret of the configuration.
    fn secret(&self, key: &str, is_text: bool) -> String;
    /// A comment to the end of the line.
    fn comment(&self, text: &str) -> String;
}

/// A printed expression, and the comment that its line needs.
struct Printed {
    text: String,
    comment: Option<&'static str>,
}

/// Prints an expression that begins at a column of a line of an indentation. The comment of a value that source code cannot
/// have follows the expression's line.
pub(super) fn print<S: Syntax>(syntax: &S, value: &Expression, indent: usize, column: usize) -> String {
    expression(syntax, value, indent, column).text
}

/// Prints the entries of an object, a line each.
pub(super) fn print_entries<S: Syntax>(
    syntax: &S,
    entries: &[(String, Expression)],
    indent: usize,
) -> String {
    let (open, close) = syntax.object();
    if entries.is_empty() {
        return format!("{open}{close}");
    }
    let lines = entry_lines(syntax, entries, indent + S::INDENT);
    format!("{open}\n{}{}{close}", lines.concat(), spaces(indent))
}

fn spaces(count: usize) -> String {
    " ".repeat(count)
}

fn expression<S: Syntax>(syntax: &S, value: &Expression, indent: usize, column: usize) -> Printed {
    let plain = |text: String| Printed { text, comment: None };
    match value {
        Expression::Null => plain(syntax.null()),
        Expression::Bool(value) => plain(syntax.bool(*value)),
        Expression::Number(value) => plain(syntax.number(*value)),
        Expression::Text(value) => plain(syntax.text(value)),
        Expression::Bytes(value) => plain(syntax.bytes(value)),
        Expression::File(kind, source, text) => plain(syntax.file(*kind, source, text)),
        Expression::Secret { key, is_text } => plain(syntax.secret(key, *is_text)),
        Expression::Missing(why) => Printed {
            text: syntax.null(),
            comment: Some(why),
        },
        Expression::List(values) => {
            let inline = values.iter().map(|value| inline(syntax, value)).collect();
            let lines = || {
                let inner = indent + S::INDENT;
                let lines = values.iter().map(|value| {
                    let Printed { text, comment } = expression(syntax, value, inner, inner);
                    line(syntax, inner, &text, comment)
                });
                lines.collect()
            };
            plain(bracketed(syntax.list(), inline, lines, indent, column))
        }
        Expression::Object(entries) => plain(entries_of(syntax, syntax.object(), entries, indent, column)),
        Expression::Assets(entries) => plain(entries_of(syntax, syntax.assets(), entries, indent, column)),
    }
}

fn entries_of<S: Syntax>(
    syntax: &S,
    brackets: (&str, &str),
    entries: &[(String, Expression)],
    indent: usize,
    column: usize,
) -> String {
    let inline = entries
        .iter()
        .map(|(key, value)| Some(syntax.entry(key, &inline(syntax, value)?)));
    let lines = || entry_lines(syntax, entries, indent + S::INDENT);
    bracketed(brackets, inline.collect(), lines, indent, column)
}

fn entry_lines<S: Syntax>(syntax: &S, entries: &[(String, Expression)], indent: usize) -> Vec<String> {
    let lines = entries.iter().map(|(key, value)| {
        let column = indent + syntax.entry(key, "").chars().count();
        let Printed { text, comment } = expression(syntax, value, indent, column);
        line(syntax, indent, &syntax.entry(key, &text), comment)
    });
    lines.collect()
}

fn line<S: Syntax>(syntax: &S, indent: usize, text: &str, comment: Option<&str>) -> String {
    match comment {
        None => format!("{}{text},\n", spaces(indent)),
        Some(comment) => format!("{}{text},  {}\n", spaces(indent), syntax.comment(comment)),
    }
}

/// Returns the parts in brackets: on one line if all of them have one and it fits, else a line each.
fn bracketed(
    (open, close): (&str, &str),
    inline: Option<Vec<String>>,
    lines: impl FnOnce() -> Vec<String>,
    indent: usize,
    column: usize,
) -> String {
    if let Some(parts) = inline {
        let pad = if close == " }" { " " } else { "" };
        let joined = parts.join(", ");
        let text = match joined.is_empty() {
            true => format!("{open}{}", close.trim_start()),
            false => format!("{open}{pad}{joined}{close}"),
        };
        if column + text.chars().count() < LINE_WIDTH {
            return text;
        }
    }
    let close = close.trim_start();
    format!("{open}\n{}{}{close}", lines().concat(), spaces(indent))
}

/// Prints an expression on one line; `None` when a part needs a comment, or is long.
fn inline<S: Syntax>(syntax: &S, value: &Expression) -> Option<String> {
    let join = |(open, close): (&str, &str), parts: Option<Vec<String>>| {
        let joined = parts?.join(", ");
        let close = if joined.is_empty() {
            close.trim_start()
        } else {
            close
        };
        let pad = if close == " }" { " " } else { "" };
        (joined.len() < LINE_WIDTH).then(|| format!("{open}{pad}{joined}{close}"))
    };
    let entries = |entries: &[(String, Expression)]| {
        entries
            .iter()
            .map(|(key, value)| Some(syntax.entry(key, &inline(syntax, value)?)))
            .collect()
    };
    match value {
        Expression::Missing(_) => None,
        Expression::List(values) => join(
            syntax.list(),
            values.iter().map(|value| inline(syntax, value)).collect(),
        ),
        Expression::Object(parts) => join(syntax.object(), entries(parts)),
        Expression::Assets(parts) => join(syntax.assets(), entries(parts)),
        other => Some(print(syntax, other, 0, 0)),
    }
}
