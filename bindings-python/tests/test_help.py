"""Introspection of the package: annotations can be evaluated, and the help of options lists their members."""

from __future__ import annotations

import inspect
import pydoc
import typing
from collections.abc import Iterator
from typing import Any

import pytest
import stackwright as sw
from stackwright import sync


def public() -> Iterator[Any]:
    """Yields the public functions and classes, with the methods and properties of classes."""
    for module in (sw, sync):
        for name in module.__all__:
            value = getattr(module, name)
            if not inspect.isclass(value) and not inspect.isfunction(value):
                continue
            yield pytest.param(value, id=f"{module.__name__}.{name}")
            for member, found in vars(value).items() if inspect.isclass(value) else ():
                if isinstance(found, property):
                    found = found.fget
                elif isinstance(found, (staticmethod, classmethod)):
                    found = found.__func__
                if inspect.isfunction(found):
                    yield pytest.param(found, id=f"{module.__name__}.{name}.{member}")


@pytest.mark.parametrize("value", list(public()))
def test_the_annotations_of_public_members_can_be_evaluated(value: Any) -> None:
    typing.get_type_hints(value)


OPTIONS = [
    sw.Alias,
    sw.CustomTimeouts,
    sw.InvokeOptions,
    sw.OperationOptions,
    sw.Plugins,
    sw.PolicyPack,
    sw.ExistsOptions,
    sw.ReadOptions,
    sw.ResourceOptions,
    sw.StackSettings,
]


@pytest.mark.parametrize("options", OPTIONS)
def test_help_lists_each_option_with_its_type_and_what_it_does(options: Any) -> None:
    shown = " ".join(pydoc.plain(pydoc.render_doc(options)).replace("|  ", " ").split())
    kinds: dict[str, Any] = options.__annotations__
    assert kinds
    for name, kind in kinds.items():
        written = kind.__forward_arg__ if isinstance(kind, typing.ForwardRef) else kind
        # An attribute that is left out is None.
        types = {str(written), str(written).removesuffix(" | None")}
        assert any(f"- ``{name}`` ({type_}): " in shown for type_ in types), name


def test_help_describes_the_kind_of_secrets() -> None:
    assert "``kind``, the name by which deployments record" in (sw.Secrets.__doc__ or "")
