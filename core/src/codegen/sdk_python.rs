//! Programs of the Pulumi SDK for Python.

use std::collections::BTreeMap;

use super::{
    literal::number_literal,
    names::{Case, identifier},
    printer::{Syntax, print},
    program::{Declaration, Declared, DeclaredKind, Program, Reference, is_default_provider},
    python::{RESERVED, bytes, text},
    schema::PackageSchema,
    sdk::{Conventions, SdkDeclaration, declarations, key_name},
    value::{Expression, FileKind},
};
use crate::message::Language;

/// How classes take their arguments. Objects are given as dictionaries, whose defaults nothing fills in.
const CONVENTIONS: Conventions = Conventions {
    name: property_name,
    fills_members: false,
};

/// Words that a keyword argument cannot be.
const KEYWORDS: &[&str] = &[
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else",
    "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal", "not",
    "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// The syntax of values.
struct Values;

impl Syntax for Values {
    fn null(&self) -> String {
        "None".to_owned()
    }
    fn bool(&self, value: bool) -> String {
        if value { "True" } else { "False" }.to_owned()
    }
    fn number(&self, value: f64) -> String {
        number_literal(Language::Python, value)
    }
    fn text(&self, value: &str) -> String {
        text(value)
    }
    fn bytes(&self, value: &[u8]) -> String {
        bytes(value)
    }
    fn list(&self) -> (&'static str, &'static str) {
        ("[", "]")
    }
    fn object(&self) -> (&'static str, &'static str) {
        ("{", "}")
    }
    fn entry(&self, key: &str, value: &str) -> String {
        format!("{}: {value}", text(key))
    }
    fn file(&self, kind: FileKind, source: &str, value: &str) -> String {
        let class = match (kind, source) {
            (FileKind::Asset, "text") => "StringAsset",
            (FileKind::Asset, "path") => "FileAsset",
            (FileKind::Asset, _) => "RemoteAsset",
            (FileKind::Archive, "path") => "FileArchive",
            (FileKind::Archive, _) => "RemoteArchive",
        };
        format!("pulumi.{class}({})", text(value))
    }
    fn assets(&self) -> (&'static str, &'static str) {
        ("pulumi.AssetArchive({", "})")
    }
    fn secret(&self, key: &str, is_text: bool) -> String {
        let method = if is_text {
            "require_secret"
        } else {
            "require_secret_object"
        };
        format!("config.{method}({})", text(key_name(key)))
    }
    fn comment(&self, text: &str) -> String {
        format!("# {text}")
    }
}

/// Returns the name of a property in Python.
fn property_name(name: &str) -> String {
    let characters: Vec<char> = name.chars().collect();
    let mut written = String::new();
    for (index, character) in characters.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| characters.get(before));
        let after = characters.get(index + 1);
        let begins_word = before.is_some_and(|before| before.is_ascii_lowercase() || before.is_ascii_digit());
        // The plural of an acronym stays together: `publicIPs` is `public_ips`.
        let is_plural = after == Some(&'s') && characters.get(index + 2).is_none_or(char::is_ascii_uppercase);
        let ends_acronym = before.is_some_and(char::is_ascii_uppercase)
            && after.is_some_and(char::is_ascii_lowercase)
            && !is_plural;
        if character.is_ascii_uppercase() && (begins_word || ends_acronym) {
            written.push('_');
        }
        written.push(character.to_ascii_lowercase());
    }
    attribute(&written)
}

/// Returns the name of a module or a property, none of which is a keyword.
fn attribute(name: &str) -> String {
    match KEYWORDS.contains(&name) {
        true => format!("{name}_"),
        false => name.replace('-', "_"),
    }
}

/// Returns a program; `None` when no resource has a class.
pub(super) fn program(program: &Program, schemas: &[PackageSchema]) -> Option<String> {
    let declarations = declarations(program, schemas, CONVENTIONS)?;
    let mut packages: BTreeMap<String, String> = BTreeMap::new();
    for declaration in &declarations {
        if let SdkDeclaration::Class { schema, .. } = declaration {
            packages.insert(schema.package("python"), identifier(&schema.name, Case::Snake));
        }
    }
    let aliases: Vec<&str> = packages.values().map(String::as_str).collect();
    let reserved: Vec<&str> = RESERVED.iter().copied().chain(aliases.iter().copied()).collect();
    let (variables, mut others) = program.variables(Case::Snake, &reserved);
    let referred = program.referred();
    let mut source = String::from("import pulumi\n");
    for (package, alias) in &packages {
        source.push_str(&match package == alias {
            true => format!("import {package}\n"),
            false => format!("import {package} as {alias}\n"),
        });
    }
    let mut body = String::new();
    let mut unbound: BTreeMap<&str, String> = BTreeMap::new();
    for (index, (Declared { declaration, .. }, kind)) in
        program.declarations.iter().zip(&declarations).enumerate()
    {
        let is_left = matches!(kind, SdkDeclaration::Left(_));
        let references = [&declaration.parent, &declaration.provider].into_iter().flatten();
        for reference in references.filter(|_| !is_left) {
            if let Reference::Recorded(text) = reference
                && !unbound.contains_key(text.as_str())
            {
                if is_default_provider(text) {
                    let provider = format!(
                        "pulumi.resource.DependencyProviderResource({})",
                        Values.text(text)
                    );
                    unbound.insert(text, provider);
                    continue;
                }
                let name = text.split("::").nth(3).unwrap_or_default();
                let variable = others.take(name);
                body.push_str(&format!(
                    "# The variable `{variable}` is this resource of your program: {text}\n"
                ));
                unbound.insert(text, variable);
            }
        }
        let options = options(declaration, &variables, &unbound, &declarations);
        let assigned = match (referred.get(index), variables.get(index)) {
            (Some(true), Some(variable)) => format!("{variable} = "),
            _ => String::new(),
        };
        let (kind_of, name) = (text(&declaration.resource_type), text(&declaration.name));
        match kind {
            SdkDeclaration::Left(why) => body.push_str(&format!("# {kind_of}, {name}: {why}\n")),
            SdkDeclaration::Component => {
                let options = options
                    .map(|options| format!(", opts={options}"))
                    .unwrap_or_default();
                body.push_str(&format!(
                    "{assigned}pulumi.ComponentResource({kind_of}, {name}{options})\n"
                ));
            }
            SdkDeclaration::Class {
                schema,
                inputs,
                unknown,
            } => {
                for input in unknown {
                    body.push_str(&format!("# {name}: the class has no input {}\n", text(input)));
                }
                let class = class(declaration, schema);
                body.push_str(&format!("{assigned}{}\n", call(&class, &name, inputs, options)));
            }
        }
    }
    if program.reads_configuration() {
        source.push_str("\nconfig = pulumi.Config()\n");
    }
    Some(format!("{source}\n{body}"))
}

/// Returns the path of a class.
fn class(declaration: &Declaration, schema: &PackageSchema) -> String {
    let alias = identifier(&schema.name, Case::Snake);
    if declaration.kind == DeclaredKind::Provider {
        return format!("{alias}.Provider");
    }
    let place = schema.class(&declaration.resource_type, "python");
    let modules = place.modules.iter().map(|module| attribute(module));
    let path: Vec<String> = std::iter::once(alias)
        .chain(modules)
        .chain([place.class.clone()])
        .collect();
    path.join(".")
}

fn call(class: &str, name: &str, inputs: &[(String, Expression)], options: Option<String>) -> String {
    let mut arguments: Vec<String> = vec![name.to_owned()];
    arguments.extend(inputs.iter().map(|(key, value)| {
        // The comment of a value that cannot be written needs a line of its own.
        let note = match value {
            Expression::Missing(why) => format!("  # {why}"),
            _ => String::new(),
        };
        let printed = print(&Values, value, 4, 4 + key.len() + 1);
        match note.is_empty() {
            true => format!("{key}={printed}"),
            false => format!("{key}={printed},{note}"),
        }
    }));
    arguments.extend(options.map(|options| format!("opts={options}")));
    let short = format!("{class}({})", arguments.join(", "));
    if !short.contains('\n') && !short.contains('#') && short.len() < 100 {
        return short;
    }
    let line = |argument: &String| match argument.contains(",  # ") {
        true => format!("    {argument}\n"),
        false => format!("    {argument},\n"),
    };
    format!("{class}(\n{})", arguments.iter().map(line).collect::<String>())
}

fn options(
    declaration: &Declaration,
    variables: &[String],
    unbound: &BTreeMap<&str, String>,
    declarations: &[SdkDeclaration<'_>],
) -> Option<String> {
    let referred = |reference: &Reference| match reference {
        Reference::Declared(index) if matches!(declarations.get(*index), Some(SdkDeclaration::Left(_))) => {
            None
        }
        Reference::Declared(index) => variables.get(*index).cloned(),
        Reference::Recorded(text) => unbound.get(text.as_str()).cloned(),
    };
    let parent = declaration
        .parent
        .as_ref()
        .and_then(referred)
        .map(|parent| format!("parent={parent}"));
    let provider = declaration.provider.as_ref().and_then(referred);
    let provider = provider.map(|provider| format!("provider={provider}"));
    let named = |name: &str, value: &str| (!value.is_empty()).then(|| format!("{name}={}", text(value)));
    let options: Vec<String> = parent
        .into_iter()
        .chain(provider)
        .chain(named("version", &declaration.version))
        .chain(named("plugin_download_url", &declaration.download_url))
        .chain(declaration.protect.then(|| "protect=True".to_owned()))
        .collect();
    (!options.is_empty()).then(|| format!("pulumi.ResourceOptions({})", options.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_have_the_names_of_the_sdk() {
        let table = [
            ("length", "length"),
            ("kmsKeyId", "kms_key_id"),
            ("publicIPs", "public_ips"),
            ("openXJsonSerDe", "open_x_json_ser_de"),
            ("dnsIPAddress", "dns_ip_address"),
            ("from", "from_"),
        ];
        for (name, expected) in table {
            assert_eq!(property_name(name), expected);
        }
    }
}
