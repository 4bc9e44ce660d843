//! `config refresh`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::Target;
use crate::{
    failure::{Failure, Result},
    stack::newest_config,
};

/// The ending of copies of settings files.
const COPY_ENDING: &str = ".bak";

/// Replaces the configuration by that of the newest operation.
pub(super) async fn refresh(target: &Target<'_>, force: bool) -> Result {
    let missing = || Failure::new("getting latest configuration: no previous deployment");
    let config = newest_config(target.session, &target.stack)
        .await?
        .ok_or_else(missing)?;
    let invocation = target.session.invocation;
    let (_, path, exists) = target.project.stack_file_at(target.name()).await?;
    if exists && !force {
        let copy = free_name(&path);
        fs::copy(&path, &copy)
            .map_err(|error| Failure::new(format!("writing {}: {error}", copy.display())))?;
        invocation.print(format!(
            "backed up existing configuration file to {}",
            copy.display()
        ));
    }
    target.project.replace_config(target.name(), config, None).await?;
    if !force {
        invocation.print(format!(
            "refreshed configuration for stack '{}'",
            target.stack.shown
        ));
    }
    Ok(())
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
