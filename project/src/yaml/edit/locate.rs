//! The places of values in YAML text: which bytes each value, name and item has.

use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput};

use super::text::{line_end, line_start};

/// The place of a value. Bytes of its anchor and its tag belong to it.
#[derive(Debug)]
pub(super) struct Place {
    /// The first byte.
    pub(super) start: usize,
    /// The byte after the last one; comments after the value are not part of it.
    pub(super) end: usize,
    pub(super) form: Form,
}

/// The form of a value.
#[derive(Debug)]
pub(super) enum Form {
    /// A single value, or an alias. One that is left out has no bytes.
    Single,
    /// `name: value`, one a line.
    Block(Block),
    /// `- item`, one a line.
    List(List),
    /// `{name: value}`.
    FlowMapping(Vec<Entry>),
    /// `[item]`.
    FlowList(Vec<Place>),
    /// A form that cannot be edited, for instance one with explicit keys.
    Other,
}

#[derive(Debug)]
pub(super) struct Block {
    pub(super) column: usize,
    pub(super) entries: Vec<Entry>,
}

#[derive(Debug)]
pub(super) struct List {
    pub(super) column: usize,
    pub(super) items: Vec<Item>,
}

/// An entry of a mapping.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    /// The first byte of the name.
    pub(super) start: usize,
    /// The byte after the colon.
    pub(super) after_colon: usize,
    pub(super) value: Place,
}

/// An item of a list in block form.
#[derive(Debug)]
pub(super) struct Item {
    /// The byte of the dash.
    pub(super) dash: usize,
    pub(super) value: Place,
}

/// Returns the place of the first document's value; `None` for an empty or malformed document.
pub(super) fn locate(source: &str) -> Option<Place> {
    let mut offsets: Vec<usize> = source.char_indices().map(|(offset, _)| offset).collect();
    offsets.push(source.len());
    let mut reader = Reader {
        source,
        parser: Parser::new_from_str(source),
        offsets,
    };
    loop {
        match reader.next()? {
            (Event::StreamStart | Event::DocumentStart(_) | Event::Nothing, _) => {}
            (Event::StreamEnd | Event::DocumentEnd, _) => return None,
            (event, span) => return reader.place(event, span),
        }
    }
}

struct Reader<'source> {
    source: &'source str,
    parser: Parser<'source, StrInput<'source>>,
    /// The byte of each character.
    offsets: Vec<usize>,
}

impl<'source> Reader<'source> {
    fn next(&mut self) -> Option<(Event<'source>, Span)> {
        self.parser.next_event()?.ok()
    }

    fn byte(&self, index: usize) -> usize {
        self.offsets.get(index).copied().unwrap_or(self.source.len())
    }

    fn place(&mut self, event: Event<'source>, span: Span) -> Option<Place> {
        let (start, end) = (self.byte(span.start.index()), self.byte(span.end.index()));
        Some(match event {
            Event::MappingStart(..) if self.opens(start, b'{') => self.flow_mapping(start)?,
            Event::MappingStart(..) => self.block(start)?,
            Event::SequenceStart(..) if self.opens(start, b'[') => self.flow_list(start)?,
            Event::SequenceStart(..) => self.list(start)?,
            Event::Scalar(_, style, ..) => Place {
                start,
                end: match style {
                    // The parser counts comments after the quote.
                    ScalarStyle::SingleQuoted => self.closing(start, end, '\'')?,
                    ScalarStyle::DoubleQuoted => self.closing(start, end, '"')?,
                    // A block scalar ends where the next value begins.
                    _ => start + self.source.get(start..end)?.trim_end().len(),
                },
                form: Form::Single,
            },
            _ => Place {
                start,
                end,
                form: Form::Single,
            },
        })
    }

    /// Returns a value without its anchor and tag, and what follows.
    fn bare(&self, start: usize) -> &'source str {
        let mut rest = self.source.get(start..).unwrap_or_default();
        while rest.starts_with(['&', '!']) {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            rest = rest[end..].trim_start();
        }
        rest
    }

    /// Returns whether a value begins with a bracket.
    fn opens(&self, start: usize, bracket: u8) -> bool {
        self.bare(start).as_bytes().first() == Some(&bracket)
    }

    /// Returns the byte after the closing quote of a value.
    fn closing(&self, start: usize, end: usize, quote: char) -> Option<usize> {
        let bare = self.bare(start);
        let begin = self.source.len() - bare.len();
        let mut chars = bare.char_indices().skip(1).peekable();
        while let Some((at, any)) = chars.next() {
            if any == '\\' && quote == '"' {
                chars.next();
            } else if any == quote {
                if quote == '\'' && chars.peek().is_some_and(|(_, next)| *next == quote) {
                    chars.next();
                } else {
                    return (begin + at < end).then_some(begin + at + 1);
                }
            }
        }
        None
    }

    fn entry(&mut self, event: Event<'source>, span: Span) -> Option<Result<Entry, Place>> {
        let start = self.byte(span.start.index());
        let name = match &event {
            Event::Scalar(name, ..) if !span.is_empty() => Some(name.clone().into_owned()),
            _ => None,
        };
        let end = self.place(event, span)?.end;
        let colon = self.source.get(end..)?;
        let blank = colon.len() - colon.trim_start().len();
        // An explicit key (`? name`) has its colon on a line of its own.
        let is_explicit = self.source[..start].trim_end_matches(' ').ends_with('?');
        let has_colon = colon[blank..].starts_with(':') && !colon[..blank].contains('\n') && !is_explicit;
        let after_colon = end + blank + 1;
        let (event, span) = self.next()?;
        let is_absent = is_absent(&event, span);
        let is_block = is_block_scalar(&event);
        let value = self.place(event, span)?;
        let value = self.after(after_colon, value, is_absent, is_block);
        Some(match name {
            Some(name) if has_colon && name != "<<" => Ok(Entry {
                name,
                start,
                after_colon,
                value,
            }),
            // A merged mapping is left alone; what it gives is not an entry of the text.
            _ => Err(value),
        })
    }

    /// Corrects the place of a value after a colon or a dash: the parser has one that is left out where the next one begins,
    /// and a block scalar where its content does.
    fn after(&self, at: usize, value: Place, is_absent: bool, is_block_scalar: bool) -> Place {
        if is_absent {
            return Place {
                start: at,
                end: at,
                form: Form::Single,
            };
        }
        if is_block_scalar {
            let rest = &self.source[at..];
            let start = at + rest.len() - rest.trim_start_matches([' ', '\t']).len();
            return Place {
                start,
                // A block scalar without content ends with its first line.
                end: value.end.max(line_end(self.source, start)),
                ..value
            };
        }
        value
    }

    fn block(&mut self, start: usize) -> Option<Place> {
        let mut entries: Vec<Entry> = Vec::new();
        let (mut usable, mut column, mut end) = (true, None, start);
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                break;
            }
            let is_merge = matches!(&event, Event::Scalar(text, ..) if text == "<<");
            let column = *column.get_or_insert(span.start.col());
            usable &= span.start.col() == column;
            match self.entry(event, span)? {
                Ok(entry) => {
                    end = entry.value.end;
                    usable &= entry.after_colon <= entry.value.start;
                    entries.push(entry);
                }
                Err(value) => {
                    end = value.end;
                    usable &= is_merge;
                }
            }
        }
        Some(Place {
            start,
            end,
            form: match column {
                Some(column) if usable => Form::Block(Block { column, entries }),
                _ => Form::Other,
            },
        })
    }

    fn list(&mut self, start: usize) -> Option<Place> {
        // The parser places a list at the column of its name after the first dash.
        let bare = self.source[..start].trim_end_matches(' ');
        let start = match (is_dash(&self.source[start..]), bare.strip_suffix('-')) {
            (false, Some(before)) => before.len(),
            _ => start,
        };
        let column = start - line_start(self.source, start);
        let mut values: Vec<(Place, bool, bool)> = Vec::new();
        let mut end = start;
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::SequenceEnd) {
                break;
            }
            let is_absent = is_absent(&event, span);
            let is_block = is_block_scalar(&event);
            let value = self.place(event, span)?;
            if !is_absent {
                end = value.end;
            }
            values.push((value, is_absent, is_block));
        }
        let dashes = self.dashes(start, column, end, values.len());
        if let (Some(last), Some((_, true, _))) = (dashes.last(), values.last()) {
            end = last + 1;
        }
        let is_plain = is_dash(&self.source[start..]) && dashes.len() == values.len();
        let items = dashes
            .into_iter()
            .zip(values)
            .map(|(dash, (value, is_absent, is_block))| Item {
                dash,
                value: self.after(dash + 1, value, is_absent, is_block),
            });
        Some(Place {
            start,
            end,
            form: match is_plain {
                true => Form::List(List {
                    column,
                    items: items.collect(),
                }),
                false => Form::Other,
            },
        })
    }

    /// Finds the dashes of a list: at its column, with blanks only before them. What an item contains is further right.
    fn dashes(&self, start: usize, column: usize, end: usize, count: usize) -> Vec<usize> {
        let mut dashes = vec![start];
        let mut line = self.source[start..].find('\n').map(|at| start + at + 1);
        while let Some(begin) = line {
            let rest = &self.source[begin..];
            let text = rest.lines().next().unwrap_or_default();
            let dash = begin + column;
            let is_dash = text.len() > column
                && text.as_bytes()[..column].iter().all(|byte| *byte == b' ')
                && is_dash(&text[column..]);
            // Items that are left out can follow the last value.
            if dashes.len() == count || begin > end && !is_dash && !is_blank_or_comment(text) {
                break;
            }
            if is_dash {
                dashes.push(dash);
            }
            line = rest.find('\n').map(|at| begin + at + 1);
        }
        dashes
    }

    fn flow_mapping(&mut self, start: usize) -> Option<Place> {
        let (mut entries, mut usable) = (Vec::new(), true);
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                return Some(Place {
                    start,
                    // The parser counts comments after the bracket.
                    end: self.byte(span.start.index()) + 1,
                    form: match usable {
                        true => Form::FlowMapping(entries),
                        false => Form::Other,
                    },
                });
            }
            match self.entry(event, span)? {
                Ok(entry) => entries.push(entry),
                Err(_) => usable = false,
            }
        }
    }

    fn flow_list(&mut self, start: usize) -> Option<Place> {
        let (mut items, mut usable) = (Vec::new(), true);
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::SequenceEnd) {
                return Some(Place {
                    start,
                    // The parser counts comments after the bracket.
                    end: self.byte(span.start.index()) + 1,
                    form: match usable {
                        true => Form::FlowList(items),
                        false => Form::Other,
                    },
                });
            }
            // `[a: b]` is a mapping without brackets.
            let is_pair = matches!(event, Event::MappingStart(..)) && {
                let start = self.byte(span.start.index());
                !self.opens(start, b'{')
            };
            usable &= !is_pair;
            let item = self.place(event, span)?;
            items.push(item);
        }
    }
}

/// Returns whether a value is left out.
fn is_absent(event: &Event<'_>, span: Span) -> bool {
    matches!(event, Event::Scalar(text, ScalarStyle::Plain, ..) if text.is_empty()) && span.is_empty()
}

fn is_block_scalar(event: &Event<'_>) -> bool {
    matches!(
        event,
        Event::Scalar(_, ScalarStyle::Literal | ScalarStyle::Folded, ..)
    )
}

/// Returns whether a text begins with the dash of an item.
fn is_dash(text: &str) -> bool {
    let after = text.strip_prefix('-');
    after.is_some_and(|after| after.chars().next().is_none_or(char::is_whitespace))
}

fn is_blank_or_comment(line: &str) -> bool {
    let text = line.trim_start();
    text.is_empty() || text.starts_with('#')
}
