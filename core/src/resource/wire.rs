//! Options of resources as messages of the protocol.

use stackwright_proto::pulumirpc::{
    Alias as WireAlias, alias as wire_alias,
    register_resource_request::{CustomTimeouts as WireTimeouts, ResourceHooksBinding},
};

use super::{Alias, CustomTimeouts, HookBindings, HookMoment, duration::seconds_text};

/// Encodes aliases.
pub(crate) fn aliases(aliases: &[Alias]) -> Vec<WireAlias> {
    aliases.iter().map(alias).collect()
}

fn alias(alias: &Alias) -> WireAlias {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let encoded = match alias {
        Alias::Urn(urn) => wire_alias::Alias::Urn(urn.to_string()),
        Alias::Spec {
            name,
            resource_type,
            stack,
            project,
            parent,
            no_parent,
        } => wire_alias::Alias::Spec(wire_alias::Spec {
            name: text(name),
            r#type: text(resource_type),
            stack: text(stack),
            project: text(project),
            parent: match parent {
                Some(parent) => Some(wire_alias::spec::Parent::ParentUrn(parent.to_string())),
                None => no_parent.then_some(wire_alias::spec::Parent::NoParent(true)),
            },
        }),
    };
    WireAlias { alias: Some(encoded) }
}

/// Encodes timeouts; `None` when there are none.
pub(crate) fn timeouts(timeouts: &CustomTimeouts) -> Option<WireTimeouts> {
    (!timeouts.is_empty()).then(|| WireTimeouts {
        create: seconds_text(timeouts.create),
        update: seconds_text(timeouts.update),
        delete: seconds_text(timeouts.delete),
        read: seconds_text(timeouts.read),
    })
}

/// Encodes the names of hooks by moment; `None` when there are none.
pub(crate) fn hooks(bindings: &HookBindings) -> Option<ResourceHooksBinding> {
    let names = |moment: HookMoment| bindings.get(moment.name()).cloned().unwrap_or_default();
    (!bindings.is_empty()).then(|| ResourceHooksBinding {
        before_create: names(HookMoment::BeforeCreate),
        after_create: names(HookMoment::AfterCreate),
        before_update: names(HookMoment::BeforeUpdate),
        after_update: names(HookMoment::AfterUpdate),
        before_delete: names(HookMoment::BeforeDelete),
        after_delete: names(HookMoment::AfterDelete),
        on_error: names(HookMoment::OnError),
    })
}

/// Decodes the names of hooks by moment; moments without any are left out.
pub(crate) fn hook_bindings(wire: ResourceHooksBinding) -> HookBindings {
    let bindings = [
        (HookMoment::BeforeCreate, wire.before_create),
        (HookMoment::AfterCreate, wire.after_create),
        (HookMoment::BeforeUpdate, wire.before_update),
        (HookMoment::AfterUpdate, wire.after_update),
        (HookMoment::BeforeDelete, wire.before_delete),
        (HookMoment::AfterDelete, wire.after_delete),
        (HookMoment::OnError, wire.on_error),
    ];
    let bound = bindings.into_iter().filter(|(_, names)| !names.is_empty());
    bound
        .map(|(moment, names)| (moment.name().to_owned(), names))
        .collect()
}
