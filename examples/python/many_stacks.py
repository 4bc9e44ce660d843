"""Deploys many stacks in one process, in sequence and then concurrently: ``python many_stacks.py [FOLDER [STACKS]]``."""

from __future__ import annotations

import asyncio
import resource
import sys
import tempfile
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import stackwright as sw
from files import Files

STACKS = 100
FILES = 10
SECONDS = 0.01


class RemoteFiles(Files):
    """Delays each file, like a remote service."""

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        time.sleep(SECONDS)
        return super().create(request)


async def program(ctx: sw.Context) -> None:
    for number in range(FILES):
        content = f"file {number} of {ctx.stack}\n"
        ctx.resource("files:index:File", f"file-{number}", {"path": f"{ctx.stack}/{number}.txt", "content": content})
    ctx.export("stack", ctx.stack)


async def one(engine: sw.Engine, number: int) -> int:
    stack = await engine.stack(f"many/stack-{number}", program)
    result = await stack.up()
    assert result.outputs["stack"].value == f"stack-{number}", "each program saw its own stack"
    return result.changes["create"]


async def in_turn(work: list[Coroutine[Any, Any, int]]) -> list[int]:
    return [await each for each in work]


async def at_once(work: list[Coroutine[Any, Any, int]]) -> list[int]:
    return await asyncio.gather(*work)


async def main(folder: Path, count: int) -> None:
    files = RemoteFiles(folder / "files")
    took: list[float] = []
    for name, run in (("one after the other", in_turn), ("at once", at_once)):
        store = f"file://{folder / name.replace(' ', '-')}"
        async with sw.Engine(store=store, passphrase="correct horse", providers={"files": files}) as engine:
            began = time.perf_counter()
            created = await run([one(engine, number) for number in range(count)])
            took.append(time.perf_counter() - began)
            written = sum(1 for path in files.root.rglob("*.txt"))
            print(f"{count} stacks with {sum(created)} resources {name} in {took[-1]:.1f} s; {written} files were written")
            stacks = await asyncio.gather(*(engine.stack(stack.name, create=False) for stack in await engine.stacks("many")))
            await asyncio.gather(*(stack.destroy() for stack in stacks))
            print(f"{len(stacks)} stacks destroyed; {sum(1 for path in files.root.rglob('*.txt'))} files are left")
    # In kilobytes on Linux, in bytes on macOS.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    print(f"at once takes {took[1] / took[0]:.2f} of the time; the process had {peak / 1e6:.0f} MB at its peak")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(main(Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else STACKS))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            asyncio.run(main(Path(temporary), STACKS))
