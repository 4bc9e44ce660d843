"""Values: a round trip through the engine leaves them unchanged."""

from __future__ import annotations

import math
from collections import OrderedDict
from types import MappingProxyType
from typing import Any

import pytest
import stackwright as sw
from stackwright._stackwright import find_outputs, round_trip
from stackwright.values import _UNKNOWNS


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        0,
        -1,
        2**53,
        1.5,
        -0.0,
        math.inf,
        "",
        "text",
        "ünïcödé 🚀",
        b"\x00\xff",
        [],
        [1, "a", None],
        {},
        {"a": {"b": [{"c": 1}]}},
        sw.Secret("x"),
        sw.Secret({"deep": [sw.UNKNOWN]}),
        sw.Asset(text="t"),
        sw.Asset(path="p", hash="abc"),
        sw.Asset(uri="https://example.com/x"),
        sw.Archive(path="dir"),
        sw.Archive(assets={"a": sw.Asset(text="t"), "b": sw.Archive(path="p")}),
        sw.ResourceReference("urn:pulumi:dev::shop::a:b:C::name", "id", "1.2.3"),
        sw.ResourceReference("urn:pulumi:dev::shop::a:b:C::name"),
        sw.ResourceReference("urn:pulumi:dev::shop::a:b:C::name", sw.UNKNOWN),
        *_UNKNOWNS,
    ],
    ids=repr,
)
def test_a_value_is_unchanged_by_a_round_trip(value: sw.PropertyValue) -> None:
    result = round_trip({"value": value})["value"]
    assert result == value
    assert type(result) is type(value)
    if isinstance(value, float):
        assert math.copysign(1, result) == math.copysign(1, value)


def test_whole_numbers_come_back_as_int_and_others_as_float() -> None:
    assert [type(value) for value in round_trip({"a": 2.0, "b": 2, "c": 2.5}).values()] == [int, int, float]


def test_tuples_and_other_mappings_become_lists_and_dictionaries() -> None:
    values = {"tuple": (1, 2), "ordered": OrderedDict(a=1), "proxy": MappingProxyType({"b": 2})}
    assert round_trip(values) == {"tuple": [1, 2], "ordered": {"a": 1}, "proxy": {"b": 2}}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"x": [{"y": object()}]}, "the values: x[0].y: a value of type object is not a property value"),
        ({"x": 2**53 + 1}, "the values: x: 9007199254740993 has no exact double"),
        ({"x": 10**400}, "the values: x"),
        ({"x": {1: 2}}, "the values: x: a key is a value of type int; keys are texts"),
        ({1: 2}, "the values: a key is a value of type int; keys are texts"),
        ({"x": sw.Archive(assets={"a": "text"})}, "the values: x.a: is neither an asset nor an archive"),  # type: ignore[dict-item]
        ({"x": "\ud800"}, "the values: x"),
    ],
)
def test_an_invalid_value_is_named_with_its_path(values: Any, message: str) -> None:
    with pytest.raises(sw.InvalidInputError) as caught:
        round_trip(values)
    assert caught.value.message.startswith(message)


def test_a_list_that_contains_itself_is_refused() -> None:
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(sw.InvalidInputError, match=r"x\[0\]: leads back to x, and a value cannot contain itself"):
        round_trip({"x": endless})
    assert find_outputs({"x": endless}) == []


def test_no_text_of_a_secret_contains_its_value() -> None:
    value = sw.secret({"password": "hunter2"})
    assert "hunter2" not in f"{value!r} {[value]}"
    again: object = sw.secret(value)
    assert again is value
    assert sw.unwrap([value]) == [{"password": "hunter2"}]


def test_an_unknown_is_neither_true_nor_false() -> None:
    assert sw.is_unknown(sw.UNKNOWN) and sw.is_unknown(sw.Secret(sw.UNKNOWN)) and not sw.is_unknown("x")
    with pytest.raises(TypeError):
        bool(sw.UNKNOWN)


@pytest.mark.parametrize("sources", [{}, {"text": "a", "path": "b"}])
def test_an_asset_has_exactly_one_source(sources: dict[str, str]) -> None:
    with pytest.raises(sw.InvalidInputError, match="exactly one"):
        sw.Asset(**sources)
