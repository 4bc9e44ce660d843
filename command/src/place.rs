//! Where an invocation works: the project file above its folder, and the store of states.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use stackwright::{
    runtime::Runtime,
    store::{self, Credentials, Store},
};
use stackwright_project::FoundProject;

use crate::{
    failure::{Failure, Result},
    home::Home,
    invocation::Invocation,
};

/// The stores that there are.
const STORES: &str = "this engine keeps states in folders (file:///absolute/folder, file://./relative/folder, or file://~ for the \
                      home), buckets (s3://, gs://, azblob://) and databases (postgres://)";

/// The scheme of folders, and those of the other stores.
const FILE: &str = "file://";
const REMOTE: [&str; 5] = ["s3", "gs", "azblob", "postgres", "postgresql"];

/// Returns the URL of the selected store, and the folder that relative ones begin at.
pub(crate) fn store_url(
    invocation: &Invocation,
    home: &Home,
    found: Option<&FoundProject>,
) -> Result<(String, PathBuf)> {
    let directory = || invocation.directory.clone();
    if let Some(url) = invocation.variable("PULUMI_BACKEND_URL") {
        return Ok((url.to_owned(), directory()));
    }
    if let Some((url, found)) = found.and_then(|found| Some((found.file.backend_url.clone()?, found))) {
        return Ok((url, found.folder().to_owned()));
    }
    match home.selected_store()? {
        Some(url) => Ok((url, directory())),
        None => Err(Failure::no_store(format!(
            "no store of states is selected: {STORES}; set PULUMI_BACKEND_URL, `backend.url` in the project file, or use \
             `pulumi login`"
        ))),
    }
}

/// Checks the URL of a store, and replaces `~` by the home.
pub(crate) fn expanded(invocation: &Invocation, url: &str) -> Result<String> {
    let Some(path) = url.strip_prefix(FILE) else {
        let scheme = url.split(':').next().unwrap_or(url);
        if REMOTE.contains(&scheme) {
            return Ok(url.to_owned());
        }
        return Err(Failure::no_store(format!(
            "the store {scheme:?} is not supported: {STORES}"
        )));
    };
    match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => match invocation.variable("HOME") {
            Some(home) => Ok(format!("file://{home}{rest}")),
            None => Err(Failure::no_store(format!(
                "the store {url} is in the home, and the environment has no HOME"
            ))),
        },
        _ => Ok(url.to_owned()),
    }
}

/// Returns the URL of a store without a user and a password.
pub(crate) fn without_user(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) if scheme != "file" => {
            let end = rest.find(['/', '?']).unwrap_or(rest.len());
            let host = rest[..end].rfind('@').map_or(0, |at| at + 1);
            format!("{scheme}://{}", &rest[host..])
        }
        _ => url.to_owned(),
    }
}

/// Opens the store of a URL that was checked, with the credentials of the environment. A folder must exist.
pub(crate) fn open_store(
    invocation: &Invocation,
    url: &str,
    base: &Path,
    runtime: &Runtime,
) -> Result<Arc<dyn Store>> {
    let environment = Credentials::Environment(Arc::new(invocation.environment.clone()));
    let store = store::open_with(url, base, runtime, &environment.into())?;
    if url.starts_with(FILE) {
        check_folder(&store.url())?;
    }
    Ok(store)
}

/// Refuses a store whose folder does not exist.
fn check_folder(url: &str) -> Result {
    let folder = url.strip_prefix(FILE).unwrap_or(url);
    match fs::metadata(folder) {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(Failure::new(format!(
            "unable to open state directory \"{url}\": not a directory"
        ))),
        Err(error) => {
            let reason = match error.kind() {
                std::io::ErrorKind::NotFound => "no such file or directory".to_owned(),
                _ => error.to_string(),
            };
            Err(Failure::new(format!(
                "unable to open state directory \"{url}\": stat {folder}: {reason}"
            )))
        }
    }
}
