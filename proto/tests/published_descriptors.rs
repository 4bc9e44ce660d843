//! Compares the protocol definitions of this crate with the published ones, fact by fact.
//!
//! `published/refresh.py` makes the published side. Both sides are flattened into facts, a name and what
//! is said of it, so that whatever is missing, extra or different shows up as one line.

use std::collections::BTreeMap;

use prost::Message as _;
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet,
    ServiceDescriptorProto,
};

const OURS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
const PUBLISHED: &[u8] = include_bytes!("../published/descriptors.bin");

/// A field of an earlier version, whose number is reserved in the published ones: hosts of SDKs from before that read it.
const FORMER: [&str; 2] = [
    "differs: message pulumirpc.ConstructRequest: ours in pulumi/provider.proto, reserved [] [], map entry false, deprecated false; \
     published in pulumi/provider.proto, reserved [(14, 15)] [], map entry false, deprecated false",
    "extra: field pulumirpc.ConstructRequest.aliasURNs (number 14, TYPE_STRING , LABEL_REPEATED, optional false, oneof None, \
     default None, deprecated false)",
];

/// What is known, by what it is known of.
type Facts = BTreeMap<String, String>;

#[test]
fn definitions_agree_with_the_published_ones() {
    let ours = facts(OURS);
    let published = facts(PUBLISHED);
    assert!(
        published.len() > 1000,
        "only {} facts are published",
        published.len()
    );

    let differences = differences(&ours, &published);
    assert_eq!(
        differences,
        FORMER,
        "differences from the published definitions:\n{}",
        differences.join("\n")
    );
}

fn differences(ours: &Facts, published: &Facts) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, want) in published {
        match ours.get(name) {
            None => lines.push(format!("missing: {name} ({want})")),
            Some(have) if have != want => {
                lines.push(format!("differs: {name}: ours {have}; published {want}"))
            }
            Some(_) => {}
        }
    }
    for (name, have) in ours {
        if !published.contains_key(name) {
            lines.push(format!("extra: {name} ({have})"));
        }
    }
    lines
}

fn facts(bytes: &[u8]) -> Facts {
    let set = FileDescriptorSet::decode(bytes).expect("a file descriptor set");
    let mut facts = Facts::new();
    // The well-known types are part of our set only because others import them.
    for file in set.file.iter().filter(|file| file.package() != "google.protobuf") {
        add_file(&mut facts, file);
    }
    facts
}

fn add(facts: &mut Facts, name: String, fact: String) {
    if let Some(earlier) = facts.insert(name.clone(), fact) {
        panic!("{name} is defined twice, first as {earlier}");
    }
}

fn add_file(facts: &mut Facts, file: &FileDescriptorProto) {
    let mut imports = file.dependency.clone();
    imports.sort();
    let fact = format!(
        "package {}, syntax {}, imports {imports:?}, public imports {:?}, {} extensions",
        file.package(),
        file.syntax(),
        file.public_dependency,
        file.extension.len(),
    );
    add(facts, format!("file {}", file.name()), fact);

    for message in &file.message_type {
        add_message(facts, file.package(), file, message);
    }
    for r#enum in &file.enum_type {
        add_enum(facts, file.package(), file, r#enum);
    }
    for service in &file.service {
        add_service(facts, file, service);
    }
}

fn add_message(facts: &mut Facts, scope: &str, file: &FileDescriptorProto, message: &DescriptorProto) {
    let name = format!("{scope}.{}", message.name());
    let mut reserved: Vec<_> = message
        .reserved_range
        .iter()
        .map(|r| (r.start(), r.end()))
        .collect();
    reserved.sort_unstable();
    let mut reserved_names = message.reserved_name.clone();
    reserved_names.sort();
    let options = message.options.as_ref();
    let fact = format!(
        "in {}, reserved {reserved:?} {reserved_names:?}, map entry {}, deprecated {}",
        file.name(),
        options.is_some_and(|o| o.map_entry()),
        options.is_some_and(|o| o.deprecated()),
    );
    add(facts, format!("message {name}"), fact);

    for field in &message.field {
        add(
            facts,
            format!("field {name}.{}", field.name()),
            field_fact(message, field),
        );
    }
    for nested in &message.nested_type {
        add_message(facts, &name, file, nested);
    }
    for r#enum in &message.enum_type {
        add_enum(facts, &name, file, r#enum);
    }
}

fn field_fact(message: &DescriptorProto, field: &FieldDescriptorProto) -> String {
    let oneof = field
        .oneof_index
        .map(|index| message.oneof_decl[index as usize].name());
    format!(
        "number {}, {} {}, {}, optional {}, oneof {oneof:?}, default {:?}, deprecated {}",
        field.number(),
        field.r#type().as_str_name(),
        field.type_name(),
        field.label().as_str_name(),
        field.proto3_optional(),
        field.default_value,
        field.options.as_ref().is_some_and(|o| o.deprecated()),
    )
}

fn add_enum(facts: &mut Facts, scope: &str, file: &FileDescriptorProto, r#enum: &EnumDescriptorProto) {
    let name = format!("{scope}.{}", r#enum.name());
    let mut reserved: Vec<_> = r#enum
        .reserved_range
        .iter()
        .map(|r| (r.start(), r.end()))
        .collect();
    reserved.sort_unstable();
    let options = r#enum.options.as_ref();
    let fact = format!(
        "in {}, reserved {reserved:?} {:?}, aliases {}, first {:?}",
        file.name(),
        r#enum.reserved_name,
        options.is_some_and(|o| o.allow_alias()),
        r#enum.value.first().map(|value| value.name()),
    );
    add(facts, format!("enum {name}"), fact);

    for value in &r#enum.value {
        add(
            facts,
            format!("value {name}.{}", value.name()),
            format!("number {}", value.number()),
        );
    }
}

fn add_service(facts: &mut Facts, file: &FileDescriptorProto, service: &ServiceDescriptorProto) {
    let name = format!("{}.{}", file.package(), service.name());
    add(facts, format!("service {name}"), format!("in {}", file.name()));

    for method in &service.method {
        let fact = format!(
            "takes {} (stream {}), returns {} (stream {}), deprecated {}",
            method.input_type(),
            method.client_streaming(),
            method.output_type(),
            method.server_streaming(),
            method.options.as_ref().is_some_and(|o| o.deprecated()),
        );
        add(facts, format!("method {name}.{}", method.name()), fact);
    }
}
