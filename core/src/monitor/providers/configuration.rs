//! The configuration of default providers: which are disabled, and the inputs of the others.

use crate::{
    monitor::RunInfo,
    property::{PropertyMap, PropertyValue},
};

/// The configuration key of the packages without a default provider.
const DENIED: &str = "pulumi:disable-default-providers";

/// Whole stack configurations go to the providers of dynamic resources, other packages see their own namespace.
const DYNAMIC_PACKAGES: &[&str] = &["pulumi-nodejs", "pulumi-python"];

/// Returns the packages without a default provider: a JSON array of their names, or nothing.
///
/// # Errors
/// The fault of the configuration.
pub(super) fn denied(run: &RunInfo) -> Result<Vec<String>, String> {
    read_denied(run.config.get(DENIED).map(String::as_str).unwrap_or_default())
}

fn read_denied(text: &str) -> Result<Vec<String>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let Ok(serde_json::Value::Array(elements)) = serde_json::from_str(text) else {
        return Err(format!("Unexpected encoding of {DENIED}"));
    };
    let names = elements
        .into_iter()
        .enumerate()
        .map(|(index, element)| match element {
            serde_json::Value::String(name) => Ok(name),
            _ => Err(format!("{DENIED}[{index}] must be a string")),
        });
    names.collect()
}

/// Returns the stack's configuration of a package as a provider's inputs; secret values stay secret.
pub(super) fn inputs(package: &str, run: &RunInfo) -> PropertyMap {
    let whole = DYNAMIC_PACKAGES.contains(&package);
    run.config
        .iter()
        .filter_map(|(key, value)| {
            let name = match key.split_once(':') {
                _ if whole => key.as_str(),
                Some((namespace, name)) if namespace == package => name,
                _ => return None,
            };
            let secret = run.config_secret_keys.iter().any(|secret| secret == key);
            let value = PropertyValue::from(value.as_str());
            Some((
                name,
                if secret {
                    PropertyValue::secret(value)
                } else {
                    value
                },
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn malformed_lists_of_denied_packages_are_refused() {
        assert_eq!(read_denied(""), Ok(Vec::new()));
        assert_eq!(
            read_denied(r#"["a", "*"]"#),
            Ok(vec!["a".to_owned(), "*".to_owned()])
        );
        for text in ["a", "{}", "\"a\"", "[\"a\""] {
            assert_eq!(
                read_denied(text),
                Err("Unexpected encoding of pulumi:disable-default-providers".to_owned())
            );
        }
        assert_eq!(
            read_denied(r#"["a", 1]"#),
            Err("pulumi:disable-default-providers[1] must be a string".to_owned())
        );
    }
}
