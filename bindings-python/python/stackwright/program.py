"""Programs of the package's own API: a context to register resources with, and outputs to connect them.

A program is a function with one parameter, ``async`` or not. An ``async`` one runs on the event loop that started the
operation; an ordinary one runs on a thread of its own and waits with :meth:`Deferred.wait` where an ``async`` one awaits.

Registrations are eager: :meth:`Context.resource` registers at once, or as soon as the outputs among its inputs are known.
What it returns can be passed on without waiting for it. The program's end waits for everything that was registered.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, Literal, NoReturn, TypedDict, TypeVar

from ._bridge import Callback
from ._stackwright import Completions, Registered, Run, find_outputs
from .errors import InvalidInputError, NotFoundError
from .values import UNKNOWN, Awaited, PropertyValue, ResourceReference, Secret, is_unknown, secret

__all__ = ["Alias", "Config", "Context", "CustomTimeouts", "Invocation", "Output", "Resource", "ResourceOptions"]

T = TypeVar("T")
U = TypeVar("U")

Inputs = Mapping[str, PropertyValue]


class CustomTimeouts(TypedDict, total=False):
    """How long each call to the provider may take, in seconds."""

    create: float
    update: float
    delete: float
    read: float


class Alias(TypedDict, total=False):
    """A former name of a resource: the parts that differ."""

    name: str
    type: str
    stack: str
    project: str
    parent: Resource | str
    no_parent: bool


class ResourceOptions(TypedDict, total=False):
    """Options of a resource; each can be given by name to :meth:`Context.resource`."""

    parent: Resource | None
    """The parent; the stack when there is none."""
    depends_on: Sequence[Resource | Output[Any]]
    provider: Resource | str | None
    """The provider that manages it, as :meth:`Context.provider` returned it."""
    providers: Mapping[str, Resource | str]
    """A component's providers for its children, by package."""
    version: str
    plugin_download_url: str
    protect: bool | None
    delete_before_replace: bool | None
    retain_on_delete: bool | None
    ignore_changes: Sequence[str]
    replace_on_changes: Sequence[str]
    additional_secret_outputs: Sequence[str]
    hide_diffs: Sequence[str]
    aliases: Sequence[str | Alias]
    import_id: str
    """The id of an existing thing that is to be taken over."""
    custom_timeouts: CustomTimeouts
    deleted_with: Resource | None
    replace_with: Sequence[Resource]
    replacement_trigger: PropertyValue


_OPTIONS: Final = frozenset(ResourceOptions.__annotations__)


class Deferred(Awaited, Generic[T]):
    """Something that will be known: awaitable in ``async`` programs, with :meth:`wait` in ordinary ones."""

    __slots__ = ("_context", "_done", "_error", "_seen", "_waiters")

    def __init__(self, context: Context) -> None:
        self._context = context
        self._done = False
        self._error: BaseException | None = None
        self._seen = False
        self._waiters: list[Callable[[], None]] | None = None

    def _value(self) -> T:
        raise NotImplementedError

    def _finish(self, error: BaseException | None) -> None:
        self._done = True
        self._error = error
        waiters, self._waiters = self._waiters, None
        for waiter in waiters or ():
            waiter()

    def _when_done(self, waiter: Callable[[], None]) -> None:
        if self._done:
            waiter()
        elif self._waiters is None:
            self._waiters = [waiter]
        else:
            self._waiters.append(waiter)

    def _outcome(self) -> T:
        self._seen = True
        if self._error is not None:
            raise self._error
        return self._value()

    def __await__(self) -> Generator[Any, None, T]:
        if not self._done:
            loop = asyncio.get_running_loop()
            future: asyncio.Future[None] = loop.create_future()
            self._when_done(lambda: None if future.done() else future.set_result(None))
            yield from future.__await__()
        return self._outcome()

    def wait(self) -> T:
        """Waits for it: for programs that are not ``async``."""
        self._context._run_until(lambda: self._done)
        return self._outcome()


class Output(Awaited, Generic[T]):
    """A value that a resource will have: an input for others, which then depend on the resource.

    Awaiting it gives the value, without the dependency; in previews it may be unknown
    (:func:`~stackwright.is_unknown`), and a secret one is a :class:`~stackwright.Secret`.
    """

    __slots__ = ("_cached", "_read", "_sources")

    def __init__(self, sources: Sequence[Deferred[Any]], read: Callable[[], T]) -> None:
        self._sources = tuple(sources)
        self._read = read
        self._cached: tuple[T] | None = None

    @property
    def _done(self) -> bool:
        return all(source._done for source in self._sources)

    def _resolved(self) -> T:
        if self._cached is None:
            self._cached = (self._read(),)
        return self._cached[0]

    def __getitem__(self, key: str | int) -> Output[Any]:
        return self.apply(lambda value: _element(value, key))

    def apply(self, function: Callable[[T], U]) -> Output[U]:
        """Returns the output of ``function`` on the value: not called while that is unknown, secret when that is."""

        def read() -> Any:
            return _map(self._resolved(), function)

        return Output(self._sources, read)

    @staticmethod
    def all(*values: Any) -> Output[tuple[Any, ...]]:
        """Returns one output of several outputs, resources and plain values."""
        sources: list[Deferred[Any]] = []
        for _, found in find_outputs({"values": list(values)}):
            sources.extend(_sources_of(found))

        def read() -> Any:
            resolved = [_substitute(value) for value in values]
            if any(is_unknown(value) for value in resolved):
                return UNKNOWN
            plain = tuple(value.value if isinstance(value, Secret) else value for value in resolved)
            return Secret(plain) if any(isinstance(value, Secret) for value in resolved) else plain

        return Output(sources, read)

    @staticmethod
    def format(template: str, *values: Any) -> Output[str]:
        """Formats a text with outputs in it, as :meth:`str.format` does."""
        return Output.all(*values).apply(lambda resolved: template.format(*resolved))

    def __await__(self) -> Generator[Any, None, T]:
        for source in self._sources:
            yield from source.__await__()
        return self._resolved()

    def wait(self) -> T:
        """Waits for the value: for programs that are not ``async``."""
        for source in self._sources:
            source.wait()
        return self._resolved()

    def __bool__(self) -> NoReturn:
        raise TypeError("an output is neither true nor false before it is known; await it, or use apply()")

    def __str__(self) -> str:
        raise TypeError("an output has no text before it is known; use Output.format() or apply()")

    def __repr__(self) -> str:
        return "<Output>"


def _map(value: Any, function: Callable[[Any], Any]) -> Any:
    if isinstance(value, Secret):
        return secret(_map(value.value, function))
    if is_unknown(value):
        return UNKNOWN
    result = function(value)
    return result._resolved() if isinstance(result, Output) and result._done else result


def _element(value: Any, key: str | int) -> Any:
    try:
        return value[key]
    except (KeyError, IndexError, TypeError):
        return None


class Resource(Deferred["Resource"]):
    """A registered resource. ``resource["name"]`` is an output; awaiting it waits until it has been created or changed."""

    __slots__ = ("_children", "_registered", "custom", "name", "type")

    def __init__(self, context: Context, type_: str, name: str, custom: bool) -> None:
        super().__init__(context)
        self.type: Final = type_
        self.name: Final = name
        self.custom: Final = custom
        self._registered: Registered | None = None
        self._children: list[Resource] = []

    def _settle(self, registered: Registered | None, error: BaseException | None) -> None:
        self._registered = registered
        self._finish(error)

    def _value(self) -> Resource:
        return self

    @property
    def registered(self) -> Registered:
        """URN, id and outputs as plain values, once it is registered.

        :raises InvalidInputError: before that; await the resource first.
        """
        if self._error is not None:
            raise self._error
        if self._registered is None:
            raise InvalidInputError(f"the resource {self.name!r} is not registered yet; await it first")
        return self._registered

    @property
    def outputs(self) -> Mapping[str, PropertyValue]:
        """The outputs as plain values, once it is registered."""
        return self.registered.outputs

    @property
    def urn(self) -> Output[str]:
        """The URN."""
        return Output((self,), lambda: self.registered.urn)

    @property
    def id(self) -> Output[str]:
        """The id; unknown in previews of new resources."""
        return Output((self,), lambda: self.registered.id or UNKNOWN)  # type: ignore[arg-type, return-value]

    def __getitem__(self, name: str) -> Output[Any]:
        def read() -> Any:
            registered = self.registered
            outputs = registered.outputs
            if name in outputs:
                return outputs[name]
            # What is missing in a preview, or of a resource that was left out, may be there later.
            unknown = registered.unknown or registered.failed or (self.custom and self._context.dry_run)
            return UNKNOWN if unknown else None

        return Output((self,), read)

    def register_outputs(self, outputs: Inputs) -> Deferred[None]:
        """Says which outputs a component has; they may contain outputs of other resources."""
        if self.custom:
            raise InvalidInputError(f"only components register outputs, and {self.name!r} is none")
        return self._context._register_outputs(self, outputs)

    def _reference(self) -> str:
        """The text by which it is named as a provider."""
        return f"{self.registered.urn}::{self.registered.id or _UNKNOWN_ID}"

    def __repr__(self) -> str:
        return f"<Resource {self.type} {self.name!r}>"


_UNKNOWN_ID: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


class Invocation(Deferred[Mapping[str, PropertyValue]]):
    """A function's call; awaiting it gives its result, and ``invocation["name"]`` is an output."""

    __slots__ = ("_result", "token")

    def __init__(self, context: Context, token: str) -> None:
        super().__init__(context)
        self.token: Final = token
        self._result: Mapping[str, PropertyValue] = {}

    def _settle(self, result: Mapping[str, PropertyValue] | None, error: BaseException | None) -> None:
        self._result = result or {}
        self._finish(error)

    def _value(self) -> Mapping[str, PropertyValue]:
        return self._result

    def __getitem__(self, name: str) -> Output[Any]:
        return Output((self,), lambda: self._outcome().get(name, UNKNOWN if self._context.dry_run else None))


class _Task(Deferred[None]):
    """Work whose end the program's end waits for."""

    __slots__ = ()

    def _settle(self, _value: object, error: BaseException | None) -> None:
        self._finish(error)

    def _value(self) -> None:
        return None


class Config(Mapping[str, str]):
    """The stack's configuration as texts by ``namespace:name``; the project's namespace may be left out."""

    def __init__(self, project: str, values: Mapping[str, str], secret_keys: Iterable[str]) -> None:
        self._project = project
        self._values = values
        self._secret_keys = frozenset(secret_keys)

    def _key(self, name: str) -> str:
        return name if ":" in name else f"{self._project}:{name}"

    def __getitem__(self, name: str) -> str:
        return self._values[self._key(name)]

    def __iter__(self) -> Any:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def is_secret(self, name: str) -> bool:
        """Tells whether a value is secret."""
        return self._key(name) in self._secret_keys

    def require(self, name: str) -> str:
        """Returns a text.

        :raises NotFoundError: when the configuration does not have it.
        """
        try:
            return self[name]
        except KeyError:
            raise NotFoundError(f"the configuration has no {self._key(name)!r}") from None

    def secret(self, name: str) -> Secret[str]:
        """Returns a text as a secret value, to be passed on as an input."""
        return Secret(self.require(name))

    def object(self, name: str) -> PropertyValue:
        """Returns a structured value.

        :raises InvalidInputError: when the text is no JSON.
        """
        try:
            return json.loads(self.require(name))
        except ValueError as error:
            raise InvalidInputError(f"the configuration {self._key(name)!r} is no JSON: {error}") from None

    def __repr__(self) -> str:
        return f"<Config {sorted(self._values)}>"


def _sources_of(value: Any) -> Sequence[Deferred[Any]]:
    """Returns what must be known before ``value`` is; a component stands for all that has been put below it."""
    if isinstance(value, Output):
        return value._sources
    if isinstance(value, Resource) and value._children:
        return [value, *(source for child in value._children for source in _sources_of(child))]
    return (value,)


def _substitute(value: Any) -> Any:
    """Returns a copy of a value in which outputs and resources have given way to what they came to."""
    if isinstance(value, Output):
        return _substitute(value._resolved())
    if isinstance(value, Resource):
        registered = value.registered
        return ResourceReference(registered.urn, (registered.id or UNKNOWN) if value.custom else None)
    if isinstance(value, Invocation):
        return dict(value._outcome())
    if isinstance(value, Secret):
        return secret(_substitute(value.value))
    if isinstance(value, Mapping):
        return {key: _substitute(element) for key, element in value.items()}
    if isinstance(value, (list, tuple)):
        return [_substitute(element) for element in value]
    return value


class Context:
    """What a program registers its resources with. One run's own; to be used on the program's own thread."""

    def __init__(self, run: Run, completions: Completions, blocking: bool) -> None:
        self._run = run
        self._completions = completions
        self._blocking = blocking
        self._pending: list[Deferred[Any]] = []
        self._exports: dict[str, PropertyValue] = {}
        self.project: Final = run.project
        """The project."""
        self.stack: Final = run.stack
        """The stack, without its project."""
        self.organization: Final = run.organization
        self.dry_run: Final = run.dry_run
        """Whether this is a preview."""
        self.config: Final = Config(run.project, run.config, run.config_secret_keys)
        """The stack's configuration."""

    def resource(
        self,
        type_: str,
        name: str,
        inputs: Inputs | None = None,
        /,
        **options: Any,
    ) -> Resource:
        """Registers a resource of a package; ``options`` are those of :class:`ResourceOptions`.

        Outputs of other resources among the inputs become dependencies.
        """
        resource = Resource(self, type_, name, True)
        self._register(resource, {} if inputs is None else inputs, options)
        return resource

    def component(self, type_: str, name: str, inputs: Inputs | None = None, /, **options: Any) -> Resource:
        """Registers a component: a resource that only groups others, which name it as their ``parent``."""
        resource = Resource(self, type_, name, False)
        self._register(resource, {} if inputs is None else inputs, options)
        return resource

    def provider(self, package: str, name: str, inputs: Inputs | None = None, /, **options: Any) -> Resource:
        """Registers a provider of a package with a configuration of its own, to be named as ``provider``."""
        resource = Resource(self, f"pulumi:providers:{package}", name, True)
        self._register(resource, {} if inputs is None else inputs, options)
        return resource

    def read(
        self, type_: str, name: str, id: str | Output[str], inputs: Inputs | None = None, /, **options: Any
    ) -> Resource:
        """Reads something that exists already, without managing it."""
        resource = Resource(self, type_, name, True)
        inputs = {} if inputs is None else inputs

        def start(urns: list[str], _by_property: dict[str, list[str]] | None, named: dict[str, Any] | None) -> None:
            resolved = _substitute(id)
            if is_unknown(resolved):
                # Nothing can be read by an id that is not known: the resource is unknown as a whole.
                resolved = _UNKNOWN_ID
            self._run.read(
                type_, name, str(resolved), _substitute(inputs), urns, named, self._completions, resource._settle
            )

        self._defer(resource, {"id": id, **inputs}, options, start, resource._settle)
        return resource

    def invoke(self, token: str, arguments: Inputs | None = None, /, **options: Any) -> Invocation:
        """Calls a function of a package. Arguments may contain outputs."""
        invocation = Invocation(self, token)
        arguments = {} if arguments is None else arguments

        def start(urns: list[str], _by_property: dict[str, list[str]] | None, named: dict[str, Any] | None) -> None:
            resolved = _substitute(arguments)
            self._run.invoke(token, resolved, urns, named, self._completions, invocation._settle)

        self._defer(invocation, arguments, options, start, invocation._settle)
        return invocation

    def export(self, name: str, value: PropertyValue) -> None:
        """Sets one of the stack's outputs; it may be or contain outputs of resources."""
        self._exports[name] = value

    @staticmethod
    def secret(value: T) -> Secret[T]:
        """Marks a value as secret."""
        return secret(value)

    def log(
        self,
        message: str,
        *,
        severity: Literal["debug", "info", "warning", "error"] = "info",
        resource: Resource | None = None,
    ) -> None:
        """Says something to people; an ``error`` makes the operation fail in the end."""
        urn = resource._registered.urn if resource is not None and resource._registered is not None else None
        self._run.log(severity, message, urn)

    def _register(self, resource: Resource, inputs: Inputs, options: dict[str, Any]) -> None:
        if not isinstance(inputs, dict):
            inputs = dict(inputs)
        if not options and not find_outputs(inputs):
            # The ordinary case, and the one that has to be fast: nothing to wait for, nothing to resolve.
            self._pending.append(resource)
            self._run.register(
                resource.type,
                resource.name,
                resource.custom,
                inputs,
                (),
                None,
                None,
                self._completions,
                resource._settle,
            )
            return
        parent = options.get("parent")
        if isinstance(parent, Resource):
            parent._children.append(resource)

        def start(urns: list[str], by_property: dict[str, list[str]] | None, named: dict[str, Any] | None) -> None:
            self._run.register(
                resource.type,
                resource.name,
                resource.custom,
                _substitute(inputs),
                urns,
                by_property,
                named,
                self._completions,
                resource._settle,
            )

        self._defer(resource, inputs, options, start, resource._settle)

    def _register_outputs(self, component: Resource, outputs: Inputs) -> Deferred[None]:
        task = _Task(self)

        def start(_urns: list[str], _by_property: dict[str, list[str]] | None, _named: dict[str, Any] | None) -> None:
            urn = component.registered.urn
            self._run.register_outputs(urn, _substitute(outputs), self._completions, task._settle)

        self._defer(task, outputs, {"parent": component}, start, task._settle)
        return task

    def _defer(
        self,
        work: Deferred[Any],
        inputs: Inputs,
        options: dict[str, Any],
        start: Callable[[list[str], dict[str, list[str]] | None, dict[str, Any] | None], None],
        settle: Callback[Any],
    ) -> None:
        """Starts work as soon as everything that it refers to is known; fails it when one of that has failed."""
        unknown = [name for name in options if name not in _OPTIONS]
        if unknown:
            raise InvalidInputError(f"unknown resource option {unknown[0]!r}")
        self._pending.append(work)
        # Whatever is put below a component later does not count: it may depend on this work itself.
        found = [(key, _sources_of(value)) for key, value in find_outputs(dict(inputs))]
        explicit = [
            source
            for value in options.get("depends_on") or ()
            if isinstance(value, Awaited)
            for source in _sources_of(value)
        ]
        named = {name: value for name, value in options.items() if name != "depends_on" and value is not None}
        # A parent or a provider only has to be registered itself.
        referred = [
            source
            for _, value in find_outputs({"options": _plain_options(named)})
            for source in (value._sources if isinstance(value, Output) else (value,))
        ]
        by_input = (source for _, in_input in found for source in in_input)
        sources = {id(source): source for source in (*by_input, *explicit, *referred)}
        waiting = [source for source in sources.values() if not source._done]
        missing = len(waiting)

        def proceed() -> None:
            failed = next((source for source in sources.values() if source._error is not None), None)
            if failed is not None:
                failed._seen = True
                settle(None, failed._error)
                return
            try:
                by_property: dict[str, list[str]] = {}
                for key, in_input in found:
                    by_property.setdefault(key, []).extend(_urns(in_input))
                urns = _urns(explicit)
                urns.extend(urn for property_urns in by_property.values() for urn in property_urns)
                by_property = {key: list(dict.fromkeys(urns)) for key, urns in by_property.items()}
                start(list(dict.fromkeys(urns)), by_property or None, _resolve_options(named) or None)
            except BaseException as error:  # noqa: BLE001  # it belongs to the resource, not to whoever came last
                settle(None, error)

        def arrived() -> None:
            nonlocal missing
            missing -= 1
            if missing == 0:
                proceed()

        if not waiting:
            proceed()
        for source in waiting:
            source._when_done(arrived)

    def _run_until(self, done: Callable[[], bool]) -> None:
        if not self._blocking:
            if done():
                return
            raise InvalidInputError("wait() would block the event loop of this async program; await instead")
        while not done():
            if self._completions.wait(3600.0):
                self._completions.drain()

    def _unfinished(self) -> Deferred[Any] | None:
        """Returns something that the program's end must wait for still."""
        pending = self._pending
        while pending:
            last = pending[-1]
            if not last._done:
                return last
            if last._error is not None and not last._seen:
                last._seen = True
                raise last._error
            pending.pop()
        return None

    def _when_settled(self, then: Callable[[], object]) -> None:
        """Calls ``then`` as soon as everything has been answered that was begun so far."""
        waiting = [work for work in self._pending if not work._done]
        missing = len(waiting)

        def settled() -> None:
            nonlocal missing
            missing -= 1
            if missing == 0:
                then()

        if not waiting:
            then()
        for work in waiting:
            work._when_done(settled)

    def _publish(self) -> None:
        """Hands over the exports, once everything is known."""
        for name, value in self._exports.items():
            self._run.export(name, _substitute(value))

    async def _complete(self) -> None:
        while (unfinished := self._unfinished()) is not None:
            await unfinished
        for _, value in find_outputs(dict(self._exports)):
            for source in _sources_of(value):
                await source
        self._publish()

    def _complete_blocking(self) -> None:
        while (unfinished := self._unfinished()) is not None:
            unfinished.wait()
        self._publish()


def _plain_options(options: Mapping[str, Any]) -> list[Any]:
    """Returns the options' values, with nothing but lists and dictionaries around what is looked for."""
    return [dict(value) if isinstance(value, Mapping) else list(value) if _is_list(value) else value for value in options.values()]


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _urns(sources: Iterable[Deferred[Any]]) -> list[str]:
    return [source.registered.urn for source in sources if isinstance(source, Resource)]


def _resolve_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns options as the native half reads them: URNs and references in the place of resources."""
    resolved: dict[str, Any] = {}
    for name, value in options.items():
        if name in ("parent", "deleted_with"):
            resolved[name] = _urn_of(value)
        elif name == "provider":
            resolved[name] = value._reference() if isinstance(value, Resource) else value
        elif name == "providers":
            providers = value if isinstance(value, Mapping) else {_package_of(item): item for item in value}
            resolved[name] = {
                package: item._reference() if isinstance(item, Resource) else item
                for package, item in providers.items()
            }
        elif name == "replace_with":
            resolved[name] = [_urn_of(item) for item in value]
        elif name == "aliases":
            resolved[name] = [
                alias
                if isinstance(alias, str)
                else {key: _urn_of(part) if key == "parent" else part for key, part in alias.items()}
                for alias in value
            ]
        elif name == "replacement_trigger":
            resolved[name] = _substitute(value)
        elif _is_list(value):
            resolved[name] = list(value)
        else:
            resolved[name] = value
    return resolved


def _urn_of(value: Any) -> str:
    return value.registered.urn if isinstance(value, Resource) else str(value)


def _package_of(provider: Resource) -> str:
    return provider.type.rsplit(":", 1)[-1]
