"""The part of the package that needs the Pulumi SDK, which is optional."""

from __future__ import annotations

from types import ModuleType

from .errors import InvalidInputError

__all__ = ["sdk"]

_PACKAGES = ("pulumi", "grpc", "google")


def sdk(needed_by: str = "run_sdk() runs code written with", hints: tuple[str, ...] = ()) -> ModuleType:
    """Returns the package that runs code of the SDK.

    :raises InvalidInputError: when the SDK is not installed.
    """
    try:
        from . import _sdk
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.split(".")[0] in _PACKAGES:
            raise InvalidInputError(
                f"{needed_by} the Pulumi SDK, which is not installed", hints=["install it with: pip install pulumi", *hints]
            ) from error
        raise
    return _sdk
