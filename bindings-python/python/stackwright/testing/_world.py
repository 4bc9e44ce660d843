"""The world of a simulation: what simulated providers have created, and what a test changes by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any

from .._checks import require_given
from .._stackwright import Simulation, find_resources
from ..errors import InvalidInputError
from ..values import PropertyValue
from ._resources import found, pattern_of

__all__ = ["Thing", "World"]

__tracebackhide__ = True


class Thing(MutableMapping[str, PropertyValue]):
    """A thing in the world: its properties by name. What is set or deleted here changes by hand, as in a console of the cloud: a
    refresh finds it, and the program does not know."""

    def __init__(self, simulation: Simulation, members: Mapping[str, Any]) -> None:
        self._simulation = simulation
        self.type: str = members["type"]
        """The type of its resource."""
        self.id: str = members["id"]
        """Its id."""
        self.name: str = members["name"]
        """The name of the resource; the id for what the program has not created."""
        self.urn: str | None = members["urn"]
        """The resource that it was created for."""

    def _properties(self) -> dict[str, PropertyValue]:
        for members in self._simulation.things():
            if members["type"] == self.type and members["id"] == self.id:
                properties: dict[str, PropertyValue] = members["properties"]
                return properties
        raise LookupError(f"the {self.type} with the id {self.id!r} does not exist any more")

    def __getitem__(self, name: str) -> PropertyValue:
        return self._properties()[name]

    def __setitem__(self, name: str, value: PropertyValue) -> None:
        if not self._simulation.change(self.type, self.id, name, value):
            self._properties()

    def __delitem__(self, name: str) -> None:
        if name not in self._properties():
            raise KeyError(name)
        self._simulation.unset(self.type, self.id, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._properties())

    def __len__(self) -> int:
        return len(self._properties())

    def __repr__(self) -> str:
        return f"<Thing {self.type} {self.name} {self.id}>"


class World:
    """The things that exist. ``world["web"]["size"] = "huge"`` changes one by hand, ``del world["web"]`` removes one.

    Things are found by patterns as :class:`Resources` are, and by their ids.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    def _things(self) -> tuple[list[Thing], list[str]]:
        things = [Thing(self._simulation, members) for members in self._simulation.things()]
        return things, [thing.urn or f"urn:pulumi:world::world::{thing.type}::{thing.name}" for thing in things]

    def find(self, type: str, name: str | None = None) -> Thing:
        """Returns the one thing of a type and a name, or that one pattern or id names.

        :raises LookupError: when there is none, or more than one; the message has the nearest names.
        """
        things, urns = self._things()
        of_id = [thing for thing in things if name is None and thing.id == type]
        return of_id[0] if len(of_id) == 1 else found(pattern_of(type, name), urns, things, "things in the world")

    def __getitem__(self, pattern: str) -> Thing:
        return self.find(pattern)

    def __delitem__(self, pattern: str) -> None:
        thing = self.find(pattern)
        self._simulation.remove(thing.type, thing.id)

    def __contains__(self, pattern: object) -> bool:
        """Returns whether a pattern or an id names a thing, or whether a thing is in the world."""
        things, urns = self._things()
        if isinstance(pattern, Thing):
            return any((thing.type, thing.id) == (pattern.type, pattern.id) for thing in things)
        return isinstance(pattern, str) and (any(thing.id == pattern for thing in things) or bool(find_resources(pattern, urns)[0]))

    def __iter__(self) -> Iterator[Thing]:
        return iter(self._things()[0])

    def __len__(self) -> int:
        return len(self._simulation.things())

    def add(self, type: str, id: str, properties: Mapping[str, PropertyValue]) -> Thing:
        """Adds a thing that the program has not created: for reads and imports.

        :raises InvalidInputError: for the type and id of a thing that exists.
        """
        for option, text in (("type", type), ("id", id)):
            require_given(option, text, str, "a text")
        require_given("properties", properties, Mapping, "a dictionary of values by names")
        if any(thing.type == type and thing.id == id for thing in self):
            raise InvalidInputError(f"the world has a {type} with the id {id!r} already; find() returns it, and its properties can be set")
        self._simulation.put(type, id, dict(properties))
        return next(thing for thing in self if thing.type == type and thing.id == id)

    def __repr__(self) -> str:
        return f"<World {[thing.name for thing in self]}>"
