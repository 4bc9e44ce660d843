//! Free-form values: the same bytes as everybody's, and any depth of nesting without a crash.

use prost::Message as _;
use stackwright_proto::{
    pulumirpc::{CreateResponse, RegisterResourceRequest},
    values::{ListValue, MAX_MESSAGE_DEPTH, Struct, Value, value::Kind},
};

fn value(kind: Kind) -> Value {
    Value { kind: Some(kind) }
}

fn text(text: &str) -> Value {
    value(Kind::StringValue(text.to_owned()))
}

fn object(fields: &[(&str, Value)]) -> Struct {
    Struct {
        fields: fields
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect(),
    }
}

fn sample() -> Struct {
    let list = ListValue {
        values: vec![
            value(Kind::NullValue(0)),
            Value::default(),
            value(Kind::ListValue(ListValue::default())),
            value(Kind::StructValue(Struct::default())),
            value(Kind::StructValue(object(&[
                ("", text("")),
                ("é", text(&"long ".repeat(100))),
            ]))),
            value(Kind::BoolValue(false)),
        ],
    };
    object(&[
        ("list", value(Kind::ListValue(list))),
        ("number", value(Kind::NumberValue(-0.5))),
        (
            "after",
            value(Kind::StructValue(object(&[("x", value(Kind::BoolValue(true)))]))),
        ),
    ])
}

/// Returns the bytes of one field with this content.
fn field(tag: u32, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    prost::encoding::bytes::encode(tag, &content.to_vec(), &mut bytes);
    bytes
}

/// Returns the bytes of a struct that holds a list that nests so deep.
fn nested(levels: usize) -> Vec<u8> {
    // The lengths of what is inside come first, so that it is built from the inside out, back to front.
    let mut reversed: Vec<u8> = Vec::new();
    let wrap = |reversed: &mut Vec<u8>, tag: u8| {
        let mut length = Vec::new();
        prost::encoding::encode_varint(reversed.len() as u64, &mut length);
        reversed.extend(length.iter().rev());
        reversed.push(tag << 3 | 2);
    };
    for level in 0..levels {
        wrap(&mut reversed, 6);
        if level + 1 < levels {
            wrap(&mut reversed, 1);
        }
    }
    wrap(&mut reversed, 2);
    reversed.extend(b"k\x01\x0a".iter());
    wrap(&mut reversed, 1);
    reversed.reverse();
    reversed
}

fn depth(message: &Struct) -> usize {
    let mut at = message.fields["k"].clone();
    let mut levels = 0;
    while let Some(Kind::ListValue(list)) = at.kind {
        levels += 1;
        let Some(inner) = list.values.into_iter().next() else {
            break;
        };
        at = inner;
    }
    levels
}

#[test]
fn bytes_are_those_of_the_generated_types() {
    let bytes = sample().encode_to_vec();
    let theirs = prost_types::Struct::decode(&*bytes).unwrap();
    assert_eq!(theirs.encode_to_vec(), bytes);
    assert_eq!(format!("{theirs:?}"), format!("{:?}", sample()));
    assert_eq!(Struct::decode(&*bytes).unwrap(), sample());
    let list = ListValue {
        values: vec![text("a"), value(Kind::StructValue(sample()))],
    };
    let bytes = list.encode_to_vec();
    assert_eq!(
        prost_types::ListValue::decode(&*bytes).unwrap().encode_to_vec(),
        bytes
    );
    assert_eq!(ListValue::decode(&*bytes).unwrap(), list);
}

#[test]
fn a_message_with_values_comes_back_as_it_was() {
    let request = RegisterResourceRequest {
        object: Some(sample()),
        replacement_trigger: Some(value(Kind::StructValue(sample()))),
        name: "a".to_owned(),
        ..RegisterResourceRequest::default()
    };
    let bytes = request.encode_to_vec();
    assert_eq!(RegisterResourceRequest::decode(&*bytes).unwrap(), request);
}

#[test]
fn fields_that_nobody_knows_are_passed_over() {
    let unknown = [field(9, b"what"), vec![0x50, 7]].concat();
    let known = [field(3, b"x"), unknown.clone()].concat();
    let entry = [unknown.clone(), field(1, b"a"), field(2, &known), unknown.clone()].concat();
    let message = [unknown.clone(), field(1, &entry), unknown].concat();
    assert_eq!(Struct::decode(&*message).unwrap(), object(&[("a", text("x"))]));
}

#[test]
fn of_a_name_and_of_a_kind_that_come_twice_the_last_one_counts() {
    let twice = [field(6, &field(1, &field(3, b"old"))), field(3, b"new")].concat();
    let entry = |content: &[u8]| field(1, &[field(1, b"a"), field(2, content)].concat());
    let message = [entry(&field(3, b"older")), entry(&twice)].concat();
    assert_eq!(Struct::decode(&*message).unwrap(), object(&[("a", text("new"))]));
}

#[test]
fn bytes_that_end_too_early_or_are_no_text_are_an_error() {
    let whole = field(
        1,
        &[field(1, b"a"), field(2, &field(6, &field(1, &field(3, b"text"))))].concat(),
    );
    assert!(Struct::decode(&*whole).is_ok());
    for end in 1..whole.len() {
        assert!(Struct::decode(&whole[..end]).is_err(), "{end}");
    }
    // Inside, where lengths of what is around still hold.
    for bad in [&[0x1a, 9, b'x'][..], &[0x1a, 1, 0xff], &[0x32, 5, 0x0a], &[0x08]] {
        let message = field(1, &[field(1, b"a"), field(2, bad)].concat());
        assert!(Struct::decode(&*message).is_err(), "{bad:?}");
    }
}

#[test]
fn values_of_a_thousand_levels_are_read_whole() {
    assert_eq!(depth(&Struct::decode(&*nested(1000)).unwrap()), 1000);
}

#[test]
fn what_nests_without_end_is_cut_and_the_rest_of_the_message_is_kept() {
    let message = [field(1, b"the-id"), field(2, &nested(100_000))].concat();
    let answer = CreateResponse::decode(&*message).unwrap();
    assert_eq!(answer.id, "the-id");
    assert_eq!(depth(&answer.properties.unwrap()), MAX_MESSAGE_DEPTH);
}
