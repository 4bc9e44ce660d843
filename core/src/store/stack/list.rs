//! Listing of a store's stacks, and the check of its layout.

use std::sync::Arc;

use crate::{
    error::{Error, ErrorKind, Result},
    store::{
        StackName, Store,
        layout::{CHECKPOINT_ENDINGS, META, STACKS},
        sealed::Description,
    },
};

/// The hint for encrypted stores.
const ENCRYPTED: &str = "open the engine with this secrets manager, and with encrypt_store (encryptStore in Node and C, store::encrypted() in Rust)";

/// The hint for states in the layout of old versions of the reference engine.
const OLD_LAYOUT: &str = "migrate the states to the layout with projects, with the tool that wrote them";

/// Returns the stacks of a store, of one project or of all, in the order of their names.
///
/// # Errors
/// Those of the store, and [`ErrorKind::State`] when the store has an unknown layout.
pub(crate) async fn list_stacks(store: &Arc<dyn Store>, project: Option<&str>) -> Result<Vec<StackName>> {
    check_layout(store).await?;
    let prefix = match project {
        Some(project) => format!("{STACKS}{project}/"),
        None => STACKS.to_owned(),
    };
    let mut names: Vec<_> = store
        .list(&prefix)
        .await?
        .iter()
        .filter_map(|object| StackName::of_checkpoint(&object.key))
        .collect();
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// Refuses stores whose layout is not the one with projects. Returns whether `meta.yaml` states that layout.
pub(super) async fn check_layout(store: &Arc<dyn Store>) -> Result<bool> {
    let unknown =
        |what: String| Error::new(ErrorKind::State, format!("the store {} has {what}", store.url()));
    let Some(meta) = store.get(META).await? else {
        let legacy = store.list(STACKS).await?.iter().any(|object| {
            let name = &object.key[STACKS.len()..];
            !name.contains('/') && CHECKPOINT_ENDINGS.iter().any(|ending| name.ends_with(ending))
        });
        if legacy {
            return Err(unknown("the old layout, without projects".to_owned()).with_hint(OLD_LAYOUT));
        }
        return Ok(false);
    };
    let version = std::str::from_utf8(&meta.bytes).ok().and_then(version_of);
    match version {
        Some(1) => Ok(true),
        Some(0) => Err(unknown("the old layout, without projects".to_owned()).with_hint(OLD_LAYOUT)),
        _ => match Description::of(&meta.bytes) {
            Some(encryption) => {
                let message = format!(
                    "the store {} is encrypted with the secrets manager {}",
                    store.url(),
                    encryption.manager()
                );
                Err(Error::new(ErrorKind::Secrets, message).with_hint(ENCRYPTED))
            }
            None => Err(unknown(format!("an unknown layout ({META})"))),
        },
    }
}

/// Returns the version that `meta.yaml` states: a mapping of one entry, written by tools only.
fn version_of(meta: &str) -> Option<u32> {
    let mut lines = meta
        .lines()
        .map(|line| line.split('#').next().unwrap_or_default());
    let version = lines.find_map(|line| line.strip_prefix("version:"))?;
    version.trim().parse().ok()
}
