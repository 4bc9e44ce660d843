//! The providers of the SDKs for resources that programs define themselves: they run with the interpreter of the program, whose packages
//! the definitions need.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::plugin::PluginCommand;

/// The package of the SDK for Python.
const PYTHON: &str = "pulumi-python";
/// The package of the SDK for Node.
const NODE: &str = "pulumi-nodejs";
/// The folder of the virtual environment that the tool `uv` makes.
const UV_ENVIRONMENT: &str = ".venv";
/// The server of the SDK for Node, below a folder with packages.
const NODE_SERVER: &str = "node_modules/@pulumi/pulumi/cmd/dynamic-provider/index.js";

/// The project of the resources, and the environment of the host.
pub(crate) struct DynamicPlace<'a> {
    /// The folder of the project.
    pub folder: &'a Path,
    /// The options of the program's runtime.
    pub options: &'a BTreeMap<String, Value>,
    /// The folders of executables.
    pub path: &'a [PathBuf],
}

impl DynamicPlace<'_> {
    /// Returns whether a package is one of these providers.
    pub(crate) fn is_of(package: &str) -> bool {
        matches!(package, PYTHON | NODE)
    }

    /// Returns the command that starts the provider with the virtual environment of the project; `None` for other packages, and without
    /// such an environment. `configured` is the command of the settings: one that starts no interpreter, a script for instance, is not
    /// replaced.
    pub(crate) fn own_command(
        &self,
        package: &str,
        configured: Option<&PluginCommand>,
    ) -> Option<PluginCommand> {
        let is_interpreter = |command: &PluginCommand| {
            let name = command.program.file_name().unwrap_or_default();
            name.to_string_lossy().starts_with("python")
        };
        if configured.is_some_and(|command| !is_interpreter(command)) {
            return None;
        }
        let option = |name: &str| self.options.get(name).and_then(Value::as_str);
        let environment = match (option("virtualenv"), option("toolchain")) {
            _ if package != PYTHON => return None,
            (Some(given), _) => given,
            (None, Some("uv")) => UV_ENVIRONMENT,
            (None, _) => return None,
        };
        let program = self.folder.join(environment).join("bin/python");
        let arguments = configured.map_or_else(python_arguments, |configured| configured.arguments.clone());
        program.is_file().then_some(PluginCommand {
            program,
            arguments,
            ..PluginCommand::default()
        })
    }

    /// Returns a command for a provider that is found nowhere else: an interpreter of the search path.
    pub(crate) fn fallback(&self, package: &str) -> Option<PluginCommand> {
        let on_path = |names: &[&str]| {
            let folders = self.path.iter();
            let mut candidates = folders.flat_map(|folder| names.iter().map(|name| folder.join(name)));
            candidates.find(|candidate| candidate.is_file())
        };
        let (program, arguments) = match package {
            PYTHON => (on_path(&["python3", "python"])?, python_arguments()),
            NODE => {
                let servers = self.folder.ancestors().map(|folder| folder.join(NODE_SERVER));
                let server = servers.into_iter().find(|server| server.is_file())?;
                (on_path(&["node"])?, vec![server.into_os_string()])
            }
            _ => return None,
        };
        Some(PluginCommand {
            program,
            arguments,
            ..PluginCommand::default()
        })
    }
}

/// The SDK prints the port without flushing, so that the output is not buffered.
fn python_arguments() -> Vec<OsString> {
    ["-u", "-m", "pulumi.dynamic"].map(OsString::from).into()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn file(folder: &Path, path: &str) -> PathBuf {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "").unwrap();
        file
    }

    fn options(members: &[(&str, &str)]) -> BTreeMap<String, Value> {
        let members = members.iter();
        members
            .map(|(name, value)| ((*name).to_owned(), Value::from(*value)))
            .collect()
    }

    #[test]
    fn python_resources_run_in_the_virtual_environment_of_their_project() {
        let folder = tempfile::tempdir().unwrap();
        let given = file(folder.path(), "venv/bin/python");
        let of_uv = file(folder.path(), ".venv/bin/python");
        let configured = PluginCommand {
            program: "/host/python".into(),
            arguments: vec!["serve".into()],
            ..PluginCommand::default()
        };
        for (members, program) in [
            (vec![("virtualenv", "venv")], Some(&given)),
            (vec![("toolchain", "uv")], Some(&of_uv)),
            (vec![("toolchain", "uv"), ("virtualenv", "venv")], Some(&given)),
            (vec![("virtualenv", "absent")], None),
            (vec![], None),
        ] {
            let options = options(&members);
            let place = DynamicPlace {
                folder: folder.path(),
                options: &options,
                path: &[],
            };
            let own = place.own_command(PYTHON, Some(&configured));
            assert_eq!(
                own.as_ref().map(|command| &command.program),
                program,
                "{members:?}"
            );
            assert!(own.is_none_or(|command| command.arguments == configured.arguments));
            assert_eq!(place.own_command(NODE, None), None);
            let script = PluginCommand {
                program: "/host/serve-python".into(),
                ..configured.clone()
            };
            assert_eq!(place.own_command(PYTHON, Some(&script)), None);
        }
    }

    #[test]
    fn a_provider_that_is_not_installed_is_started_by_an_interpreter_of_the_search_path() {
        let folder = tempfile::tempdir().unwrap();
        let (python, node) = (
            file(folder.path(), "bin/python3"),
            file(folder.path(), "bin/node"),
        );
        let server = file(folder.path(), NODE_SERVER);
        let inner = folder.path().join("shop/dev");
        let (options, path) = (BTreeMap::new(), [folder.path().join("bin")]);
        let place = DynamicPlace {
            folder: &inner,
            options: &options,
            path: &path,
        };
        let command = place.fallback(PYTHON).unwrap();
        assert_eq!((command.program, command.arguments), (python, python_arguments()));
        let command = place.fallback(NODE).unwrap();
        assert_eq!(
            (command.program, command.arguments),
            (node, vec![server.into_os_string()])
        );
        assert_eq!(place.fallback("files"), None);
        let nowhere = DynamicPlace { path: &[], ..place };
        assert_eq!(nowhere.fallback(PYTHON), None);
    }
}
