"""Property-based tests: configurations drawn by Hypothesis."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .._results import ConfigDeclaration
from .._stackwright import refuse_name
from ..engine import Engine
from ..errors import InvalidInputError
from ..sync import _background
from ..values import Secret

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["configurations"]

__tracebackhide__ = True


def configurations(
    declared: Mapping[str, Any] | str | os.PathLike[str], **replaced: SearchStrategy[Any]
) -> SearchStrategy[dict[str, Any]]:
    """Returns a strategy of configurations for :func:`simulate`; needs the package ``hypothesis``. ::

        @given(configurations("../shop", size=st.sampled_from(["small", "large"])))
        def test_any_configuration_is_stable(config):
            simulate(program, config=config).preview().assert_no_changes()

    :param declared: The folder of a project, whose ``Pulumi.yaml`` declares the keys; or the types by key: ``string``, ``integer``,
        ``number``, ``boolean``, ``object``, ``array``, ``array<string>``…, or strategies of their own. A key with a default is left out in some
        configurations.
    :param replaced: Strategies in the place of those of the declaration, by key.
    :raises InvalidInputError: for a key that is not declared, and for a type that does not exist.
    """
    try:
        from hypothesis import strategies
    except ImportError:
        raise InvalidInputError("configurations() needs the package hypothesis: pip install hypothesis") from None
    chosen, known = dict(replaced), set[str]()
    required: dict[str, Any] = {}
    optional: dict[str, Any] = {}
    for key, of_type, has_default, is_secret in _declarations(declared):
        known.add(key.split(":", 1)[-1])
        own = chosen.pop(key.split(":", 1)[-1], None)
        strategy = own if own is not None else of_type if _is_strategy(of_type) else _of_type(strategies, key, of_type)
        if is_secret:
            strategy = strategy.map(Secret)
        (optional if has_default else required)[key] = strategy
    for name in chosen:
        refuse_name("key", name, "the declared configuration", sorted(known))
    drawn: SearchStrategy[dict[str, Any]] = strategies.fixed_dictionaries(required, optional=optional)
    return drawn


def _is_strategy(value: object) -> bool:
    return hasattr(value, "map") and hasattr(value, "filter")


def _declarations(declared: Mapping[str, Any] | str | os.PathLike[str]) -> list[tuple[str, Any, bool, bool]]:
    """Returns key, type, whether there is a default, and whether it is secret."""
    if isinstance(declared, Mapping):
        return [(key, of_type, False, False) for key, of_type in declared.items()]
    facts: tuple[ConfigDeclaration, ...] = tuple(_background.run(_read(declared)))
    own = [each for each in facts if each.type is not None]
    return [(each.key, each.type, each.default is not None, each.secret) for each in own]


async def _read(folder: str | os.PathLike[str]) -> Any:
    async with Engine(store="memory://") as engine:
        return (await (await engine.project(folder)).facts()).config


def _of_type(strategies: Any, key: str, of_type: Any) -> Any:
    # Controls and surrogates are no text of a configuration.
    texts = strategies.text(strategies.characters(exclude_categories=("Cs", "Cc")), max_size=40)
    numbers = strategies.floats(allow_nan=False, allow_infinity=False, width=32)
    integers = strategies.integers(-(2**31), 2**31 - 1)
    scalars = strategies.one_of(texts, integers, strategies.booleans())
    known = {
        "string": texts,
        "integer": integers,
        "number": numbers,
        "boolean": strategies.booleans(),
        "object": strategies.dictionaries(texts.filter(bool), scalars, max_size=4),
        "array": strategies.lists(scalars, max_size=4),
    }
    if isinstance(of_type, str) and of_type.startswith("array<") and of_type.endswith(">"):
        return strategies.lists(_of_type(strategies, key, of_type[6:-1]), max_size=4)
    strategy = known.get(of_type) if isinstance(of_type, str) else None
    if strategy is None:
        wanted = ", ".join((*known, "array<TYPE>"))
        raise InvalidInputError(f"the type of {key} takes one of {wanted}, or a strategy, not {of_type!r}")
    return strategy
