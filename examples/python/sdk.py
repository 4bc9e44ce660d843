"""Deploys a program written for the Pulumi SDK (package ``pulumi``), in this process: ``python sdk.py [FOLDER]``.

One provider is a class of this script; another is one of the SDK's dynamic providers, which runs in a process of its own.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

import pulumi
import pulumi.dynamic
import stackwright as sw
from files import Files


class File(pulumi.CustomResource):
    path: pulumi.Output[str]
    sha256: pulumi.Output[str]

    def __init__(self, name: str, path: str, content: pulumi.Input[str], opts: pulumi.ResourceOptions | None = None):
        properties = {"path": path, "content": content, "sha256": None, "size": None}
        super().__init__("files:index:File", name, properties, opts)


class CounterProvider(pulumi.dynamic.ResourceProvider):
    """Counts the letters of a text; its code is sent to the provider's process."""

    def create(self, props: dict[str, Any]) -> pulumi.dynamic.CreateResult:
        return pulumi.dynamic.CreateResult("counter", {**props, "letters": len(props["text"])})

    def update(self, _id: str, _olds: dict[str, Any], news: dict[str, Any]) -> pulumi.dynamic.UpdateResult:
        return pulumi.dynamic.UpdateResult({**news, "letters": len(news["text"])})


class Counter(pulumi.dynamic.Resource):
    letters: pulumi.Output[int]

    def __init__(self, name: str, text: pulumi.Input[str]):
        super().__init__(CounterProvider(), name, {"text": text, "letters": None})


def program() -> None:
    config = pulumi.Config()
    data = File("data", "data.txt", f"hello {config.get('whom') or 'world'}\n")
    checksum = File("checksum", "data.sha256", data.sha256)
    counter = Counter("counter", checksum.sha256)
    pulumi.export("letters", counter.letters)
    pulumi.export("path", data.path)
    pulumi.log.info(f"this is {pulumi.get_stack()}")


async def main(folder: Path) -> None:
    files = Files(folder / "files")
    async with sw.Engine(
        store=f"file://{folder / 'state'}", passphrase="correct horse", providers={"files": files}
    ) as engine:
        stack = await engine.stack("sdk/dev", program)
        print("--- preview")
        plan = await stack.preview()
        print(plan)
        print("--- up")
        result = await stack.up(plan)
        print(result)
        print("outputs:", sw.unwrap(result.outputs), "files:", sorted(path.name for path in files.root.iterdir()))
        print("--- up again changes nothing")
        print(await stack.up())
        print("--- another configuration changes the data and what depends on it")
        stack = await engine.stack("sdk/dev", program, config={"whom": "moon"})
        print(await stack.up())
        print("--- refresh, after a file was removed by hand")
        (files.root / "data.txt").unlink()
        print(await stack.refresh())
        print("--- destroy")
        print(await stack.destroy())
        print("files:", [path.name for path in files.root.iterdir()])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(main(Path(sys.argv[1]).resolve()))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            asyncio.run(main(Path(temporary)))
