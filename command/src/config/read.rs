//! `config` and `config get`.

use std::collections::BTreeMap;

use stackwright::{
    ErrorKind,
    binding::ConfigEntryDocument,
    config::{Config, ConfigKey},
};
use stackwright_project::{ConfigEntry, binding::document_of};

use super::Target;
use crate::{
    arguments::ConfigGet,
    failure::{Failure, Result},
    printer::Printer,
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
        invocation.print(text::document(&documents(&entries)?)?);
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

/// Returns the document of values.
fn documents(entries: &BTreeMap<ConfigKey, ConfigEntry>) -> Result<BTreeMap<String, ConfigEntryDocument>> {
    let documents = entries
        .iter()
        .map(|(key, entry)| Ok((key.to_string(), document_of(entry)?)));
    documents.collect()
}

/// Prints the document of the values of a stack that these paths are in, as the list has them: without secrets.
pub(super) async fn print_values(
    target: &Target<'_>,
    printer: Printer<'_>,
    stack: &str,
    paths: &[String],
) -> Result {
    if !printer.is_document() {
        return Ok(());
    }
    let project = target.project.file().await?.name;
    let mut entries = target.project.list_config(stack, false, None).await?;
    entries.retain(|key, _| {
        let mut paths = paths.iter();
        paths.any(|path| Config::is_path_of(path, &project, key))
    });
    printer.document(&documents(&entries)?)
}

/// Prints one value, decrypted.
pub(super) async fn get(target: &Target<'_>, arguments: &ConfigGet) -> Result {
    let path = target.path_of(&arguments.key, arguments.path).await?;
    let entry = find(target, &arguments.key, &path).await?;
    target.session.invocation.print(match arguments.form.is_json() {
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
