//! The programs of a plan: registrations as a program of an SDK makes them, with hooks and transforms.

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::try_join_all;
use stackwright::{
    Error, ErrorKind, Result,
    callback::{ErrorHook, ErrorHookCall, HookCall, HookOptions, ResourceHook},
    monitor::{
        Invoke, InvokeTransform, InvokeTransformArgs, MethodCall, Monitor, Registered, Registration,
        ResourceTransform, TransformArgs,
    },
    policy::{Policy, PolicyPack, PolicyPackOption, PolicyResource},
    program::{Program, from_fn},
    property::{PropertyMap, PropertyValue},
    resource::{Alias, PropertyDependencies, ResourceOptions},
    urn::Urn,
};
use tokio::sync::watch;

use crate::{
    plan::{KIT, MOMENTS, MOMENTS_OF_STEPS, Point, Script, number_of, type_of},
    world::{Call, World},
};

/// How often an error hook lets a step be tried.
const ATTEMPTS: usize = 2;

/// A program, with the ids of the things that it adopts.
pub(crate) struct Played {
    pub(crate) script: Script,
    pub(crate) imports: Vec<Option<String>>,
    pub(crate) world: Arc<World>,
}

/// Begins a call of a function of the program.
fn begin<'a>(world: &'a World, point: Point, urn: &Urn, id: &str) -> Call<'a> {
    let number = number_of(urn.name()).expect("a resource of the plan");
    world.call(point, number, id)
}

async fn perform(call: Call<'_>) -> Result<()> {
    let called = call.perform(|_| (), |_, ()| ()).await;
    called.map_err(|_| Error::new(ErrorKind::Program, "refused by the plan"))
}

/// Calls a function of the program.
async fn call_back(world: &World, point: Point, urn: &Urn, id: &str) -> Result<()> {
    perform(begin(world, point, urn, id)).await
}

/// The hook of one moment of steps.
struct Notes(Arc<World>, &'static str);

#[async_trait]
impl ResourceHook for Notes {
    async fn run(&self, call: HookCall) -> Result<()> {
        perform(begin(&self.0, Point::Hook, &call.urn, call.id.as_str()).at(self.1)).await
    }
}

/// The hook after failed steps.
struct Again(Arc<World>);

#[async_trait]
impl ErrorHook for Again {
    async fn should_retry(&self, call: ErrorHookCall) -> Result<bool> {
        call_back(&self.0, Point::ErrorHook, &call.urn, call.id.as_str()).await?;
        Ok(call.errors.len() < ATTEMPTS)
    }
}

/// The transform of calls of functions.
struct Asks(Arc<World>);

#[async_trait]
impl InvokeTransform for Asks {
    async fn transform(&self, args: InvokeTransformArgs) -> Result<Option<InvokeTransformArgs>> {
        let name = args.arguments.get("name").and_then(PropertyValue::as_str);
        let number = name.and_then(number_of).expect("the program states it");
        let call = self.0.call(Point::InvokeTransform, number, "");
        let called = call.perform(|_| (), |_, ()| ()).await;
        called.map_err(|_| Error::new(ErrorKind::Program, "refused by the plan"))?;
        Ok(None)
    }
}

/// Returns the policies of an operation: they look at each resource, and find nothing.
pub(crate) fn policies(world: &Arc<World>) -> PolicyPackOption {
    let world = Arc::clone(world);
    let check = move |resource: PolicyResource| {
        let world = Arc::clone(&world);
        async move {
            if number_of(&resource.name).is_some() {
                call_back(&world, Point::Policy, &resource.urn, "").await?;
            }
            Ok(Vec::new())
        }
    };
    PolicyPack::new("guard", [Policy::from_check("looks", check)]).into()
}

/// Returns the inputs of a declaration that do not depend on other resources.
pub(crate) fn plain_inputs(script: &Script, number: usize) -> PropertyMap {
    let declared = &script.declared[number];
    let inputs = [
        ("value", f64::from(declared.value).into()),
        ("key", f64::from(declared.key).into()),
    ];
    inputs.into_iter().collect()
}

/// Returns the inputs with the one that a transform adds.
pub(crate) fn transformed_inputs(script: &Script, number: usize) -> PropertyMap {
    let mut inputs = plain_inputs(script, number);
    if script.declared[number].transformed {
        inputs.insert("added", "by a transform".into());
    }
    inputs
}

impl Played {
    pub(crate) fn program(self) -> Arc<dyn Program> {
        let played = Arc::new(self);
        from_fn(move |context| {
            let played = Arc::clone(&played);
            async move {
                let monitor = &context.monitor;
                for moment in MOMENTS_OF_STEPS {
                    let notes = Arc::new(Notes(Arc::clone(&played.world), moment));
                    monitor.register_resource_hook(moment, notes, HookOptions::default())?;
                }
                monitor.register_error_hook("again", Arc::new(Again(Arc::clone(&played.world))))?;
                monitor.add_invoke_transform(Arc::new(Asks(Arc::clone(&played.world))));
                played.register_all(monitor, context.info.dry_run).await
            }
        })
    }

    /// Registers all resources: each when those that it refers to are registered.
    async fn register_all(&self, monitor: &Monitor, preview: bool) -> Result<()> {
        let count = self.script.declared.len();
        let (done, seen): (Vec<_>, Vec<_>) = (0..count).map(|_| watch::channel(None)).unzip();
        let present = (0..count).filter(|number| self.script.declared[*number].present);
        let registering = present.map(|number| {
            let (done, seen) = (&done, &seen);
            async move {
                let answer = if self.is_reached(number, seen).await? {
                    let registration = self.registration(monitor, number, preview, seen).await?;
                    let registered = monitor.register(registration).await?;
                    // The hooks after the steps of a component run with its outputs.
                    if number < KIT && !registered.failed && !registered.skipped {
                        monitor
                            .register_outputs(&registered.urn, PropertyMap::new())
                            .await?;
                    }
                    Answer::Registered(registered)
                } else {
                    Answer::Unreached
                };
                done[number].send_replace(Some(answer));
                Ok::<(), Error>(())
            }
        });
        if self.script.in_turn {
            for registering in registering {
                registering.await?;
            }
        } else {
            try_join_all(registering).await?;
        }
        Ok(())
    }

    /// Returns whether the program comes to a declaration: not to one that uses the outputs of what has failed, as the functions of
    /// outputs in SDKs are not called then, nor to what needs that.
    async fn is_reached(&self, number: usize, seen: &[Seen]) -> Result<bool> {
        let script = &self.script;
        let dependencies = script.dependencies(number);
        let uses = script.declared[number].uses && number > KIT;
        let kit = script.opens(number).then_some(KIT);
        let others = script
            .parent(number)
            .into_iter()
            .chain(script.host(number))
            .chain(kit);
        for other in others.chain(dependencies.iter().copied()) {
            let is_used = uses && dependencies.contains(&other);
            match answer(seen, other).await? {
                Answer::Unreached => return Ok(false),
                Answer::Registered(found) if is_used && (found.failed || found.skipped) => return Ok(false),
                Answer::Registered(_) => {}
            }
        }
        Ok(true)
    }

    /// Calls the function and the method that the program calls before it registers a resource.
    async fn ask(&self, monitor: &Monitor, number: usize, seen: &[Seen]) -> Result<()> {
        let arguments: PropertyMap = [("name", self.script.urn(number, false).name().into())]
            .into_iter()
            .collect();
        if self.script.declared[number].asks {
            let invoke = Invoke {
                token: "things:index:ask".to_owned(),
                arguments: arguments.clone(),
                ..Invoke::default()
            };
            monitor.invoke(invoke).await?;
        }
        if self.script.opens(number) {
            let kit = registered(seen, Some(KIT)).await?;
            let call = MethodCall {
                token: "things:index:Kit/open".to_owned(),
                of: kit.map(|kit| kit.urn),
                arguments,
                ..MethodCall::default()
            };
            monitor.call_method(call).await?;
        }
        Ok(())
    }

    async fn registration(
        &self,
        monitor: &Monitor,
        number: usize,
        preview: bool,
        seen: &[Seen],
    ) -> Result<Registration> {
        let (script, declared) = (&self.script, &self.script.declared[number]);
        self.ask(monitor, number, seen).await?;
        let parent = registered(seen, script.parent(number)).await?;
        let host = registered(seen, script.host(number)).await?;
        let mut dependencies = Vec::new();
        let (mut ids, mut values) = (Vec::new(), Vec::new());
        for other in script.dependencies(number) {
            let found = registered(seen, Some(other)).await?;
            let found = found.expect("a present dependency");
            let is_unknown = found.unknown || preview && found.id.is_empty() && other > KIT;
            ids.push(match is_unknown {
                true => PropertyValue::unknown(),
                false => found.id.as_str().into(),
            });
            // A component of the program has no outputs. What another one's output comes from is a dependency, too.
            let value = found.output("value");
            values.push(match is_unknown {
                true => PropertyValue::unknown(),
                false => value.unwrap_or(PropertyValue::Null),
            });
            dependencies.push(found.urn);
        }
        let uses = declared.uses && number > KIT;
        let mut inputs = plain_inputs(script, number);
        let mut by_property = None;
        if uses {
            inputs.insert("uses", PropertyValue::array(ids));
            inputs.insert("values", PropertyValue::array(values));
            by_property = Some(PropertyDependencies::from([(
                "uses".into(),
                dependencies.clone(),
            )]));
        }
        let aliases = self.aliases(number);
        let is_set_later = script.is_set_by_transform(number);
        let set_now = |option: Option<bool>| option.filter(|_| !is_set_later);
        if is_set_later {
            inputs.insert("value", f64::from(declared.value + 10).into());
        }
        let hooks = declared.hooks.iter().map(|position| {
            let moment = MOMENTS[*position];
            let hook = if moment == "OnError" { "again" } else { moment };
            (moment.to_owned(), vec![hook.to_owned()])
        });
        let options = ResourceOptions {
            import_id: self.imports[number].as_deref().unwrap_or_default().into(),
            deleted_with: host.map(|host| host.urn),
            resource_hooks: hooks.collect(),
            ..ResourceOptions::default()
        };
        Ok(Registration {
            resource_type: type_of(number).into(),
            name: script.urn(number, declared.renamed).name().to_owned(),
            custom: number > KIT,
            remote: number == KIT,
            inputs,
            parent: parent.map(|parent| parent.urn),
            dependencies,
            property_dependencies: by_property,
            protect: set_now(declared.protect.then_some(true)),
            delete_before_replace: set_now(declared.delete_first),
            aliases: if is_set_later { Vec::new() } else { aliases },
            retain_on_delete: set_now(declared.retain.then_some(true)),
            options: options.into(),
            transforms: self.transforms(number),
            ..Registration::default()
        })
    }

    fn aliases(&self, number: usize) -> Vec<Alias> {
        self.script.aliases(number).into_iter().map(Alias::Urn).collect()
    }

    fn transforms(&self, number: usize) -> Vec<Arc<dyn ResourceTransform>> {
        if !self.script.declared[number].transformed {
            return Vec::new();
        }
        let world = Arc::clone(&self.world);
        let urn = self.script.urn(number, false);
        let set_later = self.script.is_set_by_transform(number).then(|| {
            let declared = self.script.declared[number].clone();
            (declared, self.aliases(number))
        });
        let adds = move |mut args: TransformArgs| {
            let (world, urn, set_later) = (Arc::clone(&world), urn.clone(), set_later.clone());
            async move {
                // Those of a component run for its children, too.
                if number_of(&args.name) != number_of(urn.name()) {
                    return Ok(None);
                }
                call_back(&world, Point::Transform, &urn, "").await?;
                args.inputs.insert("added", "by a transform".into());
                if let Some((declared, aliases)) = set_later {
                    args.inputs.insert("value", f64::from(declared.value).into());
                    args.options.protect = declared.protect.then_some(true);
                    args.options.delete_before_replace = declared.delete_first;
                    args.options.retain_on_delete = declared.retain.then_some(true);
                    args.options.aliases = aliases;
                }
                Ok(Some(args))
            }
        };
        vec![Arc::new(adds)]
    }
}

/// What the program has of a declaration.
#[derive(Clone)]
enum Answer {
    Registered(Registered),
    /// The program does not come to it.
    Unreached,
}

type Seen = watch::Receiver<Option<Answer>>;

/// Waits until the program has come to a declaration, or cannot come to it.
async fn answer(seen: &[Seen], number: usize) -> Result<Answer> {
    let mut seen = seen[number].clone();
    let found = seen.wait_for(Option::is_some).await.ok();
    let found = found.and_then(|found| found.clone());
    found.ok_or_else(|| Error::new(ErrorKind::Program, "a dependency is not registered"))
}

/// Waits until a resource is registered.
async fn registered(seen: &[Seen], number: Option<usize>) -> Result<Option<Registered>> {
    let Some(number) = number else { return Ok(None) };
    match answer(seen, number).await? {
        Answer::Registered(found) => Ok(Some(found)),
        Answer::Unreached => Ok(None),
    }
}
