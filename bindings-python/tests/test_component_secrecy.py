"""Secrets below the top level, through a program and a provider process that a Pulumi SDK hosts: all that a run writes or emits is searched."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw

from conftest import Vault, on_loop

pulumi = pytest.importorskip("pulumi")

PASSWORD = "tulip-mania-of-1637"
TOKEN = "south-sea-bubble"
KEY = "railway-mania"

# A provider that accepts secrets and returns the values without their marks, as many do.
PLUGIN = '''
import sys
import pulumi
from pulumi.provider.experimental import provider as protocol
from pulumi.provider.experimental.property_value import PropertyValue
from pulumi.provider.experimental.server import main

def plain(value):
    inner = value.value
    if isinstance(inner, dict) or hasattr(inner, "items"):
        inner = {name: plain(each) for name, each in inner.items()}
    elif isinstance(inner, (list, tuple)):
        inner = [plain(each) for each in inner]
    return PropertyValue(inner)

def all_plain(values):
    return {name: plain(value) for name, value in values.items()}

class Forgetful(protocol.Provider):
    async def check(self, request):
        return protocol.CheckResponse(all_plain(request.new_inputs))
    async def diff(self, request):
        return protocol.DiffResponse(changes=all_plain(request.old_state) != all_plain(request.new_inputs))
    async def create(self, request):
        print("creating", {name: str(plain(value)) for name, value in request.properties.items()}, flush=True)
        if "refused" in request.urn:
            raise RuntimeError(f"cannot use {all_plain(request.properties)}")
        return protocol.CreateResponse("" if request.preview else "id", all_plain(request.properties))
    async def read(self, request):
        return protocol.ReadResponse(request.resource_id, all_plain(request.properties), all_plain(request.inputs))
    async def update(self, request):
        return protocol.UpdateResponse(all_plain(request.news))
    async def delete(self, request): ...
    async def construct(self, request):
        box = pulumi.ComponentResource(request.resource_type, request.name, {}, request.options)
        inputs = {"login": {"password": pulumi.Output.secret("PASSWORD")}}
        pulumi.CustomResource("forgetful:index:Thing", request.name + "-lid", inputs, pulumi.ResourceOptions(parent=box))
        pulumi.log.info("the password is PASSWORD")
        return protocol.ConstructResponse(await box.urn.future(), all_plain(request.inputs), {})

if __name__ == "__main__":
    main(sys.argv[1:], "0.1.0", Forgetful())
'''.replace("PASSWORD", PASSWORD)


class Thing(pulumi.CustomResource):  # type: ignore[misc, name-defined]
    list: Any
    made: Any

    def __init__(self, name: str, user: str) -> None:
        secret = pulumi.Output.secret
        login = {"password": secret(PASSWORD), "user": user}
        inputs = {"login": login, "list": ["open", {"token": secret(TOKEN)}], "keys": secret({"first": KEY}), "made": None}
        super().__init__("forgetful:index:Thing", name, inputs)


class Box(pulumi.ComponentResource):  # type: ignore[misc, name-defined]
    token: Any

    def __init__(self, made: Any) -> None:
        inputs = {"token": pulumi.Output.secret(TOKEN), "made": made}
        super().__init__("forgetful:index:Box", "box", inputs, None, remote=True)


def sdk_program(user: Callable[[], str], names: Callable[[], list[str]]) -> sw.Program:
    def program() -> None:
        things = [Thing(name, user()) for name in names()]
        pulumi.export("list", things[0].list)
        pulumi.export("token", Box(things[0].made).token)
        pulumi.log.warn(f"the token is {TOKEN}")

    return program


def own_program(user: Callable[[], str], names: Callable[[], list[str]]) -> sw.Program:
    async def program(ctx: sw.Context) -> None:
        login = {"password": sw.secret(PASSWORD), "user": user()}
        inputs = {"login": login, "list": ["open", {"token": sw.secret(TOKEN)}], "keys": sw.secret({"first": KEY})}
        things = [ctx.resource("forgetful:index:Thing", name, inputs) for name in names()]
        box = ctx.remote_component("forgetful:index:Box", "box", {"token": sw.secret(TOKEN), "made": things[0]["made"]})
        ctx.export("list", things[0]["list"])
        ctx.export("token", box["token"])
        ctx.log(f"the token is {TOKEN}", severity="warning")

    return program


def contents(folder: Path) -> Iterator[str]:
    """Returns the contents of all files below a folder, and their names."""
    for path in folder.rglob("*"):
        if path.is_file():
            yield f"{path}: {path.read_bytes().decode(errors='replace')}"


async def texts_of(operation: sw.Operation) -> tuple[sw.Result, list[str]]:
    """Returns all that an operation emits, and all texts of its result."""
    seen: list[str] = []
    async for event in operation:
        seen += [repr(event), str(event), json.dumps(event.json)]
    result = await operation.wait()
    seen += [str(result), repr(result), result._repr_html_(), repr(result.outputs), repr(result.steps), repr(result.diagnostics)]
    seen += [json.dumps(result.plan), json.dumps(result.deployment())]
    error = result.error
    while error is not None:
        seen += [str(error), repr(error), repr(vars(error) if hasattr(error, "__dict__") else "")]
        error = error.__cause__
    return result, seen


@pytest.mark.parametrize("written", [sdk_program, own_program], ids=["sdk", "own"])
@on_loop
async def test_nothing_that_a_run_with_a_provider_process_writes_or_emits_has_a_secret(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, written: Any
) -> None:
    folder = tmp_path / "plugin"
    folder.mkdir()
    (folder / "PulumiPlugin.yaml").write_text("runtime: python\n")
    (folder / "__main__.py").write_text(PLUGIN)
    caplog.set_level(logging.DEBUG)
    user, names = "me", ["a"]
    store = tmp_path / "state"
    async with sw.Engine(
        store=f"file://{store}",
        secrets=Vault(),
        plugins=sw.Plugins(commands={"forgetful": [sys.executable, "-u", str(folder)]}),
    ) as engine:
        stack = await engine.stack("shop/dev", written(lambda: user, lambda: names))
        runs: list[tuple[str, Callable[[], sw.Operation]]] = [
            ("preview", lambda: stack.preview(generate_plan=True)),
            ("update", stack.up),
            ("refresh", stack.refresh),
            ("change", stack.up),
            ("failure", stack.up),
            ("destroy", stack.destroy),
        ]
        for what, start in runs:
            if what == "change":
                user = "you"
            names = ["a", "refused"] if what == "failure" else ["a"]
            result, texts = await texts_of(start())
            assert (result.error is not None) == (what == "failure"), (what, result.error)
            if what == "failure":
                assert "cannot use" in "".join(texts), "the provider's message is shown, without the secrets"
            if what == "update":
                assert any("the token is [secret]" in text for text in texts)
            files = list(contents(store))
            assert files or what == "preview"
            outputs = {name: output.value for name, output in result.outputs.items()}
            if what in ("update", "change"):
                assert outputs == {"list": ["open", {"token": TOKEN}], "token": TOKEN}
                assert result.outputs["list"].secret and result.outputs["token"].secret
            for secret in (PASSWORD, TOKEN, KEY):
                for text in [*texts, *files]:
                    assert secret not in text, (what, text)
    out, err = capfd.readouterr()
    for secret in (PASSWORD, TOKEN, KEY):
        for text in (out, err, caplog.text):
            assert secret not in text
