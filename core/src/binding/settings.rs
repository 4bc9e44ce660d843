//! Settings of engines and plugins.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    credentials::{CredentialDocument, CredentialHost, HostCredentials},
    secrets::SecretsDocument,
    store::{HostCalls, ObjectHost, supplied},
};
use crate::{
    engine::EngineBuilder,
    error::{Error, Result},
    message::Language,
    plugin::{HostEnvironment, PluginCommand, PluginSettings},
    provider::PoolSettings,
    runtime::Runtime,
    store::{Credentials, Store, StoreSettings, open_with, percent_decode},
    telemetry::Telemetry,
};

/// The settings of an engine that are data; its providers and the functions of the host are passed beside them.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(
    rename = "EngineSettings",
    extend("x-beside" = {
        "python": ["autonamer", "fetch", "installer", "providerThreads", "providers", "resolver", "stackReader", "threads"],
        "node": ["autonamer", "fetch", "installer", "providers", "resolver", "sdk", "stackReader"],
    })
)]
pub struct EngineDocument {
    /// The location of the states: `file:///absolute/folder`, `file://./relative/folder` (`file://relative/folder` is
    /// the same: there is no host in it), `memory://`, a bucket (`s3://`, `gs://`, `azblob://`) or a database (`postgres://`). Where
    /// the host passes a store of its own, the name of that in messages.
    #[schemars(extend("x-takes" = "a URL as a string"))]
    pub store: String,
    /// Allows a bucket whose server ignores the conditions of writes, which is refused otherwise: nothing keeps two hosts from changing
    /// a stack at once then.
    #[serde(default)]
    pub allow_unfenced: bool,
    /// How long the lease of a stack lasts that its holder does not renew, in seconds; 30 when left out. Another host takes the stack over
    /// after this time. Folders have locks that end with their process instead.
    #[schemars(range(min = 2, max = 3_600), extend("x-takes" = "a number of seconds from 2 to 3600"))]
    pub lease: Option<f64>,
    /// The credentials of a bucket or a database. Those that end come from a callback of the host instead.
    #[serde(default)]
    pub credentials: CredentialDocument,
    /// Encrypts the whole store with the secrets manager of the engine: states with all their values, histories, journals and backups,
    /// not only secrets. Names, sizes and times stay visible, and so do lock files. The store must be new, or have been encrypted from
    /// its beginning; it is opened with that manager only, and the reference engine's command refuses it.
    #[serde(default)]
    pub encrypt_store: bool,
    /// Encrypts the secrets of the engine's stacks. Left out, secrets are encoded, not encrypted, and the reference
    /// engine's command opens a stack only while it has no secret.
    pub passphrase: Option<String>,
    /// The folder against which relative folders of the store are resolved; the working directory when left out.
    #[schemars(extend("x-takes" = "the path of a folder"))]
    pub base_directory: Option<PathBuf>,
    /// Where plugins are searched, and which processes are kept.
    #[serde(default)]
    pub plugins: PluginDocument,
    /// User ids whose processes are accepted at the other end of connections on loopback, beside those of the own user
    /// and of root: for providers and policy packs that run as another user.
    #[serde(default)]
    #[schemars(inner(range(max = 4_294_967_295_u32)), extend("x-takes" = "a list of user ids"))]
    pub trusted_peers: Vec<u32>,
    /// The name and data that states record for the host's own encryption, where the host passes one; or the URL of a key service,
    /// where the host passes functions that wrap data keys.
    #[serde(default)]
    pub secrets: SecretsDocument,
    /// Where spans are exported to; nowhere when left out.
    pub telemetry: Option<TelemetryDocument>,
    /// Keeps secrets at any depth; true when left out. An input or output is then secret when it is at or below the path
    /// of a secret input, also where its provider returns it without the mark. With false, outputs are marked by the
    /// names of secret inputs at the top level only, as in the reference engine.
    #[serde(default = "yes")]
    pub nested_secrets: bool,
    /// How many steps, checks and diffs of each package's providers run at a time, in all operations of the engine together; 0 has no
    /// limit beside that of each operation. A set of stacks with a limit of its own has that instead.
    #[serde(default)]
    #[schemars(range(min = 0, max = 2_147_483_647))]
    pub max_calls_per_plugin: u32,
}

/// Where the spans of operations, of their steps, and of calls of providers and of the store are exported to: a collector that takes the
/// OpenTelemetry protocol over HTTP in its binary form. Secrets are in none of them.
///
/// A collector that does not answer delays no operation, and its spans are dropped. They are sent when an operation ends and every five
/// seconds; closing the engine waits five seconds for the last ones at most.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Telemetry")]
pub struct TelemetryDocument {
    /// The URL of the collector: `http://localhost:4318`. `/v1/traces` is appended unless it ends so.
    #[schemars(extend("x-takes" = "a URL as a string"))]
    pub endpoint: Option<String>,
    /// Headers of each request, for instance of an authorization.
    #[schemars(extend("x-takes" = "texts by the names of headers"))]
    pub headers: BTreeMap<String, String>,
    /// The name of the program, in the attribute `service.name`; `stackwright` when left out.
    pub service_name: Option<String>,
    /// Further attributes of the program.
    #[schemars(extend("x-takes" = "texts by the names of attributes"))]
    pub attributes: BTreeMap<String, String>,
    /// Reads what the other members leave out from the environment of this process: `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` or
    /// `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_TRACES_HEADERS` or `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SERVICE_NAME`, and
    /// `OTEL_RESOURCE_ATTRIBUTES`. Without an endpoint in either place, and where `OTEL_SDK_DISABLED` is true, nothing is exported.
    pub from_environment: bool,
}

impl TelemetryDocument {
    /// Returns the settings of the export; `None` where the environment asks for none.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] without an endpoint, unless the environment was to name it.
    pub fn into_settings(self) -> Result<Option<Telemetry>> {
        let environment = self.from_environment.then(HostEnvironment::now);
        self.over(|name| {
            let value = environment.as_ref()?.variable(name)?;
            value.to_str().filter(|text| !text.is_empty()).map(str::to_owned)
        })
    }

    /// Adds an export that is asked for to an engine.
    ///
    /// # Errors
    /// Those of [`Self::into_settings`].
    pub fn applied_to(telemetry: Option<Self>, builder: EngineBuilder) -> Result<EngineBuilder> {
        let settings = telemetry.map_or(Ok(None), Self::into_settings)?;
        Ok(match settings {
            Some(settings) => builder.telemetry(settings),
            None => builder,
        })
    }

    fn over(self, variable: impl Fn(&str) -> Option<String>) -> Result<Option<Telemetry>> {
        let is_disabled = variable("OTEL_SDK_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true"));
        let of_traces = |name: &str| {
            variable(&format!("OTEL_EXPORTER_OTLP_TRACES_{name}"))
                .or_else(|| variable(&format!("OTEL_EXPORTER_OTLP_{name}")))
        };
        let endpoint = self.endpoint.or_else(|| of_traces("ENDPOINT"));
        let Some(endpoint) = endpoint.filter(|_| !is_disabled) else {
            return match self.from_environment {
                true => Ok(None),
                false => Err(Error::invalid(
                    "telemetry needs the endpoint of a collector, as http://localhost:4318",
                )),
            };
        };
        let mut headers = of_traces("HEADERS").map(|text| pairs(&text)).unwrap_or_default();
        headers.extend(self.headers);
        let mut attributes = variable("OTEL_RESOURCE_ATTRIBUTES")
            .map(|text| pairs(&text))
            .unwrap_or_default();
        attributes.extend(self.attributes);
        let of_attributes = attributes.remove("service.name");
        let service_name = self
            .service_name
            .or_else(|| variable("OTEL_SERVICE_NAME"))
            .or(of_attributes);
        let telemetry = Telemetry::to(endpoint);
        Ok(Some(Telemetry {
            headers,
            service_name: service_name.unwrap_or_else(|| telemetry.service_name.clone()),
            attributes,
            ..telemetry
        }))
    }
}

/// Reads `name=value,other=value`, the form of lists in variables of OpenTelemetry. Values are percent-encoded; what is no pair is left out.
fn pairs(text: &str) -> BTreeMap<String, String> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs
        .filter_map(|(name, value)| Some((name.trim().to_owned(), percent_decode(value.trim())?)))
        .collect()
}

#[cfg(test)]
mod telemetry_tests {
    use super::*;

    fn settings(document: TelemetryDocument, variables: &[(&str, &str)]) -> Result<Option<Telemetry>> {
        document.over(|name| {
            let mut found = variables.iter().filter(|(known, _)| *known == name);
            found.next().map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_environment_completes_what_is_left_out() {
        let document = TelemetryDocument {
            headers: [("x-team".to_owned(), "own".to_owned())].into(),
            from_environment: true,
            ..TelemetryDocument::default()
        };
        let telemetry = settings(
            document,
            &[
                ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/"),
                (
                    "OTEL_EXPORTER_OTLP_HEADERS",
                    "x-team=other, authorization=Bearer%204711",
                ),
                ("OTEL_RESOURCE_ATTRIBUTES", "service.name=deployer,region=north"),
            ],
        );
        let telemetry = telemetry.unwrap().unwrap();
        assert_eq!(telemetry.url(), "http://collector:4318/v1/traces");
        assert_eq!(telemetry.headers["x-team"], "own");
        assert_eq!(telemetry.headers["authorization"], "Bearer 4711");
        assert_eq!(telemetry.service_name, "deployer");
        assert_eq!(
            telemetry.attributes,
            [("region".to_owned(), "north".to_owned())].into()
        );
    }

    #[test]
    fn nothing_is_exported_where_the_environment_asks_for_none() {
        let from_environment = || TelemetryDocument {
            from_environment: true,
            ..TelemetryDocument::default()
        };
        assert_eq!(settings(from_environment(), &[]).unwrap(), None);
        let disabled = [
            ("OTEL_SDK_DISABLED", "true"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318"),
        ];
        assert_eq!(settings(from_environment(), &disabled).unwrap(), None);
        let error = settings(TelemetryDocument::default(), &[]).unwrap_err();
        assert!(error.message().contains("needs the endpoint"), "{error}");
    }
}

const fn yes() -> bool {
    true
}

/// Where plugins are searched, and which processes are kept. Nothing is read from the environment, unless
/// [`Self::from_environment`] asks for it.
///
/// Plugins inherit the environment of the host as it is when they are needed. A process is kept after an operation for
/// the next one of the same stack with the same environment, executable and configuration. What a plugin reads
/// elsewhere when it is configured, a file with credentials for instance, is not compared: [`Self::pool_age_limit`]
/// limits how old that can be, and a [`Self::pool_capacity`] of 0 reads it for each operation.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "Plugins")]
pub struct PluginDocument {
    /// Folders that hold executables of plugins; searched first, in this order.
    #[schemars(extend("x-takes" = "a list of paths of folders", "x-python" = "Sequence[str | os.PathLike[str]]"))]
    pub directories: Vec<PathBuf>,
    /// A list of folders in the form of the variable `PATH`, searched next.
    #[schemars(extend("x-takes" = "folders in a string, as PATH has them"))]
    pub path: Option<String>,
    /// A folder of installed plugins, each in its own `<kind>-<name>-v<version>`; searched last.
    #[schemars(extend("x-takes" = "the path of a folder", "x-python" = "str | os.PathLike[str]"))]
    pub cache: Option<PathBuf>,
    /// Commands that start plugins without an executable of their own, by name. In Python and Node the command
    /// that serves the dynamic providers of the SDK is preset.
    #[schemars(extend("x-takes" = "commands by the names of plugins"))]
    pub commands: BTreeMap<String, PluginCommandDocument>,
    /// Searches what the environment of this process names, where [`Self::path`] and [`Self::cache`] are left out: the
    /// folders of `PATH`, unless `PULUMI_IGNORE_AMBIENT_PLUGINS` is true, and the plugins that the reference engine has installed,
    /// in `plugins` of `PULUMI_HOME` or else of `~/.pulumi`. It is read once, when the engine is made.
    pub from_environment: bool,
    /// Downloads plugins that are not found into [`Self::cache`]: from the address of their package, else from
    /// [`Self::server`]. Only plugins whose version is known are downloaded. Archives are verified where the package states their
    /// checksums.
    pub download: bool,
    /// Where plugins are downloaded from whose package has no address: a server in the reference engine's layout,
    /// `<server>/pulumi-<kind>-<name>-v<version>-<os>-<arch>.tar.gz`.
    #[schemars(extend("x-takes" = "a URL as a string"))]
    pub server: Option<String>,
    /// Uses the newest version in the cache, regardless of the required one. Otherwise the required one is used, else the
    /// newest that is compatible with it: a later one of the same major version or, below 1.0, of the same minor one.
    pub ignore_versions: bool,
    /// Names of plugins whose calls may wait for later registrations, so that the option `parallel` is no strict limit
    /// for them.
    #[schemars(extend("x-takes" = "a list of names of plugins"))]
    pub waits_for_registrations: BTreeSet<String>,
    /// How long one call of a provider may take, in seconds, by the name of its package or plugin; providers of the host
    /// included. A call that takes longer fails with an error that names it, and what it was to create or change stays
    /// among the pending operations. A longer timeout of the resource (`customTimeouts`), with 30 seconds more, takes
    /// precedence. Components that it constructs and methods may wait for other resources, those that they register for
    /// instance: for these calls the time does not count in which the operation works on such. Left out, calls take as
    /// long as they take.
    #[schemars(extend("x-takes" = "numbers of seconds by the names of packages"))]
    pub call_timeouts: BTreeMap<String, f64>,
    /// How many processes are kept for the next operation at most, 16 when left out; 0 ends each process with its
    /// operation. Processes of scripts, and of [`Self::commands`] that run files or modules, are never kept.
    #[schemars(range(min = 0, max = 4_294_967_295_u32))]
    pub pool_capacity: Option<u32>,
    /// How long an unused process is kept, in seconds; 60 when left out.
    #[schemars(range(min = 0, max = 1_000_000_000), extend("x-takes" = "a number of seconds from 0"))]
    pub pool_idle_limit: Option<f64>,
    /// How long after its start a process is used again at most, in seconds; 300 when left out.
    #[schemars(range(min = 0, max = 1_000_000_000), extend("x-takes" = "a number of seconds from 0"))]
    pub pool_age_limit: Option<f64>,
}

/// A command that starts a plugin: the program and its arguments, or an object with these and environment variables.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
#[schemars(inline, extend("x-takes" = "a list of strings: the program and its arguments"))]
pub enum PluginCommandDocument {
    /// The program and its arguments.
    Line(Vec<String>),
    /// The same with environment variables.
    #[serde(rename_all = "camelCase")]
    Detailed {
        /// The executable: a path, or a name that is searched on the host's `PATH`.
        program: PathBuf,
        /// Its arguments.
        #[serde(default)]
        arguments: Vec<String>,
        /// Environment variables beside those of the host.
        #[serde(default)]
        environment: BTreeMap<String, String>,
    },
}

/// Shows no setting: the URL of a database can hold a password, and others are secrets.
impl fmt::Debug for EngineDocument {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("EngineDocument").finish_non_exhaustive()
    }
}

/// Shows no environment: it can hold secrets.
impl fmt::Debug for PluginCommandDocument {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PluginCommandDocument")
            .finish_non_exhaustive()
    }
}

/// What a host passes for the store beside the settings.
pub struct StoreHost {
    /// The language of the binding.
    pub language: Language,
    /// The store itself.
    pub objects: Option<Arc<dyn ObjectHost>>,
    /// The callback that returns credentials.
    pub credentials: Option<Arc<dyn CredentialHost>>,
}

impl EngineDocument {
    /// Opens the store. Relative folders are resolved against `base`. The calls of what the host passes end with
    /// [`HostCalls::close`].
    ///
    /// # Errors
    /// Those of [`crate::store::open_with`], and [`crate::ErrorKind::InvalidInput`] for credentials that contradict each other.
    pub fn open_store(
        &self,
        base: &Path,
        runtime: &Runtime,
        host: StoreHost,
    ) -> Result<(Arc<dyn Store>, HostCalls)> {
        let calls = HostCalls::new(runtime);
        let given = self.credentials.given(host.language)?;
        let credentials = match (host.credentials, given) {
            (None, given) => given,
            (Some(_), Credentials::Given(_) | Credentials::Environment(_)) => {
                return Err(Error::invalid(
                    "the credentials of the store are given, and a credential callback as well: one of both is used",
                ));
            }
            (Some(callback), _) => Credentials::Callback(Arc::new(HostCredentials {
                host: callback,
                language: host.language,
                calls: calls.clone(),
            })),
        };
        let settings = StoreSettings {
            allow_unfenced: self.allow_unfenced,
            credentials,
            lease: match self.lease {
                None => StoreSettings::default().lease,
                // A number that is no duration is refused as one that is too short.
                Some(seconds) => Duration::try_from_secs_f64(seconds).unwrap_or_default(),
            },
        };
        let store = match host.objects {
            None => open_with(&self.store, base, runtime, &settings)?,
            Some(_) if !matches!(settings.credentials, Credentials::None) => {
                return Err(Error::invalid(
                    "a store of the host takes no credentials: they are for buckets and databases",
                ));
            }
            Some(objects) => supplied(objects, &self.store, &settings, runtime, calls.clone())?,
        };
        Ok((store, calls))
    }
}

impl PluginDocument {
    /// Returns the settings of plugins and of the pool of their processes.
    ///
    /// # Errors
    /// [`crate::ErrorKind::InvalidInput`] for an empty command, and for a limit that is too long.
    pub fn into_settings(self) -> Result<(PluginSettings, PoolSettings)> {
        let usual = PoolSettings::default();
        let duration = |name: &str, seconds: f64| {
            Duration::try_from_secs_f64(seconds).map_err(|_| {
                Error::invalid(format!(
                    "plugins.{name} takes a number of seconds from 0, not {seconds}"
                ))
            })
        };
        let limit = |name: &str, seconds: Option<f64>, usual: Duration| match seconds {
            None => Ok(usual),
            Some(seconds) => duration(name, seconds),
        };
        let pool = PoolSettings {
            capacity: self
                .pool_capacity
                .map_or(usual.capacity, |capacity| capacity as usize),
            idle_limit: limit("poolIdleLimit", self.pool_idle_limit, usual.idle_limit)?,
            age_limit: limit("poolAgeLimit", self.pool_age_limit, usual.age_limit)?,
        };
        let commands = self.commands.into_iter();
        let commands = commands.map(|(name, command)| {
            let command = command.into_command();
            command
                .map(|command| (name.clone(), command))
                .ok_or_else(|| Error::invalid(format!("the command of the plugin {name} is empty")))
        });
        let call_timeouts = self.call_timeouts.into_iter().map(|(name, seconds)| {
            let timeout = duration(&format!("callTimeouts.{name}"), seconds)?;
            match timeout.is_zero() {
                true => Err(Error::invalid(format!(
                    "plugins.callTimeouts.{name} takes a number of seconds above 0"
                ))),
                false => Ok((name, timeout)),
            }
        });
        let plugins = PluginSettings {
            directories: self.directories,
            path: self.path.map(Into::into),
            cache: self.cache,
            commands: commands.collect::<Result<_>>()?,
            ignore_versions: self.ignore_versions,
            download: self.download,
            server: self.server,
            waits_for_registrations: self.waits_for_registrations,
            call_timeouts: call_timeouts.collect::<Result<_>>()?,
            ..PluginSettings::default()
        };
        let plugins = match self.from_environment {
            true => plugins.or_from(&HostEnvironment::now()),
            false => plugins,
        };
        Ok((plugins, pool))
    }
}

impl PluginCommandDocument {
    /// Returns the command; `None` for an empty one.
    fn into_command(self) -> Option<PluginCommand> {
        let (program, arguments, environment) = match self {
            Self::Line(mut line) if !line.is_empty() => {
                (PathBuf::from(line.remove(0)), line, BTreeMap::new())
            }
            Self::Line(_) => return None,
            Self::Detailed {
                program,
                arguments,
                environment,
            } => (program, arguments, environment),
        };
        let environment = environment.into_iter();
        Some(PluginCommand {
            program,
            arguments: arguments.into_iter().map(Into::into).collect(),
            environment: environment
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            version: None,
        })
    }
}
