//! The command `stackwright` as an executable of its own.

use std::process::ExitCode;

fn main() -> ExitCode {
    let code = stackwright_cli::run_executable(std::env::args_os());
    ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX))
}
