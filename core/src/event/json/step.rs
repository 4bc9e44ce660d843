//! The JSON of steps and of the states before and after them.

use std::borrow::Cow;

use super::{EventJson, text::Object};
use crate::{
    event::{DetailedDiff, StateMetadata, StepEvent, StepMetadata},
    property::{
        PropertyMap,
        json::{self, Blinding, MapJson, SecretForm},
    },
};

pub(super) fn write_planned(payload: &mut Object<'_>, step: &StepEvent, options: &EventJson) {
    write_metadata(payload, &step.metadata, options);
    payload.flag("planning", step.planning);
}

pub(super) fn write_metadata(payload: &mut Object<'_>, step: &StepMetadata, options: &EventJson) {
    payload.nested("metadata", |metadata| {
        metadata.string("op", step.op.name());
        metadata.string("urn", step.urn.as_str());
        metadata.string("type", step.resource_type.as_str());
        write_state(metadata, "old", step.old.as_ref(), options);
        write_state(metadata, "new", step.new.as_ref(), options);
        metadata.list("keys", &step.keys);
        metadata.list("diffs", &step.diffs);
        match &step.detailed_diff {
            Some(diff) => write_detailed_diff(metadata, diff),
            None => metadata.null("detailedDiff"),
        }
        metadata.flag("logical", step.logical);
        metadata.string("provider", &step.provider);
    });
}

fn write_detailed_diff(metadata: &mut Object<'_>, diff: &DetailedDiff) {
    metadata.nested("detailedDiff", |entries| {
        for (path, property) in diff {
            entries.nested(path, |entry| {
                entry.string("diffKind", property.kind.name());
                entry.boolean("inputDiff", property.input_diff);
            });
        }
    });
}

fn write_state(metadata: &mut Object<'_>, name: &str, state: Option<&StateMetadata>, options: &EventJson) {
    let Some(StateMetadata(state)) = state else {
        metadata.null(name);
        return;
    };
    metadata.nested(name, |object| {
        object.string("type", state.resource_type.as_str());
        object.string("urn", state.urn.as_str());
        object.flag("custom", state.custom);
        object.flag("delete", state.delete);
        object.string("id", state.id.as_str());
        object.string("parent", state.parent.as_ref().map_or("", |urn| urn.as_str()));
        object.flag("protect", state.protect);
        object.flag("taint", state.taint);
        object.flag("external", state.external);
        object.flag("retainOnDelete", state.retain_on_delete);
        write_properties(object, "inputs", &state.inputs, options);
        write_properties(object, "outputs", &state.outputs, options);
        object.string("provider", &state.provider);
        object.list("initErrors", &state.init_errors);
        object.list("hideDiffs", &state.options.hide_diffs);
    });
}

pub(super) fn write_properties(
    object: &mut Object<'_>,
    name: &str,
    properties: &PropertyMap,
    options: &EventJson,
) {
    let scrub = |text: &str| match options.redactor.scrub(text) {
        Cow::Borrowed(_) => None,
        Cow::Owned(scrubbed) => Some(scrubbed),
    };
    let blinding = Blinding { scrub: Some(&scrub) };
    let form = if options.show_secrets {
        SecretForm::Base64
    } else {
        SecretForm::Blinded(&blinding)
    };
    let text = json::to_vec(&MapJson::new(properties, form));
    // Only values beyond the nesting limit cannot be written.
    let text = text.ok().and_then(|text| String::from_utf8(text).ok());
    object.member(name).push_str(text.as_deref().unwrap_or("{}"));
}
