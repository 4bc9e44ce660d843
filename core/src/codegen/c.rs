//! Programs of the library's API for C: the body of a program's `run`.
//!
//! Registrations are JSON. References are URNs as they are recorded, since C has no values of JSON to take them from.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{
    literal::{number_literal, string_literal},
    package::DOCUMENT_KEYS,
    program::{Declared, DeclaredKind, Program, Reference},
    value::{Expression, FileKind},
};
use crate::{
    message::Language,
    property::signature::{ARCHIVE, ASSET, BYTES, SECRET, SIGNATURE},
};

/// The mark of a secret's place in a JSON text, which no JSON contains.
const PLACE: char = '\u{1}';
/// The mark of a secret that is a text, and of one that is an object, after that of its place.
const TEXT: char = '\u{2}';
const OBJECT: char = '\u{3}';

/// Returns a value as JSON on one line.
fn value_json(value: &Expression) -> String {
    let marked = |signature: &str, member: &str| format!("{{\"{SIGNATURE}\": \"{signature}\", {member}}}");
    let entries = |entries: &[(String, Expression)]| {
        let entries = entries
            .iter()
            .map(|(key, value)| format!("{}: {}", json(key), value_json(value)));
        format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
    };
    match value {
        // A comment cannot stand in a JSON text.
        Expression::Null | Expression::Missing(_) => "null".to_owned(),
        Expression::Bool(value) => value.to_string(),
        Expression::Number(value) => number_literal(Language::C, *value),
        Expression::Text(text) => json(text),
        Expression::Bytes(bytes) => marked(BYTES, &format!("\"value\": \"{}\"", STANDARD.encode(bytes))),
        Expression::List(values) => {
            let values: Vec<String> = values.iter().map(value_json).collect();
            format!("[{}]", values.join(", "))
        }
        Expression::Object(object) => entries(object),
        Expression::File(kind, source, text) => {
            let signature = match kind {
                FileKind::Asset => ASSET,
                FileKind::Archive => ARCHIVE,
            };
            marked(signature, &format!("\"{source}\": {}", json(text)))
        }
        Expression::Assets(assets) => marked(ARCHIVE, &format!("\"assets\": {}", entries(assets))),
        Expression::Secret { key, is_text } => {
            let form = if *is_text { TEXT } else { OBJECT };
            marked(SECRET, &format!("\"value\": {PLACE}{form}{key}{PLACE}"))
        }
    }
}

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Collects why values are left out.
fn reasons<'a>(value: &'a Expression, path: &str, found: &mut Vec<(String, &'a str)>) {
    match value {
        Expression::Missing(why) => found.push((path.to_owned(), why)),
        Expression::Object(entries) | Expression::Assets(entries) => {
            for (key, value) in entries {
                reasons(value, &format!("{path}.{key}"), found);
            }
        }
        Expression::List(values) => {
            for (index, value) in values.iter().enumerate() {
                reasons(value, &format!("{path}[{index}]"), found);
            }
        }
        _ => {}
    }
}

/// Returns a program.
pub(super) fn program(program: &Program) -> String {
    let mut source = String::new();
    if program.reads_configuration() {
        source.push_str(
            "/* These return a value of `config` in sw_context_info(): as a JSON string, in its quotes, and as the text itself, which\n   \
             is JSON. */\nconst char *config_string(sw_context_t *context, const char *key);\n\
             const char *config_object(sw_context_t *context, const char *key);\n\n",
        );
    }
    source.push_str("static int32_t run(void *user_data, sw_context_t *context)\n{\n    int32_t status = 0;\n    (void)user_data;\n");
    for declared in &program.declarations {
        source.push_str(&registration(program, declared));
    }
    source.push_str("    return status;\n}\n");
    source
}

/// Returns the statement that registers a resource.
fn registration(program: &Program, declared: &Declared) -> String {
    let Declared {
        declaration, inputs, ..
    } = declared;
    let mut members = vec![
        ("type", json(&declaration.resource_type)),
        ("name", json(&declaration.name)),
    ];
    match declaration.kind {
        DeclaredKind::Custom | DeclaredKind::Provider => {}
        DeclaredKind::Component => members.push(("custom", "false".to_owned())),
        DeclaredKind::Remote => {
            members.extend([("custom", "false".to_owned()), ("remote", "true".to_owned())]);
        }
    }
    let target = |index: &usize| {
        program
            .declarations
            .get(*index)
            .map(|declared| &declared.declaration)
    };
    match &declaration.parent {
        Some(Reference::Declared(index)) => {
            members.extend(target(index).map(|parent| ("parent", json(&parent.urn))));
        }
        Some(Reference::Recorded(urn)) => members.push(("parent", json(urn))),
        None => {}
    }
    match &declaration.provider {
        Some(Reference::Declared(index)) => {
            members.extend(target(index).map(|provider| ("provider", json(&provider.reference))));
        }
        Some(Reference::Recorded(reference)) => members.push(("provider", json(reference))),
        None => {}
    }
    for (name, value) in [
        ("version", &declaration.version),
        ("pluginDownloadUrl", &declaration.download_url),
    ] {
        if !value.is_empty() {
            members.push((name, json(value)));
        }
    }
    if let Some(package) = &declaration.package {
        members.push(("package", value_json(&package.expression(&DOCUMENT_KEYS))));
    }
    if declaration.protect {
        members.push(("protect", "true".to_owned()));
    }
    let mut parts: Vec<String> = members
        .iter()
        .map(|(name, value)| format!("\"{name}\": {value}"))
        .collect();
    let mut left_out = Vec::new();
    for (name, value) in inputs {
        reasons(value, name, &mut left_out);
    }
    if !inputs.is_empty() {
        parts.push(format!(
            "\"inputs\": {}",
            value_json(&Expression::Object(inputs.clone()))
        ));
    }
    let text = format!("{{{}}}", parts.join(", "));
    let comments = left_out.iter().map(|(path, why)| {
        let comment = format!("{}: {path}: {why}", declaration.name).replace("*/", "* /");
        let comment: String = comment
            .chars()
            .filter(|character| !character.is_control())
            .collect();
        format!("    /* {comment} */\n")
    });
    let comments: String = comments.collect();
    format!("{comments}{}", statement(&text))
}

/// Returns the statement that registers the resource of a JSON text.
fn statement(text: &str) -> String {
    if !text.contains(PLACE) {
        return format!(
            "    status |= sw_context_register(context, sw_text(\n        {}), NULL, NULL);\n",
            string_literal(Language::C, text)
        );
    }
    let mut format = String::new();
    let mut keys = Vec::new();
    for (index, part) in text.split(PLACE).enumerate() {
        match index % 2 {
            0 => format.push_str(&part.replace('%', "%%")),
            _ => {
                format.push_str("%s");
                let (function, key) = match part.strip_prefix(OBJECT) {
                    Some(key) => ("config_object", key),
                    None => ("config_string", part.strip_prefix(TEXT).unwrap_or(part)),
                };
                let key = string_literal(Language::C, key);
                keys.push(format!("{function}(context, {key})"));
            }
        }
    }
    let (literal, arguments) = (string_literal(Language::C, &format), keys.join(", "));
    format!(
        "    {{\n        static const char goal[] =\n            {literal};\n        int length = snprintf(NULL, 0, goal, \
         {arguments});\n        char *json = malloc((size_t)length + 1);\n        snprintf(json, (size_t)length + 1, goal, \
         {arguments});\n        status |= sw_context_register(context, sw_text(json), NULL, NULL);\n        free(json);\n    \
         }}\n"
    )
}
