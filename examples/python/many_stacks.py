"""Deploys a hundred stacks at once, in one process: ``python many_stacks.py [FOLDER]``."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

import stackwright as sw
from files import Files

STACKS = 100
FILES = 10


async def program(ctx: sw.Context) -> None:
    for number in range(FILES):
        content = f"file {number} of {ctx.stack}\n"
        ctx.resource("files:index:File", f"file-{number}", {"path": f"{ctx.stack}/{number}.txt", "content": content})
    ctx.export("stack", ctx.stack)


async def one(engine: sw.Engine, number: int) -> int:
    stack = await engine.stack(f"many/stack-{number}", program)
    result = await stack.up()
    assert result.outputs["stack"] == f"stack-{number}", "each program saw its own stack"
    return result.changes["create"]


async def main(folder: Path) -> None:
    files = Files(folder / "files")
    async with sw.Engine(
        store=f"file://{folder / 'state'}", passphrase="correct horse", providers={"files": files}
    ) as engine:
        began = time.perf_counter()
        created = await asyncio.gather(*(one(engine, number) for number in range(STACKS)))
        took = time.perf_counter() - began
        written = sum(1 for path in files.root.rglob("*.txt"))
        print(f"{STACKS} stacks with {sum(created)} resources in {took:.1f} s; {written} files were written")
        stacks = await asyncio.gather(*(engine.stack(name, create=False) for name in await engine.stacks("many")))
        await asyncio.gather(*(stack.destroy() for stack in stacks))
        print(f"{len(stacks)} stacks destroyed; {sum(1 for path in files.root.rglob('*.txt'))} files are left")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(main(Path(sys.argv[1]).resolve()))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            asyncio.run(main(Path(temporary)))
