//! Programs in Python: the interpreter of the project.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use stackwright::{
    Result,
    moves::ProgramLanguage,
    plugin::HostEnvironment,
    runtime::{Clock as _, SystemClock},
};
use tokio::process::Command;

use super::{
    ProgramFolder, cannot_run,
    folder::{FolderProgram, TypeCheck},
    poetry,
};

/// Runs a program, whose facts come from the standard input.
const LAUNCHER: &str = include_str!("launch.py");
/// Prints the folders of packages, without the working directory.
const PACKAGES_QUESTION: &str =
    "import json, sys; print(json.dumps([folder for folder in sys.path if folder]))";
/// How long the interpreter may take for that.
const PACKAGES_TIMEOUT: Duration = Duration::from_secs(60);
/// The folder of the virtual environment that the tool `uv` makes.
const UV_ENVIRONMENT: &str = ".venv";
/// The variable with which `uv` places its virtual environment elsewhere.
const UV_PLACE: &str = "UV_PROJECT_ENVIRONMENT";
/// The files beside which `uv` places its virtual environment, the more specific one first.
const UV_FILES: [&str; 2] = ["uv.lock", "pyproject.toml"];
/// The type checkers that run before a program, as modules of its interpreter.
const TYPE_CHECKERS: [&str; 2] = ["mypy", "pyright"];

/// Finds the program of a folder, with the interpreter that the options of the project name.
pub(super) async fn find(folder: ProgramFolder) -> Result<FolderProgram> {
    let environment = virtual_environment(&folder).await?;
    let interpreter = match &environment {
        Some(environment) => inside(&folder, environment)?,
        None => without_environment(&folder)?,
    };
    let check = check(&folder, &interpreter)?;
    Ok(FolderProgram {
        language: ProgramLanguage::PythonSdk,
        interpreter,
        arguments: ["-u", "-c", LAUNCHER].map(OsString::from).into(),
        program: folder.program(),
        environment: match &environment {
            Some(environment) => activated(folder.environment.clone(), environment),
            None => folder.environment.clone(),
        },
        folder,
        check,
    })
}

/// Returns the folders in which the interpreter of a project finds packages. A virtual environment that stands alone is read without a
/// process.
pub(super) async fn packages(folder: &ProgramFolder) -> Result<Vec<PathBuf>> {
    let interpreter = match virtual_environment(folder).await? {
        Some(environment) => {
            let interpreter = inside(folder, &environment)?;
            if let Some(packages) = packages_of(&environment) {
                return Ok(packages);
            }
            interpreter
        }
        None => without_environment(folder)?,
    };
    let failed = |reason: &str| {
        let interpreter = interpreter.display();
        let why = format!("its interpreter {interpreter} does not name the folders of packages: {reason}");
        cannot_run(&folder.root, why)
    };
    let mut command = Command::new(&interpreter);
    command
        .args(["-c", PACKAGES_QUESTION])
        .env_clear()
        .envs(folder.environment.variables())
        .current_dir(&folder.root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let answer = tokio::select! {
        answer = command.output() => answer.map_err(|error| failed(&error.to_string()))?,
        () = SystemClock.wait(PACKAGES_TIMEOUT) => return Err(failed("it did not end in time")),
    };
    if !answer.status.success() {
        return Err(failed(String::from_utf8_lossy(&answer.stderr).trim()));
    }
    serde_json::from_slice(&answer.stdout).map_err(|error| failed(&error.to_string()))
}

/// Returns the folders of packages of a virtual environment; `None` where it has those of the system, too, or refers to others.
fn packages_of(environment: &Path) -> Option<Vec<PathBuf>> {
    let settings = fs::read_to_string(environment.join("pyvenv.cfg")).ok()?;
    let stands_alone = settings.lines().any(|line| {
        line.split_once('=').is_some_and(|(name, value)| {
            (name.trim(), value.trim()) == ("include-system-site-packages", "false")
        })
    });
    let versions = fs::read_dir(environment.join("lib")).ok()?.flatten();
    let packages = versions.map(|version| version.path().join("site-packages"));
    let packages: Vec<_> = packages.filter(|folder| folder.is_dir()).collect();
    let refers = |folder: &PathBuf| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let mut references = paths.filter(|path| path.extension().is_some_and(|ending| ending == "pth"));
        // Lines that import something add no folder.
        let names_folder =
            |line: &str| !line.trim().is_empty() && !line.starts_with('#') && !line.starts_with("import");
        references.any(|path| {
            let text = fs::read_to_string(path);
            text.map_or(true, |text| text.lines().any(names_folder))
        })
    };
    (stands_alone && !packages.is_empty() && !packages.iter().any(refers)).then_some(packages)
}

/// Returns the virtual environment that the options of the project name.
async fn virtual_environment(folder: &ProgramFolder) -> Result<Option<PathBuf>> {
    Ok(
        match (
            folder.option("toolchain").unwrap_or("pip"),
            folder.option("virtualenv"),
        ) {
            ("pip", given) => given.map(|given| folder.root.join(given)),
            ("uv", given) => Some(given.map_or_else(|| of_uv(folder), |given| folder.root.join(given))),
            ("poetry", _) => Some(poetry::environment(folder).await?),
            (other, _) => {
                let why = format!(
                    "the toolchain `{other}` is not supported, only `pip`, `poetry` and `uv`: name the folder of the virtual environment \
                 as the option `virtualenv`, and remove `toolchain`"
                );
                return Err(cannot_run(&folder.root, why));
            }
        },
    )
}

/// Returns the virtual environment of `uv`: beside the nearest of its files.
fn of_uv(folder: &ProgramFolder) -> PathBuf {
    if let Some(place) = folder
        .environment
        .variable(UV_PLACE)
        .filter(|place| !place.is_empty())
    {
        return folder.root.join(place);
    }
    let beside = |file: &str| folder.root.ancestors().find(|place| place.join(file).is_file());
    let place = UV_FILES.iter().find_map(|file| beside(file));
    place.unwrap_or(&folder.root).join(UV_ENVIRONMENT)
}

fn inside(folder: &ProgramFolder, environment: &Path) -> Result<PathBuf> {
    let interpreter = environment.join("bin/python");
    match interpreter.exists() {
        true => Ok(interpreter),
        false => {
            let why = format!(
                "the virtual environment {} does not exist, or has no interpreter: create it, and install the packages of the program \
                 in it",
                environment.display()
            );
            Err(cannot_run(&folder.root, why))
        }
    }
}

/// Returns the interpreter that the environment names, or that of the search path.
fn without_environment(folder: &ProgramFolder) -> Result<PathBuf> {
    let named = folder.environment.variable("PULUMI_PYTHON_CMD").map(Path::new);
    if let Some(interpreter) = named.filter(|name| name.components().count() > 1) {
        let place = folder.environment.directory().unwrap_or(&folder.root);
        return Ok(place.join(interpreter));
    }
    let missing =
        "no interpreter was found on the search path: name a virtual environment as the option `virtualenv`";
    let found = folder.on_path(&["python3", "python"]);
    found.ok_or_else(|| cannot_run(&folder.root, missing))
}

/// Returns an environment in which the executables of a virtual environment come first.
fn activated(environment: HostEnvironment, virtual_environment: &Path) -> HostEnvironment {
    let path = environment.variable("PATH").unwrap_or_default();
    let mut folders = OsString::from(virtual_environment.join("bin"));
    if !path.is_empty() {
        folders.push(":");
        folders.push(path);
    }
    environment
        .without("PYTHONHOME")
        .with("PATH", folders)
        .with("VIRTUAL_ENV", virtual_environment)
}

/// Returns the type check that the project asks for.
fn check(folder: &ProgramFolder, interpreter: &Path) -> Result<Option<TypeCheck>> {
    match folder.option("typechecker") {
        None | Some("" | "none") => Ok(None),
        Some(name) if TYPE_CHECKERS.contains(&name) => Ok(Some(TypeCheck {
            name: name.to_owned(),
            interpreter: interpreter.to_owned(),
            arguments: ["-m".into(), name.into(), folder.program().into()].into(),
        })),
        Some(other) => {
            let why = format!("the type checker `{other}` is not supported, only `mypy` and `pyright`");
            Err(cannot_run(&folder.root, why))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packages_of_a_virtual_environment_that_stands_alone_need_no_interpreter() {
        let folder = tempfile::tempdir().unwrap();
        let packages = folder.path().join("lib/python3.11/site-packages");
        fs::create_dir_all(&packages).unwrap();
        let settings = folder.path().join("pyvenv.cfg");
        assert_eq!(packages_of(folder.path()), None);
        fs::write(
            &settings,
            "home = /usr/bin\ninclude-system-site-packages = false\n",
        )
        .unwrap();
        assert_eq!(packages_of(folder.path()), Some(vec![packages.clone()]));
        fs::write(packages.join("distutils-precedence.pth"), "import os; 1\n").unwrap();
        assert_eq!(packages_of(folder.path()), Some(vec![packages.clone()]));
        fs::write(packages.join("other.pth"), "/elsewhere\n").unwrap();
        assert_eq!(packages_of(folder.path()), None);
        fs::remove_file(packages.join("other.pth")).unwrap();
        fs::write(&settings, "include-system-site-packages = true\n").unwrap();
        assert_eq!(packages_of(folder.path()), None);
    }
}
