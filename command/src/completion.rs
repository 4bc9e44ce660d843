//! `completion`: scripts with which shells complete the command's arguments.

use clap_complete::Shell;

use serde::Serialize;

use crate::{
    arguments::{self, OutputForm},
    failure::Result,
    invocation::Invocation,
    text,
};

/// The document of a script.
#[derive(Serialize)]
struct Completion {
    shell: String,
    script: String,
}

/// Prints the script of a shell, for the name under which the command runs.
pub(crate) fn print(invocation: &Invocation, shell: Shell, form: &OutputForm) -> Result {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut arguments::described(), &invocation.name, &mut script);
    let script = text::utf8(script)?;
    if form.is_json() {
        let shell = shell.to_string();
        invocation.print(text::document(&Completion { shell, script })?);
    } else {
        invocation.write(&script);
    }
    Ok(())
}
