//! The request of `import`, and the code that it generates.

use std::fs;

use serde_json::json;
use stackwright::{
    Language, binding,
    operation::{ImportOutcome, ImportRequest, ImportResource, OperationResult},
    urn::Urn,
};

use crate::{
    arguments::ImportArguments,
    failure::{Failure, Result},
    invocation::Invocation,
    session::Session,
    text,
};

/// What precedes generated code.
const BEFORE_CODE: &str = "Please copy the following code into your Pulumi application. Not doing so\n\
     will cause Pulumi to report that an update will happen on the next update command.\n";
/// What precedes generated code of protected resources.
const BEFORE_PROTECTED_CODE: &str = "\nPlease note that the imported resources are marked as protected. To destroy them\n\
     you will need to remove the `protect` option and run `pulumi update` *before*\n\
     the destroy will take effect.\n";

/// Reads the request from the import file, or from the arguments.
pub(super) fn request(invocation: &Invocation, arguments: &ImportArguments) -> Result<ImportRequest> {
    if let Some(converter) = &arguments.from {
        return Err(Failure::new(format!(
            "load converter plugin: load \"{converter}\": no converter plugin 'pulumi-converter-{converter}' found in the \
             workspace or on your $PATH"
        )));
    }
    let describes_resource = !arguments.resource.is_empty()
        || arguments.parent.is_some()
        || arguments.provider.is_some()
        || !arguments.properties.is_empty();
    let request = match (&arguments.file, &arguments.resource[..]) {
        (Some(_), _) if describes_resource => {
            return Err(Failure::new(
                "an inline resource may not be specified in conjunction with an import file",
            ));
        }
        (Some(file), _) => {
            let text = fs::read_to_string(invocation.path(file)).map_err(|error| {
                Failure::new(format!(
                    "could not read import file: open {file}: {}",
                    text::reason(&error)
                ))
            })?;
            let document = json!({ "file": text }).to_string();
            let request = binding::import_request(document.as_bytes(), Language::C, "an import");
            request.map_err(|error| Failure::from(error).after("could not read import file: "))?
        }
        (None, [resource_type, name, id]) => {
            let resource = ImportResource {
                resource_type: resource_type.clone(),
                name: name.clone(),
                id: id.clone(),
                properties: arguments.properties.clone(),
                ..ImportResource::default()
            };
            with_references(resource, arguments)?
        }
        (None, resource) => {
            let text = match resource.len() {
                0 => {
                    "an inline resource must be specified if no converter or import file is used, missing type, name, and id"
                }
                1 => {
                    "an inline resource must be specified if no converter or import file is used, missing name and id"
                }
                2 => {
                    "an inline resource must be specified if no converter or import file is used, missing id"
                }
                _ => return Err(Failure::new("only expected at most three arguments")),
            };
            return Err(Failure::usage("import", text));
        }
    };
    Ok(ImportRequest {
        protect: Some(arguments.protect.unwrap_or(true)),
        generate_code: Some(arguments.generate_code.unwrap_or(true)),
        ..request
    })
}

/// Returns the request of one resource with its parent and its provider.
fn with_references(mut resource: ImportResource, arguments: &ImportArguments) -> Result<ImportRequest> {
    let mut request = ImportRequest::default();
    for (what, given, member) in [
        ("parent", &arguments.parent, &mut resource.parent),
        ("provider", &arguments.provider, &mut resource.provider),
    ] {
        let Some(given) = given else { continue };
        let (name, urn) = named_urn(what, given)?;
        if let Some(other) = request.name_table.insert(name.clone(), urn.clone())
            && other != urn
        {
            return Err(Failure::new(format!(
                "provider and parent must have distinct names, both were '{name}'"
            )));
        }
        *member = name;
    }
    request.resources = vec![resource];
    Ok(request)
}

/// Parses `NAME=URN`, or a URN, whose name stands for it.
fn named_urn(what: &str, given: &str) -> Result<(String, String)> {
    let (name, text) = match given.split_once('=') {
        Some((name, text)) if !name.starts_with("urn:") => (Some(name), text),
        _ => (None, given),
    };
    let urn = Urn::parse(text).map_err(|_| Failure::new(format!("invalid {what} URN: '{text}'")))?;
    let name = name.unwrap_or_else(|| urn.name()).to_owned();
    Ok((name, urn.to_string()))
}

/// Writes the code of the imported resources. Without code the file that `--out` names is created empty, because the Automation APIs read
/// it; a file that exists keeps its content then.
pub(super) fn write_code(
    session: &Session<'_>,
    arguments: &ImportArguments,
    result: &OperationResult,
) -> Result {
    let invocation = session.invocation;
    if arguments.generate_code == Some(false) {
        if arguments.out.is_some() {
            invocation.note("Output file will not be used as --generate-code is false.");
        }
        return Ok(());
    }
    if let Some(file) = &arguments.out {
        let path = invocation.path(file);
        let written = match generated_code(session, arguments, result) {
            Some(code) => fs::write(path, code),
            None => fs::OpenOptions::new()
                .append(true)
                .create(true)
                .open(path)
                .map(drop),
        };
        return written.map_err(|error| Failure::new(format!("open {file}: {}", text::reason(&error))));
    }
    let Some(code) = generated_code(session, arguments, result) else {
        return Ok(());
    };
    if !arguments.operation.display.is_document() {
        let note = if arguments.protect.unwrap_or(true) {
            BEFORE_PROTECTED_CODE
        } else {
            ""
        };
        invocation.print(format!("{BEFORE_CODE}{note}\n{code}"));
    }
    Ok(())
}

/// Returns the code of the imported resources; warns where there is none for them.
fn generated_code<'a>(
    session: &Session<'_>,
    arguments: &ImportArguments,
    result: &'a OperationResult,
) -> Option<&'a str> {
    let invocation = session.invocation;
    let report = result.imported.as_ref().filter(|_| !arguments.preview_only)?;
    let has_record = |outcome| matches!(outcome, ImportOutcome::Imported | ImportOutcome::Existing);
    if !report
        .resources
        .iter()
        .any(|resource| has_record(resource.outcome))
    {
        return None;
    }
    let runtime = session.found().map(|found| found.file.runtime.name.as_str());
    let code = match runtime {
        Some("nodejs") => report.code.sdk_typescript.as_deref(),
        Some("python") => report.code.sdk_python.as_deref(),
        other => {
            let language = other.unwrap_or_default();
            invocation.warn(format!(
                "no code was generated: there are generators for python and nodejs, and the runtime of the project is {language:?}"
            ));
            return None;
        }
    };
    if code.is_none() {
        invocation.warn("no code was generated: no provider of the imported resources serves its schema");
    }
    code
}
