"""What surrounds the examples of docstrings, so that each is a program: of the line ``EXAMPLE`` the example takes the place.

The names are those of the module and of what is documented: ``picture.Picture.of_plan`` in Python, ``picture.ts: Picture.ofPlan`` in
TypeScript, with ``#2`` for the second example of one docstring.
"""

from __future__ import annotations

import textwrap

_FILES = """\
import asyncio
import json
import subprocess
from pathlib import Path

import stackwright as sw


class Files(sw.Provider):
    def create(self, request):
        return sw.CreateResult(request.inputs.get("path", request.name), request.inputs)

    def read(self, request):
        return sw.ReadResult(request.id, {"text": "hello"}, {"text": "hello"})

    def delete(self, request):
        pass


def program(ctx):
    ctx.resource("files:index:File", "hello", {"text": "hello"})

"""

_STACK = """

async def main():
    async with sw.Engine(store="memory://", passphrase="correct horse", providers={"files": Files()}) as engine:
        stack = await engine.stack("shop/dev", program)
        BEFORE
        EXAMPLE
        AFTER


asyncio.run(main())
"""

_SIMULATED = """\
import asyncio
import subprocess

import stackwright as sw
from stackwright.testing import simulate

ran = []


async def program(ctx):
    BEFORE
    EXAMPLE
    AFTER


"""

_CONSTRUCTED = """

class Boxes(sw.Provider):
    EXAMPLE


async def boxes(ctx):
    ctx.export("found", ctx.remote_component("box:index:Box", "first", {"text": "hello", "index": "hi"})["FOUND"])


async def main():
    async with sw.Engine(store="memory://", providers={"notes": Files(), "box": Boxes()}) as engine:
        stack = await engine.stack("shop/boxes", boxes)
        assert (await stack.up()).outputs["found"].value == "VALUE"


asyncio.run(main())
"""


def put(template: str, **parts: str) -> str:
    """Replaces lines that are a name in capital letters by texts with the same indent."""
    lines = []
    for line in template.split("\n"):
        text = parts.get(line.strip())
        lines.append(line if text is None else textwrap.indent(textwrap.dedent(text).strip("\n"), line[: len(line) - len(line.lstrip())]))
    return "\n".join(lines)


def _stack(before: str = "", after: str = "", defines: str = "") -> str:
    """Inside of an engine with a stack."""
    return _FILES + textwrap.dedent(defines) + put(_STACK, BEFORE=before, AFTER=after)


def _program(before: str = "", after: str = "", runs: str = "simulate(program)") -> str:
    """Inside of a program, which `runs` runs."""
    return put(_SIMULATED, BEFORE=before, AFTER=after) + textwrap.dedent(runs) + "\n"


PYTHON: dict[str, str] = {
    "_callback_context.CallbackContext.transform": _program(
        after='ctx.resource("aws:s3:Bucket", "logs", {"tags": {}})',
        runs='assert simulate(program).resources.find("aws:s3:Bucket", "logs").inputs["tags"] == {"team": "core"}',
    ),
    "_callback_context.CallbackContext.transform_invokes": _program(
        after='ctx.invoke("aws:index:getZones", {"state": "available"})',
        runs="""
        simulate(program, functions={"aws:index:getZones": lambda arguments: ran.append(arguments) or {}})
        assert ran == [{"state": "available", "region": "eu-1"}], ran
        """,
    ),
    "_callback_context.CallbackContext.register_hook": _program(
        before="def drain(args): ran.append(args.name)",
        after='ctx.resource("vm:index:Machine", "web", {}, hooks=sw.Hooks(after_create=["drain"]))',
        runs='simulate(program)\nassert ran == ["web"]',
    ),
    "_display.display": _stack(after='assert result.changes == {"create": 2}'),
    "automation": """\
import os

os.environ.update(PULUMI_BACKEND_URL=f"file://{os.getcwd()}", PULUMI_CONFIG_PASSPHRASE="correct horse")


def shop():
    import pulumi

    pulumi.export("region", pulumi.Config("aws").require("region"))

EXAMPLE
assert stack.outputs()["region"].value == "eu-west-1"
""",
    "automation._command.Command": _FILES + """
from stackwright import automation as auto

EXAMPLE
settings = auto.ProjectSettings(name="shop", runtime="python")
workspace.save_project_settings(settings)
workspace.program = lambda: None
assert auto.Stack.create("dev", workspace).up().summary.result == "succeeded"
""",
    "engine.Engine": _FILES + """

async def main():
    EXAMPLE


asyncio.run(main())
""",
    "engine.Engine.up_all": _stack(
        before="make_network = make_shop = program",
        after='assert (await network.outputs(), await shop.outputs()) == ({}, {})',
    ),
    "engine.Engine.metrics": _stack(before="await stack.up()", after='assert metrics.provider_calls["files"].in_flight == 0'),
    "fleet": """\
import asyncio
import concurrent.futures
import os
import sys
from pathlib import Path
from types import SimpleNamespace

Path("infra").mkdir()
Path("infra/network.py").write_text("def program(ctx): pass")
Path("infra/shop.py").write_text("def program(ctx): pass")
Path("infra/workers.py").write_text(
    "from stackwright import fleet\\ndef setup(spec): return fleet.WorkerSetup(engine={'passphrase': 'correct horse'})"
)
sys.path.insert(0, os.getcwd())


async def main():
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        client = SimpleNamespace(get_executor=lambda pure: threads)
        EXAMPLE
        assert report.outcome == "succeeded" and list(report.stacks) == ["network/prod", "shop/prod"], report


asyncio.run(main())
""",
    "hooks.Hook": _program(runs='simulate(program, outputs={"vm:index:Machine": {"address": "10.0.0.1"}})'),
    "hooks.ErrorHook": _program(runs='assert "dns:index:Zone" in str(simulate(program).result)'),
    "hooks.Hooks": _program(
        before='def seed(args): ran.append("seed")\n\ndef dump(args): ran.append("dump")',
        runs="""
        stack = simulate(program)
        stack.destroy(destroy_program=True)
        assert ran == ["seed", "dump"], ran
        """,
    ),
    "logging": _FILES + """
import io

EXAMPLE
written = io.StringIO()
logging.getLogger("stackwright").addHandler(logging.StreamHandler(written))


async def main():
    async with sw.Engine(store="memory://", passphrase="correct horse", providers={"files": Files()}) as engine:
        await (await engine.stack("shop/dev", program)).up()


asyncio.run(main())
stackwright.logging.disable()
assert "an operation has ended" in written.getvalue()
""",
    "picture.Picture": _stack(after='assert "hello" in Path("preview.html").read_text()'),
    "picture.Picture.of_plan": _stack(
        before='Path("plan.json").write_text(json.dumps((await stack.preview(generate_plan=True)).plan))', after='assert "hello" in page'
    ),
    "picture.StackGraph": _stack(before="await stack.up()", after='assert "hello" in Path("stack.html").read_text()'),
    "policy.Policy": _stack(),
    "program.Context.call": _program(
        before='box = ctx.resource("box:index:Box", "first", {})\nctx.export("contents",',
        after=")",
        runs="""
        stack = simulate(program, functions={"box:index:Box/open": lambda arguments: {"contents": arguments["by"]}})
        assert stack.outputs["contents"].value == "hand"
        """,
    ),
    "program.Context.exists": _program(
        before='ctx.resource("notes:index:Note", "first", {})',
        after='ran.append(await ctx.exists("net:index:Zone", "z-1"))',
        runs="""
        simulate(program, existing={"net:index:Zone": {"z-1": {}}})
        assert ran == [True]
        """,
    ),
    "program.Context.read": _program(
        runs="""
        stack = simulate(program, stacks={"net/prod": {"address": "10.0.0.1"}})
        assert stack.resources.find("notes:index:Note", "first").inputs["text"] == "10.0.0.1"
        """
    ),
    "program.Context.run_sdk": _FILES + """
import pulumi


class StaticPage(pulumi.ComponentResource):
    def __init__(self, name, index):
        super().__init__("box:index:StaticPage", name)
        self.url = pulumi.Output.concat("https://", index)
"""
    + _CONSTRUCTED.replace("FOUND", "url").replace("VALUE", "https://hi"),
    "project.Project": _stack(
        before='Path("shop").mkdir()\nPath("shop/Pulumi.yaml").write_text("name: shop\\nruntime: python\\n")',
        after='await stack.up()\nassert "hunter2" not in Path("shop/Pulumi.dev.yaml").read_text()',
    ),
    "provider.Provider.construct": _FILES + _CONSTRUCTED.replace("FOUND", "id").replace("VALUE", "first-note"),
    "secrets": """\
import asyncio

EXAMPLE


async def main():
    stack = await engine.stack("shop/dev", lambda ctx: None)
    assert not (await stack.up()).error
    await engine.close()


asyncio.run(main())
""",
    "stack.Stack.import_resources": _stack(before="await stack.up()", after="assert 'files' in result.imported.code.python"),
    "testing": """\
def program(ctx):
    web = ctx.resource("cloud:index:Machine", "web", {"size": "small"})
    ctx.resource("cloud:index:Record", "dns", {"address": web["address"]})


EXAMPLE
test_the_record_has_the_address_of_the_machine()
""",
    "testing._refactoring.refactoring": _FILES + """
from stackwright.testing import refactoring


async def main():
    async with sw.Engine(store="memory://", passphrase="correct horse", providers={"files": Files()}) as engine:
        stack = await engine.stack("shop/live", program)
        await stack.up()
        Path("exported.json").write_text(json.dumps(await stack.export_deployment()))


asyncio.run(main())
program_of_last_week = program
EXAMPLE
""",
    "testing._strategies.configurations": """\
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from stackwright.testing import configurations, simulate

Path("../shop").mkdir()
Path("../shop/Pulumi.yaml").write_text("name: shop\\nruntime: python\\nconfig:\\n  size: {type: string}\\n  count: {type: integer}\\n")
settings.register_profile("few", max_examples=5, deadline=None)
settings.load_profile("few")


def program(ctx):
    ctx.resource("cloud:index:Machine", "web", {"size": "small"})


EXAMPLE
test_any_configuration_is_stable()
""",
}

REPLACED: dict[str, tuple[str, str]] = {"fleet": ("s3://state", "file://./state")}
"""Texts of examples in place of which others are run: services that are elsewhere."""

_STACK_OF_NODE = 'declare const stack: import("stackwright").Stack;\ndeclare const engine: import("stackwright").Engine;\n'
_WRITE = 'import { readFile, writeFile } from "node:fs/promises";\n'

TYPESCRIPT: dict[str, str] = {
    "automation/index.ts: ": "const program = async () => ({});\nEXAMPLE",
    "context.ts: runSdk": """\
import * as pulumi from "@pulumi/pulumi";
import type { Provider } from "stackwright";

declare class StaticPage extends pulumi.ComponentResource {
    constructor(name: string, inputs: { index: unknown });
    url: pulumi.Output<string>;
}
export const provider: Provider = {
    EXAMPLE
};
""",
    "engine.ts: metrics": f"{_STACK_OF_NODE}EXAMPLE",
    "engine.ts: upAll": f"{_STACK_OF_NODE}const makeNetwork = () => {{}}, makeShop = () => {{}};\nEXAMPLE",
    "key_services.ts: awsKms": 'import { awsKms, type KeyService } from "stackwright";\nEXAMPLE\nexport const service: KeyService = secrets;',
    "logging.ts: enableLogging": 'import { enableLogging, LOG_CHANNEL } from "stackwright";\nEXAMPLE',
    "picture.ts: Picture": f"{_WRITE}{_STACK_OF_NODE}EXAMPLE",
    "picture.ts: ofPlan": f'import {{ Picture }} from "stackwright";\n{_WRITE}EXAMPLE\nexport const text: string = page;',
    "picture.ts: StackGraph": f"{_WRITE}{_STACK_OF_NODE}EXAMPLE",
    "testing/configurations.ts: configurations": """\
import { configurations, simulate } from "stackwright/testing";
const program = () => {};
EXAMPLE
""",
    "testing/stack.ts: simulate": """\
import assert from "node:assert/strict";
import { simulate } from "stackwright/testing";
const program = () => {};
EXAMPLE
""",
}

DECLARED = """\
declare module "@aws-sdk/client-kms" {
    export class KMSClient {
        send(command: EncryptCommand | DecryptCommand): Promise<unknown>;
    }
    export class EncryptCommand {
        constructor(input: { KeyId: string; Plaintext: Uint8Array });
    }
    export class DecryptCommand {
        constructor(input: { CiphertextBlob: Uint8Array });
    }
}
"""
"""The types of packages that are not installed."""
