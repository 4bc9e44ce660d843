"""Shared by the tests: a provider in memory, secrets without key derivation, and engines with a temporary store."""

from __future__ import annotations

import asyncio
import functools
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
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


@pytest.fixture(scope="session")
def gofiles() -> Path:
    """Builds the provider plugin in Go and returns its executable."""
    root = Path(__file__).resolve().parents[2]
    executable = root / "target" / "testkit" / "pulumi-resource-gofiles"
    if shutil.which("go") is None:
        if os.environ.get("CI"):
            pytest.fail("Go is missing: the provider plugin of the tests can not be built")
        pytest.skip("Go is missing: the provider plugin of the tests can not be built")
    built = subprocess.run(
        ["go", "build", "-o", str(executable), "."],
        cwd=root / "testkit" / "go-provider",
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    return executable


def states(deployment: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns the resources of a deployment by name."""
    resources = deployment["deployment"]["resources"]
    return {resource["urn"].rsplit("::", 1)[-1]: resource for resource in resources}
