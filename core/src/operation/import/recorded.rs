//! Names of recorded resources: what a request that names them as parents or providers refers to.

use rustc_hash::FxHashSet;

use super::{
    faults::{described, joined, own_name},
    request::{ImportRequest, ImportResource},
};
use crate::{error::Result, message::nearest_names, resource::ResourceState, urn::Urn};

/// How many URNs of resources with one name an error lists.
const MAX_LISTED_URNS: usize = 5;

/// Returns whether a resource refers to a name that neither the request nor its name table has.
pub(super) fn has_recorded_names(request: &ImportRequest) -> bool {
    let own = own_names(request);
    let mut rows = request.resources.iter();
    rows.any(|row| references(row).any(|(_, text)| is_recorded_name(text, &own, request)))
}

/// Replaces the names of recorded resources by their URNs.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] for a name that no resource has, with the nearest one, or that several have.
pub(super) fn name_records<'a>(
    request: &mut ImportRequest,
    records: impl Iterator<Item = &'a ResourceState> + Clone,
) -> Result<()> {
    let own: FxHashSet<String> = own_names(request).into_iter().map(str::to_owned).collect();
    let own: FxHashSet<&str> = own.iter().map(String::as_str).collect();
    let mut faults = Vec::new();
    let mut found = Vec::new();
    for (index, row) in request.resources.iter().enumerate() {
        for (what, text) in references(row) {
            if !is_recorded_name(text, &own, request) {
                continue;
            }
            let fits = |record: &&ResourceState| what == "parent" || record.is_provider();
            let named = records.clone().filter(fits);
            let urns: Vec<&Urn> = named
                .clone()
                .map(|record| &record.urn)
                .filter(|urn| urn.name() == text)
                .collect();
            match urns.as_slice() {
                [urn] => found.push((index, what, urn.to_string())),
                [] => {
                    let names = named.map(|record| record.urn.name());
                    let table = request.name_table.keys().map(String::as_str);
                    let names = own.iter().copied().chain(table).chain(names);
                    let near = nearest_names(text, names, 1).into_iter().next();
                    let near = near.map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
                    let places = match what {
                        "provider" => "in 'nameTable' or 'resources'",
                        _ => "in 'nameTable'",
                    };
                    let it = described(index, row);
                    faults.push(format!(
                        "the {what} '{text}' for {it} has no entry {places}{near}"
                    ));
                }
                several => {
                    let listed = several.iter().take(MAX_LISTED_URNS);
                    let listed: Vec<_> = listed.map(|urn| format!("'{urn}'")).collect();
                    faults.push(format!(
                        "the {what} '{text}' for {} is the name of {} recorded resources: a URN names one, such as {}",
                        described(index, row),
                        several.len(),
                        listed.join(", ")
                    ));
                }
            }
        }
    }
    if !faults.is_empty() {
        return Err(joined(faults));
    }
    for (index, what, urn) in found {
        if let Some(row) = request.resources.get_mut(index) {
            match what {
                "parent" => row.parent = urn,
                _ => row.provider = urn,
            }
        }
    }
    Ok(())
}

fn own_names(request: &ImportRequest) -> FxHashSet<&str> {
    request.resources.iter().map(own_name).collect()
}

fn references(row: &ImportResource) -> impl Iterator<Item = (&'static str, &str)> {
    let references = [
        ("parent", row.parent.as_str()),
        ("provider", row.provider.as_str()),
    ];
    references.into_iter().filter(|(_, text)| !text.is_empty())
}

fn is_recorded_name(text: &str, own: &FxHashSet<&str>, request: &ImportRequest) -> bool {
    Urn::parse(text).is_err() && !own.contains(text) && !request.name_table.contains_key(text)
}
