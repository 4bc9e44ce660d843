//! `config refresh`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::Target;
use crate::{
    failure::{Failure, Result},
    printer::Printer,
    stack::newest_config,
};

/// The ending of copies of settings files.
const COPY_ENDING: &str = ".bak";

/// The document of `config refresh`.
#[derive(Serialize)]
struct Refreshed {
    /// The name of the stack.
    name: String,
    /// The copy of the former settings file; left out where none was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    copy: Option<String>,
}

/// Replaces the configuration by that of the newest operation.
pub(super) async fn refresh(target: &Target<'_>, printer: Printer<'_>, force: bool) -> Result {
    let missing = || Failure::new("getting latest configuration: no previous deployment");
    let config = newest_config(target.session, &target.stack)
        .await?
        .ok_or_else(missing)?;
    let (_, path, exists) = target.project.stack_file_at(target.name()).await?;
    let copy = (exists && !force).then(|| free_name(&path));
    if let Some(copy) = &copy {
        fs::copy(&path, copy)
            .map_err(|error| Failure::new(format!("writing {}: {error}", copy.display())))?;
        printer.prose(format!(
            "backed up existing configuration file to {}",
            copy.display()
        ));
    }
    target.project.replace_config(target.name(), config, None).await?;
    if !force {
        printer.prose(format!(
            "refreshed configuration for stack '{}'",
            target.stack.shown
        ));
    }
    printer.document(&Refreshed {
        name: target.session.shown(&target.stack.name),
        copy: copy.map(|copy| copy.display().to_string()),
    })
}

fn free_name(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    loop {
        name.push(COPY_ENDING);
        if !Path::new(&name).exists() {
            return name.into();
        }
    }
}
