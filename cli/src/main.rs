//! The command `stackwright` as an executable of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    let code = stackwright_cli::run(std::env::args_os().skip(1));
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}
