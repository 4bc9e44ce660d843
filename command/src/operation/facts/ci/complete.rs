//! What follows from several variables of a service.

use super::{Build, event::Event};
use crate::invocation::Invocation;

/// The value of a pull request's number in builds of none.
const NO_NUMBER: &str = "false";
/// The type of builds of pull requests where the service has none for them, and the one of other builds.
const PULL_REQUEST: &str = "PullRequest";
const PUSH: &str = "Push";
/// What the type of a repository is on GitHub, for Azure Pipelines.
const GITHUB_PROVIDER: &str = "GitHub";

/// Chooses the commit, the number and the branch of a pull request, whose repository can be on GitHub.
pub(super) fn azure(build: &mut Build, invocation: &Invocation) {
    let value = |name: &str| invocation.variable(name).map(str::to_owned);
    let part = |name: &str| invocation.variable(name).unwrap_or_default();
    let organization = part("SYSTEM_TEAMFOUNDATIONCOLLECTIONURI");
    build.url = Some(format!(
        "{}/{}/_build/results?buildId={}",
        organization.strip_suffix('/').unwrap_or(organization),
        part("SYSTEM_TEAMPROJECT"),
        part("BUILD_BUILDID")
    ));
    if invocation.variable("BUILD_REPOSITORY_PROVIDER") == Some(GITHUB_PROVIDER) {
        build.request = value("SYSTEM_PULLREQUEST_PULLREQUESTNUMBER");
        build.head = value("SYSTEM_PULLREQUEST_SOURCECOMMITID");
    }
    if build.request.is_some() {
        build.branch = value("SYSTEM_PULLREQUEST_SOURCEBRANCH");
    }
}

pub(super) fn bitbucket(build: &mut Build, invocation: &Invocation) {
    let id = build.id.as_deref().unwrap_or_default();
    build.url = invocation
        .variable("BITBUCKET_GIT_HTTP_ORIGIN")
        .map(|repository| format!("{repository}/addon/pipelines/home#!/results/{id}"));
}

/// Sets the type. A build without any number counts as one of a pull request, as in the reference engine.
pub(super) fn buildkite(build: &mut Build, _: &Invocation) {
    match build.request.as_deref() {
        Some(NO_NUMBER) => build.request = None,
        _ => build.kind = Some(PULL_REQUEST.to_owned()),
    }
}

/// Sets the type, which the reference engine has the other way round.
pub(super) fn codefresh(build: &mut Build, _: &Invocation) {
    let kind = match build.request {
        Some(_) => PUSH,
        None => PULL_REQUEST,
    };
    build.kind = Some(kind.to_owned());
}

/// Reads the event of a pull request: what is built then is a commit that GitHub has made.
pub(super) fn github(build: &mut Build, invocation: &Invocation) {
    let repository = invocation.variable("GITHUB_REPOSITORY");
    build.url = repository
        .zip(build.id.as_deref())
        .map(|(repository, id)| format!("https://github.com/{repository}/actions/runs/{id}"));
    if let Some(event) = Event::read(invocation) {
        build.head = event.commit();
        build.request = Some(event.number());
        build.branch = event.branch();
    }
}

pub(super) fn jenkins(build: &mut Build, invocation: &Invocation) {
    if build.id.is_none() {
        build.id = invocation.variable("BUILD_ID").map(str::to_owned);
    }
}

pub(super) fn travis(build: &mut Build, _: &Invocation) {
    build.request = build.request.take().filter(|number| number != NO_NUMBER);
}
