//! A project as Python holds it: its files to read and change.

use std::{path::PathBuf, sync::Arc};

use pyo3::{prelude::*, types::PyBytes};
use stackwright::{Error, config::ConfigValue, secrets::SecretsProvider};
use stackwright_project::{Project as Files, binding};

use crate::{
    completions::{Completions, PendingCompletion},
    config::read_value,
    errors::OrRaise as _,
    runtime::Runtime,
};

/// A project; keeps the engine's threads alive.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct Project {
    project: Files,
    runtime: Arc<Runtime>,
}

impl Project {
    /// Opens the project of a folder; `completion` gets it.
    pub(crate) fn open(
        py: Python<'_>,
        engine: stackwright::Engine,
        folder: PathBuf,
        runtime: Arc<Runtime>,
        completion: PendingCompletion,
    ) -> PyResult<()> {
        let handle = runtime.handle(py)?.clone();
        drop(handle.spawn(async move {
            let project = Files::open(&engine, folder).await;
            completion.settle(project, |py, project| {
                Ok(Bound::new(py, Self { project, runtime })?.into_any().unbind())
            });
        }));
        Ok(())
    }

    fn secrets(
        &self,
        py: Python<'_>,
        passphrase: Option<String>,
    ) -> PyResult<Option<Arc<dyn SecretsProvider>>> {
        binding::secrets_of(self.project.engine(), passphrase).or_raise(py)
    }
}

/// Returns the settings file of a stack as JSON, or `None` without such a file.
#[pyfunction]
pub(crate) fn settings_document(py: Python<'_>, folder: PathBuf, stack: &str) -> PyResult<Option<String>> {
    let read = py.detach(|| stackwright_project::settings_document(&folder, stack));
    read.or_raise(py)
}

/// Writes a document to the settings file of a stack.
#[pyfunction]
pub(crate) fn replace_settings(py: Python<'_>, folder: PathBuf, stack: &str, document: &str) -> PyResult<()> {
    let written = py.detach(|| stackwright_project::replace_settings(&folder, stack, document));
    written.or_raise(py)
}

/// Writes a document to the project file of a folder.
#[pyfunction]
pub(crate) fn replace_project(py: Python<'_>, folder: PathBuf, document: &str) -> PyResult<()> {
    let written = py.detach(|| stackwright_project::replace_project(&folder, document));
    written.or_raise(py)
}

fn bytes(py: Python<'_>, bytes: Vec<u8>) -> PyResult<Py<PyAny>> {
    Ok(PyBytes::new(py, &bytes).into_any().unbind())
}

#[pymethods]
impl Project {
    #[getter]
    fn folder(&self) -> PathBuf {
        self.project.folder().to_owned()
    }

    /// Reads the project file; `callback(JSON, error)` gets its content.
    fn facts(&self, py: Python<'_>, completions: &Completions, callback: Py<PyAny>) -> PyResult<()> {
        let project = self.project.clone();
        let work = async move { binding::project_document(&project).await };
        self.runtime
            .settle(py, work, PendingCompletion::new(completions, callback), bytes)
    }

    /// Sets the value at a path of the project file.
    fn set(
        &self,
        py: Python<'_>,
        path: String,
        value: &[u8],
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let value: serde_json::Value = serde_json::from_slice(value)
            .map_err(|error| Error::invalid(format!("the value is no JSON: {error}")))
            .or_raise(py)?;
        let project = self.project.clone();
        let work = async move { project.set(&path, &value).await };
        let completion = PendingCompletion::new(completions, callback);
        self.runtime.settle(py, work, completion, |py, ()| Ok(py.None()))
    }

    /// Removes the value at a path of the project file; `callback(existed, error)`.
    fn remove(
        &self,
        py: Python<'_>,
        path: String,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let project = self.project.clone();
        let work = async move { project.remove(&path).await };
        let completion = PendingCompletion::new(completions, callback);
        self.runtime.settle(py, work, completion, |py, existed| {
            Ok(existed.into_pyobject(py)?.to_owned().into_any().unbind())
        })
    }

    /// Reads the settings of a stack apart from its configuration; `callback(JSON, error)` gets them.
    fn settings(
        &self,
        py: Python<'_>,
        stack: String,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let project = self.project.clone();
        let work = async move { binding::stack_file_document(&project, &stack).await };
        self.runtime
            .settle(py, work, PendingCompletion::new(completions, callback), bytes)
    }

    /// Reads the value at a path of a stack's configuration; `callback(JSON, error)` gets it.
    fn get_config(
        &self,
        py: Python<'_>,
        stack: String,
        path: String,
        passphrase: Option<String>,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let (project, secrets) = (self.project.clone(), self.secrets(py, passphrase)?);
        let work = async move { binding::entry_document(&project.get_config(&stack, &path, secrets).await?) };
        self.runtime
            .settle(py, work, PendingCompletion::new(completions, callback), bytes)
    }

    /// Reads a stack's configuration; `callback(JSON, error)` gets it by key.
    fn list_config(
        &self,
        py: Python<'_>,
        stack: String,
        show_secrets: bool,
        passphrase: Option<String>,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let (project, secrets) = (self.project.clone(), self.secrets(py, passphrase)?);
        let work = async move {
            let entries = project.list_config(&stack, show_secrets, secrets).await?;
            binding::entries_document(&entries)
        };
        self.runtime
            .settle(py, work, PendingCompletion::new(completions, callback), bytes)
    }

    /// Sets values at paths of a stack's configuration.
    #[expect(clippy::too_many_arguments, reason = "called from one place")]
    fn set_config(
        &self,
        py: Python<'_>,
        stack: String,
        values: Vec<(String, Bound<'_, PyAny>)>,
        secret: Option<bool>,
        passphrase: Option<String>,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let values = values
            .into_iter()
            .map(|(path, value)| Ok((path.clone(), read_value(&path, &value)?)))
            .collect::<PyResult<Vec<(String, ConfigValue)>>>()?;
        let (project, secrets) = (self.project.clone(), self.secrets(py, passphrase)?);
        let work = async move { project.set_all_config(&stack, values, secret, secrets).await };
        let completion = PendingCompletion::new(completions, callback);
        self.runtime.settle(py, work, completion, |py, ()| Ok(py.None()))
    }

    /// Removes the values at paths of a stack's configuration; `callback(count, error)` gets how many there were.
    fn remove_config(
        &self,
        py: Python<'_>,
        stack: String,
        paths: Vec<String>,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let project = self.project.clone();
        let work = async move { project.remove_config(&stack, &paths).await };
        let completion = PendingCompletion::new(completions, callback);
        self.runtime.settle(py, work, completion, |py, removed| {
            Ok(removed.into_pyobject(py)?.into_any().unbind())
        })
    }
}
