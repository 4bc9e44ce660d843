"""Pictures of operations and stacks: a page, a flowchart, a digraph, and what a notebook shows."""

from __future__ import annotations

import asyncio
import html
import json
import re
from pathlib import Path
from typing import Any, Literal

import pytest
import stackwright as sw

from conftest import MakeEngine, Memory
from stackwright._display import View

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
            changed = await (await engine.stack("shop/dev", program_of(2))).preview()
            tree = changed._repr_html_().split("<details>")[0]
            values = [line for line in tree.splitlines() if "→" in line]
            assert len(values) == 2 and all(line.startswith('<span style="color:#9a6700">') for line in values)
            assert any("│" in line for line in values)

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


SECRET = "hunter2-hunter2"
Form = Literal["lines", "screen", "page"]


class Vague(sw.Provider):
    """A provider that names no property that changes, and whose deletions can fail."""

    def __init__(self) -> None:
        self.refuses = False

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        return sw.CreateResult(f"id-{request.name}", request.inputs)

    def update(self, request: sw.UpdateRequest) -> sw.UpdateResult:
        return sw.UpdateResult(request.inputs)

    def delete(self, request: sw.DeleteRequest) -> None:
        if self.refuses:
            raise RuntimeError("the disk is busy")

    def diff(self, request: sw.DiffRequest) -> sw.DiffResult:
        zones = [request.old_inputs.get("zone"), request.inputs.get("zone")]
        return sw.DiffResult(changes=request.old_inputs != request.inputs, replaces=["zone"] if zones[0] != zones[1] else [])


def test_no_text_has_a_secret_that_is_a_name(make_engine: MakeEngine, memory: Memory) -> None:
    def program_of(size: int) -> sw.Program:
        async def program(ctx: sw.Context) -> None:
            ctx.resource(THING, f"user-{SECRET}", {"m": {SECRET: size}, "password": sw.secret(SECRET)})
            ctx.export("m", {SECRET: sw.secret("another")})
            ctx.export(SECRET, size)

        return program

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program_of(1))
            results = [await stack.preview(), await stack.up()]
            changed = await engine.stack("shop/dev", program_of(2))
            results += [await changed.preview(), await changed.up()]
            pictures = [await stack.picture(), (await stack.graph()).picture(), *(result.picture() for result in results)]
            texts = [text for picture in pictures for text in (picture.to_html(), picture.to_mermaid(), picture.to_dot(), picture._repr_html_())]
            texts += [text for result in results for text in (str(result), result._repr_html_())]
            for text in texts:
                assert SECRET not in text
                assert "user-[secret]" in text
            assert '~ m["[secret]"]: 1 → 2' in str(results[2])
            # Data is exact.
            assert results[0].steps[-1].urn.endswith(f"::user-{SECRET}")

    asyncio.run(run())


def test_no_display_has_a_secret_that_is_a_name(make_engine: MakeEngine, memory: Memory) -> None:
    def program_of(size: int) -> sw.Program:
        async def program(ctx: sw.Context) -> None:
            ctx.resource(THING, f"user-{SECRET}", {SECRET: size, "password": sw.secret(SECRET)})

        return program

    async def shown(operation: sw.Operation, form: Form) -> str:
        view = View(operation._native.display(form, False))
        pieces = []
        while (piece := await view.next()) is not None:
            pieces.append(piece)
        await operation
        return "".join(pieces)

    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            forms: tuple[Form, ...] = ("lines", "screen", "page", "lines", "page")
            for size, form in enumerate(forms):
                stack = await engine.stack("shop/dev", program_of(size))
                text = await shown(stack.up(), form)
                assert SECRET not in text and "user-[secret]" in text
            # The changed property is listed by its name.
            assert "[secret]" in await shown((await engine.stack("shop/dev", program_of(7))).preview(), "lines")
            late = stack.preview()
            await late
            text = await shown(late, "page")
            assert SECRET not in text

    asyncio.run(run())


def test_a_change_without_named_properties_shows_the_inputs_that_differ(make_engine: MakeEngine) -> None:
    def program_of(size: int, region: str) -> sw.Program:
        async def program(ctx: sw.Context) -> None:
            provider = ctx.provider("mem", "explicit", {"region": region})
            ctx.resource(THING, "a", {"size": size}, provider=provider)

        return program

    async def run() -> None:
        async with make_engine(mem=Vague()) as engine:
            stack = await engine.stack("shop/dev", program_of(1, "here"))
            await stack.up()
            changed = await (await engine.stack("shop/dev", program_of(2, "there"))).preview()
            nodes = nodes_of(changed.to_html())
            assert (nodes["a"]["op"], nodes["a"]["properties"]) == ("update", [{"path": "size", "kind": "update", "old": "1", "new": "2"}])
            (region,) = nodes["explicit"]["properties"]
            assert (nodes["explicit"]["op"], region["path"], region["old"], region["new"]) == ("update", "region", '"here"', '"there"')
            assert "~ size: 1 → 2" in str(changed) and '~ region: "here" → "there"' in str(changed)

    asyncio.run(run())


def test_an_old_copy_whose_deletion_failed_is_shown_until_it_is_deleted(make_engine: MakeEngine) -> None:
    def program_of(zone: str) -> sw.Program:
        async def program(ctx: sw.Context) -> None:
            ctx.resource(THING, "a", {"zone": zone})

        return program

    def facts(page: str) -> list[tuple[str, bool]]:
        found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
        assert found is not None
        return sorted((node["op"], node.get("pendingDeletion", False)) for node in json.loads(found.group(1))["nodes"] if node["name"] == "a")

    async def run() -> None:
        vague = Vague()
        async with make_engine(mem=vague) as engine:
            await (await engine.stack("shop/dev", program_of("a"))).up()
            stack = await engine.stack("shop/dev", program_of("b"))
            vague.refuses = True
            with pytest.raises(sw.StackwrightError) as failed:
                await stack.up()
            result = failed.value.result
            assert result is not None and facts(result.to_html()) == [("delete", True), ("replace", False)]
            vague.refuses = False
            graph = await stack.graph()
            assert facts(graph.to_html()) == [("delete", True), ("same", False)]
            assert "− a (pending deletion)" in graph.to_mermaid() and "− a (pending deletion)" in graph.to_dot()
            preview = await stack.preview()
            assert facts(preview.to_html()) == [("delete", False), ("same", False)]
            assert "− a<br/>" in preview.to_mermaid() and "±" not in preview.to_mermaid()
            done = await stack.up()
            assert facts(done.to_html()) == [("delete", False), ("same", False)]
            assert facts((await stack.graph()).to_html()) == [("same", False)]

    asyncio.run(run())


def test_the_document_of_a_plan_is_a_picture_without_a_key(make_engine: MakeEngine, memory: Memory, tmp_path: Path) -> None:
    async def run() -> None:
        async with make_engine(mem=memory) as engine:
            stack = await engine.stack("shop/dev", program_of(1))
            preview = await stack.preview(generate_plan=True)
            assert preview.plan is not None
            picture = sw.Picture.of_plan(preview.plan)
            assert picture.title == "Plan of shop/dev"
            nodes = nodes_of(picture.to_html())
            assert nodes["a"]["op"] == "create"
            assert [(row["path"], row["new"]) for row in nodes["a"]["properties"]] == [("key", "[secret]"), ("size", "1")]
            assert sw.Picture.of_plan(json.dumps(preview.plan)).to_html() == picture.to_html()
            with pytest.raises(sw.InvalidInputError, match=r"of_plan\(\) takes a plan's document, not Result; the picture of a result is its picture\(\)"):
                sw.Picture.of_plan(preview)  # type: ignore[arg-type]
            with pytest.raises(sw.InvalidInputError, match="manifest: it is missing"):
                sw.Picture.of_plan({})

    asyncio.run(run())
