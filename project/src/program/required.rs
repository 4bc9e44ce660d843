//! The plugins that a program needs: those of the SDK packages that it has installed, and those of its project file.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use semver::Version;
use serde::{Deserialize, de::DeserializeOwned};
use stackwright::{
    Error, Result,
    plugin::{HostEnvironment, RequiredPlugin},
};

use super::{NODE, PYTHON, ProgramFolder, python};
use crate::{ProjectFile, yaml::Node};

/// The file in which a package for Python names its plugin.
const PYTHON_MANIFEST: &str = "pulumi-plugin.json";
/// The folder of packages for Node, and the file of each.
const NODE_PACKAGES: &str = "node_modules";
const NODE_MANIFEST: &str = "package.json";
/// The folder in which the package manager pnpm keeps packages.
const PNPM_PACKAGES: &str = ".pnpm";

/// What an SDK package states about its plugin.
#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    resource: bool,
    name: Option<String>,
    version: Option<String>,
    #[serde(default)]
    server: String,
}

/// The part of a `package.json` that describes a package.
#[derive(Deserialize)]
struct NodePackage {
    name: Option<String>,
    version: Option<String>,
    pulumi: Option<Manifest>,
}

/// Returns the plugins that the program of a project needs, sorted by name: those of the SDK packages that it has installed, and those
/// of the project file. Programs in other languages than Python and JavaScript report those of their packages themselves. `root` is the
/// folder of the project file.
///
/// # Errors
/// [`stackwright::ErrorKind::InvalidInput`] for a malformed version in the project file; [`stackwright::ErrorKind::Program`] for a missing
/// interpreter or virtual environment, and an interpreter that does not answer.
///
/// # Cancel safety
/// Cancel safe: it only reads; the process of the interpreter ends with it.
pub async fn required_plugins(
    root: PathBuf,
    file: ProjectFile,
    environment: HostEnvironment,
) -> Result<Vec<RequiredPlugin>> {
    let folder = ProgramFolder {
        root,
        file,
        environment,
    };
    required(&folder)
        .await
        .map(|plugins| plugins.into_iter().collect())
}

/// Returns the plugins that the program of a folder needs.
pub(super) async fn required(folder: &ProgramFolder) -> Result<BTreeSet<RequiredPlugin>> {
    let mut required = of_file(&folder.file)?;
    let read: Box<dyn FnOnce() -> Vec<RequiredPlugin> + Send> = match folder.file.runtime.name.as_str() {
        PYTHON => {
            let packages = python::packages(folder).await?;
            Box::new(move || packages.iter().flat_map(|folder| of_python(folder)).collect())
        }
        NODE => {
            let packages = folder.root.join(NODE_PACKAGES);
            Box::new(move || of_node(&packages))
        }
        _ => return Ok(required),
    };
    let installed = tokio::task::spawn_blocking(read).await;
    required.extend(installed.map_err(|error| Error::internal(error.to_string()))?);
    Ok(required)
}

/// Returns the plugins of the packages in a project file whose source is the name of a plugin, with a version.
fn of_file(file: &ProjectFile) -> Result<BTreeSet<RequiredPlugin>> {
    let Some(packages) = file.packages.as_ref().and_then(Node::as_mapping) else {
        return Ok(BTreeSet::new());
    };
    let mut wanted = BTreeSet::new();
    for (_, package) in packages {
        let (source, version) = match package.as_mapping() {
            Some(members) => {
                let text = |name: &str| members.get(name).and_then(Node::as_text);
                (text("source"), text("version"))
            }
            None => {
                let text = package.as_text();
                match text.and_then(|text| text.rsplit_once('@')) {
                    Some((source, version)) => (Some(source), Some(version)),
                    None => (text, None),
                }
            }
        };
        let (Some(source), Some(version)) = (source, version) else {
            continue;
        };
        // Folders and repositories are no plugins of a server.
        if source.contains(['/', '\\', ':']) || source.starts_with('.') {
            continue;
        }
        let version = parsed(version)
            .ok_or_else(|| Error::invalid(format!("the package {source} of the project has the version {version:?}, which is no semantic version")))?;
        wanted.insert(RequiredPlugin {
            name: source.to_owned(),
            version,
            server: String::new(),
        });
    }
    Ok(wanted)
}

/// Returns the plugins of the packages in a folder of packages for Python.
fn of_python(folder: &Path) -> Vec<RequiredPlugin> {
    let mut wanted = Vec::new();
    for package in folders_in(folder) {
        let Some(manifest) = read::<Manifest>(&package.join(PYTHON_MANIFEST)) else {
            continue;
        };
        let directory = package
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let name = directory
            .strip_prefix("pulumi_")
            .unwrap_or(directory)
            .replace('_', "-");
        wanted.extend(plugin_of(manifest, &name, None));
    }
    wanted
}

/// Returns the plugins of the packages in a folder of packages for Node, those inside of packages included.
fn of_node(folder: &Path) -> Vec<RequiredPlugin> {
    let mut wanted = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for package in folders_in(&folder) {
            let is_scope = package
                .file_name()
                .is_some_and(|name| name.as_encoded_bytes().starts_with(b"@"));
            if is_scope {
                folders.push(package);
                continue;
            }
            // The package manager pnpm has each package in a folder of its own, beside its dependencies.
            if package.file_name().is_some_and(|name| name == PNPM_PACKAGES) {
                let stored = folders_in(&package).into_iter();
                folders.extend(stored.map(|package| package.join(NODE_PACKAGES)));
                continue;
            }
            folders.push(package.join(NODE_PACKAGES));
            let Some(described) = read::<NodePackage>(&package.join(NODE_MANIFEST)) else {
                continue;
            };
            let name = described.name.unwrap_or_default();
            let name = name.strip_prefix("@pulumi/").unwrap_or(&name);
            if let Some(manifest) = described.pulumi {
                wanted.extend(plugin_of(manifest, name, described.version));
            }
        }
    }
    wanted
}

/// Returns the folders in a folder, without following links; one that does not exist has none.
fn folders_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).collect()
}

fn read<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn plugin_of(manifest: Manifest, name: &str, version: Option<String>) -> Option<RequiredPlugin> {
    if !manifest.resource {
        return None;
    }
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    Some(RequiredPlugin {
        name: given(manifest.name).unwrap_or_else(|| name.to_owned()),
        version: parsed(&given(manifest.version).or(version)?)?,
        server: manifest.server,
    })
}

fn parsed(version: &str) -> Option<Version> {
    Version::parse(version.strip_prefix('v').unwrap_or(version)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, name: &str, text: &str) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn shown(wanted: impl IntoIterator<Item = RequiredPlugin>) -> Vec<String> {
        let wanted: BTreeSet<RequiredPlugin> = wanted.into_iter().collect();
        let shown = wanted
            .iter()
            .map(|plugin| format!("{}-{} {}", plugin.name, plugin.version, plugin.server));
        shown.collect()
    }

    #[test]
    fn packages_for_python_name_their_plugins() {
        let folder = tempfile::tempdir().unwrap();
        for (package, manifest) in [
            (
                "pulumi_shop",
                r#"{"resource": true, "name": "shop", "version": "1.0.0", "server": "https://a"}"#,
            ),
            ("pulumi_my_files", r#"{"resource": true, "version": "v2.0.0"}"#),
            (
                "pulumi_policies",
                r#"{"resource": false, "name": "policies", "version": "1.0.0"}"#,
            ),
            ("pulumi_strange", "no JSON"),
        ] {
            write(folder.path(), &format!("{package}/{PYTHON_MANIFEST}"), manifest);
        }
        fs::create_dir(folder.path().join("requests")).unwrap();
        assert_eq!(
            shown(of_python(folder.path())),
            ["my-files-2.0.0 ", "shop-1.0.0 https://a"]
        );
    }

    #[test]
    fn packages_for_node_name_their_plugins_at_any_depth() {
        let folder = tempfile::tempdir().unwrap();
        for (package, manifest) in [
            (
                "@pulumi/shop",
                r#"{"name": "@pulumi/shop", "version": "1.0.0", "pulumi": {"resource": true}}"#,
            ),
            (
                "web/node_modules/@acme/files",
                r#"{"name": "@acme/files", "version": "3.0.0", "pulumi": {"resource": true, "name": "files", "version": "2.0.0", "server": "https://a"}}"#,
            ),
            ("web", r#"{"name": "web", "version": "1.0.0"}"#),
            (
                ".pnpm/@pulumi+notes@4.0.0/node_modules/@pulumi/notes",
                r#"{"name": "@pulumi/notes", "version": "4.0.0", "pulumi": {"resource": true}}"#,
            ),
        ] {
            write(folder.path(), &format!("{package}/{NODE_MANIFEST}"), manifest);
        }
        assert_eq!(
            shown(of_node(folder.path())),
            ["files-2.0.0 https://a", "notes-4.0.0 ", "shop-1.0.0 "]
        );
    }

    #[test]
    fn packages_of_a_project_file_are_plugins_when_they_have_a_version() {
        let text = "name: shop\nruntime: python\npackages:\n  shop: shop@1.0.0\n  files: {source: files, version: v2.0.0}\n  \
                    local: ./local\n  remote: github.com/acme/remote@1.0.0\n  latest: latest\n";
        let file = ProjectFile::parse(text).unwrap();
        assert_eq!(shown(of_file(&file).unwrap()), ["files-2.0.0 ", "shop-1.0.0 "]);
    }
}
