//! The start of operations on a stack.

use std::sync::Arc;

use stackwright::{
    Language, binding,
    operation::{OperationKind, OperationOptions},
    program::Program,
};
use stackwright_command::display::Title;
use tokio_util::task::TaskTracker;

use super::sw_stack_t;
use crate::{
    bytes::sw_bytes_view_t,
    error::sw_error_t,
    failure::{Failure, Outcome},
    guard::{Slot, VersionedStruct, guard, live, sized},
    operation::sw_operation_t,
    policy::{Packs, sw_policy_pack_t},
    program::{CProgram, Run, sw_program_t},
    status::sw_status_t,
};

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum sw_operation_kind_t {
    /// Reports the steps of an update without performing them; nothing is written.
    SW_OPERATION_PREVIEW = 0,
    /// Creates, updates and deletes resources as the program declares them.
    SW_OPERATION_UPDATE = 1,
    /// Reads every resource and records its actual state.
    SW_OPERATION_REFRESH = 2,
    /// Deletes every resource.
    SW_OPERATION_DESTROY = 3,
}

/// Starts an operation without waiting for it. `kind` is one of `sw_operation_kind_t`.
///
/// `options` is JSON, or empty: an object with any of these members.
///
/// @members OperationOptions
///
/// Members of a policy pack:
///
/// @members PolicyPack
///
/// `program` is run in place of the stack's; it may be null. A refresh runs a program only with `refreshProgram`, a
/// destroy only with `destroyProgram`. On success the library owns its `user_data`. An operation that cannot begin
/// fails in `sw_operation_wait`.
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
    let functions = sw_operation_functions_t {
        struct_size: size_of::<sw_operation_functions_t>(),
        program,
        policy_packs: std::ptr::null(),
        policy_pack_count: 0,
    };
    // SAFETY: this function's contract is the same.
    unsafe { sw_stack_start_with(stack, kind, options, &raw const functions, operation, error) }
}

/// The host's functions for one operation. Set `struct_size` to the structure's size and unused fields to zero.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sw_operation_functions_t {
    /// `sizeof(sw_operation_functions_t)`.
    pub struct_size: usize,
    /// Run in place of the stack's program; null for that one.
    pub program: *const sw_program_t,
    /// Policy packs of the host; null for none. A pack serves those of the options that have its name, with their settings;
    /// one whose name is not there runs as the last of `localPolicyPacks`. Two of one name are `SW_STATUS_INVALID_INPUT`.
    pub policy_packs: *const *const sw_policy_pack_t,
    /// The number of policy packs.
    pub policy_pack_count: usize,
}

// SAFETY: the size is the first field; the rest are numbers and pointers that may be null.
unsafe impl VersionedStruct for sw_operation_functions_t {
    const MIN_STRUCT_SIZE: usize = size_of::<Self>();
}

/// Starts an operation as `sw_stack_start` does, with functions of the host; `functions` may be null. The handles of policy
/// packs can be freed from then on.
///
/// # Safety
/// `stack` must be null or alive, `options` readable, `functions` null or readable, as must what it points to, `operation`
/// writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_start_with(
    stack: *const sw_stack_t,
    kind: i32,
    options: sw_bytes_view_t,
    functions: *const sw_operation_functions_t,
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
        let functions = unsafe { sized(functions, "the structure of the operation's functions") }?;
        let (program, packs, count) =
            functions.map_or((std::ptr::null(), std::ptr::null(), 0), |functions| {
                (
                    functions.program,
                    functions.policy_packs,
                    functions.policy_pack_count,
                )
            });
        // SAFETY: null or readable by this function's contract.
        let packs = unsafe { Packs::new(packs, count) }?;
        // SAFETY: null or readable by this function's contract.
        let program = unsafe { CProgram::new(program) }?;
        let operation = stack.start(kind, options, program, packs)?;
        place.fill(Box::into_raw(Box::new(operation)));
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Starts an import without waiting for it: existing resources are read from their providers, and recorded as managed from
/// then on. With `dryRun` among the options nothing is written.
///
/// `request` is JSON: an object with any of these members.
///
/// @members ImportRequest
///
/// Members of a resource to import:
///
/// @members ImportResource
///
/// Members of a parameterization:
///
/// @members ImportParameterization
///
/// Members of an extension:
///
/// @members ImportExtension
///
/// `options` is JSON, or empty, as for `sw_stack_start`. The member `imported` of the result:
///
/// @members ImportReport
///
/// Members of an imported resource, whose values have the plain JSON form:
///
/// @members ImportedResource
///
/// Members of the source code:
///
/// @members ImportCode
///
/// # Safety
/// `stack` must be null or alive, `request` and `options` readable, `operation` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_import_resources(
    stack: *const sw_stack_t,
    request: sw_bytes_view_t,
    options: sw_bytes_view_t,
    operation: *mut *mut sw_operation_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: writable by this function's contract.
        let place = unsafe { Slot::required(operation, "operation") }?;
        // SAFETY: null or alive by this function's contract.
        let stack = unsafe { live(stack, "the stack") }?;
        // SAFETY: readable by this function's contract.
        let request = unsafe { request.bytes("the request") }?;
        // SAFETY: readable by this function's contract.
        let options = unsafe { options.bytes("the options") }?;
        let operation = stack.import(request, options)?;
        place.fill(Box::into_raw(Box::new(operation)));
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

impl sw_stack_t {
    fn import(&self, request: &[u8], options: &[u8]) -> Outcome<sw_operation_t> {
        let shared = &self.parts.shared;
        shared.ensure_open()?;
        let request = binding::import_request(request, Language::C, "an import")?;
        let options = binding::read::<OperationOptions>(options, Language::C, "an import")?;
        let known = options.clone();
        let operation = {
            let _context = shared.handle.enter();
            self.stack.import_resources(request, options)
        };
        let (parts, running) = (Arc::clone(&self.parts), TaskTracker::new());
        let title = Title::new(OperationKind::Import, known.dry_run, self.stack.name());
        Ok(sw_operation_t::new(operation, parts, running, &known, title))
    }

    fn start(
        &self,
        kind: i32,
        options: &[u8],
        program: Option<Arc<CProgram>>,
        packs: Packs,
    ) -> Outcome<sw_operation_t> {
        let shared = &self.parts.shared;
        shared.ensure_open()?;
        let mut options =
            binding::read::<OperationOptions>(options, Language::C, "an operation")?.with_binding_defaults();
        packs.serve_operation(&mut options);
        let kind = match kind {
            0 => {
                options = options.preview();
                OperationKind::Update
            }
            1 => OperationKind::Update,
            2 => OperationKind::Refresh,
            3 => OperationKind::Destroy,
            other => return Err(Failure::misuse(format!("unknown kind of operation {other}"))),
        };
        if let Some(program) = &program {
            program.adopt();
        }
        let running = TaskTracker::new();
        let program = program.or_else(|| self.program.clone());
        let run = program.map(|program| {
            Arc::new(Run {
                program,
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
            Title::new(kind, known.dry_run, self.stack.name()),
        ))
    }
}
