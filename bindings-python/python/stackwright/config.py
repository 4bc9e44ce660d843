"""A stack's configuration, as a program reads it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping

from .errors import InvalidInputError, NotFoundError
from .values import PropertyValue, Secret

__all__ = ["Config"]


class Config(Mapping[str, "str | Secret[str]"]):
    """The stack's configuration by ``namespace:name``; the project's namespace may be left out.

    Values are texts, secret ones a :class:`~stackwright.Secret` around the text.
    """

    def __init__(self, key: Callable[[str], str], values: Mapping[str, str], secret_keys: Iterable[str]) -> None:
        # Returns the key that a name stands for.
        self._key = key
        self._values = values
        self._secret_keys = frozenset(secret_keys)

    def __getitem__(self, name: str) -> str | Secret[str]:
        key = self._key(name)
        text = self._values[key]
        return Secret(text) if key in self._secret_keys else text

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def is_secret(self, name: str) -> bool:
        """Returns whether a value is secret."""
        return self._key(name) in self._secret_keys

    def require(self, name: str) -> str | Secret[str]:
        """Returns a value.

        :raises NotFoundError: when the configuration does not have it.
        """
        try:
            return self[name]
        except KeyError:
            raise NotFoundError(f"the configuration has no {self._key(name)!r}") from None

    def secret(self, name: str) -> Secret[str]:
        """Returns a text as a secret value, to be passed on as an input, whether or not it is secret there."""
        value = self.require(name)
        return value if isinstance(value, Secret) else Secret(value)

    def object(self, name: str) -> PropertyValue:
        """Returns a structured value, a secret one as a :class:`~stackwright.Secret`.

        :raises InvalidInputError: when the text is no JSON.
        """
        text = self.require(name)
        try:
            return Secret(json.loads(text.value)) if isinstance(text, Secret) else json.loads(text)
        except ValueError as error:
            raise InvalidInputError(f"the configuration {self._key(name)!r} is no JSON: {error}") from None

    def __repr__(self) -> str:
        return f"<Config {sorted(self._values)}>"
