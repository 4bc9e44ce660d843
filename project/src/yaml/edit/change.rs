//! Changes of a text: the bytes to replace for each value that differs.

use std::ops::Range;

use super::{
    super::{Format, Mapping, Node, Scalar, Style, write},
    locate::{Block, Entry, Form, Item, List, Place},
    text::{begins_line, line_end, line_start, next_line, owned_end, owned_start},
};

/// Where a value stands.
#[derive(Clone, Copy)]
pub(super) enum Context {
    Document,
    /// After the colon of an entry in block form, whose name is at `column`.
    Entry {
        column: usize,
        after_colon: usize,
    },
    /// After the dash of an item in block form, which is at `column`.
    Item {
        column: usize,
        dash: usize,
    },
    /// Inside brackets.
    Flow,
}

/// The changes of one text. A `None` of its methods means that the form of the text does not allow the change.
pub(super) struct Changes<'source> {
    source: &'source str,
    format: Format,
    edits: Vec<(Range<usize>, String)>,
}

impl<'source> Changes<'source> {
    pub(super) fn new(source: &'source str, format: Format) -> Self {
        Self {
            source,
            format,
            edits: Vec::new(),
        }
    }

    /// Returns the changed text.
    pub(super) fn apply(mut self) -> Option<String> {
        self.edits.sort_by_key(|(range, _)| (range.start, range.end));
        let is_windows = self.source.contains("\r\n");
        let mut out = String::with_capacity(self.source.len());
        let mut at = 0;
        for (range, text) in self.edits {
            out.push_str(self.source.get(at..range.start)?);
            match is_windows {
                true => out.push_str(&text.replace('\n', "\r\n")),
                false => out.push_str(&text),
            }
            at = range.end;
        }
        out.push_str(self.source.get(at..)?);
        Some(out)
    }

    fn put(&mut self, range: Range<usize>, text: impl Into<String>) {
        self.edits.push((range, text.into()));
    }

    /// Changes a value from `old` to `new`.
    pub(super) fn value(&mut self, place: &Place, old: &Node, new: &Node, context: Context) -> Option<()> {
        if old == new {
            return Some(());
        }
        match (&place.form, old, new) {
            (Form::Other, ..) => None,
            (Form::Block(block), Node::Mapping(old), Node::Mapping(new))
                if keeps_some(&block.entries, new) =>
            {
                self.block(place, block, old, new, context)
            }
            (Form::List(list), Node::Sequence(old), Node::Sequence(new)) if !new.is_empty() => {
                self.list(place, list, old, new, context)
            }
            (Form::FlowMapping(entries), Node::Mapping(old), Node::Mapping(new))
                if keeps_some(entries, new) =>
            {
                self.flow_mapping(place, entries, old, new)
            }
            (Form::FlowList(items), Node::Sequence(old), Node::Sequence(new))
                if !new.is_empty() && !items.is_empty() =>
            {
                self.flow_list(place, items, old, new)
            }
            _ => {
                self.replace(place, new, context);
                Some(())
            }
        }
    }

    fn block(
        &mut self,
        place: &Place,
        block: &Block,
        old: &Mapping,
        new: &Mapping,
        context: Context,
    ) -> Option<()> {
        let column = block.column;
        let entries = &block.entries;
        for (index, entry) in entries.iter().enumerate() {
            if let Some(value) = new.get(&entry.name) {
                let context = Context::Entry {
                    column,
                    after_colon: entry.after_colon,
                };
                self.value(&entry.value, old.get(&entry.name)?, value, context)?;
            } else if begins_line(self.source, entry.start) {
                let start = match index {
                    // The comment above the first entry can describe all of them.
                    0 => line_start(self.source, entry.start),
                    _ => owned_start(self.source, entry.start, column),
                };
                self.put(start..owned_end(self.source, &entry.value, column), "");
            } else {
                // The first entry of an item, after its dash.
                match entries.get(index + 1).filter(|next| new.contains_key(&next.name)) {
                    Some(next) => self.take_first(entry.start, entry.value.end, next.start),
                    None => {
                        self.edits
                            .retain(|(range, _)| range.start < place.start || range.end > place.end);
                        self.replace(place, &Node::Mapping(new.clone()), context);
                        return Some(());
                    }
                }
            }
        }
        let mut added = String::new();
        for (name, value) in new {
            // What a merge gives is in no entry.
            let is_merged = || old.get(name) == Some(value);
            if !entries.iter().any(|entry| entry.name == *name) && !is_merged() {
                write::entry(&mut added, name, value, column);
            }
        }
        let last = entries.last()?;
        self.insert(owned_end(self.source, &last.value, column), added);
        Some(())
    }

    /// Inserts whole lines.
    fn insert(&mut self, at: usize, lines: String) {
        if lines.is_empty() {
            return;
        }
        let ends_line = at == 0 || self.source[..at].ends_with('\n');
        match ends_line {
            true => self.put(at..at, lines),
            false => {
                let lines = lines.strip_suffix('\n').unwrap_or(&lines);
                self.put(at..at, format!("\n{lines}"));
            }
        }
    }

    /// Removes what stands first after a dash, before what follows on the next lines.
    fn take_first(&mut self, start: usize, end: usize, next: usize) {
        if self.source[end..next].contains('#') {
            let before = self.source[..start].trim_end_matches(' ').len();
            self.put(before..line_end(self.source, end), "");
        } else {
            self.put(start..next, "");
        }
    }

    fn list(
        &mut self,
        place: &Place,
        list: &List,
        old: &[Node],
        new: &[Node],
        context: Context,
    ) -> Option<()> {
        let column = list.column;
        let (before, after) = common(old, new);
        let items = list.items.get(before..old.len() - after)?;
        let changed = &new[before..new.len() - after];
        for (index, item) in items.iter().enumerate() {
            let Item { dash, value } = item;
            if let Some(node) = changed.get(index) {
                let context = Context::Item { column, dash: *dash };
                self.value(value, &old[before + index], node, context)?;
            } else if begins_line(self.source, *dash) {
                let start = match before + index {
                    0 => line_start(self.source, *dash),
                    _ => owned_start(self.source, *dash, column),
                };
                self.put(start..owned_end(self.source, value, column), "");
            } else {
                match list.items.get(before + index + 1) {
                    Some(next) if index + 1 == items.len() => self.take_first(*dash, value.end, next.dash),
                    _ => {
                        self.replace(place, &Node::Sequence(new.to_vec()), context);
                        return Some(());
                    }
                }
            }
        }
        let mut added = String::new();
        for node in changed.iter().skip(items.len()) {
            write::item(&mut added, node, column);
        }
        if added.is_empty() {
            return Some(());
        }
        let previous = before + items.len().min(changed.len());
        let at = match previous.checked_sub(1) {
            Some(last) => owned_end(self.source, &list.items.get(last)?.value, column),
            None => line_start(self.source, list.items.first()?.dash),
        };
        if previous == 0 && !begins_line(self.source, list.items.first()?.dash) {
            self.replace(place, &Node::Sequence(new.to_vec()), context);
            return Some(());
        }
        self.insert(at, added);
        Some(())
    }

    fn flow_mapping(&mut self, place: &Place, entries: &[Entry], old: &Mapping, new: &Mapping) -> Option<()> {
        let kept: Vec<bool> = entries
            .iter()
            .map(|entry| new.contains_key(&entry.name))
            .collect();
        let added: Vec<String> = new
            .iter()
            .filter(|(name, _)| !old.contains_key(*name))
            .map(|(name, value)| write::flow_entry(name, value))
            .collect();
        let parts: Vec<Range<usize>> = entries.iter().map(|entry| entry.start..entry.value.end).collect();
        if !self.flow_parts(place, &parts, &kept, &added) {
            self.replace(place, &Node::Mapping(new.clone()), Context::Flow);
            return Some(());
        }
        for entry in entries {
            if let Some(value) = new.get(&entry.name) {
                // An entry without a value has no blank after its colon.
                if entry.value.start == entry.value.end && old.get(&entry.name) != Some(value) {
                    let at = entry.after_colon;
                    self.put(at..at, format!(" {}", write::flow(value)));
                } else {
                    self.value(&entry.value, old.get(&entry.name)?, value, Context::Flow)?;
                }
            }
        }
        Some(())
    }

    fn flow_list(&mut self, place: &Place, items: &[Place], old: &[Node], new: &[Node]) -> Option<()> {
        let (before, after) = common(old, new);
        let (old_end, new_end) = (old.len() - after, new.len() - after);
        let paired = (old_end - before).min(new_end - before);
        let kept: Vec<bool> = (0..old.len())
            .map(|index| index < before + paired || index >= old_end)
            .collect();
        let added: Vec<String> = new[before + paired..new_end].iter().map(write::flow).collect();
        let parts: Vec<Range<usize>> = items.iter().map(|item| item.start..item.end).collect();
        let appends = added.is_empty() || after == 0;
        if items.len() != old.len() || !appends || !self.flow_parts(place, &parts, &kept, &added) {
            self.replace(place, &Node::Sequence(new.to_vec()), Context::Flow);
            return Some(());
        }
        for index in before..before + paired {
            self.value(&items[index], &old[index], &new[index], Context::Flow)?;
        }
        Some(())
    }

    /// Removes and appends parts inside brackets. Returns false, without a change, when all of them must be written anew.
    fn flow_parts(&mut self, place: &Place, parts: &[Range<usize>], kept: &[bool], added: &[String]) -> bool {
        let removed: Vec<usize> = (0..kept.len()).filter(|index| !kept[*index]).collect();
        let last_is_kept = kept.last() == Some(&true);
        if parts.is_empty()
            || removed.len() > 1
            || removed.len() == kept.len()
            || !added.is_empty() && !last_is_kept
        {
            return false;
        }
        if let [index] = removed[..] {
            match parts.get(index + 1) {
                Some(next) => self.put(parts[index].start..next.start, ""),
                None => self.take_last(parts[index - 1].end, parts[index].clone()),
            }
        }
        let lead = &self.source[place.start..parts[0].start];
        let gap = match lead.rfind('\n') {
            Some(end) => format!("\n{}", &lead[end + 1..]),
            None => " ".to_owned(),
        };
        let end = parts[parts.len() - 1].end;
        let text: String = added.iter().map(|part| format!(",{gap}{part}")).collect();
        if !text.is_empty() {
            self.put(end..end, text);
        }
        true
    }

    /// Removes the last part inside brackets, and the comma before it. A comment between both stays, as it can be that of the part
    /// before.
    fn take_last(&mut self, previous: usize, part: Range<usize>) {
        let between = &self.source[previous..part.start];
        let comma = between.find(',').filter(|comma| !between[..*comma].contains('#'));
        match comma.filter(|_| between.contains('#')) {
            Some(comma) => {
                self.put(previous..previous + comma + 1, "");
                self.put(part, "");
            }
            None => self.put(previous..part.end, ""),
        }
    }

    /// Writes a value anew.
    fn replace(&mut self, place: &Place, new: &Node, context: Context) {
        let is_block = is_filled(new);
        match context {
            Context::Flow => self.put(place.start..place.end, write::flow(new)),
            Context::Document => {
                let text = match self.format {
                    Format::Json => write::json(new),
                    Format::Yaml => write::write(new),
                };
                self.put(place.start..place.end, text.trim_end_matches('\n'));
            }
            Context::Item { column, dash } => {
                let mut text = String::new();
                write::item(&mut text, &self.quoted(new, place.end), column);
                let text = text.trim_start_matches(' ');
                let text = text.strip_prefix('-').unwrap_or(text);
                self.put(dash + 1..place.end.max(dash + 1), text.trim_end_matches('\n'));
            }
            Context::Entry { column, after_colon } => {
                let is_below = self.source[after_colon..place.start].contains('\n');
                let line = line_end(self.source, after_colon);
                match (is_below, is_block) {
                    (false, false) => {
                        let text = write::inline_text(&self.quoted(new, place.end), column + 2);
                        let is_empty = place.start == place.end;
                        match is_empty || text.is_empty() {
                            true if text.is_empty() => self.put(after_colon..place.end, ""),
                            true => self.put(place.start..place.end, format!(" {text}")),
                            false => self.put(place.start..place.end, text),
                        }
                    }
                    (false, true) => {
                        self.put(after_colon..place.end, "");
                        let end = line_end(self.source, place.end);
                        self.put(end..end, format!("\n{}", block_text(new, column + 2)));
                    }
                    (true, false) => {
                        let text = write::inline_text(&self.quoted(new, after_colon), column + 2);
                        self.put(after_colon..after_colon, format!(" {text}"));
                        self.put(line..place.end, "");
                    }
                    (true, true) => {
                        let start =
                            line_start(self.source, place.start).max(next_line(self.source, after_colon));
                        self.put(start..place.end, block_text(new, column + 2));
                    }
                }
            }
        }
    }

    /// Returns a value that can stand before what follows on the line: a text of several lines in quotes, if something
    /// does, or if empty lines follow that would become a part of it.
    fn quoted(&self, new: &Node, end: usize) -> Node {
        let follows = !self.source[end..line_end(self.source, end)].trim().is_empty();
        match new {
            Node::Scalar(scalar)
                if scalar.style() == Style::Block && (follows || scalar.text().ends_with("\n\n")) =>
            {
                Node::Scalar(Scalar::new(scalar.text().to_owned(), Style::Double))
            }
            other => other.clone(),
        }
    }
}

fn is_filled(node: &Node) -> bool {
    match node {
        Node::Mapping(entries) => !entries.is_empty(),
        Node::Sequence(items) => !items.is_empty(),
        Node::Scalar(_) => false,
    }
}

fn keeps_some(entries: &[Entry], new: &Mapping) -> bool {
    entries.iter().any(|entry| new.contains_key(&entry.name))
}

/// Writes a collection at `column`, without the last line break.
fn block_text(node: &Node, column: usize) -> String {
    let mut text = String::new();
    match node {
        Node::Mapping(entries) => {
            for (name, value) in entries {
                write::entry(&mut text, name, value, column);
            }
        }
        Node::Sequence(items) => {
            for item in items {
                write::item(&mut text, item, column);
            }
        }
        Node::Scalar(_) => {}
    }
    text.truncate(text.trim_end_matches('\n').len());
    text
}

/// Returns the lengths of the common beginning and the common end of two lists.
fn common(old: &[Node], new: &[Node]) -> (usize, usize) {
    let before = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let after = old[before..]
        .iter()
        .rev()
        .zip(new[before..].iter().rev())
        .take_while(|(old, new)| old == new)
        .count();
    (before, after)
}
