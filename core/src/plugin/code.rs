//! The code that a plugin runs from, to notice that it was replaced.

use std::{
    fs::{self, File},
    io::Read as _,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::{Inheritance, PluginCommand};

/// What tells that an executable is still the same file with the same content.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PluginCode {
    device: u64,
    inode: u64,
    size: u64,
    /// Seconds and nanoseconds since the epoch.
    modified: (i64, i64),
    /// The same, of the last change of content or of what is noted about it; can not be set at will.
    changed: (i64, i64),
}

impl PluginCode {
    /// Looks at a plugin's code; reads files, so it blocks.
    ///
    /// `None` when no one file tells: it can not be found, or it is a script, or an interpreter that is given one. The code of
    /// those is in whatever they load, of which only they know.
    pub(crate) fn look(
        command: &PluginCommand,
        directory: Option<&Path>,
        inheritance: &Inheritance,
    ) -> Option<Self> {
        let directory = directory.or(inheritance.directory()).unwrap_or(Path::new("/"));
        let interprets = command
            .arguments
            .iter()
            .any(|argument| argument == "-m" || (!argument.is_empty() && directory.join(argument).exists()));
        if interprets {
            return None;
        }
        let mut file = File::open(executable(command, directory, inheritance)?).ok()?;
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
/// working directory where that is given a module (`-m`) or a text (`-c`). Looks at files, so it blocks.
pub(super) fn folder(
    command: &PluginCommand,
    directory: Option<&Path>,
    inheritance: &Inheritance,
) -> Option<PathBuf> {
    let directory = directory.or(inheritance.directory())?;
    for argument in &command.arguments {
        if argument == "-m" || argument == "-c" {
            return Some(directory.to_owned());
        }
        let file = directory.join(argument);
        if file.is_file() {
            return file.parent().map(Path::to_owned);
        }
    }
    let program = executable(command, directory, inheritance)?;
    program.parent().map(Path::to_owned)
}

/// Finds the file that the operating system will run.
fn executable(command: &PluginCommand, directory: &Path, inheritance: &Inheritance) -> Option<PathBuf> {
    let program = &command.program;
    if program.components().nth(1).is_some() {
        return Some(directory.join(program));
    }
    let own = command.environment.iter().rev().find(|(name, _)| name == "PATH");
    let path = own
        .map(|(_, value)| value.as_os_str())
        .or_else(|| inheritance.variable("PATH"))?;
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

    /// Writes an executable anew, as a build does: into a new file that takes the place of the old.
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
            environment: vec![],
        }
    }

    fn look(command: &PluginCommand, directory: &Path) -> Option<PluginCode> {
        PluginCode::look(command, Some(directory), &Inheritance::now())
    }

    #[test]
    fn an_executable_that_was_built_again_is_another_one_even_with_the_same_content() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("pulumi-resource-files");
        let command = command(&program, &["--quiet"]);
        build(&program, b"\x7fELF");
        let first = look(&command, folder.path());
        assert!(first.is_some());
        assert_eq!(first, look(&command, folder.path()));
        build(&program, b"\x7fELF");
        assert_ne!(first, look(&command, folder.path()));
    }

    #[test]
    fn an_executable_without_a_folder_is_looked_for_as_the_operating_system_does() {
        let folder = tempfile::tempdir().unwrap();
        build(&folder.path().join("files"), b"\x7fELF");
        let inheritance = Inheritance::now().with("PATH", &format!("/nowhere:{}", folder.path().display()));
        let direct = look(&command("./files", &[]), folder.path());
        let found = PluginCode::look(&command("files", &[]), None, &inheritance);
        assert!(found.is_some());
        assert_eq!(direct, found);
        let mut own = command("files", &[]);
        own.environment.push(("PATH".into(), "/nowhere".into()));
        assert_eq!(PluginCode::look(&own, None, &inheritance), None);
    }

    #[test]
    fn a_plugin_is_at_home_where_its_own_code_is_and_not_where_its_interpreter_is() {
        let folder_of = tempfile::tempdir().unwrap();
        let work = folder_of.path();
        fs::create_dir(work.join("plugin")).unwrap();
        fs::create_dir(work.join("bin")).unwrap();
        fs::write(work.join("plugin/main.py"), "").unwrap();
        build(&work.join("bin/python"), b"\x7fELF");
        let python = work.join("bin/python");
        let python = python.to_str().unwrap();
        let inheritance = Inheritance::now().with("PATH", work.join("bin").to_str().unwrap());
        for (program, arguments, home) in [
            (python, &[][..], "bin"),
            ("python", &[], "bin"),
            (python, &["--quiet"], "bin"),
            (python, &["-u", "plugin/main.py", "more"], "plugin"),
            (python, &["-u", "-m", "pulumi.dynamic"], ""),
            (python, &["-c", "pass", "plugin/main.py"], ""),
        ] {
            let command = command(program, arguments);
            let found = folder(&command, Some(work), &inheritance).unwrap();
            assert_eq!(found.join("."), work.join(home).join("."), "{arguments:?}");
        }
    }

    #[test]
    fn the_code_of_scripts_and_of_what_interpreters_are_given_is_in_more_than_one_file() {
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
            assert_eq!(look(&command(program, arguments), folder.path()), None);
        }
        assert!(look(&command("./python", &["-u"]), folder.path()).is_some());
    }
}
