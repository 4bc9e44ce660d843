"""Options of operations: the embedding contract's names in Python's style."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypedDict, Union

from ._checks import described, refusal, require_given, require_members, require_texts
from ._json import text_of
from .errors import InvalidInputError
from .result import Result

__all__ = ["OperationOptions", "PolicyPack", "PolicySettings"]

PolicySettings = Union[Literal["advisory", "mandatory", "remediate", "disabled"], Mapping[str, Any]]
"""An enforcement level, or a mapping with ``enforcementLevel`` and whatever else the policy's own schema has."""


class PolicyPack(TypedDict, total=False):
    """A policy pack, at an address. It needs a name or a path.

    - ``name`` (str): The name by which the pack is asked for, and which errors say; the path when it is left out.
    - ``path`` (str): The folder or file of the pack, for the resolver.
    - ``version`` (str): The version that is wanted.
    - ``address`` (str): Where its analyzer listens, as ``host:port``. Without it the engine's resolver is asked for an
      ``analyzer``.
    - ``download_url`` (str): Where the pack can be had, for the resolver.
    - ``checksums`` (Mapping[str, str]): Hex checksums by platform, for the resolver.
    - ``config`` (Mapping[str, PolicySettings]): Settings by policy, and for ``all``.
    """

    name: str
    path: str
    version: str
    address: str
    download_url: str
    checksums: Mapping[str, str]
    config: Mapping[str, PolicySettings]


class OperationOptions(TypedDict, total=False):
    """What can be said about one operation; what is left out has the reference engine's default.

    - ``dry_run`` (bool): Only say what would be done.
    - ``parallel`` (int): How many calls of Create, Update, Delete and Read may run at a time, those of refreshes and
      imports too; 0, as when it is left out, is 16. Of Check and Diff, 16 times as many may. The limit is strict, except
      for providers whose calls may wait for later registrations: see ``waits_for_registrations``. Invokes do not count.
    - ``waits_for_registrations`` (bool): Calls of every provider may wait for what a later registration or step causes.
      Left out, that holds for providers that declare it (:attr:`~stackwright.Provider.waits_for_registrations`,
      :attr:`~stackwright.Plugins.waits_for_registrations`). When all that ``parallel`` allows stand still while others
      queue, some of these calls no longer count, so that more than ``parallel`` run.
    - ``refresh`` (bool): Read every resource first.
    - ``replace_targets`` (Sequence[str]): URNs of resources to be replaced whatever has changed, globs as in
      ``targets``.
    - ``targets`` (Sequence[str]): URNs of the only resources to be worked on; in a glob, ``*`` stands for anything but
      a colon and ``**`` for anything. What is left out keeps its record (a component still publishes outputs), or is
      not created: its outputs are unknown then. Providers and the stack itself are always worked on. A target that
      names no resource fails the operation.
    - ``target_dependents`` (bool): What depends on a target is a target, too.
    - ``excludes`` (Sequence[str]): URNs of resources to be left alone, globs as in ``targets``. They say nothing where
      there are targets.
    - ``exclude_dependents`` (bool): What depends on an excluded resource is excluded, too.
    - ``continue_on_error`` (bool): A failed step stops only what depends on it.
    - ``ignore_protect`` (bool): Delete and replace protected resources too.
    - ``allow_empty`` (bool): An update may delete every resource because its program registered none. Without it that is
      refused with :class:`~stackwright.InvalidInputError`, and a preview warns: most often the program is a module that
      an earlier operation has imported already, so that it does not run again.
    - ``parallel_diff`` (bool): Accepted; Check and Diff of different resources always run at the same time.
    - ``use_legacy_diff`` (bool): Compare inputs before asking providers.
    - ``use_legacy_refresh_diff`` (bool): A refresh reports what its outputs say, without asking providers for a diff.
    - ``disable_resource_references`` (bool): Programs are not told that the monitor understands references to
      resources.
    - ``disable_output_values`` (bool): Programs are not told that the monitor understands output values.
    - ``disable_provider_preview`` (bool): Previews show inputs as outputs without asking providers.
    - ``skip_plugin_pre_install`` (bool): Have plugins installed no sooner than they are needed. Left out, an engine
      with an installer installs beforehand what the state's providers need, and what the
      program's language runtime says that it requires.
    - ``experimental`` (bool): Accepted; nothing hides behind it.
    - ``show_secrets`` (bool): Keep secret values in the inputs and outputs of events: as secrets whose ``ciphertext``
      is the base64 of their JSON text. Left out, that is ``[secret]``.
    - ``debug`` (bool): Have diagnostics of the severity ``debug`` among the events.
    - ``no_events`` (bool): Nobody will ask for what has happened before: events are made only while somebody listens.
    - ``clear_pending_creates`` (bool): Forget interrupted creations when the operation has succeeded: you know what
      became of them.
    - ``hold_session`` (bool): Keep the monitor and the providers after the result, until
      :meth:`~stackwright.Operation.release`, and leave registrations unanswered that failed or came too late.
    - ``plan`` (Result | Mapping[str, Any] | str): What the operation is held to: the result of a preview, or a plan's
      document. Not for refreshes.
    - ``generate_plan`` (bool): Write down what is found as a plan: :attr:`~stackwright.Result.plan`. Left out, previews
      of updates keep one without a document; with ``False`` they keep none.
    - ``refresh_program`` (bool): A refresh runs the program: each resource is read when the program registers it, by a
      provider that is configured as the program says; the others are read at the end. Where an update, or a destroy
      with its program, is to ``refresh``, it reads each resource when the program registers it, instead of all of them
      first.
    - ``destroy_program`` (bool): A destroy runs the program, which says how providers are configured; then everything
      is deleted, also what the program registers.
    - ``required_policies`` (Sequence[PolicyPack]): Policy packs that an organization demands. Wherever a program runs,
      each resource is shown to them.
    - ``local_policy_packs`` (Sequence[PolicyPack]): Policy packs of the user; they are asked like the required ones,
      after these.
    - ``strict`` (bool): Preview an update or a destroy first, where no plan is given, and hold it to what the preview
      found.
    - ``snippets`` (Sequence[Mapping[str, Any]]): Not supported yet: an operation with it is refused before anything
      happens.
    - ``target_snippets`` (Sequence[Any]): Not supported yet either.
    - ``message`` (str): A note for the history.
    """

    dry_run: bool
    parallel: int
    waits_for_registrations: bool
    refresh: bool
    replace_targets: Sequence[str]
    targets: Sequence[str]
    target_dependents: bool
    excludes: Sequence[str]
    exclude_dependents: bool
    continue_on_error: bool
    ignore_protect: bool
    allow_empty: bool
    parallel_diff: bool
    use_legacy_diff: bool
    use_legacy_refresh_diff: bool
    disable_resource_references: bool
    disable_output_values: bool
    disable_provider_preview: bool
    skip_plugin_pre_install: bool
    experimental: bool
    show_secrets: bool
    debug: bool
    no_events: bool
    clear_pending_creates: bool
    hold_session: bool
    plan: Result | Mapping[str, Any] | str
    generate_plan: bool
    refresh_program: bool
    destroy_program: bool
    required_policies: Sequence[PolicyPack]
    local_policy_packs: Sequence[PolicyPack]
    strict: bool
    snippets: Sequence[Mapping[str, Any]]
    target_snippets: Sequence[Any]
    message: str


def encode(options: OperationOptions) -> bytes:
    """Returns the options as the engine reads them.

    :raises InvalidInputError: for an option that is not known, and for a value that it does not take.
    """
    named: dict[str, Any] = {}
    for name, value in options.items():
        check = _CHECKS.get(name)
        if check is None:
            # The engine would name it in its own style; here it is named as the caller wrote it.
            near = difflib.get_close_matches(str(name), _CHECKS, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; there are: {', '.join(sorted(_CHECKS))}"
            raise InvalidInputError(f"unknown option {name!r}{hint}")
        if value is not None:
            check(name, value)
            named[_camel(name)] = json.loads(text_of(name, _encoded(name, value)))
    return json.dumps(named).encode()


def _encoded(name: str, value: object) -> object:
    if name not in ("required_policies", "local_policy_packs") or not isinstance(value, Iterable):
        return value
    # The names of policies and of their settings are the pack's own.
    return [{_camel(key): pack[key] for key in pack if pack[key] is not None} for pack in value]


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


Check = Callable[[str, Any], None]

_MOST: Final = 2**31 - 1


def _flag(option: str, value: object) -> None:
    require_given(option, value, bool, "True or False")


def _text(option: str, value: object) -> None:
    require_given(option, value, str, "a text")


def _count(option: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MOST:
        wanted = f"a number from 0 to {_MOST}"
        raise InvalidInputError(f"{option} takes {wanted}, not {value if type(value) is int else described(value)}")


def _urns(option: str, value: object) -> None:
    require_texts(option, value, "a list of URNs or globs")


def _list(option: str, value: object) -> None:
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        raise refusal(option, "a list", value)


def _texts_by_name(option: str, value: object) -> None:
    require_given(option, value, Mapping, "a dictionary of texts")
    for name, text in value.items():  # type: ignore[attr-defined]
        require_given(option, name, str, "a dictionary whose keys are texts")
        require_given(f"{option}[{name!r}]", text, str, "a text")


def _settings(option: str, value: object) -> None:
    require_given(option, value, Mapping, "a dictionary of settings by policy")
    for policy, settings in value.items():  # type: ignore[attr-defined]
        require_given(option, policy, str, "a dictionary by policies, which are texts")
        require_given(f"{option}[{policy!r}]", settings, (str, Mapping), "an enforcement level or a dictionary")


def _packs(option: str, value: object) -> None:
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        raise refusal(option, "a list of policy packs", value)
    for index, pack in enumerate(value):
        place = f"{option}[{index}]"
        require_given(place, pack, Mapping, "a policy pack, which is a dictionary")
        require_members(place, {name: member for name, member in pack.items() if member is not None}, _PACK)
        if not (pack.get("name") or pack.get("path")):
            raise InvalidInputError(f"{place} has neither a name nor a path")


def _anything(_option: str, _value: object) -> None:
    """Takes what is looked at elsewhere."""


_PACK: Final[Mapping[str, Check]] = {
    **dict.fromkeys(("name", "path", "version", "address", "download_url"), _text),
    "checksums": _texts_by_name,
    "config": _settings,
}

_FLAGS: Final = (
    "dry_run",
    "refresh",
    "target_dependents",
    "exclude_dependents",
    "continue_on_error",
    "ignore_protect",
    "allow_empty",
    "parallel_diff",
    "use_legacy_diff",
    "use_legacy_refresh_diff",
    "waits_for_registrations",
    "disable_resource_references",
    "disable_output_values",
    "disable_provider_preview",
    "skip_plugin_pre_install",
    "experimental",
    "show_secrets",
    "debug",
    "no_events",
    "clear_pending_creates",
    "hold_session",
    "generate_plan",
    "refresh_program",
    "destroy_program",
    "strict",
)

_CHECKS: Final[Mapping[str, Check]] = {
    **dict.fromkeys(_FLAGS, _flag),
    **dict.fromkeys(("targets", "excludes", "replace_targets"), _urns),
    **dict.fromkeys(("required_policies", "local_policy_packs"), _packs),
    **dict.fromkeys(("snippets", "target_snippets"), _list),
    "parallel": _count,
    "message": _text,
    "plan": _anything,
}
