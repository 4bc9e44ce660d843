//! The endpoints at which plugins call the engine, and the operation that a plugin's calls belong to.

use std::{
    any::Any,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
};

use async_trait::async_trait;

use super::grpc::ViewTokens;
use crate::{diagnostic::Diagnostic, error::Result, event::EventSink, urn::Urn};

/// Opens the endpoints at which plugins call the engine.
#[async_trait]
pub(crate) trait EngineEndpoints: Send + Sync + 'static {
    /// Opens an endpoint for one plugin process. It listens until it is dropped.
    ///
    /// # Errors
    /// If it cannot listen.
    async fn process_endpoint(&self) -> Result<Arc<EngineEndpoint>>;

    /// Returns the endpoint for the plugin that listens at `address`. It is the same one as long as it is in use,
    /// because a plugin that serves several operations knows only one address of the engine.
    ///
    /// # Errors
    /// If it cannot listen.
    async fn address_endpoint(&self, address: &str) -> Result<Arc<EngineEndpoint>>;
}

/// A listening server with the Engine and ResourceStatus services, and with Loader and Mapper if packages are served.
pub(crate) struct EngineEndpoint {
    /// The address, such as `127.0.0.1:4711`.
    pub address: String,
    /// Whether the same address serves schemas of packages and mappings.
    pub serves_packages: bool,
    /// The tokens of the ResourceStatus service.
    pub tokens: ViewTokens,
    /// The route of the plugin's calls of the Engine service.
    pub route: Arc<EngineRoute>,
    /// Keeps the server listening.
    pub _listening: Box<dyn Any + Send + Sync>,
}

/// The parts of an operation that the Engine service uses for its plugins.
pub(crate) struct PluginOperation {
    project: String,
    stack: String,
    /// Identifies the operation's stack among all stacks of the engine, including those of the same name.
    identity: String,
    events: EventSink,
    root: Mutex<Arc<OnceLock<Urn>>>,
    /// Endpoints of plugins at fixed addresses; they listen until the operation ends.
    endpoints: Mutex<Vec<Arc<EngineEndpoint>>>,
}

impl PluginOperation {
    /// Returns the identity of the operation's stack.
    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    /// Creates the endpoint data of an operation on a stack with a unique `identity`.
    #[must_use]
    pub(crate) fn new(project: &str, stack: &str, identity: &str, events: EventSink) -> Arc<Self> {
        Arc::new(Self {
            project: project.to_owned(),
            stack: stack.to_owned(),
            identity: identity.to_owned(),
            events,
            root: Mutex::default(),
            endpoints: Mutex::default(),
        })
    }

    /// Shares the root resource with the program's monitor.
    pub(crate) fn share_root(&self, root: Arc<OnceLock<Urn>>) {
        *self.root.lock().unwrap_or_else(PoisonError::into_inner) = root;
    }

    /// Keeps an endpoint listening until the operation ends.
    pub(crate) fn keep(&self, endpoint: &Arc<EngineEndpoint>) {
        let mut kept = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        if !kept.iter().any(|known| Arc::ptr_eq(known, endpoint)) {
            kept.push(Arc::clone(endpoint));
        }
    }

    fn root(&self) -> Arc<OnceLock<Urn>> {
        Arc::clone(&self.root.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn has(&self, urn: &Urn) -> bool {
        self.stack == urn.stack() && self.project == urn.project()
    }
}

/// Routes the calls of one plugin to the operations that hold it.
#[derive(Default)]
pub(crate) struct EngineRoute(Mutex<Vec<Weak<PluginOperation>>>);

impl EngineRoute {
    /// Registers an operation as holder until the hold is dropped. A plugin that is loaded for no operation has no
    /// holder.
    #[must_use = "the plugin is held for as long as the hold exists"]
    pub(crate) fn hold(self: &Arc<Self>, operation: &Weak<PluginOperation>) -> RouteHold {
        self.lock().push(Weak::clone(operation));
        RouteHold {
            route: Arc::clone(self),
            operation: Weak::clone(operation),
        }
    }

    /// Emits a plugin's message in the operation that it belongs to.
    ///
    /// A URN identifies the stack. Without one, a message belongs to the only operation that holds the plugin. If
    /// several hold it, or none, the message is dropped: it may contain secrets of one stack, which the others do not
    /// redact. A message with a URN is dropped if operations on different stacks of the same name hold the plugin.
    pub(crate) fn log(&self, diagnostic: Diagnostic) {
        let holders = match &diagnostic.urn {
            Some(urn) => self.holders_on(urn),
            None => match self.holders() {
                several if several.len() > 1 => Vec::new(),
                holders => holders,
            },
        };
        if holders.is_empty() {
            tracing::debug!("dropped a plugin's log message that belongs to no single operation");
        }
        for holder in holders {
            holder.events.diagnostic(diagnostic.clone());
        }
    }

    /// Returns the root resource of the operation that holds the plugin; `None` if several do.
    #[must_use]
    pub(crate) fn root(&self) -> Option<Urn> {
        match self.holders().as_slice() {
            [only] => only.root().get().cloned(),
            _ => None,
        }
    }

    /// Sets the root resource of the operations on the URN's stack, unless it is set already.
    pub(crate) fn set_root(&self, urn: &Urn) {
        for holder in self.holders_on(urn) {
            holder.root().get_or_init(|| urn.clone());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<PluginOperation>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the holders on the URN's stack; empty if they belong to several stacks of its name.
    fn holders_on(&self, urn: &Urn) -> Vec<Arc<PluginOperation>> {
        let mut holders = self.holders();
        holders.retain(|holder| holder.has(urn));
        if holders
            .windows(2)
            .any(|pair| pair[0].identity != pair[1].identity)
        {
            holders.clear();
        }
        holders
    }

    /// Returns the operations that hold the plugin, without duplicates.
    fn holders(&self) -> Vec<Arc<PluginOperation>> {
        let mut holders: Vec<Arc<PluginOperation>> = Vec::new();
        for holder in self.lock().iter().filter_map(Weak::upgrade) {
            if !holders.iter().any(|known| Arc::ptr_eq(known, &holder)) {
                holders.push(holder);
            }
        }
        holders
    }
}

/// The hold of an operation on a plugin.
pub(crate) struct RouteHold {
    route: Arc<EngineRoute>,
    operation: Weak<PluginOperation>,
}

impl Drop for RouteHold {
    fn drop(&mut self) {
        let mut holders = self.route.lock();
        if let Some(place) = holders
            .iter()
            .position(|holder| Weak::ptr_eq(holder, &self.operation))
        {
            holders.swap_remove(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::SystemClock;

    fn operation(stack: &str) -> (Arc<PluginOperation>, EventSink) {
        let events = EventSink::new(Arc::new(SystemClock));
        (PluginOperation::new("shop", stack, stack, events.clone()), events)
    }

    fn texts(events: &EventSink) -> Vec<String> {
        events
            .diagnostics()
            .into_iter()
            .map(|diagnostic| diagnostic.message.library().to_owned())
            .collect()
    }

    #[test]
    fn a_message_without_urn_is_emitted_only_while_one_operation_holds_the_plugin() {
        let route = Arc::new(EngineRoute::default());
        let ((dev, dev_events), (prod, prod_events)) = (operation("dev"), operation("prod"));
        route.log(Diagnostic::warning("no holder"));
        let first = route.hold(&Arc::downgrade(&dev));
        let second = route.hold(&Arc::downgrade(&dev));
        route.log(Diagnostic::warning("dev, held twice"));
        let other = route.hold(&Arc::downgrade(&prod));
        route.log(Diagnostic::warning("both"));
        let urn = Urn::parse("urn:pulumi:prod::shop::echo:index:Echo::a").unwrap();
        let mut about = Diagnostic::warning("about prod");
        about.urn = Some(urn);
        route.log(about.clone());
        drop((first, second));
        route.log(Diagnostic::warning("prod"));
        drop(other);
        route.log(about);
        assert_eq!(texts(&dev_events), ["dev, held twice"]);
        assert_eq!(texts(&prod_events), ["about prod", "prod"]);
    }

    #[test]
    fn a_message_with_urn_is_dropped_while_stacks_of_one_name_hold_the_plugin() {
        let route = Arc::new(EngineRoute::default());
        let [(one, one_events), (other, other_events)] = ["dev#1", "dev#2"].map(|identity| {
            let events = EventSink::new(Arc::new(SystemClock));
            (
                PluginOperation::new("shop", "dev", identity, events.clone()),
                events,
            )
        });
        let mut about = Diagnostic::warning("about dev");
        about.urn = Some(Urn::parse("urn:pulumi:dev::shop::echo:index:Echo::a").unwrap());
        let held = route.hold(&Arc::downgrade(&one));
        let _held_too = route.hold(&Arc::downgrade(&other));
        route.log(about.clone());
        route.set_root(&Urn::root_stack("dev", "shop"));
        assert!(one.root().get().is_none() && other.root().get().is_none());
        drop(held);
        route.log(about);
        assert!(texts(&one_events).is_empty());
        assert_eq!(texts(&other_events), ["about dev"]);
    }

    #[test]
    fn an_ended_operation_holds_no_plugin() {
        let route = Arc::new(EngineRoute::default());
        let ((dev, _), (prod, prod_events)) = (operation("dev"), operation("prod"));
        let _kept = route.hold(&Arc::downgrade(&dev));
        let _held = route.hold(&Arc::downgrade(&prod));
        drop(dev);
        route.log(Diagnostic::warning("prod"));
        assert_eq!(texts(&prod_events), ["prod"]);
    }

    #[test]
    fn the_root_resource_is_that_of_the_operation_that_holds_the_plugin() {
        let (route, other) = (Arc::new(EngineRoute::default()), Arc::new(EngineRoute::default()));
        let ((dev, _), (prod, _)) = (operation("dev"), operation("prod"));
        let monitors = Arc::new(OnceLock::new());
        dev.share_root(Arc::clone(&monitors));
        let _dev = route.hold(&Arc::downgrade(&dev));
        let _prod = other.hold(&Arc::downgrade(&prod));
        let root = |stack| Urn::root_stack(stack, "shop");
        monitors.get_or_init(|| root("dev"));
        other.set_root(&root("dev"));
        assert_eq!(other.root(), None);
        other.set_root(&root("prod"));
        assert_eq!(
            (route.root(), other.root()),
            (Some(root("dev")), Some(root("prod")))
        );
        let _both = route.hold(&Arc::downgrade(&prod));
        assert_eq!(route.root(), None);
    }
}
