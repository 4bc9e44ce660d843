//! Projects: the files of a folder, and the configuration of stacks in them.

use std::sync::Arc;

use stackwright::secrets::SecretsProvider;
use stackwright_project::{ConfigChange, Project, binding};

use crate::{
    bytes::{sw_bytes_t, sw_bytes_view_t},
    engine::{Parts, sw_engine_t},
    error::sw_error_t,
    failure::{Failure, Outcome},
    guard::{Slot, guard, live},
    status::sw_status_t,
};

/// A project: a folder with a `Pulumi.yaml`, bound to an engine. Its files are read again by each call. A call that writes
/// changes only what it names: the rest of the file keeps its bytes, with comments and order.
pub struct sw_project_t {
    project: Project,
    parts: Arc<Parts>,
}

impl sw_project_t {
    /// Returns the secrets provider of a passphrase; an empty one is the engine's.
    fn secrets(&self, passphrase: &str) -> Outcome<Option<Arc<dyn SecretsProvider>>> {
        let passphrase = (!passphrase.is_empty()).then(|| passphrase.to_owned());
        Ok(binding::secrets_of(self.project.engine(), passphrase)?)
    }
}

/// Opens the project of a folder. A relative path begins at the working directory. A folder without a project file is a
/// `NOT_FOUND` error.
///
/// A stack takes its settings from a project when its setting `project` is the path of the folder.
///
/// # Safety
/// `engine` must be null or alive, `folder` readable, `project` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_project_open(
    engine: *const sw_engine_t,
    folder: sw_bytes_view_t,
    project: *mut *mut sw_project_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: writable by this function's contract.
        let place = unsafe { Slot::required(project, "project") }?;
        // SAFETY: null or alive by this function's contract.
        let parts = Arc::clone(&unsafe { live(engine, "the engine") }?.parts);
        // SAFETY: readable by this function's contract.
        let folder = unsafe { folder.text("the folder of the project") }?;
        let opening = async { Ok(Project::open(&parts.engine, folder).await?) };
        let project = parts.shared.block_on(opening)?;
        place.fill(Box::into_raw(Box::new(sw_project_t { project, parts })));
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Returns the content of the project file as JSON. Its members:
///
/// @members ProjectFacts
///
/// Members of a declaration:
///
/// @members ConfigDeclaration
///
/// # Safety
/// `project` must be null or alive, `facts` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_project_facts(
    project: *const sw_project_t,
    facts: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let read = |project: &sw_project_t| {
        let reading = async { Ok(binding::project_document(&project.project).await?) };
        project.parts.shared.block_on(reading)
    };
    // SAFETY: this function's contract is the same.
    unsafe { document(project, facts, error, read) }
}

/// Sets the value at a path of the project file (`description`, `template.config.region`); `value` is JSON. A change after which
/// the file would be no project file is refused.
///
/// # Safety
/// `project` must be null or alive, `path` and `value` readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_project_set(
    project: *const sw_project_t,
    path: sw_bytes_view_t,
    value: sw_bytes_view_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let project = unsafe { live(project, "the project") }?;
        // SAFETY: readable by this function's contract.
        let path = unsafe { path.text("the path") }?;
        // SAFETY: readable by this function's contract.
        let value = unsafe { value.bytes("the value") }?;
        let value = json(value)?;
        let setting = async { Ok(project.project.set(path, &value).await?) };
        project.parts.shared.block_on_to_the_end(setting)
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Removes the value at a path of the project file, and sets `existed` (which may be null) to whether there was one.
///
/// # Safety
/// `project` must be null or alive, `path` readable, `existed` null or writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_project_remove(
    project: *const sw_project_t,
    path: sw_bytes_view_t,
    existed: *mut bool,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let project = unsafe { live(project, "the project") }?;
        // SAFETY: readable by this function's contract.
        let path = unsafe { path.text("the path") }?;
        let removing = async { Ok(project.project.remove(path).await?) };
        let found = project.parts.shared.block_on_to_the_end(removing)?;
        // SAFETY: null or writable by this function's contract.
        if let Some(existed) = unsafe { existed.as_mut() } {
            *existed = found;
        }
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Returns the settings of a stack apart from its configuration as JSON. `stack` is its name, with or without the project. The
/// members:
///
/// @members StackFile
///
/// # Safety
/// `project` must be null or alive, `stack` readable, `settings` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_project_settings(
    project: *const sw_project_t,
    stack: sw_bytes_view_t,
    settings: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let read = |project: &sw_project_t| {
        // SAFETY: readable by this function's contract.
        let stack = unsafe { stack.text("the name of the stack") }?;
        let reading = async { Ok(binding::stack_file_document(&project.project, stack).await?) };
        project.parts.shared.block_on(reading)
    };
    // SAFETY: this function's contract is the same.
    unsafe { document(project, settings, error, read) }
}

/// Returns the value at a path of a stack's configuration (`size`, `aws:tags["a"].b[0]`) as JSON, decrypted. Keys without a
/// namespace are the project's own. `passphrase` takes the place of the engine's; empty for that one. The members:
///
/// @members ConfigEntry
///
/// # Safety
/// `project` must be null or alive, `stack`, `path` and `passphrase` readable, `entry` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_project_get_config(
    project: *const sw_project_t,
    stack: sw_bytes_view_t,
    path: sw_bytes_view_t,
    passphrase: sw_bytes_view_t,
    entry: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let read = |project: &sw_project_t| {
        // SAFETY: readable by this function's contract.
        let stack = unsafe { stack.text("the name of the stack") }?;
        // SAFETY: readable by this function's contract.
        let path = unsafe { path.text("the path") }?;
        // SAFETY: readable by this function's contract.
        let secrets = project.secrets(unsafe { passphrase.text("the passphrase") }?)?;
        let reading = async {
            let entry = project.project.get_config(stack, path, secrets).await?;
            Ok(binding::entry_document(&entry)?)
        };
        project.parts.shared.block_on(reading)
    };
    // SAFETY: this function's contract is the same.
    unsafe { document(project, entry, error, read) }
}

/// Returns a stack's configuration as a JSON object by key, with the defaults of declared keys. Secrets have no value unless they
/// are to be shown; the members of a value are those of `sw_project_get_config`.
///
/// # Safety
/// `project` must be null or alive, `stack` and `passphrase` readable, `entries` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_project_list_config(
    project: *const sw_project_t,
    stack: sw_bytes_view_t,
    show_secrets: bool,
    passphrase: sw_bytes_view_t,
    entries: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let read = |project: &sw_project_t| {
        // SAFETY: readable by this function's contract.
        let stack = unsafe { stack.text("the name of the stack") }?;
        // SAFETY: readable by this function's contract.
        let secrets = project.secrets(unsafe { passphrase.text("the passphrase") }?)?;
        let reading = async {
            let entries = project.project.list_config(stack, show_secrets, secrets).await?;
            Ok(binding::entries_document(&entries)?)
        };
        project.parts.shared.block_on(reading)
    };
    // SAFETY: this function's contract is the same.
    unsafe { document(project, entries, error, read) }
}

/// Sets values of a stack's configuration, in one write. `values` is a JSON object by path; a value is as in the setting `config`
/// of `sw_stack_open`, so that `{"value": "text", "secret": true}` is a secret. The file gets the salt of the stack's state, or a
/// new one, when it has a first secret. A value of a key that is declared as secret is encrypted in any case, unless it has
/// `"secret": false`.
///
/// # Safety
/// `project` must be null or alive, `stack`, `values` and `passphrase` readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_project_set_all_config(
    project: *const sw_project_t,
    stack: sw_bytes_view_t,
    values: sw_bytes_view_t,
    passphrase: sw_bytes_view_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let project = unsafe { live(project, "the project") }?;
        // SAFETY: readable by this function's contract.
        let stack = unsafe { stack.text("the name of the stack") }?;
        // SAFETY: readable by this function's contract.
        let values = unsafe { values.bytes("the values") }?;
        // SAFETY: readable by this function's contract.
        let secrets = project.secrets(unsafe { passphrase.text("the passphrase") }?)?;
        let values = changes(values)?;
        let setting = async { Ok(project.project.change_config(stack, values, secrets).await?) };
        project.parts.shared.block_on_to_the_end(setting)
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Removes values of a stack's configuration, in one write, and sets `removed` (which may be null) to how many there were.
/// `paths` is a JSON array.
///
/// # Safety
/// `project` must be null or alive, `stack` and `paths` readable, `removed` null or writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_project_remove_config(
    project: *const sw_project_t,
    stack: sw_bytes_view_t,
    paths: sw_bytes_view_t,
    removed: *mut usize,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let project = unsafe { live(project, "the project") }?;
        // SAFETY: readable by this function's contract.
        let stack = unsafe { stack.text("the name of the stack") }?;
        // SAFETY: readable by this function's contract.
        let paths = unsafe { paths.bytes("the paths") }?;
        let paths: Vec<String> = serde_json::from_slice(paths)
            .map_err(|error| Failure::misuse(format!("the paths are no JSON array of strings: {error}")))?;
        let removing = async { Ok(project.project.remove_config(stack, &paths).await?) };
        let count = project.parts.shared.block_on_to_the_end(removing)?;
        // SAFETY: null or writable by this function's contract.
        if let Some(removed) = unsafe { removed.as_mut() } {
            *removed = count;
        }
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Frees a project's handle; its files remain. Null is ignored.
///
/// # Safety
/// `project` must be null or a live object of `sw_project_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_project_free(project: *mut sw_project_t) {
    if !project.is_null() {
        // SAFETY: created by `sw_project_open`, and not freed before by this function's contract.
        drop(unsafe { Box::from_raw(project) });
    }
}

fn json(bytes: &[u8]) -> Outcome<serde_json::Value> {
    serde_json::from_slice(bytes).map_err(|error| Failure::misuse(format!("the value is no JSON: {error}")))
}

/// Reads values by path.
fn changes(bytes: &[u8]) -> Outcome<Vec<ConfigChange>> {
    // The error of the parser can show a part of a value.
    let values: serde_json::Map<String, serde_json::Value> =
        serde_json::from_slice(bytes).map_err(|_| Failure::misuse("the values are no JSON object"))?;
    let values = values.into_iter();
    values
        .map(|(path, value)| Ok(binding::config_change(path, value)?))
        .collect()
}

/// Writes a document of a project, made by `read`, to `place`.
///
/// # Safety
/// `project` must be null or alive, `place` writable, `error` null or writable.
unsafe fn document(
    project: *const sw_project_t,
    place: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
    read: impl FnOnce(&sw_project_t) -> Outcome<Vec<u8>>,
) -> sw_status_t {
    let body = || {
        // SAFETY: writable by this function's contract.
        let place = unsafe { Slot::required(place, "document") }?;
        // SAFETY: null or alive by this function's contract.
        let project = unsafe { live(project, "the project") }?;
        place.fill(sw_bytes_t::boxed(read(project)?));
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}
