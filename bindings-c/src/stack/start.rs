//! Starting an operation on a stack.

use std::sync::Arc;

use stackwright::{
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
/// `options` is JSON, or empty: an object with any of
///
/// - `dryRun`: only say what would be done; `parallel`: how many calls of Create, Update, Delete and Read may run at a
///   time, 16 for 0, and 16 times as many of Check and Diff. The limit is strict, except for providers whose calls may wait
///   for later registrations: those that declare it, all with `waitsForRegistrations`. When all that `parallel` allows stand
///   still while others queue, some of their calls no longer count;
/// - `refresh`: read every resource first; `refreshProgram`: a refresh runs the program, which says how providers are
///   configured, and so does the refresh of an update or destroy; `destroyProgram`: a destroy runs the program;
/// - `targets`: the only resources to be worked on, `targetDependents`: and what depends on them; `excludes`: resources to be
///   left alone, `excludeDependents`: and what depends on them; `replaceTargets`: resources to be replaced whatever has
///   changed. These are lists of URNs; in globs `*` stands for anything but a colon, `**` for anything;
/// - `continueOnError`: a failed step stops only what depends on it; `ignoreProtect`: delete and replace protected
///   resources, too; `allowEmpty`: an update may delete every resource because its program registered none, which is
///   refused otherwise (a preview warns); `clearPendingCreates`: forget interrupted creations when the operation has succeeded;
/// - `plan`: what the operation is held to, the document that the result of one with `generatePlan` has; `generatePlan`:
///   write down what is found; `strict`: preview first, where no plan is given, and hold the operation to that;
/// - `requiredPolicies` and `localPolicyPacks`: lists of `{"name", "path"?, "version"?, "address"?, "downloadUrl"?,
///   "checksums"?, "config"?}`; a pack with a path needs no name. Without an address the engine's resolver is asked for an
///   `analyzer`; `config` has by policy, or for `all`,
///   a level (`advisory`, `mandatory`, `remediate`, `disabled`) or an object with `enforcementLevel`;
/// - `useLegacyDiff`: compare inputs before asking providers; `useLegacyRefreshDiff`: a refresh reports what its outputs
///   say; `disableResourceReferences`, `disableOutputValues`: programs are not told that the monitor understands these;
///   `disableProviderPreview`: previews show inputs as outputs;
/// - `showSecrets`: keep secret values in events, as secrets whose `ciphertext` is the base64 of their JSON; `noEvents`:
///   make events only while somebody listens; `debug`: have diagnostics of the severity `debug` among the events, which
///   are left out otherwise; `message`: a note for the history;
/// - `holdSession`: keep the monitor and the providers after the result, see `sw_operation_release`;
/// - `skipPluginPreInstall`: plugins are installed no sooner than they are needed, see `install` of the host's table;
/// - `parallelDiff`, `experimental`: accepted, and change nothing; `snippets`, `targetSnippets`: not supported yet, an
///   operation with one of them is refused before anything happens.
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
        let mut options = OperationOptions::from_json(options)?.with_binding_defaults();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_says_all_options_of_operations() {
        let header = include_str!("../../../include/stackwright.h");
        let end = header.find("sw_stack_start(").unwrap();
        let comment = &header[header[..end].rfind("/**").unwrap()..end];
        let options = serde_json::to_value(OperationOptions::default()).unwrap();
        for name in options.as_object().unwrap().keys() {
            assert!(comment.contains(&format!("`{name}`")), "the header lacks {name}");
        }
    }
}
