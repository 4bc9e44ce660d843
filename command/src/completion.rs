//! `completion`: scripts with which shells complete the command's arguments.

use clap_complete::Shell;

use crate::{arguments, failure::Result, invocation::Invocation, text};

/// Prints the script of a shell, for the name under which the command runs.
pub(crate) fn print(invocation: &Invocation, shell: Shell) -> Result {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut arguments::described(), &invocation.name, &mut script);
    invocation.write(&text::utf8(script)?);
    Ok(())
}
