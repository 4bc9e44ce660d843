//! Programs of the Pulumi SDK for TypeScript.

use std::collections::BTreeMap;

use super::{
    literal::number_literal,
    names::{Case, identifier},
    printer::{Syntax, print},
    program::{Declaration, Declared, DeclaredKind, Program, Reference, is_default_provider},
    schema::PackageSchema,
    sdk::{Conventions, SdkDeclaration, declarations, key_name},
    typescript::{RESERVED, key_of, text},
    value::{Expression, FileKind},
};
use crate::message::Language;

/// How classes take their arguments. They fill in the defaults of objects, too.
const CONVENTIONS: Conventions = Conventions {
    name: str::to_owned,
    fills_members: true,
};

/// The syntax of values.
struct Values;

impl Syntax for Values {
    fn null(&self) -> String {
        "null".to_owned()
    }
    fn bool(&self, value: bool) -> String {
        value.to_string()
    }
    fn number(&self, value: f64) -> String {
        number_literal(Language::Node, value)
    }
    fn text(&self, value: &str) -> String {
        text(value)
    }
    fn bytes(&self, value: &[u8]) -> String {
        let bytes: Vec<String> = value.iter().map(u8::to_string).collect();
        format!("Uint8Array.of({})", bytes.join(", "))
    }
    fn list(&self) -> (&'static str, &'static str) {
        ("[", "]")
    }
    fn object(&self) -> (&'static str, &'static str) {
        ("{", " }")
    }
    fn entry(&self, key: &str, value: &str) -> String {
        format!("{}: {value}", key_of(key))
    }
    fn file(&self, kind: FileKind, source: &str, value: &str) -> String {
        let class = match (kind, source) {
            (FileKind::Asset, "text") => "StringAsset",
            (FileKind::Asset, "path") => "FileAsset",
            (FileKind::Asset, _) => "RemoteAsset",
            (FileKind::Archive, "path") => "FileArchive",
            (FileKind::Archive, _) => "RemoteArchive",
        };
        format!("new pulumi.asset.{class}({})", text(value))
    }
    fn assets(&self) -> (&'static str, &'static str) {
        ("new pulumi.asset.AssetArchive({", "})")
    }
    fn secret(&self, key: &str, is_text: bool) -> String {
        let method = if is_text {
            "requireSecret"
        } else {
            "requireSecretObject"
        };
        format!("config.{method}({})", text(key_name(key)))
    }
    fn comment(&self, text: &str) -> String {
        format!("// {text}")
    }
}

/// Returns a program; `None` when no resource has a class.
pub(super) fn program(program: &Program, schemas: &[PackageSchema]) -> Option<String> {
    let declarations = declarations(program, schemas, CONVENTIONS)?;
    let mut packages: BTreeMap<String, String> = BTreeMap::new();
    for declaration in &declarations {
        if let SdkDeclaration::Class { schema, .. } = declaration {
            packages.insert(schema.package("nodejs"), identifier(&schema.name, Case::Camel));
        }
    }
    let aliases: Vec<&str> = packages.values().map(String::as_str).collect();
    let reserved: Vec<&str> = RESERVED.iter().copied().chain(aliases.iter().copied()).collect();
    let (variables, mut others) = program.variables(Case::Camel, &reserved);
    let referred = program.referred();
    let mut source = String::from("import * as pulumi from \"@pulumi/pulumi\";\n");
    for (package, alias) in &packages {
        source.push_str(&format!("import * as {alias} from {};\n", text(package)));
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
                    let provider = format!("new pulumi.DependencyProviderResource({})", Values.text(text));
                    unbound.insert(text, provider);
                    continue;
                }
                let name = text.split("::").nth(3).unwrap_or_default();
                let variable = others.take(name);
                body.push_str(&format!(
                    "// The variable `{variable}` is this resource of your program: {text}\n"
                ));
                unbound.insert(text, variable);
            }
        }
        let options = options(declaration, &variables, &unbound, &declarations);
        let assigned = match (referred.get(index), variables.get(index)) {
            (Some(true), Some(variable)) => format!("const {variable} = "),
            _ => String::new(),
        };
        let (kind_of, name) = (text(&declaration.resource_type), text(&declaration.name));
        let options = options.map(|options| format!(", {options}")).unwrap_or_default();
        match kind {
            SdkDeclaration::Left(why) => body.push_str(&format!("// {kind_of}, {name}: {why}\n")),
            SdkDeclaration::Component => {
                let inputs = if options.is_empty() { "" } else { ", {}" };
                let made = format!("new pulumi.ComponentResource({kind_of}, {name}{inputs}{options})");
                body.push_str(&format!("{assigned}{made};\n"));
            }
            SdkDeclaration::Class {
                schema,
                inputs,
                unknown,
            } => {
                for input in unknown {
                    body.push_str(&format!("// {name}: the class has no input {}\n", text(input)));
                }
                let class = class(declaration, schema);
                let head = format!("new {class}({name}, ");
                let inputs = Expression::Object(inputs.clone());
                let inputs = print(&Values, &inputs, 0, head.len() + options.len());
                body.push_str(&format!("{assigned}{head}{inputs}{options});\n"));
            }
        }
    }
    if program.reads_configuration() {
        source.push_str("\nconst config = new pulumi.Config();\n");
    }
    Some(format!("{source}\n{body}"))
}

/// Returns the path of a class.
fn class(declaration: &Declaration, schema: &PackageSchema) -> String {
    let alias = identifier(&schema.name, Case::Camel);
    if declaration.kind == DeclaredKind::Provider {
        return format!("{alias}.Provider");
    }
    let place = schema.class(&declaration.resource_type, "nodejs");
    let modules = place.modules.iter().map(|module| identifier(module, Case::Camel));
    let path: Vec<String> = std::iter::once(alias)
        .chain(modules)
        .chain([place.class.clone()])
        .collect();
    path.join(".")
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
        .map(|parent| format!("parent: {parent}"));
    let provider = declaration.provider.as_ref().and_then(referred);
    let provider = provider.map(|provider| format!("provider: {provider}"));
    let named = |name: &str, value: &str| (!value.is_empty()).then(|| format!("{name}: {}", text(value)));
    let options: Vec<String> = parent
        .into_iter()
        .chain(provider)
        .chain(named("version", &declaration.version))
        .chain(named("pluginDownloadURL", &declaration.download_url))
        .chain(declaration.protect.then(|| "protect: true".to_owned()))
        .collect();
    (!options.is_empty()).then(|| format!("{{ {} }}", options.join(", ")))
}
