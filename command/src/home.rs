//! The folder of the user's settings: the selected store, the selected stacks, and the cache of plugins.

use std::{
    fmt::Write as _,
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};
use sha1::{Digest as _, Sha1};

use crate::{
    failure::{Failure, Result},
    invocation::Invocation,
};

/// The member of the credentials with the URL of the selected store.
const CURRENT: &str = "current";
/// The member of a workspace with the selected stack.
const STACK: &str = "stack";

/// The folder of the user's settings. Its files have the reference engine's names and form.
#[derive(Clone, Debug)]
pub(crate) struct Home(PathBuf);

impl Home {
    /// Returns the folder that the environment names.
    pub(crate) fn of(invocation: &Invocation) -> Result<Self> {
        if let Some(home) = invocation.variable("PULUMI_HOME") {
            return Ok(Self(invocation.path(home)));
        }
        match invocation.variable("HOME") {
            Some(home) => Ok(Self(invocation.path(home).join(".pulumi"))),
            None => Err(Failure::new(
                "the environment has neither PULUMI_HOME nor HOME, so that there is no folder for settings and plugins",
            )),
        }
    }

    /// Returns the folder itself.
    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    /// Returns the folder of installed plugins.
    pub(crate) fn plugins(&self) -> PathBuf {
        self.0.join("plugins")
    }

    /// Returns the URL of the selected store.
    pub(crate) fn selected_store(&self) -> Result<Option<String>> {
        Ok(text_of(&read(&self.credentials())?, CURRENT))
    }

    /// Selects a store, or with `None` forgets the selected one.
    pub(crate) fn select_store(&self, url: Option<&str>) -> Result {
        change(&self.credentials(), CURRENT, url)
    }

    fn credentials(&self) -> PathBuf {
        self.0.join("credentials.json")
    }

    /// Returns the stack that is selected in the project with this file.
    pub(crate) fn selected_stack(&self, project: &str, file: &Path) -> Result<Option<String>> {
        Ok(text_of(&read(&self.workspace(project, file))?, STACK))
    }

    /// Selects a stack in the project with this file, or with `None` forgets the selected one.
    pub(crate) fn select_stack(&self, project: &str, file: &Path, stack: Option<&str>) -> Result {
        let workspace = self.workspace(project, file);
        if stack.is_none() && !workspace.exists() {
            return Ok(());
        }
        change(&workspace, STACK, stack)
    }

    fn workspace(&self, project: &str, file: &Path) -> PathBuf {
        let digest = Sha1::digest(file.as_os_str().as_encoded_bytes());
        let hex = digest.iter().fold(String::with_capacity(40), |mut text, byte| {
            // Writing to a string does not fail.
            write!(text, "{byte:02x}").unwrap_or_default();
            text
        });
        let name = format!("{project}-{hex}-workspace.json");
        self.0.join("workspaces").join(name)
    }
}

fn text_of(members: &Map<String, Value>, name: &str) -> Option<String> {
    let text = members.get(name)?.as_str()?;
    (!text.is_empty()).then(|| text.to_owned())
}

/// Reads a file of settings; one that does not exist has no members.
fn read(path: &Path) -> Result<Map<String, Value>> {
    let text = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Map::new()),
        Err(error) => return Err(Failure::new(format!("reading {}: {error}", path.display()))),
        Ok(text) => text,
    };
    serde_json::from_slice(&text).map_err(|error| Failure::new(format!("{}: {error}", path.display())))
}

/// Sets or removes one member of a file of settings. The file is replaced as a whole, and only its owner can read it.
fn change(path: &Path, name: &str, value: Option<&str>) -> Result {
    let mut members = read(path)?;
    match value {
        Some(value) if text_of(&members, name).as_deref() == Some(value) => return Ok(()),
        Some(value) => members.insert(name.to_owned(), value.into()),
        None => members.remove(name),
    };
    let write = || {
        let folder = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer_pretty(&mut file, &members)?;
        file.write_all(b"\n")?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        io::Result::Ok(())
    };
    write().map_err(|error| Failure::new(format!("writing {}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home(folder: &Path) -> Home {
        Home(folder.join("home"))
    }

    #[test]
    fn a_selection_keeps_the_other_members_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let home = home(folder.path());
        assert_eq!(home.selected_store().unwrap(), None);
        home.select_store(Some("file:///state")).unwrap();
        let path = home.credentials();
        fs::write(&path, r#"{"current": "file:///state", "accounts": {"a": 1}}"#).unwrap();
        home.select_store(Some("file:///other")).unwrap();
        assert_eq!(home.selected_store().unwrap().as_deref(), Some("file:///other"));
        home.select_store(None).unwrap();
        assert_eq!(home.selected_store().unwrap(), None);
        assert_eq!(read(&path).unwrap()["accounts"]["a"], 1);
    }

    #[test]
    fn each_project_file_has_a_selected_stack() {
        let folder = tempfile::tempdir().unwrap();
        let home = home(folder.path());
        let (one, other) = (Path::new("/a/Pulumi.yaml"), Path::new("/b/Pulumi.yaml"));
        home.select_stack("shop", one, Some("organization/shop/dev"))
            .unwrap();
        home.select_stack("shop", other, None).unwrap();
        assert_eq!(
            home.selected_stack("shop", one).unwrap().as_deref(),
            Some("organization/shop/dev")
        );
        assert_eq!(home.selected_stack("shop", other).unwrap(), None);
        let name = home.workspace("shop", one);
        let name = name.file_name().unwrap().to_str().unwrap();
        assert_eq!(
            name,
            "shop-f9c5de46f55a338a90bdde8cba6a7f1aeb0b8098-workspace.json"
        );
    }
}
