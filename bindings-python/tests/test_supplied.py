"""Stacks whose deployment the host supplies; the result has the next deployment."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw
from stackwright import sync

from conftest import Memory, Vault

THING = "mem:index:Thing"


class Picky(Memory):
    """Fails to create the resource named ``refused``."""

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        if request.name == "refused":
            raise sw.ProviderError("no such thing")
        return super().create(request)


def making(*names: str) -> Callable[[sw.Context], None]:
    def program(ctx: sw.Context) -> None:
        for name in names:
            ctx.resource(THING, name, {"key": sw.secret("opensesame")})

    return program


def things(document: dict[str, Any] | None) -> list[str]:
    assert document is not None
    resources = document["deployment"].get("resources", [])
    return sorted(found["urn"].rsplit("::", 1)[-1] for found in resources if found["type"] == THING)


@pytest.mark.parametrize("form", [dict, json.dumps, lambda document: json.dumps(document).encode()])
def test_operations_take_and_return_deployments(form: Callable[[Any], Any], tmp_path: Path) -> None:
    async def run() -> None:
        provider = Picky()
        store = f"file://{tmp_path}"
        async with sw.Engine(store=store, secrets=Vault(), providers={"mem": provider}) as engine:
            stack = await engine.stack("shop/dev", making("a"), deployment=form({}))
            first = await stack.up()
            assert things(first.deployment()) == ["a"]
            again = await stack.up(program=making("a", "b"))
            assert again.changes == {"same": 2, "create": 1}

            # The deployment of a failed operation is the input of the next one.
            stack = await engine.stack("shop/dev", making("a", "b", "c", "refused"), deployment=form(again.deployment()))
            with pytest.raises(sw.FailedError):
                await stack.up()
            failed = await stack.up(program=making("a", "b", "c", "refused")).wait()
            left = failed.deployment()
            assert things(left) == ["a", "b", "c"] == things(await stack.export_deployment())
            assert "opensesame" not in json.dumps(left) and "ciphertext" in json.dumps(left)
            assert await stack.history() == []

            stack = await engine.stack("shop/dev", create=False, deployment=form(left))
            assert things((await stack.destroy()).deployment()) == []
            assert provider.things == {}
            assert await engine.stacks() == []
        assert list(tmp_path.iterdir()) == []

    asyncio.run(run())


def test_a_cancelled_operation_returns_its_deployment() -> None:
    started = threading.Event()

    class Slow(Memory):
        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            if request.name == "b":
                assert started.wait(60)
                operation.cancel()
            return super().create(request)

    with sync.Engine(store="memory://", secrets=Vault(), providers={"mem": Slow()}) as engine:
        stack = engine.stack("shop/dev", making("a"), deployment={})
        stack.up()
        operation = stack.start_up(program=making("a", "b"))
        started.set()
        result = operation.wait()
        assert isinstance(result.error, sw.CancelledError)
        assert things(result.deployment()) == ["a", "b"]


def test_a_stack_of_the_store_and_supplied_stacks_of_the_same_name_are_independent() -> None:
    with sync.Engine(store="memory://", secrets=Vault(), providers={"mem": Memory()}) as engine:
        stored = engine.stack("shop/dev", making("stored"))
        stored.up()
        before = stored.export_deployment()
        supplied = [engine.stack("shop/dev", making(name), deployment={}) for name in ("one", "other")]
        assert [things(stack.up().deployment()) for stack in supplied] == [["one"], ["other"]]
        assert stored.export_deployment() == before


def test_a_wrong_passphrase_is_refused_when_the_stack_is_opened() -> None:
    with sync.Engine(store="memory://", passphrase="of the engine", providers={"mem": Memory()}) as engine:
        stack = engine.stack("shop/dev", making("a"), deployment={}, passphrase="right")
        left = stack.up().deployment()
        for settings in ({}, {"passphrase": "wrong"}):
            with pytest.raises(sw.DecryptError, match="the deployment of stack 'shop/dev': incorrect passphrase"):
                engine.stack("shop/dev", deployment=left, **settings)  # type: ignore[arg-type]
        assert engine.stack("shop/dev", making("a"), deployment=left, passphrase="right").up().changes == {"same": 2}


@pytest.mark.parametrize(
    ("document", "kind", "message"),
    [
        ("{", sw.StateError, "the deployment of stack 'shop/dev': cannot read the state: EOF"),
        (b"", sw.StateError, "cannot read the state: EOF"),
        ({"version": 99, "deployment": {}}, sw.StateError, "too new"),
        ({"version": 3, "checkpoint": {}}, sw.StateError, "no field 'deployment'"),
        (5, sw.InvalidInputError, "deployment takes a deployment document: .*, not int"),
        ({"version": object()}, sw.InvalidInputError, r"deployment\['version'\]: a value of type object cannot be written as JSON"),
    ],
)
def test_a_malformed_deployment_is_refused(document: Any, kind: type[sw.StackwrightError], message: str) -> None:
    with sync.Engine(store="memory://") as engine, pytest.raises(kind, match=message):
        engine.stack("shop/dev", deployment=document)
