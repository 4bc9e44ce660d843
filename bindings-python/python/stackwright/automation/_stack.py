"""Stacks of workspaces of this engine, and the functions that open them."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from typing import Any

from pulumi import automation as upstream
from pulumi.automation._stack import OnEvent, StackInitMode

from ._inline import RunsInline, listening, with_program
from ._workspace import LocalWorkspace

__all__ = ["Stack", "create_or_select_stack", "create_stack", "select_stack"]

_PROJECT_FILES = ("Pulumi.yaml", "Pulumi.yml", "Pulumi.json")


class Stack(upstream.Stack):
    """:class:`pulumi.automation.Stack`, whose inline programs run without a language server."""

    up = with_program(upstream.Stack.up)
    preview = with_program(upstream.Stack.preview)
    refresh = with_program(upstream.Stack.refresh)
    preview_refresh = with_program(upstream.Stack.preview_refresh)
    destroy = with_program(upstream.Stack.destroy)
    preview_destroy = with_program(upstream.Stack.preview_destroy)

    def _setup_event_log(self, command: str, on_event: OnEvent, pulumi_version: str) -> tuple[str, Any, Any, Any, Any]:
        if not isinstance(self.workspace.pulumi_command, RunsInline):
            return super()._setup_event_log(command, on_event, pulumi_version)
        return listening(on_event)

    @classmethod
    def create(cls, stack_name: str, workspace: upstream.Workspace) -> Stack:
        """Creates a stack, which must not exist."""
        return cls(stack_name, workspace, StackInitMode.CREATE)

    @classmethod
    def select(cls, stack_name: str, workspace: upstream.Workspace) -> Stack:
        """Selects a stack, which must exist."""
        return cls(stack_name, workspace, StackInitMode.SELECT)

    @classmethod
    def create_or_select(cls, stack_name: str, workspace: upstream.Workspace) -> Stack:
        """Selects a stack, and creates it when it does not exist. Of several callers at a time, each gets the stack."""
        try:
            return cls(stack_name, workspace, StackInitMode.CREATE_OR_SELECT)
        except upstream.StackAlreadyExistsError:
            # Another caller has created it since it was looked for.
            return cls(stack_name, workspace, StackInitMode.SELECT)


def create_stack(
    stack_name: str,
    project_name: str | None = None,
    program: upstream.PulumiFn | None = None,
    work_dir: str | None = None,
    opts: upstream.LocalWorkspaceOptions | None = None,
) -> Stack:
    """Creates a stack; see :func:`pulumi.automation.create_stack`. ``opts`` stays as it is."""
    return _open(Stack.create, stack_name, project_name, program, work_dir, opts)


def select_stack(
    stack_name: str,
    project_name: str | None = None,
    program: upstream.PulumiFn | None = None,
    work_dir: str | None = None,
    opts: upstream.LocalWorkspaceOptions | None = None,
) -> Stack:
    """Selects a stack; see :func:`pulumi.automation.select_stack`. ``opts`` stays as it is."""
    return _open(Stack.select, stack_name, project_name, program, work_dir, opts)


def create_or_select_stack(
    stack_name: str,
    project_name: str | None = None,
    program: upstream.PulumiFn | None = None,
    work_dir: str | None = None,
    opts: upstream.LocalWorkspaceOptions | None = None,
) -> Stack:
    """Creates or selects a stack; see :func:`pulumi.automation.create_or_select_stack`. ``opts`` stays as it is."""
    return _open(Stack.create_or_select, stack_name, project_name, program, work_dir, opts)


def _open(
    initialize: Callable[[str, upstream.Workspace], Stack],
    stack_name: str,
    project_name: str | None,
    program: upstream.PulumiFn | None,
    work_dir: str | None,
    opts: upstream.LocalWorkspaceOptions | None,
) -> Stack:
    options = upstream.LocalWorkspaceOptions() if opts is None else copy.copy(opts)
    if program is not None and project_name is not None:
        options.program = program
        options.project_settings = _inline_project(project_name, options)
    elif work_dir is not None:
        options.work_dir = work_dir
    else:
        raise ValueError("a stack takes project_name and program, or work_dir")
    return initialize(stack_name, LocalWorkspace(**vars(options)))


def _inline_project(
    project_name: str, options: upstream.LocalWorkspaceOptions
) -> upstream.ProjectSettings | None:
    """Returns the project of an inline program; ``None`` leaves the file of the folder."""
    if options.project_settings is not None:
        settings = copy.copy(options.project_settings)
        if settings.main is None:
            settings.main = os.getcwd()
        return settings
    folder = options.work_dir
    if folder and any(os.path.exists(os.path.join(folder, name)) for name in _PROJECT_FILES):
        return None
    return upstream.ProjectSettings(name=project_name, runtime="python", main=os.getcwd())
