//! The documents of edits of a state, and of their reports.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{HostSecrets, SecretsDocument};
use crate::{
    engine::Stack,
    error::{Error, Result},
    message::Language,
    operation::lock_limit,
    property::json::to_vec,
    resource::PendingOperationKind,
    runtime::Timestamp,
    state::edit::{
        Delete, EditKind, EditReport, EditedRecord, RemovedReference, Rename, Selection, SettingsEdit,
        StateEdit,
    },
    store::HistoryPoint,
};

/// An edit of a stack's state: exactly one of the members, besides [`Self::dry_run`] and [`Self::wait_for_lock`].
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "StateEdit")]
pub struct EditDocument {
    /// Gives a resource another name, parent or type.
    rename: Option<Rename>,
    /// Removes records.
    delete: Option<Delete>,
    /// Protects resources from deletion, until the program registers them without protection.
    protect: Option<Selection>,
    /// Removes the protection.
    unprotect: Option<Selection>,
    /// Marks resources for replacement by the next update.
    taint: Option<Selection>,
    /// Removes these marks.
    untaint: Option<Selection>,
    /// Sorts the records, and removes references to records that do not exist. It has no members.
    #[schemars(extend("x-typescript" = "Record<string, never>"))]
    repair: Option<RepairDocument>,
    /// Replaces the state by one of the history.
    restore: Option<RestoreDocument>,
    /// Replaces the state by a deployment document.
    import_deployment: Option<ReplacementDocument>,
    /// Gives the stack another name.
    rename_stack: Option<StackNameDocument>,
    /// Encrypts the secrets with another passphrase, or by another encryption.
    change_secrets: Option<ChangeSecretsDocument>,
    /// Whether nothing is written, and the report has what the edit would do.
    dry_run: bool,
    /// How long the edit waits for the stack while an operation or another host has locked it, in seconds. Left out, it fails at once. A dry
    /// run does not lock the stack.
    #[schemars(range(min = 0, max = 1_000_000_000), extend("x-takes" = "a number of seconds from 0"))]
    wait_for_lock: Option<f64>,
}

/// A change of the encryption of secrets, by one of the members.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "ChangeSecretsEdit")]
struct ChangeSecretsDocument {
    /// The new passphrase.
    passphrase: Option<String>,
    /// The host's own encryption, or a key service.
    #[schemars(extend("x-typescript" = "{ kind?: string; state?: unknown; url?: string }"))]
    secrets: Option<SecretsDocument>,
}

impl fmt::Debug for ChangeSecretsDocument {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ChangeSecretsDocument")
            .field("secrets", &self.secrets.is_some())
            .finish_non_exhaustive()
    }
}

impl ChangeSecretsDocument {
    async fn apply(self, stack: &Stack, functions: HostSecrets, dry_run: bool) -> Result<EditReport> {
        match (self.passphrase, self.secrets) {
            (Some(passphrase), None) => stack.change_passphrase(&passphrase, dry_run).await,
            (None, Some(document)) => {
                let provider = functions.provider(document, stack.secrets(), stack.runtime())?;
                stack.change_secrets(provider, dry_run).await
            }
            _ => Err(Error::invalid(
                "a change of the encryption takes either a passphrase or an encryption of the host",
            )),
        }
    }
}

/// A repair of a state.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RepairEdit")]
struct RepairDocument {}

/// A state of the history, by one of the members.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schemars(rename = "RestoreEdit")]
struct RestoreDocument {
    /// The number of the operation, counted from 1, the oldest.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    version: Option<u32>,
    /// The last operation that had ended at this time, in the form of RFC 3339.
    time: Option<String>,
    /// The passphrase of that state, where the secrets manager of the stack was changed since; left out, it is the stack's.
    passphrase: Option<Passphrase>,
}

/// A passphrase. Debug output hides it.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
struct Passphrase(String);

impl fmt::Debug for Passphrase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[secret]")
    }
}

/// A deployment document that replaces a state.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ImportDeploymentEdit")]
struct ReplacementDocument {
    /// The document, as text.
    deployment: String,
    /// Whether a state that is invalid, or another stack's, is accepted.
    #[serde(default)]
    force: bool,
}

/// The new name of a stack.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "RenameStackEdit")]
struct StackNameDocument {
    /// The name, `stack` or `project/stack`.
    name: String,
}

/// A reference that an edit removed.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RemovedReference")]
pub(super) struct RemovedReferenceDocument<'a> {
    /// The field that held it: `parent`, `dependencies`, `propertyDependencies.size`…
    field: &'a str,
    /// The URN that it named.
    urn: &'a str,
}

/// A record that an edit touched.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EditedRecord")]
pub(super) struct EditedRecordDocument<'a> {
    /// What happened to it.
    kind: EditKind,
    /// Its URN after the edit; that of a removed record before it.
    urn: &'a str,
    /// Its URN before the edit, where that is another one.
    former_urn: Option<&'a str>,
    /// The fields that differ, by their names in the deployment format.
    fields: &'a [&'static str],
    /// The references that are gone.
    removed_references: Vec<RemovedReferenceDocument<'a>>,
    /// Whether it is an old copy that is pending deletion.
    pending_deletion: bool,
    /// The kind of the pending operation to which it belongs; `null` for a record of the state.
    pending_operation: Option<PendingOperationKind>,
}

/// What an edit did to a state, or would do.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EditReport")]
pub(super) struct EditReportDocument<'a> {
    /// Whether it was a dry run, which writes nothing.
    dry_run: bool,
    /// The records that it touched: those of the state in its order, then removed ones, then those of pending operations. None
    /// for an edit that changes none.
    records: Vec<EditedRecordDocument<'a>>,
    /// What it did to the settings file of the stack: `renamed`, or `encrypted` with the new key.
    #[schemars(with = "Option<String>")]
    settings: Option<SettingsEdit>,
    /// What the user should know.
    warnings: &'a [String],
    /// The report as text for users: each record with the references that it lost, and the warnings.
    text: String,
}

impl<'a> From<&'a EditedRecord> for EditedRecordDocument<'a> {
    fn from(record: &'a EditedRecord) -> Self {
        let reference = |removed: &'a RemovedReference| RemovedReferenceDocument {
            field: &removed.field,
            urn: removed.urn.as_str(),
        };
        Self {
            kind: record.kind,
            urn: record.urn.as_str(),
            former_urn: record.former_urn.as_ref().map(|urn| urn.as_str()),
            fields: &record.fields,
            removed_references: record.removed_references.iter().map(reference).collect(),
            pending_deletion: record.pending_deletion,
            pending_operation: record.pending_operation,
        }
    }
}

/// Writes the report of an edit as JSON.
///
/// # Errors
/// [`crate::ErrorKind::Internal`].
pub fn edit_report_document(report: &EditReport) -> Result<Vec<u8>> {
    to_vec(&EditReportDocument::from(report))
}

impl<'a> From<&'a EditReport> for EditReportDocument<'a> {
    fn from(report: &'a EditReport) -> Self {
        Self {
            dry_run: report.dry_run,
            records: report.records.iter().map(EditedRecordDocument::from).collect(),
            settings: report.settings,
            warnings: &report.warnings,
            text: report.to_string(),
        }
    }
}

impl EditDocument {
    /// Applies the edit to a stack. `functions` has the new encryption of the host, where the edit changes to it.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] for a document with no edit, or with several; those of the edit.
    ///
    /// # Cancel safety
    /// That of [`Stack::edit`].
    pub async fn apply(self, stack: &Stack, functions: HostSecrets) -> Result<EditReport> {
        let dry_run = self.dry_run;
        let stack = &waiting(stack, self.wait_for_lock)?;
        let edits = [
            self.rename.map(StateEdit::Rename).map(Chosen::Records),
            self.delete.map(StateEdit::Delete).map(Chosen::Records),
            self.protect.map(StateEdit::Protect).map(Chosen::Records),
            self.unprotect.map(StateEdit::Unprotect).map(Chosen::Records),
            self.taint.map(StateEdit::Taint).map(Chosen::Records),
            self.untaint.map(StateEdit::Untaint).map(Chosen::Records),
            self.repair.map(|_| Chosen::Records(StateEdit::Repair)),
            self.restore.map(Chosen::Restore),
            self.import_deployment.map(Chosen::Import),
            self.rename_stack.map(Chosen::RenameStack),
            self.change_secrets.map(Chosen::ChangeSecrets),
        ];
        let mut edits = edits.into_iter().flatten();
        let (Some(edit), None) = (edits.next(), edits.next()) else {
            return Err(Error::invalid("an edit of a state has exactly one kind of edit"));
        };
        match edit {
            Chosen::Records(edit) => stack.edit(&edit, dry_run).await,
            Chosen::Restore(restore) => match &restore.passphrase {
                None => stack.restore(&restore.point()?, dry_run).await,
                Some(Passphrase(passphrase)) => {
                    let former = stack.passphrase(passphrase);
                    stack.restore_with_key(&restore.point()?, &former, dry_run).await
                }
            },
            Chosen::Import(import) => {
                let document = import.deployment.as_bytes();
                stack
                    .import_deployment_with(document, import.force, dry_run)
                    .await
            }
            Chosen::RenameStack(rename) => stack.rename_stack(&rename.name, dry_run).await,
            Chosen::ChangeSecrets(change) => change.apply(stack, functions, dry_run).await,
        }
    }
}

/// Returns a stack that waits for its lock as long as `wait_for_lock` states.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] for a number that is no duration in seconds.
pub fn waiting(stack: &Stack, wait_for_lock: Option<f64>) -> Result<Stack> {
    let limit = lock_limit(wait_for_lock)?;
    Ok(limit.map_or_else(|| stack.clone(), |limit| stack.waiting_for_lock(limit)))
}

/// The edit of a document.
enum Chosen {
    Records(StateEdit),
    Restore(RestoreDocument),
    Import(ReplacementDocument),
    RenameStack(StackNameDocument),
    ChangeSecrets(ChangeSecretsDocument),
}

impl RestoreDocument {
    fn point(&self) -> Result<HistoryPoint> {
        match (self.version, &self.time) {
            (Some(version), None) => Ok(HistoryPoint::Version(version as usize)),
            (None, Some(time)) => {
                let parsed = time.parse::<Timestamp>();
                let invalid = |error| {
                    let text = format!("{time:?} is no time in the form of RFC 3339: {error}");
                    Error::invalid(text).with_hint("2026-01-31T12:00:00Z is one")
                };
                parsed.map(HistoryPoint::Time).map_err(invalid)
            }
            _ => Err(Error::invalid(
                "a state of the history is named by its version or by a time",
            )),
        }
    }
}

/// Reads an edit from JSON, applies it to a stack, and returns its report as JSON. `subject` names the call in errors, and
/// `functions` are as for [`EditDocument::apply`].
///
/// # Errors
/// Those of [`super::read`] and [`EditDocument::apply`].
///
/// # Cancel safety
/// That of [`Stack::edit`].
pub async fn edit(
    stack: &Stack,
    json: &[u8],
    functions: HostSecrets,
    language: Language,
    subject: &str,
) -> Result<Vec<u8>> {
    let document: EditDocument = super::read(json, language, subject)?;
    edit_report_document(&document.apply(stack, functions).await?)
}
