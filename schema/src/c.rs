//! The C header: replaces marks by lists of members.

use crate::{
    event::{events, parts},
    shape::{Choice, EVENT, Member, Role, Shape, Type},
    text::{Style, paragraphs, wrapped},
};

const STYLE: Style = Style {
    code: "`",
    is_python: false,
};

/// The prefix of a line that is replaced by the list of an object's members.
const MARK: &str = "* @members ";
/// The line that the lists of all events and of their parts replace.
const EVENTS_MARK: &str = "* @events";
/// The heading of the last part of a comment, which concerns Rust only.
const SAFETY: &str = "* # Safety";

/// Replaces each mark by the list of the object that it names, and removes the parts for Rust.
pub(crate) fn finished(header: &str, shapes: &[Shape], choices: &[Choice]) -> Result<String, String> {
    let mut lines: Vec<String> = Vec::new();
    let mut is_about_rust = false;
    for line in header.lines() {
        let (indent, text) = line.split_at(line.len() - line.trim_start().len());
        is_about_rust = (is_about_rust || text == SAFETY) && !text.ends_with("*/");
        if text == SAFETY && lines.last().is_some_and(|last| last.trim() == "*") {
            lines.pop();
        }
        if let Some(name) = text.strip_prefix(MARK) {
            let shape = shapes.iter().find(|shape| shape.name == name);
            lines.push(list(
                shape.ok_or_else(|| format!("the schema has no object {name}"))?,
                indent,
            ));
        } else if text == EVENTS_MARK {
            lines.push(event_lists(shapes, indent));
            lines.push(values(choices, indent));
        } else if !is_about_rust {
            lines.push(line.to_owned());
        }
    }
    Ok(lines.join("\n") + "\n")
}

/// Writes the lists of all events, each after a line with its name.
fn event_lists(shapes: &[Shape], indent: &str) -> String {
    let whole = shapes.iter().filter(|shape| shape.name == EVENT);
    let bodies = events(shapes).into_iter().map(|event| event.shape);
    let listed = whole.chain(bodies).chain(parts(shapes));
    let listed = listed.filter(|shape| !shape.members.is_empty());
    let lists = listed.map(|shape| {
        let name = &shape.name;
        format!("{indent}* {name}:\n{indent}*\n{}", list(shape, indent))
    });
    lists.collect::<Vec<_>>().join(&format!("\n{indent}*\n"))
}

/// Writes the values of the texts that have only certain ones.
fn values(choices: &[Choice], indent: &str) -> String {
    let entries = choices.iter().map(|choice| {
        let lead = format!("{indent}* - {}: ", choice.name);
        let values = choice.values.join(", ");
        format!("{lead}{}", wrapped(&values, &format!("{indent}*   "), lead.len()))
    });
    let entries: Vec<_> = entries.collect();
    format!(
        "{indent}*\n{indent}* Texts with certain values:\n{indent}*\n{}",
        entries.join("\n")
    )
}

fn list(shape: &Shape, indent: &str) -> String {
    let members: Vec<&Member> = shape.members_in("c").collect();
    let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
    let entry = |member: &&Member| {
        let optional = match shape.role {
            Role::Event if !member.is_required => ", optional",
            _ => "",
        };
        let lead = format!(
            "{indent}* - `{}` ({}{optional}): ",
            member.name,
            type_of(&member.value_type())
        );
        let text = paragraphs(&member.description, &STYLE, &names).join(" ");
        format!("{lead}{}", wrapped(&text, &format!("{indent}*   "), lead.len()))
    };
    members.iter().map(entry).collect::<Vec<_>>().join("\n")
}

fn type_of(value: &Type<'_>) -> String {
    match value {
        Type::Any => "any JSON".to_owned(),
        Type::Boolean => "boolean".to_owned(),
        Type::Integer => "integer".to_owned(),
        Type::Number => "number".to_owned(),
        Type::Text => "string".to_owned(),
        Type::Names(names) => names.join(", "),
        Type::List(item) => format!("array of {}", type_of(item)),
        Type::Map(item) => format!("object of {}", type_of(item)),
        Type::Named(name) => (*name).to_owned(),
        Type::OneOf(types) => types.iter().map(type_of).collect::<Vec<_>>().join(" or "),
        Type::Object => "object".to_owned(),
        Type::Optional(inner) => type_of(inner),
    }
}
