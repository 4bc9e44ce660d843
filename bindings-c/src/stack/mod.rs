//! Stacks: their handle, opening, unlocking and removal.

mod settings;
pub mod start;
pub mod state;

use std::sync::Arc;

use stackwright::{Opening, Stack, StackSettings, binding::SecretsDocument, secrets::CallbackProvider};

use self::settings::Settings;
use crate::{
    bytes::sw_bytes_view_t,
    engine::{Parts, sw_engine_t},
    error::sw_error_t,
    failure::{Failure, Outcome},
    guard::{Slot, guard, live},
    program::{CProgram, sw_program_t},
    status::sw_status_t,
};

/// A stack: a named state, the program that declares its resources, and the operations on it. Shared by its operations,
/// which may outlive the handle.
pub struct sw_stack_t {
    stack: Stack,
    program: Option<Arc<CProgram>>,
    parts: Arc<Parts>,
}

/// Opens a stack, named `project/stack`.
///
/// With a state in the settings, `"deployment": {"version": 3, "deployment": {…}}`, the stack is kept in memory. The
/// engine's store is not used, and may contain another stack of the same name. Neither `create` nor history apply, and
/// `sw_operation_deployment` returns the new state. It is validated as by `sw_stack_import_deployment`. `{}` is a new
/// stack.
///
/// `settings` is JSON, or empty: `{"config": {"ns:name": "text", "ns:other": {"value": "text", "secret": true}},
/// "organization": "acme", "tags": {"name": "text"}, "rootDirectory": "/srv/shop", "runtimeOptions": {"virtualenv":
/// "venv", "build": {"flags": ["-v"]}}, "create": true, "encryptionSalt": "v1:…", "passphrase": "…",
/// "referencePassphrases": {"shop/base": "…"}}`. With `create` a stack that does not exist is created; with `false` it
/// is a `NOT_FOUND` error. Without it, the stack is created when there is a program, and otherwise by its first update
/// or import. The passphrase is used in place of the engine's; a wrong one is an error when the stack has secrets.
/// Referenced stacks are opened with this passphrase, or with theirs in `referencePassphrases`. `"secrets": {"kind":
/// "vault", "state": …}` encrypts the stack's secrets with `encrypt_for_stack` of the host's table; kind and state are
/// as those of an engine. Data of other secrets providers is decrypted as without it. The runtime's options are any
/// JSON; plugins receive them in their environment, as `PULUMI_RUNTIME_VIRTUALENV`: texts unchanged, other values as
/// JSON. Keys without a namespace belong to the project. A value is any JSON; programs read lists and objects as their
/// JSON text. A secret inside of one is marked as in values of resources; an encrypted one is `{"secure":
/// "ciphertext"}`, and the salt is that of its encryption: `encryptionsalt` of the stack's configuration file. Without
/// a salt it is decrypted as the state is. The organization is visible to programs (default: `organization`), and not
/// part of the name; tags are metadata of the host. `program` is run by previews and updates; it may be null when each
/// has its own. On success the library owns its `user_data`. With `"languageRuntime": "127.0.0.1:4711"` in the
/// settings, the language runtime at this address runs the program, and `program` must be null.
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
    // SAFETY: the caller's contract is this function's.
    unsafe { open_guarded(engine, name, settings, program, stack, error, None) }
}

/// Creates a stack. An existing one is a `CONFLICT` error. Otherwise as `sw_stack_open`, without the setting `create`.
///
/// # Safety
/// As `sw_stack_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_engine_create_stack(
    engine: *const sw_engine_t,
    name: sw_bytes_view_t,
    settings: sw_bytes_view_t,
    program: *const sw_program_t,
    stack: *mut *mut sw_stack_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let opening = Some(Opening::Create);
    // SAFETY: the caller's contract is this function's.
    unsafe { open_guarded(engine, name, settings, program, stack, error, opening) }
}

/// Selects an existing stack. For a missing one, the error's hints name similar stacks. Otherwise as `sw_stack_open`,
/// without the setting `create`.
///
/// # Safety
/// As `sw_stack_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_engine_select_stack(
    engine: *const sw_engine_t,
    name: sw_bytes_view_t,
    settings: sw_bytes_view_t,
    program: *const sw_program_t,
    stack: *mut *mut sw_stack_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let opening = Some(Opening::Select);
    // SAFETY: the caller's contract is this function's.
    unsafe { open_guarded(engine, name, settings, program, stack, error, opening) }
}

/// Selects a stack, and creates it when it does not exist. Otherwise as `sw_stack_open`, without the setting `create`.
///
/// # Safety
/// As `sw_stack_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_engine_create_or_select_stack(
    engine: *const sw_engine_t,
    name: sw_bytes_view_t,
    settings: sw_bytes_view_t,
    program: *const sw_program_t,
    stack: *mut *mut sw_stack_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let opening = Some(Opening::CreateOrSelect);
    // SAFETY: the caller's contract is this function's.
    unsafe { open_guarded(engine, name, settings, program, stack, error, opening) }
}

/// Opens a stack, with a guard; `opening` is that of the called function.
///
/// # Safety
/// As `sw_stack_open`.
unsafe fn open_guarded(
    engine: *const sw_engine_t,
    name: sw_bytes_view_t,
    settings: sw_bytes_view_t,
    program: *const sw_program_t,
    stack: *mut *mut sw_stack_t,
    error: *mut *mut sw_error_t,
    opening: Option<Opening>,
) -> sw_status_t {
    // SAFETY: the caller's contract is this function's.
    let body = || unsafe { open(engine, name, settings, program, stack, opening) };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Opens a stack; `opening` is that of the called function.
///
/// # Safety
/// As `sw_stack_open`, without its error.
unsafe fn open(
    engine: *const sw_engine_t,
    name: sw_bytes_view_t,
    settings: sw_bytes_view_t,
    program: *const sw_program_t,
    stack: *mut *mut sw_stack_t,
    opening: Option<Opening>,
) -> Outcome<()> {
    // SAFETY: writable by this function's contract.
    let place = unsafe { Slot::required(stack, "stack") }?;
    // SAFETY: null or alive by this function's contract.
    let parts = Arc::clone(&unsafe { live(engine, "the engine") }?.parts);
    // SAFETY: readable by this function's contract.
    let name = unsafe { name.text("the name of the stack") }?;
    // SAFETY: readable by this function's contract.
    let settings = unsafe { settings.bytes("the settings of the stack") }?;
    let mut settings = Settings::from_json(settings)?;
    let secrets = settings.secrets.take();
    // SAFETY: null or readable by this function's contract.
    let program = unsafe { CProgram::new(program) }?;
    if program.is_some() && settings.names_a_program() {
        return Err(Failure::misuse(
            "the stack has both a program and the address of a language runtime",
        ));
    }
    let mut settings = StackSettings {
        journal: parts.host.as_ref().and_then(|host| host.journal(name.to_owned())),
        ..settings.for_stack(name, program.is_some(), opening, |passphrase| {
            parts.engine.passphrase(passphrase)
        })?
    };
    if let Some(SecretsDocument { kind, state }) = secrets {
        let callbacks = parts.host.as_ref().and_then(|host| host.secrets_of_stack(name));
        let callbacks = callbacks.ok_or_else(|| {
            Failure::misuse(
                "the setting secrets requires encrypt_for_stack and decrypt_for_stack of the host's table",
            )
        })?;
        let others = settings.secrets.unwrap_or_else(|| parts.engine.secrets());
        settings.secrets = Some(Arc::new(CallbackProvider::new(kind, state, callbacks).or(others)));
    }
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
}

/// Removes every lock of the stack, for instance those of crashed processes, and sets `count` (which may be null) to
/// their number. Operations that are running are not cancelled.
///
/// # Safety
/// `stack` must be null or alive, `count` null or writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_unlock(
    stack: *const sw_stack_t,
    count: *mut usize,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let stack = unsafe { live(stack, "the stack") }?;
        let unlocking = async { Ok(stack.stack.unlock().await?) };
        let locks = stack.parts.shared.block_on_to_the_end(unlocking)?;
        // SAFETY: null or writable by this function's contract.
        if let Some(count) = unsafe { count.as_mut() } {
            *count = locks;
        }
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Removes the stack and its history from the store. A stack with resources is only removed with `force`.
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

/// Frees a stack's handle; its state remains and its operations continue. Null is ignored.
///
/// # Safety
/// `stack` must be null or a live object of `sw_stack_open`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_free(stack: *mut sw_stack_t) {
    if !stack.is_null() {
        // SAFETY: created by `sw_stack_open`, and not freed before by this function's contract.
        drop(unsafe { Box::from_raw(stack) });
    }
}
