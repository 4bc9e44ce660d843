//! The identity of a plugin's executable, for detecting that it was replaced.

use std::{
    fs::{self, File},
    io::Read as _,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::{HostEnvironment, PluginCommand};

/// Identifies an executable with unchanged content.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PluginCode {
    device: u64,
    inode: u64,
    size: u64,
    /// Seconds and nanoseconds since the epoch.
    modified: (i64, i64),
    /// Seconds and nanoseconds since the epoch of the last change of content or metadata; cannot be set by a program.
    changed: (i64, i64),
}

impl PluginCode {
    /// Inspects the executable of a plugin. Reads files, so it blocks.
    ///
    /// `None` if no single file identifies the code: the executable is not found, is a script, or is an interpreter
    /// with a script as argument. The code of those is in files that only they know.
    pub(crate) fn inspect(
        command: &PluginCommand,
        directory: Option<&Path>,
        host_environment: &HostEnvironment,
    ) -> Option<Self> {
        let directory = directory
            .or(host_environment.directory())
            .unwrap_or(Path::new("/"));
        let interprets = command
            .arguments
            .iter()
            .any(|argument| argument == "-m" || (!argument.is_empty() && directory.join(argument).exists()));
        if interprets {
            return None;
        }
        let mut file = File::open(executable(command, directory, host_environment)?).ok()?;
        let mut start = Vec::new();
        file.by_ref().take(2).read_to_end(&mut start).ok()?;
        if start == b"#!" {
            return None;
        }
        let metadata = file.metadata().ok()?;
        Some(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

/// Returns the folder that a plugin's code is in: of its executable, of the file that an interpreter is given, or the
/// working directory if the argument is a module (`-m`) or a text (`-c`). Reads files, so it blocks.
pub(super) fn folder(
    command: &PluginCommand,
    directory: Option<&Path>,
    host_environment: &HostEnvironment,
) -> Option<PathBuf> {
    let directory = directory.or(host_environment.directory())?;
    for argument in &command.arguments {
        if argument == "-m" || argument == "-c" {
            return Some(directory.to_owned());
        }
        let file = directory.join(argument);
        if file.is_file() {
            return file.parent().map(Path::to_owned);
        }
    }
    let program = executable(command, directory, host_environment)?;
    program.parent().map(Path::to_owned)
}

/// Finds the file that the operating system will run.
fn executable(
    command: &PluginCommand,
    directory: &Path,
    host_environment: &HostEnvironment,
) -> Option<PathBuf> {
    let program = &command.program;
    if program.components().nth(1).is_some() {
        return Some(directory.join(program));
    }
    let own = command.environment.iter().rev().find(|(name, _)| name == "PATH");
    let path = own
        .map(|(_, value)| value.as_os_str())
        .or_else(|| host_environment.variable("PATH"))?;
    std::env::split_paths(path)
        .map(|folder| directory.join(folder).join(program))
        .find(|file| {
            fs::metadata(file).is_ok_and(|metadata| metadata.is_file() && metadata.mode() & 0o111 != 0)
        })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// Replaces an executable as a build does: writes a new file and renames it over the old one.
    fn build(path: &Path, content: &[u8]) {
        let new = path.with_extension("new");
        fs::write(&new, content).unwrap();
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).unwrap();
        fs::rename(new, path).unwrap();
    }

    fn command(program: impl Into<PathBuf>, arguments: &[&str]) -> PluginCommand {
        PluginCommand {
            program: program.into(),
            arguments: arguments.iter().map(Into::into).collect(),
            ..PluginCommand::default()
        }
    }

    fn inspect(command: &PluginCommand, directory: &Path) -> Option<PluginCode> {
        PluginCode::inspect(command, Some(directory), &HostEnvironment::now())
    }

    #[test]
    fn a_rebuilt_executable_with_the_same_content_is_another_executable() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("pulumi-resource-files");
        let command = command(&program, &["--quiet"]);
        build(&program, b"\x7fELF");
        let first = inspect(&command, folder.path());
        assert!(first.is_some());
        assert_eq!(first, inspect(&command, folder.path()));
        build(&program, b"\x7fELF");
        assert_ne!(first, inspect(&command, folder.path()));
    }

    #[test]
    fn an_executable_without_a_folder_is_found_in_the_path() {
        let folder = tempfile::tempdir().unwrap();
        build(&folder.path().join("files"), b"\x7fELF");
        let host_environment =
            HostEnvironment::now().with("PATH", format!("/nowhere:{}", folder.path().display()));
        let direct = inspect(&command("./files", &[]), folder.path());
        let found = PluginCode::inspect(&command("files", &[]), None, &host_environment);
        assert!(found.is_some());
        assert_eq!(direct, found);
        let mut own = command("files", &[]);
        own.environment.push(("PATH".into(), "/nowhere".into()));
        assert_eq!(PluginCode::inspect(&own, None, &host_environment), None);
    }

    #[test]
    fn the_folder_of_a_plugin_is_that_of_its_script_and_not_of_its_interpreter() {
        let folder_of = tempfile::tempdir().unwrap();
        let work = folder_of.path();
        fs::create_dir(work.join("plugin")).unwrap();
        fs::create_dir(work.join("bin")).unwrap();
        fs::write(work.join("plugin/main.py"), "").unwrap();
        build(&work.join("bin/python"), b"\x7fELF");
        let python = work.join("bin/python");
        let python = python.to_str().unwrap();
        let host_environment = HostEnvironment::now().with("PATH", work.join("bin").to_str().unwrap());
        for (program, arguments, home) in [
            (python, &[][..], "bin"),
            ("python", &[], "bin"),
            (python, &["--quiet"], "bin"),
            (python, &["-u", "plugin/main.py", "more"], "plugin"),
            (python, &["-u", "-m", "pulumi.dynamic"], ""),
            (python, &["-c", "pass", "plugin/main.py"], ""),
        ] {
            let command = command(program, arguments);
            let found = folder(&command, Some(work), &host_environment).unwrap();
            assert_eq!(found.join("."), work.join(home).join("."), "{arguments:?}");
        }
    }

    #[test]
    fn scripts_and_interpreted_plugins_have_no_single_file_of_code() {
        let folder = tempfile::tempdir().unwrap();
        build(&folder.path().join("script"), b"#!/bin/sh\n");
        build(&folder.path().join("python"), b"\x7fELF");
        fs::write(folder.path().join("plugin.py"), "").unwrap();
        for (program, arguments) in [
            ("./script", &[][..]),
            ("./python", &["-u", "plugin.py"]),
            ("./python", &["-m", "pulumi.dynamic"]),
            ("./missing", &[]),
        ] {
            assert_eq!(inspect(&command(program, arguments), folder.path()), None);
        }
        assert!(inspect(&command("./python", &["-u"]), folder.path()).is_some());
    }
}
