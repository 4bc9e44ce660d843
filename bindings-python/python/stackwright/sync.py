"""The same API without ``async``: each method runs its ``async`` twin on one background event loop and waits for it.

The interpreter's lock is free while it waits. ``KeyboardInterrupt`` during an operation cancels it: once gracefully, the
second time at once. Programs may be ordinary functions; ``async`` ones run on the background loop.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Final, TextIO, TypeVar, overload

from . import _display
from . import fleet as _fleet
from . import operation as _operation
from . import stack as _stack
from ._annotations import Unpack
from ._checks import named_options, require_given
from ._records import HistoryEntry
from ._results import ConfigEntry, EditReport, InstalledPlugin, Metrics, MoveReport, PendingOperation, PluginProgress, PolicyAnalysis, ProjectFacts, ResourceRecord, StackFile, StackSummary
from ._runner import Program
from .credentials import Credentials
from .engine import Engine as _Engine
from .engine import PluginKind
from .errors import InvalidInputError
from .events import Event
from .fleet import FleetEvent, FleetResult, StackRun
from .fleet._executor import ExecutorOperation as _ExecutorOperation
from .fleet._executor import ExecutorOptions, FleetExecutor
from .fleet._report import FleetReport
from .fleet._spec import StackSpec
from .host import Autonamer, Fetch, KeyService, Secrets, StackReader
from .installer import Installer
from .options import ImportResource, OperationOptions, Plugins, StackSettings, Telemetry
from .project import Project as _Project
from .provider import Resolver
from .picture import Picture, StackGraph
from .result import Result
from .store import Store
from .values import OutputValue, PropertyValue

__all__ = [
    "Engine",
    "ExecutorOperation",
    "FleetOperation",
    "Operation",
    "Project",
    "Stack",
    "destroy_all",
    "display",
    "preview_all",
    "refresh_all",
    "start_destroy_all",
    "start_preview_all",
    "start_refresh_all",
    "start_up_all",
    "up_all",
]

T = TypeVar("T")


class _Background:
    """One event loop on one thread, shared by all that is not ``async``; made again after a fork."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._process = 0

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or self._process != os.getpid():
                self._loop = asyncio.new_event_loop()
                self._process = os.getpid()
                threading.Thread(target=self._loop.run_forever, name="stackwright", daemon=True).start()
            return self._loop

    def submit(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        loop = self.loop()
        try:
            running = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if running is loop:
            work.close()
            raise RuntimeError("the sync API was called from its own event loop, where waiting would never end")
        return asyncio.run_coroutine_threadsafe(work, loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.submit(work).result()


_background: Final = _Background()


class Operation:
    """A running operation."""

    def __init__(self, operation: _operation.Operation) -> None:
        self._operation = operation
        # Waiting begins at once, so that every waiter, interrupted or not, waits for the same end.
        self._ended = _background.submit(operation.wait())

    def cancel(self) -> None:
        """Requests the end: what runs finishes and is recorded. A second time, running provider calls are abandoned."""
        self._operation.cancel()

    @property
    def done(self) -> bool:
        """Whether it is over."""
        return self._ended.done()

    def wait(self) -> Result:
        """Waits for the end and returns the result, also that of a failed operation."""
        return _uninterrupted(self._ended, self._operation.cancel)

    def result(self) -> Result:
        """Waits for the end and returns the result; raises the error of a failed operation."""
        result = self.wait()
        if result.error is not None:
            return _background.run(self._operation._succeed())
        return result

    def release(self) -> None:
        """Ends the session of an operation with the option ``hold_session``, and waits until nothing of it is left."""
        _background.run(self._operation.release())

    def events(self) -> Iterator[Event]:
        """Yields the events: all of them for the first caller, those that are still to come for others."""
        events = self._operation.events()

        async def following() -> Event | None:
            return await anext(events, None)

        while (event := _background.run(following())) is not None:
            yield event

    def __iter__(self) -> Iterator[Event]:
        return self.events()

    def __repr__(self) -> str:
        return f"<Operation {'done' if self.done else 'running'}>"


class FleetOperation:
    """A running operation on a set of stacks."""

    def __init__(self, operation: _fleet.FleetOperation) -> None:
        self._operation = operation
        self._ended = _background.submit(operation.wait())

    @property
    def operations(self) -> Mapping[str, Operation]:
        """The operation of each stack by its name, in the order of the call."""
        return {name: Operation(own) for name, own in self._operation.operations.items()}

    def cancel(self) -> None:
        """Requests the end: no further stack begins, and what runs finishes and is recorded. A second time, running provider calls
        are abandoned."""
        self._operation.cancel()

    @property
    def done(self) -> bool:
        """Whether every stack has ended."""
        return self._ended.done()

    def wait(self) -> FleetResult:
        """Waits for the end and returns the result, also that of a failed operation."""
        return _uninterrupted(self._ended, self._operation.cancel)

    def result(self) -> FleetResult:
        """Waits for the end and returns the result; raises the error of a failed operation."""
        result = self.wait()
        if result.error is not None:
            return _background.run(self._operation._succeed())
        return result

    def events(self) -> Iterator[FleetEvent]:
        """Yields the events of all stacks: all of them for the first caller, those that are still to come for others."""
        events = self._operation.events()

        async def following() -> FleetEvent | None:
            return await anext(events, None)

        while (event := _background.run(following())) is not None:
            yield event

    def __iter__(self) -> Iterator[FleetEvent]:
        return self.events()

    def __repr__(self) -> str:
        return repr(self._operation)


class ExecutorOperation:
    """A running operation on a set of stacks, on an executor."""

    def __init__(self, operation: _ExecutorOperation) -> None:
        self._operation = operation
        self._ended = _background.submit(operation.wait())

    def cancel(self) -> None:
        """Requests the end: no further stack begins, and what runs finishes and is recorded. A second time, running provider calls are
        abandoned, and what has not ended is no longer awaited."""
        _background.loop().call_soon_threadsafe(self._operation.cancel)

    @property
    def done(self) -> bool:
        """Whether every stack has ended."""
        return self._ended.done()

    def wait(self) -> FleetReport:
        """Waits for the end and returns the report, also that of a failed operation."""
        return _uninterrupted(self._ended, self.cancel)

    def result(self) -> FleetReport:
        """Waits for the end and returns the report; raises the error of a failed operation."""
        report = self.wait()
        if report.error is not None:
            return _background.run(self._operation._succeed())
        return report

    def __repr__(self) -> str:
        return repr(self._operation)


def _uninterrupted(ended: concurrent.futures.Future[T], cancel: Callable[[], None]) -> T:
    """Waits for the end of an operation. An interrupt cancels it, and is raised at its end."""
    interrupt: KeyboardInterrupt | None = None
    while True:
        try:
            result = ended.result()
            break
        except KeyboardInterrupt as error:
            cancel()
            interrupt = error
    if interrupt is not None:
        raise interrupt
    return result


def start_up_all(
    executor: FleetExecutor, specs: Sequence[StackSpec], **options: Unpack[ExecutorOptions]
) -> ExecutorOperation:
    """Starts an update of a set of stacks on an executor; see :func:`stackwright.fleet.up_all`."""
    return _start_on(_fleet.up_all, executor, specs, options)


def start_preview_all(
    executor: FleetExecutor, specs: Sequence[StackSpec], **options: Unpack[ExecutorOptions]
) -> ExecutorOperation:
    """Starts a preview of a set of stacks on an executor; see :func:`stackwright.fleet.preview_all`."""
    return _start_on(_fleet.preview_all, executor, specs, options)


def start_refresh_all(
    executor: FleetExecutor, specs: Sequence[StackSpec], **options: Unpack[ExecutorOptions]
) -> ExecutorOperation:
    """Starts a refresh of a set of stacks on an executor; see :func:`stackwright.fleet.refresh_all`."""
    return _start_on(_fleet.refresh_all, executor, specs, options)


def start_destroy_all(
    executor: FleetExecutor, specs: Sequence[StackSpec], **options: Unpack[ExecutorOptions]
) -> ExecutorOperation:
    """Starts a destroy of a set of stacks on an executor; see :func:`stackwright.fleet.destroy_all`."""
    return _start_on(_fleet.destroy_all, executor, specs, options)


def up_all(executor: FleetExecutor, specs: Sequence[StackSpec], **options: Unpack[ExecutorOptions]) -> FleetReport:
    """Updates a set of stacks on an executor; see :func:`stackwright.fleet.up_all`."""
    return start_up_all(executor, specs, **options).result()


def preview_all(executor: FleetExecutor, specs: Sequence[StackSpec], **options: Unpack[ExecutorOptions]) -> FleetReport:
    """Previews the update of a set of stacks on an executor; see :func:`stackwright.fleet.preview_all`."""
    return start_preview_all(executor, specs, **options).result()


def refresh_all(executor: FleetExecutor, specs: Sequence[StackSpec], **options: Unpack[ExecutorOptions]) -> FleetReport:
    """Reads every resource of a set of stacks on an executor; see :func:`stackwright.fleet.refresh_all`."""
    return start_refresh_all(executor, specs, **options).result()


def destroy_all(executor: FleetExecutor, specs: Sequence[StackSpec], **options: Unpack[ExecutorOptions]) -> FleetReport:
    """Deletes every resource of a set of stacks on an executor; see :func:`stackwright.fleet.destroy_all`."""
    return start_destroy_all(executor, specs, **options).result()


def _start_on(
    start: Callable[..., _ExecutorOperation],
    executor: FleetExecutor,
    specs: Sequence[StackSpec],
    options: ExecutorOptions,
) -> ExecutorOperation:
    async def begin() -> _ExecutorOperation:
        return start(executor, specs, **options)

    return ExecutorOperation(_background.run(begin()))


@overload
def display(operation: Operation, *, file: TextIO | None = None) -> Result: ...


@overload
def display(operation: FleetOperation, *, file: TextIO | None = None) -> FleetResult: ...


def display(operation: Operation | FleetOperation, *, file: TextIO | None = None) -> Result | FleetResult:
    """Shows a running operation until its end, as :func:`stackwright.display` does, and returns its result.

    :param file: Where it is shown; the standard output when left out.
    :raises StackwrightError: The operation failed.
    """
    require_given("operation", operation, (Operation, FleetOperation), "what a method such as up() returns")
    view = _display.view_on(operation._operation, file)
    following: concurrent.futures.Future[str | None] | None = None
    while True:
        try:
            following = following or _background.submit(view.next())
            piece = following.result()
        except KeyboardInterrupt:
            operation.cancel()
            continue
        following = None
        if piece is None:
            return operation.result()
        view.show(piece)


class CallOptions(OperationOptions, total=False):
    """What one call of an operation takes by name."""

    program: Program
    """It takes the place of the stack's own, this once."""
    on_event: _stack.OnEvent
    """Receives every event, in order."""
    on_output: _stack.OnOutput
    """Receives each line of a plain display, without its newline: ``on_output=print``."""
    policies: _stack.Policies
    """What every resource is checked by."""


class Stack:
    """A stack, with the methods of :class:`stackwright.Stack`; operations return their results."""

    def __init__(self, stack: _stack.Stack) -> None:
        self._stack = stack

    @property
    def name(self) -> str:
        """The name, as ``project/stack``."""
        return self._stack.name

    @property
    def organization(self) -> str:
        """The organization, as programs see it."""
        return self._stack.organization

    @property
    def tags(self) -> Mapping[str, str]:
        """What the host notes about the stack, by name."""
        return self._stack.tags

    def _start(self, start: Callable[[], _operation.Operation]) -> Operation:
        async def begin() -> _operation.Operation:
            return start()

        return Operation(_background.run(begin()))

    def start_preview(self, **options: Unpack[CallOptions]) -> Operation:
        """Starts a preview and returns its handle."""
        return self._start(lambda: self._stack.preview(**options))

    def start_up(self, plan: _stack.Plan = _stack._NONE, /, **options: Unpack[CallOptions]) -> Operation:
        """Starts an update and returns its handle."""
        return self._start(lambda: self._stack.up(plan, **options))

    def start_refresh(self, **options: Unpack[CallOptions]) -> Operation:
        """Starts a refresh and returns its handle."""
        return self._start(lambda: self._stack.refresh(**options))

    def start_destroy(self, **options: Unpack[CallOptions]) -> Operation:
        """Starts a destroy and returns its handle."""
        return self._start(lambda: self._stack.destroy(**options))

    def start_import_resources(
        self,
        resources: Sequence[ImportResource] | Mapping[str, Any] | bytes | str,
        *,
        name_table: Mapping[str, str] | None = None,
        protect: bool = True,
        generate_code: bool = True,
        on_event: _stack.OnEvent | None = None,
        on_output: _stack.OnOutput | None = None,
        **options: Unpack[OperationOptions],
    ) -> Operation:
        """Starts an import and returns its handle."""
        return self._start(
            lambda: self._stack.import_resources(
                resources,
                name_table=name_table,
                protect=protect,
                generate_code=generate_code,
                on_event=on_event,
                on_output=on_output,
                **options,
            )
        )

    def preview(self, **options: Unpack[CallOptions]) -> Result:
        """Computes what an update would do."""
        return self.start_preview(**options).result()

    def up(self, plan: _stack.Plan = _stack._NONE, /, **options: Unpack[CallOptions]) -> Result:
        """Brings the stack to the state that its program describes."""
        return self.start_up(plan, **options).result()

    def refresh(self, **options: Unpack[CallOptions]) -> Result:
        """Reads every resource and records what is there."""
        return self.start_refresh(**options).result()

    def destroy(self, **options: Unpack[CallOptions]) -> Result:
        """Deletes every resource."""
        return self.start_destroy(**options).result()

    def import_resources(
        self,
        resources: Sequence[ImportResource] | Mapping[str, Any] | bytes | str,
        *,
        name_table: Mapping[str, str] | None = None,
        protect: bool = True,
        generate_code: bool = True,
        on_event: _stack.OnEvent | None = None,
        on_output: _stack.OnOutput | None = None,
        **options: Unpack[OperationOptions],
    ) -> Result:
        """Records existing resources, which the stack manages from then on."""
        return self.start_import_resources(
            resources,
            name_table=name_table,
            protect=protect,
            generate_code=generate_code,
            on_event=on_event,
            on_output=on_output,
            **options,
        ).result()

    def export_deployment(self, *, show_secrets: bool = False) -> dict[str, Any]:
        """Returns the state as a deployment document."""
        return _background.run(self._stack.export_deployment(show_secrets=show_secrets))

    @named_options
    def import_deployment(
        self, deployment: Mapping[str, Any] | bytes | str, *, force: bool = False, dry_run: bool = False, wait_for_lock: float | None = None
    ) -> EditReport:
        """Replaces the state by a deployment document. URNs that name another project are a warning in the report."""
        return _background.run(self._stack.import_deployment(deployment, force=force, dry_run=dry_run, wait_for_lock=wait_for_lock))

    @named_options
    def rename(
        self,
        urn: str,
        *,
        name: str | None = None,
        parent: str | None = None,
        type: str | None = None,
        no_parent: bool = False,
        dry_run: bool = False,
        wait_for_lock: float | None = None,
    ) -> EditReport:
        """Gives a resource another name, parent or type in the state; descendants and all references follow."""
        renaming = self._stack.rename(
            urn, name=name, parent=parent, type=type, no_parent=no_parent, dry_run=dry_run, wait_for_lock=wait_for_lock
        )
        return _background.run(renaming)

    @named_options
    def delete_resources(
        self,
        urns: Sequence[str] = (),
        *,
        all: bool = False,
        id: str | None = None,
        dependents: bool = False,
        force: bool = False,
        dry_run: bool = False,
        wait_for_lock: float | None = None,
    ) -> EditReport:
        """Removes the records of resources from the state. The resources themselves stay; no provider is called."""
        deleting = self._stack.delete_resources(
            urns, all=all, id=id, dependents=dependents, force=force, dry_run=dry_run, wait_for_lock=wait_for_lock
        )
        return _background.run(deleting)

    @named_options
    def protect(self, urns: Sequence[str] = (), *, all: bool = False, dry_run: bool = False, wait_for_lock: float | None = None) -> EditReport:
        """Protects resources from deletion, until the program registers them without protection."""
        return _background.run(self._stack.protect(urns, all=all, dry_run=dry_run, wait_for_lock=wait_for_lock))

    @named_options
    def unprotect(self, urns: Sequence[str] = (), *, all: bool = False, dry_run: bool = False, wait_for_lock: float | None = None) -> EditReport:
        """Removes the protection of resources."""
        return _background.run(self._stack.unprotect(urns, all=all, dry_run=dry_run, wait_for_lock=wait_for_lock))

    @named_options
    def taint(self, urns: Sequence[str] = (), *, all: bool = False, dry_run: bool = False, wait_for_lock: float | None = None) -> EditReport:
        """Marks resources for replacement by the next update."""
        return _background.run(self._stack.taint(urns, all=all, dry_run=dry_run, wait_for_lock=wait_for_lock))

    @named_options
    def untaint(self, urns: Sequence[str] = (), *, all: bool = False, dry_run: bool = False, wait_for_lock: float | None = None) -> EditReport:
        """Removes the marks of :meth:`taint`."""
        return _background.run(self._stack.untaint(urns, all=all, dry_run=dry_run, wait_for_lock=wait_for_lock))

    @named_options
    def move_resources(
        self,
        urns: Sequence[str],
        destination: Stack,
        *,
        include_parents: bool = False,
        dry_run: bool = False,
        wait_for_lock: float | None = None,
    ) -> MoveReport:
        """Moves resources, and all below them, to another stack of this or another engine."""
        if not isinstance(destination, Stack):
            raise InvalidInputError(f"destination takes a Stack of this interface, not {type(destination).__name__}")
        moving = self._stack.move_resources(
            urns, destination._stack, include_parents=include_parents, dry_run=dry_run, wait_for_lock=wait_for_lock
        )
        return _background.run(moving)

    @named_options
    def repair(self, *, dry_run: bool = False, wait_for_lock: float | None = None) -> EditReport:
        """Sorts the records, and removes references to records that do not exist. A valid state stays as it is."""
        return _background.run(self._stack.repair(dry_run=dry_run, wait_for_lock=wait_for_lock))

    @named_options
    def restore(
        self,
        *,
        version: int | None = None,
        time: datetime | str | None = None,
        passphrase: str | None = None,
        dry_run: bool = False,
        wait_for_lock: float | None = None,
    ) -> EditReport:
        """Replaces the state by one of the history: that of an operation's number, or of a time."""
        restoring = self._stack.restore(version=version, time=time, passphrase=passphrase, dry_run=dry_run, wait_for_lock=wait_for_lock)
        return _background.run(restoring)

    @named_options
    def rename_stack(self, name: str, *, dry_run: bool = False, wait_for_lock: float | None = None) -> EditReport:
        """Gives the stack another name, ``stack`` or ``project/stack``. This object keeps the former name."""
        return _background.run(self._stack.rename_stack(name, dry_run=dry_run, wait_for_lock=wait_for_lock))

    @named_options
    def change_secrets(
        self, *, passphrase: str | None = None, secrets: Secrets | KeyService | None = None, dry_run: bool = False, wait_for_lock: float | None = None
    ) -> EditReport:
        """Encrypts the secrets with another passphrase, a key service, or the host's own way. This object keeps the former key."""
        return _background.run(self._stack.change_secrets(passphrase=passphrase, secrets=secrets, dry_run=dry_run, wait_for_lock=wait_for_lock))

    @named_options
    def analyze(self, policies: _stack.Policies, *, callback_timeout: float | None = None) -> PolicyAnalysis:
        """Analyzes the recorded state with policies, without a program; ``callback_timeout`` limits one call of a policy."""
        return _background.run(self._stack.analyze(policies, callback_timeout=callback_timeout))

    def outputs(self, *, show_secrets: bool = False) -> Mapping[str, OutputValue[PropertyValue]]:
        """Returns the stack's outputs by name. ``show_secrets=True`` has the values of secret ones in text for display, too."""
        return _background.run(self._stack.outputs(show_secrets=show_secrets))

    def resources(self, *, show_secrets: bool = False) -> list[ResourceRecord]:
        """Returns the recorded resources, each after those that it refers to."""
        return _background.run(self._stack.resources(show_secrets=show_secrets))

    def referenced_stacks(self) -> list[str]:
        """Returns the names of the stacks that the recorded stack references name."""
        return _background.run(self._stack.referenced_stacks())

    def resource(self, urn: str, *, show_secrets: bool = False) -> ResourceRecord:
        """Returns the record of a URN."""
        return _background.run(self._stack.resource(urn, show_secrets=show_secrets))

    def graph(self) -> StackGraph:
        """Returns the recorded resources in the order of their dependencies, with the references between them."""
        return _background.run(self._stack.graph())

    def picture(self) -> Picture:
        """Returns the recorded resources, to be drawn."""
        return _background.run(self._stack.picture())

    def pending(self, *, show_secrets: bool = False) -> list[PendingOperation]:
        """Returns the pending operations: what an interrupted run has begun, and whose outcome is not known."""
        return _background.run(self._stack.pending(show_secrets=show_secrets))

    def start_adopt_pending(
        self,
        pending: PendingOperation | str,
        resource_id: str | None = None,
        *,
        replace: bool = False,
        on_event: _stack.OnEvent | None = None,
        on_output: _stack.OnOutput | None = None,
        **options: Unpack[OperationOptions],
    ) -> Operation:
        """Starts the adoption of a pending operation's resource and returns its handle."""
        return self._start(
            lambda: self._stack.adopt_pending(
                pending, resource_id, replace=replace, on_event=on_event, on_output=on_output, **options
            )
        )

    def adopt_pending(
        self,
        pending: PendingOperation | str,
        resource_id: str | None = None,
        *,
        replace: bool = False,
        on_event: _stack.OnEvent | None = None,
        on_output: _stack.OnOutput | None = None,
        **options: Unpack[OperationOptions],
    ) -> Result:
        """Records the resource of a pending operation: its provider reads it, and the operation is no longer pending."""
        return self.start_adopt_pending(
            pending, resource_id, replace=replace, on_event=on_event, on_output=on_output, **options
        ).result()

    def read_pending(
        self, pending: PendingOperation | str, resource_id: str | None = None, *, show_secrets: bool = False
    ) -> ResourceRecord | None:
        """Reads the resource of a pending operation without recording it; ``None`` when it does not exist."""
        return _background.run(self._stack.read_pending(pending, resource_id, show_secrets=show_secrets))

    def forget_pending(self, pending: PendingOperation | str, *, dry_run: bool = False, wait_for_lock: float | None = None) -> PendingOperation:
        """Removes a pending operation from the state, and returns it. With ``dry_run=True``, it stays."""
        return _background.run(self._stack.forget_pending(pending, dry_run=dry_run, wait_for_lock=wait_for_lock))

    def history(self, *, limit: int | None = None, page: int = 1) -> list[HistoryEntry]:
        """Returns the history's entries, newest first: those of a page with ``limit`` entries, counted from 1."""
        return _background.run(self._stack.history(limit=limit, page=page))

    def list_tags(self) -> dict[str, str]:
        """Returns the tags that are kept with the stack, by name."""
        return _background.run(self._stack.list_tags())

    def set_tag(self, name: str, value: str) -> None:
        """Sets a tag that is kept with the stack."""
        _background.run(self._stack.set_tag(name, value))

    def remove_tag(self, name: str) -> bool:
        """Removes a tag that is kept with the stack, and returns whether there was one."""
        return _background.run(self._stack.remove_tag(name))

    def unlock(self) -> int:
        """Removes every lock of the stack, regardless of its holder, and returns how many there were."""
        return _background.run(self._stack.unlock())

    def break_lock(self, owner: str) -> int:
        """Removes the locks of one owner (`user@host` or `user@host:process`), and returns how many there were."""
        return _background.run(self._stack.break_lock(owner))

    def remove(self, *, force: bool = False, wait_for_lock: float | None = None) -> None:
        """Removes the stack and its history."""
        _background.run(self._stack.remove(force=force, wait_for_lock=wait_for_lock))

    def __repr__(self) -> str:
        return f"<Stack {self.name}>"


class Project:
    """A project, with the methods of :class:`stackwright.Project`. It is a path: that of its folder."""

    def __init__(self, project: _Project) -> None:
        self._project = project

    @property
    def folder(self) -> str:
        """The folder, as an absolute path."""
        return self._project.folder

    def __fspath__(self) -> str:
        return self.folder

    def facts(self) -> ProjectFacts:
        """Reads the project file."""
        return _background.run(self._project.facts())

    def set(self, path: str, value: Any) -> None:
        """Sets the value at a path of the project file."""
        _background.run(self._project.set(path, value))

    def remove(self, path: str) -> bool:
        """Removes the value at a path of the project file, and returns whether there was one."""
        return _background.run(self._project.remove(path))

    def settings(self, stack: str) -> StackFile:
        """Reads the settings file of a stack, apart from its configuration."""
        return _background.run(self._project.settings(stack))

    def get_config(self, stack: str, path: str, *, passphrase: str | None = None) -> ConfigEntry:
        """Returns the value at a path of a stack's configuration, decrypted."""
        return _background.run(self._project.get_config(stack, path, passphrase=passphrase))

    def list_config(
        self, stack: str, *, show_secrets: bool = False, passphrase: str | None = None
    ) -> dict[str, ConfigEntry]:
        """Returns a stack's configuration by key, with the defaults of declared keys."""
        return _background.run(self._project.list_config(stack, show_secrets=show_secrets, passphrase=passphrase))

    def set_config(
        self,
        stack: str,
        path: str,
        value: PropertyValue,
        *,
        secret: bool | None = None,
        passphrase: str | None = None,
    ) -> None:
        """Sets the value at a path of a stack's configuration."""
        _background.run(self._project.set_config(stack, path, value, secret=secret, passphrase=passphrase))

    def set_all_config(
        self,
        stack: str,
        values: Mapping[str, PropertyValue],
        *,
        secret: bool | None = None,
        passphrase: str | None = None,
    ) -> None:
        """Sets values at paths of a stack's configuration, in one write."""
        _background.run(self._project.set_all_config(stack, values, secret=secret, passphrase=passphrase))

    def remove_config(self, stack: str, paths: str | Sequence[str]) -> int:
        """Removes the values at paths of a stack's configuration, and returns how many there were."""
        return _background.run(self._project.remove_config(stack, paths))

    def __repr__(self) -> str:
        return repr(self._project)


class Engine:
    """An engine, with the parameters and methods of :class:`stackwright.Engine`."""

    def __init__(
        self,
        *,
        store: str | Store,
        credentials: Credentials | None = None,
        passphrase: str | None = None,
        providers: Mapping[str, object] | None = None,
        plugins: Plugins | None = None,
        resolver: Resolver | None = None,
        installer: Installer | None = None,
        secrets: Secrets | KeyService | None = None,
        stack_reader: StackReader | None = None,
        fetch: Fetch | None = None,
        autonamer: Autonamer | None = None,
        telemetry: Telemetry | None = None,
        trusted_peers: Sequence[int] = (),
        allow_unfenced: bool = False,
        lease: float | None = None,
        encrypt_store: bool = False,
        nested_secrets: bool = True,
        max_calls_per_plugin: int = 0,
        base_directory: str | os.PathLike[str] | None = None,
        threads: int = 2,
        provider_threads: int = 64,
    ) -> None:
        self._engine = _Engine(
            store=store,
            credentials=credentials,
            passphrase=passphrase,
            providers=providers,
            plugins=plugins,
            resolver=resolver,
            installer=installer,
            secrets=secrets,
            stack_reader=stack_reader,
            fetch=fetch,
            autonamer=autonamer,
            telemetry=telemetry,
            trusted_peers=trusted_peers,
            allow_unfenced=allow_unfenced,
            lease=lease,
            encrypt_store=encrypt_store,
            nested_secrets=nested_secrets,
            max_calls_per_plugin=max_calls_per_plugin,
            base_directory=base_directory,
            threads=threads,
            provider_threads=provider_threads,
        )

    def stack(
        self,
        name: str,
        program: Program | None = None,
        *,
        create: bool | None = None,
        **settings: Unpack[StackSettings],
    ) -> Stack:
        """Opens a stack, named ``project/stack``."""
        return Stack(_background.run(self._engine.stack(name, program, create=create, **settings)))

    def create_stack(self, name: str, program: Program | None = None, **settings: Unpack[StackSettings]) -> Stack:
        """Creates a stack; raises :class:`~stackwright.ConflictError` when it exists."""
        return Stack(_background.run(self._engine.create_stack(name, program, **settings)))

    def select_stack(self, name: str, program: Program | None = None, **settings: Unpack[StackSettings]) -> Stack:
        """Selects a stack; raises :class:`~stackwright.NotFoundError` when it does not exist."""
        return Stack(_background.run(self._engine.select_stack(name, program, **settings)))

    def create_or_select_stack(
        self, name: str, program: Program | None = None, **settings: Unpack[StackSettings]
    ) -> Stack:
        """Selects a stack, and creates it when it does not exist."""
        return Stack(_background.run(self._engine.create_or_select_stack(name, program, **settings)))

    def start_up_all(
        self,
        runs: Sequence[StackRun | Stack],
        *,
        max_stacks: int | None = None,
        max_calls_per_plugin: int | None = None,
        on_event: Callable[[FleetEvent], object] | None = None,
        on_output: _stack.OnOutput | None = None,
    ) -> FleetOperation:
        """Starts an update of a set of stacks and returns its handle."""
        return self._start_all(self._engine.up_all, runs, max_stacks, max_calls_per_plugin, on_event, on_output)

    def start_preview_all(
        self,
        runs: Sequence[StackRun | Stack],
        *,
        max_stacks: int | None = None,
        max_calls_per_plugin: int | None = None,
        on_event: Callable[[FleetEvent], object] | None = None,
        on_output: _stack.OnOutput | None = None,
    ) -> FleetOperation:
        """Starts a preview of a set of stacks and returns its handle."""
        return self._start_all(self._engine.preview_all, runs, max_stacks, max_calls_per_plugin, on_event, on_output)

    def start_refresh_all(
        self,
        runs: Sequence[StackRun | Stack],
        *,
        max_stacks: int | None = None,
        max_calls_per_plugin: int | None = None,
        on_event: Callable[[FleetEvent], object] | None = None,
        on_output: _stack.OnOutput | None = None,
    ) -> FleetOperation:
        """Starts a refresh of a set of stacks and returns its handle."""
        return self._start_all(self._engine.refresh_all, runs, max_stacks, max_calls_per_plugin, on_event, on_output)

    def start_destroy_all(
        self,
        runs: Sequence[StackRun | Stack],
        *,
        max_stacks: int | None = None,
        max_calls_per_plugin: int | None = None,
        on_event: Callable[[FleetEvent], object] | None = None,
        on_output: _stack.OnOutput | None = None,
    ) -> FleetOperation:
        """Starts a destroy of a set of stacks and returns its handle."""
        return self._start_all(self._engine.destroy_all, runs, max_stacks, max_calls_per_plugin, on_event, on_output)

    def up_all(
        self,
        runs: Sequence[StackRun | Stack],
        *,
        max_stacks: int | None = None,
        max_calls_per_plugin: int | None = None,
        on_event: Callable[[FleetEvent], object] | None = None,
        on_output: _stack.OnOutput | None = None,
    ) -> FleetResult:
        """Updates a set of stacks as one operation."""
        return self.start_up_all(
            runs,
            max_stacks=max_stacks,
            max_calls_per_plugin=max_calls_per_plugin,
            on_event=on_event,
            on_output=on_output,
        ).result()

    def preview_all(
        self,
        runs: Sequence[StackRun | Stack],
        *,
        max_stacks: int | None = None,
        max_calls_per_plugin: int | None = None,
        on_event: Callable[[FleetEvent], object] | None = None,
        on_output: _stack.OnOutput | None = None,
    ) -> FleetResult:
        """Previews the update of a set of stacks."""
        return self.start_preview_all(
            runs,
            max_stacks=max_stacks,
            max_calls_per_plugin=max_calls_per_plugin,
            on_event=on_event,
            on_output=on_output,
        ).result()

    def refresh_all(
        self,
        runs: Sequence[StackRun | Stack],
        *,
        max_stacks: int | None = None,
        max_calls_per_plugin: int | None = None,
        on_event: Callable[[FleetEvent], object] | None = None,
        on_output: _stack.OnOutput | None = None,
    ) -> FleetResult:
        """Reads every resource of a set of stacks and records what is there."""
        return self.start_refresh_all(
            runs,
            max_stacks=max_stacks,
            max_calls_per_plugin=max_calls_per_plugin,
            on_event=on_event,
            on_output=on_output,
        ).result()

    def destroy_all(
        self,
        runs: Sequence[StackRun | Stack],
        *,
        max_stacks: int | None = None,
        max_calls_per_plugin: int | None = None,
        on_event: Callable[[FleetEvent], object] | None = None,
        on_output: _stack.OnOutput | None = None,
    ) -> FleetResult:
        """Deletes every resource of a set of stacks, in the reverse order of :meth:`up_all`."""
        return self.start_destroy_all(
            runs,
            max_stacks=max_stacks,
            max_calls_per_plugin=max_calls_per_plugin,
            on_event=on_event,
            on_output=on_output,
        ).result()

    def _start_all(
        self,
        start: Callable[..., _fleet.FleetOperation],
        runs: Sequence[StackRun | Stack],
        max_stacks: int | None,
        max_calls_per_plugin: int | None,
        on_event: Callable[[FleetEvent], object] | None,
        on_output: _stack.OnOutput | None,
    ) -> FleetOperation:
        require_given("runs", runs, (list, tuple), "a list of stacks or of StackRun")
        given = [run._stack if isinstance(run, Stack) else run for run in runs]

        async def begin() -> _fleet.FleetOperation:
            return start(
                given,
                max_stacks=max_stacks,
                max_calls_per_plugin=max_calls_per_plugin,
                on_event=on_event,
                on_output=on_output,
            )

        return FleetOperation(_background.run(begin()))

    def project(self, folder: str | os.PathLike[str]) -> Project:
        """Opens the project of a folder."""
        return Project(_background.run(self._engine.project(folder)))

    def stacks(self, project: str | None = None, *, resource_counts: bool = False) -> list[StackSummary]:
        """Lists the stacks of a project, or of all: each with its last operation and the holder of its lock."""
        return _background.run(self._engine.stacks(project, resource_counts=resource_counts))

    def metrics(self) -> Metrics:
        """Returns what the engine has counted since it was made, and what runs now; see :meth:`stackwright.Engine.metrics`."""
        return self._engine.metrics()

    def cancel_run(self, run_id: str, *, requests: int | None = None) -> None:
        """Requests the end of every operation of a run, on all hosts that use the store; see :meth:`stackwright.Engine.cancel_run`."""
        _background.run(self._engine.cancel_run(run_id, requests=requests))

    def forget_run(self, run_id: str) -> None:
        """Removes the mark of a run that was cancelled and has ended everywhere."""
        _background.run(self._engine.forget_run(run_id))

    def plugins(
        self, name: str | None = None, versions: str | None = None, *, kind: PluginKind | None = None
    ) -> list[InstalledPlugin]:
        """Lists the plugins in the engine's folder of installed plugins, sorted by name, kind and version."""
        return _background.run(self._engine.plugins(name, versions, kind=kind))

    def install_plugin(
        self,
        name: str,
        version: str,
        *,
        kind: PluginKind = "resource",
        file: str | os.PathLike[str] | None = None,
        url: str | None = None,
        server: str | None = None,
        checksum: str | None = None,
        reinstall: bool = False,
        on_progress: Callable[[PluginProgress], object] | None = None,
    ) -> InstalledPlugin:
        """Installs a plugin from the archive of one of ``file``, ``url`` and ``server``. ``on_progress`` is called on a thread of this
        package."""
        return _background.run(
            self._engine.install_plugin(
                name,
                version,
                kind=kind,
                file=file,
                url=url,
                server=server,
                checksum=checksum,
                reinstall=reinstall,
                on_progress=on_progress,
            )
        )

    def remove_plugin(
        self, name: str, versions: str | None = None, *, kind: PluginKind = "resource"
    ) -> list[InstalledPlugin]:
        """Removes a plugin from the engine's folder of installed plugins, and returns what was removed."""
        return _background.run(self._engine.remove_plugin(name, versions, kind=kind))

    def close(self) -> None:
        """Ends operations, plugin processes and provider threads, as `close` of the asynchronous engine does."""
        _background.run(self._engine.close())

    def __repr__(self) -> str:
        return repr(self._engine)

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
