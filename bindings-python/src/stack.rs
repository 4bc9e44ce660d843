//! A stack as Python holds it: operations to start, its state to read and replace.

use std::{collections::BTreeMap, sync::Arc};

use pyo3::{prelude::*, types::PyBytes};
use stackwright::{
    Language, binding,
    operation::{Adoption, AnalysisOptions, OperationKind, OperationOptions},
};

use stackwright_command::display::Title;

use crate::{
    completions::{Completions, PendingCompletion},
    convert,
    errors::{OrRaise as _, invalid},
    fleet::StackRun,
    function::HostContext,
    host::{add_packs, python_encryption},
    operation::{Operation, OperationOutcome, analysis_members},
    picture::{Graph, Picture},
    program::read_program,
    records,
    runtime::Runtime,
};

/// A stack; keeps the engine's threads alive.
#[pyclass(frozen, module = "stackwright._stackwright")]
pub(crate) struct Stack {
    stack: stackwright::Stack,
    runtime: Arc<Runtime>,
    /// Runs policies.
    host: HostContext,
}

impl Stack {
    pub(crate) fn create(
        py: Python<'_>,
        stack: stackwright::Stack,
        runtime: Arc<Runtime>,
        host: HostContext,
    ) -> PyResult<Py<PyAny>> {
        let stack = Self { stack, runtime, host };
        Ok(Bound::new(py, stack)?.into_any().unbind())
    }
}

/// The program, the result whose plan constrains the operation, and the packs of functions.
type Given<'a, 'py> = (
    Option<&'a Bound<'py, PyAny>>,
    Option<&'a Bound<'py, OperationOutcome>>,
    Option<&'a Bound<'py, PyAny>>,
);

impl Stack {
    /// Reads an operation on the stack.
    fn read_run(
        &self,
        py: Python<'_>,
        kind: &str,
        options: &[u8],
        subject: &str,
        (program, plan, policies): Given<'_, '_>,
    ) -> PyResult<StackRun> {
        let kind = match kind {
            "update" => OperationKind::Update,
            "refresh" => OperationKind::Refresh,
            "destroy" => OperationKind::Destroy,
            _ => return Err(invalid(py, format!("{kind:?} is not an operation"))),
        };
        let mut options = binding::read::<OperationOptions>(options, Language::Python, subject)
            .or_raise(py)?
            .with_binding_defaults();
        if let Some(plan) = plan {
            let kept = plan.get().plan();
            options.plan = Some(kept.ok_or_else(|| invalid(py, "the result has no plan"))?.into());
        }
        if let Some(policies) = policies {
            let OperationOptions {
                required_policies,
                local_policy_packs,
                ..
            } = &mut options;
            add_packs(policies, &self.host, required_policies, local_policy_packs)?;
        }
        let program = program
            .map(|program| read_program(program, &self.host))
            .transpose()?;
        let run = stackwright::fleet::StackRun {
            stack: self.stack.clone(),
            program,
            options,
            depends_on: Vec::new(),
        };
        Ok(StackRun { run, kind })
    }
}

#[pymethods]
impl Stack {
    #[getter]
    fn name(&self) -> String {
        self.stack.name().to_string()
    }

    /// Starts an operation. `kind` is `update`, `refresh` or `destroy`; `options` is JSON with names in the style of Python,
    /// and `subject` names the call in errors; `plan` is the result whose plan constrains the operation, and `policies`
    /// describes packs of functions.
    #[pyo3(signature = (kind, options, subject, program=None, plan=None, policies=None))]
    #[expect(clippy::too_many_arguments, reason = "called from one place")]
    fn start(
        &self,
        py: Python<'_>,
        kind: &str,
        options: &[u8],
        subject: &str,
        program: Option<&Bound<'_, PyAny>>,
        plan: Option<&Bound<'_, OperationOutcome>>,
        policies: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Operation> {
        let StackRun { kind, run } = self.read_run(py, kind, options, subject, (program, plan, policies))?;
        // Refuses a closed engine.
        self.runtime.handle(py)?;
        let show_secrets = run.options.show_secrets;
        let title = Title::new(kind, run.options.dry_run, self.stack.name());
        let operation = self.stack.start(kind, run.options, run.program);
        Ok(Operation::new(
            operation,
            Arc::clone(&self.runtime),
            show_secrets,
            title,
        ))
    }

    /// Returns the part of the stack in an operation on a set, which begins after the stacks of `depends_on`; the other arguments are
    /// those of `start`.
    #[pyo3(signature = (depends_on, kind, options, subject, program=None, plan=None, policies=None))]
    #[expect(clippy::too_many_arguments, reason = "called from one place")]
    fn in_set(
        &self,
        py: Python<'_>,
        depends_on: Vec<String>,
        kind: &str,
        options: &[u8],
        subject: &str,
        program: Option<&Bound<'_, PyAny>>,
        plan: Option<&Bound<'_, OperationOutcome>>,
        policies: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<StackRun> {
        let mut read = self.read_run(py, kind, options, subject, (program, plan, policies))?;
        read.run.depends_on = depends_on;
        Ok(read)
    }

    /// Starts an import of the resources of a request, with options, both JSON with names in the style of Python.
    fn import_resources(&self, py: Python<'_>, request: &[u8], options: &[u8]) -> PyResult<Operation> {
        const SUBJECT: &str = "import_resources()";
        let request = binding::import_request(request, Language::Python, SUBJECT).or_raise(py)?;
        let options = binding::read::<OperationOptions>(options, Language::Python, SUBJECT).or_raise(py)?;
        // Refuses a closed engine.
        self.runtime.handle(py)?;
        let show_secrets = options.show_secrets;
        let title = Title::new(OperationKind::Import, options.dry_run, self.stack.name());
        let operation = self.stack.import_resources(request, options);
        Ok(Operation::new(
            operation,
            Arc::clone(&self.runtime),
            show_secrets,
            title,
        ))
    }

    /// Analyzes the state with the packs of `options` and those of functions; `callback(dictionary, error)` gets the members
    /// of the analysis.
    fn analyze(
        &self,
        py: Python<'_>,
        options: &[u8],
        policies: Option<&Bound<'_, PyAny>>,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let mut options =
            binding::read::<AnalysisOptions>(options, Language::Python, "analyze()").or_raise(py)?;
        if let Some(policies) = policies {
            let AnalysisOptions {
                required_policies,
                local_policy_packs,
                ..
            } = &mut options;
            add_packs(policies, &self.host, required_policies, local_policy_packs)?;
        }
        let stack = self.stack.clone();
        let work = async move {
            let analysis = stack.analyze(&options).await?;
            Ok(binding::analysis_document(&analysis))
        };
        self.runtime.settle(
            py,
            work,
            PendingCompletion::new(completions, callback),
            |py, document| Ok(analysis_members(py, document)?.into_any().unbind()),
        )
    }

    /// Exports the state as a deployment document; `callback(bytes, error)` gets it.
    fn export(
        &self,
        py: Python<'_>,
        show_secrets: bool,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let stack = self.stack.clone();
        let work = async move { stack.export_deployment(show_secrets).await };
        self.runtime.settle(
            py,
            work,
            PendingCompletion::new(completions, callback),
            |py, bytes| Ok(PyBytes::new(py, &bytes).into_any().unbind()),
        )
    }

    /// Applies an edit to the state, JSON with names in the style of Python; `subject` names the call in errors,
    /// `encryption` has the functions of a new encryption of the host, and `callback(bytes, error)` gets the report as JSON.
    #[pyo3(signature = (edit, subject, encryption, completions, callback))]
    fn edit(
        &self,
        py: Python<'_>,
        edit: Vec<u8>,
        subject: String,
        encryption: Option<(Bound<'_, PyAny>, Bound<'_, PyAny>)>,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let stack = self.stack.clone();
        let secrets = encryption
            .map(|(encrypt, decrypt)| python_encryption(&encrypt, &decrypt, &self.host))
            .transpose()?
            .unwrap_or_default();
        let work = async move { binding::edit(&stack, &edit, secrets, Language::Python, &subject).await };
        self.runtime.settle(
            py,
            work,
            PendingCompletion::new(completions, callback),
            |py, bytes| Ok(PyBytes::new(py, &bytes).into_any().unbind()),
        )
    }

    /// Moves resources to another stack, as JSON with names in the style of Python; `subject` names the call in errors, and
    /// `callback(bytes, error)` gets the report as JSON.
    fn move_resources(
        &self,
        py: Python<'_>,
        destination: Bound<'_, Self>,
        edit: Vec<u8>,
        subject: String,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let (stack, destination) = (self.stack.clone(), destination.get().stack.clone());
        let work = async move {
            binding::move_resources(&stack, &destination, &edit, Language::Python, &subject).await
        };
        self.runtime.settle(
            py,
            work,
            PendingCompletion::new(completions, callback),
            |py, bytes| Ok(PyBytes::new(py, &bytes).into_any().unbind()),
        )
    }

    /// Reads the stack's outputs; `callback(outputs, error)` gets them.
    fn outputs(&self, py: Python<'_>, completions: &Completions, callback: Py<PyAny>) -> PyResult<()> {
        let stack = self.stack.clone();
        let work = async move { stack.outputs().await };
        self.runtime.settle(
            py,
            work,
            PendingCompletion::new(completions, callback),
            |py, outputs| Ok(convert::outputs(py, &outputs)?.into_any().unbind()),
        )
    }

    /// Reads a page of the history; `callback(list of JSON texts, error)` gets it.
    #[pyo3(signature = (limit, page, completions, callback))]
    fn history(
        &self,
        py: Python<'_>,
        limit: Option<usize>,
        page: usize,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let stack = self.stack.clone();
        let work = async move { stack.history_page(limit, page).await };
        self.runtime.settle(
            py,
            work,
            PendingCompletion::new(completions, callback),
            |py, entries| {
                let texts: Vec<String> = entries.iter().map(ToString::to_string).collect();
                Ok(texts.into_pyobject(py)?.into_any().unbind())
            },
        )
    }

    /// Reads the recorded resources; `callback(list of dictionaries, error)` gets their members.
    fn resources(&self, py: Python<'_>, completions: &Completions, callback: Py<PyAny>) -> PyResult<()> {
        let stack = self.stack.clone();
        let work = async move { stack.resources().await };
        self.runtime.settle(
            py,
            work,
            PendingCompletion::new(completions, callback),
            |py, found| records::list(py, found.iter().map(|record| records::record(py, record))),
        )
    }

    /// Reads the record of a URN; `callback(dictionary, error)` gets its members.
    fn resource(
        &self,
        py: Python<'_>,
        urn: String,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let stack = self.stack.clone();
        let work = async move { stack.resource(&urn).await };
        self.runtime.settle(
            py,
            work,
            PendingCompletion::new(completions, callback),
            |py, found| Ok(records::record(py, &found)?.into_any().unbind()),
        )
    }

    /// Reads the graph; `callback(graph, error)` gets it.
    fn graph(&self, py: Python<'_>, completions: &Completions, callback: Py<PyAny>) -> PyResult<()> {
        let stack = self.stack.clone();
        let title = stack.name().to_string();
        let work = async move { stack.graph().await };
        self.runtime.settle(
            py,
            work,
            PendingCompletion::new(completions, callback),
            |py, graph| Ok(Graph { title, graph }.into_pyobject(py)?.into_any().unbind()),
        )
    }

    /// Reads the resources to be drawn; `callback(picture, error)` gets them.
    fn picture(&self, py: Python<'_>, completions: &Completions, callback: Py<PyAny>) -> PyResult<()> {
        let stack = self.stack.clone();
        let work = async move { stack.picture().await };
        self.runtime.settle(
            py,
            work,
            PendingCompletion::new(completions, callback),
            |py, picture| Ok(Picture(picture).into_pyobject(py)?.into_any().unbind()),
        )
    }

    /// Reads the pending operations; `callback(list of dictionaries, error)` gets their members.
    fn pending(&self, py: Python<'_>, completions: &Completions, callback: Py<PyAny>) -> PyResult<()> {
        let stack = self.stack.clone();
        let work = async move { stack.pending().await };
        self.runtime.settle(
            py,
            work,
            PendingCompletion::new(completions, callback),
            |py, found| records::list(py, found.iter().map(|entry| records::pending(py, entry))),
        )
    }

    /// Starts the adoption of a pending operation's resource.
    fn adopt(
        &self,
        py: Python<'_>,
        pending: String,
        resource_id: Option<String>,
        replace: bool,
        options: &[u8],
    ) -> PyResult<Operation> {
        let options = binding::read::<OperationOptions>(options, Language::Python, "adopt_pending()")
            .or_raise(py)?
            .with_binding_defaults();
        // Refuses a closed engine.
        self.runtime.handle(py)?;
        let show_secrets = options.show_secrets;
        let adoption = Adoption {
            pending,
            resource_id,
            replace,
        };
        let title = Title::new(OperationKind::Adopt, options.dry_run, self.stack.name());
        let operation = self.stack.adopt_pending(adoption, options);
        Ok(Operation::new(
            operation,
            Arc::clone(&self.runtime),
            show_secrets,
            title,
        ))
    }

    /// Reads the resource of a pending operation; `callback(dictionary or None, error)` gets its members.
    fn read_pending(
        &self,
        py: Python<'_>,
        pending: String,
        resource_id: Option<String>,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let stack = self.stack.clone();
        let work = async move { stack.read_pending(&pending, resource_id.as_deref()).await };
        self.runtime.settle(
            py,
            work,
            PendingCompletion::new(completions, callback),
            |py, found| match found {
                Some(record) => Ok(records::record(py, &record)?.into_any().unbind()),
                None => Ok(py.None()),
            },
        )
    }

    /// Removes a pending operation; `callback(dictionary, error)` gets its members.
    #[pyo3(signature = (pending, dry_run, wait_for_lock, completions, callback))]
    fn forget_pending(
        &self,
        py: Python<'_>,
        pending: String,
        dry_run: bool,
        wait_for_lock: Option<f64>,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let stack = binding::waiting(&self.stack, wait_for_lock).or_raise(py)?;
        let work = async move { stack.forget_pending(&pending, dry_run).await };
        self.runtime.settle(
            py,
            work,
            PendingCompletion::new(completions, callback),
            |py, entry| Ok(records::pending(py, &entry)?.into_any().unbind()),
        )
    }

    /// Removes the locks of an owner; `callback(count, error)` gets the number of removed locks.
    fn break_lock(
        &self,
        py: Python<'_>,
        owner: String,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let stack = self.stack.clone();
        let work = async move { stack.break_lock(&owner).await };
        self.runtime.settle(
            py,
            work,
            PendingCompletion::new(completions, callback),
            |py, locks| Ok(locks.into_pyobject(py)?.into_any().unbind()),
        )
    }

    /// Reads the names of the stacks that the recorded references name; `callback(list of names, error)` gets them.
    fn referenced_stacks(
        &self,
        py: Python<'_>,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let stack = self.stack.clone();
        let work = async move { stackwright::fleet::referenced_stacks(&stack).await };
        self.runtime.settle(
            py,
            work,
            PendingCompletion::new(completions, callback),
            |py, names| {
                let names: Vec<String> = names.iter().map(ToString::to_string).collect();
                Ok(names.into_pyobject(py)?.into_any().unbind())
            },
        )
    }

    /// Removes every lock; `callback(count, error)` gets the number of removed locks.
    fn unlock(&self, py: Python<'_>, completions: &Completions, callback: Py<PyAny>) -> PyResult<()> {
        let stack = self.stack.clone();
        let work = async move { stack.unlock().await };
        self.runtime.settle(
            py,
            work,
            PendingCompletion::new(completions, callback),
            |py, locks| Ok(locks.into_pyobject(py)?.into_any().unbind()),
        )
    }

    #[getter]
    fn has_program(&self) -> bool {
        self.stack.has_program()
    }

    #[getter]
    fn organization(&self) -> &str {
        self.stack.organization()
    }

    #[getter]
    fn tags(&self) -> BTreeMap<String, String> {
        self.stack.tags().clone()
    }

    /// Reads the tags that are kept with the stack; `callback(tags, error)` gets them by name.
    fn list_tags(&self, py: Python<'_>, completions: &Completions, callback: Py<PyAny>) -> PyResult<()> {
        let stack = self.stack.clone();
        let work = async move { stack.list_tags().await };
        self.runtime.settle(
            py,
            work,
            PendingCompletion::new(completions, callback),
            |py, tags| Ok(tags.into_pyobject(py)?.into_any().unbind()),
        )
    }

    /// Sets a tag.
    fn set_tag(
        &self,
        py: Python<'_>,
        name: String,
        value: String,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let stack = self.stack.clone();
        let work = async move { stack.set_tag(&name, &value).await };
        self.runtime.settle(
            py,
            work,
            PendingCompletion::new(completions, callback),
            |py, ()| Ok(py.None()),
        )
    }

    /// Removes a tag; `callback(existed, error)`.
    fn remove_tag(
        &self,
        py: Python<'_>,
        name: String,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let stack = self.stack.clone();
        let work = async move { stack.remove_tag(&name).await };
        self.runtime.settle(
            py,
            work,
            PendingCompletion::new(completions, callback),
            |py, existed| Ok(existed.into_pyobject(py)?.to_owned().into_any().unbind()),
        )
    }

    /// Removes the stack.
    #[pyo3(signature = (force, wait_for_lock, completions, callback))]
    fn remove(
        &self,
        py: Python<'_>,
        force: bool,
        wait_for_lock: Option<f64>,
        completions: &Completions,
        callback: Py<PyAny>,
    ) -> PyResult<()> {
        let stack = binding::waiting(&self.stack, wait_for_lock).or_raise(py)?;
        let work = async move { stack.remove(force).await };
        self.runtime.settle(
            py,
            work,
            PendingCompletion::new(completions, callback),
            |py, ()| Ok(py.None()),
        )
    }
}
