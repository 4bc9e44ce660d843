//! Facts about the repository of a project, or in its place those that variables have.

use std::path::Path;

use super::{Facts, ci::Build};
use crate::{
    invocation::Invocation,
    repository::{Commit, Head, Hosted, Person, Repository},
};

/// The names of facts, with the variables that have them where there is no repository.
const VARIABLES: [(&str, &str); 10] = [
    (OWNER, "PULUMI_VCS_REPO_OWNER"),
    (NAME, "PULUMI_VCS_REPO_NAME"),
    (KIND, "PULUMI_VCS_REPO_KIND"),
    (ROOT, "PULUMI_VCS_REPO_ROOT"),
    (HEAD_NAME, "PULUMI_GIT_HEAD_NAME"),
    (HEAD, "PULUMI_GIT_HEAD"),
    (COMMITTER[0], "PULUMI_GIT_COMMITTER"),
    (COMMITTER[1], "PULUMI_GIT_COMMITTER_EMAIL"),
    (AUTHOR[0], "PULUMI_GIT_AUTHOR"),
    (AUTHOR[1], "PULUMI_GIT_AUTHOR_EMAIL"),
];
const OWNER: &str = "vcs.owner";
const NAME: &str = "vcs.repo";
const KIND: &str = "vcs.kind";
const ROOT: &str = "vcs.root";
const HEAD_NAME: &str = "git.headName";
const HEAD: &str = "git.head";
/// The names of the facts about a person: its name, its address.
const COMMITTER: [&str; 2] = ["git.committer", "git.committer.email"];
const AUTHOR: [&str; 2] = ["git.author", "git.author.email"];

/// Adds what is known of the repository that a folder is in.
pub(super) fn add(facts: &mut Facts, invocation: &Invocation, folder: &Path, build: Option<&Build>) {
    let Some(repository) = Repository::above(folder) else {
        for (name, variable) in VARIABLES {
            facts.add(name, invocation.variable(variable).unwrap_or_default());
        }
        return;
    };
    if let Some(url) = repository.origin() {
        facts.add(ROOT, &repository.path_of(folder).unwrap_or_default());
        if let Some(Hosted { owner, name, kind }) = Hosted::of(&url) {
            facts.add(OWNER, &owner);
            facts.add(NAME, &name);
            facts.add(KIND, &kind);
        }
    }
    let Some(head) = repository.head() else {
        return;
    };
    let commit = repository.commit(&head);
    add_head(facts, &head, build);
    if let Some(commit) = commit {
        add_commit(facts, commit, build);
    }
}

/// Adds what is checked out. A service often checks out a commit without a branch, of which it has the name.
fn add_head(facts: &mut Facts, head: &Head, build: Option<&Build>) {
    let branch = build.and_then(|build| build.branch.as_ref());
    let name = head.name.as_ref().or(branch);
    facts.add(HEAD, &head.id);
    facts.add(HEAD_NAME, name.map_or("", String::as_str));
}

fn add_commit(facts: &mut Facts, commit: Commit, build: Option<&Build>) {
    for ([name, email], person) in [(COMMITTER, &commit.committer), (AUTHOR, &commit.author)] {
        let Person {
            name: of_person,
            email: address,
        } = person;
        facts.add(name, of_person);
        facts.add(email, address);
    }
    let message = build.and_then(|build| build.message.as_deref());
    facts.title = match commit.title.is_empty() {
        true => message
            .and_then(|message| message.trim().lines().next())
            .unwrap_or_default()
            .to_owned(),
        false => commit.title,
    };
}
