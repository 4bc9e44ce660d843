"""Programs of the package's own API: a context to register resources with, and outputs to connect them.

A program is a function with one parameter, ``async`` or not. An ``async`` one runs on the event loop that started the
operation; an ordinary one runs on a thread of its own and waits with :meth:`Deferred.wait` where an ``async`` one awaits.

A cancelled operation lets a program unwind: what it waits for is answered, and an ``async`` one is cancelled. A
thread that computes or sleeps cannot be stopped: it is waited for at most five seconds, half a second after a second
cancellation, and then left behind. Each call that it makes later, :meth:`Context.log` included, raises
:class:`~stackwright.CancelledError`.

Registrations are eager: :meth:`Context.resource` registers at once, or as soon as the outputs among its inputs are known.
What it returns can be passed on without waiting for it. The program's end waits for everything that was registered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Literal, TypeVar

from ._annotations import Unpack
from ._callback_context import CallbackContext
from ._checks import refusal, require, require_function, require_given
from ._raised import Raised
from ._sdk_import import sdk
from ._stackwright import Completions, Run, find_outputs, to_json
from ._substitution import checked
from ._work import in_invoke_transform
from .config import Config
from .errors import InvalidInputError
from .output import Deferred, Output, substitute
from .resource import UNKNOWN_ID, Inputs, Invocation, Resolved, Resource, SdkCode, Task
from .resource_options import (
    CALL_OPTIONS,
    EXISTS_OPTIONS,
    INVOKE_OPTIONS,
    READ_OPTIONS,
    RESOURCE_OPTIONS,
    Alias,
    CallOptions,
    CustomTimeouts,
    ExistsOptions,
    InvokeOptions,
    PackageParameter,
    PackageSource,
    ReadOptions,
)
from .transforms import Attached, ResourceOptions, attached
from .values import Awaited, PropertyValue, Secret, Unknown, is_unknown, secret

__all__ = [
    "Alias",
    "CallOptions",
    "Config",
    "Context",
    "CustomTimeouts",
    "ExistsOptions",
    "Invocation",
    "InvokeOptions",
    "Output",
    "PackageParameter",
    "PackageSource",
    "ReadOptions",
    "Resource",
    "ResourceOptions",
]

T = TypeVar("T")

_SEVERITIES: Final = ("debug", "info", "warning", "error")


def _given(option: str, values: Inputs | None, owner: str) -> dict[str, PropertyValue]:
    """Returns values by name as a dictionary."""
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise refusal(option, "a dictionary of values by name", values, owner)
    return values if isinstance(values, dict) else dict(values)


def _plain_id(given: str | Output[str]) -> str:
    """Returns an id, whose outputs are known, as a text; nothing can be read by one that is unknown."""
    resolved = substitute(given)
    if is_unknown(resolved):
        return UNKNOWN_ID
    return str(resolved.value if isinstance(resolved, Secret) else resolved)


class Context(CallbackContext):
    """What a program registers its resources with. One run's own; to be used on the program's own thread.

    The context of a component registers resources below the component, unless they name another ``parent``.
    """

    def __init__(
        self,
        run: Run,
        completions: Completions,
        loop: asyncio.AbstractEventLoop | None,
        raised: Raised,
        *,
        component: str | None = None,
        async_queue: Completions | None = None,
    ) -> None:
        super().__init__(run, completions, loop, raised, async_queue)
        # The URN of the component whose code runs.
        self._component = component
        self.project: Final = run.project
        """The project."""
        self.stack: Final = run.stack
        """The stack, without its project."""
        self.organization: Final = run.organization
        self.dry_run: Final = run.dry_run
        """Whether this is a preview."""
        self.config: Final = Config(run.config_key, run.config, run.config_secret_keys)
        """The stack's configuration."""

    def __repr__(self) -> str:
        below = "" if self._component is None else f" below {self._component}"
        return f"<Context of {self.project}/{self.stack}{below}>"

    def resource(
        self,
        type_: str,
        name: str,
        inputs: Inputs | None = None,
        /,
        **options: Unpack[ResourceOptions],
    ) -> Resource:
        """Registers a resource of a package; ``options`` are those of :class:`ResourceOptions`.

        Outputs of other resources among the inputs become dependencies.
        """
        resource = Resource(self, type_, name, True)
        self._register(resource, inputs, options)
        return resource

    def component(
        self, type_: str, name: str, inputs: Inputs | None = None, /, **options: Unpack[ResourceOptions]
    ) -> Resource:
        """Registers a component: a resource that only groups others, which name it as their ``parent``."""
        resource = Resource(self, type_, name, False)
        self._register(resource, inputs, options)
        return resource

    def remote_component(
        self, type_: str, name: str, inputs: Inputs | None = None, /, **options: Unpack[ResourceOptions]
    ) -> Resource:
        """Registers a component that its provider constructs, with all that is below it; the provider returns its outputs."""
        resource = Resource(self, type_, name, False, remote=True)
        self._register(resource, inputs, options)
        return resource

    def call(
        self,
        token: str,
        of: Resource | None = None,
        arguments: Inputs | None = None,
        /,
        **options: Unpack[CallOptions],
    ) -> Invocation:
        """Calls a method of a resource, of a component or of a provider; ``options`` are those of :class:`CallOptions`.

        A failed method ends the run. Arguments may contain outputs::

            ctx.call("box:index:Box/open", box, {"by": "hand"})["contents"]
        """
        require_given("token", token, str, "a method's token as a text")
        require("of", of, Resource, "a resource")
        owner = f"of the call of {token!r}"
        arguments = _given("arguments", arguments, owner)
        call = Invocation(self, token, of)

        def start(urns: list[str], by_property: dict[str, list[str]] | None, named: dict[str, Any] | None) -> None:
            urn = None if of is None else of.registered.urn
            named = {name: value for name, value in (named or {}).items() if name != "parent"}
            call._come_from(urns)
            self._run.call_method(
                token, urn, substitute(arguments), by_property, named or None, self._completions, call._settle_method
            )

        self._require_running(f"the call of {token!r}")
        given = checked("call", CALL_OPTIONS, options, f"the call of {token!r}")
        # The resource has to be registered before its method is called.
        self._defer(call, arguments, {**given, "parent": of}, start, call._settle_method, f"the call of {token!r}")
        return call

    def provider(
        self, package: str, name: str, inputs: Inputs | None = None, /, **options: Unpack[ResourceOptions]
    ) -> Resource:
        """Registers a provider of a package with a configuration of its own, to be named as ``provider``."""
        try:
            require_given("package", package, str, "the name of a package")
        except InvalidInputError as error:
            self._report_unreadable(error)
            raise
        resource = Resource(self, f"pulumi:providers:{package}", name, True)
        self._register(resource, inputs, options)
        return resource

    def read(
        self,
        type_: str,
        name: str,
        id: str | Output[str],
        inputs: Inputs | None = None,
        /,
        **options: Unpack[ReadOptions],
    ) -> Resource:
        """Reads a resource that exists already and is not managed here; ``options`` are those of :class:`ReadOptions`.

        The outputs of another stack are read as a ``pulumi:pulumi:StackReference``, by the name of that stack::

            net = ctx.read("pulumi:pulumi:StackReference", "net", "net/prod", {"name": "net/prod"})
            ctx.resource("notes:index:Note", "first", {"text": net["outputs"]["address"]})
        """
        require_given("type", type_, str, "a type token as a text")
        require_given("name", name, str, "a text")
        require_given("id", id, (str, Secret, Unknown, Awaited), "a text or an output")
        inputs = _given("inputs", inputs, f"of the resource {name!r}")
        resource = Resource(self, type_, name, True)

        def start(urns: list[str], _by_property: dict[str, list[str]] | None, named: dict[str, Any] | None) -> None:
            self._run.read(
                type_, name, _plain_id(id), substitute(inputs), urns, named, self._completions, resource._settle
            )

        self._require_running(f"the resource {name!r}")
        self._place(options)
        given = checked("read", READ_OPTIONS, options, f"the resource {name!r}")
        given_up = partial(self._report_given_up, resource, given)
        needs = {"id": id, "inputs": inputs}
        self._defer(resource, needs, given, start, resource._settle, f"the resource {name!r}", given_up=given_up)
        return resource

    def invoke(
        self, token: str, arguments: Inputs | None = None, /, **options: Unpack[InvokeOptions]
    ) -> Invocation:
        """Calls a function of a package; ``options`` are those of :class:`InvokeOptions`. Arguments may contain outputs."""
        require_given("token", token, str, "a function's token as a text")
        arguments = _given("arguments", arguments, f"of the call of {token!r}")
        invocation = Invocation(self, token)
        nested = in_invoke_transform.get()

        def start(urns: list[str], _by_property: dict[str, list[str]] | None, named: dict[str, Any] | None) -> None:
            invocation._come_from(urns)
            resolved = substitute(arguments)
            self._run.invoke(token, resolved, urns, named, nested, self._completions, invocation._settle)

        self._require_running(f"the call of {token!r}")
        self._place(options)
        given = checked("invoke", INVOKE_OPTIONS, options, f"the call of {token!r}")
        self._defer(invocation, arguments, given, start, invocation._settle, f"the call of {token!r}")
        return invocation

    def exists(
        self, type_: str, id: str | Output[str], inputs: Inputs | None = None, /, **options: Unpack[ExistsOptions]
    ) -> Output[bool]:
        """Queries whether a resource exists, which its provider reads; it does not become a part of the stack.

        ``inputs`` are what the provider needs to find it beside the id; ``options`` are those of :class:`ExistsOptions`. The output is
        unknown while the id, an input or what it depends on is only planned::

            if await ctx.exists("net:index:Zone", "z-1") is False:
                ctx.log("the zone z-1 is missing", severity="error")

        A resource that a program registers only where it does not exist yet is deleted by the next operation, which finds it.
        Awaiting it raises :class:`~stackwright.StackwrightError` when the provider cannot read the resource.
        """
        require_given("type", type_, str, "a type token as a text")
        require_given("id", id, (str, Secret, Unknown, Awaited), "a text or an output")
        what = f"the query for {type_!r}"
        inputs = _given("inputs", inputs, f"of {what}")
        query = Invocation(self, type_)

        def start(urns: list[str], _by_property: dict[str, list[str]] | None, named: dict[str, Any] | None) -> None:
            query._come_from(urns)
            self._run.exists(type_, _plain_id(id), substitute(inputs), urns, named, self._completions, query._settle)

        self._require_running(what)
        self._place(options)
        given = checked("exists", EXISTS_OPTIONS, options, what)
        self._defer(query, {"id": id, "inputs": inputs}, given, start, query._settle, what)
        return query["exists"]

    def run_sdk(
        self, function: Callable[[dict[str, Any]], Any], inputs: Inputs | None = None, /
    ) -> SdkCode:
        """Runs code that is written with the Pulumi SDK, ``async`` or not, without a socket; several may run at a time.

        ``function`` gets ``inputs`` as values of the SDK, where secrets and unknowns are outputs, on a thread and with an event
        loop of its own. It returns a dictionary of values, which may contain the SDK's outputs; awaiting the call gives them as
        outputs of this API, with their dependencies. In the code of a component, what has no parent is below the component,
        and an SDK component of the same type and name is the component itself::

            async def construct(self, ctx, request):
                def build(inputs):
                    page = StaticPage(request.name, inputs["index"])
                    return {"url": page.url}

                return await ctx.run_sdk(build, request.inputs)

        Awaiting it raises what the code raises. Where a resource that the code has made cannot be registered, or the inputs have failed, the
        operation fails also when the program catches that: the engine would delete what it does not know. When the operation is cancelled, calls of the engine are refused, and the code is
        cancelled a second later.

        :raises InvalidInputError: when ``function`` is no function, or the SDK is not installed.
        """
        require_function("run_sdk()", function)
        parts = sdk()
        inputs = _given("inputs", inputs, "of the SDK's code")
        self._require_running("the SDK's code")
        code = SdkCode(self)

        def settle(returned: tuple[str, dict[str, list[str]]] | None, error: BaseException | None) -> None:
            self._completions.push(partial(code._settle, returned, error))

        def start(_urns: list[str], by_property: dict[str, list[str]] | None, _named: dict[str, Any] | None) -> None:
            by_name = by_property or {}
            origins = {name: [*by_name.get(name, ()), *self._origins] for name in inputs}
            text = to_json(substitute(inputs))
            parts.start_code(parts.Code(function, text, origins, self._run, self._component), settle)

        self._defer(code, inputs, {}, start, code._settle, "the SDK's code", given_up=self._report_unreadable)
        return code

    def export(self, name: str, value: PropertyValue) -> None:
        """Sets one of the stack's outputs; it may be or contain outputs of resources."""
        if self._component is not None:
            raise InvalidInputError("a component has no stack outputs; return its outputs from construct()")
        try:
            require_given("name", name, str, "a text")
            self._require_running(f"the stack output {name!r}")
            self._run.learn(value)
        except Exception as error:
            self._report_unreadable(error)
            raise
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
        """Emits a diagnostic. An ``error`` fails the operation once the program has ended; nothing is deleted then."""
        require_given("message", message, str, "a text")
        if severity not in _SEVERITIES:
            raise refusal("severity", f"one of {', '.join(_SEVERITIES)}", severity)
        require("resource", resource, Resource, "a resource")
        urn = resource._registered.urn if resource is not None and resource._registered is not None else None
        self._run.log(severity, message, urn)

    def _place(self, options: Any) -> None:
        """Puts what has no parent below the component whose code runs."""
        if self._component is not None and options.get("parent") is None:
            options["parent"] = self._component

    def _register(self, resource: Resource, inputs: Inputs | None, options: Mapping[str, Any]) -> None:
        try:
            self._declare(resource, inputs, options)
        except Exception as error:
            self._report_unreadable(error)
            raise

    def _declare(self, resource: Resource, inputs: Inputs | None, options: Mapping[str, Any]) -> None:
        if not isinstance(resource.name, str) or not isinstance(resource.type, str):
            require_given("type", resource.type, str, "a type token as a text")
            require_given("name", resource.name, str, "a text")
        inputs = _given("inputs", inputs, f"of the resource {resource.name!r}")
        if self._over:
            self._require_running(f"the resource {resource.name!r}")
        functions: Attached | None = None
        if "transforms" in options or "hooks" in options:
            options, functions = attached(self, resource, options)
        if self._component is not None:
            options = dict(options)
            self._place(options)
        if not options and not self._origins and not find_outputs(inputs):
            # The ordinary case, and the one that has to be fast: nothing to wait for, nothing to resolve.
            self._run.register(
                resource.type,
                resource.name,
                resource._kind,
                inputs,
                (),
                None,
                None,
                functions,
                self._completions,
                resource._settle,
            )
            # A refused registration is never answered: the program's end must not wait for it.
            self._pending.append(resource)
            return
        options = checked("resource", RESOURCE_OPTIONS, options, f"the resource {resource.name!r}")
        parent = options.get("parent")
        if isinstance(parent, Resource):
            parent._children.append(resource)

        def start(urns: list[str], by_property: dict[str, list[str]] | None, named: dict[str, Any] | None) -> None:
            self._run.register(
                resource.type,
                resource.name,
                resource._kind,
                substitute(inputs),
                urns,
                by_property,
                named,
                functions,
                self._completions,
                resource._settle,
            )

        owner = f"the resource {resource.name!r}"
        given_up = partial(self._report_given_up, resource, options)
        self._defer(resource, inputs, options, start, resource._settle, owner, True, given_up)

    def _register_outputs(self, component: Resource, outputs: Inputs) -> Deferred[None]:
        task = Task(self)

        def start(_urns: list[str], _by_property: dict[str, list[str]] | None, _named: dict[str, Any] | None) -> None:
            urn = component.registered.urn
            self._run.register_outputs(urn, substitute(outputs), self._completions, task._settle)

        try:
            self._require_running(f"the outputs of {component.name!r}")
            outputs = _given("outputs", outputs, f"of the component {component.name!r}")
            self._defer(
                task, outputs, {"parent": component}, start, task._settle, f"the resource {component.name!r}", True
            )
        except Exception as error:
            self._report_unreadable(error)
            raise
        return task

    def _resolve(self, values: Inputs) -> Resolved:
        """Returns values that the end of the code waits for, with the URNs that each comes from."""
        resolved = Resolved(self)

        def start(_urns: list[str], by_property: dict[str, list[str]] | None, _named: dict[str, Any] | None) -> None:
            # What a method returns comes from its arguments, also where it is made of their plain values.
            by_name = {name: [*(by_property or {}).get(name, ()), *self._origins] for name in values}
            by_name = {name: list(dict.fromkeys(urns)) for name, urns in by_name.items() if urns}
            resolved._settle((dict(substitute(values)), by_name), None)

        values = _given("outputs", values, "of a component or a method")
        self._defer(resolved, values, {}, start, resolved._settle, "the outputs")
        return resolved
