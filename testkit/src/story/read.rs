//! Reading stories: one YAML or JSON file each, from a folder and all below it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{PACKAGE, PackageScript, Statement, StatementKind, Story};

/// Why a story cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct StoryError {
    /// The file or folder.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

impl StoryError {
    fn new(path: &Path, reason: impl ToString) -> Self {
        Self {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }
}

/// Reads every story of a folder and of those below it, in the order of their paths.
///
/// # Errors
/// Of the folder itself; a file that is not a story is an error in its place.
pub fn read_directory(directory: &Path) -> Result<Vec<Result<Story, StoryError>>, StoryError> {
    let mut files = Vec::new();
    gather(directory, &mut files)?;
    files.sort();
    Ok(files.iter().map(|file| read_story(file)).collect())
}

fn gather(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), StoryError> {
    let entries = fs::read_dir(directory).map_err(|error| StoryError::new(directory, error))?;
    for entry in entries {
        let path = entry.map_err(|error| StoryError::new(directory, error))?.path();
        let is_story = path
            .extension()
            .is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|known| extension == *known));
        if path.is_dir() {
            gather(&path, files)?;
        } else if is_story {
            files.push(path);
        }
    }
    Ok(())
}

/// Reads one story and checks that it makes sense.
///
/// # Errors
/// When the file cannot be read, or its content is not a story.
pub fn read_story(path: &Path) -> Result<Story, StoryError> {
    let text = fs::read_to_string(path).map_err(|error| StoryError::new(path, error))?;
    let mut story: Story = serde_norway::from_str(&text).map_err(|error| StoryError::new(path, error))?;
    path.clone_into(&mut story.path);
    if story.packages.is_empty() {
        story.packages.insert(PACKAGE.into(), PackageScript::default());
    }
    check(&story).map_err(|reason| StoryError::new(path, reason))?;
    Ok(story)
}

fn check(story: &Story) -> Result<(), String> {
    check_program(&story.program)?;
    if story.operations.is_empty() {
        return Err("a story needs at least one operation".into());
    }
    for operation in &story.operations {
        operation.verb()?;
        check_program(operation.program.as_deref().unwrap_or_default())?;
        check_program(&operation.add)?;
    }
    Ok(())
}

fn check_program(program: &[Statement]) -> Result<(), String> {
    for statement in program {
        let nameless = match statement.kind()? {
            StatementKind::Resource(_)
            | StatementKind::Component(_)
            | StatementKind::Provider(_)
            | StatementKind::Read(_)
            | StatementKind::Invoke(_) => statement.handle().is_empty(),
            _ => false,
        };
        if nameless {
            return Err(format!("a statement needs a name: {:?}", statement.kind()?));
        }
    }
    Ok(())
}
