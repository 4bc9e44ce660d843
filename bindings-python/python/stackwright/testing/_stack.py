"""Simulated stacks: operations of the real engine against a world in memory."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from .._annotations import Unpack
from .._checks import read_file, require, require_given, write_file
from .._record import record
from .._results import Step
from .._runner import Program
from .._stackwright import Simulation
from ..engine import Engine
from ..errors import InvalidInputError, StackwrightError
from ..operation import Operation
from ..options import OperationOptions, Plugins, StackSettings
from ..stack import Stack
from ..sync import Stack as SyncStack
from ..sync import _background
from ..values import OutputValue, PropertyValue
from ._answers import Answer, Answers, Outputs, read_answers
from ._faults import Fault, document_of_faults
from ._resources import Resources
from ._result import SimulatedResult
from ._settings import Schema, SimulationSettings, by_names, listed, refuse_unknown, require_config, require_program, texts
from ._world import World

__all__ = ["Call", "SimulatedStack", "simulate"]

__tracebackhide__ = True

Verb = Literal["up", "preview", "refresh", "destroy"]


@record(frozen=True, slots=True)
class Call:
    """A call of a provider."""

    call: str
    """The name: ``create`` for instance."""
    type: str
    """The type of the resource, or the token of the function."""
    name: str
    """The name of the resource; empty for functions and methods."""
    urn: str
    """The URN of the resource; likewise."""
    preview: bool
    """Whether a preview made it."""


class _Engine(Engine):
    """An engine whose providers are simulated."""

    def __init__(self, simulation: Simulation, answers: Answers, **settings: Any) -> None:
        self._simulation = simulation
        self._answers = answers
        super().__init__(store="memory://", **settings)


class SimulatedStack:
    """A stack with a world of its own; :func:`simulate` makes it.

    It is a context manager; without it, its threads end when nothing refers to it any more.
    """

    def __init__(
        self,
        simulation: Simulation,
        answers: Answers,
        name: str,
        program: Program | None,
        settings: dict[str, Any],
        engine: dict[str, Any],
        record: Path | None,
        allow_unmatched: bool,
    ) -> None:
        self._simulation: Final = simulation
        self._answers = answers
        self._engine_settings = engine
        self._record = record
        # Whether the patterns of the settings have to match something of the next operation that runs the program.
        self._checks_patterns = not allow_unmatched
        self._native_engine: _Engine | None = None
        self._is_closed = False
        self._last: SimulatedResult | None = None
        self.name: Final = name
        """The name, as ``project/stack``."""
        self.program = program
        """The program of the next operations."""
        self.settings: Final = settings
        """The settings with which the stack is opened for each operation; see :class:`stackwright.StackSettings`."""
        self.world: Final = World(simulation)
        """What exists: a test changes it by hand."""

    # ---- operations ----

    def up(
        self,
        program: Program | None = None,
        *,
        config: Mapping[str, PropertyValue] | None = None,
        faults: Iterable[Fault] = (),
        check: bool = True,
        **options: Unpack[OperationOptions],
    ) -> SimulatedResult:
        """Brings the stack to the state that the program describes.

        :param program: The program from now on.
        :param config: The configuration from now on: all of it, not only what differs.
        :param faults: What happens to the calls of this operation. A fault that did not happen is an error: its pattern may be
            misspelt.
        :param check: Whether a failed operation raises its error; its result is returned otherwise.
        :raises InvalidInputError: for what is no program, no configuration or no fault, and for options that are refused; the program and the
            configuration are those from before then.
        :raises AssertionError: for a fault that did not happen, and when the first operation that runs a program has neither a type nor a
            function for a pattern of ``outputs``, ``replace_on``, ``delete_before_replace`` or ``functions``.
        """
        refuse_unknown("up", options, _PROGRAM_OPTIONS)
        return self._operate("up", program, config, faults, check, options)

    def preview(
        self,
        program: Program | None = None,
        *,
        config: Mapping[str, PropertyValue] | None = None,
        faults: Iterable[Fault] = (),
        check: bool = True,
        **options: Unpack[OperationOptions],
    ) -> SimulatedResult:
        """Computes what :meth:`up` would do; the program and configuration that are given hold for this preview alone."""
        refuse_unknown("preview", options, _PROGRAM_OPTIONS)
        before = self.program, self.settings.get("config")
        try:
            return self._operate("preview", program, config, faults, check, options)
        finally:
            self.program, self.settings["config"] = before

    def refresh(
        self, *, faults: Iterable[Fault] = (), check: bool = True, **options: Unpack[OperationOptions]
    ) -> SimulatedResult:
        """Reads every thing and records what is there."""
        refuse_unknown("refresh", options, _OWN_OPTIONS)
        return self._operate("refresh", None, None, faults, check, options)

    def destroy(
        self, *, faults: Iterable[Fault] = (), check: bool = True, **options: Unpack[OperationOptions]
    ) -> SimulatedResult:
        """Deletes every resource."""
        refuse_unknown("destroy", options, _OWN_OPTIONS)
        return self._operate("destroy", None, None, faults, check, options)

    def _operate(
        self,
        verb: Verb,
        program: Program | None,
        config: Mapping[str, PropertyValue] | None,
        faults: Iterable[Fault],
        check: bool,
        options: OperationOptions,
    ) -> SimulatedResult:
        if program is not None:
            _require_program(program)
        require_config(config)
        faults = listed("faults", faults, "a list of faults")
        self._simulation.set_faults(document_of_faults(faults))
        before = self.program, self.settings.get("config")
        if program is not None:
            self.program = program
        if config is not None:
            self.settings["config"] = dict(config)
        try:
            result = SimulatedResult.of(_background.run(self._run(verb, options)))
        except InvalidInputError:
            # Nothing has run: what was refused is not that of the next operations.
            self.program, self.settings["config"] = before
            raise
        self._last = result
        self._save_recording(result)
        if faults and (unused := self._simulation.unused_faults()):
            raise AssertionError(self._unused(unused, result.error)) from result.error
        self._simulation.set_faults(b"[]")
        if check and result.error is not None:
            error = result.error
            if isinstance(error, StackwrightError):
                error.result = result
            raise error
        if self._checks_patterns and verb in ("up", "preview") and result.error is None:
            self._checks_patterns = False
            self._refuse_unmatched(options)
        return result

    async def _run(self, verb: Verb, options: OperationOptions) -> Any:
        stack = await self._open()
        runs_program = verb in ("up", "preview") or options.get(f"{verb}_program") is True
        if runs_program and self.program is None and not stack._native.has_program:
            raise InvalidInputError(f"the stack {self.name} has no program; give one to simulate() or up(), or a project that has one")
        if verb == "up":
            operation: Operation = stack.up(**options)
        elif verb == "preview":
            operation = stack.preview(**options)
        elif verb == "refresh":
            operation = stack.refresh(**options)
        else:
            operation = stack.destroy(**options)
        return await operation.wait()

    async def _open(self) -> Stack:
        self._refuse_closed()
        if self._native_engine is None:
            self._native_engine = _Engine(self._simulation, self._answers, **self._engine_settings)
        return await self._native_engine.stack(self.name, self.program, create=True, **self.settings)

    def _unused(self, unused: Sequence[str], failure: BaseException | None) -> str:
        calls = sorted({f"{call.call} of {call.type!r} named {call.name!r}" for call in self.calls})
        listed = "\n  ".join(calls) or "none"
        failed = "" if failure is None else f"\nthe operation has failed: {failure}"
        return f"faults did not happen: {'; '.join(unused)}{failed}\nthe calls were:\n  {listed}"

    def _refuse_unmatched(self, options: Iterable[str]) -> None:
        """Refuses patterns of the settings that have matched nothing: they may be misspelt. After an operation with options that limit it,
        that is not known."""
        if not _LIMITS.isdisjoint(options):
            return
        unmatched = json.loads(self._simulation.unmatched_patterns())
        if unmatched:
            raise AssertionError(_unmatched_text(unmatched, self.calls))

    # ---- what there is ----

    @property
    def result(self) -> SimulatedResult:
        """The result of the last operation."""
        if self._last is None:
            raise InvalidInputError("the stack has had no operation yet; call up()")
        return self._last

    @property
    def resources(self) -> Resources:
        """The resources of the last result."""
        return self.result.resources

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps of the last result."""
        return self.result.steps

    @property
    def outputs(self) -> Mapping[str, OutputValue[PropertyValue]]:
        """The outputs of the stack in the last result."""
        return self.result.outputs

    @property
    def calls(self) -> list[Call]:
        """The calls of providers, in the order in which they began; ``calls.clear()`` is :meth:`clear_calls`."""
        return [Call(**call) for call in json.loads(self._simulation.calls())]

    def clear_calls(self) -> None:
        """Forgets the calls so far."""
        self._simulation.clear_calls()

    def stack(self) -> SyncStack:
        """Returns the stack itself, for edits of its state, its history and the rest of its methods."""
        return SyncStack(_background.run(self._open()))

    # ---- crashes ----

    @property
    def killed_at(self) -> str | None:
        """What the last run was killed at by :func:`kill`; ``None`` while it lives."""
        return self._simulation.killed_at

    def restart(self) -> None:
        """Begins anew with another engine on the same store, as another process does after a run that was killed."""
        self._refuse_closed()
        self._end_engine()
        self._simulation.begin_run(None)

    def discrepancies(self) -> list[str]:
        """Compares the world with the state of the last result: what exists and is not recorded, and what is recorded and does not
        exist. What is retained, or deleted with another resource, is neither. Records of real providers are not compared; what these have
        created in calls that no record has is listed."""
        return self._simulation.discrepancies(self.result._native)

    def close(self) -> None:
        """Ends the threads of the engine. Later operations are refused; results and the world can still be read."""
        self._is_closed = True
        self._end_engine()

    def _refuse_closed(self) -> None:
        if self._is_closed:
            raise InvalidInputError(f"the simulated stack {self.name} is closed")

    def _end_engine(self) -> None:
        engine, self._native_engine = self._native_engine, None
        if engine is not None:
            _background.run(engine.close())

    def __enter__(self) -> SimulatedStack:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<SimulatedStack {self.name}: {len(self.world)} things>"

    def _save_recording(self, result: SimulatedResult) -> None:
        if self._record is not None and (recorded := self._simulation.recorded(result._native)) is not None:
            write_file("record", self._record, recorded)


_OWN_OPTIONS: Final = ("faults", "check")
_PROGRAM_OPTIONS: Final = ("program", "config", *_OWN_OPTIONS)
_SIMULATE_OPTIONS: Final = (*SimulationSettings.__annotations__, "program", "faults", "run")
_LIMITS: Final = frozenset(("targets", "excludes"))
"""Options with which an operation need not reach all that the program registers."""


def _unmatched_text(unmatched: Sequence[Mapping[str, Any]], calls: Sequence[Call]) -> str:
    lines = ["patterns match nothing that the program uses (allow_unmatched=True accepts them):"]
    for found in unmatched:
        hint = f"; did you mean {' or '.join(map(repr, found['nearest']))}?" if found["nearest"] else ""
        lines.append(f"  {found['setting']}: {found['pattern']!r}{hint}")
    tokens = sorted({call.type for call in calls})
    return "\n".join([*lines, "the types and functions of its calls were:", *(f"  {token}" for token in tokens or ["none"])])


def _require_program(program: object) -> None:
    if isinstance(program, Mapping):
        raise InvalidInputError("program takes a function, not a dictionary; a configuration is given by its name: config={…}")
    require_program("program", program)


_SCHEMAS: Final = "a list of schemas of packages: dictionaries, or paths of JSON files"


def _schema(schema: Schema) -> Any:
    if isinstance(schema, Mapping):
        return dict(schema)
    require_given("schemas", schema, (str, os.PathLike), _SCHEMAS)
    try:
        return json.loads(read_file("schemas", Path(schema)))
    except ValueError as error:
        raise InvalidInputError(f"schemas: {schema} is no JSON: {error}") from error


def simulate(
    program: Program | None = None,
    *,
    stack: str | None = None,
    config: Mapping[str, PropertyValue] | None = None,
    functions: Mapping[str, Answer] | None = None,
    outputs: Mapping[str, Outputs] | None = None,
    schemas: Sequence[Schema] = (),
    replace_on: Mapping[str, Sequence[str]] | None = None,
    delete_before_replace: Sequence[str] = (),
    existing: Mapping[str, Mapping[str, Mapping[str, PropertyValue]]] | None = None,
    stacks: Mapping[str, Mapping[str, PropertyValue]] | None = None,
    providers: Mapping[str, object] | None = None,
    real: Sequence[str] = (),
    record: str | os.PathLike[str] | None = None,
    plugins: Plugins | None = None,
    state: Mapping[str, Any] | bytes | str | None = None,
    passphrase: str | None = None,
    project: str | os.PathLike[str] | None = None,
    settings: StackSettings | None = None,
    allow_unmatched: bool = False,
    faults: Iterable[Fault] = (),
    run: bool = True,
    **options: Unpack[OperationOptions],
) -> SimulatedStack:
    """Runs a program with the real engine, in memory, against simulated providers.

    Any package is served: outputs repeat the inputs, and ids are generated, the same ones for equal programs. Types in patterns are
    tokens (``aws:s3/bucket:Bucket``, or ``aws:s3:Bucket``), in which ``*`` is any text.

    :param program: A function of this package's API or of a Pulumi SDK. Without one, that of ``project`` is run.
    :param stack: The name, as ``project/stack``: ``project/test`` when left out, or the stack ``test`` of ``project``.
    :param config: The configuration.
    :param functions: The results of functions and methods by their tokens: dictionaries, or functions of the arguments.
    :param outputs: Outputs of resources beside their inputs, by patterns of types: dictionaries, or functions of a
        :class:`Subject` with ``type``, ``name``, ``id``, ``inputs`` and ``outputs``.
    :param schemas: The schemas of packages, or the paths of their files: inputs are checked and completed, outputs have their types,
        secret ones are secret, and properties that replace do.
    :param replace_on: By patterns of types, the paths of properties whose changes replace the resource.
    :param delete_before_replace: Patterns of types whose replacements delete first.
    :param existing: What exists before, for reads and imports: properties by type and id.
    :param stacks: The outputs of other stacks, for stack references: by ``project/stack``, with an organization before, or by the name of a
        stack of the same project. A :class:`~stackwright.Secret` is one in the reference, too.
    :param providers: Real providers in this process by package; see :class:`stackwright.Provider`. Faults and crashes work on them, too.
    :param real: Packages whose plugins are started. With ``record``, their providers construct their remote components, which no recording
        has, and everything else is played.
    :param record: The file of a recording. Where it does not exist, all providers are real, and their calls are recorded; where it
        does, they are played and no provider is needed. It has types, names, ids, inputs and outputs; secrets are masked.
    :param plugins: Where plugins of ``real`` packages and of recordings are looked for.
    :param state: The state to begin with, as a deployment document.
    :param passphrase: The passphrase of the secrets in ``state``.
    :param project: The folder of a project, for its configuration and its program.
    :param settings: Further settings of the stack.
    :param allow_unmatched: Whether patterns of ``outputs``, ``replace_on``, ``delete_before_replace`` and ``functions`` may match nothing, as
        where a program reaches a type with some configurations only. Otherwise that is an error after the first operation which runs a
        program: the pattern may be misspelt. Operations with ``targets`` or ``excludes`` do not count.
    :param faults: What happens to the calls of the first update.
    :param run: Whether the program is run at once. With ``False``, call :meth:`SimulatedStack.up`.
    :param options: Options of the first update.
    """
    refuse_unknown("simulate", options, _SIMULATE_OPTIONS)
    if program is not None:
        _require_program(program)
    require_config(config)
    require("record", record, (str, os.PathLike), "the path of a file")
    require("settings", settings, Mapping, "a dictionary of settings of the stack")
    answers, answered, computed, data = read_answers(functions, outputs)
    file = None if record is None else Path(record)
    played = read_file("record", file) if file is not None and file.exists() else None
    document = {
        "schemas": [_schema(schema) for schema in listed("schemas", schemas, _SCHEMAS)],
        "replace_on": {
            pattern: texts(f"replace_on of {pattern!r}", paths, "a list of paths")
            for pattern, paths in by_names("replace_on", replace_on, "a dictionary of lists of paths by types").items()
        },
        "delete_before_replace": texts("delete_before_replace", delete_before_replace, "a list of types"),
        "answered_functions": answered,
        "answered_outputs": computed,
        "real": texts("real", real, "a list of packages"),
        "records": file is not None and played is None,
        "played": None if played is None else str(file),
    }
    things = [
        (type, id, by_names(f"existing of {type!r} with the id {id!r}", properties, "a dictionary of properties"))
        for type, known in by_names("existing", existing, "a dictionary of things by types and ids").items()
        for id, properties in by_names(f"existing of {type!r}", known, "a dictionary of things by ids").items()
    ]
    others = {
        name: by_names(f"stacks of {name!r}", known, "a dictionary of outputs")
        for name, known in by_names("stacks", stacks, "a dictionary of outputs by the names of stacks").items()
    }
    document_of_faults(faults)
    simulation = Simulation(json.dumps(document).encode(), data, things, others, played)
    engine: dict[str, Any] = {"providers": providers, "plugins": plugins, "passphrase": passphrase}
    given: dict[str, Any] = {**(settings or {}), "config": config, "project": project}
    name = stack or ("project/test" if project is None else "test")
    simulated = SimulatedStack(
        simulation, answers, name, program, given, engine, file if played is None else None, allow_unmatched
    )
    if state is not None:
        simulated.stack().import_deployment(state, force=True)
        # A preview without a program reads the state.
        recorded = _background.run(_recorded(simulated))
        simulation.adopt(recorded._native)
    if run:
        simulated.up(faults=faults, **options)
    return simulated


async def _recorded(simulated: SimulatedStack) -> Any:
    stack = await simulated._open()
    return await stack.destroy(dry_run=True, ignore_protect=True).wait()
