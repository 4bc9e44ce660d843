"""Shared by the tests: a provider in memory, secrets without key derivation, and engines with a temporary store."""

from __future__ import annotations

import asyncio
import functools
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw


class Memory(sw.Provider):
    """Keeps its resources in a dictionary, and records every call in starting order."""

    def __init__(self) -> None:
        self.things: dict[str, dict[str, sw.PropertyValue]] = {}
        self.calls: list[tuple[str, str]] = []
        self._lock = threading.Lock()
        self._made = 0

    def note(self, method: str, name: str) -> None:
        with self._lock:
            self.calls.append((method, name))

    def count(self, method: str) -> int:
        return sum(1 for called, _ in self.calls if called == method)

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        self.note("create", request.name)
        with self._lock:
            self._made += 1
            id = f"{request.name}-{self._made}"
        self.things[id] = request.inputs
        return sw.CreateResult(id, {**request.inputs, "made": True})

    def read(self, request: sw.ReadRequest) -> sw.ReadResult | None:
        self.note("read", request.name)
        thing = self.things.get(request.id)
        return None if thing is None else sw.ReadResult(request.id, {**thing, "made": True}, thing)

    def update(self, request: sw.UpdateRequest) -> sw.UpdateResult:
        self.note("update", request.name)
        self.things[request.id] = request.inputs
        return sw.UpdateResult({**request.inputs, "made": True})

    def delete(self, request: sw.DeleteRequest) -> None:
        self.note("delete", request.name)
        self.things.pop(request.id, None)

    def invoke(self, request: sw.InvokeRequest) -> sw.InvokeResult:
        self.note("invoke", request.token)
        return sw.InvokeResult({"echo": request.arguments})


class Vault:
    """Encrypts by reversing texts. Fast, because it derives no key from a passphrase."""

    kind = "vault"
    state = {"key": "key-1"}

    def __init__(self) -> None:
        self.sealed = False

    def encrypt(self, plaintexts: Sequence[str]) -> Sequence[str]:
        return ["v:" + text[::-1] for text in plaintexts]

    def decrypt(self, ciphertexts: Sequence[str]) -> Sequence[str]:
        if self.sealed:
            raise PermissionError("the vault is sealed")
        return [text.removeprefix("v:")[::-1] for text in ciphertexts]


def on_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Runs an asynchronous test on an event loop of its own."""

    @functools.wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        asyncio.run(test(*arguments, **named))

    return run


MakeEngine = Callable[..., sw.Engine]


@pytest.fixture
def memory() -> Memory:
    return Memory()


@pytest.fixture
def make_engine(tmp_path: Path) -> Iterator[MakeEngine]:
    """Makes engines that share one store below ``tmp_path``."""

    def make(**providers: object) -> sw.Engine:
        return sw.Engine(store=f"file://{tmp_path / 'state'}", secrets=Vault(), providers=providers)

    yield make


ROOT = Path(__file__).resolve().parents[2]


def missing(what: str) -> None:
    """Skips the test; in CI, where everything is installed, it fails."""
    text = f"{what} is missing: a plugin of the tests cannot run"
    pytest.fail(text) if os.environ.get("CI") else pytest.skip(text)


def go_plugin(folder: str, name: str, *flags: str) -> Path:
    """Builds a plugin of the folder `testkit` and returns its executable; `make go-plugins` has the same flags."""
    if shutil.which("go") is None:
        missing("Go")
    executable = ROOT / "target" / "testkit" / name
    build = ["go", "build", "-buildvcs=false", *flags, "-o", str(executable), "."]
    built = subprocess.run(build, cwd=ROOT / "testkit" / folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return executable


@pytest.fixture(scope="session")
def gofiles() -> Path:
    """Returns the executable of the provider plugin in Go."""
    return go_plugin("go-provider", "pulumi-resource-gofiles")


@pytest.fixture(scope="session")
def gobox() -> list[str]:
    """Returns the command of the component plugin in Go."""
    return [str(go_plugin("go-component", "pulumi-resource-gobox"))]


@pytest.fixture(scope="session")
def gobox_newest() -> list[str]:
    """Returns the command of the component plugin in Go with the newest library of providers."""
    return [str(go_plugin("go-component", "pulumi-resource-gobox-newest", "-modfile=newest.mod", "-tags=newest"))]


class Host(list[str]):
    """The command of a plugin, and a process of it that engines attach to: the host for TypeScript takes two seconds of the
    processor to start, and serves any number of engines one after the other."""

    process: subprocess.Popen[str] | None = None
    address: str

    def attach(self) -> str:
        """Returns the address of the process, which is started when it is first needed."""
        if self.process is None:
            # The address of the engine is given by each engine that attaches.
            self.process = subprocess.Popen([*self, "127.0.0.1:1"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            assert self.process.stdout is not None
            self.address = f"127.0.0.1:{self.process.stdout.readline().strip()}"
            threading.Thread(target=self.process.stdout.read, daemon=True).start()
        assert self.process.poll() is None, "the shared host has ended"
        return self.address

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def served(commands: Mapping[str, list[str]]) -> dict[str, Any]:
    """Returns the options of an engine that attaches to each :class:`Host`, and starts the other commands."""
    hosts = {name: command for name, command in commands.items() if isinstance(command, Host)}
    started = {name: command for name, command in commands.items() if name not in hosts}

    def resolve(request: sw.ResolutionRequest) -> str | None:
        return hosts[request.name].attach() if request.name in hosts else None

    return {"plugins": sw.Plugins(commands=started), "resolver": resolve if hosts else None}


@pytest.fixture(scope="session")
def tsbox(tsbox_own: list[str]) -> Iterator[list[str]]:
    """Returns the component plugin in TypeScript with one process for all tests, for the options of :func:`served`."""
    host = Host(tsbox_own)
    yield host
    host.end()


@pytest.fixture(scope="session")
def tsbox_own(tsbox_checked: list[str]) -> list[str]:
    """Returns the command of the component plugin in TypeScript, whose host does not check its types."""
    return ["env", "TS_NODE_TRANSPILE_ONLY=true", *tsbox_checked]


@pytest.fixture(scope="session")
def tsbox_checked() -> list[str]:
    """Returns the command of the component plugin in TypeScript, whose host checks its types: two seconds of the processor at each start."""
    host = ROOT / "node_modules" / "@pulumi" / "pulumi" / "cmd" / "run-plugin"
    if not host.exists() or shutil.which("node") is None:
        missing("the Pulumi SDK for Node")
    return ["node", str(host / "index.js"), str(ROOT / "testkit" / "node-component")]


@pytest.fixture(scope="session")
def pybox() -> list[str]:
    """Returns the command of the component plugin in Python."""
    return [sys.executable, "-u", str(ROOT / "testkit" / "python-component")]


def package_of(host: str, request: pytest.FixtureRequest) -> tuple[str, list[str]]:
    """Returns the package of a component plugin, the fixture `host`, and the command of the plugin."""
    return host.partition("_")[0], request.getfixturevalue(host)


def states(deployment: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns the resources of a deployment by name."""
    resources = deployment["deployment"]["resources"]
    return {resource["urn"].rsplit("::", 1)[-1]: resource for resource in resources}
