//! Renaming: another name, parent or type of a resource, with which its descendants and all references follow.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Edited, Rename, find::Positions, rewrite_snapshot};
use crate::{
    error::{Error, ErrorKind, Result},
    message::Text,
    resource::{ProviderReference, ResourceState},
    state::{Snapshot, integrity, valid_order},
    token::TypeToken,
    urn::{ROOT_STACK_TYPE, Urn, name_fault},
};

/// Renames the resource of `edit.urn`.
///
/// # Errors
/// [`ErrorKind::NotFound`] for an unknown URN; [`ErrorKind::InvalidInput`] for a name, type or parent that the resource
/// cannot have, and for a URN of several records; [`ErrorKind::Conflict`] when a new URN exists already.
pub(super) fn rename(snapshot: &Snapshot, edit: &Rename) -> Result<Edited> {
    let records = &snapshot.resources;
    let positions = Positions::of(records);
    let target = positions.only(&edit.urn)?;
    let record = &records[target];
    check_given(edit)?;
    check_name(edit)?;
    check_type(edit, record)?;
    let parent = new_parent(edit, &positions)?;
    let urn = new_urn(edit, parent.as_ref());
    let mut edited = Edited::new(snapshot.clone());
    let renames = Renames::of(snapshot, &edit.urn, &urn, &mut edited.warnings)?;
    renames.refuse_taken(snapshot)?;
    rewrite_snapshot(&mut edited.snapshot, &|urn| renames.0.get(urn).cloned());
    if let Some(parent) = &parent
        && edited.snapshot.resources[target].parent != *parent
        && parent
            .as_ref()
            .is_some_and(|parent| renames.0.contains_key(parent))
    {
        return Err(below_itself(&edit.urn));
    }
    let placed =
        |record: &mut Arc<ResourceState>| place(record, edit.resource_type.as_deref(), parent.as_ref());
    let is_moved = placed(&mut edited.snapshot.resources[target]);
    let pending = edited.snapshot.pending_operations.iter_mut();
    let pending = pending.map(|pending| &mut pending.resource);
    pending.filter(|record| record.urn == urn).for_each(|record| {
        placed(record);
    });
    if is_moved {
        place_after_needs(&mut edited.snapshot, &edit.urn)?;
    }
    if record.urn.is_root_stack() && edit.urn != urn {
        let usual = Urn::root_stack(urn.stack(), urn.project());
        edited.warnings.push(format!(
            "programs register the stack itself as '{usual}', not as '{urn}'"
        ));
    }
    if record.urn.is_default_provider() && edit.urn != urn {
        edited.warnings.push(format!(
            "programs use the default provider by the name '{}': the next update creates it again, and its resources change to it",
            record.urn.name()
        ));
    }
    edited.warnings.extend(other_package(snapshot, edit, record));
    edited.renames = renames.0;
    Ok(edited)
}

/// Returns the warning about a new type of another package than that of the resource's provider, or, of a provider, than that of
/// resources that use it. Both can be renamed one after the other.
fn other_package(snapshot: &Snapshot, edit: &Rename, record: &ResourceState) -> Option<String> {
    let token = TypeToken::from(edit.resource_type.as_deref()?);
    let package = token.asked_package();
    if record.is_provider() {
        let uses = |user: &&Arc<ResourceState>| {
            let reference = ProviderReference::parse(&user.provider).ok();
            reference.is_some_and(|reference| reference.urn == edit.urn)
        };
        // The type of a resource of an extension is one of the extension's package.
        let users = snapshot
            .resources
            .iter()
            .filter(|user| user.extension_ref.is_empty());
        let others = users
            .filter(uses)
            .filter(|user| user.resource_type.asked_package() != package);
        let others: Vec<_> = others.collect();
        let first = others.first()?;
        let count = others.len();
        return Some(format!(
            "the provider '{}' is one of the package '{package}' now, and is that of {count} of other packages, the first of which is \
             '{}': the next operation fails for these unless they are renamed, too",
            edit.urn, first.urn
        ));
    }
    let provider = ProviderReference::parse(&record.provider).ok()?;
    let differs = record.extension_ref.is_empty() && provider.package() != package;
    differs.then(|| {
        format!(
            "the type {token} is one of the package '{package}', and the provider of '{}' one of '{}': the next operation fails for it \
             unless its provider, '{}', is renamed, too",
            edit.urn,
            provider.package(),
            provider.urn
        )
    })
}

/// Gives a record its new type and parent, where the edit names one. Returns whether its parent changes.
fn place(record: &mut Arc<ResourceState>, resource_type: Option<&str>, parent: Option<&Option<Urn>>) -> bool {
    if let Some(resource_type) = resource_type
        && record.resource_type.as_str() != resource_type
    {
        Arc::make_mut(record).resource_type = resource_type.into();
    }
    match parent {
        Some(parent) if record.parent != *parent => {
            Arc::make_mut(record).parent.clone_from(parent);
            true
        }
        _ => false,
    }
}

/// Refuses an edit that names nothing to change.
fn check_given(edit: &Rename) -> Result<()> {
    if edit.name.is_none() && edit.parent.is_none() && !edit.no_parent && edit.resource_type.is_none() {
        let text = format!(
            "the renaming of '{}' names no new name, parent or type, and not that it has no parent",
            edit.urn
        );
        return Err(Error::invalid(text).with_urn(edit.urn.clone()));
    }
    Ok(())
}

fn check_name(edit: &Rename) -> Result<()> {
    let separator = |name: &&str| name.contains("::");
    let name = edit.name.as_deref();
    let fault = name.and_then(name_fault).or_else(|| {
        name.filter(separator)
            .map(|_| "contains '::', which separates the parts of a URN")
    });
    match fault {
        Some(why) => {
            let text = format!("the new name of '{}' {why}", edit.urn);
            Err(Error::invalid(text).with_urn(edit.urn.clone()))
        }
        None => Ok(()),
    }
}

fn check_type(edit: &Rename, record: &ResourceState) -> Result<()> {
    let Some(resource_type) = edit.resource_type.as_deref() else {
        return Ok(());
    };
    let refused = |why: &str| {
        let text = format!("'{}' cannot have the type {resource_type:?}: {why}", edit.urn);
        Err(Error::invalid(text).with_urn(edit.urn.clone()))
    };
    if resource_type == record.resource_type.as_str() {
        return Ok(());
    }
    let token = TypeToken::from(resource_type);
    match () {
        () if record.urn.is_root_stack() || resource_type == ROOT_STACK_TYPE => {
            refused("it is that of the stack itself alone, which has no other")
        }
        () if token.fault().is_some() => refused(token.fault().unwrap_or_default()),
        () if record.custom && !token.is_full() => {
            refused("a provider's resource has a type of the form package:module:Member")
        }
        () if token.is_provider() != record.is_provider() => {
            refused("a provider stays a provider, and no other resource becomes one")
        }
        () => Ok(()),
    }
}

/// Returns the parent that the edit names: `None` where it names none, `Some(None)` for no parent.
fn new_parent(edit: &Rename, positions: &Positions<'_>) -> Result<Option<Option<Urn>>> {
    match (&edit.parent, edit.no_parent) {
        (None, false) => return Ok(None),
        (None, true) => {}
        (Some(_), true) => {
            return Err(
                Error::invalid("a rename takes a parent or noParent, not both").with_urn(edit.urn.clone())
            );
        }
        (Some(parent), false) => positions.require(std::slice::from_ref(parent))?,
    }
    if edit.urn.is_root_stack() {
        return Err(Error::invalid("the stack itself has no parent").with_urn(edit.urn.clone()));
    }
    if edit.parent.as_ref() == Some(&edit.urn) {
        return Err(
            Error::invalid(format!("'{}' cannot be its own parent", edit.urn)).with_urn(edit.urn.clone())
        );
    }
    Ok(Some(edit.parent.clone()))
}

/// Returns the resource's URN after the edit.
fn new_urn(edit: &Rename, parent: Option<&Option<Urn>>) -> Urn {
    let own = &edit.urn;
    let qualified = own.qualified_type();
    let above = match parent {
        None => qualified.rsplit_once('$').map_or("", |(above, _)| above),
        Some(parent) => parent.as_ref().map_or("", |parent| parent.qualified_type()),
    };
    let resource_type = edit
        .resource_type
        .as_deref()
        .unwrap_or_else(|| own.resource_type());
    let name = edit.name.as_deref().unwrap_or_else(|| own.name());
    Urn::new(own.stack(), own.project(), above, resource_type, name)
}

/// New URNs by former ones.
pub(super) struct Renames(pub(super) FxHashMap<Urn, Urn>);

impl Renames {
    /// Renames `from` to `to`, and derives the new URNs of descendants, which contain the types of their parents.
    ///
    /// A descendant whose URN does not contain the type of its parent keeps its URN. So does one of several copies with
    /// different parents, with a warning.
    fn of(snapshot: &Snapshot, from: &Urn, to: &Urn, warnings: &mut Vec<String>) -> Result<Self> {
        let mut renames = FxHashMap::default();
        if from == to {
            return Ok(Self(renames));
        }
        renames.insert(from.clone(), to.clone());
        if from.qualified_type() == to.qualified_type() {
            return Ok(Self(renames));
        }
        let family = Family::of(snapshot);
        let mut open = vec![from.clone()];
        while let Some(parent) = open.pop() {
            let Some(new_parent) = renames.get(&parent).cloned() else {
                continue;
            };
            for child in family.children(&parent) {
                if renames.contains_key(child) {
                    continue;
                }
                let Some(renamed) = below(child, &parent, &new_parent) else {
                    continue;
                };
                if family.has_other_parents(child) {
                    warnings.push(format!(
                        "'{child}' keeps its URN: copies of it have different parents"
                    ));
                    continue;
                }
                renames.insert(child.clone(), renamed);
                open.push(child.clone());
            }
        }
        Ok(Self(renames))
    }

    /// Refuses new URNs that exist already.
    fn refuse_taken(&self, snapshot: &Snapshot) -> Result<()> {
        let mut targets = FxHashSet::default();
        let twice = self.0.values().find(|urn| !targets.insert(*urn));
        let taken = |urn: &Urn| targets.contains(urn) && !self.0.contains_key(urn);
        let mut records = snapshot.resources.iter();
        let mut pending = snapshot
            .pending_operations
            .iter()
            .map(|pending| &pending.resource);
        let exists = |record: &Arc<ResourceState>| taken(&record.urn);
        let (urn, what) = match records.find(|record| exists(record)) {
            Some(record) => (&record.urn, "exists already"),
            None => match pending.find(|record| exists(record)) {
                Some(record) => (&record.urn, "is that of a pending operation"),
                None => match twice {
                    Some(urn) => (urn, "would be that of two resources"),
                    None => return Ok(()),
                },
            },
        };
        let reference = "The chosen new urn for the state corresponds to an already existing resource";
        Err(Error::new(
            ErrorKind::Conflict,
            Text::pair(reference, format!("the new URN '{urn}' {what}")),
        )
        .with_urn(urn.clone()))
    }
}

/// Returns the URN that a child has once its parent is renamed; `None` where its URN does not contain the parent's type,
/// or stays.
pub(super) fn below(child: &Urn, parent: &Urn, new_parent: &Urn) -> Option<Urn> {
    let derived = |parent: &Urn| {
        Urn::new(
            child.stack(),
            child.project(),
            parent.qualified_type(),
            child.resource_type(),
            child.name(),
        )
    };
    let renamed = derived(new_parent);
    (derived(parent) == *child && renamed != *child).then_some(renamed)
}

/// The children of each URN, and the URNs whose copies have different parents.
pub(super) struct Family<'a> {
    children: FxHashMap<&'a Urn, Vec<&'a Urn>>,
    parents: FxHashMap<&'a Urn, Option<&'a Urn>>,
    split: FxHashSet<&'a Urn>,
}

impl<'a> Family<'a> {
    pub(super) fn of(snapshot: &'a Snapshot) -> Self {
        let mut family = Self {
            children: FxHashMap::default(),
            parents: FxHashMap::default(),
            split: FxHashSet::default(),
        };
        let pending = snapshot
            .pending_operations
            .iter()
            .map(|pending| &pending.resource);
        for record in snapshot.resources.iter().chain(pending) {
            let parent = record.parent.as_ref();
            if let Some(parent) = parent {
                family.children.entry(parent).or_default().push(&record.urn);
            }
            let known = *family.parents.entry(&record.urn).or_insert(parent);
            if known != parent {
                family.split.insert(&record.urn);
            }
        }
        family
    }

    fn children(&self, parent: &Urn) -> impl Iterator<Item = &'a Urn> {
        self.children.get(parent).into_iter().flatten().copied()
    }

    pub(super) fn has_other_parents(&self, urn: &Urn) -> bool {
        self.split.contains(urn)
    }
}

/// Orders the records again where one stands before its new parent.
fn place_after_needs(snapshot: &mut Snapshot, urn: &Urn) -> Result<()> {
    if integrity::verify_resources(&snapshot.resources).is_ok() {
        return Ok(());
    }
    let order = valid_order(&snapshot.resources).map_err(|_| below_itself(urn))?;
    let records = order
        .into_iter()
        .map(|index| Arc::clone(&snapshot.resources[index]));
    snapshot.resources = records.collect();
    Ok(())
}

fn below_itself(urn: &Urn) -> Error {
    Error::invalid(format!("'{urn}' cannot have a parent that depends on it")).with_urn(urn.clone())
}
