//! Gives the shared library its soname, so that programs record the ABI's version and not a file name.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[expect(
        clippy::disallowed_methods,
        reason = "cargo tells build scripts about the target through the environment"
    )]
    let target = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if target == "linux" {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libstackwright.so.0");
    }
}
