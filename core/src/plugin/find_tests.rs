//! Tests of the search order, with temporary folders.

use super::*;

struct Folders(tempfile::TempDir);

impl Folders {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Creates a file with the permissions `mode`.
    fn file(&self, name: &str, mode: u32) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    fn installed(&self, folder: &str) -> PathBuf {
        self.file(&format!("cache/{folder}/pulumi-resource-files"), 0o755)
    }

    fn settings(&self) -> PluginSettings {
        PluginSettings {
            directories: vec![self.path("first"), self.path("second")],
            path: Some(std::env::join_paths([self.path("path")]).unwrap()),
            cache: Some(self.path("cache")),
            ..PluginSettings::default()
        }
    }
}

fn query(version: Option<&str>) -> PluginQuery {
    PluginQuery {
        kind: PluginKind::Resource,
        name: "files".into(),
        version: version.map(|text| Version::parse(text).unwrap()),
    }
}

fn program(folders: &Folders, version: Option<&str>) -> PathBuf {
    find(&folders.settings(), &query(version))
        .unwrap()
        .command
        .program
}

#[test]
fn folders_come_before_the_path_and_the_path_before_the_cache() {
    let folders = Folders::new();
    let cached = folders.installed("resource-files-v1.0.0");
    assert_eq!(program(&folders, Some("1.0.0")), cached);
    let on_path = folders.file("path/pulumi-resource-files", 0o755);
    assert_eq!(program(&folders, Some("1.0.0")), on_path);
    let second = folders.file("second/pulumi-resource-files", 0o755);
    assert_eq!(program(&folders, None), second);
    let first = folders.file("first/pulumi-resource-files", 0o755);
    assert_eq!(program(&folders, None), first);
}

#[test]
fn a_file_that_may_not_be_run_is_passed_over() {
    let folders = Folders::new();
    folders.file("first/pulumi-resource-files", 0o644);
    let second = folders.file("second/pulumi-resource-files", 0o755);
    assert_eq!(program(&folders, None), second);
}

#[test]
fn a_requested_version_precedes_the_newest_that_is_compatible() {
    let folders = Folders::new();
    folders.installed("resource-files");
    let old = folders.installed("resource-files-v1.2.3");
    folders.installed("resource-files-v1.2.4");
    let newest = folders.installed("resource-files-v1.10.0");
    folders.installed("resource-files-v1.11.0-beta.1");
    folders.installed("resource-files-v2.0.0");
    assert_eq!(program(&folders, Some("1.2.3")), old);
    assert_eq!(program(&folders, Some("1.2.3+build")), old);
    assert_eq!(program(&folders, Some("1.2.0")), newest);
    assert_eq!(program(&folders, Some("1.2.5-alpha.1")), newest);
}

#[test]
fn incompatible_versions_are_not_taken() {
    let folders = Folders::new();
    folders.installed("resource-files-v0.3.0");
    folders.installed("resource-files-v1.2.3");
    folders.installed("resource-files-v2.0.0-beta.2");
    for asked in ["0.2.0", "0.3.1", "1.2.4", "2.0.0", "2.0.0-beta.3", "3.0.0"] {
        assert!(find(&folders.settings(), &query(Some(asked))).is_err(), "{asked}");
    }
    assert!(find(&folders.settings(), &query(Some("2.0.0-beta.1"))).is_ok());
}

#[test]
fn a_slash_in_a_name_is_an_underscore_in_files() {
    let folders = Folders::new();
    let executable = folders.file(
        "cache/resource-acme_files-v1.0.0/pulumi-resource-acme_files",
        0o755,
    );
    let query = PluginQuery {
        name: "acme/files".into(),
        ..query(Some("1.0.0"))
    };
    let found = find(&folders.settings(), &query).unwrap();
    assert_eq!(found.command.program, executable);
    let executable = folders.file("first/pulumi-resource-acme_files", 0o755);
    assert_eq!(
        find(&folders.settings(), &query).unwrap().command.program,
        executable
    );
}

#[test]
fn a_folder_without_a_version_is_the_last_resort() {
    let folders = Folders::new();
    let unversioned = folders.installed("resource-files");
    assert_eq!(program(&folders, Some("1.2.3")), unversioned);
    let versioned = folders.installed("resource-files-v1.2.3");
    assert_eq!(program(&folders, Some("1.2.3")), versioned);
}

#[test]
fn without_a_version_the_newest_stable_one_is_taken() {
    let folders = Folders::new();
    folders.installed("resource-files-v1.9.0");
    let newest = folders.installed("resource-files-v1.10.0");
    folders.installed("resource-files-v2.0.0-beta.1");
    assert_eq!(program(&folders, None), newest);
    let legacy = PluginSettings {
        ignore_versions: true,
        ..folders.settings()
    };
    assert_eq!(
        find(&legacy, &query(Some("0.1.0"))).unwrap().command.program,
        newest
    );
}

#[test]
fn unfinished_installations_and_other_plugins_are_passed_over() {
    let folders = Folders::new();
    folders.installed("resource-files-v1.0.0");
    folders.file("cache/resource-files-v1.0.0.partial", 0o644);
    folders.installed("resource-files-v1.1.0.tmp123");
    folders.installed("resource-files-extra-v1.2.0");
    folders.installed("analyzer-files-v1.3.0");
    folders.installed("resource-files-vnext");
    assert!(find(&folders.settings(), &query(None)).is_err());
}

#[test]
fn a_command_of_the_settings_comes_before_every_executable() {
    let folders = Folders::new();
    let command = PluginCommand {
        program: "/usr/bin/python".into(),
        arguments: vec!["-u".into(), "-m".into(), "pulumi.dynamic".into()],
        ..PluginCommand::default()
    };
    let settings = PluginSettings {
        commands: [("files".to_owned(), command.clone())].into(),
        ..folders.settings()
    };
    let found = find(&settings, &query(None)).unwrap();
    assert_eq!((&found.command, found.origin), (&command, PluginOrigin::Command));
    folders.installed("resource-files-v1.0.0");
    folders.file("path/pulumi-resource-files", 0o755);
    folders.file("first/pulumi-resource-files", 0o755);
    let with_executables = PluginSettings {
        commands: settings.commands.clone(),
        ..folders.settings()
    };
    let again = find(&with_executables, &query(None)).unwrap();
    assert_eq!(
        (again.command, again.origin),
        (found.command, PluginOrigin::Command)
    );
}

#[test]
fn a_command_of_one_version_serves_no_other_version() {
    let folders = Folders::new();
    let command = PluginCommand {
        program: "/opt/files".into(),
        version: Some(Version::new(1, 2, 3)),
        ..PluginCommand::default()
    };
    let settings = PluginSettings {
        commands: [("files".to_owned(), command)].into(),
        ..folders.settings()
    };
    for served in [None, Some("1.2.3")] {
        assert_eq!(
            find(&settings, &query(served)).unwrap().origin,
            PluginOrigin::Command
        );
    }
    assert!(find(&settings, &query(Some("1.2.4"))).is_err());
    folders.installed("resource-files-v1.2.4");
    assert_eq!(
        find(&settings, &query(Some("1.2.4"))).unwrap().origin,
        PluginOrigin::Cache
    );
}

#[test]
fn a_miss_has_the_reference_engine_s_text_for_tools() {
    let folders = Folders::new();
    let error = find(&folders.settings(), &query(None)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Plugin);
    assert_eq!(
        error.reference_message(),
        "no resource plugin 'pulumi-resource-files' found in the workspace or on your $PATH"
    );
    let error = find(&folders.settings(), &query(Some("1.2.3"))).unwrap_err();
    assert_eq!(
        error.reference_message(),
        "no resource plugin 'pulumi-resource-files' found in the workspace at version v1.2.3 or on your $PATH"
    );
}

#[test]
fn a_miss_lists_every_place_with_the_reason_why_it_did_not_fit() {
    let folders = Folders::new();
    folders.file("second/pulumi-resource-files", 0o644);
    folders.file("path/other", 0o755);
    folders.installed("resource-files-v1.0.0");
    folders.installed("resource-files-v1.1.0");
    folders.file("cache/resource-files-v1.1.0.partial", 0o644);
    folders.file("cache/resource-files-v1.2.0/pulumi-resource-files", 0o644);
    let error = find(&folders.settings(), &query(Some("1.2.3"))).unwrap_err();
    let place = |name: &str| folders.path(name).display().to_string();
    let expected = [
        "the resource plugin `files` in version 1.2.3 was not found (executable pulumi-resource-files):"
            .to_owned(),
        format!("  {}: there is no such folder", place("first")),
        format!("  {}: pulumi-resource-files is not executable", place("second")),
        format!("  {}: it has no pulumi-resource-files", place("path")),
        format!(
            "  {}: it has 1.0.0, resource-files-v1.2.0: pulumi-resource-files is not executable, the installation of \
             1.1.0 was not completed",
            place("cache")
        ),
        "install it with install_plugin() (installPlugin() in Node), or name its folder or the plugin cache in the engine's settings \
         of plugins, or pass the engine a provider object for `files`"
            .to_owned(),
    ];
    assert_eq!(error.message(), expected.join("\n"));
    let arguments = error.message_arguments().unwrap();
    assert_eq!(arguments["version"], "1.2.3");
    assert_eq!(arguments["places"].as_array().unwrap().len(), 4);
    let nowhere = find(&PluginSettings::default(), &query(None)).unwrap_err();
    assert!(nowhere.message().contains("none are configured"), "{nowhere}");
}
