"""Installers: functions of the host that install missing plugins."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, Union

from ._callback import Described, described
from ._checks import described as described_value
from ._checks import require_function
from ._stackwright import ResolutionRequest
from .errors import InvalidInputError

__all__ = ["Installer", "PluginInstaller"]


class PluginInstaller:
    """Installs plugins. Any object with some of these methods will do, ``async`` or not; a missing method is not called.

    It is called for what neither ``providers``, ``resolver`` nor the folders of :class:`~stackwright.Plugins` give: first
    whether the plugin is installed, then for its latest version when none is wanted, then to install it. Then the engine
    looks once more. However many resources and operations need a plugin, it is requested once at a time; different plugins
    are requested concurrently. What a method raises fails those that need the plugin, with its text unchanged.
    """

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def is_installed(self, plugin: ResolutionRequest, /) -> bool | Awaitable[bool]:
        """Returns whether a plugin is installed, in any version when ``plugin.version`` is ``None``."""
        raise NotImplementedError

    def latest_version(self, plugin: ResolutionRequest, /) -> str | None | Awaitable[str | None]:
        """Returns the latest version of a plugin; ``None`` leaves it to :meth:`install` which one that is."""
        raise NotImplementedError

    def install(self, plugin: ResolutionRequest, /) -> bool | None | Awaitable[bool | None]:
        """Puts a plugin where the engine looks for it: its executable ``pulumi-resource-NAME`` into one of the folders of
        :class:`~stackwright.Plugins`, or into ``resource-NAME-vVERSION`` in its ``cache``. Returns ``False`` for what is
        not to be installed, which then is missing."""
        raise NotImplementedError


class _HasIsInstalled(Protocol):
    def is_installed(self, plugin: ResolutionRequest, /) -> bool | Awaitable[bool]: ...


class _HasLatestVersion(Protocol):
    def latest_version(self, plugin: ResolutionRequest, /) -> str | None | Awaitable[str | None]: ...


class _HasInstall(Protocol):
    def install(self, plugin: ResolutionRequest, /) -> bool | None | Awaitable[bool | None]: ...


Installer = Union[
    _HasIsInstalled,
    _HasLatestVersion,
    _HasInstall,
    Callable[[ResolutionRequest], Union[bool, None, Awaitable[Union[bool, None]]]],
]
"""A :class:`PluginInstaller` or another object with some of its methods, or a function that installs."""

_METHODS = ("is_installed", "latest_version", "install")


def describe_installer(installer: Installer) -> tuple[Described | None, Described | None, Described | None]:
    """Describes an installer for the native half."""
    if inspect.isclass(installer):
        raise InvalidInputError(f"installer is the class {installer.__name__}; pass an instance, {installer.__name__}()")
    found: dict[str, Any] = {name: _method(installer, name) for name in _METHODS}
    if not any(found.values()):
        if not callable(installer):
            methods = ", ".join(_METHODS)
            raise InvalidInputError(f"installer has none of the methods {methods}, and is no function: {described_value(installer)}")
        require_function("installer", installer)
        found["install"] = installer

    def of(name: str, after: Callable[[Any], Any]) -> Described | None:
        return found[name] and described(f"installer.{name}", found[name], after=after)

    return of("is_installed", _is_installed), of("latest_version", _latest), of("install", _installed)


def _method(installer: object, name: str) -> Any:
    method = getattr(installer, name, None)
    if getattr(method, "__func__", None) is getattr(PluginInstaller, name):
        return None
    return method


def _is_installed(answer: object) -> bool:
    if not isinstance(answer, bool):
        raise InvalidInputError(f"is_installed of the installer returns a bool, not {type(answer).__name__}")
    return answer


def _latest(answer: object) -> str | None:
    if answer is not None and not isinstance(answer, str):
        raise InvalidInputError(f"latest_version of the installer returns a str or None, not {type(answer).__name__}")
    return answer


def _installed(answer: object) -> bool:
    if answer is not None and not isinstance(answer, bool):
        raise InvalidInputError(f"install of the installer returns a bool or None, not {type(answer).__name__}")
    return answer is not False
