//! Project files, `Pulumi.yaml`: the name, the language of the program, and the declarations of configuration.

use indexmap::IndexMap;

use stackwright::{
    Error, Result,
    config::{Config, ConfigKey},
    urn::check_project_name,
};

use crate::{
    ConfigDeclaration,
    stack_file::text_of,
    yaml::{Mapping, Node},
};

/// The language host of the program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProjectRuntime {
    /// `python`, `nodejs`, `go`, …
    pub name: String,
    /// The language host's own settings.
    pub options: Mapping,
}

/// The content of a project file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProjectFile {
    /// The project's name.
    pub name: String,
    /// The language host.
    pub runtime: ProjectRuntime,
    /// The path of the program, relative to the file.
    pub main: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The folder of stack files, relative to this file.
    pub stack_config_dir: Option<String>,
    /// The declarations of configuration, in the order of the file.
    pub config: IndexMap<ConfigKey, ConfigDeclaration>,
    /// `always` when operations refresh first.
    pub refresh: Option<String>,
    /// Plugins at fixed paths, uninterpreted.
    pub plugins: Option<Node>,
    entries: Mapping,
    source: String,
}

impl ProjectFile {
    /// Parses YAML or JSON text.
    ///
    /// # Errors
    /// [`stackwright::ErrorKind::InvalidInput`] that names the fault and its position.
    pub fn parse(text: &str) -> Result<Self> {
        let Node::Mapping(entries) = Node::parse(text)? else {
            return Err(Error::invalid("a project file must be a mapping"));
        };
        let optional = |name: &str| match entries.get(name) {
            Some(value) => text_of(name, value),
            None => Ok(None),
        };
        let name = optional("name")?.unwrap_or_default();
        check_project_name(&name)?;
        let mut file = Self {
            runtime: runtime(entries.get("runtime"))?,
            main: optional("main")?,
            description: optional("description")?,
            stack_config_dir: optional("stackConfigDir")?,
            refresh: match entries.get("options").and_then(Node::as_mapping) {
                Some(options) => match options.get("refresh") {
                    Some(value) => text_of("options.refresh", value)?,
                    None => None,
                },
                None => None,
            },
            plugins: entries.get("plugins").cloned(),
            name,
            ..Self::default()
        };
        match entries.get("config") {
            // An older form: the folder of stack files.
            Some(folder @ Node::Scalar(_)) => {
                let folder = text_of("config", folder)?;
                file.stack_config_dir = file.stack_config_dir.or(folder);
            }
            Some(Node::Mapping(declarations)) => {
                for (key, node) in declarations {
                    let (key, declaration) = ConfigDeclaration::parse(key, &file.name, node)?;
                    file.config.insert(key, declaration);
                }
            }
            Some(Node::Sequence(_)) => return Err(Error::invalid("`config` must be a mapping")),
            None => {}
        }
        file.entries = entries;
        text.clone_into(&mut file.source);
        Ok(file)
    }

    /// Returns all entries as they were read, including those without a field.
    #[must_use]
    pub fn entries(&self) -> &Mapping {
        &self.entries
    }

    /// Writes the file in the form in which it was read, with the values of the fields.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        let mut entries = self.entries.clone();
        set(&mut entries, "name", Some(&self.name));
        let unchanged = runtime(entries.get("runtime")).is_ok_and(|written| written == self.runtime);
        if !unchanged {
            entries.insert("runtime".to_owned(), self.runtime.to_yaml());
        }
        set(&mut entries, "main", self.main.as_ref());
        set(&mut entries, "description", self.description.as_ref());
        Node::edit(&self.source, &entries)
    }

    /// Adds the declared values that a stack does not set, and checks the others against the declarations.
    ///
    /// # Errors
    /// [`stackwright::ErrorKind::InvalidInput`], with the reference engine's text, when values are missing or of a
    /// wrong type.
    pub fn apply_declarations(&self, stack: &str, config: &mut Config) -> Result<()> {
        let mut missing = Vec::new();
        for (key, declaration) in &self.config {
            let shown = self.shown(key);
            match (config.get(key), declaration.fallback()) {
                (Some(value), _) => declaration.check(stack, &shown, value)?,
                (None, Some(fallback)) => {
                    config.insert(key.clone(), fallback.clone());
                }
                (None, None) if key.namespace() == self.name => missing.push(shown),
                (None, None) => {}
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "Stack '{stack}' is missing configuration value(s) {}",
            enumeration(&missing)
        )))
    }

    /// Returns a key for messages: without the project's own namespace.
    fn shown(&self, key: &ConfigKey) -> String {
        if key.namespace() == self.name {
            key.name().to_owned()
        } else {
            key.to_string()
        }
    }
}

impl ProjectRuntime {
    fn to_yaml(&self) -> Node {
        if self.options.is_empty() {
            return Node::string(self.name.as_str());
        }
        let entries = [
            ("name".to_owned(), Node::string(self.name.as_str())),
            ("options".to_owned(), Node::Mapping(self.options.clone())),
        ];
        Node::Mapping(entries.into_iter().collect())
    }
}

fn runtime(node: Option<&Node>) -> Result<ProjectRuntime> {
    let missing = || Error::invalid("project is missing a 'runtime' attribute");
    match node {
        Some(Node::Mapping(entries)) => Ok(ProjectRuntime {
            name: match entries.get("name") {
                Some(name) => text_of("runtime.name", name)?.ok_or_else(missing)?,
                None => return Err(missing()),
            },
            options: match entries.get("options") {
                Some(Node::Mapping(options)) => options.clone(),
                _ => Mapping::new(),
            },
        }),
        Some(node) => Ok(ProjectRuntime {
            name: text_of("runtime", node)?.ok_or_else(missing)?,
            options: Mapping::new(),
        }),
        None => Err(missing()),
    }
}

fn set(entries: &mut Mapping, name: &str, text: Option<&String>) {
    match text {
        Some(text) if entries.get(name).and_then(Node::as_text) != Some(text) => {
            entries.insert(name.to_owned(), Node::string(text.as_str()));
        }
        Some(_) => {}
        None => {
            entries.shift_remove(name);
        }
    }
}

/// Joins names for messages: `'a', 'b' and 'c'`.
fn enumeration(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests;
