//! Replacing the whole state: by a deployment document, or by a state of the history.

use std::sync::Arc;

use super::{
    StackContext,
    change_secrets::require_key,
    edit::{warn, write},
    stack_key::{WRONG_KEY, recorded_manager},
};
use crate::{
    error::{Error, ErrorKind, Result},
    message,
    resource::PendingOperation,
    secrets::{SecretsManager, SecretsProvider},
    state::{
        Snapshot,
        deployment::{SecretsAccess, read_checkpoint},
        edit::{EditReport, Edited, rename_stack},
    },
    store::{HistoryPoint, ORGANIZATION, Replaced, Replacement, StackName, StackSession},
};

/// The hint for a state of the history whose secrets have another key than the stack.
const FORMER_KEY: &str = "a state from before a change of the secrets manager is restored with the former passphrase, as the option \
                          `passphrase` of restore";

/// The hint for a state of the history whose secrets have neither the given key nor the stack's present one.
const NEITHER_KEY: &str = "the option `passphrase` of restore is the passphrase that the stack had when that state was recorded; \
                           neither it nor the present one opens the state";

/// Replaces the state by a deployment document.
///
/// # Errors
/// [`crate::ErrorKind::State`] for a document that cannot be read, and without `force` for a state that is invalid or another
/// stack's; [`crate::ErrorKind::Conflict`] while the stack is locked elsewhere.
pub(crate) async fn import(
    stack: &StackContext,
    document: &[u8],
    force: bool,
    dry_run: bool,
) -> Result<EditReport> {
    let imported = stack
        .storage
        .read_imported(&*stack.secrets, document, force)
        .await;
    let (snapshot, mut warnings) = imported?;
    warnings.extend(snapshot.pending_operations.iter().map(|pending| {
        let of = described(pending);
        format!("the imported state has the pending operation {of}, which stays; forget_pending() removes it")
    }));
    if let Some(manager) = snapshot.secrets.as_ref().filter(|manager| !manager.is_open()) {
        warnings.push(format!(
            "the secrets manager '{}' of the document cannot be opened: the stack keeps its own",
            manager.kind()
        ));
    }
    replace(stack, snapshot, warnings, Replacement::Import, dry_run).await
}

/// Replaces the state by one of the stack's history. The URNs of a stack that was renamed since get its present name, and the
/// secrets are encrypted with its present key; `former` opens those of the history, where that is another one.
///
/// # Errors
/// [`crate::ErrorKind::NotFound`] when the history has no such state; [`crate::ErrorKind::Decrypt`] when a key is not that of
/// the state or of the history; as [`import`] otherwise.
pub(crate) async fn restore(
    stack: &StackContext,
    point: &HistoryPoint,
    former: Option<&dyn SecretsProvider>,
    dry_run: bool,
) -> Result<EditReport> {
    if stack.is_supplied {
        let text = "a stack whose state the host supplies has no history";
        return Err(
            Error::invalid(text).with_hint("import_deployment() restores a document that the host has kept")
        );
    }
    match stack.storage.load_unlocked(&*stack.secrets).await {
        Ok(present) => require_key(stack, &present.snapshot).await?,
        Err(error) if error.kind() == ErrorKind::Decrypt => return Err(error.of_stack(stack.storage.name())),
        // A state that cannot be read is replaced.
        Err(_) => {}
    }
    let bytes = stack.storage.read_copy(point).await?;
    let read = async |secrets: &dyn SecretsProvider| {
        read_checkpoint(&bytes, SecretsAccess::Open(secrets), true).await
    };
    let present = &*stack.secrets;
    let (checkpoint, is_former) = match (former, read(former.unwrap_or(present)).await) {
        (None, read) => (read, false),
        // The state can have the present key already.
        (Some(_), Err(error)) if error.kind() == ErrorKind::Decrypt => match read(present).await {
            Ok(checkpoint) => (Ok(checkpoint), false),
            Err(_) => (Err(error), true),
        },
        (Some(_), read) => (read, true),
    };
    let checkpoint = checkpoint.map_err(|error| match (error.kind(), is_former) {
        (ErrorKind::Decrypt, false) => error.with_hint(FORMER_KEY),
        (ErrorKind::Decrypt, true) => error.with_hint(NEITHER_KEY),
        _ => error,
    })?;
    let mut snapshot = checkpoint.snapshot.unwrap_or_default();
    if is_former {
        snapshot.secrets = None;
    }
    let own = stack.storage.name();
    if let Ok(former) = StackName::parse(&checkpoint.stack)
        && former != *own
    {
        let names = |name: &StackName| (name.project().to_owned(), name.stack().to_owned());
        let (former, own) = (names(&former), names(own));
        rename_stack(&mut snapshot, (&former.0, &former.1), (&own.0, &own.1));
    }
    replace(stack, snapshot, Vec::new(), Replacement::Restore, dry_run).await
}

async fn replace(
    stack: &StackContext,
    mut snapshot: Snapshot,
    mut warnings: Vec<String>,
    replacement: Replacement,
    dry_run: bool,
) -> Result<EditReport> {
    let (storage, secrets, creates) = (&stack.storage, &*stack.secrets, stack.is_created_by_writes());
    let Replaced {
        before,
        warnings: about_state,
    } = match dry_run {
        true => {
            storage.refuse_unsettled().await?;
            let replaced = storage.load_replaced(secrets, creates).await?;
            let is_open = |state: &Snapshot| state.secrets.as_ref().is_some_and(|manager| manager.is_open());
            if !is_open(&snapshot) && !is_open(&replaced.before) {
                recorded_secrets(stack, secrets).await?;
            }
            replaced
        }
        false => {
            let write = async |session: &StackSession, former: Option<&Snapshot>, edited: &mut Snapshot| {
                write(stack, session, former, edited).await
            };
            let create = async || match recorded_secrets(stack, secrets).await? {
                Some(manager) => Ok(manager),
                None => stack.new_secrets(secrets).await,
            };
            storage
                .replace_state(secrets, &mut snapshot, creates, replacement, create, write)
                .await?
        }
    };
    let kept = &snapshot.pending_operations;
    let lost = before
        .pending_operations
        .iter()
        .filter(|pending| !kept.contains(pending));
    warnings.extend(lost.map(|pending| {
        let of = described(pending);
        format!("the state no longer has the pending operation {of}")
    }));
    let mut edited = Edited::new(snapshot);
    edited.warnings = warnings;
    let mut report = EditReport::of(&before, &edited);
    warn(&mut report, &about_state);
    Ok(EditReport { dry_run, ..report })
}

/// Returns the manager that the state names, also one that cannot be read; `None` when it names none, or an unknown one.
///
/// # Errors
/// [`ErrorKind::Decrypt`] when the stack was opened with another key.
async fn recorded_secrets(
    stack: &StackContext,
    secrets: &dyn SecretsProvider,
) -> Result<Option<Arc<dyn SecretsManager>>> {
    let stored = match stack.storage.read().await {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        stored => stored?,
    };
    let Some((kind, state)) = recorded_manager(&stored) else {
        return Ok(None);
    };
    match secrets.open(&kind, state.as_ref()).await {
        Ok(manager) => Ok(Some(manager)),
        Err(error) if error.kind() == ErrorKind::Decrypt => {
            let library = format!("stack '{}': {}", stack.storage.name(), error.message());
            let text = message::cannot_encrypt(error.message(), &library);
            Err(error.with_text(text).with_phase("encrypt").with_hint(WRONG_KEY))
        }
        Err(_) => Ok(None),
    }
}

fn described(pending: &PendingOperation) -> String {
    let kind = format!("{:?}", pending.kind).to_lowercase();
    format!("'{kind}' of '{}'", pending.resource.urn)
}

/// Returns the name that a text gives a stack: its own name alone, in the project of `stack`, or a full one.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] for a name that no stack can have.
pub(super) fn new_name(stack: &StackContext, text: &str) -> Result<StackName> {
    match text.contains('/') {
        true => StackName::parse(text)
            .map_err(|error| error.with_hint(format!("the organization is always '{ORGANIZATION}'"))),
        false => StackName::new(&stack.project, text),
    }
}
