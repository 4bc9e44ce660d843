//! The dependents of records, where each reference means one copy of a URN.

use std::sync::Arc;

use super::references::References;
use crate::resource::ResourceState;

/// Returns the positions of all records that need one of `roots`, directly or not, without the roots, in order. Children
/// need their parents, resources their providers, and views their owners.
///
/// References are resolved as in [`super::stable_order`]: a record that can only mean another copy of a URN is no
/// dependent of this one.
pub(crate) fn dependents_of(records: &[Arc<ResourceState>], roots: &[usize]) -> Vec<usize> {
    let references = References::of(records);
    let mut dependents: Vec<Vec<u32>> = vec![Vec::new(); records.len()];
    for (record, (index, number)) in records.iter().zip((0..).zip(0_u32..)) {
        let owner = record.view_of.as_ref();
        let owner = owner.and_then(|owner| references.find(records, index, owner));
        for need in references.needs(records, index).into_iter().chain(owner) {
            dependents[need].push(number);
        }
    }
    let mut seen = vec![false; records.len()];
    roots.iter().for_each(|root| seen[*root] = true);
    let mut open = roots.to_vec();
    let mut found = Vec::new();
    while let Some(index) = open.pop() {
        for dependent in dependents[index].iter().map(|dependent| *dependent as usize) {
            if !std::mem::replace(&mut seen[dependent], true) {
                found.push(dependent);
                open.push(dependent);
            }
        }
    }
    found.sort_unstable();
    found
}
