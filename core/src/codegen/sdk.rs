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

/// How the classes of a language take their arguments.
#[derive(Clone, Copy)]
pub(super) struct Conventions {
    /// Returns the name of a property.
    pub(super) name: fn(&str) -> String,
    /// Whether a class fills in the defaults of the members of objects, too.
    pub(super) fills_members: bool,
}

/// What the values of a class's arguments are made with.
#[derive(Clone, Copy)]
struct Values<'a> {
    schema: &'a PackageSchema,
    conventions: Conventions,
    /// Whether the members of objects have the names of the schema: a provider's class writes the JSON of what it gets.
    keeps_names: bool,
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

/// Returns how each declaration stands in a program; `None` when no declaration has a class.
pub(super) fn declarations<'a>(
    program: &'a Program,
    schemas: &'a [PackageSchema],
    conventions: Conventions,
) -> Option<Vec<SdkDeclaration<'a>>> {
    let declarations: Vec<_> = program
        .declarations
        .iter()
        .map(|declared| declaration(declared, schemas, conventions))
        .collect();
    let has_class = |declaration: &SdkDeclaration<'_>| matches!(declaration, SdkDeclaration::Class { .. });
    declarations.iter().any(has_class).then_some(declarations)
}

fn declaration<'a>(
    declared: &'a Declared,
    schemas: &'a [PackageSchema],
    conventions: Conventions,
) -> SdkDeclaration<'a> {
    let declaration = &declared.declaration;
    let inputs = declared.arguments.as_ref().unwrap_or(&declared.inputs);
    let token = declaration.resource_type.as_str();
    let package = match declaration.kind {
        DeclaredKind::Component => return SdkDeclaration::Component,
        DeclaredKind::Provider => declaration.provided_package().unwrap_or_default(),
        DeclaredKind::Custom | DeclaredKind::Remote => declaration.package_name(),
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
    let values = Values {
        schema,
        conventions,
        keeps_names: declaration.kind == DeclaredKind::Provider,
    };
    let unknown = inputs.iter().map(|(key, _)| key.as_str());
    SdkDeclaration::Class {
        schema,
        inputs: values.arguments(known),
        unknown: unknown
            .filter(|key| !resource.input_properties.contains_key(*key))
            .collect(),
    }
}

impl Values<'_> {
    /// Returns the arguments of a class, without those that have their default.
    fn arguments<'a>(
        self,
        known: impl Iterator<Item = (&'a String, &'a Expression, &'a PropertySchema)>,
    ) -> Vec<(String, Expression)> {
        known
            .filter(|(_, value, property)| !is_default(value, property))
            .map(|(key, value, property)| ((self.conventions.name)(key), self.typed(value, property)))
            .collect()
    }

    /// Returns a value whose objects have the names that their types have in the language.
    fn typed(self, value: &Expression, property: &PropertySchema) -> Expression {
        let property = self.schema.part_for(property, value);
        match (value, &property.items, &property.additional_properties) {
            (Expression::List(values), Some(items), _) => {
                Expression::List(values.iter().map(|value| self.typed(value, items)).collect())
            }
            (Expression::Object(map), _, Some(inner)) => {
                let entries = map
                    .iter()
                    .map(|(key, value)| (key.clone(), self.typed(value, inner)));
                Expression::Object(entries.collect())
            }
            (Expression::Object(map), _, None) => match self.schema.members_of(property) {
                Some(members) => Expression::Object(self.object(map, members)),
                None => value.clone(),
            },
            _ => value.clone(),
        }
    }

    /// Returns the entries of an object of a type; those that the type does not have keep their names.
    fn object(
        self,
        map: &[(String, Expression)],
        members: &BTreeMap<String, PropertySchema>,
    ) -> Vec<(String, Expression)> {
        let entry = |(key, value): &(String, Expression)| match members.get(key) {
            // The class writes the JSON of what it gets, without defaults.
            Some(member) if self.keeps_names => Some((key.clone(), self.typed(value, member))),
            Some(member) if self.conventions.fills_members && is_default(value, member) => None,
            Some(member) => Some(((self.conventions.name)(key), self.typed(value, member))),
            None => Some((key.clone(), value.clone())),
        };
        map.iter().filter_map(entry).collect()
    }
}

fn is_default(value: &Expression, property: &PropertySchema) -> bool {
    match (&property.default, value) {
        (Some(Value::Bool(default)), Expression::Bool(value)) => default == value,
        (Some(Value::String(default)), Expression::Text(value)) => default == value,
        (Some(Value::Number(default)), Expression::Number(value)) => default.as_f64() == Some(*value),
        _ => false,
    }
}

/// Returns the name of a configuration key within the project's namespace.
pub(super) fn key_name(key: &str) -> &str {
    key.split_once(':').map_or(key, |(_, name)| name)
}
