"""Providers written in Python: the class to derive from, and what its methods are given and return.

Methods are called concurrently. Ordinary ones run on threads of the engine, so they may block; ``async`` ones run on one
event loop that all providers of an engine share. Every method but ``create`` and ``delete`` is optional: what a class
does not define is answered by the engine itself, without a call. Only a change has no such answer: without ``update``, it
fails, unless ``diff`` reports that the change needs a replacement.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Literal, TypedDict

from . import _callback
from ._bodies import BODIES, body
from ._callback import Described
from ._checks import require, require_function
from ._raised import Raised
from ._record import field, record
from ._stackwright import (
    Autonaming,
    CheckRequest,
    ConfigureRequest,
    ConstructRequest,
    CreateRequest,
    DeleteRequest,
    DiffRequest,
    InvokeRequest,
    MappingRequest,
    MethodRequest,
    ReadRequest,
    ResolutionRequest,
    SchemaRequest,
    UpdateRequest,
)
from .errors import CheckFailure, InitFailure, InvalidInputError, ProviderError, Status
from .program import Context
from .values import PropertyValue

__all__ = [
    "Autonaming",
    "CheckFailure",
    "CheckRequest",
    "CheckResult",
    "ComponentOptions",
    "ConfigureRequest",
    "ConstructRequest",
    "CreateRequest",
    "CreateResult",
    "DeleteRequest",
    "DiffKind",
    "DiffRequest",
    "DiffResult",
    "InitFailure",
    "InvokeRequest",
    "InvokeResult",
    "MappingRequest",
    "MappingResult",
    "MethodRequest",
    "PropertyDiff",
    "Provider",
    "ProviderError",
    "ReadRequest",
    "ReadResult",
    "ResolutionRequest",
    "Resolver",
    "SchemaRequest",
    "Status",
    "UpdateRequest",
    "UpdateResult",
    "View",
    "ViewStep",
]

Values = Mapping[str, PropertyValue]


class ComponentOptions(TypedDict, total=False):
    """Options of a component, as its provider gets them: only those that are given. Resources are URNs."""

    protect: bool
    delete_before_replace: bool
    retain_on_delete: bool
    ignore_changes: list[str]
    replace_on_changes: list[str]
    additional_secret_outputs: list[str]
    depends_on: list[str]
    deleted_with: str
    replace_with: list[str]
    replacement_trigger: PropertyValue
    custom_timeouts: dict[str, float]
    """Limits of the provider's calls in seconds, by ``create``, ``update``, ``delete`` and ``read``."""
    aliases: list[str]
    """Former URNs."""
    providers: dict[str, str]
    """References of providers, ``<urn>::<id>``, by package."""


ViewOp = Literal[
    "same",
    "create",
    "update",
    "delete",
    "replace",
    "create-replacement",
    "delete-replaced",
    "read",
    "read-replacement",
    "refresh",
    "discard",
    "discard-replaced",
    "remove-pending-replace",
    "import",
    "import-replacement",
]
DiffKind = Literal["add", "add-replace", "delete", "delete-replace", "update", "update-replace"]


@record(frozen=True, slots=True)
class CheckResult:
    """Checked inputs."""

    inputs: Values
    failures: Sequence[CheckFailure] = ()


@record(frozen=True, slots=True)
class PropertyDiff:
    """How one property differs."""

    kind: DiffKind
    input_diff: bool = False
    """Whether it differs between old and new inputs, not between old state and new inputs."""


@record(frozen=True, slots=True)
class DiffResult:
    """What a comparison found."""

    changes: bool | None = None
    """Whether anything differs; ``None`` lets the engine compare the inputs itself."""
    replaces: Sequence[str] = ()
    """Properties whose change needs a replacement."""
    diffs: Sequence[str] = ()
    """Properties that differ."""
    stables: Sequence[str] = ()
    """Properties that will not change."""
    detailed: Mapping[str, DiffKind | PropertyDiff] | None = None
    """How each property differs, by path."""
    delete_before_replace: bool = False
    """Whether a replacement must delete first."""


def _names(values: Values) -> str:
    return "{" + ", ".join(f"{name!r}: ..." for name in values) + "}"


@record(frozen=True, slots=True)
class View:
    """A part of a resource that its provider reports, and that is shown and recorded as a resource of its own."""

    type: str
    name: str
    inputs: Values = field(default_factory=dict)
    outputs: Values = field(default_factory=dict)
    parent: tuple[str, str] | None = None
    """Type and name of the view that it lies in; ``None`` when it lies in the resource itself."""

    def __repr__(self) -> str:
        # A provider that declines secrets gets their plain values: only the names of properties are shown.
        inputs, outputs = _names(self.inputs), _names(self.outputs)
        return f"View(type={self.type!r}, name={self.name!r}, inputs={inputs}, outputs={outputs}, parent={self.parent!r})"


@record(frozen=True, slots=True)
class ViewStep:
    """What a provider has done to a view, or would do while previewing: ``request.publish_views([ViewStep(...)])``.

    The engine only records and shows it: after the step of the resource, and before a deletion.
    """

    op: ViewOp
    """What was done; during a refresh, what the refresh of the view came to."""
    new: View | None = None
    """The state after; needed by all that leaves a view behind."""
    old: View | None = None
    """The state before; the recorded one counts where there is one."""
    type: str | None = None
    """The type of the view; that of the states when left out."""
    name: str | None = None
    """The name of the view; that of the states when left out."""
    keys: Sequence[str] = ()
    """Properties that force a replacement."""
    diffs: Sequence[str] = ()
    """Properties that differ."""
    detailed: Mapping[str, DiffKind | PropertyDiff] | None = None
    """How each property differs, by path."""
    status: Literal["ok", "partial-failure", "unknown"] = "ok"
    """What is known of the view after a failure."""
    error: str = ""
    """What went wrong; empty when nothing did."""


@record(frozen=True, slots=True)
class CreateResult:
    """What was created."""

    id: str
    """The id; may be empty only while previewing."""
    outputs: Values = field(default_factory=dict)
    refresh_before_update: bool = False


@record(frozen=True, slots=True)
class ReadResult:
    """A resource as it is."""

    id: str
    outputs: Values | None = field(default_factory=dict)
    inputs: Values | None = None
    """The inputs; ``None`` when the provider does not know them."""
    refresh_before_update: bool = False


@record(frozen=True, slots=True)
class UpdateResult:
    """What was changed."""

    outputs: Values = field(default_factory=dict)
    refresh_before_update: bool = False


@record(frozen=True, slots=True)
class InvokeResult:
    """What a function returned: its result, or the failures of its arguments."""

    result: Values = field(default_factory=dict)
    failures: Sequence[CheckFailure] = ()


@record(frozen=True, slots=True)
class MappingResult:
    """A mapping of a foreign provider to the package."""

    provider: str
    """The foreign provider."""
    data: bytes
    """The mapping, in the format that the converter defines."""


class Provider:
    """Manages the resources of one package. Derive from it and define what is needed, ``async`` or not.

    To fail, raise :class:`ProviderError` with a status, or :class:`InitFailure` when the resource exists all the same. Any
    other exception counts as status ``UNKNOWN``: of an update, a deletion or a read, the engine then reports that the state
    of the real thing is in doubt. A creation that fails has made nothing, as far as the engine can know: to report that
    something exists, raise :class:`InitFailure` with its id.
    """

    version: str | None = None
    """The version of the provider, as semantic versioning has it."""
    accept_secrets: bool = False
    """Whether secrets arrive as :class:`~stackwright.Secret`. Otherwise they arrive in the clear, and the engine
    marks outputs of secret inputs as secret itself."""
    supports_preview: bool = False
    """Whether ``create`` and ``update`` are also called while previewing, with ``request.preview`` set."""
    waits_for_registrations: bool = False
    """Whether calls may wait for what a later registration or step causes. They give way when all that the option
    ``parallel`` allows stand still, so ``parallel`` is no strict limit for them."""

    def __repr__(self) -> str:
        version = "" if self.version is None else f" {self.version}"
        return f"<{type(self).__name__}{version}>"

    def check_config(self, request: CheckRequest, /) -> CheckResult | Values | Awaitable[CheckResult | Values]:
        """Checks and completes the provider's own configuration."""
        raise NotImplementedError

    def diff_config(
        self, request: DiffRequest, /
    ) -> DiffResult | bool | None | Awaitable[DiffResult | bool | None]:
        """Compares two configurations; one that needs a replacement replaces all that the provider manages."""
        raise NotImplementedError

    def configure(self, request: ConfigureRequest, /) -> None | Awaitable[None]:
        """Takes the configuration; called once before any resource's call, and once for each provider resource."""
        raise NotImplementedError

    def check(self, request: CheckRequest, /) -> CheckResult | Values | Awaitable[CheckResult | Values]:
        """Checks a resource's inputs and completes them with defaults."""
        raise NotImplementedError

    def diff(self, request: DiffRequest, /) -> DiffResult | bool | None | Awaitable[DiffResult | bool | None]:
        """Compares a resource's state with new inputs."""
        raise NotImplementedError

    def create(
        self, request: CreateRequest, /
    ) -> CreateResult | tuple[str, Values] | Awaitable[CreateResult | tuple[str, Values]]:
        """Makes a resource and returns its id and outputs."""
        raise NotImplementedError

    def read(self, request: ReadRequest, /) -> ReadResult | None | Awaitable[ReadResult | None]:
        """Reads a resource as it is; ``None`` means that it does not exist."""
        raise NotImplementedError

    def update(self, request: UpdateRequest, /) -> UpdateResult | Values | Awaitable[UpdateResult | Values]:
        """Changes a resource in place and returns its outputs.

        A provider without it fails every change for which its ``diff`` demands no replacement.
        """
        raise NotImplementedError

    def delete(self, request: DeleteRequest, /) -> None | Awaitable[None]:
        """Removes a resource. One that does not exist any more is no error."""
        raise NotImplementedError

    def invoke(self, request: InvokeRequest, /) -> InvokeResult | Values | Awaitable[InvokeResult | Values]:
        """Calls a function of the package."""
        raise NotImplementedError

    def construct(
        self, ctx: Context, request: ConstructRequest, /
    ) -> InvokeResult | Values | None | Awaitable[InvokeResult | Values | None]:
        """Constructs a component, which is registered already, and returns its outputs. Secrets arrive as
        :class:`~stackwright.Secret` in any case: what the component registers stays secret with them. An
        :class:`InvokeResult` with failures refuses the inputs, as a :class:`ProviderError` with ``input_errors`` does.

        What is registered with ``ctx`` is below the component; the returned outputs may contain outputs of it::

            async def construct(self, ctx, request):
                note = ctx.resource("notes:index:Note", f"{request.name}-note", {"text": request.inputs["text"]})
                return {"id": note.id}
        """
        raise NotImplementedError

    def call(
        self, ctx: Context, request: MethodRequest, /
    ) -> InvokeResult | Values | None | Awaitable[InvokeResult | Values | None]:
        """Calls a method of a resource or a component, which is ``request.arguments["__self__"]``; ``ctx`` registers what
        the method makes."""
        raise NotImplementedError

    def get_schema(self, request: SchemaRequest, /) -> str | Mapping[str, Any] | Awaitable[str | Mapping[str, Any]]:
        """Returns the schema of the package, as JSON or as what becomes it; used by code generators and other tools."""
        raise NotImplementedError

    def get_mapping(self, request: MappingRequest, /) -> MappingResult | None | Awaitable[MappingResult | None]:
        """Returns a mapping from another ecosystem to the package, for converters; ``None`` means that there is none."""
        raise NotImplementedError

    def get_mappings(self, key: str, /) -> Sequence[str] | None | Awaitable[Sequence[str] | None]:
        """Names the foreign providers of an ecosystem (``terraform``) that the package has mappings of.

        Without it, or when it names none, ``get_mapping`` is called for the one that the package has.
        """
        raise NotImplementedError

    def cancel(self) -> None | Awaitable[None]:
        """Asks the provider to cancel what it is doing; running calls should fail soon.

        Not called while the provider serves other operations as well, whose calls would be meant, too.
        """
        raise NotImplementedError

    def close(self) -> None | Awaitable[None]:
        """Ends the provider; no call follows."""
        raise NotImplementedError


_METHODS: Final = (
    "check_config",
    "diff_config",
    "configure",
    "check",
    "diff",
    "create",
    "read",
    "update",
    "delete",
    "invoke",
    "construct",
    "call",
    "get_schema",
    "get_mapping",
    "get_mappings",
    "cancel",
    "close",
)

Resolver = Callable[[ResolutionRequest], Any]
"""Decides what serves a package, for every provider instance: a function, ``async`` or not, that returns an address
(``"127.0.0.1:4711"``), an object that provides it, or ``None`` for what the engine finds itself."""

Description = tuple[list[tuple[str, Callable[..., Any], bool]], dict[str, Any]]


def describe(package: str, provider: object, raised: Raised) -> Description:
    """Lists what the native half needs to know of a provider: any object with methods of the right names."""
    if inspect.isclass(provider):
        raise InvalidInputError(
            f"the provider of {package!r} is the class {provider.__name__}; pass an instance, {provider.__name__}()"
        )
    version = getattr(provider, "version", None)
    require(f"version of the provider of {package!r}", version, str, "a text")
    methods: list[tuple[str, Callable[..., Any], bool]] = []
    for name in _METHODS:
        method = getattr(provider, name, None)
        if method is None or getattr(method, "__func__", None) is getattr(Provider, name):
            continue
        if not callable(method):
            raise InvalidInputError(f"the provider of {package!r} has a {name} that is not a method")
        count = 0 if name in ("cancel", "close") else 2 if name in BODIES else 1
        require_function(f"the provider of {package!r}", method, count, f"a method {name}")
        is_async = inspect.iscoroutinefunction(method)
        called = body(method, is_async, raised) if name in BODIES else method
        methods.append((name, raised.watched(called, is_async), is_async))
    defined = {name for name, _, _ in methods}
    missing = [name for name in ("create", "delete") if name not in defined]
    if missing and not defined & {"invoke", "construct", "call"}:
        raise InvalidInputError(f"the provider of {package!r} has no {' and no '.join(missing)} method")
    return methods, {
        "class": type(provider).__name__,
        "version": version,
        "accept_secrets": bool(getattr(provider, "accept_secrets", False)),
        "supports_preview": bool(getattr(provider, "supports_preview", False)),
        "waits_for_registrations": bool(getattr(provider, "waits_for_registrations", False)),
    }


def describe_all(providers: Mapping[str, object] | None, raised: Raised) -> dict[str, Description]:
    """Describes the providers of an engine.

    :raises InvalidInputError: for what is no dictionary of providers by the names of their packages.
    """
    require("providers", providers, Mapping, "a dictionary of providers by the names of their packages")
    for package in providers or {}:
        # A type names its package before the first colon.
        if not isinstance(package, str) or not package or not package.isprintable() or set(package) & set(" :/"):
            wanted = "a dictionary by the names of packages, which are texts without spaces, colons and slashes"
            raise InvalidInputError(f"providers takes {wanted}, not by {package!r}")
    return {name: describe(name, provider, raised) for name, provider in (providers or {}).items()}


def describe_resolver(resolver: Resolver, raised: Raised) -> Described:
    """Wraps a resolver so that it returns what the native half understands."""

    def understood(request: ResolutionRequest, resolution: object) -> object:
        known = resolution is None or isinstance(resolution, str)
        return resolution if known else describe(request.name, resolution, raised)

    if _callback.is_async(resolver):

        async def resolve_async(request: ResolutionRequest) -> object:
            return understood(request, await resolver(request))

        return resolve_async, True
    return (lambda request: understood(request, resolver(request))), False
