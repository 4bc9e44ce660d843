//! Things with more than one record: an import of an id that another resource has, too.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::importer::Settled;
use crate::{
    diagnostic::Diagnostic,
    message::{REMOVE_RECORD, Text},
    resource::ResourceState,
    state::PriorState,
};

/// What a provider knows a thing by: its type, the provider's reference and the id.
type Thing<'a> = (&'a str, &'a str, &'a str);

/// Returns a warning for each imported resource whose id another one of its type and provider has, recorded before or listed
/// earlier. The import records it nevertheless, as the reference engine does.
pub(super) fn warnings(base: &PriorState, settled: &[Settled]) -> Vec<Diagnostic> {
    let imported = settled.iter().filter_map(|settled| match settled {
        Settled::Imported(record) => Some((record, thing(record)?)),
        _ => None,
    });
    let imported: Vec<(&Arc<ResourceState>, Thing<'_>)> = imported.collect();
    if imported.is_empty() {
        return Vec::new();
    }
    let recorded = base.records().iter().filter(|record| !record.state.delete);
    let mut owners: FxHashMap<Thing<'_>, &ResourceState> = recorded
        .filter_map(|record| Some((thing(&record.state)?, &*record.state)))
        .collect();
    let mut warnings = Vec::new();
    for (record, thing) in imported {
        let owner = owners.entry(thing).or_insert(record);
        if owner.urn != record.urn {
            let text = format!(
                "'{}' has the id '{}' that '{}' has, too: both records manage the same thing, and the deletion of one deletes it \
                 for both.",
                record.urn, record.id, owner.urn
            );
            let text = Text::pair(
                format!("{text} {REMOVE_RECORD}"),
                format!(
                    "{text} Remove one of the records with delete_resources(), which deletes nothing else."
                ),
            );
            warnings.push(Diagnostic::warning(text).about(record.urn.clone()));
        }
    }
    warnings
}

/// Returns the thing that a record manages; `None` for components, providers and resources that are only read.
fn thing(record: &ResourceState) -> Option<Thing<'_>> {
    let manages =
        record.custom && !record.external && !record.is_provider() && !record.id.as_str().is_empty();
    manages.then(|| {
        (
            record.resource_type.as_str(),
            record.provider.as_str(),
            record.id.as_str(),
        )
    })
}
