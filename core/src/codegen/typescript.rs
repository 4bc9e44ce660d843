//! Programs of the library's API for Node: TypeScript that is JavaScript, too.

use super::{
    literal::{number_literal, string_literal},
    names::Case,
    package::DOCUMENT_KEYS,
    printer::{Syntax, print},
    program::{Declaration, Declared, DeclaredKind, Program, Reference},
    value::{Expression, FileKind},
};
use crate::message::Language;

/// Words and names that no variable has.
pub(super) const RESERVED: &[&str] = &[
    "Archive",
    "Asset",
    "Infinity",
    "NaN",
    "arguments",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "config",
    "const",
    "context",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "package",
    "private",
    "program",
    "protected",
    "public",
    "pulumi",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "undefined",
    "var",
    "void",
    "while",
    "with",
    "yield",
];

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
        let class = match kind {
            FileKind::Asset => "Asset",
            FileKind::Archive => "Archive",
        };
        format!("new {class}({{ {source}: {} }})", text(value))
    }
    fn assets(&self) -> (&'static str, &'static str) {
        ("new Archive({ assets: {", "} })")
    }
    fn secret(&self, key: &str, is_text: bool) -> String {
        let method = if is_text { "secret" } else { "object" };
        format!("context.config.{method}({})", text(key))
    }
    fn comment(&self, text: &str) -> String {
        format!("// {text}")
    }
}

pub(super) fn text(value: &str) -> String {
    string_literal(Language::Node, value)
}

/// Returns a key of an object: an identifier where it is one.
pub(super) fn key_of(key: &str) -> String {
    let mut characters = key.chars();
    let is_start = |character: char| character.is_ascii_alphabetic() || matches!(character, '_' | '$');
    let is_identifier = characters.next().is_some_and(is_start)
        && characters.all(|character| is_start(character) || character.is_ascii_digit());
    // An entry of this name sets the prototype of the object.
    if key == "__proto__" {
        return "[\"__proto__\"]".to_owned();
    }
    if is_identifier { key.to_owned() } else { text(key) }
}

/// Returns whether a class of files stands in the inputs.
pub(super) fn uses(program: &Program, kind: FileKind) -> bool {
    fn has(value: &Expression, kind: FileKind) -> bool {
        match value {
            Expression::File(own, ..) => *own == kind,
            Expression::Assets(parts) => {
                kind == FileKind::Archive || parts.iter().any(|(_, part)| has(part, kind))
            }
            Expression::Object(entries) => entries.iter().any(|(_, value)| has(value, kind)),
            Expression::List(values) => values.iter().any(|value| has(value, kind)),
            _ => false,
        }
    }
    let mut inputs = program.declarations.iter().flat_map(|declared| &declared.inputs);
    inputs.any(|(_, value)| has(value, kind))
}

/// Returns a program: an exported function that registers the declarations.
pub(super) fn program(program: &Program) -> String {
    let (variables, _) = program.variables(Case::Camel, RESERVED);
    let referred = program.referred();
    let classes = [(FileKind::Archive, "Archive"), (FileKind::Asset, "Asset")];
    let classes: Vec<&str> = classes
        .into_iter()
        .filter(|(kind, _)| uses(program, *kind))
        .map(|(_, name)| name)
        .collect();
    let mut source = match classes.is_empty() {
        true => String::new(),
        false => format!("import {{ {} }} from \"stackwright\";\n\n", classes.join(", ")),
    };
    source.push_str(
        "/** @param {import(\"stackwright\").Context} context */\nexport function program(context) {\n",
    );
    for (index, declared) in program.declarations.iter().enumerate() {
        let assigned = match (referred.get(index), variables.get(index)) {
            (Some(true), Some(variable)) => format!("const {variable} = "),
            _ => String::new(),
        };
        source.push_str(&format!("    {assigned}{};\n", call(declared, &variables)));
    }
    source.push_str("}\n");
    source
}

/// Returns the call that registers a resource.
fn call(
    Declared {
        declaration, inputs, ..
    }: &Declared,
    variables: &[String],
) -> String {
    let (method, first) = match declaration.kind {
        DeclaredKind::Custom => ("resource", declaration.resource_type.as_str()),
        DeclaredKind::Component => ("component", declaration.resource_type.as_str()),
        DeclaredKind::Remote => ("remoteComponent", declaration.resource_type.as_str()),
        DeclaredKind::Provider => (
            "provider",
            declaration
                .resource_type
                .strip_prefix("pulumi:providers:")
                .unwrap_or_default(),
        ),
    };
    let head = format!("context.{method}({}, {}", text(first), text(&declaration.name));
    let options = options(declaration, variables);
    let inputs = match (inputs.is_empty(), options.is_empty()) {
        (true, true) => return format!("{head})"),
        (true, false) => "{}".to_owned(),
        (false, _) => print(
            &Values,
            &Expression::Object(inputs.clone()),
            4,
            4 + head.len() + 30,
        ),
    };
    match options.is_empty() {
        true => format!("{head}, {inputs})"),
        false => format!("{head}, {inputs}, {{ {} }})", options.join(", ")),
    }
}

fn options(declaration: &Declaration, variables: &[String]) -> Vec<String> {
    let option = |name: &str, reference: &Reference| {
        let value = match reference {
            Reference::Declared(index) => variables.get(*index).cloned().unwrap_or_default(),
            Reference::Recorded(urn) => text(urn),
        };
        if value == name {
            name.to_owned()
        } else {
            format!("{name}: {value}")
        }
    };
    let named = |name: &str, value: &str| (!value.is_empty()).then(|| format!("{name}: {}", text(value)));
    let parent = declaration.parent.as_ref().map(|parent| option("parent", parent));
    let provider = declaration
        .provider
        .as_ref()
        .map(|provider| option("provider", provider));
    let package = declaration.package.as_ref().map(|package| {
        let option = "package: ";
        let value = print(&Values, &package.expression(&DOCUMENT_KEYS), 4, 4 + option.len());
        format!("{option}{value}")
    });
    parent
        .into_iter()
        .chain(provider)
        .chain(named("version", &declaration.version))
        .chain(named("pluginDownloadUrl", &declaration.download_url))
        .chain(package)
        .chain(declaration.protect.then(|| "protect: true".to_owned()))
        .collect()
}
