"""Options of operations: the embedding contract's names in Python's style."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final, TypedDict

__all__ = ["OperationOptions"]


class OperationOptions(TypedDict, total=False):
    """What can be said about one operation; what is left out has the reference engine's default."""

    dry_run: bool
    """Only say what would be done."""
    parallel: int
    """How many steps may work at a time."""
    refresh: bool
    """Read every resource first."""
    targets: Sequence[str]
    """URNs, or globs of ``*`` and ``**``: only these resources are changed."""
    target_dependents: bool
    excludes: Sequence[str]
    exclude_dependents: bool
    replace_targets: Sequence[str]
    """URNs of resources to be replaced whatever has changed."""
    continue_on_error: bool
    """A failed step stops only what depends on it."""
    ignore_protect: bool
    """Delete and replace protected resources too."""
    use_legacy_diff: bool
    use_legacy_refresh_diff: bool
    show_secrets: bool
    """Show secret values in events."""
    message: str
    """A note for the history."""


_NAMES: Final = frozenset(OperationOptions.__annotations__)


def encode(options: OperationOptions) -> bytes:
    """Returns the options as the engine reads them."""
    unknown = sorted(set(options) - _NAMES)
    if unknown:
        # The engine would name it in its own style; here it is named as the caller wrote it.
        raise TypeError(f"unknown option {unknown[0]!r}")
    named = {_camel(name): value for name, value in options.items() if value is not None}
    return json.dumps(named, default=list).encode()


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
