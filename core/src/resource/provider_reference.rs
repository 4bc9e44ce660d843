//! Provider references: `<urn of the provider resource>::<its id>`.

use std::fmt;

use crate::{
    error::{Error, Result},
    token::ResourceId,
    urn::Urn,
};

/// The placeholder for an unknown id (the string sentinel of unknown values).
pub(crate) const UNKNOWN_ID: &str = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

/// A reference to one configured provider.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ProviderReference {
    /// The provider resource.
    pub urn: Urn,
    /// Its id; the unknown sentinel during previews.
    pub id: ResourceId,
}

impl ProviderReference {
    /// Creates a reference; an empty id becomes the unknown sentinel.
    #[must_use]
    pub fn new(urn: Urn, id: ResourceId) -> Self {
        let id = if id.is_empty() { UNKNOWN_ID.into() } else { id };
        Self { urn, id }
    }

    /// Reads a reference; the last `::` separates URN and id.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] when a part is missing or the URN is not that of a provider.
    pub fn parse(text: &str) -> Result<Self> {
        // As in the reference engine, the error names the invalid URN without the id.
        let (urn, id) = text.rsplit_once("::").unwrap_or((text, ""));
        let bad = || Error::invalid(format!("could not parse provider reference: {urn:?}"));
        let urn = Urn::parse(urn).map_err(|_| bad())?;
        let is_provider = urn
            .resource_type()
            .strip_prefix("pulumi:providers:")
            .is_some_and(|name| !name.is_empty());
        if is_provider {
            Ok(Self::new(urn, id.into()))
        } else {
            Err(bad())
        }
    }

    /// Returns the package that the provider serves.
    #[must_use]
    pub fn package(&self) -> &str {
        self.urn.resource_type().rsplit(':').next().unwrap_or_default()
    }

    /// Describes the provider where it is of another package than `package`: it knows no types of that one.
    pub(crate) fn misplaced(&self, package: &str) -> Option<String> {
        let provided = self.package();
        (provided != package)
            .then(|| format!("a provider of the package {provided:?} for the package {package:?}"))
    }
}

impl fmt::Display for ProviderReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}::{}", self.urn, self.id)
    }
}

impl fmt::Debug for ProviderReference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}
