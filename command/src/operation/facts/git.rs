//! Facts about the repository of a project, or in its place those that variables have.

use std::path::Path;

use super::{Facts, ci::Build};
use crate::{
    invocation::Invocation,
    repository::{Commit, Head, Hosted, Repository},
};

/// The names of facts, with the variables that have them where there is no repository.
const VARIABLES: [(&str, &str); 9] = [
    (OWNER, "PULUMI_VCS_REPO_OWNER"),
    (NAME, "PULUMI_VCS_REPO_NAME"),
    (KIND, "PULUMI_VCS_REPO_KIND"),
    (ROOT, "PULUMI_VCS_REPO_ROOT"),
    (HEAD, "PULUMI_GIT_HEAD"),
    (COMMITTER[0], "PULUMI_GIT_COMMITTER"),
    (COMMITTER[1], "PULUMI_GIT_COMMITTER_EMAIL"),
    (AUTHOR[0], "PULUMI_GIT_AUTHOR"),
    (AUTHOR[1], "PULUMI_GIT_AUTHOR_EMAIL"),
];
/// The variables that are before what a service knows of its build.
const HEAD_NAME_VARIABLE: &str = "PULUMI_GIT_HEAD_NAME";
const MESSAGE_VARIABLE: &str = "PULUMI_GIT_COMMIT_MESSAGE";
const OWNER: &str = "vcs.owner";
const NAME: &str = "vcs.repo";
const KIND: &str = "vcs.kind";
const ROOT: &str = "vcs.root";
const HEAD_NAME: &str = "git.headName";
const HEAD: &str = "git.head";
/// The names of the facts about a person: its name, its address.
const COMMITTER: [&str; 2] = ["git.committer", "git.committer.email"];
const AUTHOR: [&str; 2] = ["git.author", "git.author.email"];
/// The name that stands for a commit without a branch.
const DETACHED: &str = "HEAD";

/// Adds what is known of the repository that a folder is in.
pub(super) fn add(facts: &mut Facts, invocation: &Invocation, folder: &Path, build: Option<&Build>) {
    let Some(repository) = Repository::above(folder) else {
        return add_variables(facts, invocation, build);
    };
    if let Some(url) = repository.origin() {
        if let Some(path) = repository.path_of(folder) {
            facts.set(ROOT, path);
        }
        if let Some(Hosted { owner, name, kind }) = Hosted::of(&url) {
            facts.set(OWNER, owner);
            facts.set(NAME, name);
            facts.set(KIND, kind);
        }
    }
    let Some(head) = repository.head() else {
        return;
    };
    facts.set(HEAD, head.id.clone());
    if let Some(commit) = repository.commit(&head) {
        add_commit(facts, head, commit, build);
    }
}

/// Adds what variables have in place of a repository, and of the service that builds.
fn add_variables(facts: &mut Facts, invocation: &Invocation, build: Option<&Build>) {
    for (name, variable) in VARIABLES {
        facts.add(name, invocation.variable(variable).unwrap_or_default());
    }
    let branch = build.and_then(|build| build.branch.as_deref());
    let branch = invocation.variable(HEAD_NAME_VARIABLE).or(branch);
    facts.add(HEAD_NAME, branch.unwrap_or_default());
    let message = build.and_then(|build| build.message.as_deref());
    facts.title = title(invocation.variable(MESSAGE_VARIABLE).or(message));
}

/// Adds a commit. A service often checks out one without a branch, of which it has the name.
fn add_commit(facts: &mut Facts, head: Head, commit: Commit, build: Option<&Build>) {
    let branch = build.and_then(|build| build.branch.clone());
    let branch = head.name.or(branch.filter(|name| name != DETACHED));
    facts.add(HEAD_NAME, branch.as_deref().unwrap_or_default());
    for ([name, email], person) in [(COMMITTER, commit.committer), (AUTHOR, commit.author)] {
        facts.set(name, person.name);
        facts.set(email, person.email);
    }
    let message = build.and_then(|build| build.message.as_deref());
    facts.title = match commit.title.is_empty() {
        true => title(message),
        false => commit.title,
    };
}

/// Returns the first line of a message.
fn title(message: Option<&str>) -> String {
    let line = message.and_then(|message| message.split(['\r', '\n']).next());
    line.unwrap_or_default().to_owned()
}
