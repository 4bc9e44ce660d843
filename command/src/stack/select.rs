//! Creating and selecting stacks.

use std::sync::Arc;

use serde::Serialize;
use stackwright::{
    ErrorKind, StackSettings,
    secrets::{
        SecretsProvider,
        kind::{KEY_SERVICES, is_passphrase},
    },
};
use stackwright_project::Project;

use crate::{
    arguments::StackInit,
    failure::{Failure, Result},
    printer::Printer,
    secrets::PreparedSecrets,
    session::{NamedStack, Session},
};

/// The document of `stack init` and `stack select`.
#[derive(Serialize)]
struct Entered {
    name: String,
    created: bool,
    selected: bool,
}

/// The document of `stack unselect`.
#[derive(Serialize)]
struct Left {
    /// The stack that was selected; left out where none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    selected: bool,
}

/// Creates a stack, and selects it.
pub(super) async fn init(session: &Session<'_>, arguments: &StackInit) -> Result {
    let name = match (&arguments.name, &arguments.stack.stack) {
        (Some(_), Some(_)) => {
            return Err(Failure::new(
                "only one of --stack or argument stack name may be specified, not both",
            ));
        }
        (name, stack) => name.as_deref().or(stack.as_deref()),
    };
    let printer = Printer::new(session.invocation, arguments.form.is_json());
    let name = match name {
        Some(name) => name.to_owned(),
        None => asked(session, printer, "Name of the new stack:")
            .await?
            .ok_or_else(|| Failure::new("missing stack name"))?,
    };
    let stack = session.named(&name)?;
    create(session, &stack, arguments.secrets_provider.as_deref()).await?;
    if !arguments.no_select {
        session.select(Some(&stack))?;
    }
    printer.document(&Entered {
        name: session.shown(&stack.name),
        created: true,
        selected: !arguments.no_select,
    })
}

/// Selects a stack that exists, or creates it where that is asked for.
pub(super) async fn select(
    session: &Session<'_>,
    printer: Printer<'_>,
    name: Option<&str>,
    creates: bool,
    secrets_provider: Option<&str>,
) -> Result {
    let name = match name {
        Some(name) => name.to_owned(),
        None => chosen(session, printer)
            .await?
            .ok_or_else(Failure::unnamed_stack)?,
    };
    let stack = session.named(&name)?;
    let created = match session.stack(&stack).await {
        Err(failure) if creates && failure.is_no_stack() => {
            create(session, &stack, secrets_provider).await?;
            true
        }
        opened => {
            drop(opened?);
            false
        }
    };
    session.select(Some(&stack))?;
    printer.document(&Entered {
        name: session.shown(&stack.name),
        created,
        // A selection is kept for a project.
        selected: session.found().is_some(),
    })
}

/// Forgets the selected stack.
pub(super) fn unselect(session: &Session<'_>, printer: Printer<'_>) -> Result {
    // A name that this engine refuses is forgotten, too.
    let former = session.kept_selection().ok().flatten();
    session.select(None)?;
    let document = Left {
        name: former.map(|former| former.shown),
        selected: false,
    };
    printer.end("Stack was unselected", &document)
}

/// Asks the user of a terminal for a name; `None` without one, and for no answer.
async fn asked(session: &Session<'_>, printer: Printer<'_>, question: &str) -> Result<Option<String>> {
    let Some(ask) = printer.ask() else {
        return Ok(None);
    };
    let answer = session.invocation.answer(ask, &format!("{question} ")).await?;
    let answer = answer.unwrap_or_default().trim().to_owned();
    Ok(Some(answer).filter(|answer| !answer.is_empty()))
}

/// The same for one of the stacks of the project, which are listed first.
async fn chosen(session: &Session<'_>, printer: Printer<'_>) -> Result<Option<String>> {
    if printer.ask().is_none() {
        return Ok(None);
    }
    let project = session.project()?.file().await?.name;
    let stacks = session.engine.stacks(Some(&project), false).await?;
    for stack in &stacks {
        session.invocation.print(format!("  {}", stack.name.stack()));
    }
    asked(session, printer, "Name of the stack:").await
}

async fn create(session: &Session<'_>, stack: &NamedStack, secrets_provider: Option<&str>) -> Result {
    let key_service = check_provider(session, secrets_provider.unwrap_or_default())?;
    let Some(project) = session.project_of(stack) else {
        return Err(Failure::new(format!(
            "could not create stack: provided project name \"{}\" doesn't match Pulumi.yaml",
            stack.name.project()
        )));
    };
    // Before anything is created: without a passphrase, the stack could not keep secrets.
    let unmanaged = "could not create secrets manager for new stack: ";
    let prepared = match key_service {
        Some(secrets) => prepare(project, stack, secrets_provider.unwrap_or_default(), secrets).await,
        None => prepare_named(session, project, stack).await,
    };
    let prepared = prepared.map_err(|failure| failure.after(unmanaged))?;
    let settings = StackSettings::default();
    let created = session
        .engine
        .create_stack(&stack.name.to_string(), settings)
        .await;
    drop(created.map_err(|error| match error.kind() {
        ErrorKind::Conflict => Failure::new(format!("stack '{}' already exists", stack.name.qualified())),
        _ => error.into(),
    })?);
    let initialized = project.initialize_secrets(stack.name.stack(), prepared).await;
    initialized.map_err(|error| Failure::from(error).after(unmanaged))?;
    session
        .invocation
        .note(format!("Created stack '{}'", stack.shown));
    Ok(())
}

/// Prepares the key of a new stack, as its settings file names it: that of a passphrase, or of a key service.
async fn prepare_named(
    session: &Session<'_>,
    project: &Project,
    stack: &NamedStack,
) -> Result<Option<Arc<dyn SecretsProvider>>> {
    match project.stack_file(stack.name.stack()).await?.key_service() {
        Some(service) => match check_provider(session, &service.url)? {
            Some(secrets) => prepare(project, stack, &service.url, secrets).await,
            None => Ok(None),
        },
        None => session.require_new_passphrase().await.map(|()| None),
    }
}

/// Has the data key of a new stack wrapped, unless the settings file has one.
async fn prepare(
    project: &Project,
    stack: &NamedStack,
    url: &str,
    secrets: Arc<dyn SecretsProvider>,
) -> Result<Option<Arc<dyn SecretsProvider>>> {
    let kept = project.stack_file(stack.name.stack()).await?.key_service();
    match kept.is_some_and(|service| service.url == url && service.encrypted_key.is_some()) {
        true => Ok(Some(secrets)),
        false => Ok(Some(Arc::new(PreparedSecrets::new(url, secrets).await?))),
    }
}

/// Refuses a secrets provider that encrypts nothing here. Returns that of a key service; `None` for a passphrase.
pub(crate) fn check_provider(
    session: &Session<'_>,
    provider: &str,
) -> Result<Option<Arc<dyn SecretsProvider>>> {
    let scheme = provider.split(':').next().unwrap_or(provider);
    if is_passphrase(provider) {
        return Ok(None);
    }
    if KEY_SERVICES.contains(&scheme)
        && provider.contains("://")
        && let Some(secrets) = session.secrets().for_key_service(provider)
    {
        return Ok(Some(secrets));
    }
    Err(Failure::new(match KEY_SERVICES.contains(&scheme) {
        true => format!(
            "the secrets provider {scheme:?} is not supported: this command has no client of key services. Use a passphrase, or \
             the Automation API of the packages for Python and Node, which makes a client from the URL"
        ),
        false => format!(
            "unknown secrets provider type '{scheme}' (supported values: default,passphrase,{})",
            KEY_SERVICES.join(",")
        ),
    }))
}
