//! Every prefix of a journal with a delete-before-replace and `deletedWith` dependents: existing resources are never
//! recorded as deleted.

use std::sync::Arc;

use stackwright::{
    Stack,
    monitor::Registration,
    operation::{OperationKind, OperationOptions, OperationResult},
    program::from_fn,
    resource::ResourceOptions,
    state::{Snapshot, integrity},
    urn::Urn,
};
use stackwright_testkit::{fake::EchoProvider, wait::Ended as _};

use super::{
    essence, open,
    prefixes::{JournalRecorder, checkpoint_of, ends_of_lines, interrupted},
};

/// Replaces every changed resource, with deletion first.
fn replacing() -> EchoProvider {
    EchoProvider::replacing("content").deleting_first()
}

fn urn(name: &str) -> Urn {
    Urn::new("dev", "shop", "pulumi:pulumi:Stack", "things:index:Thing", name)
}

/// Registers a host, a resource deleted with it, one deleted with that one, and one that only depends on the host.
async fn update(stack: &Stack, content: &'static str) -> OperationResult {
    let program = from_fn(move |context| async move {
        for (name, host, depends) in [
            ("host", None, None),
            ("guest", Some("host"), None),
            ("guest-of-the-guest", Some("guest"), None),
            ("tied", None, Some("host")),
        ] {
            let content = if name.starts_with("guest") {
                "stays"
            } else {
                content
            };
            let options = ResourceOptions {
                deleted_with: host.map(urn),
                ..ResourceOptions::default()
            };
            let registration = Registration {
                resource_type: "things:index:Thing".into(),
                name: name.to_owned(),
                custom: true,
                inputs: [("content", content.into())].into_iter().collect(),
                dependencies: depends.map(urn).into_iter().collect(),
                options: options.into(),
                ..Registration::default()
            };
            context.monitor.register(registration).await?;
        }
        Ok(())
    });
    let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(program));
    (*operation.ended().await).clone().into_result().unwrap()
}

fn is_gone(snapshot: &Snapshot, name: &str) -> bool {
    let mut records = snapshot.resources.iter();
    records.any(|state| state.urn.name() == name && state.pending_replacement)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleted_with_resources_are_deleted_with_their_host_and_not_before() {
    let store = Arc::new(JournalRecorder::new());
    let stack = open(Arc::clone(&store) as _, Arc::new(replacing())).await;
    let known = essence(&update(&stack, "before").await.snapshot);
    let before = checkpoint_of(&*store).await;
    drop(store.take_journal());
    let wanted = essence(&update(&stack, "after").await.snapshot);
    let journal = store.take_journal();
    let ends = ends_of_lines(&journal);
    let mut host_has_gone = false;
    for end in ends {
        for (content, expected) in [("after", &wanted), ("before", &known)] {
            let interrupted = interrupted(before.clone(), &journal[..end]).await;
            let stack = open(interrupted, Arc::new(replacing())).await;
            let snapshot = stack.snapshot().await.unwrap();
            integrity::verify(&snapshot).unwrap();
            host_has_gone |= is_gone(&snapshot, "host");
            for guest in ["guest", "guest-of-the-guest"] {
                assert!(
                    host_has_gone || !is_gone(&snapshot, guest),
                    "{guest} at byte {end}"
                );
            }
            let done = update(&stack, content).await;
            assert_eq!(&essence(&done.snapshot), expected, "at byte {end}");
        }
    }
    assert!(host_has_gone, "the host was never deleted");
}
