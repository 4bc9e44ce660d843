//! The command line of a policy pack in a folder: its interpreter, and the SDK's module that runs it.

use std::path::{Path, PathBuf};

use super::manifest::{FILE_NAMES, Manifest};
use crate::{
    error::{Error, ErrorKind, Result},
    plugin::{HostEnvironment, PluginCommand},
};

/// The path of the SDK's launcher of policy packs, from a folder with Node packages.
const NODE_LAUNCHER: &str = "node_modules/@pulumi/pulumi/cmd/run-policy-pack";

/// How a pack is started.
#[derive(Debug)]
pub(super) struct PackCommand {
    /// The command line before the engine's address.
    pub(super) command: PluginCommand,
    /// The argument after it: what the launcher runs.
    pub(super) program: PathBuf,
    /// The folder of the pack, which is the working directory.
    pub(super) folder: PathBuf,
}

/// Finds the command line of the pack in a folder. Reads files, so it blocks.
///
/// # Errors
/// [`ErrorKind::Plugin`] that names the pack, and every place that was searched.
pub(super) fn find(pack: &str, folder: &Path, host: &HostEnvironment) -> Result<PackCommand> {
    let finding = Finding { pack, folder, host };
    let manifest = finding.manifest()?;
    let command = match manifest.runtime.as_str() {
        "python" => finding.python(manifest.options.get("virtualenv")),
        "nodejs" => finding.node(),
        other => Err(finding.failed(&format!(
            "its runtime is {other:?}, and the engine starts packs of the runtimes \"python\" and \"nodejs\""
        ))),
    };
    Ok(PackCommand {
        command: command?,
        program: match manifest.main.as_str() {
            "" => folder.to_owned(),
            main => folder.join(main),
        },
        folder: folder.to_owned(),
    })
}

struct Finding<'a> {
    pack: &'a str,
    folder: &'a Path,
    host: &'a HostEnvironment,
}

impl Finding<'_> {
    fn manifest(&self) -> Result<Manifest> {
        for name in FILE_NAMES {
            let file = self.folder.join(name);
            match std::fs::read_to_string(&file) {
                Ok(text) => {
                    let manifest = Manifest::parse(&text);
                    return manifest
                        .map_err(|error| self.failed(&format!("{}: {}", file.display(), error.message())));
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(self.failed(&format!("{}: {error}", file.display()))),
            }
        }
        Err(self.failed(&format!(
            "the folder {} has none of the files {}",
            self.folder.display(),
            FILE_NAMES.join(", ")
        )))
    }

    /// Returns the command of a Python pack: of its virtual environment, or of the host's interpreter.
    fn python(&self, environment: Option<&String>) -> Result<PluginCommand> {
        let interpreter = match environment {
            Some(environment) => {
                let folder = self.folder.join(environment).join("bin");
                self.first(
                    "the interpreter of its virtual environment",
                    ["python", "python3"].map(|name| folder.join(name)),
                )
            }
            None => self.first("the program python3", self.on_path("python3")),
        };
        Ok(PluginCommand {
            program: interpreter?,
            arguments: ["-u", "-m", "pulumi.policy"].map(Into::into).into(),
            ..PluginCommand::default()
        })
    }

    /// Returns the command of a Node pack: the launcher of the SDK that is installed for the folder.
    fn node(&self) -> Result<PluginCommand> {
        let node = self.first("the program node", self.on_path("node"))?;
        let places = self.folder.ancestors().map(|folder| folder.join(NODE_LAUNCHER));
        let files = places.map(|place| place.join("index.js"));
        let launcher = self.first("the package @pulumi/pulumi", files)?;
        Ok(PluginCommand {
            program: node,
            arguments: vec![launcher.into()],
            ..PluginCommand::default()
        })
    }

    fn on_path(&self, program: &str) -> Vec<PathBuf> {
        let folders = self.host.path_folders().into_iter();
        folders.map(|folder| folder.join(program)).collect()
    }

    /// Returns the first file that exists.
    fn first(&self, noun: &str, places: impl IntoIterator<Item = PathBuf>) -> Result<PathBuf> {
        let mut searched = Vec::new();
        for place in places {
            if place.is_file() {
                return Ok(place);
            }
            searched.push(place.display().to_string());
        }
        let searched = match searched.is_empty() {
            true => "the host has no PATH".to_owned(),
            false => format!("searched {}", searched.join(", ")),
        };
        Err(self.failed(&format!("{noun} is not found: {searched}")))
    }

    fn failed(&self, why: &str) -> Error {
        let text = format!("could not start policy pack {}: {why}", self.pack);
        Error::new(ErrorKind::Plugin, text).with_phase("load")
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn folder(manifest: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("PulumiPolicy.yaml"), manifest).unwrap();
        folder
    }

    fn message(folder: &Path, path: &str) -> String {
        let host = HostEnvironment::now().with("PATH", path);
        find("guard", folder, &host).unwrap_err().message().to_owned()
    }

    #[test]
    fn a_python_pack_runs_in_its_virtual_environment_else_in_the_python_of_the_path() {
        let pack = folder("runtime: {name: python, options: {virtualenv: venv}}\nmain: src\n");
        let bin = pack.path().join("venv/bin");
        let text = message(pack.path(), "/nowhere");
        for name in ["python", "python3"] {
            assert!(text.contains(&bin.join(name).display().to_string()), "{text}");
        }
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join("python3"), "").unwrap();
        let found = find("guard", pack.path(), &HostEnvironment::now()).unwrap();
        assert_eq!(found.command.program, bin.join("python3"));
        assert_eq!(found.command.arguments, ["-u", "-m", "pulumi.policy"]);
        assert_eq!(found.program, pack.path().join("src"));
        let plain = folder("runtime: python\n");
        let text = message(plain.path(), "/nowhere:/none");
        assert!(
            text.ends_with("the program python3 is not found: searched /nowhere/python3, /none/python3"),
            "{text}"
        );
    }

    #[test]
    fn a_node_pack_needs_the_sdk_in_a_folder_above_it_and_every_searched_one_is_named() {
        let root = tempfile::tempdir().unwrap();
        let pack = root.path().join("packs/guard");
        let bin = root.path().join("bin");
        for new in [&pack, &bin] {
            fs::create_dir_all(new).unwrap();
        }
        fs::write(pack.join("PulumiPolicy.yaml"), "runtime: nodejs\n").unwrap();
        fs::write(bin.join("node"), "").unwrap();
        let path = bin.display().to_string();
        let text = message(&pack, &path);
        for ancestor in pack.ancestors() {
            let place = ancestor.join(NODE_LAUNCHER).join("index.js");
            assert!(text.contains(&place.display().to_string()), "{text}");
        }
        let launcher = root.path().join(NODE_LAUNCHER);
        fs::create_dir_all(&launcher).unwrap();
        fs::write(launcher.join("index.js"), "").unwrap();
        let host = HostEnvironment::now().with("PATH", &path);
        let found = find("guard", &pack, &host).unwrap();
        assert_eq!(found.command.arguments, [launcher.join("index.js")]);
        assert_eq!((found.program, found.folder), (pack.clone(), pack));
    }

    #[test]
    fn a_folder_without_a_file_or_with_another_runtime_is_refused_by_name() {
        let empty = tempfile::tempdir().unwrap();
        let text = message(empty.path(), "");
        assert!(
            text.starts_with("could not start policy pack guard: the folder "),
            "{text}"
        );
        assert!(text.contains("PulumiPolicy.yaml"), "{text}");
        let other = folder("runtime: opa\n");
        assert!(message(other.path(), "").contains("its runtime is \"opa\""));
    }
}
