"""Shared by the measurements of the Python binding: a provider that does nothing, and the printing of figures."""

from __future__ import annotations

import sys

import stackwright as sw


class Things(sw.Provider):
    """Gives inputs back as outputs, at once. Check and Diff are the engine's own."""

    def create(self, request: sw.CreateRequest) -> sw.CreateResult:
        return sw.CreateResult(request.name, request.inputs)

    def delete(self, request: sw.DeleteRequest) -> None:
        pass


class Selection:
    """The selected figures: those whose names begin with a prefix."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def selects(self, name: str) -> bool:
        return name.startswith(self._prefix)

    def overlaps(self, prefix: str) -> bool:
        """Returns whether a figure whose name begins with ``prefix`` can be selected."""
        return prefix.startswith(self._prefix) or self._prefix.startswith(prefix)

    def print(self, name: str, value: float, unit: str) -> None:
        if self.selects(name):
            print(f"figure {name} {value:.0f} {unit}" if value >= 100 else f"figure {name} {value:.3f} {unit}", flush=True)


def selection() -> Selection:
    return Selection(sys.argv[1] if len(sys.argv) > 1 else "")
