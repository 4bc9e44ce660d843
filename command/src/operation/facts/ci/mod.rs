//! The service that builds a project (continuous integration), as its variables describe it.

mod systems;

use serde::Deserialize;

use systems::{GITHUB, SYSTEMS, Url};

use crate::{bounded, invocation::Invocation};

/// The variable that turns the detection of services off.
const DISABLED: &str = "PULUMI_DISABLE_CI_DETECTION";
/// The value of a pull request's number in builds of none.
const NO_NUMBER: &str = "false";
/// The size of the largest description of an event that is read, in bytes.
const MAX_EVENT_SIZE: u64 = 4 << 20;

/// The description of what has started a build on GitHub.
#[derive(Deserialize)]
struct Event {
    number: u64,
    pull_request: PullRequest,
}

#[derive(Deserialize)]
struct PullRequest {
    head: PullRequestHead,
}

#[derive(Deserialize)]
struct PullRequestHead {
    sha: String,
}

impl Event {
    /// Reads the description of a pull request's event; `None` for other events.
    fn read(invocation: &Invocation) -> Option<Self> {
        let kind = invocation.variable("GITHUB_EVENT_NAME")?;
        let path = invocation.variable("GITHUB_EVENT_PATH")?;
        if !kind.starts_with("pull_request") {
            return None;
        }
        serde_json::from_slice(&bounded::read(&invocation.path(path), MAX_EVENT_SIZE)?).ok()
    }
}

/// A build by a service. What is not known is absent.
pub(super) struct Build {
    system: String,
    id: Option<String>,
    number: Option<String>,
    kind: Option<String>,
    url: Option<String>,
    head: Option<String>,
    request: Option<String>,
    pub(super) branch: Option<String>,
    pub(super) message: Option<String>,
}

impl Build {
    /// Returns the build that an invocation belongs to.
    pub(super) fn of(invocation: &Invocation) -> Option<Self> {
        if invocation.is_enabled(DISABLED) {
            return None;
        }
        let mut detected = SYSTEMS
            .iter()
            .filter_map(|system| system.detected(invocation).map(|name| (system, name)));
        let (found, system) = detected.next()?;
        let first = |names: &[&str]| {
            let value = names.iter().find_map(|name| invocation.variable(name));
            value.map(str::to_owned)
        };
        let build = Self {
            system,
            id: first(found.id),
            number: first(found.number),
            kind: first(found.kind),
            url: match found.url {
                Url::Variable(name) => first(&[name]),
                Url::Made(make) => make(invocation),
            },
            head: first(found.head),
            request: first(found.request).filter(|number| number != NO_NUMBER),
            branch: first(found.branch),
            message: first(found.message),
        };
        // What is built of a pull request is a commit that GitHub has made.
        match Event::read(invocation).filter(|_| found.name == GITHUB) {
            Some(event) => Some(Self {
                head: Some(event.pull_request.head.sha),
                request: Some(event.number.to_string()),
                ..build
            }),
            None => Some(build),
        }
    }

    /// Returns the facts by name.
    pub(super) fn facts(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let facts = [
            ("ci.system", Some(&self.system)),
            ("ci.build.id", self.id.as_ref()),
            ("ci.build.number", self.number.as_ref()),
            ("ci.build.type", self.kind.as_ref()),
            ("ci.build.url", self.url.as_ref()),
            ("ci.pr.headSHA", self.head.as_ref()),
            ("ci.pr.number", self.request.as_ref()),
        ];
        facts
            .into_iter()
            .filter_map(|(name, value)| value.map(|value| (name, value.as_str())))
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs};

    use super::*;

    fn invocation(variables: &[(&str, &str)]) -> Invocation {
        let variables = variables.iter();
        let environment = variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Invocation {
            environment: environment.collect(),
            ..Invocation::new(["up"], "/")
        }
    }

    /// Returns the facts of an environment, in one text.
    fn facts(variables: &[(&str, &str)]) -> String {
        let build = Build::of(&invocation(variables));
        let facts = build.iter().flat_map(Build::facts);
        let facts: Vec<String> = facts.map(|(name, value)| format!("{name}={value}")).collect();
        facts.join(" ")
    }

    #[test]
    fn services_are_recognized_by_their_variables() {
        for (variables, expected) in [
            (&[][..], ""),
            (&[("CI", "true"), ("APPVEYOR", "")], ""),
            (&[("APPVEYOR", "True")], "ci.system=AppVeyor"),
            (&[("CI_NAME", "another")], ""),
            (
                &[("CI_NAME", "codeship"), ("CI_BUILD_ID", "1")],
                "ci.system=Codeship ci.build.id=1",
            ),
            (
                &[
                    ("GITLAB_CI", "true"),
                    ("CI_JOB_ID", "1"),
                    ("CI_MERGE_REQUEST_IID", "2"),
                ],
                "ci.system=GitLab CI/CD ci.build.id=1 ci.pr.number=2",
            ),
            (
                &[
                    ("TRAVIS", "true"),
                    ("TRAVIS_PULL_REQUEST", "false"),
                    ("TRAVIS_JOB_ID", "1"),
                ],
                "ci.system=Travis CI ci.build.id=1",
            ),
            (
                &[
                    ("TRAVIS", "true"),
                    ("PULUMI_CI_SYSTEM", "Own"),
                    ("PULUMI_PR_NUMBER", "3"),
                ],
                "ci.system=Own ci.pr.number=3",
            ),
            (&[("TRAVIS", "true"), ("PULUMI_DISABLE_CI_DETECTION", "true")], ""),
        ] {
            assert_eq!(facts(variables), expected, "{variables:?}");
        }
    }

    #[test]
    fn addresses_are_made_where_all_of_their_parts_are_known() {
        let azure = [
            ("TF_BUILD", "True"),
            ("SYSTEM_TEAMFOUNDATIONCOLLECTIONURI", "https://dev.azure.com/org/"),
            ("SYSTEM_TEAMPROJECT", "shop"),
            ("BUILD_BUILDID", "7"),
        ];
        assert_eq!(
            facts(&azure),
            "ci.system=Azure Pipelines ci.build.id=7 ci.build.url=https://dev.azure.com/org/shop/_build/results?buildId=7"
        );
        assert_eq!(facts(&azure[..3]), "ci.system=Azure Pipelines");
    }

    #[test]
    fn a_pull_request_on_github_is_read_from_its_event() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("event.json");
        let variables = [
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_EVENT_PATH", path.to_str().unwrap()),
            ("GITHUB_SHA", "merged"),
            ("GITHUB_REPOSITORY", "owner/repo"),
            ("GITHUB_RUN_ID", "5"),
            ("GITHUB_EVENT_NAME", "pull_request"),
        ];
        let url = "https://github.com/owner/repo/actions/runs/5";
        let of = |commit: &str| {
            format!(
                "ci.system=GitHub Actions ci.build.id=5 ci.build.type=pull_request ci.build.url={url} ci.pr.headSHA={commit}"
            )
        };
        assert_eq!(facts(&variables), of("merged"));
        fs::write(
            &path,
            r#"{"number": 12, "pull_request": {"head": {"sha": "own"}}}"#,
        )
        .unwrap();
        assert_eq!(facts(&variables), of("own") + " ci.pr.number=12");
        for malformed in [
            "",
            "{}",
            r#"{"number": "12"}"#,
            r#"{"number": 12, "pull_request": null}"#,
        ] {
            fs::write(&path, malformed).unwrap();
            assert_eq!(facts(&variables), of("merged"), "{malformed}");
        }
        assert!(!facts(&variables[..5]).contains("ci.pr.number"));
    }

    #[test]
    fn each_service_has_a_name_of_its_own() {
        let names: BTreeSet<&str> = SYSTEMS.iter().map(|system| system.name).collect();
        assert_eq!(names.len(), SYSTEMS.len());
        assert!(names.contains(GITHUB));
    }
}
