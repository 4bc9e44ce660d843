"""Remote workspaces, which this engine does not have: they run on a service."""

from __future__ import annotations

from typing import Any, NoReturn

from ..errors import InvalidInputError

__all__ = [
    "create_or_select_remote_stack_git_source",
    "create_remote_stack_git_source",
    "select_remote_stack_git_source",
]


def _refuse(function: str) -> NoReturn:
    raise InvalidInputError(
        f"{function}() is not supported: remote workspaces run on the Pulumi service, and this engine runs in this process"
    )


def create_remote_stack_git_source(*arguments: Any, **options: Any) -> NoReturn:
    """Refuses remote workspaces."""
    _refuse("create_remote_stack_git_source")


def select_remote_stack_git_source(*arguments: Any, **options: Any) -> NoReturn:
    """Refuses remote workspaces."""
    _refuse("select_remote_stack_git_source")


def create_or_select_remote_stack_git_source(*arguments: Any, **options: Any) -> NoReturn:
    """Refuses remote workspaces."""
    _refuse("create_or_select_remote_stack_git_source")
