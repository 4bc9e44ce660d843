"""The result of a simulated operation, with assertions."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from .._checks import read_file, require_given, write_file
from .._stackwright import plan_text, resources_after, text_difference, unmet
from ..errors import InvalidInputError
from ..result import Result
from ._resources import Resources, resource_of
from ._settings import named_options

__all__ = ["SimulatedResult", "update_snapshots"]

__tracebackhide__ = True

UPDATE_VARIABLE: Final = "STACKWRIGHT_UPDATE_SNAPSHOTS"
"""The variable of the environment that makes :meth:`SimulatedResult.assert_matches_snapshot` write."""


class _Switches:
    """What the plugin of pytest sets."""

    update = False


def update_snapshots(update: bool) -> None:
    """Makes :meth:`SimulatedResult.assert_matches_snapshot` write its files."""
    _Switches.update = update


class SimulatedResult(Result):
    """A result with its resources as data, and assertions that say what happened instead.

    Resources in assertions are patterns: names, types (with a ``:``), ``type::name`` or URNs, in which ``*`` is any text. A step that failed
    does not count as what it was to do.
    """

    @classmethod
    def of(cls, result: Result) -> SimulatedResult:
        """Returns the same result with assertions."""
        own = cls(result._native, result.is_preview, result.stack)
        object.__setattr__(own, "error", result.error)
        return own

    @cached_property
    def resources(self) -> Resources:
        """The resources after the operation, without the stack itself and default providers; of a preview, those that there would
        be."""
        members: list[dict[str, Any]] = resources_after(self._native)
        return Resources(resource_of(each) for each in members if not _is_own(each["type"], each["name"]))

    def _assert(self, expected: str, resources: Sequence[str], only: bool = False) -> None:
        for resource in resources:
            require_given("a resource of an assertion", resource, str, "a name, a type, type::name or a URN")
        if not resources and expected != "no_changes":
            raise InvalidInputError("the assertion takes at least one resource: a name, a type, type::name or a URN")
        require_given("only", only, bool, "True or False")
        document = json.dumps({"expected": expected, "resources": list(resources), "only": only})
        text = unmet(self._native, document.encode())
        if text is not None:
            raise AssertionError(text)

    def assert_no_changes(self) -> None:
        """Asserts that the operation has succeeded, and that neither a resource nor an output of the stack has changed, or would. Options of
        records alone, such as ``protect``, count as no change: :func:`refactoring` compares them."""
        self._assert("no_changes", ())

    @named_options
    def assert_creates(self, *resources: str, only: bool = False) -> None:
        """Asserts that each pattern names a resource that is created; with ``only``, nothing else changes."""
        self._assert("created", resources, only)

    @named_options
    def assert_updates(self, *resources: str, only: bool = False) -> None:
        """Asserts that each pattern names a resource that is updated in place; with ``only``, nothing else changes."""
        self._assert("updated", resources, only)

    @named_options
    def assert_replaces(self, *resources: str, only: bool = False) -> None:
        """Asserts that each pattern names a resource that is replaced; with ``only``, nothing else changes."""
        self._assert("replaced", resources, only)

    @named_options
    def assert_deletes(self, *resources: str, only: bool = False) -> None:
        """Asserts that each pattern names a resource that is deleted; with ``only``, nothing else changes."""
        self._assert("deleted", resources, only)

    def assert_unchanged(self, *resources: str) -> None:
        """Asserts that each pattern names resources that exist and all stay as they are. A preview that failed does not show that."""
        self._assert("unchanged", resources)

    def assert_protected(self, *resources: str) -> None:
        """Asserts that each pattern names resources that are all protected."""
        self._assert("protected", resources)

    def plan_text(self) -> str:
        """Returns the steps with their properties, and the outputs, as text that is the same for equal runs. Secrets are masked.
        The text of a failed operation begins with the first line of its error."""
        return plan_text(self._native)

    @named_options
    def assert_matches_snapshot(self, file: str | os.PathLike[str], *, update: bool | None = None) -> None:
        """Asserts that :meth:`plan_text` is what a file has.

        :param file: A relative path begins at the working directory.
        :param update: Whether the file is written instead. Left out, it is with the option ``--update-plans`` of pytest, or where the
            variable ``STACKWRIGHT_UPDATE_SNAPSHOTS`` of the environment is ``1``.
        """
        path, actual = Path(file), self.plan_text()
        if update is None:
            update = _Switches.update or os.environ.get(UPDATE_VARIABLE) == "1"
        if update:
            write_file("file", path, actual.encode())
            return
        way_out = f"run the test with {UPDATE_VARIABLE}=1 (pytest: --update-plans) to write it"
        if not path.exists():
            raise AssertionError(f"the snapshot {path} does not exist; {way_out}\n{actual}")
        difference = text_difference(read_file("file", path).decode(), actual)
        if difference is not None:
            raise AssertionError(f"the plan is not that of the snapshot {path}; {way_out}\n{difference}")


def _is_own(type: str, name: str) -> bool:
    """Returns whether a resource is the stack itself or a default provider."""
    return type == "pulumi:pulumi:Stack" or (type.startswith("pulumi:providers:") and name.startswith("default"))
