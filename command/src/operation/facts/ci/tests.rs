//! Tests of services, with the variables that they set.

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
            "ci.system=Codeship",
        ),
        (&[("HUDSON_URL", "u")], "ci.system=Hudson"),
        (&[("MAGNUM", "true")], "ci.system=Magnum CI"),
        (&[("SEMAPHORE", "true")], "ci.system=Semaphore"),
        (&[("RUN_ID", "0"), ("TASK_ID", "a")], "ci.system=TaskCluster"),
        (
            &[
                ("TF_VAR_spacelift_commit_branch", "b"),
                ("TF_VAR_spacelift_run_id", "1"),
            ],
            "ci.system=Spacelift",
        ),
        (&[("TF_VAR_spacelift_run_id", "1")], ""),
        (
            &[
                ("TRAVIS", "true"),
                ("PULUMI_CI_SYSTEM", "Own"),
                ("PULUMI_CI_BUILD_NUMBER", "2"),
                ("PULUMI_PR_NUMBER", "3"),
            ],
            "ci.system=Own ci.build.number=2 ci.pr.number=3",
        ),
        (&[("TRAVIS", "true"), ("PULUMI_DISABLE_CI_DETECTION", "0")], ""),
    ] {
        assert_eq!(facts(variables), expected, "{variables:?}");
    }
}

#[test]
fn variables_of_services_have_their_facts() {
    for (variables, expected) in [
        (
            &[
                ("GITLAB_CI", "true"),
                ("CI_JOB_ID", "1"),
                ("CI_PIPELINE_ID", "4"),
                ("CI_MERGE_REQUEST_IID", "2"),
            ][..],
            "ci.system=GitLab CI/CD ci.build.id=4 ci.pr.number=2",
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
                ("JENKINS_URL", "u"),
                ("BUILD_ID", "1"),
                ("BUILD_NUMBER", "2"),
                ("CHANGE_ID", "3"),
            ],
            "ci.system=Jenkins ci.build.id=2",
        ),
        (
            &[("JENKINS_URL", "u"), ("BUILD_ID", "1")],
            "ci.system=Jenkins ci.build.id=1",
        ),
        (
            &[("CIRCLECI", "true"), ("CIRCLE_PR_NUMBER", "1")],
            "ci.system=CircleCI",
        ),
    ] {
        assert_eq!(facts(variables), expected, "{variables:?}");
    }
}

#[test]
fn the_type_of_a_build_follows_from_the_number_of_its_pull_request() {
    for (variables, expected) in [
        (
            &[
                ("BUILDKITE", "true"),
                ("BUILDKITE_PULL_REQUEST", "false"),
                ("BUILDKITE_SOURCE", "ui"),
            ][..],
            "ci.system=Buildkite ci.build.type=ui",
        ),
        (
            &[
                ("BUILDKITE", "true"),
                ("BUILDKITE_PULL_REQUEST", "7"),
                ("BUILDKITE_SOURCE", "ui"),
            ],
            "ci.system=Buildkite ci.build.type=PullRequest ci.pr.number=7",
        ),
        (
            &[("CF_BUILD_URL", "https://cf/1"), ("CF_PULL_REQUEST_NUMBER", "7")],
            "ci.system=Codefresh ci.build.type=Push ci.build.url=https://cf/1 ci.pr.number=7",
        ),
        (
            &[("CF_BUILD_URL", "https://cf/1")],
            "ci.system=Codefresh ci.build.type=PullRequest ci.build.url=https://cf/1",
        ),
    ] {
        assert_eq!(facts(variables), expected, "{variables:?}");
    }
}

#[test]
fn a_pull_request_in_azure_has_the_commit_of_its_source_on_github() {
    let azure = [
        ("TF_BUILD", "True"),
        ("SYSTEM_TEAMFOUNDATIONCOLLECTIONURI", "https://dev.azure.com/org/"),
        ("SYSTEM_TEAMPROJECT", "shop"),
        ("BUILD_BUILDID", "7"),
        ("BUILD_SOURCEVERSION", "merged"),
        ("BUILD_SOURCEBRANCHNAME", "merge"),
        ("SYSTEM_PULLREQUEST_SOURCEBRANCH", "refs/heads/source"),
        ("SYSTEM_PULLREQUEST_SOURCECOMMITID", "own"),
        ("SYSTEM_PULLREQUEST_PULLREQUESTNUMBER", "12"),
        ("SYSTEM_PULLREQUEST_PULLREQUESTID", "3456"),
        ("BUILD_REPOSITORY_PROVIDER", "GitHub"),
    ];
    let url = "https://dev.azure.com/org/shop/_build/results?buildId=7";
    let of = |facts: &str| format!("ci.system=Azure Pipelines ci.build.id=7 ci.build.url={url} {facts}");
    let branch = |variables: &[(&str, &str)]| Build::of(&invocation(variables)).unwrap().branch;
    assert_eq!(facts(&azure), of("ci.pr.headSHA=own ci.pr.number=12"));
    assert_eq!(branch(&azure).as_deref(), Some("refs/heads/source"));
    let others = &azure[..10];
    assert_eq!(facts(others), of("ci.pr.headSHA=merged ci.pr.number=3456"));
    assert_eq!(branch(others).as_deref(), Some("refs/heads/source"));
    assert_eq!(branch(&azure[..9]).as_deref(), Some("merge"));
    let url = "//_build/results?buildId=";
    assert_eq!(
        facts(&azure[..1]),
        format!("ci.system=Azure Pipelines ci.build.url={url}")
    );
}

#[test]
fn passwords_of_addresses_reach_no_fact() {
    let bitbucket = |origin| {
        let variables = [
            ("BITBUCKET_COMMIT", "abc"),
            ("BITBUCKET_BUILD_NUMBER", "1"),
            ("BITBUCKET_GIT_HTTP_ORIGIN", origin),
        ];
        facts(&variables)
    };
    let of =
        |url: &str| format!("ci.system=Atlassian Bitbucket Pipelines ci.build.id=1{url} ci.pr.headSHA=abc");
    assert_eq!(
        bitbucket("https://x-token-auth:hunter2@bitbucket.org/o/r"),
        of(" ci.build.url=https://bitbucket.org/o/r/addon/pipelines/home#!/results/1")
    );
    assert_eq!(bitbucket("https://x:hunt/er2@bitbucket.org/o/r"), of(""));
    let variables = [
        ("PULUMI_CI_SYSTEM", "https://user:hunter2@a"),
        ("PULUMI_CI_BUILD_ID", "https://user:hunter2@b"),
        ("PULUMI_CI_BUILD_URL", "https://user:hunter2@c"),
    ];
    let expected = "ci.system=https://a ci.build.id=https://b ci.build.url=https://c";
    assert_eq!(facts(&variables), expected);
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
        r#"{"number": 12, "pull_request": {"head": {"sha": "own", "ref": "feature"}}}"#,
    )
    .unwrap();
    assert_eq!(facts(&variables), of("own") + " ci.pr.number=12");
    let build = Build::of(&invocation(&variables)).unwrap();
    assert_eq!(build.branch.as_deref(), Some("feature"));
    let target = [&variables[..5], &[("GITHUB_EVENT_NAME", "pull_request_target")]].concat();
    assert!(!facts(&target).contains("ci.pr.number"));
    // What is absent is zero or empty, as in the reference engine.
    fs::write(&path, r#"{"number": 12, "pull_request": null}"#).unwrap();
    assert!(facts(&variables).ends_with(&format!("{url} ci.pr.number=12")));
    for malformed in ["", "[", r#"{"number": "12"}"#] {
        fs::write(&path, malformed).unwrap();
        assert_eq!(facts(&variables), of("merged"), "{malformed}");
    }
    assert!(!facts(&variables[..5]).contains("ci.pr.number"));
}

#[test]
fn each_service_has_a_name_of_its_own() {
    let names: BTreeSet<&str> = SYSTEMS.iter().map(|system| system.name).collect();
    assert_eq!(names.len(), SYSTEMS.len());
}
