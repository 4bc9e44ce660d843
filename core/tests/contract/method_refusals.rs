//! Methods of resources that the run does not know: refused with what is missing, and the program can go on.

use std::sync::Arc;

use stackwright::{
    StackSettings,
    monitor::MethodCall,
    operation::{OperationKind, OperationOptions},
    program::from_fn,
    property::{PropertyValue, ResourceReference},
    urn::Urn,
};
use stackwright_testkit::wait::Ended as _;

use crate::fixture::{Scripted, engine, resource};

const OPEN: &str = "echo:index:Box/open";
const OF_A_PROVIDER: &str = "pulumi:providers:echo/identify";

fn unknown() -> Urn {
    Urn::parse("urn:pulumi:dev::shop::echo:index:Box::nowhere").unwrap()
}

/// Returns a call with a reference to a resource that is not registered as `__self__`.
fn of_a_reference(token: &str) -> MethodCall {
    let this = ResourceReference {
        urn: unknown(),
        id: None,
        package_version: "".into(),
    };
    MethodCall {
        token: token.to_owned(),
        arguments: [("__self__", PropertyValue::ResourceReference(Arc::new(this)))]
            .into_iter()
            .collect(),
        ..MethodCall::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_method_of_what_is_not_registered_is_refused_and_the_program_goes_on() {
    let by_urn = MethodCall {
        token: OPEN.to_owned(),
        of: Some(unknown()),
        ..MethodCall::default()
    };
    let cases = [
        (by_urn, format!("unknown resource {}", unknown())),
        (
            of_a_reference("open"),
            "'open' is not a valid method token".to_owned(),
        ),
        (of_a_reference(OPEN), format!("unknown resource {}", unknown())),
        (
            of_a_reference(OF_A_PROVIDER),
            "missing __self__.id of a provider method call".to_owned(),
        ),
    ];
    for (call, expected) in cases {
        let engine = engine().provider("echo", Arc::new(Scripted::default()));
        let engine = engine.build().unwrap();
        let stack = engine.stack("shop/dev", StackSettings::default()).await.unwrap();
        let program = from_fn(move |context| {
            let (call, expected) = (call.clone(), expected.clone());
            async move {
                let refused = context.monitor.call_method(call).await.unwrap_err();
                assert!(refused.message.contains(&expected), "{refused:?}");
                context.monitor.register(resource("a", "1")).await?;
                Ok(())
            }
        });
        let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(program));
        let result = operation.ended().await;
        assert!(result.error.is_none(), "{:?}", result.error);
        let last = result.snapshot.resources.last().unwrap();
        assert_eq!(last.urn.name(), "a");
    }
}
