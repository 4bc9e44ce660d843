"""Settings of stacks: what the methods that open one take by name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final, TypedDict

from ._checks import require, require_folder, require_given
from ._json import MAX_OPTION_DEPTH, text_of
from .errors import InvalidInputError
from .host import Secrets
from .journal import Journal
from .values import PropertyValue

__all__ = ["StackSettings"]


class StackSettings(TypedDict, total=False):
    """What a stack is opened with beside its program; :meth:`stackwright.Engine.stack` describes each."""

    config: Mapping[str, PropertyValue] | None
    encryption_salt: str | None
    organization: str | None
    tags: Mapping[str, str] | None
    root_directory: str | os.PathLike[str] | None
    runtime_options: Mapping[str, Any] | None
    deployment: Mapping[str, Any] | bytes | str | None
    journal: Journal | None
    passphrase: str | None
    secrets: Secrets | None
    reference_passphrases: Mapping[str, str] | None


_NAMES: Final = (
    "config",
    "encryption_salt",
    "organization",
    "tags",
    "root_directory",
    "runtime_options",
    "deployment",
    "journal",
    "passphrase",
    "secrets",
    "reference_passphrases",
)


def check_settings(settings: StackSettings) -> None:
    """Raises :class:`InvalidInputError` for a name that is no setting, and for a value of a wrong type."""
    unknown = [name for name in settings if name not in _NAMES]
    if unknown:
        raise InvalidInputError(f"unknown setting {unknown[0]!r} of a stack; there are: {', '.join(_NAMES)}")
    require("config", settings.get("config"), Mapping, "a dictionary of values by key")
    require("encryption_salt", settings.get("encryption_salt"), str, "a text")
    require("organization", settings.get("organization"), str, "a text")
    _require_texts("tags", settings.get("tags"))
    require_folder("root_directory", settings.get("root_directory"))
    require("passphrase", settings.get("passphrase"), str, "a text")
    _require_texts("reference_passphrases", settings.get("reference_passphrases"))


def _require_texts(name: str, texts: Mapping[str, str] | None) -> None:
    require(name, texts, Mapping, "a dictionary of texts by name")
    for key, value in (texts or {}).items():
        require_given(name, key, str, "a dictionary of texts by name, whose names are texts")
        require_given(f"{name}[{key!r}]", value, str, "a text")


def json_of_options(options: Mapping[str, Any] | None) -> str:
    """Returns the options of a project's runtime as JSON; raises :class:`InvalidInputError` for what is no JSON."""
    require("runtime_options", options, Mapping, "a dictionary of JSON values by name")
    for name in options or {}:
        require_given("runtime_options", name, str, "a dictionary of JSON values by name, whose names are texts")
    return text_of("runtime_options", options or {}, MAX_OPTION_DEPTH)
