//! Stacks: their handle, opening, unlocking and removal.

pub mod analyze;
pub mod edit;
pub mod pending;
pub mod start;
pub mod state;
pub mod tags;

use std::sync::Arc;

use stackwright::{
    Language, Opening, Stack, StackSettings,
    binding::{self, StackDocument},
};
use stackwright_project::open_stack;

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
/// `settings` is JSON, or empty: an object with any of these members.
///
/// @members StackSettings
///
/// A value of `config` is any JSON; programs read lists and objects as their JSON text. `{"value": "text", "secret": true}` is a
/// secret; one inside a structure is marked as values of resources are; one that is encrypted already is
/// `{"secure": "ciphertext"}`.
///
/// `secrets` encrypts the stack's secrets with `encrypt_for_stack` of the host's table; its members:
///
/// @members SecretsSettings
///
/// With `deployment`, each operation leaves the new state as `sw_operation_deployment` gives it; the document is checked as
/// `sw_stack_import_deployment` checks it. `program` is run by previews and updates; it may be null when each brings its own, and
/// must be null beside `languageRuntime`. On success it is taken over.
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
    let mut settings: StackDocument = binding::read(settings, Language::C, "a stack")?;
    let secrets = settings.secrets.take();
    let folder = settings.take_project(Language::C)?;
    // SAFETY: null or readable by this function's contract.
    let program = unsafe { CProgram::new(program) }?;
    if program.is_some() && settings.language_runtime.is_some() {
        return Err(Failure::misuse(
            "the stack has both a program and the address of a language runtime",
        ));
    }
    let mut settings = StackSettings {
        journal: parts.host.as_ref().and_then(|host| host.journal(name.to_owned())),
        ..settings.into_settings(name, opening, program.is_some(), &parts.engine, Language::C)?
    };
    if let Some(document) = secrets {
        let host = parts.host.as_ref();
        let functions = host.map(|host| host.secrets_of_stack(name)).unwrap_or_default();
        if document.url.is_none() && functions.values.is_none() {
            return Err(Failure::misuse(
                "the setting secrets requires encrypt_for_stack and decrypt_for_stack of the host's table",
            ));
        }
        let others = settings.secrets.unwrap_or_else(|| parts.engine.secrets());
        let runtime = parts.engine.runtime().clone();
        settings.secrets = Some(functions.provider(document, others, runtime)?);
    }
    let opening = async { Ok(open_stack(&parts.engine, name, folder, settings).await?) };
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

/// Removes the locks of one owner, `user@host` or `user@host:process` as the error of a locked stack names it, and sets `count` (which
/// may be null) to their number. In a bucket or a database the owner loses its lease, too, so that an operation which still runs writes
/// no more.
///
/// # Safety
/// `stack` must be null or alive, `owner` readable, `count` null or writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_break_lock(
    stack: *const sw_stack_t,
    owner: sw_bytes_view_t,
    count: *mut usize,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let stack = unsafe { live(stack, "the stack") }?;
        // SAFETY: readable by this function's contract.
        let owner = unsafe { owner.text("the owner of a lock") }?;
        let breaking = async { Ok(stack.stack.break_lock(owner).await?) };
        let locks = stack.parts.shared.block_on_to_the_end(breaking)?;
        // SAFETY: null or writable by this function's contract.
        if let Some(count) = unsafe { count.as_mut() } {
            *count = locks;
        }
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Removes the stack and its history from the store. A stack with resources is only removed with `force`. A stack that is locked elsewhere
/// is waited for `wait_for_lock` seconds; 0 is no wait.
///
/// # Safety
/// `stack` must be null or alive, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_remove(
    stack: *const sw_stack_t,
    force: bool,
    wait_for_lock: f64,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: null or alive by this function's contract.
        let stack = unsafe { live(stack, "the stack") }?;
        let waiting = binding::waiting(&stack.stack, Some(wait_for_lock))?;
        let removing = async { Ok(waiting.remove(force).await?) };
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
