"""Writes ``docs/automation-coverage.md``: every public name of the Automation APIs, with a test that uses it.

::

    python api/automation/coverage.py                    writes the document
    python api/automation/coverage.py --check python     fails when the part of a language differs, or is not complete
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[2]
DOCUMENT: Final = ROOT / "docs" / "automation-coverage.md"
LEAST_PERCENT_TESTED: Final = 95

REFUSED: Final = {
    "environments (Pulumi ESC) are opened by the Pulumi service": (
        "Stack.add_environments Stack.list_environments Stack.remove_environment LocalWorkspace.add_environments "
        "LocalWorkspace.list_environments LocalWorkspace.remove_environment Stack.addEnvironments Stack.listEnvironments "
        "Stack.removeEnvironment LocalWorkspace.addEnvironments LocalWorkspace.listEnvironments "
        "LocalWorkspace.removeEnvironment"
    ),
    "folders of states have no organizations": (
        "LocalWorkspace.org_get_default LocalWorkspace.org_set_default Stack.orgGetDefault Stack.orgSetDefault"
    ),
    "remote workspaces run on the Pulumi service": (
        "create_remote_stack_git_source create_or_select_remote_stack_git_source select_remote_stack_git_source "
        "RemoteWorkspaceOptions RemoteGitAuth RemoteWorkspace RemoteGitProgramArgs RemoteGitAuthArgs ExecutorImage "
        "DockerImageCredentials Secret"
    ),
    "projects are not made from templates": "LocalWorkspace.new",
    "not supported by operations": " ".join(
        f"{owner}{option}"
        for owner, form in (
            *((f"Stack.{name}", "({})") for name in ("up", "preview", "refresh", "preview_refresh", "destroy", "preview_destroy")),
            *((f"{name}Options", ".{}") for name in ("Up", "Preview", "Refresh", "Destroy", "Rename", "Import")),
            ("GlobalOpts", ".{}"),
        )
        for name in ("attach_debugger", "attachDebugger")
        for option in (form.format(name),)
    ),
    "converters are not supported": (
        "Stack.import_resources(converter) Stack.import_resources(converter_args) ImportOptions.converter "
        "ImportOptions.converterArgs"
    ),
}
"""Why the engine refuses what these names ask for. Each has a test of the refusal."""

UNTESTED: Final = {
    "folders of states have no tokens": (
        "TokenInformation.name TokenInformation.organization TokenInformation.team TokenInfomation TokenInfomation.name "
        "TokenInfomation.organization TokenInfomation.team"
    ),
    "the SDK declares it and does not set it": "PluginInfo.last_used_time PluginInfo.path PluginInfo.serverURL",
    "the SDK passes it on in previews alone": (
        "UpOptions.importFile RefreshOptions.importFile DestroyOptions.importFile RenameOptions.importFile ImportOptions.importFile"
    ),
    "states in folders have no deployment in the history": "RawJSON",
    "no operation waits for a debugger": "StartDebuggingEvent StartDebuggingEvent.config",
    "a `RemoteStack` comes from a `RemoteWorkspace`, which is refused": (
        "RemoteStack.* RemoteUpOptions.* RemotePreviewOptions.* RemoteRefreshOptions.* RemoteDestroyOptions.*"
    ),
    "it holds the image of remote workspaces, which are refused": (
        "LocalWorkspace.remoteExecutorImage LocalWorkspaceOptions.remoteExecutorImage"
    ),
}
"""Why no test uses these names."""


class Row(NamedTuple):
    name: str
    test: str | None
    reason: str | None


class Part(NamedTuple):
    """The names of one language."""

    title: str
    rows: list[tuple[str, list[Row]]]

    def all(self) -> list[Row]:
        return [row for _, rows in self.rows for row in rows]

    def percent(self) -> float:
        rows = self.all()
        return 100 * sum(row.test is not None for row in rows) / len(rows)

    def missing(self) -> list[str]:
        """The names that no test uses, and that have no reason why."""
        return [row.name for row in self.all() if row.test is None and row.reason is None]


def _reasons(table: dict[str, str]) -> dict[str, str]:
    return {name: reason for reason, names in table.items() for name in names.split()}


def _reason(name: str, table: dict[str, str]) -> str | None:
    member = name.split("(", maxsplit=1)[0]
    owner = member.split(".", maxsplit=1)[0]
    for key in (name, member, owner, f"{owner}.*"):
        if key in table:
            return table[key]
    return None


def _part(title: str, names: dict[str, list[str]], uses: dict[str, list[str]]) -> Part:
    refused, untested = _reasons(REFUSED), _reasons(UNTESTED)

    def row(name: str) -> Row:
        # Tests precede scripts.
        found = min(uses.get(name, ()), key=lambda use: ("/" in use, use), default=None)
        reason = _reason(name, refused) if found is not None else _reason(name, untested)
        return Row(name, found, reason)

    return Part(title, [(owner, [row(name) for name in (owner, *(owner + m for m in names[owner]))]) for owner in sorted(names)])


def python() -> Part:
    import python_names

    return _part("Python", *python_names.analyse())


def node() -> Part:
    script = Path(__file__).with_name("node_names.mjs")
    printed = subprocess.run(["node", str(script)], capture_output=True, text=True, check=True).stdout
    found = json.loads(printed)
    return _part("Node", found["names"], found["uses"])


LANGUAGES: Final = {"python": python, "node": node}


def _text(part: Part) -> Iterator[str]:
    rows = part.all()
    tested = sum(row.test is not None for row in rows)
    yield f"## {part.title}"
    yield ""
    yield f"{len(rows)} names, of which {tested} are tested: {part.percent():.1f} %."
    for owner, rows in part.rows:
        yield ""
        yield f"### {part.title}: {owner}"
        yield ""
        yield "| name | test | |"
        yield "| --- | --- | --- |"
        for row in rows:
            note = "" if row.reason is None else f"refused: {row.reason}" if row.test is not None else row.reason
            yield f"| `{row.name}` | {'' if row.test is None else f'`{row.test}`'} | {note} |"
    yield ""


HEAD: Final = f"""# Coverage of the Automation APIs

Generated by `api/automation/coverage.py` from the installed SDKs. Each public class, function, type, member, option and error of
`pulumi.automation` and `@pulumi/pulumi/automation` has a test that uses it over the in-process command, or the reason why not. At
least {LEAST_PERCENT_TESTED} % are tested. What is refused has a test of the refusal. Type checkers find the uses: a use counts for the
class whose member it is. Of operations, the options are named in parentheses in Python, and as members of interfaces in Node.

"""


def main(arguments: list[str]) -> int:
    checked = arguments[1:] if arguments[:1] == ["--check"] else []
    if arguments and (not checked or any(name not in LANGUAGES for name in checked)):
        print("usage: coverage.py [--check python|node]", file=sys.stderr)
        return 2
    parts = {name: analyse() for name, analyse in LANGUAGES.items() if name in checked or not checked}
    faults = []
    for part in parts.values():
        faults += [f"{part.title}: {name} is used by no test, and there is no reason why" for name in part.missing()]
        if part.percent() < LEAST_PERCENT_TESTED:
            faults.append(f"{part.title}: only {part.percent():.1f} % are tested")
    if checked:
        document = DOCUMENT.read_text(encoding="utf-8")
        for part in parts.values():
            if "\n".join(_text(part)) not in document:
                faults.append(f"{part.title}: {DOCUMENT.name} differs; `make generate` writes it")
    else:
        text = HEAD + "\n".join(line for part in parts.values() for line in _text(part))
        DOCUMENT.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
