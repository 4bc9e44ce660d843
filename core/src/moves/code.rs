//! Aliases as source code, in the language and with the interface of the program.

use super::former::{Former, FormerParent};
use crate::{codegen::string_literal, message::Language, urn::Urn};

/// The language of a program and the interface that it registers resources with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramLanguage {
    /// Rust, with this library.
    Rust,
    /// C, with this library.
    C,
    /// Python, with this library.
    Python,
    /// JavaScript or TypeScript, with this library.
    Node,
    /// Python, with the SDK of the protocol.
    PythonSdk,
    /// JavaScript or TypeScript, with the SDK of the protocol.
    NodeSdk,
    /// Another one, or one that is not known: aliases are JSON.
    #[default]
    Unknown,
}

/// Returns the option of a resource that gives it an alias.
pub(super) fn alias(former: &Former<'_>, language: ProgramLanguage) -> String {
    let alias = match &former.parent {
        FormerParent::Unnamed(urn) => whole(urn, language),
        _ => parts(former, language),
    };
    match language {
        ProgramLanguage::Rust => format!("aliases: vec![{alias}]"),
        ProgramLanguage::Python | ProgramLanguage::PythonSdk => format!("aliases=[{alias}]"),
        ProgramLanguage::Node | ProgramLanguage::NodeSdk => format!("aliases: [{alias}]"),
        ProgramLanguage::C | ProgramLanguage::Unknown => format!("\"aliases\": [{alias}]"),
    }
}

/// Returns a whole URN as an alias.
fn whole(urn: &Urn, language: ProgramLanguage) -> String {
    let text = text(urn.as_str(), language);
    match language {
        ProgramLanguage::Rust => format!("Alias::Urn(Urn::parse({text})?)"),
        _ => text,
    }
}

/// Returns the parts of an alias.
fn parts(former: &Former<'_>, language: ProgramLanguage) -> String {
    if language == ProgramLanguage::Rust {
        return rust(former);
    }
    let type_name = if language == ProgramLanguage::PythonSdk {
        "type_"
    } else {
        "type"
    };
    let texts = [
        ("name", former.name),
        (type_name, former.resource_type),
        ("stack", former.stack),
        ("project", former.project),
    ];
    let texts = texts
        .into_iter()
        .filter_map(|(name, value)| Some((name, text(value?, language))));
    let mut members: Vec<(&str, String)> = texts.collect();
    members.extend(parent(&former.parent, language));
    let members = members.into_iter().map(|(name, value)| match language {
        ProgramLanguage::PythonSdk => format!("{name}={value}"),
        ProgramLanguage::Node | ProgramLanguage::NodeSdk => format!("{name}: {value}"),
        _ => format!("\"{name}\": {value}"),
    });
    let members = members.collect::<Vec<_>>().join(", ");
    match language {
        ProgramLanguage::PythonSdk => format!("pulumi.Alias({members})"),
        ProgramLanguage::Node | ProgramLanguage::NodeSdk => format!("{{ {members} }}"),
        _ => format!("{{{members}}}"),
    }
}

/// Returns the member for the former parent.
fn parent(parent: &FormerParent<'_>, language: ProgramLanguage) -> Option<(&'static str, String)> {
    let value = |value: &str| value.to_owned();
    match (parent, language) {
        (FormerParent::None, ProgramLanguage::PythonSdk) => {
            Some(("parent", value("pulumi.ROOT_STACK_RESOURCE")))
        }
        (FormerParent::None, ProgramLanguage::NodeSdk) => Some(("parent", value("pulumi.rootStackResource"))),
        (FormerParent::None, ProgramLanguage::Python) => Some(("no_parent", value("True"))),
        (FormerParent::None, _) => Some(("noParent", value("true"))),
        (FormerParent::Other(urn), ProgramLanguage::PythonSdk | ProgramLanguage::NodeSdk) => {
            let function = match language {
                ProgramLanguage::PythonSdk => "pulumi.create_urn",
                _ => "pulumi.createUrn",
            };
            // The functions fill in the stack and the project, so that the code serves every stack of the program.
            let (name, types) = (text(urn.name(), language), text(urn.qualified_type(), language));
            Some(("parent", format!("{function}({name}, {types})")))
        }
        (FormerParent::Other(urn), _) => Some(("parent", text(urn.as_str(), language))),
        (FormerParent::Present | FormerParent::Unnamed(_), _) => None,
    }
}

/// Returns an alias of the Rust interface.
fn rust(former: &Former<'_>) -> String {
    let option = |value: Option<&str>| match value {
        Some(value) => format!("Some({}.to_owned())", text(value, ProgramLanguage::Rust)),
        None => "None".to_owned(),
    };
    let parent = match &former.parent {
        FormerParent::Other(urn) => {
            format!("Some(Urn::parse({})?)", text(urn.as_str(), ProgramLanguage::Rust))
        }
        _ => "None".to_owned(),
    };
    format!(
        "Alias::Spec {{ name: {}, resource_type: {}, stack: {}, project: {}, parent: {parent}, no_parent: {} }}",
        option(former.name),
        option(former.resource_type),
        option(former.stack),
        option(former.project),
        former.parent == FormerParent::None
    )
}

/// Returns a text as a literal.
fn text(text: &str, language: ProgramLanguage) -> String {
    match language {
        ProgramLanguage::Rust => string_literal(Language::Rust, text),
        ProgramLanguage::Python | ProgramLanguage::PythonSdk => string_literal(Language::Python, text),
        ProgramLanguage::Node | ProgramLanguage::NodeSdk => string_literal(Language::Node, text),
        ProgramLanguage::C | ProgramLanguage::Unknown => serde_json::Value::from(text).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LANGUAGES: [ProgramLanguage; 6] = [
        ProgramLanguage::Rust,
        ProgramLanguage::C,
        ProgramLanguage::Python,
        ProgramLanguage::Node,
        ProgramLanguage::PythonSdk,
        ProgramLanguage::NodeSdk,
    ];

    fn written(former: &Former<'_>) -> Vec<String> {
        LANGUAGES
            .iter()
            .map(|language| alias(former, *language))
            .collect()
    }

    #[test]
    fn a_former_name_is_an_option_in_every_language() {
        let former = Former {
            name: Some("o\"ld"),
            ..Former::default()
        };
        assert_eq!(
            written(&former),
            [
                r#"aliases: vec![Alias::Spec { name: Some("o\"ld".to_owned()), resource_type: None, stack: None, project: None, parent: None, no_parent: false }]"#,
                r#""aliases": [{"name": "o\"ld"}]"#,
                r#"aliases=[{"name": "o\"ld"}]"#,
                r#"aliases: [{ name: "o\"ld" }]"#,
                r#"aliases=[pulumi.Alias(name="o\"ld")]"#,
                r#"aliases: [{ name: "o\"ld" }]"#,
            ]
        );
    }

    #[test]
    fn a_former_place_below_the_stack_has_the_interface_s_own_form() {
        let former = Former {
            parent: FormerParent::None,
            resource_type: Some("a:b:C"),
            ..Former::default()
        };
        assert_eq!(
            written(&former)[1..],
            [
                r#""aliases": [{"type": "a:b:C", "noParent": true}]"#,
                r#"aliases=[{"type": "a:b:C", "no_parent": True}]"#,
                r#"aliases: [{ type: "a:b:C", noParent: true }]"#,
                r#"aliases=[pulumi.Alias(type_="a:b:C", parent=pulumi.ROOT_STACK_RESOURCE)]"#,
                r#"aliases: [{ type: "a:b:C", parent: pulumi.rootStackResource }]"#,
            ]
        );
    }

    #[test]
    fn a_former_parent_is_a_urn_that_sdk_programs_make_for_their_stack() {
        let urn = Urn::new("dev", "shop", "", "box:index:Box", "box");
        let former = Former {
            parent: FormerParent::Other(&urn),
            ..Former::default()
        };
        let urn = "urn:pulumi:dev::shop::box:index:Box::box";
        assert_eq!(
            written(&former)[1..],
            [
                format!(r#""aliases": [{{"parent": "{urn}"}}]"#),
                format!(r#"aliases=[{{"parent": "{urn}"}}]"#),
                format!(r#"aliases: [{{ parent: "{urn}" }}]"#),
                r#"aliases=[pulumi.Alias(parent=pulumi.create_urn("box", "box:index:Box"))]"#.to_owned(),
                r#"aliases: [{ parent: pulumi.createUrn("box", "box:index:Box") }]"#.to_owned(),
            ]
        );
    }
}
