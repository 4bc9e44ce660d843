//! The inverses of edits, and what they restore.

use proptest::prelude::*;
use serde_json::Value;

use super::{
    actions::{Action, Import},
    deployment::{Deployment, MARK, Parts, ROOT_TYPE, is_live, is_provider, text},
    world::FullName,
};
use crate::{
    state::edit::{Move, Rename, Selection, StateEdit},
    urn::Urn,
};

/// Returns the action that undoes another one, and the side on which it is made, where there is one. The sealed document is the
/// state before.
pub(super) fn inverse(
    action: &Action,
    [before, after]: [&[Deployment; 2]; 2],
    side: usize,
    sealed: Vec<u8>,
    former: (FullName, &'static str),
) -> Option<(Action, usize)> {
    let own = &before[side];
    let all_are = |selection: &Selection, value: bool, member: &str| {
        let named = selection.urns.iter().filter_map(|urn| own.find(urn.as_str()));
        let all = own
            .records
            .iter()
            .filter(|record| selection.all && is_live(record));
        named.chain(all).all(|record| (record[member] == true) == value)
    };
    let edit = match action {
        Action::Edit(edit) => edit,
        Action::Move(_) => {
            let records = after[1 - side].records.iter();
            let arrived = records.filter(|it| is_new(it, &before[1 - side]) && !is_copied(it));
            let urns = arrived.map(|record| Urn::parse(text(record, "urn")).unwrap());
            let back = Move::of(urns.collect::<Vec<_>>());
            return (!back.urns.is_empty()).then_some((Action::Move(back), 1 - side));
        }
        Action::Import(_) => {
            let import = Import {
                document: sealed,
                is_forced: false,
                expected: own.clone(),
            };
            return Some((Action::Import(import), side));
        }
        Action::RenameStack(_) => return Some((Action::RenameStack(former.0), side)),
        Action::ChangeSecrets(_) => return Some((Action::ChangeSecrets(former.1), side)),
        Action::Restore(..) | Action::Forget(_) => return None,
    };
    let inverse = match edit {
        StateEdit::Rename(rename) => {
            let record = own.find(rename.urn.as_str())?;
            let mut records = after[side].records.iter();
            let renamed = records.find(|found| found[MARK] == record[MARK] && is_new(found, own));
            let now = renamed.or(after[side].find(rename.urn.as_str()))?;
            let now = Urn::parse(text(now, "urn")).ok()?;
            let parent = Urn::parse(text(record, "parent")).ok();
            let is_placed = rename.parent.is_some() || rename.no_parent;
            let was_typed = rename.resource_type.is_some();
            StateEdit::Rename(Rename {
                urn: now,
                name: rename.name.as_ref().map(|_| rename.urn.name().to_owned()),
                no_parent: is_placed && parent.is_none(),
                parent: parent.filter(|_| is_placed),
                resource_type: was_typed.then(|| text(record, "type").to_owned()),
            })
        }
        StateEdit::Protect(of) if all_are(of, false, "protect") => StateEdit::Unprotect(of.clone()),
        StateEdit::Unprotect(of) if all_are(of, true, "protect") => StateEdit::Protect(of.clone()),
        StateEdit::Taint(of) if all_are(of, false, "taint") => StateEdit::Untaint(of.clone()),
        StateEdit::Untaint(of) if all_are(of, true, "taint") => StateEdit::Taint(of.clone()),
        _ => return None,
    };
    Some((Action::Edit(inverse), side))
}

/// Returns whether a record has a URN that a deployment does not have.
fn is_new(record: &Value, before: &Deployment) -> bool {
    before.find(text(record, "urn")).is_none()
}

/// Returns whether a move makes a copy of a record, or adds it: those of providers, and of the stack itself.
fn is_copied(record: &Value) -> bool {
    is_provider(record) || Parts::of(text(record, "urn")).types == ROOT_TYPE
}

/// Checks that an inverse edit has restored both states. That of a move leaves the copies of providers, and the stack itself, in
/// the other stack.
pub(super) fn check_restored(
    action: &Action,
    side: usize,
    before: &[Deployment; 2],
    restored: &[Deployment; 2],
) -> Result<(), TestCaseError> {
    let is_placed = |edit: &Rename| edit.parent.is_some() || edit.no_parent;
    let is_reordered = match action {
        Action::Edit(StateEdit::Rename(edit)) => is_placed(edit),
        Action::Move(_) => true,
        _ => false,
    };
    let mut expected = before.clone().map(|deployment| Deployment {
        is_reordered,
        ..deployment.contents()
    });
    if let Action::Move(_) = action {
        let records = restored[1 - side].records.iter();
        let copies = records.filter(|it| is_new(it, &before[1 - side]) && is_copied(it));
        expected[1 - side].records.extend(copies.cloned());
    }
    for (expected, restored) in expected.iter().zip(restored) {
        let is_restored = expected.is_made(restored);
        prop_assert!(
            is_restored,
            "the inverse of {action:?} does not restore\n{expected:#?}\n{restored:#?}"
        );
    }
    Ok(())
}
