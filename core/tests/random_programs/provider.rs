//! The provider of the simulated world.

use std::sync::Arc;

use stackwright::{
    monitor::{Component, Monitor, Registered, Registration},
    property::{PropertyMap, PropertyValue},
    provider::{
        Capabilities, CheckRequest, CheckResponse, ConfigureRequest, ConstructRequest, ConstructResponse,
        CreateRequest, CreateResponse, DeleteRequest, DiffChanges, DiffRequest, DiffResponse,
        HandshakeRequest, InitFailure, InvokeRequest, InvokeResponse, MethodRequest, MethodResponse,
        Provider, ProviderError, ProviderResult, ProviderStatus, ReadRequest, ReadResponse, UpdateRequest,
        UpdateResponse,
    },
    urn::Urn,
};

use crate::{
    plan::{INNER, KIT, Point, Trouble, number_of, type_of},
    world::{Failing, State, World},
};

/// Manages the things of a world.
pub(crate) struct Cloud(pub(crate) Arc<World>);

/// The reason of every refusal.
pub(crate) const REFUSAL: &str = "refused by the plan";

fn error(failing: Failing) -> ProviderError {
    match failing {
        Failing::Refused | Failing::Half => ProviderError::new(ProviderStatus::FailedPrecondition, REFUSAL),
        Failing::Unanswered => ProviderError::without_answer(ProviderStatus::Internal, "malformed answer"),
        Failing::Cancelled => ProviderError::new(ProviderStatus::Cancelled, "cancelled"),
    }
}

fn half(id: &str, outputs: PropertyMap) -> ProviderError {
    ProviderError::init_failed(InitFailure {
        id: id.to_owned(),
        outputs,
        reasons: vec!["only half is done".to_owned()],
        ..InitFailure::default()
    })
}

fn number(name: &str) -> usize {
    number_of(name).expect("a resource of the plan")
}

impl Cloud {
    /// Performs a call without effect.
    async fn ask(&self, point: Point, urn: &Urn, id: &str) -> ProviderResult<()> {
        let call = self.0.call(point, number(urn.name()), id);
        let asked = call.perform(|_| (), |_, ()| ()).await;
        asked.map_err(|(failing, _)| error(failing))
    }

    /// Registers a component and what is below it.
    async fn build(&self, request: &ConstructRequest, fails: bool) -> ProviderResult<ConstructResponse> {
        let component = Component::register(request).await?;
        if constructed(request) == INNER {
            return build_inner(&component, &request.inputs, fails).await;
        }
        let value = request.inputs.clone().collapse_outputs();
        let value = value.get("value").cloned().unwrap_or(PropertyValue::Null);
        let first = component.register_child(part(0, &value, Vec::new())).await?;
        if fails {
            return Err(error(Failing::Refused));
        }
        let inner = Registration {
            resource_type: type_of(INNER).into(),
            name: "inner".to_owned(),
            remote: true,
            inputs: [("value", output(&first))].into_iter().collect(),
            ..Registration::default()
        };
        let inner = component.register_child(inner).await?;
        component.register_child(part(1, &value, vec![first.urn])).await?;
        component
            .finish([("value", output(&inner))].into_iter().collect())
            .await
    }
}

/// Registers the part of a component inside of another one; its output comes from that.
async fn build_inner(
    component: &Component,
    inputs: &PropertyMap,
    fails: bool,
) -> ProviderResult<ConstructResponse> {
    let value = inputs.get("value").cloned().unwrap_or(PropertyValue::Null);
    let only = component.register_child(part(2, &value, Vec::new())).await?;
    if fails {
        return Err(error(Failing::Refused));
    }
    component
        .finish([("value", output(&only))].into_iter().collect())
        .await
}

/// Returns the number of the component of a request.
fn constructed(request: &ConstructRequest) -> usize {
    if request.resource_type.as_str() == type_of(INNER) {
        INNER
    } else {
        KIT
    }
}

/// Returns the registration of a part.
fn part(index: usize, value: &PropertyValue, dependencies: Vec<Urn>) -> Registration {
    thing(format!("part{index}"), value, dependencies)
}

/// Returns the registration of a thing.
fn thing(name: String, value: &PropertyValue, dependencies: Vec<Urn>) -> Registration {
    let inputs = [("value", value.clone()), ("key", 0.0.into())];
    Registration {
        resource_type: "things:index:Thing".into(),
        name,
        custom: true,
        inputs: inputs.into_iter().collect(),
        dependencies,
        ..Registration::default()
    }
}

/// Returns the value of what has been registered, with what it comes from.
fn output(registered: &Registered) -> PropertyValue {
    registered.output("value").unwrap_or(PropertyValue::Null)
}

fn settle_update(id: &str) -> impl FnOnce(&mut State, &()) + Send {
    move |state, ()| {
        if let Some(thing) = state.things.get_mut(id) {
            thing.drifted = false;
        }
    }
}

impl Provider for Cloud {
    async fn handshake(&self, _request: HandshakeRequest) -> ProviderResult<Capabilities> {
        let call = self.0.call(Point::Handshake, 0, "");
        let asked = call.perform(|_| (), |_, ()| ()).await;
        asked.map_err(|(failing, _)| error(failing))?;
        Ok(Capabilities::all())
    }

    async fn check(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        self.ask(Point::Check, &request.urn, "").await?;
        Ok(CheckResponse {
            inputs: request.news,
            failures: Vec::new(),
        })
    }

    async fn diff(&self, request: DiffRequest) -> ProviderResult<DiffResponse> {
        self.ask(Point::Diff, &request.urn, request.id.as_str()).await?;
        let same = request.old_inputs == request.news;
        let replaces = request.old_inputs.get("key") != request.news.get("key");
        Ok(DiffResponse {
            changes: if same {
                DiffChanges::None
            } else {
                DiffChanges::Some
            },
            replaces: if replaces {
                vec!["key".to_owned()]
            } else {
                Vec::new()
            },
            delete_before_replace: replaces && number(&request.name) == 2,
            ..DiffResponse::default()
        })
    }

    async fn create(&self, request: CreateRequest) -> ProviderResult<CreateResponse> {
        if request.preview {
            self.ask(Point::Create, &request.urn, "").await?;
            return Ok(CreateResponse {
                outputs: request.inputs,
                ..CreateResponse::default()
            });
        }
        let number = number(&request.name);
        let call = self.0.call(Point::Create, number, "");
        let inputs = request.inputs.clone();
        let settle = |state: &mut State, id: &String| {
            if let Some(thing) = state.things.get_mut(id) {
                thing.unsettled = false;
            }
        };
        match call
            .perform(move |state| state.create(number, inputs), settle)
            .await
        {
            Ok(id) => Ok(CreateResponse {
                id: id.as_str().into(),
                outputs: request.inputs,
                refresh_before_update: false,
            }),
            Err((Failing::Half, Some(id))) => Err(half(&id, request.inputs)),
            Err((failing, _)) => Err(error(failing)),
        }
    }

    async fn read(&self, request: ReadRequest) -> ProviderResult<ReadResponse> {
        self.ask(Point::Read, &request.urn, request.id.as_str()).await?;
        let state = self.0.state();
        let Some(thing) = state.things.get(request.id.as_str()) else {
            return Ok(ReadResponse::default());
        };
        Ok(ReadResponse {
            id: request.id,
            inputs: Some(thing.inputs.clone()),
            outputs: Some(thing.inputs.clone()),
            ..ReadResponse::default()
        })
    }

    async fn update(&self, request: UpdateRequest) -> ProviderResult<UpdateResponse> {
        let id = request.id.as_str();
        if request.preview {
            self.ask(Point::Update, &request.urn, id).await?;
            return Ok(UpdateResponse {
                outputs: request.news,
                refresh_before_update: false,
            });
        }
        let number = number(&request.name);
        let call = self.0.call(Point::Update, number, id);
        let inputs = request.news.clone();
        let update = move |state: &mut State| state.update(id, number, inputs);
        match call.perform(update, settle_update(id)).await {
            Ok(()) => Ok(UpdateResponse {
                outputs: request.news,
                refresh_before_update: false,
            }),
            Err((Failing::Half, _)) => Err(half(id, request.news)),
            Err((failing, _)) => Err(error(failing)),
        }
    }

    async fn delete(&self, request: DeleteRequest) -> ProviderResult<()> {
        let id = request.id.as_str();
        let call = self.0.call(Point::Delete, number(&request.name), id);
        let settle = |state: &mut State, (): &()| {
            if let Some(gone) = state.gone.get_mut(id) {
                gone.excused = false;
            }
        };
        let deleted = call.perform(|state| state.delete(id), settle).await;
        deleted.map_err(|(failing, _)| error(failing))
    }

    async fn construct(&self, request: ConstructRequest) -> ProviderResult<ConstructResponse> {
        let call = self.0.call(Point::Construct, constructed(&request), "");
        match call.trouble {
            Some(Trouble::Half) => self.build(&request, true).await,
            // The process dies when the component and its first part are registered.
            Some(Trouble::Dies { acts: true }) => {
                let built = self.build(&request, true).await;
                let performed = call.perform(|_| (), |_, ()| ()).await;
                performed.map_err(|(failing, _)| error(failing)).and(built)
            }
            // The component is constructed before the answer is lost or late.
            Some(Trouble::Unanswered | Trouble::Late) => {
                let built = self.build(&request, false).await?;
                let performed = call.perform(|_| (), |_, ()| ()).await;
                performed.map(|()| built).map_err(|(failing, _)| error(failing))
            }
            _ => {
                let performed = call.perform(|_| (), |_, ()| ()).await;
                performed.map_err(|(failing, _)| error(failing))?;
                self.build(&request, false).await
            }
        }
    }

    async fn check_config(&self, request: CheckRequest) -> ProviderResult<CheckResponse> {
        let call = self.0.call(Point::CheckConfig, 0, "");
        let asked = call.perform(|_| (), |_, ()| ()).await;
        asked.map_err(|(failing, _)| error(failing))?;
        Ok(CheckResponse {
            inputs: request.news,
            failures: Vec::new(),
        })
    }

    async fn diff_config(&self, _request: DiffRequest) -> ProviderResult<DiffResponse> {
        let call = self.0.call(Point::DiffConfig, 0, "");
        let asked = call.perform(|_| (), |_, ()| ()).await;
        asked.map_err(|(failing, _)| error(failing))?;
        Ok(DiffResponse::default())
    }

    async fn configure(&self, _request: ConfigureRequest) -> ProviderResult<Option<Capabilities>> {
        let call = self.0.call(Point::Configure, 0, "");
        let asked = call.perform(|_| (), |_, ()| ()).await;
        asked.map(|()| None).map_err(|(failing, _)| error(failing))
    }

    async fn invoke(&self, request: InvokeRequest) -> ProviderResult<InvokeResponse> {
        let name = request.arguments.get("name").and_then(PropertyValue::as_str);
        let number = number(name.expect("the program states it"));
        let call = self.0.call(Point::Invoke, number, "");
        let asked = call.perform(|_| (), |_, ()| ()).await;
        asked.map_err(|(failing, _)| error(failing))?;
        Ok(InvokeResponse::default())
    }

    /// Registers a thing for the resource that the arguments name.
    async fn call_method(&self, request: MethodRequest) -> ProviderResult<MethodResponse> {
        let call = self.0.call(Point::Method, KIT, "");
        let asked = call.perform(|_| (), |_, ()| ()).await;
        asked.map_err(|(failing, _)| error(failing))?;
        let monitor = Monitor::of(&request.monitor);
        let monitor = monitor.ok_or_else(|| error(Failing::Refused))?;
        let name = request.arguments.get("name").and_then(PropertyValue::as_str);
        let number = number(name.expect("the program states it"));
        let opened = thing(format!("o{number}"), &PropertyValue::Null, Vec::new());
        let registered = monitor.register(opened).await;
        registered.map_err(|_| error(Failing::Refused))?;
        Ok(MethodResponse::default())
    }

    async fn cancel(&self) {
        self.0.cancel_calls();
    }
}
