"""Requests about the installed plugins of an engine."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any

from ._bridge import answer
from ._checks import require_function
from ._json import document_of_options
from ._results import InstalledPlugin, PluginProgress
from ._stackwright import Engine as NativeEngine

__all__ = ["install", "request"]


def _plugin_of(members: Mapping[str, Any]) -> InstalledPlugin:
    last_used = members["lastUsed"]
    return InstalledPlugin(last_used=last_used, **{name: value for name, value in members.items() if name != "lastUsed"})


async def request(native: NativeEngine, called: str, kind: str, selection: Mapping[str, Any]) -> list[InstalledPlugin]:
    """Lists or removes plugins; ``called`` names the method in errors."""
    encoded = document_of_options({kind: dict(selection)})
    text = await answer(lambda queue, callback: native.plugins(encoded, f"{called}()", None, queue, callback))
    return [_plugin_of(members) for members in json.loads(text)]


async def install(
    native: NativeEngine, plugin: Mapping[str, Any], on_progress: Callable[[PluginProgress], object] | None
) -> InstalledPlugin:
    """Installs a plugin. What ``on_progress`` raises first is raised at the end of the installation."""
    require_function("on_progress", on_progress)
    file = plugin["file"]
    encoded = document_of_options({"install": {**plugin, "file": os.fspath(file) if isinstance(file, os.PathLike) else file}})
    raised: list[BaseException] = []

    def progress(text: str) -> None:
        if on_progress is None or raised:
            return
        try:
            on_progress(PluginProgress(**json.loads(text)))
        except BaseException as error:
            raised.append(error)

    reported = None if on_progress is None else progress
    text = await answer(
        lambda queue, callback: native.plugins(encoded, "install_plugin()", reported, queue, callback)
    )
    if raised:
        raise raised[0]
    return _plugin_of(json.loads(text))
