//! The committed header is what the sources say.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::path::Path;

#[test]
fn the_header_is_the_one_that_the_sources_give() {
    let crate_directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    let header = crate_directory.with_file_name("include").join("stackwright.h");
    let committed = std::fs::read_to_string(header).expect("the header is committed");
    let mut generated = Vec::new();
    cbindgen::generate(crate_directory)
        .expect("the sources are readable")
        .write(&mut generated);
    assert!(
        committed.as_bytes() == generated,
        "run `make generate` and commit include/stackwright.h"
    );
}
