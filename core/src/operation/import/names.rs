//! The names of a request, and what the references of its resources mean.

use rustc_hash::FxHashMap;

use super::{
    faults::{described, is_provider, own_name},
    request::{ImportRequest, ImportResource},
    row::{Parent, RowProvider},
};
use crate::{message::nearest_names, resource::ProviderReference, token::TypeToken, urn::Urn};

/// What precedes the kind of a reference in the fault of one with several meanings.
const AMBIGUOUS: &str = "an ambiguous ";

/// The names of a request, and the rows that have them.
pub(super) struct Names<'a> {
    request: &'a ImportRequest,
    rows: FxHashMap<&'a str, Vec<usize>>,
}

/// What a name refers to.
enum Referent {
    Row(usize),
    Recorded(Urn),
    Provider(ProviderReference),
}

impl<'a> Names<'a> {
    pub(super) fn new(request: &'a ImportRequest) -> Self {
        let mut rows: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
        for (index, row) in request.resources.iter().enumerate() {
            rows.entry(own_name(row)).or_default().push(index);
        }
        Self { request, rows }
    }

    /// Finds what a text refers to; `accepts` selects the rows that it can mean.
    fn find(
        &self,
        text: &str,
        what: &str,
        index: usize,
        accepts: impl Fn(&ImportResource) -> bool,
    ) -> Result<Referent, String> {
        let rows = &self.request.resources;
        let it = || {
            rows.get(index)
                .map(|row| described(index, row))
                .unwrap_or_default()
        };
        if let Ok(urn) = Urn::parse(text) {
            return Ok(Referent::Recorded(urn));
        }
        let named = self.rows.get(text).into_iter().flatten().copied();
        let named = named.filter(|row| rows.get(*row).is_some_and(&accepts));
        let named: Vec<usize> = named.collect();
        match (named.as_slice(), self.request.name_table.get(text)) {
            ([row], None) => Ok(Referent::Row(*row)),
            ([], Some(urn)) => Urn::parse(urn)
                .map(Referent::Recorded)
                .map_err(|_| format!("the entry '{text}' of the name table is no URN")),
            ([], None) => {
                let hint = self.nearest(text);
                let hint = hint
                    .map(|near| format!("; did you mean '{near}'?"))
                    .unwrap_or_default();
                let places = match what {
                    "provider" => "in 'nameTable' or 'resources'",
                    _ => "in 'nameTable'",
                };
                Err(format!(
                    "the {what} '{text}' for {} has no entry {places}{hint}",
                    it()
                ))
            }
            _ => Err(format!("{} has {AMBIGUOUS}{what}", it())),
        }
    }

    /// Returns the known name that is most like a text.
    fn nearest(&self, text: &str) -> Option<&str> {
        let table = self.request.name_table.keys().map(String::as_str);
        let rows = self.request.resources.iter().map(own_name);
        let names = rows.chain(table).filter(|name| !name.is_empty());
        nearest_names(text, names, 1).into_iter().next()
    }

    pub(super) fn parent(&self, index: usize, faults: &mut Vec<String>) -> Parent {
        let text = self.request.resources.get(index).map(|row| row.parent.as_str());
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return Parent::Root;
        };
        match self.find(text, "parent", index, |_| true) {
            Ok(Referent::Row(row)) => Parent::Row(row),
            Ok(Referent::Recorded(urn)) => Parent::Recorded(urn),
            // A text of this form is only looked for as a provider.
            Ok(Referent::Provider(reference)) => Parent::Recorded(reference.urn),
            Err(fault) => {
                faults.push(fault);
                Parent::Root
            }
        }
    }

    /// Returns the provider that a row names; `None` without a name.
    pub(super) fn provider(&self, index: usize, faults: &mut Vec<String>) -> Option<RowProvider> {
        let row = self.request.resources.get(index)?;
        let text = Some(row.provider.as_str()).filter(|text| !text.is_empty())?;
        let it = described(index, row);
        // Names of other resources may be those of a provider.
        let found = match self.reference(text) {
            Some(reference) => Ok(Referent::Provider(reference)),
            None => self.find(text, "provider", index, is_provider).or_else(|fault| {
                let found = self.find(text, "provider", index, |_| true);
                found.map_err(|other| if other.contains(AMBIGUOUS) { other } else { fault })
            }),
        };
        let (kind, provider) = match found {
            Err(fault) => {
                faults.push(fault);
                return None;
            }
            Ok(Referent::Row(row)) => {
                let kind = self
                    .request
                    .resources
                    .get(row)
                    .map(|row| row.resource_type.clone());
                (kind.unwrap_or_default(), RowProvider::Row(row))
            }
            Ok(Referent::Recorded(urn)) => {
                let inputs = self.request.provider_inputs.get(text);
                let inputs = inputs.map(|inputs| inputs.0.clone()).unwrap_or_default();
                (urn.resource_type().to_owned(), RowProvider::Recorded(urn, inputs))
            }
            Ok(Referent::Provider(reference)) => {
                let kind = reference.urn.resource_type().to_owned();
                (kind, RowProvider::Referred(reference))
            }
        };
        faults.extend(package_fault(row, &it, &TypeToken::from(kind.as_str())));
        Some(provider)
    }

    /// Returns the reference of a provider, `URN::ID`, as records have it, that a text or its entry of the name table is.
    fn reference(&self, text: &str) -> Option<ProviderReference> {
        let text = self.request.name_table.get(text).map_or(text, String::as_str);
        // The name of a URN can contain '::', that of a provider with an id always does.
        let reference = ProviderReference::parse(text).ok()?;
        (!reference.id.is_empty()).then_some(reference)
    }
}

/// Returns the fault of a provider of the type `kind` that does not serve the type of a row.
fn package_fault(row: &ImportResource, it: &str, kind: &TypeToken) -> Option<String> {
    let text = &row.provider;
    let wanted = TypeToken::from(row.resource_type.as_str());
    // The provider of a plugin's own package serves its extensions, too.
    let extension = row.extension.as_ref().map(|extension| extension.name.as_str());
    let serves =
        |package: &str| package == wanted.asked_package() || extension == Some(wanted.asked_package());
    match kind.provided_package() {
        None => Some(format!("the provider '{text}' for {it} is not a provider")),
        Some(package) if !serves(package) => Some(format!(
            "the provider '{text}' for {it} is one of the package '{package}', not of '{}'",
            wanted.asked_package()
        )),
        Some(_) => None,
    }
}
