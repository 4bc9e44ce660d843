"""Options that become JSON: values without a JSON form are refused by their path."""

from __future__ import annotations

import asyncio
import datetime
from types import MappingProxyType
from typing import Any

import pytest
import stackwright as sw

from conftest import MakeEngine
from stackwright._json import text_of


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"x": {"y": {1, 2}}}, "runtime_options['x']['y']: a value of type set cannot be written as JSON"),
        ({"x": b"bytes"}, "runtime_options['x']: a value of type bytes cannot be written as JSON"),
        ({"x": [0, bytearray(2)]}, "runtime_options['x'][1]: a value of type bytearray cannot be written as JSON"),
        ({"x": [{5: "a"}]}, "runtime_options['x'][0]: a key of type int cannot be written as JSON; keys are texts"),
        ({"x": {None: "a"}}, "runtime_options['x']: a key of type NoneType cannot be written as JSON; keys are texts"),
        ({"x": (part for part in "ab")}, "runtime_options['x']: a value of type generator cannot be written as JSON"),
        ({"x": datetime.date(2026, 1, 1)}, "runtime_options['x']: a value of type date cannot be written as JSON"),
        ({"x": sw.Secret("hidden")}, "runtime_options['x']: a value of type Secret cannot be written as JSON"),
        ({"x": float("inf")}, "runtime_options['x']: inf cannot be written as JSON; give a finite number"),
        ({"x": "\ud800"}, "runtime_options['x']: a text with a lone surrogate cannot be written as JSON"),
    ],
)
def test_a_runtime_option_without_json_is_refused_by_its_path(make_engine: MakeEngine, value: Any, message: str) -> None:
    async def run() -> None:
        async with make_engine() as engine:
            with pytest.raises(sw.InvalidInputError) as caught:
                await engine.stack("shop/dev", lambda ctx: None, runtime_options=value)
            assert str(caught.value) == message
            assert await engine.stacks() == []

    asyncio.run(run())


def test_every_option_that_becomes_json_is_checked(make_engine: MakeEngine) -> None:
    class Vault:
        kind = "vault"
        state = {"keys": {"a"}}

        def encrypt(self, texts: Any) -> Any:
            return texts

        decrypt = encrypt

    async def run() -> None:
        async with make_engine() as engine:
            stack = await engine.stack("shop/dev", lambda ctx: None)
            document = {"version": 3, "deployment": {"resources": [{"inputs": {"a": {1}}}]}}
            with pytest.raises(sw.InvalidInputError, match=r"^deployment\['deployment'\]\['resources'\]\[0\]\['inputs'\]\['a'\]: a value of type set"):
                await stack.import_deployment(document)
            with pytest.raises(sw.InvalidInputError, match=r"^deployment\['a'\]: a value of type bytes"):
                await engine.stack("shop/other", lambda ctx: None, deployment={"a": b""})
            with pytest.raises(sw.InvalidInputError, match=r"^plan\['a'\]: a value of type set"):
                stack.up({"a": {1}})
            pack: Any = {"name": "p", "config": {"all": {"levels": {1}}}}
            with pytest.raises(sw.InvalidInputError, match=r"^local_policy_packs\[0\]\['config'\]\['all'\]\['levels'\]: a value of type set"):
                stack.up(local_policy_packs=[pack])

    asyncio.run(run())
    with pytest.raises(sw.InvalidInputError, match=r"^secrets.state\['keys'\]: a value of type set"):
        sw.Engine(store="memory://", secrets=Vault())


def test_mappings_and_sequences_of_any_class_have_a_json_form() -> None:
    value = MappingProxyType({"a": (1, None, True, 2.5), "b": MappingProxyType({"c": "é"})})
    assert text_of("x", value) == '{"a": [1, null, true, 2.5], "b": {"c": "\\u00e9"}}'


def test_a_value_that_contains_itself_or_cannot_be_read_is_refused() -> None:
    circle: dict[str, Any] = {}
    circle["itself"] = [circle]

    class Broken(dict[str, Any]):
        def items(self) -> Any:
            raise KeyError("hidden")

    with pytest.raises(sw.InvalidInputError, match="^x.*: the value is nested too deep, or contains itself$"):
        text_of("x", circle)
    with pytest.raises(sw.InvalidInputError, match="^x: the value cannot be read: KeyError$"):
        text_of("x", Broken())
