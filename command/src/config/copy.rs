//! `config cp`.

use stackwright_project::ConfigEntry;

use super::{
    Target,
    read::{find, print_values},
    write::write_to,
};
use crate::{
    failure::{Failure, Result},
    printer::Printer,
};

/// Copies one value, or all, to another stack of the project. Secrets are encrypted with the key of that stack.
pub(super) async fn copy(
    target: &Target<'_>,
    printer: Printer<'_>,
    key: Option<&str>,
    is_path: bool,
    destination: &str,
) -> Result {
    let session = target.session;
    let to = session.named(destination)?;
    if to.name == target.stack.name {
        return Err(Failure::new(
            "the current stack and the destination stack are the same",
        ));
    }
    drop(session.stack(&to).await?);
    if session.project_of(&to).is_none() {
        return Err(Failure::new(format!(
            "the stack '{}' is of another project than the one in {}",
            to.shown,
            session.invocation.directory.display()
        )));
    }
    let mut entries: Vec<(String, ConfigEntry)> = Vec::new();
    match key {
        Some(key) => {
            let path = target.path_of(key, is_path).await?;
            let entry = find(target, key, &path).await?;
            entries.push((path, entry));
        }
        None => {
            let file = target.project.stack_file(target.name()).await?;
            let kept = target
                .project
                .list_kept_config(target.name(), &file.config, true, None)
                .await?;
            for (key, entry) in kept {
                entries.push((target.path_of(&key.to_string(), false).await?, entry));
            }
        }
    }
    let paths: Vec<String> = entries.iter().map(|(path, _)| path.clone()).collect();
    let values = entries
        .into_iter()
        .filter_map(|(path, entry)| Some((path, entry.value?)));
    write_to(target, to.name.stack(), values.collect(), Some(false)).await?;
    print_values(target, printer, to.name.stack(), &paths).await
}
