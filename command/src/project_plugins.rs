//! The plugins that a project needs: those of the SDK packages that its program has installed, and those of its file.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use semver::Version;
use serde::{Deserialize, de::DeserializeOwned};
use stackwright::plugin::{PluginArchive, PluginCache, PluginInstallation, PluginKind, PluginSelection};
use stackwright_project::{ProjectFile, python_packages, yaml::Node};

use crate::{
    downloads::{Servers, install_one},
    failure::{Failure, Result},
    invocation::Invocation,
    place::FoundProject,
};

/// The file in which a package for Python names its plugin.
const PYTHON_MANIFEST: &str = "pulumi-plugin.json";
/// The folder of packages for Node, and the file of each.
const NODE_PACKAGES: &str = "node_modules";
const NODE_MANIFEST: &str = "package.json";

/// A plugin that a project needs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Wanted {
    name: String,
    version: Version,
    /// The address of the package; empty without one.
    server: String,
}

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

/// Returns the project of the working directory.
pub(crate) fn required_project(invocation: &Invocation) -> Result<FoundProject> {
    let found = FoundProject::above(&invocation.directory)?;
    found.ok_or_else(|| {
        Failure::new(format!(
            "no Pulumi.yaml project file found (searching upwards from {})",
            invocation.directory.display()
        ))
    })
}

/// Installs the plugins of a project that are not installed yet. All that cannot be are named before any is.
pub(crate) async fn install(invocation: &Invocation, cache: &PluginCache, reinstall: bool) -> Result {
    let found = required_project(invocation)?;
    let servers = Servers::of(invocation)?;
    let installed = cache.list(PluginSelection::default()).await?;
    let mut installations = Vec::new();
    let mut unknown = Vec::new();
    for wanted in wanted(invocation, &found).await? {
        let has = installed.iter().any(|plugin| {
            plugin.kind == PluginKind::Resource
                && plugin.name == wanted.name.replace('/', "_")
                && plugin.version == wanted.version
        });
        if has && !reinstall {
            continue;
        }
        match servers.of_plugin(&wanted.name, &wanted.server) {
            Some(server) => installations.push(PluginInstallation {
                kind: PluginKind::Resource,
                name: wanted.name,
                version: wanted.version,
                archive: PluginArchive::Server(server),
                checksum: None,
                reinstall,
            }),
            None => unknown.push(format!("[resource plugin {}-{}]", wanted.name, wanted.version)),
        }
    }
    if !unknown.is_empty() {
        return Err(Failure::new(format!(
            "plugins of the project are not installed: {}: {}",
            unknown.join(", "),
            Servers::MISSING
        )));
    }
    for installation in installations {
        install_one(&invocation.stderr, cache, installation).await?;
    }
    Ok(())
}

/// Returns the names and versions of the plugins that a project needs, sorted.
pub(crate) async fn names(invocation: &Invocation, found: &FoundProject) -> Result<Vec<(String, String)>> {
    let wanted = wanted(invocation, found).await?.into_iter();
    Ok(wanted
        .map(|wanted| (wanted.name, wanted.version.to_string()))
        .collect())
}

/// Returns the plugins that a project needs, sorted by name.
async fn wanted(invocation: &Invocation, found: &FoundProject) -> Result<BTreeSet<Wanted>> {
    let folder = found.folder();
    let mut wanted = of_file(&found.file)?;
    match found.file.runtime.name.as_str() {
        "python" => {
            let environment = invocation.process_environment();
            let packages = python_packages(folder.to_owned(), found.file.clone(), environment).await;
            for folder in packages? {
                wanted.extend(of_python(&folder));
            }
        }
        "nodejs" => wanted.extend(of_node(&folder.join(NODE_PACKAGES))),
        // Other runtimes fetch their own.
        _ => {}
    }
    Ok(wanted)
}

/// Returns the plugins of the packages in a project file whose source is the name of a plugin, with a version.
fn of_file(file: &ProjectFile) -> Result<BTreeSet<Wanted>> {
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
            .ok_or_else(|| Failure::new(format!("the package {source} of the project has the version {version:?}, which is no semantic version")))?;
        wanted.insert(Wanted {
            name: source.to_owned(),
            version,
            server: String::new(),
        });
    }
    Ok(wanted)
}

/// Returns the plugins of the packages in a folder of packages for Python.
fn of_python(folder: &Path) -> Vec<Wanted> {
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
fn of_node(folder: &Path) -> Vec<Wanted> {
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

fn plugin_of(manifest: Manifest, name: &str, version: Option<String>) -> Option<Wanted> {
    if !manifest.resource {
        return None;
    }
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    Some(Wanted {
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

    fn shown(wanted: impl IntoIterator<Item = Wanted>) -> Vec<String> {
        let wanted: BTreeSet<Wanted> = wanted.into_iter().collect();
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
        ] {
            write(folder.path(), &format!("{package}/{NODE_MANIFEST}"), manifest);
        }
        assert_eq!(
            shown(of_node(folder.path())),
            ["files-2.0.0 https://a", "shop-1.0.0 "]
        );
    }

    #[test]
    fn packages_of_a_project_file_are_plugins_when_they_have_a_version() {
        let text = "name: shop\nruntime: python\npackages:\n  shop: shop@1.0.0\n  files: {source: files, version: v2.0.0}\n  \
                    local: ./local\n  remote: github.com/acme/remote@1.0.0\n  latest: latest\n";
        let file = ProjectFile::parse(text).unwrap();
        assert_eq!(
            shown(of_file(&file).ok().unwrap()),
            ["files-2.0.0 ", "shop-1.0.0 "]
        );
    }
}
