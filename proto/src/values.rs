//! The free-form values of messages, read without recursion: however deep they nest, reading them needs no stack.

use std::collections::BTreeMap;

use prost::{
    DecodeError, Message,
    bytes::{Buf, BufMut, Bytes},
    encoding::{self, DecodeContext, WireType},
};

/// How many levels of structs and lists are read. Deeper ones are null, so that a message of any depth can be read and
/// answered; code that interprets the values refuses them at fewer levels.
pub const MAX_MESSAGE_DEPTH: usize = 1100;

/// Values by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Struct {
    /// The values.
    pub fields: BTreeMap<String, Value>,
}

/// Values in an order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ListValue {
    /// The values.
    pub values: Vec<Value>,
}

/// A value.
#[derive(Clone, PartialEq, Message)]
pub struct Value {
    /// What it is; nothing counts as null.
    #[prost(oneof = "value::Kind", tags = "1, 2, 3, 4, 5, 6")]
    pub kind: Option<value::Kind>,
}

/// The kinds of values.
pub mod value {
    /// What a value is.
    #[derive(Clone, PartialEq, prost::Oneof)]
    pub enum Kind {
        /// Null.
        #[prost(enumeration = "prost_types::NullValue", tag = "1")]
        NullValue(i32),
        /// A number.
        #[prost(double, tag = "2")]
        NumberValue(f64),
        /// A text.
        #[prost(string, tag = "3")]
        StringValue(String),
        /// A truth value.
        #[prost(bool, tag = "4")]
        BoolValue(bool),
        /// Values by name.
        #[prost(message, tag = "5")]
        StructValue(super::Struct),
        /// Values in an order.
        #[prost(message, tag = "6")]
        ListValue(super::ListValue),
    }
}

use value::Kind;

/// The field of a struct's entries, and that of a list's values.
const ITEMS: u32 = 1;

impl Message for Struct {
    fn encode_raw(&self, buffer: &mut impl BufMut) {
        encoding::btree_map::encode(
            encoding::string::encode,
            encoding::string::encoded_len,
            encoding::message::encode,
            encoding::message::encoded_len,
            ITEMS,
            &self.fields,
            buffer,
        );
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buffer: &mut impl Buf,
        context: DecodeContext,
    ) -> Result<(), DecodeError> {
        if tag != ITEMS {
            return encoding::skip_field(wire_type, tag, buffer, context);
        }
        let mut bytes = Bytes::new();
        encoding::bytes::merge(wire_type, &mut bytes, buffer, context)?;
        let (name, content) = entry(&bytes)?;
        self.fields.insert(name, value(content)?);
        Ok(())
    }

    fn encoded_len(&self) -> usize {
        encoding::btree_map::encoded_len(
            encoding::string::encoded_len,
            encoding::message::encoded_len,
            ITEMS,
            &self.fields,
        )
    }

    fn clear(&mut self) {
        self.fields.clear();
    }
}

impl Message for ListValue {
    fn encode_raw(&self, buffer: &mut impl BufMut) {
        encoding::message::encode_repeated(ITEMS, &self.values, buffer);
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buffer: &mut impl Buf,
        context: DecodeContext,
    ) -> Result<(), DecodeError> {
        if tag != ITEMS {
            return encoding::skip_field(wire_type, tag, buffer, context);
        }
        let mut bytes = Bytes::new();
        encoding::bytes::merge(wire_type, &mut bytes, buffer, context)?;
        self.values.push(value(&bytes)?);
        Ok(())
    }

    fn encoded_len(&self) -> usize {
        encoding::message::encoded_len_repeated(ITEMS, &self.values)
    }

    fn clear(&mut self) {
        self.values.clear();
    }
}

/// A struct or a list whose items are being read.
struct Open<'a> {
    /// The name under which it goes into the struct that holds it.
    name: String,
    kind: Kind,
    rest: &'a [u8],
}

impl<'a> Open<'a> {
    /// Returns the next item: its name, in a struct, and the bytes of its value.
    fn next(&mut self) -> Result<Option<(String, &'a [u8])>, DecodeError> {
        while !self.rest.is_empty() {
            let (tag, wire_type) = encoding::decode_key(&mut self.rest)?;
            if (tag, wire_type) != (ITEMS, WireType::LengthDelimited) {
                encoding::skip_field(wire_type, tag, &mut self.rest, DecodeContext::default())?;
                continue;
            }
            let item = delimited(&mut self.rest, tag)?;
            return Ok(Some(match self.kind {
                Kind::StructValue(_) => entry(item)?,
                _ => (String::new(), item),
            }));
        }
        Ok(None)
    }

    fn put(&mut self, name: String, value: Value) {
        match &mut self.kind {
            Kind::StructValue(items) => drop(items.fields.insert(name, value)),
            Kind::ListValue(items) => items.values.push(value),
            _ => {}
        }
    }
}

/// Reads a value with all that it holds. Of a field that comes twice the last one counts.
fn value(bytes: &[u8]) -> Result<Value, DecodeError> {
    let (mut kind, rest) = content(bytes)?;
    let Some(rest) = rest else {
        return Ok(Value { kind });
    };
    let mut open: Vec<Open<'_>> = Vec::new();
    open.extend(kind.take().map(|kind| Open {
        name: String::new(),
        kind,
        rest,
    }));
    loop {
        let levels = open.len();
        let Some(holder) = open.last_mut() else {
            return Ok(Value::default());
        };
        if let Some((name, bytes)) = holder.next()? {
            match content(bytes)? {
                (Some(kind), Some(rest)) if levels < MAX_MESSAGE_DEPTH => {
                    open.push(Open { name, kind, rest })
                }
                (_, Some(_)) => holder.put(name, Value::default()),
                (kind, None) => holder.put(name, Value { kind }),
            }
        } else if let Some(done) = open.pop() {
            let value = Value {
                kind: Some(done.kind),
            };
            match open.last_mut() {
                Some(holder) => holder.put(done.name, value),
                None => return Ok(value),
            }
        }
    }
}

/// Reads what a value is; a struct or a list is empty, with the bytes that its items are to be read from.
fn content(mut bytes: &[u8]) -> Result<(Option<Kind>, Option<&[u8]>), DecodeError> {
    let (mut kind, mut items) = (None, None);
    while !bytes.is_empty() {
        let (tag, wire_type) = encoding::decode_key(&mut bytes)?;
        let context = DecodeContext::default();
        items = match (tag, wire_type) {
            (5, WireType::LengthDelimited) => {
                kind = Some(Kind::StructValue(Struct::default()));
                Some(delimited(&mut bytes, tag)?)
            }
            (6, WireType::LengthDelimited) => {
                kind = Some(Kind::ListValue(ListValue::default()));
                Some(delimited(&mut bytes, tag)?)
            }
            (1..=6, _) => {
                Kind::merge(&mut kind, tag, wire_type, &mut bytes, context)?;
                None
            }
            _ => {
                encoding::skip_field(wire_type, tag, &mut bytes, context)?;
                items
            }
        };
    }
    Ok((kind, items))
}

/// Reads an entry of a struct: its name, and the bytes of its value.
fn entry(mut bytes: &[u8]) -> Result<(String, &[u8]), DecodeError> {
    let (mut name, mut value): (String, &[u8]) = (String::new(), &[]);
    while !bytes.is_empty() {
        let (tag, wire_type) = encoding::decode_key(&mut bytes)?;
        let context = DecodeContext::default();
        match (tag, wire_type) {
            (1, _) => encoding::string::merge(wire_type, &mut name, &mut bytes, context)?,
            (2, WireType::LengthDelimited) => value = delimited(&mut bytes, tag)?,
            _ => encoding::skip_field(wire_type, tag, &mut bytes, context)?,
        }
    }
    Ok((name, value))
}

/// Takes a field's bytes.
fn delimited<'a>(rest: &mut &'a [u8], tag: u32) -> Result<&'a [u8], DecodeError> {
    let mut bytes = *rest;
    let length = encoding::decode_varint(&mut bytes)?;
    let parts = usize::try_from(length)
        .ok()
        .and_then(|length| bytes.split_at_checked(length));
    let Some((content, after)) = parts else {
        // It ends too early, which skipping it says in the words of every other message.
        encoding::skip_field(WireType::LengthDelimited, tag, rest, DecodeContext::default())?;
        return Ok(&[]);
    };
    *rest = after;
    Ok(content)
}
