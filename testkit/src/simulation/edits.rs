//! Changes of the state without a program: edits of records, another key of the secrets, the removal of the stack.

use std::sync::Arc;

use stackwright::{
    ErrorKind, Result, Stack,
    resource::ResourceState,
    state::edit::{Delete, Rename, Selection, StateEdit},
    store::HistoryPoint,
};

use super::{
    host::Host,
    secrets::{KEYS, keys},
    world::World,
};

/// The type of the things.
pub(super) const THING: &str = "things:index:Thing";

/// One of so many changes is the removal of the stack, or of its locks.
const REMOVALS: u64 = 12;
const UNLOCKS: u64 = 12;
/// How many of the newest states of the history are read at the end.
const READ_STATES: usize = 4;

/// Performs a change that the seed determines.
pub(super) async fn change(world: &Arc<World>, host: &Arc<Host>, stack: &Stack) -> Result<()> {
    let note = |text: &str| world.note(format_args!("host {}: {text}", host.pid));
    if world.is_hit(REMOVALS) {
        let force = world.is_hit(2);
        note("removes the stack");
        return stack.remove(force).await;
    }
    if world.is_hit(UNLOCKS) {
        note("removes the locks");
        return stack.unlock().await.map(drop);
    }
    let snapshot = stack.snapshot().await?;
    let records = snapshot.resources.iter();
    let things: Vec<&Arc<ResourceState>> = records
        .filter(|record| record.resource_type.as_str() == THING && !record.delete)
        .collect();
    let kind = world.roll(7);
    if things.is_empty() || kind == 0 {
        let number = world.roll(KEYS);
        note(&format!("changes the key of the secrets to {number}"));
        let provider = keys(number, &world.runtime)?;
        return stack.change_secrets(provider, false).await.map(drop);
    }
    let index = usize::try_from(world.roll(things.len() as u64)).unwrap_or_default();
    let thing = things[index];
    let (urn, id) = (thing.urn.clone(), thing.id.as_str());
    if kind == 1
        && let Some(pending) = stack.pending().await?.first()
    {
        note(&format!("forgets the pending operation {}", pending.id));
        world.state().forget(pending.operation.resource.urn.name());
        return stack.forget_pending(&pending.id, false).await.map(drop);
    }
    let edit = match kind {
        2 => StateEdit::Protect(Selection::of([urn])),
        3 => StateEdit::Unprotect(Selection::of([urn])),
        4 => {
            // The things stay, and no later operation knows them. Where others depend on them, the edit is refused.
            world.state().dismiss(id);
            StateEdit::Delete(Delete {
                urns: vec![urn],
                id: Some(id.to_owned()),
                force: true,
                ..Delete::default()
            })
        }
        _ => {
            let name = format!("renamed{}-{}", world.state().rename(id), number_of(urn.name()));
            StateEdit::Rename(Rename::to_name(urn, name))
        }
    };
    note(&format!("{} of {}", edit.name(), thing.urn));
    stack.edit(&edit, false).await.map(drop)
}

/// Returns the number at the end of a thing's name, which a renaming keeps.
pub(super) fn number_of(name: &str) -> u64 {
    let digits = name.rsplit(|letter: char| !letter.is_ascii_digit()).next();
    digits.and_then(|digits| digits.parse().ok()).unwrap_or_default()
}

/// Checks that the secrets of former states are readable, also with a key from before a change.
pub(super) async fn read_history(world: &Arc<World>, stack: &Stack) -> Result<()> {
    let count = stack.history().await?.len();
    let former = keys(0, &world.runtime)?;
    for version in (1..=count).rev().take(READ_STATES) {
        let point = HistoryPoint::Version(version);
        let read = stack.restore_with_key(&point, &*former, true).await;
        // A removal that was interrupted leaves records without states.
        let is_removed = world.state().is_removed;
        if let Err(error) = read
            && !(is_removed && error.kind() == ErrorKind::NotFound)
        {
            world.fail(format!(
                "version {version} of the history cannot be read: {error}"
            ));
        }
    }
    Ok(())
}
