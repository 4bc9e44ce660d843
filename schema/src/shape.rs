//! The engine's schemas as objects with members, for the generators of all languages.

use serde_json::{Map, Value};
use stackwright::binding;

/// An object of the schema.
pub(crate) struct Shape {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) members: Vec<Member>,
    pub(crate) role: Role,
}

/// Who writes an object, and where it stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Callers write it.
    Input,
    /// The engine writes it, with all members.
    Output,
    /// It is an event or a part of one. Members that are not required are left out.
    Event,
}

/// The name of the object that has all events.
pub(crate) const EVENT: &str = "EngineEvent";

/// A member of an object.
pub(crate) struct Member {
    /// The name in `camelCase`.
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) schema: Map<String, Value>,
    pub(crate) is_required: bool,
}

/// The type of a value.
pub(crate) enum Type<'a> {
    Any,
    Boolean,
    Integer,
    Number,
    Text,
    Names(Vec<&'a str>),
    List(Box<Self>),
    Map(Box<Self>),
    Named(&'a str),
    /// One of several types.
    OneOf(Vec<Self>),
    /// An unnamed object.
    Object,
    /// The inner type, or null.
    Optional(Box<Self>),
}

/// A text with a fixed set of values.
pub(crate) struct Choice {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) values: Vec<String>,
}

/// Returns all texts with a fixed set of values.
pub(crate) fn choices() -> Vec<Choice> {
    let mut choices: Vec<Choice> = Vec::new();
    let definitions = binding::schemas()
        .into_iter()
        .filter_map(|schema| schema.get("$defs")?.as_object());
    for (name, definition) in definitions.flatten() {
        let values = definition.as_object().map(type_of);
        let is_known = choices.iter().any(|choice| choice.name == *name);
        if let (false, Some(Type::Names(values))) = (is_known, values) {
            choices.push(Choice {
                name: name.clone(),
                description: described(definition),
                values: values.into_iter().map(str::to_owned).collect(),
            });
        }
    }
    choices
}

/// Returns all objects in the order of the engine, each after those that it names.
pub(crate) fn shapes() -> Vec<Shape> {
    let mut shapes: Vec<Shape> = Vec::new();
    for schema in binding::schemas() {
        let definitions = schema.get("$defs").and_then(Value::as_object);
        let named = definitions.into_iter().flatten();
        let named = named.map(|(name, definition)| (name.as_str(), definition));
        let title = schema["title"].as_str().unwrap_or_default();
        let is_event = title == EVENT;
        for (name, definition) in named.chain([(title, schema)]) {
            let is_known = shapes.iter().any(|shape| shape.name == name);
            // An event can have no members.
            let is_object =
                definition.get("properties").is_some() || (is_event && definition["type"] == "object");
            if !is_known && is_object {
                shapes.push(shape(name, definition, is_event));
            }
        }
    }
    shapes
}

fn shape(name: &str, schema: &Value, is_event: bool) -> Shape {
    let required = schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|it| it == name));
    let members = schema["properties"].as_object().into_iter().flatten();
    Shape {
        name: name.to_owned(),
        description: described(schema),
        members: members
            .map(|(name, schema)| Member {
                name: name.clone(),
                description: described(schema),
                schema: schema.as_object().cloned().unwrap_or_default(),
                is_required: is_required(name),
            })
            .collect(),
        role: match schema.get("additionalProperties") {
            _ if is_event => Role::Event,
            Some(Value::Bool(false)) => Role::Input,
            _ => Role::Output,
        },
    }
}

/// Returns the description without the parts for Rust, its example among them.
fn described(schema: &Value) -> String {
    let text = schema
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let ends = ["\n\n# Rust", "\n\n```"].map(|begin| text.find(begin).unwrap_or(text.len()));
    text[..ends.into_iter().min().unwrap_or(text.len())].to_owned()
}

impl Shape {
    /// Returns the members that a language knows.
    pub(crate) fn members_in<'a>(&'a self, language: &'a str) -> impl Iterator<Item = &'a Member> {
        let is_in = move |member: &&Member| match member.schema.get("x-in").and_then(Value::as_array) {
            Some(languages) => languages.iter().any(|it| it == language),
            None => true,
        };
        self.members.iter().filter(is_in)
    }
}

impl Member {
    /// Whether it is an argument of its own in Python, beside the options.
    pub(crate) fn is_argument(&self) -> bool {
        self.schema.contains_key("x-argument")
    }

    /// Whether its plain data can be a secret value.
    pub(crate) fn is_secret(&self) -> bool {
        self.schema.contains_key("x-secret")
    }

    /// Whether a resource can be in the place of its text.
    pub(crate) fn takes_resource(&self) -> bool {
        let accepted = |schema: &Map<String, Value>| schema.contains_key("x-reference");
        let branches = self.schema.get("anyOf").and_then(Value::as_array);
        let mut branches = branches.into_iter().flatten().filter_map(Value::as_object);
        accepted(&self.schema) || branches.any(accepted)
    }

    /// Returns the type that the member has in a language, where the schema cannot express it.
    pub(crate) fn own_type(&self, language: &str) -> Option<&str> {
        self.schema.get(&format!("x-{language}"))?.as_str()
    }

    pub(crate) fn value_type(&self) -> Type<'_> {
        type_of(&self.schema)
    }
}

fn type_of(schema: &Map<String, Value>) -> Type<'_> {
    let child = |name: &str| {
        schema
            .get(name)
            .and_then(Value::as_object)
            .map_or(Type::Any, type_of)
    };
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        return Type::Named(reference.rsplit('/').next().unwrap_or_default());
    }
    if let Some(names) = schema.get("enum").and_then(Value::as_array) {
        return Type::Names(names.iter().filter_map(Value::as_str).collect());
    }
    if let Some(branches) = schema
        .get("anyOf")
        .or_else(|| schema.get("oneOf"))
        .and_then(Value::as_array)
    {
        return one_of(branches);
    }
    let names: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => return Type::Any,
    };
    let value = match names.iter().find(|name| **name != "null").copied() {
        Some("boolean") => Type::Boolean,
        Some("integer") => Type::Integer,
        Some("number") => Type::Number,
        Some("string") => Type::Text,
        Some("array") => Type::List(Box::new(child("items"))),
        Some("object") if schema.contains_key("properties") => Type::Object,
        Some("object") => Type::Map(Box::new(child("additionalProperties"))),
        _ => Type::Any,
    };
    if names.contains(&"null") {
        Type::Optional(Box::new(value))
    } else {
        value
    }
}

fn one_of(branches: &[Value]) -> Type<'_> {
    let is_null = |branch: &&Map<String, Value>| branch.get("type").is_some_and(|it| it == "null");
    let objects = branches.iter().filter_map(Value::as_object);
    let constants: Vec<&str> = objects.clone().flat_map(names_of).collect();
    if !constants.is_empty() {
        return Type::Names(constants);
    }
    let types = objects.clone().filter(|branch| !is_null(branch)).map(type_of);
    let mut types: Vec<Type<'_>> = types.collect();
    let is_optional = objects.into_iter().any(|branch| is_null(&branch));
    let value = if types.len() == 1 {
        types.remove(0)
    } else {
        Type::OneOf(types)
    };
    if is_optional {
        Type::Optional(Box::new(value))
    } else {
        value
    }
}

/// Returns the values of a branch with fixed values.
fn names_of(branch: &Map<String, Value>) -> Vec<&str> {
    let names = branch.get("enum").and_then(Value::as_array).into_iter().flatten();
    names
        .chain(branch.get("const"))
        .filter_map(Value::as_str)
        .collect()
}
