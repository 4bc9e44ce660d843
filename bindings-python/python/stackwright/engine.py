"""The engine: where states live, what encrypts them, and who provides what."""

from __future__ import annotations

import atexit
import os
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Literal

from . import fleet as _fleet
from . import host as _host
from . import installer as _installer
from . import journal as _journal
from . import _plugins
from . import _provider_threads
from . import provider as _provider
from . import store as _store
from ._bridge import answer
from ._checks import refusal, require, require_function, require_given
from ._annotations import Unpack
from ._json import document_of_options
from ._raised import Raised
from ._records import metrics_of, summaries_of
from ._results import InstalledPlugin, Metrics, PluginProgress, StackSummary
from ._runner import Program, check
from ._stackwright import Engine as NativeEngine
from ._stackwright import PluginLimits as NativePluginLimits
from ._stackwright import Simulation as NativeSimulation
from ._stackwright import close_gate
from .credentials import Credentials, describe_credentials
from .errors import InvalidInputError
from .fleet import FleetEvent, FleetOperation, StackRun
from .host import Autonamer, Fetch, KeyService, Secrets, StackReader
from .installer import Installer
from .journal import Journal
from .options import Plugins, StackSettings, Telemetry
from .project import Project
from .provider import Resolver
from .stack import Stack, document_of
from .store import Store

__all__ = ["Engine", "PluginKind"]

PluginKind = Literal["resource", "analyzer", "language", "converter", "tool"]
"""A kind of plugins."""


def plugin_settings(plugins: Plugins) -> dict[str, Any]:
    """Returns the settings that are given, with paths as texts and the command of ``pulumi.dynamic`` among the commands."""
    given = given_members(plugins)
    directories = given["directories"]
    if isinstance(directories, Sequence) and not isinstance(directories, (str, bytes)):
        given["directories"] = [_path_text(directory) for directory in directories]
    given["cache"] = _path_text(given["cache"])
    commands = {} if given["commands"] is None else given["commands"]
    if isinstance(commands, Mapping):
        given["commands"] = {"pulumi-python": [sys.executable, "-u", "-c", _DYNAMIC], **commands}
    return given


def given_members(settings: Plugins | Telemetry) -> dict[str, Any]:
    """Returns the members of settings by name."""
    return {name: getattr(settings, name) for name in type(settings).__annotations__}


def _path_text(path: Any) -> Any:
    return os.fspath(path) if isinstance(path, os.PathLike) else path


_MAX_THREADS: Final = 1024

_JOIN_TIMEOUT: Final = 1.0
"""How long the interpreter's end waits for methods of providers that still run, in seconds."""

_open: weakref.WeakSet[NativeEngine] = weakref.WeakSet()


@atexit.register
def _abandon() -> None:
    # Threads of the engine must not come into the interpreter while it ends.
    close_gate()
    for engine in list(_open):
        engine.abandon()
    # A thread that returns into the interpreter while that ends would end the process.
    _provider_threads.join_threads(_JOIN_TIMEOUT)
    _provider_threads.interrupt_threads()
    _provider_threads.join_threads(_JOIN_TIMEOUT)


_DYNAMIC: Final = """\
import sys
sys.path[:] = [folder for folder in sys.path if folder]
import os, runpy
import asyncio, base64, concurrent.futures, threading, traceback, typing
import dill, grpc, google.protobuf.empty_pb2, google.protobuf.struct_pb2
import pulumi, pulumi.dynamic, pulumi.metadata
import pulumi.runtime.proto.provider_pb2_grpc
sys.path.insert(0, os.getcwd())
runpy.run_module("pulumi.dynamic", run_name="__main__", alter_sys=True)
"""
"""Serves ``pulumi.dynamic``. What the server itself needs is imported before the working directory, where the program's own
modules are, can be: a file there never takes the place of an installed package."""


class Engine:
    """An engine, with threads of its own and nothing global: several with different settings live in one process.

    ::

        async with sw.Engine(store="file://./state", providers={"files": Files()}) as engine:
            stack = await engine.stack("shop/dev", program)
            print(await stack.preview())

    :param store: Where states live: ``file://./folder`` (``file://folder`` is the same: there is no host in it),
        ``file:///absolute/folder``, ``memory://``, a bucket (``s3://``, ``gs://``, ``azblob://``) or a database (``postgres://``); or a
        store of the host, see :class:`stackwright.Store`.
    :param credentials: Those of a bucket or a database: a mapping, a function that returns one and is called again before it ends, a
        session of ``boto3``, or credentials of ``google.auth`` or ``azure.identity``; see :data:`stackwright.Credentials`.
    :param passphrase: Encrypts the secrets of its stacks; without it, they are only encoded, not encrypted, and the reference
        engine's command opens a stack only while it has no secret.
    :param secrets: Encrypts them the host's own way instead: an object with ``kind`` (the name of its encryption in
        deployments), ``encrypt`` and ``decrypt``, see :class:`stackwright.Secrets`. Or encrypts them with data keys that a key
        service wraps (:func:`stackwright.secrets.aws_kms` and its siblings), see :class:`stackwright.KeyService`. Stacks that were encrypted with a
        passphrase still need it.
    :param providers: Objects that provide packages; see :class:`stackwright.Provider`.
    :param plugins: Where plugin processes of other packages are looked for.
    :param resolver: Decides what serves a package before anything is looked for; see :data:`stackwright.Resolver`.
    :param installer: Installs plugins that are not found: when they are needed, and, unless there is a ``resolver`` or the
        option ``skip_plugin_pre_install`` is set, before an operation begins. See
        :class:`stackwright.PluginInstaller`; an ordinary or ``async`` function does for its method ``install``.
    :param stack_reader: Answers references to other stacks; without it, they are read from ``store``.
    :param fetch: Gets what URIs of remote assets name; without it, the engine does, over HTTP. See
        :data:`stackwright.Fetch`.
    :param autonamer: Names real things; without it, ``pulumi:autonaming`` of a stack's configuration does. See
        :data:`stackwright.Autonamer`.
    :param telemetry: Where the spans of operations, of their steps and of calls are exported to; see :class:`stackwright.Telemetry`. An
        operation is within the current span of ``opentelemetry``, where that package is used.
    :param trusted_peers: Numbers of the users whose processes may be at the other end of connections on loopback, beside those
        of the own user and of root: for providers and policy packs that the host runs as another user.
    :param allow_unfenced: Allows a bucket whose server ignores the conditions of writes, which is refused otherwise: nothing keeps
        two hosts from changing a stack at once then.
    :param lease: How long the lease of a stack lasts that its holder does not renew, in seconds (2 to 3600); 30 when left out. Another
        host takes the stack over after this time. Folders have locks that end with their process instead.
    :param encrypt_store: Encrypts the whole store with ``passphrase`` or ``secrets``: states with all their values, histories, journals
        and backups. Names, sizes and times stay visible, and so do lock files. The store must be new, or have been encrypted from its
        beginning; it is opened with the same manager only, and the reference engine's command refuses it.
    :param nested_secrets: Keeps secrets at any depth: an input or output is secret when it is at or below the path of a secret
        input, also where its provider returns it without the mark. With ``False``, outputs are marked by the names of secret
        inputs at the top level only, as in the reference engine.
    :param max_calls_per_plugin: How many steps, checks and diffs of each package's providers run at a time, in all operations of the
        engine together; 0 has no limit beside that of each operation.
    :param base_directory: What relative folders of ``store`` stand below; the working directory by default.
    :param threads: How many threads the engine itself has.
    :param provider_threads: How many blocking methods of providers run at once when many are called; as many functions of
        the host can run beside them. It bounds bursts only: while calls wait and no thread is free, more are started, and
        end when they are idle.
    """

    # What `stackwright.testing` sets before it begins: a simulation, and an object that answers its functions.
    _simulation: NativeSimulation | None = None
    _answers: object | None = None
    # What a worker of an executor sets before it begins: a limit that its engines share.
    _plugin_limits: NativePluginLimits | None = None

    def __init__(
        self,
        *,
        store: str | Store,
        credentials: Credentials | None = None,
        passphrase: str | None = None,
        providers: Mapping[str, object] | None = None,
        plugins: Plugins | None = None,
        resolver: Resolver | None = None,
        installer: Installer | None = None,
        secrets: Secrets | KeyService | None = None,
        stack_reader: StackReader | None = None,
        fetch: Fetch | None = None,
        autonamer: Autonamer | None = None,
        telemetry: Telemetry | None = None,
        trusted_peers: Sequence[int] = (),
        allow_unfenced: bool = False,
        lease: float | None = None,
        encrypt_store: bool = False,
        nested_secrets: bool = True,
        max_calls_per_plugin: int = 0,
        base_directory: str | os.PathLike[str] | None = None,
        threads: int = 2,
        provider_threads: int = 64,
    ) -> None:
        for option, number in (("threads", threads), ("provider_threads", provider_threads)):
            if not isinstance(number, int) or isinstance(number, bool) or not 0 < number <= _MAX_THREADS:
                raise InvalidInputError(f"{option} takes a number from 1 to {_MAX_THREADS}, not {number!r}")
        require("plugins", plugins, Plugins, "stackwright.Plugins")
        require("telemetry", telemetry, Telemetry, "stackwright.Telemetry")
        if passphrase == "":
            raise InvalidInputError("passphrase takes a text that is not empty; leave it out to have secrets only encoded")
        require_function("resolver", resolver)
        host_store = _store.describe_store(store)
        given, credential_source = describe_credentials(credentials)
        document = document_of_options(
            {
                "store": store if host_store is None else host_store[0],
                "credentials": given,
                "passphrase": passphrase,
                "base_directory": _path_text(base_directory),
                "plugins": plugin_settings(Plugins() if plugins is None else plugins),
                "telemetry": None if telemetry is None else given_members(telemetry),
                "allow_unfenced": allow_unfenced,
                "lease": lease,
                "encrypt_store": encrypt_store,
                "nested_secrets": nested_secrets,
                "max_calls_per_plugin": max_calls_per_plugin,
                "trusted_peers": list(trusted_peers) if isinstance(trusted_peers, (tuple, set, frozenset)) else trusted_peers,
            }
        )
        self._raised = Raised()
        described = _provider.describe_all(providers, self._raised)
        answers = {} if self._answers is None else _provider.describe_all({"answers": self._answers}, self._raised)
        host_secrets = None if secrets is None else _host.describe_secrets(secrets)
        host_stacks = None if stack_reader is None else _host.describe_stack_reader(stack_reader)
        host_fetch = None if fetch is None else _host.describe_fetch(fetch)
        host_installer = None if installer is None else _installer.describe_installer(installer)
        host_names = None if autonamer is None else _host.describe_autonamer(autonamer)
        functions = (
            *(host_secrets[2:] if host_secrets else ()),
            *(host_stacks or ()),
            *((host_fetch,) if host_fetch else ()),
            *((host_names,) if host_names else ()),
            *(function for function in host_installer or () if function),
            *(function for function in (host_store[1] if host_store else ()) if function),
            *((credential_source,) if credential_source else ()),
        )
        is_async = any(is_async for methods, _ in (*described.values(), *answers.values()) for _, _, is_async in methods)
        is_async = is_async or any(is_async for _, is_async in functions)
        # A resolver may return asynchronous providers.
        self._provider_loop = _provider_threads.ProviderLoop(is_async or resolver is not None)
        settings: dict[str, Any] = {
            "threads": threads,
            "provider_threads": provider_threads,
            "document": document,
            "store": host_store and host_store[1],
            "credentials": credential_source,
            "providers": described,
            "simulation": self._simulation,
            "answers": answers.get("answers"),
            "secrets": host_secrets,
            "stack_reader": host_stacks,
            "fetch": host_fetch,
            "autonamer": host_names,
            "installer": host_installer,
            "resolver": None if resolver is None else _provider.describe_resolver(resolver, self._raised),
            "plugin_limits": self._plugin_limits,
            "provider_queue": self._provider_loop.queue,
            "start_task": _provider_threads.start_task,
            "start_thread": _provider_threads.start_thread,
        }
        self._native = NativeEngine(settings)
        self._closed = False
        self._exports_spans = telemetry is not None
        _open.add(self._native)

    def _require_open(self) -> None:
        """Raises :class:`InvalidInputError` once the engine has been closed."""
        if self._closed:
            raise InvalidInputError("the engine is closed")

    async def stack(
        self,
        name: str,
        program: Program | None = None,
        *,
        create: bool | None = None,
        **settings: Unpack[StackSettings],
    ) -> Stack:
        """Opens a stack, named ``project/stack``; ``settings`` are those of :class:`~stackwright.StackSettings`.

        :param program: Registers the stack's resources: a function with one parameter, of this package's own API, or one
            without any, of the Pulumi SDK; or a :class:`~stackwright.LanguageRuntime`.
        :param create: Whether a stack that does not exist is created. Left out, it is created when there is a ``program``;
            without one its first update or import creates it, and operations that only read it raise
            :class:`~stackwright.NotFoundError` until then.
        """
        return await self._open(name, program, None, {"create": create, **settings})

    async def create_stack(
        self, name: str, program: Program | None = None, **settings: Unpack[StackSettings]
    ) -> Stack:
        """Creates a stack; the settings are those of :meth:`stack`.

        Raises :class:`~stackwright.ConflictError` when it exists.
        """
        return await self._open(name, program, "create", settings)

    async def select_stack(
        self, name: str, program: Program | None = None, **settings: Unpack[StackSettings]
    ) -> Stack:
        """Selects a stack that exists; the settings are those of :meth:`stack`.

        Raises :class:`~stackwright.NotFoundError` when it does not; the hints name stacks that are called like it.
        """
        return await self._open(name, program, "select", settings)

    async def create_or_select_stack(
        self, name: str, program: Program | None = None, **settings: Unpack[StackSettings]
    ) -> Stack:
        """Selects a stack, and creates it when it does not exist; the settings are those of :meth:`stack`."""
        return await self._open(name, program, "create_or_select", settings)

    async def _open(self, name: str, program: Program | None, opening: str | None, settings: Mapping[str, Any]) -> Stack:
        self._require_open()
        require_given("name", name, str, "a text, project/stack")
        check(program)
        document = dict(settings)
        # A configuration that is no mapping is refused by the engine, as every value of a wrong type is.
        config = document.pop("config") if isinstance(settings.get("config"), Mapping) else {}
        deployment, journal, secrets = (document.pop(name, None) for name in ("deployment", "journal", "secrets"))
        for folder in ("root_directory", "project"):
            document[folder] = _path_text(document.get(folder))
        encoded = document_of_options(document)
        state = None if deployment is None else document_of(deployment)
        described = None
        if journal is not None:
            function, is_async = _journal.describe(journal)
            if is_async:
                self._provider_loop.start()
            described = (function, is_async, self._provider_loop.queue)
        host_secrets = None if secrets is None else _host.describe_secrets(secrets)
        if host_secrets is not None:
            kind, recorded, *functions = host_secrets
            encrypt, decrypt = (self._provider_loop.as_blocking(function) for function in functions)
            host_secrets = (kind, recorded, encrypt, decrypt)
        native = await answer(
            lambda queue, callback: self._native.stack(
                name, encoded, opening, program is not None, dict(config), state, described, host_secrets, queue, callback
            )
        )
        return Stack(native, program, self, self._raised)

    def up_all(
        self,
        runs: Sequence[StackRun | Stack],
        *,
        max_stacks: int | None = None,
        max_calls_per_plugin: int | None = None,
        on_event: Callable[[FleetEvent], object] | None = None,
        on_output: Callable[[str], object] | None = None,
    ) -> FleetOperation:
        """Updates a set of stacks as one operation: ``result = await engine.up_all([network, shop])``.

        A stack begins when those have succeeded that it needs: those of ``depends_on``, and those that the stack references in its
        recorded state name. A program that reads another stack of the set waits for its end. When a stack fails, those that need it
        are skipped, and all others run. Stacks that need each other are an error, before anything runs where that is known. ::

            network, shop = await engine.stack("network/prod", make_network), await engine.stack("shop/prod", make_shop)
            print(await engine.up_all([sw.StackRun(shop, depends_on=[network]), network], on_output=print))

        :param runs: The stacks, or each with its program and options: :class:`~stackwright.StackRun`.
        :param max_stacks: How many stacks are active at a time; 16 when left out. One whose program waits for another stack is not
            active, but keeps its place: only stacks that a waiting one needs run beside it.
        :param max_calls_per_plugin: How many steps, checks and diffs of each package's providers run at a time, in all stacks
            together. Left out, only the option ``parallel`` of each stack limits them.
        :param on_event: Receives every event of all stacks, each with the name of its stack.
        :param on_output: Receives each line of a plain display, which begins with the name of its stack: ``on_output=print``.
        """
        limits = {"max_stacks": max_stacks, "max_calls_per_plugin": max_calls_per_plugin}
        return _fleet.start(self, "up", runs, limits, on_event, on_output)

    def preview_all(
        self,
        runs: Sequence[StackRun | Stack],
        *,
        max_stacks: int | None = None,
        max_calls_per_plugin: int | None = None,
        on_event: Callable[[FleetEvent], object] | None = None,
        on_output: Callable[[str], object] | None = None,
    ) -> FleetOperation:
        """Previews the update of a set of stacks, with the parameters and in the order of :meth:`up_all`. A program that reads another
        stack of the set gets the outputs that its preview has computed, which can be unknown."""
        limits = {"max_stacks": max_stacks, "max_calls_per_plugin": max_calls_per_plugin}
        return _fleet.start(self, "preview", runs, limits, on_event, on_output)

    def refresh_all(
        self,
        runs: Sequence[StackRun | Stack],
        *,
        max_stacks: int | None = None,
        max_calls_per_plugin: int | None = None,
        on_event: Callable[[FleetEvent], object] | None = None,
        on_output: Callable[[str], object] | None = None,
    ) -> FleetOperation:
        """Reads every resource of a set of stacks and records what is there, with the parameters and in the order of :meth:`up_all`."""
        limits = {"max_stacks": max_stacks, "max_calls_per_plugin": max_calls_per_plugin}
        return _fleet.start(self, "refresh", runs, limits, on_event, on_output)

    def destroy_all(
        self,
        runs: Sequence[StackRun | Stack],
        *,
        max_stacks: int | None = None,
        max_calls_per_plugin: int | None = None,
        on_event: Callable[[FleetEvent], object] | None = None,
        on_output: Callable[[str], object] | None = None,
    ) -> FleetOperation:
        """Deletes every resource of a set of stacks, with the parameters and in the reverse order of :meth:`up_all`: a stack begins when
        all have succeeded that need it.

        A stack whose program reads another one with a function, and so has no recorded reference, needs ``depends_on``. No stack is
        destroyed when the recorded references of one cannot be read.
        """
        limits = {"max_stacks": max_stacks, "max_calls_per_plugin": max_calls_per_plugin}
        return _fleet.start(self, "destroy", runs, limits, on_event, on_output)

    async def project(self, folder: str | os.PathLike[str]) -> Project:
        """Opens the project of a folder, whose files :class:`~stackwright.Project` reads and changes.

        :param folder: A relative path begins at the working directory.
        :raises NotFoundError: when the folder has no ``Pulumi.yaml``.
        """
        self._require_open()
        require_given("folder", folder, (str, os.PathLike), "the path of a folder")
        path = os.fspath(folder)
        require_given("folder", path, str, "the path of a folder")
        return Project(await answer(lambda queue, callback: self._native.project(path, queue, callback)), self)

    async def stacks(self, project: str | None = None, *, resource_counts: bool = False) -> list[StackSummary]:
        """Lists the stacks of a project, or of all, in the order of their names: each with its last operation and the holder
        of its lock.

        :param resource_counts: Whether the resources of each stack are counted, for which its checkpoint is read.
        """
        self._require_open()
        require("project", project, str, "a text")
        require_given("resource_counts", resource_counts, bool, "True or False")
        return summaries_of(
            await answer(lambda queue, callback: self._native.stacks(project, resource_counts, queue, callback))
        )

    def metrics(self) -> Metrics:
        """Returns what the engine has counted since it was made, and what runs now: operations, calls of providers and of the store,
        plugin processes with their memory, journals, waits for locks. ::

            metrics = engine.metrics()
            print(metrics.provider_calls["files"].in_flight, sum(plugin.resident_memory or 0 for plugin in metrics.plugins))

        It is a snapshot, which does not change; counting has no cost beside an addition for each call.
        """
        return metrics_of(self._native.metrics())

    async def cancel_run(self, run_id: str, *, requests: int | None = None) -> None:
        """Requests the end of every operation of a run, on all hosts that use the store: of those whose option ``run_id`` is this text, or
        begins with it and a ``/``.

        Each ends as after :meth:`stackwright.Operation.cancel` as soon as it reads the mark in the store, which it does as often as it
        renews its lease, or each second where locks are no leases; one that has not begun is refused. A second request abandons
        running calls of providers. The mark stays until :meth:`forget_run`.

        :param requests: 1 or 2: how often the end of the run is requested at most, by this call and those before. A call that may be
            repeated needs this, because each call without it is one request more.
        """
        self._require_open()
        require_given("run_id", run_id, str, "a text")
        if requests not in (None, 1, 2):
            raise refusal("requests", "1 or 2", requests)
        await answer(lambda queue, callback: self._native.cancel_run(run_id, requests, False, queue, callback))

    async def forget_run(self, run_id: str) -> None:
        """Removes the mark of a run that was cancelled and has ended everywhere. Does nothing when there is none."""
        self._require_open()
        require_given("run_id", run_id, str, "a text")
        await answer(lambda queue, callback: self._native.cancel_run(run_id, None, True, queue, callback))

    async def plugins(
        self, name: str | None = None, versions: str | None = None, *, kind: PluginKind | None = None
    ) -> list[InstalledPlugin]:
        """Lists the plugins in the engine's folder of installed plugins (:attr:`stackwright.Plugins.cache`), sorted by name, kind and
        version.

        :param name: Those of a name.
        :param versions: Those in a range: ``>=1.2.0 <2.0.0``, or a version, which is that version alone.
        :param kind: Those of a kind.
        """
        self._require_open()
        return await _plugins.request(self._native, "plugins", "list", {"name": name, "versions": versions, "kind": kind})

    async def install_plugin(
        self,
        name: str,
        version: str,
        *,
        kind: PluginKind = "resource",
        file: str | os.PathLike[str] | None = None,
        url: str | None = None,
        server: str | None = None,
        checksum: str | None = None,
        reinstall: bool = False,
        on_progress: Callable[[PluginProgress], object] | None = None,
    ) -> InstalledPlugin:
        """Installs a plugin into the engine's folder of installed plugins from the archive of one of ``file``, ``url`` and
        ``server``; without them, from the server of :class:`stackwright.Plugins`. Of several processes that install a plugin, one does,
        and the others wait for it. A failed download is tried five times. A cancelled call leaves the plugin installed as a whole
        or not at all.

        :param file: The path of a local archive (``.tar.gz``).
        :param url: The address of an archive.
        :param server: A server in the reference engine's layout: the address of the archive is
            ``<server>/pulumi-<kind>-<name>-v<version>-<os>-<arch>.tar.gz``.
        :param checksum: The SHA-256 checksum of the archive in hexadecimal digits, which is verified.
        :param reinstall: Replaces an installed plugin of this version, which otherwise stays.
        :param on_progress: Is called with the progress, on this thread.
        :raises NotFoundError: when ``file`` does not exist.
        :raises UnavailableError: when the download fails.
        :raises PluginError: when the archive is damaged, too large, of another checksum or without the plugin. Nothing is installed
            then, and what was installed stays.
        """
        self._require_open()
        plugin = {
            "name": name,
            "version": version,
            "kind": kind,
            "file": file,
            "url": url,
            "server": server,
            "checksum": checksum,
            "reinstall": reinstall,
        }
        return await _plugins.install(self._native, plugin, on_progress)

    async def remove_plugin(
        self, name: str, versions: str | None = None, *, kind: PluginKind = "resource"
    ) -> list[InstalledPlugin]:
        """Removes a plugin from the engine's folder of installed plugins, in all versions or those of a range, and returns what was
        removed. Processes that run are not ended.
        """
        self._require_open()
        require_given("name", name, str, "a text")
        return await _plugins.request(self._native, "remove_plugin", "remove", {"name": name, "versions": versions, "kind": kind})

    async def close(self) -> None:
        """Ends operations, plugin processes, provider threads and the calls of a store of the host.

        Operations that still run are cancelled: steps that run have 30 seconds to complete, then they are abandoned.
        """
        self._closed = True
        await answer(self._native.close)
        self._provider_loop.close()

    def __repr__(self) -> str:
        return f"<Engine on {self._native.store_url()}{', closed' if self._closed else ''}>"

    async def __aenter__(self) -> Engine:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
