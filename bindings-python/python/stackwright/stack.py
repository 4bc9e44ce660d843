"""A stack: a named state, its program, and the operations on it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final, Literal, NamedTuple, Protocol

from ._annotations import Unpack
from ._bridge import answer
from ._caller import caller
from ._checks import named_options, require, require_function, require_given
from ._json import document_of_options, text_of
from ._provider_threads import ProviderLoop
from ._raised import Raised, explain
from ._records import HistoryEntry, edit_report_of, history_of, move_report_of, pending_of, record_of
from ._results import (
    Diagnostic,
    EditReport,
    MoveReport,
    PendingOperation,
    PolicyAnalysis,
    PolicyViolation,
    ResourceRecord,
    SuggestedMove,
)
from ._runner import Program, prepare
from ._stackwright import Operation as NativeOperation
from ._stackwright import Stack as NativeStack
from ._stackwright import StackRun as NativeRun
from ._stackwright import to_json
from .errors import InvalidInputError
from .events import Event
from .host import KeyService, Secrets, describe_secrets
from .operation import Operation
from .options import ImportResource, OperationOptions, PolicyPack
from .picture import Picture, StackGraph
from .policy import Policy, describe, placed, split
from .result import Result
from .values import OutputValue, PropertyValue

__all__ = ["Stack"]

OnEvent = Callable[[Event], object]
OnOutput = Callable[[str], object]
Plan = Result | Mapping[str, Any] | str
Policies = Sequence[Policy | PolicyPack]

# The default where no plan is given: None may come from a result that has no document, and is refused.
_NONE: Final[Any] = object()
_NO_PLAN: Final = "plan takes the result of a preview or a document, not None; a result has a plan's document when it was asked for with generate_plan=True"


class _Work(NamedTuple):
    """What an operation is about."""

    arguments: tuple[Any, ...]
    """The arguments of the native call that starts it."""
    is_preview: bool
    explain: Callable[[BaseException | None], None]


class Openable(Protocol):
    """What can be closed, and takes no work after that."""

    _provider_loop: ProviderLoop
    _exports_spans: bool

    def _require_open(self) -> None: ...


def _move(move: object) -> object:
    """Returns a suggestion as its two URNs; anything else is left to the engine, which refuses what is wrong."""
    return {"old_urn": move.old_urn, "new_urn": move.new_urn} if isinstance(move, SuggestedMove) else move


def document_of(deployment: Mapping[str, Any] | bytes | str) -> bytes:
    """Returns the JSON of a deployment document, which may be a text already.

    :raises InvalidInputError: for what is neither JSON nor a dictionary that can be written as such.
    """
    if isinstance(deployment, str):
        return deployment.encode()
    if isinstance(deployment, bytes):
        return deployment
    require_given("deployment", deployment, Mapping, "a deployment document: a dictionary, or JSON as text or bytes")
    return text_of("deployment", deployment).encode()


class Stack:
    """A stack. Operations start when they are called and return a handle to await: ``result = await stack.up()``."""

    def __init__(self, native: NativeStack, program: Program | None, engine: Openable, raised: Raised) -> None:
        self._native = native
        # What runs the providers lives as long as anything that may need it.
        self._engine = engine
        self._program = program
        self._raised = raised

    @property
    def name(self) -> str:
        """The name, as ``project/stack``."""
        return self._native.name

    @property
    def organization(self) -> str:
        """The organization, as programs see it."""
        return self._native.organization

    @property
    def tags(self) -> Mapping[str, str]:
        """What the host notes about the stack, by name."""
        return self._native.tags

    def preview(
        self,
        *,
        program: Program | None = None,
        on_event: OnEvent | None = None,
        on_output: OnOutput | None = None,
        policies: Policies | None = None,
        **options: Unpack[OperationOptions],
    ) -> Operation:
        """Computes what an update would do; ``print`` shows the result as a tree.

        ``options`` are those of :class:`OperationOptions`; ``program`` takes the place of the stack's own, this once.

        :param on_output: Receives each line that a plain display of the operation has, without its newline and with secrets
            masked: ``on_output=print``. What it raises is treated as that of ``on_event``. All operations take it;
            :func:`stackwright.display` shows a tree that is updated in place.
        :param policies: What every resource is checked by: objects of the class :class:`~stackwright.Policy`, and packs at
            addresses or in folders as in ``local_policy_packs``. All operations that run a program take them.
        """
        if options.get("dry_run") is False:
            raise InvalidInputError("a preview is a dry run; up() is not")
        return self._start("update", True, program, on_event, on_output, policies, options)

    def up(
        self,
        plan: Plan = _NONE,
        /,
        *,
        program: Program | None = None,
        on_event: OnEvent | None = None,
        on_output: OnOutput | None = None,
        policies: Policies | None = None,
        **options: Unpack[OperationOptions],
    ) -> Operation:
        """Brings the stack to the state that its program describes.

        :param plan: What the update is held to: the result of a preview, or the document that a result's
            :attr:`~stackwright.Result.plan` holds, as a mapping or as JSON text. Steps, inputs and options that the plan
            does not contain are refused before a provider is called, and fail the update. Plans do not cover
            ``retain_on_delete``, ``deleted_with``, ``replace_on_changes`` and ``hide_diffs``, nor mere reads:
            these may differ.
        """
        if plan is not _NONE:
            if "plan" in options:
                raise InvalidInputError("up() was given two plans")
            options["plan"] = plan
        return self._start("update", None, program, on_event, on_output, policies, options)

    def refresh(
        self,
        *,
        program: Program | None = None,
        on_event: OnEvent | None = None,
        on_output: OnOutput | None = None,
        policies: Policies | None = None,
        **options: Unpack[OperationOptions],
    ) -> Operation:
        """Reads every resource and records what is there; with ``dry_run=True`` it only reports what it found.

        With ``refresh_program=True`` the program, or ``program`` in its place, runs, which determines how providers are configured.
        """
        return self._start("refresh", None, program, on_event, on_output, policies, options)

    def destroy(
        self,
        *,
        program: Program | None = None,
        on_event: OnEvent | None = None,
        on_output: OnOutput | None = None,
        policies: Policies | None = None,
        **options: Unpack[OperationOptions],
    ) -> Operation:
        """Deletes every resource; with ``dry_run=True`` it only reports what it would delete.

        With ``destroy_program=True`` the program, or ``program`` in its place, runs, which determines how providers are configured.
        """
        return self._start("destroy", None, program, on_event, on_output, policies, options)

    def import_resources(
        self,
        resources: Sequence[ImportResource] | Mapping[str, Any] | bytes | str,
        *,
        name_table: Mapping[str, str] | None = None,
        protect: bool = True,
        generate_code: bool = True,
        on_event: OnEvent | None = None,
        on_output: OnOutput | None = None,
        **options: Unpack[OperationOptions],
    ) -> Operation:
        """Records existing resources, which the stack manages from then on; with ``dry_run=True`` it only reports what it found.

        What cannot be imported fails the operation, and the rest is kept. The result has the inputs of the resources, and
        programs that declare them: :attr:`Result.imported`. ::

            result = await stack.import_resources([{"type": "files:index:File", "name": "notes", "id": "/tmp/notes"}])
            print(result.imported.code.python)

        :param resources: What to import; a mapping, text or bytes are an import file of the Pulumi command.
        :param name_table: URNs of recorded resources by names, which ``parent`` and ``provider`` of resources can have.
        :param protect: Whether imported resources are protected, so that no update or destroy deletes them.
        :param generate_code: Whether the result has programs. For those of the Pulumi SDKs the provider of each package is
            asked for its schema.
        """
        self._engine._require_open()
        require_function("on_event", on_event)
        require_function("on_output", on_output)
        if isinstance(resources, (Mapping, bytes, str)):
            request: dict[str, Any] = {"file": document_of(resources).decode()}
        else:
            require_given("resources", resources, (list, tuple), "a list of resources, or an import file")
            request = {"resources": [_row(row) for row in resources]}
        given = {"name_table": name_table, "protect": protect, "generate_code": generate_code}
        native = self._native.import_resources(
            document_of_options({**request, **given}), document_of_options({**self._caller(), **options})
        )

        def explained(error: BaseException | None) -> None:
            explain(error, [], self._raised.take(self.name))

        return Operation(native, options.get("dry_run") is True, on_event, on_output, self._engine, self.name, explained)

    def _start(
        self,
        kind: Literal["update", "refresh", "destroy"],
        is_preview: bool | None,
        program: Program | None,
        on_event: OnEvent | None,
        on_output: OnOutput | None,
        policies: Policies | None,
        options: OperationOptions,
    ) -> Operation:
        self._engine._require_open()
        require_function("on_event", on_event)
        require_function("on_output", on_output)
        subject = "preview()" if is_preview else "up()" if kind == "update" else f"{kind}()"
        work = self._work(kind, subject, is_preview, program, policies, options)
        native = self._native.start(*work.arguments)
        return Operation(native, work.is_preview, on_event, on_output, self._engine, self.name, work.explain)

    def _in_set(
        self,
        verb: Literal["up", "preview", "refresh", "destroy"],
        depends_on: Sequence[str],
        program: Program | None,
        policies: Policies | None,
        options: OperationOptions,
    ) -> tuple[NativeRun, Callable[[NativeOperation], Operation]]:
        """Returns the part of the stack in an operation on a set, and what makes the handle of its own operation."""
        is_preview = verb == "preview"
        kind: Literal["update", "refresh", "destroy"] = "update" if verb == "up" or verb == "preview" else verb
        if is_preview and options.get("dry_run") is False:
            raise InvalidInputError("a preview is a dry run; up_all() is not")
        given = options.copy()
        work = self._work(kind, f"{verb}_all()", True if is_preview else None, program, policies, given)

        def handle(native: NativeOperation) -> Operation:
            return Operation(native, work.is_preview, None, None, self._engine, self.name, work.explain)

        return self._native.in_set(list(depends_on), *work.arguments), handle

    def _work(
        self,
        kind: Literal["update", "refresh", "destroy"],
        subject: str,
        is_preview: bool | None,
        program: Program | None,
        policies: Policies | None,
        options: OperationOptions,
    ) -> _Work:
        """Reads what an operation is about."""
        if is_preview is None:
            is_preview = options.get("dry_run") is True
        if "plan" in options and options["plan"] is None:
            raise InvalidInputError(_NO_PLAN)
        held_to = options.pop("plan", None)
        kept = self._checked(held_to)._native if isinstance(held_to, Result) else None
        chosen: dict[str, Any] = {**self._caller(), "dry_run": is_preview, **options}
        if chosen["dry_run"] is None:
            chosen["dry_run"] = is_preview
        if kept is None and held_to is not None:
            chosen["plan"] = _document(held_to)
        if isinstance(moves := chosen.get("accept_moves"), (list, tuple)):
            chosen["accept_moves"] = [_move(move) for move in moves]
        packs = self._packs(policies, chosen)
        encoded = document_of_options(chosen)
        failures: list[BaseException] = []
        runs_program = kind == "update" or bool(options.get(f"{kind}_program"))
        if program is not None and not runs_program:
            raise InvalidInputError(f"{kind}() runs a program only with {kind}_program=True")
        prepared = prepare(program or self._program, failures, self._raised) if runs_program else None
        if runs_program and prepared is None and not self._native.has_program:
            raise InvalidInputError(f"the stack {self.name} has no program; give one to stack() or to this call")

        def explained(error: BaseException | None) -> None:
            explain(error, failures, self._raised.take(self.name))

        return _Work((kind, encoded, subject, prepared, kept, packs), is_preview, explained)

    def _caller(self) -> dict[str, str]:
        """Returns the option with the caller's span, where spans are exported."""
        return caller() if self._engine._exports_spans else {}

    def _packs(self, policies: Policies | None, options: dict[str, Any]) -> Any:
        """Adds packs at addresses or in folders to the options, and describes those of functions."""
        functions, listed = split(policies)
        if listed:
            options["local_policy_packs"] = placed(listed, functions, options)
        if not functions:
            return None
        described, is_async = describe(functions, self._raised, self.name)
        if is_async:
            self._engine._provider_loop.start()
        return described, self._engine._provider_loop.queue

    @named_options
    async def analyze(self, policies: Policies, *, callback_timeout: float | None = None) -> PolicyAnalysis:
        """Analyzes the recorded state, without a program: each resource by its inputs, then all resources by their outputs.

        Remediations rewrite nothing. The state and its locks stay as they are, also while an operation runs.

        :param policies: Objects of the class :class:`~stackwright.Policy`, and packs at addresses or in folders as in
            ``local_policy_packs``.
        :param callback_timeout: How long one call of a policy may take, in seconds; 300 by default. One that takes longer fails the
            analysis, whose error names the policy.
        """
        self._engine._require_open()
        require_given("policies", policies, (list, tuple), "a list of policies")
        options: dict[str, Any] = {"callback_timeout": callback_timeout}
        packs = self._packs(policies, options)
        encoded = document_of_options(options)
        try:
            facts: dict[str, Any] = await answer(
                lambda queue, callback: self._native.analyze(encoded, packs, queue, callback)
            )
        except BaseException as error:
            explain(error, [], self._raised.take(self.name))
            raise
        facts["violations"] = tuple(PolicyViolation(**violation) for violation in facts["violations"])
        facts["diagnostics"] = tuple(Diagnostic(**diagnostic) for diagnostic in facts["diagnostics"])
        return PolicyAnalysis(**facts)

    def _checked(self, result: Result) -> Result:
        """Refuses a result that can hold no operation of this stack."""
        if result.outcome != "succeeded" or (not result.is_preview and not result._native.has_plan):
            raise InvalidInputError("the plan is not the result of a preview that succeeded")
        if result.stack != self.name:
            raise InvalidInputError(f"the plan is a preview of {result.stack}, not of {self.name}")
        if not result._native.has_plan:
            raise InvalidInputError("the preview kept no plan: it was asked for none, or was not one of an update")
        return result

    async def export_deployment(self, *, show_secrets: bool = False) -> dict[str, Any]:
        """Returns the state as a deployment document; secrets stay encrypted unless they are to be shown."""
        require_given("show_secrets", show_secrets, bool, "True or False")
        document = await answer(lambda queue, callback: self._native.export(show_secrets, queue, callback))
        parsed: dict[str, Any] = json.loads(document)
        return parsed

    async def _edit(
        self,
        called: str,
        edit: dict[str, Any],
        dry_run: bool,
        wait_for_lock: float | None,
        encryption: tuple[Any, Any] | None = None,
    ) -> EditReport:
        """Edits the state.

        Each edit has ``dry_run``: whether nothing is written, and the report has what would change; and ``wait_for_lock``: how long it
        waits for the stack while an operation or another host has locked it, in seconds. Without it, it fails at once.
        """
        require_given("dry_run", dry_run, bool, "True or False")
        encoded = document_of_options({**edit, "dry_run": dry_run, "wait_for_lock": wait_for_lock})
        return edit_report_of(
            await answer(lambda queue, callback: self._native.edit(encoded, f"{called}()", encryption, queue, callback))
        )

    @named_options
    async def import_deployment(
        self, deployment: Mapping[str, Any] | bytes | str, *, force: bool = False, dry_run: bool = False, wait_for_lock: float | None = None
    ) -> EditReport:
        """Replaces the state by a deployment document. URNs that name another project are a warning in the report.

        :param force: Whether a state that is invalid, or whose URNs name another stack, is accepted.
        :param dry_run: Whether nothing is written, and the report has what would change.
        :param wait_for_lock: How long it waits for the stack while another one has locked it, in seconds. Without it, it fails at once.
        """
        require_given("force", force, bool, "True or False")
        try:
            text = document_of(deployment).decode()
        except UnicodeDecodeError:
            raise InvalidInputError("the deployment document is not UTF-8") from None
        edit = {"import_deployment": {"deployment": text, "force": force}}
        return await self._edit("import_deployment", edit, dry_run, wait_for_lock)

    @named_options
    async def rename(
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
        """Gives a resource another name, parent or type in the state; what is left out stays.

        Descendants, whose URNs contain the types of their parents, and all references follow. The program registers the
        resource by its new name afterwards: otherwise, the next update deletes the resource and creates another.

        :param parent: The URN of the new parent; that of the stack itself for a resource at the top level.
        :param no_parent: Whether the resource has no parent afterwards, not even the stack itself.
        :param dry_run: Whether nothing is written, and the report has what would change.
        :param wait_for_lock: How long it waits for the stack while another one has locked it, in seconds. Without it, it fails at once.
        """
        edit = {"urn": urn, "name": name, "parent": parent, "type": type, "no_parent": no_parent}
        return await self._edit("rename", {"rename": edit}, dry_run, wait_for_lock)

    @named_options
    async def delete_resources(
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
        """Removes the records of resources from the state. The resources themselves stay; no provider is called.

        :param all: Whether all records are removed, in place of ``urns``.
        :param id: The id of the record, where several have the URN: old copies that are pending deletion.
        :param dependents: Whether the records of all that depend on them are removed, too. Without it, dependents refuse the
            removal with :class:`~stackwright.ConflictError`.
        :param force: Whether protected records are removed, too.
        :param dry_run: Whether nothing is written, and the report has what would change.
        :param wait_for_lock: How long it waits for the stack while another one has locked it, in seconds. Without it, it fails at once.
        """
        edit = {"urns": _urns(urns), "all": all, "id": id, "dependents": dependents, "force": force}
        return await self._edit("delete_resources", {"delete": edit}, dry_run, wait_for_lock)

    @named_options
    async def protect(self, urns: Sequence[str] = (), *, all: bool = False, dry_run: bool = False, wait_for_lock: float | None = None) -> EditReport:
        """Protects resources from deletion, until the program registers them without protection.

        :param all: Whether all resources are protected, in place of ``urns``.
        :param dry_run: Whether nothing is written, and the report has what would change.
        :param wait_for_lock: How long it waits for the stack while another one has locked it, in seconds. Without it, it fails at once.
        """
        return await self._edit("protect", {"protect": {"urns": _urns(urns), "all": all}}, dry_run, wait_for_lock)

    @named_options
    async def unprotect(self, urns: Sequence[str] = (), *, all: bool = False, dry_run: bool = False, wait_for_lock: float | None = None) -> EditReport:
        """Removes the protection of resources; the arguments are those of :meth:`protect`."""
        return await self._edit("unprotect", {"unprotect": {"urns": _urns(urns), "all": all}}, dry_run, wait_for_lock)

    @named_options
    async def taint(self, urns: Sequence[str] = (), *, all: bool = False, dry_run: bool = False, wait_for_lock: float | None = None) -> EditReport:
        """Marks resources for replacement by the next update; the arguments are those of :meth:`protect`."""
        return await self._edit("taint", {"taint": {"urns": _urns(urns), "all": all}}, dry_run, wait_for_lock)

    @named_options
    async def untaint(self, urns: Sequence[str] = (), *, all: bool = False, dry_run: bool = False, wait_for_lock: float | None = None) -> EditReport:
        """Removes the marks of :meth:`taint`, with the same arguments."""
        return await self._edit("untaint", {"untaint": {"urns": _urns(urns), "all": all}}, dry_run, wait_for_lock)

    @named_options
    async def move_resources(
        self,
        urns: Sequence[str],
        destination: Stack,
        *,
        include_parents: bool = False,
        dry_run: bool = False,
        wait_for_lock: float | None = None,
    ) -> MoveReport:
        """Moves resources, and all below them, to another stack of this or another engine. No provider is called.

        The providers of the resources are copied, unless the destination has them already. A resource whose parent stays is below
        the destination itself. References between resources that move and others are removed, which the report names. Secrets are
        encrypted with the key of the destination, and pending operations of the resources move, too. The program of the
        destination registers the resources afterwards, and that of this stack no longer does.

        One URN that the state does not have, or one resource that cannot move, refuses the whole move. When the process ends during
        the move, the next opening of either stack finishes or forgets it.

        :param urns: The resources; the URN of the stack itself selects all below it. Providers cannot be named: they are copied where they are needed.
        :param include_parents: Whether the parents of the resources move, too, up to the stack itself, and everything below them.
        :param dry_run: Whether nothing is written, and the report has what would change.
        :param wait_for_lock: How long it waits for the stack while another one has locked it, in seconds. Without it, it fails at once.
        """
        if not isinstance(destination, Stack):
            raise InvalidInputError(f"destination takes a Stack of this interface, not {type(destination).__name__}")
        require_given("dry_run", dry_run, bool, "True or False")
        edit = {"move": {"urns": _urns(urns), "include_parents": include_parents}, "dry_run": dry_run, "wait_for_lock": wait_for_lock}
        encoded, other = document_of_options(edit), destination._native
        return move_report_of(
            await answer(
                lambda queue, callback: self._native.move_resources(
                    other, encoded, "move_resources()", queue, callback
                )
            )
        )

    @named_options
    async def repair(self, *, dry_run: bool = False, wait_for_lock: float | None = None) -> EditReport:
        """Sorts the records, and removes references to records that do not exist. A valid state stays as it is.

        What cannot be repaired raises :class:`~stackwright.StateError`, and the state stays as it is.
        """
        return await self._edit("repair", {"repair": {}}, dry_run, wait_for_lock)

    @named_options
    async def restore(
        self,
        *,
        version: int | None = None,
        time: datetime | str | None = None,
        passphrase: str | None = None,
        dry_run: bool = False,
        wait_for_lock: float | None = None,
    ) -> EditReport:
        """Replaces the state by one of the history. Its secrets get the stack's present key.

        :param version: The number of the operation, counted from 1, the oldest.
        :param time: The last operation that had ended at this time: a ``datetime`` with a time zone, or text in the form of
            RFC 3339. In whole seconds, as ``endTime`` of the history, an operation that ended within that second had ended.
        :param passphrase: The passphrase of that state, where the key of the stack was changed since.
        """
        if isinstance(time, datetime):
            if time.tzinfo is None:
                raise InvalidInputError("time takes a datetime with a time zone")
            time = time.isoformat()
        elif isinstance(time, date):
            raise InvalidInputError("time takes a datetime with a time zone, not a date")
        return await self._edit("restore", {"restore": {"version": version, "time": time, "passphrase": passphrase}}, dry_run, wait_for_lock)

    @named_options
    async def rename_stack(self, name: str, *, dry_run: bool = False, wait_for_lock: float | None = None) -> EditReport:
        """Gives the stack another name, ``stack`` or ``project/stack``. History and tags move with it, and the settings file of a
        stack that was opened with its ``project``; one of the new name that exists already is an error.

        This object keeps the former name: the engine opens the stack by the new one.
        """
        return await self._edit("rename_stack", {"rename_stack": {"name": name}}, dry_run, wait_for_lock)

    @named_options
    async def change_secrets(
        self, *, passphrase: str | None = None, secrets: Secrets | KeyService | None = None, dry_run: bool = False, wait_for_lock: float | None = None
    ) -> EditReport:
        """Encrypts the secrets of the state, and those of the settings file of ``project``, with another passphrase, with a data key
        that a key service wraps, or the host's own way. The report has the records that have secrets.

        This object keeps the former key: the engine opens the stack with the new one. So does the history: :meth:`restore`
        takes the former ``passphrase`` of a state from before the change.

        Raises :class:`~stackwright.DecryptError` when the stack was opened with a key that is not its own; nothing is changed then.

        :param passphrase: The new passphrase.
        :param secrets: The new encryption of the host, in its place, see :class:`stackwright.Secrets`, or a key service, see
            :class:`stackwright.KeyService`. A stack that has that key service already gets a new data key.
        """
        described, encryption = None, None
        if secrets is not None:
            kind, state, *functions = describe_secrets(secrets)
            if kind is None:
                described = {"url": state}
            else:
                described = {"kind": kind, "state": None if state is None else json.loads(state)}
            encrypt, decrypt = (self._engine._provider_loop.as_blocking(function) for function in functions)
            encryption = (encrypt, decrypt)
        edit = {"change_secrets": {"passphrase": passphrase, "secrets": described}}
        return await self._edit("change_secrets", edit, dry_run, wait_for_lock, encryption)

    async def outputs(self, *, show_secrets: bool = False) -> Mapping[str, OutputValue[PropertyValue]]:
        """Returns the stack's outputs by name. ``show_secrets=True`` has the values of secret ones in text for display, too."""
        require_given("show_secrets", show_secrets, bool, "True or False")
        outputs: dict[str, OutputValue[PropertyValue]] = await answer(self._native.outputs)
        return {name: output.shown() for name, output in outputs.items()} if show_secrets else outputs

    async def resources(self, *, show_secrets: bool = False) -> list[ResourceRecord]:
        """Returns the recorded resources, each after those that it refers to.

        While an operation runs, that is the state as it was recorded when it was read: a step counts once it has ended.

        :param show_secrets: Whether text for display has the values of secret inputs and outputs, too.
        """
        require_given("show_secrets", show_secrets, bool, "True or False")
        found: list[Mapping[str, Any]] = await answer(self._native.resources)
        return [record_of(members, show_secrets) for members in found]

    async def referenced_stacks(self) -> list[str]:
        """Returns the names of the stacks that the recorded stack references name; none for a stack that does not exist."""
        names: list[str] = await answer(self._native.referenced_stacks)
        return names

    async def resource(self, urn: str, *, show_secrets: bool = False) -> ResourceRecord:
        """Returns the record of a URN: the one in use, or an old copy that waits for its deletion when there is no other.

        Raises :class:`~stackwright.NotFoundError` when there is none; the hints name the most similar URNs.
        """
        require_given("urn", urn, str, "a text")
        require_given("show_secrets", show_secrets, bool, "True or False")
        return record_of(
            await answer(lambda queue, callback: self._native.resource(urn, queue, callback)), show_secrets
        )

    async def graph(self) -> StackGraph:
        """Returns the recorded resources in the order of their dependencies, with the references between them."""
        return StackGraph(await answer(self._native.graph))

    async def picture(self) -> Picture:
        """Returns the recorded resources, to be drawn."""
        return Picture(await answer(self._native.picture))

    async def pending(self, *, show_secrets: bool = False) -> list[PendingOperation]:
        """Returns the pending operations: what an interrupted run has begun, and whose outcome is not known.

        While an operation runs, its steps in flight are among them, as ``in_progress``.
        """
        require_given("show_secrets", show_secrets, bool, "True or False")
        found: list[Mapping[str, Any]] = await answer(self._native.pending)
        return [pending_of(members, show_secrets) for members in found]

    def adopt_pending(
        self,
        pending: PendingOperation | str,
        resource_id: str | None = None,
        *,
        replace: bool = False,
        on_event: OnEvent | None = None,
        on_output: OnOutput | None = None,
        **options: Unpack[OperationOptions],
    ) -> Operation:
        """Records the resource of a pending operation: its provider reads it, and the operation is no longer pending.

        :param pending: The pending operation, or its id.
        :param resource_id: The id of the resource; needed where the pending operation has none.
        :param replace: Whether a record of another resource with the same URN is replaced. That resource stays as it is, and is
            not managed any more. Without it, such a record fails the operation with :class:`~stackwright.ConflictError`.
        """
        self._engine._require_open()
        require_function("on_event", on_event)
        require_function("on_output", on_output)
        require_given("replace", replace, bool, "True or False")
        encoded = document_of_options(options)
        native = self._native.adopt(_pending_id(pending), _resource_id(resource_id), replace, encoded)

        def explained(error: BaseException | None) -> None:
            explain(error, [], self._raised.take(self.name))

        return Operation(native, options.get("dry_run") is True, on_event, on_output, self._engine, self.name, explained)

    async def read_pending(
        self, pending: PendingOperation | str, resource_id: str | None = None, *, show_secrets: bool = False
    ) -> ResourceRecord | None:
        """Reads the resource of a pending operation without recording it; ``None`` when it does not exist.

        :param pending: The pending operation, or its id.
        :param resource_id: The id of the resource; needed where the pending operation has none.
        """
        self._engine._require_open()
        require_given("show_secrets", show_secrets, bool, "True or False")
        id, of_resource = _pending_id(pending), _resource_id(resource_id)
        try:
            found = await answer(lambda queue, callback: self._native.read_pending(id, of_resource, queue, callback))
        except BaseException as error:
            explain(error, [], self._raised.take(self.name))
            raise
        return None if found is None else record_of(found, show_secrets)

    async def forget_pending(self, pending: PendingOperation | str, *, dry_run: bool = False, wait_for_lock: float | None = None) -> PendingOperation:
        """Removes a pending operation from the state, and returns it. With ``dry_run=True``, it stays.

        :param pending: The pending operation, or its id.
        """
        require_given("dry_run", dry_run, bool, "True or False")
        id, limit = _pending_id(pending), _seconds("wait_for_lock", wait_for_lock)
        return pending_of(
            await answer(lambda queue, callback: self._native.forget_pending(id, dry_run, limit, queue, callback))
        )

    async def history(self, *, limit: int | None = None, page: int = 1) -> list[HistoryEntry]:
        """Returns the history's entries, newest first. The ``version`` of an entry is the number by which :meth:`restore` takes it,
        counted from 1, the oldest.

        :param limit: How many entries a page has; all of them when left out. Entries of other pages are not read.
        :param page: The number of the page, counted from 1.
        """
        for name, number in (("limit", limit), ("page", page)):
            if number is not None and (not isinstance(number, int) or isinstance(number, bool) or not 0 < number < 1 << 31):
                raise InvalidInputError(f"{name} takes a number above 0, not {number!r}")
        return history_of(await answer(lambda queue, callback: self._native.history(limit, page, queue, callback)))

    async def list_tags(self) -> dict[str, str]:
        """Returns the tags that are kept with the stack, by name, where the reference engine keeps them. Those of the
        setting ``tags`` are not among them."""
        tags: dict[str, str] = await answer(self._native.list_tags)
        return tags

    async def set_tag(self, name: str, value: str) -> None:
        """Sets a tag that is kept with the stack. Any name and any value are taken."""
        require_given("name", name, str, "a text")
        require_given("value", value, str, "a text")
        await answer(lambda queue, callback: self._native.set_tag(name, value, queue, callback))

    async def remove_tag(self, name: str) -> bool:
        """Removes a tag that is kept with the stack, and returns whether there was one."""
        require_given("name", name, str, "a text")
        existed: bool = await answer(lambda queue, callback: self._native.remove_tag(name, queue, callback))
        return existed

    async def unlock(self) -> int:
        """Removes every lock of the stack, regardless of its holder, and returns how many there were.

        That is for locks that dead machines left behind: an operation that runs after all goes on.
        """
        locks: int = await answer(self._native.unlock)
        return locks

    async def break_lock(self, owner: str) -> int:
        """Removes the locks of one owner, and returns how many there were.

        The owner is `user@host` or `user@host:process`, as the error of a locked stack names it. In a bucket or a database
        the owner loses its lease, too: an operation that still runs writes no more.
        """
        require_given("owner", owner, str, "a text")
        locks: int = await answer(lambda queue, callback: self._native.break_lock(owner, queue, callback))
        return locks

    async def remove(self, *, force: bool = False, wait_for_lock: float | None = None) -> None:
        """Removes the stack and its history. One that still has resources is only removed by force."""
        require_given("force", force, bool, "True or False")
        limit = _seconds("wait_for_lock", wait_for_lock)
        await answer(lambda queue, callback: self._native.remove(force, limit, queue, callback))

    def __repr__(self) -> str:
        return f"<Stack {self.name}>"


def _seconds(name: str, seconds: float | None) -> float | None:
    """Refuses what is no number in the place of a time."""
    if seconds is not None and (not isinstance(seconds, (int, float)) or isinstance(seconds, bool)):
        raise InvalidInputError(f"{name} takes a number of seconds from 0, not {seconds!r}")
    return seconds


def _urns(urns: Sequence[str]) -> list[str]:
    """Refuses a text in the place of a sequence of texts."""
    if isinstance(urns, (str, bytes)) or not isinstance(urns, Sequence):
        raise InvalidInputError(f"urns takes a list of URNs, not {type(urns).__name__}")
    return list(urns)


def _row(row: object) -> object:
    """Returns a resource to import with its values in the form of JSON."""
    if not isinstance(row, Mapping):
        return row
    values = {name: row[name] for name in ("inputs", "outputs") if isinstance(row.get(name), Mapping)}
    return {**row, **{name: json.loads(to_json(value)) for name, value in values.items()}}


def _pending_id(pending: object) -> str:
    """Returns the id of a pending operation."""
    if isinstance(pending, PendingOperation):
        return pending.id
    require_given("pending", pending, str, "a pending operation or its id")
    return str(pending)


def _resource_id(resource_id: object) -> str | None:
    """Refuses what cannot be the id of a resource."""
    require("resource_id", resource_id, str, "a text")
    return None if resource_id is None else str(resource_id)


def _document(plan: object) -> Mapping[str, Any] | str:
    """Refuses what cannot be a plan's document."""
    if isinstance(plan, (Mapping, str)):
        return plan
    hint = "; name a program: up(program=…)" if callable(plan) else ""
    raise InvalidInputError(f"plan takes the result of a preview or a document, not {type(plan).__name__}{hint}")
