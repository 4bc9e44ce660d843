//! Programs of the library's API for Rust.

use super::{
    literal::{number_literal, string_literal},
    names::Case,
    package::DeclaredPackage,
    printer::{Syntax, print_entries},
    program::{Declaration, Declared, DeclaredKind, Program, Reference},
    typescript::uses,
    value::FileKind,
};
use crate::message::Language;

/// Words and names that no variable has.
const RESERVED: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "context", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let",
    "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "program", "pub", "ref", "return",
    "secret", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof", "unsafe",
    "unsized", "use", "virtual", "where", "while", "yield",
];

/// The syntax of values.
struct Values;

impl Syntax for Values {
    fn null(&self) -> String {
        "PropertyValue::Null".to_owned()
    }
    fn bool(&self, value: bool) -> String {
        format!("PropertyValue::from({value})")
    }
    fn number(&self, value: f64) -> String {
        format!("PropertyValue::from({})", number_literal(Language::Rust, value))
    }
    fn text(&self, value: &str) -> String {
        format!("PropertyValue::from({})", text(value))
    }
    fn bytes(&self, value: &[u8]) -> String {
        let escaped: String = value.iter().map(|byte| format!("\\x{byte:02x}")).collect();
        format!("PropertyValue::Bytes(b\"{escaped}\".as_slice().into())")
    }
    fn list(&self) -> (&'static str, &'static str) {
        ("PropertyValue::array(vec![", "])")
    }
    fn object(&self) -> (&'static str, &'static str) {
        ("PropertyValue::Object(PropertyMap::from_iter([", "]))")
    }
    fn entry(&self, key: &str, value: &str) -> String {
        format!("({}, {value})", text(key))
    }
    fn file(&self, kind: FileKind, source: &str, value: &str) -> String {
        let variant = super::names::capitalized(source);
        let class = match kind {
            FileKind::Asset => "Asset",
            FileKind::Archive => "Archive",
        };
        let source = format!("{class}Source::{variant}({}.to_owned())", text(value));
        format!("PropertyValue::{class}(Arc::new({class} {{ source: {source}, ..{class}::default() }}))")
    }
    fn assets(&self) -> (&'static str, &'static str) {
        ("archive([", "])")
    }
    fn secret(&self, key: &str, is_text: bool) -> String {
        let function = if is_text { "secret" } else { "secret_object" };
        format!("{function}(&context, {})?", text(key))
    }
    fn comment(&self, text: &str) -> String {
        format!("// {text}")
    }
}

fn text(value: &str) -> String {
    string_literal(Language::Rust, value)
}

const SECRET: &str = r#"
fn secret(context: &ProgramContext, key: &str) -> Result<PropertyValue> {
    let missing = || Error::new(ErrorKind::NotFound, format!("the configuration has no {key:?}"));
    let text = context.info.config.get(key).ok_or_else(missing)?;
    Ok(PropertyValue::secret(text.as_str().into()))
}
"#;

const SECRET_OBJECT: &str = r#"
fn secret_object(context: &ProgramContext, key: &str) -> Result<PropertyValue> {
    let missing = || Error::new(ErrorKind::NotFound, format!("the configuration has no {key:?}"));
    let text = context.info.config.get(key).ok_or_else(missing)?;
    let value = from_plain_json(format!("{{\"value\": {text}}}").as_bytes())?;
    Ok(PropertyValue::secret(value.get("value").cloned().unwrap_or_default()))
}
"#;

const ARCHIVE: &str = r#"
fn archive<const N: usize>(assets: [(&str, PropertyValue); N]) -> PropertyValue {
    let assets = assets.map(|(name, asset)| (name.to_owned(), asset));
    let source = ArchiveSource::Assets(assets.into());
    PropertyValue::Archive(Arc::new(Archive { source, ..Archive::default() }))
}
"#;

/// Returns a program: a function that registers the declarations.
pub(super) fn program(program: &Program) -> String {
    let (variables, _) = program.variables(Case::Snake, RESERVED);
    let referred = program.referred();
    let mut body = String::new();
    for (index, declared) in program.declarations.iter().enumerate() {
        let assigned = match (referred.get(index), variables.get(index)) {
            (Some(true), Some(variable)) => format!("let {variable} = "),
            _ => String::new(),
        };
        body.push_str(&format!("    {assigned}{};\n", call(declared, &variables)));
    }
    let functions: String = [
        (SECRET, "secret(&"),
        (SECRET_OBJECT, "secret_object(&"),
        (ARCHIVE, " archive(["),
    ]
    .into_iter()
    .filter(|(_, use_of)| body.contains(use_of))
    .map(|(function, _)| function)
    .collect();
    let source = format!(
        "pub async fn program(context: ProgramContext) -> Result<()> {{\n{body}    Ok(())\n}}\n{functions}"
    );
    format!("{}\n{source}", imports(program, &source))
}

/// Returns the imports of a program with this source.
fn imports(program: &Program, source: &str) -> String {
    let is_used = |name: &&str| source.contains(*name);
    let join = |names: &[&str]| {
        let names: Vec<&str> = names.iter().copied().filter(|name| is_used(name)).collect();
        match names.as_slice() {
            [] => None,
            [name] => Some((*name).to_owned()),
            names => Some(format!("{{{}}}", names.join(", "))),
        }
    };
    let asset = [("Archive", FileKind::Archive), ("Asset", FileKind::Asset)];
    let mut of_property: Vec<&str> = Vec::new();
    for (class, kind) in asset {
        if uses(program, kind) {
            of_property.push(class);
            of_property.push(if class == "Asset" {
                "AssetSource"
            } else {
                "ArchiveSource"
            });
        }
    }
    of_property.extend(["PropertyMap", "PropertyValue"]);
    of_property.retain(|name| source.contains(name));
    if source.contains("from_plain_json") {
        of_property.push("json::from_plain_json");
    }
    let property = match of_property.as_slice() {
        [] => String::new(),
        [name] => format!("    property::{name},\n"),
        names => format!("    property::{{{}}},\n", names.join(", ")),
    };
    let monitor = join(&[
        "PackageChoice",
        "PackageParameter",
        "PackageSource",
        "Registration",
    ])
    .unwrap_or_default();
    let monitor = if monitor.is_empty() {
        monitor
    } else {
        format!("    monitor::{monitor},\n")
    };
    let errors = if source.contains("ErrorKind") {
        "Error, ErrorKind, Result"
    } else {
        "Result"
    };
    let arc = if source.contains("Arc::new") {
        "use std::sync::Arc;\n\n"
    } else {
        ""
    };
    format!("{arc}use stackwright::{{\n    {errors},\n{monitor}    program::ProgramContext,\n{property}}};\n")
}

/// Returns the call that registers a resource.
fn call(
    Declared {
        declaration, inputs, ..
    }: &Declared,
    variables: &[String],
) -> String {
    let mut fields = vec![
        format!("resource_type: {}.into()", text(&declaration.resource_type)),
        format!("name: {}.to_owned()", text(&declaration.name)),
    ];
    match declaration.kind {
        DeclaredKind::Custom | DeclaredKind::Provider => fields.push("custom: true".to_owned()),
        DeclaredKind::Remote => fields.push("remote: true".to_owned()),
        DeclaredKind::Component => {}
    }
    if !inputs.is_empty() {
        let entries = print_entries(&Values, inputs, 12);
        let (open, close) = Values.object();
        let entries = entries
            .strip_prefix(open)
            .and_then(|entries| entries.strip_suffix(close))
            .unwrap_or(&entries);
        fields.push(format!("inputs: PropertyMap::from_iter([{entries}])"));
    }
    fields.extend(options(declaration, variables));
    fields.push("..Registration::default()".to_owned());
    let last = fields.len() - 1;
    let lines = fields
        .iter()
        .enumerate()
        .map(|(index, field)| match index == last {
            true => format!("            {field}\n"),
            false => format!("            {field},\n"),
        });
    format!(
        "context\n        .monitor\n        .register(Registration {{\n{}        }})\n        .await?",
        lines.collect::<String>()
    )
}

fn options(declaration: &Declaration, variables: &[String]) -> Vec<String> {
    let variable = |index: usize| variables.get(index).cloned().unwrap_or_default();
    let mut options = Vec::new();
    match &declaration.parent {
        Some(Reference::Declared(index)) => {
            options.push(format!("parent: Some({}.urn.clone())", variable(*index)));
        }
        Some(Reference::Recorded(urn)) => options.push(format!("parent: Some({}.parse()?)", text(urn))),
        None => {}
    }
    let mut package = Vec::new();
    match &declaration.provider {
        Some(Reference::Declared(index)) => {
            let variable = variable(*index);
            package.push(format!(
                "provider: format!(\"{{}}::{{}}\", {variable}.urn, {variable}.id)"
            ));
        }
        Some(Reference::Recorded(reference)) => {
            package.push(format!("provider: {}.to_owned()", text(reference)));
        }
        None => {}
    }
    for (name, value) in [
        ("version", &declaration.version),
        ("download_url", &declaration.download_url),
    ] {
        if !value.is_empty() {
            package.push(format!("{name}: {}.to_owned()", text(value)));
        }
    }
    if let Some(source) = &declaration.package {
        package.push(format!("source: Some(Arc::new({}))", package_source(source)));
    }
    if !package.is_empty() {
        options.push(format!(
            "package: PackageChoice {{ {}, ..PackageChoice::default() }}",
            package.join(", ")
        ));
    }
    if declaration.protect {
        options.push("protect: Some(true)".to_owned());
    }
    options
}

/// Returns the plugin of a package as a value.
fn package_source(package: &DeclaredPackage) -> String {
    let owned = |value: &str| format!("{}.to_owned()", text(value));
    let bytes: String = package
        .value
        .iter()
        .map(|byte| format!("\\x{byte:02x}"))
        .collect();
    let (name, version) = &package.parameter;
    let mut members = vec![
        ("plugin", owned(&package.plugin)),
        ("version", owned(&package.version)),
        ("download_url", owned(&package.download_url)),
    ];
    members.retain(|(_, value)| value != "\"\".to_owned()");
    members.push((
        package.member(),
        format!(
            "Some(PackageParameter {{ name: {}, version: {}, value: b\"{bytes}\".to_vec() }})",
            owned(name),
            owned(version)
        ),
    ));
    let members: String = members
        .iter()
        .map(|(name, value)| format!("{name}: {value}, "))
        .collect();
    format!("PackageSource {{ {members}..PackageSource::default() }}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codegen::value::Expression;

    #[test]
    fn an_object_inside_of_inputs_is_a_value() {
        let inner = Expression::Object(vec![("a".to_owned(), Expression::Bool(true))]);
        let printed = super::super::printer::print(&Values, &inner, 0, 0);
        assert_eq!(
            printed,
            "PropertyValue::Object(PropertyMap::from_iter([(\"a\", PropertyValue::from(true))]))"
        );
    }
}
