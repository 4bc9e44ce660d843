//! One record as JSON: fields in the format's order, empty ones left out.

use std::{borrow::Cow, collections::BTreeMap, fmt, marker::PhantomData, sync::Arc};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
    ser::SerializeMap,
};
use serde_json::value::RawValue;
use smol_str::SmolStr;

use super::{interner::Interner, known_members::KnownMembers};
use crate::{
    property::json::{MapJson, SecretForm, StateMap, StateValue, ValueJson},
    resource::{
        CustomTimeouts, HookBindings, PropertyDependencies, ResourceOptions, ResourceState, UnknownMembers,
    },
    runtime::Timestamp,
    token::{ResourceId, TypeToken},
    urn::Urn,
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

/// A time in RFC 3339, in UTC, with as many fractional digits as needed.
pub(super) struct Time(pub(super) Timestamp);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map(Self).map_err(serde::de::Error::custom)
    }
}

/// A frame of a stack trace. An unknown frame is an empty object.
#[derive(Serialize, Deserialize)]
struct Frame {
    #[serde(rename = "sourcePosition", default, skip_serializing_if = "Option::is_none")]
    source_position: Option<SmolStr>,
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

/// A record read from JSON. Encrypted secrets in it stay sealed until they are decrypted
/// (see [`crate::property::json::SealedSecrets`]).
#[derive(Clone, Debug)]
pub(crate) struct StateJson(pub ResourceState);

impl<'de> Deserialize<'de> for StateJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = RecordFields::deserialize(deserializer)?;
        fields.into_state(&mut Interner::default()).map(Self)
    }
}

/// Records read from a JSON list. Equal URNs, types and provider references share one allocation.
#[derive(Debug, Default)]
pub(super) struct RecordsJson(pub(super) Vec<Arc<ResourceState>>);

impl<'de> Deserialize<'de> for RecordsJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = RecordsJson;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list of resources")
            }

            fn visit_unit<E>(self) -> Result<RecordsJson, E> {
                Ok(RecordsJson::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<RecordsJson, A::Error> {
                let mut interner = Interner::default();
                let mut records = Vec::new();
                while let Some(fields) = access.next_element::<RecordFields<'_>>()? {
                    records.push(Arc::new(fields.into_state(&mut interner)?));
                }
                Ok(RecordsJson(records))
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

fn or_default<'de, T: Deserialize<'de> + Default, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A URN that may be missing, null or empty.
fn maybe_urn<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Urn>, D::Error> {
    match <Option<Cow<'de, str>>>::deserialize(deserializer)? {
        Some(text) if !text.is_empty() => Urn::parse(&text).map(Some).map_err(serde::de::Error::custom),
        _ => Ok(None),
    }
}

/// Texts, borrowed from the document where possible.
#[derive(Default)]
struct Texts<'a>(Vec<Cow<'a, str>>);

/// A text, borrowed from the document where possible. Inside of a list, `Cow` alone would always copy it.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Texts<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let texts = Vec::<Text<'a>>::deserialize(deserializer)?;
        Ok(Self(texts.into_iter().map(|text| text.0).collect()))
    }
}

/// Lists of texts by name, in the order of the document.
#[derive(Default)]
struct TextsByName<'a>(Vec<(SmolStr, Texts<'a>)>);

impl<'de: 'a, 'a> Deserialize<'de> for TextsByName<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<'a>(PhantomData<&'a ()>);

        impl<'de: 'a, 'a> Visitor<'de> for Reader<'a> {
            type Value = TextsByName<'a>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("lists of texts by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<TextsByName<'a>, A::Error> {
                let mut entries = Vec::new();
                while let Some((name, texts)) = access.next_entry::<SmolStr, Option<Texts<'a>>>()? {
                    entries.push((name, texts.unwrap_or_default()));
                }
                Ok(TextsByName(entries))
            }
        }

        deserializer.deserialize_map(Reader(PhantomData))
    }
}

/// A record as it was read, its texts borrowed from the document where possible.
pub(super) struct RecordFields<'a> {
    known: KnownFields<'a>,
    unknown: UnknownMembers,
}

impl<'de: 'a, 'a> Deserialize<'de> for RecordFields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<'a>(PhantomData<&'a ()>);

        impl<'de: 'a, 'a> Visitor<'de> for Reader<'a> {
            type Value = RecordFields<'a>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a resource as a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, access: A) -> Result<RecordFields<'a>, A::Error> {
                let mut unknown = UnknownMembers::default();
                let mut members = KnownMembers::new(access, is_known, &mut unknown);
                let known = KnownFields::deserialize(MapAccessDeserializer::new(&mut members))?;
                Ok(RecordFields { known, unknown })
            }
        }

        deserializer.deserialize_map(Reader(PhantomData))
    }
}

/// Returns whether `name` is a field of [`KnownFields`].
pub(super) fn is_known(name: &str) -> bool {
    matches!(
        name,
        "urn"
            | "custom"
            | "delete"
            | "id"
            | "type"
            | "inputs"
            | "outputs"
            | "parent"
            | "protect"
            | "taint"
            | "external"
            | "dependencies"
            | "initErrors"
            | "provider"
            | "propertyDependencies"
            | "pendingReplacement"
            | "additionalSecretOutputs"
            | "aliases"
            | "customTimeouts"
            | "importID"
            | "retainOnDelete"
            | "deletedWith"
            | "replaceWith"
            | "created"
            | "modified"
            | "sourcePosition"
            | "stackTrace"
            | "ignoreChanges"
            | "hideDiff"
            | "replaceOnChanges"
            | "replacementTrigger"
            | "refreshBeforeUpdate"
            | "viewOf"
            | "resourceHooks"
            | "extensionRef"
            | "snippetID"
    )
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KnownFields<'a> {
    #[serde(borrow, default)]
    urn: Cow<'a, str>,
    #[serde(default)]
    custom: bool,
    #[serde(default)]
    delete: bool,
    #[serde(default)]
    id: ResourceId,
    #[serde(borrow, rename = "type", default)]
    resource_type: Cow<'a, str>,
    #[serde(default, deserialize_with = "or_default")]
    inputs: StateMap,
    #[serde(default, deserialize_with = "or_default")]
    outputs: StateMap,
    #[serde(borrow, default)]
    parent: Option<Text<'a>>,
    #[serde(default)]
    protect: bool,
    #[serde(default)]
    taint: bool,
    #[serde(default)]
    external: bool,
    #[serde(borrow, default)]
    dependencies: Option<Texts<'a>>,
    #[serde(default, deserialize_with = "or_default")]
    init_errors: Vec<String>,
    #[serde(borrow, default)]
    provider: Cow<'a, str>,
    #[serde(borrow, default)]
    property_dependencies: Option<TextsByName<'a>>,
    #[serde(default)]
    pending_replacement: bool,
    #[serde(default, deserialize_with = "or_default")]
    additional_secret_outputs: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    aliases: Vec<Urn>,
    #[serde(default, deserialize_with = "or_default")]
    custom_timeouts: CustomTimeouts,
    #[serde(rename = "importID", default)]
    import_id: ResourceId,
    #[serde(default)]
    retain_on_delete: bool,
    #[serde(default, deserialize_with = "maybe_urn")]
    deleted_with: Option<Urn>,
    #[serde(default, deserialize_with = "or_default")]
    replace_with: Vec<Urn>,
    created: Option<Time>,
    modified: Option<Time>,
    source_position: Option<SmolStr>,
    #[serde(default, deserialize_with = "or_default")]
    stack_trace: Vec<Frame>,
    #[serde(default, deserialize_with = "or_default")]
    ignore_changes: Vec<String>,
    #[serde(rename = "hideDiff", default, deserialize_with = "or_default")]
    hide_diffs: Vec<String>,
    #[serde(default, deserialize_with = "or_default")]
    replace_on_changes: Vec<String>,
    replacement_trigger: Option<StateValue>,
    #[serde(default)]
    refresh_before_update: bool,
    #[serde(default, deserialize_with = "maybe_urn")]
    view_of: Option<Urn>,
    #[serde(default, deserialize_with = "or_default")]
    resource_hooks: HookBindings,
    #[serde(default)]
    extension_ref: SmolStr,
    #[serde(rename = "snippetID", default)]
    snippet_id: SmolStr,
}

impl RecordFields<'_> {
    pub(super) fn into_state<E: serde::de::Error>(self, interner: &mut Interner) -> Result<ResourceState, E> {
        let mut state = self.known.into_state(interner)?;
        state.unknown_members = self.unknown;
        Ok(state)
    }
}

impl KnownFields<'_> {
    fn into_state<E: serde::de::Error>(self, interner: &mut Interner) -> Result<ResourceState, E> {
        if self.urn.is_empty() {
            return Err(E::custom("resource missing required 'urn' field"));
        }
        let urn = interner.urn(&self.urn)?;
        let parent = match self.parent {
            Some(Text(text)) if !text.is_empty() => Some(interner.urn(&text)?),
            _ => None,
        };
        let texts = self.dependencies.unwrap_or_default();
        let dependencies = interner.urns(&texts.0)?;
        let mut property_dependencies = Vec::new();
        let mut last: Option<(Texts<'_>, Arc<Vec<Urn>>)> = None;
        for (name, urns) in self.property_dependencies.unwrap_or_default().0 {
            let list = match &last {
                Some((texts, list)) if texts.0 == urns.0 => Arc::clone(list),
                _ if urns.0 == texts.0 => Arc::new(dependencies.clone()),
                _ => Arc::new(interner.urns(&urns.0)?),
            };
            property_dependencies.push((name, Arc::clone(&list)));
            last = Some((urns, list));
        }
        Ok(ResourceState {
            urn,
            custom: self.custom,
            delete: self.delete,
            id: self.id,
            resource_type: TypeToken::new(interner.text(&self.resource_type)),
            inputs: self.inputs.0,
            outputs: self.outputs.0,
            parent,
            protect: self.protect,
            taint: self.taint,
            external: self.external,
            dependencies,
            init_errors: self.init_errors,
            provider: interner.text(&self.provider),
            property_dependencies: PropertyDependencies::from_shared(property_dependencies),
            pending_replacement: self.pending_replacement,
            aliases: self.aliases,
            retain_on_delete: self.retain_on_delete,
            options: ResourceOptions {
                ignore_changes: self.ignore_changes,
                replace_on_changes: self.replace_on_changes,
                additional_secret_outputs: self.additional_secret_outputs,
                import_id: self.import_id,
                custom_timeouts: self.custom_timeouts,
                deleted_with: self.deleted_with,
                replace_with: self.replace_with,
                hide_diffs: self.hide_diffs,
                replacement_trigger: self.replacement_trigger.map(|trigger| trigger.0),
                resource_hooks: self.resource_hooks,
            }
            .into(),
            created: self.created.map(|time| time.0),
            modified: self.modified.map(|time| time.0),
            source_position: self.source_position,
            stack_trace: self
                .stack_trace
                .into_iter()
                .map(|frame| frame.source_position)
                .collect(),
            refresh_before_update: self.refresh_before_update,
            view_of: self.view_of,
            extension_ref: self.extension_ref,
            snippet_id: self.snippet_id,
            unknown_members: UnknownMembers::default(),
        })
    }
}
