//! The request of `import`, and the code that it generates.

use std::fs;

use serde_json::json;
use stackwright::{
    Language, binding,
    operation::{ImportRequest, ImportResource, OperationResult},
};

use super::reason;
use crate::{
    arguments::ImportArguments,
    failure::{Failure, Result},
    invocation::Invocation,
    session::Session,
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
    let request = match (&arguments.file, &arguments.resource[..]) {
        (Some(_), [_, ..]) => {
            return Err(Failure::new(
                "an inline resource may not be specified in conjunction with an import file",
            ));
        }
        (Some(file), []) => {
            let text = fs::read_to_string(invocation.path(file)).map_err(|error| {
                Failure::new(format!(
                    "could not read import file: open {file}: {}",
                    reason(&error)
                ))
            })?;
            let document = json!({ "file": text }).to_string();
            let request = binding::import_request(document.as_bytes(), Language::C, "an import");
            request.map_err(|error| Failure::from(error).after("could not read import file: "))?
        }
        (None, [resource_type, name, id]) => ImportRequest {
            resources: vec![ImportResource {
                resource_type: resource_type.clone(),
                name: name.clone(),
                id: id.clone(),
                ..ImportResource::default()
            }],
            ..ImportRequest::default()
        },
        (None, resource) => {
            return Err(Failure::new(match resource.len() {
                0 => {
                    "an inline resource must be specified if no converter or import file is used, missing type, name, and id"
                }
                1 => {
                    "an inline resource must be specified if no converter or import file is used, missing name and id"
                }
                2 => {
                    "an inline resource must be specified if no converter or import file is used, missing id"
                }
                _ => "only expected at most three arguments",
            }));
        }
    };
    Ok(ImportRequest {
        protect: Some(arguments.protect.unwrap_or(true)),
        generate_code: Some(arguments.generate_code.unwrap_or(true)),
        ..request
    })
}

/// Writes the code of the imported resources.
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
    let Some(report) = result.imported.as_ref().filter(|_| !arguments.preview_only) else {
        return Ok(());
    };
    let runtime = session.found().map(|found| found.file.runtime.name.as_str());
    let code = match runtime {
        Some("nodejs") => report.code.sdk_typescript.as_deref(),
        _ => report.code.sdk_python.as_deref(),
    };
    let Some(code) = code else {
        invocation.warn("no code was generated: no provider of the imported resources serves its schema");
        return Ok(());
    };
    if let Some(file) = &arguments.out {
        let written = fs::write(invocation.path(file), code);
        return written.map_err(|error| Failure::new(format!("open {file}: {}", reason(&error))));
    }
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
