//! Lines of a source: where they begin and end, and which comments belong to an entry.

use super::locate::{Form, Place};

/// Returns the first byte of the line of a position.
pub(super) fn line_start(source: &str, at: usize) -> usize {
    source[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// Returns the end of the line of a position, before its line break.
pub(super) fn line_end(source: &str, at: usize) -> usize {
    let end = source[at..].find('\n').map_or(source.len(), |end| at + end);
    match source[at..end].ends_with('\r') {
        true => end - 1,
        false => end,
    }
}

/// Returns the first byte of the next line, or the end of the source.
pub(super) fn next_line(source: &str, at: usize) -> usize {
    source[at..].find('\n').map_or(source.len(), |end| at + end + 1)
}

/// Returns whether only blanks precede a position on its line.
pub(super) fn begins_line(source: &str, at: usize) -> bool {
    source[line_start(source, at)..at]
        .bytes()
        .all(|byte| byte == b' ')
}

/// Returns the first line of what belongs to an entry or item: its own, or that of the comments directly above it.
pub(super) fn owned_start(source: &str, at: usize, column: usize) -> usize {
    let mut start = line_start(source, at);
    while start > 0 {
        let above = line_start(source, start - 1);
        let line = &source[above..start];
        let text = line.trim_start_matches(' ');
        if !text.starts_with('#') || line.len() - text.len() != column {
            break;
        }
        start = above;
    }
    start
}

/// Returns the first byte after the lines of a value: comments further right than `column` belong to it.
pub(super) fn owned_end(source: &str, value: &Place, column: usize) -> usize {
    let mut end = next_line(source, value.end);
    let keeps = keeps_breaks(source, value);
    let mut at = end;
    while at < source.len() {
        let next = next_line(source, at);
        let line = &source[at..next];
        let text = line.trim_start_matches(' ');
        let is_blank = text.trim().is_empty();
        if !is_blank && !text.starts_with('#') {
            break;
        }
        if is_blank && keeps && source[end..at].trim().is_empty()
            || !is_blank && line.len() - text.len() > column
        {
            end = next;
        }
        at = next;
    }
    end
}

/// Returns whether the empty lines after a value are part of it.
fn keeps_breaks(source: &str, value: &Place) -> bool {
    let mut last = value;
    loop {
        last = match &last.form {
            Form::Block(block) => match block.entries.last() {
                Some(entry) => &entry.value,
                None => return false,
            },
            Form::List(list) => match list.items.last() {
                Some(item) => &item.value,
                None => return false,
            },
            _ => break,
        };
    }
    let text = &source[last.start..last.end];
    let header = text.lines().next().unwrap_or_default();
    let mark = header
        .split_whitespace()
        .find(|word| !word.starts_with(['&', '!']));
    mark.is_some_and(|mark| mark.starts_with(['|', '>']) && mark.contains('+'))
}
