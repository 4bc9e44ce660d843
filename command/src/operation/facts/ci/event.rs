//! The description of what has started a build on GitHub.

use serde::Deserialize;

use crate::{bounded, invocation::Invocation};

/// The kind of builds whose description is read.
const PULL_REQUEST: &str = "pull_request";
/// The size of the largest description of an event that is read, in bytes.
const MAX_EVENT_SIZE: u64 = 4 << 20;

/// The event of a pull request. What is absent has the value that it has in the reference engine: zero, or an empty text.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Event {
    number: Option<i64>,
    pull_request: Option<PullRequest>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PullRequest {
    head: Option<Head>,
}

/// The last commit of a pull request, and its branch.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Head {
    sha: Option<String>,
    #[serde(rename = "ref")]
    branch: Option<String>,
}

impl Event {
    /// Reads the description of a pull request's event; `None` for other events, and where it is malformed.
    pub(super) fn read(invocation: &Invocation) -> Option<Self> {
        let path = invocation.variable("GITHUB_EVENT_PATH")?;
        if invocation.variable("GITHUB_EVENT_NAME")? != PULL_REQUEST {
            return None;
        }
        let description = bounded::read(&invocation.path(path), MAX_EVENT_SIZE)?;
        let event: Option<Self> = serde_json::from_slice(&description).ok()?;
        Some(event.unwrap_or_default())
    }

    /// Returns the number of the pull request.
    pub(super) fn number(&self) -> String {
        self.number.unwrap_or_default().to_string()
    }

    /// Returns the id of the last commit.
    pub(super) fn commit(&self) -> Option<String> {
        self.head().and_then(|head| head.sha.clone())
    }

    /// Returns the branch, without the names of the folders before it.
    pub(super) fn branch(&self) -> Option<String> {
        self.head().and_then(|head| head.branch.clone())
    }

    fn head(&self) -> Option<&Head> {
        self.pull_request.as_ref()?.head.as_ref()
    }
}
