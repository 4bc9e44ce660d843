//! Reading scenarios: one YAML or JSON file each, from a folder and all below it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    CallRule, PACKAGE, PackageScript, RULES_FILE, Rules, Scenario, ScenarioOperation, Statement,
    StatementKind,
};

/// Why a scenario cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}", path.display())]
pub struct ScenarioError {
    /// The file or folder.
    pub path: PathBuf,
    /// What is wrong with it.
    pub reason: String,
}

impl ScenarioError {
    pub(super) fn new(path: &Path, reason: impl ToString) -> Self {
        Self {
            path: path.to_owned(),
            reason: reason.to_string(),
        }
    }
}

/// Reads every scenario of a folder and of those below it, in the order of their paths. Where the folder has a file of
/// rules, `restsOn` names only ids that it has.
///
/// # Errors
/// Of the folder itself and of its rules; a file that is not a scenario is an error in its place.
pub fn read_directory(directory: &Path) -> Result<Vec<Result<Scenario, ScenarioError>>, ScenarioError> {
    let rules = Rules::read(directory)?;
    let mut files = Vec::new();
    gather(directory, &mut files)?;
    files.sort();
    let read = |file: &PathBuf| {
        let scenario = read_scenario(file)?;
        let checked = rules
            .as_ref()
            .map_or(Ok(()), |rules| rules.check_scenario(&scenario));
        checked.map_err(|reason| ScenarioError::new(file, reason))?;
        Ok(scenario)
    };
    Ok(files.iter().map(read).collect())
}

fn gather(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), ScenarioError> {
    let entries = fs::read_dir(directory).map_err(|error| ScenarioError::new(directory, error))?;
    for entry in entries {
        let path = entry
            .map_err(|error| ScenarioError::new(directory, error))?
            .path();
        let is_scenario = path
            .extension()
            .is_some_and(|extension| ["yaml", "yml", "json"].iter().any(|known| extension == *known));
        if path.is_dir() {
            gather(&path, files)?;
        } else if is_scenario && !path.ends_with(RULES_FILE) {
            files.push(path);
        }
    }
    Ok(())
}

/// Reads and validates one scenario.
///
/// # Errors
/// When the file cannot be read, or its content is not a scenario.
pub fn read_scenario(path: &Path) -> Result<Scenario, ScenarioError> {
    let text = fs::read_to_string(path).map_err(|error| ScenarioError::new(path, error))?;
    let mut scenario: Scenario =
        serde_norway::from_str(&text).map_err(|error| ScenarioError::new(path, error))?;
    path.clone_into(&mut scenario.path);
    if scenario.packages.is_empty() {
        scenario.packages.insert(PACKAGE.into(), PackageScript::default());
    }
    check(&scenario).map_err(|reason| ScenarioError::new(path, reason))?;
    Ok(scenario)
}

fn check(scenario: &Scenario) -> Result<(), String> {
    check_program(&scenario.program)?;
    if scenario.operations.is_empty() {
        return Err("a scenario needs at least one operation".into());
    }
    for operation in &scenario.operations {
        operation.verb()?;
        check_program(operation.program.as_deref().unwrap_or_default())?;
        check_program(&operation.add)?;
        check_kill(scenario, operation)?;
    }
    check_served(scenario)?;
    check_project(scenario)?;
    check_beside(scenario)
}

/// A killed operation has a call that hangs: else it can go on, or end, before the kill arrives.
fn check_kill(scenario: &Scenario, operation: &ScenarioOperation) -> Result<(), String> {
    let Some(label) = &operation.kill else {
        return Ok(());
    };
    let of_packages = scenario.packages.values().flat_map(|script| &script.calls);
    match operation.calls.iter().chain(of_packages).any(|rule| rule.hang) {
        true => Ok(()),
        false => Err(format!("the kill at `{label}` needs a call that hangs")),
    }
}

/// Actions on a project need one. Files of a project are beside those of a store, which a scenario that is `supplied` does not have.
fn check_project(scenario: &Scenario) -> Result<(), String> {
    let has_project = !scenario.project.is_empty();
    if has_project && scenario.supplied {
        return Err("a scenario with a project cannot be supplied with its state".into());
    }
    let mut actions = scenario
        .operations
        .iter()
        .flat_map(|operation| &operation.project);
    actions.try_for_each(|action| action.check(has_project))
}

/// Only a served provider logs. It declares no more than that it accepts no secrets.
fn check_served(scenario: &Scenario) -> Result<(), String> {
    for (package, script) in &scenario.packages {
        let is_special = script.waits_for_registrations || script.without_delete;
        if script.served.is_some() && is_special {
            return Err(format!(
                "the package {package} is served: it has no waitsForRegistrations or withoutDelete"
            ));
        }
    }
    let of_operations = scenario
        .operations
        .iter()
        .map(|operation| (PACKAGE, &operation.calls));
    let of_packages = scenario
        .packages
        .iter()
        .map(|(name, script)| (name.as_str(), &script.calls));
    for (package, rules) in of_operations.chain(of_packages) {
        let is_served = scenario
            .packages
            .get(package)
            .is_some_and(|script| script.served.is_some());
        let logs = |rule: &&CallRule| !rule.log.is_empty();
        if let Some(rule) = rules.iter().find(logs).filter(|_| !is_served) {
            return Err(format!(
                "`{}` logs, but the package {package} is not served",
                rule.on
            ));
        }
    }
    Ok(())
}

/// Operations beside need a stack beside. Such a scenario is neither `supplied` nor kills the process.
fn check_beside(scenario: &Scenario) -> Result<(), String> {
    let besides = scenario.operations.iter().filter(|it| it.beside.is_some());
    let Some(stack) = &scenario.beside else {
        return match besides.count() {
            0 => Ok(()),
            _ => Err("an operation beside needs a stack beside".into()),
        };
    };
    check_program(&stack.program)?;
    if scenario.supplied {
        return Err("a scenario with a stack beside cannot be supplied with its state".into());
    }
    for operation in besides {
        if operation.kill.is_some() {
            return Err("an operation with one beside cannot be killed".into());
        }
        if let Some(beside) = &operation.beside {
            beside.verb()?;
        }
    }
    Ok(())
}

fn check_program(program: &[Statement]) -> Result<(), String> {
    for statement in program {
        let nameless = match statement.kind()? {
            StatementKind::Resource(_)
            | StatementKind::Component(_)
            | StatementKind::Provider(_)
            | StatementKind::Read(_)
            | StatementKind::Exists(_)
            | StatementKind::Invoke(_) => statement.handle().is_empty(),
            _ => false,
        };
        if nameless {
            return Err(format!("a statement needs a name: {:?}", statement.kind()?));
        }
    }
    Ok(())
}
