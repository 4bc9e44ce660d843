//! Renaming a stack: its URNs, and all that its store keeps of it.

use super::{
    StackContext,
    change_secrets::unfinished,
    edit::{announce, take_back, warn},
    replace_state::new_name,
};
use crate::{
    config::ConfigSource,
    error::{Error, Result},
    state::{
        deployment::{SecretsShown, content_hash, write_checkpoint},
        edit::{EditReport, Edited, SettingsEdit, rename_stack as rename_urns},
        integrity,
    },
    store::{
        LoadedStack, Rekeying, Rename, StackSession, StackStorage, refuse_former_config, refuse_renaming,
    },
};

/// Gives a stack another name, and returns it with what happens to the records. What the source of its configuration keeps gets
/// that name, too.
///
/// # Errors
/// [`crate::ErrorKind::InvalidInput`] for a name that no stack can have, and for a stack whose state the host supplies;
/// [`crate::ErrorKind::Conflict`] when a stack of that name or its configuration exists, or one of both is locked elsewhere, or
/// has an interrupted change.
pub(crate) async fn rename_stack(stack: &StackContext, name: &str, dry_run: bool) -> Result<EditReport> {
    if stack.is_supplied {
        let text = "a stack whose state the host supplies is not renamed: it is no part of a store";
        return Err(Error::invalid(text).with_hint(
            "import_deployment() of the document into a stack of a store makes it one that can be renamed",
        ));
    }
    let from = &stack.storage;
    let to = from.named(new_name(stack, name)?);
    if to.name() == from.name() {
        return Err(exists(&to));
    }
    if dry_run {
        for side in [from, &to] {
            side.refuse_moving().await?;
            // The real renaming finishes or undoes an interrupted one to the same name.
            refuse_renaming(side, Some(&to)).await?;
        }
        let source = check_target(stack, from, &to).await?;
        let loaded = from.load_unlocked(&*stack.secrets).await?;
        let (_, mut report) = renamed(from, &to, &loaded)?;
        warn_of_journal(&mut report, from, &to).await?;
        return Ok(EditReport {
            dry_run,
            settings: source.map(|_| SettingsEdit::Renamed),
            ..report
        });
    }
    let locks = Rename::new(from, &to).lock().await?;
    match rename_locked(stack, from, &to).await {
        Ok(report) => {
            // Only the first renaming through a handle succeeds: the handle keeps the former name.
            drop(stack.renamed.set(to.name().clone()));
            locks.retire().await.map(|()| report)
        }
        Err(error) => {
            // The error of the renaming is reported, not that of the release.
            drop(locks.release().await);
            Err(error)
        }
    }
}

async fn rename_locked(stack: &StackContext, from: &StackStorage, to: &StackStorage) -> Result<EditReport> {
    let rename = Rename::new(from, to);
    rename.settle(stack.config_source.as_deref()).await?;
    for side in [from, to] {
        refuse_renaming(side, None).await?;
    }
    let source = check_target(stack, from, to).await?;
    let loaded = from.load(&*stack.secrets).await?;
    let (edited, mut report) = renamed(from, to, &loaded)?;
    report.settings = source.map(|_| SettingsEdit::Renamed);
    let mut current = loaded.snapshot.clone();
    // A journal that a crash left becomes the checkpoint first.
    let session = StackSession::begin(from, loaded, &mut current, "rename").await?;
    warn(&mut report, session.notes());
    warn_of_journal(&mut report, from, to).await?;
    let checkpoint =
        write_checkpoint(&to.name().qualified(), &edited.snapshot, SecretsShown::Encrypted).await?;
    let base = from.read().await?.checkpoint;
    let hash = content_hash(&checkpoint);
    announce(stack, &edited.snapshot).await?;
    match rename.run(&base, checkpoint, source).await {
        Ok(()) => Ok(report),
        Err(error) => {
            // Once the state has the new name, the next opening finishes the renaming; until then, it undoes it.
            let stored = to.hash().await;
            let is_unchanged = stored.map(|stored| stored != Some(hash));
            Err(take_back(stack, Some(&current), is_unchanged, error).await)
        }
    }
}

/// Refuses a stack with an unfinished change of its secrets manager or renaming of its configuration, and a name that is taken. Returns the source of the
/// configuration when it keeps something under the former name.
async fn check_target<'a>(
    stack: &'a StackContext,
    from: &StackStorage,
    to: &StackStorage,
) -> Result<Option<&'a dyn ConfigSource>> {
    if Rekeying::of(from).await?.is_some() {
        return Err(unfinished(from));
    }
    refuse_former_config(from, to).await?;
    if to.exists().await? {
        return Err(exists(to));
    }
    Rename::new(from, to).refuse_history().await?;
    let (old, new) = (from.name().stack(), to.name().stack());
    match stack.config_source.as_deref() {
        // In another project, it can keep its own name.
        Some(source) if old != new && source.is_renamed(old, new).await? => Ok(Some(source)),
        _ => Ok(None),
    }
}

fn renamed(from: &StackStorage, to: &StackStorage, loaded: &LoadedStack) -> Result<(Edited, EditReport)> {
    let (old, new) = (from.name(), to.name());
    let mut edited = Edited::new(loaded.snapshot.clone());
    let names = (old.project(), old.stack());
    edited.renames = rename_urns(&mut edited.snapshot, names, (new.project(), new.stack()));
    integrity::verify(&edited.snapshot)?;
    let mut report = EditReport::of(&loaded.snapshot, &edited);
    warn(&mut report, &loaded.warnings);
    Ok((edited, report))
}

/// Warns of the journal that a stack without a checkpoint has left under the new name.
async fn warn_of_journal(report: &mut EditReport, from: &StackStorage, to: &StackStorage) -> Result<()> {
    if Rename::new(from, to).sets_journal_aside().await? {
        let journal = to.name().journal();
        report.warnings.push(format!(
            "the name '{}' has the journal {journal} of an interrupted operation of a stack whose checkpoint is gone: it is no part of \
             the renamed stack, and is kept beside it, as {journal}.orphan-1 or the next free number",
            to.name()
        ));
    }
    Ok(())
}

fn exists(to: &StackStorage) -> Error {
    Error::new(
        crate::ErrorKind::Conflict,
        format!("a stack named '{}' already exists", to.name()),
    )
}

#[cfg(test)]
mod tests;
