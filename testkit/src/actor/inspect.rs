//! What is read without a program, and the pending operations that are forgotten.

use std::sync::Arc;

use serde_json::{Value, json};
use stackwright::{
    Engine, Language, Result, Stack,
    binding::{self, HostSecrets},
    operation::AnalysisOptions,
};

use super::{
    encryption::Reversal,
    policies::attach_packs,
    run::{Answer, broken, error},
    wire::Wire,
};

/// Answers the request `inspect`.
pub(super) async fn inspect(
    engine: &Engine,
    stack: &Stack,
    destination: Option<&Stack>,
    message: &Value,
) -> Answer {
    let found = find(engine, stack, destination, message)
        .await
        .map_err(|it| error(&it))?;
    let found: Value =
        serde_json::from_slice(&found).map_err(|error| broken(format!("what was read: {error}")))?;
    Ok(json!({ "found": found }))
}

/// Answers the part `analysis`: the state as packs of policies find it.
pub(super) async fn analysis(stack: &Stack, message: &Value, wire: &Arc<Wire>) -> Answer {
    let options = message["options"].to_string();
    let options = binding::read::<AnalysisOptions>(options.as_bytes(), Language::Rust, "an analysis");
    let mut options = options.map_err(|it| error(&it))?;
    attach_packs(&mut options.local_policy_packs, &message["policyPacks"], wire)?;
    let analysis = stack.analyze(&options).await.map_err(|it| error(&it))?;
    Ok(json!({ "found": binding::analysis_document(&analysis) }))
}

async fn find(
    engine: &Engine,
    stack: &Stack,
    destination: Option<&Stack>,
    message: &Value,
) -> Result<Vec<u8>> {
    let number = |name: &str| {
        message[name]
            .as_u64()
            .and_then(|number| usize::try_from(number).ok())
    };
    let pending = message["pending"].as_str().unwrap_or_default();
    match message["part"].as_str().unwrap_or_default() {
        "resources" => {
            let records = stack.resources().await?;
            binding::records_document(records.iter().map(|record| &**record), false)
        }
        "graph" => Ok(binding::graph_document(&stack.graph().await?)
            .to_string()
            .into_bytes()),
        "pending" => binding::pending_document(&stack.pending().await?, false),
        "stacks" => {
            let stacks = engine.stacks(None, true).await?;
            Ok(binding::stacks_document(&stacks).to_string().into_bytes())
        }
        "history" => {
            let page = stack
                .history_page(number("limit"), number("page").unwrap_or(1))
                .await?;
            Ok(Value::from(page).to_string().into_bytes())
        }
        "pendingResource" => {
            let found = stack
                .read_pending(pending, message["resourceId"].as_str())
                .await?;
            binding::record_document(found.as_deref(), false)
        }
        "forget" => {
            let dry_run = message["dryRun"] == json!(true);
            binding::pending_entry_document(&stack.forget_pending(pending, dry_run).await?, false)
        }
        "edit" => {
            let edit = message["edit"].to_string();
            let functions = HostSecrets::of_values(Arc::new(Reversal));
            binding::edit(stack, edit.as_bytes(), functions, Language::Rust, "an edit").await
        }
        "move" => {
            let missing = || stackwright::Error::invalid("a move has no destination");
            let (destination, edit) = (destination.ok_or_else(missing)?, message["edit"].to_string());
            binding::move_resources(stack, destination, edit.as_bytes(), Language::Rust, "a move").await
        }
        other => Err(stackwright::Error::invalid(format!(
            "this actor cannot read {other:?}"
        ))),
    }
}
