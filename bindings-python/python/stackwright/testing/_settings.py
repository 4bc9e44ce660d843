"""The settings of simulations as keywords, and the refusal of those that do not exist."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypedDict, TypeVar, Union

from .._checks import refusal, require, require_given
from .._runner import LanguageRuntime, PulumiProgram, check
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
    "by_names",
    "listed",
    "named_options",
    "one_of",
    "refuse_unknown",
    "refuse_unrepeatable",
    "require_config",
    "require_program",
    "split",
    "texts",
]

__tracebackhide__ = True

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


def listed(option: str, value: object, wanted: str) -> list[Any]:
    """Returns the items of a list; ``None`` is no value. A text or a dictionary is none: each letter, or key, would be an item.

    :raises InvalidInputError: that names the option.
    """
    if value is None:
        return []
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise refusal(option, wanted, value)
    return list(value)


def texts(option: str, value: object, wanted: str) -> list[str]:
    """Returns the items of a list of texts, as :func:`listed` does."""
    items = listed(option, value, wanted)
    for item in items:
        require_given(option, item, str, wanted)
    return items


def by_names(option: str, value: object, wanted: str) -> dict[str, Any]:
    """Returns the members of a dictionary whose keys are texts; ``None`` is no value."""
    require(option, value, Mapping, wanted)
    members: dict[str, Any] = dict(value or {})  # type: ignore[call-overload]
    for name in members:
        require_given(f"a key of {option}", name, str, "a text")
    return members


def require_config(config: object) -> None:
    """Refuses what is no configuration; ``None`` is no value."""
    require("config", config, Mapping, "a dictionary of values by keys")


def require_program(option: str, program: object, others: str = "") -> None:
    """Refuses what is no program.

    :param others: What the option takes as well, for the text of the error.
    """
    if not (callable(program) or isinstance(program, (PulumiProgram, LanguageRuntime))):
        raise refusal(option, f"a program (a function, or what pulumi_program() returns){others}", program)
    check(program)


_Function = TypeVar("_Function", bound=Callable[..., Any])


def named_options(function: _Function) -> _Function:
    """Makes a function refuse keywords that it does not have as all calls with options do. Its frame is one of this package, so that
    pytest does not show it."""
    parameters = inspect.signature(function).parameters.values()
    names = sorted(each.name for each in parameters if each.name != "self" and each.kind is not each.VAR_POSITIONAL)

    @functools.wraps(function)
    def checked(*arguments: Any, **options: Any) -> Any:
        for name in options:
            if name not in names:
                refuse_name("option", name, f"{function.__name__}()", names)
        return function(*arguments, **options)

    return checked  # type: ignore[return-value]
