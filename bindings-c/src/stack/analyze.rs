//! Analysis of a stack's state by policy packs.

use stackwright::{Language, binding, operation::AnalysisOptions};

use super::sw_stack_t;
use crate::{
    bytes::{sw_bytes_t, sw_bytes_view_t},
    error::sw_error_t,
    guard::{Slot, guard, live},
    policy::{Packs, sw_policy_pack_t},
    status::sw_status_t,
};

/// What the errors of options name.
const SUBJECT: &str = "an analysis";

/// Analyzes the recorded state with policy packs, without a program, and waits for the result. Neither the state nor a lock is
/// written, and nothing is remediated.
///
/// `options` is a JSON object with these members, or empty. The members of a policy pack are those that `sw_stack_start` lists.
///
/// @members AnalysisOptions
///
/// `packs` are `pack_count` packs of the host, as in `sw_operation_functions_t`; null for none.
///
/// `analysis` is set to a JSON object with these members:
///
/// @members PolicyAnalysis
///
/// Members of a violation:
///
/// @members PolicyViolation
///
/// # Safety
/// `stack` must be null or alive, `options` readable, `packs` null or readable, as must what it points to, `analysis`
/// writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_stack_analyze(
    stack: *const sw_stack_t,
    options: sw_bytes_view_t,
    packs: *const *const sw_policy_pack_t,
    pack_count: usize,
    analysis: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: writable by this function's contract.
        let place = unsafe { Slot::required(analysis, "analysis") }?;
        // SAFETY: null or alive by this function's contract.
        let stack = unsafe { live(stack, "the stack") }?;
        // SAFETY: readable by this function's contract.
        let options = unsafe { options.bytes("the options") }?;
        let mut options: AnalysisOptions = binding::read(options, Language::C, SUBJECT)?;
        // SAFETY: null or readable by this function's contract.
        let packs = unsafe { Packs::new(packs, pack_count) }?;
        packs.serve_analysis(&mut options.local_policy_packs);
        let analyzing = async {
            let analysis = stack.stack.analyze(&options).await?;
            Ok(binding::analysis_document(&analysis))
        };
        let document = stack.parts.shared.block_on(analyzing)?;
        place.fill(sw_bytes_t::boxed(document.to_string().into_bytes()));
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}
