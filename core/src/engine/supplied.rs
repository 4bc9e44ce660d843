//! Stacks whose state the host supplies: a deployment document goes in, and results carry the next one out.

use crate::{
    engine::stack::WRONG_KEY,
    error::{ErrorKind, Result},
    operation::StackContext,
};

/// Creates the stack with the state of a deployment document, in a store that has no other stack.
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
        // The document may show secrets in the clear.
        snapshot.secrets = Some(context.new_secrets(&*context.secrets).await?);
    }
    context.storage.create_with(&snapshot).await
}
