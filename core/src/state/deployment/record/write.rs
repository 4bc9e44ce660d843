//! Writes a record.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::value::RawValue;

use super::{Frame, Time};
use crate::{
    property::json::{MapJson, SecretForm, ValueJson},
    resource::ResourceState,
    runtime::Timestamp,
};

/// The JSON form of a record. `form` decides how secrets are written.
#[derive(Clone, Copy)]
pub struct RecordJson<'a> {
    state: &'a ResourceState,
    form: SecretForm<'a>,
}

impl<'a> RecordJson<'a> {
    /// Wraps `state`, whose secrets are written in `form`.
    #[must_use]
    pub const fn new(state: &'a ResourceState, form: SecretForm<'a>) -> Self {
        Self { state, form }
    }
}

/// Writes the fields of a record one by one, without those that are empty.
struct Fields<M>(M);

impl<M: SerializeMap> Fields<M> {
    fn put(&mut self, name: &'static str, value: &(impl Serialize + ?Sized)) -> Result<(), M::Error> {
        self.0.serialize_entry(name, value)
    }

    fn flag(&mut self, name: &'static str, value: bool) -> Result<(), M::Error> {
        if value { self.put(name, &true) } else { Ok(()) }
    }

    fn text(&mut self, name: &'static str, value: &str) -> Result<(), M::Error> {
        if value.is_empty() {
            Ok(())
        } else {
            self.put(name, value)
        }
    }

    fn list<T: Serialize>(&mut self, name: &'static str, value: &[T]) -> Result<(), M::Error> {
        if value.is_empty() {
            Ok(())
        } else {
            self.put(name, value)
        }
    }

    fn option<T: Serialize>(&mut self, name: &'static str, value: Option<&T>) -> Result<(), M::Error> {
        value.map_or(Ok(()), |value| self.put(name, value))
    }

    fn map<K: Serialize, V: Serialize>(
        &mut self,
        name: &'static str,
        value: &BTreeMap<K, V>,
    ) -> Result<(), M::Error> {
        if value.is_empty() {
            Ok(())
        } else {
            self.put(name, value)
        }
    }

    fn time(&mut self, name: &'static str, value: Option<Timestamp>) -> Result<(), M::Error> {
        value.map_or(Ok(()), |value| self.put(name, &Time(value)))
    }
}

impl Serialize for RecordJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let state = self.state;
        let mut fields = Fields(serializer.serialize_map(None)?);
        fields.put("urn", &state.urn)?;
        fields.put("custom", &state.custom)?;
        fields.flag("delete", state.delete)?;
        fields.text("id", state.id.as_str())?;
        fields.put("type", &state.resource_type)?;
        for (name, map) in [("inputs", &state.inputs), ("outputs", &state.outputs)] {
            if !map.is_empty() {
                fields.put(name, &MapJson::new(map, self.form))?;
            }
        }
        fields.option("parent", state.parent.as_ref())?;
        fields.flag("protect", state.protect)?;
        fields.flag("taint", state.taint)?;
        fields.flag("external", state.external)?;
        fields.list("dependencies", &state.dependencies)?;
        fields.list("initErrors", &state.init_errors)?;
        fields.text("provider", &state.provider)?;
        if !state.property_dependencies.is_empty() {
            fields.put("propertyDependencies", &state.property_dependencies)?;
        }
        fields.flag("pendingReplacement", state.pending_replacement)?;
        fields.list(
            "additionalSecretOutputs",
            &state.options.additional_secret_outputs,
        )?;
        fields.list("aliases", &state.aliases)?;
        if !state.options.custom_timeouts.is_empty() {
            fields.put("customTimeouts", &state.options.custom_timeouts)?;
        }
        fields.text("importID", state.options.import_id.as_str())?;
        fields.flag("retainOnDelete", state.retain_on_delete)?;
        fields.option("deletedWith", state.options.deleted_with.as_ref())?;
        fields.list("replaceWith", &state.options.replace_with)?;
        fields.time("created", state.created)?;
        fields.time("modified", state.modified)?;
        fields.option("sourcePosition", state.source_position.as_ref())?;
        let frames = state.stack_trace.iter().cloned();
        let frames: Vec<_> = frames.map(|source_position| Frame { source_position }).collect();
        fields.list("stackTrace", &frames)?;
        fields.list("ignoreChanges", &state.options.ignore_changes)?;
        fields.list("hideDiff", &state.options.hide_diffs)?;
        fields.list("replaceOnChanges", &state.options.replace_on_changes)?;
        if let Some(trigger) = state
            .options
            .replacement_trigger
            .as_ref()
            .filter(|trigger| !trigger.is_null())
        {
            fields.put("replacementTrigger", &ValueJson::new(trigger, self.form))?;
        }
        fields.flag("refreshBeforeUpdate", state.refresh_before_update)?;
        fields.option("viewOf", state.view_of.as_ref())?;
        fields.map("resourceHooks", &state.options.resource_hooks)?;
        fields.text("extensionRef", &state.extension_ref)?;
        fields.text("snippetID", &state.snippet_id)?;
        for (name, json) in state.unknown_members.iter() {
            let value: &RawValue = serde_json::from_str(json).map_err(serde::ser::Error::custom)?;
            fields.0.serialize_entry(name, value)?;
        }
        fields.0.end()
    }
}
