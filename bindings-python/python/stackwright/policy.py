"""Policies as functions: checks of resources and of whole stacks, and remediations of inputs."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Final, Union

from ._callback import Described, described, is_async
from ._checks import require, require_function, require_given
from ._raised import Raised, watched_function
from ._record import record
from ._results import EnforcementLevel, PolicyAnalysis, PolicySeverity, PolicyViolation
from .errors import InvalidInputError
from .options import PolicyPack
from .values import PropertyValue

__all__ = [
    "Policy",
    "PolicyAnalysis",
    "PolicyProvider",
    "PolicyResource",
    "PolicyResourceOptions",
    "PolicyStack",
    "PolicyViolation",
    "Report",
]

Values = Mapping[str, PropertyValue]


@record(frozen=True, slots=True, kw_only=True)
class PolicyResourceOptions:
    """The options of a resource, for policies."""

    protect: bool
    """Whether deletion is refused."""
    ignore_changes: Sequence[str]
    """Paths of inputs whose changes are ignored."""
    delete_before_replace: bool | None
    """Whether a replacement deletes the old resource first; ``None`` if the program does not set it."""
    additional_secret_outputs: Sequence[str]
    """Names of outputs that are treated as secret."""
    aliases: Sequence[str]
    """The aliases that the program gives as URNs."""
    custom_timeouts: Mapping[str, float]
    """Limits of the provider's calls in seconds, by ``create``, ``update``, ``delete`` and ``read``."""


@record(frozen=True, slots=True, kw_only=True)
class PolicyProvider:
    """The provider of a resource, for policies."""

    type: str
    """The type."""
    name: str
    """The name."""
    urn: str
    """The URN."""
    props: Values
    """The configuration."""


@record(frozen=True, slots=True, kw_only=True)
class PolicyResource:
    """A resource that a policy checks or remediates.

    Secret values are :class:`~stackwright.Secret`, and unknown ones :data:`~stackwright.UNKNOWN`, which only previews have:
    :func:`~stackwright.unwrap` and :func:`~stackwright.is_unknown` are for them. No mapping of values can be changed
    in place: a remediation returns the inputs.
    """

    type: str
    """The type."""
    name: str
    """The name."""
    urn: str
    """The URN."""
    props: Values
    """The properties: the inputs in checks and remediations of a resource, the outputs in checks of a stack."""
    inputs: Values
    """The inputs."""
    options: PolicyResourceOptions
    """The options."""
    provider: PolicyProvider | None
    """The provider; ``None`` for components and providers."""
    parent: str | None
    """The URN of the parent."""
    dependencies: Sequence[str]
    """The URNs that it depends on as a whole."""
    property_dependencies: Mapping[str, Sequence[str]]
    """The URNs that each input depends on."""
    config: Values
    """The settings of the policy."""


@record(frozen=True, slots=True, kw_only=True)
class PolicyStack:
    """All resources of a stack, for policies that check them together."""

    resources: Sequence[PolicyResource]
    """The resources, providers and components included."""
    config: Values
    """The settings of the policy."""


Report = Callable[..., None]
"""Reports a violation: ``report(message)``, in checks of a stack also ``report(message, urn)`` with the URN of the resource."""

Found = Union[None, str, Sequence[str]]
Check = Union[
    Callable[[PolicyResource], Union[Found, Awaitable[Found]]],
    Callable[[PolicyResource, Report], Union[Found, Awaitable[Found]]],
]
StackCheck = Union[
    Callable[[PolicyStack], Union[Found, Awaitable[Found]]],
    Callable[[PolicyStack, Report], Union[Found, Awaitable[Found]]],
]
Remediation = Callable[[PolicyResource], Union[Values, None, Awaitable[Union[Values, None]]]]

_LEVELS: Final = ("advisory", "mandatory", "remediate", "disabled")
_SEVERITIES: Final = ("low", "medium", "high", "critical")


class Policy:
    """A policy of the host, for ``policies`` of operations and of :meth:`stackwright.Stack.analyze`.

    ::

        def private(bucket):
            if bucket.type == "aws:s3/bucket:Bucket" and bucket.props.get("acl") == "public-read":
                return "the bucket is public"

        await stack.up(policies=[sw.Policy("no-public-buckets", level="mandatory", check=private)])

    Each function is an ordinary or an ``async`` one. What it raises ends the operation, and is the cause (``__cause__``) of its
    error: a violation is returned or reported instead.

    :param name: The name, unique in its pack.
    :param check: Checks each resource after the provider has checked its inputs. It returns the violations, as a text or a
        list of texts, or takes a second parameter: a function that reports one, see :data:`~stackwright.Report`.
    :param remediate: Returns the inputs of a resource that conform to the policy, or ``None`` to leave them as they are. It
        is called for the level ``remediate`` only. An input that was secret remains secret.
    :param check_stack: Checks all resources together at the end of an operation, and returns or reports violations as
        ``check`` does. A policy that has it has none of the others.
    :param level: ``advisory`` reports violations, ``mandatory`` fails the operation, ``disabled`` does nothing, and
        ``remediate``, the default with ``remediate``, rewrites inputs and fails the operation if ``check`` still finds a
        violation. Otherwise ``advisory`` is the default.
    :param description: What the policy demands, for users.
    :param severity: How grave a violation is.
    :param pack: The pack that events name. Policies of one pack stand together in ``policies``. An entry of
        ``local_policy_packs`` or ``required_policies`` that has this name, and neither address nor path, configures the pack and
        determines its place: ``local_policy_packs=[{"name": "guard", "config": {"no-public-buckets": "advisory"}}]``.
    :param pack_version: The version of the pack, the same for all its policies; empty for none.
    """

    __slots__ = ("check", "check_stack", "description", "level", "name", "pack", "pack_version", "remediate", "severity")

    def __init__(
        self,
        name: str,
        *,
        check: Check | None = None,
        remediate: Remediation | None = None,
        check_stack: StackCheck | None = None,
        level: EnforcementLevel | None = None,
        description: str = "",
        severity: PolicySeverity | None = None,
        pack: str = "policies",
        pack_version: str = "",
    ) -> None:
        require_given("name", name, str, "a text")
        require_given("description", description, str, "a text")
        require_given("pack", pack, str, "a text")
        require_given("pack_version", pack_version, str, "a text")
        require_function("remediate", remediate)
        for option, function in (("check", check), ("check_stack", check_stack)):
            require_function(option, function, 2 if callable(function) and _takes_report(function) else 1)
        if check_stack is not None and (check is not None or remediate is not None):
            raise InvalidInputError(f"the policy {name!r} has check_stack beside check or remediate; make two policies")
        if check is None and remediate is None and check_stack is None:
            raise InvalidInputError(f"the policy {name!r} has no function: check, remediate or check_stack")
        if level is None:
            level = "advisory" if remediate is None else "remediate"
        if level not in _LEVELS:
            raise InvalidInputError(f"level takes one of {', '.join(_LEVELS)}, not {level!r}")
        if severity is not None and severity not in _SEVERITIES:
            raise InvalidInputError(f"severity takes one of {', '.join(_SEVERITIES)}, not {severity!r}")
        self.name: Final = name
        self.check: Final = check
        self.remediate: Final = remediate
        self.check_stack: Final = check_stack
        self.level: Final[EnforcementLevel] = level
        self.description: Final = description
        self.severity: Final[PolicySeverity | None] = severity
        self.pack: Final = pack
        self.pack_version: Final = pack_version

    def __repr__(self) -> str:
        return f"<Policy {self.name}, {self.level}>"

    def _described(self, raised: Raised, root: str) -> dict[str, Any]:
        """Describes the policy for the native half; ``root`` is the URN of the stack."""

        def function(what: str, given: Callable[..., Any] | None, before: Any, read: Any) -> Described | None:
            if given is None:
                return None
            owner = f"{self.pack}:{self.name}"

            def keep(argument: PolicyResource | PolicyStack, error: BaseException) -> None:
                raised.keep(root if isinstance(argument, PolicyStack) else argument.urn, error, owner)

            return described(what, _watched(read(given), keep), before)

        return {
            "name": self.name,
            "level": self.level,
            "description": self.description,
            "severity": self.severity,
            "check": function("check", self.check, _resource, _reporting),
            "remediate": function("remediate", self.remediate, _resource, _remediating),
            "check_stack": function("check_stack", self.check_stack, _stack, _reporting),
        }


Packs = list[tuple[str, list[Policy]]]
"""Policies that are functions, by pack."""


def split(policies: Sequence[Policy | PolicyPack] | None) -> tuple[Packs, list[PolicyPack]]:
    """Returns the policies that are functions, by pack, and all packs in their order, those of functions by name alone.

    :raises InvalidInputError: for anything else, and for two versions of one pack.
    """
    packs: Packs = []
    listed: list[PolicyPack] = []
    if policies is None:
        return packs, listed
    require("policies", policies, (list, tuple), "a list of policies")
    joins = False
    for policy in policies:
        if isinstance(policy, Policy):
            if not joins or packs[-1][0] != policy.pack:
                packs.append((policy.pack, []))
                listed.append({"name": policy.pack})
            packs[-1][1].append(policy)
            first = packs[-1][1][0]
            if policy.pack_version != first.pack_version:
                versions = f"{first.pack_version!r} and {policy.pack_version!r}"
                raise InvalidInputError(f"the policies of the pack {policy.pack!r} have two versions of it, {versions}")
        elif isinstance(policy, Mapping):
            listed.append(policy)
        else:
            raise InvalidInputError(f"policies takes objects of the class Policy and policy packs, not {type(policy).__name__}")
        joins = isinstance(policy, Policy)
    return packs, listed


def placed(listed: list[PolicyPack], packs: Packs, options: Mapping[str, Any]) -> list[Any]:
    """Returns the local packs of an operation: those of its options, and those listed that the options do not name."""
    local = options.get("local_policy_packs") or ()
    given = [*(options.get("required_policies") or ()), *local]
    named = {pack.get("name") for pack in given if isinstance(pack, Mapping) and not pack.get("address") and not pack.get("path")}
    functions = {name for name, _ in packs}
    added = [pack for pack in listed if set(pack) != {"name"} or pack["name"] not in named & functions]
    return [*local, *added]


def describe(packs: Packs, raised: Raised, stack: str) -> tuple[list[tuple[str, str, list[dict[str, Any]]]], bool]:
    """Describes packs of policies of a stack for the native half, with whether any function is asynchronous."""
    *_, project, name = stack.split("/")
    root = f"urn:pulumi:{name}::{project}::pulumi:pulumi:Stack::{project}-{name}"
    facts = [
        (pack, policies[0].pack_version, [policy._described(raised, root) for policy in policies]) for pack, policies in packs
    ]
    functions = [
        policy[function]
        for _, _, policies in facts
        for policy in policies
        for function in ("check", "remediate", "check_stack")
        if policy[function] is not None
    ]
    return facts, any(is_asynchronous for _, is_asynchronous in functions)


_Called = Callable[[Any], Any]
"""A function of a resource or of a stack, ``async`` or not."""


def _watched(function: _Called, keep: Callable[[Any, BaseException], None]) -> _Called:
    """Returns a function whose exceptions ``keep`` receives with its argument."""
    if is_async(function):

        async def call_async(argument: Any) -> Any:
            with watched_function(partial(keep, argument)):
                return await function(argument)

        return call_async

    def call(argument: Any) -> Any:
        with watched_function(partial(keep, argument)):
            return function(argument)

    return call


def _remediating(remediate: _Called) -> _Called:
    """Returns a remediation that returns a dictionary of inputs, or nothing."""
    if is_async(remediate):

        async def call_async(argument: Any) -> Values | None:
            return _inputs(await remediate(argument))

        return call_async
    return lambda argument: _inputs(remediate(argument))


def _reporting(check: Callable[..., Any]) -> _Called:
    """Returns a check that returns ``(message, urn)`` for each violation that it has returned or reported."""
    reports = _takes_report(check)

    def called(argument: Any) -> tuple[Any, list[tuple[str, str | None]]]:
        found: list[tuple[str, str | None]] = []

        def report(message: str, urn: str | None = None) -> None:
            if not isinstance(message, str):
                raise _misreported("message", message)
            if urn is not None and not isinstance(urn, str):
                raise _misreported("urn", urn)
            found.append((message, urn))

        return (check(argument, report) if reports else check(argument)), found

    if is_async(check):

        async def call_async(argument: Any) -> list[tuple[str, str | None]]:
            returned, found = called(argument)
            # What is returned joins what was reported until then.
            returned = await returned
            return [*found, *_findings(returned)]

        return call_async

    def call(argument: Any) -> list[tuple[str, str | None]]:
        returned, found = called(argument)
        return [*found, *_findings(returned)]

    return call


def _misreported(parameter: str, value: object) -> InvalidInputError:
    wanted = "a message as a text, and the URN of a resource as a text or None"
    return InvalidInputError(f"report(message, urn) takes {wanted}, and its {parameter} is of the type {type(value).__name__}")


def _takes_report(check: Callable[..., Any]) -> bool:
    """Returns whether a check has a second parameter without a default."""
    try:
        parameters = inspect.signature(check).parameters.values()
    except (TypeError, ValueError):
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [parameter for parameter in parameters if parameter.kind in positional and parameter.default is parameter.empty]
    return len(needed) > 1


def _findings(returned: Any) -> list[tuple[str, str | None]]:
    if returned is None:
        return []
    if isinstance(returned, str):
        return [(returned, None)]
    if not isinstance(returned, (list, tuple)):
        raise InvalidInputError(
            f"a check returns a text, a list of texts or None, not {type(returned).__name__}; return the violations"
        )
    return [(_text(message), None) for message in returned]


def _text(message: Any) -> str:
    if not isinstance(message, str):
        raise InvalidInputError(f"a violation is a text, not {type(message).__name__}")
    return message


def _resource(facts: dict[str, Any]) -> PolicyResource:
    facts["options"] = PolicyResourceOptions(**facts["options"])
    if facts["provider"] is not None:
        facts["provider"] = PolicyProvider(**_fixed(facts["provider"], "props"))
    return PolicyResource(**_fixed(facts, "props", "inputs", "config"))


def _stack(facts: dict[str, Any]) -> PolicyStack:
    resources = [_resource(resource) for resource in facts["resources"]]
    return PolicyStack(resources=resources, config=MappingProxyType(facts["config"]))


def _fixed(facts: dict[str, Any], *members: str) -> dict[str, Any]:
    """Makes values by name ones that cannot be changed in place: what a policy would change there would be lost."""
    for member in members:
        facts[member] = MappingProxyType(facts[member])
    return facts


def _inputs(returned: Any) -> Values | None:
    if returned is not None and not isinstance(returned, Mapping):
        raise InvalidInputError(f"remediate returns the inputs as a mapping, or None, not {type(returned).__name__}")
    return returned if returned is None or isinstance(returned, dict) else dict(returned)
