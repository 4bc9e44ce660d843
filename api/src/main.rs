//! Lists the public API of the engine, one item a line, from rustdoc's JSON output. `make generate` writes the list to
//! `docs/api.txt`.

use std::{
    env,
    error::Error,
    io::{self, Write as _},
    path::PathBuf,
};

use public_api::Builder;

fn main() -> Result<(), Box<dyn Error>> {
    let documentation = env::args_os()
        .nth(1)
        .ok_or("the path of rustdoc's JSON is missing")?;
    let listed = Builder::from_rustdoc_json(PathBuf::from(documentation))
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()?;
    io::stdout().write_all(listed.to_string().as_bytes())?;
    Ok(())
}
