"""What workers of fleets import: programs, their setup, and a provider whose things are files, so that every process counts the same."""

from __future__ import annotations

import asyncio
import os
import threading
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import stackwright as sw
from stackwright import fleet

SECRET = "opensesame-of-the-fleet"
"""A secret of the configuration, which must not leave a worker."""

THING = "shop:index:Thing"
WAIT_SECONDS = 60


class Vault:
    """Encrypts by reversing texts: a key that is derived from a passphrase takes longer than the whole operation."""

    kind = "vault"
    state = {"key": "key-1"}

    def encrypt(self, plaintexts: Sequence[str]) -> Sequence[str]:
        return ["v:" + text[::-1] for text in plaintexts]

    def decrypt(self, ciphertexts: Sequence[str]) -> Sequence[str]:
        return [text.removeprefix("v:")[::-1] for text in ciphertexts]


class Files:
    """Makes a file for each thing. A Create takes ``delay`` seconds once its file is there; where ``hold-NAME`` exists, until that is
    removed, and the number of its process is in ``held-NAME``."""

    counting = threading.Lock()
    running = 0
    most = 0
    """How many Creates of this process run now, and ran at most since the test has set it."""

    def __init__(self, folder: str, delay: float) -> None:
        self.folder = Path(folder)
        self.delay = delay

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        if request.preview:
            return sw.CreateResult("", request.inputs)
        with Files.counting:
            Files.running += 1
            Files.most = max(Files.most, Files.running)
        try:
            return self.make(request)
        finally:
            with Files.counting:
                Files.running -= 1

    def make(self, request: sw.CreateRequest) -> sw.CreateResult:
        stack = str(request.inputs["stack"])
        id = f"{stack}.{request.name}.{uuid.uuid4().hex}"
        (self.folder / "things" / id).write_text("")
        if (self.folder / f"hold-{stack}").exists():
            (self.folder / f"held-{stack}").write_text(str(os.getpid()))
            deadline = time.monotonic() + WAIT_SECONDS
            while (self.folder / f"hold-{stack}").exists() and time.monotonic() < deadline:
                time.sleep(0.02)
        elif self.delay:
            time.sleep(self.delay)
        if (self.folder / f"fail-{stack}").exists():
            raise ValueError(f"the thing of {stack} is refused")
        return sw.CreateResult(id, request.inputs)

    def read(self, request: sw.ReadRequest) -> sw.ReadResult | None:
        there = (self.folder / "things" / request.id).exists()
        return sw.ReadResult(request.id, request.inputs, request.inputs) if there else None

    def cancel(self) -> None:
        (self.folder / "cancelled").write_text("yes")

    def delete(self, request: sw.DeleteRequest) -> None:
        (self.folder / "deleted").open("a").write(request.id.split(".")[0] + "\n")
        (self.folder / "things" / request.id).unlink(missing_ok=True)


def setup(spec: fleet.StackSpec) -> fleet.WorkerSetup:
    """Supplies what a specification does not hold; where the store is, for those without a URL, states the environment."""
    engine: dict[str, Any] = {
        "secrets": Vault(),
        "providers": {"shop": Files(spec.config["folder"], spec.config.get("delay", 0))},
    }
    if spec.store is None:
        engine["store"] = os.environ["FLEET_STORE"]
    if spec.store is not None and spec.store.startswith("s3:"):
        engine["credentials"] = {"access_key_id": "AKIATEST", "secret_access_key": "not-checked"}
    if spec.store is None or not spec.store.startswith(("file:", "memory:")):
        engine["lease"] = spec.config.get("lease", 30)
    return fleet.WorkerSetup(engine=engine, config={"token": sw.secret(SECRET)})


async def program(ctx: sw.Context) -> None:
    """One thing, and the outputs of the stacks that the configuration names."""
    found = {}
    for other in ctx.config.object("reads"):
        reference = ctx.read("pulumi:pulumi:StackReference", other.replace("/", "-"), other, {"name": other})
        found[other] = reference["outputs"]["depth"]
    depths = [await depth for depth in found.values()]
    # Stays out of the texts of the engine, of Python and of the executor.
    token = ctx.config.secret("token")
    ctx.resource(THING, "thing", {"stack": ctx.stack, "token": token, "found": found})
    ctx.export("depth", 1 + max((int(depth) for depth in depths), default=0))
    ctx.export("token", token)


def raising(ctx: sw.Context) -> None:
    """Fails with an error of its own, whose text has the secret."""
    raise ValueError(f"the token is {ctx.config.secret('token').value}")


def spec(name: str, folder: Path, store: str | None, reads: Sequence[str] = (), **given: Any) -> fleet.StackSpec:
    """Returns the specification of ``shop/NAME``."""
    config = {"folder": str(folder), "reads": [f"shop/{other}" for other in reads], **given.pop("config", {})}
    given.setdefault("program", "fleet_support:program")
    return fleet.StackSpec(f"shop/{name}", store=store, setup="fleet_support:setup", config=config, **given)


def prepare(folder: Path) -> Path:
    """Makes the folder of the things."""
    (folder / "things").mkdir(parents=True)
    return folder


def made(folder: Path) -> Counter[str]:
    """Returns how many things there are of each stack."""
    return Counter(path.name.split(".")[0] for path in (folder / "things").iterdir())


async def check_known(specs: Sequence[fleet.StackSpec], folder: Path) -> int:
    """Checks that each thing there is recorded, or is that of a pending Create; returns the number of the pending ones."""
    pending_creates = 0
    counts = made(folder)
    first = specs[0]
    given = dict(setup(first).engine)
    if first.store is not None:
        given["store"] = first.store
    async with sw.Engine(**given) as engine:

        async def check(spec: fleet.StackSpec) -> int:
            stack = await engine.select_stack(spec.stack)
            things = [record.id for record in await stack.resources() if record.type == THING]
            pending = [operation for operation in await stack.pending() if operation.kind == "creating"]
            name = spec.stack.partition("/")[2]
            assert len(things) == 1, (spec.stack, things)
            assert (folder / "things" / str(things[0])).exists()
            assert counts[name] <= 1 + len(pending), f"{name} was made {counts[name]} times, and {len(pending)} are pending"
            return len(pending)

        for begin in range(0, len(specs), 20):
            pending_creates += sum(await asyncio.gather(*(check(spec) for spec in specs[begin : begin + 20])))
    return pending_creates


def setup_elsewhere(spec: fleet.StackSpec) -> fleet.WorkerSetup:
    """Another function with another engine: it has a store of its own."""
    engine = {"store": spec.config["store"], "secrets": Vault(), "providers": {"shop": Files(spec.config["folder"], spec.config["delay"])}}
    return fleet.WorkerSetup(engine=engine, config={"token": sw.secret(SECRET)})


def own_passphrase(spec: fleet.StackSpec) -> fleet.WorkerSetup:
    """Each stack has another passphrase."""
    return fleet.WorkerSetup(engine={"passphrase": f"phrase of {spec.stack}"}, config={"token": sw.secret(SECRET)})


def secretive(ctx: sw.Context) -> None:
    """Exports a secret."""
    ctx.export("token", ctx.config.secret("token"))


def loose(spec: fleet.StackSpec) -> fleet.WorkerSetup:
    """Fails in the way that the configuration states, with a text that has the secret."""
    text = f"the token {SECRET} was refused"
    kind = spec.config["raises"]
    if kind == "own":
        raise sw.InvalidInputError(text, hints=[text])
    if kind == "value":
        raise ValueError(text)
    if kind == "import":
        raise ImportError(text, name=SECRET)
    if kind == "exit":
        raise SystemExit(text)
    if kind == "nested":
        try:
            raise ValueError(text)
        except ValueError as error:
            raise sw.FailedError("it has failed") from error
    raise AssertionError(kind)


LOOSE = ("own", "value", "import", "exit", "nested")
"""The ways in which :func:`loose` fails."""


def refused_while(spec: fleet.StackSpec) -> fleet.WorkerSetup:
    """Fails while there is the file ``refuse``."""
    if (Path(spec.config["folder"]) / "refuse").exists():
        raise ValueError(f"the token {SECRET} was refused")
    return setup(spec)


async def making_first(ctx: sw.Context) -> None:
    """Makes two things before it reads another stack."""
    first = ctx.resource(THING, "first", {"stack": ctx.stack})
    second = ctx.resource(THING, "second", {"stack": ctx.stack, "first": first.id})
    await second.id
    reference = ctx.read("pulumi:pulumi:StackReference", "shop-a", "shop/a", {"name": "shop/a"})
    await reference["outputs"]["depth"]
