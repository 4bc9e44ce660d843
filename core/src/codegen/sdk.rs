//! Programs of the Pulumi SDKs: the inputs of each resource in the terms of its package's schema.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    program::{Declared, DeclaredKind, Program},
    schema::{PackageSchema, PropertySchema},
    value::Expression,
};

/// The languages of the SDKs with programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SdkLanguage {
    Python,
    TypeScript,
}

/// How a declaration stands in a program of an SDK.
pub(super) enum SdkDeclaration<'a> {
    /// A class of a package.
    Class {
        schema: &'a PackageSchema,
        inputs: Vec<(String, Expression)>,
        /// The names of inputs that the class does not have.
        unknown: Vec<&'a str>,
    },
    /// A component of the program.
    Component,
    /// It cannot be declared, and why.
    Left(&'static str),
}

/// Returns how each declaration stands in a program; `named` makes the names of properties. `None` when no declaration has a class.
pub(super) fn declarations<'a>(
    program: &'a Program,
    schemas: &'a [PackageSchema],
    named: fn(&str) -> String,
) -> Option<Vec<SdkDeclaration<'a>>> {
    let declarations: Vec<_> = program
        .declarations
        .iter()
        .map(|declared| declaration(declared, schemas, named))
        .collect();
    let has_class = |declaration: &SdkDeclaration<'_>| matches!(declaration, SdkDeclaration::Class { .. });
    declarations.iter().any(has_class).then_some(declarations)
}

fn declaration<'a>(
    Declared { declaration, inputs }: &'a Declared,
    schemas: &'a [PackageSchema],
    named: fn(&str) -> String,
) -> SdkDeclaration<'a> {
    let token = declaration.resource_type.as_str();
    let package = match declaration.kind {
        DeclaredKind::Component => return SdkDeclaration::Component,
        DeclaredKind::Provider => token.strip_prefix("pulumi:providers:").unwrap_or_default(),
        DeclaredKind::Custom | DeclaredKind::Remote => token.split(':').next().unwrap_or_default(),
    };
    let Some(schema) = schemas.iter().find(|schema| schema.name == package) else {
        return SdkDeclaration::Left("its provider serves no schema");
    };
    let resource = match declaration.kind {
        DeclaredKind::Provider => Some(&schema.provider),
        _ => schema.resource(token),
    };
    let Some(resource) = resource else {
        return SdkDeclaration::Left("the schema of its package does not have its type");
    };
    if resource.is_component != (declaration.kind == DeclaredKind::Remote) {
        return SdkDeclaration::Left("the schema of its package has another kind of resource of its type");
    }
    let known = inputs
        .iter()
        .filter_map(|(key, value)| Some((key, value, resource.input_properties.get(key)?)));
    let unknown = inputs.iter().map(|(key, _)| key.as_str());
    SdkDeclaration::Class {
        schema,
        inputs: entries(known, schema, named),
        unknown: unknown
            .filter(|key| !resource.input_properties.contains_key(*key))
            .collect(),
    }
}

/// Returns the entries of an object, without those that have their default.
fn entries<'a>(
    known: impl Iterator<Item = (&'a String, &'a Expression, &'a PropertySchema)>,
    schema: &PackageSchema,
    named: fn(&str) -> String,
) -> Vec<(String, Expression)> {
    known
        .filter(|(_, value, property)| !is_default(value, property))
        .map(|(key, value, property)| (named(key), typed(value, property, schema, named)))
        .collect()
}

fn is_default(value: &Expression, property: &PropertySchema) -> bool {
    match (&property.default, value) {
        (Some(Value::Bool(default)), Expression::Bool(value)) => default == value,
        (Some(Value::String(default)), Expression::Text(value)) => default == value,
        (Some(Value::Number(default)), Expression::Number(value)) => default.as_f64() == Some(*value),
        _ => false,
    }
}

/// Returns a value whose objects have the names that their types have in the language.
fn typed(
    value: &Expression,
    property: &PropertySchema,
    schema: &PackageSchema,
    named: fn(&str) -> String,
) -> Expression {
    match (value, &property.items, &property.additional_properties) {
        (Expression::List(values), Some(items), _) => Expression::List(
            values
                .iter()
                .map(|value| typed(value, items, schema, named))
                .collect(),
        ),
        (Expression::Object(map), _, Some(inner)) => {
            let entries = map
                .iter()
                .map(|(key, value)| (key.clone(), typed(value, inner, schema, named)));
            Expression::Object(entries.collect())
        }
        (Expression::Object(map), _, None) => match schema.members_of(property) {
            Some(members) => Expression::Object(object(map, members, schema, named)),
            None => value.clone(),
        },
        _ => value.clone(),
    }
}

/// Returns the entries of an object of a type; those that the type does not have keep their names.
fn object(
    map: &[(String, Expression)],
    members: &BTreeMap<String, PropertySchema>,
    schema: &PackageSchema,
    named: fn(&str) -> String,
) -> Vec<(String, Expression)> {
    let entry = |(key, value): &(String, Expression)| match members.get(key) {
        Some(member) if is_default(value, member) => None,
        Some(member) => Some((named(key), typed(value, member, schema, named))),
        None => Some((key.clone(), value.clone())),
    };
    map.iter().filter_map(entry).collect()
}

/// Returns the name of a configuration key within the project's namespace.
pub(super) fn key_name(key: &str) -> &str {
    key.split_once(':').map_or(key, |(_, name)| name)
}
