"""The command of the Automation API, which runs in this process."""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import platform
import re
import signal
import sys
import threading
import weakref
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pulumi.automation import CommandResult, OnOutput, PulumiCommand
from pulumi.automation.errors import create_command_error
from semver import VersionInfo

from .. import _provider_threads
from .._json import document_of_options
from .._stackwright import Command as NativeCommand
from ..engine import Engine, plugin_settings
from ..errors import InvalidInputError
from ..host import describe_environment_keys
from ..options import Plugins
from ..secrets import EnvironmentKeys
from ._inline import RunsInline, event_listener, prepared

if TYPE_CHECKING:
    from .. import sync as _sync

__all__ = ["Command", "default_command"]

_VERSION: Final = VersionInfo.parse(NativeCommand.version())

_LINE_END: Final = re.compile("\r\n|[\r\n]")
"""What ends a line of the executable's output, as text files have it; ``str.splitlines`` splits at further characters."""

_FUNCTION_THREADS: Final = 64
"""How many functions of programs, such as hooks, run at once when many are called."""

_open: weakref.WeakSet[NativeCommand] = weakref.WeakSet()


@atexit.register
def _abandon() -> None:
    # Threads of the engine must not come into the interpreter while it ends.
    for command in list(_open):
        command.abandon()


class Command(RunsInline, PulumiCommand):
    """Takes the place of the ``pulumi`` executable: it answers the same command lines in this process.

    Store, passphrase and folder of plugins come from ``env_vars`` of the workspace, the project's ``backend.url``, and the
    environment of the process, as for the executable. With an ``engine`` they are those of the engine, and so are its
    providers::

        engine = sw.Engine(store="file://./state", passphrase="correct horse", providers={"files": Files()})
        workspace = auto.LocalWorkspace(pulumi_command=auto.Command(engine=engine))

    :param engine: The engine that runs the commands, of :mod:`stackwright` or of :mod:`stackwright.sync`. In its place stands what
        :class:`pulumi.automation.PulumiCommand` takes, the folder of an executable, which is not used.
    :param version: The least version of an executable; not used.
    :param skip_version_check: The same.
    :param plugins: Where plugins are looked for beside the folder of the environment; only without an ``engine``.
    :param root: The folder of an executable; not used.
    """

    def __init__(
        self,
        engine: Engine | _sync.Engine | str | os.PathLike[str] | None = None,
        version: VersionInfo | None = None,
        skip_version_check: bool = False,
        *,
        plugins: Plugins | None = None,
        root: str | None = None,
    ) -> None:
        # Not that of the superclass, which starts the executable.
        if isinstance(engine, (str, os.PathLike)):
            engine = None
        engine = _asynchronous(engine)
        self.command = "pulumi"
        self.version: VersionInfo | None = _VERSION
        self._native = _native(plugins) if engine is None else NativeCommand.on_engine(engine._native)
        # An engine lives as long as the commands that run on it.
        self._engine = engine
        self._plugins = plugins
        self._process = os.getpid()
        _open.add(self._native)

    def _of_process(self) -> NativeCommand:
        """Returns the native half: a new one after a fork, where there is no engine of the host; threads do not survive a fork."""
        if self._engine is None and self._process != os.getpid():
            self._native, self._process = _native(self._plugins), os.getpid()
            _open.add(self._native)
        return self._native

    @classmethod
    def install(
        cls, root: str | None = None, version: VersionInfo | None = None, skip_version_check: bool = False
    ) -> Command:
        """Returns a command: there is nothing to install."""
        return cls()

    def run(
        self,
        args: list[str],
        cwd: str,
        additional_env: Mapping[str, str],
        on_output: OnOutput | None = None,
        on_error: OnOutput | None = None,
        *,
        stdin: bytes = b"",
    ) -> CommandResult:
        """Runs a command line. The functions get lines as they are written, on the calling thread; what they raise cancels the
        operation, and is raised when that has ended.

        :param stdin: What the command reads from its standard input.
        """
        if not os.path.isdir(cwd):
            # As for a process that would start there.
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), cwd)
        streams: dict[str, list[str]] = {"stdout": [], "stderr": []}
        # A line of heartbeats arrives in pieces.
        unfinished = {"stdout": "", "stderr": ""}
        listeners = {"stdout": on_output, "stderr": on_error}
        on_event = event_listener()

        def write(stream: str, text: str) -> None:
            if stream == "event":
                if on_event is not None:
                    on_event(text)
                return
            *whole, unfinished[stream] = _LINE_END.split(unfinished[stream] + text)
            for line in whole:
                add(stream, line)

        def add(stream: str, line: str) -> None:
            stripped = line.rstrip()
            streams[stream].append(stripped)
            listener = listeners[stream]
            if listener is not None:
                listener(stripped)

        environment = {**_environment(), **additional_env, "PULUMI_AUTOMATION_API": "true"}
        failures: list[BaseException] = []
        program = prepared(args, failures)
        # With an engine, its own secrets encrypt.
        keys = describe_environment_keys(EnvironmentKeys(environment)) if self._engine is None else None
        events = on_event is not None
        runtime = None if program is None else (platform.python_version(), sys.executable)
        native = self._of_process()
        with _cancelled_by_termination():
            code = native.run(args, os.path.abspath(cwd), environment, stdin, write, program, events, keys, runtime)
        for stream, line in unfinished.items():
            if line:
                add(stream, line)
        result = CommandResult(stdout="\n".join(streams["stdout"]), stderr="\n".join(streams["stderr"]), code=code)
        if code != 0:
            # What the program has raised is the cause.
            raise create_command_error(result) from (failures[0] if failures else None)
        return result

    def __repr__(self) -> str:
        return f"<Command {self.version}{'' if self._engine is None else f' on {self._engine!r}'}>"


@contextlib.contextmanager
def _cancelled_by_termination() -> Iterator[None]:
    """Cancels the command on the signal TERM, as an interrupt does, and ends the process afterwards as that signal would have.

    A second signal abandons the running calls of providers. Without an effect in other threads than the main one, which alone gets signals, and
    where the host has a function for the signal.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    is_terminated = False

    def terminate(number: int, frame: object) -> None:
        nonlocal is_terminated
        is_terminated = True
        raise KeyboardInterrupt

    try:
        signal.signal(signal.SIGTERM, terminate)
    except ValueError:
        # An interpreter beside the main one gets no signals.
        yield
        return
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGTERM) is terminate:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if is_terminated:
            os.kill(os.getpid(), signal.SIGTERM)


_environments: Final[list[tuple[Mapping[Any, Any], dict[str, str]]]] = []
"""The last environment of the process as the interpreter stores it, and as text: reading each variable takes longer than a short command."""


def _environment() -> Mapping[str, str]:
    """Returns the environment of the process, which callers do not change."""
    variables = getattr(os.environ, "_data", None)
    if not isinstance(variables, dict):
        # Another mapping in the place of the environment, or another interpreter.
        return os.environ
    for known, environment in _environments:
        if known == variables:
            return environment
    stored = dict(variables)
    environment = {os.fsdecode(name): os.fsdecode(value) for name, value in stored.items()}
    _environments[:] = [(stored, environment)]
    return environment


def _asynchronous(engine: object) -> Engine | None:
    """Returns the engine itself, also that of :mod:`stackwright.sync`."""
    own = getattr(engine, "_engine", engine)
    if own is not None and not isinstance(own, Engine):
        raise InvalidInputError(f"engine takes a stackwright.Engine, not {type(engine).__name__}")
    return own


def _native(plugins: Plugins | None) -> NativeCommand:
    settings = document_of_options(plugin_settings(Plugins() if plugins is None else plugins))
    threads: dict[str, Any] = {
        "provider_threads": _FUNCTION_THREADS,
        "provider_queue": _provider_threads.ProviderLoop(False).queue,
        "start_task": _provider_threads.start_task,
        "start_thread": _provider_threads.start_thread,
    }
    return NativeCommand(settings, threads)


class _Default:
    """The command of workspaces without one: one for each process, because threads do not survive a fork."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process = 0
        self._command: Command | None = None

    def get(self) -> Command:
        with self._lock:
            if self._command is None or self._process != os.getpid():
                self._command, self._process = Command(), os.getpid()
            return self._command


default_command = _Default().get
"""Returns the command of workspaces without one."""
