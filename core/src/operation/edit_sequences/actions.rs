//! Random edits: what each of them does in the API, to which records.

use proptest::{prelude::*, sample};
use serde_json::{Value, json};

use super::{
    deployment::{Deployment, any_secret, is_provider, shown_secret, text},
    oracle,
    world::{FullName, KEYS, NAMES, OTHER_PROJECTS, World},
};
use crate::{
    state::edit::{Delete, Move, Rename, Selection, StateEdit},
    urn::Urn,
};

/// An edit of a random record of one of both stacks.
#[derive(Clone, Debug)]
pub(super) struct Change {
    kind: u8,
    pub(super) of_other: bool,
    record: sample::Index,
    other: sample::Index,
    flag: bool,
}

/// The number of kinds of changes.
const KINDS: u8 = 18;

impl Change {
    /// Returns the change of each kind to the same records.
    pub(super) fn of_each_kind(&self) -> impl Iterator<Item = Self> {
        (0..KINDS).map(|kind| Self { kind, ..self.clone() })
    }
}

pub(super) fn change() -> impl Strategy<Value = Change> {
    let parts = (
        0..KINDS,
        any::<bool>(),
        any::<sample::Index>(),
        any::<sample::Index>(),
        any::<bool>(),
    );
    parts.prop_map(|(kind, of_other, record, other, flag)| Change {
        kind,
        of_other,
        record,
        other,
        flag,
    })
}

/// What a change does in the API.
#[derive(Clone, Debug)]
pub(super) enum Action {
    Edit(StateEdit),
    Move(Move),
    /// The number of the state in the history, and whether the key of that state is given.
    Restore(usize, bool),
    Forget(usize),
    Import(Import),
    RenameStack(FullName),
    ChangeSecrets(&'static str),
}

/// A document, and what the state is once it is imported.
#[derive(Clone, Debug)]
pub(super) struct Import {
    pub(super) document: Vec<u8>,
    pub(super) is_forced: bool,
    pub(super) expected: Deployment,
}

/// Returns the one of two values that is not the present one.
fn next(values: [&'static str; 2], present: &str) -> &'static str {
    values[usize::from(values[0] == present)]
}

/// Returns another name of a stack: within its project, in another project, or both.
fn new_name(change: &Change, side: usize, world: &World) -> FullName {
    let (project, name) = world.names[side];
    let moves = change.other.index(3) > 0;
    let projects = [world.first_project(side), OTHER_PROJECTS[side]];
    let new_project = if moves { next(projects, project) } else { project };
    let keeps_name = moves && change.flag;
    let new_name = if keeps_name { name } else { next(NAMES[side], name) };
    (new_project, new_name)
}

/// Returns what a change does; `None` where it records the state in the history.
pub(super) async fn action(
    change: &Change,
    before: &Deployment,
    side: usize,
    world: &World,
) -> Option<Action> {
    let records = &before.records;
    let record = (!records.is_empty()).then(|| change.record.get(records))?;
    let urn_of = |record: &Value| Urn::parse(text(record, "urn")).unwrap();
    let urn = urn_of(record);
    let other = urn_of(change.other.get(records));
    let selection = || match change.flag {
        true => Selection::of([urn.clone()]),
        false => Selection::of([urn.clone(), other.clone()]),
    };
    let rename = Rename {
        name: None,
        ..Rename::to_name(urn.clone(), "")
    };
    Some(match change.kind {
        0 => Action::Edit(StateEdit::Rename(Rename::to_name(
            urn,
            format!("renamed-{}", change.other.index(3)),
        ))),
        1 => Action::Edit(StateEdit::Delete(Delete {
            urns: vec![urn],
            dependents: change.flag,
            force: change.other.index(2) == 0,
            ..Delete::default()
        })),
        2 => Action::Edit(StateEdit::Protect(selection())),
        3 => Action::Edit(StateEdit::Unprotect(selection())),
        4 => Action::Edit(StateEdit::Taint(selection())),
        5 => Action::Edit(StateEdit::Untaint(selection())),
        6 => Action::Edit(StateEdit::Repair),
        7 | 8 => Action::Move(Move {
            urns: vec![urn],
            include_parents: change.flag,
        }),
        9 => Action::Edit(StateEdit::Rename(Rename {
            resource_type: Some("new:index:Other".to_owned()),
            ..rename
        })),
        10 | 11 => Action::Edit(StateEdit::Rename(Rename {
            parent: change.flag.then_some(other),
            no_parent: !change.flag,
            ..rename
        })),
        12 => Action::RenameStack(new_name(change, side, world)),
        13 => Action::ChangeSecrets(next(KEYS[side], world.keys[side])),
        14 if change.flag && !before.pending.is_empty() => {
            Action::Forget(change.other.index(before.pending.len()))
        }
        14 => Action::Import(import(change, before, side, world).await),
        15 if change.flag => Action::Edit(StateEdit::Delete(Delete {
            all: true,
            force: change.other.index(2) == 0,
            ..Delete::default()
        })),
        15 | 16 => {
            let all = Selection {
                all: true,
                ..Selection::default()
            };
            let edits = [
                StateEdit::Protect,
                StateEdit::Unprotect,
                StateEdit::Taint,
                StateEdit::Untaint,
            ];
            Action::Edit(edits[change.record.index(edits.len())](all))
        }
        _ => match world.recorded[side].len() {
            0 => return None,
            _ if change.flag => return None,
            count => Action::Restore(change.other.index(count) + 1, change.record.index(2) == 0),
        },
    })
}

/// Returns the import of the exported state with one change.
async fn import(change: &Change, before: &Deployment, side: usize, world: &World) -> Import {
    let kind = change.other.index(4);
    let stack = world.open(side).await;
    let document = stack.export_deployment(kind == 0).await.unwrap();
    let mut document: Value = serde_json::from_slice(&document).unwrap();
    let mut expected = before.clone();
    let place = change.record.index(before.records.len());
    let member = |record: &mut Value, value| record["inputs"]["imported"] = value;
    let imported = &mut document["deployment"]["resources"];
    match kind {
        // The secrets are in plaintext, and are encrypted anew.
        0 => expected = expected.contents(),
        1 => {
            member(&mut imported[place], json!(7));
            member(&mut expected.records[place], json!(7));
        }
        2 => {
            let content = json!({ "new": ["secret"] });
            member(&mut imported[place], shown_secret(&content));
            member(&mut expected.records[place], any_secret(content));
        }
        _ => {
            imported.as_array_mut().unwrap().pop();
            expected.records.pop();
        }
    }
    Import {
        document: serde_json::to_vec(&document).unwrap(),
        is_forced: false,
        expected,
    }
}

/// Returns the import of a state that repair accepts: a record is missing, or the records have another order.
pub(super) async fn corruption(
    change: &Change,
    before: &Deployment,
    side: usize,
    world: &World,
) -> Option<Import> {
    let mut expected = before.clone();
    let place = change.record.index(before.records.len());
    match change.flag {
        true if is_provider(&before.records[place]) => return None,
        true => drop(expected.records.remove(place)),
        false => expected.records.reverse(),
    }
    oracle::repaired(&expected)?;
    let stack = world.open(side).await;
    let document = stack.export_deployment(false).await.unwrap();
    let mut document: Value = serde_json::from_slice(&document).unwrap();
    let records = document["deployment"]["resources"].as_array_mut()?;
    match change.flag {
        true => drop(records.remove(place)),
        false => records.reverse(),
    }
    Some(Import {
        document: serde_json::to_vec(&document).unwrap(),
        is_forced: true,
        expected,
    })
}
