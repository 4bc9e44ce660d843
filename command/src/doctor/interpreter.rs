//! The interpreters of programs: whether there is one, and which version it has.

use std::{path::PathBuf, process::Stdio, time::Duration};

use stackwright::runtime::Runtime;
use tokio::process::Command;

use super::finding::Finding;
use crate::invocation::Invocation;

/// How long an interpreter may take to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// A language whose programs in folders the engine starts.
pub(super) struct Language {
    /// The name of the runtime in project files.
    pub(super) runtime: &'static str,
    area: &'static str,
    program: &'static str,
    /// The oldest version that programs can use.
    oldest: (u32, u32),
}

/// The languages.
pub(super) const LANGUAGES: [Language; 2] = [
    Language {
        runtime: "python",
        area: "python",
        program: "python3",
        oldest: (3, 10),
    },
    Language {
        runtime: "nodejs",
        area: "node",
        program: "node",
        oldest: (20, 0),
    },
];

impl Language {
    /// Looks for the interpreter on the search path. `is_needed` is whether the project's program is in this language.
    pub(super) async fn check(&self, runtime: &Runtime, invocation: &Invocation, is_needed: bool) -> Finding {
        let Self {
            area,
            program,
            oldest: (major, minor),
            ..
        } = *self;
        let advice = format!("install {program} {major}.{minor} or later, in a folder of PATH");
        let Some(path) = invocation.process_environment().executable(&[program]) else {
            return match is_needed {
                true => Finding::problem(area, format!("`{program}` is not in a folder of PATH"), advice),
                false => Finding::ok(
                    area,
                    format!("`{program}` is not in a folder of PATH, and not needed here"),
                ),
            };
        };
        let shown = path.display().to_string();
        match version(runtime, invocation, path).await {
            Ok(printed) => match parse(&printed) {
                Some(found) if found < self.oldest => {
                    let found = format!("{shown}, version {printed}");
                    match is_needed {
                        true => Finding::problem(area, found, advice),
                        false => Finding::warning(area, found, advice),
                    }
                }
                _ => Finding::ok(area, format!("{shown}, version {printed}")),
            },
            Err(reason) => Finding::warning(
                area,
                format!("{shown} does not print its version: {reason}"),
                advice,
            ),
        }
    }
}

/// Returns the version that an interpreter prints, without what precedes the number.
async fn version(runtime: &Runtime, invocation: &Invocation, path: PathBuf) -> Result<String, String> {
    let mut command = Command::new(path);
    command
        .arg("--version")
        .env_clear()
        .envs(&invocation.environment)
        .current_dir(&invocation.directory)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let output = tokio::select! {
        biased;
        output = command.output() => output.map_err(|error| error.to_string())?,
        () = runtime.clock.wait(VERSION_TIMEOUT) => {
            return Err(format!("nothing after {} s", VERSION_TIMEOUT.as_secs()));
        }
    };
    if !output.status.success() {
        return Err(output.status.to_string());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let number = text.split_whitespace().next_back().unwrap_or_default();
    Ok(number.trim_start_matches('v').to_owned())
}

fn parse(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(parse("3.9.18") < Some((3, 10)));
        assert!(parse("3.10.1") >= Some((3, 10)));
        assert_eq!(parse("20.11.0"), Some((20, 11)));
        assert_eq!(parse("nightly"), None);
    }
}
