//! A stack and its operations.

#![expect(clippy::use_self, reason = "the code that napi generates has no `Self`")]
#![expect(clippy::too_many_arguments, reason = "called from one place")]

use std::{collections::HashMap, sync::Arc};

use napi::Result;
use napi_derive::napi;
use stackwright::{
    Error, Language,
    binding::{self, HostSecrets},
    fleet::StackRun,
    operation::{Adoption, AnalysisOptions, OperationKind, OperationOptions},
    property::PropertyValue,
};

use stackwright_command::display::Title;

use crate::{
    bridge::{Shared, Values},
    errors,
    fleet::{Part, StackSet},
    host::JsHost,
    operation::Operation,
    picture::{Graph, Picture},
    policy::{PackEntry, attach},
    program::ProgramEntry,
};

/// A stack.
#[napi]
pub struct Stack {
    stack: stackwright::Stack,
    shared: Arc<Shared>,
}

impl Stack {
    /// Wraps an opened stack.
    pub(crate) const fn new(stack: stackwright::Stack, shared: Arc<Shared>) -> Self {
        Self { stack, shared }
    }

    /// Returns the stack, which waits for its lock as the option states.
    fn waiting(&self, wait_for_lock: Option<f64>) -> Result<stackwright::Stack> {
        binding::waiting(&self.stack, wait_for_lock).map_err(|error| errors::to_napi(&error))
    }

    /// Reads an operation on the stack.
    fn read_part(
        &self,
        kind: &str,
        options: &str,
        subject: &str,
        program: Option<ProgramEntry>,
        plan: Option<&Operation>,
        policies: Option<Vec<PackEntry>>,
    ) -> Result<Part> {
        // Taken first: the package releases a program when the taken object is dropped, also after an error.
        let program = program.map(|program| program.take(&self.shared));
        let kind = match kind {
            "update" => OperationKind::Update,
            "refresh" => OperationKind::Refresh,
            "destroy" => OperationKind::Destroy,
            _ => {
                let error = Error::invalid(format!("there is no operation {kind:?}"));
                return Err(errors::to_napi(&error));
            }
        };
        let mut options = binding::read::<OperationOptions>(options.as_bytes(), Language::Node, subject)
            .map_err(|error| errors::to_napi(&error))?
            .with_binding_defaults();
        if let Some(planned) = plan {
            let kept = planned
                .plan()
                .ok_or_else(|| errors::to_napi(&Error::invalid("the result has no plan")))?;
            options.plan = Some(kept.into());
        }
        let OperationOptions {
            required_policies,
            local_policy_packs,
            ..
        } = &mut options;
        attach(
            &self.shared,
            policies.unwrap_or_default(),
            required_policies,
            local_policy_packs,
        )
        .map_err(|error| errors::to_napi(&error))?;
        let run = StackRun {
            stack: self.stack.clone(),
            program,
            options,
            depends_on: Vec::new(),
        };
        Ok(Part { run, kind })
    }

    /// Returns what was read as the member `found`.
    fn found(&self, value: stackwright::Result<PropertyValue>) -> Result<Values> {
        let value = value.map_err(|error| errors::to_napi(&error))?;
        Ok(Values {
            values: [("found", value)].into_iter().collect(),
            shared: Arc::clone(&self.shared),
        })
    }
}

#[napi]
impl Stack {
    /// The name, as `project/stack`.
    #[napi(getter, catch_unwind)]
    pub fn name(&self) -> String {
        self.stack.name().to_string()
    }

    /// The organization that programs see.
    #[napi(getter, catch_unwind)]
    pub fn organization(&self) -> String {
        self.stack.organization().to_owned()
    }

    /// The host's tags of the stack, by name.
    #[napi(getter, catch_unwind)]
    pub fn tags(&self) -> HashMap<String, String> {
        let tags = self.stack.tags().iter();
        tags.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Starts an operation: `update`, `refresh` or `destroy`, with options as JSON and constrained by the plan of
    /// another one, with packs of functions; `subject` names the call in errors.
    #[napi(catch_unwind)]
    pub fn start(
        &self,
        kind: String,
        options: String,
        subject: String,
        program: Option<ProgramEntry>,
        plan: Option<&Operation>,
        policies: Option<Vec<PackEntry>>,
    ) -> Result<Operation> {
        let Part { run, kind } = self.read_part(&kind, &options, &subject, program, plan, policies)?;
        let show_secrets = run.options.show_secrets;
        let title = Title::new(kind, run.options.dry_run, self.stack.name());
        let operation = self.stack.start(kind, run.options, run.program);
        Ok(Operation::new(
            operation,
            show_secrets,
            title,
            Arc::clone(&self.shared),
        ))
    }

    /// Adds the stack to a set, in which it begins after the stacks of `depends_on`; the other arguments are those of `start`.
    #[napi(catch_unwind)]
    pub fn add_to(
        &self,
        set: &StackSet,
        depends_on: Vec<String>,
        kind: String,
        options: String,
        subject: String,
        program: Option<ProgramEntry>,
        plan: Option<&Operation>,
        policies: Option<Vec<PackEntry>>,
    ) -> Result<()> {
        let mut part = self.read_part(&kind, &options, &subject, program, plan, policies)?;
        part.run.depends_on = depends_on;
        set.add(part);
        Ok(())
    }

    /// Starts an import of the resources of a request, with options, both as JSON.
    #[napi(catch_unwind)]
    pub fn import_resources(&self, request: String, options: String) -> Result<Operation> {
        const SUBJECT: &str = "importResources()";
        let request = binding::import_request(request.as_bytes(), Language::Node, SUBJECT)
            .map_err(|error| errors::to_napi(&error))?;
        let options = binding::read::<OperationOptions>(options.as_bytes(), Language::Node, SUBJECT)
            .map_err(|error| errors::to_napi(&error))?;
        let show_secrets = options.show_secrets;
        let title = Title::new(OperationKind::Import, options.dry_run, self.stack.name());
        let operation = self.stack.import_resources(request, options);
        Ok(Operation::new(
            operation,
            show_secrets,
            title,
            Arc::clone(&self.shared),
        ))
    }

    /// Analyzes the state with the packs of the options and those of functions; returns the analysis as JSON.
    #[napi]
    pub async fn analyze(&self, options: String, policies: Vec<PackEntry>) -> Result<String> {
        let options = binding::read::<AnalysisOptions>(options.as_bytes(), Language::Node, "analyze()");
        let options = options.and_then(|mut options| {
            let AnalysisOptions {
                required_policies,
                local_policy_packs,
                ..
            } = &mut options;
            attach(&self.shared, policies, required_policies, local_policy_packs)?;
            Ok(options)
        });
        let options = options.map_err(|error| errors::to_napi(&error))?;
        let analysis = self.stack.analyze(&options).await;
        let analysis = analysis.map_err(|error| errors::to_napi(&error))?;
        Ok(binding::analysis_document(&analysis).to_string())
    }

    /// Returns the state as a deployment document.
    #[napi]
    pub async fn export(&self, show_secrets: bool) -> Result<String> {
        let document = self.stack.export_deployment(show_secrets).await;
        document
            .and_then(|text| {
                String::from_utf8(text).map_err(|_| Error::internal("the deployment document is not a text"))
            })
            .map_err(|error| errors::to_napi(&error))
    }

    /// Applies an edit to the state, as JSON, and returns its report as JSON; `subject` names the call in errors, and
    /// `secrets` is the package's number of a new encryption of the host.
    #[napi]
    pub async fn edit(&self, edit: String, subject: String, secrets: Option<u32>) -> Result<String> {
        let host = secrets.map(|number| JsHost::new(&self.shared, number));
        let functions = HostSecrets {
            values: host.clone().map(|host| host as _),
            keys: host.map(|host| host as _),
        };
        let report = binding::edit(&self.stack, edit.as_bytes(), functions, Language::Node, &subject).await;
        report
            .and_then(|text| {
                String::from_utf8(text).map_err(|_| Error::internal("the report of an edit is not a text"))
            })
            .map_err(|error| errors::to_napi(&error))
    }

    /// Moves resources to another stack, as JSON, and returns the report as JSON; `subject` names the call in errors.
    #[napi]
    pub async fn move_resources(&self, destination: &Stack, edit: String, subject: String) -> Result<String> {
        let destination = &destination.stack;
        let report = binding::move_resources(
            &self.stack,
            destination,
            edit.as_bytes(),
            Language::Node,
            &subject,
        );
        report
            .await
            .and_then(|text| {
                String::from_utf8(text).map_err(|_| Error::internal("the report of a move is not a text"))
            })
            .map_err(|error| errors::to_napi(&error))
    }

    /// Returns the stack's outputs.
    #[napi(ts_return_type = "Promise<Record<string, unknown>>")]
    pub async fn outputs(&self) -> Result<Values> {
        let outputs = self.stack.outputs().await;
        let values = binding::output_values(&outputs.map_err(|error| errors::to_napi(&error))?);
        let shared = Arc::clone(&self.shared);
        Ok(Values { values, shared })
    }

    /// Returns a page of the history as JSON, newest first.
    #[napi]
    pub async fn history(&self, limit: Option<u32>, page: u32) -> Result<String> {
        let limit = limit.map(|limit| limit as usize);
        let history = self.stack.history_page(limit, page as usize).await;
        let history = history.map_err(|error| errors::to_napi(&error))?;
        Ok(serde_json::Value::Array(history).to_string())
    }

    /// Returns the recorded resources, as the member `found`.
    #[napi(ts_return_type = "Promise<Record<string, unknown>>")]
    pub async fn resources(&self) -> Result<Values> {
        let records = self.stack.resources().await;
        let values = records.and_then(|records| {
            let values = records.iter().map(|record| binding::record_value(record));
            values.collect::<stackwright::Result<Vec<_>>>()
        });
        self.found(values.map(PropertyValue::array))
    }

    /// Returns the record of a URN, as the member `found`.
    #[napi(ts_return_type = "Promise<Record<string, unknown>>")]
    pub async fn resource(&self, urn: String) -> Result<Values> {
        let record = self.stack.resource(&urn).await;
        self.found(record.and_then(|record| binding::record_value(&record)))
    }

    /// Returns the recorded resources and their references.
    #[napi]
    pub async fn graph(&self) -> Result<Graph> {
        let graph = self.stack.graph().await;
        let graph = graph.map_err(|error| errors::to_napi(&error))?;
        let title = self.stack.name().to_string();
        Ok(Graph { title, graph })
    }

    /// Returns the recorded resources, to be drawn.
    #[napi]
    pub async fn picture(&self) -> Result<Picture> {
        let picture = self.stack.picture().await;
        picture.map(Picture).map_err(|error| errors::to_napi(&error))
    }

    /// Returns the pending operations, as the member `found`.
    #[napi(ts_return_type = "Promise<Record<string, unknown>>")]
    pub async fn pending(&self) -> Result<Values> {
        let entries = self.stack.pending().await;
        let values = entries.and_then(|entries| {
            let values = entries.iter().map(binding::pending_value);
            values.collect::<stackwright::Result<Vec<_>>>()
        });
        self.found(values.map(PropertyValue::array))
    }

    /// Starts the adoption of a pending operation's resource, with options as JSON.
    #[napi(catch_unwind)]
    pub fn adopt(
        &self,
        pending: String,
        resource_id: Option<String>,
        replace: bool,
        options: String,
    ) -> Result<Operation> {
        let options = binding::read::<OperationOptions>(options.as_bytes(), Language::Node, "adoptPending()")
            .map_err(|error| errors::to_napi(&error))?
            .with_binding_defaults();
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
            show_secrets,
            title,
            Arc::clone(&self.shared),
        ))
    }

    /// Reads the resource of a pending operation; the member `found` is null when it does not exist.
    #[napi(ts_return_type = "Promise<Record<string, unknown>>")]
    pub async fn read_pending(&self, pending: String, resource_id: Option<String>) -> Result<Values> {
        let record = self.stack.read_pending(&pending, resource_id.as_deref()).await;
        self.found(record.and_then(|record| match record {
            Some(record) => binding::record_value(&record),
            None => Ok(PropertyValue::Null),
        }))
    }

    /// Removes a pending operation, and returns it as the member `found`.
    #[napi(ts_return_type = "Promise<Record<string, unknown>>")]
    pub async fn forget_pending(
        &self,
        pending: String,
        dry_run: bool,
        wait_for_lock: Option<f64>,
    ) -> Result<Values> {
        let stack = self.waiting(wait_for_lock)?;
        let entry = stack.forget_pending(&pending, dry_run).await;
        self.found(entry.and_then(|entry| binding::pending_value(&entry)))
    }

    /// Removes every lock and returns how many there were.
    #[napi]
    pub async fn unlock(&self) -> Result<u32> {
        match self.stack.unlock().await {
            Ok(locks) => Ok(u32::try_from(locks).unwrap_or(u32::MAX)),
            Err(error) => Err(errors::to_napi(&error)),
        }
    }

    /// Removes the locks of an owner and returns how many there were.
    #[napi]
    pub async fn break_lock(&self, owner: String) -> Result<u32> {
        match self.stack.break_lock(&owner).await {
            Ok(locks) => Ok(u32::try_from(locks).unwrap_or(u32::MAX)),
            Err(error) => Err(errors::to_napi(&error)),
        }
    }

    /// Returns the tags that are kept with the stack, by name.
    #[napi]
    pub async fn list_tags(&self) -> Result<HashMap<String, String>> {
        match self.stack.list_tags().await {
            Ok(tags) => Ok(tags.into_iter().collect()),
            Err(error) => Err(errors::to_napi(&error)),
        }
    }

    /// Sets a tag.
    #[napi]
    pub async fn set_tag(&self, name: String, value: String) -> Result<()> {
        let set = self.stack.set_tag(&name, &value).await;
        set.map_err(|error| errors::to_napi(&error))
    }

    /// Removes a tag; returns whether there was one.
    #[napi]
    pub async fn remove_tag(&self, name: String) -> Result<bool> {
        let removed = self.stack.remove_tag(&name).await;
        removed.map_err(|error| errors::to_napi(&error))
    }

    /// Removes the stack.
    #[napi]
    pub async fn remove(&self, force: bool, wait_for_lock: Option<f64>) -> Result<()> {
        let stack = self.waiting(wait_for_lock)?;
        let removed = stack.remove(force).await;
        removed.map_err(|error| errors::to_napi(&error))
    }
}
