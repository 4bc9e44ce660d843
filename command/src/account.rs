//! `whoami`, `login`, `logout` and `org`: the user and the store of states.

use serde::Serialize;
use stackwright::{runtime::Runtime, store::HostFacts};

use crate::{
    arguments::{LoginArguments, LogoutArguments, OrgCommand, OutputForm},
    failure::{Failure, Result},
    home::Home,
    invocation::Invocation,
    place::{expanded, open_store, without_user},
    printer::Printer,
    session::{Components, Session},
    text,
};

/// The store that `login --local` selects.
const HOME_STORE: &str = "file://~";

/// The document of `whoami` and `login`.
#[derive(Serialize)]
struct Identity {
    user: String,
    url: String,
}

/// The document of `logout`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Departure {
    /// The store; left out where none was selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    logged_out: bool,
}

/// Prints the user and the store.
pub(crate) async fn whoami(
    components: &Components,
    invocation: &Invocation,
    form: &OutputForm,
    is_verbose: bool,
) -> Result {
    let session = Session::open(components, invocation).await?;
    let user = HostFacts::system().username;
    if form.is_json() {
        let url = session.engine.store_url();
        invocation.print(text::document(&Identity { user, url })?);
    } else if is_verbose {
        invocation.print(format!("User: {user}"));
        invocation.print("Organizations: ");
        invocation.print(format!("Backend URL: {}", session.engine.store_url()));
        invocation.print("Token type: personal");
    } else {
        invocation.print(user);
    }
    session.close().await;
    Ok(())
}

/// Selects the store of states.
pub(crate) fn login(components: &Components, invocation: &Invocation, arguments: &LoginArguments) -> Result {
    let given = match (
        arguments.url.as_ref().or(arguments.cloud_url.as_ref()),
        arguments.local,
    ) {
        (Some(url), _) => Some(url.as_str()),
        (None, true) => Some(HOME_STORE),
        (None, false) => invocation.variable("PULUMI_BACKEND_URL"),
    };
    let url = given.ok_or_else(|| Failure::no_store("`login` takes the URL of a store, or --local"))?;
    let runtime = Runtime::system(components.handle.clone());
    let url = expanded(invocation, url)?;
    let store = open_store(invocation, &url, &invocation.directory, &runtime)?;
    // A relative folder would mean another one in every working directory.
    let selected = if url.starts_with("file://") {
        store.url()
    } else {
        url
    };
    Home::of(invocation)?.select_store(Some(&selected))?;
    let HostFacts {
        username, hostname, ..
    } = HostFacts::system();
    let url = store.url();
    let line = format!("Logged in to {hostname} as {username} ({url})");
    let printer = Printer::new(invocation, arguments.form.is_json());
    printer.end(line, &Identity { user: username, url })
}

/// Forgets the selected store of states. A store that is named, and not selected, is an error.
pub(crate) fn logout(invocation: &Invocation, arguments: &LogoutArguments) -> Result {
    let home = Home::of(invocation)?;
    let local = arguments.local.then_some(HOME_STORE);
    let named = arguments
        .url
        .as_deref()
        .or(arguments.cloud_url.as_deref())
        .or(local);
    let selected = home.selected_store()?;
    if let Some(named) = named
        && selected.as_deref() != Some(&*expanded(invocation, named)?)
        && selected.as_deref() != Some(named)
    {
        return Err(Failure::new(format!(
            "not logged in to {}: the selected store is {}",
            without_user(named),
            selected.as_deref().map_or("none".into(), without_user),
        )));
    }
    let printer = Printer::new(invocation, arguments.form.is_json());
    let url = selected.as_deref().map(without_user);
    if let Some(url) = &url {
        home.select_store(None)?;
        printer.prose(format!("Logged out of {url}"));
    }
    printer.document(&Departure {
        logged_out: url.is_some(),
        url,
    })
}

/// Refuses organizations, which folders do not have.
pub(crate) fn organization(command: &OrgCommand) -> Result {
    let host = HostFacts::system().hostname;
    Err(Failure::new(match command {
        OrgCommand::Search(_) => format!("backends of this type \"{host}\" do not support organizations"),
        OrgCommand::GetDefault(_) => format!("backends of this type \"{host}\" do not support organizations"),
        OrgCommand::SetDefault { .. } => {
            format!("unable to set a default organization for backend type: {host}")
        }
    }))
}
