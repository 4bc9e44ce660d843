//! Reads a record. Unknown members are kept beside the known ones.

use std::{borrow::Cow, fmt, marker::PhantomData, sync::Arc};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};
use smol_str::SmolStr;

use super::{
    super::{interner::Interner, known_members::KnownMembers},
    Frame, Time,
    texts::{Text, Texts, TextsByName, maybe_urn, or_default},
};
use crate::{
    property::json::{StateMap, StateValue},
    resource::{
        CustomTimeouts, HookBindings, PropertyDependencies, ResourceOptions, ResourceState, UnknownMembers,
    },
    token::{ResourceId, TypeToken},
    urn::Urn,
};

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
pub(in super::super) struct RecordsJson(pub(in super::super) Vec<Arc<ResourceState>>);

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

/// A record as it was read, its texts borrowed from the document where possible.
pub(in super::super) struct RecordFields<'a> {
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
pub(in super::super) fn is_known(name: &str) -> bool {
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
pub(in super::super) struct KnownFields<'a> {
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
    pub(in super::super) fn into_state<E: serde::de::Error>(
        self,
        interner: &mut Interner,
    ) -> Result<ResourceState, E> {
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
