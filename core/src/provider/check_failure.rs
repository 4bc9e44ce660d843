//! The messages for failures that Check reports.

use crate::{
    message::{Message, Text},
    property::{PropertyMap, in_braces, path::PropertyPath},
    provider::CheckFailure,
    urn::Urn,
};

impl CheckFailure {
    /// Returns the message about a resource with `inputs`.
    pub(crate) fn text(&self, urn: &Urn, inputs: &PropertyMap) -> Text {
        let (resource_type, name, reason) = (urn.resource_type(), urn.name(), &self.reason);
        if self.property.is_empty() {
            return format!("{resource_type} resource '{name}' has a problem: {reason}").into();
        }
        let value = PropertyPath::parse(&self.property)
            .ok()
            .and_then(|path| path.get_marked(inputs));
        Text::from(Message::InvalidProperty {
            resource_type,
            name,
            property: &self.property,
            value: &in_braces(value.as_ref()),
            is_set: value.is_some_and(|value| !value.is_null()),
            reason,
        })
    }
}
