"""Programs that register no resources although the stack has some, usually because their module is cached."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

import stackwright as sw
from conftest import Memory

MODULE = """
import pulumi

class Thing(pulumi.CustomResource):
    def __init__(self, name):
        super().__init__("mem:index:Thing", name, {})

Thing("a")
Thing("b")
"""


def test_a_cached_module_deletes_nothing_in_the_second_operation_unless_that_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        (tmp_path / "cached_program.py").write_text(MODULE)
        monkeypatch.syspath_prepend(str(tmp_path))
        provider = Memory()

        def program() -> None:
            import cached_program  # type: ignore[import-not-found]  # noqa: F401

        try:
            async with sw.Engine(store="memory://", providers={"mem": provider}) as engine:
                stack = await engine.stack("shop/dev", program)
                assert (await stack.up()).changes["create"] == 3
                preview = await stack.preview()
                warnings = [found.message for found in preview.diagnostics if found.severity == "warning"]
                assert len(warnings) == 1 and "module cache" in warnings[0]
                with pytest.raises(sw.InvalidInputError, match="would delete all 2 resources") as caught:
                    await stack.up()
                assert "allow_empty" in str(caught.value) and "module cache" in str(caught.value)
                assert len(provider.things) == 2
                await stack.up(allow_empty=True)
                assert provider.things == {}
                assert "delete" not in (await stack.up()).changes
        finally:
            sys.modules.pop("cached_program", None)

    asyncio.run(run())
