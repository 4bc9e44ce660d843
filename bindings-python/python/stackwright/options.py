"""Options of operations: the embedding contract's names in Python's style."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict, Union

if TYPE_CHECKING:
    from .result import Result

__all__ = ["OperationOptions", "PolicyPack", "PolicySettings"]

PolicySettings = Union[Literal["advisory", "mandatory", "remediate", "disabled"], Mapping[str, Any]]
"""An enforcement level, or a mapping with ``enforcementLevel`` and whatever else the policy's own schema has."""


class _NamedPack(TypedDict):
    name: str
    """The name by which the pack is asked for, and which errors say."""


class PolicyPack(_NamedPack, total=False):
    """A policy pack, at an address."""

    version: str
    """The version that is wanted."""
    address: str
    """Where its analyzer listens, as ``host:port``. Without it the engine's resolver is asked for an ``analyzer``."""
    download_url: str
    """Where the pack can be had, for the resolver."""
    checksums: Mapping[str, str]
    """Hex checksums by platform, for the resolver."""
    config: Mapping[str, PolicySettings]
    """Settings by policy, and for ``all``."""


class OperationOptions(TypedDict, total=False):
    """What can be said about one operation; what is left out has the reference engine's default."""

    dry_run: bool
    """Only say what would be done."""
    parallel: int
    """How many steps may work at a time; 0, as when it is left out, is 16."""
    refresh: bool
    """Read every resource first."""
    replace_targets: Sequence[str]
    """URNs of resources to be replaced whatever has changed, globs as in ``targets``."""
    targets: Sequence[str]
    """URNs of the only resources to be worked on; in a glob, ``*`` stands for anything but a colon and ``**`` for anything.
    What is left out keeps its record (a component still publishes
    outputs), or is not created: its outputs are unknown then. Providers and the
    stack itself are always worked on. A target that names no resource fails the operation."""
    target_dependents: bool
    """What depends on a target is a target, too."""
    excludes: Sequence[str]
    """URNs of resources to be left alone, globs as in ``targets``. They say nothing where there are targets."""
    exclude_dependents: bool
    """What depends on an excluded resource is excluded, too."""
    continue_on_error: bool
    """A failed step stops only what depends on it."""
    ignore_protect: bool
    """Delete and replace protected resources too."""
    parallel_diff: bool
    """Accepted; Check and Diff of different resources always run at the same time."""
    use_legacy_diff: bool
    use_legacy_refresh_diff: bool
    disable_resource_references: bool
    """Programs are not told that the monitor understands references to resources."""
    disable_output_values: bool
    """Programs are not told that the monitor understands output values."""
    disable_provider_preview: bool
    """Previews show inputs as outputs without asking providers."""
    skip_plugin_pre_install: bool
    """Have plugins installed no sooner than they are needed. Left out, an engine with an installer and without a resolver
    installs beforehand what the state's providers need, and what the program's language runtime says that it requires."""
    experimental: bool
    show_secrets: bool
    """Keep secret values in the inputs and outputs of events: as secrets whose ``ciphertext`` is the base64 of their JSON
    text. Left out, that is ``[secret]``."""
    no_events: bool
    """Nobody will ask for what has happened before: events are made only while somebody listens."""
    clear_pending_creates: bool
    """Forget interrupted creations when the operation has succeeded: you know what became of them."""
    hold_session: bool
    """Keep the monitor and the providers after the result, until :meth:`~stackwright.Operation.release`, and leave
    registrations unanswered that failed or came too late."""
    plan: Result | Mapping[str, Any] | str
    """What the operation is held to: the result of a preview, or a plan's document. Not for refreshes."""
    generate_plan: bool
    """Write down what is found as a plan: :attr:`~stackwright.Result.plan`. Left out, previews of updates keep one without
    a document; with ``False`` they keep none."""
    refresh_program: bool
    """A refresh runs the program: each resource is read when the program registers it, by a provider that is configured
    as the program says; the others are read at the end. Where an update, or a destroy with its program, is to
    ``refresh``, it reads each resource when the program registers it, instead of all of them first."""
    destroy_program: bool
    """A destroy runs the program, which says how providers are configured; then everything is deleted, also what the
    program registers."""
    required_policies: Sequence[PolicyPack]
    """Policy packs that an organization demands. Wherever a program runs, each resource is shown to them."""
    local_policy_packs: Sequence[PolicyPack]
    """Policy packs of the user; they are asked like the required ones, after these."""
    strict: bool
    """Preview an update or a destroy first, where no plan is given, and hold it to what the preview found."""
    snippets: Sequence[Mapping[str, Any]]
    """Not supported yet, as what follows: an operation with it is refused before anything happens."""
    target_snippets: Sequence[Any]
    message: str
    """A note for the history."""


_NAMES: Final = frozenset(OperationOptions.__annotations__)


def encode(options: OperationOptions) -> bytes:
    """Returns the options as the engine reads them."""
    unknown = sorted(set(options) - _NAMES)
    if unknown:
        # The engine would name it in its own style; here it is named as the caller wrote it.
        near = difflib.get_close_matches(unknown[0], _NAMES, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise TypeError(f"unknown option {unknown[0]!r}{hint}")
    named = {_camel(name): _encoded(name, value) for name, value in options.items() if value is not None}
    return json.dumps(named, default=list).encode()


def _encoded(name: str, value: object) -> object:
    if name not in ("required_policies", "local_policy_packs") or not isinstance(value, Iterable):
        return value
    # The names of policies and of their settings are the pack's own.
    return [{_camel(key): pack[key] for key in pack} if isinstance(pack, Mapping) else pack for pack in value]


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
