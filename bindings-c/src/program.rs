//! Programs of the host: a function that runs on a dedicated thread and registers resources with its context.

use std::{ffi::c_void, sync::Arc};

use async_trait::async_trait;
use stackwright::{
    Error, ErrorKind,
    moves::ProgramLanguage,
    program::{Program, ProgramContext},
};
use tokio::sync::oneshot;
use tokio_util::task::TaskTracker;

use crate::{
    context::sw_context_t,
    failure::{Failure, Outcome},
    foreign::{Inside, Place, UserData, sw_free_t},
    guard::{VersionedStruct, sized},
    runtime::Shared,
    status::sw_status_t,
};

/// The version of `sw_program_t` that this header describes.
pub const SW_PROGRAM_VERSION: u32 = 1;

/// Declares the resources of a stack. Runs on a dedicated thread and may block; several runs may overlap. Returns
/// `SW_STATUS_OK`, the status of a failed call (the run then fails with the error of the last call with that status),
/// or `SW_STATUS_PROGRAM` after `sw_context_fail`. The run also fails when a registration or an output is malformed
/// (`SW_STATUS_INVALID_INPUT`, `SW_STATUS_MISUSE`), because the resource would be deleted otherwise, or when a transform of the
/// stack is. Other failed calls do not fail the run by themselves.
///
/// The context is valid until the function has returned and every callback of its asynchronous calls has been called.
pub type sw_run_t = Option<unsafe extern "C" fn(user_data: *mut c_void, context: *mut sw_context_t) -> i32>;

/// A program. The table is copied.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sw_program_t {
    /// `sizeof(sw_program_t)`.
    pub struct_size: usize,
    /// `SW_PROGRAM_VERSION`.
    pub version: u32,
    /// Passed to `run`.
    pub user_data: *mut c_void,
    /// Frees `user_data` after the last call of `run`; may be null.
    pub free: sw_free_t,
    /// The program.
    pub run: sw_run_t,
}

// SAFETY: the size is the first field; the rest are numbers, pointers and functions that may be null.
unsafe impl VersionedStruct for sw_program_t {
    const MIN_STRUCT_SIZE: usize = size_of::<Self>();
}

type Function = unsafe extern "C" fn(*mut c_void, *mut sw_context_t) -> i32;

/// A program of the host, for any number of runs.
pub(crate) struct CProgram {
    run: Function,
    data: UserData,
}

impl CProgram {
    /// Reads a table of the host; `None` for null.
    ///
    /// # Safety
    /// `table` must be null or readable for its `struct_size`.
    pub(crate) unsafe fn new(table: *const sw_program_t) -> Outcome<Option<Arc<Self>>> {
        // SAFETY: null or readable by this function's contract.
        let Some(table) = unsafe { sized(table, "the program") }? else {
            return Ok(None);
        };
        if table.version != SW_PROGRAM_VERSION {
            return Err(Failure::misuse("the program has an unknown version"));
        }
        let run = table
            .run
            .ok_or_else(|| Failure::misuse("the program has no run function"))?;
        let data = UserData::new(table.user_data, table.free);
        Ok(Some(Arc::new(Self { run, data })))
    }

    /// Takes ownership of `user_data`, which the host has until then.
    pub(crate) fn adopt(&self) {
        self.data.adopt();
    }
}

/// The program of one operation.
pub(crate) struct Run {
    pub(crate) program: Arc<CProgram>,
    pub(crate) shared: Arc<Shared>,
    /// The runs whose function has not returned yet.
    pub(crate) running: TaskTracker,
}

#[async_trait]
impl Program for Run {
    fn language(&self) -> ProgramLanguage {
        ProgramLanguage::C
    }

    async fn run(&self, context: ProgramContext) -> stackwright::Result<()> {
        let root = context.monitor.register_root_stack().await.map_err(Error::from)?;
        let context = sw_context_t::of_program(context, &root, Arc::clone(&self.shared))?;
        let (sender, receiver) = oneshot::channel();
        let (program, shared) = (Arc::clone(&self.program), Arc::clone(&self.shared));
        let (pass, token) = (self.shared.gate.enter(), self.running.token());
        let thread = std::thread::Builder::new().name("stackwright-program".to_owned());
        let run = move || {
            let result = program.run_to_the_end(&context, &shared);
            // Freed before the result is sent.
            drop((context, program, shared));
            // The receiver is gone when the operation ended before its program.
            drop(sender.send(result));
            drop((pass, token));
        };
        if let Err(error) = thread.spawn(run) {
            let message = format!("cannot start a thread for the program: {error}");
            return Err(Error::new(ErrorKind::Unavailable, message));
        }
        receiver
            .await
            .unwrap_or_else(|_| Err(Error::internal("the program's thread ended without a result")))
    }
}

impl CProgram {
    /// Calls the function and waits for the callbacks of its asynchronous calls.
    fn run_to_the_end(&self, context: &sw_context_t, shared: &Shared) -> stackwright::Result<()> {
        let code = {
            let _inside = Inside::enter(Place::OwnThread);
            let pointer = std::ptr::from_ref(context).cast_mut();
            // SAFETY: the host supplied the function for this pointer; the context outlives the call.
            unsafe { (self.run)(self.data.pointer(), pointer) }
        };
        shared.handle.block_on(context.finish());
        let failure = context.failure();
        match sw_status_t::from_code(code) {
            Some(sw_status_t::SW_STATUS_OK) => failure.map_or(Ok(()), Err),
            status => Err(failure
                .or_else(|| context.failed_with(status?))
                .unwrap_or_else(|| {
                    let kind = status.and_then(sw_status_t::kind).unwrap_or(ErrorKind::Program);
                    let name = status.map_or(c"unknown", sw_status_t::name).to_string_lossy();
                    Error::new(kind, format!("the program returned status {code} ({name})"))
                })),
        }
    }
}
