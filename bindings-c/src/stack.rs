//! Stacks: opening one, starting operations on it, and what can be done with its state.

use std::{collections::BTreeMap, future::Future, path::PathBuf, sync::Arc};

use serde::Deserialize;
use stackwright::{
    Stack, StackSettings,
    operation::{OperationKind, OperationOptions},
    program::{LanguageRuntimeProgram, Program},
    project::{Config, ConfigKey, ConfigValue},
    property::json::to_plain_json,
};
use tokio_util::task::TaskTracker;

use crate::{
    bytes::{sw_bytes_t, sw_bytes_view_t},
    engine::{Parts, sw_engine_t},
    error::sw_error_t,
    guard::{Failure, Outcome, Slot, guard, live},
    operation::sw_operation_t,
    program::{Entry, Run, sw_program_t},
    status::sw_status_t,
};

/// A stack: a named state, the program that says what it is to be, and the operations on it. Shared by its
/// operations, which outlive it.
pub struct sw_stack_t {
    stack: Stack,
    program: Option<Arc<Entry>>,
    parts: Arc<Parts>,
}

#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Settings {
    config: BTreeMap<String, ConfigDocument>,
    root_directory: Option<PathBuf>,
    create: bool,
    language_runtime: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            config: BTreeMap::new(),
            root_directory: None,
            create: true,
            language_runtime: None,
        }
    }
}

/// A configuration value: a text, or one with its secrecy.
#[derive(Deserialize)]
#[serde(untagged)]
enum ConfigDocument {
    Text(String),
    Marked(MarkedValue),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MarkedValue {
    value: String,
    #[serde(default)]
    secret: bool,
}

fn config(entries: BTreeMap<String, ConfigDocument>, stack: &str) -> Outcome<Config> {
    let project = stack.rsplit('/').nth(1).unwrap_or_default();
    let entry = |(key, value): (String, ConfigDocument)| {
        let key = ConfigKey::parse_in_project(&key, project)?;
        let value = match value {
            ConfigDocument::Text(value) | ConfigDocument::Marked(MarkedValue { value, secret: false }) => {
                ConfigValue::plain(value)
            }
            ConfigDocument::Marked(MarkedValue { value, secret: true }) => ConfigValue::secret(value),
        };
        Ok((key, value))
    };
    entries.into_iter().map(entry).collect()
}

/// Opens a stack, named `project/stack`, and creates it when there is none.
///
/// `settings` is JSON, or empty: `{"config": {"ns:name": "text", "ns:other": {"value": "text", "secret": true}},
/// "rootDirectory": "/srv/shop", "create": true}`. Keys without a namespace are the project's own. `program` is what
/// previews and updates run; it may be null when each brings its own. On success it is taken over. With
/// `"languageRuntime": "127.0.0.1:4711"` in the settings, the language runtime that listens there runs the program, and
/// `program` must be null.
///
/// # Safety
/// `engine` must be null or alive, `name` and `settings` readable, `program` null or readable, `stack` writable,
/// `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_open(
    engine: *const sw_engine_t,
    name: sw_bytes_view_t,
    settings: sw_bytes_view_t,
    program: *const sw_program_t,
    stack: *mut *mut sw_stack_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: writable by this function's contract.
        let place = unsafe { Slot::required(stack, "stack") }?;
        // SAFETY: null or alive by this function's contract.
        let parts = Arc::clone(&unsafe { live(engine, "the engine") }?.parts);
        // SAFETY: readable by this function's contract.
        let name = unsafe { name.text("the name of the stack") }?;
        // SAFETY: readable by this function's contract.
        let settings = unsafe { settings.bytes("the settings of the stack") }?;
        let settings: Settings = if settings.is_empty() {
            Settings::default()
        } else {
            serde_json::from_slice(settings)
                .map_err(|error| Failure::invalid(format!("invalid settings of the stack: {error}")))?
        };
        // SAFETY: null or readable by this function's contract.
        let program = unsafe { Entry::new(program) }?;
        if program.is_some() && settings.language_runtime.is_some() {
            return Err(Failure::misuse(
                "the stack has both a program and the address of a language runtime",
            ));
        }
        let remote = settings.language_runtime.map(LanguageRuntimeProgram::new);
        let settings = StackSettings {
            program: remote.map(|remote| Arc::new(remote) as Arc<dyn Program>),
            config: config(settings.config, name)?,
            root_directory: settings.root_directory,
            create: settings.create,
            journal: parts.host.as_ref().and_then(|host| host.journal(name.to_owned())),
        };
        let opening = async { Ok(parts.engine.stack(name, settings).await?) };
        let stack = parts.shared.block_on(opening)?;
        if let Some(program) = &program {
            program.adopt();
        }
        place.fill(Box::into_raw(Box::new(sw_stack_t {
            stack,
            program,
            parts,
        })));
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum sw_operation_kind_t {
    /// Says what an update would do; nothing is made, changed, deleted or written.
    SW_OPERATION_PREVIEW = 0,
    /// Brings the stack to what its program says.
    SW_OPERATION_UPDATE = 1,
    /// Reads every resource and records what is there.
    SW_OPERATION_REFRESH = 2,
    /// Deletes every resource.
    SW_OPERATION_DESTROY = 3,
}

/// Starts an operation and returns at once. `kind` is one of `sw_operation_kind_t`.
///
/// `options` is JSON, or empty: any of `dryRun`, `parallel`, `refresh`, `continueOnError`, `ignoreProtect`,
/// `replaceTargets`, `showSecrets`, `message`, `holdSession` (see `sw_operation_release`). `program` is run instead of the stack's; it may be null. On success it
/// is taken over. An operation that cannot begin fails in `sw_operation_wait`.
///
/// # Safety
/// `stack` must be null or alive, `options` readable, `program` null or readable, `operation` writable, `error` null
/// or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_start(
    stack: *const sw_stack_t,
    kind: i32,
    options: sw_bytes_view_t,
    program: *const sw_program_t,
    operation: *mut *mut sw_operation_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: writable by this function's contract.
        let place = unsafe { Slot::required(operation, "operation") }?;
        // SAFETY: null or alive by this function's contract.
        let stack = unsafe { live(stack, "the stack") }?;
        // SAFETY: readable by this function's contract.
        let options = unsafe { options.bytes("the options") }?;
        // SAFETY: null or readable by this function's contract.
        let program = unsafe { Entry::new(program) }?;
        let operation = stack.start(kind, options, program)?;
        place.fill(Box::into_raw(Box::new(operation)));
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

impl sw_stack_t {
    fn start(&self, kind: i32, options: &[u8], program: Option<Arc<Entry>>) -> Outcome<sw_operation_t> {
        let shared = &self.parts.shared;
        shared.ensure_open()?;
        let mut options = OperationOptions::from_json(options)?;
        let kind = match kind {
            0 => {
                options = options.preview();
                OperationKind::Update
            }
            1 => OperationKind::Update,
            2 => OperationKind::Refresh,
            3 => OperationKind::Destroy,
            other => return Err(Failure::misuse(format!("there is no operation {other}"))),
        };
        if let Some(program) = &program {
            program.adopt();
        }
        let running = TaskTracker::new();
        let entry = program.or_else(|| self.program.clone());
        let run = entry.map(|entry| {
            Arc::new(Run {
                entry,
                shared: Arc::clone(shared),
                running: running.clone(),
            }) as Arc<dyn Program>
        });
        let known = options.clone();
        let operation = {
            let _context = shared.handle.enter();
            self.stack.start(kind, options, run)
        };
        Ok(sw_operation_t::new(
            operation,
            Arc::clone(&self.parts),
            running,
            &known,
        ))
    }
}

/// Gives the state as a deployment document (JSON). Its secrets stay encrypted unless they are to be shown.
///
/// # Safety
/// `stack` must be null or alive, `deployment` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_export(
    stack: *const sw_stack_t,
    show_secrets: bool,
    deployment: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        giving(stack, deployment, error, async |stack: &Stack| {
            Ok(stack.export(show_secrets).await?)
        })
    }
}

/// Gives the stack's outputs as a JSON object. Its secrets are readable, as marked values.
///
/// # Safety
/// `stack` must be null or alive, `outputs` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_outputs(
    stack: *const sw_stack_t,
    outputs: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    // SAFETY: this function's contract is the same.
    unsafe {
        giving(stack, outputs, error, async |stack: &Stack| {
            Ok(to_plain_json(&stack.outputs().await?)?)
        })
    }
}

/// Gives the history as a JSON array of the reference engine's records, newest first.
///
/// # Safety
/// `stack` must be null or alive, `history` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_history(
    stack: *const sw_stack_t,
    history: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let history_of = async |stack: &Stack| {
        let entries = stack.history().await?;
        serde_json::to_vec(&entries)
            .map_err(|error| Failure::from(stackwright::Error::internal(error.to_string())))
    };
    // SAFETY: this function's contract is the same.
    unsafe { giving(stack, history, error, history_of) }
}

/// Replaces the state by a deployment document. One that is not valid leaves the state as it was.
///
/// # Safety
/// `stack` must be null or alive, `deployment` readable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_import(
    stack: *const sw_stack_t,
    deployment: sw_bytes_view_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let stack = unsafe { live(stack, "the stack") }?;
        // SAFETY: readable by this function's contract.
        let deployment = unsafe { deployment.bytes("the deployment") }?;
        let importing = async { Ok(stack.stack.import(deployment).await?) };
        stack.parts.shared.block_on_to_the_end(importing)
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Removes the stack and its history from the store. One that still has resources is only removed by force.
///
/// # Safety
/// `stack` must be null or alive, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_remove(
    stack: *const sw_stack_t,
    force: bool,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let stack = unsafe { live(stack, "the stack") }?;
        let removing = async { Ok(stack.stack.remove(force).await?) };
        stack.parts.shared.block_on_to_the_end(removing)
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Frees a stack's handle; its state and its operations go on. Nothing happens for null.
///
/// # Safety
/// `stack` must be null or have come from `sw_stack_open` and not have been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_free(stack: *mut sw_stack_t) {
    if !stack.is_null() {
        // SAFETY: made by `sw_stack_open`, and not freed before by this function's contract.
        drop(unsafe { Box::from_raw(stack) });
    }
}

/// Asks a stack for a document and waits for it.
///
/// # Safety
/// `stack` must be null or alive, `place` writable, `error` null or writable.
unsafe fn giving<'a, F: Future<Output = Outcome<Vec<u8>>>>(
    stack: *const sw_stack_t,
    place: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
    ask: impl FnOnce(&'a Stack) -> F,
) -> sw_status_t {
    let body = || {
        // SAFETY: writable by this function's contract.
        let place = unsafe { Slot::required(place, "document") }?;
        // SAFETY: null or alive by this function's contract.
        let stack: &'a sw_stack_t = unsafe { live(stack, "the stack") }?;
        let document = stack.parts.shared.block_on(ask(&stack.stack))?;
        place.fill(sw_bytes_t::boxed(document));
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}
