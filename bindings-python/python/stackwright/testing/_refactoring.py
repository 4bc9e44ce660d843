"""Refactorings: programs that are to change nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._runner import Program
from .._stackwright import missing_aliases
from ._result import SimulatedResult
from ._stack import simulate

__all__ = ["refactoring"]


def refactoring(before: Program | Mapping[str, Any] | bytes | str, after: Program, **settings: Any) -> SimulatedResult:
    """Asserts that a program changes nothing in the state of another one, and returns the result of the preview. ::

        refactoring(program_of_last_week, program)
        refactoring(json.load(open("exported.json")), program, stack="shop/live")

    Otherwise, the text of the :class:`AssertionError` has the aliases that are missing, as source code in the language of the program,
    and the changes that no alias explains.

    :param before: The program as it was, or an exported state (a deployment document).
    :param after: The program as it is now.
    :param settings: Those of :func:`simulate`, for both.
    """
    if callable(before):
        stack = simulate(before, **settings)
    else:
        stack = simulate(state=before, run=False, **settings)  # type: ignore[arg-type]
    with stack:
        preview = stack.preview(after, ignore_protect=True)
    text = missing_aliases(preview._native)
    if text is not None:
        raise AssertionError(text)
    return preview
