//! Events: what the generated modules of Python and TypeScript have in common.

pub(crate) mod python;
pub(crate) mod typescript;

use crate::shape::{EVENT, Member, Role, Shape, Type};

/// An event of one kind.
pub(crate) struct Event<'a> {
    /// The member of a line that holds it.
    pub(crate) member: &'a Member,
    pub(crate) shape: &'a Shape,
    pub(crate) subject: Subject,
}

/// What an event is about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The step of its member `metadata`.
    Step,
    /// The resource whose URN is in this member.
    Resource(&'static str),
    Nothing,
}

/// Returns all kinds of events.
pub(crate) fn events(shapes: &[Shape]) -> Vec<Event<'_>> {
    let all = shapes.iter().filter(|shape| shape.name == EVENT);
    let members = all.flat_map(|shape| &shape.members);
    let events = members.filter_map(|member| {
        let Type::Optional(inner) = member.value_type() else {
            return None;
        };
        let Type::Named(name) = *inner else {
            return None;
        };
        let shape = shapes.iter().find(|shape| shape.name == name)?;
        let subject = subject(shape);
        Some(Event {
            member,
            shape,
            subject,
        })
    });
    events.collect()
}

fn subject(shape: &Shape) -> Subject {
    let has = |name: &&&str| shape.members.iter().any(|member| member.name == **name);
    match ["metadata", "urn", "resourceUrn"].iter().find(has) {
        Some(&"metadata") => Subject::Step,
        Some(name) => Subject::Resource(name),
        None => Subject::Nothing,
    }
}

/// Returns the objects of results that events have, too: as items of their lists, and parts of these.
pub(crate) fn shared(shapes: &[Shape]) -> Vec<&Shape> {
    let mut found: Vec<&Shape> = Vec::new();
    let mut next: Vec<&Shape> = events(shapes).iter().map(|event| event.shape).collect();
    while let Some(shape) = next.pop() {
        for member in &shape.members {
            let Type::List(item) = member.value_type() else {
                continue;
            };
            let Type::Named(name) = *item else {
                continue;
            };
            let mut outputs = shapes.iter().filter(|shape| shape.role == Role::Output);
            if let Some(part) = outputs.find(|shape| shape.name == name) {
                next.push(part);
                found.push(part);
            }
        }
    }
    found.sort_by(|left, right| left.name.cmp(&right.name));
    found.dedup_by(|left, right| left.name == right.name);
    found
}

/// Returns the objects that are parts of events.
pub(crate) fn parts(shapes: &[Shape]) -> Vec<&Shape> {
    let events = events(shapes);
    let is_part = |shape: &&Shape| {
        shape.role == Role::Event
            && shape.name != EVENT
            && !events.iter().any(|event| event.shape.name == shape.name)
    };
    shapes.iter().filter(is_part).collect()
}
