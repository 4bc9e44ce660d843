//! Editing YAML text: unchanged entries keep their lines, with comments and form.

use saphyr_parser::{Event, Parser, Span, StrInput};

use super::{Mapping, Node, write};

/// Returns `source` with the content of `new`. Writes a new document where the form cannot be edited.
pub(super) fn edit(source: &str, new: &Mapping) -> String {
    let rewritten = || Node::Mapping(new.clone()).to_yaml();
    let Ok(Node::Mapping(old)) = Node::parse(source) else {
        return rewritten();
    };
    if old == *new {
        return source.to_owned();
    }
    let lines: Vec<&str> = source.split_inclusive('\n').collect();
    let Some(layout) = layout(source, &lines).filter(|_| !new.is_empty()) else {
        return rewritten();
    };
    let Some(first) = layout.entries.first() else {
        return rewritten();
    };
    let mut edit = Edit {
        lines: &lines,
        out: lines[..first.line].concat(),
    };
    edit.mapping(&layout, lines.len(), &old, new);
    // Comments and block scalars can look alike: the edited text is verified by parsing it.
    match Node::parse(&edit.out) {
        Ok(Node::Mapping(written)) if written == *new => edit.out,
        _ => rewritten(),
    }
}

/// The positions of the entries of a mapping in block form. Lines count from 0.
struct Layout {
    column: usize,
    entries: Vec<Entry>,
}

struct Entry {
    name: String,
    line: usize,
    /// The layout of a value that is a mapping in block form itself.
    inside: Option<Layout>,
}

struct Edit<'source> {
    lines: &'source [&'source str],
    out: String,
}

impl Edit<'_> {
    fn mapping(&mut self, layout: &Layout, end: usize, old: &Mapping, new: &Mapping) {
        // Lines after the last entry stay at the end, after new entries.
        let tail = self.comments_before(end, layout.column);
        for (index, entry) in layout.entries.iter().enumerate() {
            let start = if index == 0 {
                entry.line
            } else {
                self.comments_before(entry.line, layout.column)
            };
            let end = match layout.entries.get(index + 1) {
                Some(next) => self.comments_before(next.line, layout.column),
                None => tail,
            };
            let Some(value) = new.get(&entry.name) else {
                continue;
            };
            match (old.get(&entry.name), value, &entry.inside) {
                (Some(before), _, _) if before == value => self.copy(start, end),
                (Some(Node::Mapping(before)), Node::Mapping(after), Some(inside)) if !after.is_empty() => {
                    let below = inside.entries.first().map_or(end, |first| first.line);
                    self.copy(start, below);
                    self.mapping(inside, end, before, after);
                }
                _ => {
                    self.copy(start, entry.line);
                    write::entry(&mut self.out, &entry.name, value, layout.column);
                }
            }
        }
        for (name, value) in new {
            if !layout.entries.iter().any(|entry| entry.name == *name) {
                write::entry(&mut self.out, name, value, layout.column);
            }
        }
        self.copy(tail, end);
    }

    fn copy(&mut self, start: usize, end: usize) {
        for line in &self.lines[start..end.max(start)] {
            self.out.push_str(line);
            if !line.ends_with('\n') {
                self.out.push('\n');
            }
        }
    }

    /// Returns the first of the comments and empty lines directly above a line that are indented to `column` at most:
    /// comments further right belong to the value above.
    fn comments_before(&self, line: usize, column: usize) -> usize {
        let above = self.lines[..line].iter().rev();
        let comments = above.take_while(|line| {
            let text = line.trim_start_matches(' ');
            text.trim().is_empty() || text.starts_with('#') && line.len() - text.len() <= column
        });
        line - comments.count()
    }
}

/// Finds the entries of the document's mapping; `None` when it is no mapping in block form.
fn layout(source: &str, lines: &[&str]) -> Option<Layout> {
    let mut reader = Reader {
        parser: Parser::new_from_str(source),
        lines,
    };
    loop {
        match reader.next()? {
            (Event::StreamStart | Event::DocumentStart(_) | Event::Nothing, _) => {}
            (Event::MappingStart(..), span) => return reader.mapping(span)?,
            _ => return None,
        }
    }
}

struct Reader<'source> {
    parser: Parser<'source, StrInput<'source>>,
    lines: &'source [&'source str],
}

impl<'source> Reader<'source> {
    fn next(&mut self) -> Option<(Event<'source>, Span)> {
        self.parser.next_event()?.ok()
    }

    /// Reads a mapping to its end. The outer `None` is a malformed document, the inner one a form that cannot be
    /// edited.
    fn mapping(&mut self, start: Span) -> Option<Option<Layout>> {
        let mut usable = !self.is_flow(start);
        let mut entries: Vec<Entry> = Vec::new();
        let mut column = 0;
        loop {
            let (name, span) = match self.next()? {
                (Event::MappingEnd, _) => break,
                (Event::Scalar(name, ..), span) => (name.into_owned(), span),
                (other, _) => {
                    usable = false;
                    self.skip(&other)?;
                    (String::new(), start)
                }
            };
            let line = span.start.line().checked_sub(1)?;
            if entries.is_empty() {
                column = span.start.col();
            }
            let ascends = entries.last().is_none_or(|last| last.line < line);
            let at_start = self
                .lines
                .get(line)?
                .chars()
                .take(span.start.col())
                .all(|any| any == ' ');
            usable &= ascends && at_start && column == span.start.col() && name != "<<";
            let inside = match self.next()? {
                (Event::MappingStart(..), span) => self
                    .mapping(span)?
                    .filter(|inside| inside.entries.first().is_some_and(|first| first.line > line)),
                (other, _) => {
                    self.skip(&other)?;
                    None
                }
            };
            entries.push(Entry { name, line, inside });
        }
        Some((usable && !entries.is_empty()).then_some(Layout { column, entries }))
    }

    /// Reads to the end of a value that has begun.
    fn skip(&mut self, begun: &Event<'source>) -> Option<()> {
        let mut depth = match begun {
            Event::MappingStart(..) | Event::SequenceStart(..) => 1,
            _ => return Some(()),
        };
        while depth > 0 {
            match self.next()?.0 {
                Event::MappingStart(..) | Event::SequenceStart(..) => depth += 1,
                Event::MappingEnd | Event::SequenceEnd => depth -= 1,
                _ => {}
            }
        }
        Some(())
    }

    fn is_flow(&self, span: Span) -> bool {
        let line = span
            .start
            .line()
            .checked_sub(1)
            .and_then(|line| self.lines.get(line));
        line.and_then(|line| line.chars().nth(span.start.col())) == Some('{')
    }
}
