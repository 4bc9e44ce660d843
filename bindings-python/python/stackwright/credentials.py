"""Credentials of remote stores: a mapping, or what returns one while the store is used."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timezone
from typing import Any, Protocol, Union

from ._callback import Described, is_async
from ._checks import require_function
from ._json import text_of
from .errors import InvalidInputError, NotFoundError
from .options import StoreCredentials

__all__ = ["Credentials", "CredentialSource"]

_GOOGLE_SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"
_AZURE_SCOPE = "https://storage.azure.com/.default"


class CredentialSource(Protocol):
    """A function, ``async`` or not, that returns credentials. It is called when a store is used first, and again one minute before
    ``expires`` of what it returned; without ``expires``, one minute after that. Calls do not overlap."""

    def __call__(self) -> StoreCredentials | Awaitable[StoreCredentials]: ...


Credentials = Union[StoreCredentials, CredentialSource, Any]
"""The credentials of a bucket or a database: a :class:`~stackwright.StoreCredentials`, a :class:`~stackwright.CredentialSource`, or an
object of another library that has them: a session of ``boto3``, credentials of ``google.auth``, a credential of ``azure.identity``. What a
function raises fails the request of the store that needed it, and is the cause of its error; its text must hold no secret."""


def describe_credentials(credentials: Any) -> tuple[Mapping[str, Any] | None, Described | None]:
    """Returns credentials that are data, or the function that returns them, described for the native half."""
    if credentials is None:
        return None, None
    if isinstance(credentials, Mapping):
        return _plain(credentials), None
    for method, made in (("get_credentials", _of_boto3), ("refresh", _of_google), ("get_token", _of_azure)):
        if callable(getattr(credentials, method, None)):
            return None, _described(made(credentials))
    if not callable(credentials):
        raise InvalidInputError(
            "credentials takes a mapping, a function without arguments, a session of boto3, credentials of google.auth or a credential "
            f"of azure.identity, not {type(credentials).__name__}"
        )
    require_function("credentials", credentials, 0)
    return None, _described(credentials)


def _described(function: Callable[[], Any]) -> Described:
    if is_async(function):

        async def call_async(_: None) -> str:
            return _text(await function())

        return call_async, True
    return (lambda _: _text(function())), False


def _text(returned: object) -> str:
    if not isinstance(returned, Mapping):
        raise InvalidInputError(f"it returned {type(returned).__name__}, not a mapping with credentials")
    return text_of("credentials", _plain(returned))


def _plain(credentials: Mapping[Any, Any]) -> dict[str, Any]:
    """Returns credentials with their end as a text."""
    plain = {name: value for name, value in credentials.items() if value is not None}
    expires = plain.get("expires")
    if isinstance(expires, datetime):
        if expires.tzinfo is None:
            raise InvalidInputError("expires of credentials has no time zone")
        plain["expires"] = expires.isoformat()
    return plain


def _of_boto3(session: Any) -> Callable[[], StoreCredentials]:
    """The session renews its credentials itself: it is asked each minute."""

    def ask() -> StoreCredentials:
        found = session.get_credentials()
        if found is None:
            raise NotFoundError("the session of boto3 has no credentials")
        keys = found.get_frozen_credentials()
        made: StoreCredentials = {"access_key_id": keys.access_key, "secret_access_key": keys.secret_key}
        return made if keys.token is None else {**made, "session_token": keys.token}

    return ask


def _of_google(credentials: Any) -> Callable[[], StoreCredentials]:
    def ask() -> StoreCredentials:
        # Part of the caller's library.
        from google.auth.credentials import with_scopes_if_required  # type: ignore[import-not-found, import-untyped, unused-ignore]
        from google.auth.transport.requests import Request  # type: ignore[import-not-found, import-untyped, unused-ignore]

        nonlocal credentials
        if not credentials.valid:
            credentials = with_scopes_if_required(credentials, [_GOOGLE_SCOPE])
            credentials.refresh(Request())
        made: StoreCredentials = {"token": credentials.token}
        expiry = credentials.expiry
        if expiry is None:
            return made
        # Without a time zone it is one of UTC.
        return {**made, "expires": expiry.replace(tzinfo=timezone.utc) if expiry.tzinfo is None else expiry}

    return ask


def _of_azure(credential: Any) -> Callable[[], Any]:
    def made(token: Any) -> StoreCredentials:
        return {"token": token.token, "expires": datetime.fromtimestamp(token.expires_on, timezone.utc)}

    if is_async(credential.get_token):

        async def ask_async() -> StoreCredentials:
            return made(await credential.get_token(_AZURE_SCOPE))

        return ask_async
    return lambda: made(credential.get_token(_AZURE_SCOPE))
