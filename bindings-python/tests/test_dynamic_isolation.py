"""Dynamic providers: modules in the program's folder are found by the program's code, and never shadow the modules of
the provider's server."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

import stackwright as sw

FOREIGN = ("grpc", "dill", "runpy", "base64", "semver", "google", "pulumi")
"""Modules that the server imports, never from the program's folder."""


def test_a_module_in_the_programs_folder_is_imported_only_by_the_programs_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pulumi = pytest.importorskip("pulumi")
    pytest.importorskip("dill")
    seen = tmp_path / "seen"
    for name in FOREIGN:
        (tmp_path / f"{name}.py").write_text(f"open({str(seen)!r}, 'a').write('{name} ')\n")
    (tmp_path / "shop_helper.py").write_text("def words(text):\n    return len(text.split())\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])

    import shop_helper  # type: ignore[import-not-found]

    from pulumi import dynamic

    class Counter(dynamic.ResourceProvider):
        def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
            return dynamic.CreateResult("counter", {**props, "words": shop_helper.words(props["text"])})

    class Count(dynamic.Resource):
        words: Any

        def __init__(self, name: str, text: str) -> None:
            super().__init__(Counter(), name, {"text": text, "words": None})

    def program() -> None:
        pulumi.export("words", Count("count", "three little words").words)

    async def main() -> sw.Result:
        async with sw.Engine(store="memory://") as engine:
            stack = await engine.stack("shop/dev", program, root_directory=tmp_path)
            return await stack.up()

    result = asyncio.run(main())
    assert result.outputs["words"].value == 3
    assert not seen.exists(), seen.read_text()
