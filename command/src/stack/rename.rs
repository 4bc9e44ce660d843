//! `stack rename`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use stackwright::{Error, ErrorKind};

use crate::{
    failure::{Failure, Result},
    session::{NamedStack, Session},
};

/// Gives a stack another name, with its settings file, and selects it.
pub(super) async fn rename(session: &Session<'_>, stack: Option<&str>, name: &str) -> Result {
    let from = session.stack_or_selected(stack)?;
    let to = session.named(name)?;
    let stack = session.stack(&from).await?;
    let name = to.name.to_string();
    // Refuses before the settings file of another stack could be replaced.
    let refused = |error: Error| match error.kind() {
        ErrorKind::Conflict if error.message().ends_with("already exists") => {
            Failure::new(format!("a stack named {} already exists", to.name.stack()))
        }
        _ => error.into(),
    };
    stack.rename_stack(&name, true).await.map_err(refused)?;
    // The settings have the new name before the state has: a crash between leaves both.
    let settings = MovedSettings::copy(session, &from, &to).await?;
    if let Err(error) = stack.rename_stack(&name, false).await {
        settings.map_or(Ok(()), MovedSettings::undo)?;
        return Err(refused(error));
    }
    settings.map_or(Ok(()), MovedSettings::finish)?;
    session.select(Some(&to))?;
    let shown = |stack: &NamedStack| match session.project_of(stack) {
        Some(_) => stack.name.stack().to_owned(),
        None => stack.name.qualified(),
    };
    session
        .invocation
        .print(format!("Renamed {} to {}", shown(&from), shown(&to)));
    Ok(())
}

/// A settings file that has been copied to its new name.
struct MovedSettings {
    former: PathBuf,
    copy: PathBuf,
    /// What the new name had before.
    replaced: Option<Vec<u8>>,
}

impl MovedSettings {
    /// Copies the settings file; `None` when there is none, or its name stays.
    async fn copy(session: &Session<'_>, from: &NamedStack, to: &NamedStack) -> Result<Option<Self>> {
        let Some(project) = session.project_of(from) else {
            return Ok(None);
        };
        let (_, former, exists) = project.stack_file_at(from.name.stack()).await?;
        let ending = former
            .extension()
            .and_then(|ending| ending.to_str())
            .unwrap_or("yaml");
        let copy = former.with_file_name(format!("Pulumi.{}.{ending}", to.name.stack()));
        if !exists || copy == former {
            return Ok(None);
        }
        let replaced = fs::read(&copy).ok();
        fs::copy(&former, &copy).map_err(|error| failed("writing", &copy, &error))?;
        Ok(Some(Self {
            former,
            copy,
            replaced,
        }))
    }

    fn undo(self) -> Result {
        let undone = match &self.replaced {
            Some(content) => fs::write(&self.copy, content),
            None => fs::remove_file(&self.copy),
        };
        undone.map_err(|error| failed("restoring", &self.copy, &error))
    }

    fn finish(self) -> Result {
        fs::remove_file(&self.former).map_err(|error| failed("removing", &self.former, &error))
    }
}

fn failed(doing: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("{doing} {}: {error}", path.display()))
}
