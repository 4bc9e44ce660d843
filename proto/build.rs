//! Compiles the `.proto` files of this crate into Rust messages, clients and servers.

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message as _;

/// The files to compile; what they import is found below the crate's folder.
const FILES: &[&str] = &[
    "google/protobuf/status.proto",
    "pulumi/alias.proto",
    "pulumi/analyzer.proto",
    "pulumi/callback.proto",
    "pulumi/codegen/hcl.proto",
    "pulumi/codegen/loader.proto",
    "pulumi/codegen/mapper.proto",
    "pulumi/engine.proto",
    "pulumi/errors.proto",
    "pulumi/events.proto",
    "pulumi/language.proto",
    "pulumi/plugin.proto",
    "pulumi/provider.proto",
    "pulumi/resource.proto",
    "pulumi/resource_status.proto",
    "pulumi/source.proto",
];

#[expect(
    clippy::disallowed_methods,
    reason = "the build learns its output folder from the environment"
)]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=google");
    println!("cargo::rerun-if-changed=pulumi");

    let descriptors = protox::compile(FILES, ["."])?;

    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;

    tonic_prost_build::configure()
        .build_client(true)
        .build_server(true)
        .btree_map(".")
        // Of our own: the generated ones are read with a recursion that ends at 33 levels.
        .extern_path(".google.protobuf.Struct", "crate::values::Struct")
        .extern_path(".google.protobuf.Value", "crate::values::Value")
        .extern_path(".google.protobuf.ListValue", "crate::values::ListValue")
        .include_file("modules.rs")
        .compile_fds(descriptors)?;
    Ok(())
}
