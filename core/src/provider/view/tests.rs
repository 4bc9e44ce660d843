//! Tests of published steps, and of the JSON of views.

use serde_json::json;

use super::*;
use crate::{
    provider::{ProviderResult, ProviderStatus},
    resource::ResourceState,
    urn::Urn,
};

fn owner() -> Urn {
    Urn::new("dev", "shop", "", "pkg:index:Owner", "o")
}

fn view(name: &str) -> View {
    View {
        resource_type: "pkg:index:Part".into(),
        name: name.to_owned(),
        ..View::default()
    }
}

fn inside(name: &str, parent: &str) -> View {
    View {
        parent: Some(ViewName {
            resource_type: "pkg:index:Part".into(),
            name: parent.to_owned(),
        }),
        ..view(name)
    }
}

fn views() -> Views {
    Views::open(&owner(), [].into_iter())
}

fn refusal(result: ProviderResult<()>) -> (ProviderStatus, String) {
    let error = result.unwrap_err();
    (error.status, error.message)
}

#[test]
fn the_urn_of_a_view_contains_its_parents() {
    let views = views();
    let steps = vec![
        ViewStep::new(StepOp::Create, None, Some(view("a"))),
        ViewStep::new(StepOp::Create, None, Some(inside("b", "a"))),
    ];
    views.publish(steps).unwrap();
    let urns: Vec<_> = views
        .close()
        .into_iter()
        .map(|published| published.urn.to_string())
        .collect();
    assert_eq!(
        urns,
        [
            "urn:pulumi:dev::shop::pkg:index:Owner$pkg:index:Part::a",
            "urn:pulumi:dev::shop::pkg:index:Owner$pkg:index:Part$pkg:index:Part::b",
        ]
    );
}

#[test]
fn a_step_without_type_name_or_new_state_is_refused() {
    let step = |op, kind: &str, name: &str| ViewStep {
        resource_type: kind.into(),
        name: name.to_owned(),
        ..ViewStep::new(op, None, None)
    };
    let message = |step| refusal(views().publish(vec![step])).1;
    assert_eq!(message(step(StepOp::Delete, "", "a")), "type is required");
    assert_eq!(
        message(step(StepOp::Delete, "pkg:index:Part", "")),
        "name is required"
    );
    assert_eq!(
        message(step(StepOp::Update, "pkg:index:Part", "a")),
        "the step update of view pkg:index:Part 'a' needs a new state"
    );
}

#[test]
fn the_parent_of_a_view_must_exist() {
    let gone = "parent view pkg:index:Part 'a' of view pkg:index:Part 'b' was not found".to_owned();
    let late = vec![
        ViewStep::new(StepOp::Create, None, Some(inside("b", "a"))),
        ViewStep::new(StepOp::Create, None, Some(view("a"))),
    ];
    assert_eq!(
        refusal(views().publish(late)),
        (ProviderStatus::InvalidArgument, gone.clone())
    );
    let removed = vec![
        ViewStep::new(StepOp::Create, None, Some(view("a"))),
        ViewStep::new(StepOp::Delete, Some(view("a")), None),
        ViewStep::new(StepOp::Create, None, Some(inside("b", "a"))),
    ];
    assert_eq!(refusal(views().publish(removed)).1, gone);
    let failed = ViewStep {
        error: "no".to_owned(),
        ..ViewStep::new(StepOp::Create, None, Some(view("a")))
    };
    let steps = vec![
        failed,
        ViewStep::new(StepOp::Create, None, Some(inside("b", "a"))),
    ];
    assert_eq!(refusal(views().publish(steps)).1, gone);
}

#[test]
fn a_nested_view_may_be_deleted_after_its_parent() {
    let views = views();
    let steps = vec![
        ViewStep::new(StepOp::Create, None, Some(view("a"))),
        ViewStep::new(StepOp::Create, None, Some(inside("b", "a"))),
        ViewStep::new(StepOp::Delete, Some(view("a")), None),
        ViewStep::new(StepOp::Delete, Some(inside("b", "a")), None),
    ];
    views.publish(steps).unwrap();
    assert_eq!(views.close().len(), 4);
}

#[test]
fn a_refused_list_of_steps_is_not_published() {
    let views = views();
    let steps = vec![
        ViewStep::new(StepOp::Create, None, Some(view("a"))),
        ViewStep::new(StepOp::Create, None, Some(inside("b", "c"))),
    ];
    views.publish(steps).unwrap_err();
    assert_eq!(views.close(), []);
}

#[test]
fn steps_after_the_end_of_the_call_are_refused() {
    let views = views();
    assert_eq!(views.close(), []);
    let (status, message) = refusal(views.publish(Vec::new()));
    assert_eq!(
        (status, &*message),
        (ProviderStatus::FailedPrecondition, "the operation has ended")
    );
    assert!(Views::default().publish(Vec::new()).is_err());
}

#[test]
fn a_recorded_view_has_its_parent_view() {
    let mut outer = ResourceState::new(
        Urn::new("dev", "shop", "pkg:index:Owner", "pkg:index:Part", "a"),
        "pkg:index:Part".into(),
        false,
    );
    outer.parent = Some(owner());
    outer.view_of = Some(owner());
    let mut inner = ResourceState::new(
        Urn::new("dev", "shop", outer.urn.qualified_type(), "pkg:index:Part", "b"),
        "pkg:index:Part".into(),
        false,
    );
    inner.parent = Some(outer.urn.clone());
    inner.view_of = Some(owner());
    let views = Views::open(&owner(), [&outer, &inner].into_iter());
    assert_eq!(views.recorded(), [view("a"), inside("b", "a")]);
    // A view with type and name only is found at any depth.
    let step = ViewStep {
        resource_type: "pkg:index:Part".into(),
        name: "b".to_owned(),
        ..ViewStep::new(StepOp::Delete, None, None)
    };
    views.publish(vec![step]).unwrap();
    assert_eq!(views.close()[0].urn, inner.urn);
}

#[test]
fn a_step_is_read_from_json_and_a_view_written_as_such() {
    let part = json!({"type": "pkg:index:Part", "name": "b", "parentType": "pkg:index:Part", "parentName": "a",
        "inputs": {"size": 1}, "outputs": {}});
    let step: ViewStep = serde_json::from_value(json!({
        "op": "update", "new": part, "diffs": ["size"], "status": "partial-failure", "error": "half done",
        "detailedDiff": {"size": {"kind": "update", "inputDiff": true}},
    }))
    .unwrap();
    assert_eq!(
        (step.op, step.resource_type.as_str(), &*step.name),
        (StepOp::Update, "pkg:index:Part", "b")
    );
    assert!(step.has_failed() && step.status == OperationStatus::PartialFailure);
    assert!(step.detailed_diff.unwrap()["size"].input_diff);
    assert_eq!(serde_json::to_value(step.new).unwrap(), part);
    let nameless = serde_json::from_value::<ViewStep>(json!({"op": "create"})).unwrap_err();
    assert_eq!(
        nameless.to_string(),
        "a step on a view needs its type and its name"
    );
}

#[test]
fn type_and_name_of_a_step_are_those_of_its_new_state_else_of_its_old_one() {
    let nameless = |old, new| ViewStep {
        resource_type: "".into(),
        name: String::new(),
        ..ViewStep::new(StepOp::Update, old, new)
    };
    let deleted = ViewStep {
        op: StepOp::Delete,
        ..nameless(Some(view("b")), None)
    };
    let views = views();
    let steps = vec![nameless(Some(view("a")), Some(view("b"))), deleted];
    views.publish(steps).unwrap();
    let published = views.close();
    let names: Vec<_> = published
        .iter()
        .map(|published| (published.urn.name(), published.step.name.as_str()))
        .collect();
    assert_eq!(names, [("b", "b"), ("b", "b")]);
}
