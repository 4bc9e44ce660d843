//! The arguments of operations.

use clap::Args;

use super::StackOption;

/// The flags that every operation has.
#[derive(Args, Debug)]
pub(crate) struct OperationArguments {
    #[command(flatten)]
    pub(crate) stack: StackOption,
    #[command(flatten)]
    pub(crate) display: Display,
    /// The settings file of the stack.
    #[arg(long)]
    pub(crate) config_file: Option<String>,
    /// A value of the configuration, as `KEY=VALUE`, which is written into the settings file first.
    #[arg(long, short)]
    pub(crate) config: Vec<String>,
    /// The keys of these values are paths.
    #[arg(long)]
    pub(crate) config_path: bool,
    /// How many calls of providers run at a time.
    #[arg(long, short)]
    pub(crate) parallel: Option<i32>,
    /// A note for the history.
    #[arg(long, short)]
    pub(crate) message: Option<String>,
    /// The address of a language runtime that runs the program.
    #[arg(long)]
    pub(crate) client: Option<String>,
    /// What runs the command, for the history.
    #[arg(long)]
    pub(crate) exec_kind: Option<String>,
    /// What runs the command, for the history.
    #[arg(long)]
    pub(crate) exec_agent: Option<String>,
    /// Waits for a debugger; not supported.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "program")]
    pub(crate) attach_debugger: Option<String>,
    /// A file, or an address `tcp://host:port`, that receives the events.
    #[arg(long)]
    pub(crate) event_log: Option<String>,
    /// Installs no plugins before the operation, as is always done: one is installed when it is needed.
    #[arg(long)]
    pub(crate) skip_plugin_pre_install: bool,
    /// Asks an assistant of the service; not supported.
    #[arg(long, hide = true, visible_alias = "copilot")]
    pub(crate) neo: bool,
    /// Replaces an imported environment; not supported.
    #[arg(long, hide = true)]
    pub(crate) override_env: Vec<String>,
}

/// The flags of what an operation shows.
#[derive(Args, Debug)]
pub(crate) struct Display {
    /// Writes the events as JSON, one a line.
    #[arg(long, short)]
    pub(crate) json: bool,
    /// The form: `default`, or `json` for the outcome as one line of JSON.
    #[arg(long, value_parser = ["default", "json"])]
    output: Option<String>,
    /// Shows the changes of properties.
    #[arg(long)]
    pub(crate) diff: bool,
    /// Writes the resources, with what happens to them, as an HTML page into this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<String>,
    /// Shows messages for debugging.
    #[arg(long, short)]
    pub(crate) debug: bool,
    /// Shows no outputs of the stack.
    #[arg(long)]
    pub(crate) suppress_outputs: bool,
    /// Shows no signs of progress.
    #[arg(long)]
    pub(crate) suppress_progress: bool,
    /// Shows each rewriting of inputs by a policy.
    #[arg(long)]
    pub(crate) show_policy_remediations: bool,
    /// Shows resources that stay as they are.
    #[arg(long)]
    pub(crate) show_sames: bool,
    /// Shows reads of resources, as is always done.
    #[arg(long)]
    pub(crate) show_reads: bool,
    /// Lists the halves of replacements in the document of a preview. Lines always show them.
    #[arg(long)]
    pub(crate) show_replacement_steps: bool,
    /// Shows the configuration.
    #[arg(long)]
    pub(crate) show_config: bool,
    /// Shows secrets to readers; documents never have them.
    #[arg(long)]
    pub(crate) show_secrets: bool,
    /// Shows no link to the operation. There is none.
    #[arg(long)]
    pub(crate) suppress_permalink: bool,
    /// Shows the URNs of resources in place of their names.
    #[arg(long)]
    pub(crate) urns: bool,
}

impl Display {
    /// Returns whether the outcome is shown as JSON.
    pub(crate) fn is_outcome(&self) -> bool {
        self.output.as_deref() == Some("json")
    }

    /// Returns whether the output is for programs, so that nothing else is written to it.
    pub(crate) fn is_document(&self) -> bool {
        self.json || self.is_outcome()
    }

    /// Returns whether two forms are requested.
    pub(crate) fn is_ambiguous(&self) -> bool {
        self.json && self.output.is_some()
    }
}

/// The flags that limit an operation to some resources.
#[derive(Args, Debug, Default)]
pub(crate) struct Selection {
    /// The URN of a resource that the operation works on.
    #[arg(long, short)]
    pub(crate) target: Vec<String>,
    /// Includes what depends on targets.
    #[arg(long)]
    pub(crate) target_dependents: bool,
    /// The URN of a resource that the operation leaves as it is.
    #[arg(long)]
    pub(crate) exclude: Vec<String>,
    /// Leaves what depends on excluded resources as it is.
    #[arg(long)]
    pub(crate) exclude_dependents: bool,
}

/// The flags of operations with a preview before them.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Confirmation {
    /// Asks nothing.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Runs no preview, and asks nothing.
    #[arg(long, short = 'f')]
    pub(crate) skip_preview: bool,
}

/// The flags of previews and updates.
#[derive(Args, Debug)]
pub(crate) struct ProgramArguments {
    /// The URN of a resource that is replaced.
    #[arg(long)]
    pub(crate) replace: Vec<String>,
    /// Fails when something changes.
    #[arg(long)]
    pub(crate) expect_no_changes: bool,
    /// Reads every resource first.
    #[arg(long, short, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) refresh: Option<bool>,
    /// Runs the program for the refresh, too.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) run_program: Option<bool>,
    /// The folder of a policy pack.
    #[arg(long)]
    pub(crate) policy_pack: Vec<String>,
    /// The settings of a policy pack, in the order of the packs.
    #[arg(long)]
    pub(crate) policy_pack_config: Vec<String>,
}

/// The arguments of `preview`.
#[derive(Args, Debug)]
pub(crate) struct PreviewArguments {
    #[command(flatten)]
    pub(crate) operation: OperationArguments,
    #[command(flatten)]
    pub(crate) selection: Selection,
    #[command(flatten)]
    pub(crate) program: ProgramArguments,
    /// The file of the plan.
    #[arg(long)]
    pub(crate) save_plan: Option<String>,
    /// The file of a request that imports what would be created.
    #[arg(long)]
    pub(crate) import_file: Option<String>,
}

/// The arguments of `up`.
#[derive(Args, Debug)]
pub(crate) struct UpdateArguments {
    #[command(flatten)]
    pub(crate) operation: OperationArguments,
    #[command(flatten)]
    pub(crate) confirmation: Confirmation,
    #[command(flatten)]
    pub(crate) selection: Selection,
    #[command(flatten)]
    pub(crate) program: ProgramArguments,
    /// The file of the plan that constrains the update.
    #[arg(long)]
    pub(crate) plan: Option<String>,
    /// The URN of a resource that is a target, and is replaced.
    #[arg(long)]
    pub(crate) target_replace: Vec<String>,
    /// What encrypts the secrets of a new stack: `default` or `passphrase`.
    #[arg(long)]
    pub(crate) secrets_provider: Option<String>,
    /// Continues after errors.
    #[arg(long)]
    pub(crate) continue_on_error: bool,
}

/// The arguments of `refresh`.
#[derive(Args, Debug)]
pub(crate) struct RefreshArguments {
    #[command(flatten)]
    pub(crate) operation: OperationArguments,
    #[command(flatten)]
    pub(crate) confirmation: Confirmation,
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Only shows what the refresh would do.
    #[arg(long)]
    pub(crate) preview_only: bool,
    /// Fails when something changes.
    #[arg(long)]
    pub(crate) expect_no_changes: bool,
    /// Runs the program.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) run_program: Option<bool>,
    /// Drops interrupted creations.
    #[arg(long)]
    pub(crate) clear_pending_creates: bool,
    /// Keeps interrupted creations, as is done without the flag.
    #[arg(long)]
    pub(crate) skip_pending_creates: bool,
    /// Pairs of the URN of an interrupted creation and an id.
    #[arg(long)]
    pub(crate) import_pending_creates: Vec<String>,
    /// Does not check the configuration against its declarations. A refresh checks none.
    #[arg(long, hide = true)]
    skip_config_validation: bool,
}

/// The arguments of `destroy`.
#[derive(Args, Debug)]
pub(crate) struct DestroyArguments {
    #[command(flatten)]
    pub(crate) operation: OperationArguments,
    #[command(flatten)]
    pub(crate) confirmation: Confirmation,
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Only shows what the destroy would do.
    #[arg(long)]
    pub(crate) preview_only: bool,
    /// Leaves protected resources as they are.
    #[arg(long)]
    pub(crate) exclude_protected: bool,
    /// Removes the stack and its settings file, once all resources are deleted.
    #[arg(long)]
    pub(crate) remove: bool,
    /// Reads every resource first.
    #[arg(long, short, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) refresh: Option<bool>,
    /// Runs the program.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) run_program: Option<bool>,
    /// Continues after errors.
    #[arg(long)]
    pub(crate) continue_on_error: bool,
}

/// The arguments of `import`.
#[derive(Args, Debug)]
pub(crate) struct ImportArguments {
    /// The type, the name and the id of one resource.
    pub(crate) resource: Vec<String>,
    #[command(flatten)]
    pub(crate) operation: OperationArguments,
    /// Asks nothing.
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Runs no preview, and asks nothing.
    #[arg(long)]
    pub(crate) skip_preview: bool,
    /// Only shows what the import would do.
    #[arg(long)]
    pub(crate) preview_only: bool,
    /// The import file.
    #[arg(long, short)]
    pub(crate) file: Option<String>,
    /// The parent of the one resource: its URN, or a name for it in generated code and its URN, as `NAME=URN`.
    #[arg(long)]
    pub(crate) parent: Option<String>,
    /// The provider of the one resource, likewise.
    #[arg(long)]
    pub(crate) provider: Option<String>,
    /// The names of the inputs of the one resource that are kept.
    #[arg(long, value_delimiter = ',')]
    pub(crate) properties: Vec<String>,
    /// The tool from whose state resources are converted.
    #[arg(long)]
    pub(crate) from: Option<String>,
    /// The file of what a conversion finds.
    #[arg(long, hide = true)]
    pub(crate) generate_resources: Option<String>,
    /// The file of the generated code.
    #[arg(long, short)]
    pub(crate) out: Option<String>,
    /// Protects the imported resources.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) protect: Option<bool>,
    /// Generates code.
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) generate_code: Option<bool>,
}
