"""The native half of the package; private. `make test-python` compares this file with the module, by stubtest."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, final

from ._callback import Described
from .provider import ComponentOptions, View, ViewStep

__all__ = [
    "Autonaming",
    "CheckRequest",
    "Command",
    "Completions",
    "ConstructRequest",
    "ConfigureRequest",
    "CreateRequest",
    "DeleteRequest",
    "DiffRequest",
    "Display",
    "Engine",
    "Events",
    "FleetOperation",
    "FleetOrder",
    "FleetOutcome",
    "Graph",
    "InvokeRequest",
    "LogRecords",
    "MappingRequest",
    "MethodRequest",
    "Operation",
    "OperationOutcome",
    "Picture",
    "PluginLimits",
    "Project",
    "ReadRequest",
    "Registered",
    "Reply",
    "ResolutionRequest",
    "Run",
    "SchemaRequest",
    "Simulation",
    "Stack",
    "StackEvents",
    "StackRun",
    "UpdateRequest",
    "Worker",
    "check_options",
    "close_gate",
    "error_kinds",
    "refuse_name",
    "replace_project",
    "replace_settings",
    "find_outputs",
    "find_resources",
    "from_json",
    "matches_type",
    "missing_aliases",
    "plan_text",
    "resources_after",
    "round_trip",
    "settings_document",
    "run_command",
    "start_all",
    "text_difference",
    "to_json",
    "unmet",
]

_Callback = Callable[[Any, BaseException | None], None]
_Function = tuple[Callable[[dict[str, Any]], Any], bool, Completions, Completions]
_Packs = tuple[list[tuple[str, str, list[dict[str, Any]]]], Completions]
_Program = tuple[Callable[[Run], None], Completions | None, bool] | str

def check_options(of: str, options: dict[str, Any], owner: str) -> None: ...
def close_gate() -> None: ...
def run_command(arguments: Sequence[str]) -> int: ...
def error_kinds() -> list[tuple[str, str]]: ...
def refuse_name(part: str, name: str, owner: str, known: Sequence[str]) -> None: ...
def settings_document(folder: str, stack: str) -> str | None: ...
def replace_project(folder: str, document: str) -> None: ...
def replace_settings(folder: str, stack: str, document: str) -> None: ...
def find_outputs(inputs: dict[str, Any]) -> list[tuple[str, Any]]: ...
def from_json(text: str) -> dict[str, Any]: ...
def to_json(values: Mapping[str, Any]) -> str: ...
def round_trip(values: Mapping[str, Any]) -> dict[str, Any]: ...
def text_difference(expected: str, actual: str) -> str | None: ...
def resources_after(outcome: OperationOutcome) -> list[dict[str, Any]]: ...
def unmet(outcome: OperationOutcome, document: bytes) -> str | None: ...
def plan_text(outcome: OperationOutcome) -> str: ...
def missing_aliases(outcome: OperationOutcome, allow_components: bool) -> str | None: ...
def matches_type(pattern: str, token: str) -> bool: ...
def find_resources(pattern: str, urns: list[str]) -> tuple[list[int], list[str]]: ...

@final
class Simulation:
    def __new__(
        cls,
        document: bytes,
        outputs: dict[str, dict[str, Any]],
        existing: list[tuple[str, str, dict[str, Any]]],
        stacks: dict[str, dict[str, Any]],
        recording: bytes | None,
    ) -> Simulation: ...
    def set_faults(self, document: bytes) -> None: ...
    def unused_faults(self) -> list[str]: ...
    def unmatched_patterns(self) -> str: ...
    def begin_run(self, fatal_moment: int | None) -> None: ...
    @property
    def moments(self) -> int: ...
    @property
    def killed_at(self) -> str | None: ...
    def things(self) -> list[dict[str, Any]]: ...
    def change(self, resource_type: str, id: str, property: str, value: Any) -> bool: ...
    def unset(self, resource_type: str, id: str, property: str) -> bool: ...
    def remove(self, resource_type: str, id: str) -> bool: ...
    def put(self, resource_type: str, id: str, properties: dict[str, Any]) -> None: ...
    def existing_of(self, urn: str) -> list[tuple[str, str]]: ...
    def adopt(self, outcome: OperationOutcome) -> None: ...
    def calls(self) -> str: ...
    def clear_calls(self) -> None: ...
    def discrepancies(self, outcome: OperationOutcome) -> list[str]: ...
    def recorded(self, outcome: OperationOutcome) -> bytes | None: ...

@final
class LogRecords:
    def __new__(cls, level: str, capacity: int) -> LogRecords: ...
    def wait(self) -> str | None: ...
    def close(self) -> None: ...

@final
class Completions:
    def __new__(cls, wake: Callable[[], None] | None = None, *, silent: bool = False) -> Completions: ...
    def fileno(self) -> int: ...
    def push(self, job: Callable[[], object]) -> None: ...
    def drain(self) -> int: ...
    def close(self) -> None: ...
    def wait(self, seconds: float) -> bool: ...

@final
class Engine:
    def __new__(cls, settings: dict[str, Any]) -> Engine: ...
    def stack(
        self,
        name: str,
        document: bytes,
        opening: str | None,
        has_program: bool,
        config: dict[str, Any],
        deployment: bytes | None,
        journal: tuple[Callable[[str], Any], bool, Completions] | None,
        secrets: tuple[str | None, str | None, Described, Described] | None,
        completions: Completions,
        callback: _Callback,
    ) -> None: ...
    def project(self, folder: str, completions: Completions, callback: _Callback) -> None: ...
    def stacks(self, project: str | None, resource_counts: bool, completions: Completions, callback: _Callback) -> None: ...
    def cancel_run(
        self, run: str, requests: int | None, forget: bool, completions: Completions, callback: _Callback
    ) -> None: ...
    def plugins(
        self,
        request: bytes,
        subject: str,
        progress: Callable[[str], object] | None,
        completions: Completions,
        callback: _Callback,
    ) -> None: ...
    def metrics(self) -> str: ...
    def store_url(self) -> str: ...
    def close(self, completions: Completions, callback: _Callback) -> None: ...
    def abandon(self) -> None: ...

@final
class Command:
    def __new__(cls, plugins: bytes, threads: dict[str, Any]) -> Command: ...
    @staticmethod
    def on_engine(engine: Engine) -> Command: ...
    @staticmethod
    def version() -> str: ...
    def run(
        self,
        arguments: list[str],
        directory: str,
        environment: dict[str, str],
        stdin: bytes,
        write: Callable[[Literal["stdout", "stderr", "event"], str], None],
        program: _Program | None = None,
        events: bool = False,
        key_service: tuple[Described, Described] | None = None,
        runtime: tuple[str, str] | None = None,
    ) -> int: ...
    def abandon(self) -> None: ...

@final
class Stack:
    @property
    def name(self) -> str: ...
    def start(
        self,
        kind: Literal["update", "refresh", "destroy"],
        options: bytes,
        subject: str,
        program: _Program | None = None,
        plan: OperationOutcome | None = None,
        policies: _Packs | None = None,
    ) -> Operation: ...
    def in_set(
        self,
        depends_on: list[str],
        kind: Literal["update", "refresh", "destroy"],
        options: bytes,
        subject: str,
        program: _Program | None = None,
        plan: OperationOutcome | None = None,
        policies: _Packs | None = None,
    ) -> StackRun: ...
    def import_resources(self, request: bytes, options: bytes) -> Operation: ...
    def analyze(self, options: bytes, policies: _Packs | None, completions: Completions, callback: _Callback) -> None: ...
    def export(self, show_secrets: bool, completions: Completions, callback: _Callback) -> None: ...
    def edit(
        self,
        edit: bytes,
        subject: str,
        encryption: tuple[Described, Described] | None,
        completions: Completions,
        callback: _Callback,
    ) -> None: ...
    def move_resources(
        self, destination: Stack, edit: bytes, subject: str, completions: Completions, callback: _Callback
    ) -> None: ...
    def outputs(self, completions: Completions, callback: _Callback) -> None: ...
    def history(self, limit: int | None, page: int, completions: Completions, callback: _Callback) -> None: ...
    def referenced_stacks(self, completions: Completions, callback: _Callback) -> None: ...
    def resources(self, completions: Completions, callback: _Callback) -> None: ...
    def resource(self, urn: str, completions: Completions, callback: _Callback) -> None: ...
    def graph(self, completions: Completions, callback: _Callback) -> None: ...
    def picture(self, completions: Completions, callback: _Callback) -> None: ...
    def pending(self, completions: Completions, callback: _Callback) -> None: ...
    def adopt(self, pending: str, resource_id: str | None, replace: bool, options: bytes) -> Operation: ...
    def read_pending(self, pending: str, resource_id: str | None, completions: Completions, callback: _Callback) -> None: ...
    def forget_pending(
        self, pending: str, dry_run: bool, wait_for_lock: float | None, completions: Completions, callback: _Callback
    ) -> None: ...
    def list_tags(self, completions: Completions, callback: _Callback) -> None: ...
    def set_tag(self, name: str, value: str, completions: Completions, callback: _Callback) -> None: ...
    def remove_tag(self, name: str, completions: Completions, callback: _Callback) -> None: ...
    def break_lock(self, owner: str, completions: Completions, callback: _Callback) -> None: ...
    def unlock(self, completions: Completions, callback: _Callback) -> None: ...
    @property
    def has_program(self) -> bool: ...
    @property
    def organization(self) -> str: ...
    @property
    def tags(self) -> dict[str, str]: ...
    def remove(self, force: bool, wait_for_lock: float | None, completions: Completions, callback: _Callback) -> None: ...

@final
class Project:
    @property
    def folder(self) -> Path: ...
    def facts(self, completions: Completions, callback: _Callback) -> None: ...
    def set(self, path: str, value: bytes, completions: Completions, callback: _Callback) -> None: ...
    def remove(self, path: str, completions: Completions, callback: _Callback) -> None: ...
    def settings(self, stack: str, completions: Completions, callback: _Callback) -> None: ...
    def get_config(
        self, stack: str, path: str, passphrase: str | None, completions: Completions, callback: _Callback
    ) -> None: ...
    def list_config(
        self, stack: str, show_secrets: bool, passphrase: str | None, completions: Completions, callback: _Callback
    ) -> None: ...
    def set_config(
        self,
        stack: str,
        values: list[tuple[str, Any]],
        secret: bool | None,
        passphrase: str | None,
        completions: Completions,
        callback: _Callback,
    ) -> None: ...
    def remove_config(self, stack: str, paths: list[str], completions: Completions, callback: _Callback) -> None: ...

@final
class Operation:
    def cancel(self) -> None: ...
    def wait(self, completions: Completions, callback: Callable[..., None]) -> None: ...
    def release(self, completions: Completions, callback: _Callback) -> None: ...
    def events(self, with_lines: bool) -> Events: ...
    def display(self, form: Literal["lines", "screen", "page"], coloured: bool) -> Display: ...

@final
class StackRun: ...

@final
class FleetOperation:
    def operations(self) -> list[Operation]: ...
    def cancel(self) -> None: ...
    def wait(self, completions: Completions, callback: Callable[..., None]) -> None: ...
    def events(self, with_lines: bool) -> StackEvents: ...
    def display(self, form: Literal["lines", "screen", "page"], coloured: bool) -> Display: ...

@final
class StackEvents:
    def next(self, completions: Completions, callback: _Callback) -> None: ...

@final
class FleetOutcome:
    @property
    def error(self) -> BaseException | None: ...
    @property
    def outcome(self) -> Literal["succeeded", "failed", "canceled"]: ...
    @property
    def skipped(self) -> list[str]: ...
    @property
    def changes(self) -> dict[str, int]: ...
    @property
    def duration(self) -> float: ...
    def tree(self) -> str: ...

def start_all(
    engine: Engine, kind: str, runs: list[StackRun], options: bytes, subject: str
) -> FleetOperation: ...

@final
class FleetOrder:
    def __new__(
        cls, verb: str, stacks: list[tuple[str, list[str], list[str]]], max_stacks: int
    ) -> FleetOrder: ...
    def next_turn(self) -> tuple[int, BaseException | None] | None: ...
    def ended(self, place: int, error: tuple[str, str] | None = None, is_unknown: bool = False) -> None: ...
    def run_again(self, place: int, after: list[str]) -> None: ...
    def cancel(self) -> None: ...
    def unfinished(self) -> list[int]: ...
    def is_over(self) -> bool: ...
    def error(self) -> BaseException | None: ...

@final
class PluginLimits:
    def __new__(cls, limit: int) -> PluginLimits: ...

@final
class Display:
    def next(self, columns: int, rows: int, completions: Completions, callback: _Callback) -> None: ...

@final
class Events:
    def next(self, completions: Completions, callback: _Callback) -> None: ...

@final
class Graph:
    def document(self) -> str: ...
    def picture(self) -> Picture: ...

@final
class Picture:
    @staticmethod
    def of_plan(document: str) -> Picture: ...
    @property
    def title(self) -> str: ...
    def to_html(self) -> str: ...
    def to_mermaid(self) -> str: ...
    def to_dot(self) -> str: ...
    def __len__(self) -> int: ...

@final
class OperationOutcome:
    def picture(self) -> Picture: ...
    @property
    def has_plan(self) -> bool: ...
    @property
    def plan_document(self) -> str | None: ...
    def deployment(self) -> bytes | None: ...
    @property
    def error(self) -> BaseException | None: ...
    @property
    def outcome(self) -> Literal["succeeded", "failed", "canceled"]: ...
    @property
    def changes(self) -> dict[str, int]: ...
    @property
    def outputs(self) -> dict[str, Any]: ...
    @property
    def steps(self) -> list[dict[str, Any]]: ...
    @property
    def suggested_moves(self) -> list[dict[str, Any]]: ...
    @property
    def diagnostics(self) -> list[dict[str, Any]]: ...
    @property
    def imported(self) -> dict[str, Any] | None: ...
    @property
    def dropped_pending(self) -> list[dict[str, Any]]: ...
    @property
    def is_recorded(self) -> bool: ...
    @property
    def unfinished_reads(self) -> list[str]: ...
    @property
    def has_changes(self) -> bool: ...
    @property
    def duration(self) -> float: ...
    def tree(self) -> str: ...

@final
class Run:
    @property
    def project(self) -> str: ...
    @property
    def stack(self) -> str: ...
    @property
    def organization(self) -> str: ...
    @property
    def root_directory(self) -> str | None: ...
    @property
    def config(self) -> dict[str, str]: ...
    def config_key(self, name: str) -> str: ...
    @property
    def config_secret_keys(self) -> list[str]: ...
    @property
    def dry_run(self) -> bool: ...
    @property
    def parallel(self) -> int: ...
    @property
    def root_urn(self) -> str | None: ...
    @property
    def ended(self) -> bool: ...
    def on_end(self, completions: Completions, callback: _Callback) -> None: ...
    def succeed(self) -> None: ...
    def fail(self, message: str, is_reported: bool = False) -> None: ...
    def call(self, method: str, request: bytes) -> tuple[int, Any]: ...
    def start(
        self, method: str, request: bytes, completions: Completions, callback: Callable[[int, Any], None]
    ) -> tuple[int, Any] | None: ...
    def serve_callbacks(
        self,
        target: str,
        function: Callable[[str, bytes], Awaitable[bytes]],
        start: Callable[[Callable[[str, bytes], Awaitable[bytes]], tuple[str, bytes], Reply], asyncio.Task[None]],
        completions: Completions,
    ) -> bool: ...
    def log(self, severity: str, message: str, urn: str | None = None) -> None: ...
    def give_up(
        self, resource_type: str, name: str, custom: bool, options: dict[str, Any] | None, message: str, hints: list[str]
    ) -> None: ...
    def declaration_unreadable(self, message: str, hints: list[str]) -> None: ...
    def learn(self, value: Any, is_secret: bool = False) -> None: ...
    def export(self, name: str, value: Any) -> None: ...
    def add_transform(self, function: _Function) -> None: ...
    def add_invoke_transform(self, function: _Function) -> None: ...
    def register_hook(
        self, hook: tuple[str, object, _Function, tuple[bool, bool] | None], derived: bool
    ) -> str: ...
    def register(
        self,
        resource_type: str,
        name: str,
        kind: str,
        inputs: dict[str, Any],
        dependencies: Sequence[str],
        property_dependencies: dict[str, list[str]] | None,
        options: dict[str, Any] | None,
        attached: tuple[list[_Function], dict[str, list[str]]] | None,
        completions: Completions,
        callback: Callable[[Registered | None, BaseException | None], None],
    ) -> None: ...
    def register_outputs(
        self, urn: str, outputs: Mapping[str, Any], completions: Completions, callback: _Callback
    ) -> None: ...
    def read(
        self,
        resource_type: str,
        name: str,
        id: str,
        inputs: dict[str, Any],
        dependencies: Sequence[str],
        options: dict[str, Any] | None,
        completions: Completions,
        callback: Callable[[Registered | None, BaseException | None], None],
    ) -> None: ...
    def exists(
        self,
        resource_type: str,
        id: str,
        inputs: dict[str, Any],
        dependencies: Sequence[str],
        options: dict[str, Any] | None,
        completions: Completions,
        callback: _Callback,
    ) -> None: ...
    def call_method(
        self,
        token: str,
        of: str | None,
        arguments: dict[str, Any],
        argument_dependencies: dict[str, list[str]] | None,
        options: dict[str, Any] | None,
        completions: Completions,
        callback: Callable[[tuple[dict[str, Any], list[str]] | None, BaseException | None], None],
    ) -> None: ...
    def invoke(
        self,
        token: str,
        arguments: dict[str, Any],
        dependencies: Sequence[str],
        options: dict[str, Any] | None,
        in_transform: bool,
        completions: Completions,
        callback: _Callback,
    ) -> None: ...

@final
class Registered:
    @property
    def output_sources(self) -> list[str]: ...
    def sources_of(self, output: str) -> list[str]: ...
    @property
    def urn(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def outputs(self) -> dict[str, Any]: ...
    @property
    def unknown(self) -> bool: ...
    @property
    def failed(self) -> bool: ...
    @property
    def skipped(self) -> bool: ...

@final
class Worker:
    def serve(self) -> None: ...

@final
class Reply:
    def succeed(self, value: Any) -> None: ...
    def fail(self, raised: BaseException) -> None: ...

@final
class ResolutionRequest:
    """Which plugin is needed."""

    @property
    def kind(self) -> Literal["resource", "analyzer", "language"]: ...
    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str | None: ...
    @property
    def download_url(self) -> str: ...
    @property
    def checksums(self) -> dict[str, str]: ...
    @property
    def path(self) -> str:
        """Policy packs: the folder or file of the pack, as the options of the operation have it; else empty."""
    @property
    def config(self) -> dict[str, Any]:
        """Policy packs: the settings by policy, as the options of the operation have them; else empty."""

@final
class Autonaming:
    """How a real thing is to be named."""

    @property
    def proposed_name(self) -> str:
        """The name; empty when there must be none."""
    @property
    def mode(self) -> Literal["propose", "enforce", "disable"]:
        """``propose``: the provider may change the name; ``enforce``: it must take it, or fail; ``disable``: it must make
        up none, the program has to give one."""

@final
class CheckRequest:
    """Asks for a check of inputs, of a resource or of the provider's own configuration."""

    @property
    def urn(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def old_inputs(self) -> dict[str, Any] | None:
        """The recorded inputs; ``None`` when there are none, as for a resource that is to be created."""
    @property
    def old_outputs(self) -> dict[str, Any] | None:
        """The recorded outputs; ``None`` where there are no recorded inputs."""
    @property
    def inputs(self) -> dict[str, Any]:
        """The inputs that the program asks for."""
    @property
    def random_seed(self) -> bytes:
        """Bytes that are the same whenever this registration is checked again: a seed for names. Empty for configurations."""
    @property
    def preview(self) -> bool:
        """Whether this is a preview: unknowns may occur among the inputs."""
    @property
    def autonaming(self) -> Autonaming | None:
        """How the real thing is to be named; ``None`` leaves that to the provider."""

@final
class DiffRequest:
    """Asks for a comparison."""

    @property
    def urn(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def old_inputs(self) -> dict[str, Any]:
        """The recorded inputs."""
    @property
    def old_outputs(self) -> dict[str, Any]:
        """The recorded outputs."""
    @property
    def inputs(self) -> dict[str, Any]:
        """The new inputs, as ``check`` left them."""
    @property
    def ignore_changes(self) -> list[str]:
        """Paths whose changes are ignored: ``inputs`` has their recorded values already."""
    @property
    def preview(self) -> bool:
        """Whether this is a preview: unknowns may occur among the inputs."""

@final
class ConfigureRequest:
    """Configures a provider."""

    @property
    def urn(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def inputs(self) -> dict[str, Any]:
        """The configuration, as ``check_config`` left it."""

@final
class CreateRequest:
    """Asks for a creation."""

    @property
    def urn(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def inputs(self) -> dict[str, Any]:
        """The inputs, as ``check`` left them."""
    @property
    def timeout(self) -> float:
        """How long it may take, in seconds, from the option ``custom_timeouts``; 0 leaves it to the provider.
        The engine only passes it on: it ends no call itself."""
    @property
    def preview(self) -> bool:
        """Whether this is a preview: nothing may be made. Only a provider that ``supports_preview`` is asked then."""
    def publish_views(self, steps: Iterable[ViewStep]) -> None:
        """Reports the steps on views of the resource, in that order: all of them are taken over, or none."""

@final
class ReadRequest:
    """Asks for a resource as it is."""

    @property
    def urn(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def inputs(self) -> dict[str, Any]:
        """The recorded inputs, when there are any."""
    @property
    def outputs(self) -> dict[str, Any]:
        """The recorded outputs, when there are any."""
    @property
    def timeout(self) -> float:
        """How long it may take, in seconds, from the option ``custom_timeouts``; 0 leaves it to the provider.
        The engine only passes it on: it ends no call itself."""
    @property
    def preview(self) -> bool:
        """Whether this is a preview."""
    @property
    def old_views(self) -> list[View]:
        """The recorded views of the resource."""
    def publish_views(self, steps: Iterable[ViewStep]) -> None:
        """Reports the steps on views of the resource, in that order: all of them are taken over, or none."""

@final
class UpdateRequest:
    """Asks for a change in place."""

    @property
    def urn(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def old_inputs(self) -> dict[str, Any]:
        """The recorded inputs."""
    @property
    def old_outputs(self) -> dict[str, Any]:
        """The recorded outputs."""
    @property
    def inputs(self) -> dict[str, Any]:
        """The new inputs, as ``check`` left them."""
    @property
    def ignore_changes(self) -> list[str]:
        """Paths whose changes are ignored: ``inputs`` has their recorded values already."""
    @property
    def timeout(self) -> float:
        """How long it may take, in seconds, from the option ``custom_timeouts``; 0 leaves it to the provider.
        The engine only passes it on: it ends no call itself."""
    @property
    def preview(self) -> bool:
        """Whether this is a preview: nothing may be changed. Only a provider that ``supports_preview`` is asked then."""
    @property
    def old_views(self) -> list[View]:
        """The recorded views of the resource."""
    def publish_views(self, steps: Iterable[ViewStep]) -> None:
        """Reports the steps on views of the resource, in that order: all of them are taken over, or none."""

@final
class DeleteRequest:
    """Asks for a removal."""

    @property
    def urn(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def id(self) -> str: ...
    @property
    def inputs(self) -> dict[str, Any]:
        """The recorded inputs."""
    @property
    def outputs(self) -> dict[str, Any]:
        """The recorded outputs."""
    @property
    def timeout(self) -> float:
        """How long it may take, in seconds, from the option ``custom_timeouts``; 0 leaves it to the provider.
        The engine only passes it on: it ends no call itself."""
    @property
    def old_views(self) -> list[View]:
        """The recorded views of the resource."""
    def publish_views(self, steps: Iterable[ViewStep]) -> None:
        """Reports the steps on views of the resource, in that order: all of them are taken over, or none."""

@final
class InvokeRequest:
    """Calls a function of the package."""

    @property
    def token(self) -> str:
        """The function, as ``package:module:member``."""
    @property
    def arguments(self) -> dict[str, Any]: ...
    @property
    def preview(self) -> bool:
        """Whether this is a preview."""

@final
class ConstructRequest:
    """Requests the construction of a component, which is registered already."""

    @property
    def urn(self) -> str:
        """The URN of the component."""
    @property
    def type(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def parent(self) -> str | None:
        """The URN of its parent."""
    @property
    def inputs(self) -> dict[str, Any]: ...
    @property
    def options(self) -> ComponentOptions:
        """The options of the component; only those that are given. What is below it inherits them."""
    @property
    def preview(self) -> bool:
        """Whether this is a preview: unknowns may occur among the inputs."""
    @property
    def _run(self) -> Run: ...

@final
class MethodRequest:
    """Calls a method of a resource, of a component, or of the provider itself."""

    @property
    def token(self) -> str:
        """The method, as ``package:module:Type/method``."""
    @property
    def arguments(self) -> dict[str, Any]: ...
    @property
    def _origins(self) -> list[str]: ...
    @property
    def preview(self) -> bool:
        """Whether this is a preview: unknowns may occur among the arguments."""
    @property
    def _run(self) -> Run: ...

@final
class SchemaRequest:
    """Asks for the schema of the package."""

    @property
    def subpackage_name(self) -> str:
        """The package that a parameter made of the provider; empty for the provider's own."""
    @property
    def subpackage_version(self) -> str:
        """Its version."""

@final
class MappingRequest:
    """Asks for a mapping from another ecosystem to the package."""

    @property
    def key(self) -> str:
        """The ecosystem, ``terraform`` for instance."""
    @property
    def provider(self) -> str:
        """The foreign provider, one of those that ``get_mappings`` named; empty when it named none."""
