//! The documents of moves of resources between two stacks, and of their reports.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::edit::{EditReportDocument, waiting};
use crate::{
    engine::Stack,
    error::Result,
    message::Language,
    property::json::to_vec,
    state::edit::{Move, MoveReport},
};

/// A move of resources to another stack.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "MoveResources")]
pub struct MoveEditDocument {
    /// The resources.
    #[serde(rename = "move")]
    edit: Move,
    /// Whether nothing is written, and the report has what the move would do.
    #[serde(default)]
    dry_run: bool,
    /// How long the move waits for both stacks while an operation or another host has locked one, in seconds. Left out, it fails at once. A
    /// dry run does not lock the stacks.
    #[serde(default)]
    #[schemars(range(min = 0, max = 1_000_000_000), extend("x-takes" = "a number of seconds from 0"))]
    wait_for_lock: Option<f64>,
}

/// What a move of resources did to both stacks, or would do.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "MoveReport")]
pub(super) struct MoveReportDocument<'a> {
    /// The stack that had the resources: they are removed, and other records lose their references to them.
    source: EditReportDocument<'a>,
    /// The stack that has them now. Records that came from the source have their URNs there as former ones.
    destination: EditReportDocument<'a>,
    /// The reports of both stacks as text for users.
    text: String,
}

/// Writes the report of a move as JSON.
///
/// # Errors
/// [`crate::ErrorKind::Internal`].
pub fn move_report_document(report: &MoveReport) -> Result<Vec<u8>> {
    to_vec(&MoveReportDocument {
        source: EditReportDocument::from(&report.source),
        destination: EditReportDocument::from(&report.destination),
        text: report.to_string(),
    })
}

/// Reads a move from JSON, makes it, and returns its report as JSON. `subject` names the call in errors.
///
/// # Errors
/// Those of [`super::read`] and [`Stack::move_resources`].
///
/// # Cancel safety
/// That of [`Stack::move_resources`].
pub async fn move_resources(
    stack: &Stack,
    destination: &Stack,
    json: &[u8],
    language: Language,
    subject: &str,
) -> Result<Vec<u8>> {
    let document: MoveEditDocument = super::read(json, language, subject)?;
    let stack = waiting(stack, document.wait_for_lock)?;
    let report = stack.move_resources(destination, &document.edit, document.dry_run);
    move_report_document(&report.await?)
}
