//! Which records deletions, marks, moves and repairs select in states of the reference engine, and which they refuse.

use serde_json::{Value, json};
use stackwright::{
    ErrorKind, StackSettings,
    state::edit::{Delete, Move, Rename, Selection, StateEdit},
    store::Condition,
};

use super::{World, checkpoint, delete, echo, parsed, prod, record, resources, urn};

/// Returns the URNs of a state, in order.
fn urns(checkpoint: &Value) -> Vec<String> {
    let records = resources(checkpoint).iter();
    records
        .map(|record| record["urn"].as_str().unwrap().to_owned())
        .collect()
}

fn all() -> Selection {
    Selection {
        all: true,
        ..Selection::default()
    }
}

#[tokio::test]
async fn dependents_are_removed_at_once_and_a_protected_one_refuses_that_unless_forced() {
    let world = World::of("1-created").await;
    let with_dependents = |urn: &str, force: bool| {
        StateEdit::Delete(Delete {
            dependents: true,
            force,
            ..delete(&[urn])
        })
    };
    let parent = echo("parent");
    let error = world.refusal(with_dependents(&parent, false)).await;
    assert!(
        error.reference_message().starts_with(&format!(
            "{} can't be safely deleted because it is protected",
            echo("options")
        )),
        "{error}"
    );
    let child = urn("testprovider:index:Echo$testprovider:index:Echo::child");
    let gone = [parent.clone(), child, echo("options")];
    let left = world.edit(with_dependents(&parent, true)).await;
    let before = checkpoint("1-created");
    let expected = resources(&before).iter();
    let expected: Vec<_> = expected
        .filter(|record| !gone.iter().any(|urn| record["urn"] == urn.as_str()))
        .cloned()
        .collect();
    assert_eq!(resources(&left), &expected);
}

#[tokio::test]
async fn a_protected_record_is_deleted_by_force_and_nothing_else_changes() {
    let world = World::of("1-created").await;
    let forced = Delete {
        force: true,
        ..delete(&[&echo("options")])
    };
    let left = world.edit(StateEdit::Delete(forced)).await;
    let mut expected = checkpoint("1-created");
    let records = expected["checkpoint"]["latest"]["resources"].as_array_mut();
    records.unwrap().retain(|record| record["urn"] != echo("options"));
    assert_eq!(left, expected);
}

#[tokio::test]
async fn a_rename_to_the_same_name_changes_nothing_and_that_of_the_root_moves_all_parents() {
    let world = World::of("1-created").await;
    let same = Rename::to_name(parsed(&echo("values")), "values");
    assert_eq!(world.edit(StateEdit::Rename(same)).await, checkpoint("1-created"));
    let root = urn("pulumi:pulumi:Stack::fixtures-dev");
    let renamed = world
        .edit(StateEdit::Rename(Rename::to_name(parsed(&root), "else")))
        .await;
    let expected = super::replaced(&checkpoint("1-created"), &root, &urn("pulumi:pulumi:Stack::else"));
    assert_eq!(renamed, expected);
}

#[tokio::test]
async fn marks_of_all_records_leave_out_old_copies_and_unknown_urns_are_all_named() {
    let state = "2-changed-delete-failed";
    let world = World::of(state).await;
    world.edit(StateEdit::Protect(all())).await;
    let unprotected = world.edit(StateEdit::Unprotect(all())).await;
    for (after, before) in resources(&unprotected).iter().zip(resources(&checkpoint(state))) {
        match before["delete"] == json!(true) {
            true => assert_eq!(after, before),
            false => assert_ne!(after["protect"], json!(true), "{}", after["urn"]),
        }
    }
    let world = World::of("1-created").await;
    let tainted = Selection::of([
        parsed(&echo("values")),
        parsed(&urn("pulumi:pulumi:Stack::fixtures-dev")),
    ]);
    world.edit(StateEdit::Taint(tainted)).await;
    assert_eq!(
        world.edit(StateEdit::Untaint(all())).await,
        checkpoint("1-created")
    );
    let unknown = Selection::of([echo("valuess"), echo("nowhere"), echo("plain")].map(|urn| parsed(&urn)));
    let error = world.refusal(StateEdit::Protect(unknown)).await;
    let text = error.reference_message();
    for name in ["valuess", "nowhere"] {
        let line = format!("No such resource {:?} exists in the current state", echo(name));
        assert!(text.contains(&line), "{text}");
    }
    assert!(
        text.contains(&format!("Did you mean:\n  {}", echo("values"))),
        "{text}"
    );
    assert_eq!(world.stored("dev").await, checkpoint("1-created"));
}

#[tokio::test]
async fn a_move_takes_parents_with_all_below_them_and_the_root_selects_everything() {
    let inner = urn("fixtures:index:Box$fixtures:index:Box$testprovider:index:Echo::nested-inner");
    for (named, include_parents, expected) in [
        (
            inner.clone(),
            true,
            vec!["box", "nested", "box-inner", "nested-inner"],
        ),
        (inner, false, vec!["nested-inner"]),
    ] {
        let world = World::of("1-created").await;
        let other = world
            .engine
            .create_stack("fixtures/prod", StackSettings::default());
        let edit = Move {
            include_parents,
            ..Move::of([parsed(&named)])
        };
        world
            .stack
            .move_resources(&other.await.unwrap(), &edit, false)
            .await
            .unwrap();
        let moved = urns(&world.stored("prod").await);
        let names = moved.iter().map(|urn| urn.rsplit("::").next().unwrap());
        let names: Vec<_> = names
            .filter(|name| !["fixtures-prod", "default"].contains(name))
            .collect();
        assert_eq!(names, expected);
    }
    let world = World::of("1-created").await;
    let other = world
        .engine
        .create_stack("fixtures/prod", StackSettings::default());
    let root = Move::of([parsed(&urn("pulumi:pulumi:Stack::fixtures-dev"))]);
    world
        .stack
        .move_resources(&other.await.unwrap(), &root, false)
        .await
        .unwrap();
    let (left, moved) = (world.stored("dev").await, world.stored("prod").await);
    let is_kept = |urn: &String| urn.contains("pulumi:providers:") || urn.contains("pulumi:pulumi:Stack");
    assert!(urns(&left).iter().all(is_kept), "{:?}", urns(&left));
    let before = checkpoint("1-created");
    assert_eq!(resources(&moved).len(), resources(&before).len());
}

#[tokio::test]
async fn a_move_refuses_providers_and_what_the_destination_has_and_reuses_an_equal_provider() {
    let world = World::of("1-created").await;
    let other = world
        .engine
        .create_stack("fixtures/prod", StackSettings::default())
        .await
        .unwrap();
    let provider = urn("pulumi:providers:testprovider::explicit");
    let of_provider = Move::of([parsed(&provider)]);
    let refused = world.stack.move_resources(&other, &of_provider, false);
    assert_eq!(
        refused.await.unwrap_err().reference_message(),
        "cannot move providers. Only resources can be moved, and providers will be included automatically"
    );
    for name in ["via-provider", "values"] {
        let edit = Move::of([parsed(&echo(name))]);
        world.stack.move_resources(&other, &edit, false).await.unwrap();
    }
    // The second move with the default provider uses the copy of the first one.
    let edit = Move::of([parsed(&echo("secrets"))]);
    world.stack.move_resources(&other, &edit, false).await.unwrap();
    let moved = world.stored("prod").await;
    let count = urns(&moved)
        .iter()
        .filter(|urn| urn.contains("testprovider::default"))
        .count();
    assert_eq!(count, 1);
    let reference = &record(&moved, &prod("testprovider:index:Echo::secrets"))["provider"];
    let id = &record(&moved, &prod("pulumi:providers:testprovider::default"))["id"];
    let expected = format!(
        "{}::{}",
        prod("pulumi:providers:testprovider::default"),
        id.as_str().unwrap()
    );
    assert_eq!(reference, &json!(expected));
    // A resource with the URN of one that has moved.
    let key = ".pulumi/stacks/fixtures/dev.json";
    let text = checkpoint("1-created").to_string();
    world.store.put(key, text.into(), Condition::Any).await.unwrap();
    let error = world
        .stack
        .move_resources(&other, &edit, false)
        .await
        .unwrap_err();
    assert_eq!(
        error.reference_message(),
        format!(
            "resource {} already exists in destination stack",
            prod("testprovider:index:Echo::secrets")
        )
    );
}

#[tokio::test]
async fn a_move_takes_pending_operations_with_what_it_names_and_leaves_the_others() {
    let state = "5-pending-operations";
    let world = World::of(state).await;
    let other = world
        .engine
        .create_stack("fixtures/prod", StackSettings::default())
        .await
        .unwrap();
    let before = checkpoint(state)["checkpoint"]["latest"]["pending_operations"].clone();
    let edit = Move::of([parsed(&echo("values"))]);
    world.stack.move_resources(&other, &edit, false).await.unwrap();
    let left = world.stored("dev").await;
    assert_eq!(left["checkpoint"]["latest"]["pending_operations"], before);
    let root = Move::of([parsed(&urn("pulumi:pulumi:Stack::fixtures-dev"))]);
    world.stack.move_resources(&other, &root, false).await.unwrap();
    let names = |checkpoint: &Value| -> Vec<String> {
        let pending = checkpoint["checkpoint"]["latest"]["pending_operations"]
            .as_array()
            .cloned();
        let pending = pending.unwrap_or_default().into_iter();
        pending
            .map(|operation| {
                operation["resource"]["urn"]
                    .as_str()
                    .unwrap()
                    .rsplit("::")
                    .next()
                    .unwrap()
                    .to_owned()
            })
            .collect()
    };
    assert_eq!(names(&world.stored("dev").await), [""; 0]);
    assert_eq!(
        names(&world.stored("prod").await),
        ["slower-0", "slower-1", "slower-2"]
    );
}

#[tokio::test]
async fn a_repair_refuses_cycles_missing_providers_and_duplicates_and_changes_nothing() {
    type Damage = fn(&mut Vec<Value>);
    let damages: [(Damage, &str); 3] = [
        (
            |records| {
                let position = |name: &str| records.iter().position(|it| it["urn"] == echo(name)).unwrap();
                let (values, reference) = (position("values"), position("reference"));
                records[values]["dependencies"] = json!([echo("reference")]);
                records[reference]["dependencies"] = json!([echo("values")]);
            },
            "cycl",
        ),
        (
            |records| records.retain(|it| it["urn"] != urn("pulumi:providers:testprovider::explicit")),
            "via-provider",
        ),
        (
            |records| {
                let twice = records.iter().find(|it| it["urn"] == echo("values")).cloned();
                records.extend(twice);
            },
            "values",
        ),
    ];
    for (damage, named) in damages {
        let world = World::of("1-created").await;
        let mut broken = checkpoint("1-created");
        damage(
            broken["checkpoint"]["latest"]["resources"]
                .as_array_mut()
                .unwrap(),
        );
        let key = ".pulumi/stacks/fixtures/dev.json";
        let put = world.store.put(key, broken.to_string().into(), Condition::Any);
        put.await.unwrap();
        let error = world.refusal(StateEdit::Repair).await;
        assert_eq!(error.kind(), ErrorKind::State, "{error}");
        assert!(error.to_string().contains(named), "{named}: {error}");
        assert_eq!(world.stored("dev").await, broken);
    }
}
