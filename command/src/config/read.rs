//! `config` and `config get`.

use std::collections::BTreeMap;

use stackwright::ErrorKind;
use stackwright_project::{ConfigEntry, binding::document_of};

use super::Target;
use crate::{
    arguments::ConfigGet,
    failure::{Failure, Result},
    text,
};

/// What a table shows in place of a secret.
const MASKED: &str = "[secret]";

/// Prints the configuration.
pub(super) async fn list(target: &Target<'_>, json: bool, show_secrets: bool) -> Result {
    let entries = target
        .project
        .list_config(target.name(), show_secrets, None)
        .await?;
    let invocation = target.session.invocation;
    if json {
        let documents = entries
            .iter()
            .map(|(key, entry)| Ok((key.to_string(), document_of(entry)?)));
        let documents: BTreeMap<_, _> = documents.collect::<Result<_>>()?;
        invocation.print(text::document(&documents)?);
        return Ok(());
    }
    let project = target.project.file().await?.name;
    let mut rows = Vec::new();
    for (key, entry) in &entries {
        let name = match key.namespace() == project {
            true => key.name().to_owned(),
            false => key.to_string(),
        };
        rows.push((name, shown(entry)?));
    }
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0).max(3);
    invocation.print(format!("{:width$}  VALUE", "KEY"));
    for (name, value) in rows {
        invocation.print(format!("{name:width$}  {value}"));
    }
    Ok(())
}

/// Prints one value, decrypted.
pub(super) async fn get(target: &Target<'_>, arguments: &ConfigGet) -> Result {
    let path = target.path_of(&arguments.key, arguments.path).await?;
    let entry = find(target, &arguments.key, &path).await?;
    target.session.invocation.print(match arguments.json {
        true => text::document(&document_of(&entry)?)?,
        false => shown(&entry)?,
    });
    Ok(())
}

/// Returns the value of a path, decrypted.
pub(super) async fn find(target: &Target<'_>, key: &str, path: &str) -> Result<ConfigEntry> {
    let entry = target.project.get_config(target.name(), path, None).await;
    entry.map_err(|error| match error.kind() {
        ErrorKind::NotFound => Failure::new(format!(
            "configuration key '{key}' not found for stack '{}'",
            target.stack.shown
        )),
        _ => error.into(),
    })
}

fn shown(entry: &ConfigEntry) -> Result<String> {
    match &entry.value {
        Some(value) => Ok(value.to_text()?),
        None => Ok(MASKED.to_owned()),
    }
}
