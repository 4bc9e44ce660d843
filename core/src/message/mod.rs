//! Messages with a code, arguments and two texts: the reference engine's for tools, the library's for users.

mod advice;
mod catalog;
mod edits;
mod import;
mod language;
mod locks;
mod nearest;
mod sdk;
mod similar;
mod text;
mod wording;

pub(crate) use advice::{REMOVE_RECORD, flag, interrupted};
pub(crate) use catalog::Message;
pub(crate) use edits::{cannot_encrypt, needed_record, protected_record, unknown_record};
pub(crate) use import::{PROVIDER_INPUTS_DEPRECATED, numbered_errors, old_copy};
pub use language::Language;
pub(crate) use language::{is_snake_case_of, snake_case};
pub(crate) use locks::stack_locked;
#[doc(hidden)]
pub use nearest::nearest_names;
pub(crate) use nearest::nearest_urns;
pub(crate) use sdk::text_of_program;
pub(crate) use similar::distance;
pub use text::Text;

#[cfg(test)]
mod tests;
