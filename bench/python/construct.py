"""``construct.{python,node,go}.100.{update,noop}``: components of plugins a second: ``python construct.py [PREFIX]``."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import stackwright as sw
from things import Things, selection

COMPONENTS = 100
UNBOUNDED = 2**31 - 1

ROOT = Path(__file__).resolve().parents[2]
TESTKIT = ROOT / "testkit"
NODE_HOST = ROOT / "node_modules" / "@pulumi" / "pulumi" / "cmd" / "run-plugin" / "index.js"


def go_plugin() -> list[str]:
    executable = ROOT / "build" / "bench" / "pulumi-resource-gobox"
    subprocess.run(["go", "build", "-buildvcs=false", "-o", str(executable), "."], cwd=TESTKIT / "go-component", check=True)
    return [str(executable)]


def command(language: str) -> tuple[str, list[str]]:
    """Returns the package of a language and the command of its plugin."""
    if language == "go":
        return "gobox", go_plugin()
    if language == "node":
        return "tsbox", ["node", str(NODE_HOST), str(TESTKIT / "node-component")]
    return "pybox", [sys.executable, "-u", str(TESTKIT / "python-component")]


async def measure(folder: str, language: str) -> None:
    package, plugin = command(language)

    async def program(ctx: sw.Context) -> None:
        for number in range(COMPONENTS):
            ctx.remote_component(f"{package}:index:Box", f"box-{number}", {"size": number})

    async with sw.Engine(
        store=f"file://{folder}",
        passphrase="bench",
        providers={"things": Things()},
        plugins=sw.Plugins(commands={package: plugin}),
    ) as engine:
        stack = await engine.stack(f"bench/{language}", program)
        await stack.preview(parallel=UNBOUNDED, no_events=True)
        for verb in ("update", "noop"):
            began = time.perf_counter()
            result = await stack.up(parallel=UNBOUNDED, no_events=True)
            took = time.perf_counter() - began
            print(f"construct.{language}.{verb}: {dict(result.changes)} in {took:.2f} s", file=sys.stderr)
            asked.print(f"construct.{language}.{COMPONENTS}.{verb}", COMPONENTS / took, "components/s")


async def main(folder: str) -> None:
    for language in ("python", "node", "go"):
        if asked.overlaps(f"construct.{language}."):
            await measure(folder, language)


if __name__ == "__main__":
    asked = selection()
    with tempfile.TemporaryDirectory(dir=".") as temporary:
        asyncio.run(main(temporary))
