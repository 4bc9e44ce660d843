//! The Python SDK against a real engine, run by the interpreter in `STACKWRIGHT_TEST_PYTHON`, which `make test-rust`
//! sets. Skipped when it is not set.

use std::{
    ffi::OsString,
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    sync::Arc,
};

use stackwright::{
    ErrorKind,
    program::{LanguageRuntimeProgram, Program},
    property::PropertyValue,
};
use stackwright_testkit::wait::blocking;

use crate::fixture::{engine, stack, update};

/// The interpreter with its server; ends with the test.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(python: OsString) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/grpc/sdk_program.py");
        let mut process = Command::new(python)
            .arg(script)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = process.stdout.take().unwrap();
        let port = blocking("the port of the SDK", move || {
            let mut port = String::new();
            BufReader::new(output).read_line(&mut port).unwrap();
            port
        });
        Self {
            process,
            address: format!("127.0.0.1:{}", port.trim()),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

#[tokio::test(flavor = "multi_thread")]
#[expect(
    clippy::disallowed_methods,
    reason = "the build names the Python with the SDK"
)]
async fn programs_of_the_python_sdk_run_concurrently_and_fail_with_their_own_messages() {
    let Some(python) = std::env::var_os("STACKWRIGHT_TEST_PYTHON") else {
        return;
    };
    let server = Server::start(python);
    let program: Arc<dyn Program> = Arc::new(LanguageRuntimeProgram::new(&server.address));
    let engine = engine(&Arc::default());
    let dev = stack(&engine, "shop/dev", Arc::clone(&program)).await;
    let prod = stack(&engine, "shop/prod", Arc::clone(&program)).await;
    let (first, second) = tokio::join!(update(&dev), update(&prod));
    for (result, name) in [(first, "dev"), (second, "prod")] {
        assert!(result.error.is_none(), "{name}: {:?}", result.error);
        assert_eq!(
            result.changes.get("create"),
            Some(&22),
            "{name}: {:?}",
            result.changes
        );
        assert_eq!(result.outputs.get("last"), Some(&"id-r19".into()));
        assert!(matches!(
            result.outputs.get("hidden"),
            Some(PropertyValue::Secret(_))
        ));
        let messages: Vec<&str> = result
            .diagnostics
            .iter()
            .map(|diagnostic| diagnostic.message.library())
            .collect();
        assert_eq!(messages, ["twenty of them"], "{name}");
        let echoes = result
            .snapshot
            .resources
            .iter()
            .filter(|state| state.resource_type.package() == "echo");
        for state in echoes {
            assert_eq!(state.inputs.get("stack"), Some(&name.into()));
        }
    }
    let again = update(&dev).await;
    assert_eq!(again.changes.get("same"), Some(&22), "{:?}", again.changes);

    let failing = stack(&engine, "shop/failing", program).await;
    let error = update(&failing).await.error.unwrap();
    assert_eq!(error.kind(), ErrorKind::Program);
    assert!(
        error.message().starts_with("an unhandled error occurred: "),
        "{error}"
    );
    assert!(error.message().contains("out of luck"), "{error}");
}
