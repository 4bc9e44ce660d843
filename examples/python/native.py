"""Deploys files with the package's own API: ``python native.py [FOLDER]``."""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

import stackwright as sw
from files import Files

PAGES = ["index", "about"]


async def program(ctx: sw.Context) -> None:
    """Two pages below a component, and a list of them that depends on both."""
    site = ctx.component("example:index:Site", "site")
    pages = [
        ctx.resource(
            "files:index:File",
            page,
            {"path": f"{page}.html", "content": f"<h1>{ctx.config.get('title', 'Untitled')}: {page}</h1>\n"},
            parent=site,
        )
        for page in PAGES
    ]
    # Nothing has been awaited so far: the list is registered as soon as both pages are created.
    listing = ctx.resource(
        "files:index:File",
        "listing",
        {"path": "pages.txt", "content": sw.Output.format("{} {}\n{} {}\n", *_lines(pages))},
        parent=site,
    )
    site.register_outputs({"listing": listing["path"]})
    await listing
    ctx.log(f"the listing has {len(PAGES)} pages", resource=listing)
    ctx.export("digest", ctx.invoke("files:index:digest", {"content": listing["content"]})["sha256"])
    ctx.export("token", ctx.config.secret("token"))


def _lines(pages: list[sw.Resource]) -> list[sw.Output[object]]:
    return [page[name] for page in pages for name in ("sha256", "path")]


async def main(folder: Path) -> None:
    files = Files(folder / "files")
    async with sw.Engine(
        store=f"file://{folder / 'state'}", passphrase="correct horse", providers={"files": files}
    ) as engine:
        config: dict[str, sw.PropertyValue] = {"title": "Hello", "token": sw.secret("s3cret")}
        stack = await engine.stack("site/dev", program, config=config)

        print("--- preview")
        plan = await stack.preview()
        print(plan)

        print("--- up")
        operation = stack.up(plan)
        async for event in operation:
            if isinstance(event, sw.DiagnosticEvent):
                print(f"{event.severity}: {event.message}", end="")
        print(await operation)

        print("--- up again changes nothing")
        print(await stack.up())

        print("--- a page is gone, another was edited by hand; refresh notices")
        (files.root / "about.html").unlink()
        (files.root / "index.html").write_text("edited\n")
        print(await stack.refresh())

        print("--- up puts it right")
        print(await stack.up())
        print("outputs:", dict(await stack.outputs()))

        print("--- destroy")
        print(await stack.destroy())
        await stack.remove()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(main(Path(sys.argv[1]).resolve()))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            asyncio.run(main(Path(temporary)))
