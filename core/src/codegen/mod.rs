//! Source code: programs that declare recorded resources, in the languages of the library and of the Pulumi SDKs.
//!
//! All functions are pure. A program never contains the value of a secret: it reads that from the stack's configuration.

mod c;
mod configuration;
mod literal;
mod names;
mod package;
mod printer;
mod program;
mod python;
mod rust;
mod schema;
mod sdk;
mod sdk_python;
mod sdk_typescript;
mod secret_keys;
mod sensitive;
#[cfg(test)]
mod tests;
mod typescript;
mod value;

pub(crate) use literal::string_literal;
pub(crate) use package::{DeclaredPackage, PackageForm};
pub(crate) use program::{Declaration, DeclaredKind, Program, Reference};
pub(crate) use schema::PackageSchema;
pub(crate) use sdk::SdkLanguage;

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

/// Returns a program of a Pulumi SDK, of the resources whose packages have a schema; `None` when there are none.
pub(crate) fn sdk_program(
    program: &Program,
    schemas: &[PackageSchema],
    language: SdkLanguage,
) -> Option<String> {
    match language {
        SdkLanguage::Python => sdk_python::program(program, schemas),
        SdkLanguage::TypeScript => sdk_typescript::program(program, schemas),
    }
}
