//! The virtual environment of the tool `poetry`, which only its own command knows.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use stackwright::{Result, runtime::Runtime};
use tokio::{process::Command, runtime::Handle};

use super::{ProgramFolder, cannot_run};

/// How long the command may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Asks for the folder of the virtual environment.
pub(super) async fn environment(folder: &ProgramFolder) -> Result<PathBuf> {
    let Some(poetry) = folder.on_path(&["poetry"]) else {
        let why = "its toolchain is `poetry`, and no `poetry` was found on the search path: install it, or name the folder of the \
                   virtual environment as the option `virtualenv`, and remove `toolchain`";
        return Err(cannot_run(&folder.root, why));
    };
    let program = folder.program();
    let directory = match program.is_file() {
        true => program.parent().unwrap_or(&folder.root),
        false => &program,
    };
    let mut command = Command::new(poetry);
    command
        .args(["env", "info", "--path"])
        .env_clear()
        .envs(folder.environment.variables())
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let clock = Runtime::system(Handle::current()).clock;
    let answer = tokio::select! {
        answer = command.output() => answer.map_err(|error| failed(&folder.root, &error.to_string()))?,
        () = clock.wait(TIMEOUT) => {
            return Err(failed(&folder.root, &format!("it took longer than {} s", TIMEOUT.as_secs())));
        }
    };
    let text_of = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match text_of(&answer.stdout) {
        path if answer.status.success() && !path.is_empty() => Ok(PathBuf::from(path)),
        _ => {
            let errors = text_of(&answer.stderr);
            let why = if errors.is_empty() {
                "there is none: create it with `poetry install`"
            } else {
                &errors
            };
            Err(failed(&folder.root, why))
        }
    }
}

fn failed(root: &Path, why: &str) -> stackwright::Error {
    cannot_run(
        root,
        format!("`poetry env info --path` names no virtual environment: {why}"),
    )
}
