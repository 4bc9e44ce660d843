//! Parsing YAML into a tree.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput, Tag};

use super::{Mapping, Node, Scalar, Style};
use stackwright::{Error, Result};

/// The limit of values after the resolution of aliases.
const MAX_NODES: usize = 1_000_000;

/// The nesting limit, in levels.
const MAX_YAML_DEPTH: usize = 256;

pub(super) fn parse(text: &str) -> Result<Node> {
    let mut reader = Reader {
        parser: Parser::new_from_str(text.strip_prefix('\u{feff}').unwrap_or(text)),
        anchors: HashMap::new(),
        nodes: 0,
    };
    loop {
        let (event, span) = reader.next()?;
        match event {
            Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
            Event::StreamEnd | Event::DocumentEnd => return Ok(Node::Mapping(Mapping::new())),
            event => {
                let node = reader.node(event, span, 0)?;
                reader.end()?;
                return Ok(if node.is_null() {
                    Node::Mapping(Mapping::new())
                } else {
                    node
                });
            }
        }
    }
}

struct Reader<'text> {
    parser: Parser<'text, StrInput<'text>>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
}

impl<'text> Reader<'text> {
    fn next(&mut self) -> Result<(Event<'text>, Span)> {
        match self.parser.next_event() {
            Some(Ok(next)) => Ok(next),
            Some(Err(error)) => Err(Error::invalid(format!(
                "line {}, column {}: {}",
                error.marker().line(),
                error.marker().col() + 1,
                error.info()
            ))),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    /// Reads to the end of the text, which holds one document.
    fn end(&mut self) -> Result<()> {
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => return Ok(()),
                (Event::DocumentEnd | Event::Nothing, _) => {}
                (_, span) => return Err(at(span, "the file holds more than one document")),
            }
        }
    }

    fn node(&mut self, event: Event<'text>, span: Span, depth: usize) -> Result<Node> {
        if depth > MAX_YAML_DEPTH {
            return Err(at(span, "values are nested too deeply"));
        }
        self.count(1, span)?;
        let (anchor, node) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                (anchor, Node::Scalar(scalar(&text, style, tag.as_deref())))
            }
            Event::SequenceStart(anchor, _) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, _) => break,
                        (event, span) => items.push(self.node(event, span, depth + 1)?),
                    }
                }
                (anchor, Node::Sequence(items))
            }
            Event::MappingStart(anchor, _) => (anchor, Node::Mapping(self.mapping(depth)?)),
            Event::Alias(anchor) => {
                let Some(node) = self.anchors.get(&anchor).cloned() else {
                    return Err(at(span, "an alias refers to a value that is not complete"));
                };
                self.count(size(&node), span)?;
                (0, node)
            }
            _ => return Err(at(span, "a value is missing")),
        };
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn mapping(&mut self, depth: usize) -> Result<Mapping> {
        let mut mapping = Mapping::new();
        let mut merged = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                break;
            }
            let is_merge = matches!(&event, Event::Scalar(text, ScalarStyle::Plain, ..) if text == "<<");
            let Node::Scalar(name) = self.node(event, span, depth + 1)? else {
                return Err(at(span, "the name of an entry must be a text"));
            };
            let (event, value_span) = self.next()?;
            let value = self.node(event, value_span, depth + 1)?;
            if is_merge {
                merged.push((value, value_span));
            } else if mapping.insert(name.text().to_owned(), value).is_some() {
                return Err(at(
                    span,
                    &format!("mapping key {:?} already defined", name.text()),
                ));
            }
        }
        for (value, span) in merged {
            let parts = match value {
                Node::Sequence(parts) => parts,
                part => vec![part],
            };
            for part in parts {
                let Node::Mapping(part) = part else {
                    return Err(at(
                        span,
                        "map merge requires map or sequence of maps as the value",
                    ));
                };
                for (name, value) in part {
                    mapping.entry(name).or_insert(value);
                }
            }
        }
        Ok(mapping)
    }

    fn count(&mut self, nodes: usize, span: Span) -> Result<()> {
        self.nodes += nodes;
        if self.nodes > MAX_NODES {
            return Err(at(span, "the file holds too many values"));
        }
        Ok(())
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Scalar {
    let explicit_text = tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str");
    let style = match style {
        ScalarStyle::Plain if explicit_text => return Scalar::string(text),
        ScalarStyle::Plain => Style::Plain,
        ScalarStyle::SingleQuoted => Style::Single,
        ScalarStyle::DoubleQuoted => Style::Double,
        ScalarStyle::Literal | ScalarStyle::Folded => return Scalar::string_block(text),
    };
    Scalar::new(text.to_owned(), style)
}

fn size(node: &Node) -> usize {
    match node {
        Node::Scalar(_) => 1,
        Node::Sequence(items) => 1 + items.iter().map(size).sum::<usize>(),
        Node::Mapping(entries) => 1 + entries.values().map(size).sum::<usize>(),
    }
}

fn at(span: Span, message: &str) -> Error {
    Error::invalid(format!(
        "line {}, column {}: {message}",
        span.start.line(),
        span.start.col() + 1
    ))
}
