//! Tells the linker how a Node module is linked.

fn main() {
    napi_build::setup();
}
