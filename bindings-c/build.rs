//! Gives the shared library its soname, so that programs are linked to the ABI's version instead of a file name.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[expect(
        clippy::disallowed_methods,
        reason = "cargo passes the target to build scripts in environment variables"
    )]
    let target = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if target == "linux" {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libstackwright.so.0");
    }
}
