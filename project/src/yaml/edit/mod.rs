//! Editing YAML and JSON text: what does not change keeps its bytes, with comments and form.

mod change;
mod locate;
mod text;

use super::{Format, Node, write};
use change::{Changes, Context};
use stackwright::{Error, Result};

/// Returns `source`, whose content is `old`, with the content of `new`.
///
/// # Errors
/// [`stackwright::ErrorKind::InvalidInput`] when the source has a form in which the change cannot be made without a loss.
pub(super) fn edit(source: &str, old: &Node, new: &Node, format: Format) -> Result<String> {
    if old == new {
        return Ok(source.to_owned());
    }
    let (mark, text) = match source.strip_prefix('\u{feff}') {
        Some(text) => ("\u{feff}", text),
        None => ("", source),
    };
    let edited = match locate::locate(text) {
        Some(place) => {
            let mut changes = Changes::new(text, format);
            let changed = changes.value(&place, old, new, Context::Document);
            changed.and_then(|()| changes.apply())
        }
        None => Some(appended(text, new, format)),
    };
    match edited {
        // Comments and block scalars can look alike: the edited text is verified by parsing it.
        Some(edited) if parses_as(&edited, new, format) => Ok(format!("{mark}{edited}")),
        _ => Err(Error::invalid(
            "the file is written in a form in which this change cannot be made without a loss",
        )
        .with_hint("write the entry without anchors, merges and explicit keys, or edit the file by hand")),
    }
}

fn parses_as(text: &str, new: &Node, format: Format) -> bool {
    let is_json = || serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    let is_same = Node::parse(text).is_ok_and(|written| written.means(new));
    is_same && (format == Format::Yaml || is_json())
}

/// Writes a mapping after the comments of a document without content.
fn appended(source: &str, new: &Node, format: Format) -> String {
    match format {
        Format::Json => write::json(new),
        Format::Yaml => {
            let gap = if source.is_empty() || source.ends_with('\n') {
                ""
            } else {
                "\n"
            };
            format!("{source}{gap}{}", write::write(new))
        }
    }
}
