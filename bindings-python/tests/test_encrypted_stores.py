"""Stores that are encrypted as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import stackwright as sw
from stackwright import sync

from test_key_services import URL, Keys


def program(ctx: sw.Context) -> None:
    ctx.export("open", "everyone reads this")


@pytest.mark.parametrize("manager", [{"passphrase": "correct horse"}, {"secrets": Keys()}], ids=["passphrase", "key service"])
def test_nothing_of_a_state_is_readable_in_an_encrypted_store(tmp_path: Path, manager: dict[str, Any]) -> None:
    store = f"file://{tmp_path}"
    with sync.Engine(store=store, encrypt_store=True, **manager) as engine:
        for _ in range(2):
            engine.stack("shop/dev", program).up()
    files = [path for path in tmp_path.rglob("*") if path.is_file() and "locks" not in path.parts]
    names = {path.name for path in files}
    assert {"dev.json", "dev.json.bak", "meta.yaml"} <= names and any(name.endswith(".history.json") for name in names)
    for path in files:
        content = path.read_bytes()
        assert b"everyone reads" not in content and b"urn:pulumi" not in content, path
    assert (tmp_path / ".pulumi/meta.yaml").read_text().startswith("version: 2\n")
    with sync.Engine(store=store, encrypt_store=True, **manager) as engine:
        stack = engine.stack("shop/dev", program)
        assert stack.outputs()["open"].value == "everyone reads this"
        assert len(stack.history()) == 2
        assert [summary.name for summary in engine.stacks()] == ["shop/dev"]
        stack.destroy()
    named = URL if "secrets" in manager else "passphrase"
    with sync.Engine(store=store, **manager) as engine, pytest.raises(sw.SecretsError, match=f"is encrypted with the secrets manager {named}"):
        engine.stack("shop/dev", program)
    with (
        sync.Engine(store=store, encrypt_store=True, passphrase="other") as engine,
        pytest.raises(sw.StackwrightError, match=f"its secrets manager {named} does not open it"),
    ):
        engine.stack("shop/dev", program)


def test_a_store_with_states_is_not_encrypted_and_none_without_a_key(tmp_path: Path) -> None:
    store = f"file://{tmp_path}"
    with sync.Engine(store=store, passphrase="p") as engine:
        engine.stack("shop/dev", program).up()
    with sync.Engine(store=store, passphrase="p", encrypt_store=True) as engine:
        with pytest.raises(sw.StateError, match="is not encrypted, and a store is encrypted from its beginning"):
            engine.stack("shop/dev", program)
    with sync.Engine(store="memory://", encrypt_store=True) as engine:
        with pytest.raises(sw.InvalidInputError, match="has nothing to encrypt with"):
            engine.stack("shop/dev", program).up()
