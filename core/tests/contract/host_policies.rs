//! Policies as functions of the host: checks, remediations, checks of the stack, and the analysis of a recorded state.

use std::sync::Arc;

use stackwright::{
    Error, ErrorKind, Stack, StackSettings,
    event::{EnforcementLevel, EventPayload, PolicySeverity, PolicyViolation},
    operation::{AnalysisOptions, OperationKind, OperationOptions, OperationResult},
    policy::{Policy, PolicyPack, PolicyPackOption, PolicyResource},
    property::PropertyValue,
};
use stackwright_testkit::wait::{Ended as _, Within as _};

use crate::fixture::{Scripted, engine, program, stack};

/// Finds resources whose value is `big`.
fn not_big(level: EnforcementLevel) -> Policy {
    let is_big = |resource: &PolicyResource| resource.props.get("value") == Some(&"big".into());
    let check = move |resource: PolicyResource| async move {
        let found = is_big(&resource).then(|| format!("{} is big", resource.name).into());
        Ok(found.into_iter().collect())
    };
    Policy::from_check("not-big", check)
        .with_level(level)
        .with_severity(PolicySeverity::High)
}

/// Finds a stack with more than two resources of the package, at the first of them.
fn few() -> Policy {
    Policy::from_stack_check("few", |stack| async move {
        let own = stack.resources.iter().filter(|resource| {
            resource.resource_type.as_str() == "echo:index:Echo" && resource.props.contains_key("value")
        });
        let urns: Vec<_> = own.map(|resource| resource.urn.clone()).collect();
        Ok(match urns.len() {
            0..=2 => Vec::new(),
            many => vec![stackwright::policy::PolicyFinding {
                message: format!("{many} resources"),
                urn: urns.into_iter().next(),
            }],
        })
    })
    .with_level(EnforcementLevel::Mandatory)
}

fn guard(policies: impl IntoIterator<Item = Policy>) -> PolicyPackOption {
    let pack = PolicyPack {
        version: "1.0.0".to_owned(),
        ..PolicyPack::new("guard", policies)
    };
    pack.into()
}

async fn opened() -> Stack {
    stack(&Arc::new(Scripted::default()), StackSettings::default()).await
}

/// Runs an operation with a pack; returns its result and the reported violations.
async fn run(
    stack: &Stack,
    dry_run: bool,
    pack: PolicyPackOption,
    resources: &'static [(&'static str, &'static str)],
) -> (Arc<OperationResult>, Vec<PolicyViolation>) {
    let options = OperationOptions {
        dry_run,
        local_policy_packs: vec![pack],
        ..OperationOptions::default()
    };
    let operation = stack.start(OperationKind::Update, options, Some(program(resources)));
    let mut events = operation.events();
    let result = operation.ended().await;
    let mut violations = Vec::new();
    while let Some(event) = events.next().within("the next event").await {
        if let EventPayload::PolicyViolation(violation) = &event.payload {
            violations.push(PolicyViolation::clone(violation));
        }
    }
    (result, violations)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mandatory_policy_of_the_host_refuses_a_resource_and_an_advisory_one_reports_it() {
    let stack = opened().await;
    let mandatory = || guard([not_big(EnforcementLevel::Mandatory)]);
    for dry_run in [true, false] {
        let (result, violations) = run(&stack, dry_run, mandatory(), &[("a", "small"), ("b", "big")]).await;
        let error = result.error.as_ref().unwrap();
        assert!(
            error
                .message()
                .contains("policy not-big of guard is violated: b is big"),
            "{error}"
        );
        assert_eq!(violations.len(), 1);
        assert_eq!(
            (violations[0].urn.name(), violations[0].level),
            ("b", EnforcementLevel::Mandatory)
        );
        assert_eq!(
            (&*violations[0].name.pack, &*violations[0].name.version),
            ("guard", "1.0.0")
        );
        assert_eq!(violations[0].severity, Some(PolicySeverity::High));
    }
    let names = stack.snapshot().await.unwrap();
    assert!(names.resources.iter().all(|state| state.urn.name() != "b"));

    let advisory = PolicyPackOption {
        config: [("not-big".to_owned(), "advisory".into())].into(),
        ..mandatory()
    };
    let (result, violations) = run(&stack, false, advisory, &[("a", "small"), ("b", "big")]).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert_eq!(violations[0].level, EnforcementLevel::Advisory);
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_remediate_inputs_in_their_order_before_they_are_checked() {
    let stack = opened().await;
    let longer = |suffix: &'static str| {
        move |resource: PolicyResource| async move {
            let mut inputs = resource.inputs;
            let value = inputs
                .get("value")
                .and_then(PropertyValue::as_str)
                .unwrap_or_default();
            let value = format!("{value}{suffix}");
            inputs.insert("value", value.into());
            Ok(Some(inputs))
        }
    };
    let pack = guard([
        Policy::from_remediation("first", longer("i")),
        Policy::from_remediation("off", longer("x")).with_level(EnforcementLevel::Advisory),
        Policy::from_remediation("second", longer("g")),
        not_big(EnforcementLevel::Mandatory),
    ]);
    let (result, violations) = run(&stack, true, pack.clone(), &[("a", "b")]).await;
    assert_eq!(violations.len(), 1, "{:?}", result.error);
    let (result, violations) = run(&stack, false, pack, &[("a", "c")]).await;
    assert!(
        result.error.is_none() && violations.is_empty(),
        "{:?}",
        result.error
    );
    let snapshot = stack.snapshot().await.unwrap();
    let state = snapshot
        .resources
        .iter()
        .find(|state| state.urn.name() == "a")
        .unwrap();
    assert_eq!(state.inputs.get("value"), Some(&"cig".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_that_fails_ends_the_operation_with_an_error_that_names_policy_and_resource() {
    let stack = opened().await;
    let broken = Policy::from_check("broken", |_| async {
        Err(Error::new(ErrorKind::Program, "it broke"))
    });
    let (result, _) = run(&stack, false, guard([broken]), &[("a", "small")]).await;
    let error = result.error.as_ref().unwrap();
    assert!(
        error
            .message()
            .ends_with("policy pack guard: policy broken failed during Analyze: it broke"),
        "{error}"
    );
    assert!(error.urn().is_some());
    assert!(result.snapshot.resources.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_analysis_finds_violations_in_the_recorded_state_without_changing_it() {
    let stack = opened().await;
    let resources = &[("a", "small"), ("b", "big"), ("c", "small")];
    let operation = stack.start(
        OperationKind::Update,
        OperationOptions::default(),
        Some(program(resources)),
    );
    assert!(operation.ended().await.error.is_none());
    let before = stack.export_deployment(false).await.unwrap();
    let history = stack.history().await.unwrap().len();

    let packs = [
        guard([not_big(EnforcementLevel::Advisory), few()]),
        PolicyPack::new("other", [not_big(EnforcementLevel::Remediate)]).into(),
    ];
    let analysis = stack.analyze(&AnalysisOptions::new(packs)).await.unwrap();
    let found: Vec<_> = analysis
        .violations
        .iter()
        .map(|violation| {
            (
                violation.urn.name(),
                &*violation.name.pack,
                &*violation.name.policy,
                violation.level,
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            ("b", "guard", "not-big", EnforcementLevel::Advisory),
            ("b", "other", "not-big", EnforcementLevel::Mandatory),
            ("a", "guard", "few", EnforcementLevel::Mandatory),
        ]
    );
    assert!(!analysis.passed());
    assert_eq!(analysis.policy_packs["guard"], "(local)");
    assert_eq!(stack.export_deployment(false).await.unwrap(), before);
    assert_eq!(stack.history().await.unwrap().len(), history);
    assert_eq!(stack.unlock().await.unwrap(), 0, "no lock is left");

    let harmless = stack
        .analyze(&AnalysisOptions::new([guard([not_big(
            EnforcementLevel::Advisory,
        )])]))
        .await
        .unwrap();
    assert!(harmless.passed() && harmless.violations.len() == 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_is_analyzed_while_an_operation_holds_its_lock() {
    let stack = opened().await;
    let own = stack.clone();
    let analyzer = Policy::from_check("analyzer", move |_| {
        let stack = own.clone();
        async move {
            let analysis = stack.analyze(&AnalysisOptions::new([guard([few()])])).await?;
            assert!(analysis.passed());
            Ok(Vec::new())
        }
    });
    let (result, _) = run(&stack, false, guard([analyzer]), &[("a", "small")]).await;
    assert!(result.error.is_none(), "{:?}", result.error);
}

#[tokio::test(flavor = "multi_thread")]
async fn packs_of_the_host_that_are_wrong_in_themselves_are_refused_before_anything_happens() {
    let stack = opened().await;
    let twice = guard([
        not_big(EnforcementLevel::Advisory),
        not_big(EnforcementLevel::Advisory),
    ]);
    let (result, _) = run(&stack, false, twice.clone(), &[("a", "small")]).await;
    let error = result.error.as_ref().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert!(error.message().contains("two policies \"not-big\""), "{error}");
    assert_eq!(
        stack
            .analyze(&AnalysisOptions::new([twice]))
            .await
            .unwrap_err()
            .kind(),
        ErrorKind::InvalidInput
    );
    let addressed = PolicyPackOption {
        address: "127.0.0.1:1".to_owned(),
        ..guard([few()])
    };
    let error = stack
        .analyze(&AnalysisOptions::new([addressed]))
        .await
        .unwrap_err();
    assert!(
        error.message().contains("functions of the host and an address"),
        "{error}"
    );
}

#[tokio::test]
async fn a_stack_that_does_not_exist_is_not_compliant_but_an_error() {
    let engine = engine().build().unwrap();
    let misspelt = engine.stack("shop/dv", StackSettings::default()).await.unwrap();
    let packs = [guard([not_big(EnforcementLevel::Mandatory)])];
    let error = misspelt.analyze(&AnalysisOptions::new(packs)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
}
