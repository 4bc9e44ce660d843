"""The first steps: two files on disk, the state in ``./state``. Run it again, and again after an edit."""

from __future__ import annotations

import asyncio
from pathlib import Path

import stackwright as sw
from files import Files


async def program(ctx: sw.Context) -> None:
    page = ctx.resource("files:index:File", "page", {"path": "page.html", "content": "<h1>Hello</h1>\n"})
    ctx.resource("files:index:File", "digest", {"path": "page.sha256", "content": page["sha256"]})
    ctx.export("page", page["path"])


async def main() -> None:
    async with sw.Engine(
        store="file://./state", passphrase="quickstart", providers={"files": Files(Path("state/site").resolve())}
    ) as engine:
        stack = await engine.stack("quickstart/dev", program)
        plan = await stack.preview()
        print(plan)
        if plan.has_changes:
            print(await stack.up(plan))
        print("outputs:", dict(await stack.outputs()))


asyncio.run(main())
