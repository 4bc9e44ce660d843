"""The Pulumi Automation API over this engine: the same names as ``pulumi.automation``, and no command that is started.

::

    from stackwright import automation as auto

    stack = auto.create_or_select_stack("dev", project_name="shop", program=shop)
    stack.set_config("aws:region", auto.ConfigValue("eu-west-1"))
    print(stack.up(on_output=print).outputs)

Every class, type and error is that of ``pulumi.automation``, apart from :class:`LocalWorkspace` and :class:`Stack`, which are
subclasses with a command of this engine (:class:`Command`). Needs the package ``pulumi``: ``pip install stackwright[automation]``.
"""

from __future__ import annotations

try:
    import pulumi.automation as _upstream
except ImportError as error:
    raise ImportError("stackwright.automation needs the package pulumi: install stackwright[automation]") from error

from pulumi.automation import *  # noqa: F403

from . import errors, events
from ._command import Command
from ._command import Command as PulumiCommand  # type: ignore[assignment]  # a subclass in place of its base
from ._remote import create_or_select_remote_stack_git_source, create_remote_stack_git_source, select_remote_stack_git_source
from ._stack import Stack, create_or_select_stack, create_stack, select_stack
from ._workspace import LocalWorkspace

__all__ = [*_upstream.__all__, "Command"]  # noqa: PLE0604
