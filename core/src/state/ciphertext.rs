//! Ciphertexts of unchanged secrets are copied from the old record to the new one, so that a save does not change them.

use std::sync::Arc;

use crate::{
    property::{ArchiveSource, PropertyMap, PropertyValue},
    resource::ResourceState,
};

/// Copies ciphertexts from `old` to those secrets of `new` that are equal to the secret at the same path.
pub(crate) fn adopt(old: &Arc<ResourceState>, new: &Arc<ResourceState>) {
    if !Arc::ptr_eq(old, new) {
        adopt_map(&old.inputs, &new.inputs);
        adopt_map(&old.outputs, &new.outputs);
        if let (Some(old), Some(new)) = (&old.options.replacement_trigger, &new.options.replacement_trigger) {
            adopt_value(old, new);
        }
    }
}

fn adopt_map(old: &PropertyMap, new: &PropertyMap) {
    if old.same_content(new) {
        return;
    }
    for (name, value) in new.iter() {
        if let Some(old) = old.get(name) {
            adopt_value(old, value);
        }
    }
}

fn adopt_value(old: &PropertyValue, new: &PropertyValue) {
    match (old, new) {
        (PropertyValue::Secret(old), PropertyValue::Secret(new)) if !Arc::ptr_eq(old, new) => {
            let Some(ciphertext) = old.ciphertext.get() else {
                return;
            };
            if new.ciphertext.get().is_none() && old.element == new.element {
                // When it is set already, its ciphertext is one of the same plaintext.
                drop(new.ciphertext.set(ciphertext.clone()));
            }
        }
        (PropertyValue::Array(old), PropertyValue::Array(new)) if !Arc::ptr_eq(old, new) => {
            old.iter()
                .zip(new.iter())
                .for_each(|(old, new)| adopt_value(old, new));
        }
        (PropertyValue::Object(old), PropertyValue::Object(new)) => adopt_map(old, new),
        (PropertyValue::Archive(old), PropertyValue::Archive(new)) if !Arc::ptr_eq(old, new) => {
            if let (ArchiveSource::Assets(old), ArchiveSource::Assets(new)) = (&old.source, &new.source) {
                for (name, value) in new {
                    if let Some(old) = old.get(name) {
                        adopt_value(old, value);
                    }
                }
            }
        }
        _ => {}
    }
}
