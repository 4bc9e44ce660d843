"""Resources as a program holds them, and calls of functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from ._stackwright import Registered, from_json
from .errors import InvalidInputError
from .output import Deferred, Output
from .values import UNKNOWN, PropertyValue, ResourceReference

if TYPE_CHECKING:
    from .program import Context

__all__ = ["Invocation", "Resource", "SdkCode"]

Inputs = Mapping[str, PropertyValue]



def _value_of(value: PropertyValue) -> PropertyValue:
    return value


UNKNOWN_ID: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""What the protocol has in the place of an id that is not known."""


class Resource(Deferred["Resource"]):
    """A registered resource. ``resource["name"]`` is an output; awaiting it waits until it has been created or changed.

    An output that the resource does not have is ``None``, as those are that a provider leaves out; in previews it is unknown.
    :attr:`outputs` of an awaited resource has those alone that are there.
    """

    __slots__ = ("_children", "_kind", "_registered", "custom", "name", "type")

    _context: Context

    def __init__(self, context: Context, type_: str, name: str, custom: bool, *, remote: bool = False) -> None:
        super().__init__(context)
        self.type: Final = type_
        self.name: Final = name
        self.custom: Final = custom
        self._kind: Final = "custom" if custom else "remote" if remote else "component"
        self._registered: Registered | None = None
        self._children: list[Resource] = []

    def _settle(self, registered: Registered | None, error: BaseException | None) -> None:
        self._registered = registered
        if error is not None:
            self._context._explain(f"{self.type}::{self.name}", error)
        self._finish(error)

    def _value(self) -> Resource:
        return self

    def _all_sources(self) -> Sequence[Deferred[Any]]:
        # A component stands for all that has been put below it; a custom resource for itself alone.
        if self.custom:
            return [self]
        return [self, *(source for child in self._children for source in child._all_sources())]

    def _urns(self) -> Sequence[str]:
        registered = self.registered
        # The outputs of a remote component come from what its provider has registered.
        return (registered.urn, *registered.output_sources) if self._kind == "remote" else (registered.urn,)

    def _substituted(self) -> ResourceReference:
        registered = self.registered
        return ResourceReference(registered.urn, (registered.id or UNKNOWN) if self.custom else None)

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
            made = self.custom or self._kind == "remote"
            unknown = registered.unknown or registered.failed or (made and self._context.dry_run)
            return UNKNOWN if unknown else None

        # An output of a remote component comes from other resources than the next one.
        return Output((OutputSource(self, name) if self._kind == "remote" else self,), read)

    def register_outputs(self, outputs: Inputs) -> Deferred[None]:
        """Sets the outputs of a component; they may contain outputs of other resources."""
        if self._kind == "remote":
            raise InvalidInputError(f"the provider registers the outputs of the remote component {self.name!r}")
        if self.custom:
            raise InvalidInputError(f"only components register outputs, and {self.name!r} is none")
        return self._context._register_outputs(self, outputs)

    def _reference(self) -> str:
        """The text by which it is named as a provider."""
        return f"{self.registered.urn}::{self.registered.id or UNKNOWN_ID}"

    def __repr__(self) -> str:
        return f"<Resource {self.type} {self.name!r}>"


class OutputSource(Deferred["Resource"]):
    """What one output of a remote component comes from: the component, and some of what its provider has registered."""

    __slots__ = ("_name", "_resource")

    def __init__(self, resource: Resource, name: str) -> None:
        super().__init__(resource._context)
        self._resource: Final = resource
        self._name: Final = name
        resource._when_done(lambda: self._finish(resource._error))

    def __repr__(self) -> str:
        return repr(self._resource)

    def _outcome(self) -> Resource:
        # The caller has been given the error of the resource.
        return self._resource._outcome()

    def _urns(self) -> Sequence[str]:
        return self._resource.registered.sources_of(self._name)


class Invocation(Deferred[Mapping[str, PropertyValue]]):
    """A call of a function or a method; awaiting it gives its result, and ``invocation["name"]`` is an output.

    What uses the result depends on the resources that the arguments come from, and on the resource whose method it is. A
    function is not called while a resource that it depends on does not exist: the outputs are unknown then, and awaiting
    the call gives an empty result.
    """

    __slots__ = ("_named", "_of", "_result", "token")

    _context: Context

    def __init__(self, context: Context, token: str, of: Resource | None = None) -> None:
        super().__init__(context)
        self.token: Final = token
        self._result: Mapping[str, PropertyValue] | None = {}
        # What its result comes from: the URNs of its arguments and its answer, and the resource whose method it is, with what
        # was below that when the call was made.
        self._named: Sequence[str] = ()
        self._of: Final[Sequence[Deferred[Any]]] = () if of is None else tuple(of._all_sources())

    def __repr__(self) -> str:
        return f"<Invocation {self.token}>"

    def _come_from(self, urns: Sequence[str]) -> None:
        """Sets the URNs of the resources that the arguments come from, before the call is made."""
        self._named = urns

    def _settle(self, result: Mapping[str, PropertyValue] | None, error: BaseException | None) -> None:
        """Takes the answer; the result is ``None`` while a resource that the function depends on does not exist."""
        self._result = result
        if error is not None:
            self._context._explain(self.token, error)
        self._finish(error)

    def _settle_method(
        self, answer: tuple[Mapping[str, PropertyValue], Sequence[str]] | None, error: BaseException | None
    ) -> None:
        """Takes the answer of a method: its result, and the URNs that this comes from."""
        result, urns = ({}, ()) if answer is None else answer
        self._named = (*self._named, *urns)
        self._settle(result, error)

    def _all_sources(self) -> Sequence[Deferred[Any]]:
        return (self, *self._of)

    def _urns(self) -> Sequence[str]:
        return self._named

    def _value(self) -> Mapping[str, PropertyValue]:
        return self._result or {}

    def _substituted(self) -> Any:
        self._outcome()
        return UNKNOWN if self._result is None else dict(self._result)

    def __getitem__(self, name: str) -> Output[Any]:
        def read() -> Any:
            result = self._outcome()
            if name in result:
                return result[name]
            return UNKNOWN if self._result is None or self._context.dry_run else None

        return Output(self._all_sources(), read)


class SdkCode(Deferred[Mapping[str, Output[Any]]]):
    """Code of the SDK that runs; awaiting it gives what it has returned, as outputs by name."""

    __slots__ = ("_outputs",)

    _context: Context

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._outputs: Mapping[str, Output[Any]] = {}

    def _settle(self, returned: tuple[str, dict[str, list[str]]] | None, error: BaseException | None) -> None:
        if returned is not None:
            text, dependencies = returned
            self._outputs = {
                name: Output((Origin(self._context, dependencies.get(name, ())),), partial(_value_of, value))
                for name, value in from_json(text).items()
            }
        self._finish(error)

    def _value(self) -> Mapping[str, Output[Any]]:
        return self._outputs

    def _substituted(self) -> dict[str, PropertyValue]:
        return {name: output._resolved() for name, output in self._outcome().items()}

    def __getitem__(self, name: str) -> Output[Any]:
        return Output((self,), lambda: self._outcome()[name]._resolved() if name in self._outcome() else None)

    def _urns(self) -> Sequence[str]:
        return [urn for output in self._outputs.values() for source in output._all_sources() for urn in source._urns()]


class Origin(Deferred[None]):
    """The resources that a known value comes from."""

    __slots__ = ("_named",)

    def __init__(self, context: Context, urns: Sequence[str]) -> None:
        super().__init__(context)
        self._named = urns
        self._done = True

    def _value(self) -> None:
        return None

    def _urns(self) -> Sequence[str]:
        return self._named


class Resolved(Deferred[tuple[dict[str, Any], dict[str, list[str]]]]):
    """Values without outputs among them, with the URNs of the resources that each comes from."""

    __slots__ = ("_resolved",)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._resolved: tuple[dict[str, Any], dict[str, list[str]]] = ({}, {})

    def _settle(self, resolved: tuple[dict[str, Any], dict[str, list[str]]] | None, error: BaseException | None) -> None:
        if resolved is not None:
            self._resolved = resolved
        self._finish(error)

    def _value(self) -> tuple[dict[str, Any], dict[str, list[str]]]:
        return self._resolved


class Task(Deferred[None]):
    """Work whose end the program's end waits for."""

    __slots__ = ()

    def _settle(self, _value: object, error: BaseException | None) -> None:
        self._finish(error)

    def _value(self) -> None:
        return None
