mod copies;

use std::{sync::Arc, time::Duration};

use super::*;
use crate::{
    error::Error,
    event::{
        OperationOutcome, OperationStatus, StateMetadata, StepError, StepEvent, StepMetadata, StepResult,
        changes_between,
    },
    property::{PropertyMap, PropertyValue},
    resource::ResourceState,
    secrets::Redactor,
    state::Snapshot,
    step::StepOp,
};

const SECRET: &str = "hunter2-hunter2";

fn urn(name: &str) -> Urn {
    match name {
        "stack" => Urn::root_stack("dev", "shop"),
        _ => Urn::new("dev", "shop", "", "files:index:File", name),
    }
}

fn state(name: &str, parent: Option<&str>, depends_on: &[&str]) -> ResourceState {
    let resource_type = if name == "stack" {
        "pulumi:pulumi:Stack"
    } else {
        "files:index:File"
    };
    let mut state = ResourceState::new(
        urn(name),
        resource_type.into(),
        name != "stack" && !name.starts_with("group"),
    );
    state.parent = parent.map(urn);
    state.dependencies = depends_on.iter().map(|name| urn(name)).collect();
    state.inputs.insert("size", 1.0.into());
    state
}

fn snapshot(states: Vec<ResourceState>) -> Snapshot {
    Snapshot {
        resources: states.into_iter().map(Arc::new).collect(),
        ..Snapshot::default()
    }
}

fn shop() -> Snapshot {
    let mut secret = state("b", Some("group"), &["a"]);
    secret
        .inputs
        .insert("password", PropertyValue::secret(SECRET.into()));
    secret
        .inputs
        .insert("url", PropertyValue::string(format!("u:{SECRET}@host")));
    snapshot(vec![
        state("stack", None, &[]),
        state("a", Some("stack"), &[]),
        state("group", Some("stack"), &[]),
        secret,
    ])
}

fn step(op: StepOp, old: Option<ResourceState>, new: Option<ResourceState>) -> StepResult {
    let known = new.as_ref().or(old.as_ref()).unwrap();
    let metadata = StepMetadata {
        op,
        urn: known.urn.clone(),
        resource_type: known.resource_type.clone(),
        diffs: if op == StepOp::Update {
            vec!["size".to_owned()]
        } else {
            Vec::new()
        },
        old: old.map(|state| StateMetadata(Arc::new(state))),
        new: new.map(|state| StateMetadata(Arc::new(state))),
        keys: Vec::new(),
        detailed_diff: None,
        logical: true,
        provider: "".into(),
    };
    StepResult {
        step: Arc::new(StepEvent {
            metadata,
            planning: true,
        }),
        duration: Duration::ZERO,
        failure: None,
    }
}

fn ops(graph: &Picture) -> Vec<(&str, &str)> {
    graph
        .nodes()
        .iter()
        .map(|node| (node.name.as_str(), node.op))
        .collect()
}

#[test]
fn a_state_has_parents_before_children_and_dependencies_as_places() {
    let graph = Picture::of_state("dev", &shop());
    let of = |name: &str| {
        graph
            .nodes()
            .iter()
            .position(|node| node.urn == urn(name))
            .unwrap()
    };
    let b = graph.node(&urn("b")).unwrap();
    assert_eq!(
        (b.parent, b.depends_on.as_slice()),
        (Some(of("group")), [of("a")].as_slice())
    );
    assert_eq!(
        (
            b.kind,
            graph.nodes()[of("group")].kind,
            graph.nodes()[of("stack")].kind
        ),
        ("resource", "component", "stack")
    );
}

#[test]
fn no_form_of_a_graph_has_a_secret() {
    let graph = Picture::of_state("dev", &shop());
    let values: Vec<_> = graph
        .node(&urn("b"))
        .unwrap()
        .properties
        .iter()
        .map(|property| property.new.clone().unwrap())
        .collect();
    assert_eq!(values, ["[secret]", "1", "\"u:[secret]@host\""]);
    for text in [graph.to_html(), graph.to_mermaid(), graph.to_dot()] {
        assert!(!text.contains(SECRET));
    }
}

#[test]
fn steps_name_what_happens_and_list_what_changes() {
    let larger = || {
        let mut state = state("a", Some("stack"), &[]);
        state.inputs.insert("size", 2.0.into());
        state
    };
    let steps = [
        step(
            StepOp::Update,
            Some(state("a", Some("stack"), &[])),
            Some(larger()),
        ),
        step(StepOp::Create, None, Some(state("c", Some("group"), &["b"]))),
        step(StepOp::Delete, Some(state("gone", Some("stack"), &[])), None),
    ];
    let graph = Picture::of_steps("Preview".to_owned(), &shop(), &steps, true, &Redactor::new());
    assert_eq!(
        ops(&graph),
        [
            ("shop-dev", "same"),
            ("a", "update"),
            ("group", "same"),
            ("b", "same"),
            ("c", "create"),
            ("gone", "delete")
        ]
    );
    let change = &graph.node(&urn("a")).unwrap().properties[0];
    assert_eq!(
        (change.kind, change.old.as_deref(), change.new.as_deref()),
        (Some("update"), Some("1"), Some("2"))
    );
    assert_eq!(graph.node(&urn("c")).unwrap().properties[0].kind, Some("add"));
    assert_eq!(
        graph.node(&urn("gone")).unwrap().properties[0].old.as_deref(),
        Some("1")
    );
}

#[test]
fn the_steps_of_a_replacement_are_one_node_and_a_failure_is_shown() {
    let mut failed = step(
        StepOp::CreateReplacement,
        Some(state("a", Some("stack"), &[])),
        Some(state("a", Some("stack"), &[])),
    );
    failed.failure = Some(StepError {
        status: OperationStatus::Unknown,
        refused: false,
        error: Error::internal(format!("the disk of {SECRET} is full")),
    });
    let steps = [
        failed,
        step(
            StepOp::Replace,
            Some(state("a", Some("stack"), &[])),
            Some(state("a", Some("stack"), &[])),
        ),
        step(StepOp::DeleteReplaced, Some(state("a", Some("stack"), &[])), None),
    ];
    let redactor = Redactor::new();
    redactor.learn([SECRET]);
    let graph = Picture::of_steps("Update".to_owned(), &shop(), &steps, false, &redactor);
    let node = graph.node(&urn("a")).unwrap();
    assert_eq!(
        (node.op, node.failure.as_deref()),
        ("replace", Some("the disk of [secret] is full"))
    );
}

#[test]
fn a_failed_operation_and_changed_outputs_are_named() {
    let redactor = Redactor::new();
    redactor.learn([SECRET]);
    let error = format!("the program raised {SECRET}");
    let graph = Picture::of_steps("Update".to_owned(), &shop(), &[], false, &redactor).ended(
        OperationOutcome::Failed,
        Some(&error),
        &redactor,
    );
    assert_eq!(graph.error(), Some("the program raised [secret]"));
    assert!(
        graph
            .to_html()
            .contains(r#""outcome":"failed","error":"the program raised [secret]""#)
    );

    let before = PropertyMap::from_iter([("gone", "1".into()), ("same", "2".into()), ("url", SECRET.into())]);
    let after = PropertyMap::from_iter([
        ("key", PropertyValue::secret("k3y".into())),
        ("same", "2".into()),
        ("url", "there".into()),
    ]);
    let changes = changes_between(&before, &after, &redactor);
    let graph = graph.with_outputs(changes, &after, &redactor);
    let outputs: Vec<_> = (graph.outputs().iter())
        .map(|output| {
            (
                &*output.path,
                output.kind,
                output.old.as_deref(),
                output.new.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        outputs,
        [
            ("gone", Some("delete"), Some("\"1\""), None),
            ("key", Some("add"), None, Some("[secret]")),
            ("url", Some("update"), Some("[secret]"), Some("\"there\"")),
        ]
    );
    let unchanged = graph.with_outputs(Vec::new(), &after, &redactor);
    assert_eq!(unchanged.outputs().len(), 3);
    assert!(!unchanged.to_html().contains("k3y"));
}

#[test]
fn an_id_that_contains_a_secret_has_a_mask_in_its_place() {
    let mut named = state("a", Some("stack"), &[]);
    named.id = format!("id-{SECRET}").into();
    named
        .inputs
        .insert("password", PropertyValue::secret(SECRET.into()));
    let of_state = Picture::of_state("dev", &snapshot(vec![named.clone()]));
    let redactor = Redactor::new();
    redactor.learn([SECRET]);
    let steps = [step(StepOp::Create, None, Some(named))];
    let of_steps = Picture::of_steps("Update".to_owned(), &shop(), &steps, false, &redactor);
    for picture in [of_state, of_steps] {
        assert_eq!(picture.node(&urn("a")).unwrap().id, "id-[secret]");
        assert!(!picture.to_html().contains(SECRET));
    }
}

#[test]
fn texts_of_a_resource_end_no_element_of_the_page() {
    let mut odd = state("</script><script>alert(1)", Some("stack"), &[]);
    odd.inputs.insert("text", "<!--{{script}}".into());
    let page = Picture::of_state("<b>\"dev\"", &snapshot(vec![odd])).to_html();
    assert!(!page.contains("</script><script>alert") && !page.contains("<!--{{script}}"));
    assert!(page.contains("<title>&lt;b&gt;&quot;dev&quot;</title>"));
    assert_eq!(page.matches("<script").count(), 3);
}

#[test]
fn a_page_makes_no_request() {
    let page = Picture::of_state("dev", &shop()).to_html();
    let (page, library) = page.split_once("!function").unwrap();
    assert!(page.contains("default-src 'none'"));
    assert!(!page.contains("src=\"") && !page.contains("href=\"") && !library.contains("@import"));
}

#[test]
fn text_forms_group_components_and_escape_names() {
    let mut odd = state("say \"hi\"", Some("group"), &["b", "group"]);
    odd.inputs = PropertyMap::new();
    let mut shop = shop();
    shop.resources.push(Arc::new(odd));
    let graph = Picture::of_state("dev", &shop);
    assert_eq!(
        graph.to_mermaid(),
        "flowchart LR\n  n1[\"a<br/><small>files:index:File</small>\"]\n  subgraph n2[\"group (files:index:File)\"]\n    \
         n3[\"b<br/><small>files:index:File</small>\"]\n    n4[\"say #quot;hi#quot;<br/><small>files:index:File</small>\"]\n  end\n  \
         n1 --> n3\n  n3 --> n4\n"
    );
    let dot = graph.to_dot();
    assert!(
        dot.contains("subgraph cluster_n2 {\n    label=\"group (files:index:File)\";\n"),
        "{dot}"
    );
    assert!(
        dot.contains("n4 [label=\"say \\\"hi\\\"\\nfiles:index:File\"];"),
        "{dot}"
    );
    assert!(
        dot.contains("  n1 -> n3;\n") && dot.contains("  n3 -> n4;\n"),
        "{dot}"
    );
}

#[test]
fn names_give_no_directives_to_the_text_forms() {
    let odd = state("%%{init: {}}%% `tick` \\n", None, &[]);
    let graph = Picture::of_state("dev", &snapshot(vec![odd]));
    let mermaid = graph.to_mermaid();
    assert!(
        mermaid.contains("n0[\"#37;#37;{init: {}}#37;#37; #96;tick#96; #92;n<br/>"),
        "{mermaid}"
    );
    let dot = graph.to_dot();
    assert!(
        dot.contains("n0 [label=\"%%{init: {}}%% `tick` \\\\n\\nfiles:index:File\"];"),
        "{dot}"
    );
}

#[test]
fn parents_that_form_a_circle_and_absent_ones_are_left_out() {
    let states = vec![
        state("a", Some("b"), &[]),
        state("b", Some("a"), &["b"]),
        state("c", Some("absent"), &["absent"]),
    ];
    let graph = Picture::of_state("dev", &snapshot(states));
    assert_eq!(graph.len(), 3);
    for (at, node) in graph.nodes().iter().enumerate() {
        assert!(node.parent.is_none_or(|parent| parent < at) && node.depends_on.is_empty());
    }
    assert!(graph.to_dot().ends_with("}\n"));
}

/// Returns the resource `user-…` whose name, names of members and input are a secret.
fn named_by_secret() -> ResourceState {
    let mut state = state(&format!("user-{SECRET}"), Some("stack"), &["a"]);
    let members = PropertyMap::from_iter([(SECRET, 1.0.into())]);
    state.inputs.insert("m", PropertyValue::Object(members));
    state
        .inputs
        .insert("password", PropertyValue::secret(SECRET.into()));
    state
}

#[test]
fn no_form_of_a_graph_has_a_secret_that_is_a_name() {
    let mut stack = state("stack", None, &[]);
    stack.outputs.insert(SECRET, PropertyValue::secret(SECRET.into()));
    let named = named_by_secret();
    let mut changed = named.clone();
    let members = PropertyMap::from_iter([(SECRET, 2.0.into())]);
    changed.inputs.insert("m", PropertyValue::Object(members));
    let state = snapshot(vec![stack.clone(), state("a", Some("stack"), &[]), named.clone()]);
    let redactor = Redactor::new();
    redactor.learn([SECRET]);
    let mut update = step(StepOp::Update, Some(named.clone()), Some(changed));
    Arc::get_mut(&mut update.step).unwrap().metadata.diffs = vec!["m".to_owned()];
    let create = step(StepOp::Create, None, Some(named.clone()));
    let title = format!("Update of {SECRET}");
    let of_steps = Picture::of_steps(title, &state, &[create, update], false, &redactor);
    let of_steps = of_steps.with_outputs(Vec::new(), &stack.outputs, &redactor);
    for picture in [Picture::of_state("dev", &state), of_steps] {
        // The identity is exact, for programs.
        let node = picture.node(&named.urn).unwrap();
        assert_eq!(node.name, "user-[secret]");
        for text in [picture.to_html(), picture.to_mermaid(), picture.to_dot()] {
            assert!(!text.contains(SECRET));
            assert!(text.contains("user-[secret]"));
        }
        assert_eq!(picture.outputs()[0].path, "[secret]");
        assert!(
            picture
                .to_html()
                .contains("urn:pulumi:dev::shop::files:index:File::user-[secret]")
        );
    }
}

#[test]
fn the_document_of_a_plan_is_drawn_without_the_key_of_its_secrets() {
    let urn = urn("a");
    let sealed =
        r#"{"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:abc"}"#;
    let document = format!(
        r#"{{"manifest": {{}}, "secrets_providers": {{"type": "unknown"}}, "resourcePlans": {{"{urn}": {{
            "goal": {{"type": "files:index:File", "name": "a", "custom": true, "protect": true, "customTimeouts": {{}}, "inputDiff": {{
                "adds": {{"password": {sealed}, "size": 1}}, "updates": {{"text": "t"}}, "deletes": ["gone"]}}}},
            "steps": ["update"]}}}}}}"#
    );
    let picture = Picture::of_plan_document(&document).unwrap();
    assert_eq!(picture.title(), "Plan of shop/dev");
    let node = picture.node(&urn).unwrap();
    assert_eq!((node.op, node.protect), ("update", true));
    let properties: Vec<_> = (node.properties.iter())
        .map(|property| (&*property.path, property.kind, property.new.as_deref()))
        .collect();
    assert_eq!(
        properties,
        [
            ("password", Some("add"), Some("[secret]")),
            ("size", Some("add"), Some("1")),
            ("text", Some("update"), Some("\"t\"")),
            ("gone", Some("delete"), None),
        ]
    );
    let error = Picture::of_plan_document("{}").unwrap_err();
    assert_eq!(error.message(), "invalid plan: manifest: it is missing");
}
