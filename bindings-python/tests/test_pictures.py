"""Pictures of operations and stacks: a page, a flowchart, a digraph, and what a notebook shows."""

from __future__ import annotations

import asyncio
import html
import json
import re
from pathlib import Path
from typing import Any

import pytest
import stackwright as sw

from conftest import MakeEngine, Memory

THING = "mem:index:Thing"


def program_of(size: int) -> sw.Program:
    async def program(ctx: sw.Context) -> None:
        box = ctx.component("shop:index:Box", "box")
        a = ctx.resource(THING, "a", {"size": size, "key": sw.secret("hunter2-hunter2")}, parent=box)
        ctx.resource(THING, "b", {"of": a["size"]})

    return program


def nodes_of(page: str) -> dict[str, dict[str, Any]]:
    """Returns the resources of a page by name."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    document = json.loads(found.group(1))
    return {node["name"]: {**node, "parent": document["nodes"][node["parent"]]["name"] if "parent" in node else None} for node in document["nodes"]}


def test_a_preview_is_a_page_with_what_would_change_and_no_secret(make_engine: MakeEngine, memory: Memory) -> None:
    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program_of(1))
            created = await stack.preview()
            assert created.picture().title == "Preview of shop/dev"
            nodes = nodes_of(created.to_html())
            assert {name: node["op"] for name, node in nodes.items() if node["kind"] == "resource"} == {"a": "create", "b": "create"}
            assert nodes["a"]["parent"] == "box" and nodes["box"]["kind"] == "component"
            assert [(row["path"], row["new"]) for row in nodes["a"]["properties"]] == [("key", "[secret]"), ("size", "1")]
            await stack.up()
            changed = await (await engine.stack("shop/dev", program_of(2))).preview()
            nodes = nodes_of(changed.to_html())
            assert (nodes["a"]["op"], nodes["a"]["properties"]) == ("update", [{"path": "size", "kind": "update", "old": "1", "new": "2"}])
            picture = await stack.picture()
            assert picture.title == "shop/dev" and len(picture) == len(nodes_of(picture.to_html())) == 5
            graph = await stack.graph()
            assert nodes_of(graph.to_html()) == nodes_of(picture.to_html()) and "srcdoc" in graph._repr_html_()
            assert (len(graph.nodes), repr(graph)) == (5, f"<StackGraph of 5 resources and {len(graph.edges)} references>")
            assert graph.to_mermaid() == picture.to_mermaid() and graph.to_dot() == picture.to_dot()
            for text in (created.to_html(), changed.to_html(), graph.to_html(), picture.to_html(), picture.to_mermaid(), changed.to_dot(), repr(picture)):
                assert "hunter2" not in text
            assert changed.to_mermaid().startswith("flowchart LR") and "subgraph" in changed.to_mermaid()
            assert changed.to_dot().startswith("digraph") and '"~ a\\nmem:index:Thing"' in changed.to_dot()

    asyncio.run(run())


def test_a_notebook_shows_the_tree_and_the_page(make_engine: MakeEngine, memory: Memory) -> None:
    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program_of(1))
            result = await stack.up()
            shown = result._repr_html_()
            assert "a (mem:index:Thing)" in shown
            found = re.search(r'<iframe [^>]*srcdoc="([^"]*)"', shown)
            assert found is not None and nodes_of(html.unescape(found.group(1)))["a"]["op"] == "create"

    asyncio.run(run())


def test_a_failed_operation_has_a_picture_with_its_error(make_engine: MakeEngine) -> None:
    class Full(sw.Provider):
        def create(self, request: sw.CreateRequest) -> sw.CreateResult:
            raise RuntimeError("the disk is full")

        def delete(self, request: sw.DeleteRequest) -> None:
            pass

    async def run() -> None:
        async with make_engine(mem=Full()) as engine:
            stack = await engine.stack("shop/dev", program_of(1))
            with pytest.raises(sw.StackwrightError) as failed:
                await stack.up()
            result = failed.value.result
            assert result is not None and "the disk is full" in nodes_of(result.to_html())["a"]["failure"]

    asyncio.run(run())


def test_the_blocking_api_has_pictures(memory: Memory, tmp_path: Path) -> None:
    with sw.sync.Engine(store=f"file://{tmp_path}/state", passphrase="x", providers={"mem": memory}) as engine:
        stack = engine.stack("shop/dev", program_of(1))
        stack.up()
        assert "n1" in stack.picture().to_mermaid()
