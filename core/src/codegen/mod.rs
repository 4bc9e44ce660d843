//! Source code: programs that declare recorded resources, in the languages of the library and of the Pulumi SDKs.
//!
//! All functions are pure. A program never contains the value of a secret: it reads that from the stack's configuration.

mod c;
mod literal;
mod names;
mod printer;
mod program;
mod python;
mod rust;
mod secret_keys;
mod typescript;
mod value;

pub(crate) use program::{Declaration, DeclaredKind, Program, Reference};

use crate::message::Language;

/// Returns a program of the library's own API. `Node` is TypeScript that is JavaScript, too.
pub(crate) fn own_program(program: &Program, language: Language) -> String {
    match language {
        Language::Python => python::program(program),
        Language::Node => typescript::program(program),
        Language::Rust => rust::program(program),
        Language::C => c::program(program),
    }
}
