//! Engines: created from a JSON document of settings and tables of the host's functions.

use std::sync::Arc;

use stackwright::{
    Engine, Language,
    binding::{self, EngineDocument, StoreHost, TelemetryDocument},
    runtime::Runtime,
    secrets::{Base64Provider, PassphraseProvider, SecretsProvider},
    store::encrypted,
};

use crate::{
    bytes::{sw_bytes_t, sw_bytes_view_t},
    error::sw_error_t,
    failure::{Failure, Outcome},
    guard::{Slot, VersionedStruct, guard, live, sized},
    host::{Host, sw_host_t},
    provider::{CProvider, sw_provider_t},
    runtime::{Shared, sw_runtime_t},
    status::sw_status_t,
};

/// A provider of the host and its package.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sw_package_t {
    /// `sizeof(sw_package_t)`.
    pub struct_size: usize,
    /// The name of the package, `files` for instance: the first part of its resources' types.
    pub package: sw_bytes_view_t,
    /// Its provider.
    pub provider: *const sw_provider_t,
}

// SAFETY: the size is the first field; the rest are numbers, pointers and functions that may be null.
unsafe impl VersionedStruct for sw_package_t {
    const MIN_STRUCT_SIZE: usize = size_of::<Self>();
}

/// The options of an engine. Set `struct_size` to the structure's size and unused fields to zero.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sw_engine_options_t {
    /// `sizeof(sw_engine_options_t)`.
    pub struct_size: usize,
    /// The runtime whose threads the engine uses. Required.
    pub runtime: *mut sw_runtime_t,
    /// JSON: an object with these members, of which only the store is required.
    ///
    /// @members EngineSettings
    ///
    /// Members of `plugins`:
    ///
    /// @members Plugins
    ///
    /// Members of `credentials`:
    ///
    /// @members StoreCredentials
    ///
    /// Members of `secrets`, for a host's table with `encrypt` and `decrypt`, or with `wrap_key` and `unwrap_key`. Data of other
    /// secrets providers is decrypted as without them:
    ///
    /// @members SecretsSettings
    pub settings: sw_bytes_view_t,
    /// The providers in this process; null when there are none.
    pub packages: *const sw_package_t,
    /// The number of packages.
    pub package_count: usize,
    /// The host's functions that the engine calls; null for none.
    pub host: *const sw_host_t,
}

// SAFETY: the size is the first field; the rest are numbers, pointers and functions that may be null.
unsafe impl VersionedStruct for sw_engine_options_t {
    const MIN_STRUCT_SIZE: usize = std::mem::offset_of!(Self, packages);
}

/// An engine: a store, a secrets provider and the providers of packages. Shared by the stacks that it opens, which may
/// outlive the handle.
pub struct sw_engine_t {
    pub(crate) parts: Arc<Parts>,
}

/// What an engine, its stacks and their operations share.
pub(crate) struct Parts {
    pub(crate) engine: Engine,
    pub(crate) host: Option<Arc<Host>>,
    pub(crate) shared: Arc<Shared>,
}

impl Drop for Parts {
    /// Ends idle plugin processes; no operation can use them any more.
    fn drop(&mut self) {
        if !self.shared.closing.is_cancelled() {
            let engine = self.engine.clone();
            let close = async move { engine.close().await };
            drop(self.shared.tasks.spawn_on(close, &self.shared.handle));
        }
    }
}

/// Creates an engine.
///
/// On success the library owns the `user_data` of the tables of the packages, the host and its store, and calls their `free`. On
/// failure it does not.
///
/// # Safety
/// `options` must be null or readable, as must what it points to; `engine` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_engine_new(
    options: *const sw_engine_options_t,
    engine: *mut *mut sw_engine_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: writable by this function's contract.
        let place = unsafe { Slot::required(engine, "engine") }?;
        // SAFETY: null or readable by this function's contract.
        let options = unsafe { sized(options, "the structure of the engine's options") }?
            .ok_or_else(|| Failure::misuse("the engine's options are null"))?;
        // SAFETY: null or alive by this function's contract.
        let shared = Arc::clone(&unsafe { live(options.runtime, "the runtime") }?.shared);
        shared.ensure_open()?;
        // SAFETY: readable by this function's contract.
        let settings = unsafe { options.settings.bytes("the settings") }?;
        let settings: EngineDocument = binding::read(settings, Language::C, "an engine")?;
        // SAFETY: readable by this function's contract.
        let providers = unsafe { providers(&options, &shared) }?;
        let packages = providers
            .iter()
            .map(|(package, provider)| (package.clone(), Arc::clone(provider) as _))
            .collect();
        // SAFETY: null or readable by this function's contract.
        let host = unsafe { Host::new(options.host, &shared, packages) }?;
        let engine = build(settings, &providers, host.as_ref(), &shared)?;
        providers.iter().for_each(|(_, provider)| provider.adopt());
        host.iter().for_each(|host| host.adopt());
        place.fill(Box::into_raw(Box::new(sw_engine_t {
            parts: Arc::new(Parts { engine, host, shared }),
        })));
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

type Providers = Vec<(String, Arc<CProvider>)>;

/// # Safety
/// The packages must be readable, as must what they point to.
unsafe fn providers(options: &sw_engine_options_t, shared: &Arc<Shared>) -> Outcome<Providers> {
    let mut providers = Providers::new();
    if options.package_count > 0 && options.packages.is_null() {
        return Err(Failure::misuse("the packages are null"));
    }
    for index in 0..options.package_count {
        // SAFETY: the index is below the number of packages.
        let package = unsafe { options.packages.add(index) };
        // SAFETY: readable by this function's contract.
        let package =
            unsafe { sized(package, "a package") }?.ok_or_else(|| Failure::misuse("a package is null"))?;
        // SAFETY: readable by this function's contract.
        let name = unsafe { package.package.text("the name of a package") }?;
        // SAFETY: readable by this function's contract.
        let provider = unsafe { CProvider::new(package.provider, name, Arc::clone(shared)) }?;
        providers.push((name.to_owned(), Arc::new(provider)));
    }
    Ok(providers)
}

fn build(
    settings: EngineDocument,
    providers: &Providers,
    host: Option<&Arc<Host>>,
    shared: &Arc<Shared>,
) -> Outcome<Engine> {
    let runtime = Runtime::system(shared.handle.clone());
    let base = match settings.base_directory.clone() {
        Some(base) => base,
        None => ".".into(),
    };
    let base = std::path::absolute(base)
        .map_err(|error| Failure::invalid(format!("the working directory is unavailable: {error}")))?;
    let _context = shared.handle.enter();
    let store_host = StoreHost {
        language: Language::C,
        objects: host.and_then(|host| host.objects()),
        credentials: host.and_then(Host::credentials),
    };
    // The functions are called until the last stack is freed, or the runtime ends.
    let (store, _) = settings.open_store(&base, &runtime, store_host)?;
    let mut secrets: Arc<dyn SecretsProvider> = match settings.passphrase {
        Some(passphrase) if passphrase.is_empty() => {
            return Err(Failure::invalid("the passphrase of the engine is empty"));
        }
        Some(passphrase) => Arc::new(PassphraseProvider::new(passphrase, runtime.clone())),
        None => Arc::new(Base64Provider),
    };
    let functions = host.map(Host::secrets).unwrap_or_default();
    if functions.values.is_some() || settings.secrets.url.is_some() {
        secrets = functions.provider(settings.secrets, secrets, runtime.clone())?;
    }
    let store = match settings.encrypt_store {
        true => encrypted(store, Arc::clone(&secrets), runtime.clone()),
        false => store,
    };
    let mut builder = Engine::builder(shared.handle.clone())
        .runtime(runtime)
        .store(store)
        .secrets(secrets);
    for (package, provider) in providers {
        builder = builder.provider(package.clone(), Arc::clone(provider) as _);
    }
    if let Some(resolver) = host.and_then(Host::resolver) {
        builder = builder.resolver(resolver);
    }
    if let Some(installer) = host.and_then(Host::installer) {
        builder = builder.installer(installer);
    }
    if let Some(reader) = host.and_then(Host::stack_reader) {
        builder = builder.stacks(reader);
    }
    if let Some(autonamer) = host.and_then(Host::autonamer) {
        builder = builder.autonamer(autonamer);
    }
    if let Some(fetch) = host.and_then(Host::fetch) {
        builder = builder.fetch(fetch);
    }
    let (plugins, pool) = settings.plugins.into_settings()?;
    let builder = TelemetryDocument::applied_to(settings.telemetry, builder)?
        .trusted_peers(settings.trusted_peers)
        .nested_secrets(settings.nested_secrets)
        .max_calls_per_plugin(settings.max_calls_per_plugin);
    Ok(builder.plugins(plugins).pool(pool).build()?)
}

/// Returns the stacks of `project`, or all when it is empty, as a JSON array in the order of their names. Checkpoints are only
/// read with `resource_counts`. The members of a stack:
///
/// @members StackSummary
///
/// Members of its last update:
///
/// @members LastUpdate
///
/// Members of its lock:
///
/// @members LockHolder
///
/// # Safety
/// `engine` must be null or alive, `project` readable, `stacks` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_engine_stacks(
    engine: *const sw_engine_t,
    project: sw_bytes_view_t,
    resource_counts: bool,
    stacks: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: writable by this function's contract.
        let place = unsafe { Slot::required(stacks, "stacks") }?;
        // SAFETY: null or alive by this function's contract.
        let parts = Arc::clone(&unsafe { live(engine, "the engine") }?.parts);
        // SAFETY: readable by this function's contract.
        let project = unsafe { project.text("the project") }?;
        let listing = async {
            let project = (!project.is_empty()).then_some(project);
            Ok(parts.engine.stacks(project, resource_counts).await?)
        };
        let stacks = parts.shared.block_on(listing)?;
        let json = binding::stacks_document(&stacks).to_string().into_bytes();
        place.fill(sw_bytes_t::boxed(json));
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Returns what the engine has counted since it was made, and what runs now, as a JSON object. It contains names and numbers, and no
/// value of a resource, of a configuration or of a secret. The members:
///
/// @members Metrics
///
/// Members of the operations of a verb:
///
/// @members OperationMetrics
///
/// Members of the calls of a package:
///
/// @members CallMetrics
///
/// Members of a plugin process:
///
/// @members PluginProcessMetrics
///
/// Members of the journals:
///
/// @members JournalMetrics
///
/// Members of the store:
///
/// @members StoreMetrics
///
/// Members of the locks:
///
/// @members LockMetrics
///
/// # Safety
/// `engine` must be null or alive, `metrics` writable, `error` null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_engine_metrics(
    engine: *const sw_engine_t,
    metrics: *mut *mut sw_bytes_t,
    error: *mut *mut sw_error_t,
) -> sw_status_t {
    let body = || {
        // SAFETY: writable by this function's contract.
        let place = unsafe { Slot::required(metrics, "metrics") }?;
        // SAFETY: null or alive by this function's contract.
        let engine = &unsafe { live(engine, "the engine") }?.parts.engine;
        let json = binding::metrics_document(&engine.metrics()).to_string();
        place.fill(sw_bytes_t::boxed(json.into_bytes()));
        Ok(())
    };
    // SAFETY: `error` is null or writable by this function's contract.
    unsafe { guard(error, body) }
}

/// Frees an engine's handle; its stacks and operations continue. Null is ignored.
///
/// # Safety
/// `engine` must be null or a live object of `sw_engine_new`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sw_engine_free(engine: *mut sw_engine_t) {
    if !engine.is_null() {
        // SAFETY: created by `sw_engine_new`, and not freed before by this function's contract.
        drop(unsafe { Box::from_raw(engine) });
    }
}
