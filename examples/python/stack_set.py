"""Deploys stacks that depend on each other as one operation: ``python stack_set.py [FOLDER]``."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

import stackwright as sw
from files import Files

SHOPS = ["north", "south", "west"]


async def network(ctx: sw.Context) -> None:
    """What all shops need."""
    address = ctx.resource("files:index:File", "address", {"path": "network/address.txt", "content": "10.0.0.1\n"})
    ctx.export("address", address["content"])


async def shop(ctx: sw.Context) -> None:
    """A shop reads the outputs of the network, and waits for them while both are deployed."""
    net = ctx.read("pulumi:pulumi:StackReference", "network", "network/prod", {"name": "network/prod"})
    content = sw.Output.format("{} calls {}", ctx.stack, net["outputs"]["address"])
    page = ctx.resource("files:index:File", "page", {"path": f"{ctx.stack}/page.txt", "content": content})
    ctx.export("page", page["content"])


async def index(ctx: sw.Context) -> None:
    """A list of the shops, for which it needs nothing of theirs but that they are there."""
    ctx.resource("files:index:File", "list", {"path": "shops.txt", "content": "\n".join(SHOPS)})


async def main(folder: Path) -> None:
    files = Files(folder / "files")
    async with sw.Engine(
        store=f"file://{folder / 'state'}", passphrase="correct horse", providers={"files": files}
    ) as engine:
        shops = [await engine.stack(f"shop/{name}", shop) for name in SHOPS]
        runs = [
            # Its program reads no other stack.
            sw.StackRun(await engine.stack("index/prod", index), depends_on=shops),
            *(sw.StackRun(stack) for stack in shops),
            sw.StackRun(await engine.stack("network/prod", network)),
        ]

        print("--- preview")
        preview = await engine.preview_all(runs)
        print(dict(preview.changes))

        print("--- up")
        result = await sw.display(engine.up_all(runs, max_stacks=4))
        for name, own in result.stacks.items():
            print(name, {output: value.value for output, value in own.outputs.items()})

        print("--- destroy")
        result = await engine.destroy_all(runs)
        print(result)
        left = sorted(str(path.relative_to(files.root)) for path in files.root.rglob("*.txt"))
        print(f"files: {left}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(main(Path(sys.argv[1]).resolve()))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            asyncio.run(main(Path(temporary)))
