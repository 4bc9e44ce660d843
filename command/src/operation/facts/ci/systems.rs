//! The services that are known.

use super::{
    complete,
    system::{NONE, Sign, System, Variables},
};

/// The services. The one that a host names itself is before those that are recognized.
pub(super) static SYSTEMS: [System; 22] = [
    System {
        sign: Sign::Name("PULUMI_CI_SYSTEM"),
        ..System::new(
            "Generic CI",
            &[],
            Variables {
                id: "PULUMI_CI_BUILD_ID",
                number: "PULUMI_CI_BUILD_NUMBER",
                kind: "PULUMI_CI_BUILD_TYPE",
                url: "PULUMI_CI_BUILD_URL",
                head: "PULUMI_CI_PULL_REQUEST_SHA",
                request: "PULUMI_PR_NUMBER",
                branch: "PULUMI_CI_BRANCH_NAME",
                message: "PULUMI_COMMIT_MESSAGE",
            },
        )
    },
    System::named("AppVeyor", &["APPVEYOR"]),
    System::named("AWS CodeBuild", &["CODEBUILD_BUILD_ARN"]),
    System::named("Atlassian Bamboo", &["bamboo_planKey"]),
    System {
        complete: complete::bitbucket,
        ..System::new(
            "Atlassian Bitbucket Pipelines",
            &["BITBUCKET_COMMIT"],
            Variables {
                id: "BITBUCKET_BUILD_NUMBER",
                head: "BITBUCKET_COMMIT",
                request: "BITBUCKET_PR_ID",
                branch: "BITBUCKET_BRANCH",
                ..NONE
            },
        )
    },
    System {
        complete: complete::azure,
        ..System::new(
            "Azure Pipelines",
            &["TF_BUILD"],
            Variables {
                id: "BUILD_BUILDID",
                kind: "BUILD_REASON",
                head: "BUILD_SOURCEVERSION",
                request: "SYSTEM_PULLREQUEST_PULLREQUESTID",
                branch: "BUILD_SOURCEBRANCHNAME",
                message: "BUILD_SOURCEVERSIONMESSAGE",
                ..NONE
            },
        )
    },
    System {
        complete: complete::buildkite,
        ..System::new(
            "Buildkite",
            &["BUILDKITE"],
            Variables {
                id: "BUILDKITE_BUILD_ID",
                number: "BUILDKITE_BUILD_NUMBER",
                kind: "BUILDKITE_SOURCE",
                url: "BUILDKITE_BUILD_URL",
                head: "BUILDKITE_COMMIT",
                request: "BUILDKITE_PULL_REQUEST",
                branch: "BUILDKITE_BRANCH",
                message: "BUILDKITE_MESSAGE",
            },
        )
    },
    System::new(
        "CircleCI",
        &["CIRCLECI"],
        Variables {
            id: "CIRCLE_BUILD_NUM",
            url: "CIRCLE_BUILD_URL",
            head: "CIRCLE_SHA1",
            branch: "CIRCLE_BRANCH",
            ..NONE
        },
    ),
    System {
        complete: complete::codefresh,
        ..System::new(
            "Codefresh",
            &["CF_BUILD_URL"],
            Variables {
                id: "CF_BUILD_ID",
                url: "CF_BUILD_URL",
                head: "CF_REVISION",
                request: "CF_PULL_REQUEST_NUMBER",
                branch: "CF_BRANCH",
                message: "CF_COMMIT_MESSAGE",
                ..NONE
            },
        )
    },
    System {
        sign: Sign::Value("CI_NAME", "codeship"),
        ..System::named("Codeship", &[])
    },
    System::named("Drone", &["DRONE"]),
    System {
        complete: complete::github,
        ..System::new(
            "GitHub Actions",
            &["GITHUB_ACTIONS"],
            Variables {
                id: "GITHUB_RUN_ID",
                number: "GITHUB_RUN_NUMBER",
                kind: "GITHUB_EVENT_NAME",
                head: "GITHUB_SHA",
                branch: "GITHUB_REF",
                ..NONE
            },
        )
    },
    System::new(
        "GitLab CI/CD",
        &["GITLAB_CI"],
        Variables {
            id: "CI_PIPELINE_ID",
            number: "CI_PIPELINE_IID",
            kind: "CI_PIPELINE_SOURCE",
            url: "CI_JOB_URL",
            head: "CI_COMMIT_SHA",
            request: "CI_MERGE_REQUEST_IID",
            branch: "CI_COMMIT_REF_NAME",
            message: "CI_COMMIT_MESSAGE",
        },
    ),
    System::named("GoCD", &["GO_PIPELINE_LABEL"]),
    System::named("Hudson", &["HUDSON_URL"]),
    System {
        complete: complete::jenkins,
        ..System::new(
            "Jenkins",
            &["JENKINS_URL"],
            Variables {
                id: "BUILD_NUMBER",
                url: "BUILD_URL",
                head: "GIT_COMMIT",
                branch: "GIT_BRANCH",
                ..NONE
            },
        )
    },
    System::named("Magnum CI", &["MAGNUM"]),
    System::named("Semaphore", &["SEMAPHORE"]),
    System::named(
        "Spacelift",
        &[
            "SPACELIFT_MAX_REQUESTS_BURST",
            "SPACELIFT_STORE_HOOKS_ENV_VARS",
            "SPACELIFT_WORKER_TRACING_ENABLED",
            "TF_VAR_spacelift_commit_branch",
            "TF_VAR_spacelift_run_trigger",
        ],
    ),
    System::named("TaskCluster", &["TASK_ID", "RUN_ID"]),
    System::named("TeamCity", &["TEAMCITY_VERSION"]),
    System {
        complete: complete::travis,
        ..System::new(
            "Travis CI",
            &["TRAVIS"],
            Variables {
                id: "TRAVIS_JOB_ID",
                number: "TRAVIS_JOB_NUMBER",
                kind: "TRAVIS_EVENT_TYPE",
                url: "TRAVIS_BUILD_WEB_URL",
                head: "TRAVIS_PULL_REQUEST_SHA",
                request: "TRAVIS_PULL_REQUEST",
                branch: "TRAVIS_BRANCH",
                message: "TRAVIS_COMMIT_MESSAGE",
            },
        )
    },
];
