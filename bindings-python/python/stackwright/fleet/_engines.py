"""The engines of a worker: stacks whose setups describe the same engine share it."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import threading
import types
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from .._stackwright import PluginLimits
from ..engine import Engine

__all__ = ["shared_engine"]

_MAX_IDLE: Final = 8
"""How many engines that no stack uses are kept for the next ones."""

_MAX_DEPTH: Final = 32
"""How deep objects are compared. Deeper ones count as equal only when they are the same."""

_PLAIN_OBJECT: Final[Any] = object

_PLAIN: Final = (str, bytes, int, float, complex, bool, type(None))


class _WorkerEngine(Engine):
    """An engine whose limit of calls is that of its process."""

    def __init__(self, limits: PluginLimits | None, given: Mapping[str, Any]) -> None:
        self._plugin_limits = limits
        super().__init__(**given)


class _Same:
    """Equals only what has the same object."""

    __slots__ = ("of",)

    def __init__(self, of: object) -> None:
        self.of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.of is self.of

    def __hash__(self) -> int:
        return id(self.of)


class _Kept:
    """An engine, and how many stacks use it."""

    def __init__(self, engine: Engine, stays: bool) -> None:
        self.engine = engine
        self.stays = stays
        """Whether it has a store that ends with it."""
        self.uses = 0


class _Engines:
    """The engines of one process."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.lock = threading.Lock()
        self.kept: dict[object, _Kept] = {}
        """By what describes them, those used last at the end."""
        self.limits: dict[int, PluginLimits] = {}

    def take(self, given: Mapping[str, Any], max_calls_per_plugin: int) -> _Kept:
        key = (max_calls_per_plugin, _described(dict(given), ()))
        with self.lock:
            kept = self.kept.pop(key, None)
            if kept is None:
                limits = None
                if max_calls_per_plugin:
                    limits = self.limits.get(max_calls_per_plugin)
                    if limits is None:
                        limits = self.limits[max_calls_per_plugin] = PluginLimits(max_calls_per_plugin)
                store = given.get("store")
                kept = _Kept(_WorkerEngine(limits, given), isinstance(store, str) and store.startswith("memory:"))
            self.kept[key] = kept
            kept.uses += 1
            return kept

    def leave(self, kept: _Kept) -> list[Engine]:
        """Returns the engines that are to be closed."""
        with self.lock:
            kept.uses -= 1
            idle = [key for key, other in self.kept.items() if other.uses == 0 and not other.stays]
            return [self.kept.pop(key).engine for key in idle[: max(len(idle) - _MAX_IDLE, 0)]]


_engines = _Engines()


def _renew() -> None:
    global _engines
    _engines = _Engines()


# A forked child has neither the threads of the engines nor the owner of the lock.
os.register_at_fork(after_in_child=_renew)


@contextlib.asynccontextmanager
async def shared_engine(given: Mapping[str, Any], max_calls_per_plugin: int) -> AsyncIterator[Engine]:
    """Returns the engine of this process with these parameters. All engines of the process count the calls of a plugin together."""
    engines = _engines
    kept = engines.take(given, max_calls_per_plugin)
    try:
        yield kept.engine
    finally:
        for engine in engines.leave(kept):
            await engine.close()


def _described(value: Any, path: tuple[int, ...]) -> Any:
    """Returns what equals that of an equal value: the same object, or one of the same class with equal parts."""
    if isinstance(value, _PLAIN) and type(value) in _PLAIN:
        return (type(value), value)
    if id(value) in path:
        return ("above", len(path) - path.index(id(value)))
    if len(path) >= _MAX_DEPTH:
        return _Same(value)
    path = (*path, id(value))
    kind: Any = type(value)
    if kind in (dict, types.MappingProxyType):
        return (dict, frozenset((_described(key, path), _described(item, path)) for key, item in value.items()))
    if kind in (list, tuple):
        return (kind, tuple(_described(item, path) for item in value))
    if kind in (set, frozenset):
        return (kind, frozenset(_described(item, path) for item in value))
    if kind is types.FunctionType:
        # One that is defined in the function of setup is another object at each call.
        cells = tuple(_described(cell.cell_contents, path) for cell in value.__closure__ or () if _is_filled(cell))
        defaults = (_described(value.__defaults__, path), _described(value.__kwdefaults__, path))
        return (kind, _Same(value.__code__), _Same(value.__globals__), cells, defaults)
    if kind is types.MethodType:
        return (kind, _Same(value.__func__), _described(value.__self__, path))
    if isinstance(value, (type, types.ModuleType)):
        return _Same(value)
    if kind.__eq__ is not _PLAIN_OBJECT.__eq__ and kind.__hash__ is not None:
        try:
            hash(value)
        except TypeError:
            pass
        else:
            return (kind, value)
    if dataclasses.is_dataclass(value) and not hasattr(value, "__dict__"):
        return (kind, tuple(_described(getattr(value, field.name), path) for field in dataclasses.fields(value)))
    state = _state(value)
    return _Same(value) if state is None else (kind, _described(state[0], path))


def _is_filled(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _state(value: Any) -> tuple[Any] | None:
    """Returns the attributes of an object that has nothing else; ``None`` for others, such as locks and connections."""
    kind: Any = type(value)
    for method in ("__reduce_ex__", "__reduce__", "__getstate__"):
        if getattr(kind, method, None) is not getattr(object, method, None):
            return None
    try:
        reduced = object.__reduce_ex__(value, 2)
    except Exception:
        return None
    if isinstance(reduced, str) or reduced[1] != (kind,) or any(part is not None for part in reduced[3:]):
        return None
    return (reduced[2],)
