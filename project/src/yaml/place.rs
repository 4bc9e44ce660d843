//! Values at paths inside a document: `template.config.region`, `plugins.providers[0]`.

use stackwright::{
    Error, Result,
    property::{PathElement, PropertyPath},
};

use super::{Mapping, Node};

/// Sets the value at a path, or removes it; missing mappings and lists are created. Returns whether there was a value.
///
/// # Errors
/// [`stackwright::ErrorKind::InvalidInput`] when the path is invalid or leads through a value of another type.
pub(crate) fn change(entries: &mut Mapping, path: &str, new: Option<Node>) -> Result<bool> {
    let parsed = PropertyPath::parse(path)?;
    let Some((last, way)) = parsed.elements().split_last() else {
        return Err(Error::invalid("the path is empty"));
    };
    let mut root = Node::Mapping(std::mem::take(entries));
    let changed = change_at(&mut root, path, way, last, new);
    if let Node::Mapping(changed) = root {
        *entries = changed;
    }
    changed
}

fn change_at(
    root: &mut Node,
    path: &str,
    way: &[PathElement],
    last: &PathElement,
    new: Option<Node>,
) -> Result<bool> {
    let mut place = root;
    for step in way {
        match enter(place, step, path, new.is_some())? {
            Some(inner) => place = inner,
            None => return Ok(false),
        }
    }
    match new {
        Some(new) => {
            let place = enter(place, last, path, true)?;
            Ok(place.is_some_and(|place| !std::mem::replace(place, new).is_null()))
        }
        None => Ok(match (place, last) {
            (Node::Mapping(entries), PathElement::Key(name)) => entries.shift_remove(name.as_str()).is_some(),
            (Node::Sequence(items), PathElement::Index(index)) if *index < items.len() => {
                items.remove(*index);
                true
            }
            _ => false,
        }),
    }
}

/// Goes one step into a value. An absent one is created when `creates`, else it is `None`.
fn enter<'node>(
    node: &'node mut Node,
    step: &PathElement,
    path: &str,
    creates: bool,
) -> Result<Option<&'node mut Node>> {
    let null = || Node::from_json_value(&serde_json::Value::Null);
    if creates && node.is_null() {
        *node = match step {
            PathElement::Index(_) => Node::Sequence(Vec::new()),
            _ => Node::Mapping(Mapping::new()),
        };
    }
    match (node, step) {
        (Node::Mapping(entries), PathElement::Key(name)) => Ok(match creates {
            true => Some(entries.entry(name.to_string()).or_insert_with(null)),
            false => entries.get_mut(name.as_str()),
        }),
        (Node::Sequence(items), PathElement::Index(index)) => {
            if creates && *index == items.len() {
                items.push(null());
            }
            match (creates, items.len()) {
                (true, length) if *index >= length => Err(Error::invalid(format!(
                    "the path {path} has the index {index}, but the list has {length} items"
                ))),
                _ => Ok(items.get_mut(*index)),
            }
        }
        _ if creates => Err(Error::invalid(format!(
            "the path {path} leads through a value of another type"
        ))),
        _ => Ok(None),
    }
}
