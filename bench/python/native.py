"""``native.python.{create,noop}.10000``: resources a second through the package's own API: ``python native.py [PREFIX]``."""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time

import stackwright as sw
from things import Things, selection

RESOURCES = 10_000
UNBOUNDED = 2**31 - 1


async def program(ctx: sw.Context) -> None:
    for number in range(RESOURCES):
        ctx.resource("things:index:Thing", f"thing-{number}", {"number": number, "tags": {"a": "b", "c": [1, 2, 3]}})


async def main(folder: str) -> None:
    asked = selection()
    async with sw.Engine(store=f"file://{folder}", passphrase="bench", providers={"things": Things()}) as engine:
        stack = await engine.stack("bench/dev", program)
        for verb in ("create", "noop"):
            began = time.perf_counter()
            result = await stack.up(parallel=UNBOUNDED, no_events=True)
            took = time.perf_counter() - began
            print(f"native.python.{verb}: {dict(result.changes)} in {took:.2f} s", file=sys.stderr)
            asked.print(f"native.python.{verb}.{RESOURCES}", RESOURCES / took, "resources/s")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=".") as temporary:
        asyncio.run(main(temporary))
