//! The reason of a suggestion: what differs and what is equal, without the values of properties.

use super::likeness::Likeness;
use crate::{resource::ResourceState, urn::Urn};

/// Describes a pair of a deletion and a creation.
pub(super) fn of_pair(
    old: &ResourceState,
    new: &ResourceState,
    same_provider: bool,
    likeness: Option<&Likeness>,
) -> String {
    let (before, after) = (&old.urn, &new.urn);
    let mut parts = Vec::new();
    let mut differs = |what: &str, old: &str, new: &str| {
        if old != new {
            parts.push(format!("the {what} changes from `{old}` to `{new}`"));
        }
    };
    differs("project", before.project(), after.project());
    differs("stack", before.stack(), after.stack());
    differs("name", before.name(), after.name());
    differs("type", before.resource_type(), after.resource_type());
    let (old_parent, new_parent) = (place(old), place(new));
    differs("parent", &old_parent, &new_parent);
    let provider = |state: &ResourceState| {
        state
            .provider_urn()
            .map_or_else(String::new, |urn| urn.name().to_owned())
    };
    if !same_provider {
        differs("provider", &provider(old), &provider(new));
    }
    if old.resource_type != new.resource_type && old.custom {
        parts.push("the provider decides whether the resource can be kept under another type".to_owned());
    } else if !same_provider {
        parts.push("the new provider decides whether the resource can be kept".to_owned());
    }
    if let Some(likeness) = likeness {
        let counted = |what: &str, equal: usize, compared: usize| match (equal, compared) {
            (_, 0) => None,
            (equal, compared) if equal == compared => Some(format!("{what} are equal")),
            (equal, compared) => Some(format!("{equal} of {compared} {what} are equal")),
        };
        parts.extend(counted("inputs", likeness.inputs.equal, likeness.inputs.compared));
        parts.extend(counted(
            "resources directly below it",
            likeness.children.equal,
            likeness.children.compared,
        ));
    }
    if old.protect {
        parts.push("the recorded resource is protected".to_owned());
    }
    parts.join("; ")
}

/// Describes the change of the provider of a record that follows a move.
pub(super) fn of_provider(old: &ResourceState, new: &ResourceState) -> String {
    let name = |state: &ResourceState| {
        state
            .provider_urn()
            .map_or_else(|| "none".to_owned(), |urn| format!("`{}`", urn.name()))
    };
    format!(
        "the provider of `{}` changes from {} to {}",
        new.urn.name(),
        name(old),
        name(new)
    )
}

/// Describes a renamed project or stack.
pub(super) fn of_project(old: &Urn, new: &Urn) -> String {
    let change = |what: &str, old: &str, new: &str| {
        (old != new).then(|| format!("the {what} changes from `{old}` to `{new}`"))
    };
    let changes = [
        change("project", old.project(), new.project()),
        change("stack", old.stack(), new.stack()),
    ];
    let mut parts: Vec<String> = changes.into_iter().flatten().collect();
    parts.push("each of its resources needs the alias".to_owned());
    parts.join("; ")
}

/// Describes the parent of a record.
fn place(state: &ResourceState) -> String {
    match state.parent.as_ref().filter(|urn| !urn.is_root_stack()) {
        Some(parent) => format!("{} ({})", parent.name(), parent.resource_type()),
        None => "the stack".to_owned(),
    }
}
