//! `doctor`: what the engine works with in a folder, and what to do about what is missing.

mod finding;
mod interpreter;

use stackwright::{
    COMPATIBLE_VERSION, ErrorKind,
    plugin::{PluginKind, PluginSelection},
    program::HostedProgram,
    runtime::Runtime,
    store::{LockHolder, StackSummary},
};
use stackwright_project::{FoundProject, MissingPart, missing_part};

use self::{
    finding::{Finding, Report},
    interpreter::LANGUAGES,
};
use crate::{
    arguments::OutputForm,
    downloads::{self, OVERRIDES, Servers},
    failure::{Failure, Result},
    home::Home,
    invocation::Invocation,
    place::without_user,
    project_plugins,
    session::{Components, Session},
    text,
};

/// The version of this engine.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The variables with a passphrase.
const PASSPHRASES: [&str; 2] = ["PULUMI_CONFIG_PASSPHRASE", "PULUMI_CONFIG_PASSPHRASE_FILE"];

/// Prints what was found. Reads only: no lock is taken, and nothing is written.
///
/// # Errors
/// With the exit code 1 when there is a problem.
pub(crate) async fn doctor(components: &Components, invocation: &Invocation, form: &OutputForm) -> Result {
    let findings = Examination {
        components,
        invocation,
    }
    .findings()
    .await;
    let report = Report::new(VERSION, findings);
    if form.is_json() {
        invocation.print(text::document(&report)?);
    } else {
        invocation.write(&report.lines());
    }
    match report.problems {
        0 => Ok(()),
        _ => Err(Failure::new("")),
    }
}

struct Examination<'a> {
    components: &'a Components,
    invocation: &'a Invocation,
}

impl Examination<'_> {
    async fn findings(&self) -> Vec<Finding> {
        let mut findings = vec![version(), self.home()];
        let (found, is_readable) = match FoundProject::above(&self.invocation.directory) {
            Ok(found) => {
                findings.push(project(found.as_ref(), self.invocation));
                (found, true)
            }
            Err(error) => {
                let advice = "mend the project file";
                findings.push(Finding::problem("project", Failure::from(error).message, advice));
                (None, false)
            }
        };
        let runtime = Runtime::system(self.components.handle.clone());
        for language in &LANGUAGES {
            let is_needed = found
                .as_ref()
                .is_some_and(|found| found.file.runtime.name == language.runtime);
            findings.push(language.check(&runtime, self.invocation, is_needed).await);
        }
        findings.extend(self.plugins(found.as_ref()).await);
        if !is_readable {
            let unknown = "not examined: the project file can select it";
            findings.push(Finding::warning("store", unknown, "mend the project file"));
            return findings;
        }
        match Session::open(self.components, self.invocation).await {
            Ok(session) => {
                if let Some(found) = &found {
                    findings.extend(self.language_host(&session, found).await);
                }
                findings.extend(self.stacks(&session).await);
                findings.extend(self.pending(&session).await);
                findings.push(self.secrets(&session).await);
                session.close().await;
            }
            Err(failure) => {
                let command = &self.invocation.name;
                let advice = format!(
                    "set PULUMI_BACKEND_URL, `backend.url` in the project file, or use `{command} login URL`; a folder must exist"
                );
                findings.push(Finding::problem("store", failure.message, advice));
            }
        }
        findings
    }

    fn home(&self) -> Finding {
        match Home::of(self.invocation) {
            Ok(home) => Finding::ok(
                "home",
                format!("settings and plugins are in {}", home.folder().display()),
            ),
            Err(failure) => Finding::problem("home", failure.message, "set PULUMI_HOME"),
        }
    }

    /// Lists the plugins that are installed, and those of the project that are not.
    async fn plugins(&self, found: Option<&FoundProject>) -> Vec<Finding> {
        let installed = match downloads::cache(&self.components.handle, self.invocation) {
            Ok(cache) => cache
                .list(PluginSelection::default())
                .await
                .map_err(Failure::from),
            Err(failure) => Err(failure),
        };
        let installed = match installed {
            Ok(installed) => installed,
            Err(failure) => {
                let advice = "make the folder of plugins readable, or set PULUMI_HOME to another one";
                return vec![Finding::warning("plugins", failure.message, advice)];
            }
        };
        let count = installed.len();
        let mut findings = vec![Finding::ok("plugins", format!("{count} in the cache"))];
        let Some(found) = found else {
            return findings;
        };
        let required = match project_plugins::required(self.invocation, found).await {
            Ok(required) => required,
            Err(failure) => {
                findings.push(Finding::problem(
                    "program",
                    failure.message,
                    self.install_advice(),
                ));
                return findings;
            }
        };
        findings.extend(self.program(found).await);
        let servers = Servers::of(self.invocation).ok();
        for wanted in required {
            let is_installed = installed.iter().any(|plugin| {
                plugin.kind == PluginKind::Resource
                    && plugin.name == wanted.name.replace('/', "_")
                    && plugin.version >= wanted.version
            });
            if !is_installed {
                let (name, version) = (&wanted.name, &wanted.version);
                let install = format!(
                    "`{} plugin install resource {name} {version}`",
                    self.invocation.name
                );
                let advice = match servers
                    .as_ref()
                    .is_some_and(|servers| servers.of_plugin(name, &wanted.server).is_some())
                {
                    true => install,
                    false => format!(
                        "{install} with `--server URL` or `--file ARCHIVE`, or name its server in {OVERRIDES}"
                    ),
                };
                findings.push(Finding::warning(
                    "plugins",
                    format!("the program's packages need {name} {version}, which is not in the cache"),
                    advice,
                ));
            }
        }
        findings
    }

    /// Looks for what the program of the project lacks, in the languages whose programs the engine starts itself.
    async fn program(&self, found: &FoundProject) -> Option<Finding> {
        let name = found.file.runtime.name.as_str();
        if !LANGUAGES.iter().any(|language| language.runtime == name) {
            return None;
        }
        let environment = self.invocation.process_environment();
        let missing = missing_part(found.folder().to_owned(), found.file.clone(), environment).await;
        Some(match missing {
            Ok(None) => Finding::ok("program", "its file and the package of its SDK are there"),
            Ok(Some(missing)) => {
                let advice = match missing {
                    MissingPart::Entry(_) => {
                        "create it, or name the program as `main` in the project file".to_owned()
                    }
                    _ => self.install_advice(),
                };
                Finding::problem("program", missing.to_string(), advice)
            }
            Err(error) => Finding::problem("program", error.message(), self.install_advice()),
        })
    }

    fn install_advice(&self) -> String {
        format!(
            "run `{} install` in the project's folder, once there is an interpreter",
            self.invocation.name
        )
    }

    /// Looks for the language host of the project's program, in the languages whose programs the engine does not start itself.
    async fn language_host(&self, session: &Session<'_>, found: &FoundProject) -> Option<Finding> {
        let name = found.file.runtime.name.as_str();
        if LANGUAGES.iter().any(|language| language.runtime == name) {
            return None;
        }
        let program = HostedProgram {
            runtime: name.to_owned(),
            root: found.folder().to_owned(),
            program: found.folder().to_owned(),
            environment: Some(self.invocation.process_environment()),
        };
        Some(match session.engine.hosted_program(program).await {
            Ok(_) => Finding::ok("program", format!("`pulumi-language-{name}` runs it")),
            Err(error) => {
                let advice = format!(
                    "put the executable `pulumi-language-{name}` in a folder of PATH, or correct `runtime` in the project file"
                );
                Finding::problem("program", error.message(), advice)
            }
        })
    }

    /// Lists the store, and what is to be known of its stacks.
    async fn stacks(&self, session: &Session<'_>) -> Vec<Finding> {
        let url = without_user(&session.engine.store_url());
        // Records are counted so that each state is read: a damaged one is a problem of its stack.
        let stacks = match session.engine.stacks(None, true).await {
            Ok(stacks) => stacks,
            Err(error) => {
                let advice = match error.kind() {
                    ErrorKind::Unavailable => "check the network and the address of the store",
                    _ => "check the credentials and the content of the store",
                };
                let found = format!("{url} cannot be listed: {}", error.message());
                return vec![Finding::problem("store", found, advice)];
            }
        };
        let source = match session.has_engine_of_host() {
            true => String::new(),
            false => format!(", from {}", self.store_source(session)),
        };
        let count = match stacks.len() {
            1 => "1 stack".to_owned(),
            count => format!("{count} stacks"),
        };
        let mut findings = vec![Finding::ok("store", format!("{url}{source}, with {count}"))];
        for stack in &stacks {
            findings.extend(self.stack(session, stack));
        }
        findings
    }

    /// Returns what has selected the store that is open, in the order of [`Session::open`].
    fn store_source(&self, session: &Session<'_>) -> &'static str {
        let named_by_project = |found: &FoundProject| found.file.backend_url.is_some();
        if self.invocation.variable("PULUMI_BACKEND_URL").is_some() {
            "PULUMI_BACKEND_URL"
        } else if session.found().is_some_and(named_by_project) {
            "the project file"
        } else {
            "`login`"
        }
    }

    fn stack(&self, session: &Session<'_>, stack: &StackSummary) -> Vec<Finding> {
        let (shown, command) = (session.shown(&stack.name), &self.invocation.name);
        let mut findings = Vec::new();
        for problem in &stack.problems {
            let advice = format!(
                "`{command} stack export --stack {shown}` reads a damaged state, `{command} state repair` mends it"
            );
            findings.push(Finding::problem("state", format!("{shown}: {problem}"), advice));
        }
        match &stack.lock {
            Some(holder) if holder.is_running => {
                findings.push(Finding::ok(
                    "lock",
                    format!("{shown} is in use by {}", described(holder)),
                ));
            }
            Some(holder) => {
                let found = format!("{shown} is locked by {}, which may have ended", described(holder));
                let advice = format!("if it has ended, `{command} cancel {shown}` removes the lock");
                findings.push(Finding::warning("lock", found, advice));
            }
            None => {}
        }
        findings
    }

    /// Looks for what interrupted operations of the selected stack have begun. A state that cannot be read is found by the other checks.
    async fn pending(&self, session: &Session<'_>) -> Option<Finding> {
        let selected = session.selected().ok()??;
        let pending = session.stack(&selected).await.ok()?.pending().await.ok()?;
        let interrupted: Vec<_> = pending.iter().filter(|entry| !entry.in_progress).collect();
        let first = interrupted.first()?;
        let (shown, command, urn) = (
            &selected.shown,
            &self.invocation.name,
            &first.operation.resource.urn,
        );
        let found = match interrupted.len() {
            1 => format!("{shown} has a pending operation: {urn}"),
            count => format!("{shown} has {count} pending operations, first of {urn}"),
        };
        let advice = format!(
            "`{command} refresh --stack {shown}` ends those of resources with an id; of a creation, it takes the id with \
             `--import-pending-creates`, or drops it with `--clear-pending-creates`"
        );
        Some(Finding::warning("pending", found, advice))
    }

    /// Checks that values can be encrypted and decrypted for the selected stack; without one, that there is a passphrase.
    async fn secrets(&self, session: &Session<'_>) -> Finding {
        if session.has_engine_of_host() {
            return Finding::ok("secrets", "encrypted by the engine of the host");
        }
        let advice = format!(
            "set {}, or {} to the path of a file with it",
            PASSPHRASES[0], PASSPHRASES[1]
        );
        match session.selected() {
            Ok(Some(stack)) => match session.check_key(&stack.name).await {
                Ok(()) => Finding::ok("secrets", format!("those of {} can be decrypted", stack.shown)),
                Err(failure) => {
                    Finding::problem("secrets", format!("{}: {}", stack.shown, failure.message), advice)
                }
            },
            _ if PASSPHRASES
                .iter()
                .any(|name| self.invocation.variable(name).is_some()) =>
            {
                Finding::ok("secrets", "there is a passphrase")
            }
            _ => Finding::warning("secrets", "there is no passphrase", advice),
        }
    }
}

fn version() -> Finding {
    let (system, architecture) = (std::env::consts::OS, std::env::consts::ARCH);
    Finding::ok(
        "version",
        format!("{VERSION}, compatible with {COMPATIBLE_VERSION}, on {system} {architecture}"),
    )
}

fn project(found: Option<&FoundProject>, invocation: &Invocation) -> Finding {
    match found {
        Some(found) => Finding::ok(
            "project",
            format!(
                "{} in {}, in the language {}",
                found.file.name,
                found.path.display(),
                found.file.runtime.name
            ),
        ),
        None => Finding::ok(
            "project",
            format!(
                "no project file in {} and the folders above it",
                invocation.directory.display()
            ),
        ),
    }
}

fn described(holder: &LockHolder) -> String {
    let operation = holder.operation.as_deref().unwrap_or("an operation");
    let process = holder.process.map(|process| format!(" of process {process}"));
    let user = holder.user.as_deref().map(|user| format!(" of {user}"));
    let host = holder.host.as_deref().map(|host| format!("@{host}"));
    let since = holder
        .since
        .map(|since| format!(" since {}", text::milliseconds(since)));
    [process, user, host, since]
        .into_iter()
        .flatten()
        .fold(operation.to_owned(), |text, part| text + &part)
}
