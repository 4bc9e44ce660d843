//! Stacks whose state the host supplies: a deployment document is the input, and results contain the next one.

use crate::{
    error::{ErrorKind, Result},
    operation::{StackContext, WRONG_KEY},
};

/// Creates the stack from a deployment document, in a store of its own.
pub(super) async fn supply(context: &StackContext, document: &[u8]) -> Result<()> {
    let name = context.storage.name();
    create(context, document).await.map_err(|error| {
        let named = |text: &str| format!("the deployment of stack '{name}': {text}");
        let text = error.text().clone().map(named, named);
        let error = error.with_text(text);
        match error.kind() {
            ErrorKind::Decrypt => error.with_hint(WRONG_KEY),
            _ => error,
        }
    })
}

async fn create(context: &StackContext, document: &[u8]) -> Result<()> {
    let mut snapshot = context
        .storage
        .parse_supplied(&*context.secrets, document)
        .await?;
    let is_new = snapshot.resources.is_empty() && snapshot.pending_operations.is_empty();
    if snapshot.secrets.is_none() && !is_new {
        // The document may contain secrets in plaintext.
        snapshot.secrets = Some(context.new_secrets(&*context.secrets).await?);
    }
    context.storage.create_with(&snapshot).await
}
