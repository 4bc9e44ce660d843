//! What most commands work with: the engine of the selected store, the project of the folder, and the named stack.

use std::sync::Arc;

use stackwright::{
    Engine, Error, ErrorKind, Opening, Stack, StackName, StackSettings,
    plugin::{PluginCommand, PluginKind, PluginSettings},
    runtime::Runtime,
    secrets::{
        SecretsProvider,
        kind::{KEY_SERVICE, PASSPHRASE},
    },
};
use stackwright_project::{FoundProject, Project};

use crate::{
    arguments::{GlobalArguments, Parsers},
    downloads,
    failure::{Failure, Result},
    home::Home,
    invocation::{Ask, Invocation},
    place::{expanded, open_store, store_url},
    running::{Place, Running},
    secrets::{EnvironmentSecrets, Passphrases},
};

/// The only organization of stores without accounts.
const ORGANIZATION: &str = "organization";
/// The variable that selects a stack, before the selection that is kept.
const SELECTED_STACK: &str = "PULUMI_STACK";

/// What the engine of an invocation is made of.
#[derive(Clone)]
pub(crate) struct Components {
    pub(crate) handle: tokio::runtime::Handle,
    /// An engine of the host, which takes the place of the environment's.
    pub(crate) engine: Option<Engine>,
    pub(crate) plugins: PluginSettings,
    pub(crate) passphrases: Arc<Passphrases>,
    /// The operations of all invocations.
    pub(crate) running: Arc<Running>,
    pub(crate) parsers: Arc<Parsers>,
}

/// A stack as the user has named it.
#[derive(Clone, Debug)]
pub(crate) struct NamedStack {
    /// The name as it was given.
    pub(crate) shown: String,
    pub(crate) name: StackName,
}

/// What most commands work with.
pub(crate) struct Session<'a> {
    pub(crate) invocation: &'a Invocation,
    pub(crate) engine: Engine,
    pub(crate) home: Home,
    /// The flag `--color`.
    pub(crate) color: Option<String>,
    /// The flag `--non-interactive`.
    pub(crate) is_non_interactive: bool,
    /// The flag `--fully-qualify-stack-names`.
    is_qualifying: bool,
    /// The operations of all invocations.
    pub(crate) running: Arc<Running>,
    /// The stack that a flag before the subcommand names.
    default_stack: Option<String>,
    project: Option<(FoundProject, Project)>,
    /// `None` for an engine of the host.
    secrets: Option<EnvironmentSecrets>,
}

impl<'a> Session<'a> {
    /// Opens the store that the environment, the project or the user has selected, in this order.
    pub(crate) async fn open(components: &Components, invocation: &'a Invocation) -> Result<Self> {
        let home = Home::of(invocation)?;
        let found = FoundProject::above(&invocation.directory)?;
        let (engine, secrets) = match &components.engine {
            Some(engine) => (engine.clone(), None),
            None => {
                let (engine, secrets) = environment_engine(components, invocation, &home, found.as_ref())?;
                (engine, Some(secrets))
            }
        };
        let project = found.map(|found| {
            let project = found.open(&engine);
            (found, project)
        });
        Ok(Self {
            invocation,
            engine,
            home,
            color: None,
            is_non_interactive: false,
            is_qualifying: false,
            running: Arc::clone(&components.running),
            default_stack: None,
            project,
            secrets,
        })
    }

    /// Takes over the flags of every subcommand.
    pub(crate) fn with_flags(self, global: &GlobalArguments) -> Self {
        Self {
            color: global.color.clone(),
            is_non_interactive: global.non_interactive,
            is_qualifying: global.fully_qualify_stack_names,
            ..self
        }
    }

    /// Takes over the stack that a flag before the subcommand names.
    pub(crate) fn with_default_stack(self, stack: Option<&str>) -> Self {
        Self {
            default_stack: stack.map(str::to_owned),
            ..self
        }
    }

    /// Returns where the operations of a stack are found.
    pub(crate) fn place(&self, name: &StackName) -> Place {
        Place {
            store: self.engine.store_url(),
            stack: name.to_string(),
        }
    }

    /// Returns what asks the user, unless nothing is to be asked.
    pub(crate) fn ask(&self) -> Option<&Ask> {
        self.invocation.terminal.ask.as_ref()
    }

    /// Ends the plugins of an engine that the invocation has made.
    pub(crate) async fn close(&self) {
        if self.secrets.is_some() {
            self.engine.close().await;
        }
    }

    /// Returns the project.
    pub(crate) fn project(&self) -> Result<&Project> {
        match &self.project {
            Some((_, project)) => Ok(project),
            None => Err(Failure::new(format!(
                "no Pulumi.yaml project file found (searching upwards from {}). If you have not created a project yet, use \
                 `pulumi new` to do so: no project file found",
                self.invocation.directory.display()
            ))),
        }
    }

    /// Returns the file of the project, if there is one.
    pub(crate) fn found(&self) -> Option<&FoundProject> {
        self.project.as_ref().map(|(found, _)| found)
    }

    /// Returns the project when the stack belongs to it.
    pub(crate) fn project_of(&self, stack: &NamedStack) -> Option<&Project> {
        let (found, project) = self.project.as_ref()?;
        (found.file.name == stack.name.project()).then_some(project)
    }

    /// Refuses a missing passphrase.
    fn require_passphrase(&self) -> Result {
        self.secrets.as_ref().map_or(Ok(()), EnvironmentSecrets::require)
    }

    /// Refuses a missing passphrase, unless a key service encrypts for the stack.
    pub(crate) async fn require_key(&self, name: &StackName) -> Result {
        let Err(missing) = self.require_passphrase() else {
            return Ok(());
        };
        if let Some((found, project)) = &self.project
            && found.file.name == name.project()
            && project.stack_file(name.stack()).await?.key_service().is_some()
        {
            return Ok(());
        }
        let secrets = self.secrets();
        match self.engine.secrets_manager(&name.to_string(), &*secrets).await {
            Ok(Some(manager)) if manager.kind() == KEY_SERVICE => Ok(()),
            // That of the key service: there is no passphrase to be wrong.
            Err(error) if error.kind() == ErrorKind::Decrypt => Err(error.into()),
            _ => Err(missing),
        }
    }

    /// Refuses a missing passphrase, and one that is not that of the stack.
    pub(crate) async fn check_key(&self, name: &StackName) -> Result {
        self.require_key(name).await?;
        let Some(secrets) = self.verifying() else {
            return Ok(());
        };
        self.engine.secrets_manager(&name.to_string(), &*secrets).await?;
        if let Some((found, project)) = &self.project
            && found.file.name == name.project()
            && let Some(salt) = project.stack_file(name.stack()).await?.encryption_salt
        {
            let state = serde_json::json!({ "salt": salt });
            secrets.open(PASSPHRASE, Some(&state)).await?;
        }
        Ok(())
    }

    /// Refuses a missing passphrase before a stack is created.
    pub(crate) async fn require_new_passphrase(&self) -> Result {
        match &self.secrets {
            Some(secrets) => secrets.require_new().await,
            None => Ok(()),
        }
    }

    /// Parses the name of a stack: `dev`, `organization/dev` or `organization/shop/dev`.
    pub(crate) fn named(&self, shown: &str) -> Result<NamedStack> {
        let parts: Vec<&str> = shown.split('/').collect();
        let (organization, project, stack) = match parts[..] {
            [stack] => (ORGANIZATION, None, stack),
            [organization, stack] => (organization, None, stack),
            [organization, project, stack] => (organization, Some(project), stack),
            _ => return Err(Failure::new(format!("could not parse stack name '{shown}'"))),
        };
        if organization != ORGANIZATION {
            return Err(Failure::new("organization name must be 'organization'"));
        }
        let project = match (project, self.found()) {
            (Some(project), _) => project,
            (None, Some(found)) => found.file.name.as_str(),
            (None, None) => {
                return Err(Failure::new(
                    "no Pulumi.yaml project file found; either run this command from a directory containing a Pulumi project, \
                     or pass the fully qualified stack name (organization/project/stack)",
                ));
            }
        };
        let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
        if let Some((place, character)) = stack
            .chars()
            .enumerate()
            .find(|(_, character)| !is_plain(*character))
        {
            return Err(Failure::new(format!(
                "a stack name may only contain alphanumeric, hyphens, underscores, or periods: invalid character {character:?} at \
                 position {place}"
            )));
        }
        let name = StackName::new(project, stack)?;
        let shown = match self.is_qualifying {
            true => name.qualified(),
            false => shown.to_owned(),
        };
        Ok(NamedStack { shown, name })
    }

    /// Returns the name of a stack in texts: without organization and project where it belongs to the project, unless a flag asks for
    /// them.
    pub(crate) fn shown(&self, name: &StackName) -> String {
        let own = self.found().map(|found| found.file.name.as_str());
        match !self.is_qualifying && own == Some(name.project()) {
            true => name.stack().to_owned(),
            false => name.qualified(),
        }
    }

    /// Returns the selected stack: that of the flag before the subcommand, that of the environment, or the one that is kept for the project.
    pub(crate) fn selected(&self) -> Result<Option<NamedStack>> {
        let given = self.default_stack.as_deref();
        match given.or_else(|| self.invocation.variable(SELECTED_STACK)) {
            Some(name) => self.named(name).map(Some),
            None => self.kept_selection(),
        }
    }

    /// Returns the stack that is kept as the selected one of the project.
    pub(crate) fn kept_selection(&self) -> Result<Option<NamedStack>> {
        let Some(found) = self.found() else {
            return Ok(None);
        };
        let Some(stack) = self.home.selected_stack(&found.file.name, &found.path)? else {
            return Ok(None);
        };
        let named = self.named(&stack)?;
        let shown = self.shown(&named.name);
        Ok(Some(NamedStack { shown, ..named }))
    }

    /// Returns the named stack, or the selected one.
    pub(crate) fn stack_or_selected(&self, given: Option<&str>) -> Result<NamedStack> {
        if let Some(given) = given {
            return self.named(given);
        }
        let missing = || Failure::new("no stack selected; please use `pulumi stack select` to choose one");
        self.selected()?.ok_or_else(missing)
    }

    /// The same for a command that works on a new stack as well.
    pub(crate) fn new_or_selected(&self, given: Option<&str>) -> Result<NamedStack> {
        if let Some(given) = given {
            return self.named(given);
        }
        let missing = || {
            Failure::new(
                "no stack selected; please use `pulumi stack select` or `pulumi stack init` to choose one",
            )
        };
        self.selected()?.ok_or_else(missing)
    }

    /// Selects a stack, or with `None` forgets the selected one.
    pub(crate) fn select(&self, stack: Option<&NamedStack>) -> Result {
        let Some(found) = self.found() else {
            return Ok(());
        };
        let qualified = stack.map(|stack| stack.name.qualified());
        self.home
            .select_stack(&found.file.name, &found.path, qualified.as_deref())
    }

    /// Opens a stack that exists, without the settings of its project: for what needs no program and no configuration.
    pub(crate) async fn stack(&self, stack: &NamedStack) -> Result<Stack> {
        let settings = StackSettings::default();
        let opened = self.engine.select_stack(&stack.name.to_string(), settings).await;
        opened.map_err(|error| explained(error, stack))
    }

    /// Opens a stack that exists, whose settings file follows its name. No passphrase is needed.
    pub(crate) async fn named_stack(&self, stack: &NamedStack) -> Result<Stack> {
        let source = self
            .project_of(stack)
            .map(|project| project.config_source(stack.name.stack()));
        let settings = StackSettings {
            config_source: source,
            ..StackSettings::default()
        };
        let opened = self.engine.select_stack(&stack.name.to_string(), settings).await;
        opened.map_err(|error| explained(error, stack))
    }

    /// Opens a stack that exists, with the settings of its project, for an operation. The passphrase is checked.
    pub(crate) async fn configured_stack(
        &self,
        project: &Project,
        stack: &NamedStack,
        settings: StackSettings,
    ) -> Result<Stack> {
        let settings = StackSettings {
            opening: Opening::Select,
            secrets: self.verifying(),
            ..settings
        };
        let opened = project.stack(&stack.name.to_string(), settings).await;
        opened.map_err(|error| explained(error, stack))
    }

    /// Returns the secrets of the environment, or those of the engine of the host.
    pub(crate) fn secrets(&self) -> Arc<dyn SecretsProvider> {
        match &self.secrets {
            Some(secrets) => Arc::new(secrets.clone()),
            None => self.engine.secrets(),
        }
    }

    /// Returns whether the secrets are encrypted by an engine of the host.
    pub(crate) fn has_engine_of_host(&self) -> bool {
        self.secrets.is_none()
    }

    fn verifying(&self) -> Option<Arc<dyn SecretsProvider>> {
        let secrets = self.secrets.as_ref()?;
        Some(Arc::new(secrets.verifying()))
    }
}

/// Names a stack that does not exist as the user did.
fn explained(error: Error, stack: &NamedStack) -> Failure {
    match error.kind() {
        ErrorKind::NotFound => Failure::no_stack(&stack.shown),
        _ => error.into(),
    }
}

/// Makes the engine that the environment describes.
fn environment_engine(
    components: &Components,
    invocation: &Invocation,
    home: &Home,
    found: Option<&FoundProject>,
) -> Result<(Engine, EnvironmentSecrets)> {
    let runtime = Runtime::system(components.handle.clone());
    let (url, base) = store_url(invocation, home, found)?;
    let store = open_store(invocation, &expanded(invocation, &url)?, &base, &runtime)?;
    let secrets = components.passphrases.of(invocation, &runtime)?;
    let host = invocation.process_environment();
    let plugins = PluginSettings {
        path: None,
        cache: Some(home.plugins()),
        ..components.plugins.clone()
    };
    let mut plugins = PluginSettings {
        environment: Some(host.clone()),
        ..plugins.or_from(&host)
    };
    if let Some(found) = found {
        add_plugins(&mut plugins, found)?;
    }
    let mut builder = Engine::builder(components.handle.clone());
    if let Some(installer) = downloads::on_demand(&components.handle, invocation)? {
        builder = builder.installer(installer);
    }
    let engine = builder
        .runtime(runtime)
        .store(store)
        .secrets(Arc::new(secrets.clone()))
        .plugins(plugins)
        .build()?;
    Ok((engine, secrets))
}

/// Adds the plugins that a project has at paths of their own. They take precedence over others of their name. An executable that
/// does not exist is an error of the operation that starts it.
fn add_plugins(settings: &mut PluginSettings, found: &FoundProject) -> Result {
    let named = |error: Error| Failure::from(error).after(&format!("{}: ", found.path.display()));
    for plugin in found.file.plugins_at_paths().map_err(named)? {
        let program = found.folder().join(&plugin.folder).join(plugin.file_name());
        if plugin.kind == PluginKind::Resource {
            let command = PluginCommand {
                program,
                version: plugin.version,
                ..PluginCommand::default()
            };
            settings.commands.insert(plugin.name, command);
        } else if let Some(folder) = program.parent() {
            settings.directories.insert(0, folder.to_owned());
        }
    }
    Ok(())
}
