//! The environment variables that describe the project to a plugin's process.

use std::{collections::BTreeMap, ffi::OsString};

use serde_json::Value;

/// Facts about the project that a plugin's process receives through its environment.
#[derive(Clone, Debug, Default)]
pub(crate) struct PluginEnvironment {
    /// The project's name.
    pub project: String,
    /// The options of the program's runtime (`virtualenv`, `typescript`…); any JSON values.
    pub runtime_options: BTreeMap<String, Value>,
    /// The stack's configuration of the plugin's package, without the namespace.
    pub config: BTreeMap<String, String>,
}

impl PluginEnvironment {
    /// Returns the variables for the plugin of `package`, without those of the host, sorted by name.
    #[must_use]
    pub(crate) fn variables(&self, package: &str) -> Vec<(OsString, OsString)> {
        let mut variables = BTreeMap::new();
        for (option, value) in &self.runtime_options {
            let text = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            variables.insert(format!("PULUMI_RUNTIME_{}", option.to_uppercase()), text);
        }
        if !self.project.is_empty() {
            variables.insert("PULUMI_PROJECT".to_owned(), self.project.clone());
            if package == "pulumi-nodejs" {
                variables.insert("PULUMI_NODEJS_PROJECT".to_owned(), self.project.clone());
            }
        }
        if !self.config.is_empty() {
            let object = self
                .config
                .iter()
                .map(|(key, value)| (key.clone(), value.as_str().into()));
            let json = Value::Object(object.collect());
            variables.insert("PULUMI_CONFIG".to_owned(), json.to_string());
        }
        // Python buffers output to a pipe, including the line with the port.
        variables.insert("PYTHONUNBUFFERED".to_owned(), "1".to_owned());
        variables
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(variables: &[(OsString, OsString)]) -> Vec<String> {
        variables
            .iter()
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect()
    }

    #[test]
    fn a_plugin_receives_the_project_its_configuration_and_the_runtime_options() {
        let environment = PluginEnvironment {
            project: "shop".into(),
            runtime_options: [
                ("virtualenv".into(), "venv".into()),
                ("typescript".into(), true.into()),
                ("build".into(), json!({ "flags": ["-v", 2], "unset": null })),
            ]
            .into(),
            config: [("region".into(), "a \"b\"".into())].into(),
        };
        assert_eq!(
            text(&environment.variables("files")),
            [
                r#"PULUMI_CONFIG={"region":"a \"b\""}"#,
                "PULUMI_PROJECT=shop",
                r#"PULUMI_RUNTIME_BUILD={"flags":["-v",2],"unset":null}"#,
                "PULUMI_RUNTIME_TYPESCRIPT=true",
                "PULUMI_RUNTIME_VIRTUALENV=venv",
                "PYTHONUNBUFFERED=1",
            ]
        );
    }

    #[test]
    fn only_the_dynamic_provider_of_node_gets_the_project_under_its_own_name() {
        let environment = PluginEnvironment {
            project: "shop".into(),
            ..PluginEnvironment::default()
        };
        let name = "PULUMI_NODEJS_PROJECT=shop".to_owned();
        assert!(text(&environment.variables("pulumi-nodejs")).contains(&name));
        assert!(!text(&environment.variables("pulumi-python")).contains(&name));
    }
}
