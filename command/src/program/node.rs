//! Programs in JavaScript and TypeScript: the entry of the project.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use stackwright::moves::ProgramLanguage;
use stackwright_project::{ProjectFile, yaml::Node};

use super::{folder::FolderProgram, on_path};
use crate::{
    failure::{Failure, Result},
    invocation::Invocation,
};

/// Runs a program, whose facts come from the standard input.
const LAUNCHER: &str = include_str!("launch.cjs");
/// The file of a folder whose `package.json` names none.
const INDEX: &str = "index.js";

/// The part of a `package.json` that names the entry.
#[derive(Default, Deserialize)]
struct Package {
    main: Option<String>,
}

/// Finds the program of a folder.
pub(super) fn find(invocation: &Invocation, folder: &Path, file: &ProjectFile) -> Result<FolderProgram> {
    let missing = "no `node` was found on the search path";
    let option = |name: &str| file.runtime.options.get(name).and_then(Node::as_text);
    let given = option("nodeargs").unwrap_or_default().split_whitespace();
    let arguments = given.chain(["--eval", LAUNCHER]);
    let mut environment = invocation.environment.clone();
    if let Some(settings) = option("tsconfig") {
        let settings = folder.join(settings).display().to_string();
        environment.insert("PULUMI_NODEJS_TSCONFIG_PATH".to_owned(), settings);
    }
    Ok(FolderProgram {
        language: ProgramLanguage::NodeSdk,
        interpreter: on_path(invocation, &["node"]).ok_or_else(|| Failure::new(missing))?,
        arguments: arguments.map(str::to_owned).collect(),
        program: entry(folder, file.main.as_deref())?,
        root: folder.to_owned(),
        environment,
    })
}

/// Returns the file of the program: `main` of the project, else of its `package.json`, else `index.js` or `index.ts`.
fn entry(folder: &Path, main: Option<&str>) -> Result<PathBuf> {
    let place = main.map_or_else(|| folder.to_owned(), |main| folder.join(main));
    let entry = match place.is_dir() {
        true => {
            let text = std::fs::read(place.join("package.json")).unwrap_or_default();
            let package: Package = serde_json::from_slice(&text).unwrap_or_default();
            place.join(package.main.as_deref().unwrap_or(INDEX))
        }
        false => place,
    };
    let typescript = entry.with_extension("ts");
    if !entry.exists() && typescript.exists() {
        return Ok(typescript);
    }
    match entry.exists() {
        true => Ok(entry),
        false => Err(Failure::new(format!(
            "the program {} does not exist",
            entry.display()
        ))),
    }
}
