//! The packages of a program's language: the language's own tools install them, as the options of the project say.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    process::Stdio,
};

use rustix::process::{Pid, Signal, kill_process_group};
use stackwright::plugin::OutputLines;
use stackwright_project::{FoundProject, yaml::Node};
use tokio::{
    io::{AsyncRead, BufReader},
    process::{Child, Command},
};

use crate::{
    failure::{Failure, Result},
    invocation::{Invocation, Output},
};

/// The packages that an update of the installer itself consists of.
const INSTALLER: [&str; 3] = ["pip", "setuptools", "wheel"];
/// The files that name the version of a language.
const VERSION_FILES: [&str; 3] = [".python-version", ".nvmrc", ".node-version"];
const REQUIREMENTS: &str = "requirements.txt";
/// The variable with which `uv` places its virtual environment elsewhere.
const UV_PLACE: &str = "UV_PROJECT_ENVIRONMENT";

/// A process that installs packages, or prepares that.
struct Step {
    /// What is written before it begins, and once it has ended.
    lines: [&'static str; 2],
    tool: PathBuf,
    arguments: Vec<OsString>,
    /// Variables beside those of the invocation.
    variables: Vec<(&'static str, PathBuf)>,
}

/// Installs the packages of the project's program.
///
/// # Errors
/// With `uses_version_tools`, for a folder that names a version of its language: that is not installed.
pub(crate) async fn install(
    invocation: &Invocation,
    found: &FoundProject,
    uses_version_tools: bool,
) -> Result {
    let project = ProjectFolder { invocation, found };
    if uses_version_tools && let Some(file) = VERSION_FILES.iter().find(|file| project.has(file)) {
        return Err(Failure::new(format!(
            "`install` does not install the version of the language that `{file}` names: install it with its own tool, and leave out \
             --use-language-version-tools"
        )));
    }
    let steps = match found.file.runtime.name.as_str() {
        "python" => project.python()?,
        "nodejs" => vec![project.node()?],
        // Programs in YAML have none.
        "yaml" => Vec::new(),
        other => {
            return Err(Failure::new(format!(
                "`install` does not install the packages of programs of the runtime `{other}`: install them with its own tools, and \
                 pass --no-dependencies"
            )));
        }
    };
    invocation.print("Installing dependencies...\n");
    for step in steps {
        run(invocation, found.folder(), step).await?;
    }
    invocation.print("Finished installing dependencies\n");
    Ok(())
}

/// The folder of a project, in which the tools run.
struct ProjectFolder<'a> {
    invocation: &'a Invocation,
    found: &'a FoundProject,
}

impl ProjectFolder<'_> {
    fn option(&self, name: &str) -> Option<&str> {
        self.found.file.runtime.options.get(name).and_then(Node::as_text)
    }

    fn has(&self, file: &str) -> bool {
        self.found.folder().join(file).is_file()
    }

    /// Returns an executable of the search path.
    fn tool(&self, name: &str) -> Result<PathBuf> {
        let found = self.invocation.process_environment().executable(&[name]);
        found.ok_or_else(|| {
            Failure::new(format!(
                "the packages of the program in {} are installed with `{name}`, which was not found on the search path: install it, or \
                 choose another tool in the runtime's options in Pulumi.yaml",
                self.found.folder().display()
            ))
        })
    }

    fn python(&self) -> Result<Vec<Step>> {
        let virtual_environment = self
            .option("virtualenv")
            .map(|name| self.found.folder().join(name));
        match self.option("toolchain").unwrap_or("pip") {
            "pip" => self.pip(virtual_environment),
            "uv" => {
                let variables = virtual_environment.map(|folder| (UV_PLACE, folder));
                Ok(vec![Step {
                    variables: variables.into_iter().collect(),
                    ..Step::of(["", ""], self.tool("uv")?, &["sync"])
                }])
            }
            "poetry" => {
                let arguments = ["install", "--no-ansi"];
                Ok(vec![Step::of(["", ""], self.tool("poetry")?, &arguments)])
            }
            other => Err(Failure::new(format!(
                "the toolchain `{other}` is not supported, only `pip`, `poetry` and `uv`"
            ))),
        }
    }

    /// Returns the steps of `pip`: with a virtual environment, it is created, and the installer in it is updated.
    fn pip(&self, virtual_environment: Option<PathBuf>) -> Result<Vec<Step>> {
        let named = self.invocation.variable("PULUMI_PYTHON_CMD");
        let python = match named {
            Some(named) if Path::new(named).components().count() > 1 => self.invocation.path(named),
            Some(named) => self.tool(named)?,
            None => self.tool("python3").or_else(|_| self.tool("python"))?,
        };
        let mut steps = Vec::new();
        let interpreter = match &virtual_environment {
            None => python,
            Some(folder) => {
                let interpreter = folder.join("bin/python");
                if !interpreter.exists() {
                    let lines = [
                        "Creating virtual environment...",
                        "Finished creating virtual environment",
                    ];
                    let mut step = Step::of(lines, python, &["-m", "venv"]);
                    step.arguments.push(folder.into());
                    steps.push(step);
                }
                let lines = [
                    "Updating pip, setuptools, and wheel in virtual environment...",
                    "Finished updating",
                ];
                let mut step = Step::of(lines, interpreter.clone(), &["-m", "pip", "install", "--upgrade"]);
                step.arguments.extend(INSTALLER.map(OsString::from));
                steps.push(step);
                interpreter
            }
        };
        if self.has(REQUIREMENTS) {
            let lines = match virtual_environment {
                Some(_) => [
                    "Installing dependencies in virtual environment...",
                    "Finished installing dependencies in virtual environment",
                ],
                None => ["", ""],
            };
            let arguments = ["-m", "pip", "install", "-r", REQUIREMENTS];
            steps.push(Step::of(lines, interpreter, &arguments));
        }
        Ok(steps)
    }

    /// Returns the step of the package manager that the options name, or whose lock file the folder has.
    fn node(&self) -> Result<Step> {
        let name = match self.option("packagemanager") {
            Some(name) if !name.is_empty() && name != "auto" => name,
            _ if self.has("yarn.lock") || self.invocation.is_enabled("PULUMI_PREFER_YARN") => "yarn",
            _ if self.has("pnpm-lock.yaml") => "pnpm",
            _ => "npm",
        };
        let arguments: &[&str] = match name {
            "npm" => &["install", "--loglevel=error"],
            "yarn" | "pnpm" => &["install"],
            other => {
                return Err(Failure::new(format!(
                    "the package manager `{other}` is not supported, only `npm`, `pnpm` and `yarn`"
                )));
            }
        };
        Ok(Step::of(["", ""], self.tool(name)?, arguments))
    }
}

impl Step {
    fn of(lines: [&'static str; 2], tool: PathBuf, arguments: &[&str]) -> Self {
        Self {
            lines,
            tool,
            arguments: arguments.iter().map(OsString::from).collect(),
            variables: Vec::new(),
        }
    }

    fn command(&self, invocation: &Invocation, folder: &Path) -> Command {
        let mut command = Command::new(&self.tool);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(&invocation.environment)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        command
    }
}

/// Runs a step to its end. A cancellation of the invocation interrupts it with all processes that it has started, and a second one
/// kills them.
async fn run(invocation: &Invocation, folder: &Path, step: Step) -> Result {
    let [before, after] = step.lines;
    if !before.is_empty() {
        invocation.print(before);
    }
    let tool = step.tool.display();
    let mut cancellations = invocation.cancellation.watch();
    if *cancellations.borrow_and_update() > 0 {
        return Err(Failure::canceled());
    }
    let spawned = step.command(invocation, folder).spawn();
    let mut child = spawned.map_err(|error| Failure::new(format!("{tool} could not be started: {error}")))?;
    let group = Group::of(&child);
    let output = (
        copy(child.stdout.take(), &invocation.stdout),
        copy(child.stderr.take(), &invocation.stderr),
    );
    let ended = async {
        let (status, ..) = tokio::join!(child.wait(), output.0, output.1);
        status
    };
    tokio::pin!(ended);
    let status = loop {
        tokio::select! {
            biased;
            status = &mut ended => break status,
            Ok(()) = cancellations.changed() => group.signal(match *cancellations.borrow_and_update() {
                0 | 1 => Signal::INT,
                _ => Signal::KILL,
            }),
        }
    };
    if *cancellations.borrow() > 0 {
        return Err(Failure::canceled());
    }
    let status = status.map_err(|error| Failure::new(format!("{tool}: {error}")))?;
    if !status.success() {
        return Err(Failure::new(format!(
            "installing the packages of the program in {}: {tool} ended with {status}",
            folder.display()
        )));
    }
    if !after.is_empty() {
        invocation.print(after);
    }
    Ok(())
}

/// The process group of a tool, which is killed when this value is dropped.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self(id.and_then(Pid::from_raw))
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.0 {
            // Without a process in it, there is no such group.
            kill_process_group(group, signal).ok();
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// Copies the lines of a stream to an output.
async fn copy(stream: Option<impl AsyncRead + Unpin>, output: &Output) {
    let Some(stream) = stream else { return };
    let mut lines = OutputLines::new(BufReader::new(stream));
    while let Some(line) = lines.next_line().await {
        output(&format!("{line}\n"));
    }
}
