//! The places of values in YAML text: which bytes each value, name and item has.

use saphyr_parser::{Event, Parser, Span, StrInput};

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
            Event::SequenceStart(..) => self.list(start, span.start.col())?,
            Event::Scalar(..) => Place {
                start,
                // A block scalar ends where the next value begins.
                end: start + self.source.get(start..end)?.trim_end().len(),
                form: Form::Single,
            },
            _ => Place {
                start,
                end,
                form: Form::Single,
            },
        })
    }

    /// Returns whether a value, after its anchor and tag, begins with a bracket.
    fn opens(&self, start: usize, bracket: u8) -> bool {
        let mut rest = self.source.get(start..).unwrap_or_default();
        while rest.starts_with(['&', '!']) {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            rest = rest[end..].trim_start();
        }
        rest.as_bytes().first() == Some(&bracket)
    }

    fn entry(&mut self, event: Event<'source>, span: Span) -> Option<Result<Entry, Place>> {
        let (start, end) = (self.byte(span.start.index()), self.byte(span.end.index()));
        let name = match event {
            Event::Scalar(name, ..) if end > start => Ok(name.into_owned()),
            other => Err(self.place(other, span)?),
        };
        let colon = self.source.get(end..)?;
        let blank = colon.len() - colon.trim_start().len();
        // An explicit key (`? name`) has its colon on a line of its own.
        let is_explicit = self.source[..start].trim_end_matches(' ').ends_with('?');
        let has_colon = colon[blank..].starts_with(':') && !colon[..blank].contains('\n') && !is_explicit;
        let after_colon = end + blank + 1;
        let (event, span) = self.next()?;
        let is_absent = matches!(&event, Event::Scalar(text, ..) if text.is_empty()) && span.is_empty();
        let value = match self.place(event, span)? {
            // The parser places a value that is left out where the next one begins.
            _ if is_absent => Place {
                start: after_colon,
                end: after_colon,
                form: Form::Single,
            },
            value => value,
        };
        Some(match name {
            Ok(name) if has_colon && name != "<<" => Ok(Entry {
                name,
                start,
                after_colon,
                value,
            }),
            // A merged mapping is left alone; what it gives is not an entry of the text.
            _ => Err(value),
        })
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

    fn list(&mut self, start: usize, column: usize) -> Option<Place> {
        let mut values: Vec<Option<Place>> = Vec::new();
        let mut end = start;
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::SequenceEnd) {
                break;
            }
            let is_absent = matches!(&event, Event::Scalar(text, ..) if text.is_empty()) && span.is_empty();
            let value = self.place(event, span)?;
            if !is_absent {
                end = value.end;
            }
            values.push((!is_absent).then_some(value));
        }
        let dashes = self.dashes(start, column, end, values.len());
        if let (Some(last), Some(None)) = (dashes.last(), values.last()) {
            end = last + 1;
        }
        let is_plain = self.source[start..].starts_with('-') && dashes.len() == values.len();
        let items = dashes.into_iter().zip(values).map(|(dash, value)| Item {
            dash,
            value: value.unwrap_or(Place {
                start: dash + 1,
                end: dash + 1,
                form: Form::Single,
            }),
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
                && text.as_bytes()[column] == b'-'
                && text[column + 1..].chars().next().is_none_or(char::is_whitespace);
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
                    end: self.byte(span.end.index()),
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
                    end: self.byte(span.end.index()),
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

fn is_blank_or_comment(line: &str) -> bool {
    let text = line.trim_start();
    text.is_empty() || text.starts_with('#')
}
