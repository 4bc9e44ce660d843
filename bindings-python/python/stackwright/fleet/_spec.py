"""Specifications of stacks: what a worker needs to open and run one, without a secret value."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from .._annotations import Unpack
from .._checks import require_given
from ..errors import InvalidInputError
from ..options import SECRET_SETTINGS, OperationOptions
from ..stack import Policies

__all__ = ["StackSpec", "WorkerSetup"]

_PATH: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")

_SECRET_WORDS: Final = ("password", "secret", "token", "passphrase", "credential", "access_key", "accesskey", "sig")
"""Parts of the names of parameters of a store's URL that hold credentials."""

_SECRET_MARK: Final = ("4dabf18193072939515e22adb298388d", "1b47061264138c4ac30d75fd1eb44270")
"""The member that an object of the wire format has when it is a secret."""

_OF_THE_SET: Final = ("run_id", "unfinished_stacks", "hold_session", "no_events")
"""The options that an operation on a set decides itself."""


class StackSpec:
    """A stack of a set that runs on an executor, and how a worker opens and runs it. It can be pickled, and holds no secret value; its
    ``repr`` has names only.

    :param stack: The name, ``project/stack``.
    :param program: The import path of the program, ``package.module:name``, or a function of a module that can be imported; see
        :meth:`stackwright.Engine.stack`. A destroy or a refresh needs none.
    :param store: The URL of the store, without credentials. Left out, ``setup`` supplies the store.
    :param setup: The import path of a function that returns a :class:`WorkerSetup` for a specification, or such a function; it may be
        ``async``. It is called in each worker for each stack, and supplies what the specification must not hold: passphrase,
        credentials, secret configuration. It also supplies providers and all else that an engine has.
    :param config: The configuration that is not secret: plain JSON values by their keys.
    :param settings: Further settings of the stack that are plain JSON values; see :class:`stackwright.StackSettings`. Those that can
        hold secrets are refused: ``passphrase``, ``reference_passphrases``, ``program_environment`` and ``deployment``.
    :param depends_on: The stacks of the set that it needs, or their names, beside those that its recorded stack references name.
    :param options: The options of the stack's operation. Policy packs are folders on the worker.
    """

    __slots__ = ("config", "depends_on", "options", "program", "settings", "setup", "stack", "store")

    def __init__(
        self,
        stack: str,
        program: str | Callable[..., object] | None = None,
        *,
        store: str | None = None,
        setup: str | Callable[[StackSpec], object] | None = None,
        config: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
        depends_on: Sequence[StackSpec | str] = (),
        **options: Unpack[OperationOptions],
    ) -> None:
        require_given("stack", stack, str, "a text, project/stack")
        require_given("depends_on", depends_on, (list, tuple), "a list of specifications or of names of stacks")
        self.stack: Final[str] = stack
        """The name."""
        self.program: Final = None if program is None else _path("program", program)
        """The import path of the program."""
        self.setup: Final = None if setup is None else _path("setup", setup)
        """The import path of the function that supplies the rest."""
        if store is None and setup is None:
            raise InvalidInputError(f"the specification of {stack} has neither a store nor a setup that supplies one")
        self.store: Final = None if store is None else _without_credentials(store)
        """The URL of the store."""
        self.config: Final[Mapping[str, Any]] = _plain("config", config)
        """The configuration that is not secret."""
        self.settings: Final[Mapping[str, Any]] = _plain("settings", settings)
        for setting in self.settings:
            if setting in SECRET_SETTINGS:
                raise InvalidInputError(
                    f"{setting} is refused among the settings of a specification, which leaves this process: it can hold secret values; "
                    "the function of setup supplies it"
                )
            if setting == "config":
                raise InvalidInputError("config is a parameter of a specification of its own, not one of its settings")
        """Further settings of the stack."""
        self.depends_on: Final = tuple(_name(other) for other in depends_on)
        """The names of the stacks that it needs."""
        given: dict[str, Any] = dict(options)
        if given.get("show_secrets"):
            raise InvalidInputError("show_secrets is refused: the events of a specification leave the worker")
        for option in _OF_THE_SET:
            if option in given:
                raise InvalidInputError(f"{option} is decided by the operation on the set, not by a specification")
        if given.get("plan") is not None and not isinstance(given["plan"], (Mapping, str)):
            raise InvalidInputError("plan takes a document here: the result of a preview does not leave its process")
        self.options: Final[Mapping[str, Any]] = given
        """The options of the operation."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        facts = [f"program {self.program}", f"setup {self.setup}", f"config {', '.join(self.config) or None}"]
        return f"<StackSpec of {self.stack}: {'; '.join(fact for fact in facts if not fact.endswith(' None'))}>"


class WorkerSetup:
    """What a worker needs beside a specification. Its ``repr`` has names only.

    :param engine: Parameters of :class:`stackwright.Engine`: ``passphrase``, ``credentials``, ``providers``, ``plugins`` and others;
        ``store`` where the specification has none. Stacks of a worker share an engine, and its plugins, where these are equal: the same
        values, the same objects, or objects of one class with equal attributes. An object that has something without a value, such as a
        connection, is made once for its module, not at each call. The passphrase can be another one for each stack.
    :param config: Configuration beside that of the specification, also with secret values (:func:`stackwright.secret`).
    :param settings: Settings of the stack beside those of the specification; see :class:`stackwright.StackSettings`.
    :param policies: Policies that check every resource; see :meth:`stackwright.Stack.preview`.
    """

    __slots__ = ("config", "engine", "policies", "settings")

    def __init__(
        self,
        *,
        engine: Mapping[str, Any] | None = None,
        config: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
        policies: Policies | None = None,
    ) -> None:
        self.engine: Final[Mapping[str, Any]] = dict(engine or {})
        self.config: Final[Mapping[str, Any]] = dict(config or {})
        self.settings: Final[Mapping[str, Any]] = dict(settings or {})
        self.policies: Final = policies

    def __repr__(self) -> str:
        return f"<WorkerSetup: engine {sorted(self.engine)}, config {sorted(self.config)}, settings {sorted(self.settings)}>"

    def __reduce__(self) -> Any:
        raise TypeError("the setup of a worker may hold secrets, and does not leave its process")


def _path(name: str, given: object) -> str:
    """Returns an import path, or that of a function."""
    if isinstance(given, str):
        path = given
    else:
        module, qualified = getattr(given, "__module__", None), getattr(given, "__qualname__", None)
        if not module or not qualified or module == "__main__":
            raise InvalidInputError(f"{name} takes an import path, package.module:name, or a function of a module that workers can import")
        path = f"{module}:{qualified}"
    if _PATH.fullmatch(path) is None:
        raise InvalidInputError(f"{name} takes an import path, package.module:name, not {path!r}")
    return path


def _plain(name: str, given: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Returns values that are plain JSON, so that none of them is a secret."""
    if given is None:
        return {}
    require_given(name, given, Mapping, "a mapping")
    for key, value in given.items():
        try:
            json.dumps(value)
        except (TypeError, ValueError) as error:
            raise InvalidInputError(
                f"{name} of a specification takes plain JSON values, and that of {key!r} is of type {type(value).__name__}; "
                "the function of setup supplies secret values"
            ) from error
        if _has_secret(value):
            raise InvalidInputError(
                f"the value of {key!r} in {name} of a specification is marked as secret; the function of setup supplies secret values"
            )
    return dict(given)


def _has_secret(value: object) -> bool:
    """Returns whether a plain value has a mark of a secret: ``{"value": …, "secret": True}``, or that of the wire format."""
    if isinstance(value, Mapping):
        is_entry = set(value) == {"value", "secret"} and value["secret"] is not False
        return is_entry or value.get(_SECRET_MARK[0]) == _SECRET_MARK[1] or any(_has_secret(member) for member in value.values())
    return isinstance(value, (list, tuple)) and any(_has_secret(item) for item in value)


def _without_credentials(url: object) -> str:
    """Returns the URL of a store, unless it holds credentials."""
    if not isinstance(url, str):
        raise InvalidInputError("store takes a URL; the function of setup supplies a store of the host")
    text = "the URL of a specification's store holds no credentials; the function of setup supplies them"
    try:
        parts = urlsplit(url)
        has_password = parts.password is not None
        names = [name.lower() for name, _ in parse_qsl(parts.query, keep_blank_values=True)]
    except ValueError:
        raise InvalidInputError("store takes a URL as a text") from None
    if has_password or any(word in name for name in names for word in _SECRET_WORDS):
        raise InvalidInputError(text)
    return url


def _name(other: object) -> str:
    name = other.stack if isinstance(other, StackSpec) else other
    if not isinstance(name, str):
        raise InvalidInputError(f"depends_on takes specifications or names of stacks, not {type(other).__name__}")
    return name
