//! Starting an operation on a stack.

use std::sync::Arc;

use stackwright::{
    Language, binding,
    operation::{OperationKind, OperationOptions},
    program::Program,
};
use tokio_util::task::TaskTracker;

use super::sw_stack_t;
use crate::{
    bytes::sw_bytes_view_t,
    error::sw_error_t,
    failure::{Failure, Outcome},
    guard::{Slot, guard, live},
    operation::sw_operation_t,
    program::{Entry, Run, sw_program_t},
    status::sw_status_t,
};

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum sw_operation_kind_t {
    /// Computes the steps of an update; nothing is created, changed, deleted or written.
    SW_OPERATION_PREVIEW = 0,
    /// Brings the stack to the state that its program describes.
    SW_OPERATION_UPDATE = 1,
    /// Reads every resource and records what is there.
    SW_OPERATION_REFRESH = 2,
    /// Deletes every resource.
    SW_OPERATION_DESTROY = 3,
}

/// Starts an operation and returns at once. `kind` is one of `sw_operation_kind_t`.
///
/// `options` is JSON, or empty: an object with any of these members.
///
/// @members OperationOptions
///
/// Members of a policy pack:
///
/// @members PolicyPack
///
/// `program` is run instead of the stack's; it may be null. A refresh runs a program only with `refreshProgram`, a destroy
/// only with `destroyProgram`. On success it is taken over. An operation that cannot begin fails in `sw_operation_wait`.
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
        let mut options =
            binding::read::<OperationOptions>(options, Language::C, "an operation")?.with_binding_defaults();
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
