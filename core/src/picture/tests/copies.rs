//! Old copies of replaced resources in graphs.

use super::*;

/// Returns an old copy of the resource `a`, which was smaller.
fn old_copy() -> ResourceState {
    let mut copy = state("a", Some("stack"), &[]);
    copy.delete = true;
    copy.inputs.insert("size", 0.5.into());
    copy
}

#[test]
fn an_old_copy_that_waits_for_its_deletion_is_a_node_of_its_own() {
    let mut shop = shop();
    shop.resources.push(Arc::new(old_copy()));
    let picture = Picture::of_state("dev", &shop);
    let of_a: Vec<_> = picture
        .nodes()
        .iter()
        .filter(|node| node.urn == urn("a"))
        .collect();
    let facts = |node: &PictureNode| (node.op, node.old_copy, node.pending_deletion);
    assert_eq!(
        of_a.iter().map(|node| facts(node)).collect::<Vec<_>>(),
        [("same", false, false), ("delete", true, true)]
    );
    assert_eq!(picture.node(&urn("a")), Some(of_a[0]));
    assert!(picture.to_mermaid().contains("n4[\"− a (pending deletion)<br/>"));
    assert!(picture.to_mermaid().contains("class n4 delete"));
    assert!(
        picture
            .to_dot()
            .contains("n4 [label=\"− a (pending deletion)\\nfiles:index:File\", fillcolor=")
    );
    assert!(picture.to_html().contains(r#""pendingDeletion":true"#));
    // What depends on the resource depends on the one in use.
    let b = picture.node(&urn("b")).unwrap();
    assert_eq!(b.depends_on, [1]);
}

#[test]
fn the_deletion_of_an_old_copy_is_a_step_of_its_node_alone() {
    let after = shop();
    let mut shop = shop();
    shop.resources.push(Arc::new(old_copy()));
    let delete = step(StepOp::DeleteReplaced, Some(old_copy()), None);
    let facts = |picture: &Picture| {
        let of_a = picture.nodes().iter().filter(|node| node.urn == urn("a"));
        of_a.map(|node| (node.op, node.pending_deletion, node.failure.is_some()))
            .collect::<Vec<_>>()
    };
    let drawn = |state: &Snapshot, steps: &[StepResult]| {
        facts(&Picture::of_steps(
            "Preview".to_owned(),
            state,
            steps,
            true,
            &Redactor::new(),
        ))
    };
    let preview = [delete.clone()];
    assert_eq!(
        drawn(&shop, &preview),
        [("same", false, false), ("delete", false, false)]
    );
    // After the operation, the copy is not in the state.
    assert_eq!(
        drawn(&after, &preview),
        [("same", false, false), ("delete", false, false)]
    );
    let mut failed = delete.clone();
    failed.failure = Some(StepError {
        status: OperationStatus::Ok,
        refused: false,
        error: Error::internal("the disk is busy"),
    });
    assert_eq!(
        drawn(&shop, &[failed]),
        [("same", false, false), ("delete", true, true)]
    );
    // The old copies of an earlier operation and of this one are two things.
    let mut replaced = state("a", Some("stack"), &[]);
    let create = step(
        StepOp::CreateReplacement,
        Some(replaced.clone()),
        Some(replaced.clone()),
    );
    replaced.delete = true;
    let own = step(StepOp::DeleteReplaced, Some(replaced), None);
    assert_eq!(
        drawn(&shop, &[create, own, delete]),
        [("replace", false, false), ("delete", false, false)]
    );
}

#[test]
fn a_replacement_whose_resource_waits_for_its_creation_has_one_node() {
    let mut pending = old_copy();
    pending.delete = false;
    pending.pending_replacement = true;
    let mut marked = old_copy();
    marked.pending_replacement = true;
    let picture = Picture::of_state("dev", &snapshot(vec![pending, marked]));
    assert_eq!(picture.len(), 1);
}
