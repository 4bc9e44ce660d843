//! Writes `include/stackwright.h` from this crate's sources.

use std::path::Path;

fn main() -> Result<(), cbindgen::Error> {
    let crate_directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    let header = crate_directory.with_file_name("include").join("stackwright.h");
    cbindgen::generate(crate_directory)?.write_to_file(header);
    Ok(())
}
