//! Finding the records that an edit names, with hints for a URN that the state does not have.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::{
    error::{Error, ErrorKind, Result},
    message::{Text, nearest_urns, unknown_record},
    resource::ResourceState,
    urn::Urn,
};

/// The limit of hints for one unknown URN.
const MAX_HINTS: usize = 3;
/// The limit of unknown URNs with hints in one error.
const MAX_HINTED: usize = 8;

/// The positions of records by URN.
pub(super) struct Positions<'a> {
    records: &'a [Arc<ResourceState>],
    by_urn: FxHashMap<&'a Urn, Vec<usize>>,
}

impl<'a> Positions<'a> {
    pub(super) fn of(records: &'a [Arc<ResourceState>]) -> Self {
        let mut by_urn: FxHashMap<_, Vec<usize>> = FxHashMap::default();
        by_urn.reserve(records.len());
        for (index, record) in records.iter().enumerate() {
            by_urn.entry(&record.urn).or_default().push(index);
        }
        Self { records, by_urn }
    }

    /// Returns the positions of all records of a URN, in order.
    pub(super) fn all(&self, urn: &Urn) -> &[usize] {
        self.by_urn.get(urn).map_or(&[], Vec::as_slice)
    }

    /// Returns the position of the record that is not marked for deletion.
    pub(super) fn live(&self, urn: &Urn) -> Option<usize> {
        let all = self.all(urn).iter().copied();
        all.into_iter().find(|index| !self.records[*index].delete)
    }

    /// Refuses URNs that have no record.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] that names all of them, with similar URNs as hints.
    pub(super) fn require(&self, urns: &[Urn]) -> Result<()> {
        let unknown: Vec<&Urn> = urns.iter().filter(|urn| self.all(urn).is_empty()).collect();
        let Some(first) = unknown.first() else {
            return Ok(());
        };
        let lines = |text: &dyn Fn(&Urn, &[&str]) -> String| {
            let lines = unknown.iter().enumerate().map(|(number, urn)| {
                let near = match number < MAX_HINTED {
                    true => self.near(urn),
                    false => Vec::new(),
                };
                text(urn, &near)
            });
            lines.collect::<Vec<_>>().join("\n")
        };
        let reference = lines(&|urn, near| unknown_record(urn.as_str(), near));
        let library = lines(&|urn, _| format!("the state has no resource '{urn}'"));
        let error =
            Error::new(ErrorKind::NotFound, Text::pair(reference, library)).with_urn((*first).clone());
        let near: Vec<&str> = unknown
            .iter()
            .take(MAX_HINTED)
            .flat_map(|urn| self.near(urn))
            .collect();
        Err(match near.is_empty() {
            true => error.with_hint("resources() returns the records of the state with their URNs"),
            false => near.iter().fold(error, |error, near| {
                error.with_hint(format!("did you mean '{near}'?"))
            }),
        })
    }

    /// Returns the only record of a URN.
    ///
    /// # Errors
    /// Those of [`Self::require`]; [`ErrorKind::InvalidInput`] when there are several.
    pub(super) fn only(&self, urn: &Urn) -> Result<usize> {
        self.require(std::slice::from_ref(urn))?;
        match self.all(urn) {
            [index] => Ok(*index),
            several => Err(self.ambiguous(urn, several)),
        }
    }

    /// Returns the error of a URN that several records have.
    pub(super) fn ambiguous(&self, urn: &Urn, several: &[usize]) -> Error {
        let ids: Vec<String> = several
            .iter()
            .map(|index| {
                let record = &self.records[*index];
                let mark = if record.delete { " (pending deletion)" } else { "" };
                format!("'{}'{mark}", record.id)
            })
            .collect();
        let library = format!(
            "the URN '{urn}' is that of {} records, with the ids {}",
            several.len(),
            ids.join(", ")
        );
        let reference = "The input URN ambiguously refers to multiple resources";
        Error::new(ErrorKind::InvalidInput, Text::pair(reference, library))
            .with_urn(urn.clone())
            .with_hint("an update or a destroy deletes the copies that are pending deletion")
    }

    /// Returns the URNs that are similar to an unknown one, the nearest first.
    fn near(&self, unknown: &Urn) -> Vec<&'a str> {
        let known = self.records.iter().map(|record| record.urn.as_str());
        nearest_urns(unknown.as_str(), known, MAX_HINTS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, delete: bool) -> Arc<ResourceState> {
        let urn = Urn::new("dev", "shop", "", "pkg:index:Type", name);
        let mut state = ResourceState::new(urn, "pkg:index:Type".into(), true);
        state.delete = delete;
        state.id = format!("{name}-{delete}").into();
        Arc::new(state)
    }

    #[test]
    fn an_unknown_urn_gets_the_three_nearest_as_hints_and_the_reference_s_text() {
        let records = [
            "bucket",
            "buckets",
            "Bucket2",
            "bucket33",
            "far-away-from-all-others-in-the-list",
        ];
        let records = records.map(|name| record(name, false));
        let positions = Positions::of(&records);
        let urn = |name: &str| Urn::new("dev", "shop", "", "pkg:index:Type", name);
        let error = positions.require(&[urn("bucket"), urn("buckt")]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert_eq!(
            error.message(),
            format!("the state has no resource '{}'", urn("buckt"))
        );
        let hints = ["bucket", "buckets", "Bucket2"].map(|name| format!("did you mean '{}'?", urn(name)));
        assert_eq!(error.hints(), hints);
        let reference = format!(
            "No such resource \"{}\" exists in the current state\nDid you mean:\n  {}\n  {}\n  {}",
            urn("buckt"),
            urn("bucket"),
            urn("buckets"),
            urn("Bucket2")
        );
        assert_eq!(error.reference_message(), reference);
    }

    #[test]
    fn all_unknown_urns_are_named() {
        let records = [record("a", false)];
        let other = |name: &str| Urn::new("dev", "another-project", "", "pkg:index:Type", name);
        let error = Positions::of(&records)
            .require(&[other("x"), other("y")])
            .unwrap_err();
        assert_eq!(error.message().lines().count(), 2);
        assert_eq!(error.hints().len(), 1);
        assert!(error.hints()[0].starts_with("resources()"));
    }

    #[test]
    fn a_urn_of_several_records_is_ambiguous_and_one_of_them_is_live() {
        let records = [record("a", true), record("a", false)];
        let positions = Positions::of(&records);
        assert_eq!(positions.live(&records[0].urn), Some(1));
        let error = positions.only(&records[0].urn).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(
            error.message().contains("'a-true' (pending deletion), 'a-false'"),
            "{error}"
        );
    }
}
