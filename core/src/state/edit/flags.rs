//! The marks of records that users set: protection from deletion, and replacement by the next update.

use std::sync::Arc;

use super::{Edited, Selection, find::Positions};
use crate::{
    error::{Error, ErrorKind, Result},
    resource::ResourceState,
    state::Snapshot,
};

/// A mark of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flag {
    /// Its deletion is refused.
    Protect,
    /// The next update replaces it.
    Taint,
}

impl Flag {
    fn of(self, state: &ResourceState) -> bool {
        match self {
            Self::Protect => state.protect,
            Self::Taint => state.taint,
        }
    }

    fn set(self, state: &mut ResourceState, value: bool) {
        match self {
            Self::Protect => state.protect = value,
            Self::Taint => state.taint = value,
        }
    }
}

/// Sets a mark of the selected records. Copies that are pending deletion are left out.
///
/// # Errors
/// [`ErrorKind::NotFound`] when a URN has no record, or only one that is pending deletion.
pub(super) fn set(
    snapshot: &Snapshot,
    selection: &Selection,
    flag: Flag,
    value: bool,
    called: &str,
) -> Result<Edited> {
    selection.check(called)?;
    let records = &snapshot.resources;
    let selected: Vec<usize> = match selection.all {
        true => (0..records.len())
            .filter(|index| !records[*index].delete)
            .collect(),
        false => {
            let positions = Positions::of(records);
            positions.require(&selection.urns)?;
            let live = selection.urns.iter().map(|urn| {
                positions.live(urn).ok_or_else(|| {
                    let text = format!("the only record of '{urn}' is a copy that is pending deletion");
                    Error::new(ErrorKind::NotFound, text).with_urn(urn.clone())
                })
            });
            live.collect::<Result<_>>()?
        }
    };
    let mut edited = Edited::new(snapshot.clone());
    for index in selected {
        let record = &mut edited.snapshot.resources[index];
        if flag.of(record) != value {
            flag.set(Arc::make_mut(record), value);
        }
    }
    Ok(edited)
}
