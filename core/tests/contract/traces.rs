//! Stack traces of what components and methods register: they begin where the program uses the component.

use std::sync::Arc;

use prost::Message as _;
use stackwright::{
    StackSettings,
    monitor::{Component, Monitor, Registration},
    operation::{OperationKind, OperationOptions, OperationResult},
    program::from_fn,
    property::PropertyMap,
    provider::{
        Capabilities, ConstructRequest, ConstructResponse, CreateRequest, CreateResponse, DeleteRequest,
        HandshakeRequest, MethodRequest, MethodResponse, Provider, ProviderError, ProviderResult,
        ProviderStatus,
    },
    resource::PropertyDependencies,
    urn::Urn,
};
use stackwright_proto::pulumirpc::{
    RegisterResourceRequest, RegisterResourceResponse, ResourceCallRequest, SourcePosition, StackFrame,
    StackTrace,
};
use stackwright_testkit::wait::Ended as _;

use crate::fixture::engine;

/// Returns a trace of one line.
fn trace(file: &str, line: i32) -> Option<StackTrace> {
    let position = SourcePosition {
        uri: format!("file:///project/{file}"),
        line,
        column: 0,
    };
    Some(StackTrace {
        frames: vec![StackFrame { pc: Some(position) }],
    })
}

async fn register(monitor: &Monitor, request: RegisterResourceRequest) -> ProviderResult<Urn> {
    let answer = monitor
        .call("ResourceMonitor/RegisterResource", request.encode_to_vec().into())
        .await;
    let answer = answer.map_err(|status| ProviderError::new(ProviderStatus::Unknown, status.message))?;
    let answer = RegisterResourceResponse::decode(&*answer).unwrap();
    Ok(Urn::parse(&answer.urn).unwrap())
}

/// Registers a component with a child, and a resource for each call of a method.
struct Boxes;

impl Provider for Boxes {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Ok(Capabilities::all())
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        Ok(CreateResponse {
            id: "id".into(),
            outputs: request.inputs,
            ..CreateResponse::default()
        })
    }

    async fn delete(&self, _request: DeleteRequest) -> ProviderResult<()> {
        Ok(())
    }

    async fn construct(&self, request: ConstructRequest) -> ProviderResult<ConstructResponse> {
        let monitor = Monitor::of(&request.monitor).unwrap();
        let component = RegisterResourceRequest {
            r#type: request.resource_type.to_string(),
            name: request.name,
            stack_trace: trace("box.py", 7),
            parent_stack_trace_handle: request.stack_trace_handle.clone(),
            ..RegisterResourceRequest::default()
        };
        let urn = register(&monitor, component).await?;
        let child = RegisterResourceRequest {
            r#type: "echo:index:Echo".to_owned(),
            name: "child".to_owned(),
            custom: true,
            parent: urn.to_string(),
            parent_stack_trace_handle: request.stack_trace_handle,
            ..RegisterResourceRequest::default()
        };
        register(&monitor, child).await?;
        Ok(ConstructResponse {
            urn,
            outputs: PropertyMap::new(),
            output_dependencies: PropertyDependencies::new(),
        })
    }

    async fn call_method(&self, request: MethodRequest) -> ProviderResult<MethodResponse> {
        let monitor = Monitor::of(&request.monitor).unwrap();
        let made = RegisterResourceRequest {
            r#type: "echo:index:Echo".to_owned(),
            name: "made".to_owned(),
            custom: true,
            stack_trace: trace("box.py", 20),
            parent_stack_trace_handle: request.stack_trace_handle,
            ..RegisterResourceRequest::default()
        };
        register(&monitor, made).await?;
        Ok(MethodResponse::default())
    }
}

fn frames<'a>(result: &'a OperationResult, name: &str) -> Vec<&'a str> {
    let mut resources = result.snapshot.resources.iter();
    let state = resources.find(|state| state.urn.name() == name).unwrap();
    let frames = state.stack_trace.iter();
    frames.map(|frame| frame.as_deref().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_component_or_a_method_registers_points_into_the_program() {
    let engine = engine().provider("echo", Arc::new(Boxes)).build().unwrap();
    let settings = StackSettings {
        root_directory: Some("/project".into()),
        ..StackSettings::default()
    };
    let stack = engine.create_or_select_stack("shop/dev", settings).await.unwrap();
    let program = from_fn(|context| async move {
        let remote = RegisterResourceRequest {
            r#type: "echo:index:Box".to_owned(),
            name: "box".to_owned(),
            remote: true,
            stack_trace: trace("main.py", 3),
            ..RegisterResourceRequest::default()
        };
        register(&context.monitor, remote).await.unwrap();
        let method = ResourceCallRequest {
            tok: "echo:index:Box/make".to_owned(),
            stack_trace: trace("main.py", 4),
            ..ResourceCallRequest::default()
        };
        let called = context
            .monitor
            .call("ResourceMonitor/Call", method.encode_to_vec().into());
        called.await.unwrap();
        Ok(())
    });
    let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(program));
    let result = operation.ended().await;
    assert!(result.error.is_none(), "{:?}", result.error);
    assert_eq!(
        frames(&result, "box"),
        ["project:///main.py#3", "project:///box.py#7"]
    );
    assert_eq!(frames(&result, "child"), ["project:///main.py#3"]);
    assert_eq!(
        frames(&result, "made"),
        ["project:///main.py#4", "project:///box.py#20"]
    );
}

/// Constructs components with our own API: `Outer` has an `Inner` one below it, which has a child and may fail.
struct Nested {
    fails: bool,
}

impl Provider for Nested {
    async fn handshake(&self, request: HandshakeRequest) -> ProviderResult<Capabilities> {
        Boxes.handshake(request).await
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        Boxes.create(request).await
    }

    async fn delete(&self, request: DeleteRequest) -> ProviderResult<()> {
        Boxes.delete(request).await
    }

    async fn construct(&self, request: ConstructRequest) -> ProviderResult<ConstructResponse> {
        let component = Component::register(&request).await?;
        let is_outer = request.resource_type.as_str().ends_with(":Outer");
        if self.fails && !is_outer {
            return Err(ProviderError::new(ProviderStatus::Unknown, "no room"));
        }
        let child = Registration {
            resource_type: if is_outer {
                "echo:index:Inner"
            } else {
                "echo:index:Echo"
            }
            .into(),
            name: format!("{}-in", request.name),
            custom: !is_outer,
            remote: is_outer,
            ..Registration::default()
        };
        component.register_child(child).await?;
        component.finish(PropertyMap::new()).await
    }
}

async fn used_in_a_program(fails: bool) -> Arc<OperationResult> {
    let provider = Arc::new(Nested { fails });
    let engine = engine().provider("echo", provider).build().unwrap();
    let settings = StackSettings {
        root_directory: Some("/project".into()),
        ..StackSettings::default()
    };
    let stack = engine.create_or_select_stack("shop/dev", settings).await.unwrap();
    let program = from_fn(|context| async move {
        let remote = RegisterResourceRequest {
            r#type: "echo:index:Outer".to_owned(),
            name: "box".to_owned(),
            remote: true,
            stack_trace: trace("main.py", 3),
            ..RegisterResourceRequest::default()
        };
        drop(register(&context.monitor, remote).await);
        Ok(())
    });
    let operation = stack.start(OperationKind::Update, OperationOptions::default(), Some(program));
    operation.ended().await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_components_of_the_host_register_points_into_the_program_at_any_depth() {
    let result = used_in_a_program(false).await;
    assert!(result.error.is_none(), "{:?}", result.error);
    for name in ["box", "box-in", "box-in-in"] {
        assert_eq!(frames(&result, name), ["project:///main.py#3"], "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_error_of_a_component_inside_of_one_of_the_host_points_into_the_program() {
    let result = used_in_a_program(true).await;
    let error = result.error.as_ref().unwrap();
    assert!(error.message().contains("no room"), "{error}");
    assert_eq!(error.urn().unwrap().name(), "box-in");
    assert!(
        error
            .hints()
            .contains(&"the component is used at main.py:3".to_owned()),
        "{:?}",
        error.hints()
    );
}
