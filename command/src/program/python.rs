//! Programs in Python: the interpreter of the project.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use stackwright::{
    moves::ProgramLanguage,
    runtime::{Clock as _, SystemClock},
};
use stackwright_project::{ProjectFile, yaml::Node};

use super::{folder::FolderProgram, on_path};
use crate::{
    failure::{Failure, Result},
    invocation::Invocation,
};

/// Runs a program, whose facts come from the standard input.
const LAUNCHER: &str = include_str!("launch.py");
/// Prints the folders of packages, without the working directory.
const PATH_QUESTION: &str = "import json, sys; print(json.dumps([folder for folder in sys.path if folder]))";
/// How long the interpreter may take for that.
const PATH_LIMIT: Duration = Duration::from_secs(60);
/// The folder of the virtual environment that the tool `uv` makes.
const UV_ENVIRONMENT: &str = ".venv";

/// Finds the program of a folder, with the interpreter that the options of the project name.
pub(super) fn find(invocation: &Invocation, folder: &Path, file: &ProjectFile) -> Result<FolderProgram> {
    Ok(FolderProgram {
        language: ProgramLanguage::PythonSdk,
        interpreter: interpreter(invocation, folder, file)?,
        arguments: ["-u", "-c", LAUNCHER].map(str::to_owned).into(),
        program: file
            .main
            .as_ref()
            .map_or_else(|| folder.to_owned(), |main| folder.join(main)),
        root: folder.to_owned(),
        environment: invocation.environment.clone(),
    })
}

/// Returns the folders in which the interpreter of a project finds packages.
pub(crate) async fn folders(
    invocation: &Invocation,
    folder: &Path,
    file: &ProjectFile,
) -> Result<Vec<PathBuf>> {
    let interpreter = interpreter(invocation, folder, file)?;
    let failed = |reason: &str| {
        Failure::new(format!(
            "the interpreter {} does not say where its packages are: {reason}",
            interpreter.display()
        ))
    };
    let answer = tokio::process::Command::new(&interpreter)
        .args(["-c", PATH_QUESTION])
        .env_clear()
        .envs(&invocation.environment)
        .current_dir(folder)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let answer = tokio::select! {
        answer = answer => answer.map_err(|error| failed(&error.to_string()))?,
        () = SystemClock.wait(PATH_LIMIT) => return Err(failed("it did not end in time")),
    };
    if !answer.status.success() {
        return Err(failed(String::from_utf8_lossy(&answer.stderr).trim()));
    }
    serde_json::from_slice(&answer.stdout).map_err(|error| failed(&error.to_string()))
}

fn interpreter(invocation: &Invocation, folder: &Path, file: &ProjectFile) -> Result<PathBuf> {
    let option = |name: &str| file.runtime.options.get(name).and_then(Node::as_text);
    let environment = match (option("virtualenv"), option("toolchain").unwrap_or("pip")) {
        (Some(given), "pip" | "uv") => folder.join(given),
        (None, "uv") => folder.join(UV_ENVIRONMENT),
        (None, "pip") => return without_environment(invocation),
        (_, other) => {
            return Err(Failure::new(format!(
                "the toolchain `{other}` is not supported: name the folder of the virtual environment as the option `virtualenv`, \
                 and remove `toolchain`"
            )));
        }
    };
    let interpreter = environment.join("bin/python");
    match interpreter.exists() {
        true => Ok(interpreter),
        false => Err(Failure::new(format!(
            "the virtual environment {} does not exist, or has no interpreter: create it, and install the packages of the program \
             in it",
            environment.display()
        ))),
    }
}

/// Returns the interpreter that the environment names, or that of the search path.
fn without_environment(invocation: &Invocation) -> Result<PathBuf> {
    if let Some(interpreter) = invocation
        .variable("PULUMI_PYTHON_CMD")
        .filter(|name| name.contains('/'))
    {
        return Ok(invocation.path(interpreter));
    }
    let missing =
        "no interpreter was found on the search path: name a virtual environment as the option `virtualenv`";
    on_path(invocation, &["python3", "python"]).ok_or_else(|| Failure::new(missing))
}
