"""Errors: one class for each kind, which is what a program branches on; the text is for display."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ._record import record

if TYPE_CHECKING:
    from .fleet import FleetReport, FleetResult
    from .result import Result

__all__ = [
    "CancelledError",
    "CheckFailure",
    "ConflictError",
    "DecryptError",
    "FailedError",
    "InitFailure",
    "InternalError",
    "InvalidInputError",
    "NotFoundError",
    "PluginError",
    "ProgramError",
    "ProviderError",
    "SecretsError",
    "StackwrightError",
    "StateError",
    "Status",
    "UnavailableError",
]


class StackwrightError(Exception):
    """Base of all errors of this package."""

    kind: ClassVar[str] = "internal"
    """The stable name of the kind, the same in every language."""

    error_class: ClassVar[Literal["bail", "decrypt", "internal"]] = "internal"
    """The class of the error in the reference engine, for hosts that sort by it: ``bail`` when diagnostics report the
    cause."""

    def __init__(
        self,
        message: str,
        *,
        urn: str | None = None,
        provider: str | None = None,
        phase: str | None = None,
        hints: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        """The message to display; ``str()`` adds the hints."""
        self.reference_message: str = message
        """The text that the reference engine gives such an error, for tools that match on it: one whose reason stands in the
        diagnostics begins with ``BAIL: ``."""
        self.message_code: str | None = None
        """The stable name of the message, where it has one: ``protected_from_deletion`` for instance."""
        self.message_arguments: Mapping[str, Any] | None = None
        """What a message with a code is about, by name."""
        self.config_key: str | None = None
        """The configuration key, as ``namespace:name``, whose value the error is about."""
        self.urn = urn
        """The resource that the error is about."""
        self.provider = provider
        """The provider that the error came from."""
        self.phase = phase
        """What failed: ``check``, ``diff``, ``create``, ``load``, ``save``…"""
        self.hints = tuple(hints)
        """Advice, apart from the message."""
        self.reason: str | None = None
        """The text of the cause, as the engine knows it; ``__cause__`` is what code of the host raised."""
        self.result: Result | None = None
        """What the operation did before it failed, when an operation failed."""
        self.fleet_result: FleetResult | FleetReport | None = None
        """What an operation on a set of stacks came to, when it failed."""


    @property
    def page(self) -> str:
        """The name of the page about the kind in the documentation: ``errors/conflict`` for instance."""
        return f"errors/{self.kind}"

    def __str__(self) -> str:
        return "\n".join([self.message, *(f"hint: {hint}" for hint in self.hints)])


class InvalidInputError(StackwrightError):
    """The caller passed something wrong; the message names what and where. Nothing was changed.

    That is the one error of everything that is passed to this package: of options that are not known, of values of another
    type, and of types that are right with a value that is not. ``TypeError`` is what Python itself raises: for a parameter
    that a function does not have, and for what an output, a secret or an unknown value has not, its truth for instance.
    """

    kind = "invalid_input"


class NotFoundError(StackwrightError):
    """The stack, resource or file does not exist."""

    kind = "not_found"


class ConflictError(StackwrightError):
    """The lock of the stack is held elsewhere, or its state was changed meanwhile. Try again later."""

    kind = "conflict"


class Status(IntEnum):
    """How a provider's call failed; names and numbers are those of gRPC.

    ``UNKNOWN``, ``INTERNAL`` and ``DATA_LOSS`` mean that the state of the real thing is not known.
    """

    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


@record(frozen=True, slots=True)
class CheckFailure:
    """One thing that is wrong with inputs."""

    reason: str
    property: str = ""
    """The path of the property; empty for the whole resource."""


class ProviderError(StackwrightError):
    """A provider refused or failed a call; the message is the provider's own.

    A provider written in Python raises it to fail a call with a status of its choice.

    :raises InvalidInputError: for ``input_errors`` that are no objects of the class :class:`CheckFailure`; it has the message, too.
    """

    kind = "provider"

    def __init__(
        self,
        message: str,
        *,
        status: Status = Status.UNKNOWN,
        missing_keys: Mapping[str, str] | None = None,
        input_errors: Sequence[CheckFailure] = (),
        urn: str | None = None,
        provider: str | None = None,
        phase: str | None = None,
        hints: Sequence[str] = (),
    ) -> None:
        super().__init__(message, urn=urn, provider=provider, phase=phase, hints=hints)
        self.status = status
        self.input_errors = _input_errors(message, input_errors)
        """What is wrong with the inputs that ``construct`` or ``call`` refuses. Each failure is reported with the path of its
        property and the value there."""
        self.missing_keys = dict(missing_keys or {})
        """Configuration keys that are missing, with their descriptions."""


def _input_errors(message: str, given: Sequence[CheckFailure]) -> tuple[CheckFailure, ...]:
    """Returns the failures that an error with a message is made with; the error of what is none has that message, too."""
    wanted, found = "a list of objects of the class CheckFailure", type(given).__name__
    if isinstance(given, Iterable) and not isinstance(given, (str, bytes)):
        failures = tuple(given)
        wrong = [failure for failure in failures if not isinstance(failure, (CheckFailure, tuple))]
        if not wrong:
            return failures
        found = f"one of {type(wrong[0]).__name__}"
    raise InvalidInputError(f"input_errors of the ProviderError {message!r} takes {wanted}, not {found}")


class PluginError(StackwrightError):
    """A plugin process could not be found, started or spoken to."""

    kind = "plugin"


class StateError(StackwrightError):
    """The recorded state is corrupt, of an unknown version, or would become invalid."""

    kind = "state"


class SecretsError(StackwrightError):
    """Secrets could not be encrypted, or what encrypts those of a stack is not known here."""

    kind = "secrets"


class CancelledError(StackwrightError):
    """The operation was cancelled; what had run is recorded."""

    kind = "cancelled"
    error_class = "bail"


class UnavailableError(StackwrightError):
    """A store or service did not answer; the same call may succeed later."""

    kind = "unavailable"


class ProgramError(StackwrightError):
    """The program raised an error of its own."""

    kind = "program"
    error_class = "bail"


class FailedError(StackwrightError):
    """The deployment failed; its diagnostics and events report where. What succeeded is recorded."""

    kind = "failed"
    error_class = "bail"


class InternalError(StackwrightError):
    """A bug in the engine."""

    kind = "internal"


class DecryptError(StackwrightError):
    """A secret could not be decrypted, for instance because the passphrase is wrong; the message names the key of the
    configuration when it is a value of that."""

    kind = "decrypt"
    error_class = "decrypt"


class InitFailure(Exception):
    """Raised by a provider when a resource exists, but its initialization failed.

    The engine records the resource with its outputs so far and the reasons; the next update tries again.
    """

    def __init__(
        self,
        id: str,
        outputs: Mapping[str, Any],
        reasons: Sequence[str],
        *,
        inputs: Mapping[str, Any] | None = None,
        refresh_before_update: bool = False,
    ) -> None:
        super().__init__(", ".join(reasons))
        self.id = id
        self.outputs = dict(outputs)
        self.reasons = tuple(reasons)
        self.inputs = None if inputs is None else dict(inputs)
        self.refresh_before_update = refresh_before_update


_CLASSES: dict[str, type[StackwrightError]] = {cls.kind: cls for cls in StackwrightError.__subclasses__()}


class _NamedError(ProgramError):
    """Names the class of an exception of a function; its cause is the exception."""


def _from_parts(
    kind: str,
    message: str,
    reference_message: str,
    message_code: str | None,
    message_arguments: str | None,
    urn: str | None,
    provider: str | None,
    phase: str | None,
    config_key: str | None,
    hints: Sequence[str],
    cause: BaseException | None,
    reason: str | None,
) -> StackwrightError:
    """Builds the exception of an error of the engine."""
    error = _CLASSES.get(kind, InternalError)(message, urn=urn, provider=provider, phase=phase, hints=hints)
    error.reference_message = reference_message
    error.message_code = message_code
    error.message_arguments = None if message_arguments is None else json.loads(message_arguments)
    error.config_key = config_key
    error.reason = reason
    if isinstance(cause, _NamedError):
        cause = cause.__cause__
    # What a function of the host has raised is the cause itself; of anything else there is only a text.
    error.__cause__ = RuntimeError(reason) if cause is None and reason is not None else cause
    return error
