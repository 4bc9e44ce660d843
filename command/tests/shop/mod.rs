//! A project whose commands tests run.

use std::{
    fs,
    sync::{Arc, Mutex},
};

use stackwright::program::Program;
use stackwright_command::{Command, Invocation};
use stackwright_testkit::wait::Within as _;

/// A folder with a project, a store and a stack.
pub(crate) struct Shop {
    folder: tempfile::TempDir,
    pub(crate) command: Command,
}

/// What an invocation has written, and its exit code.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Shop {
    /// Creates a folder with the stack `dev`.
    pub(crate) async fn new(command: Command) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("state")).unwrap();
        fs::write(folder.path().join("Pulumi.yaml"), "name: shop\nruntime: python\n").unwrap();
        let shop = Self { folder, command };
        assert_eq!(shop.run("stack init dev", None).await.code, 0);
        shop
    }

    /// Returns the path of a file in the folder.
    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    /// Returns an invocation, and what it writes to both outputs.
    pub(crate) fn invocation(
        &self,
        line: &str,
        program: Option<Arc<dyn Program>>,
    ) -> (Invocation, [Arc<Mutex<String>>; 2]) {
        let outputs: [Arc<Mutex<String>>; 2] = Default::default();
        let output = |written: &Arc<Mutex<String>>| -> stackwright_command::Output {
            let written = Arc::clone(written);
            Arc::new(move |text| written.lock().unwrap().push_str(text))
        };
        let environment = [
            (
                "PULUMI_BACKEND_URL".to_owned(),
                format!("file://{}", self.path("state").display()),
            ),
            ("PULUMI_HOME".to_owned(), self.path("home").display().to_string()),
            ("PULUMI_CONFIG_PASSPHRASE".to_owned(), "correct horse".to_owned()),
            ("PULUMI_DEBUG_COMMANDS".to_owned(), "true".to_owned()),
        ];
        let invocation = Invocation {
            environment: environment.into(),
            stdout: output(&outputs[0]),
            stderr: output(&outputs[1]),
            program,
            ..Invocation::new(line.split(' '), self.folder.path())
        };
        (invocation, outputs)
    }

    /// Runs a command to its end.
    pub(crate) async fn run(&self, line: &str, program: Option<Arc<dyn Program>>) -> Ended {
        let (invocation, [stdout, stderr]) = self.invocation(line, program);
        let code = self.command.run(invocation).within(line).await;
        let taken = |output: &Mutex<String>| output.lock().unwrap().clone();
        Ended {
            code,
            stdout: taken(&stdout),
            stderr: taken(&stderr),
        }
    }
}
