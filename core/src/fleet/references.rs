//! Which stacks the recorded state of a stack refers to.

use crate::{
    engine::Stack,
    error::{Error, ErrorKind, Result},
    operation::StackContext,
    property::PropertyValue,
    state::deployment::references_of_checkpoint,
    store::StackName,
    token::STACK_REFERENCE,
};

/// Returns the stacks that the recorded references of a stack name, without the references that name none; none for a stack that does not
/// exist. Only a state with the journal of an interrupted operation needs the stack's secrets.
///
/// # Errors
/// When the state cannot be read.
pub async fn referenced_stacks(stack: &Stack) -> Result<Vec<StackName>> {
    recorded_references(stack.context()).await
}

/// Returns the stacks that the recorded references of a stack name; none for one that does not exist.
///
/// # Errors
/// When the state cannot be read.
pub(super) async fn recorded_references(stack: &StackContext) -> Result<Vec<StackName>> {
    let stored = match stack.storage.read().await {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        stored => stored?,
    };
    let names = match stored.has_journal() {
        // An interrupted operation may have recorded further references.
        true => of_journal(stack).await?,
        false => references_of_checkpoint(&stored.checkpoint).map_err(|error| {
            Error::new(
                ErrorKind::State,
                format!("the checkpoint is no JSON of its form: {error}"),
            )
        })?,
    };
    Ok(names
        .iter()
        .filter_map(|name| stack.referred_stack(name).ok())
        .collect())
}

async fn of_journal(stack: &StackContext) -> Result<Vec<String>> {
    let loaded = stack.storage.load_unlocked(&*stack.secrets).await?;
    let records = loaded.snapshot.resources.iter();
    let references = records.filter(|state| state.resource_type.as_str() == STACK_REFERENCE);
    let names =
        references.filter_map(|state| state.inputs.get("name").map(PropertyValue::unwrapped)?.as_str());
    Ok(names.map(str::to_owned).collect())
}
