"""Refactorings: programs that are to change nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from .._annotations import Unpack
from .._results import SuggestedMove
from .._runner import Program
from .._stackwright import missing_aliases
from ._result import SimulatedResult
from ._settings import RunSettings, SimulationSettings, refuse_unknown, refuse_unrepeatable, require_program, split
from ._stack import simulate

__all__ = ["refactoring"]

__tracebackhide__ = True

_MAX_PREVIEWS: Final = 8
"""How many previews look for missing aliases at most."""


def refactoring(
    before: Program | Mapping[str, Any] | bytes | str,
    after: Program,
    *,
    allow_components: bool = False,
    **settings: Unpack[RunSettings],
) -> SimulatedResult:
    """Asserts that a program changes nothing in the state of another one, neither resources nor options of their records (``protect`` for
    instance) nor outputs of the stack, and returns the result of the preview. ::

        refactoring(program_of_last_week, program)
        refactoring(json.load(open("exported.json")), program, stack="shop/live")

    Otherwise, the text of the :class:`AssertionError` has the aliases that are missing, as source code in the language of the program,
    the changes that follow from these, those that no alias explains, and the options and outputs that change.

    :param before: The program as it was, or an exported state (a deployment document).
    :param after: The program as it is now.
    :param allow_components: Whether components may be created and deleted, for programs that put resources into a new component. These
        resources still need their aliases.
    :param settings: Those of :func:`simulate`, and options of operations, for both.
    :raises InvalidInputError: for what is neither a program nor, as ``before``, a state; nothing has run then.
    """
    refuse_unknown("refactoring", settings, ("before", "after", "allow_components", *SimulationSettings.__annotations__))
    refuse_unrepeatable("refactoring", settings)
    if not isinstance(before, (Mapping, bytes, str)):
        require_program("before", before, " or an exported state")
    require_program("after", after)
    own, options = split(settings)
    allow_unmatched = own.pop("allow_unmatched", False)
    if isinstance(before, (Mapping, bytes, str)):
        stack = simulate(state=before, run=False, allow_unmatched=True, **own)
    else:
        stack = simulate(before, allow_unmatched=True, **own, **options)
    with stack:
        # Where a resource is known to have moved, others are recognised: below it, and by inputs that come from it.
        moves: list[SuggestedMove] = []
        for _ in range(_MAX_PREVIEWS):
            preview = stack.preview(after, **{**options, "ignore_protect": True, "accept_moves": moves})
            found = [move for move in preview.suggested_moves if not move.accepted]
            if not found:
                break
            moves += found
        if not allow_unmatched:
            # Either program may be the one that reaches what a pattern names.
            stack._refuse_unmatched(options)
    text = missing_aliases(preview._native, allow_components)
    if text is not None:
        raise AssertionError(text)
    return preview
