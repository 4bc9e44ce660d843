"""The settings of simulations as keywords, and the refusal of those that do not exist."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypedDict, Union

from .._stackwright import refuse_name
from ..errors import InvalidInputError
from ..options import OperationOptions, Plugins, StackSettings
from ..values import PropertyValue
from ._answers import Answer, Outputs

__all__ = [
    "NOT_REPEATABLE",
    "OPTIONS",
    "RunSettings",
    "Schema",
    "SimulationSettings",
    "one_of",
    "refuse_unknown",
    "refuse_unrepeatable",
    "split",
]

Schema = Union[Mapping[str, Any], str, "os.PathLike[str]"]


class SimulationSettings(TypedDict, total=False):
    """The settings of a simulation; :func:`simulate` describes them."""

    stack: str | None
    config: Mapping[str, PropertyValue] | None
    functions: Mapping[str, Answer] | None
    outputs: Mapping[str, Outputs] | None
    schemas: Sequence[Schema]
    replace_on: Mapping[str, Sequence[str]] | None
    delete_before_replace: Sequence[str]
    existing: Mapping[str, Mapping[str, Mapping[str, PropertyValue]]] | None
    stacks: Mapping[str, Mapping[str, PropertyValue]] | None
    providers: Mapping[str, object] | None
    real: Sequence[str]
    record: str | os.PathLike[str] | None
    plugins: Plugins | None
    state: Mapping[str, Any] | bytes | str | None
    passphrase: str | None
    project: str | os.PathLike[str] | None
    settings: StackSettings | None
    allow_unmatched: bool


class RunSettings(SimulationSettings, OperationOptions, total=False):
    """The settings of a simulation, and the options of its operations."""


OPTIONS: Final = frozenset(OperationOptions.__annotations__)
"""The names of the options of operations."""

NOT_REPEATABLE: Final = ("dry_run", "run_id")
"""Options that an operation which is repeated cannot have: a dry run changes nothing, and an id belongs to one run."""


def refuse_unknown(function: str, given: Iterable[str], own: Iterable[str]) -> None:
    """Refuses a keyword that is neither a parameter of a function nor an option of operations.

    :raises InvalidInputError: that names the function, and the nearest name or all of them.
    """
    known = OPTIONS.union(own)
    for name in given:
        if name not in known:
            refuse_name("option", name, f"{function}()", sorted(known))


def refuse_unrepeatable(function: str, options: Iterable[str]) -> None:
    """Refuses the options that an operation which is repeated cannot have."""
    for name in NOT_REPEATABLE:
        if name in options:
            raise InvalidInputError(f"{function}() repeats operations, which cannot have the option {name}")


def split(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the settings of a simulation, and the options of its operations."""
    options = {name: value for name, value in settings.items() if name in OPTIONS}
    return {name: value for name, value in settings.items() if name not in OPTIONS}, options


def one_of(option: str, value: object, names: Sequence[str]) -> None:
    """Refuses a text that is none of the names of an option."""
    if value not in names:
        raise InvalidInputError(f"{option} takes one of {', '.join(map(repr, names))}, not {value!r}")
