"""The licences of a product's parts: a check against those that `deny.toml` allows, and the file with their texts."""

from __future__ import annotations

import re

from components import Component
from targets import ROOT


def allowed() -> set[str]:
    """Returns the licences that `deny.toml` allows for what is shipped."""
    lists = re.search(r"(?ms)^\[licenses\]$.*?^allow = \[(.*?)\]", (ROOT / "deny.toml").read_text(encoding="utf-8"))
    if lists is None:
        raise SystemExit("deny.toml has no list of licences")
    return set(re.findall(r'"([^"]+)"', lists[1]))


def satisfied(expression: str, licences: set[str]) -> bool:
    """Returns whether an SPDX expression can be met with some licences; one that is malformed cannot."""
    tokens = re.findall(r"\(|\)|[^\s()]+(?: WITH [^\s()]+)?", expression)

    def next_is(token: str) -> bool:
        if tokens and tokens[0] == token:
            tokens.pop(0)
            return True
        return False

    def choice() -> bool:
        met = both()
        while next_is("OR"):
            met = both() or met
        return met

    def both() -> bool:
        met = single()
        while next_is("AND"):
            met = single() and met
        return met

    def single() -> bool:
        if not next_is("("):
            return tokens.pop(0) in licences
        met = choice()
        if not next_is(")"):
            raise IndexError
        return met

    try:
        return choice() and not tokens
    except IndexError:
        return False


def problems(parts: list[Component]) -> list[str]:
    """Returns what stands against shipping some parts: licences that are not allowed, and texts that are missing."""
    licences = allowed()
    found = [f"{part.name} {part.version}: {part.licence or 'no licence'} is not allowed" for part in parts if not satisfied(part.licence, licences)]
    found += [f"{part.name} {part.version}: there is no text of {part.licence}" for part in parts if not part.texts]
    return found


def document(parts: list[Component]) -> str:
    """Returns the file: the parts with their licences, and each text once with the parts that it belongs to."""
    lines = ["Stackwright contains the following parts of others. Each text below is that of the parts named above it.", ""]
    lines += [f"{part.name} {part.version}: {part.licence}" for part in parts]
    users: dict[str, list[str]] = {}
    for part in parts:
        for text in part.texts:
            users.setdefault(text, []).append(f"{part.name} {part.version}")
    for text, names in users.items():
        lines += ["", "=" * 80, *_wrapped(names), "=" * 80, "", text.rstrip("\n")]
    return "\n".join(lines) + "\n"


def _wrapped(names: list[str]) -> list[str]:
    """Returns a list in lines of at most about 120 characters."""
    lines = [""]
    for name in names:
        if lines[-1] and len(lines[-1]) + len(name) > 118:
            lines.append("")
        lines[-1] += f", {name}" if lines[-1] else name
    return lines
