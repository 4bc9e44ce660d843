//! Programs in JavaScript and TypeScript: the entry of the project.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use serde_json::Value;
use stackwright::{Result, moves::ProgramLanguage};

use super::{ProgramFolder, cannot_run, folder::FolderProgram};

/// Runs a program, whose facts come from the standard input.
const LAUNCHER: &str = include_str!("launch.cjs");
/// The file of a folder whose `package.json` names none.
const INDEX: &str = "index.js";
/// The other files of such a folder, in the order in which they are looked for.
const OTHER_INDEXES: [&str; 3] = ["index.ts", "index.mjs", "index.mts"];
/// The conditions of an entry in `exports`, in the order in which they are looked for.
const CONDITIONS: [&str; 3] = ["default", "require", "import"];

/// The part of a `package.json` that names the entry.
#[derive(Default, Deserialize)]
struct Package {
    main: Option<String>,
    #[serde(default)]
    exports: Value,
}

impl Package {
    /// Returns the entry: that of `exports`, else `main`.
    fn entry(&self) -> Option<&str> {
        let root = match &self.exports {
            Value::Object(entries) => entries.get(".").unwrap_or(&Value::Null),
            other => other,
        };
        let named = match root {
            Value::Object(entries) => CONDITIONS.iter().find_map(|name| entries.get(*name)?.as_str()),
            other => other.as_str(),
        };
        named.or(self.main.as_deref())
    }
}

/// Finds the program of a folder.
pub(super) fn find(folder: ProgramFolder) -> Result<FolderProgram> {
    let missing = "no `node` was found on the search path";
    let given = folder.option("nodeargs").unwrap_or_default().split_whitespace();
    let arguments = given.chain(["--eval", LAUNCHER]).map(OsString::from).collect();
    let interpreter = folder.on_path(&["node"]);
    let interpreter = interpreter.ok_or_else(|| cannot_run(&folder.root, missing))?;
    let program = entry(&folder);
    if !program.exists() {
        return Err(cannot_run(
            &folder.root,
            format!("{} does not exist", program.display()),
        ));
    }
    let mut environment = folder.environment.clone();
    if let Some(settings) = folder.option("tsconfig") {
        environment = environment.with("PULUMI_NODEJS_TSCONFIG_PATH", folder.root.join(settings));
    }
    Ok(FolderProgram {
        language: ProgramLanguage::NodeSdk,
        interpreter,
        arguments,
        program,
        environment,
        folder,
        check: None,
    })
}

/// Returns the index of a folder.
fn index_of(folder: &Path) -> PathBuf {
    let others = OTHER_INDEXES.iter().map(|name| folder.join(name));
    let mut indexes = [folder.join(INDEX)].into_iter().chain(others);
    let found = indexes.find(|index| index.exists());
    found.unwrap_or_else(|| folder.join(INDEX))
}

/// Returns whether a file exists, or one in TypeScript in its place.
fn exists(file: &Path) -> bool {
    file.exists() || file.with_extension("ts").exists()
}

/// Returns the place of the program's file: `main` of the project, else the entry of its `package.json`, else an index.
pub(super) fn entry(folder: &ProgramFolder) -> PathBuf {
    let place = folder.program();
    let entry = match place.is_dir() {
        true => {
            let text = std::fs::read(place.join("package.json")).unwrap_or_default();
            let package: Package = serde_json::from_slice(&text).unwrap_or_default();
            let named = package.entry().map(|entry| place.join(entry));
            match named {
                Some(named) if named.is_dir() => index_of(&named),
                // Node takes the index of a folder whose entry is not there.
                Some(named) if !exists(&named) && exists(&index_of(&place)) => index_of(&place),
                Some(named) => named,
                None => index_of(&place),
            }
        }
        false => place,
    };
    let typescript = entry.with_extension("ts");
    match !entry.exists() && typescript.exists() {
        true => typescript,
        false => entry,
    }
}
