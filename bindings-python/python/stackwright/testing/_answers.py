"""What a test answers in the place of providers: functions, methods and outputs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Union

from .._checks import require, require_function
from .._record import record
from .._stackwright import InvokeRequest, MethodRequest, UpdateRequest, matches_type
from ..errors import InvalidInputError
from ..values import PropertyValue

__all__ = ["Answer", "Answers", "Outputs", "Subject", "read_answers"]

__tracebackhide__ = True


@record(frozen=True)
class Subject:
    """The resource whose outputs a function of a test computes."""

    type: str
    """The type."""
    name: str
    """The name."""
    id: str
    """The id that it has; empty in previews of its creation."""
    inputs: Mapping[str, PropertyValue]
    """The inputs by name."""
    outputs: Mapping[str, PropertyValue]
    """The outputs so far: the inputs, and those of the schema."""


Values = Mapping[str, PropertyValue]
Answer = Union[Values, Callable[[dict[str, PropertyValue]], Values]]
"""The result of a function or method, or what computes it from the arguments."""
Outputs = Union[Values, Callable[[Subject], Values]]
"""Outputs of resources, or what computes them."""


def _chosen(answers: Mapping[str, Callable[[Any], Any]], token: str) -> Callable[[Any], Any]:
    exact = answers.get(token)
    if exact is not None:
        return exact
    return next(answer for pattern, answer in answers.items() if matches_type(pattern, token))


async def _called(function: Callable[[Any], Any], given: Any, what: str) -> dict[str, PropertyValue]:
    result = function(given)
    if inspect.isawaitable(result):
        result = await result
    if not isinstance(result, Mapping):
        raise InvalidInputError(f"{what} returned {result!r}, which is no dictionary of values")
    return dict(result)


class Answers:
    """Answers the calls that simulated providers pass on to the test."""

    def __init__(self, functions: Mapping[str, Callable[[Any], Any]], outputs: Mapping[str, Callable[[Any], Any]]) -> None:
        self._functions = functions
        self._outputs = outputs

    async def invoke(self, request: InvokeRequest) -> dict[str, PropertyValue]:
        return await _called(_chosen(self._functions, request.token), request.arguments, f"the answer to {request.token}")

    async def call(self, _ctx: object, request: MethodRequest) -> dict[str, PropertyValue]:
        return await _called(_chosen(self._functions, request.token), request.arguments, f"the answer to {request.token}")

    async def update(self, request: UpdateRequest) -> dict[str, PropertyValue]:
        subject = Subject(request.type, request.name, request.id, request.inputs, request.old_outputs)
        return await _called(_chosen(self._outputs, request.type), subject, f"the outputs of {request.type}")


def read_answers(
    functions: Mapping[str, Answer] | None, outputs: Mapping[str, Outputs] | None
) -> tuple[Answers, list[str], list[str], dict[str, dict[str, PropertyValue]]]:
    """Returns what answers, the patterns of functions and of types that it answers, and the outputs that are data."""
    require("functions", functions, Mapping, "a dictionary of answers by the tokens of functions")
    require("outputs", outputs, Mapping, "a dictionary of outputs by types")
    answers: dict[str, Callable[[Any], Any]] = {}
    for token, answer in (functions or {}).items():
        answers[token] = _constant(answer) if isinstance(answer, Mapping) else answer
        require_function(f"the answer to {token}", answers[token], wanted="a dictionary of values, or a function of the arguments")
    computed: dict[str, Callable[[Any], Any]] = {}
    data: dict[str, dict[str, PropertyValue]] = {}
    for pattern, values in (outputs or {}).items():
        if isinstance(values, Mapping):
            data[pattern] = dict(values)
        else:
            require_function(f"outputs of {pattern}", values, wanted="a dictionary of values, or a function of the resource")
            computed[pattern] = values
    return Answers(answers, computed), list(answers), list(computed), data


def _constant(values: Values) -> Callable[[Any], Values]:
    return lambda _arguments: values
