//! What a program of a folder lacks, found without running it.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use stackwright::{Error, Result, plugin::HostEnvironment};

use super::{NODE, PYTHON, ProgramFolder, node, python};
use crate::ProjectFile;

/// The file that a folder needs to be run as a program in Python.
const PYTHON_ENTRY: &str = "__main__.py";
/// The package of the SDK for Node, in a folder of packages.
const NODE_SDK: &str = "node_modules/@pulumi/pulumi/package.json";
/// Files of package managers that resolve packages without folders of them.
const NODE_RESOLVERS: [&str; 2] = [".pnp.cjs", ".pnp.loader.mjs"];

/// What a program lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MissingPart {
    /// The file that is run; the path at which it was looked for.
    Entry(PathBuf),
    /// The package of the SDK, for the program at the path.
    Sdk {
        /// The name of the package: `pulumi`, `@pulumi/pulumi`.
        package: &'static str,
        /// The file or folder of the program.
        program: PathBuf,
    },
}

impl fmt::Display for MissingPart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Entry(path) => write!(formatter, "{} does not exist", path.display()),
            Self::Sdk { package, program } => {
                write!(
                    formatter,
                    "the package {package} is not installed for {}",
                    program.display()
                )
            }
        }
    }
}

/// Looks for what the program of a project lacks: its file, and the package of its SDK. The program is not run. Programs in other
/// languages than Python and JavaScript are not looked at. `root` is the folder of the project file.
///
/// # Errors
/// [`stackwright::ErrorKind::Program`] for a missing interpreter or virtual environment, and an interpreter that does not answer.
///
/// # Cancel safety
/// Cancel safe: it only reads; the process of the interpreter ends with it.
pub async fn missing_part(
    root: PathBuf,
    file: ProjectFile,
    environment: HostEnvironment,
) -> Result<Option<MissingPart>> {
    let folder = ProgramFolder {
        root,
        file,
        environment,
    };
    match folder.file.runtime.name.as_str() {
        PYTHON => {
            let packages = python::packages(&folder).await?;
            examine(move || of_python(folder.program(), &packages)).await
        }
        NODE => examine(move || of_node(&folder)).await,
        _ => Ok(None),
    }
}

async fn examine(look: impl FnOnce() -> Option<MissingPart> + Send + 'static) -> Result<Option<MissingPart>> {
    let looked = tokio::task::spawn_blocking(look).await;
    looked.map_err(|error| Error::internal(error.to_string()))
}

fn of_python(program: PathBuf, packages: &[PathBuf]) -> Option<MissingPart> {
    let entry = match program.is_dir() {
        true => program.join(PYTHON_ENTRY),
        false => program.clone(),
    };
    if !entry.is_file() {
        return Some(MissingPart::Entry(entry));
    }
    // A package that is installed for development is found by an import hook, of which only the description is in the folder.
    let is_sdk = |name: &str| {
        name == "pulumi" || name.starts_with("pulumi-") || name.starts_with("__editable__.pulumi-")
    };
    let has_sdk = |folder: &PathBuf| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .any(|name| is_sdk(&name))
    };
    let package = "pulumi";
    (!packages.iter().any(has_sdk)).then_some(MissingPart::Sdk { package, program })
}

fn of_node(folder: &ProgramFolder) -> Option<MissingPart> {
    let entry = node::entry(folder);
    if !entry.exists() {
        return Some(MissingPart::Entry(entry));
    }
    let resolves = |place: &Path| {
        place.join(NODE_SDK).is_file() || NODE_RESOLVERS.iter().any(|file| place.join(file).is_file())
    };
    let package = "@pulumi/pulumi";
    (!entry.ancestors().skip(1).any(resolves)).then_some(MissingPart::Sdk {
        package,
        program: entry,
    })
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, fs};

    use super::*;

    fn folder_of(root: &Path, project: &str) -> ProgramFolder {
        ProgramFolder {
            root: root.to_owned(),
            file: ProjectFile::parse(project).unwrap(),
            environment: HostEnvironment::new(BTreeMap::new(), root.to_owned()),
        }
    }

    #[test]
    fn a_program_in_python_needs_its_file_and_the_sdk() {
        let folder = tempfile::tempdir().unwrap();
        let (program, packages) = (folder.path().to_owned(), [folder.path().join("packages")]);
        let entry = program.join("__main__.py");
        assert_eq!(
            of_python(program.clone(), &packages),
            Some(MissingPart::Entry(entry.clone()))
        );
        fs::write(entry, "").unwrap();
        fs::create_dir_all(packages[0].join("pulumi_random")).unwrap();
        let missing = of_python(program.clone(), &packages).unwrap();
        assert!(
            missing
                .to_string()
                .starts_with("the package pulumi is not installed for "),
            "{missing}"
        );
        fs::create_dir(packages[0].join("pulumi")).unwrap();
        assert_eq!(of_python(program, &packages), None);
    }

    #[test]
    fn a_program_in_node_needs_its_file_and_the_sdk_at_or_above_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("apps/shop");
        fs::create_dir_all(&root).unwrap();
        let project = folder_of(&root, "name: shop\nruntime: nodejs\nmain: deploy.js\n");
        assert_eq!(
            of_node(&project),
            Some(MissingPart::Entry(root.join("deploy.js")))
        );
        fs::write(root.join("deploy.ts"), "").unwrap();
        let missing = of_node(&project).unwrap();
        assert_eq!(
            missing,
            MissingPart::Sdk {
                package: "@pulumi/pulumi",
                program: root.join("deploy.ts")
            }
        );
        let sdk = folder.path().join("node_modules/@pulumi/pulumi");
        fs::create_dir_all(&sdk).unwrap();
        fs::write(sdk.join("package.json"), "{}").unwrap();
        assert_eq!(of_node(&project), None);
    }
}
