//! The JSON text of event logs: strings, and objects whose members keep their order.

use std::fmt::Write as _;

/// An object under construction: each call adds one member, in the order of the calls.
pub(super) struct Object<'a> {
    out: &'a mut String,
    first: bool,
}

impl<'a> Object<'a> {
    pub(super) fn open(out: &'a mut String) -> Self {
        out.push('{');
        Self { out, first: true }
    }

    pub(super) fn close(self) {
        self.out.push('}');
    }

    /// Writes a member's name and returns the buffer for its value.
    pub(super) fn member(&mut self, name: &str) -> &mut String {
        if !std::mem::take(&mut self.first) {
            self.out.push(',');
        }
        write_string(self.out, name);
        self.out.push(':');
        self.out
    }

    pub(super) fn string(&mut self, name: &str, value: &str) {
        write_string(self.member(name), value);
    }

    pub(super) fn boolean(&mut self, name: &str, value: bool) {
        self.member(name).push_str(if value { "true" } else { "false" });
    }

    /// Writes the member only when true.
    pub(super) fn flag(&mut self, name: &str, value: bool) {
        if value {
            self.boolean(name, true);
        }
    }

    pub(super) fn integer(&mut self, name: &str, value: u64) {
        let _ = write!(self.member(name), "{value}");
    }

    pub(super) fn number(&mut self, name: &str, value: i64) {
        let _ = write!(self.member(name), "{value}");
    }

    pub(super) fn null(&mut self, name: &str) {
        self.member(name).push_str("null");
    }

    /// Writes a list of texts unless it is empty.
    pub(super) fn list(&mut self, name: &str, values: &[String]) {
        if values.is_empty() {
            return;
        }
        let out = self.member(name);
        for (index, value) in values.iter().enumerate() {
            out.push(if index == 0 { '[' } else { ',' });
            write_string(out, value);
        }
        out.push(']');
    }

    pub(super) fn nested(&mut self, name: &str, fill: impl FnOnce(&mut Object<'_>)) {
        let mut object = Object::open(self.member(name));
        fill(&mut object);
        object.close();
    }
}

/// Writes a string as the log does: `<`, `>`, `&` and non-ASCII unescaped, U+2028 and U+2029 escaped.
pub(super) fn write_string(out: &mut String, value: &str) {
    out.push('"');
    let mut rest = value;
    while let Some(position) = rest.find(needs_escape) {
        out.push_str(&rest[..position]);
        let mut tail = rest[position..].chars();
        match tail.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some('\u{8}') => out.push_str("\\b"),
            Some('\u{c}') => out.push_str("\\f"),
            Some(other) => {
                let _ = write!(out, "\\u{:04x}", u32::from(other));
            }
            None => {}
        }
        rest = tail.as_str();
    }
    out.push_str(rest);
    out.push('"');
}

fn needs_escape(character: char) -> bool {
    matches!(character, '"' | '\\' | '\0'..='\u{1f}' | '\u{2028}' | '\u{2029}')
}
