//! Reports of edits as text.

use std::fmt;

use super::{EditKind, EditReport, EditedRecord, MoveReport, SettingsEdit};
use crate::resource::PendingOperationKind;

/// The longest text: what follows is counted.
const MAX_LISTED_RECORDS: usize = 1000;

impl fmt::Display for EditReport {
    /// Writes what has changed, one record after the other with the references that it lost, and the warnings. A dry run is
    /// named as one.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = match (self.records.len(), self.dry_run) {
            (0, false) if self.is_empty() => "nothing has changed".to_owned(),
            (0, true) if self.is_empty() => "dry run: nothing would change".to_owned(),
            (0, false) => "no record has changed:".to_owned(),
            (0, true) => "dry run: no record would change:".to_owned(),
            (1, false) => "1 record has changed:".to_owned(),
            (1, true) => "dry run: 1 record would change:".to_owned(),
            (count, false) => format!("{count} records have changed:"),
            (count, true) => format!("dry run: {count} records would change:"),
        };
        formatter.write_str(&head)?;
        for record in self.records.iter().take(MAX_LISTED_RECORDS) {
            write!(formatter, "\n  {record}")?;
        }
        match self.records.len().saturating_sub(MAX_LISTED_RECORDS) {
            0 => {}
            1 => formatter.write_str("\n  and 1 more record")?,
            more => write!(formatter, "\n  and {more} more records")?,
        }
        match self.settings {
            None => {}
            Some(SettingsEdit::Renamed) => {
                formatter.write_str("\n  renamed the settings file of the stack")?;
            }
            Some(SettingsEdit::Encrypted) => {
                formatter.write_str("\n  encrypted anew the secrets in the settings file of the stack")?;
            }
        }
        for warning in &self.warnings {
            write!(formatter, "\nwarning: {warning}")?;
        }
        Ok(())
    }
}

impl fmt::Display for EditedRecord {
    /// Writes what happened to the record, and below it the references that it lost.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            EditKind::Renamed => "renamed",
            EditKind::Changed => "changed",
            EditKind::Moved => "reordered",
            EditKind::Added => "added",
            EditKind::Removed => "removed",
        };
        write!(formatter, "{kind} {}", self.urn)?;
        if let Some(former) = &self.former_urn {
            write!(formatter, ", formerly {former}")?;
        }
        if let Some(pending) = self.pending_operation {
            write!(formatter, " in the pending operation '{}'", name_of(pending))?;
        }
        if self.pending_deletion {
            formatter.write_str(", an old copy that is pending deletion")?;
        }
        if !self.fields.is_empty() {
            write!(formatter, ": {}", self.fields.join(", "))?;
        }
        for reference in &self.removed_references {
            write!(
                formatter,
                "\n      loses the reference to {} in {}",
                reference.urn, reference.field
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for MoveReport {
    /// Writes the reports of both stacks, one after the other.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "source: {}\ndestination: {}",
            self.source, self.destination
        )
    }
}

const fn name_of(kind: PendingOperationKind) -> &'static str {
    match kind {
        PendingOperationKind::Creating => "creating",
        PendingOperationKind::Updating => "updating",
        PendingOperationKind::Deleting => "deleting",
        PendingOperationKind::Reading => "reading",
        PendingOperationKind::Importing => "importing",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{resource::ResourceState, state::edit::RemovedReference, urn::Urn};

    fn record(kind: EditKind, name: &str) -> EditedRecord {
        let urn = Urn::new("dev", "shop", "", "my:index:Site", name);
        EditedRecord::new(
            kind,
            &ResourceState::new(urn, "my:index:Site".into(), false),
            None,
        )
    }

    #[test]
    fn the_text_lists_records_lost_references_and_warnings() {
        let renamed = EditedRecord {
            former_urn: Some(Urn::new("dev", "shop", "", "my:index:Site", "old")),
            fields: vec!["urn", "dependencies"],
            removed_references: vec![RemovedReference {
                field: "dependencies".to_owned(),
                urn: Urn::new("dev", "shop", "", "my:index:Site", "gone"),
            }],
            ..record(EditKind::Renamed, "new")
        };
        let removed = EditedRecord {
            pending_deletion: true,
            pending_operation: Some(PendingOperationKind::Updating),
            ..record(EditKind::Removed, "other")
        };
        let report = EditReport {
            dry_run: true,
            records: vec![renamed, removed],
            warnings: vec!["the state has no parent".to_owned()],
            ..EditReport::default()
        };
        assert_eq!(
            report.to_string(),
            "dry run: 2 records would change:\n  renamed urn:pulumi:dev::shop::my:index:Site::new, formerly \
             urn:pulumi:dev::shop::my:index:Site::old: urn, dependencies\n      loses the reference to \
             urn:pulumi:dev::shop::my:index:Site::gone in dependencies\n  removed urn:pulumi:dev::shop::my:index:Site::other in the \
             pending operation 'updating', an old copy that is pending deletion\nwarning: the state has no parent"
        );
        let report = EditReport {
            records: vec![record(EditKind::Moved, "a")],
            ..EditReport::default()
        };
        let moved = MoveReport {
            source: report,
            destination: EditReport::default(),
        };
        assert_eq!(
            moved.to_string(),
            "source: 1 record has changed:\n  reordered urn:pulumi:dev::shop::my:index:Site::a\ndestination: nothing has changed"
        );
    }

    #[test]
    fn a_change_of_the_settings_alone_is_no_empty_report() {
        let of = |settings, dry_run| EditReport {
            settings,
            dry_run,
            ..EditReport::default()
        };
        assert_eq!(of(None, false).to_string(), "nothing has changed");
        assert!(of(None, true).is_empty() && !of(Some(SettingsEdit::Renamed), true).is_empty());
        assert_eq!(
            of(Some(SettingsEdit::Renamed), true).to_string(),
            "dry run: no record would change:\n  renamed the settings file of the stack"
        );
        assert_eq!(
            of(Some(SettingsEdit::Encrypted), false).to_string(),
            "no record has changed:\n  encrypted anew the secrets in the settings file of the stack"
        );
    }

    #[test]
    fn very_many_records_are_counted() {
        let many = |count| EditReport {
            records: vec![record(EditKind::Changed, "a"); count],
            ..EditReport::default()
        };
        assert!(many(1001).to_string().ends_with("\n  and 1 more record"));
        assert!(many(1003).to_string().ends_with("\n  and 3 more records"));
        assert_eq!(many(1000).to_string().lines().count(), 1001);
    }
}
