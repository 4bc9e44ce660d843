//! `up`, `preview`, `refresh`, `destroy` and `import`.

mod display;
mod facts;
mod import;
mod import_file;
mod options;
mod question;
mod run;
mod settings;

use std::{fs, sync::Arc};

use stackwright::{
    StackSettings,
    event::EventLog,
    operation::{OperationOptions, OperationResult, Unprotected},
    plan::GivenPlan,
    program::{LanguageRuntimeProgram, Program},
    runtime::Runtime,
};
use tokio::runtime::Handle;

use facts::Facts;
use import_file::ImportFile;
use run::{Runner, Work};

use crate::{
    arguments::{
        Confirmation, DestroyArguments, GivenFlag, ImportArguments, OperationArguments, PreviewArguments,
        ProgramArguments, RefreshArguments, UpdateArguments,
    },
    failure::{Failure, Result},
    session::Session,
    text,
};

/// The variable that makes the event log available.
const DEBUG_COMMANDS: &str = "PULUMI_DEBUG_COMMANDS";
/// The variables in the place of `--run-program` and `--continue-on-error`.
const RUN_PROGRAM: &str = "PULUMI_RUN_PROGRAM";
const CONTINUE_ON_ERROR: &str = "PULUMI_CONTINUE_ON_ERROR";

/// How a command runs its operation: only as a preview, or after one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Preview,
    PreviewFirst,
    /// A question follows the preview.
    Ask,
    Run,
}

impl Mode {
    fn of(
        session: &Session<'_>,
        operation: &OperationArguments,
        Confirmation { yes, skip_preview }: Confirmation,
        preview_only: bool,
    ) -> Result<Self> {
        let can_ask = session.ask().is_some() && !operation.display.is_document();
        match (preview_only, skip_preview, session.invocation.is_confirmed(yes)) {
            (true, ..) => Ok(Self::Preview),
            (false, true, _) => Ok(Self::Run),
            (false, false, true) => Ok(Self::PreviewFirst),
            (false, false, false) if can_ask => Ok(Self::Ask),
            (false, false, false) => Err(Failure::unconfirmed(
                "--yes or --skip-preview or --preview-only must be passed in to proceed when running in non-interactive mode",
            )),
        }
    }
}

/// Shows what an update would do.
pub(crate) async fn preview(
    session: &Session<'_>,
    arguments: &PreviewArguments,
    flags: &[GivenFlag],
) -> Result {
    let options = program_options(session, &arguments.operation, &arguments.program)?;
    let options = OperationOptions {
        generate_plan: arguments.save_plan.is_some().then_some(true),
        ..options::select(options, &arguments.selection)
    };
    if arguments.operation.display.show_secrets && arguments.save_plan.is_some() {
        return Err(Failure::new(
            "--show-secrets is not supported with --save-plan: secrets in plans are always encrypted",
        ));
    }
    let facts = facts::of_update(session, &arguments.operation, flags, false);
    let mut runner = runner(session, &arguments.operation, facts, true).await?;
    runner.import_file = arguments.import_file.is_some().then(ImportFile::default);
    let ended = run(session, &mut runner, &Work::Update, options, Mode::Preview).await;
    let collected = runner.import_file.take();
    runner.close_log().await;
    let result = ended?;
    if let (Some(file), Some(collected)) = (&arguments.import_file, collected) {
        collected.write(session.invocation, file)?;
    }
    if let Some(file) = &arguments.save_plan {
        let plan = result
            .plan
            .as_ref()
            .and_then(|plan| plan.document())
            .unwrap_or("{}");
        let path = session.invocation.path(file);
        fs::write(&path, format!("{}\n", plan.trim_end()))
            .map_err(|error| Failure::new(format!("open {file}: {}", text::reason(&error))))?;
        session
            .invocation
            .note(format!("Update plan written to '{file}'"));
        session.invocation.note(format!(
            "Run `pulumi up --plan='{file}'` to constrain the update to the operations planned by this preview"
        ));
    }
    unchanged(arguments.program.expect_no_changes, &result, "preview")
}

/// Creates or updates the resources of the stack.
pub(crate) async fn up(session: &Session<'_>, arguments: &UpdateArguments, flags: &[GivenFlag]) -> Result {
    let mode = Mode::of(session, &arguments.operation, arguments.confirmation, false)?;
    let options = program_options(session, &arguments.operation, &arguments.program)?;
    let plan = arguments.plan.as_deref().map(|file| read_plan(session, file));
    settings::check_secrets_provider(session, arguments.secrets_provider.as_deref())?;
    let mut options = OperationOptions {
        plan: plan.transpose()?,
        continue_on_error: continues_on_error(session, arguments.continue_on_error, flags),
        ..options::select(options, &arguments.selection)
    };
    options.targets.extend(arguments.target_replace.iter().cloned());
    options
        .replace_targets
        .extend(arguments.target_replace.iter().cloned());
    let facts = facts::of_update(session, &arguments.operation, flags, options.plan.is_some());
    let mut runner = runner(session, &arguments.operation, facts, true).await?;
    let ended = run(session, &mut runner, &Work::Update, options, mode).await;
    runner.close_log().await;
    unchanged(arguments.program.expect_no_changes, &*ended?, "update")
}

/// Reads the resources of the stack.
pub(crate) async fn refresh(
    session: &Session<'_>,
    arguments: &RefreshArguments,
    flags: &[GivenFlag],
) -> Result {
    let mode = Mode::of(
        session,
        &arguments.operation,
        arguments.confirmation,
        arguments.preview_only,
    )?;
    if arguments.skip_pending_creates && arguments.clear_pending_creates {
        return Err(Failure::new(
            "cannot set both --skip-pending-creates and --clear-pending-creates",
        ));
    }
    let runs_program = runs_program(session, arguments.run_program);
    let options = options::common(session.invocation, &arguments.operation)?;
    let options = OperationOptions {
        refresh_program: runs_program,
        clear_pending_creates: arguments.clear_pending_creates,
        import_pending_creates: options::pending_creates(&arguments.import_pending_creates)?,
        ..options::select(options, &arguments.selection)
    };
    let facts = facts::of_operation(session, &arguments.operation, flags, false);
    let mut runner = runner(session, &arguments.operation, facts, runs_program).await?;
    let ended = run(session, &mut runner, &Work::Refresh, options, mode).await;
    runner.close_log().await;
    unchanged(arguments.expect_no_changes, &*ended?, "update")
}

/// Deletes the resources of the stack.
pub(crate) async fn destroy(
    session: &Session<'_>,
    arguments: &DestroyArguments,
    flags: &[GivenFlag],
) -> Result {
    let mode = Mode::of(
        session,
        &arguments.operation,
        arguments.confirmation,
        arguments.preview_only,
    )?;
    let runs_program = runs_program(session, arguments.run_program);
    let options = options::common(session.invocation, &arguments.operation)?;
    let mut options = OperationOptions {
        refresh: arguments.refresh,
        refresh_program: runs_program,
        destroy_program: runs_program,
        continue_on_error: continues_on_error(session, arguments.continue_on_error, flags),
        ..options::select(options, &arguments.selection)
    };
    let facts = facts::of_operation(session, &arguments.operation, flags, false);
    let mut runner = runner(session, &arguments.operation, facts, runs_program).await?;
    if arguments.exclude_protected {
        if !options.targets.is_empty() {
            return Err(Failure::new(
                "You cannot specify --target and --exclude-protected",
            ));
        }
        if !options.excludes.is_empty() {
            return Err(Failure::new(
                "You cannot specify --exclude and --exclude-protected",
            ));
        }
        // The operation decides again, under the lock. A document is that of an operation with nothing to do.
        if !arguments.operation.display.is_document()
            && let Unprotected::None(count) = Unprotected::of(&runner.stack.snapshot().await?)
        {
            runner.close_log().await;
            session.invocation.print(format!(
                "There were no unprotected resources to destroy. There are still {count} protected resources associated \
                 with this stack."
            ));
            return Ok(());
        }
        options.exclude_protected = true;
    }
    let ended = run(session, &mut runner, &Work::Destroy, options, mode).await;
    runner.close_log().await;
    let result = ended?;
    if arguments.remove && mode != Mode::Preview {
        return settings::remove_stack(session, &arguments.operation, &runner).await;
    }
    if mode != Mode::Preview
        && !arguments.operation.display.is_document()
        && result.snapshot.resources.is_empty()
    {
        session.invocation.print(format!(
            "The resources in the stack have been deleted, but the history and configuration associated with the stack are \
             still maintained. \nIf you want to remove the stack completely, run `pulumi stack rm {}`.",
            runner.shown
        ));
    }
    Ok(())
}

/// Imports existing resources.
pub(crate) async fn import(
    session: &Session<'_>,
    arguments: &ImportArguments,
    flags: &[GivenFlag],
) -> Result {
    let request = import::request(session.invocation, arguments)?;
    let mode = Mode::of(
        session,
        &arguments.operation,
        Confirmation {
            yes: arguments.yes,
            skip_preview: arguments.skip_preview,
        },
        arguments.preview_only,
    )?;
    let options = options::common(session.invocation, &arguments.operation)?;
    let facts = facts::of_operation(session, &arguments.operation, flags, false);
    let mut runner = runner(session, &arguments.operation, facts, false).await?;
    let ended = run(session, &mut runner, &Work::Import(request), options, mode).await;
    runner.close_log().await;
    // Of an import that fails, some resources can be imported.
    let written = match &runner.last {
        Some(result) => import::write_code(session, arguments, result),
        None => Ok(()),
    };
    ended?;
    written
}

/// Returns whether a refresh or a destroy runs the program: the flag, else the variable of the environment.
fn runs_program(session: &Session<'_>, flag: Option<bool>) -> bool {
    flag.unwrap_or_else(|| session.invocation.is_enabled(RUN_PROGRAM))
}

/// Returns whether the steps after a failed one go on: the flag, else the variable of the environment.
fn continues_on_error(session: &Session<'_>, flag: bool, flags: &[GivenFlag]) -> bool {
    let is_given = flags.iter().any(|given| given.name == "continue-on-error");
    flag || (!is_given && session.invocation.is_enabled(CONTINUE_ON_ERROR))
}

/// Returns the options of operations that run the program.
fn program_options(
    session: &Session<'_>,
    operation: &OperationArguments,
    program: &ProgramArguments,
) -> Result<OperationOptions> {
    let (folders, files) = (&program.policy_pack, &program.policy_pack_config);
    Ok(OperationOptions {
        replace_targets: program.replace.clone(),
        refresh: program.refresh,
        refresh_program: runs_program(session, program.run_program),
        local_policy_packs: options::policy_packs(session.invocation, folders, files)?,
        ..options::common(session.invocation, operation)?
    })
}

/// Refuses flags of what this engine does not have.
fn refuse_unsupported(arguments: &OperationArguments) -> Result {
    if arguments.attach_debugger.is_some() {
        return Err(Failure::new(
            "--attach-debugger is not supported: start an inline program in the debugger of its language",
        ));
    }
    if arguments.neo {
        return Err(Failure::new(
            "--neo is not supported: this engine works with no assistant of a service",
        ));
    }
    match arguments.override_env.is_empty() {
        true => Ok(()),
        false => Err(Failure::no_environments()),
    }
}

/// Opens the stack, its program and the event log.
async fn runner<'a>(
    session: &'a Session<'_>,
    arguments: &'a OperationArguments,
    facts: Facts,
    needs_program: bool,
) -> Result<Runner<'a>> {
    let invocation = session.invocation;
    if arguments.event_log.is_some() && !invocation.is_enabled(DEBUG_COMMANDS) {
        return Err(Failure::new("unknown flag: --event-log"));
    }
    refuse_unsupported(arguments)?;
    if arguments.display.is_ambiguous() {
        return Err(Failure::new(
            "if any flags in the group [json output] are set none of the others can be; [json output] were all set",
        ));
    }
    let named = session.new_or_selected(arguments.stack.stack.as_deref())?;
    let project = match session.project_of(&named) {
        Some(project) => project,
        None => session.project()?,
    };
    let project = match &arguments.config_file {
        Some(file) => project.with_config_file(invocation.path(file)),
        None => project.clone(),
    };
    settings::prepare(session, &project, &named, arguments).await?;
    let file = project.file().await?;
    let program = match (&arguments.client, &invocation.program) {
        _ if !needs_program => None,
        (Some(_), Some(program)) => Some(Arc::clone(program)),
        (Some(address), None) => Some(Arc::new(LanguageRuntimeProgram::inline(address)) as Arc<dyn Program>),
        (None, _) => Some(project.program(Some(invocation.process_environment())).await?),
    };
    // The folder of an inline program is that of the process which runs it.
    let settings = StackSettings {
        root_directory: Some(
            file.main
                .map_or_else(|| project.folder().to_owned(), |main| project.folder().join(main)),
        ),
        program: program.clone(),
        environment: facts.environment,
        ..StackSettings::default()
    };
    let unconfigured = "getting stack configuration: ";
    session
        .require_key(&named.name)
        .await
        .map_err(|failure| failure.after("get stack secrets manager: ").after(unconfigured))?;
    let stack = session.configured_stack(&project, &named, settings).await;
    let stack = stack.map_err(|failure| match failure.is_no_stack() {
        true => failure,
        false => failure.after(unconfigured),
    })?;
    let log = match (&arguments.event_log, &invocation.events) {
        (Some(_), Some(listener)) => Some(EventLog::to_listener(Arc::clone(listener))),
        (Some(place), None) => {
            let runtime = Runtime::system(Handle::current());
            EventLog::open(place, &invocation.directory, &runtime)
        }
        (None, _) => None,
    };
    Ok(Runner {
        invocation,
        stack,
        shown: named.name.stack().to_owned(),
        running: Arc::clone(&session.running),
        place: session.place(&named.name),
        display: &arguments.display,
        paint: invocation.paint(session.color.as_deref()),
        is_live: !session.is_non_interactive,
        clock: Arc::clone(&session.engine.runtime().clock),
        json: None,
        program,
        log,
        import_file: None,
        title: facts.title,
        last: None,
    })
}

/// Runs an operation, or its preview, or one after the other.
async fn run(
    session: &Session<'_>,
    runner: &mut Runner<'_>,
    work: &Work,
    options: OperationOptions,
    mode: Mode,
) -> Result<Arc<OperationResult>> {
    if mode != Mode::Run {
        let previewed = runner.run(work, options.clone().preview()).await?;
        if mode == Mode::Preview {
            return Ok(previewed);
        }
        if mode == Mode::Ask
            && let Some(ask) = session.ask()
        {
            question::ask(runner, ask, work.kind(), &previewed).await?;
        }
    }
    runner.run(work, options).await
}

fn read_plan(session: &Session<'_>, file: &str) -> Result<GivenPlan> {
    let text = fs::read(session.invocation.path(file));
    let text = text.map_err(|error| Failure::new(format!("open {file}: {}", text::reason(&error))))?;
    serde_json::from_slice(&text).map_err(|error| Failure::new(format!("{file}: {error}")))
}

/// Fails when resources were changed, or would be, and were not to.
fn unchanged(expected: bool, result: &OperationResult, noun: &str) -> Result {
    match expected && result.has_resource_changes() {
        true => Err(Failure::changes(noun)),
        false => Ok(()),
    }
}
