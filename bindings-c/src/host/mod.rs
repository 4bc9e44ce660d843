//! The host's functions: plugin resolution and installation, outputs of other stacks, remote assets, names, encryption,
//! and the journal.

mod installer;
mod name;
mod secrets;

use std::{collections::BTreeMap, ffi::c_void, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use stackwright::{
    Error, ErrorKind,
    autonaming::{Autonamer, NamingRequest, Proposal},
    binding::{CredentialHost, ObjectHost},
    property::{
        PropertyMap,
        hash::Fetch,
        json::{SecretForm, from_plain_json, to_vec},
    },
    provider::{ProviderBackend, Resolution, ResolutionRequest, Resolver, builtin::StackReader},
    state::{
        JournalEntry,
        journal::{EntryJson, JournalReceiver},
    },
};

use self::name::{NamingDocument, Proposed};
use crate::{
    failure::{Failure, Outcome},
    foreign::{UserData, sw_free_t},
    guard::{VersionedStruct, sized},
    provider::{HostFunction, PendingCall, sw_call_t, sw_give_up_t, text_answer},
    runtime::Shared,
    store::{CStore, sw_store_t},
};

/// The version of `sw_host_t` that this header describes.
pub const SW_HOST_VERSION: u32 = 1;

/// The host's functions that the engine calls, each of which may be null. The table is copied.
///
/// ITS FUNCTIONS ARE CALLED CONCURRENTLY, each call on a thread of its own, and may block, except for `give_up` and
/// `free`. They complete calls as a provider does, with `sw_completion_succeed` or `sw_completion_fail`. The message of
/// a failure is reported unchanged.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct sw_host_t {
    /// `sizeof(sw_host_t)`.
    pub struct_size: usize,
    /// `SW_HOST_VERSION`.
    pub version: u32,
    /// Passed to each function.
    pub user_data: *mut c_void,
    /// Frees `user_data` after the last call of a function; may be null.
    pub free: sw_free_t,
    /// Called when one call is cancelled; its completion must still be completed or freed.
    pub give_up: sw_give_up_t,
    /// Resolves the plugin of a provider instance: `{"kind": "resource", "name", "version" (or null), "downloadUrl",
    /// "checksums": {"linux-amd64": "hex"}}` → `{"address": "127.0.0.1:4711"}` for a running plugin, `{"package":
    /// "files"}` for the engine's provider of that package, `{}` for the engine's own lookup. For a policy pack `kind`
    /// is `analyzer`, `path` and `config` are those of the operation's options, and the response has its address. For
    /// other plugins `path` and `config` are empty.
    pub resolve: sw_call_t,
    /// Returns another stack's outputs for a stack reference: `{"stack": "name"}` → a JSON object. Null: the engine
    /// reads them from its store.
    pub stack_outputs: sw_call_t,
    /// Returns the outputs of another stack's resources, as `stack_outputs`: `{"URN": {"type": "…", "outputs": {…}}}`.
    /// Required with it.
    pub stack_resource_outputs: sw_call_t,
    /// Receives an entry of a stack's journal: `{"stack": "project/name", "entry": {…}}` → `{}`. The engine continues
    /// after the completion; a failure ends the operation with an error. Records are those of deployments, in which the
    /// `ciphertext` of a secret is the base64 of its JSON text. An entry has `sequence`, `operation` (the number of its
    /// step) and `kind`: `begin`, before the provider is called, with `op`, `pending`, `old`, `state`, `keys`, `diffs`,
    /// `detailedDiff`; `success` with `op`, `resultOp`, `removed`, `marked`, `new` and the flags `inPlace`, `elided`,
    /// `untargeted`, `persistedRefresh`, `deletedByRefresh`, `skippedCreate` (with `state`: the goal of a resource that
    /// is neither created nor recorded); `failure` with `op`; `outputs` with `new`; `base-written` with `records` and,
    /// for an edit of the state, `pendingOperations` (`kind`, `state`), each list complete;
    /// `base-rebuilt` with `order`, `records`, `clearPending`; `extension` with `extensionRef` and `extension` (`name`,
    /// `version`, and `value` in base64), to which later records refer. Empty fields are left out.
    pub journal: sw_call_t,
    /// Encrypts secrets in place of the engine: `["text", …]` → as many texts, in order.
    pub encrypt: sw_call_t,
    /// Decrypts the texts of `encrypt`, in the same form. Required with it. The message of a failure must contain no
    /// secret.
    pub decrypt: sw_call_t,
    /// Fetches a remote asset or archive, for its hash: `{"uri": "…"}` → the raw content, which is no JSON. Null: the
    /// engine fetches it over HTTP.
    pub fetch: sw_call_t,
    /// Proposes the physical name of a resource, in place of `pulumi:autonaming` of the configuration: `{"urn", "type",
    /// "name", "randomSeed": base64 of 32 bytes, "preview"}` → `{"proposedName": "…", "mode":
    /// "propose"|"enforce"|"disable", "deleteBeforeReplace": false, "warnIfUnsupported": false}`, of which only the
    /// name is required (`disable` needs none); `{}` leaves the name to the provider. Called once for each registration
    /// of a resource that is no component and no provider; a failure ends the operation. Providers receive the proposal
    /// with `check`. Names derived from the seed are equal in a preview and its update.
    pub propose_name: sw_call_t,
    /// Returns whether a plugin is installed, in any version when `version` is null: the request of `resolve` →
    /// `{"installed": true}`; `{}` when it is not. This and the next two are called, in this order, for a plugin that
    /// is found neither in the packages, by `resolve` nor in the folders of `"plugins"`; then the engine searches
    /// again. Several resources and operations share one installation of a plugin. Without `skipPluginPreInstall`,
    /// plugins of recorded providers are installed before an operation begins, and those that the language runtime
    /// requires before the program runs.
    pub is_installed: sw_call_t,
    /// Returns the latest version of a plugin without a required version: the request of `resolve` → `{"version":
    /// "1.2.3"}`; `{}` leaves the choice to `install`.
    pub latest_version: sw_call_t,
    /// Installs a plugin: its executable `pulumi-resource-NAME` into one of the `directories`, or into
    /// `resource-NAME-vVERSION` in the `cache`. The request of `resolve` → `{}`, or `{"declined": true}` when it is not
    /// installed, which leaves it missing.
    pub install: sw_call_t,
    /// Encrypts the secrets of a stack whose settings have `"secrets"`: `{"stack": "project/name", "texts": ["text",
    /// …]}` → as many texts, in order.
    pub encrypt_for_stack: sw_call_t,
    /// Decrypts the texts of `encrypt_for_stack`, in the same form. Required with it. Secrets of referenced stacks are
    /// passed with the name of the referring stack, unless `referencePassphrases` of its settings contains them. The
    /// message of a failure must contain no secret.
    pub decrypt_for_stack: sw_call_t,
    /// Returns the credentials of the store, a bucket or a database: `{}` → an object with the members of `credentials` in the
    /// settings of the engine, with `expires` in place of `fromEnvironment` and `serviceAccount`. Called when the store is used first, and
    /// again one minute before `expires`, or, without that, one minute later; calls do not overlap. A failure fails the request of
    /// the store that needed the credentials; its message must contain no secret. Null: those of the settings are used.
    pub credentials: sw_call_t,
    /// The host's own store, a table with a `user_data` of its own; `store` of the settings names it in messages (a URL, or a name).
    /// Null: the store of the settings.
    pub store: *const sw_store_t,
    /// Encrypts a data key with the key of a key service: `{"url": "awskms://alias/shop", "key": base64 of 32 bytes}` → the raw
    /// ciphertext, which is no JSON. For an engine, a stack or a change whose `secrets` has a `url`: the engine then encrypts the
    /// secrets, with the data key. The message of a failure must not contain the key.
    pub wrap_key: sw_call_t,
    /// Decrypts what `wrap_key` returned: `{"url": …, "key": base64}` → the raw 32 bytes. Required with it.
    pub unwrap_key: sw_call_t,
}

// SAFETY: the size is the first field; the rest are numbers, pointers and functions that may be null.
unsafe impl VersionedStruct for sw_host_t {
    const MIN_STRUCT_SIZE: usize = std::mem::offset_of!(Self, resolve);
}

/// The host's table.
pub(crate) struct Host {
    functions: sw_host_t,
    data: Arc<UserData>,
    shared: Arc<Shared>,
    store: Option<Arc<CStore>>,
    /// The providers that `resolve` can name.
    packages: BTreeMap<String, Arc<dyn ProviderBackend>>,
}

// SAFETY: the header states that functions are called from any thread; the pointer in the table is never dereferenced,
// `data` owns it.
unsafe impl Send for Host {}
// SAFETY: as above.
unsafe impl Sync for Host {}

impl Host {
    /// Reads a table of the host; `None` for null.
    ///
    /// # Safety
    /// `table` must be null or readable for its `struct_size`, as must its store.
    pub(crate) unsafe fn new(
        table: *const sw_host_t,
        shared: &Arc<Shared>,
        packages: BTreeMap<String, Arc<dyn ProviderBackend>>,
    ) -> Outcome<Option<Arc<Self>>> {
        // SAFETY: null or readable by this function's contract.
        let Some(functions) = unsafe { sized(table, "the host's table") }? else {
            return Ok(None);
        };
        if functions.version != SW_HOST_VERSION {
            return Err(Failure::misuse("the host's table has an unknown version"));
        }
        if functions.stack_outputs.is_some() != functions.stack_resource_outputs.is_some() {
            return Err(Failure::misuse(
                "the host's table has one of the functions for stack references without the other",
            ));
        }
        if functions.encrypt.is_some() != functions.decrypt.is_some() {
            return Err(Failure::misuse(
                "the host's table has one of the functions for secrets without the other",
            ));
        }
        if functions.wrap_key.is_some() != functions.unwrap_key.is_some() {
            return Err(Failure::misuse(
                "the host's table has one of the functions for data keys without the other",
            ));
        }
        if functions.encrypt_for_stack.is_some() != functions.decrypt_for_stack.is_some() {
            return Err(Failure::misuse(
                "the host's table has one of the functions for secrets of one stack without the other",
            ));
        }
        // SAFETY: null or readable by this function's contract.
        let store = unsafe { CStore::new(functions.store, shared) }?;
        Ok(Some(Arc::new(Self {
            store,
            data: Arc::new(UserData::new(functions.user_data, functions.free)),
            functions,
            shared: Arc::clone(shared),
            packages,
        })))
    }

    /// Takes ownership of `user_data`, and of that of the store, which the host has until then.
    pub(crate) fn adopt(&self) {
        self.data.adopt();
        self.store.iter().for_each(|store| store.adopt());
    }

    pub(crate) fn objects(&self) -> Option<Arc<dyn ObjectHost>> {
        self.store.as_ref().map(|store| Arc::clone(store) as _)
    }

    pub(crate) fn resolver(self: &Arc<Self>) -> Option<Arc<dyn Resolver>> {
        self.functions.resolve.is_some().then(|| Arc::clone(self) as _)
    }

    pub(crate) fn stack_reader(self: &Arc<Self>) -> Option<Arc<dyn StackReader>> {
        self.functions
            .stack_outputs
            .is_some()
            .then(|| Arc::clone(self) as _)
    }

    pub(crate) fn fetch(self: &Arc<Self>) -> Option<Arc<dyn Fetch>> {
        self.functions.fetch.is_some().then(|| Arc::clone(self) as _)
    }

    pub(crate) fn credentials(self: &Arc<Self>) -> Option<Arc<dyn CredentialHost>> {
        self.functions
            .credentials
            .is_some()
            .then(|| Arc::clone(self) as _)
    }

    pub(crate) fn autonamer(self: &Arc<Self>) -> Option<Arc<dyn Autonamer>> {
        self.functions
            .propose_name
            .is_some()
            .then(|| Arc::clone(self) as _)
    }

    pub(crate) fn journal(self: &Arc<Self>, stack: String) -> Option<Arc<dyn JournalReceiver>> {
        let journal = StackJournal {
            host: Arc::clone(self),
            stack,
        };
        self.functions.journal.is_some().then(|| Arc::new(journal) as _)
    }

    /// Calls a function of the host; its failure becomes an error of `kind`.
    async fn ask(
        &self,
        function: sw_call_t,
        request: Vec<u8>,
        kind: ErrorKind,
        what: &str,
    ) -> stackwright::Result<Vec<u8>> {
        let Some(function) = function else {
            return Err(Error::internal(format!("the host has no {what}")));
        };
        let call = PendingCall {
            function: HostFunction::Plain(function),
            give_up: self.functions.give_up,
            data: Arc::clone(&self.data),
            prompt: false,
        };
        text_answer(call.answer(&self.shared, request).await, kind, what)
    }
}

fn read<T: DeserializeOwned>(json: &[u8], what: &str) -> stackwright::Result<T> {
    serde_json::from_slice(json)
        .map_err(|error| Error::invalid(format!("malformed {what} response from the host: {error}")))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResolutionDocument<'a> {
    kind: &'static str,
    name: &'a str,
    version: Option<String>,
    download_url: &'a str,
    checksums: &'a BTreeMap<String, String>,
    path: &'a str,
    config: &'a BTreeMap<String, serde_json::Value>,
}

impl<'a> From<&'a ResolutionRequest> for ResolutionDocument<'a> {
    fn from(request: &'a ResolutionRequest) -> Self {
        Self {
            kind: request.kind.name(),
            name: &request.name,
            version: request.version.as_ref().map(ToString::to_string),
            download_url: &request.download_url,
            checksums: &request.checksums,
            path: &request.path,
            config: &request.config,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Resolved {
    address: Option<String>,
    package: Option<String>,
}

#[async_trait]
impl Resolver for Host {
    async fn resolve(&self, request: ResolutionRequest) -> stackwright::Result<Resolution> {
        let document = to_vec(&ResolutionDocument::from(&request))?;
        let answer = self
            .ask(self.functions.resolve, document, ErrorKind::Plugin, "resolve")
            .await?;
        let resolved: Resolved = if answer.is_empty() {
            Resolved::default()
        } else {
            read(&answer, "resolve")?
        };
        match (resolved.address, resolved.package) {
            (None, None) => Ok(Resolution::Default),
            (Some(address), None) => Ok(Resolution::Address(address)),
            (None, Some(package)) => match self.packages.get(&package) {
                Some(provider) => Ok(Resolution::InProcess(Arc::clone(provider))),
                None => Err(Error::invalid(format!(
                    "the engine has no provider for package {package:?}"
                ))),
            },
            (Some(_), Some(_)) => Err(Error::invalid(
                "malformed resolve response from the host: both an address and a package",
            )),
        }
    }
}

impl Host {
    async fn outputs(
        &self,
        function: sw_call_t,
        stack: &str,
        what: &str,
    ) -> stackwright::Result<PropertyMap> {
        let request = to_vec(&serde_json::json!({ "stack": stack }))?;
        let answer = self.ask(function, request, ErrorKind::NotFound, what).await?;
        if answer.is_empty() {
            return Ok(PropertyMap::new());
        }
        from_plain_json(&answer)
    }
}

#[async_trait]
impl StackReader for Host {
    async fn stack_outputs(&self, stack: &str) -> stackwright::Result<PropertyMap> {
        self.outputs(self.functions.stack_outputs, stack, "stack_outputs")
            .await
    }

    async fn stack_resource_outputs(&self, stack: &str) -> stackwright::Result<PropertyMap> {
        self.outputs(
            self.functions.stack_resource_outputs,
            stack,
            "stack_resource_outputs",
        )
        .await
    }
}

#[async_trait]
impl CredentialHost for Host {
    async fn credentials(&self) -> stackwright::Result<Vec<u8>> {
        let function = self.functions.credentials;
        self.ask(function, b"{}".to_vec(), ErrorKind::Unavailable, "credentials")
            .await
    }
}

#[async_trait]
impl Fetch for Host {
    async fn fetch(&self, uri: &str) -> stackwright::Result<Bytes> {
        let request = to_vec(&serde_json::json!({ "uri": uri }))?;
        let content = self
            .ask(self.functions.fetch, request, ErrorKind::Unavailable, "fetch")
            .await?;
        Ok(content.into())
    }
}

#[async_trait]
impl Autonamer for Host {
    async fn propose(&self, request: NamingRequest) -> stackwright::Result<Option<Proposal>> {
        let document = to_vec(&NamingDocument::from(request))?;
        let answer = self
            .ask(
                self.functions.propose_name,
                document,
                ErrorKind::Failed,
                "propose_name",
            )
            .await?;
        if answer.is_empty() {
            return Ok(None);
        }
        read::<Proposed>(&answer, "propose_name")?.into_proposal()
    }
}

/// The journal of one stack, whose entries are passed to the host.
struct StackJournal {
    host: Arc<Host>,
    stack: String,
}

#[derive(Serialize)]
struct EntryDocument<'a> {
    stack: &'a str,
    entry: EntryJson<'a>,
}

#[async_trait]
impl JournalReceiver for StackJournal {
    async fn receive(&self, entry: &Arc<JournalEntry>) -> stackwright::Result<()> {
        let document = to_vec(&EntryDocument {
            stack: &self.stack,
            entry: EntryJson::new(entry, SecretForm::Base64),
        })?;
        let function = self.host.functions.journal;
        self.host
            .ask(function, document, ErrorKind::Unavailable, "journal")
            .await
            .map(drop)
    }
}
