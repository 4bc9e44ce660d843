//! Programs of the library's API for Python.

use super::{
    literal::{number_literal, string_literal},
    names::Case,
    package::PackageKeys,
    printer::{Syntax, print},
    program::{Declaration, Declared, DeclaredKind, Program, Reference},
    value::{Expression, FileKind},
};
use crate::message::Language;

/// Words and names that no variable has.
pub(super) const RESERVED: &[&str] = &[
    "and", "as", "assert", "async", "await", "break", "case", "class", "continue", "ctx", "def", "del",
    "elif", "else", "except", "finally", "float", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "list", "match", "none", "nonlocal", "not", "or", "pass", "print", "program", "pulumi",
    "config", "raise", "return", "str", "sw", "true", "false", "try", "type", "while", "with", "yield",
];

/// The names of members of the option `package`.
const PACKAGE_KEYS: PackageKeys = PackageKeys {
    plugin: "plugin_name",
    version: "plugin_version",
    download_url: "plugin_download_url",
};

/// The width from which a call has a line for each argument.
const LINE_WIDTH: usize = 90;

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
        let class = match kind {
            FileKind::Asset => "Asset",
            FileKind::Archive => "Archive",
        };
        format!("sw.{class}({source}={})", text(value))
    }
    fn assets(&self) -> (&'static str, &'static str) {
        ("sw.Archive(assets={", "})")
    }
    fn secret(&self, key: &str, is_text: bool) -> String {
        let method = if is_text { "secret" } else { "object" };
        format!("ctx.config.{method}({})", text(key))
    }
    fn comment(&self, text: &str) -> String {
        format!("# {text}")
    }
}

pub(super) fn text(value: &str) -> String {
    string_literal(Language::Python, value)
}

pub(super) fn bytes(value: &[u8]) -> String {
    let escaped: String = value.iter().map(|byte| format!("\\x{byte:02x}")).collect();
    format!("b\"{escaped}\"")
}

/// Returns a program: a function that registers the declarations.
pub(super) fn program(program: &Program) -> String {
    let (variables, _) = program.variables(Case::Snake, RESERVED);
    let referred = program.referred();
    let mut source =
        String::from("import stackwright as sw\n\n\nasync def program(ctx: sw.Context) -> None:\n");
    if program.declarations.is_empty() {
        source.push_str("    pass\n");
    }
    for (index, declared) in program.declarations.iter().enumerate() {
        let call = call(declared, &variables);
        let assigned = match (referred.get(index), variables.get(index)) {
            (Some(true), Some(variable)) => format!("{variable} = "),
            _ => String::new(),
        };
        source.push_str(&format!("    {assigned}{call}\n"));
    }
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
        DeclaredKind::Remote => ("remote_component", declaration.resource_type.as_str()),
        DeclaredKind::Provider => (
            "provider",
            declaration
                .resource_type
                .strip_prefix("pulumi:providers:")
                .unwrap_or_default(),
        ),
    };
    let mut parts = vec![text(first), text(&declaration.name)];
    if !inputs.is_empty() {
        parts.push(String::new());
    }
    let inputs_at = parts.len() - 1;
    parts.extend(options(declaration, variables));
    let object = Expression::Object(inputs.clone());
    let mut print_inputs = |indent| {
        if !inputs.is_empty() {
            parts[inputs_at] = print(&Values, &object, indent, indent);
        }
        format!("ctx.{method}({})", parts.join(", "))
    };
    let short = print_inputs(0);
    if !short.contains('\n') && (inputs.is_empty() || short.len() < LINE_WIDTH) {
        return short;
    }
    print_inputs(8);
    let lines: String = parts.iter().map(|part| format!("        {part},\n")).collect();
    format!("ctx.{method}(\n{lines}    )")
}

fn options(declaration: &Declaration, variables: &[String]) -> Vec<String> {
    let referred = |reference: &Reference| match reference {
        Reference::Declared(index) => variables.get(*index).cloned().unwrap_or_default(),
        Reference::Recorded(urn) => text(urn),
    };
    let parent = declaration
        .parent
        .as_ref()
        .map(|parent| format!("parent={}", referred(parent)));
    let provider = declaration.provider.as_ref();
    let provider = provider.map(|provider| format!("provider={}", referred(provider)));
    let named = |name: &str, value: &str| (!value.is_empty()).then(|| format!("{name}={}", text(value)));
    let package = declaration.package.as_ref().map(|package| {
        let option = "package=";
        let value = print(&Values, &package.expression(&PACKAGE_KEYS), 8, 8 + option.len());
        format!("{option}{value}")
    });
    parent
        .into_iter()
        .chain(provider)
        .chain(named("version", &declaration.version))
        .chain(named("plugin_download_url", &declaration.download_url))
        .chain(package)
        .chain(declaration.protect.then(|| "protect=True".to_owned()))
        .collect()
}
