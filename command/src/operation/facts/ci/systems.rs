//! The services that are known, with the variables that each sets.

use crate::invocation::Invocation;

/// The name of the service of GitHub.
pub(super) const GITHUB: &str = "GitHub Actions";

/// How a service is recognized.
pub(super) enum Sign {
    /// The variable is set.
    Set(&'static str),
    /// The variable has this value.
    Value(&'static str, &'static str),
    /// The variable is set, and its value is the name of the service.
    Name(&'static str),
}

/// Where the address of a build is.
pub(super) enum Url {
    Variable(&'static str),
    /// It is made of several variables.
    Made(fn(&Invocation) -> Option<String>),
}

/// A service, with the variables that it sets. Of several, the first one that is set counts.
pub(super) struct System {
    pub(super) name: &'static str,
    pub(super) sign: Sign,
    pub(super) id: &'static [&'static str],
    pub(super) number: &'static [&'static str],
    pub(super) kind: &'static [&'static str],
    pub(super) url: Url,
    /// The last commit of what is built.
    pub(super) head: &'static [&'static str],
    /// The number of a pull request.
    pub(super) request: &'static [&'static str],
    pub(super) branch: &'static [&'static str],
    /// The message of the commit.
    pub(super) message: &'static [&'static str],
}

impl System {
    /// Describes a service of which only the name is known.
    const fn named(name: &'static str, sign: Sign) -> Self {
        Self {
            name,
            sign,
            id: &[],
            number: &[],
            kind: &[],
            url: Url::Made(|_| None),
            head: &[],
            request: &[],
            branch: &[],
            message: &[],
        }
    }

    /// Returns the name of the service when it runs the invocation.
    pub(super) fn detected(&self, invocation: &Invocation) -> Option<String> {
        let name = || self.name.to_owned();
        match self.sign {
            Sign::Set(variable) => invocation.variable(variable).map(|_| name()),
            Sign::Value(variable, wanted) => {
                let value = invocation.variable(variable);
                value.filter(|value| *value == wanted).map(|_| name())
            }
            Sign::Name(variable) => invocation.variable(variable).map(str::to_owned),
        }
    }
}

/// The services. What a host says of itself is before what is recognized.
pub(super) static SYSTEMS: [System; 18] = [
    System {
        id: &["PULUMI_CI_BUILD_ID"],
        kind: &["PULUMI_CI_BUILD_TYPE"],
        url: Url::Variable("PULUMI_CI_BUILD_URL"),
        head: &["PULUMI_CI_PULL_REQUEST_SHA"],
        request: &["PULUMI_PR_NUMBER"],
        ..System::named("Generic CI", Sign::Name("PULUMI_CI_SYSTEM"))
    },
    System::named("AppVeyor", Sign::Set("APPVEYOR")),
    System::named("AWS CodeBuild", Sign::Set("CODEBUILD_BUILD_ARN")),
    System::named("Atlassian Bamboo", Sign::Set("bamboo_planKey")),
    System {
        id: &["BITBUCKET_BUILD_NUMBER"],
        url: Url::Made(bitbucket_url),
        head: &["BITBUCKET_COMMIT"],
        request: &["BITBUCKET_PR_ID"],
        branch: &["BITBUCKET_BRANCH"],
        ..System::named("Atlassian Bitbucket Pipelines", Sign::Set("BITBUCKET_COMMIT"))
    },
    System {
        id: &["BUILD_BUILDID"],
        kind: &["BUILD_REASON"],
        url: Url::Made(azure_url),
        head: &["BUILD_SOURCEVERSION"],
        // The first one is that of GitHub, for repositories there.
        request: &[
            "SYSTEM_PULLREQUEST_PULLREQUESTNUMBER",
            "SYSTEM_PULLREQUEST_PULLREQUESTID",
        ],
        branch: &["BUILD_SOURCEBRANCHNAME"],
        message: &["BUILD_SOURCEVERSIONMESSAGE"],
        ..System::named("Azure Pipelines", Sign::Set("TF_BUILD"))
    },
    System {
        id: &["BUILDKITE_BUILD_ID"],
        number: &["BUILDKITE_BUILD_NUMBER"],
        kind: &["BUILDKITE_SOURCE"],
        url: Url::Variable("BUILDKITE_BUILD_URL"),
        head: &["BUILDKITE_COMMIT"],
        request: &["BUILDKITE_PULL_REQUEST"],
        branch: &["BUILDKITE_BRANCH"],
        message: &["BUILDKITE_MESSAGE"],
        ..System::named("Buildkite", Sign::Set("BUILDKITE"))
    },
    System {
        id: &["CIRCLE_BUILD_NUM"],
        url: Url::Variable("CIRCLE_BUILD_URL"),
        head: &["CIRCLE_SHA1"],
        request: &["CIRCLE_PR_NUMBER"],
        branch: &["CIRCLE_BRANCH"],
        ..System::named("CircleCI", Sign::Set("CIRCLECI"))
    },
    System {
        id: &["CF_BUILD_ID"],
        url: Url::Variable("CF_BUILD_URL"),
        head: &["CF_REVISION"],
        request: &["CF_PULL_REQUEST_NUMBER"],
        branch: &["CF_BRANCH"],
        message: &["CF_COMMIT_MESSAGE"],
        ..System::named("Codefresh", Sign::Set("CF_BUILD_URL"))
    },
    System {
        id: &["CI_BUILD_ID"],
        url: Url::Variable("CI_BUILD_URL"),
        head: &["CI_COMMIT_ID"],
        request: &["CI_PR_NUMBER"],
        branch: &["CI_BRANCH"],
        message: &["CI_COMMIT_MESSAGE"],
        ..System::named("Codeship", Sign::Value("CI_NAME", "codeship"))
    },
    System::named("Drone", Sign::Set("DRONE")),
    System {
        id: &["GITHUB_RUN_ID"],
        number: &["GITHUB_RUN_NUMBER"],
        kind: &["GITHUB_EVENT_NAME"],
        url: Url::Made(github_url),
        head: &["GITHUB_SHA"],
        branch: &["GITHUB_REF"],
        ..System::named(GITHUB, Sign::Set("GITHUB_ACTIONS"))
    },
    System {
        id: &["CI_JOB_ID"],
        number: &["CI_PIPELINE_IID"],
        kind: &["CI_PIPELINE_SOURCE"],
        url: Url::Variable("CI_JOB_URL"),
        head: &["CI_COMMIT_SHA"],
        request: &["CI_MERGE_REQUEST_IID"],
        branch: &["CI_COMMIT_REF_NAME"],
        message: &["CI_COMMIT_MESSAGE"],
        ..System::named("GitLab CI/CD", Sign::Set("GITLAB_CI"))
    },
    System::named("GoCD", Sign::Set("GO_PIPELINE_LABEL")),
    System {
        id: &["BUILD_ID"],
        number: &["BUILD_NUMBER"],
        url: Url::Variable("BUILD_URL"),
        head: &["ghprbActualCommit", "GIT_COMMIT"],
        request: &["ghprbPullId", "CHANGE_ID"],
        branch: &["ghprbSourceBranch", "GIT_BRANCH"],
        message: &["ghprbPullLongDescription"],
        ..System::named("Jenkins", Sign::Set("JENKINS_URL"))
    },
    System {
        id: &["TF_VAR_spacelift_run_id"],
        kind: &["TF_VAR_spacelift_run_type"],
        head: &["TF_VAR_spacelift_commit_sha"],
        branch: &["TF_VAR_spacelift_commit_branch"],
        ..System::named("Spacelift", Sign::Set("TF_VAR_spacelift_run_id"))
    },
    System::named("TeamCity", Sign::Set("TEAMCITY_VERSION")),
    System {
        id: &["TRAVIS_JOB_ID"],
        number: &["TRAVIS_JOB_NUMBER"],
        kind: &["TRAVIS_EVENT_TYPE"],
        url: Url::Variable("TRAVIS_BUILD_WEB_URL"),
        head: &["TRAVIS_PULL_REQUEST_SHA"],
        request: &["TRAVIS_PULL_REQUEST"],
        branch: &["TRAVIS_BRANCH"],
        message: &["TRAVIS_COMMIT_MESSAGE"],
        ..System::named("Travis CI", Sign::Set("TRAVIS"))
    },
];

fn azure_url(invocation: &Invocation) -> Option<String> {
    let organization = invocation.variable("SYSTEM_TEAMFOUNDATIONCOLLECTIONURI")?;
    let project = invocation.variable("SYSTEM_TEAMPROJECT")?;
    let id = invocation.variable("BUILD_BUILDID")?;
    let organization = organization.trim_end_matches('/');
    Some(format!("{organization}/{project}/_build/results?buildId={id}"))
}

fn bitbucket_url(invocation: &Invocation) -> Option<String> {
    let repository = invocation.variable("BITBUCKET_GIT_HTTP_ORIGIN")?;
    let id = invocation.variable("BITBUCKET_BUILD_NUMBER")?;
    Some(format!("{repository}/addon/pipelines/home#!/results/{id}"))
}

fn github_url(invocation: &Invocation) -> Option<String> {
    let server = invocation.variable("GITHUB_SERVER_URL");
    let repository = invocation.variable("GITHUB_REPOSITORY")?;
    let id = invocation.variable("GITHUB_RUN_ID")?;
    let server = server.unwrap_or("https://github.com");
    Some(format!("{server}/{repository}/actions/runs/{id}"))
}
