//! Generates the types of the Python and TypeScript bindings, and the lists of options in the C header, from the
//! engine's schemas. `make generate` runs it in the root of the repository.

mod c;
mod event;
mod python;
mod shape;
mod text;
mod typescript;

use std::{error::Error, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let (shapes, choices) = (shape::shapes(), shape::choices());
    let package = Path::new("bindings-python/python/stackwright");
    fs::write(package.join("options.py"), python::options(&shapes))?;
    fs::write(
        package.join("resource_options.py"),
        python::resource_options(&shapes),
    )?;
    fs::write(package.join("_results.py"), python::results(&shapes, &choices))?;
    fs::write(package.join("events.py"), event::python::module(&shapes))?;
    let package = Path::new("bindings-node/lib");
    fs::write(
        package.join("documents.ts"),
        typescript::module(&shapes, &choices),
    )?;
    fs::write(package.join("event.ts"), event::typescript::module(&shapes))?;
    let header = Path::new("include/stackwright.h");
    fs::write(
        header,
        c::finished(&fs::read_to_string(header)?, &shapes, &choices)?,
    )?;
    Ok(())
}
