"""A project: a folder with a file ``Pulumi.yaml``, and the settings files of its stacks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar

from ._bridge import answer
from ._checks import require, require_given
from ._json import text_of
from ._results import ConfigDeclaration, ConfigEntry, ProjectFacts, StackFile
from ._stackwright import Project as NativeProject
from .errors import InvalidInputError
from .values import PropertyValue

__all__ = ["ConfigDeclaration", "ConfigEntry", "Project", "ProjectFacts", "StackFile"]

T = TypeVar("T")


class Openable(Protocol):
    """What can be closed, and takes no work after that."""

    def _require_open(self) -> None: ...


class Project:
    """A project, bound to an engine; :meth:`stackwright.Engine.project` opens it. It is a path: that of its folder.

    Its files are read again by each call. A call that writes changes only what it names: the rest of the file keeps its bytes,
    with comments and order. ::

        project = await engine.project("shop")
        await project.set_config("dev", "size", "3")
        await project.set_config("dev", "token", "hunter2", secret=True)
        stack = await engine.stack("dev", program, project=project)
    """

    def __init__(self, native: NativeProject, engine: Openable) -> None:
        self._native = native
        self._engine = engine

    @property
    def folder(self) -> str:
        """The folder, as an absolute path."""
        return str(self._native.folder)

    def __fspath__(self) -> str:
        return self.folder

    async def facts(self) -> ProjectFacts:
        """Reads the project file."""
        self._engine._require_open()
        document = json.loads(await answer(self._native.facts))
        declarations = tuple(_members_of(ConfigDeclaration, declaration) for declaration in document["config"])
        return _members_of(ProjectFacts, {**document, "config": declarations})

    async def set(self, path: str, value: Any) -> None:
        """Sets the value at a path of the project file: ``description``, ``template.config.region``, ``config.size.default``.

        A change after which the file would be no project file is refused.

        :param value: What JSON can have.
        """
        self._engine._require_open()
        require_given("path", path, str, "a text")
        encoded = text_of("value", value).encode()
        await answer(lambda queue, callback: self._native.set(path, encoded, queue, callback))

    async def remove(self, path: str) -> bool:
        """Removes the value at a path of the project file, and returns whether there was one."""
        self._engine._require_open()
        require_given("path", path, str, "a text")
        existed: bool = await answer(lambda queue, callback: self._native.remove(path, queue, callback))
        return existed

    async def settings(self, stack: str) -> StackFile:
        """Reads the settings file of a stack, apart from its configuration. A missing file is empty.

        :param stack: The name of the stack, with or without the project.
        """
        self._engine._require_open()
        require_given("stack", stack, str, "a text")
        return _members_of(
            StackFile, json.loads(await answer(lambda queue, callback: self._native.settings(stack, queue, callback)))
        )

    async def get_config(self, stack: str, path: str, *, passphrase: str | None = None) -> ConfigEntry:
        """Returns the value at a path of a stack's configuration, decrypted; the default of a declared key counts.

        :param path: A key, or a path in its structure: ``size``, ``aws:tags["a"].b[0]``. Keys without a namespace are the
            project's own.
        :param passphrase: It takes the place of the engine's.
        :raises NotFoundError: when there is no value.
        """
        self._check(stack, passphrase)
        require_given("path", path, str, "a text")
        found = await answer(lambda queue, callback: self._native.get_config(stack, path, passphrase, queue, callback))
        return _members_of(ConfigEntry, json.loads(found))

    async def list_config(
        self, stack: str, *, show_secrets: bool = False, passphrase: str | None = None
    ) -> dict[str, ConfigEntry]:
        """Returns a stack's configuration by key, with the defaults of declared keys.

        :param show_secrets: Whether secrets are decrypted; otherwise their values are left out.
        """
        self._check(stack, passphrase)
        require_given("show_secrets", show_secrets, bool, "True or False")
        found = await answer(
            lambda queue, callback: self._native.list_config(stack, show_secrets, passphrase, queue, callback)
        )
        return {key: _members_of(ConfigEntry, entry) for key, entry in json.loads(found).items()}

    async def set_config(
        self,
        stack: str,
        path: str,
        value: PropertyValue,
        *,
        secret: bool | None = None,
        passphrase: str | None = None,
    ) -> None:
        """Sets the value at a path of a stack's configuration; the parameters are those of :meth:`set_all_config`."""
        require_given("path", path, str, "a text")
        await self.set_all_config(stack, {path: value}, secret=secret, passphrase=passphrase)

    async def set_all_config(
        self,
        stack: str,
        values: Mapping[str, PropertyValue],
        *,
        secret: bool | None = None,
        passphrase: str | None = None,
    ) -> None:
        """Sets values at paths of a stack's configuration, in one write.

        Secrets are encrypted with the salt of the file; a first one gets that of the stack's state, or a new one.

        :param secret: Whether the values are encrypted. Left out, those are that are a :class:`~stackwright.Secret` or hold
            one, and those of keys that the project declares as secret.
        """
        self._check(stack, passphrase)
        require_given("values", values, Mapping, "a dictionary of values by path")
        require("secret", secret, bool, "True or False")
        for path in values:
            require_given("a path", path, str, "a text")
        pairs = list(values.items())
        await answer(
            lambda queue, callback: self._native.set_config(stack, pairs, secret, passphrase, queue, callback)
        )

    async def remove_config(self, stack: str, paths: str | Sequence[str]) -> int:
        """Removes the values at paths of a stack's configuration, in one write, and returns how many there were."""
        self._check(stack, None)
        listed = [paths] if isinstance(paths, str) else paths
        require_given("paths", listed, (list, tuple), "a path, or a list of paths")
        for path in listed:
            require_given("a path", path, str, "a text")
        removed: int = await answer(
            lambda queue, callback: self._native.remove_config(stack, list(listed), queue, callback)
        )
        return removed

    def _check(self, stack: str, passphrase: str | None) -> None:
        self._engine._require_open()
        require_given("stack", stack, str, "a text")
        require("passphrase", passphrase, str, "a text")
        if passphrase == "":
            raise InvalidInputError("passphrase takes a text that is not empty; leave it out to use the engine's")

    def __repr__(self) -> str:
        return f"<Project {self.folder}>"


def _members_of(kind: type[T], document: Mapping[str, Any]) -> T:
    """Returns a data class with the members of a document; those that are left out are ``None``."""
    return kind(**{name: document.get(_camel_case(name)) for name in kind.__annotations__})


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)
