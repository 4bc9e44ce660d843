//! The documents of imports: their request, and their report in results.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{read::read, result::ErrorDocument};
use crate::{
    error::{Error, Result},
    message::Language,
    operation::{ImportOutcome, ImportReport, ImportRequest, ImportedResource, SourceCode},
    property::{PropertyMap, PropertyValue, json::PlainMap},
};

/// A resource that an import was to record.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ImportedResource")]
pub(super) struct ImportedResourceDocument<'a> {
    /// The name in the request.
    name: &'a str,
    /// The URN.
    urn: &'a str,
    /// The type.
    #[serde(rename = "type")]
    resource_type: &'a str,
    /// What has become of it: `imported` (in a preview: it can be), `existing` where it was recorded before, `failed`, or
    /// `not_tried` because its parent or its provider failed.
    outcome: ImportOutcome,
    /// Why it was not imported.
    #[schemars(extend("x-python" = "BaseException | None", "x-typescript" = "StackwrightError | null"))]
    error: Option<ErrorDocument<'a>>,
    /// The id; empty for components.
    id: &'a str,
    /// The URN of its parent; none for a child of the stack.
    parent: Option<&'a str>,
    /// The reference of its provider; empty for providers and components.
    provider: &'a str,
    /// Whether it is protected.
    protect: bool,
    /// The inputs, as they are recorded. Secrets are marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        with = "Map<String, Value>",
        extend("x-python" = "Mapping[str, PropertyValue]", "x-typescript" = "PropertyMap")
    )]
    inputs: Option<PlainMap>,
    /// The outputs, as they are recorded. Secrets are marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        with = "Map<String, Value>",
        extend("x-python" = "Mapping[str, PropertyValue]", "x-typescript" = "PropertyMap")
    )]
    outputs: Option<PlainMap>,
}

/// The report of an import.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ImportReport")]
pub(super) struct ImportReportDocument<'a> {
    /// The requested resources, in the order of the request.
    resources: Vec<ImportedResourceDocument<'a>>,
    /// Programs that declare the imported resources.
    code: &'a SourceCode,
    /// The values of the configuration that the programs read, as texts by key: the secrets among the inputs. One that is no
    /// text is its JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        with = "std::collections::BTreeMap<String, String>",
        extend("x-python" = "Mapping[str, Secret[str]]", "x-typescript" = "{ readonly [key: string]: Secret<string> }")
    )]
    configuration: Option<&'a std::collections::BTreeMap<String, String>>,
}

/// Reads the request of an import. An import file in its member `file` takes the place of its other members.
///
/// # Errors
/// Those of [`super::read`]; names in a file are in the style of such files.
pub fn import_request(json: &[u8], language: Language, subject: &str) -> Result<ImportRequest> {
    let mut request: ImportRequest = read(json, language, subject)?;
    let Some(file) = request.file.take() else {
        return Ok(request);
    };
    if !(request.resources.is_empty() && request.name_table.is_empty() && request.provider_inputs.is_empty())
    {
        return Err(Error::invalid(format!(
            "{subject} has an import file, and resources beside it"
        )));
    }
    // A text is the JSON of the file.
    let text = serde_json::from_str::<String>(&file).unwrap_or(file);
    let text = ImportRequest::known_members(text.as_bytes())?;
    let read: ImportRequest = read(&text, Language::C, "the import file")?;
    if read.file.is_some() {
        return Err(Error::invalid("an import file has no import file in it"));
    }
    Ok(ImportRequest {
        protect: request.protect.or(read.protect),
        generate_code: request.generate_code.or(read.generate_code),
        ..read
    })
}

/// Writes the report of an import, without values, as JSON.
#[must_use]
pub fn import_document(report: &ImportReport, language: Language) -> Value {
    serde_json::to_value(document(report, language, false)).unwrap_or_default()
}

/// Returns the values of a report, in the order of its resources: `resources`, each with `inputs` and `outputs`, and
/// `configuration`, whose values are secrets.
#[must_use]
pub fn import_values(report: &ImportReport) -> PropertyMap {
    let resources = report.resources.iter().map(|resource| {
        let values = [
            ("inputs", resource.inputs.clone()),
            ("outputs", resource.outputs.clone()),
        ];
        PropertyValue::Object(values.into_iter().map(|(name, map)| (name, map.into())).collect())
    });
    let configuration = report.configuration.0.iter();
    let configuration: PropertyMap = configuration
        .map(|(key, text)| (key.as_str(), PropertyValue::secret(text.as_str().into())))
        .collect();
    [
        ("resources", PropertyValue::array(resources.collect())),
        ("configuration", configuration.into()),
    ]
    .into_iter()
    .collect()
}

/// Returns the report, with values in plain JSON form if `whole`.
pub(super) fn document(report: &ImportReport, language: Language, whole: bool) -> ImportReportDocument<'_> {
    let resources = report
        .resources
        .iter()
        .map(|resource| resource_document(resource, language, whole));
    ImportReportDocument {
        resources: resources.collect(),
        code: &report.code,
        configuration: whole.then_some(&report.configuration.0),
    }
}

fn resource_document(
    resource: &ImportedResource,
    language: Language,
    whole: bool,
) -> ImportedResourceDocument<'_> {
    ImportedResourceDocument {
        name: &resource.name,
        urn: resource.urn.as_str(),
        resource_type: resource.resource_type.as_str(),
        outcome: resource.outcome,
        error: resource
            .error
            .as_ref()
            .map(|error| ErrorDocument::of(error, language)),
        id: resource.id.as_str(),
        parent: resource.parent.as_ref().map(|urn| urn.as_str()),
        provider: &resource.provider,
        protect: resource.protect,
        inputs: whole.then(|| PlainMap(resource.inputs.clone())),
        outputs: whole.then(|| PlainMap(resource.outputs.clone())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_in_its_own_style_and_names_are_checked_in_both() {
        let file = r#"{"nameTable": {"net": "urn:pulumi:dev::shop::a:b:C::net"}, "resources": [
            {"type": "t:m:T", "name": "a", "id": "1", "parent": "net", "pluginDownloadUrl": "https://example.com"}]}"#;
        for json in [
            format!(r#"{{"file": {file}, "protect": false}}"#),
            serde_json::json!({"file": file, "protect": false}).to_string(),
        ] {
            let request = import_request(json.as_bytes(), Language::Python, "import_resources()").unwrap();
            assert_eq!(request.resources[0].plugin_download_url, "https://example.com");
            assert_eq!((request.protect, request.name_table.len()), (Some(false), 1));
        }
        let refusal = |json: &str, language| {
            let refused = import_request(json.as_bytes(), language, "import_resources()");
            refused.unwrap_err().message().to_owned()
        };
        let misspelt = refusal(r#"{"resources": [{"logicalName": "a"}]}"#, Language::Python);
        assert!(misspelt.contains("did you mean 'logical_name'?"), "{misspelt}");
        for (file, expected) in [
            (
                "{}",
                "an import file has `resources`, a list, and this one is empty",
            ),
            (
                r#"{"type": "t:m:T", "name": "a", "id": "1"}"#,
                "an import file has `resources`, a list, and this one has only 'type', 'name', 'id'",
            ),
            (
                r#"{"resource": [{"type": "t:m:T", "name": "a", "id": "1"}]}"#,
                "an import file has `resources`, a list, and this one has only 'resource'",
            ),
            (r#""[]""#, "an import file is a JSON object, with `resources`"),
            (
                r#""import.json""#,
                "an import file is a JSON object, and this text is not JSON: ",
            ),
        ] {
            let found = refusal(&format!(r#"{{"file": {file}}}"#), Language::Python);
            assert!(found.starts_with(expected), "{found}");
        }
        let both = refusal(r#"{"file": {}, "resources": [{"name": "a"}]}"#, Language::C);
        assert!(both.contains("and resources beside it"), "{both}");
    }

    #[test]
    fn members_of_a_file_that_no_import_has_are_ignored() {
        let file = r#"{"file": {"$schema": "x", "resources": [{"type": "t:m:T", "name": "a", "id": "1", "note": [1],
            "parameterization": {"pluginName": "p", "more": 1}, "extension": {"name": "e", "more": 2}}]}}"#;
        let request = import_request(file.as_bytes(), Language::C, "an import").unwrap();
        let row = &request.resources[0];
        assert_eq!((row.name.as_str(), row.id.as_str()), ("a", "1"));
        assert_eq!(row.parameterization.as_ref().unwrap().plugin_name, "p");
        assert_eq!(row.extension.as_ref().unwrap().name, "e");
        // A member of a wrong type, and one of a list, are refused.
        for wrong in [
            r#"{"file": {"resources": [{"type": 1}]}}"#,
            r#"{"resources": [{"type": "t:m:T", "name": "a", "id": "1", "note": [1]}]}"#,
        ] {
            assert!(
                import_request(wrong.as_bytes(), Language::C, "an import").is_err(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn secrets_of_a_request_have_any_form_and_are_not_shown() {
        const MARK: &str = r#""4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270""#;
        let json = format!(
            r#"{{"resources": [{{"type": "t:m:T", "name": "a", "id": "1", "inputs": {{
                "plain": {{{MARK}, "value": "hunter2"}}, "state": {{{MARK}, "plaintext": "\"hunter2\""}}}}}}]}}"#
        );
        let request = import_request(json.as_bytes(), Language::C, "an import").unwrap();
        let inputs = &request.resources[0].inputs.as_ref().unwrap().0;
        let secret = PropertyValue::secret("hunter2".into());
        assert_eq!(
            (inputs.get("plain"), inputs.get("state")),
            (Some(&secret), Some(&secret))
        );
        assert!(!format!("{request:?}").contains("hunter2"));
    }
}
