//! Project files, `Pulumi.yaml`: the name, the language of the program, and the declarations of configuration.

mod plugins;

use indexmap::IndexMap;

use stackwright::{
    Error, Result,
    config::{Config, ConfigKey, ConfigValue},
    plugin::VersionRange,
    urn::check_project_name,
};

use crate::{
    ConfigDeclaration,
    stack_file::text_of,
    yaml::{Format, Mapping, Node, Resolved, change},
};

pub use plugins::PluginAtPath;

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
    /// The author.
    pub author: Option<String>,
    /// The website.
    pub website: Option<String>,
    /// The license.
    pub license: Option<String>,
    /// The URL of the store of states.
    pub backend_url: Option<String>,
    /// The versions of the reference engine that the project admits, as a range. An operation that runs the program checks it.
    pub required_version: Option<String>,
    /// The folder of stack files, relative to this file.
    pub stack_config_dir: Option<String>,
    /// The declarations of configuration, in the order of the file.
    pub config: IndexMap<ConfigKey, ConfigDeclaration>,
    /// `always` when operations refresh first.
    pub refresh: Option<String>,
    /// Plugins at fixed paths, see [`Self::plugins_at_paths`].
    pub plugins: Option<Node>,
    /// Packages by name, uninterpreted.
    pub packages: Option<Node>,
    /// The template that the project was made from, uninterpreted.
    pub template: Option<Node>,
    entries: Mapping,
    source: String,
    format: Format,
}

impl ProjectFile {
    /// Parses YAML or JSON text.
    ///
    /// # Errors
    /// [`stackwright::ErrorKind::InvalidInput`] that names the fault and its position.
    pub fn parse(text: &str) -> Result<Self> {
        Self::parse_as(text, Format::Yaml)
    }

    /// Parses text, which [`Self::to_text`] writes as `format`.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_as(text: &str, format: Format) -> Result<Self> {
        let Node::Mapping(entries) = Node::parse(text)? else {
            return Err(Error::invalid("a project file must be a mapping"));
        };
        let optional = |name: &str| match entries.get(name) {
            Some(value) => text_of(name, value),
            None => Ok(None),
        };
        let inside = |name: &str, member: &str| match entries.get(name).and_then(Node::as_mapping) {
            Some(inner) => match inner.get(member) {
                Some(value) => text_of(&format!("{name}.{member}"), value),
                None => Ok(None),
            },
            None => Ok(None),
        };
        let name = optional("name")?.unwrap_or_default();
        check_project_name(&name)?;
        let mut file = Self {
            runtime: runtime(entries.get("runtime"))?,
            main: optional("main")?,
            description: optional("description")?,
            stack_config_dir: optional("stackConfigDir")?,
            author: optional("author")?,
            website: optional("website")?,
            license: optional("license")?,
            backend_url: inside("backend", "url")?,
            required_version: optional("requiredPulumiVersion")?,
            refresh: inside("options", "refresh")?,
            plugins: entries.get("plugins").cloned(),
            packages: entries.get("packages").cloned(),
            template: entries.get("template").cloned(),
            format,
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

    /// Checks that the project admits the version of the reference engine with which this one is compatible.
    ///
    /// # Errors
    /// [`stackwright::ErrorKind::InvalidInput`] when it does not, or the range is malformed.
    pub fn check_required_version(&self) -> Result<()> {
        let Some(range) = &self.required_version else {
            return Ok(());
        };
        VersionRange::check_compatible(range)
            .map_err(|error| {
                Error::invalid(format!(
                    "`requiredPulumiVersion` is no version range: {range:?}: {error}"
                ))
            })?
            .map_err(|text| {
                Error::invalid(text).with_hint("change `requiredPulumiVersion` in the project file")
            })
    }

    /// Returns the plugins that the file has at paths of their own: `plugins.providers`, `plugins.languages` and `plugins.analyzers`.
    ///
    /// # Errors
    /// [`stackwright::ErrorKind::InvalidInput`] that names the malformed entry.
    pub fn plugins_at_paths(&self) -> Result<Vec<PluginAtPath>> {
        plugins::read(self.plugins.as_ref())
    }

    /// Returns all entries as they were read, including those without a field.
    #[must_use]
    pub fn entries(&self) -> &Mapping {
        &self.entries
    }

    /// Writes the file in the form in which it was read, with the values of `name`, `runtime`, `main`, `description`,
    /// `author`, `website` and `license`.
    ///
    /// # Errors
    /// [`stackwright::ErrorKind::InvalidInput`] when the text has a form in which the change cannot be made.
    pub fn to_text(&self) -> Result<String> {
        let mut entries = self.entries.clone();
        set(&mut entries, "name", Some(&self.name));
        let unchanged = runtime(entries.get("runtime")).is_ok_and(|written| written == self.runtime);
        if !unchanged {
            entries.insert("runtime".to_owned(), self.runtime.to_yaml());
        }
        for (name, value) in [
            ("main", &self.main),
            ("description", &self.description),
            ("author", &self.author),
            ("website", &self.website),
            ("license", &self.license),
        ] {
            set(&mut entries, name, value.as_ref());
        }
        Node::edit(&self.source, &entries, self.format)
    }

    /// Returns the text of the file with another value at a path (`template.config.region`), or without the value there,
    /// and whether there was a value before.
    ///
    /// # Errors
    /// [`stackwright::ErrorKind::InvalidInput`] when the path is invalid, or when the result is no project file.
    pub fn changed_text(&self, path: &str, value: Option<Node>) -> Result<(String, bool)> {
        let mut entries = self.entries.clone();
        if TEXTS.contains(&path)
            && let Some(Resolved::Bool(_) | Resolved::Integer(_) | Resolved::Float(_)) =
                value.as_ref().and_then(Node::resolved)
        {
            return Err(Error::invalid(format!("`{path}` must be a text")));
        }
        let existed = change(&mut entries, path, value)?;
        let text = Node::edit(&self.source, &entries, self.format)?;
        Self::parse_as(&text, self.format)?;
        Ok((text, existed))
    }

    /// Adds the declared values that a stack does not set, and checks the others against the declarations.
    ///
    /// # Errors
    /// [`stackwright::ErrorKind::InvalidInput`] with all faults, in the reference engine's words: values that are missing,
    /// of a wrong type, or not encrypted although they are declared as secret.
    pub fn apply_declarations(&self, stack: &str, config: &mut Config) -> Result<()> {
        let mut faults = Vec::new();
        let mut missing = Vec::new();
        for (key, declaration) in &self.config {
            let shown = self.shown(key);
            match config.get(key) {
                Some(value) => faults.extend(declaration.fault(stack, &shown, value)),
                None if declaration.fallback().is_none() && key.namespace() == self.name => {
                    missing.push(shown);
                }
                None => {}
            }
        }
        if !missing.is_empty() {
            faults.push(format!(
                "Stack '{stack}' is missing configuration value(s) {}",
                enumeration(&missing)
            ));
        }
        if faults.is_empty() {
            return self.apply_defaults(config);
        }
        Err(Error::invalid(all_of(&faults)))
    }

    /// Adds the declared values that a stack does not set. Those of keys that are declared as secret are secret.
    ///
    /// # Errors
    /// [`stackwright::ErrorKind::InvalidInput`] when a default contains a number without a JSON form.
    pub fn apply_defaults(&self, config: &mut Config) -> Result<()> {
        for (key, declaration) in &self.config {
            if let Some(fallback) = declaration.fallback()
                && config.get(key).is_none()
            {
                let value: ConfigValue = match declaration.secret {
                    true => fallback.clone().into_secret()?,
                    false => fallback.clone(),
                };
                config.insert(key.clone(), value);
            }
        }
        Ok(())
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

/// The entries of a project file that are texts.
const TEXTS: [&str; 7] = [
    "name",
    "runtime",
    "description",
    "main",
    "author",
    "website",
    "license",
];

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

/// Joins faults in the reference engine's form.
fn all_of(faults: &[String]) -> String {
    match faults {
        [only] => only.clone(),
        faults => {
            let lines = faults.iter().zip(1..);
            let lines: String = lines
                .map(|(fault, number)| format!("\n    {number}) {fault}"))
                .collect();
            format!("{} errors occurred:{lines}", faults.len())
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
