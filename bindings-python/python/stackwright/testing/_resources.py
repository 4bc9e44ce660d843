"""The resources of a simulated stack, as data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, overload

from .._record import record
from .._results import ResourceRecord
from .._stackwright import find_resources, matches_type
from ..values import OutputValue, PropertyValue, Secret

__all__ = ["Resource", "Resources", "found", "pattern_of"]

__tracebackhide__ = True

T = TypeVar("T")


def _values(values: Mapping[str, OutputValue[PropertyValue]]) -> dict[str, PropertyValue]:
    """Returns plain values, secret ones as a :class:`Secret`."""
    return {name: Secret(output.value) if output.secret else output.value for name, output in values.items()}


def pattern_of(type: str, name: str | None) -> str:
    """Returns the pattern of a type and a name, or of one of both."""
    return type if name is None else f"{type}::{name}"


def found(pattern: str, urns: Sequence[str], items: Sequence[T], what: str) -> T:
    """Returns the one item that a pattern names.

    :raises LookupError: when it names none or several, with what it may be a misspelling of.
    """
    places, near = find_resources(pattern, list(urns))
    if len(places) == 1:
        return items[places[0]]
    if places:
        names = "\n  ".join(urns[place] for place in places)
        raise LookupError(f"{pattern!r} names {len(places)} {what}; name one of them by its type and name:\n  {names}")
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    known = sorted({f"{urn.split('::')[2].split('$')[-1]}::{urn.split('::', 3)[3]}" for urn in urns})
    listed = "\n  ".join(known) or "none"
    raise LookupError(f"{pattern!r} names none of the {what}{hint}\nthere are:\n  {listed}")


@record(frozen=True, slots=True, kw_only=True)
class Resource:
    """A resource of a simulated stack."""

    type: str
    """The type."""
    name: str
    """The name."""
    urn: str
    """The URN."""
    id: str
    """The id; empty for components, and in previews while it is not known."""
    inputs: Mapping[str, PropertyValue]
    """The inputs by name, secret ones as a :class:`~stackwright.Secret`."""
    outputs: Mapping[str, PropertyValue]
    """The outputs by name, likewise. In previews, those that are not known are :class:`~stackwright.Unknown`."""
    parent: str | None
    """The URN of its parent."""
    dependencies: Sequence[str]
    """The URNs of the resources that it depends on."""
    protect: bool
    """Whether its deletion is refused."""
    record: ResourceRecord
    """All that the state has of it."""

    def __getitem__(self, output: str) -> PropertyValue:
        """Returns an output."""
        return self.outputs[output]

    def __contains__(self, output: object) -> bool:
        """Returns whether there is an output of a name."""
        return output in self.outputs

    def __iter__(self) -> Iterator[str]:
        return iter(self.outputs)


def resource_of(members: Mapping[str, Any]) -> Resource:
    """Returns a resource from the members of its record."""
    of_state = ResourceRecord(**members)
    return Resource(
        type=of_state.type,
        name=of_state.name,
        urn=of_state.urn,
        id=of_state.id,
        inputs=_values(of_state.inputs),
        outputs=_values(of_state.outputs),
        parent=of_state.parent,
        dependencies=of_state.dependencies,
        protect=of_state.protect,
        record=of_state,
    )


class Resources(Sequence[Resource]):
    """The resources that a program has registered, each after those that it depends on.

    Patterns are names, types (with a ``:``), ``type::name`` or URNs; ``*`` in them is any text.
    """

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._resources = tuple(resources)

    @overload
    def __getitem__(self, index: int) -> Resource: ...

    @overload
    def __getitem__(self, index: slice) -> Resources: ...

    @overload
    def __getitem__(self, index: str) -> Resource: ...

    def __getitem__(self, index: int | slice | str) -> Resource | Resources:
        """Returns the resource of an index, or the one that a pattern names."""
        if isinstance(index, str):
            return self.find(index)
        if isinstance(index, slice):
            return Resources(self._resources[index])
        return self._resources[index]

    def __len__(self) -> int:
        return len(self._resources)

    def __iter__(self) -> Iterator[Resource]:
        return iter(self._resources)

    def __contains__(self, item: object) -> bool:
        """Returns whether a pattern names one of them, as :meth:`has` does; or whether a resource is one of them."""
        return self.has(item) if isinstance(item, str) else item in self._resources

    def has(self, pattern: str) -> bool:
        """Returns whether a pattern names one of them."""
        return bool(find_resources(pattern, [each.urn for each in self._resources])[0])

    def find(self, type: str, name: str | None = None) -> Resource:
        """Returns the one resource of a type and a name, or that one pattern names.

        :raises LookupError: when there is none, or more than one; the message has the nearest names.
        """
        return found(pattern_of(type, name), [each.urn for each in self._resources], self._resources, "resources")

    def of_type(self, type: str) -> Resources:
        """Returns those of a type; ``*`` in it is any text."""
        return Resources(each for each in self._resources if matches_type(type, each.type))

    @property
    def names(self) -> list[str]:
        """The names, in order."""
        return [each.name for each in self._resources]

    def __repr__(self) -> str:
        return f"<Resources {self.names}>"
